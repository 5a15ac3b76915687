/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/check.h"
#include "sys/term.h"
#include "ui/cli/command.h"

struct check_args {
	int section;
};

enum { SECTION_ALL, SECTION_CONFIG, SECTION_KEYS, SECTION_SANDBOX, SECTION_BOUNDARIES };
static const char *const section_words[] = { "all", "config", "keys", "sandbox", "boundaries", NULL };

static const struct field check_fields[] = {
	{ "section", &field_enum, offsetof(struct check_args, section), .flags = FIELD_POSITIONAL,
		.dflt = "all", .choices = section_words, .help = "What to look at." },
};

static const struct {
	int id;
	int (*run)(const struct check *k, const struct place *place, struct err *err);
} sections[] = {
	{ SECTION_CONFIG, check_config },
	{ SECTION_KEYS, check_keys },
	{ SECTION_SANDBOX, check_sandbox },
	{ SECTION_BOUNDARIES, check_boundaries },
};

struct tally {
	size_t rows[CHECK_INFO + 1];
};

/* A row may repeat what a file says, and a file may say anything. */
static void print_row(void *self, enum check_verdict v, const char *name, const char *detail)
{
	static const char *const words[] = {
		[CHECK_PASS] = "PASS", [CHECK_FAIL] = "FAIL", [CHECK_INFO] = "INFO"
	};
	auto_buf struct buf clean = BUF_MAX(64 * 1024);
	struct tally *t = self;

	t->rows[v]++;
	if (term_clean(str_from(detail), TERM_LINE, &clean, ERR_DISCARD) < 0)
		buf_clear(&clean);
	cli_out("[%s] %s: " STR_FMT "\n", words[v], name, STR_ARG(buf_str(&clean)));
}

static int run_check(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct check_args *args = decoded;
	struct tally t = { 0 };
	struct check k = { print_row, &t, ctx->mem };
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	cli_out("agent6 check: section=%s\n", section_words[args->section]);
	for (size_t i = 0; i < COUNT(sections); i++) {
		if (args->section != SECTION_ALL && args->section != sections[i].id)
			continue;
		cli_out("\n== %s ==\n", section_words[sections[i].id]);
		TRY(sections[i].run(&k, &place, err));
	}
	cli_out("\n== summary ==\n%zu passed, %zu failed, %zu for information\n", t.rows[CHECK_PASS],
		t.rows[CHECK_FAIL], t.rows[CHECK_INFO]);
	return t.rows[CHECK_FAIL] > 0 ? 1 : 0;
}

/* How the first versions spelt two of them. */
static int run_check_config(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	(void)decoded;
	return run_check(ctx, &(struct check_args){ SECTION_CONFIG }, err);
}

static int run_check_sandbox(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	(void)decoded;
	return run_check(ctx, &(struct check_args){ SECTION_SANDBOX }, err);
}

static const struct command commands[] = {
	{ .name = "check",
		.help = "look at the configuration, the keys and how this host confines",
		.about = "Exit status 1 when something failed. No key is shown and nothing is asked of a "
			 "network.",
		.fields = check_fields,
		.nfields = COUNT(check_fields),
		.size = sizeof(struct check_args),
		.run = run_check,
		.needs_no_root_check = true },
	{ .name = "check-config",
		.help = "the same as check config",
		.run = run_check_config,
		.hidden = true,
		.needs_no_root_check = true },
	{ .name = "check-sandbox",
		.help = "the same as check sandbox",
		.run = run_check_sandbox,
		.hidden = true,
		.needs_no_root_check = true },
};

const struct command_group commands_check = { commands, COUNT(commands), NULL };
