/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* end: how a run ends, as an exit status, as an event that a view can print, and to the monitor. */
#include "agent/modes.h"
#include "agent/gate_files.h"
#include "agent/run_priv.h"
#include "fmt/pack.h"

#include <fcntl.h>
#include <sys/stat.h>

static const struct {
	const char *word;
	bool completed;
	int code; /* -1: by the gate */
	bool checkpoint;
} reasons[] = {
#define X(value, word, completed, code, checkpoint) [value] = { word, completed, code, checkpoint },
	RUN_REASONS(X)
#undef X
};
_Static_assert(COUNT(reasons) == REASON_COUNT, "every reason has its row");

const char *run_reason_word(enum run_reason why)
{
	return reasons[why].word;
}

bool run_reason_from(struct str word, enum run_reason *out)
{
	for (size_t i = REASON_NONE + 1; i < COUNT(reasons); i++)
		if (str_eqz(word, reasons[i].word)) {
			*out = (enum run_reason)i;
			return true;
		}
	return false;
}

static const char *const verdict_words[] = {
	[VERDICT_NOT_APPLICABLE] = "not_applicable",
	[VERDICT_PASSED] = "passed",
	[VERDICT_FAILED] = "failed",
	[VERDICT_UNVERIFIED] = "unverified",
};

#define SUMMARY_MAX      16384 /* what does not fit is in the conversation */
#define STALE_MAX        4096  /* of the command that the model would rather have */

enum gate_verdict gate_verdict_of(const struct loop_state *st, bool looks)
{
	if (st->verify_command.n == 0 || looks)
		return VERDICT_NOT_APPLICABLE;
	if (st->edited_since_verify || st->last_verify_ok == TRI_UNKNOWN)
		/* A run that changed nothing has nothing to verify. */
		return st->ever_changed || st->step_open ? VERDICT_UNVERIFIED : VERDICT_NOT_APPLICABLE;
	return st->last_verify_ok == TRI_YES ? VERDICT_PASSED : VERDICT_FAILED;
}

const char *gate_verdict_word(enum gate_verdict v)
{
	return verdict_words[v];
}

int run_exit_code(enum run_reason why, enum gate_verdict v)
{
	if (reasons[why].code >= 0)
		return reasons[why].code;
	return v == VERDICT_PASSED || v == VERDICT_NOT_APPLICABLE ? 0 : EXIT_UNVERIFIED;
}

static int exit_code(const struct run *r, enum gate_verdict v, int64_t uncommitted)
{
	int code = run_exit_code(r->reason, v);

	if (code != 0 || reasons[r->reason].code >= 0)
		return code;
	/* A branch was promised and edits were made, but nothing is on it. */
	if (r->repo && r->p->commit_per_step && r->p->branch_per_run && r->st.commits == 0 &&
		(uncommitted > 0 || r->st.edited_untracked.n > 0))
		return EXIT_UNCOMMITTED;
	if (r->unrecorded.n > 0)
		return EXIT_UNCOMMITTED;
	return 0;
}

/* What the run changed and no step holds. */
struct leftover {
	struct str_list files; /* named, at most loop_limits.files_named */
	int64_t total;         /* below 0: git cannot tell */
	struct untracked_left untracked;
	struct str_list touched; /* what the gate runs, of all that the run changed: as they are shown */
};

static int checkpoint(struct run *r, struct arena *mem, struct leftover *left, struct err *err)
{
	if (r->links->peer[PEER_GIT].gone || !r->st.step_open || mode_looks(r))
		return 0;
	if (reasons[r->reason].checkpoint)
		TRY(step_commit(r, NULL, "checkpoint", err));
	if (!r->st.step_open || !r->repo)
		return 0;
	TRY(step_uncommitted(r, mem, &left->files, &left->total, err));
	r->st.step_open = left->total != 0;
	return 0;
}

/* Whether a name is that of a file here; a link counts for itself. */
static bool is_file(const struct run *r, struct str name, struct arena *mem)
{
	struct stat st;

	return fstatat(r->roots[0].dirfd, str_dupz(mem, name), &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
}

static void add_names(struct str_list *to, const struct str_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		to->p[to->n++] = from->p[i];
}

/* git is asked only where the gate's command names a file at all. */
static int find_touched(struct run *r, struct arena *mem, struct leftover *left, struct err *err)
{
	struct str_list names = gate_names(r->st.verify_command, mem), changed = { 0 };
	struct message_path *paths = NULL;
	size_t n = 0;
	bool any = false;

	for (size_t i = 0; i < names.n && !any; i++)
		any = is_file(r, names.p[i], mem);
	if (!any || mode_looks(r) || !r->repo)
		return 0;
	if (r->st.head_sha.n > 0 && !r->links->peer[PEER_GIT].gone &&
		repo_changed(r->repo, r->st.base_sha, r->st.head_sha, mem, &paths, &n, err) == -ERR_CLOSED)
		return -ERR_CLOSED;
	changed.p = arena_array(mem, n + left->files.n + left->untracked.edited.n + left->untracked.deleted.n + 1, sizeof(*changed.p));
	for (size_t i = 0; i < n; i++)
		changed.p[changed.n++] = paths[i].name;
	add_names(&changed, &left->files);
	add_names(&changed, &left->untracked.edited);
	add_names(&changed, &left->untracked.deleted);
	left->touched = gate_touched(r->st.verify_command, changed, mem);
	return 0;
}

static int add_usage(const struct run *r, struct buf *out, struct err *err)
{
	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; i < r->caller.totals.n; i++) {
		const struct usage_row *u = &r->caller.totals.p[i];
		auto_note struct note n = NOTE;

		note_z(&n, "model", u->model);
		note_int(&n, "input", u->input);
		note_int(&n, "output", u->output);
		note_int(&n, "cache_read", u->cache_read);
		note_int(&n, "cache_creation", u->cache_write);
		note_int(&n, "reasoning", u->reasoning);
		note_bool(&n, "estimated", u->estimated_calls > 0);
		note_int(&n, "calls", u->calls);
		if (u->unpriced_calls == 0)
			note_num(&n, "usd", (double)(u->reported_picousd + u->estimated_picousd) / 1e12);
		if (i > 0)
			TRY(buf_addc(out, ',', err));
		TRY(buf_add(out, note_text(&n), err));
	}
	return buf_addc(out, ']', err);
}

static void note_cost(struct note *n, const struct run *r)
{
	bool complete = true;
	int64_t microusd = usage_microusd(&r->caller.totals, &complete);

	if (microusd >= 0 && usage_price_known(&r->caller.totals))
		note_num(n, "usd", (double)microusd / 1e6);
	note_bool(n, "usd_partial", !complete);
}

static void note_opt(struct note *n, const char *key, struct str s)
{
	if (s.n > 0)
		note_str(n, key, s);
}

static void note_tri(struct note *n, const char *key, enum gate_verdict v)
{
	if (v == VERDICT_NOT_APPLICABLE)
		note_null(n, key);
	else
		note_bool(n, key, v == VERDICT_PASSED);
}

static void note_chain(struct note *n, const struct run *r, struct arena *mem)
{
	note_int(n, "commits", r->st.commits);
	if (r->st.commits > 0 && r->p->branch_per_run && !r->branch_kept)
		note_str(n, "branch", str_printf(mem, "agent6/" STR_FMT, STR_ARG(r->p->run_id)));
	note_opt(n, "base_branch", r->st.base_branch);
	note_opt(n, "base_sha", r->st.base_sha);
	note_opt(n, "head_sha", r->st.head_sha);
}

static int put_end(struct run *r, enum gate_verdict v, int code, const struct leftover *left,
	struct arena *mem, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_buf struct buf usage = BUF_MAX(1 << 20), text = BUF_MAX(1 << 20);

	TRY(add_usage(r, &usage, err));
	TRY(usage_summary(&r->caller.totals, &r->caller.budget, &text, err));
	note_z(&n, "reason", reasons[r->reason].word);
	note_int(&n, "iterations", r->iterations);
	note_tri(&n, "all_passed", v);
	note_int(&n, "exit_code", code);
	note_z(&n, "verified", verdict_words[v]);
	note_opt(&n, "message", r->message);
	note_opt(&n, "summary", str_head(r->summary, utf8_head(r->summary, SUMMARY_MAX)));
	if (r->result_json.n > 0 && r->result_json.n <= SUMMARY_MAX)
		note_json(&n, "result", r->result_json);
	if (v != VERDICT_PASSED)
		note_opt(&n, "stale_gate", str_head(r->stale_gate, utf8_head(r->stale_gate, STALE_MAX)));
	note_strs(&n, "verify_command", r->st.verify_command);
	if (r->st.baseline_ok != TRI_UNKNOWN)
		note_z(&n, "baseline", r->st.baseline_ok == TRI_YES ? "green" : "red");
	if (r->reason == REASON_LOOP_GUARD) {
		note_str(&n, "tool", r->guard_tool);
		note_int(&n, "streak", r->st.same_call_streak);
	}
	note_chain(&n, r, mem);
	note_json(&n, "usage", buf_str(&usage));
	note_str(&n, "usage_text", buf_str(&text));
	note_cost(&n, r);
	if (left->total >= 0)
		note_int(&n, "uncommitted", left->total);
	note_strs(&n, "uncommitted_files", left->files);
	if (left->untracked.edited.n > 0)
		note_strs(&n, "edited_untracked", left->untracked.edited);
	if (left->untracked.deleted.n > 0)
		note_strs(&n, "deleted_untracked", left->untracked.deleted);
	if (left->touched.n > 0)
		note_strs(&n, "gate_touched", left->touched);
	return note_send(&n, r->keep, EVENT_RUN_END, err);
}

static int put_aborted(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	if (r->reason != REASON_STEER_ABORT)
		return 0;
	note_int(&n, "iteration", r->iterations);
	return note_send(&n, r->keep, EVENT_STEER_ABORTED, err);
}

static int send_done(struct run *r, int code, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(8192);
	struct str message = str_head(r->message, utf8_head(r->message, 4096));

	pack_u8(&body, (uint8_t)code);
	pack_u8(&body, r->reason == REASON_REFUSED && !r->p->resume && !r->p->parked);
	pack_str(&body, str_from(reasons[r->reason].word));
	pack_str(&body, message);
	TRY(pack_ok(&body, err));
	return links_send(r->links, PEER_MONITOR, WIRE_DONE, buf_str(&body), NULL, 0, err);
}

/* Before the last step is recorded: nothing may write meanwhile. */
static int end_background(struct run *r, struct arena *mem, struct err *err)
{
	struct turn t = { .mem = mem };

	r->cut_short = background_list(&r->background, r->mem);
	if (background_stop_all(&r->background, err) < 0 && !r->links->peer[PEER_ZYGOTE].gone)
		return -(int)err->code; /* else they are gone with it */
	return r->links->peer[PEER_GIT].gone ? 0 : turn_background(r, &t, err);
}

/* Everything but the word to the monitor, which comes whatever becomes of this. */
static int finish_record(struct run *r, int *code, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct leftover left = { 0 };
	enum gate_verdict v;

	TRY(end_background(r, mem, err));
	TRY(checkpoint(r, mem, &left, err));
	untracked_end(r, mem, &left.untracked);
	TRY(find_touched(r, mem, &left, err));
	r->st.ended = left.total == (int64_t)left.files.n; /* a list that is not whole tells nothing */
	r->st.left_behind = left.files;
	v = gate_verdict_of(&r->st, mode_looks(r));
	*code = exit_code(r, v, left.total);
	if (r->unrecorded.n > 0 && r->message.n == 0)
		r->message = str_printf(r->mem, "what was done last is in no step: " STR_FMT, STR_ARG(r->unrecorded));
	if (r->conv) /* what a resume goes on from: all of the last turn */
		TRY(loop_put_state(r, r->iterations + 1, err));
	TRY(modes_put_result(r, err));
	TRY(put_aborted(r, err));
	TRY(put_end(r, v, *code, &left, mem, err));
	return keep_barrier(r->keep, err);
}

int run_end(struct run *r, struct err *err)
{
	struct err why = { 0 };
	int code = reasons[r->reason].code >= 0 ? reasons[r->reason].code : 1;

	BUG_IF(r->reason == REASON_NONE);
	if (r->reason != REASON_REFUSED && !r->keep->lost && finish_record(r, &code, &why) < 0) {
		/* The run is over all the same; what is left of it is what was saved before. */
		code = 1;
		r->message = str_printf(r->mem, "%s", why.msg);
		if (r->keep->lost)
			r->reason = REASON_RECORD_LOST;
	}
	mcp_close(&r->mcp);
	return send_done(r, code, err);
}
