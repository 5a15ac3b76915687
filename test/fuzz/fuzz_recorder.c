/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The recorder: whatever an agent that was taken over has recorded, between the monitor's notes, in one leg or two. What stands on the
 * disk afterwards is a journal whose chain holds, a conversation that agrees with it, and a state that every view can fold. */
#include "fmt/json.h"
#include "role/recorder.h"
#include "session/proof.h"
#include "session/record.h"
#include "sys/file.h"
#include "view/fold.h"

#include "test/fuzz/place.h"
#include "test/fuzz/steps.h"
#include "test/fuzz/unconfined.h"

#include <signal.h>

#define LEGS 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MONITOR, AGENT, CHANNELS };
static const int places[CHANNELS] = { 3, 4 }; /* where the recorder has them */

static int ends[CHANNELS], top_fd = -1;
static struct chan_msg heard;
static bool lost;

/* The disk is memory, and nobody pulls the plug. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < CHANNELS; i++)
		BUG_IF(dup2(STDERR_FILENO, places[i]) < 0);
	top_fd = place_new();
	return 0;
}

static void hear(void)
{
	static const enum wire_link links[CHANNELS] = { LINK_MONITOR_RECORDER, LINK_RECORDER_AGENT };
	static const enum wire_dir dirs[CHANNELS] = { WIRE_UP, WIRE_DOWN };
	struct err err;

	for (size_t i = 0; i < CHANNELS; i++)
		while (ends[i] >= 0 && chan_recv(ends[i], &heard, ERR_DISCARD) == 0) {
			BUG_IF(wire_check(links[i], dirs[i], heard.type, heard.body.n, heard.nfds, &err) < 0);
			lost = lost || heard.type == WIRE_LOST_UP;
			chan_msg_fini(&heard);
		}
}

/* ---- steps ---- */

/* What of an event's fields its table wants, so that the input need not guess names. */
static void add_fields(struct in *in, const struct event_type *t, struct buf *out)
{
	const char *between = "{";

	for (size_t i = 0; i < t->nfields; i++) {
		uint8_t how = in_u8(in);

		if (t->fields[i].optional && how < 128)
			continue;
		BUG_IF(buf_addf(out, ERR_DISCARD, "%s\"%s\":", between, t->fields[i].name) < 0);
		between = ",";
		switch (t->fields[i].kind) {
		case EVENT_STR:
			BUG_IF(json_add_quoted(out, in_str(in), ERR_DISCARD) < 0);
			break;
		case EVENT_INT:
		case EVENT_NUM:
			BUG_IF(buf_addf(out, ERR_DISCARD, "%lld", (long long)in_number(in)) < 0);
			break;
		case EVENT_BOOL:
			BUG_IF(buf_addz(out, how & 1 ? "true" : "false", ERR_DISCARD) < 0);
			break;
		case EVENT_STRS:
			BUG_IF(buf_addz(out, "[", ERR_DISCARD) < 0 || json_add_quoted(out, in_str(in), ERR_DISCARD) < 0 ||
				buf_addz(out, "]", ERR_DISCARD) < 0);
			break;
		case EVENT_LIST:
			BUG_IF(buf_addz(out, "[{\"question\":\"q\",\"options\":[\"a\"]}]", ERR_DISCARD) < 0);
			break;
		case EVENT_OBJ:
			BUG_IF(buf_addz(out, "{\"path\":\"a\"}", ERR_DISCARD) < 0);
			break;
		}
	}
	BUG_IF(buf_addz(out, *between == '{' ? "{}" : "}", ERR_DISCARD) < 0);
}

static void record(struct in *in, size_t who, uint8_t kind)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY), json = BUF_MAX(CHAN_BODY);
	uint8_t what = kind % 12, how = in_u8(in);
	uint32_t arg = (uint32_t)in_number(in);
	struct str name = { 0 }, text;
	autoclose int fd = -1;

	if (what == RECORD_EVENT && how < 128) {
		const struct event_type *t = event_at((enum event_id)(in_u8(in) % EVENT_COUNT));

		name = str_from(t->type);
		add_fields(in, t, &json);
		text = buf_str(&json);
	} else {
		name = in_str(in);
		text = in_str(in);
	}
	pack_u8(&body, what);
	pack_u32(&body, arg);
	pack_str(&body, name);
	pack_str(&body, how & 64 ? STR("") : text);
	if (how & 64)
		BUG_IF(memfd_seal("json", text, &fd, ERR_DISCARD) < 0);
	if (ends[who] >= 0 && pack_ok(&body, ERR_DISCARD) == 0)
		(void)!chan_send(ends[who], who == MONITOR ? WIRE_NOTE : WIRE_RECORD, buf_str(&body), &fd, fd >= 0, ERR_DISCARD);
}

static void say(struct in *in, size_t who, uint16_t type, const char *shape)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	in_body(in, shape, &body);
	if (ends[who] >= 0)
		(void)!chan_send(ends[who], type, buf_str(&body), NULL, 0, ERR_DISCARD);
}

static bool step(struct in *in)
{
	uint8_t what = in_u8(in);

	if (steps.over) {
		base_close_fd(&ends[MONITOR]);
		return false;
	}
	if (what < 180)
		record(in, AGENT, what);
	else if (what < 204)
		record(in, MONITOR, what);
	else if (what < 214)
		say(in, AGENT, WIRE_SYNC, "4");
	else if (what < 232)
		say(in, AGENT, WIRE_LOAD, "4");
	else if (what < 240)
		say(in, what & 1 ? AGENT : MONITOR, in_u8(in), "*");
	else if (what < 244)
		say(in, MONITOR, WIRE_CLOSE, "1");
	else if (what < 248)
		base_close_fd(&ends[AGENT]);
	else
		base_close_fd(&ends[MONITOR]);
	return true;
}

/* ---- one leg ---- */

static void open_leg(int run, int bucket, int notes)
{
	auto_buf struct buf body = BUF_MAX(256);
	const int fds[] = { run, bucket, notes };
	struct err err;

	for (size_t i = 0; i < CHANNELS; i++) {
		int pair[2];

		BUG_IF(chan_pair(pair, &err) < 0 || chan_nonblock(pair[0], &err) < 0);
		ends[i] = pair[0];
		BUG_IF(dup2(pair[1], places[i]) < 0);
		close(pair[1]);
	}
	pack_str(&body, STR("calm-fox-1"));
	pack_str(&body, STR("run"));
	pack_u8(&body, 0);
	BUG_IF(chan_send(ends[MONITOR], WIRE_OPEN, buf_str(&body), fds, COUNT(fds), &err) < 0);
}

static void close_leg(void)
{
	hear();
	for (size_t i = 0; i < CHANNELS; i++) {
		base_close_fd(&ends[i]);
		BUG_IF(dup2(STDERR_FILENO, places[i]) < 0);
	}
}

static void fold(int record_fd)
{
	auto_buf struct buf journal = BUF_MAX(64 << 20);
	auto_view struct view *v = view_new(VIEW_ALL);

	if (file_read(record_fd, JOURNAL_NAME, &journal, ERR_DISCARD) < 0)
		return;
	for (struct str rest = buf_str(&journal); rest.n > 0;)
		view_line(v, str_line(&rest));
	BUG_IF(!view_status(view_state(v), false).word);
}

static void check_record(int run)
{
	auto_arena struct arena *mem = arena_new();
	autoclose int fd = -1;
	struct proof p;
	struct err err;

	if (dir_open(run, "record", &fd, ERR_DISCARD) < 0)
		return; /* nothing came of it */
	BUG_IF(proof_read(fd, STR(""), mem, &p, &err) < 0);
	BUG_IF(p.journal.bad_line != 0 || p.journal.torn_bytes != 0 || p.cut || p.replaced != 0 || p.differences);
	fold(fd);
}

static void one_leg(struct in *in)
{
	static const char *const parts[] = { "run", "run/record", "notes" };
	autoclose int run = -1, notes = -1;
	struct err err;

	for (size_t i = 0; i < COUNT(parts); i++)
		BUG_IF(mkdirat(top_fd, parts[i], 0700) < 0 && errno != EEXIST);
	BUG_IF(dir_open(top_fd, "run", &run, &err) < 0 || dir_open(top_fd, "notes", &notes, &err) < 0);
	steps_begin(in->p, in->n, step, hear);
	open_leg(run, top_fd, notes);
	lost = false;
	int status = role_recorder_main();

	close_leg();
	BUG_IF(status != 0 || lost); /* no word of a peer's ends a record that can be written */
	check_record(run);
	*in = steps.in;
	steps_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct in in = { data, size };

	for (int leg = 0; leg < LEGS && in.n > 0; leg++)
		one_leg(&in);
	(void)!dir_remove_tree(top_fd, "run", ERR_DISCARD);
	(void)!dir_remove_tree(top_fd, "notes", ERR_DISCARD);
	return 0;
}
