/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/background.h"
#include "base/time.h"
#include "fmt/shellword.h"

#define COMMAND_MAX 200 /* bytes of one, in a line or an event */

/* ---- rows ---- */

static struct job_behind *behind_of(const struct background *b, const struct background_row *row)
{
	return &b->jobs->behind[row - b->rows];
}

/* Its place may have gone to another job that is not adopted yet. */
static bool is_known(const struct background *b, const struct background_row *row)
{
	return row->job != 0 && behind_of(b, row)->job == row->job;
}

static bool is_running(const struct background *b, const struct background_row *row)
{
	return is_known(b, row) && !behind_of(b, row)->over;
}

/* The known ones, oldest first. */
static size_t by_age(struct background *b, struct background_row *out[JOBS_BEHIND_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++) {
		struct background_row *row = &b->rows[i];
		size_t at = n;

		if (!is_known(b, row))
			continue;
		for (n++; at > 0 && out[at - 1]->number > row->number; at--)
			out[at] = out[at - 1];
		out[at] = row;
	}
	return n;
}

static int add_command(struct buf *out, const struct str *argv, size_t argc, struct err *err)
{
	auto_buf struct buf words = BUF_MAX(2 * CHAN_BODY_MAX);
	struct str head;

	for (size_t i = 0; i < argc && words.n <= COMMAND_MAX; i++) {
		TRY(buf_addz(&words, i > 0 ? " " : "", err));
		if (shellword_add(&words, argv[i], ERR_DISCARD) < 0)
			break; /* there in part, and shortened below */
	}
	head = str_head(buf_str(&words), utf8_head(buf_str(&words), COMMAND_MAX));
	TRY(buf_add_utf8(out, head, err));
	return head.n < words.n ? buf_addz(out, "...", err) : 0;
}

static const char *state_word(const struct background_row *row, const struct job_behind *v)
{
	if (v->over && row->stopping == STOPPING_ALL)
		return "stopped with the run";
	if (!v->over)
		return "running";
	switch (v->result.why) {
	case JOB_EXITED:
		return "exited";
	case JOB_STOPPED:
		return "stopped";
	case JOB_TIMEOUT:
		return "timed out";
	default:
		return row->stopping != STOPPING_NOT ? "stopped" : "died";
	}
}

static bool has_code(const struct job_behind *v)
{
	return v->over && (v->result.why == JOB_EXITED || v->result.why == JOB_SIGNALED || v->result.why == JOB_TIMEOUT);
}

/* "[bg1] exited (exit 2): make watch -- what its jail saw it do" */
static struct str line_of(const struct background *b, const struct background_row *row, struct arena *mem)
{
	const struct job_behind *v = behind_of(b, row);
	struct str code = has_code(v) ? str_printf(mem, " (exit %d)", v->result.code) : STR("");

	return str_printf(mem, "[bg%lld] %s" STR_FMT ": " STR_FMT "%s" STR_FMT, (long long)row->number, state_word(row, v),
		STR_ARG(code), STR_ARG(buf_str(&row->command)), v->over && v->result.note.n > 0 ? " -- " : "",
		STR_ARG(v->over ? v->result.note : STR("")));
}

/* ---- the record ---- */

static void note_id(struct note *n, const struct background_row *row)
{
	char id[32];

	snprintf(id, sizeof(id), "bg%lld", (long long)row->number);
	note_z(n, "id", id);
}

static int put_started(struct background *b, const struct background_row *row, bool handed_back, int64_t ms,
	struct err *err)
{
	auto_note struct note n = NOTE;

	note_id(&n, row);
	note_num(&n, "seconds", (double)ms / 1000);
	note_str(&n, "command", buf_str(&row->command));
	note_bool(&n, "handed_back", handed_back);
	return note_send(&n, b->keep, EVENT_COMMAND_BACKGROUND, err);
}

static int put_ended(struct background *b, const struct background_row *row, struct err *err)
{
	auto_note struct note n = NOTE;
	const struct job_behind *v = behind_of(b, row);
	bool unsynced = b->keep->unsynced;

	note_id(&n, row);
	note_z(&n, "state", state_word(row, v));
	note_int(&n, "exit_code", v->result.code);
	note_num(&n, "duration_s", (double)v->result.wall_ms / 1000);
	note_str(&n, "command", buf_str(&row->command));
	TRY(note_send(&n, b->keep, EVENT_COMMAND_ENDED, err));
	b->keep->unsynced = unsynced; /* it may come between the two halves of a barrier, which need not wait for it */
	return 0;
}

static int on_end(void *self, struct job_behind *v, struct err *err)
{
	struct background *b = self;
	struct background_row *row = &b->rows[v - b->jobs->behind];

	/* One that ends before it was adopted is put on record there. */
	return is_known(b, row) && !b->keep->lost ? put_ended(b, row, err) : 0;
}

/* ---- the door ---- */

void background_open(struct background *b, struct jobs *j, struct keep *k)
{
	b->jobs = j;
	b->keep = k;
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		b->rows[i].command = BUF_MAX(4 * COMMAND_MAX);
	j->on_behind_end = on_end;
	j->self = b;
}

void background_fini(struct background *b)
{
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		buf_fini(&b->rows[i].command);
}

int background_adopt(struct background *b, const struct job_request *req, bool handed_back, struct arena *mem,
	struct job_result *result, struct err *err)
{
	struct background_row *row = b->rows;

	while (behind_of(b, row)->job != result->behind) {
		row++;
		BUG_IF(row == b->rows + JOBS_BEHIND_MAX);
	}
	buf_clear(&row->command);
	TRY(add_command(&row->command, req->argv, req->argc, err));
	row->job = result->behind;
	row->number = ++b->last;
	row->stopping = STOPPING_NOT;
	row->told = false;
	b->active = true;
	result->behind_id = str_printf(mem, "bg%lld", (long long)row->number);
	TRY(put_started(b, row, handed_back, result->wall_ms, err));
	return behind_of(b, row)->over ? put_ended(b, row, err) : 0;
}

static struct str_list all_lines(struct background *b, struct arena *mem)
{
	struct background_row *rows[JOBS_BEHIND_MAX];
	size_t n = by_age(b, rows);
	struct str_list l = { arena_array(mem, n, sizeof(struct str)), n };

	for (size_t i = 0; i < n; i++)
		l.p[i] = line_of(b, rows[i], mem);
	return l;
}

static struct background_row *find(struct background *b, struct str id)
{
	int64_t number;

	if (!str_starts(id, STR("bg")) || str_to_i64(str_skip(id, 2), &number, ERR_DISCARD) < 0)
		return NULL;
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		if (is_known(b, &b->rows[i]) && b->rows[i].number == number)
			return &b->rows[i];
	return NULL;
}

static int unknown_id(struct background *b, struct str id, struct err *err)
{
	struct background_row *rows[JOBS_BEHIND_MAX];
	size_t n = by_age(b, rows);
	auto_buf struct buf known = BUF_MAX(1024);

	for (size_t i = 0; i < n; i++)
		TRY(buf_addf(&known, err, "%sbg%lld", i > 0 ? ", " : "", (long long)rows[i]->number));
	return err_set(err, ERR_NOENT, "there is no background command \"" STR_FMT "\"; known: %s", STR_ARG(str_head(id, 40)),
		n > 0 ? buf_str(&known).p : "none");
}

/* Until it has ended, or for so long; below 0: for its end. */
static int await(struct background *b, const struct background_row *row, int64_t wait_ms, struct err *err)
{
	int64_t until = time_mono_ms() + wait_ms;
	struct links *l = b->jobs->links;

	TRY(links_pump(l, 0, err)); /* what was written meanwhile */
	while (is_running(b, row)) {
		int64_t left = wait_ms < 0 ? -1 : until - time_mono_ms();

		if (wait_ms >= 0 && left <= 0)
			return 0;
		if (wait_ms >= 0 && (l->stop != 0 || l->pause != 0)) /* a person does not wait for a command to end */
			return l->stop == STOP_NOW ? err_set(err, ERR_STOPPED, "the operator stopped the run") : 0;
		TRY(links_wait(l, b->jobs->peer, left, err));
	}
	return 0;
}

static int stop(struct background *b, struct background_row *row, struct err *err)
{
	if (!is_running(b, row))
		return 0;
	row->stopping = STOPPING_ONE;
	TRY(jobs_behind_kill(b->jobs, behind_of(b, row), err));
	return await(b, row, -1, err);
}

int background_ask(struct background *b, const struct background_request *req, struct arena *mem,
	struct background_report *out, struct err *err)
{
	struct background_row *row = req->op == BACKGROUND_LIST ? NULL : find(b, req->id);

	*out = (struct background_report){ .gap_at = JOBS_BEHIND_HEAD };
	if (req->op != BACKGROUND_LIST && !row)
		return unknown_id(b, req->id, err);
	if (req->op == BACKGROUND_STOP)
		TRY(stop(b, row, err));
	else if (row)
		TRY(await(b, row, req->wait_ms, err));
	if (row) {
		out->text = jobs_behind_read(behind_of(b, row), mem, &out->total);
		row->told = row->told || behind_of(b, row)->over;
	}
	out->shells = all_lines(b, mem);
	return 0;
}

size_t background_running(const struct background *b)
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		n += is_running(b, &b->rows[i]);
	return n;
}

struct str_list background_list(struct background *b, struct arena *mem)
{
	struct background_row *rows[JOBS_BEHIND_MAX];
	size_t n = by_age(b, rows);
	struct str_list l = { arena_array(mem, n, sizeof(struct str)), 0 };

	for (size_t i = 0; i < n; i++)
		if (is_running(b, rows[i]))
			l.p[l.n++] = str_printf(mem, "bg%lld: " STR_FMT, (long long)rows[i]->number,
				STR_ARG(buf_str(&rows[i]->command)));
	return l;
}

struct str_list background_news(struct background *b, struct arena *mem)
{
	struct background_row *rows[JOBS_BEHIND_MAX];
	size_t n = by_age(b, rows);
	struct str_list l = { arena_array(mem, n, sizeof(struct str)), 0 };

	for (size_t i = 0; i < n; i++) {
		if (!behind_of(b, rows[i])->over || rows[i]->told)
			continue;
		rows[i]->told = true;
		l.p[l.n++] = line_of(b, rows[i], mem);
	}
	return l;
}

int background_stop_all(struct background *b, struct err *err)
{
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		if (is_running(b, &b->rows[i])) {
			b->rows[i].stopping = STOPPING_ALL;
			TRY(jobs_behind_kill(b->jobs, &b->jobs->behind[i], err));
		}
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		TRY(await(b, &b->rows[i], -1, err));
	return 0;
}
