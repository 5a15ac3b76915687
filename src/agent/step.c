/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* step: what a run may start on, and what it leaves on its chain. */
#include "agent/modes.h"
#include "agent/run_priv.h"
#include "fmt/names.h"
#include "fmt/pack.h"
#include "session/answers.h"

#include <string.h>

#define PATHS_NAMED   10
#define SHA_SHOWN     12
#define NAMES_BYTES   16384 /* of files left behind, in the last event */
#define NEW_FILES_MAX 4096
#define GIT_KEEP      (8 * 1024 * 1024)

static int pack_git(struct run *r, enum git_op op, const struct str *args, size_t n, uint32_t *number, struct buf *body,
	struct err *err)
{
	*number = jobs_next(&r->git);
	pack_u32(body, *number);
	pack_u8(body, (uint8_t)op);
	pack_strs(body, args, n);
	if (pack_ok(body, ERR_DISCARD) < 0)
		return err_set(
			err, ERR_LIMIT, "the arguments of git %s are longer than 64 KiB", gitop_name(op));
	return 0;
}

/* What a request says after its number. */
static struct str words_of(const struct buf *body)
{
	return str_skip(buf_str(body), 4);
}

static int git_begin(void *self, enum git_op op, const struct str *args, size_t n, struct err *err)
{
	struct run *r = self;
	auto_buf struct buf body = BUF_MAX(CHAN_BODY_MAX);
	struct job_ask ask = { .type = WIRE_GIT, .keep_head = GIT_KEEP };
	struct git_begun *g = NULL;

	for (size_t i = 0; i < COUNT(r->git_begun) && !g; i++)
		if (r->git_begun[i].number == 0)
			g = &r->git_begun[i];
	if (!g) /* it is asked for when it is needed */
		return 0;
	TRY(pack_git(r, op, args, n, &g->number, &body, err));
	ask.body = buf_str(&body);
	g->words = str_dup(r->mem, words_of(&body));
	return jobs_begin(&r->git, &ask, err);
}

static uint32_t take_begun(struct run *r, struct str words)
{
	for (size_t i = 0; i < COUNT(r->git_begun); i++)
		if (r->git_begun[i].number != 0 && str_eq(r->git_begun[i].words, words)) {
			uint32_t number = r->git_begun[i].number;

			r->git_begun[i].number = 0;
			return number;
		}
	return 0;
}

/* git_host over the channel to the git zygote. A step that was begun is brought to its end even when the
 * operator wants out now: it takes moments, and half a step is nothing. */
static int git_run(void *self, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct git_result *out, struct err *err)
{
	struct run *r = self;
	auto_buf struct buf body = BUF_MAX(CHAN_BODY_MAX);
	struct job_ask ask = { .type = WIRE_GIT, .in = in, .keep_head = GIT_KEEP, .finish = true };
	struct job_result job;
	uint32_t number, begun;

	/* What it waited for is there still, and each further one would take as long. */
	if (r->git_late.n > 0)
		return err_set(err, ERR_TIMEOUT, STR_FMT, STR_ARG(r->git_late));
	TRY(pack_git(r, op, args, n, &number, &body, err));
	ask.body = buf_str(&body);
	begun = in.n > 0 ? 0 : take_begun(r, words_of(&body));
	if (begun != 0)
		TRY(jobs_fetch(&r->git, begun, mem, &job, err));
	else
		TRY(jobs_ask(&r->git, &ask, mem, &job, err));
	if (job.out_total > job.out.n)
		return err_set(err, ERR_LIMIT, "git %s printed more than %d bytes", gitop_name(op), GIT_KEEP);
	if (job.why == JOB_TIMEOUT) {
		gitop_overdue(job.wall_ms, err);
		r->git_late = str_dup(r->mem, str_from(err->msg));
		return -ERR_TIMEOUT;
	}
	if (job.why != JOB_EXITED && job.why != JOB_SIGNALED)
		return err_set(err, ERR_DENIED, "git %s: " STR_FMT, gitop_name(op),
			STR_ARG(job.note.n > 0 ? job.note : STR("it could not be run")));
	*out = (struct git_result){ .code = job.code, .out = job.out, .errs = job.errs };
	return 0;
}

static struct str_list dup_list(struct arena *mem, const struct str_list *l)
{
	struct str_list out = { arena_array(mem, l->n, sizeof(*out.p)), l->n };

	for (size_t i = 0; i < l->n; i++)
		out.p[i] = str_dup(mem, l->p[i]);
	return out;
}

static int refuse(struct run *r, struct str message)
{
	run_stop(r, REASON_REFUSED, message);
	return 0;
}

static bool lists(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], name))
			return true;
	return false;
}

/* The edits of a run whose work was not taken over lie there as anybody's would: that they are its is said where its newest step,
 * of the newest run there is, holds all of them as they are. It is said beside the refusal and never instead of it. */
static int name_their_run(struct run *r, const struct str_list *dirty, struct buf *b, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct repo_step step = { .skip = &r->untracked };
	struct repo_changes c;
	struct str id;
	int rc = repo_newest_chain(r->repo, mem, &id, &step.base, err);

	if (rc == 1)
		rc = repo_changes(r->repo, &step, NEW_FILES_MAX, mem, &c, err) < 0 ? -(int)err->code : 1;
	if (rc <= 0)
		return rc == -ERR_CLOSED ? rc : 0;
	for (size_t i = 0; i < dirty->n; i++)
		if (c.total > c.paths.n || lists(&c.paths, dirty->p[i]))
			return 0;
	return buf_addf(b, err, " (%s run " STR_FMT "'s: agent6 runs merge " STR_FMT " takes %s over, git restore drops %s)",
		dirty->n == 1 ? "it is" : "they are", STR_ARG(id), STR_ARG(id), dirty->n == 1 ? "it" : "them",
		dirty->n == 1 ? "it" : "them");
}

#define DIRTY_ASKED_MAX 5 /* times, when what is said is none of them */

/* Uncommitted changes of the person: taken along only when they say so. */
static int ask_about_dirty(struct run *r, const struct str_list *dirty, struct err *err)
{
	struct str choices[] = { STR("include them in the first step"), STR("cancel"), STR(ANSWER_SET_ASIDE) };
	struct str_list options = { choices, r->p->may_set_aside ? 3 : 2 }, answers;
	auto_buf struct buf b = BUF_MAX(65536);
	auto_arena struct arena *mem = arena_new();
	struct str question;
	bool answered;

	TRY(buf_addf(&b, err, "%zu file%s changed and not committed: ", dirty->n,
		dirty->n == 1 ? " is" : "s are"));
	TRY(names_add(&b, dirty, PATHS_NAMED, err));
	TRY(name_their_run(r, dirty, &b, err));
	if (!r->p->attended)
		return refuse(r,
			str_printf(r->mem,
				STR_FMT "; commit or stash them, or set git.auto_stash = true or git.require_clean_worktree = false",
				STR_ARG(buf_str(&b))));
	question = str_printf(mem, STR_FMT ". What now?", STR_ARG(buf_str(&b)));
	for (int i = 0; i < DIRTY_ASKED_MAX; i++) {
		TRY(asks_put(&r->asks, &question, &options, 1, mem, &answers, &answered, err));
		if (answered && (str_eq(answers.p[0], choices[0]) || str_eqz(answers.p[0], "include")))
			return 0;
		if (answered && r->p->may_set_aside && answer_sets_aside(answers.p[0]))
			return refuse(r, STR("what is not committed is set aside, and the run begins anew"));
		/* Nothing at all is the end of the input. */
		if (!answered || answers.p[0].n == 0 || str_eq(answers.p[0], choices[1]))
			break;
		if (i == 0)
			question = str_printf(mem, "not understood: %s. " STR_FMT, options.n == 3 ? "1, 2 or 3" : "1 or 2",
				STR_ARG(question));
	}
	return refuse(r, STR("cancelled: there are uncommitted changes"));
}

/* Without a name git cannot make a commit; found out now, not after the first green step. */
static int check_identity(struct run *r)
{
	const struct run_params *p = r->p;

	if (!p->commit_per_step || (p->git_name.n > 0 && p->git_email.n > 0))
		return 0;
	return refuse(r, str_printf(r->mem,
		"git has no %s for the commits of this run, and the repository's own user.name and user.email are not used. Set it for "
		"git:\n%s%sor for agent6:\n%s%s",
		p->git_name.n > 0 ? "email" : p->git_email.n > 0 ? "name" : "name and no email",
		p->git_name.n > 0 ? "" : "  git config --global user.name \"...\"\n",
		p->git_email.n > 0 ? "" : "  git config --global user.email \"...\"\n",
		p->git_name.n > 0 ? "" : "  agent6 config set git.commit.name \"...\"\n",
		p->git_email.n > 0 ? "" : "  agent6 config set git.commit.email \"...\"\n"));
}

/* Ours to read like any other bytes of the workspace, and the same that git goes by, unless something is hidden from us: git's
 * cell has it all, and an empty configuration here would name no driver that git finds there. To go on by force is to go on
 * over a repository that may be broken, and git itself looks at everything then. */
static const struct discovered *find_files(struct run *r)
{
	struct discovered *d = arena_alloc(r->mem, sizeof(*d));
	const char *top = str_dupz(r->mem, r->p->workspace);

	if (r->p->force || r->p->hide_paths.n > 0)
		return NULL;
	return discover_repo(top, r->mem, d, ERR_DISCARD) == 0 && strcmp(d->top, top) == 0 ? d : NULL;
}

static int open_repo(struct run *r, struct str run_id, struct err *err)
{
	r->git_host = (struct git_host){ .self = r, .run = git_run, .begin = git_begin, .files = find_files(r) };
	return repo_open(&r->git_host, r->roots[0].dirfd, run_id, &r->repo, err);
}

/* A session that only looks takes the tree as it is, and never says what would be left out of a step. */
static int look(struct run *r, struct err *err)
{
	struct repo_head head;

	TRY(open_repo(r, STR(""), err));
	TRY(repo_ahead(r->repo, r->p->resume ? AHEAD_STATUS : AHEAD_STATUS | AHEAD_FILES | AHEAD_COMMITS, err));
	TRY(repo_head(r->repo, r->mem, &head, err));
	r->unborn = head.unborn;
	r->st.base_sha = str_dup(r->mem, head.sha);
	r->st.base_branch = str_dup(r->mem, head.branch);
	return 0;
}

int step_begin(struct run *r, struct err *err)
{
	struct repo_status st;

	if (!r->p->is_git)
		return 0;
	if (mode_looks(r) || r->p->rehearse)
		return look(r, err);
	TRY(check_identity(r));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(open_repo(r, r->p->run_id, err));
	TRY(repo_ahead(r->repo, AHEAD_STATUS | (r->p->resume ? AHEAD_CHAIN : AHEAD_FILES | AHEAD_COMMITS), err));
	if (r->p->resume)
		TRY(repo_ahead_index(r->repo, r->p->base, err));
	TRY(repo_status(r->repo, r->mem, &st, err));
	if (r->p->resume) { /* the tree is what the last leg left, and what the person made of it */
		r->untracked = r->p->untracked;
		r->untracked_now = dup_list(r->mem, &st.untracked);
		if (st.unmerged)
			return refuse(r, STR("a merge, rebase or cherry-pick stopped at a conflict here; finish or "
					     "abort it first"));
		r->head = (struct repo_head){ st.head.unborn, str_dup(r->mem, st.head.sha),
			str_dup(r->mem, st.head.branch) };
		return 0;
	}
	if (st.unmerged)
		return refuse(r, STR("a merge, rebase or cherry-pick stopped at a conflict here; finish or "
				     "abort it first"));
	r->unborn = st.head.unborn;
	r->untracked = dup_list(r->mem, &st.untracked);
	r->st.base_sha = str_dup(r->mem, st.head.sha);
	r->st.base_branch = str_dup(r->mem, st.head.branch);
	r->st.left_head = r->st.base_sha;
	r->st.left_branch = r->st.base_branch;
	if (st.dirty.n > 0) {
		r->st.step_open = 1;
		if (r->p->require_clean_worktree)
			return ask_about_dirty(r, &st.dirty, err);
	}
	return 0;
}

bool step_is_recorded(const struct run *r)
{
	return r->repo && r->p->commit_per_step;
}

const struct str_list *step_never_takes(const struct run *r)
{
	return r->left_out.n > 0 ? &r->left_out : &r->untracked;
}

static struct repo_step step_of(const struct run *r, struct str message)
{
	return (struct repo_step){ .base = r->st.base_sha,
		.skip = step_never_takes(r),
		.message = message,
		.branch = r->p->branch_per_run != 0 };
}

int step_is_changed(struct run *r, bool *changed, struct err *err)
{
	struct repo_step step = step_of(r, STR(""));
	int rc;

	*changed = false;
	if (mode_looks(r)) /* it cannot have */
		return 0;
	*changed = true; /* where git cannot tell, we do not claim that all is as it was */
	if (!r->repo)
		return 0;
	rc = repo_is_changed(r->repo, &step, err);
	if (rc == -ERR_CLOSED)
		return rc;
	*changed = rc != 0;
	return 0;
}

int step_scan_ahead(struct run *r, struct err *err)
{
	struct repo_step step = step_of(r, STR(""));

	return !r->repo || mode_looks(r) || r->p->rehearse ? 0 : repo_ahead_scan(r->repo, &step, err);
}

/* What the person changed between two legs is known where the last one said what it left behind. */
static int tell_changed(struct run *r, const struct str_list *changes, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(65536);
	struct str_list mine = { arena_array(r->mem, changes->n + 1, sizeof(*mine.p)), 0 };

	for (size_t i = 0; i < changes->n; i++)
		if (!lists(&r->untracked_now, changes->p[i]) && !lists(&r->st.left_behind, changes->p[i]))
			mine.p[mine.n++] = changes->p[i];
	if (mine.n == 0)
		return 0;
	TRY(buf_addf(&b, err, "%zu file%s changed since the last leg ended: ", mine.n, mine.n == 1 ? "" : "s"));
	TRY(names_add(&b, &mine, PATHS_NAMED, err));
	TRY(buf_addf(&b, err, "; %s in the next step", mine.n == 1 ? "it is" : "they are"));
	/* The run's own work lies in the same tree, and nobody could say whose a line is. */
	if (r->p->auto_stash)
		TRY(buf_addz(&b, " (git.auto_stash sets nothing aside when a run goes on: commit or stash what is not to be in it before that)", err));
	resume_say(r, buf_str(&b));
	return 0;
}

static struct str place_of(struct run *r, struct str sha, struct str branch)
{
	return str_printf(r->mem, STR_FMT "%s" STR_FMT, STR_ARG(branch.n > 0 ? branch : STR("no branch")),
		sha.n > 0 ? " at " : " without a commit", STR_ARG(str_head(sha, SHA_SHOWN)));
}

/* The person's HEAD is theirs to move; what it was is what the model saw. */
static void tell_head(struct run *r)
{
	struct str was, now;

	if (r->st.left_head.n == 0 && r->st.left_branch.n == 0) /* a record of an older build */
		return;
	if (str_eq(r->head.sha, r->st.left_head) && str_eq(r->head.branch, r->st.left_branch))
		return;
	was = place_of(r, r->st.left_head, r->st.left_branch);
	now = place_of(r, r->head.sha, r->head.branch);
	resume_say(r, str_printf(r->mem, "HEAD moved since the last leg: it was " STR_FMT ", now it is " STR_FMT,
		STR_ARG(was), STR_ARG(now)));
}

static int refuse_chain(struct run *r, struct str tip)
{
	return refuse(r, str_printf(r->mem,
		"the chain of this run is not what its record says: refs/agent6/" STR_FMT "/head %s" STR_FMT
		", and the last recorded step is " STR_FMT "; --force goes on all the same",
		STR_ARG(r->p->run_id), tip.n > 0 ? "is at " : "is gone", STR_ARG(str_head(tip, SHA_SHOWN)),
		STR_ARG(r->st.head_sha.n > 0 ? str_head(r->st.head_sha, SHA_SHOWN) : STR("none"))));
}

int step_check_chain(struct run *r, struct err *err)
{
	struct str tip = STR(""), from = r->st.head_sha.n > 0 ? r->st.head_sha : r->st.base_sha;
	int found, grown;

	if (!r->repo)
		return 0;
	TRY(found = mode_looks(r) ? 0 : repo_chain(r->repo, r->mem, &tip, err)); /* who only looks has none */
	if (!str_eq(tip, r->st.head_sha)) {
		/* A kill between a commit and the checkpoint after it leaves the chain one step further. */
		grown = found == 0 ? 0 : from.n == 0 ? 1 : repo_is_ancestor(r->repo, from, tip, ERR_DISCARD);
		if (grown == -ERR_CLOSED)
			return err_set(err, ERR_CLOSED, "git is gone");
		if (grown != 1 && !r->p->force)
			return refuse_chain(r, tip);
		resume_say(r, grown == 1
			? str_printf(r->mem, "the chain is further than the last checkpoint, at " STR_FMT
				": what was committed then is kept", STR_ARG(str_head(tip, SHA_SHOWN)))
			: STR("the chain of this run is not what its record says; going on because of --force"));
		r->st.commits += grown == 1;
		r->st.head_sha = str_dup(r->mem, tip);
	}
	tell_head(r);
	r->st.left_head = r->head.sha;
	r->st.left_branch = r->head.branch;
	return 0;
}

int step_exclude_new(struct run *r, bool *changed, struct err *err)
{
	struct repo_step step = step_of(r, STR(""));
	struct str_list *now = &r->untracked_now, all;
	struct repo_changes c;

	if (!r->repo || !r->st.ended)
		return step_is_changed(r, changed, err);
	TRY(repo_changes(r->repo, &step, NEW_FILES_MAX, r->mem, &c, err));
	TRY(tell_changed(r, &c.paths, err));
	all = (struct str_list){ arena_array(r->mem, r->untracked.n + c.paths.n + 1, sizeof(*all.p)), 0 };
	for (size_t i = 0; i < r->untracked.n; i++)
		all.p[all.n++] = r->untracked.p[i];
	for (size_t i = 0; i < c.paths.n; i++)
		if (lists(now, c.paths.p[i]) && !lists(&r->st.left_behind, c.paths.p[i]))
			all.p[all.n++] = c.paths.p[i];
	*changed = c.total + c.left_out > 0;
	if (all.n == r->untracked.n)
		return 0;
	/* A list of its own: the repository keeps by address what it was told to leave out. */
	r->left_out = all;
	TRY(step_put_untracked(r, err));
	return step_is_changed(r, changed, err);
}

static int say_names(struct run *r, const char *what, const struct str_list *names, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(65536);

	if (names->n == 0)
		return 0;
	TRY(buf_addz(&b, what, err));
	TRY(names_add(&b, names, PATHS_NAMED, err));
	resume_say(r, buf_str(&b));
	return 0;
}

int step_exclude_later(struct run *r, bool *changed, struct err *err)
{
	const struct str_list *now = &r->untracked_now;
	struct message_path *made = NULL;
	struct str_list all, later;
	struct repo_changes c;
	struct repo_step step;
	size_t n = 0;

	if (!r->repo)
		return step_is_changed(r, changed, err);
	if (r->st.head_sha.n > 0)
		TRY(repo_changed(r->repo, r->st.base_sha, r->st.head_sha, r->mem, &made, &n, err));
	all = (struct str_list){ arena_array(r->mem, r->untracked.n + now->n + 1, sizeof(*all.p)), 0 };
	for (size_t i = 0; i < r->untracked.n; i++)
		all.p[all.n++] = r->untracked.p[i];
	later = (struct str_list){ all.p + all.n, 0 };
	for (size_t i = 0; i < now->n; i++)
		if (!lists(&r->untracked, now->p[i]) && !untracked_is_made(made, n, now->p[i]))
			later.p[later.n++] = now->p[i];
	all.n += later.n;
	r->left_out = all;
	TRY(step_put_untracked(r, err));
	TRY(say_names(r, "new after the turn that this fork begins with, so in no step of it: ", &later, err));
	step = step_of(r, STR(""));
	TRY(repo_changes(r->repo, &step, NEW_FILES_MAX, r->mem, &c, err));
	*changed = c.total + c.left_out > 0;
	return say_names(r, "changed after the turn that this fork begins with, and in its next step as it lies there: ", &c.paths, err);
}

/* NUL separated; what is in it is never committed. */
int step_put_untracked(struct run *r, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_FILE_MAX);
	const struct str_list *l = step_never_takes(r);

	if (!r->repo || mode_looks(r))
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		TRY(buf_add(&b, l->p[i], err));
		TRY(buf_addc(&b, '\0', err));
	}
	return keep_put(r->keep, RECORD_FILE, 0, STR("untracked-at-start"), buf_str(&b), err);
}

static int put_commit(
	struct run *r, const struct repo_stepped *s, struct str message, struct arena *mem, struct err *err)
{
	auto_note struct note n = NOTE, d = NOTE;
	struct str rest = message, patch = STR("");
	struct str from = s->parent.n > 0 ? s->parent : r->st.base_sha;

	note_int(&n, "iteration", r->iterations);
	note_str(&n, "sha", s->sha);
	note_str(&n, "subject", str_trim(str_line(&rest)));
	TRY(note_send(&n, r->keep, EVENT_AUTO_COMMIT, err));
	if (repo_diff(r->repo, from, s->sha, NULL, mem, &patch, ERR_DISCARD) < 0)
		return 0; /* a view can ask git itself */
	note_str(&d, "sha", s->sha);
	note_str(&d, "patch", str_head(patch, utf8_head(patch, loop_limits.patch_bytes)));
	return note_send(&d, r->keep, EVENT_DIFF_UPDATED, err);
}

static int put_commit_failed(struct run *r, struct str message, const struct err *why, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str rest = message;

	note_int(&n, "iteration", r->iterations);
	note_z(&n, "error", why->msg);
	note_str(&n, "commit_subject", str_trim(str_line(&rest)));
	return note_send(&n, r->keep, EVENT_AUTO_COMMIT_FAILED, err);
}

/* The work is in the tree and the run goes on: the model may have caused it, and the end says so. */
static int not_recorded(struct run *r, struct turn *t, struct str message, const struct err *why, struct err *err)
{
	if (t && !str_eqz(r->unrecorded, why->msg))
		turn_notice(t, str_printf(t->mem, "What was done could not be recorded as a step: %s. If a command of yours "
				"caused that, take it back.", why->msg));
	r->unrecorded = str_dup(r->mem, str_from(why->msg));
	return put_commit_failed(r, message, why, err);
}

static int put_left_out(struct run *r, const struct str_list *left, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_buf struct buf b = BUF_MAX(1 << 20);

	if (left->n == 0)
		return 0;
	TRY(buf_addz(&b, "left out of the step: ", err));
	TRY(names_add(&b, left, PATHS_NAMED, err));
	note_z(&n, "level", "warning");
	note_str(&n, "text", buf_str(&b));
	return note_send(&n, r->keep, EVENT_RUN_NOTICE, err);
}

/* Something stood where the run's branch should, or moved it away. Its commits are on the chain all the same. */
static int put_branch_kept(struct run *r, struct str why, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_arena struct arena *mem = arena_new();

	if (r->branch_kept)
		return 0;
	r->branch_kept = true;
	note_z(&n, "level", "warning");
	note_str(&n, "text", str_printf(mem, "branch agent6/" STR_FMT " is left as it is: " STR_FMT "; the commits of this run "
			"are on refs/agent6/" STR_FMT "/head, where agent6 runs finds them", STR_ARG(r->p->run_id), STR_ARG(why),
			STR_ARG(r->p->run_id)));
	return note_send(&n, r->keep, EVENT_RUN_NOTICE, err);
}

static int put_branch(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_arena struct arena *mem = arena_new();

	if (!r->p->branch_per_run || r->branch_kept)
		return 0;
	note_str(&n, "run_branch", str_printf(mem, "agent6/" STR_FMT, STR_ARG(r->p->run_id)));
	return note_put(&n, r->keep, RECORD_MANIFEST, 0, "", err);
}

static int note_commit(struct run *r, struct repo_stepped *done, struct str message, struct arena *mem, struct err *err)
{
	r->st.head_sha = str_dup(r->mem, done->sha);
	r->st.ever_changed = 1;
	if (r->st.verify_command.n == 0)
		r->st.gateless_ever_committed = 1;
	if (done->branch_kept)
		TRY(put_branch_kept(r, done->branch_why, err));
	if (r->st.commits++ == 0)
		TRY(put_branch(r, err));
	return put_commit(r, done, message, mem, err);
}

int step_commit(struct run *r, struct turn *t, const char *fallback, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct step_saying says = { .r = r, .t = t, .fallback = fallback };
	struct repo_stepped done = { 0 };
	struct err why = { 0 };
	struct repo_step step;

	if (!step_is_recorded(r))
		return 0;
	TRY(keep_barrier(r->keep, err));
	step = step_of(r, STR(""));
	step.say = step_say;
	step.self = &says;
	if (repo_commit_step(r->repo, &step, mem, &done, &why) < 0) {
		if (r->links->peer[PEER_GIT].gone)
			return err_set(err, ERR_CLOSED, "%s", why.msg);
		return not_recorded(r, t, says.message.n > 0 ? says.message : str_from(fallback), &why, err);
	}
	r->unrecorded = STR("");
	r->st.step_open = 0;
	TRY(put_left_out(r, &done.left_out, err));
	if (done.committed)
		TRY(note_commit(r, &done, says.message, mem, err));
	if (says.rc == 0)
		return 0;
	*err = says.why;
	return loop_gave_up(r, says.rc, err);
}

/* What is on disk and in no step; *total may be more than are named, and below 0 when git cannot tell. */
int step_uncommitted(
	struct run *r, struct arena *mem, struct str_list *files, int64_t *total, struct err *err)
{
	struct repo_step step = step_of(r, STR(""));
	struct repo_changes c;
	int rc;

	*files = (struct str_list){ 0 };
	*total = 0;
	if (!r->repo)
		return 0;
	rc = repo_changes(r->repo, &step, loop_limits.files_named, mem, &c, err);
	if (rc == -ERR_CLOSED)
		return rc;
	if (rc < 0 && step_is_recorded(r))
		r->unrecorded = str_dup(r->mem, str_from(err->msg));
	*total = rc;
	if (rc < 0)
		return 0;
	*files = c.paths;
	*total = (int64_t)c.total;
	for (size_t i = 0, bytes = 0; i < files->n; i++)
		if ((bytes += files->p[i].n) > NAMES_BYTES)
			files->n = i;
	return 0;
}
