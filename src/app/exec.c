/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/exec.h"

#include "app/passage.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "base/time.h"
#include "fmt/pack.h"
#include "role/reader.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "tool/denial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define THE_JOB    1
#define EXPLAIN_MS 2000 /* a process that has nothing else to do says in a few which rule it was */

/* ---- which jail ---- */

static void say(const struct exec_request *rq, struct str text)
{
	char line[1200];

	snprintf(line, sizeof(line), STR_FMT, STR_ARG(text));
	rq->note(rq->self, line);
}

static bool profile_of(struct str word, enum policy_profile *out)
{
	for (enum policy_profile p = PROFILE_STRICT; p <= PROFILE_NONE; p++)
		if (str_eqz(word, policy_profile_name(p))) {
			*out = p;
			return true;
		}
	return false;
}

/* The record was written by a process that reads what the model says, so it can make the jail stricter and never
 * weaker than the configuration does. */
static void follow_isolation(struct start *s, const struct exec_request *rq, const struct manifest *m)
{
	enum policy_profile then;

	if (!profile_of(m->isolation, &then))
		say(rq, str_printf(s->mem, "%s does not say how it was isolated; the configuration decides: %s", s->ref.id,
			policy_profile_name(s->profile)));
	else if (then < s->profile) {
		say(rq, str_printf(s->mem, "%s was isolated by %s, the configuration says %s now; %s is used", s->ref.id,
			policy_profile_name(then), policy_profile_name(s->profile), policy_profile_name(then)));
		s->profile = then;
		s->nnotices = 0; /* they were about the other one */
	} else if (then > s->profile) {
		say(rq, str_printf(s->mem, "%s was isolated by %s, the configuration says %s now, which is stricter and is used",
			s->ref.id, policy_profile_name(then), policy_profile_name(s->profile)));
	}
}

static void follow_network(struct start *s, const struct exec_request *rq, const struct manifest *m)
{
	const char *now = config_word("sandbox.tool_network", s->config->sandbox.tool_network);

	if (m->network.n == 0)
		say(rq, str_printf(s->mem, "%s does not say which network its commands had; the configuration decides: %s",
			s->ref.id, now));
	else if (!str_eqz(m->network, now))
		say(rq, str_printf(s->mem, "the commands of %s had tool_network = \"" STR_FMT "\"; the configuration says \"%s\" "
			"now, which is used", s->ref.id, STR_ARG(m->network), now));
}

static int follow_run(struct start *s, const struct exec_request *rq, struct err *err)
{
	autoclose int record = -1;
	struct facts f;
	int r;

	r = session_resolve(s->repo_dir, rq->run, SESSION_ANY, &s->ref, err);
	if (r == -ERR_NOENT)
		err_hint(err, "the word before \"--\" names a run; a command alone is agent6 exec -- CMD...");
	TRY(r);
	TRY(dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, "record", s->mem), &record, err));
	TRY(reader_facts(record, false, s->mem, &f, err));
	follow_isolation(s, rq, &f.manifest);
	follow_network(s, rq, &f.manifest);
	return 0;
}

/* What the model's commands get, but for who decides and how long it may take. */
static int exec_cell(struct start *s, const struct exec_request *rq, struct zygote_spec *out, struct err *err)
{
	TRY(settings_command_cell(s, out, err));
	out->limits[0] = (struct zygote_limit){ .class = JOB_COMMAND, .timeout_ms = rq->timeout_ms };
	out->nlimits = 1;
	return 0;
}

/* ---- the command ---- */

struct exec {
	const struct exec_request *rq;
	struct peer zygote; /* we are its monitor ... */
	int asker;          /* ... and who asks */
	int signals;
	struct chan_msg *msg;
	struct passage to[2];
	int caught;         /* the first signal */
	bool gone;          /* told to die at once */
	bool ended;
	uint32_t code;
	enum job_end why;
	char note[1100];
};

static void exec_fini(struct exec *x)
{
	base_close_fd(&x->asker);
	peer_end(&x->zygote);
	base_close_fd(&x->signals);
	passage_fini(&x->to[0]);
	passage_fini(&x->to[1]);
	free(x->msg);
}

static int ask(const struct exec *x, const char *cwd, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY);

	pack_u32(&b, THE_JOB);
	pack_u8(&b, JOB_COMMAND);
	pack_u32(&b, 0);
	pack_str(&b, str_from(cwd));
	pack_strs(&b, x->rq->argv.p, x->rq->argv.n);
	pack_strs(&b, NULL, 0);
	if (pack_ok(&b, err) < 0)
		return err_set(err, ERR_LIMIT, "the command is longer than 64 KiB");
	return chan_send(x->asker, WIRE_RUN, buf_str(&b), NULL, 0, err);
}

static int on_signal(struct exec *x, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);
	struct signalfd_siginfo info;

	if (read(x->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	x->gone = x->caught != 0 || x->ended; /* nothing is left to be killed: only our reader is slow */
	if (x->caught == 0)
		x->caught = (int)info.ssi_signo;
	if (x->gone)
		return 0;
	pack_u32(&b, THE_JOB);
	TRY(pack_ok(&b, err));
	return chan_send(x->zygote.chan, WIRE_KILL_JOB, buf_str(&b), NULL, 0, err);
}

static int on_started(struct exec *x, struct err *err)
{
	if (x->to[0].from >= 0 || x->to[1].from >= 0)
		return err_set(err, ERR_PROTOCOL, "WIRE_STARTED comes twice");
	x->to[0].from = chan_take_fd(x->msg, 0);
	x->to[1].from = chan_take_fd(x->msg, 1);
	return 0;
}

static int on_exit_of(struct exec *x, struct err *err)
{
	struct unpack u = unpack_from(x->msg->body);
	uint32_t job = unpack_u32(&u);

	x->code = unpack_u32(&u);
	x->why = (enum job_end)unpack_u8(&u);
	unpack_u64(&u);
	struct str note = unpack_str(&u);

	if (!unpack_done(&u) || job != THE_JOB || x->code > 255)
		return err_set(err, ERR_PROTOCOL, "WIRE_EXIT does not decode");
	snprintf(x->note, sizeof(x->note), STR_FMT, STR_ARG(note));
	x->ended = true;
	passage_last(&x->to[0]);
	passage_last(&x->to[1]);
	return 0;
}

static int on_asker(struct exec *x, struct err *err)
{
	int r = chan_recv(x->asker, x->msg, err);

	if (r == -ERR_CLOSED)
		return err_set(err, ERR_CLOSED, "the jail died");
	TRY(r);
	r = wire_check(LINK_ZYGOTE_AGENT, WIRE_DOWN, x->msg->type, x->msg->body.n, x->msg->nfds, err);
	if (r == 0)
		r = x->msg->type == WIRE_STARTED ? on_started(x, err) : on_exit_of(x, err);
	chan_msg_fini(x->msg);
	return r;
}

/* As its monitor we are told of the end too; a failure of the cell is told here alone. */
static int on_monitor(struct exec *x, struct err *err)
{
	int r = chan_recv(x->zygote.chan, x->msg, err);

	if (r == -ERR_CLOSED)
		return err_set(err, ERR_CLOSED, "the jail died");
	TRY(r);
	r = wire_check(LINK_MONITOR_ZYGOTE, WIRE_UP, x->msg->type, x->msg->body.n, x->msg->nfds, err);
	if (r == 0 && x->msg->type == WIRE_CELL_FAIL)
		r = zygote_failed(x->msg->body, "the jail failed", err);
	if (r == 0 && x->msg->type == WIRE_GIT_CHANGED) {
		struct unpack u = unpack_from(x->msg->body);

		for (struct str rest = unpack_str(&u); rest.n > 0;) {
			struct str path = str_trim(str_line(&rest));
			char line[PATH_MAX + 80];

			snprintf(line, sizeof(line), "changed, look at it before you use git there: " STR_FMT, STR_ARG(path));
			say(x->rq, str_from(line));
		}
	}
	chan_msg_fini(x->msg);
	return r;
}

static bool is_over(const struct exec *x)
{
	return x->gone || (x->ended && passage_over(&x->to[0]) && passage_over(&x->to[1]));
}

static int follow(struct exec *x, struct err *err)
{
	enum { SIGNALS, ASKER, MONITOR, OUT, ERRS, ALL };

	while (!is_over(x)) {
		bool waits = passage_waits(&x->to[0]) && passage_waits(&x->to[1]);
		struct pollfd p[ALL] = { [SIGNALS] = { x->signals, POLLIN, 0 },
			[ASKER] = { x->ended ? -1 : x->asker, POLLIN, 0 },
			[MONITOR] = { x->ended ? -1 : x->zygote.chan, POLLIN, 0 },
			[OUT] = passage_poll(&x->to[0]), [ERRS] = passage_poll(&x->to[1]) };

		if (poll(p, ALL, waits ? -1 : 0) < 0) {
			if (errno != EINTR)
				return err_sys(err, errno, "poll");
			continue;
		}
		if (p[SIGNALS].revents)
			TRY(on_signal(x, err));
		for (size_t i = 0; i < 2; i++)
			TRY(passage_step(&x->to[i], p[OUT + i].revents, err));
		if (p[MONITOR].revents)
			TRY(on_monitor(x, err));
		if (p[ASKER].revents)
			TRY(on_asker(x, err));
	}
	return 0;
}

/* ---- why it failed ---- */

struct exec_jail {
	const struct sandbox_policy *policy;
	const char *cwd; /* "": its top */
	bool git_open;
	const struct str_list *argv;
};

static void add_roots(struct tool_root *roots, size_t *n, const struct policy_list *paths, bool writable)
{
	for (size_t i = 0; i < paths->n; i++)
		roots[(*n)++] = (struct tool_root){ -1, str_from(paths->p[i]), writable };
}

static struct denial_jail jail_of(const struct exec_jail *in, struct arena *mem)
{
	const struct sandbox_policy *p = in->policy;
	struct tool_root *roots = arena_array(mem, 1 + p->extra_ro_paths.n + p->extra_rw_paths.n, sizeof(*roots));
	struct denial_jail j = { .roots = roots, .online = p->network == NETWORK_HOST, .git_open = in->git_open,
		.no_namespaces = p->profile == PROFILE_HARDENED, .memory_each = p->memory_limit_mb > 0,
		.cwd = str_from(*in->cwd ? in->cwd : p->cwd), .commands = denial_commands(in->argv, mem) };

	roots[j.nroots++] = (struct tool_root){ -1, str_from(p->cwd), true };
	add_roots(roots, &j.nroots, &p->extra_ro_paths, false);
	add_roots(roots, &j.nroots, &p->extra_rw_paths, true);
	j.hide_paths.p = arena_array(mem, p->hide_paths.n + 1, sizeof(*j.hide_paths.p));
	for (size_t i = 0; i < p->hide_paths.n; i++)
		j.hide_paths.p[j.hide_paths.n++] = str_from(p->hide_paths.p[i]);
	return j;
}

/* Until it has answered, a signal came, or it takes too long, which is its end. */
static int await_answer(struct exec *x, struct peer *p, struct arena *mem, struct denial *out, struct err *err)
{
	int64_t until = time_mono_ms() + EXPLAIN_MS;

	for (;;) {
		struct pollfd fds[] = { { x->signals, POLLIN, 0 }, { p->chan, POLLIN, 0 } };
		int64_t left = until - time_mono_ms();
		int r = left > 0 ? poll(fds, COUNT(fds), (int)left) : 0;

		if (r < 0 && errno == EINTR)
			continue;
		if (r > 0 && fds[0].revents)
			return on_signal(x, err);
		if (r <= 0)
			return 0;
		return reader_take_denial(p, mem, out, err);
	}
}

/* What the command wrote is read by a process that holds nothing. When that does not tell, nobody does: a failure here is none
 * of the command's. */
static void explain(struct exec *x, const struct exec_jail *in, struct arena *mem, struct denial *out)
{
	const struct job_result job = { .why = x->why, .code = (int)x->code, .note = str_from(x->note), .out = buf_str(&x->to[0].kept),
		.errs = buf_str(&x->to[1].kept) };
	const struct denial_jail jail = jail_of(in, mem);
	bool said = job.errs.n > 0 || job.out.n > 0 || x->why == JOB_UNRUNNABLE;
	struct peer p = PEER_NONE;

	if (in->policy->profile == PROFILE_NONE || x->caught != 0 || !denial_may_be(&job))
		return;
	if (!said) /* there is nothing to read but our own words and the person's */
		denial_explain(&jail, &job, mem, out);
	else if (reader_start_denial(&jail, &job, &p, ERR_DISCARD) == 0)
		(void)!await_answer(x, &p, mem, out, ERR_DISCARD);
	peer_kill(&p);
}

/* ---- its end ---- */

static int outcome(struct exec *x, struct err *err)
{
	if (x->caught != 0) {
		if (x->rq->caught)
			*x->rq->caught = x->caught;
		return 128 + x->caught;
	}
	switch (x->why) {
	case JOB_EXITED:
	case JOB_SIGNALED:
		if (x->note[0] != '\0') /* a .git that appeared */
			say(x->rq, str_from(x->note));
		if (x->rq->noted)
			*x->rq->noted = x->note[0] != '\0';
		return (int)x->code;
	case JOB_TIMEOUT:
	case JOB_UNRUNNABLE:
		if (x->why == JOB_TIMEOUT && x->note[0] != '\0')
			say(x->rq, str_from(x->note));
		say(x->rq, x->why == JOB_TIMEOUT ? STR("its time was up") : str_from(x->note));
		if (x->why == JOB_UNRUNNABLE && x->rq->argv.n == 1 && str_find_any(x->rq->argv.p[0], STR(" \t\n")) < x->rq->argv.p[0].n)
			say(x->rq, STR("a command is given as separate words, agent6 exec ls -la; a line of a shell by agent6 exec sh -c 'ls -la'"));
		return (int)x->code;
	case JOB_REFUSED:
	case JOB_DENIED:
		return err_set(err, ERR_INVALID, "%s", x->note);
	default:
		return err_set(err, ERR_UNSUPPORTED, "the jail could not be made: %s", x->note);
	}
}

/* ---- both ---- */

/* Where the person stands, when that is in the workspace. */
static const char *directory(const struct start *s)
{
	char cwd[PATH_MAX];
	size_t n = strlen(s->workspace);

	if (!getcwd(cwd, sizeof(cwd)) || strncmp(cwd, s->workspace, n) != 0 || (cwd[n] != '/' && cwd[n] != '\0'))
		return "";
	return str_dupz(s->mem, str_from(cwd));
}

static int start_zygote(struct start *s, struct exec *x, const struct zygote_spec *cell, struct err *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct str_list notes = { 0 };
	autoclose int theirs = -1;
	int pair[2];

	TRY(programs_open(&s->programs, err));
	TRY(chan_pair(pair, err));
	x->asker = pair[0];
	theirs = pair[1];
	TRY(zygote_launch(s->programs.jail, theirs, NULL, cell, &x->zygote, err));
	base_close_fd(&theirs);
	TRY(zygote_await(&x->zygote, s->mem, &notes, err));
	for (size_t i = 0; i < notes.n && s->profile != PROFILE_NONE; i++)
		say(x->rq, notes.p[i]);
	return loop_signals(signals, COUNT(signals), &x->signals, err);
}

static int prepare(struct start *s, const struct exec_request *rq, struct zygote_spec *cell, struct err *err)
{
	TRY(settings_workspace(s, err));
	TRY(settings_paths(s, err));
	TRY(settings_load(s, err));
	TRY(settings_owner(s, err));
	TRY(settings_apart(s, err));
	TRY(settings_profile(s, err));
	if (rq->run.n > 0)
		TRY(follow_run(s, rq, err));
	TRY(settings_whose(s, err));
	TRY(settings_networks(s, err));
	TRY(settings_tools(s, err));
	for (size_t i = 0; i < s->nnotices; i++)
		say(rq, s->notices[i]);
	return exec_cell(s, rq, cell, err);
}

int app_exec(const struct exec_request *rq, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct run_request as_run = run_request_new();
	CLEANUP(start_fini) struct start s = start_new(mem, &as_run);
	CLEANUP(exec_fini) struct exec x = { .rq = rq, .zygote = PEER_NONE, .asker = -1, .signals = -1,
		.msg = mem_alloc(sizeof(*x.msg)) };
	struct denial denied = { 0 };
	struct zygote_spec cell;
	const char *cwd;
	int r;

	BUG_IF(rq->argv.n == 0);
	passage_open(&x.to[0], -1, rq->out, rq->clean_out);
	passage_open(&x.to[1], -1, rq->errs, rq->clean_errs);
	as_run.config = rq->config;
	as_run.preset = rq->preset;
	as_run.disable_sandbox = rq->disable_sandbox;
	TRY(prepare(&s, rq, &cell, err));
	if (cell.policy.profile != PROFILE_NONE) {
		passage_keep_end(&x.to[0], DENIAL_TAIL);
		passage_keep(&x.to[1], DENIAL_TAIL);
	}
	TRY(start_zygote(&s, &x, &cell, err));
	cwd = rq->at_top ? "" : directory(&s);
	TRY(ask(&x, cwd, err));
	TRY(follow(&x, err));
	explain(&x, &(struct exec_jail){ &cell.policy, cwd, settings_git_open(&s), &rq->argv }, mem, &denied);
	r = outcome(&x, err);
	if (r >= 0 && x.caught == 0 && denied.note.n > 0)
		say(rq, str_printf(mem, "jail: " STR_FMT, STR_ARG(denied.note)));
	return r;
}
