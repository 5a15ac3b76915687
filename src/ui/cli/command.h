/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* command: what a person may type after `agent6`, in one table.
 *
 * Shape    One file per group of commands (cmd_config.c, cmd_runs.c, ...), each with a static table
 *          of struct command listed in commands.c. main finds the row, decodes flags through its
 *          fields, calls run. Help, completion and the man page are printed from the same rows.
 * Memory   The arguments and the context's arena live as long as the command.
 * Errors   run returns an exit status (0..255) or -ERR_...; main reports the error once and a table
 *          turns its code into an exit status. Usage faults exit 2.
 */
#ifndef UI_CLI_COMMAND_H
#define UI_CLI_COMMAND_H

#include "fmt/field.h"

struct command_ctx {
	struct arena *mem;   /* lives as long as the command */
	struct str config;   /* --config FILE, or empty */
	bool allow_root;     /* --allow-root or AGENT6_ALLOW_ROOT */
	struct str_list rest; /* words after "--" */
};

typedef int command_fn(struct command_ctx *ctx, const void *args, struct err *err);

struct command {
	const char *name;  /* "run", "config set" */
	const char *help;  /* one line */
	const char *about; /* more for --help, or NULL */
	const struct field *fields; /* flags by name ("max-usd" is --max-usd) and positional ones in order */
	size_t nfields, size;
	bool takes_rest;   /* words after "--" are its own */
	const char *words; /* from its first word on that is no flag all words are its own, "--" too; how usage shows them */
	bool hidden;       /* works, but help does not list it */
	bool needs_no_root_check; /* may be run as root without --allow-root */
	bool starts_commands;     /* in jails, maybe for a model that is paid: a word that looks like a verb is no task for it */
	command_fn *run;
};

struct command_group {
	const struct command *p;
	size_t n;
	const char *dflt; /* verb inserted when a group word stands alone: "config" -> "config show" */
};

extern const struct command_group commands_run, commands_system, commands_config, commands_connect, commands_check,
	commands_runs, commands_watch, commands_history, commands_replay, commands_graph, commands_memory, commands_modes, commands_demo, commands_exec, commands_shell,
	commands_skills, commands_mcp, commands_init, commands_prompt;

extern const struct command_group commands_search, commands_transcript, commands_remove, commands_compare, commands_verify;

/* What a run's exit status means, and that of every other command as far as it can have it: help, the manual and docs/loop.md
 * say it in these words. */
#define EXIT_STATUSES(X)                                                                                     \
	X("0", "done: the gate is green, or there was nothing to verify")                                    \
	X("1", "failed: it broke off, or what was to be shown is not so")                                    \
	X("2", "refused: what was asked for, the configuration or the host has to be changed first")         \
	X("3", "a bound of the budget was reached")                                                          \
	X("4", "finished over a gate that is red, or that never ran on the final files")                     \
	X("5", "finished with edits on no branch although one was promised")                                 \
	X("130", "the operator stopped it")
#define EXIT_STATUS_LINE(status, means) "\n  " status "  " means

/* A flag of which it counts whether it was given: numbers that no value can stand for "not". */
struct given_num {
	double value;
	bool given;
};
struct given_int {
	int64_t value;
	bool given;
};
extern const struct field_type given_num, given_int;

/* A variable that is set, and not to "0", "false" or "no". */
bool cli_env_flag(const char *name);

/* Notes and refusals go to stderr with the "[agent6] " prefix; results go to stdout. */
void cli_note(const char *fmt, ...) FORMAT(1, 2);
void cli_note_why(const char *what, const struct err *err); /* "what: why; what helps" */
void cli_out(const char *fmt, ...) FORMAT(1, 2);
void cli_json(struct str text); /* JSON, to stdout, its values as they are; no byte of it moves a cursor or turns a line */
/* One JSON object instead: {"error":{"code","message","hint","file","line","column"},"exit":N}, absent members left out. */
void report_err_json(const struct err *err, int status);
void report_err(const struct err *err); /* "ERROR: file:line:col: msg", the line with a caret, the hint */

#endif
