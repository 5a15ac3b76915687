/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/leash.h"
#include "app/notes.h"
#include "app/start_priv.h"

#include "base/time.h"
#include "fmt/json.h"
#include "fmt/pack.h"
#include "session/manifest.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CRASHES_MAX (256 * 1024)
#define PARAMS_MAX (4 * 1024 * 1024)

struct run_request run_request_new(void)
{
	return (struct run_request){ .recording_fd = -1, .leash_fd = -1, .questions_fd = -1 };
}

/* ---- where ---- */

#define USER_TASK_MAX 4000
#define PARKED_MAX    (128 * 1024) /* of a task that waits */

/* The checkout is in use: the run keeps its place and its task, and resume starts it. */
static int park(struct start *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8 * PARKED_MAX);
	struct str task = s->rq->task;
	autoclose int record = -1;
	char now[TIME_ISO_MAX];
	struct err busy = *err;

	if (task.n > PARKED_MAX)
		return -(int)busy.code;
	TRY(session_create(s->repo_dir, &s->ref, err));
	s->kept = true;
	TRY(dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, "record", s->mem), &record, err));
	TRY(buf_addz(&b, "{\"mode\":\"run\",\"parked_reason\":\"checkout busy\"", err));
	TRY(json_add_member(&b, "run_id", str_from(s->ref.id), err));
	TRY(json_add_member(&b, "start_ts", str_from(time_iso(time_now_us(), now)), err));
	TRY(json_add_member(&b, "workspace", str_from(s->workspace), err));
	TRY(json_add_member(&b, "user_task", str_head(task, utf8_head(task, USER_TASK_MAX)), err));
	TRY(json_add_member(&b, "parked_task", task, err));
	TRY(buf_addz(&b, "}", err));
	TRY(manifest_merge(record, MANIFEST_HO, buf_str(&b), err));
	err_set(err, ERR_BUSY, "%s; this run is parked as %s", busy.msg, s->ref.id);
	err_hint(err, "when the checkout is free: agent6 resume %s", s->ref.id);
	return -ERR_BUSY;
}

/* Its name; find_mode knows which one is to go on. */
static int name_session(struct start *s, struct err *err)
{
	struct str want = s->rq->run_id;

	if (s->rq->resume)
		return 0;
	if (want.n == 0)
		return session_mint(s->repo_dir, s->mode->kind, &s->ref, err);
	if (!session_id_ok(want))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a run id: letters, digits, '_' and '-' only, at most %d",
			STR_ARG(want), SESSION_ID_MAX);
	s->ref.kind = s->mode->kind;
	snprintf(s->ref.id, sizeof(s->ref.id), STR_FMT, STR_ARG(want));
	return 0;
}

static int find_session(struct start *s, struct err *err)
{
	int r;

	if (s->rq->resume) {
		TRY(resume_session(s, err));
		base_close_fd(&s->record_fd); /* the recorder's from here on */
		leash_tell_id(s->rq->leash_fd, s->ref.id);
		return 0;
	}
	TRY(dir_make(s->repo_dir, 0700, err));
	leash_tell_id(s->rq->leash_fd, s->ref.id);
	if (s->rq->out_run_id)
		snprintf(s->rq->out_run_id, SESSION_ID_MAX + 1, "%s", s->ref.id);
	r = s->mode->writes && !s->rq->rehearse ? repo_lock(s->repo_dir, s->ref.id, &s->repo_lock, err) : 0;
	if (r == -ERR_BUSY)
		return park(s, err);
	TRY(r);
	TRY(session_create(s->repo_dir, &s->ref, err));
	s->made = true;
	return session_lock(s->repo_dir, &s->ref, &s->run_lock, err);
}

/* The mode of a session that is to go on is that of the bucket it lies in. What its own record says of it an agent
 * wrote. */
static int find_mode(struct start *s, struct err *err)
{
	int r;

	if (s->rq->resume) {
		r = session_resolve(s->repo_dir, s->rq->run_id, s->rq->run_id.n > 0 ? SESSION_ANY : 1u << SESSION_RUN, &s->ref, err);
		if (r == -ERR_NOENT)
			err_hint(err, "`agent6 runs list` shows the sessions of %.120s", s->workspace);
		TRY(r);
		s->mode = app_mode_of_kind(s->ref.kind);
		if (!s->mode)
			return err_set(err, ERR_INVALID, "%s is a %s and cannot be resumed this way", s->ref.id, session_word(s->ref.kind));
	}
	if (!s->mode->needs_repo || s->is_git)
		return 0;
	r = err_set(err, ERR_DENIED, "%s is not in a git repository: there is nothing to %s", s->workspace, s->mode->word);
	err_hint(err, "git init");
	return r;
}

/* A run that could not be started leaves no trace. */
static void forget_session(const struct start *s)
{
	if (s->made)
		(void)!dir_remove_tree(AT_FDCWD, session_path(s->repo_dir, &s->ref, NULL, s->mem), ERR_DISCARD);
}

/* What earlier runs left. Only a run may add to it. */
static int find_notes(struct start *s, struct err *err)
{
	TRY(app_notes_open(s->repo_dir, s->mode->writes ? NOTES_WRITE : NOTES_READ, &s->notes_fd, err));
	return app_notes_list(s->notes_fd, s->mem, &s->params.notes, err);
}

/* Where it is noted that one of our processes died: for all runs of this person, since the record of this one may be what
 * is lost. Opened before there is anything to note; a confined monitor opens nothing. */
static int open_crashes(struct start *s, struct err *err)
{
	struct stat st;

	s->crashes_path = str_printf(s->mem, "%s/crashes.jsonl", s->state_dir).p;
	s->crashes.run_id = s->ref.id;
	s->crashes.fd = open(s->crashes_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->crashes.fd < 0)
		return err_sys(err, errno, "open %s", s->crashes_path);
	if (fstat(s->crashes.fd, &st) == 0 && st.st_size > CRASHES_MAX && ftruncate(s->crashes.fd, 0) < 0)
		return err_sys(err, errno, "empty %s", s->crashes_path);
	crash_keep(&s->crashes);
	return 0;
}

/* ---- the watch ---- */

static int watch(struct start *s, struct monitor_end *end, struct err *err)
{
	auto_buf struct buf go = BUF_MAX(PARAMS_MAX);
	autoclose int answers = -1;

	if (s->attended && signal(SIGTSTP, SIG_IGN) == SIG_ERR) /* a run is not suspended: half of it would go on */
		return err_sys(err, errno, "ignore Ctrl-Z");
	TRY(run_params_pack(&s->params, &go, err));
	TRY(open_crashes(s, err));
	TRY(dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, "answers", s->mem), &answers, err));
	struct monitor_spec spec = {
		.zygote = s->zygote, .git = s->git, .recorder = s->recorder, .spawner = s->spawner, .view = s->view,
		.client = s->egress.client, .broker = s->egress.broker, .resolver = s->egress.resolver,
		.agent_chan = s->agent_chan, .answers_fd = answers,
		.commands = str_eqz(s->params.run_commands, "yes") ? APPROVE_YES
			: str_eqz(s->params.run_commands, "no") ? APPROVE_NO : APPROVE_ASK,
		.verify = s->params.verify_command,
		.steer = s->rq->steer, .attended = s->attended, .menu = s->attended, .leash_fd = s->rq->leash_fd,
		.looks = s->looks || s->profile == PROFILE_HARDENED,
		.hooks_end = s->hooks.on_complete.n > 0, .hooks_wait = s->hooks.on_wait.n > 0, .hook_ms = s->hooks.timeout_ms,
		.crashes = &s->crashes, .crashes_path = s->crashes_path,
		.confine = s->profile != PROFILE_NONE, .go = buf_str(&go),
	};
	for (size_t i = 0; i < s->nservers; i++) {
		spec.servers[i] = (struct monitor_server){ s->servers[i].zygote, s->servers[i].config->name };
		s->servers[i].zygote = PEER_NONE;
	}
	spec.nservers = s->nservers;
	if (s->params.languages.n > 0)
		spec.servers[spec.nservers++] = (struct monitor_server){ s->language, STR("language servers") };
	s->language = PEER_NONE;
	for (size_t i = 0; i < s->nremotes; i++) {
		spec.remotes[i].endpoint = s->remotes[i].endpoint;
		spec.remotes[i].name = s->remotes[i].config->name;
	}
	spec.nremotes = s->nremotes;
	/* The monitor owns them all from here on, and what is recorded stays. */
	s->kept = true;
	s->zygote = s->git = s->recorder = s->spawner = s->view = PEER_NONE;
	s->egress = EGRESS_NONE;
	s->agent_chan = -1;
	return monitor_run(&spec, end, err);
}

static int run_started(struct start *s, struct err *err)
{
	struct monitor_end end;
	int r;

	r = start_processes(s, err);
	if (r < 0) {
		start_fini(s);
		return r;
	}
	TRY(watch(s, &end, err));
	if (s->rq->out_note)
		snprintf(s->rq->out_note, RUN_NOTE_MAX, "%s", end.note);
	if (end.set_aside)
		return end.exit_code;
	if (end.discard || strcmp(end.reason, "refused") == 0)
		return err_set(err, ERR_DENIED, "%s", end.message);
	if (strcmp(end.reason, "record_lost") == 0) {
		r = err_set(err, ERR_SYS, "%s", end.message);
		err_hint(err, "what came before is on record, and nothing after it; when the cause is gone: agent6 resume " STR_FMT,
			STR_ARG(str_from(s->ref.id)));
		return r;
	}
	return end.exit_code;
}

static void fini_start(struct start *s)
{
	start_fini(s);
}

int app_run(const struct run_request *rq, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(fini_start) struct start s = start_new(mem, rq);
	int r;

	TRY(start_client(&s, err));
	TRY(settings_workspace(&s, err));
	TRY(settings_ask_repo(&s, err));
	TRY(settings_paths(&s, err));
	TRY(find_mode(&s, err));
	if (rq->resume)
		TRY(resume_lock(&s, err));
	TRY(settings_load(&s, err));
	TRY(settings_owner(&s, err));
	TRY(settings_apart(&s, err));
	TRY(settings_policy(&s, err));
	TRY(settings_hooks(&s, &s.hooks, err));
	TRY(settings_model(&s, err));
	settings_take_keys(&s);
	TRY(settings_routes(&s, err));
	TRY(start_early(&s, err));
	TRY(settings_profile(&s, err));
	TRY(settings_whose(&s, err));
	TRY(settings_networks(&s, err));
	TRY(settings_params(&s, err));
	TRY(servers_choose(&s, err));
	language_choose(&s);
	TRY(name_session(&s, err));
	/* Cells are built while the run gets its directory. Without a cell of its own a command's watch over .git begins when
	 * the checkout is ours. */
	if (s.profile != PROFILE_HARDENED)
		TRY(start_cell(&s, err));
	TRY(start_crew(&s, err));
	r = find_session(&s, err);
	if (r >= 0 && s.profile == PROFILE_HARDENED)
		r = start_cell(&s, err);
	r = r < 0 ? r : stash_before(&s, err);
	r = r < 0 ? r : find_notes(&s, err);
	if (r >= 0) {
		s.params.run_id = str_from(s.ref.id);
		r = run_started(&s, err);
	}
	if (r < 0 && !s.kept)
		forget_session(&s);
	return r;
}

int app_run_could_begin(const struct run_request *rq, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(fini_start) struct start s = start_new(mem, rq);

	TRY(settings_workspace(&s, err));
	TRY(settings_paths(&s, err));
	TRY(find_mode(&s, err));
	if (rq->resume)
		TRY(resume_hear(&s, err));
	TRY(settings_load(&s, err));
	TRY(settings_owner(&s, err));
	TRY(settings_apart(&s, err));
	TRY(settings_policy(&s, err));
	TRY(settings_hooks(&s, &s.hooks, err));
	TRY(settings_model(&s, err));
	TRY(settings_routes(&s, err));
	return settings_profile(&s, err);
}

int app_run_unguarded(const struct run_request *rq, bool *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(fini_start) struct start s = start_new(mem, rq);
	const struct config_sandbox *c;

	TRY(settings_workspace(&s, err));
	TRY(settings_paths(&s, err));
	TRY(settings_load(&s, err));
	c = &s.config->sandbox;
	*out = (rq->disable_sandbox || c->profile == CONFIG_PROFILE_NONE) && !rq->no_commands &&
		(c->run_commands == RUN_COMMANDS_YES || (c->run_commands == RUN_COMMANDS_ASK && rq->auto_approve));
	return 0;
}
