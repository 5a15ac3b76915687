/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/lsp_priv.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>

#define MESSAGE_MAX  ((size_t)8 * 1024 * 1024)
#define OUT_MAX      ((size_t)16 * 1024 * 1024)
#define STARTS_MAX   3      /* of one server in a leg */
#define LATE_MAX     3      /* requests in a row */
#define OPENING_MS   60000  /* that it may take to begin; it is not waited for that long at once */
#define STDERR_KEPT  4096
#define STDERR_SHOWN 400
#define STDERR_MAX   ((uint64_t)64 * 1024 * 1024)

/* ---- the record ---- */

static int put(const struct lsp_peer *s, bool ready, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str tail = str_tail(str_trim(buf_str(&s->errs)), STDERR_SHOWN);

	note_z(&n, "server", s->is->name);
	if (ready)
		return note_send(&n, s->all->keep, EVENT_LSP_READY, err);
	note_z(&n, "detail", s->why);
	while (tail.n > 0 && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
		tail = str_skip(tail, 1);
	if (tail.n > 0)
		note_str(&n, "stderr_tail", tail);
	return note_send(&n, s->all->keep, EVENT_LSP_ENDED, err);
}

int lsp_ready(struct lsp_peer *s, struct err *err)
{
	return put(s, true, err);
}

/* ---- one that misbehaves, or ends ---- */

static void hush(struct lsp_peer *s)
{
	s->all->links->out[s->index].fd = -1;
	buf_clear(&s->out);
	s->out_at = 0;
	s->open_id = 0;
}

int lsp_give_up(struct lsp_peer *s, const char *why, struct err *err)
{
	if (s->state == LSP_GIVEN_UP)
		return 0;
	snprintf(s->why, sizeof(s->why), "%s", why);
	s->state = LSP_GIVEN_UP;
	s->stopping = true;
	hush(s);
	lsp_forget(s);
	if (s->proc.job != 0 && !s->all->links->peer[s->all->jobs.peer].gone)
		TRY(jobs_serve_kill(&s->all->jobs, &s->proc, err));
	return put(s, false, err);
}

static int on_end(void *self, const struct job_result *r, struct err *err)
{
	struct lsp_peer *s = self;
	bool began = s->state == LSP_READY;

	lsp_reader_fini(&s->reader);
	hush(s);
	lsp_forget(s);
	if (s->stopping || s->state == LSP_GIVEN_UP)
		return 0; /* told when it was decided */
	if (r->why == JOB_EXITED)
		snprintf(s->why, sizeof(s->why), "it ended with status %d", r->code);
	else if (r->why == JOB_SIGNALED)
		snprintf(s->why, sizeof(s->why), "it was killed by signal %d", r->code - 128);
	else
		snprintf(s->why, sizeof(s->why), STR_FMT, STR_ARG(r->note.n > 0 ? r->note : STR("it was stopped")));
	s->state = began && s->starts < STARTS_MAX ? LSP_OFF : LSP_GIVEN_UP;
	return put(s, false, err);
}

/* ---- what comes and goes ---- */

static int on_out(void *self, struct str bytes, struct err *err)
{
	struct lsp_peer *s = self;
	struct err why = { 0 };
	int r;

	if (s->state == LSP_GIVEN_UP)
		return 0;
	s->unasked_bytes += bytes.n;
	r = lsp_feed(&s->reader, bytes, &why);
	if (r == -ERR_PROTOCOL)
		return lsp_give_up(s, why.msg, err);
	if (r < 0)
		*err = why;
	return r;
}

static int on_errs(void *self, struct str bytes, struct err *err)
{
	struct lsp_peer *s = self;

	s->errs_total += bytes.n;
	if (s->errs_total > STDERR_MAX)
		return lsp_give_up(s, "it floods its stderr", err);
	TRY(buf_add(&s->errs, str_tail(bytes, STDERR_KEPT), err));
	if (s->errs.n > STDERR_KEPT)
		TRY(buf_splice(&s->errs, 0, s->errs.n - STDERR_KEPT, STR(""), err));
	return 0;
}

static int on_start(void *self, struct err *err)
{
	struct lsp_peer *s = self;

	s->state = LSP_OPENING;
	return lsp_greet(s, err);
}

/* As much as it takes; the rest when it has read some. One that closed its input is about to end. */
static int flush(struct lsp_peer *s)
{
	while (s->out_at < s->out.n) {
		ssize_t n = write(s->proc.in, s->out.p + s->out_at, s->out.n - s->out_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			s->all->links->out[s->index].fd = s->proc.in;
			return 0;
		}
		if (n < 0)
			break;
		s->out_at += (size_t)n;
	}
	s->all->links->out[s->index].fd = -1;
	buf_clear(&s->out);
	s->out_at = 0;
	return 0;
}

static int on_writable(void *self, size_t which, struct err *err)
{
	struct lsp *l = self;

	(void)err;
	return flush(&l->peers[which]);
}

int lsp_send(struct lsp_peer *s, struct str text, struct err *err)
{
	if (s->proc.in < 0 || s->state == LSP_GIVEN_UP)
		return 0;
	if (lsp_frame(&s->out, text, ERR_DISCARD) < 0)
		return lsp_give_up(s, "it does not read what it is sent", err);
	return flush(s);
}

/* ---- starting ---- */

static int start(struct lsp_peer *s, struct err *err)
{
	lsp_reader_init(&s->reader, MESSAGE_MAX, lsp_on_message, s);
	s->proc = (struct job_server){ .in = -1, .on_start = on_start, .on_out = on_out, .on_errs = on_errs, .on_end = on_end, .self = s };
	buf_clear(&s->errs);
	s->errs_total = s->unasked = s->unasked_bytes = 0;
	s->starts++;
	s->late = 0;
	s->stopping = s->bytes = false;
	s->state = LSP_STARTING;
	s->started_ms = time_mono_ms();
	return jobs_serve(&s->all->jobs, &s->proc, s->place, err);
}

/* They come behind the MCP servers that are programs. */
static int find_cell(const struct run_params *p, struct arena *mem, enum peer *out, struct err *err)
{
	int at = PEER_SERVER;

	for (size_t i = 0; i < p->servers.n; i++) {
		struct server_params one;

		TRY(server_params_unpack(p->servers.p[i], mem, &one, err));
		at += one.endpoint < 0;
	}
	if (at >= PEER_COUNT)
		return err_set(err, ERR_PROTOCOL, "more servers than there are places");
	*out = at;
	return 0;
}

int lsp_open(struct lsp *l, struct links *links, struct keep *keep, const struct run_params *p, struct arena *mem, struct err *err)
{
	enum peer cell = PEER_SERVER;

	*l = (struct lsp){ .links = links, .keep = keep, .workspace = p->workspace, .timeout_ms = p->language_timeout_s * 1000 };
	if (p->languages.n == 0)
		return 0;
	if (p->languages.n > LSP_SERVERS_MAX)
		return err_set(err, ERR_PROTOCOL, "more than %d language servers", LSP_SERVERS_MAX);
	TRY(find_cell(p, mem, &cell, err));
	l->peers = arena_array(mem, p->languages.n, sizeof(*l->peers));
	l->n = p->languages.n;
	for (size_t i = 0; i < l->n; i++) {
		struct lsp_peer *s = &l->peers[i];

		*s = (struct lsp_peer){ .all = l, .is = lsp_server_find(p->languages.p[i]), .index = i, .place = (uint8_t)i,
			.proc = { .in = -1 }, .errs = BUF_MAX(3 * STDERR_KEPT), .out = BUF_MAX(OUT_MAX) };
		if (!s->is)
			return err_set(err, ERR_PROTOCOL, "a language server that this version does not know");
		links->out[i].on_ready = on_writable;
		links->out[i].self = l;
	}
	l->there = true;
	jobs_init(&l->jobs, links, cell);
	return 0;
}

void lsp_fini(struct lsp *l)
{
	for (size_t i = 0; i < l->n; i++) {
		lsp_forget(&l->peers[i]);
		lsp_reader_fini(&l->peers[i].reader);
		buf_fini(&l->peers[i].errs);
		buf_fini(&l->peers[i].out);
	}
	for (size_t i = 0; i < l->touched.n; i++)
		buf_fini(&l->touched.p[i]);
	vec_fini(&l->touched);
	if (l->there)
		jobs_fini(&l->jobs);
}

/* ---- a call ---- */

static bool cut_off(const struct lsp *l)
{
	return l->links->peer[l->jobs.peer].gone;
}

static struct lsp_peer *server_for(const struct lsp *l, struct str path)
{
	for (size_t i = 0; l->there && i < l->n; i++)
		if (l->peers[i].state != LSP_GIVEN_UP && lsp_language_id(l->peers[i].is, path))
			return &l->peers[i];
	return NULL;
}

bool lsp_knows(const struct lsp *l, struct str path)
{
	return server_for(l, path) != NULL && !cut_off(l);
}

/* Until it is ready, or what was asked is answered, or it is clear that neither comes. 0: time is up. */
static int wait_for(struct lsp_peer *s, int64_t until_ms, struct err *err)
{
	struct lsp *l = s->all;

	for (;;) {
		int64_t left = until_ms - time_mono_ms();

		if (s->state == LSP_OFF || s->state == LSP_GIVEN_UP || (s->state == LSP_READY && s->open_id == 0) || cut_off(l))
			return 1;
		if (links_interrupted(l->links)) {
			TRY(lsp_cancel(s, err));
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		}
		if (left <= 0)
			return 0;
		TRY(links_pump(l->links, left, err));
	}
}

static void say(struct language_answer *out, const struct lsp_peer *s, const char *what, struct arena *mem)
{
	if (out->note.n == 0)
		out->note = str_printf(mem, "%s %s", s->is->name, what);
}

static int too_late(struct lsp_peer *s, struct arena *mem, struct language_answer *out, struct err *err)
{
	char why[96];

	snprintf(why, sizeof(why), "did not answer in %lld s", (long long)(s->all->timeout_ms / 1000));
	say(out, s, s->state == LSP_READY ? why : "is still starting", mem);
	if (s->state != LSP_READY)
		return time_mono_ms() - s->started_ms > OPENING_MS ? lsp_give_up(s, "it was not ready after 60 s", err) : 0;
	TRY(lsp_cancel(s, err));
	if (++s->late < LATE_MAX)
		return 0;
	return lsp_give_up(s, "it did not answer in time, three times in a row", err);
}

/* 1: it is ready. */
static int make_ready(struct lsp_peer *s, int64_t until_ms, struct arena *mem, struct language_answer *out, struct err *err)
{
	int r;

	if (s->state == LSP_OFF)
		TRY(start(s, err));
	r = wait_for(s, until_ms, err);
	TRY(r);
	if (r == 0)
		return too_late(s, mem, out, err);
	if (s->state == LSP_READY)
		return 1;
	say(out, s, "is not there", mem);
	return 0;
}

static int add_position(struct buf *b, const struct lsp_peer *s, const struct language_seed *at, struct str text, struct err *err)
{
	struct str line = STR("");
	size_t col = at->col > 0 ? (size_t)at->col - 1 : 0;

	(void)language_line(text, at->line - 1, &line);
	return buf_addf(b, err, ",\"position\":{\"line\":%lld,\"character\":%lld}", (long long)at->line - 1,
		(long long)(s->bytes ? (int64_t)col : lsp_units_of(line, col)));
}

static int request(struct lsp_peer *s, const struct language_seed *at, struct str text, struct err *err)
{
	static const char *const methods[] = { [SEARCH_OUTLINE] = "textDocument/documentSymbol",
		[SEARCH_DEFINITIONS] = "textDocument/definition", [SEARCH_REFERENCES] = "textDocument/references" };
	enum search_what what = s->all->what;
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	TRY(buf_addz(&b, "{\"textDocument\":{", err));
	TRY(lsp_add_uri(&b, s->all, at->path, err));
	TRY(buf_addz(&b, "}", err));
	if (what != SEARCH_OUTLINE)
		TRY(add_position(&b, s, at, text, err));
	if (what == SEARCH_REFERENCES)
		TRY(buf_addz(&b, ",\"context\":{\"includeDeclaration\":true}", err));
	TRY(buf_addz(&b, "}", err));
	return lsp_request(s, methods[what], buf_str(&b), err);
}

static int ask_one(struct lsp_peer *s, struct tool_ctx *ctx, const struct language_seed *at, int64_t until_ms, struct language_answer *out,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(LANGUAGE_TEXT_MAX);
	int r = make_ready(s, until_ms, ctx->mem, out, err);

	if (r <= 0)
		return r;
	TRY(lsp_refresh(s, ctx, err));
	if (s->state != LSP_READY)
		return 0;
	TRY(r = lsp_show(s, ctx, at->path, &text, err));
	if (r > 0 || s->state != LSP_READY) /* a file that is gone is no matter of the server's */
		return 0;
	TRY(request(s, at, buf_str(&text), err));
	r = wait_for(s, until_ms, err);
	TRY(r);
	if (r == 0)
		return too_late(s, ctx->mem, out, err);
	if (s->answered) {
		s->late = 0;
		out->server = s->is->name;
	} else {
		say(out, s, s->refused ? "has no answer" : "ended over it", ctx->mem);
	}
	return 0;
}

/* Nobody is told twice, nor more than a message holds. */
static int tell_touched(struct lsp *l, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4 * 1024 * 1024); /* TOUCHED_MAX of the longest */

	if (l->touched.n == 0)
		return 0;
	TRY(buf_addz(&b, "{\"changes\":[", err));
	for (size_t i = 0; i < l->touched.n; i++) {
		TRY(buf_addz(&b, i > 0 ? ",{" : "{", err));
		TRY(lsp_add_uri(&b, l, buf_str(&l->touched.p[i]), err));
		TRY(buf_addz(&b, ",\"type\":2}", err));
	}
	TRY(buf_addz(&b, "]}", err));
	for (size_t i = 0; i < l->n; i++)
		if (l->peers[i].state == LSP_READY)
			TRY(lsp_notify(&l->peers[i], "workspace/didChangeWatchedFiles", buf_str(&b), err));
	for (size_t i = 0; i < l->touched.n; i++)
		buf_fini(&l->touched.p[i]);
	l->touched.n = 0;
	return 0;
}

#define TOUCHED_MAX 100

int lsp_touched(struct lsp *l, struct str_list paths, struct err *err)
{
	for (size_t i = 0; l->there && i < paths.n && l->touched.n < TOUCHED_MAX; i++) {
		struct buf *b;

		if (str_starts(paths.p[i], STR("/")) || str_starts(paths.p[i], STR("\"")))
			continue; /* not of the workspace, or no plain name */
		b = vec_new(&l->touched);
		*b = BUF_MAX(PATH_MAX);
		TRY(buf_add(b, str_head(paths.p[i], PATH_MAX), err));
	}
	return 0;
}

int lsp_ask(struct lsp *l, struct tool_ctx *ctx, const struct language_ask *ask, struct language_answer *out, struct err *err)
{
	int64_t until_ms = time_mono_ms() + l->timeout_ms;
	int r = 0;

	*out = (struct language_answer){ 0 };
	l->asked++;
	l->mem = ctx->mem;
	l->what = ask->what;
	l->answer = out;
	for (size_t i = 0; r >= 0 && i < ask->nseeds; i++) {
		struct lsp_peer *s = server_for(l, ask->seeds[i].path);

		if (!s || cut_off(l))
			continue;
		r = tell_touched(l, err);
		r = r < 0 ? r : ask_one(s, ctx, &ask->seeds[i], until_ms, out, err);
	}
	l->mem = NULL;
	l->answer = NULL;
	return r < 0 ? r : 0;
}
