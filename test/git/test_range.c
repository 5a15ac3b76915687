/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitop.h"
#include "git/range.h"
#include "test/lib/test.h"

TEST(range_is_taken_apart_as_git_would)
{
	static const struct {
		const char *text;
		enum range_how how;
		const char *from, *to;
	} cases[] = {
		{ "main..HEAD", RANGE_TWO, "main", "HEAD" },
		{ "HEAD~3..", RANGE_TWO, "HEAD~3", "HEAD" },
		{ "..topic", RANGE_TWO, "HEAD", "topic" },
		{ "..", RANGE_TWO, "HEAD", "HEAD" },
		{ "v1...HEAD", RANGE_PARTED, "v1", "HEAD" },
		{ "...topic", RANGE_PARTED, "HEAD", "topic" },
		{ "@{u}..", RANGE_TWO, "@{u}", "HEAD" },
		{ "main@{2 days ago}..main", RANGE_TWO, "main@{2 days ago}", "main" },
		{ "HEAD^{/a..b: c}..HEAD^2", RANGE_TWO, "HEAD^{/a..b: c}", "HEAD^2" },
		{ "HEAD^{/a b}~2..@{2026-01-01 10:00 +0100}", RANGE_TWO, "HEAD^{/a b}~2", "@{2026-01-01 10:00 +0100}" },
		{ "v1.0.1..v1.0.2", RANGE_TWO, "v1.0.1", "v1.0.2" },
		{ "HEAD^!", RANGE_ONE, "", "HEAD" },
		{ "v2^-", RANGE_ONE, "", "v2" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct range r = { 0 };
		struct err err = { 0 };

		CHECK_OK(range_parse(str_from(cases[i].text), &r, &err));
		CHECK_INT(r.how, cases[i].how);
		CHECK_STR(r.from, str_from(cases[i].from));
		CHECK_STR(r.to, str_from(cases[i].to));
	}
}

TEST(range_refuses_what_git_is_never_asked_and_shows_what_was_written)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "main", "--range: \"main\" is not FROM..TO, FROM...TO or REV^!" },
		{ "^!", "is not FROM..TO" },
		{ "", "is not FROM..TO" },
		{ "--output=x..HEAD", "\"--output=x\" is no revision: it begins with \"-\"" },
		{ "HEAD..-x", "\"-x\" is no revision: it begins with \"-\"" },
		{ "^main..HEAD", "\"^main\" is no revision: it begins with \"^\"" },
		{ "a..b..c", "\"..\" stands in it" },
		{ "HEAD:x..HEAD", "with \":\" it names a file" },
		{ "a b..HEAD", "it has a blank" },
		{ "a\nb..HEAD", "it has a control character" },
		{ "HEAD..\x7f", "it has a control character" },
		{ "HEAD^{/((a{1,99}){1,99}){1,99}}..", "what it looks for is more than words" },
		{ "HEAD^{/a}((a{1,99}){1,99}}..", "what it looks for is more than words" },
		{ "HEAD^{/!-a*}..", "what it looks for is more than words" },
		{ "HEAD^{/(a)\\1}..", "what it looks for is more than words" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct range r = { 0 };
		struct err err = { 0 };

		CHECK_INT(range_parse(str_from(cases[i].text), &r, &err), -ERR_INVALID);
		CHECK(str_find(str_from(err.msg), str_from(cases[i].want)) < strlen(err.msg));
	}
}

TEST(range_side_has_an_end)
{
	char text[GIT_EXPR_MAX + 2];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK(!git_expr_wrong(str_of(text, GIT_EXPR_MAX)));
	CHECK_STR(str_from(git_expr_wrong(str_of(text, GIT_EXPR_MAX + 1))), STR("it is longer than 250 bytes"));
}
