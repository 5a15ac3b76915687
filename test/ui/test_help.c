/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/term.h"
#include "test/lib/test.h"
#include "ui/cli/args.h"
#include "ui/cli/manual.h"

#include "sys/file.h"

#include <fcntl.h>
#include <stdlib.h>

#define HELP_BYTES (256 * 1024)

/* The words alone, whatever stands between them. */
static void words_of(struct str s, struct buf *out)
{
	while (s.n > 0) {
		size_t n = str_find_any(s, STR(" \n"));

		CHECK(buf_add(out, str_head(s, n), ERR_DISCARD) == 0);
		if (n > 0)
			CHECK(buf_addc(out, ' ', ERR_DISCARD) == 0);
		s = str_skip(s, n + (n < s.n));
	}
}

static int print(const struct command *c, struct str group, size_t cols, struct buf *out)
{
	return group.n > 0 ? help_group(group, cols, out, ERR_DISCARD)
		: c ? help_command(c, cols, out, ERR_DISCARD) : help_all(cols, out, ERR_DISCARD);
}

static void check_help(const struct command *c, struct str group, size_t cols)
{
	auto_buf struct buf plain = BUF_MAX(HELP_BYTES), wrapped = BUF_MAX(HELP_BYTES), a = BUF_MAX(HELP_BYTES), b = BUF_MAX(HELP_BYTES);

	CHECK(print(c, group, 0, &plain) == (group.n > 0));
	CHECK(print(c, group, cols, &wrapped) == (group.n > 0));
	for (struct str rest = buf_str(&wrapped); rest.n > 0;) {
		struct str line = str_trim_suffix(str_line(&rest), STR("\n"));

		if (term_width(line) > (int)cols && str_find_any(str_trim(line), STR(" ")) < str_trim(line).n)
			fail_msg("%s at %zu columns: \"" STR_FMT "\"", c ? c->name : group.n > 0 ? group.p : "help", cols, STR_ARG(line));
	}
	words_of(buf_str(&plain), &a);
	words_of(buf_str(&wrapped), &b);
	CHECK_STR(buf_str(&b), buf_str(&a));
}

TEST(help_keeps_to_its_terminal_and_loses_no_word)
{
	for (size_t cols = HELP_COLS_MIN; cols <= HELP_COLS_MAX; cols += 10) {
		check_help(NULL, STR(""), cols);
		check_help(NULL, STR("runs"), cols);
		check_help(NULL, STR("system"), cols);
		for (size_t i = 0; command_groups[i]; i++)
			for (size_t k = 0; k < command_groups[i]->n; k++)
				check_help(&command_groups[i]->p[k], STR(""), cols);
	}
}

/* "agent6 runs --help" told of "runs list" alone. */
TEST(help_of_a_word_names_every_command_that_begins_with_it)
{
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];
			auto_buf struct buf out = BUF_MAX(HELP_BYTES), line = BUF_MAX(256);
			struct str verb = str_from(c->name), word = str_cut(&verb, ' ');

			CHECK(help_group(word, 0, &out, ERR_DISCARD) >= 0);
			CHECK(buf_addf(&line, ERR_DISCARD, "\n  %s ", c->name) == 0);
			if (verb.n > 0)
				CHECK((str_find(buf_str(&out), buf_str(&line)) < out.n) == !c->hidden);
		}
	auto_buf struct buf none = BUF_MAX(HELP_BYTES);

	CHECK_INT(help_group(STR("nosuch"), 0, &none, ERR_DISCARD), 0);
	CHECK_INT(none.n, 0);
}

static void check_says(struct str page, struct str line)
{
	if (str_find(page, line) == page.n)
		fail_msg("not said: " STR_FMT, STR_ARG(line));
}

TEST(the_exit_statuses_are_said_in_the_same_words_everywhere)
{
#define ROW(status, means) { status, means },
	static const struct { const char *status, *means; } rows[] = { EXIT_STATUSES(ROW) };
#undef ROW
	auto_arena struct arena *mem = arena_new();
	const char *top = getenv("AGENT6_SOURCE");
	autofree char *path = path_join(top ? top : ".", "docs/loop.md");
	auto_buf struct buf loop = BUF_MAX(HELP_BYTES), help = BUF_MAX(HELP_BYTES), manual = BUF_MAX(4 * HELP_BYTES);

	CHECK(file_read(AT_FDCWD, path, &loop, ERR_DISCARD) == 0);
	CHECK(help_command(command_find(STR("run")), 0, &help, ERR_DISCARD) == 0);
	CHECK(manual_print(&manual, ERR_DISCARD) == 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		check_says(buf_str(&loop), str_printf(mem, "\n| %s | %s |\n", rows[i].status, rows[i].means));
		check_says(buf_str(&help), str_printf(mem, "\n  %s  %s\n", rows[i].status, rows[i].means));
		check_says(buf_str(&manual), str_printf(mem, "\n.B %s\n%s\n", rows[i].status, rows[i].means));
	}
}
