/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "memory/skill.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *text, *name, *description, *body, *fault;
} files[] = {
	{ "---\nname: a\ndescription: what it does\n---\n# Body\n", "a", "what it does", "# Body", NULL },
	{ "\xef\xbb\xbf---\r\nname: a\r\ndescription: b\r\n---\r\nx\r\n", "a", "b", "x", NULL },
	{ "---\ndescription: when: a value holds a colon\n...\n\nbody\n", "", "when: a value holds a colon", "body", NULL },
	{ "---\ndescription: \"a \\\"b\\\" --- c\"\n---\n", "", "a \"b\" --- c", "", NULL },
	{ "---\ndescription: 'it''s'   # why\n---\n", "", "it's", "", NULL },
	{ "---\ndescription: plain # a comment\n---\n", "", "plain", "", NULL },
	{ "---\ndescription: >-\n  one\n  two\n\n  three\nname: a\n---\n", "a", "one two\nthree", "", NULL },
	{ "---\ndescription: |\n  one\n    two\nname: a\n---\n", "a", "one\n  two", "", NULL },
	{ "---\ndescription: one\n  two\n\tthree\n---\n", "", "one two three", "", NULL },
	{ "---\nmetadata:\n  name: inner\n  description: inner\ntags: [a, b]\nlist:\n- x: y\ndescription: outer\n---\n", "", "outer",
		"", NULL },
	{ "---\nname: a\n---\nbody\n", NULL, NULL, NULL, "no description" },
	{ "---\nname: a\ndescription:   \n---\nbody\n", NULL, NULL, NULL, "no description" },
	{ "# no front matter\n", NULL, NULL, NULL, "first line" },
	{ "---\nname: a\ndescription: b\n", NULL, NULL, NULL, "no end" },
	{ "", NULL, NULL, NULL, "first line" },
	{ "---\ndescription: bad \xff byte\n---\n", "", "bad \xef\xbf\xbd byte", "", NULL },
};

TEST(a_skill_is_read_as_leniently_as_such_files_are_written)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		auto_arena struct arena *mem = arena_new();
		struct err err = { 0 };
		struct skill_text t;
		int r = skill_parse(str_from(files[i].text), mem, &t, &err);

		if (files[i].fault) {
			if (r != -ERR_INVALID || !strstr(err.msg, files[i].fault))
				fail_msg("file %zu: %d %s", i, r, err.msg);
			continue;
		}
		if (r < 0)
			fail_msg("file %zu: %s", i, err.msg);
		CHECK_STR(t.name, str_from(files[i].name));
		CHECK_STR(t.description, str_from(files[i].description));
		CHECK_STR(t.body, str_from(files[i].body));
	}
}

TEST(a_bundle_of_skills_comes_back_as_it_was_and_a_bad_skill_costs_only_itself)
{
	struct skill_file good[] = { { STR("SKILL.md"), STR("---\ndescription: d\n---\nb\n"), false }, { STR("big"), STR(""), true } };
	struct skill_file bad[] = { { STR("SKILL.md"), STR("nothing"), false } };
	struct skill list[] = { { .name = STR("good"), .always = true, .files = good, .nfiles = 2 },
		{ .name = STR("bad"), .files = bad, .nfiles = 1 } };
	struct skills got, s = { list, 2 };
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };

	CHECK_OK(skills_pack(&s, &b, &err));
	CHECK_OK(skills_unpack(buf_str(&b), mem, &got, &err));
	CHECK_INT(got.n, 2);
	CHECK(skills_find(&got, STR("good"))->always);
	CHECK_STR(skills_find(&got, STR("good"))->body, STR("b"));
	CHECK(skill_file(skills_find(&got, STR("good")), STR("big"))->left_out);
	CHECK(!skills_find(&got, STR("bad")) && strstr(got.p[1].fault, "first line"));
	CHECK_OK(skills_unpack(STR(""), mem, &got, &err));
	CHECK(got.n == 0 && !skills_any(&got));
	for (size_t n = 1; n < b.n; n++) /* every cut of it */
		CHECK_INT(skills_unpack(str_head(buf_str(&b), n), mem, &got, &err), -ERR_PROTOCOL);
}
