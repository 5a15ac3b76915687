/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent6: the one program a person types, and most of its roles. */
#include "agent/agent.h"
#include "role/forker.h"
#include "role/lister.h"
#include "role/reader.h"
#include "role/broker.h"
#include "role/recorder.h"
#include "role/spawner.h"
#include "sys/crash.h"
#include "sys/proc.h"
#include "sys/term.h"
#include "tool/tool.h"
#include "ui/cli/args.h"
#include "ui/cli/view_role.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROLE_CHAN 3

#ifdef AGENT6_SANITIZED
/* The leak finder needs system calls that the filters of the confined roles refuse; unit tests look for leaks. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* What a failure means to the shell. Everything a person can mend is 2. */
static const struct {
	enum err_code code;
	int status;
} statuses[] = {
	{ ERR_SYS, 1 },     { ERR_CLOSED, 1 },  { ERR_TIMEOUT, 1 },   { ERR_REMOTE, 1 },
	{ ERR_PROTOCOL, 1 }, { ERR_STOPPED, 130 },
};

static int status_of(int r)
{
	for (size_t i = 0; i < COUNT(statuses); i++)
		if (r == -(int)statuses[i].code)
			return statuses[i].status;
	return 2;
}

/* What our own processes are started as: agent6 --role NAME, descriptor 3 is their channel. */
static const struct {
	const char *name;
	int (*main)(void);
} roles[] = {
	{ "spawner", role_spawner_main },
	{ "recorder", role_recorder_main },
	{ "forker", role_forker_main },
	{ "lister", role_lister_main },
	{ "toolsmith", role_toolsmith_main },
	{ "reader", role_reader_main },
	{ "broker", role_broker_main },
	{ "view", role_view_main },
	{ "agent", role_agent_main },
};

static int run_role(const char *name)
{
	crash_watch(ROLE_CHAN);
	for (size_t i = 0; i < COUNT(roles); i++)
		if (strcmp(roles[i].name, name) == 0)
			return roles[i].main();
	fprintf(stderr, "agent6: there is no role \"%s\"\n", name);
	return 2;
}

static int check_root(const struct command *c, const struct command_ctx *ctx, struct err *err)
{
	int r;

	if (geteuid() != 0 || c->needs_no_root_check || ctx->allow_root)
		return 0;
	r = err_set(err, ERR_DENIED, "agent6 does not run as root");
	err_hint(err, "use an ordinary user; or say --allow-root (or AGENT6_ALLOW_ROOT=1) if you mean it");
	return r;
}

/* Of one command; of those that begin with a word; of all. */
static int print_help(const struct command *c, struct str word, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(64 * 1024);

	int cols = term_is_tty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0;

	cols = cols == 0 ? 0 : cols < HELP_COLS_MIN ? HELP_COLS_MIN : cols > HELP_COLS_MAX ? HELP_COLS_MAX : cols;
	if (word.n > 0)
		TRY(help_group(word, (size_t)cols, &out, err));
	else
		TRY(c ? help_command(c, (size_t)cols, &out, err) : help_all((size_t)cols, &out, err));
	cli_out(STR_FMT, STR_ARG(buf_str(&out)));
	return 0;
}

static bool wants_help(const struct command *c, struct args_words words)
{
	for (size_t i = 0; i < words.n && strcmp(words.p[i], "--") != 0 && (!c->words || words.p[i][0] == '-'); i++)
		if (strcmp(words.p[i], "--help") == 0 || strcmp(words.p[i], "-h") == 0)
			return true;
	return false;
}

/* "runs --help", "help runs": the word stands for several commands. */
static bool is_group(struct args_words words)
{
	auto_buf struct buf out = BUF_MAX(64 * 1024);
	bool alone = words.n == 1 || strcmp(words.p[1], "--help") == 0 || strcmp(words.p[1], "-h") == 0;

	return alone && !command_find(str_from(words.p[0])) && help_group(str_from(words.p[0]), 0, &out, ERR_DISCARD) > 0;
}

static int run_command_line(struct args_words words, struct command_ctx *ctx, struct err *err)
{
	const struct command *c;

	TRY(args_global(&words, ctx, err));
	if (words.n == 0 || strcmp(words.p[0], "--help") == 0 || strcmp(words.p[0], "-h") == 0)
		return print_help(NULL, STR(""), err);
	if (strcmp(words.p[0], "--version") == 0) {
		cli_out("agent6 %s\n", AGENT6_VERSION);
		return 0;
	}
	if (strcmp(words.p[0], "help") == 0) { /* "help run" is "run --help" */
		words = (struct args_words){ words.p + 1, words.n - 1 };
		if (words.n == 0)
			return print_help(NULL, STR(""), err);
		if (is_group(words))
			return print_help(NULL, str_from(words.p[0]), err);
		TRY(args_command(&words, &c, err));
		return print_help(c, STR(""), err);
	}
	if (words.n > 1 && is_group(words))
		return print_help(NULL, str_from(words.p[0]), err);
	TRY(args_command(&words, &c, err));
	if (wants_help(c, words))
		return print_help(c, STR(""), err);

	void *args = arena_alloc(ctx->mem, c->size);
	TRY(args_decode(c, words, ctx, args, err));
	/* A reader that goes away ends what only prints; what does work goes on without it. */
	if (!c->needs_no_root_check && signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(err, errno, "ignore SIGPIPE");
	TRY(check_root(c, ctx, err));
	return c->run(ctx, args, err);
}

/* A descriptor of ours that took the number of a closed standard one would be inherited, or written to, as that. */
static int open_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}

/* Also where the command line itself is what is wrong. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	auto_arena struct arena *mem = arena_new();
	struct command_ctx ctx = { .mem = mem, .allow_root = cli_env_flag("AGENT6_ALLOW_ROOT") };
	struct err err = { 0 };
	int r;

	if (open_standard() < 0)
		return status_of(-ERR_SYS);
	signal(SIGXFSZ, SIG_IGN); /* past a file size limit a write says EFBIG, which is reported; children get it back */
	if (argc == 3 && strcmp(argv[1], "--role") == 0)
		return run_role(argv[2]);
	crash_watch(-1);
	r = proc_need_stack(&err);
	r = r < 0 ? r : run_command_line((struct args_words){ argv + 1, argc > 0 ? (size_t)argc - 1 : 0 }, &ctx, &err);
	if (r < 0) {
		if (wants_json(argc, argv))
			report_err_json(&err, status_of(r));
		else
			report_err(&err);
		r = status_of(r);
	}
	if ((fflush(stdout) != 0 || ferror(stdout)) && r == 0) {
		r = status_of(err_set(&err, ERR_SYS, "the output could not be written to the end"));
		report_err(&err);
	}
	return r;
}
