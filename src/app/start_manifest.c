/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What is noted of a run before anybody reads a hostile byte: what the operator asked for, how it is held, and where the
 * repository stood. Later commands believe it: `runs merge` changes the branch that stands here, `runs diff` begins with the
 * commit. The recorder takes these members from nobody else. */
#include "app/gitbox.h"
#include "app/start_priv.h"
#include "base/time.h"
#include "fmt/json.h"
#include "session/record.h"
#include "sys/file.h"

#include <fcntl.h>

#define TASK_SHOWN 4000

/* Refs that are not kept as files: git is asked, in a cell of its own. */
static int ask_git(struct start *s, struct repo_head *out, struct err *err)
{
	struct gitbox_spec spec = { .repo = &s->repo, .jail_bin = s->programs.jail_path, .profile = s->profile,
		.config = &s->config->sandbox };
	auto_gitbox struct gitbox *box = NULL;
	autoclose int top = -1;
	struct repo *repo = NULL;

	TRY(gitbox_open(&spec, &box, err));
	TRY(dir_open(AT_FDCWD, s->repo.top, &top, err));
	TRY(repo_open(gitbox_host(box), top, STR(""), &repo, err));
	int r = repo_head(repo, s->mem, out, err);

	repo_close(repo);
	return r;
}

static void set(json_t *to, const char *key, struct str value)
{
	BUG_IF(json_object_set_new(to, key, json_text(value)) < 0);
}

/* How this leg is held; it may be held otherwise than the one before. */
static void add_leg(const struct start *s, json_t *to)
{
	const struct run_params *p = &s->params;
	json_t *models = json_object(), *worker = json_object(), *policy = json_object(), *workflow = json_object();

	set(to, "agent6_version", p->version);
	set(worker, "provider", p->provider);
	set(worker, "model", p->model);
	set(policy, "run_commands", p->run_commands);
	set(policy, "isolation", p->isolation);
	set(policy, "network", p->tool_network);
	set(workflow, "preset", s->rq->preset.n > 0 ? s->rq->preset : s->kept_preset);
	BUG_IF(json_object_set_new(to, "workflow", workflow) < 0 || json_object_set_new(models, "worker", worker) < 0 || json_object_set_new(to, "models", models) < 0 ||
		json_object_set_new(to, "policy", policy) < 0);
}

static int add_beginning(struct start *s, json_t *to, struct err *err)
{
	const struct run_params *p = &s->params;
	const struct repo_facts *facts;
	struct repo_head head = { 0 };
	char now[TIME_ISO_MAX];

	if (s->is_git) {
		TRY(settings_repo_facts(s, &facts, err));
		head = facts->head;
		if (!facts->have_head)
			TRY(ask_git(s, &head, err));
	}
	set(to, "run_id", p->run_id);
	set(to, "mode", p->mode);
	set(to, "start_ts", str_from(time_iso(time_now_us(), now)));
	set(to, "user_task", str_head(p->task, utf8_head(p->task, TASK_SHOWN)));
	set(to, "workspace", p->workspace);
	set(to, "base_sha", head.sha);
	set(to, "base_branch", head.branch);
	set(to, "git_control", STR("agent6"));
	if (s->stash.n > 0)
		set(to, "stash", s->stash);
	if (p->parked)
		BUG_IF(json_object_set_new(to, "parked_task", json_null()) < 0 ||
			json_object_set_new(to, "parked_reason", json_null()) < 0);
	return 0;
}

int start_manifest(struct start *s, struct err *err)
{
	auto_json json_t *members = json_object();
	auto_buf struct buf b = BUF_MAX(RECORD_SMALL_MAX);

	add_leg(s, members);
	if (!s->params.resume) /* one that was parked begins now */
		TRY(add_beginning(s, members, err));
	TRY(json_add(&b, members, err));
	return record_put(&(struct record_to){ s->recorder.chan, WIRE_NOTE }, RECORD_MANIFEST, 0, STR(""), buf_str(&b), err);
}
