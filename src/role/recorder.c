/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/recorder.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/field.h"
#include "fmt/wire.h"
#include "graph/disk.h"
#include "memory/notes.h"
#include "sandbox/confine.h"
#include "session/record.h"
#include "session/store.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/loop.h"

#include <fcntl.h>

#define MONITOR_FD 3
#define AGENT_FD   4
#define LOADED_MAX ((size_t)2 << 30)
#define DRAIN_MAX  100000 /* messages of the agent still read after WIRE_CLOSE */
#define REFILL_MS  5

struct peer_link {
	struct recorder *rec;
	const char *name;
	int fd; /* -1: gone */
	enum wire_link link;
	enum wire_dir dir;
	unsigned sender; /* EVENT_AGENT or EVENT_MONITOR */
};

struct recorder {
	struct loop *loop;
	struct store *store;
	struct graph_disk *graph;
	struct peer_link monitor, agent;
	struct chan_msg *msg;
	int run_fd, bucket_fd, record_fd, notes_fd; /* notes_fd -1: this agent writes none */
	size_t notes;                               /* written so far */
	char dir_name[256], origin[300];
	int64_t tokens, refilled_ms; /* of the agent's rate */
	bool lost_told, closing, discard;
};

/* ---- telling ---- */

static int send_str(struct peer_link *to, uint16_t type, const char *text)
{
	auto_buf struct buf b = BUF_MAX(4096);

	if (to->fd < 0)
		return 0;
	pack_str(&b, str_head(str_from(text), 3072));
	return chan_send(to->fd, type, buf_str(&b), NULL, 0, ERR_DISCARD);
}

/* Once: nothing is saved from here on. Whoever cannot be told has gone or will see the end of file. */
static void tell_lost(struct recorder *rec, const char *why)
{
	if (rec->lost_told)
		return;
	rec->lost_told = true;
	(void)!send_str(&rec->agent, WIRE_LOST, why);
	(void)!send_str(&rec->monitor, WIRE_LOST_UP, why);
}

static void drop(struct recorder *rec, struct peer_link *p)
{
	if (p->fd < 0)
		return;
	loop_unwatch(rec->loop, p->fd);
	close(p->fd);
	p->fd = -1;
}

static int drop_bad_peer(struct recorder *rec, struct peer_link *p, const char *why)
{
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };

	drop(rec, p);
	if (buf_addz(&b, "{", &err) < 0 || json_add_member(&b, "peer", str_from(p->name), &err) < 0 ||
		json_add_member(&b, "reason", str_from(why), &err) < 0 || buf_addz(&b, "}", &err) < 0 ||
		store_event(rec->store, EVENT_RECORDER, STR("record.peer_dropped"), buf_str(&b), &err) < 0)
		if (store_is_lost(rec->store))
			tell_lost(rec, err.msg);
	return 0;
}

/* ---- what a peer may ask ---- */

static bool senders_fault(int r)
{
	return r == -ERR_INVALID || r == -ERR_LIMIT || r == -ERR_SYNTAX || r == -ERR_EXIST;
}

static int write_graph(struct recorder *rec, uint32_t version, struct str json, struct err *err)
{
	int r = graph_disk_apply(rec->graph, version, json, err);

	return senders_fault(r) ? err_wrap(err, "task graph") : store_lose(rec->store, r, err);
}

struct note_args {
	struct str scope, text, reason;
};
static const struct field note_fields[] = {
	{ "scope", &field_str, offsetof(struct note_args, scope), .max = NOTE_SCOPE_MAX },
	{ "text", &field_str, offsetof(struct note_args, text), .max = NOTE_TEXT_MAX },
	{ "reason", &field_str, offsetof(struct note_args, reason), .max = NOTE_REASON_MAX },
};

/* Whose note it is we say ourselves: the sender cannot sign for somebody else. */
static int write_note(struct recorder *rec, uint32_t how, struct str id, struct str json, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_json json_t *obj = NULL;
	struct note_args a;
	int r;

	if (rec->notes_fd < 0 || how > 1)
		return err_set(err, ERR_INVALID, "a note is not this sender's to write");
	if (++rec->notes > NOTES_PER_RUN)
		return err_set(err, ERR_LIMIT, "more than %d notes of one run", NOTES_PER_RUN);
	TRY(json_decode(json, JSON_EXACT, &obj, err));
	if (!json_is_object(obj))
		return err_set(err, ERR_INVALID, "a note is a JSON object");
	TRY(fields_from_json(note_fields, COUNT(note_fields), obj, mem, &a, sizeof(a), err));
	r = how == 0 ? note_add(rec->notes_fd, id, a.scope, a.text, str_from(rec->origin), err)
		     : note_invalidate(rec->notes_fd, id, a.reason, str_from(rec->origin), err);
	if (r == -ERR_NOENT && how == 1) /* a person removed it meanwhile */
		return 0;
	return senders_fault(r) ? err_wrap(err, "note") : store_lose(rec->store, r, err);
}

static int write_record(struct recorder *rec, const struct peer_link *p, enum record_what what, uint32_t arg,
	struct str name, struct str json, struct err *err)
{
	struct store *s = rec->store;

	if (json.n > record_max(what))
		return err_set(err, ERR_PROTOCOL, "a record of kind %d has %zu bytes, at most %zu are kept", (int)what,
			json.n, record_max(what));
	switch (what) {
	case RECORD_EVENT:
		return store_event(s, p->sender, name, json, err);
	case RECORD_MESSAGE:
		return store_message(s, arg, json, err);
	case RECORD_STATE:
		return store_state(s, arg, json, err);
	case RECORD_TRANSCRIPT:
		return store_transcript(s, arg, name, json, err);
	case RECORD_MANIFEST:
		return store_manifest(s, p->sender, json, err);
	case RECORD_FILE:
		return store_file(s, name, json, err);
	case RECORD_IN_FLIGHT:
		return store_in_flight(s, json, err);
	case RECORD_RESTART:
		return store_restart(s, arg, err);
	case RECORD_GRAPH:
		return write_graph(rec, arg, json, err);
	case RECORD_NOTE:
		return write_note(rec, arg, name, json, err);
	}
	return err_set(err, ERR_PROTOCOL, "a record of kind %d is unknown", (int)what);
}

static int on_record(struct recorder *rec, struct peer_link *p, struct err *err)
{
	struct unpack u = unpack_from(rec->msg->body);
	enum record_what what = (enum record_what)unpack_u8(&u);
	uint32_t arg = unpack_u32(&u);
	struct str name = unpack_str(&u), json = unpack_str(&u);
	auto_buf struct buf large = BUF_MAX(record_max(what));

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "%s does not decode", wire_name(rec->msg->type));
	if (rec->msg->nfds > 0) {
		if (json.n > 0)
			return err_set(err, ERR_PROTOCOL, "a record has its content twice");
		TRY(memfd_read(rec->msg->fds[0], &large, err));
		json = buf_str(&large);
	}
	if (rec->lost_told)
		return 0;
	return write_record(rec, p, what, arg, name, json, err);
}

static int on_sync(struct recorder *rec, struct peer_link *p, struct err *err)
{
	if (rec->msg->body.n != 4)
		return err_set(err, ERR_PROTOCOL, "WIRE_SYNC does not decode");
	if (rec->lost_told) { /* it may have asked before it heard */
		(void)!send_str(p, WIRE_LOST, "the record was lost earlier");
		return 0;
	}
	TRY(store_lose(rec->store, graph_disk_sync(rec->graph, err), err));
	TRY(store_sync(rec->store, err));
	return chan_send(p->fd, WIRE_SYNCED, rec->msg->body, NULL, 0, err);
}

static int on_load(struct recorder *rec, struct peer_link *p, struct err *err)
{
	struct unpack u = unpack_from(rec->msg->body);
	uint32_t turn = unpack_u32(&u);
	auto_buf struct buf bytes = BUF_MAX(LOADED_MAX), body = BUF_MAX(4096), graph = BUF_MAX(GRAPH_FILE_MAX + 1);
	autoclose int fd = -1;
	struct err why = { 0 };

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_LOAD does not decode");
	int found = store_load(rec->store, turn, &bytes, &why);
	if (found > 0 && graph_disk_text(rec->graph, &graph, &why) < 0)
		found = -1;
	if (found > 0 && graph.n > 0)
		pack_str(&bytes, buf_str(&graph));
	if (found > 0 && memfd_seal("loaded", buf_str(&bytes), &fd, &why) < 0)
		found = -1;
	pack_u8(&body, found > 0);
	pack_str(&body, str_head(str_from(why.msg), 3072));
	TRY(pack_ok(&body, err));
	return chan_send(p->fd, WIRE_LOADED, buf_str(&body), &fd, found > 0 ? 1 : 0, err);
}

static int on_close(struct recorder *rec, struct peer_link *p, struct err *err)
{
	struct unpack u = unpack_from(rec->msg->body);
	uint8_t discard = unpack_u8(&u);

	(void)p;
	if (!unpack_done(&u) || discard > 1)
		return err_set(err, ERR_PROTOCOL, "WIRE_CLOSE does not decode");
	rec->closing = true;
	rec->discard = discard != 0;
	loop_quit(rec->loop);
	return 0;
}

static const struct {
	enum wire_type type;
	int (*serve)(struct recorder *rec, struct peer_link *p, struct err *err);
} requests[] = {
	{ WIRE_RECORD, on_record },
	{ WIRE_NOTE, on_record },
	{ WIRE_SYNC, on_sync },
	{ WIRE_LOAD, on_load },
	{ WIRE_CLOSE, on_close },
};

static int serve(struct recorder *rec, struct peer_link *p, struct err *err)
{
	TRY(wire_check(p->link, p->dir, rec->msg->type, rec->msg->body.n, rec->msg->nfds, err));
	for (size_t i = 0; i < COUNT(requests); i++)
		if (requests[i].type == rec->msg->type)
			return requests[i].serve(rec, p, err);
	return err_set(err, ERR_PROTOCOL, "%s is not asked while a run is on", wire_name(rec->msg->type));
}

/* One message. 1 when there was one, 0 when there is none (any more). */
static int take_one(struct recorder *rec, struct peer_link *p)
{
	struct err err = { 0 };
	int r = chan_recv(p->fd, rec->msg, &err);

	if (r == -ERR_BUSY)
		return 0;
	if (r == -ERR_CLOSED) {
		drop(rec, p);
		return 0;
	}
	if (r == 0) {
		r = serve(rec, p, &err);
		chan_msg_fini(rec->msg);
	}
	if (r < 0 && store_is_lost(rec->store))
		tell_lost(rec, err.msg);
	else if (r < 0)
		drop_bad_peer(rec, p, err.msg);
	return 1;
}

/* ---- the loop ---- */

static int on_monitor(void *self, uint32_t events, struct err *err)
{
	struct recorder *rec = self;

	(void)events;
	(void)err;
	take_one(rec, &rec->monitor);
	if (rec->monitor.fd < 0)
		loop_quit(rec->loop); /* without a monitor there is no run */
	return 0;
}

static int on_agent(void *self, uint32_t events, struct err *err);

static int on_refill(void *self, uint32_t events, struct err *err)
{
	struct recorder *rec = self;

	(void)events;
	if (rec->agent.fd < 0)
		return 0;
	return loop_watch(rec->loop, rec->agent.fd, EPOLLIN, on_agent, rec, err);
}

static bool may_read(struct recorder *rec)
{
	int64_t now = time_mono_ms();

	if (rec->tokens <= 0) {
		rec->tokens += (now - rec->refilled_ms) * RECORDER_RATE / 1000;
		rec->tokens = rec->tokens < RECORDER_BURST ? rec->tokens : RECORDER_BURST;
		rec->refilled_ms = now;
	}
	return rec->tokens > 0;
}

static int on_agent(void *self, uint32_t events, struct err *err)
{
	struct recorder *rec = self;

	(void)events;
	if (!may_read(rec)) { /* its channel fills up, and it waits */
		loop_unwatch(rec->loop, rec->agent.fd);
		return loop_after(rec->loop, REFILL_MS, on_refill, rec, err);
	}
	rec->tokens -= take_one(rec, &rec->agent);
	return 0;
}

/* ---- start and end ---- */

/* The first message says where to write. Nothing of the record is read before we are confined. */
static int wait_open(struct recorder *rec, struct err *err)
{
	TRY(chan_recv(MONITOR_FD, rec->msg, err));
	struct unpack u = unpack_from(rec->msg->body);

	TRY(wire_check(LINK_MONITOR_RECORDER, WIRE_DOWN, rec->msg->type, rec->msg->body.n, rec->msg->nfds, err));
	if (rec->msg->type != WIRE_OPEN)
		return err_set(err, ERR_PROTOCOL, "%s came before WIRE_OPEN", wire_name(rec->msg->type));
	struct str id = unpack_str(&u), name = unpack_str(&u);
	unpack_u8(&u); /* resume: an old record is continued whenever there is one */
	if (!unpack_done(&u) || name.n == 0 || name.n >= sizeof(rec->dir_name) || memchr(name.p, '/', name.n) ||
		memchr(name.p, '\0', name.n))
		return err_set(err, ERR_PROTOCOL, "WIRE_OPEN does not decode");
	memcpy(rec->dir_name, name.p, name.n);
	snprintf(rec->origin, sizeof(rec->origin), "run " STR_FMT, STR_ARG(str_head(id, 200)));
	rec->run_fd = chan_take_fd(rec->msg, 0);
	rec->bucket_fd = chan_take_fd(rec->msg, 1);
	rec->notes_fd = chan_take_fd(rec->msg, 2);
	return dir_open(rec->run_fd, "record", &rec->record_fd, err);
}

static int confine(const struct recorder *rec, struct err *err)
{
	struct ll_rule rules[4] = {
		{ .kind = LL_FD, .fd = rec->record_fd, .access = LL_RO | LL_WRITE_FILE | LL_REMOVE_FILE | LL_REMOVE_DIR |
				LL_MAKE_REG | LL_MAKE_DIR | LL_TRUNCATE },
		/* A discarded run: what stands in its directory goes, and then the directory. */
		{ .kind = LL_FD, .fd = rec->run_fd, .access = LL_READ_DIR | LL_REMOVE_FILE | LL_REMOVE_DIR },
	};
	size_t n = 2;

	if (rec->bucket_fd >= 0)
		rules[n++] = (struct ll_rule){ .kind = LL_FD, .fd = rec->bucket_fd, .access = LL_REMOVE_DIR };
	if (rec->notes_fd >= 0)
		rules[n++] = (struct ll_rule){ .kind = LL_FD, .fd = rec->notes_fd,
			.access = LL_RO | LL_WRITE_FILE | LL_REMOVE_FILE | LL_MAKE_REG | LL_TRUNCATE };
	return confine_self(SECCOMP_RECORDER, rules, n, err);
}

static int open_graph(struct recorder *rec, struct err *err)
{
	auto_buf struct buf json = BUF_MAX(256);
	int64_t torn, bad;

	TRY(graph_disk_open(rec->record_fd, &rec->graph, &torn, &bad, err));
	if (torn > 0) {
		TRY(buf_addf(&json, err, "{\"bytes\":%lld,\"file\":\"" GRAPH_FILE "\"}", (long long)torn));
		TRY(store_event(rec->store, EVENT_RECORDER, STR("record.torn"), buf_str(&json), err));
	}
	buf_clear(&json);
	if (bad == 0)
		return 0;
	TRY(buf_addf(&json, err, "{\"lines\":%lld,\"detail\":\"" GRAPH_FILE " has lines that cannot be used\"}", (long long)bad));
	return store_event(rec->store, EVENT_RECORDER, STR("record.damaged"), buf_str(&json), err);
}

static int set_up(struct recorder *rec, struct err *err)
{
	TRY(wait_open(rec, err));
	TRY(chan_nonblock(MONITOR_FD, err));
	TRY(chan_nonblock(AGENT_FD, err));
	TRY(loop_open(&rec->loop, err));
	TRY(confine(rec, err));
	TRY(store_open(rec->record_fd, &rec->store, err));
	TRY(open_graph(rec, err));
	rec->monitor.fd = MONITOR_FD;
	rec->agent.fd = AGENT_FD;
	TRY(loop_watch(rec->loop, MONITOR_FD, EPOLLIN, on_monitor, rec, err));
	return loop_watch(rec->loop, AGENT_FD, EPOLLIN, on_agent, rec, err);
}

static int answer_open(int r, const char *why, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);

	pack_u8(&b, r == 0);
	pack_str(&b, str_head(str_from(why), 3072));
	TRY(pack_ok(&b, err));
	return chan_send(MONITOR_FD, WIRE_OPENED, buf_str(&b), NULL, 0, err);
}

static void remove_all(struct recorder *rec)
{
	static const char *const parts[] = { "record", "answers", "run.lock" };

	for (size_t i = 0; i < COUNT(parts); i++)
		(void)!dir_remove_tree(rec->run_fd, parts[i], ERR_DISCARD);
	if (rec->bucket_fd >= 0)
		unlinkat(rec->bucket_fd, rec->dir_name, AT_REMOVEDIR);
}

static void finish(struct recorder *rec)
{
	struct err err = { 0 };

	/* What the agent said last, its run.end, stands in the channel before the monitor's word. */
	for (int i = 0; i < DRAIN_MAX && rec->agent.fd >= 0; i++)
		if (take_one(rec, &rec->agent) == 0)
			break;
	/* The agent says that nothing came of the run. What is recorded is believed first. */
	if (rec->discard && !store_tells_of_work(rec->store)) {
		remove_all(rec);
		return;
	}
	if (graph_disk_sync(rec->graph, &err) < 0 || store_end(rec->store, &err) < 0)
		tell_lost(rec, err.msg);
}

static int run(struct recorder *rec, struct err *err)
{
	int r = set_up(rec, err);

	TRY(answer_open(r, r < 0 ? err->msg : "", r < 0 ? ERR_DISCARD : err));
	TRY(r);
	TRY(loop_run(rec->loop, err));
	finish(rec);
	return rec->lost_told ? -ERR_CLOSED : 0;
}

int role_recorder_main(void)
{
	struct recorder rec = { .run_fd = -1, .bucket_fd = -1, .record_fd = -1, .notes_fd = -1, .tokens = RECORDER_BURST };
	struct err err = { 0 };

	rec.monitor = (struct peer_link){ &rec, "monitor", -1, LINK_MONITOR_RECORDER, WIRE_DOWN, EVENT_MONITOR };
	rec.agent = (struct peer_link){ &rec, "agent", -1, LINK_RECORDER_AGENT, WIRE_UP, EVENT_AGENT };
	rec.msg = mem_alloc(sizeof(*rec.msg));
	rec.refilled_ms = time_mono_ms();
	int r = run(&rec, &err);

	graph_disk_close(rec.graph);
	store_close(rec.store);
	loop_close(rec.loop);
	free(rec.msg);
	base_close_fd(&rec.record_fd);
	base_close_fd(&rec.run_fd);
	base_close_fd(&rec.bucket_fd);
	base_close_fd(&rec.notes_fd);
	return r < 0 ? 1 : 0;
}
