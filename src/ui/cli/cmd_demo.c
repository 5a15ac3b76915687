/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/command.h"
#include "ui/cli/term_diff.h"

#include "app/demo.h"
#include "app/history.h"
#include "app/run.h"
#include "sys/file.h"
#include "sys/proc.h"
#include "view/fold.h"
#include "view/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct demo_args {
	struct str in;
};

/* The commands that were refused, in the order they were tried. */
struct refused {
	struct view *view;
	struct arena *mem;
	size_t n;
};

static struct str last_line(struct str text)
{
	struct str line = str_trim(text);
	size_t nl = str_rfind(line, '\n');

	return nl < line.n ? str_skip(line, nl + 1) : line;
}

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, 4096), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int on_line(void *self, struct str line, struct err *err)
{
	struct refused *r = self;
	struct view_item it = view_line(r->view, line);

	(void)err;
	if (it.kind != VIEW_RESULT || !str_eqz(it.name, "run_command") || (it.ok && it.code == 0))
		return 0;
	r->n++;
	cli_out("  " STR_FMT "\n      " STR_FMT "\n", STR_ARG(clean(r->mem, it.arg)),
		STR_ARG(clean(r->mem, last_line(it.detail.n > 0 ? it.detail : it.text))));
	return 0;
}

static int show_refused(struct command_ctx *ctx, const struct demo *d, const char *record, struct err *err)
{
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	struct refused refused = { .view = v, .mem = ctx->mem };
	auto_follow struct follow *f = NULL;
	autoclose int dir = -1;

	TRY(dir_open(AT_FDCWD, record, &dir, err));
	TRY(follow_open(dir, &f, err));
	cli_out("\nWhat the jail stopped:\n");
	TRY(follow_read(f, on_line, &refused, err));
	if (refused.n < 3 || access(d->escape, F_OK) == 0)
		return err_set(err, ERR_DENIED, "the jail stopped %zu of 3 attempts", refused.n);
	return 0;
}

static int show_history(struct command_ctx *ctx, const struct place *place, const struct session_ref *ref,
	struct err *err)
{
	auto_history struct history *h = NULL;
	struct repo_commit *list;
	struct str diff;
	size_t n;

	TRY(history_open(place, ref, HISTORY_READ, ctx->mem, &h, err));
	TRY(history_commits(h, &list, &n, err));
	TRY(history_diff(h, NULL, false, &diff, err));
	cli_out("\nWhat it changed:\n");
	if (fflush(stdout) != 0)
		return err_set(err, ERR_SYS, "standard output is gone");
	TRY(term_diff(STDOUT_FILENO, term_style_env(), diff, err));
	cli_out("\nWhat it committed, beside your branch and not on it:\n");
	for (size_t i = 0; i < n; i++)
		cli_out("  " STR_FMT "  " STR_FMT "\n", STR_ARG(str_head(list[i].sha, 12)), STR_ARG(clean(ctx->mem, list[i].subject)));
	return 0;
}

/* The run itself, in a process of its own: `agent6 demo --in DIR`. */
static int play(struct command_ctx *ctx, struct str dir, struct err *err)
{
	struct str gate[] = { STR("sh"), STR("test.sh") };
	struct run_request rq = run_request_new();
	auto_demo struct demo d = DEMO_NONE;

	TRY(demo_open(str_dupz(ctx->mem, dir), ctx->mem, &d, err));
	/* Whatever the person configured, the demo shows what agent6 does by itself. */
	if (setenv("AGENT6_CONFIG_HOME", d.config, 1) < 0)
		return err_set(err, ERR_SYS, "the environment is full");
	rq.task = STR(DEMO_TASK);
	rq.run_id = STR(DEMO_RUN);
	rq.workspace = str_from(d.project);
	rq.auto_approve = rq.unattended = true;
	rq.recording_fd = d.recording_fd;
	rq.git_name = "agent6 demo";
	rq.git_email = "demo@agent6.invalid";
	rq.verify_command = (struct str_list){ gate, COUNT(gate) };
	return app_run(&rq, err);
}

static int play_in_child(const struct demo *d, struct proc_status *st, struct err *err)
{
	const char *const argv[] = { "agent6", "--allow-root", "demo", "--in", d->dir, NULL };
	autoclose int self = -1;
	struct proc child;

	TRY(proc_self_exe(&self, err));
	TRY(proc_spawn(&(struct proc_spec){ .argv = argv, .exe_fd = self, .env = (const char *const *)environ,
				.keep_stdio = true, .die_with_parent = true }, &child, err));
	return proc_wait(&child, st, err);
}

/* How the person can call us: by name where PATH leads to this program, else by its path; as root with leave. */
static const char *own_name(struct arena *mem, struct err *err)
{
	const char *path = getenv("PATH");
	struct stat self, st;
	char real[PATH_MAX];
	bool found = false;

	if (stat("/proc/self/exe", &self) < 0 || !realpath("/proc/self/exe", real)) {
		err_sys(err, errno, "find our own program");
		return NULL;
	}
	for (struct str rest = str_from(path ? path : ""); rest.n > 0 && !found;) {
		struct str dir = str_cut(&rest, ':');

		/* The first one of that name is what a shell takes. */
		if (dir.n > 0 && dir.p[0] == '/' && stat(str_printf(mem, STR_FMT "/agent6", STR_ARG(dir)).p, &st) == 0) {
			found = st.st_dev == self.st_dev && st.st_ino == self.st_ino;
			break;
		}
	}
	return str_printf(mem, "%s%s", found ? "agent6" : real, geteuid() == 0 ? " --allow-root" : "").p;
}

static int run_demo(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct demo_args *args = decoded;
	struct session_ref ref = { .kind = SESSION_RUN, .id = DEMO_RUN };
	struct proc_status st;
	const char *name;
	struct place place;
	struct demo d;

	if (args->in.n > 0)
		return play(ctx, args->in, err);
	name = own_name(ctx->mem, err);
	if (!name)
		return -(int)err->code;
	TRY(demo_make(ctx->mem, &d, err));
	cli_note("the model of this demo is a recording; the loop, the jail, the test and the commits are real");
	TRY(play_in_child(&d, &st, err));
	if (st.code != 0)
		return st.code;
	TRY(place_find(str_from(d.project), STR(""), ctx->mem, &place, err));
	TRY(show_history(ctx, &place, &ref, err));
	TRY(show_refused(ctx, &d, session_path(place.repo_dir, &ref, "record", ctx->mem), err));
	cli_out("\nLook around:   cd %s && %s runs show\nRemove it all: rm -r %s %s\nYour own work: %s connect, then %s run \"...\" in a "
		"repository\n", d.project, name, d.dir, place.repo_dir, name, name);
	return 0;
}

static const struct field demo_fields[] = {
	{ "in", &field_str, offsetof(struct demo_args, in), .flags = FIELD_HIDDEN | FIELD_EMPTY, .help = "Play in this scratch directory." },
};

static const struct command commands[] = {
	{ .name = "demo", .help = "watch a recorded model work in a scratch repository, in the real jail",
		.about = "Needs no provider and no key. The model is a recording; the loop, the jail, the gate and the commits are\n"
			 "the real ones. It takes a few seconds and touches nothing of yours.",
		.fields = demo_fields, .nfields = COUNT(demo_fields), .size = sizeof(struct demo_args), .run = run_demo,
		.starts_commands = true },
};

const struct command_group commands_demo = { commands, COUNT(commands), NULL };
