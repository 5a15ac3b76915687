/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/composer.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *line;
	bool paused;
	enum typed_what what;
	enum answer_kind kind;
	const char *text;
} cases[] = {
	{ "use tabs", false, TYPED_TELL, ANSWER_STEER, "use tabs" },
	{ "  use tabs \r", false, TYPED_TELL, ANSWER_STEER, "use tabs" },
	{ "", false, TYPED_NOTHING, 0, NULL },
	{ "", true, TYPED_TELL, ANSWER_CONTINUE, "" },
	{ "q", false, TYPED_TELL, ANSWER_STEER, "q" },
	{ "q", true, TYPED_TELL, ANSWER_STOP, "" },
	{ "d", true, TYPED_TELL, ANSWER_DETACH, "" },
	{ "/status", false, TYPED_STATUS, 0, NULL },
	{ "/sta", false, TYPED_STATUS, 0, NULL },
	{ "/st", false, TYPED_WRONG, 0, NULL }, /* status, stop */
	{ "/nothing", false, TYPED_WRONG, 0, NULL },
	{ "/pin keep the API", false, TYPED_TELL, ANSWER_STEER, "/pin keep the API" },
	{ "/shells", false, TYPED_SHELLS, 0, NULL },
	{ "/preset", false, TYPED_PRESET, 0, "" },
	{ "/preset quick", true, TYPED_WRONG, 0, NULL },
	{ "/skill", false, TYPED_WRONG, 0, NULL },
	{ "/skill ring", true, TYPED_TELL, ANSWER_STEER, "/skill ring" },
	{ "/skill ring look at it", false, TYPED_TELL, ANSWER_STEER, "/skill ring look at it" },
	{ "/ring look at it", false, TYPED_TELL, ANSWER_STEER, "/ring look at it" },
	{ "/pin", false, TYPED_PINS, 0, NULL },
	{ "/btw", false, TYPED_WRONG, 0, NULL },
	{ "/btw what is f?", false, TYPED_TELL, ANSWER_BTW, "what is f?" },
	{ "/compact", false, TYPED_TELL, ANSWER_COMPACT, "" },
	{ "/compact the tests", false, TYPED_TELL, ANSWER_COMPACT, "the tests" },
	{ "/comp the tests", false, TYPED_TELL, ANSWER_STEER, "/comp the tests" },
	{ "/stop now", false, TYPED_TELL, ANSWER_STOP, "now" },
	{ "/stop", false, TYPED_TELL, ANSWER_STOP, "" },
	{ "/stop  now ", true, TYPED_TELL, ANSWER_STOP, "now" },
	{ "/stop foo", false, TYPED_WRONG, 0, NULL },
	{ "/stop now please", false, TYPED_WRONG, 0, NULL },
	{ "/stop that, and use spaces", true, TYPED_WRONG, 0, NULL },
	{ "/exit now", false, TYPED_WRONG, 0, NULL },
	{ "/status please", false, TYPED_WRONG, 0, NULL },
	{ "/usr/bin is on the path", false, TYPED_TELL, ANSWER_STEER, "/usr/bin is on the path" },
	{ "/help", false, TYPED_HELP, 0, NULL },
	{ "/?", true, TYPED_HELP, 0, NULL },
	{ "/exit", false, TYPED_TELL, ANSWER_STOP, "" },
	{ "/detach deny", false, TYPED_TELL, ANSWER_DETACH, "deny" },
};

TEST(a_typed_line_is_a_command_or_words_for_the_model)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct typed t = compose(str_from(cases[i].line), cases[i].paused);

		if (t.what != cases[i].what || (t.what == TYPED_TELL && t.kind != cases[i].kind))
			fail_msg("\"%s\"%s: %d, kind %d", cases[i].line, cases[i].paused ? " at the pause" : "", t.what, t.kind);
		if (cases[i].text)
			CHECK_STR(t.text, str_from(cases[i].text));
		CHECK((t.what == TYPED_WRONG) == (t.message != NULL));
	}
}

TEST(every_command_of_the_composer_has_its_help_and_works_by_its_name)
{
	for (size_t i = 0; i < ncomposer_commands; i++) {
		const struct composer_command *c = &composer_commands[i];

		CHECK(c->name[0] == '/' && c->help[0] != '\0');
		CHECK(c->words || !c->needs_words);
		CHECK(strlen(c->name) + (c->words ? strlen(c->words) + 1 : 0) < COMPOSER_NAME_WIDTH);
		CHECK(2 + COMPOSER_NAME_WIDTH + strlen(c->help) <= 80); /* one line each, on the narrowest screen there is */
		if (strcmp(c->name, "/pin") != 0)
			CHECK_INT(compose(str_from(c->name), false).what, c->needs_words ? TYPED_WRONG : c->what);
	}
}
