/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/pool.h"
#include "index/ctags.h"
#include "index/pool_priv.h"
#include "index/tree.h"

#include "base/time.h"
#include "base/vec.h"
#include "fmt/pack.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

/* A request is its length, then: number, what, path, name. An answer is its length, then: number, source (or one of
 * the two below), the hash of the text, how many names it defines (or that it is not told) and theirs, and for each symbol its kind, line, column, last line, minor, name, place. */
enum { ANSWER_NOTHING = 254, ANSWER_FAILED = 255 };

struct lane {
	struct proc keeper; /* pid 0: it gave up */
	int to, from;
	uint32_t number;    /* of the last request */
	int deaths;
	struct buf answer;
};

struct pool {
	size_t n;
	struct lane *lanes;
};

/* ---- in the reader ---- */

struct reading {
	struct buf *out;
	struct str only; /* of definitions: all are told, and this one's kept */
	size_t n;
	struct search_names names;
};

static uint8_t kind_number(const char *kind)
{
	uint8_t i = 0;

	while (symbol_kinds[i] && strcmp(symbol_kinds[i], kind) != 0)
		i++;
	return i; /* past the last one where it is none of them, which the other side refuses */
}

static void put_symbol(void *self, const struct symbol *s)
{
	struct reading *r = self;

	if (s->kind && r->names.whole)
		search_names_add(&r->names, s->name);
	if (r->only.n > 0 && !str_eq(s->name, r->only))
		return;
	if (r->n++ >= POOL_SYMBOLS)
		return;
	pack_u8(r->out, s->kind ? kind_number(s->kind) : UINT8_MAX);
	pack_u32(r->out, (uint32_t)s->line);
	pack_u32(r->out, (uint32_t)s->col);
	pack_u32(r->out, (uint32_t)s->end);
	pack_u8(r->out, s->minor);
	pack_str(r->out, s->name);
	pack_str(r->out, s->in);
}

static void limit_cpu(int seconds)
{
	const struct itimerval t = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &t, NULL); /* its signal ends the process */
}

static int read_text(int rootfd, struct str path, struct buf *text)
{
	autoclose int fd = -1;

	TRY(file_open(rootfd, path.p, true, &fd, ERR_DISCARD));
	TRY(file_read_fd(fd, text, ERR_DISCARD));
	return memchr(text->p ? text->p : "", '\0', text->n) ? -ERR_INVALID : 0;
}

struct reader {
	int rootfd;
	uint64_t seed;
	struct tree *tree;
	struct ctags *ctags;
	struct buf text;
};

/* Who reads it, or one of the ANSWER_ numbers. */
static uint8_t read_one(struct reader *r, enum search_what what, struct str path, struct str only, struct reading *to)
{
	bool tree = tree_knows(path);
	int got;

	if (!tree && (what == SEARCH_REFERENCES || !ctags_there(r->ctags)))
		return ANSWER_NOTHING;
	buf_clear(&r->text);
	if (read_text(r->rootfd, path, &r->text) < 0)
		return ANSWER_NOTHING;
	if (tree && what == SEARCH_DEFINITIONS) { /* what it defines beside is found on the way */
		to->names.whole = true;
		to->names.text = search_text_key(r->seed, path, buf_str(&r->text));
		to->only = only;
		only = STR("");
	}
	got = tree ? tree_read(r->tree, path, buf_str(&r->text), only, put_symbol, to, ERR_DISCARD) :
		ctags_read(r->ctags, path, buf_str(&r->text), only, put_symbol, to, ERR_DISCARD);
	if (got < 0)
		return ANSWER_FAILED;
	return got == 0 ? ANSWER_NOTHING : tree ? SOURCE_TREE : SOURCE_CTAGS;
}

static void put_names(struct buf *out, const struct search_names *n)
{
	bool told = n->whole && n->n <= SEARCH_CACHE_NAMES;

	pack_u64(out, n->text);
	pack_u16(out, told ? (uint16_t)n->n : UINT16_MAX);
	for (size_t i = 0; told && i < n->n; i++)
		pack_u16(out, n->p[i]);
}

static void reading_fini(struct reading *to)
{
	search_names_fini(&to->names);
}

static int put_frame(int fd, struct str body, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(POOL_ANSWER_MAX + 8);

	pack_u32(&b, (uint32_t)body.n);
	TRY(pack_ok(&b, err));
	TRY(buf_add(&b, body, err));
	return file_write_fd(fd, buf_str(&b), err);
}

static int serve_one(struct reader *r, struct str request, int out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf rows = BUF_MAX(POOL_ANSWER_MAX - 2 * SEARCH_CACHE_NAMES - 64), answer = BUF_MAX(POOL_ANSWER_MAX);
	struct unpack u = unpack_from(request);
	uint32_t number = unpack_u32(&u);
	enum search_what what = (enum search_what)unpack_u8(&u);
	struct str path = str_dup(mem, unpack_str(&u)), only = unpack_str(&u);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the request does not decode");
	CLEANUP(reading_fini) struct reading to = { .out = &rows };

	limit_cpu(POOL_CPU_S);
	uint8_t source = read_one(r, what, path, only, &to);
	limit_cpu(0);
	if (pack_ok(&rows, ERR_DISCARD) < 0)
		source = ANSWER_FAILED;
	if (source >= ANSWER_NOTHING)
		buf_clear(&rows);
	pack_u32(&answer, number);
	pack_u8(&answer, source);
	if (source < ANSWER_NOTHING)
		put_names(&answer, &to.names);
	TRY(buf_add(&answer, buf_str(&rows), err));
	return put_frame(out, buf_str(&answer), err);
}

static void set_limit(int what, rlim_t value)
{
	struct rlimit l;

	if (getrlimit(what, &l) == 0 && (l.rlim_cur == RLIM_INFINITY || l.rlim_cur > value)) {
		l.rlim_cur = value;
		setrlimit(what, &l);
	}
}

/* A fault ends it, whoever catches faults in the process that it was forked from. */
static void faults_end_it(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGPROF };

	for (size_t i = 0; i < COUNT(signals); i++)
		signal(signals[i], SIG_DFL);
}

/* 0 at the end of the requests. Who asks is trusted; what is asked about is not. */
static int serve(int rootfd, int64_t parse_ms, uint64_t seed, int from, int to)
{
	struct reader r = { .rootfd = rootfd, .seed = seed, .tree = tree_new(parse_ms), .text = BUF_MAX(SYMBOLS_FILE_MAX) };
	auto_buf struct buf request = BUF_MAX(SEARCH_REQUEST_MAX);
	int got;

	faults_end_it();
	set_limit(RLIMIT_CORE, 0);
#ifndef AGENT6_SANITIZED
	set_limit(RLIMIT_DATA, (rlim_t)POOL_MEMORY_MB << 20);
#endif
	r.ctags = ctags_new();
	while ((got = frame_read(from, -1, &request)) > 0)
		if (serve_one(&r, buf_str(&request), to, ERR_DISCARD) < 0)
			return 1;
	ctags_free(r.ctags);
	tree_free(r.tree);
	buf_fini(&r.text);
	return got < 0;
}

/* ---- in the keeper ---- */

static void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool readable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	int r;

	do
		r = poll(&p, 1, -1);
	while (r < 0 && errno == EINTR);
	return r > 0 && (p.revents & POLLIN);
}

static int say_failed(int to)
{
	auto_buf struct buf b = BUF_MAX(64);

	pack_u32(&b, 5);
	pack_u32(&b, 0); /* it does not know which one: the last that was asked */
	pack_u8(&b, ANSWER_FAILED);
	return file_write_fd(to, buf_str(&b), ERR_DISCARD);
}

static int keep(int rootfd, int64_t parse_ms, uint64_t seed, int from, int to)
{
	while (readable(from)) {
		struct proc_status st = { 0, 0 };
		struct proc p;
		int r = proc_fork(&p, ERR_DISCARD);

		if (r < 0)
			return 1;
		if (r > 0) {
			die_with_parent();
			_exit(serve(rootfd, parse_ms, seed, from, to));
		}
		if (proc_wait(&p, &st, ERR_DISCARD) < 0 || st.code == 0)
			return 0;
		TRY(say_failed(to));
	}
	return 0;
}

/* ---- in the worker ---- */

static int lane_open(struct lane *l, int rootfd, int64_t parse_ms, uint64_t seed, struct err *err)
{
	auto_proc_pipes struct proc_pipes pipes = PROC_PIPES;
	int r;

	TRY(proc_pipes_open(&pipes, err));
	r = proc_fork(&l->keeper, err);
	TRY(r);
	if (r > 0) {
		die_with_parent();
		base_close_fd(&pipes.to);
		base_close_fd(&pipes.from);
		_exit(keep(rootfd, parse_ms, seed, pipes.child_in, pipes.child_out));
	}
	l->to = take_fd(&pipes.to);
	l->from = take_fd(&pipes.from);
	return 0;
}

static void lane_close(struct lane *l, bool kill_it)
{
	struct proc_status st;

	base_close_fd(&l->to);
	base_close_fd(&l->from);
	if (l->keeper.pid > 0 && kill_it)
		proc_kill(&l->keeper, SIGKILL);
	if (l->keeper.pid > 0 && proc_wait(&l->keeper, &st, ERR_DISCARD) == 0)
		l->keeper.pid = 0;
}

int pool_open(int rootfd, size_t lanes, int64_t parse_ms, uint64_t seed, struct pool **out, struct err *err)
{
	struct pool *p = mem_alloc(sizeof(*p));

	p->lanes = mem_alloc(lanes * sizeof(*p->lanes));
	signal(SIGPIPE, SIG_IGN); /* a lane that is gone is an error of one file */
	for (; p->n < lanes; p->n++) {
		struct lane *l = &p->lanes[p->n];

		*l = (struct lane){ .to = -1, .from = -1, .answer = BUF_MAX(POOL_ANSWER_MAX) };
		int r = lane_open(l, rootfd, parse_ms, seed, err);
		if (r < 0) {
			pool_close(p);
			return r;
		}
	}
	*out = p;
	return 0;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	/* A keeper holds the ends of the lanes before it: it sees the end of its own when theirs are closed. */
	for (size_t i = 0; i < p->n; i++)
		base_close_fd(&p->lanes[i].to);
	for (size_t i = p->n; i > 0; i--) {
		lane_close(&p->lanes[i - 1], false);
		buf_fini(&p->lanes[i - 1].answer);
	}
	free(p->lanes);
	free(p);
}

static int ask(struct lane *l, enum search_what what, struct str path, struct str only, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(SEARCH_REQUEST_MAX), whole = BUF_MAX(SEARCH_REQUEST_MAX + 8);

	pack_u32(&body, ++l->number);
	pack_u8(&body, (uint8_t)what);
	pack_str(&body, path);
	pack_str(&body, only);
	TRY(pack_ok(&body, err));
	pack_u32(&whole, (uint32_t)body.n);
	TRY(buf_add(&whole, buf_str(&body), err));
	return file_write_fd(l->to, buf_str(&whole), err);
}

/* The answer to the last request; what an earlier one left is passed over. */
static int await(struct lane *l, struct unpack *u, uint8_t *source, struct err *err)
{
	int64_t until_ms = time_mono_ms() + POOL_WALL_MS;

	for (;;) {
		if (frame_read(l->from, until_ms, &l->answer) <= 0)
			return err_set(err, ERR_TIMEOUT, "the parser does not answer");
		*u = unpack_from(buf_str(&l->answer));
		uint32_t number = unpack_u32(u);
		*source = unpack_u8(u);
		if (u->bad)
			return err_set(err, ERR_PROTOCOL, "the parser's answer cannot be read");
		if (number == l->number || (number == 0 && *source == ANSWER_FAILED))
			return 0;
	}
}

int pool_names(struct unpack *u, struct search_names *out, struct err *err)
{
	out->text = unpack_u64(u);
	uint16_t n = unpack_u16(u);

	out->whole = n != UINT16_MAX;
	for (uint16_t i = 0; out->whole && i < n && !u->bad; i++)
		*vec_new(out) = unpack_u16(u);
	if (u->bad || (out->whole && n > SEARCH_CACHE_NAMES))
		return err_set(err, ERR_PROTOCOL, "the parser's answer cannot be read");
	return 0;
}

int pool_tell(struct unpack *u, const struct search_request *rq, symbol_fn *fn, void *self, struct err *err)
{
	uint8_t kinds = 0;

	while (symbol_kinds[kinds])
		kinds++;
	while (u->rest.n > 0) {
		uint8_t kind = unpack_u8(u);
		struct symbol s = { .line = unpack_u32(u), .col = unpack_u32(u), .end = unpack_u32(u) };

		s.minor = unpack_u8(u) != 0;
		s.name = unpack_str(u);
		s.in = unpack_str(u);
		if (u->bad || s.line < 1 || s.col < 1 || s.end < 0 || s.name.n == 0 || (kind != UINT8_MAX && kind >= kinds))
			return err_set(err, ERR_PROTOCOL, "the parser's answer cannot be read");
		s.kind = kind == UINT8_MAX ? NULL : symbol_kinds[kind];
		if (rq->what == SEARCH_OUTLINE || str_eq(s.name, rq->symbol))
			fn(self, &s);
	}
	return 0;
}

static int pool_read(void *self, size_t lane, struct str path, const struct search_request *rq, symbol_fn *fn, void *fn_self,
	enum symbol_source *out, struct search_names *names, struct err *err)
{
	struct pool *p = self;
	struct lane *l = lane < p->n ? &p->lanes[lane] : NULL;
	uint8_t source = 0;
	struct unpack u;

	if (!l || l->keeper.pid == 0)
		return err_set(err, ERR_LIMIT, "too many files were too much for the parser");
	int r = ask(l, (enum search_what)rq->what, path, rq->what == SEARCH_OUTLINE ? STR("") : rq->symbol, err);
	r = r < 0 ? r : await(l, &u, &source, err);
	r = r < 0 || source >= ANSWER_NOTHING ? r : source < SOURCE_COUNT ? pool_names(&u, names, err) :
		err_set(err, ERR_PROTOCOL, "the parser's answer cannot be read");
	r = r < 0 || source >= ANSWER_NOTHING ? r : pool_tell(&u, rq, fn, fn_self, err);
	if (r < 0) { /* nobody knows what comes next out of it */
		lane_close(l, true);
		return r;
	}
	if (source == ANSWER_NOTHING)
		return 0;
	if (source != ANSWER_FAILED) {
		*out = (enum symbol_source)source;
		return 1;
	}
	if (++l->deaths > POOL_DEATHS_MAX)
		lane_close(l, true);
	return err_set(err, ERR_SYS, "the parser could not read it");
}

struct symbol_reader pool_reader(struct pool *p)
{
	return (struct symbol_reader){ .self = p, .lanes = p->n, .read = pool_read };
}
