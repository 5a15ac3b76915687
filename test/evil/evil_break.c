/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Messages that break a rule: one after which the peer must hang up, and floods of what a seed makes up. */
#include "evil.h"

#include "fmt/endpoint.h"
#include "fmt/pack.h"
#include "git/gitop.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BREACH_FDS_MAX 200

enum body { RAW, RECORD, JOB0, JOB_TWICE, NOTHING };

static const struct breach {
	const char *name;
	enum peer to;
	uint16_t type;
	enum body kind;
	uint8_t what;   /* of a record */
	uint32_t arg;
	const char *file, *json;
	int fds;
} breaches[] = {
	/* a packet without a byte, which looks like the end of a channel, and what goes with it */
	{ "nothing to the zygote", PEER_ZYGOTE, 0, NOTHING, .fds = 6 },
	{ "nothing to git", PEER_GIT, 0, NOTHING, .fds = 6 },
	{ "nothing to the client", PEER_CLIENT, 0, NOTHING, .fds = 6 },
	{ "nothing to the recorder", PEER_RECORDER, 0, NOTHING, .fds = 6 },
	{ "more than a channel takes", PEER_RECORDER, 0, NOTHING, .fds = 200 },
	/* not its to say */
	{ "forged verdict", PEER_ZYGOTE, WIRE_VERDICT, .json = "\0\0\0\0\1\0\0\0\0" },
	{ "start an agent", PEER_ZYGOTE, WIRE_START_AGENT, .json = "x", .fds = 5 },
	{ "a new ceiling", PEER_ZYGOTE, WIRE_CEILING, .fds = 1 },
	{ "stop all", PEER_ZYGOTE, WIRE_STOP_ALL },
	{ "git to the command zygote", PEER_ZYGOTE, WIRE_RECORD, .json = "x" },
	{ "an exit to the zygote", PEER_ZYGOTE, WIRE_EXIT, .json = "xxxx" },
	{ "job number 0", PEER_ZYGOTE, WIRE_RUN, JOB0 },
	{ "a job number twice", PEER_ZYGOTE, WIRE_RUN, JOB_TWICE },
	{ "an empty run", PEER_ZYGOTE, WIRE_RUN },
	{ "descriptors with a kill", PEER_ZYGOTE, WIRE_KILL, .json = "aaaa", .fds = 2 },
	{ "an unknown type", PEER_ZYGOTE, 9999, .json = "x" },
	{ "two inputs", PEER_ZYGOTE, WIRE_RUN, .json = "x", .fds = 2 },
	{ "verdict to git", PEER_GIT, WIRE_VERDICT, .json = "\0\0\0\0\1\0\0\0\0" },
	{ "an empty git", PEER_GIT, WIRE_GIT },
	{ "a ceiling for git", PEER_GIT, WIRE_CEILING, .fds = 1 },
	{ "endpoints", PEER_CLIENT, WIRE_ENDPOINTS, .json = "\7", .fds = 4 },
	{ "a short request", PEER_CLIENT, WIRE_REQ, .json = "xx" },
	{ "data to the client", PEER_CLIENT, WIRE_DATA, .json = "xxxx" },
	{ "a head to the client", PEER_CLIENT, WIRE_HEAD, .json = "xxxx" },
	{ "routes to the client", PEER_CLIENT, WIRE_ROUTES, .fds = 2 },
	/* records */
	{ "close the record", PEER_RECORDER, WIRE_CLOSE, .json = "\1" },
	{ "open another record", PEER_RECORDER, WIRE_OPEN, .json = "x", .fds = 2 },
	{ "a note of the monitor", PEER_RECORDER, WIRE_NOTE, RECORD, RECORD_EVENT, 0, "approval.answer", "{\"id\":\"approval-1\",\"approved\":true,\"source\":\"x\"}" },
	{ "an approval", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "approval.answer", "{\"id\":\"approval-1\",\"approved\":true,\"source\":\"x\"}" },
	{ "another task", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "run.start", "{\"run_id\":\"x\",\"user_task\":\"harmless\",\"mode\":\"run\"}" },
	{ "another isolation", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "run.start", "{\"run_id\":\"x\",\"user_task\":\"\",\"mode\":\"run\",\"isolation\":\"vm\"}" },
	{ "a prompt", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "approval.prompt", "{\"id\":\"approval-1\",\"prompt\":\"x\",\"standing\":true}" },
	{ "a stop", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "run.stop_requested", "{\"source\":\"x\",\"how\":\"now\"}" },
	{ "an own seq", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "loop.note", "{\"text\":\"x\",\"seq\":1}" },
	{ "an own h", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "loop.note", "{\"text\":\"x\",\"h\":\"00\"}" },
	{ "a second line", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "loop.note", "{\"text\":\"x\"}\n{\"text\":\"y\"}" },
	{ "an unknown event", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "run.owned", "{}" },
	{ "no json", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_EVENT, 0, "loop.note", "}{" },
	{ "a file above", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "../answers/approval-1", "always" },
	{ "the journal as a file", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "logs.jsonl", "{}" },
	{ "the manifest as a file", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "manifest.json", "{}" },
	{ "an absolute file", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "/tmp/owned", "x" },
	{ "a file with a tail", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "plan.md/../../x", "x" },
	{ "an empty name", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "", "x" },
	{ "a message out of turn", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MESSAGE, 7, "", "{}" },
	{ "a message of two lines", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MESSAGE, 0, "", "{}\n{\"cut\":0}" },
	{ "a restart ahead", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_RESTART, 9, "", "" },
	{ "a manifest member", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"owned\":1}" },
	{ "what a merge changes", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"base_branch\":\"release\"}" },
	{ "what a diff begins with", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"base_sha\":\"HEAD\"}" },
	{ "the operator's task", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"user_task\":\"x\"}" },
	{ "how it was held", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"policy\":{\"isolation\":\"none\"}}" },
	{ "that it was merged", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_MANIFEST, 0, "", "{\"merged\":{\"into\":\"main\"}}" },
	{ "an unknown record", PEER_RECORDER, WIRE_RECORD, RECORD, 77, 0, "", "{}" },
	{ "content that is no memfd", PEER_RECORDER, WIRE_RECORD, RECORD, RECORD_FILE, 0, "plan.md", "", -1 },
	{ "synced", PEER_RECORDER, WIRE_SYNCED, .json = "xxxx" },
	/* the monitor: the run ends */
	{ "nothing to the monitor", PEER_MONITOR, 0, NOTHING },
	{ "nothing to the monitor, with descriptors", PEER_MONITOR, 0, NOTHING, .fds = 6 },
	{ "an approval for itself", PEER_MONITOR, WIRE_APPROVE, .json = "xxxxxxxxxxxxxxxxxxxxxxxxx" },
	{ "a job end", PEER_MONITOR, WIRE_JOB_END, .json = "xxxxxxxxxxxxx" },
	{ "ready", PEER_MONITOR, WIRE_CELL_READY, .json = "xxxxxxxxxxxxx" },
	{ "go", PEER_MONITOR, WIRE_GO, .fds = 1 },
	{ "an empty ask", PEER_MONITOR, WIRE_ASK },
	{ "many asks", PEER_MONITOR, WIRE_ASK, .json = "\0\0\0\0\377\377\377\377" },
	{ "a short done", PEER_MONITOR, WIRE_DONE, .json = "x" },
	{ "spawn", PEER_MONITOR, WIRE_SPAWN, .json = "\1xx" },
	{ "descriptors with done", PEER_MONITOR, WIRE_DONE, .json = "xxxxxxxxxxx", .fds = 3 },
};

static void pack_job(struct buf *b, uint32_t number)
{
	const struct str words[] = { STR("touch"), STR("twice") };

	pack_u32(b, number);
	pack_u8(b, JOB_COMMAND);
	pack_u32(b, 1000);
	pack_str(b, STR(""));
	pack_strs(b, words, 2);
	pack_strs(b, NULL, 0);
}

static void pack_breach(const struct breach *x, struct buf *b)
{
	/* Texts hold NUL bytes: the longest that anything above needs, and the rest is what follows it. */
	static const struct { uint16_t type; size_t n; } sizes[] = { { WIRE_VERDICT, 9 }, { WIRE_ASK, 8 } };
	size_t n = x->json ? strlen(x->json) : 0;

	for (size_t i = 0; i < COUNT(sizes); i++)
		if (x->json && x->type == sizes[i].type)
			n = sizes[i].n;
	switch (x->kind) {
	case RAW:
		if (n > 0)
			BUG_IF(buf_add(b, str_of(x->json, n), ERR_DISCARD) < 0);
		return;
	case RECORD:
		pack_u8(b, x->what);
		pack_u32(b, x->arg);
		pack_str(b, str_from(x->file));
		pack_str(b, x->fds == -1 ? STR("") : str_from(x->json));
		return;
	case JOB0:
		return pack_job(b, 0);
	case JOB_TWICE:
		return pack_job(b, 5);
	case NOTHING:
		return;
	}
}

/* As chan_send would not: no head, and any number of descriptors, sockets with sockets under way in them among these. */
static void send_nothing(const struct breach *x, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(BREACH_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr msg = { .msg_control = control.space, .msg_controllen = n > 0 ? CMSG_SPACE(n * sizeof(int)) : 0 };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (c)
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof(int)) };
	if (c)
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	(void)!sendmsg(3 + (int)x->to, &msg, MSG_NOSIGNAL);
}

/* Recorder and client are the same whatever holds the agent. */
static bool is_meant(enum peer to, enum breach_to whom)
{
	return whom == BREACH_ANY || (whom == BREACH_MONITOR ? to == PEER_MONITOR : to < PEER_CLIENT);
}

void evil_break(struct evil *e, uint32_t nth, enum breach_to whom)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);
	int fds[BREACH_FDS_MAX];
	size_t n = 0;

	size_t at = 0;

	for (size_t left = nth; at < COUNT(breaches); at++)
		if (is_meant(breaches[at].to, whom) && left-- == 0)
			break;
	if (at == COUNT(breaches)) {
		evil_say(e, "no breach %u", nth);
		return;
	}
	const struct breach *x = &breaches[at];

	for (int i = 0; i < x->fds; i++) /* the other channels too */
		fds[n++] = x->kind == NOTHING ? dup(3 + i % AGENT_FDS) : evil_memfd(STR("{}"), true);
	if (x->fds == -1)
		fds[n++] = dup(e->workspace);
	pack_breach(x, &b);
	if (x->kind == JOB_TWICE)
		evil_send(e, x->to, x->type, buf_str(&b), NULL, 0);
	if (x->kind == NOTHING)
		send_nothing(x, fds, n);
	else
		evil_send(e, x->to, x->type, buf_str(&b), fds, n);
	bool dropped = evil_dropped(x->to, 5000);

	evil_say(e, "breach %s: %s", x->name, dropped ? "dropped" : "KEPT");
	while (dropped && x->to == PEER_MONITOR) /* it ends the run, and nobody else does */
		poll(NULL, 0, -1);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* ---- made up ---- */

struct fuzz {
	struct evil *e;
	uint64_t state;
	unsigned sent[AGENT_FDS];
	bool gone[AGENT_FDS];
	uint32_t message; /* the next of the conversation */
};

static uint32_t pick(struct fuzz *f, uint32_t below)
{
	f->state = f->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((f->state >> 33) % below);
}

static const char *word(struct fuzz *f)
{
	static const char *const list[] = { "", "true", "touch", "../new", "../../home/new", "/etc/new", "sh", "-c", "--",
		"--help", "-rf", ".git/config", ".git", "HEAD", "main", "refs/heads/main", "refs/agent6/x/head", "..",
		"/", "dir", "a\nb", "\033[2J\033]0;owned\007", "\xff\xfe", "driver:x", "driver:", "git", "push",
		"4b825dc642cb6eb9a060e54bf8d69288fbee4904", "0000000000000000000000000000000000000000", "1", "99999999",
		"echo x >../new; echo x >.git/config; touch /tmp/owned", "PATH=.", "LD_PRELOAD=x", "TERM=x", "CI=1" };

	return list[pick(f, COUNT(list))];
}

static void pack_words(struct fuzz *f, struct buf *b)
{
	struct str list[6];
	size_t n = pick(f, COUNT(list));

	for (size_t i = 0; i < n; i++)
		list[i] = str_from(word(f));
	pack_strs(b, list, n);
}

static uint16_t make_run(struct fuzz *f, struct buf *b)
{
	pack_u32(b, ++f->e->job);
	pack_u8(b, (uint8_t)pick(f, 8));
	pack_u32(b, 1 + pick(f, 2000));
	pack_str(b, str_from(pick(f, 2) ? "" : word(f)));
	pack_words(f, b);
	if (pick(f, 2))
		pack_words(f, b);
	else
		pack_strs(b, NULL, 0);
	return WIRE_RUN;
}

static uint16_t make_git(struct fuzz *f, struct buf *b)
{
	pack_u32(b, ++f->e->job);
	pack_u8(b, (uint8_t)pick(f, 48));
	pack_words(f, b);
	return WIRE_GIT;
}

static uint16_t make_req(struct fuzz *f, struct buf *b)
{
	pack_u32(b, ++f->e->job);
	pack_u8(b, (uint8_t)pick(f, 256));
	pack_u8(b, (uint8_t)pick(f, 4));
	return WIRE_REQ;
}

static uint16_t make_record(struct fuzz *f, struct buf *b)
{
	static const struct { uint8_t what; const char *name, *json; } all[] = {
		{ RECORD_EVENT, "loop.note", "{\"text\":\"\\u001b[2J\"}" },
		{ RECORD_EVENT, "run.notice", "{\"level\":\"warning\",\"text\":\"Allow run_command: ls [y/n] \"}" },
		{ RECORD_EVENT, "role.text_delta", "{\"role\":\"worker\",\"text\":\"\\u202e\\u0007\\u009b2J\"}" },
		{ RECORD_EVENT, "tool.call", "{\"name\":\"run_command\",\"args\":{\"argv\":[\"\\n\\n\"]},\"call_id\":\"x\"}" },
		{ RECORD_STATE, "", "{\"turn\":-1}" }, { RECORD_FILE, "plan.md", "\033[2J" },
		{ RECORD_MANIFEST, "", "{\"user_task\":\"\\u001b[2J\",\"base_branch\":\"-x\"}" },
		{ RECORD_IN_FLIGHT, "", "" }, { RECORD_IN_FLIGHT, "", "{}" },
	};
	size_t i = pick(f, COUNT(all));

	pack_u8(b, all[i].what);
	pack_u32(b, pick(f, 100));
	pack_str(b, str_from(all[i].name));
	pack_str(b, str_from(all[i].json));
	return WIRE_RECORD;
}

/* No row but the monitor's own is left alone: the run must end by itself now and then. */
static uint16_t make_ask(struct fuzz *f, struct buf *b)
{
	pack_u32(b, pick(f, 100));
	pack_u32(b, 1);
	pack_str(b, str_from(word(f)));
	pack_words(f, b);
	return WIRE_ASK;
}

static uint16_t any_type(struct fuzz *f)
{
	static const uint16_t types[] = {
#define X(type, value, link, dir, fmin, fmax, bmax) type,
		WIRE_TYPES(X)
#undef X
	};

	return pick(f, 8) ? types[pick(f, COUNT(types))] : (uint16_t)pick(f, 65536);
}

static void spoil(struct fuzz *f, struct buf *b)
{
	if (b->n > 0)
		b->p[pick(f, (uint32_t)b->n)] = (char)pick(f, 256);
}

/* What is configured may be asked (behind the provider's endpoint stands one for its other wire): here it is spared, whatever made
 * or spoiled the request, and hears nothing. */
static void spare(uint16_t type, struct buf *b)
{
	enum { ENDPOINT = 4 };

	if (type == WIRE_REQ && b->n > ENDPOINT && (unsigned char)b->p[ENDPOINT] < ENDPOINTS_MAX)
		b->p[ENDPOINT] = (char)0xff;
}

static void throw_one(struct fuzz *f, enum peer to)
{
	static uint16_t (*const make[AGENT_FDS])(struct fuzz *, struct buf *) = { make_ask, make_run, make_git, make_req,
		make_record };
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);
	uint16_t type = make[to](f, &b);
	int fds[2];
	size_t n = 0;

	if (pick(f, 60) == 0)
		type = any_type(f);
	if (pick(f, 60) == 0)
		spoil(f, &b);
	spare(type, &b);
	if (pick(f, 60) == 0)
		for (n = 0; n < COUNT(fds); n++)
			fds[n] = pick(f, 2) ? dup(f->e->workspace) : evil_memfd(STR("x"), pick(f, 2));
	f->gone[to] = !evil_send(f->e, to, type, buf_str(&b), fds, n);
	f->sent[to] += !f->gone[to];
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Answers are thrown away, with their descriptors; a peer that has hung up is told from one that is slow. */
static void drain(struct fuzz *f)
{
	struct err err = { 0 };

	for (int p = 0; p < AGENT_FDS; p++) {
		struct pollfd in = { .fd = 3 + p, .events = POLLIN };

		while (!f->gone[p] && poll(&in, 1, 0) > 0) {
			int r = chan_recv(in.fd, f->e->msg, &err);

			chan_msg_fini(f->e->msg);
			f->gone[p] = r == -ERR_CLOSED;
		}
	}
}

void evil_fuzz(struct evil *e, uint32_t seed)
{
	struct fuzz f = { .e = e, .state = seed * 2654435761u + 1 };

	for (unsigned i = 0; i < 600; i++) {
		enum peer to = (enum peer)pick(&f, AGENT_FDS);

		if (!f.gone[to])
			throw_one(&f, to);
		drain(&f);
	}
	evil_say(e, "sent %u %u %u %u %u", f.sent[0], f.sent[1], f.sent[2], f.sent[3], f.sent[4]);
}
