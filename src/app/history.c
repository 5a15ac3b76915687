/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/history.h"

#include "agent/gate_files.h"
#include "app/apart.h"
#include "app/gitbox.h"
#include "app/merge_text.h"
#include "app/owner.h"
#include "app/profile.h"
#include "base/time.h"
#include "git/ongoing.h"
#include "role/reader.h"
#include "role/spawner.h"
#include "sys/file.h"

#include <fcntl.h>
#include <stdio.h>

#define COMMITS_MAX  1000

struct history {
	struct arena *mem;
	struct session_ref ref;
	struct manifest manifest;
	struct str_list edited_untracked, deleted_untracked;
	struct config config;
	struct programs programs;
	struct discovered place;
	struct gitbox *box;
	struct repo *repo;
	struct str from, tip; /* commits; tip is empty when the run made none */
	bool has_branch;
	int workspace, record;
	int run_lock, repo_lock; /* while merging */
};

static const struct history HISTORY_NONE = { .programs = PROGRAMS_NONE, .workspace = -1, .record = -1, .run_lock = -1,
	.repo_lock = -1 };

/* ---- opening ---- */

static int resolve_profile(const struct config *c, enum policy_profile *out, struct err *err)
{
	auto_buf struct buf notice = BUF_MAX(1024);
	struct probe probe;

	TRY(profile_probe(&probe, err));
	return probe_resolve(&probe, profile_wish(c), out, &notice, err);
}

/* The configured name and address, else the person's own; and what else the person's git says. */
static int find_identity(struct history *h, const struct config *c, struct spawner_identity *out, struct err *err)
{
	struct peer spawner = PEER_NONE;
	int r;

	*out = (struct spawner_identity){ 0 };
	TRY(apart_places(c, h->place.top, h->mem, &h->programs.apart, err));
	TRY(apart_git(&h->programs.apart, h->mem, err));
	TRY(spawner_start(&h->programs, &spawner, err));
	r = spawner_identity(spawner.chan, h->mem, out, err);
	peer_close(&spawner);
	peer_kill(&spawner);
	if (c->git.name.n > 0)
		out->name = c->git.name;
	if (c->git.email.n > 0)
		out->email = c->git.email;
	return r;
}

static int check_identity(const struct spawner_identity *id, struct err *err)
{
	int r;

	if (id->name.n > 0 && id->email.n > 0)
		return 0;
	r = err_set(err, ERR_DENIED, "git does not know who you are, so nothing can be committed; the repository's own user.name and "
				     "user.email are not used");
	err_hint(err, "git config --global user.name \"...\" and git config --global user.email \"...\"; or agent6 config set "
		      "git.commit.name \"...\" and git.commit.email");
	return r;
}

/* person: files are written, as their git would write them. */
static int open_box(struct history *h, const struct place *place, enum history_use use, bool person, struct err *err)
{
	struct gitbox_spec spec = { .repo = &h->place, .run_id = h->ref.id, .may_merge = use != HISTORY_READ };
	struct spawner_identity id = { 0 };

	TRY(place_is_open(place->workspace, err));
	TRY(discover_repo(place->workspace, h->mem, &h->place, err));
	TRY(config_load(&place->files, h->mem, &h->config, err));
	TRY(owner_check(&h->place, &h->config, h->mem, err));
	TRY(resolve_profile(&h->config, &spec.profile, err));
	TRY(programs_open(&h->programs, err));
	if (person) {
		TRY(find_identity(h, &h->config, &id, err));
		spec.person = &id;
	}
	if (use == HISTORY_MERGE) {
		TRY(check_identity(&id, err));
		spec.name = str_dupz(h->mem, id.name);
		spec.email = str_dupz(h->mem, id.email);
	}
	spec.jail_bin = h->programs.jail_path;
	spec.config = &h->config.sandbox;
	TRY(gitbox_open(&spec, &h->box, err));
	TRY(dir_open(AT_FDCWD, h->place.top, &h->workspace, err));
	return repo_open(gitbox_host(h->box), h->workspace, str_from(h->ref.id), &h->repo, err);
}

/* The chain is what counts; the branch is its visible twin and may be gone. */
static int find_tip(struct history *h, struct err *err)
{
	struct str chain = str_printf(h->mem, "refs/agent6/%s/head", h->ref.id), sha;
	struct str branch = str_printf(h->mem, "refs/heads/agent6/%s", h->ref.id);
	int found = repo_read_ref(h->repo, branch, h->mem, &sha, err);

	TRY(found);
	h->has_branch = found == 1;
	if (found)
		h->tip = sha;
	TRY(found = repo_read_ref(h->repo, chain, h->mem, &sha, err));
	if (found)
		h->tip = sha;
	h->from = h->manifest.base_sha;
	return 0;
}

static int open_all(struct history *h, const struct place *place, enum history_use use, struct err *err)
{
	const char *record = session_path(place->repo_dir, &h->ref, "record", h->mem);
	struct facts f;

	if (use == HISTORY_MERGE) { /* it may change the checkout, as a run does */
		TRY(repo_lock(place->repo_dir, h->ref.id, &h->repo_lock, err));
		TRY(session_lock(place->repo_dir, &h->ref, &h->run_lock, err));
	}
	if (use == HISTORY_DROP)
		TRY(session_lock(place->repo_dir, &h->ref, &h->run_lock, err));
	TRY(dir_open(AT_FDCWD, record, &h->record, err));
	TRY(reader_facts(h->record, false, h->mem, &f, err));
	h->manifest = f.manifest;
	h->edited_untracked = f.edited_untracked;
	h->deleted_untracked = f.deleted_untracked;
	TRY(open_box(h, place, use, use == HISTORY_MERGE, err));
	return find_tip(h, err);
}

int history_open(const struct place *place, const struct session_ref *ref, enum history_use use, struct arena *mem,
	struct history **out, struct err *err)
{
	auto_history struct history *h = mem_alloc(sizeof(*h));

	*h = HISTORY_NONE;
	h->mem = mem;
	h->ref = *ref;
	if (open_all(h, place, use, err) < 0)
		return err_wrap(err, "run %s", ref->id);
	*out = take(&h);
	return 0;
}

int history_unstash(const struct place *place, const char *run_id, struct str sha, struct arena *mem, enum repo_unstash *out,
	struct str_list *names, struct err *err)
{
	auto_history struct history *h = mem_alloc(sizeof(*h));

	*h = HISTORY_NONE;
	h->mem = mem;
	snprintf(h->ref.id, sizeof(h->ref.id), "%s", run_id);
	TRY(repo_lock(place->repo_dir, h->ref.id, &h->repo_lock, err));
	TRY(open_box(h, place, HISTORY_DROP, true, err));
	return repo_stash_restore(h->repo, sha, mem, out, names, err);
}

void history_close(struct history *h)
{
	if (!h)
		return;
	repo_close(h->repo);
	gitbox_close(h->box);
	programs_close(&h->programs);
	base_close_fd(&h->workspace);
	base_close_fd(&h->record);
	base_close_fd(&h->run_lock);
	base_close_fd(&h->repo_lock);
	free(h);
}

const struct config_git *history_config(const struct history *h)
{
	return &h->config.git;
}

const struct manifest *history_manifest(const struct history *h)
{
	return &h->manifest;
}

struct str history_branch(const struct history *h)
{
	return h->has_branch ? str_printf(h->mem, "agent6/%s", h->ref.id) : STR("");
}

/* ---- reading ---- */

int history_commits(struct history *h, struct repo_commit **out, size_t *n, struct err *err)
{
	*n = 0;
	if (h->tip.n == 0)
		return 0;
	TRY(repo_commits(h->repo, h->from, h->tip, COMMITS_MAX, h->mem, out, n, err));
	for (size_t i = 0; i < *n / 2; i++) {
		struct repo_commit c = (*out)[i];

		(*out)[i] = (*out)[*n - 1 - i];
		(*out)[*n - 1 - i] = c;
	}
	return 0;
}

int history_diff(struct history *h, const struct str_list *paths, bool stat, struct str *out, struct err *err)
{
	*out = STR("");
	if (h->tip.n == 0)
		return 0;
	return (stat ? repo_diff_stat : repo_diff)(h->repo, h->from, h->tip, paths, h->mem, out, err);
}

int history_differs(struct history *h, struct str_list *out, struct err *err)
{
	*out = (struct str_list){ 0 };
	return h->tip.n == 0 ? 0 : repo_differs(h->repo, h->tip, h->mem, out, err);
}

struct str_list history_edited_untracked(const struct history *h)
{
	return h->edited_untracked;
}

struct str_list history_deleted_untracked(const struct history *h)
{
	return h->deleted_untracked;
}

/* What the run itself says of its gate can only add to what is looked for. */
static struct str_list gate_of(const struct history *h, struct str_list words)
{
	const struct str_list gates[] = { words, h->config.workflow.verify_command, h->manifest.verify_command };
	struct str_list all = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < COUNT(gates); i++)
		n += gates[i].n;
	all.p = arena_array(h->mem, n + 1, sizeof(*all.p));
	for (size_t i = 0; i < COUNT(gates); i++)
		for (size_t k = 0; k < gates[i].n; k++)
			all.p[all.n++] = gates[i].p[k];
	return all;
}

int history_gate_touched(struct history *h, struct str_list words, struct str_list *out, struct err *err)
{
	struct str_list changed = { 0 };
	struct message_path *paths;
	size_t n;

	*out = (struct str_list){ 0 };
	if (h->tip.n == 0)
		return 0;
	TRY(repo_changed(h->repo, h->from, h->tip, h->mem, &paths, &n, err));
	changed.p = arena_array(h->mem, n + 1, sizeof(*changed.p));
	while (changed.n < n) {
		changed.p[changed.n] = paths[changed.n].name;
		changed.n++;
	}
	*out = gate_touched(gate_of(h, words), changed, h->mem);
	return 0;
}

int history_gate_untracked(struct history *h, struct str_list words, struct str_list *out, struct err *err)
{
	struct repo_status st;

	TRY(repo_status(h->repo, h->mem, &st, err));
	*out = gate_touched(gate_of(h, words), st.untracked, h->mem);
	return 0;
}

/* ---- merging ---- */

static const enum merge_style styles[] = { [CONFIG_SQUASH_AGENT6] = MERGE_AGENT6, [CONFIG_SQUASH_CONVENTIONAL] = MERGE_CONVENTIONAL,
	[CONFIG_SQUASH_COMBINE] = MERGE_COMBINE, [CONFIG_SQUASH_MODEL] = MERGE_MODEL };

static int message_of(struct history *h, const struct history_merge *ask, struct str *out, struct err *err)
{
	struct merge_text text = { .task = h->manifest.user_task, .run_id = h->ref.id, .trailer = h->config.git.trailer,
		.model = h->manifest.worker_model, .merge = ask->how == REPO_MERGE,
		.style = styles[h->config.git.squash_message] };
	struct facts f;

	*out = ask->message;
	if (ask->message.n > 0 || ask->how == REPO_FF)
		return 0;
	TRY(history_commits(h, &text.steps, &text.nsteps, err));
	if (text.style == MERGE_CONVENTIONAL)
		TRY(repo_changed(h->repo, h->from, h->tip, h->mem, &text.paths, &text.npaths, err));
	if (text.style == MERGE_MODEL) {
		TRY(reader_facts(h->record, true, h->mem, &f, err));
		text.said = f.outcome;
	}
	return merge_text(&text, h->mem, out, err);
}

/* The commits stay on the chain, so nothing is lost with it. A branch that is checked out, or that somebody moved, stays. */
static bool prune_branch(struct history *h)
{
	struct str branch = history_branch(h);

	if (!h->config.git.auto_prune || branch.n == 0 || repo_is_checked_out(h->repo, branch, ERR_DISCARD) != 0)
		return false;
	return repo_drop_branch(h->repo, h->tip, ERR_DISCARD) == 0;
}

static int check_target(struct history *h, struct str into, struct err *err)
{
	int r;

	if (into.n == 0) {
		r = err_set(err, ERR_INVALID, "the run began on no branch, so there is none to merge into");
		err_hint(err, "name one: agent6 runs merge %s --into BRANCH", h->ref.id);
		return r;
	}
	if (str_eq(into, str_printf(h->mem, "agent6/%s", h->ref.id)))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is the run's own branch", STR_ARG(into));
	return 0;
}

static bool record_merge(struct history *h, struct str into, const struct repo_merged *m)
{
	auto_buf struct buf b = BUF_MAX(4096);
	char now[TIME_ISO_MAX];
	struct err err = { 0 };

	return buf_addz(&b, "{\"merged\":{", &err) == 0 && json_add_member(&b, "into", into, &err) == 0 &&
		json_add_member(&b, "sha", m->sha, &err) == 0 && json_add_member(&b, "tip", h->tip, &err) == 0 &&
		json_add_member(&b, "ts", str_from(time_iso(time_now_us(), now)), &err) == 0 &&
		buf_addz(&b, "}}", &err) == 0 && reader_add(h->record, buf_str(&b), &err) == 0;
}

int history_merge(struct history *h, const struct history_merge *ask, struct history_merged *out, struct err *err)
{
	struct str into = ask->into.n > 0 ? ask->into : h->manifest.base_branch;
	struct history_merged done = { .into = into };

	if (h->tip.n == 0)
		return err_set(err, ERR_NOENT, "run %s has no commits to merge", h->ref.id);
	TRY(check_target(h, into, err));
	TRY(ongoing_check(&h->place, into, h->mem, err));
	struct repo_merge m = { .from = h->tip, .into = into, .how = ask->how };

	TRY(message_of(h, ask, &m.message, err));
	TRY(repo_merge(h->repo, &m, h->mem, &done.git, err));
	done.recorded = done.git.outcome == REPO_MERGED && record_merge(h, into, &done.git);
	done.pruned = done.recorded && prune_branch(h);
	*out = done;
	return 0;
}

/* ---- removing ---- */

static int is_in(struct history *h, struct str branch, bool *in, struct err *err)
{
	int there = repo_branch_exists(h->repo, branch, err);

	TRY(there);
	if (there == 0)
		return 0;
	there = repo_is_ancestor(h->repo, h->tip, str_printf(h->mem, "refs/heads/" STR_FMT, STR_ARG(branch)), err);
	TRY(there);
	*in = there == 1;
	return 0;
}

int history_is_merged(struct history *h, bool *merged, struct str *where, struct err *err)
{
	const struct manifest *m = &h->manifest;
	struct repo_head head;
	int r;

	*where = STR("");
	*merged = h->tip.n == 0;
	if (*merged)
		return 0;
	if (m->merged_into.n > 0 && git_branch_ok(m->merged_into)) {
		TRY(r = repo_branch_exists(h->repo, m->merged_into, err));
		/* A squash has other commits: what counts is that nothing came after it. */
		*merged = r == 1 && str_eq(m->merged_tip, h->tip);
		*where = *merged ? m->merged_into : STR("");
	}
	if (!*merged && m->base_branch.n > 0 && git_branch_ok(m->base_branch)) {
		TRY(is_in(h, m->base_branch, merged, err));
		*where = *merged ? m->base_branch : STR("");
	}
	if (*merged)
		return 0;
	TRY(repo_head(h->repo, h->mem, &head, err));
	if (head.unborn)
		return 0;
	TRY(r = repo_is_ancestor(h->repo, h->tip, STR("HEAD"), err));
	*merged = r == 1;
	*where = *merged ? STR("HEAD") : STR("");
	return 0;
}

int history_stash(struct history *h, struct str *sha, struct err *err)
{
	int found = repo_read_ref(h->repo, str_printf(h->mem, "refs/agent6-stash/%s", h->ref.id), h->mem, sha, err);

	TRY(found);
	if (found == 0)
		*sha = STR("");
	return 0;
}

int history_drop(struct history *h, bool *branch_kept, struct err *err)
{
	struct str branch = str_printf(h->mem, "agent6/%s", h->ref.id), chain = STR("");
	struct repo_head head;
	int found;

	*branch_kept = false;
	TRY(repo_head(h->repo, h->mem, &head, err));
	if (str_eq(head.branch, branch))
		return err_set(err, ERR_DENIED, "its branch agent6/%s is checked out; switch to another one first", h->ref.id);
	if (h->has_branch)
		*branch_kept = repo_drop_branch(h->repo, h->tip, ERR_DISCARD) < 0;
	TRY(found = repo_read_ref(h->repo, str_printf(h->mem, "refs/agent6/%s/head", h->ref.id), h->mem, &chain, err));
	return found ? repo_drop_chain(h->repo, chain, err) : 0;
}
