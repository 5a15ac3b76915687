/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "ui/cli/args.h"
#include "ui/cli/typed.h"


static const struct {
	const char *why, *text, *as_root;
} cases[] = {
	{ "a command that wants it", "agent6 resume run-1 --steer \"...\"", "agent6 --allow-root resume run-1 --steer \"...\"" },
	{ "a command of two words", "try `agent6 runs merge run-1`", "try `agent6 --allow-root runs merge run-1`" },
	{ "one that only looks", "agent6 runs list shows them", "agent6 runs list shows them" },
	{ "several in one text", "agent6 connect x && agent6 model worker x y", "agent6 --allow-root connect x && agent6 --allow-root model worker x y" },
	{ "in quotes, at the end", "did you mean \"agent6 connect\"?", "did you mean \"agent6 --allow-root connect\"?" },
	{ "a flag", "agent6 --help lists them", "agent6 --help lists them" },
	{ "a word that is no command", "this agent6 knows nothing", "this agent6 knows nothing" },
	{ "the end of another word", "/opt/agent6 run x", "/opt/agent6 run x" },
	{ "the name alone", "agent6 ", "agent6 " },
	{ "nothing", "", "" },
};

TEST(typed_commands_carry_the_flag_that_root_has_to_type)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(1024);
		struct err err = { 0 };

		CHECK_OK(typed_add(&out, str_from(cases[i].text), &err));
		if (!str_eqz(buf_str(&out), cases[i].as_root))
			print_error("%s\n", cases[i].why);
		CHECK_STR(buf_str(&out), str_from(cases[i].as_root));
	}
}

TEST(typed_commands_that_want_the_flag_are_told_with_it)
{
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];
			auto_arena struct arena *mem = arena_new();
			auto_buf struct buf out = BUF_MAX(1024);
			struct err err = { 0 };

			CHECK_OK(typed_add(&out, str_printf(mem, "agent6 %s x", c->name), &err));
			CHECK_STR(buf_str(&out), str_printf(mem, "agent6 %s%s x", c->needs_no_root_check ? "" : "--allow-root ", c->name));
		}
}
