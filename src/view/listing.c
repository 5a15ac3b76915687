/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/listing.h"

#include "session/journal.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define GLANCE_WHOLE (4 * 1024 * 1024) /* journals up to here are folded whole, larger ones from near the end */
#define GLANCE_TAIL  (1024 * 1024)
#define STEP         (1024 * 1024)

/* ---- folding a file ---- */

struct reader {
	struct view *view;
	struct buf pending;
	bool skip_first; /* we began inside a line */
};

static void feed(struct reader *r)
{
	struct str rest = buf_str(&r->pending);

	for (;;) {
		const char *nl = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;

		if (!nl)
			break;
		struct str line = str_of(rest.p, (size_t)(nl - rest.p));

		rest = str_skip(rest, line.n + 1);
		if (!r->skip_first)
			view_line(r->view, line);
		r->skip_first = false;
	}
	if (rest.n > JOURNAL_LINE) { /* longer than a line can be */
		r->skip_first = true;
		rest.n = 0;
	}
	if (rest.n > 0)
		memmove(r->pending.p, rest.p, rest.n);
	buf_shrink(&r->pending, rest.n);
}

static int fold_fd(int fd, int64_t from, struct view *v, struct err *err)
{
	struct reader r = { .view = v, .pending = BUF_MAX(JOURNAL_LINE + STEP), .skip_first = from > 0 };
	int result = 0;

	for (int64_t at = from;;) {
		if (buf_reserve(&r.pending, STEP, err) < 0) {
			result = -ERR_LIMIT;
			break;
		}
		ssize_t n = pread(fd, r.pending.p + r.pending.n, STEP, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			result = err_sys(err, errno, "read %s", JOURNAL_NAME);
		if (n <= 0)
			break;
		at += n;
		r.pending.n += (size_t)n;
		feed(&r);
	}
	buf_fini(&r.pending);
	return result;
}

static int fold_journal(int record_fd, bool glance, struct view *v, struct err *err)
{
	autoclose int fd = -1;
	struct stat st;
	int r = file_open(record_fd, JOURNAL_NAME, true, &fd, err);

	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "stat %s", JOURNAL_NAME);
	bool part = glance && st.st_size > GLANCE_WHOLE;

	if (part)
		view_assume_started(v);
	return fold_fd(fd, part ? st.st_size - GLANCE_TAIL : 0, v, err);
}

int64_t listing_ms(struct str iso)
{
	struct tm tm = { 0 };
	char z[32];
	int us = 0;

	if (iso.n >= sizeof(z))
		return 0;
	snprintf(z, sizeof(z), STR_FMT, STR_ARG(iso));
	const char *rest = strptime(z, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!rest || sscanf(rest, ".%6dZ", &us) != 1)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + us / 1000;
}

/* ---- many ---- */

static void unreadable(struct listing_row *row, const struct err *why, struct arena *mem)
{
	row->word = STR("unreadable");
	row->reason = str_dup(mem, str_from(why->msg));
}

static int glance(const char *repo_dir, struct listing_row *row, struct arena *mem, struct err *err)
{
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	autoclose int record = -1;
	struct manifest m = { 0 };
	int r;

	TRY(dir_open(AT_FDCWD, session_path(repo_dir, &row->entry.ref, "record", mem), &record, err));
	r = manifest_load(record, mem, &m, err);
	if (r < 0 && r != -ERR_NOENT)
		return r;
	TRY(fold_journal(record, true, v, err));
	const struct view_state *s = view_state(v);
	struct view_status st = view_status(s, row->entry.live);
	struct str task = s->task.n > 0 ? buf_str(&s->task) : m.user_task;
	double before = s->budget.usd_before;

	if (!s->started && m.parked_task.n > 0)
		st = (struct view_status){ "parked", str_dup(mem, m.parked_reason).p };
	row->word = str_from(st.word);
	row->reason = str_from(st.reason);
	row->task = str_dup(mem, task);
	row->mode = m.mode.n > 0 ? m.mode : str_dup(mem, str_from(s->mode));
	row->usd = s->budget.usd >= 0 ? s->budget.usd + before : before > 0 ? before : -1;
	row->usd_partial = s->budget.usd_partial;
	row->unmerged = s->end.seen && s->end.commits > 0 && m.merged_into.n == 0;
	return 0;
}

int listing_load(const char *repo_dir, unsigned kinds, struct arena *mem, struct listing_row **out, size_t *out_n,
	struct err *err)
{
	struct session_entry *list;
	size_t n;

	TRY(session_list(repo_dir, kinds, mem, &list, &n, err));
	struct listing_row *rows = arena_array(mem, n > 0 ? n : 1, sizeof(*rows));

	for (size_t i = 0; i < n; i++) {
		struct err why = { 0 };

		rows[i] = (struct listing_row){ .entry = list[i], .usd = -1 };
		if (glance(repo_dir, &rows[i], mem, &why) < 0)
			unreadable(&rows[i], &why, mem);
	}
	*out = rows;
	*out_n = n;
	return 0;
}

/* ---- one ---- */

int listing_open(const char *repo_dir, const struct session_ref *ref, struct arena *mem, struct listing_one *out,
	struct err *err)
{
	struct listing_one one = { .ref = *ref, .live = session_is_live(repo_dir, ref),
		.owner = session_owner(repo_dir, ref) };
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	autoclose int record = -1;

	TRY(dir_open(AT_FDCWD, session_path(repo_dir, ref, "record", mem), &record, err));
	one.has_manifest = manifest_load(record, mem, &one.manifest, ERR_DISCARD) == 0;
	if (!one.has_manifest)
		one.manifest = (struct manifest){ 0 };
	TRY(fold_journal(record, false, v, err));
	one.start_ms = listing_ms(str_from(view_state(v)->start_ts));
	one.last_ms = listing_ms(str_from(view_state(v)->last_ts));
	one.view = take(&v);
	*out = one;
	return 0;
}

void listing_close(struct listing_one *one)
{
	view_free(one->view);
	one->view = NULL;
}
