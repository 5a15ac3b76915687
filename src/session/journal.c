/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/journal.h"

#include "session/append.h"
#include "session/chain.h"

#include "base/time.h"
#include "sys/fault.h"

#include <errno.h>

#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))
#define TAIL_FIRST   (64 * 1024)

_Static_assert(JOURNAL_HEX == CHAIN_HEX, "one hash");

struct journal {
	struct append file;
	int64_t seq;
	char prev[CHAIN_HEX + 1];
	struct buf line;
	struct str newest; /* in `line`, until the first append */
};

/* ---- opening an old one ---- */

/* Walks the lines of `tail` backwards to the newest durable one. Without it more must be read, or,
 * when the tail is the whole file, the chain starts anew. */
static bool find_newest(struct journal *j, struct str tail, bool whole, struct journal_state *st)
{
	st->damaged_lines = 0;
	while (tail.n > 0) {
		struct str body = str_head(tail, tail.n - 1); /* without its newline */
		size_t nl = str_rfind(body, '\n');
		bool has_start = nl < body.n || whole;
		struct journal_line l = line_parse(nl < body.n ? str_skip(body, nl + 1) : body);

		if (!has_start)
			return false;
		if (l.kind == LINE_DURABLE) {
			j->seq = l.seq;
			memcpy(j->prev, l.h.p, CHAIN_HEX);
			j->newest = nl < body.n ? str_skip(body, nl + 1) : body;
			return true;
		}
		st->damaged_lines += l.kind == LINE_BAD;
		tail = nl < body.n ? str_head(tail, nl + 1) : STR("");
	}
	return whole;
}

static int load_end(struct journal *j, struct journal_state *st, struct err *err)
{
	auto_buf struct buf tail = BUF_MAX((size_t)JOURNAL_MAX + 1);

	for (size_t want = TAIL_FIRST; j->file.size > 0; want *= 4) {
		TRY(append_tail(&j->file, want, &tail, err));
		if (find_newest(j, buf_str(&tail), (int64_t)tail.n == j->file.size, st))
			break;
	}
	if (j->newest.n <= JOURNAL_LINE) /* a longer one is none of ours */
		TRY(buf_add(&j->line, j->newest, err));
	j->newest = buf_str(&j->line);
	return 0;
}

int journal_open(int record_fd, struct journal **out, struct journal_state *state, struct err *err)
{
	auto_journal struct journal *j = mem_alloc(sizeof(*j));

	j->file = APPEND_NONE;
	j->line = BUF_MAX(JOURNAL_LINE);
	chain_first(j->prev);
	*state = (struct journal_state){ 0 };
	TRY(append_open(record_fd, JOURNAL_NAME, JOURNAL_MAX, &j->file, &state->torn_bytes, err));
	TRY(load_end(j, state, err));
	state->lines = j->seq;
	*out = take(&j);
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	append_close(&j->file);
	buf_fini(&j->line);
	free(j);
}

/* ---- writing ---- */

static int compose(struct journal *j, const struct event_type *t, const json_t *fields, struct err *err)
{
	bool durable = !(t->flags & EVENT_VOLATILE);
	struct buf *b = &j->line;
	char ts[TIME_ISO_MAX];

	j->newest = STR("");
	buf_clear(b);
	TRY(buf_addf(b, err, "{\"ts\":\"%s\"", time_iso(time_now_us(), ts)));
	if (durable)
		TRY(buf_addf(b, err, ",\"seq\":%lld", (long long)j->seq + 1));
	TRY(buf_addf(b, err, ",\"type\":\"%s\"", t->type));
	if (json_object_size(fields) > 0) {
		size_t at = b->n;

		TRY(json_add(b, fields, err)); /* {"a":1}: the brace becomes the comma */
		b->p[at] = ',';
		buf_shrink(b, b->n - 1);
	}
	return durable ? 0 : buf_addz(b, ",\"volatile\":true}\n", err);
}

int journal_append(struct journal *j, const struct event_type *t, const json_t *fields, struct err *err)
{
	char h[CHAIN_HEX + 1];

	if (compose(j, t, fields, err) < 0)
		return err_wrap(err, "%s: the event %s", JOURNAL_NAME, t->type);
	if (t->flags & EVENT_VOLATILE) { /* written soon, but nobody waits for it to be durable */
		bool dirty = j->file.dirty;
		int r = append_write(&j->file, buf_str(&j->line), err);

		j->file.dirty = dirty;
		return r;
	}
	chain_next(j->prev, buf_str(&j->line), h);
	TRY(buf_addf(&j->line, err, ",\"h\":\"%s\"}\n", h));
	TRY(append_write(&j->file, buf_str(&j->line), err));
	memcpy(j->prev, h, sizeof(h));
	j->seq++;
	return 0;
}

int journal_sync(struct journal *j, struct err *err)
{
	return append_sync(&j->file, err);
}

struct journal_head journal_head(const struct journal *j)
{
	struct journal_head at = { .seq = j->seq };

	memcpy(at.h, j->prev, sizeof(at.h));
	return at;
}

struct str journal_newest(const struct journal *j)
{
	return j->newest;
}

/* ---- proving ---- */

struct verifier {
	struct journal_report *r;
	journal_line_fn *on_line; /* NULL: nobody wants to see them */
	void *self;
	char prev[CHAIN_HEX + 1];
	int64_t seq;
};

static void blame(struct verifier *v, const char *fmt, ...) FORMAT(2, 3);
static void blame(struct verifier *v, const char *fmt, ...)
{
	va_list ap;

	v->r->bad_line = v->r->lines;
	va_start(ap, fmt);
	vsnprintf(v->r->reason, sizeof(v->r->reason), fmt, ap);
	va_end(ap);
}

static int check_line(struct verifier *v, struct str line, struct err *err)
{
	struct journal_line l = line_parse(line);
	char h[CHAIN_HEX + 1];

	v->r->lines++;
	if (l.kind == LINE_BAD) {
		blame(v, "it is not a journal line");
		return 0;
	}
	if (l.kind == LINE_VOLATILE) {
		const struct event_type *t = event_find(l.type);

		if (!t || !(t->flags & EVENT_VOLATILE))
			blame(v, "the event " STR_FMT " may not stand outside the chain", STR_ARG(str_head(l.type, 64)));
		return 0;
	}
	if (l.seq != v->seq + 1) {
		blame(v, "its seq is %lld, not %lld", (long long)l.seq, (long long)v->seq + 1);
		return 0;
	}
	chain_next(v->prev, l.body, h);
	if (memcmp(h, l.h.p, CHAIN_HEX) != 0) {
		blame(v, "its h does not follow from its content and the line before");
		return 0;
	}
	memcpy(v->prev, h, sizeof(h));
	v->seq = l.seq;
	v->r->chained++;
	return v->on_line ? v->on_line(v->self, &l, line, err) : 0;
}

/* Checks the whole lines in `pending` and keeps what follows the last newline. */
static int check_lines(struct verifier *v, struct buf *pending, struct err *err)
{
	struct str rest = buf_str(pending);

	while (v->r->bad_line == 0) {
		const char *nl = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;

		if (!nl)
			break;
		TRY(check_line(v, str_of(rest.p, (size_t)(nl - rest.p)), err));
		rest = str_skip(rest, (size_t)(nl - rest.p) + 1);
	}
	memmove(pending->p, rest.p, rest.n);
	buf_shrink(pending, rest.n);
	return 0;
}

int journal_verify(int fd, struct journal_report *out, struct err *err)
{
	return journal_walk(fd, NULL, NULL, out, err);
}

int journal_walk(int fd, journal_line_fn *on_line, void *self, struct journal_report *out, struct err *err)
{
	enum { STEP = 1024 * 1024 };
	auto_buf struct buf pending = BUF_MAX(JOURNAL_LINE + STEP);
	struct verifier v = { .r = out, .on_line = on_line, .self = self };
	int64_t at = 0;

	*out = (struct journal_report){ 0 };
	chain_first(v.prev);
	while (out->bad_line == 0) {
		ssize_t n;

		if (pending.n > JOURNAL_LINE) {
			out->lines++;
			blame(&v, "it is longer than %d bytes", (int)JOURNAL_LINE);
			break;
		}
		TRY(buf_reserve(&pending, STEP, err));
		n = FAULTY(pread(fd, pending.p + pending.n, STEP, at));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "read %s", JOURNAL_NAME);
		if (n == 0)
			break;
		at += n;
		pending.n += (size_t)n;
		TRY(check_lines(&v, &pending, err));
	}
	if (out->bad_line == 0)
		out->torn_bytes = (int64_t)pending.n;
	memcpy(out->head, v.prev, sizeof(out->head));
	return 0;
}
