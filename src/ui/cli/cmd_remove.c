/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "app/history.h"
#include "base/time.h"
#include "sys/file.h"
#include "sys/term.h"

#include <fcntl.h>

#define DAY_MS     ((int64_t)24 * 3600 * 1000)

struct rm_args {
	struct str id;
	bool unmerged, json;
};
struct prune_args {
	int64_t older_than;
	bool unmerged, dry_run, json;
};

static const struct field rm_fields[] = {
	{ "id", &field_str, offsetof(struct rm_args, id), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "A session's id or the beginning of it." },
	{ "unmerged", &field_bool, offsetof(struct rm_args, unmerged), .help = "Also when its commits are in no branch." },
	{ "json", &field_bool, offsetof(struct rm_args, json), .help = "Print one JSON object." },
};
static const struct field prune_fields[] = {
	{ "older-than", &field_int, offsetof(struct prune_args, older_than), .dflt = "30", .min = 0, .max = 36500,
		.help = "Only sessions that nothing happened in for so many days; 30 unless given." },
	{ "unmerged", &field_bool, offsetof(struct prune_args, unmerged), .help = "Also those whose commits are in no branch." },
	{ "json", &field_bool, offsetof(struct prune_args, json), .help = "Print one JSON array of those that are old enough." },
	{ "dry-run", &field_bool, offsetof(struct prune_args, dry_run), .help = "Only say what would go." },
};

enum removed { REMOVED, KEPT_UNMERGED, KEPT_LIVE };

struct removal {
	enum removed how;
	struct str where; /* it was merged into; or empty */
	struct str stash; /* what was set aside before it stays so: a commit; or empty */
	bool had_commits, branch_kept;
};

static int remove_dir(const struct place *place, const struct session_ref *ref, struct arena *mem, struct err *err)
{
	return dir_remove_tree(AT_FDCWD, session_path(place->repo_dir, ref, NULL, mem), err);
}

/* Plans and asks have no commits. Their lock is held while they go. */
static int remove_plain(const struct place *place, const struct session_ref *ref, bool dry, struct arena *mem,
	struct removal *out, struct err *err)
{
	autoclose int lock = -1;
	int r = session_lock(place->repo_dir, ref, &lock, err);

	if (r == -ERR_BUSY) {
		out->how = KEPT_LIVE;
		return 0;
	}
	TRY(r);
	return dry ? 0 : remove_dir(place, ref, mem, err);
}

static int remove_run(const struct place *place, const struct session_ref *ref, bool unmerged, bool dry, struct arena *mem,
	struct removal *out, struct err *err)
{
	auto_history struct history *h = NULL;
	struct repo_commit *list;
	size_t n;
	bool merged;
	int r = history_open(place, ref, HISTORY_DROP, mem, &h, err);

	if (r == -ERR_BUSY) {
		out->how = KEPT_LIVE;
		return 0;
	}
	TRY(r);
	TRY(history_is_merged(h, &merged, &out->where, err));
	TRY(history_commits(h, &list, &n, err));
	out->had_commits = n > 0;
	if (!merged && !unmerged) {
		out->how = KEPT_UNMERGED;
		return 0;
	}
	TRY(history_stash(h, &out->stash, err));
	if (dry)
		return 0;
	TRY(history_drop(h, &out->branch_kept, err));
	return remove_dir(place, ref, mem, err);
}

/* A directory in which nothing began, and a place without a repository, have no refs. */
static bool has_refs(const struct place *place, const struct session_ref *ref, struct arena *mem)
{
	autoclose int record = -1, manifest = -1;

	return place->is_repo && ref->kind == SESSION_RUN &&
		dir_open(AT_FDCWD, session_path(place->repo_dir, ref, "record", mem), &record, ERR_DISCARD) == 0 &&
		file_open(record, "manifest.json", true, &manifest, ERR_DISCARD) == 0;
}

static int remove_session(const struct place *place, const struct session_ref *ref, bool unmerged, bool dry, struct arena *mem,
	struct removal *out, struct err *err)
{
	*out = (struct removal){ .how = REMOVED };
	if (!has_refs(place, ref, mem))
		return remove_plain(place, ref, dry, mem, out, err);
	return remove_run(place, ref, unmerged, dry, mem, out, err);
}

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(16384);

	return term_clean(str_head(s, 1024), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static void tell_removed(const struct session_ref *ref, const struct removal *r, bool dry, struct arena *mem)
{
	const char *word = dry ? "would remove" : "removed";

	if (r->where.n > 0)
		cli_out("%s %s (merged into " STR_FMT ")\n", word, ref->id, STR_ARG(clean(mem, r->where)));
	else
		cli_out("%s %s%s\n", word, ref->id, r->had_commits ? " (its commits are in no branch)" : "");
	if (r->stash.n > 0) /* it is the person's own work, and no commit of the run */
		cli_note("what was set aside before %s stays so; to get it back: git stash apply --index " STR_FMT
			" && git update-ref -d refs/agent6-stash/%s", ref->id, STR_ARG(r->stash), ref->id);
	if (r->branch_kept)
		cli_note("branch agent6/%s was left: it is not where the run left it", ref->id);
}

static int removed_json(const struct session_ref *ref, const struct removal *r, struct err *err)
{
	auto_json json_t *o = json_pack("{s:s,s:s,s:o,s:b,s:b,s:o}", "run_id", ref->id, "what", "removed", "merged_into",
		r->where.n > 0 ? json_text(r->where) : json_null(), "had_commits", r->had_commits, "branch_kept", r->branch_kept, "stash",
		r->stash.n > 0 ? json_text(r->stash) : json_null());

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static int run_rm(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct rm_args *args = decoded;
	struct session_ref ref;
	struct removal done;
	struct place place;
	int r;

	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	TRY(remove_session(&place, &ref, args->unmerged, false, ctx->mem, &done, err));
	switch (done.how) {
	case KEPT_LIVE:
		r = err_set(err, ERR_BUSY, "%s is running", ref.id);
		err_hint(err, "agent6 runs stop %s", ref.id);
		return r;
	case KEPT_UNMERGED:
		r = err_set(err, ERR_DENIED, "the commits of %s are in no branch", ref.id);
		err_hint(err, "agent6 runs merge %s, or runs rm --unmerged %s to remove them too", ref.id, ref.id);
		return r;
	case REMOVED:
		if (args->json)
			return removed_json(&ref, &done, err);
		tell_removed(&ref, &done, false, ctx->mem);
		return 0;
	}
	return 0;
}

static void add_json(json_t *list, const struct session_ref *ref, const char *what, struct str where, const char *why)
{
	BUG_IF(json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:o}", "run_id", ref->id, "what", what, "merged_into",
		where.n > 0 ? json_text(where) : json_null(), "why", why ? json_text(str_from(why)) : json_null())) < 0);
}

static int run_prune(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct prune_args *args = decoded;
	int64_t now = time_now_ms(), removed = 0, unmerged = 0, young = 0, live = 0, failed = 0;
	auto_json json_t *told = json_array();
	struct session_entry *list;
	struct place place;
	size_t n;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(session_list(place.repo_dir, SESSION_ANY, ctx->mem, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		struct err why = { 0 };
		struct removal done;

		if (list[i].live || now - list[i].active_ms < args->older_than * DAY_MS) {
			live += list[i].live;
			young += !list[i].live;
			continue;
		}
		if (remove_session(&place, &list[i].ref, args->unmerged, args->dry_run, ctx->mem, &done, &why) < 0) {
			cli_note("%s is kept: %s", list[i].ref.id, why.msg);
			add_json(told, &list[i].ref, "kept", STR(""), why.msg);
			failed++;
			continue;
		}
		unmerged += done.how == KEPT_UNMERGED;
		live += done.how == KEPT_LIVE;
		removed += done.how == REMOVED;
		add_json(told, &list[i].ref, done.how != REMOVED ? "kept" : args->dry_run ? "would be removed" : "removed", done.where,
			done.how == KEPT_UNMERGED ? "its commits are in no branch" : done.how == KEPT_LIVE ? "it is running" : NULL);
		if (args->json)
			continue;
		if (done.how == KEPT_UNMERGED)
			cli_out("kept %s: its commits are in no branch\n", list[i].ref.id);
		else if (done.how == REMOVED)
			tell_removed(&list[i].ref, &done, args->dry_run, ctx->mem);
	}
	if (args->json)
		TRY(runs_print_json(told, err));
	cli_note("%lld of %zu session%s %s; kept: %lld newer than %lld day%s, merged or not; %lld older and not merged; %lld running",
		(long long)removed, n, n == 1 ? "" : "s", args->dry_run ? "would go" : "removed", (long long)young,
		(long long)args->older_than, args->older_than == 1 ? "" : "s", (long long)unmerged, (long long)live);
	return failed > 0 ? 1 : 0;
}

static const struct command commands[] = {
	{ .name = "runs rm", .help = "remove a session: its record, its chain and its branch",
		.about = "What it committed and nobody merged is removed only with --unmerged.",
		.fields = rm_fields, .nfields = COUNT(rm_fields), .size = sizeof(struct rm_args), .run = run_rm },
	{ .name = "runs prune", .help = "remove old sessions whose work is merged, or that did none",
		.about = "A session that is running stays, one whose commits are in no branch stays unless --unmerged is given.",
		.fields = prune_fields, .nfields = COUNT(prune_fields), .size = sizeof(struct prune_args), .run = run_prune },
};

const struct command_group commands_remove = { commands, COUNT(commands), NULL };
