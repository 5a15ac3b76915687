/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/check.h"
#include "fmt/json.h"
#include "sys/term.h"
#include "ui/cli/typed.h"
#include "ui/cli/command.h"

struct check_args {
	int section;
	bool json;
};

enum { SECTION_ALL, SECTION_CONFIG, SECTION_KEYS, SECTION_SANDBOX, SECTION_BOUNDARIES };
static const char *const section_words[] = { "all", "config", "keys", "sandbox", "boundaries", NULL };

static const struct field check_fields[] = {
	{ "section", &field_enum, offsetof(struct check_args, section), .flags = FIELD_POSITIONAL,
		.dflt = "all", .choices = section_words, .help = "What to look at." },
	{ "json", &field_bool, offsetof(struct check_args, json), .help = "Print one JSON object." },
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
	const char *section;
	struct buf *json; /* NULL: text is printed */
	struct err *err;  /* of writing it */
};

static const char *const verdicts[] = { [CHECK_PASS] = "PASS", [CHECK_FAIL] = "FAIL", [CHECK_INFO] = "INFO" };

static int add_json(const struct tally *t, enum check_verdict v, const char *name, const char *promise, const char *detail,
	struct err *err)
{
	const struct {
		const char *key, *value;
	} members[] = { { "section", t->section }, { "verdict", verdicts[v] }, { "name", name }, { "promise", promise },
		{ "detail", detail } };

	TRY(buf_addz(t->json, t->json->n > 0 ? ",{" : "{", err));
	for (size_t i = 0; i < COUNT(members); i++)
		TRY(json_add_member(t->json, members[i].key, str_from(members[i].value), err));
	return buf_addc(t->json, '}', err);
}

/* A row may repeat what a file says, and a file may say anything. */
static void print_row(void *self, enum check_verdict v, const char *name, const char *promise, const char *detail)
{
	auto_buf struct buf clean = BUF_MAX(64 * 1024);
	struct tally *t = self;
	const char *open = promise[0] ? " (" : "", *shut = promise[0] ? ")" : "";
	auto_arena struct arena *mem = arena_new();

	detail = str_dupz(mem, typed_here(str_from(detail), mem));
	t->rows[v]++;
	if (t->json) {
		if (t->err->code == ERR_NONE)
			(void)!add_json(t, v, name, promise, detail, t->err);
		return;
	}
	if (term_clean(str_from(detail), TERM_LINE, &clean, ERR_DISCARD) < 0)
		buf_clear(&clean);
	cli_out("[%s] %s: " STR_FMT "%s%s%s\n", verdicts[v], name, STR_ARG(buf_str(&clean)), open, promise, shut);
}

static int run_sections(struct command_ctx *ctx, const struct check_args *args, struct tally *t, struct err *err)
{
	struct check k = { print_row, t, ctx->mem };
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	for (size_t i = 0; i < COUNT(sections); i++) {
		if (args->section != SECTION_ALL && args->section != sections[i].id)
			continue;
		t->section = section_words[sections[i].id];
		if (!t->json)
			cli_out("\n== %s ==\n", t->section);
		TRY(sections[i].run(&k, &place, err));
	}
	return 0;
}

static int run_check(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct check_args *args = decoded;
	auto_buf struct buf json = BUF_MAX(4 * 1024 * 1024);
	struct err lost = { 0 };
	struct tally t = { .json = args->json ? &json : NULL, .err = &lost };

	if (!args->json)
		cli_out("agent6 check: section=%s\n", section_words[args->section]);
	TRY(run_sections(ctx, args, &t, err));
	if (lost.code != ERR_NONE) {
		*err = lost;
		return -(int)lost.code;
	}
	if (args->json) {
		cli_out("{\"section\":\"%s\",\"passed\":%zu,\"failed\":%zu,\"rows\":[", section_words[args->section],
			t.rows[CHECK_PASS], t.rows[CHECK_FAIL]);
		cli_json(buf_str(&json));
		cli_out("]}\n");
	} else {
		cli_out("\n== summary ==\n%zu passed, %zu failed, %zu for information\n", t.rows[CHECK_PASS],
			t.rows[CHECK_FAIL], t.rows[CHECK_INFO]);
	}
	return t.rows[CHECK_FAIL] > 0 ? 1 : 0;
}

/* How the first versions spelt two of them. */
static int run_check_config(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	(void)decoded;
	return run_check(ctx, &(struct check_args){ .section = SECTION_CONFIG }, err);
}

static int run_check_sandbox(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	(void)decoded;
	return run_check(ctx, &(struct check_args){ .section = SECTION_SANDBOX }, err);
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
