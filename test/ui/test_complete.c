/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "ui/cli/complete.h"
#include "ui/cli/manual.h"

#include <string.h>

static int some_values(void *self, enum complete_what what, const struct complete *c, struct err *err)
{
	static const char *const of[] = { [COMPLETE_OTHER] = "?", [COMPLETE_ID] = "calm-fox", [COMPLETE_KEY] = "budget.max_usd",
		[COMPLETE_ROLE] = "worker", [COMPLETE_PROVIDER] = "mine", [COMPLETE_MODEL] = "mine-1", [COMPLETE_SKILL] = "ring",
		[COMPLETE_SKILL_ALL] = "ring-disabled", [COMPLETE_KEY_OR_TABLE] = "providers.mine", [COMPLETE_SERVER] = "files",
		[COMPLETE_CONNECT] = "anthropic", [COMPLETE_SIDE] = "critic", [COMPLETE_PERSONA] = "security", [COMPLETE_VALUE] = "v",
		[COMPLETE_PRESET] = "quick", [COMPLETE_PERSONAS] = "security,tests", [COMPLETE_BRANCH] = "topic", [COMPLETE_NOTE] = "n7" };

	(void)self;
	assert_true((size_t)what < COUNT(of) && of[what]);
	if (what == COMPLETE_MODEL && !str_eqz(c->before, "mine")) /* each provider has its own */
		return 0;
	return complete_add(c, str_from(of[what]), STR("from here"), err);
}

#define WORDS_MAX 8

static const struct {
	const char *words[WORDS_MAX]; /* the last one is being typed */
	const char *has, *has_not;
} rows[] = {
	{ { "" }, "runs\t\n", "runs list" },
	{ { "" }, "help\t", "complete\t" },
	{ { "co" }, "config\t\n", "runs" },
	{ { "runs", "" }, "merge\t", "calm-fox" },
	{ { "runs", "me" }, "merge\t", "list" },
	{ { "runs", "merge", "" }, "calm-fox\tfrom here\n", "merge" },
	{ { "runs", "merge", "warm" }, NULL, "calm-fox" },
	{ { "runs", "merge", "--str" }, "--strategy\t", "calm-fox" },
	{ { "runs", "merge", "--strategy", "" }, "squash\t\n", "calm-fox" },
	{ { "runs", "merge", "--strategy", "ff", "" }, "calm-fox", "squash" },
	{ { "runs", "merge", "--strategy=ff", "" }, "calm-fox", "squash" },
	{ { "runs", "merge", "--into", "" }, "topic\tfrom here\n", "calm-fox" },
	{ { "review", "--personas", "" }, "security,tests\t", "calm-fox" },
	{ { "memory", "invalidate", "" }, "n7\tfrom here\n", "calm-fox" },
	{ { "runs", "diff", "calm-fox", "-" }, "--config\t", "calm-fox" },
	{ { "config", "set", "" }, "budget.max_usd\t", "calm-fox" },
	{ { "config", "set", "budget.max_usd", "" }, NULL, "budget" },
	{ { "config", "--js" }, "--json\t", "set" },
	{ { "run", "--max-u" }, "--max-usd\t", "--config" },
	{ { "demo", "--" }, "--help\t", "--in" }, /* a hidden flag */
	{ { "--config", "" }, NULL, "run" },
	{ { "--config", "x", "" }, "run\t", NULL },
	{ { "runs", "show", "--config", "" }, NULL, "calm-fox" },
	{ { "exec", "--", "ls", "" }, NULL, "calm-fox" },
	{ { "help", "runs", "" }, "merge\t", "calm-fox" },
	{ { "nonsense", "" }, NULL, "run" },
	{ { "model", "" }, "worker\t", "mine" },
	{ { "model", "worker", "" }, "mine\t", "worker" },
	{ { "model", "worker", "mine", "" }, "mine-1\t", "worker" },
	{ { "model", "worker", "--repo", "mine", "mi" }, "mine-1\t", "worker" },
	{ { "model", "worker", "other", "" }, NULL, "mine-1" },
	{ { "run", "--skill", "" }, "ring\t", "calm-fox" },
	{ { "skills", "enable", "" }, "ring-disabled\t", "calm-fox" },
	{ { "run", "--from-plan", "" }, "calm-fox\t", NULL },
	{ { "memory", "show", "" }, "n7\t", "calm-fox" },
	{ { "prompt", "show", "--role", "" }, "critic\t", "worker" },
	{ { "config", "unset", "" }, "providers.mine\t", NULL },
	{ { "mcp", "connect", "" }, "files\t", NULL },
	{ { "connect", "" }, "anthropic\t", "mine" },
	{ { "review", "--seat", "" }, "security\t", NULL },
};

TEST(what_may_stand_next_comes_from_the_tables)
{
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf struct buf out = BUF_MAX(64 * 1024);
		char *words[WORDS_MAX];
		size_t n = 0;

		for (; n < WORDS_MAX && rows[i].words[n]; n++)
			words[n] = (char *)rows[i].words[n];
		CHECK_OK(complete_words((struct args_words){ words, n }, some_values, NULL, &out, &err));
		struct str got = buf_str(&out);
		if (rows[i].has && str_find(got, str_from(rows[i].has)) == got.n)
			fail_msg("row %zu: no \"%s\" in \"" STR_FMT "\"", i, rows[i].has, STR_ARG(got));
		if (rows[i].has_not && str_find(got, str_from(rows[i].has_not)) < got.n)
			fail_msg("row %zu: \"%s\" in \"" STR_FMT "\"", i, rows[i].has_not, STR_ARG(got));
	}
}

/* Each line that begins with a dot has to be one of the requests we mean. */
TEST(the_manual_holds_no_request_by_accident)
{
	static const char *const requests[] = { ".TH ", ".SH ", ".SS ", ".TP", ".PP", ".B ", ".BR " };
	auto_buf struct buf out = BUF_MAX(1024 * 1024);
	struct err err = { 0 };
	size_t commands = 0;

	CHECK_OK(manual_print(&out, &err));
	for (struct str rest = buf_str(&out); rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');
		bool known = false;

		if (line.n == 0 || (line.p[0] != '.' && line.p[0] != '\''))
			continue;
		for (size_t i = 0; i < COUNT(requests); i++)
			known = known || str_starts(line, str_from(requests[i]));
		if (!known)
			fail_msg("\"" STR_FMT "\"", STR_ARG(line));
		commands += str_starts(line, STR(".SS "));
	}
	CHECK(commands > 20);
	CHECK(str_find(buf_str(&out), STR(".SS \"agent6 runs merge")) < out.n);
}
