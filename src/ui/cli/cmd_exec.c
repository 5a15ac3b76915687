/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/exec.h"
#include "sys/term.h"
#include "ui/cli/command.h"

#include <string.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define STATUS_NOT_RUN 2

struct exec_args {
	int64_t timeout_s;
	bool disable_sandbox;
};

static const struct field exec_fields[] = {
	{ "timeout", &field_int, offsetof(struct exec_args, timeout_s), .dflt = "0", .max = 10000000,
		.help = "Kill it after this many seconds, with status 124; 0 is no limit." },
	{ "dangerously-disable-sandbox", &field_bool, offsetof(struct exec_args, disable_sandbox),
		.flags = FIELD_LOOSENS, .help = "Run it unconfined, as you." },
};

static void note(void *self, const char *text)
{
	auto_buf struct buf clean = BUF_MAX(64 * 1024);

	(void)self;
	if (term_clean(str_from(text), TERM_LINE, &clean, ERR_DISCARD) == 0)
		cli_note(STR_FMT, STR_ARG(buf_str(&clean)));
}

/* [RUN --] CMD...: one word before the first "--" names a run, later ones belong to the command. */
static int split(struct str_list words, struct exec_request *rq, struct err *err)
{
	size_t at = 0;
	int r;

	while (at < words.n && !str_eqz(words.p[at], "--"))
		at++;
	if (at == words.n) {
		rq->argv = words;
	} else {
		if (at > 1) {
			r = err_set(err, ERR_INVALID, "%zu words stand before \"--\", and a run's id is one", at);
			err_hint(err, "a command that holds \"--\" itself: agent6 exec -- CMD...");
			return r;
		}
		if (at == 1)
			rq->run = words.p[0];
		rq->argv = (struct str_list){ words.p + at + 1, words.n - at - 1 };
	}
	if (rq->argv.n == 0 || rq->argv.p[0].n == 0) {
		r = err_set(err, ERR_INVALID, "agent6 exec needs a command");
		err_hint(err, "usage: agent6 exec [RUN --] CMD...");
		return r;
	}
	return 0;
}

/* As the command itself would have: a shell that sees its child end by Ctrl-C ends its loop and begins a line for its prompt. */
static void die_of(int sig)
{
	sigset_t set;

	fflush(NULL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (signal(sig, SIG_DFL) != SIG_ERR && raise(sig) == 0)
		(void)!sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int try_exec(struct command_ctx *ctx, const struct exec_args *args, struct err *err)
{
	struct exec_request rq = { .config = ctx->config, .out = STDOUT_FILENO, .errs = STDERR_FILENO,
		.clean_out = term_is_tty(STDOUT_FILENO), .clean_errs = term_is_tty(STDERR_FILENO), .note = note,
		.timeout_ms = args->timeout_s * 1000,
		.disable_sandbox = args->disable_sandbox || cli_env_flag("AGENT6_DANGEROUSLY_DISABLE_SANDBOX") };

	int caught = 0, r;

	TRY(split(ctx->rest, &rq, err));
	rq.caught = &caught;
	r = app_exec(&rq, err);
	if (caught != 0)
		die_of(caught);
	return r;
}

/* Every failure of ours is one status, so that 1 is the command's. */
static int run_exec(struct command_ctx *ctx, const void *args, struct err *err)
{
	int r = try_exec(ctx, args, err);

	if (r >= 0)
		return r;
	report_err(err);
	return STATUS_NOT_RUN;
}

static const struct command exec_commands[] = {
	{ .name = "exec", .help = "run a command of your own in the jail the model's commands get",
		.about = "  agent6 exec CMD...          in the jail of the current configuration\n"
			 "  agent6 exec -- CMD...       the same, for a command that holds \"--\" itself\n"
			 "  agent6 exec RUN -- CMD...   isolated as that run was, or stricter; mounts as configured now\n\n"
			 "stdin is /dev/null and the command has no terminal; what it writes is passed on as it comes, and what\n"
			 "could steer a terminal is shown instead. Ctrl-C kills it. Nothing is recorded. When it\n"
			 "was the jail that made it fail, a line says which rule and which key of the configuration decides. Exit\n"
			 "status: the command's, 128 + signal, 127 when it cannot be executed; 2 when it was not run.",
		.fields = exec_fields, .nfields = COUNT(exec_fields), .size = sizeof(struct exec_args),
		.words = "[RUN --] CMD...", .run = run_exec, .starts_commands = true },
};

const struct command_group commands_exec = { exec_commands, COUNT(exec_commands), NULL };
