/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/start_priv.h"

#include "app/apart.h"
#include "app/endpoint.h"
#include "app/gitbox.h"
#include "app/owner.h"
#include "app/profile.h"
#include "app/skills.h"
#include "config/paths.h"
#include "config/secrets.h"
#include "sandbox/ground.h"
#include "sandbox/namespace.h"
#include "sandbox/toolpath.h"
#include "sys/file.h"
#include "sys/mounts.h"
#include "tool/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define INDEX_TIMEOUT_MS 60000

/* ---- where ---- */

int settings_workspace(struct start *s, struct err *err)
{
	struct workspace w;

	TRY(place_workspace(s->rq->workspace, s->mem, &w, err));
	TRY(place_is_open(w.dir, err));
	if (!utf8_valid(str_from(w.dir))) { /* messages between the processes are UTF-8 and would name another one */
		int r = err_set(err, ERR_UNSUPPORTED, "the workspace's path %s is not valid UTF-8", w.dir);

		err_hint(err, "a run needs a path in UTF-8: rename the directory");
		return r;
	}
	s->workspace = w.dir;
	s->is_git = w.is_repo;
	s->repo = w.repo;
	return 0;
}

int settings_owner(const struct start *s, struct err *err)
{
	return s->is_git ? owner_check(&s->repo, s->config, s->mem, err) : 0;
}

/* What the model may write must not hold what we trust, nor lie in it, whatever links lead there. */
static int check_apart(const struct start *s, const struct mounts *mounts, const char *dir, const char *what, const char *variable,
	struct err *err)
{
	const char *real = settings_resolve(dir, s->mem);
	const struct mount_names names = mounts_names(mounts, real, s->mem);
	int r;

	for (size_t i = 0; i < names.n; i++) {
		if (!path_is_within(names.p[i], s->workspace) && !path_is_within(s->workspace, names.p[i]))
			continue;
		r = err_set(err, ERR_DENIED, "the workspace %s and the %s %s lie in one another%s%s", s->workspace, what, real,
			i > 0 ? ": it is mounted at " : "", i > 0 ? names.p[i] : "");
		err_hint(err, "run agent6 in a project's own repository, or move it with %s", variable);
		return r;
	}
	return 0;
}

int settings_apart(const struct start *s, struct err *err)
{
	struct mounts mounts;

	TRY(mounts_load(s->mem, &mounts, err));
	TRY(check_apart(s, &mounts, s->config_dir, "configuration directory", "AGENT6_CONFIG_HOME", err));
	TRY(check_apart(s, &mounts, s->state_dir, "state directory", "AGENT6_STATE_HOME", err));
	return check_apart(s, &mounts, s->paths.data, "data directory", "AGENT6_DATA_HOME", err);
}

int settings_writable(const struct start *s, struct str_list *out, struct err *err)
{
	return apart_places(s->config, s->workspace, s->mem, out, err);
}

int settings_hooks(const struct start *s, struct hooks_spec *out, struct err *err)
{
	const struct config_notify *c = &s->config->notify;
	struct str_list places, on_complete, on_wait;

	TRY(settings_writable(s, &places, err));
	TRY(apart_argv(&places, &(struct apart_program){ .key = "notify.on_complete" }, &c->on_complete, s->mem, &on_complete, err));
	TRY(apart_argv(&places, &(struct apart_program){ .key = "notify.on_wait" }, &c->on_wait, s->mem, &on_wait, err));
	*out = (struct hooks_spec){ .timeout_ms = c->timeout_s * 1000, .mode = str_from(s->mode->word) };
	if (s->rq->recording_fd >= 0) /* nothing that a person waits for */
		return 0;
	out->on_complete = on_complete;
	out->on_wait = on_wait;
	return 0;
}

int settings_paths(struct start *s, struct err *err)
{
	TRY(paths_find(paths_env, s->mem, &s->paths, err));
	s->config_dir = s->paths.config;
	s->state_dir = s->paths.state;
	TRY(session_repo_dir(s->state_dir, str_from(s->workspace), s->mem, &s->repo_dir, err));
	return paths_check(&s->paths, s->repo_dir, err);
}

/* A preset that a flag chose goes with the run. */
static int take_facts(struct start *s, struct err *err)
{
	if (s->record_reader.chan < 0)
		return 0;
	TRY(reader_take_facts(&s->record_reader, s->mem, &s->facts, err));
	if (s->rq->preset.n == 0)
		s->kept_preset = s->facts.manifest.preset;
	return 0;
}

/* What is granted in both lists may be read and written: of the first it would be read only. */
static void drop_granted_twice(struct str_list *reads, struct str_list writes)
{
	size_t n = 0;

	for (size_t i = 0; i < reads->n; i++) {
		bool twice = false;

		for (size_t k = 0; k < writes.n && !twice; k++)
			twice = str_eq(reads->p[i], writes.p[k]);
		if (!twice)
			reads->p[n++] = reads->p[i];
	}
	reads->n = n;
}

int settings_load(struct start *s, struct err *err)
{
	struct config_files files = { 0 };
	struct config *c = arena_alloc(s->mem, sizeof(*c));

	TRY(take_facts(s, err));
	files.global = s->paths.global_file;
	files.repo = str_printf(s->mem, "%s/config.toml", s->repo_dir).p;
	files.file = s->rq->config.n > 0 ? str_dupz(s->mem, s->rq->config) : NULL;
	files.workspace = s->workspace;
	files.home = s->paths.home;
	files.preset = s->rq->preset.n > 0 ? s->rq->preset : s->kept_preset;
	TRY(config_load(&files, s->mem, c, err));
	drop_granted_twice(&c->sandbox.extra_read_paths, c->sandbox.extra_write_paths);
	for (size_t i = 0; i < c->nmcp; i++)
		drop_granted_twice(&c->mcp[i]->extra_read_paths, c->mcp[i]->extra_write_paths);
	s->config = c;
	s->attended = !s->rq->unattended && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
	return 0;
}

/* ---- what may be done ---- */

static bool in_any(struct str path, struct str_list dirs, struct arena *mem)
{
	for (size_t i = 0; i < dirs.n; i++)
		if (path_is_within(str_dupz(mem, path), str_dupz(mem, dirs.p[i])))
			return true;
	return false;
}

static struct str_list join(struct arena *mem, struct str_list a, struct str_list b)
{
	struct str_list all = { arena_array(mem, a.n + b.n + 1, sizeof(*all.p)), 0 };

	for (size_t i = 0; i < a.n; i++)
		all.p[all.n++] = a.p[i];
	for (size_t i = 0; i < b.n; i++)
		all.p[all.n++] = b.p[i];
	return all;
}

/* What is hidden, by every name that mounts give it. */
static int hidden_names(const struct start *s, struct str_list *out, struct err *err)
{
	const struct str_list *hide = &s->config->sandbox.hide_paths;
	struct str_list all = *hide;
	struct mounts mounts;

	if (hide->n > 0)
		TRY(mounts_load(s->mem, &mounts, err));
	for (size_t i = 0; i < hide->n; i++) {
		const char *path = str_dupz(s->mem, hide->p[i]);
		const struct mount_names names = mounts_names(&mounts, settings_resolve(path, s->mem), s->mem);
		struct str_list more = { arena_array(s->mem, names.n, sizeof(*more.p)), 0 };

		for (size_t k = 0; k < names.n; k++)
			if (strcmp(names.p[k], path) != 0)
				more.p[more.n++] = str_from(names.p[k]);
		all = join(s->mem, all, more);
	}
	*out = all;
	return 0;
}

/* A path that nothing shows needs no mask. */
static int refuse_hiding(const struct start *s, const struct probe *host, struct err *err)
{
	const struct config_sandbox *c = &s->config->sandbox;
	const struct str_list workspace = { .p = (struct str[]){ str_from(s->workspace) }, .n = 1 };
	struct str_list hidden;
	int r;

	TRY(hidden_names(s, &hidden, err));
	for (size_t i = 0; i < hidden.n; i++) {
		struct str path = hidden.p[i];

		if (!in_any(path, workspace, s->mem) && !in_any(path, c->extra_read_paths, s->mem) &&
			!in_any(path, c->extra_write_paths, s->mem))
			continue;
		r = err_set(err, ERR_UNSUPPORTED, "sandbox.hide_paths: profile \"hardened\" cannot hide " STR_FMT ": Landlock grants a "
						  "directory whole%s%s", STR_ARG(path), probe_reason(host)[0] ? "; strict is not possible: " : "",
			probe_reason(host));
		err_hint(err, "take it out of sandbox.hide_paths, or move it out of what commands may see");
		return r;
	}
	return 0;
}

/* What Landlock cannot do is refused where somebody asked for it by name, and said where it is only a default. */
static int hardened_limits(struct start *s, const struct probe *host, struct err *err)
{
	uid_t uid;
	gid_t gid;
	int r;

	TRY(refuse_hiding(s, host, err));
	if (host->real_root)
		TRY(ground_owner(s->workspace, &uid, &gid, err));
	if (!s->is_git || !s->config->sandbox.protect_git || !s->mode->writes)
		return 0;
	if (config_is_set(s->config, "sandbox.protect_git")) {
		r = err_set(err, ERR_UNSUPPORTED, "sandbox.protect_git: profile \"hardened\" cannot: Landlock grants a directory "
						  "whole%s%s", probe_reason(host)[0] ? "; strict is not possible: " : "", probe_reason(host));
		err_hint(err, "agent6 config unset sandbox.protect_git: changes in .git are then noticed and end the run");
		return r;
	}
	start_notice(s, STR("hardened: .git can be written by commands, since Landlock cannot take it out of the workspace; a "
			    "change of its configuration, hooks or refs ends the run"));
	return 0;
}

int settings_profile(struct start *s, struct err *err)
{
	enum probe_wish wish = s->rq->disable_sandbox ? WISH_NONE : profile_wish(s->config);
	auto_buf struct buf notice = BUF_MAX(1024);
	struct probe probe;

	TRY(profile_probe(&probe, err));
	TRY(probe_resolve(&probe, wish, &s->profile, &notice, err));
	if (notice.n > 0 && s->profile != PROFILE_NONE) /* settings_whose says that one */
		start_notice(s, str_dup(s->mem, buf_str(&notice)));
	return s->profile == PROFILE_HARDENED ? hardened_limits(s, &probe, err) : 0;
}

int settings_whose(struct start *s, struct err *err)
{
	uid_t uid;
	gid_t gid;

	if (s->profile == PROFILE_NONE) {
		start_notice(s, geteuid() == 0 ? STR("UNSANDBOXED: the model's commands run as root, with every file, your keys and your network")
					       : STR("UNSANDBOXED: the model's commands run as you, with your files, your keys and your network"));
		return 0;
	}
	if (geteuid() != 0)
		return 0;
	if (!ns_is_real_root()) {
		start_notice(s, STR("running as root of a user namespace: commands run as the user who is root there"));
		return 0;
	}
	if (s->profile == PROFILE_STRICT) {
		start_notice(s, str_printf(s->mem, "running as root: commands run as the unprivileged id %lld",
			(long long)s->config->sandbox.root_as_uid));
		return 0;
	}
	TRY(ground_owner(s->workspace, &uid, &gid, err));
	start_notice(s, str_printf(s->mem, "running as root: commands run as the owner of the workspace, id %u", (unsigned)uid));
	return 0;
}

/* A session that only looks asks before it runs a command, whatever the configuration says; where nobody can answer
 * it does without. */
static int clamp(const struct start *s, int want)
{
	if (s->mode->writes)
		return want;
	if (want == RUN_COMMANDS_YES)
		want = RUN_COMMANDS_ASK;
	if (!s->mode->commands || (want == RUN_COMMANDS_ASK && !s->rq->auto_approve && !s->attended && !s->rq->rehearse))
		want = RUN_COMMANDS_NO;
	return want;
}

/* Why no command may run, as whoever meets the refusal needs it. */
static struct str why_none(const struct start *s)
{
	if (s->rq->no_commands)
		return STR("--no-commands was given");
	if (!s->mode->commands)
		return STR("no command runs in this mode");
	if (s->config->sandbox.run_commands == RUN_COMMANDS_NO)
		return STR("sandbox.run_commands is \"no\"");
	return str_printf(s->mem, "%s and nobody can answer here: --auto-approve, or a terminal, lets commands run",
		s->config->sandbox.run_commands == RUN_COMMANDS_ASK ? "sandbox.run_commands is \"ask\"" : "this mode asks before a command");
}

int settings_policy(struct start *s, struct err *err)
{
	int want = s->rq->no_commands ? RUN_COMMANDS_NO : clamp(s, s->config->sandbox.run_commands);
	int r;

	if (s->rq->auto_approve && want == RUN_COMMANDS_ASK)
		want = RUN_COMMANDS_YES;
	s->params.run_commands = str_from(config_word("sandbox.run_commands", want));
	s->params.commands_why = want == RUN_COMMANDS_NO ? why_none(s) : STR("");
	if (want != RUN_COMMANDS_ASK || s->attended || s->rq->rehearse)
		return 0;
	r = err_set(err, ERR_DENIED, "sandbox.run_commands is \"ask\" and nobody can answer here");
	err_hint(err, "use a terminal, or --auto-approve, or --no-commands, or agent6 config set sandbox.run_commands yes");
	return r;
}

/* ---- what the agent is told ---- */

static struct str host_note(struct arena *mem)
{
	struct utsname u;

	return uname(&u) == 0 ? str_printf(mem, "%s %s", u.sysname, u.machine) : STR("Linux");
}

static struct str or_else(struct str wish, struct str other)
{
	return wish.n > 0 ? wish : other;
}

#define WITHHELD_TOLD 5

static void note_withheld(struct start *s)
{
	const struct policy_list *l = &s->tools.withheld;
	struct str names = STR("");

	for (size_t i = 0; i < l->n && i < WITHHELD_TOLD; i++)
		names = str_printf(s->mem, STR_FMT "%s%s", STR_ARG(names), i > 0 ? ", " : "", l->p[i]);
	if (l->n > WITHHELD_TOLD)
		names = str_printf(s->mem, STR_FMT " and %zu more", STR_ARG(names), l->n - WITHHELD_TOLD);
	if (l->n > 0)
		start_notice(s, str_printf(s->mem, "commands do not have " STR_FMT ": such a link leads into a private directory, and what is to be shown of it "
			"belongs into sandbox.extra_read_paths", STR_ARG(names)));
}

int settings_tools(struct start *s, struct err *err)
{
	struct toolpath_ask ask = { .home = s->paths.home, .env = (const char *const *)environ,
		.another_user = s->profile == PROFILE_HARDENED && geteuid() == 0 };
	const char *const own[] = { s->config_dir, s->state_dir, s->paths.data };
	struct str_list places;
	struct mounts mounts;

	TRY(settings_writable(s, &places, err));
	TRY(mounts_load(s->mem, &mounts, err));
	s->shown = (struct policy_list){ 0 };
	TRY(grants_shown(&(struct grants_ask){ &s->paths, &mounts, s->profile }, s->mem, &s->shown, err));
	for (size_t i = 0; i < COUNT(own); i++) {
		const struct mount_names names = mounts_names(&mounts, settings_resolve(own[i], s->mem), s->mem);

		for (size_t k = 0; k < names.n; k++)
			policy_list_add(&ask.deny, s->mem, names.p[k]);
	}
	for (size_t i = 0; i < places.n; i++)
		policy_list_add(&ask.writable, s->mem, settings_resolve(str_dupz(s->mem, places.p[i]), s->mem));
	TRY(toolpath_derive(&ask, s->mem, &s->tools, err));
	note_withheld(s);
	for (struct str rest = str_from(s->tools.path); rest.n > 0;) {
		struct str dir = str_cut(&rest, ':');
		struct str *bigger = arena_array(s->mem, s->params.tool_paths.n + 1, sizeof(*bigger));

		if (s->params.tool_paths.n > 0)
			memcpy(bigger, s->params.tool_paths.p, s->params.tool_paths.n * sizeof(*bigger));
		bigger[s->params.tool_paths.n++] = dir;
		s->params.tool_paths.p = bigger;
	}
	return 0;
}

#define SKILL_NOTES_MAX 2000

/* They are told to the model as the operator's words. One that is linked into the managed directory is looked at as well. */
static int check_skills(const struct start *s, const struct skills_found *found, struct err *err)
{
	const struct str_list *more = &s->config->skills.extra_dirs;
	struct str_list places;

	TRY(settings_writable(s, &places, err));
	for (size_t i = 0; i < more->n; i++)
		TRY(apart_path(&places, "skills.extra_dirs", str_dupz(s->mem, more->p[i]), s->mem, err));
	for (size_t i = 0; i < found->skills.n; i++)
		TRY(apart_path(&places, str_printf(s->mem, "skill " STR_FMT, STR_ARG(found->skills.p[i].name)).p, found->dirs[i], s->mem, err));
	return 0;
}

/* Read now, while we may; what is in them is for the agent to find out. */
static int set_skills(struct start *s, struct err *err)
{
	auto_buf struct buf bundle = BUF_MAX(SKILL_BUNDLE_MAX + 256 * 1024);
	struct skills_found found;

	TRY(skills_collect(&s->paths, s->config, false, s->mem, &found, err));
	TRY(check_skills(s, &found, err));
	if (found.notes.n > 0)
		start_notice(s, str_head(str_join(s->mem, found.notes.p, found.notes.n, ';'), SKILL_NOTES_MAX));
	s->params.use_skills = s->rq->skills;
	if (found.skills.n == 0)
		return 0;
	TRY(skills_pack(&found.skills, &bundle, err));
	s->params.skills = str_dup(s->mem, buf_str(&bundle));
	return 0;
}

/* What this run is, where, and for whom. */
static void set_session(struct start *s)
{
	const struct config *c = s->config;
	struct run_params *p = &s->params;

	p->mode = str_from(s->mode->word);
	p->task = s->rq->task;
	p->context = s->rq->context;
	p->asks_later = s->rq->questions_fd >= 0;
	p->workspace = str_from(s->workspace);
	p->version = STR(AGENT6_VERSION);
	p->umask = umask(077);
	umask((mode_t)p->umask);
	p->preset = c->preset;
	p->attended = s->attended;
	p->auto_stash = s->config->git.auto_stash;
	p->may_set_aside = s->attended && s->rq->leash_fd >= 0 && !s->rq->resume && !s->rq->set_aside;
	p->confirm_plan = s->attended && !s->rq->yes;
	p->pins = s->rq->pins;
	p->standing = s->rq->standing;
	p->standing_patience = c->workflow.standing_patience;
	p->interactive = s->rq->interactive;
}

/* MiB; the default limits what stands in a control group, and no process by itself. */
static int64_t memory_each(const struct start *s)
{
	return config_is_set(s->config, "sandbox.memory_limit_mb") ? s->config->sandbox.memory_limit_mb : 0;
}

static int set_sandbox(struct start *s, struct err *err)
{
	const struct config_sandbox *c = &s->config->sandbox;
	struct run_params *p = &s->params;

	p->git_open = settings_git_open(s);
	p->memory_each = memory_each(s) > 0;
	p->tool_network = str_from(config_word("sandbox.tool_network", c->tool_network));
	p->isolation = str_from(policy_profile_name(s->profile));
	p->host_note = host_note(s->mem);
	p->extra_read_paths = c->extra_read_paths;
	if (s->mode->writes)
		p->extra_write_paths = c->extra_write_paths;
	else
		p->extra_read_paths = join(s->mem, c->extra_read_paths, c->extra_write_paths);
	return hidden_names(s, &p->hide_paths, err);
}

static void set_git(struct start *s)
{
	const struct config_git *c = &s->config->git;
	struct run_params *p = &s->params;

	p->is_git = s->is_git;
	p->branch_per_run = c->branch_per_run;
	p->require_clean_worktree = c->require_clean_worktree;
	p->commit_per_step = c->commit_per_step && s->mode->writes;
	p->commit_trailer = c->trailer;
	p->commit_style = str_from(config_word("git.commit.checkpoint.message", c->checkpoint_message));
}

/* What set a key, as a person can find it. */
static struct str set_by(const struct start *s, const char *key)
{
	const struct config_origin *o = config_origin_of(s->config, key);

	if (o->file && o->line > 0)
		return str_printf(s->mem, "%s:%d", o->file, o->line);
	return o->preset ? str_printf(s->mem, "preset %s", o->preset) : str_from(o->file ? o->file : "");
}

static void set_workflow(struct start *s)
{
	const struct config *c = s->config;
	struct run_params *p = &s->params;

	p->workflow = str_from(config_word("workflow.default", c->workflow.dflt));
	p->verify_command = s->rq->verify_command.n > 0 ? s->rq->verify_command : c->workflow.verify_command;
	p->verify_from = s->rq->verify_command.n > 0 ? STR("") : set_by(s, "workflow.verify_command");
	p->verify_infer = !c->workflow.verify_infer ? 0 : c->models[CONFIG_REVIEWER].model.n > 0 ? 2 : 1;
	p->verify_timeout_s = c->workflow.verify_timeout_s;
	p->command_timeout_s = c->workflow.command_timeout_s;
	p->command_checkin_s = c->workflow.command_checkin_s;
	p->require_verify_to_finish = c->workflow.require_verify_to_finish;
	p->max_iterations = s->rq->max_iterations ? *s->rq->max_iterations : c->workflow.max_iterations;
	p->metric_command = c->workflow.metric_command;
	p->metric_from = set_by(s, "workflow.metric.command");
	p->metric_pattern = c->workflow.metric_pattern;
	p->metric_goal = str_from(config_word("workflow.metric.goal", c->workflow.metric_goal));
	p->structural_priors = c->prompt.structural_priors;
	p->decompose = s->rq->decompose ? STR("on") : str_from(config_word("prompt.decompose", c->prompt.decompose));
	p->revise_prompt = str_from(config_word("prompt.revise_prompt", c->prompt.revise_prompt));
}

static void set_context(struct run_params *p, const struct config *c)
{
	p->drop_at_chars = c->context.drop_at_chars;
	p->summarise_at_chars = c->context.summarise_at_chars;
	p->keep_recent_chars = c->context.keep_recent_chars;
	p->keep_thinking_turns = c->context.keep_thinking_turns;
	p->summary_max_tokens = c->context.summary_max_tokens;
	p->elision_gists = c->context.elision_gists;
}

static void set_review(struct start *s)
{
	const struct config *c = s->config;
	struct run_params *p = &s->params;

	p->review_base = s->rq->review_base;
	p->review_range = s->rq->review_range;
	p->review_seats = s->rq->review_seats.n > 0 ? s->rq->review_seats : c->review.seats;
	p->review_decision = s->rq->review_decision.n > 0 ? s->rq->review_decision
							   : str_from(config_word("review.decision", c->review.decision));
	p->review_tier = s->rq->review_tier.n > 0 ? s->rq->review_tier : str_from(config_word("review.tier", c->review.tier));
	p->review_paths = s->rq->review_paths;
	p->review_quorum = c->review.quorum;
	p->review_trigger = str_from(config_word("review.trigger", c->review.trigger));
	p->review_period = c->review.period;
	p->review_concurrency = c->review.concurrency;
	p->review_max_rejections = c->review.max_total_rejections;
	p->review_budget_fraction = c->review.budget_fraction;
}

static void set_budget(struct start *s)
{
	const struct config *c = s->config;
	struct run_params *p = &s->params;

	p->max_input_tokens = c->budget.max_input_tokens;
	p->max_output_tokens = c->budget.max_output_tokens;
	p->max_usd = s->rq->max_usd ? *s->rq->max_usd : c->budget.max_usd;
}

int settings_params(struct start *s, struct err *err)
{
	struct run_params *p = &s->params;

	set_session(s);
	TRY(set_sandbox(s, err));
	set_git(s);
	set_workflow(s);
	set_context(p, s->config);
	set_review(s);
	set_budget(s);
	if (p->metric_command.n > 0)
		TRY(metric_check(p->metric_pattern, err));
	if (s->rq->rehearse) {
		p->rehearse = 1;
		p->max_iterations = 0;
		p->revise_prompt = STR("off"); /* these two ask a model first, */
		p->workflow = STR("loop");     /* about what is shown here */
	}
	TRY(set_skills(s, err));
	return settings_tools(s, err);
}

int settings_identity(struct start *s, struct err *err)
{
	const struct config *c = s->config;

	if (s->identified)
		return 0;
	s->identified = true;
	if (s->rq->git_name) {
		s->params.git_name = str_from(s->rq->git_name);
		s->params.git_email = str_from(s->rq->git_email);
		return 0;
	}
	TRY(spawner_take_identity(s->spawner.chan, s->mem, &s->person, err));
	s->params.git_name = or_else(c->git.name, s->person.name);
	s->params.git_email = or_else(c->git.email, s->person.email);
	return 0;
}

/* ---- the cells ---- */

static void add_all(struct policy_list *to, struct arena *mem, struct str_list from)
{
	for (size_t i = 0; i < from.n; i++)
		policy_list_add(to, mem, str_dupz(mem, from.p[i]));
}

bool settings_git_open(const struct start *s)
{
	return s->profile != PROFILE_STRICT || !s->config->sandbox.protect_git;
}

int settings_command_cell(struct start *s, struct zygote_spec *out, struct err *err)
{
	const struct config_sandbox *c = &s->config->sandbox;
	bool watched = s->is_git && c->protect_git && s->mode->writes && s->profile == PROFILE_HARDENED;
	struct zygote_spec z = { .kind = ZYGOTE_COMMAND, .run_id = s->ref.id, .git_dir = watched ? s->repo.git_dir : "",
		.common_dir = watched ? s->repo.common_dir : "" };

	z.policy.profile = s->profile;
	z.policy.cwd = s->workspace;
	z.policy.network = settings_jail_network(s);
	z.policy.memory_limit_mb = memory_each(s);
	z.memory_max_mb = c->memory_limit_mb;
	z.policy.root_as_uid = c->root_as_uid;
	z.policy.tool_paths = s->tools.mounts;
	add_all(&z.policy.extra_ro_paths, s->mem, c->extra_read_paths);
	z.policy.read_only = !s->mode->writes;
	add_all(s->mode->writes ? &z.policy.extra_rw_paths : &z.policy.extra_ro_paths, s->mem, c->extra_write_paths);
	add_all(&z.policy.hide_paths, s->mem, c->hide_paths);
	for (size_t i = 0; i < s->shown.n; i++)
		policy_list_add(&z.policy.hide_paths, s->mem, s->shown.p[i]);
	TRY(settings_grants(s, &z.policy.hide_paths, err));
	if (c->protect_git)
		TRY(settings_protect(s, &z, err));
	cell_env(&s->tools, (const char *const *)environ, s->workspace, s->mem, &z.policy.env);
	const struct zygote_limit limits[] = {
		{ JOB_COMMAND, s->params.command_timeout_s * 1000, true },
		{ JOB_BACKGROUND, 0, true },
		{ JOB_VERIFY, s->params.verify_timeout_s * 1000, true },
		{ JOB_METRIC, s->params.verify_timeout_s * 1000, true },
		{ JOB_INDEX, INDEX_TIMEOUT_MS, false },
	};
	for (size_t i = 0; i < COUNT(limits); i++) {
		bool none = (limits[i].class == JOB_BACKGROUND && !s->mode->writes) ||
			(limits[i].class == JOB_METRIC && s->params.metric_command.n == 0);

		if (!none && (s->mode->commands || !limits[i].ask)) /* what is not listed cannot be asked for */
			z.limits[z.nlimits++] = limits[i];
	}
	*out = z;
	return 0;
}

int settings_git_cell(struct start *s, struct zygote_spec *out, struct err *err)
{
	struct gitbox_spec spec = {
		.repo = &s->repo,
		.jail_bin = s->programs.jail_path,
		.profile = s->profile,
		.config = &s->config->sandbox,
		.hide = &s->shown,
		.name = s->params.git_name.n > 0 ? str_dupz(s->mem, s->params.git_name) : NULL,
		.email = s->params.git_email.n > 0 ? str_dupz(s->mem, s->params.git_email) : NULL,
		.run_id = s->mode->writes ? s->ref.id : NULL,
		.person = &s->person,
		.read_only = !s->mode->writes,
	};

	return gitbox_cell(&spec, s->mem, out, err);
}
