/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/toml.h"
#include "test/lib/test.h"

#include <string.h>

typedef int edit_fn(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err);

static int unset(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err)
{
	(void)value;
	return toml_unset(text, path, n, err);
}

static int prune(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err)
{
	(void)value;
	return toml_prune(text, path, n, err);
}

#define BOM "\xEF\xBB\xBF"

static const struct {
	const char *why;
	edit_fn *edit;
	const char *before, *key, *value;
	const char *after; /* NULL: nothing to do; "!..." refused with this message */
} rows[] = {
	{ "a value, and nothing but the value", toml_set, "# top\n[a]\n  b  =  1   # why\nc = 2\n", "a.b", "\"x\"",
		"# top\n[a]\n  b  =  \"x\"   # why\nc = 2\n" },
	{ "a list over several lines", toml_set, "a = [\n 1, # one\n 2\n] # end\nb = 1", "a", "[]", "a = [] # end\nb = 1" },
	{ "a new key ends its table", toml_set, "[a]\nb = 1 # one\n# d = 5\n\n[c]\n", "a.d", "4",
		"[a]\nb = 1 # one\nd = 4\n# d = 5\n\n[c]\n" },
	{ "a new key in a table without keys", toml_set, "[a] # empty\n[b]\n", "a.d", "4", "[a] # empty\nd = 4\n[b]\n" },
	{ "a new key is indented as the last", toml_set, "[a]\n\tb = 1\n", "a.c", "2", "[a]\n\tb = 1\n\tc = 2\n" },
	{ "no newline at the end", toml_set, "[a]\nb = 1", "a.c", "2", "[a]\nb = 1\nc = 2\n" },
	{ "an empty file", toml_set, "", "a.b", "1", "[a]\nb = 1\n" },
	{ "a file of three bytes without a newline", toml_set, "a=1", "b", "2", "a=1\nb = 2\n" },
	{ "a new table", toml_set, "x = 1\n", "a.b.c", "1", "x = 1\n\n[a.b]\nc = 1\n" },
	{ "a new table stands by its sisters", toml_set, "[m.w]\np = 1\n\n[z]\n", "m.q.p", "2",
		"[m.w]\np = 1\n\n[m.q]\np = 2\n\n[z]\n" },
	{ "a table that only has sisters", toml_set, "[m.w]\np = 1\n", "m.x", "2", "[m.w]\np = 1\n\n[m]\nx = 2\n" },
	{ "a key at the top goes before the first table", toml_set, "[a]\nb = 1\n", "z", "1", "z = 1\n[a]\nb = 1\n" },
	{ "a dotted key gets a dotted sister", toml_set, "[a]\nb.c = 1\nx = 2\n", "a.b.d", "3",
		"[a]\nb.c = 1\nb.d = 3\nx = 2\n" },
	{ "a dotted key at the top", toml_set, "a.b.c = 1\n", "a.b.d.e", "3", "a.b.c = 1\na.b.d.e = 3\n" },
	{ "in braces", toml_set, "a = { b = 1 }\n", "a.c", "2", "a = { b = 1, c = 2 }\n" },
	{ "in empty braces", toml_set, "a = {}\n", "a.c.d", "2", "a = { c.d = 2 }\n" },
	{ "dotted in braces", toml_set, "a = {b.c=1}\n", "a.b.d", "2", "a = {b.c=1, b.d = 2}\n" },
	{ "quoted names", toml_set, "[\"a b\"]\n", "'a b'.\"c.d\"", "1", "[\"a b\"]\n\"c.d\" = 1\n" },
	{ "line ends stay CRLF, the mark stays first", toml_set, BOM "[a]\r\nb = 1\r\n", "a.c", "2",
		BOM "[a]\r\nb = 1\r\nc = 2\r\n" },
	{ "a new table with CRLF", toml_set, BOM "[a]\r\nb = 1\r\n", "c.d", "2", BOM "[a]\r\nb = 1\r\n\r\n[c]\r\nd = 2\r\n" },
	{ "a top key after the mark", toml_set, BOM "[a]\r\n", "c", "2", BOM "c = 2\r\n[a]\r\n" },
	{ "nothing but the mark", toml_set, BOM, "c.d", "2", BOM "[c]\nd = 2\n" },
	{ "a table is no value", toml_set, "[a]\nb = 1\n", "a", "2", "!a is a table; it must be edited by hand" },
	{ "a value is no table", toml_set, "a = 'x'\n", "a.b", "2", "!a is a string; it must be edited by hand" },
	{ "a list of tables", toml_set, "[[a.b]]\nc = 1\n", "a.b.c", "2", "!a.b is a list of tables; it must be edited by hand" },
	{ "more than one value", toml_set, "a = 1\n", "a", "2\nb = 3", "!expected nothing after the value" },
	{ "no value", toml_set, "a = 1\n", "a", "", "!expected a value" },

	{ "a line goes with its comment", unset, "# a\n[a]\n  b = 1 # why\n# c\nc = 2\n", "a.b", "", "# a\n[a]\n# c\nc = 2\n" },
	{ "the last key leaves its table", unset, "[a]\nb = 1", "a.b", "", "[a]\n" },
	{ "several lines", unset, "a = [\n1,\n]\nb = 2\n", "a", "", "b = 2\n" },
	{ "after the mark", unset, BOM "a = 1\r\nb = 2\r\n", "a", "", BOM "b = 2\r\n" },
	{ "first in braces", unset, "a = { b = 1, c = 2 }\n", "a.b", "", "a = { c = 2 }\n" },
	{ "last in braces", unset, "a = { b = 1, c = 2 }\n", "a.c", "", "a = { b = 1 }\n" },
	{ "alone in braces", unset, "a = { b = 1 }\n", "a.b", "", "a = {}\n" },
	{ "not there", unset, "a = 1\n", "b.c", "", NULL },
	{ "a table", unset, "[a.b]\nc = 1\n", "a.b", "", "!a.b is a table; it must be edited by hand" },

	{ "an empty table between others", prune, "[x]\na = 1\n\n  [a.b]\n\n[z]\nb = 1\n", "a.b", "", "[x]\na = 1\n\n[z]\nb = 1\n" },
	{ "at the end, with the blank lines before it", prune, "x = 1\n\n\n[a]\n", "a", "", "x = 1\n" },
	{ "at the end without a newline", prune, "x = 1\n[a]", "a", "", "x = 1\n" },
	{ "the first", prune, "[a]\n\n[b]\nc = 1\n", "a", "", "[b]\nc = 1\n" },
	{ "nothing else", prune, "[a]\n", "a", "", "" },
	{ "nothing but the mark stays", prune, BOM "[a]\r\n\r\n", "a", "", BOM },
	{ "something is in it", prune, "[a]\nb = 1\n", "a", "", NULL },
	{ "a table is in it", prune, "[a]\n[a.b]\nc = 1\n", "a", "", NULL },
	{ "a comment is in it", prune, "[a]\n\n  # b = 1\n[z]\n", "a", "", NULL },
	{ "a comment is in it, at the end", prune, "[a]\n# b = 1", "a", "", NULL },
	{ "a comment behind it", prune, "[a] # why\n", "a", "", NULL },
	{ "a comment above it", prune, "x = 1\n\n# why\n[a]\n", "a", "", NULL },
	{ "a comment further above is not its own", prune, "# top\n\n[a]\n", "a", "", "# top\n" },
	{ "it is in braces", prune, "a = {}\n", "a", "", NULL },
	{ "it is not there", prune, "[a.b]\nc = 1\n", "b", "", NULL },
	{ "it has no header of its own", prune, "[a.b]\nc = 1\n", "a", "", NULL },
	{ "one of a list of tables", prune, "[[a]]\n", "a", "", NULL },

	{ "to a list on one line", toml_append, "a = [\"x\"] # c\n", "a", "\"y\"", "a = [\"x\", \"y\"] # c\n" },
	{ "to an empty list", toml_append, "a = [ ]\n", "a", "\"y\"", "a = [\"y\"]\n" },
	{ "to an empty list with a comment", toml_append, "a = [\n # none\n]\n", "a", "1", "a = [1\n # none\n]\n" },
	{ "before a comma on the same line", toml_append, "a = [1,]\n", "a", "2", "a = [1, 2,]\n" },
	{ "one line each", toml_append, "a = [\n  \"x\", # one\n  \"y\", # two\n]\n", "a", "\"z\"",
		"a = [\n  \"x\", # one\n  \"y\", # two\n  \"z\",\n]\n" },
	{ "one line each, no last comma", toml_append, "a = [\r\n\t1, # one\r\n\t2 # two, no comma\r\n]\r\n", "a", "3",
		"a = [\r\n\t1, # one\r\n\t2, # two, no comma\r\n\t3\r\n]\r\n" },
	{ "already there, however it is spelt", toml_append, "a = ['x']\n", "a", "\"x\"", NULL },
	{ "to a list that is not there", toml_append, "", "a.b", "\"x\"", "[a]\nb = [\"x\"]\n" },
	{ "to something else", toml_append, "a = 1\n", "a", "2", "!a is an integer; it must be edited by hand" },

	{ "the first of three", toml_drop, "a = [1, 2, 3]\n", "a", "1", "a = [2, 3]\n" },
	{ "the last of three", toml_drop, "a = [1, 2, 3]\n", "a", "3", "a = [1, 2]\n" },
	{ "the only one", toml_drop, "a = [1] # c\n", "a", "1", "a = [] # c\n" },
	{ "one on a line of its own", toml_drop, "a = [\n  1, # one\n  2, # two\n  3\n]\n", "a", "2",
		"a = [\n  1, # one\n  3\n]\n" },
	{ "the last on a line of its own", toml_drop, "a = [\n  1, # one\n  2 # two\n]\n", "a", "2", "a = [\n  1, # one\n]\n" },
	{ "the last before the bracket", toml_drop, "a = [\n  1, # one\n  2]\n", "a", "2", "a = [\n  1, # one\n  ]\n" },
	{ "not there", toml_drop, "a = [1]\n", "a", "2", NULL },
	{ "no list", toml_drop, "", "a", "2", NULL },
};

TEST(toml_edits_change_what_they_name_and_no_other_byte)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf text = BUF_MAX(TOML_MAX), got = BUF_MAX(4096);
		const char *want = rows[i].after;
		struct str *path;
		size_t n;
		struct err err = { 0 };

		CHECK_OK(buf_addz(&text, rows[i].before, &err));
		CHECK_OK(toml_key(str_from(rows[i].key), mem, &path, &n, &err));
		int r = rows[i].edit(&text, path, n, str_from(rows[i].value), &err);
		if (r < 0)
			CHECK_OK(buf_addf(&got, &err, "!%s", err.msg));
		else
			CHECK_OK(buf_add(&got, buf_str(&text), &err));
		CHECK_STR(buf_str(&got), str_from(want ? want : rows[i].before));
		CHECK_INT(r > 0, want && want[0] != '!');
		if (r <= 0)
			CHECK_STR(buf_str(&text), str_from(rows[i].before));
	}
}

TEST(toml_edits_stop_at_the_limit_and_keep_the_text)
{
	auto_buf struct buf text = BUF_MAX(12);
	struct str path[] = { STR("a") };
	struct err err = { 0 };

	CHECK_OK(buf_addz(&text, "a = 1\n", &err));
	CHECK_INT(toml_set(&text, path, 1, STR("\"12345\""), &err), 1);
	CHECK_INT(toml_set(&text, path, 1, STR("\"123456\""), &err), -ERR_LIMIT);
	CHECK_STR(buf_str(&text), STR("a = \"12345\"\n"));
}
