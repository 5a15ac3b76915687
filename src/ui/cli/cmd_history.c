/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/term_diff.h"

#include "app/history.h"
#include "session/ending.h"
#include "sys/term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHA_SHOWN 12

struct diff_args {
	struct str id;
	bool stat, json;
	struct str_list path;
};
struct commits_args {
	struct str id;
	bool json;
};
struct merge_args {
	struct str id, into, message;
	int strategy;
	bool json;
};

/* As enum config_merge; not said: what is configured. */
static const char *const strategies[] = { "squash", "merge", "ff", "configured", NULL };
static const enum repo_how hows[] = { [CONFIG_MERGE_SQUASH] = REPO_SQUASH, [CONFIG_MERGE_MERGE] = REPO_MERGE,
	[CONFIG_MERGE_FF] = REPO_FF };
#define CONFIGURED 3

#define ID_FIELD(type)                                                                                       \
	{ "id", &field_str, offsetof(struct type, id), .flags = FIELD_POSITIONAL,           \
		.help = "A run's id or the beginning of it; the newest when left out." }

static const struct field diff_fields[] = {
	ID_FIELD(diff_args),
	{ "stat", &field_bool, offsetof(struct diff_args, stat), .help = "Only which files changed, and how much." },
	{ "path", &field_strs, offsetof(struct diff_args, path), .help = "Only this path; may be given several times." },
	{ "json", &field_bool, offsetof(struct diff_args, json), .help = "Print one JSON object." },
};
static const struct field commits_fields[] = {
	ID_FIELD(commits_args),
	{ "json", &field_bool, offsetof(struct commits_args, json), .help = "Print one JSON array." },
};
static const struct field merge_fields[] = {
	ID_FIELD(merge_args),
	{ "strategy", &field_enum, offsetof(struct merge_args, strategy), .dflt = "configured", .choices = strategies,
		.help = "One commit, a merge commit, or only moving the branch forward; as git.merge_strategy when left out." },
	{ "into", &field_str, offsetof(struct merge_args, into), .help = "The branch to change; the one the run began on when "
									   "left out." },
	{ "message", &field_str, offsetof(struct merge_args, message), .help = "The commit's message." },
	{ "json", &field_bool, offsetof(struct merge_args, json), .help = "Print one JSON object." },
	{ "m", &field_str, offsetof(struct merge_args, message), .flags = FIELD_HIDDEN, .help = "The same as --message." },
};

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, 4096), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int find_run(struct command_ctx *ctx, struct str id, enum history_use use, struct place *place,
	struct session_ref *ref, struct history **h, struct err *err)
{
	TRY(runs_find(ctx, id, id.n > 0 ? SESSION_ANY : 1u << SESSION_RUN, place, ref, err));
	if (ref->kind != SESSION_RUN) {
		if (use == HISTORY_MERGE)
			return err_set(err, ERR_INVALID, "%s is %s %s and has no commits to merge", ref->id,
				ref->kind == SESSION_ASK ? "an" : "a", session_word(ref->kind));
		cli_note("%s is %s %s and makes no commits", ref->id, ref->kind == SESSION_ASK ? "an" : "a",
			session_word(ref->kind));
		return 0;
	}
	TRY(history_open(place, ref, use, ctx->mem, h, err));
	return 1;
}

/* One line about what the run left, where there is something to say. */
static void tell_untracked(const struct history *h)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	struct str_list edited = history_edited_untracked(h), deleted = history_deleted_untracked(h);

	if (ending_say_untracked(&edited, &deleted, &b, ERR_DISCARD) == 0 && b.n > 0)
		cli_note(STR_FMT, STR_ARG(buf_str(&b)));
}

/* ---- reading ---- */

/* patch: or what --stat says; empty where nothing changed. */
static int diff_json(const struct session_ref *ref, const struct history *h, bool stat, struct str text, struct err *err)
{
	const struct manifest *m = h ? history_manifest(h) : NULL;
	struct str_list edited = h ? history_edited_untracked(h) : (struct str_list){ 0 };
	struct str_list deleted = h ? history_deleted_untracked(h) : (struct str_list){ 0 };
	auto_json json_t *o = json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "run_id", ref->id, "base_sha", m ? json_text(m->base_sha) : json_null(),
		"base_branch", m ? json_text(m->base_branch) : json_null(), stat ? "stat" : "patch", json_text(text), "edited_untracked", runs_names_json(&edited),
		"deleted_untracked", runs_names_json(&deleted));

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static int run_diff(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct diff_args *args = decoded;
	auto_history struct history *h = NULL;
	struct session_ref ref;
	struct place place;
	struct str text;
	int r = find_run(ctx, args->id, HISTORY_READ, &place, &ref, &h, err);

	if (r == 0 && args->json)
		return diff_json(&ref, NULL, args->stat, STR(""), err);
	if (r <= 0)
		return r;
	const struct manifest *m = history_manifest(h);
	TRY(history_diff(h, &args->path, args->stat, &text, err));
	if (args->json)
		return diff_json(&ref, h, args->stat, text, err);
	tell_untracked(h);
	if (text.n == 0) {
		cli_note("%s: no changes", ref.id);
		return 0;
	}
	if (args->id.n == 0 && m->base_sha.n == 0)
		cli_note("the changes of %s, all there is: the repository had no commit", ref.id);
	else if (args->id.n == 0)
		cli_note("the changes of %s since " STR_FMT " on " STR_FMT, ref.id, STR_ARG(str_head(m->base_sha, SHA_SHOWN)),
			STR_ARG(m->base_branch.n > 0 ? clean(ctx->mem, m->base_branch) : STR("no branch")));
	if (fflush(stdout) != 0)
		return err_set(err, ERR_SYS, "standard output is gone");
	return term_diff(STDOUT_FILENO, term_style_env(), text, err);
}

static int commits_json(const struct repo_commit *list, size_t n, struct err *err)
{
	auto_json json_t *all = json_array();

	for (size_t i = 0; i < n; i++)
		BUG_IF(json_array_append_new(all, json_pack("{s:o,s:o,s:I}", "sha", json_text(list[i].sha), "subject",
			json_text(list[i].subject), "time_s", (json_int_t)list[i].time_s)) < 0);
	return runs_print_json(all, err);
}

static int run_commits(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct commits_args *args = decoded;
	auto_history struct history *h = NULL;
	struct repo_commit *list;
	struct session_ref ref;
	struct place place;
	size_t n;
	int r = find_run(ctx, args->id, HISTORY_READ, &place, &ref, &h, err);

	if (r <= 0)
		return r;
	TRY(history_commits(h, &list, &n, err));
	if (args->json)
		return commits_json(list, n, err);
	for (size_t i = 0; i < n; i++)
		cli_out(STR_FMT "  " STR_FMT "\n", STR_ARG(str_head(list[i].sha, SHA_SHOWN)),
			STR_ARG(clean(ctx->mem, list[i].subject)));
	struct str branch = history_branch(h);
	cli_note("%zu commit%s on " STR_FMT, n, n == 1 ? "" : "s", STR_ARG(branch.n > 0 ? branch : STR("the run's chain")));
	return 0;
}

/* ---- merging ---- */

/* A word of a command line to be copied: a branch may be called anything that is no blank. */
static struct str quoted(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };
	bool plain = s.n > 0;

	for (size_t i = 0; i < s.n && plain; i++)
		plain = memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@%", s.p[i], 69);
	if (plain)
		return s;
	int r = buf_addc(&b, '\'', &err);
	for (size_t i = 0; i < s.n && r == 0; i++)
		r = s.p[i] == '\'' ? buf_addz(&b, "'\\''", &err) : buf_addc(&b, s.p[i], &err);
	r = r < 0 ? r : buf_addc(&b, '\'', &err);
	return r < 0 ? STR("BRANCH") : clean(mem, buf_str(&b));
}

/* The command that does the same with a person to settle the conflicts. */
static struct str by_hand(struct arena *mem, const struct history_merged *done, struct str branch, enum repo_how how,
	const struct session_ref *ref)
{
	struct str from = branch.n > 0 ? branch : str_printf(mem, "refs/agent6/%s/head", ref->id);
	struct str go = done->git.checked_out ? STR("") : str_printf(mem, "git checkout " STR_FMT " && ",
		STR_ARG(quoted(mem, done->into)));

	return str_printf(mem, "%s" STR_FMT "git merge %s" STR_FMT "%s", done->git.dirty ? "git stash && " : "", STR_ARG(go),
		how == REPO_SQUASH ? "--squash " : "", STR_ARG(from), how == REPO_SQUASH ? " && git commit" : "");
}

static int tell_conflicts(struct command_ctx *ctx, const struct history_merged *done, struct str branch, enum repo_how how,
	const struct session_ref *ref)
{
	cli_note("nothing was merged: " STR_FMT " and the run change the same places of", STR_ARG(clean(ctx->mem, done->into)));
	for (size_t i = 0; i < done->git.paths.n; i++)
		cli_out("  " STR_FMT "\n", STR_ARG(clean(ctx->mem, done->git.paths.p[i])));
	cli_note("your checkout is untouched; by hand: " STR_FMT, STR_ARG(by_hand(ctx->mem, done, branch, how, ref)));
	return 1;
}

static void tell_kept(struct command_ctx *ctx, const struct repo_merged *m)
{
	for (size_t i = 0; i < m->paths.n; i++)
		cli_note("your " STR_FMT " was left as it is: it is not what the branch had", STR_ARG(clean(ctx->mem, m->paths.p[i])));
	for (size_t i = 0; i < m->staged.n; i++)
		cli_note("your " STR_FMT " was left as it is: it is staged, and a commit takes back there what the run did",
			STR_ARG(clean(ctx->mem, m->staged.p[i])));
}

json_t *runs_names_json(const struct str_list *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		BUG_IF(json_array_append_new(list, json_text(l->p[i])) < 0);
	return list;
}

/* What a person should know before they take a run's work over; it stops nobody. */
struct warned {
	struct str_list edited_untracked, deleted_untracked, gate_touched;
};

static int warn(struct history *h, bool said, struct warned *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);

	out->edited_untracked = history_edited_untracked(h);
	out->deleted_untracked = history_deleted_untracked(h);
	TRY(history_gate_touched(h, (struct str_list){ 0 }, &out->gate_touched, err));
	if (!said)
		return 0;
	tell_untracked(h);
	TRY(ending_say_gate(&out->gate_touched, &b, err));
	if (b.n > 0)
		cli_note(STR_FMT, STR_ARG(buf_str(&b)));
	return 0;
}

/* paths: where a conflict is, or what stayed as it was. */
static int tell_json(const struct history_merged *done, const struct warned *w, int strategy, const struct session_ref *ref,
	struct err *err)
{
	static const char *const outcomes[] = { [REPO_MERGED] = "merged", [REPO_NOOP] = "nothing to do", [REPO_CONFLICTS] = "conflicts",
		[REPO_DIVERGED] = "diverged" };
	auto_json json_t *o = json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "run_id", ref->id, "outcome", outcomes[done->git.outcome],
		"strategy", strategies[strategy], "into", json_text(done->into), "sha", json_text(done->git.sha), "paths",
		runs_names_json(&done->git.paths), "staged", runs_names_json(&done->git.staged), "edited_untracked",
		runs_names_json(&w->edited_untracked), "deleted_untracked", runs_names_json(&w->deleted_untracked), "gate_touched", runs_names_json(&w->gate_touched));

	BUG_IF(!o);
	TRY(runs_print_json(o, err));
	return done->git.outcome == REPO_CONFLICTS || done->git.outcome == REPO_DIVERGED ? 1 : 0;
}

static int tell(struct command_ctx *ctx, const struct history_merged *done, struct str branch, int strategy,
	const struct session_ref *ref)
{
	switch (done->git.outcome) {
	case REPO_CONFLICTS:
		return tell_conflicts(ctx, done, branch, hows[strategy], ref);
	case REPO_DIVERGED:
		cli_note("nothing was merged: " STR_FMT " has moved since the run began, so it cannot just be moved forward; "
			 "use --strategy squash or merge", STR_ARG(done->into));
		return 1;
	case REPO_NOOP:
		cli_note(STR_FMT " already contains what the run did", STR_ARG(done->into));
		return 0;
	case REPO_MERGED:
		break;
	}
	cli_out("merged %s into " STR_FMT " (%s) -> " STR_FMT "\n", ref->id, STR_ARG(done->into), strategies[strategy],
		STR_ARG(str_head(done->git.sha, SHA_SHOWN)));
	tell_kept(ctx, &done->git);
	if (done->pruned)
		cli_note("branch agent6/%s was removed; its commits are on refs/agent6/%s/head", ref->id, ref->id);
	if (!done->recorded)
		cli_note("the run's manifest could not be brought up to date; the merge itself is done");
	return 0;
}

static int merge_run(struct command_ctx *ctx, const struct merge_args *args, struct err *err)
{
	struct history_merge ask = { .into = args->into, .message = args->message };
	auto_history struct history *h = NULL;
	struct history_merged done;
	struct warned warned;
	struct repo_commit *list;
	struct session_ref ref;
	struct place place;
	int strategy;
	size_t n;

	TRY(find_run(ctx, args->id, HISTORY_MERGE, &place, &ref, &h, err));
	TRY(history_commits(h, &list, &n, err));
	TRY(warn(h, !args->json, &warned, err));
	if (n == 0) {
		cli_note("%s made no commits: there is nothing to merge", ref.id);
		return args->json ? tell_json(&(struct history_merged){ .git.outcome = REPO_NOOP }, &warned, 0, &ref, err) : 0;
	}
	strategy = args->strategy == CONFIGURED ? history_config(h)->merge_strategy : args->strategy;
	ask.how = hows[strategy];
	TRY(history_merge(h, &ask, &done, err));
	if (args->json)
		return tell_json(&done, &warned, strategy, &ref, err);
	return tell(ctx, &done, history_branch(h), strategy, &ref);
}

static int run_merge(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	return merge_run(ctx, decoded, err);
}

int runs_auto_merge(struct command_ctx *ctx, struct str run_id, struct err *err)
{
	const struct merge_args args = { .id = run_id, .strategy = CONFIGURED };

	return merge_run(ctx, &args, err);
}

#define FIELDS(table, type) .fields = table, .nfields = COUNT(table), .size = sizeof(struct type)

static const struct command commands[] = {
	{ .name = "runs diff", .help = "show what a run changed", FIELDS(diff_fields, diff_args), .run = run_diff,
		.needs_no_root_check = true },
	{ .name = "runs commits", .help = "list a run's commits, oldest first", FIELDS(commits_fields, commits_args),
		.run = run_commits, .needs_no_root_check = true },
	{ .name = "runs merge", .help = "bring a run's commits to a branch",
		.about = "Your checkout changes only where the branch is checked out and a file still is what it was; what you "
			 "changed or\nstaged stays as it is and is named. A conflict changes nothing and exits 1.",
		FIELDS(merge_fields, merge_args), .run = run_merge },
};

const struct command_group commands_history = { commands, COUNT(commands), NULL };
