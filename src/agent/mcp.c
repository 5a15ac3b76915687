/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/mcp.h"
#include "agent/mcp_priv.h"
#include "base/time.h"

#include <stdio.h>

#define MESSAGE_MAX       (8 * 1024 * 1024)
#define STARTS_MAX     4     /* of one server in a leg */
#define STDERR_SHOWN   400
#define STDERR_MAX     (64 * 1024 * 1024) /* from one start: drained, but not for ever */
#define FIRST_POST     0x40000000u /* CALLER_IDS of agent/call.h, which is about something else */
#define LEFT_OUT_SHOWN 20
#define PROGRESS_TIMES 10 /* call_timeout_s that a call may take when its server tells that it works on it */
#define PARTING_MS     1000

/* ---- the record ---- */

struct str mcp_errs(const struct mcp_server *s)
{
	struct str tail = str_tail(str_trim(buf_str(&s->errs.tail)), STDERR_SHOWN);

	while (tail.n > 0 && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
		tail = str_skip(tail, 1);
	return tail;
}

static void note_errs(struct note *n, const struct mcp_server *s)
{
	struct str tail = mcp_errs(s);

	if (tail.n > 0)
		note_str(n, "stderr_tail", tail);
}

int mcp_note(struct mcp_server *s, const char *text, struct err *err)
{
	auto_note struct note n = NOTE;

	if (!s->all->keep)
		return 0;
	note_str(&n, "server", s->p.name);
	note_z(&n, "text", text);
	return note_send(&n, s->all->keep, EVENT_MCP_NOTE, err);
}

static int put_gone(const struct mcp_server *s, bool at_start, struct err *err)
{
	auto_note struct note n = NOTE;

	if (!s->all->keep)
		return 0;
	note_str(&n, "server", s->p.name);
	note_z(&n, at_start ? "error" : "detail", s->why);
	note_errs(&n, s);
	return note_send(&n, s->all->keep, at_start ? EVENT_MCP_UNAVAILABLE : EVENT_MCP_ENDED, err);
}

static int put_ready(const struct mcp_server *s, size_t offered, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str_list left_out = s->left_out;

	if (!s->all->keep)
		return 0;
	left_out.n = left_out.n < LEFT_OUT_SHOWN ? left_out.n : LEFT_OUT_SHOWN;
	note_str(&n, "server", s->p.name);
	note_int(&n, "tools", (int64_t)offered);
	note_z(&n, "protocol", s->protocol);
	if (left_out.n > 0)
		note_strs(&n, "left_out", left_out);
	return note_send(&n, s->all->keep, EVENT_MCP_READY, err);
}

/* ---- one that misbehaves, or ends ---- */

enum peer mcp_peer(const struct mcp_server *s)
{
	return s->remote ? PEER_CLIENT : (enum peer)(PEER_SERVER + s->index);
}

bool mcp_cut_off(const struct mcp_server *s)
{
	return s->all->links->peer[mcp_peer(s)].gone;
}

int mcp_give_up(struct mcp_server *s, const char *why, struct err *err)
{
	if (s->state == MCP_GIVEN_UP)
		return 0;
	bool at_start = !s->listed;

	snprintf(s->why, sizeof(s->why), "%s", why);
	s->state = MCP_GIVEN_UP;
	s->open = 0;
	s->stopping = true;
	if (!s->remote && s->proc.job != 0 && !mcp_cut_off(s))
		TRY(jobs_serve_kill(&s->jobs, &s->proc, err));
	if (s->remote && !mcp_cut_off(s))
		TRY(mcp_posts_cancel(s, err));
	return put_gone(s, at_start, err);
}

static void describe_end(struct mcp_server *s, const struct job_result *r)
{
	const char *between = r->note.n > 0 ? "; " : ""; /* what the kernel killed of it */

	switch (r->why) {
	case JOB_EXITED:
		snprintf(s->why, sizeof(s->why), "it ended with status %d%s" STR_FMT, r->code, between, STR_ARG(r->note));
		break;
	case JOB_SIGNALED:
		snprintf(s->why, sizeof(s->why), "it was killed by signal %d%s" STR_FMT, r->code - 128, between, STR_ARG(r->note));
		break;
	default:
		snprintf(s->why, sizeof(s->why), STR_FMT, STR_ARG(r->note.n > 0 ? r->note : STR("it was stopped")));
	}
}

static int on_end(void *self, const struct job_result *r, struct err *err)
{
	struct mcp_server *s = self;
	enum mcp_state was = s->state;

	rpc_fini(&s->rpc);
	s->open = 0;
	if (s->stopping || was == MCP_GIVEN_UP)
		return 0; /* told when it was decided */
	s->state = MCP_OFF;
	describe_end(s, r);
	/* Some end at a request that precedes the handshake: they are started once more, and greeted as they expect. */
	if (was == MCP_PROBING && r->why == JOB_EXITED && s->starts < 2) {
		s->era = MCP_ERA_LEGACY;
		s->era_known = true;
		return mcp_start(s, err);
	}
	if (was == MCP_READY && s->listed)
		return put_gone(s, false, err);
	s->state = MCP_GIVEN_UP;
	return put_gone(s, true, err);
}

/* ---- starting ---- */

static int on_out(void *self, struct str bytes, struct err *err)
{
	struct mcp_server *s = self;
	struct err why = { 0 };
	int r;

	if (s->state == MCP_GIVEN_UP)
		return 0;
	r = rpc_feed(&s->rpc, bytes, &why);
	if (r == -ERR_PROTOCOL)
		return mcp_give_up(s, why.msg, err);
	if (r < 0)
		*err = why;
	return r;
}

static int on_errs(void *self, struct str bytes, struct err *err)
{
	struct mcp_server *s = self;

	s->errs.total += bytes.n;
	if (s->errs.total > STDERR_MAX)
		return mcp_give_up(s, "it floods its stderr", err);
	bytes = str_tail(bytes, MCP_STDERR_KEPT);
	TRY(buf_add(&s->errs.tail, bytes, err));
	if (s->errs.tail.n > MCP_STDERR_KEPT)
		TRY(buf_splice(&s->errs.tail, 0, s->errs.tail.n - MCP_STDERR_KEPT, STR(""), err));
	return 0;
}

static int on_start(void *self, struct err *err)
{
	struct mcp_server *s = self;

	if (s->era_known && s->era == MCP_ERA_MODERN) {
		s->state = s->listed ? MCP_READY : MCP_LISTING;
		return s->listed ? 0 : mcp_ask_list(s, STR(""), err);
	}
	if (s->era_known)
		return mcp_ask_initialize(s, err);
	s->state = MCP_PROBING;
	s->probe_ms = time_mono_ms() + (s->p.startup_timeout_s * 1000 > 2 * MCP_PROBE_MS ? MCP_PROBE_MS : s->p.startup_timeout_s * 500);
	s->era = MCP_ERA_MODERN;
	return mcp_ask(s, &(struct mcp_say){ .method = MCP_DISCOVER }, err);
}

int mcp_start(struct mcp_server *s, struct err *err)
{
	rpc_init(&s->rpc, MESSAGE_MAX, mcp_on_message, s);
	s->proc = (struct job_server){ .in = -1, .on_start = on_start, .on_out = on_out, .on_errs = on_errs, .on_end = on_end,
		.on_said = mcp_on_said, .self = s };
	buf_clear(&s->errs.tail);
	s->errs.total = 0;
	s->starts++;
	s->state = MCP_STARTING;
	s->stopping = false;
	s->unasked = 0;
	s->list = (struct mcp_list){ 0 };
	s->pages = 0;
	s->deadline_ms = time_mono_ms() + s->p.startup_timeout_s * 1000;
	s->version = 0;
	if (s->remote && s->stream.id != 0) /* of a session that is over */
		TRY(mcp_post_cancel(s, s->stream.id, err));
	if (s->remote)
		return on_start(s, err);
	return jobs_serve(&s->jobs, &s->proc, 0, err);
}

static bool is_starting(const struct mcp_server *s)
{
	return s->state > MCP_OFF && s->state < MCP_READY;
}

/* What time alone decides. */
static int look_at_clock(struct mcp_server *s, struct err *err)
{
	int64_t now = time_mono_ms();
	char why[96];

	if (!is_starting(s))
		return 0;
	if (mcp_cut_off(s))
		return mcp_give_up(s, "the process between is gone", err);
	if (now >= s->deadline_ms) {
		snprintf(why, sizeof(why), "it was not ready after %lld s (startup_timeout_s)", (long long)s->p.startup_timeout_s);
		return mcp_give_up(s, why, err);
	}
	if (s->state == MCP_PROBING && now >= s->probe_ms) {
		s->era = MCP_ERA_LEGACY;
		return mcp_ask_initialize(s, err);
	}
	return 0;
}

static int64_t next_clock(const struct mcp *m)
{
	int64_t next = -1;

	for (size_t i = 0; i < m->n; i++) {
		const struct mcp_server *s = &m->servers[i];
		int64_t at = s->state == MCP_PROBING && s->probe_ms < s->deadline_ms ? s->probe_ms : s->deadline_ms;

		if (is_starting(s) && (next < 0 || at < next))
			next = at;
	}
	return next;
}

static int await_starts(struct mcp *m, struct err *err)
{
	int64_t next;

	while ((next = next_clock(m)) >= 0) {
		int64_t left = next - time_mono_ms();

		if (links_interrupted(m->links))
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		TRY(links_pump(m->links, left > 0 ? left : 0, err));
		for (size_t i = 0; i < m->n; i++)
			TRY(look_at_clock(&m->servers[i], err));
	}
	return 0;
}

/* A server would refuse each call of them. */
static void leave_headers_out(struct mcp_server *s)
{
	for (size_t i = 0; s->remote && s->era == MCP_ERA_MODERN && i < s->list.n; i++)
		if (s->list.p[i].headers && !s->list.p[i].fault)
			s->list.p[i].fault = "it wants arguments as HTTP headers, which agent6 does not send";
}

/* In the order of the configuration, whoever was ready first: the model's list is the same each time. */
static int offer_all(struct mcp *m, struct err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		struct mcp_server *s = &m->servers[i];
		size_t before = m->catalogue.n;

		if (s->state != MCP_READY)
			continue;
		leave_headers_out(s);
		TRY(mcp_offer(&m->catalogue, i, s->p.name, &s->list, &s->p.tools, m->run_mem, &s->left_out, err));
		s->listed = true;
		TRY(put_ready(s, m->catalogue.n - before, err));
		TRY(mcp_listen(s, err));
	}
	return 0;
}

int mcp_open(struct mcp *m, struct links *l, struct keep *k, const struct str_list *params, struct arena *mem, struct err *err)
{
	*m = (struct mcp){ .links = l, .keep = k, .run_mem = mem, .n = params->n, .last_post = FIRST_POST };
	if (params->n > MCP_SERVERS_MAX)
		return err_set(err, ERR_PROTOCOL, "more than %d MCP servers", MCP_SERVERS_MAX);
	m->servers = arena_array(mem, params->n + 1, sizeof(*m->servers));
	for (size_t i = 0; i < m->n; i++) {
		struct mcp_server *s = &m->servers[i];

		*s = (struct mcp_server){ .all = m, .index = i, .errs = { .tail = BUF_MAX(2 * MCP_STDERR_KEPT) } };
		TRY(server_params_unpack(params->p[i], mem, &s->p, err));
		s->remote = s->p.endpoint >= 0;
		if (!s->remote)
			jobs_init(&s->jobs, l, mcp_peer(s));
		if (mcp_cut_off(s) || mcp_start(s, ERR_DISCARD) < 0)
			TRY(mcp_give_up(s, s->remote ? "it cannot be spoken to" : "its jail could not be built", err));
	}
	TRY(await_starts(m, err));
	return offer_all(m, err);
}

static bool is_parting(const struct mcp *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (mcp_is_parting(&m->servers[i]))
			return true;
	return false;
}

void mcp_close(struct mcp *m)
{
	int64_t until_ms = time_mono_ms() + PARTING_MS, left;

	for (size_t i = 0; i < m->n; i++)
		if (mcp_part(&m->servers[i], ERR_DISCARD) < 0)
			return;
	while (is_parting(m) && !m->links->peer[PEER_CLIENT].gone && (left = until_ms - time_mono_ms()) > 0)
		if (links_pump(m->links, left, ERR_DISCARD) < 0)
			return;
}

void mcp_fini(struct mcp *m)
{
	for (size_t i = 0; i < m->n; i++) {
		rpc_fini(&m->servers[i].rpc);
		buf_fini(&m->servers[i].errs.tail);
		mcp_posts_fini(&m->servers[i]);
		jobs_fini(&m->servers[i].jobs);
	}
}

/* ---- a call ---- */

static int failed(struct mcp_reply *out, const char *note, struct arena *mem)
{
	out->why = JOB_LOST;
	out->note = str_dup(mem, str_from(note));
	return 0;
}

static void end_call(struct mcp_server *s)
{
	s->open = 0;
	s->mem = NULL;
	s->reply = NULL;
}

/* Nobody wants its answer any more. */
static int cancel(struct mcp_server *s, struct err *err)
{
	uint32_t id = s->open;

	end_call(s);
	if (mcp_cut_off(s) || (!s->remote && s->proc.job == 0))
		return 0;
	/* The operator may still be asked about it. */
	TRY(s->remote ? mcp_post_cancel(s, id, err) : jobs_unsay(&s->jobs, id, err));
	if (s->remote && s->era == MCP_ERA_MODERN) /* there the end of the stream says so */
		return 0;
	return mcp_tell(s, &(struct mcp_say){ .method = MCP_CANCEL, .ref = id }, err);
}

static int await_answer(struct mcp_server *s, struct mcp_reply *out, struct arena *mem, struct err *err)
{
	struct links *l = s->all->links;
	int64_t timeout = s->p.call_timeout_s * 1000, deadline = time_mono_ms() + timeout, last = deadline;
	char why[96];

	while (!s->answered && s->open != 0) {
		int64_t left = deadline - time_mono_ms();

		if (links_interrupted(l)) {
			TRY(cancel(s, err));
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		}
		if (s->waits) { /* a person takes the time that they take */
			deadline += left < 0 ? -left : 0;
			left = -1;
		} else if (left <= 0) {
			TRY(cancel(s, err));
			snprintf(why, sizeof(why), "no answer after %lld s (call_timeout_s)", (long long)s->p.call_timeout_s);
			return failed(out, why, mem);
		}
		TRY(links_wait(l, mcp_peer(s), left, err));
		if (s->said) { /* the time runs from here */
			s->said = false;
			deadline = time_mono_ms() + timeout;
			last = deadline + (PROGRESS_TIMES - 1) * timeout;
		}
		if (s->progressed) {
			s->progressed = false;
			deadline = time_mono_ms() + timeout < last ? time_mono_ms() + timeout : last;
		}
	}
	if (!s->answered)
		return failed(out, s->why[0] ? s->why : "the server ended", mem);
	return 0;
}

static int restart(struct mcp_server *s, struct mcp_reply *out, struct arena *mem, struct err *err)
{
	if (s->state == MCP_READY)
		return 0;
	if (s->state == MCP_OFF && s->starts < STARTS_MAX) {
		TRY(mcp_start(s, err));
		TRY(await_starts(s->all, err));
	}
	return s->state == MCP_READY ? 0 : failed(out, s->why[0] ? s->why : "the server is not there", mem);
}

int mcp_call(struct mcp *m, const struct mcp_tool *tool, struct str args, struct arena *mem, struct mcp_reply *out, struct err *err)
{
	struct mcp_server *s = &m->servers[tool->server];
	int64_t began = time_mono_ms();
	int r;

	*out = (struct mcp_reply){ .why = JOB_EXITED, .may_have_written = s->p.writes != 0,
		.pictures = { .most = m->pictures, .mem = mem } };
	if (links_interrupted(m->links))
		return err_set(err, ERR_STOPPED, "the operator stopped the run");
	if (mcp_cut_off(s))
		return failed(out, "the process between is gone", mem);
	TRY(restart(s, out, mem, err));
	if (out->why != JOB_EXITED)
		return 0;
	TRY(mcp_listen(s, err));
	s->mem = mem;
	s->reply = out;
	s->answered = s->said = s->progressed = false;
	s->progress = 0;
	s->waits = true;
	r = mcp_ask(s, &(struct mcp_say){ .method = MCP_CALL, .text = tool->name, .args = args }, err);
	if (r == 0)
		r = await_answer(s, out, mem, err);
	end_call(s);
	out->wall_ms = time_mono_ms() - began;
	return r == -ERR_CLOSED && !s->remote && mcp_cut_off(s) && !m->links->peer[PEER_MONITOR].gone
		? failed(out, "its jail is gone", mem)
		: r;
}
