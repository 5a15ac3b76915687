/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "sys/file.h"
#include "tool/search.h"

#include <fcntl.h>
#include <string.h>

static void tree(struct kit *k)
{
	kit_put(k, ".gitignore", "*.log\nbuild/\n/anchored.txt\nnode_modules/\n**/bar/*\n");
	kit_put(k, "sub/.gitignore", "!keep.log\n");
	kit_put(k, "sub/keep.log", "needle 1\n");
	kit_put(k, "sub/a.log", "needle 2\n");
	kit_put(k, "build/.gitignore", "!x.txt\n");
	kit_put(k, "build/x.txt", "needle 3\n");
	kit_put(k, "anchored.txt", "needle 4\n");
	kit_put(k, "sub/anchored.txt", "needle 5\n");
	kit_put(k, "foo/bar/baz", "quux needle 6\n");
	kit_put(k, "foo/ok", "quux\nneedle 7\r\nquux\n");
	kit_put(k, "node_modules/e/package.json", "{\"name\":\"effect\"}\n");
	kit_put(k, ".hidden", "needle 8\n");
	kit_put(k, ".git/config", "needle 9\n");
	kit_put(k, ".git/info/exclude", "excluded\n");
	kit_put(k, "excluded", "needle 10\n");
	kit_put(k, "secret/s", "needle 11\n");
	struct test_dir d = { .fd = k->ws };
	test_write(&d, "binary", STR("needle\0 12\n"));
	CHECK(symlinkat("foo/ok", k->ws, "link") == 0);
	CHECK(symlinkat("foo", k->ws, "linkdir") == 0);
	k->hide = (struct str_list){ arena_alloc(k->mem, sizeof(struct str)), 1 };
	k->hide.p[0] = str_printf(k->mem, "%s/ws/secret", k->dir.path);
}

#define ROW(path, line, text) "{\"path\":\"" path "\",\"line\":" #line ",\"text\":\"" text "\"}"

static const struct {
	const char *why, *args, *want;
} searches[] = {
	{ "as git sees the tree, in order", "{`pattern`:`needle`}",
		"{\"matches\":[" ROW(".hidden", 1, "needle 8") "," ROW("foo/ok", 2, "needle 7") ","
		ROW("sub/anchored.txt", 1, "needle 5") "," ROW("sub/keep.log", 1, "needle 1") "],\"count\":4,\"truncated\":false}" },
	{ "rules from above hold below", "{`pattern`:`quux`,`path`:`foo`}",
		"{\"matches\":[" ROW("foo/ok", 1, "quux") "," ROW("foo/ok", 3, "quux") "],\"count\":2,\"truncated\":false}" },
	{ "an ignored directory that is named", "{`pattern`:`effect`,`path`:`node_modules/e`}",
		"{\"matches\":[" ROW("node_modules/e/package.json", 1, "{\\\"name\\\":\\\"effect\\\"}") "],\"count\":1,\"truncated\":false}" },
	{ "an ignored file that is named", "{`pattern`:`needle`,`path`:`sub/a.log`}",
		"{\"matches\":[" ROW("sub/a.log", 1, "needle 2") "],\"count\":1,\"truncated\":false}" },
	{ "through a link that is named", "{`pattern`:`needle`,`path`:`linkdir`}",
		"{\"matches\":[" ROW("foo/ok", 2, "needle 7") "],\"count\":1,\"truncated\":false}" },
	{ "glob by name", "{`pattern`:`needle`,`glob`:`*.{txt,md}`}",
		"{\"matches\":[" ROW("sub/anchored.txt", 1, "needle 5") "],\"count\":1,\"truncated\":false}" },
	{ "glob by path", "{`pattern`:`needle`,`glob`:`sub/**`}",
		"{\"matches\":[" ROW("sub/anchored.txt", 1, "needle 5") "," ROW("sub/keep.log", 1, "needle 1")
		"],\"count\":2,\"truncated\":false}" },
	{ "case", "{`pattern`:`NEEDLE 7`,`case_insensitive`:true}",
		"{\"matches\":[" ROW("foo/ok", 2, "needle 7") "],\"count\":1,\"truncated\":false}" },
	{ "anchors are of lines, CRLF too", "{`pattern`:`^needle 7$`}",
		"{\"matches\":[" ROW("foo/ok", 2, "needle 7") "],\"count\":1,\"truncated\":false}" },
	{ "no match crosses a line", "{`pattern`:`quux\\\\s+needle`}", "{\"matches\":[],\"count\":0,\"truncated\":false}" },
	{ "a match of a line although a longer one crosses it", "{`pattern`:`quux\\\\s*`,`path`:`foo/ok`}",
		"{\"matches\":[" ROW("foo/ok", 1, "quux") "," ROW("foo/ok", 3, "quux") "],\"count\":2,\"truncated\":false}" },
	{ "nothing", "{`pattern`:`zzz`}", "{\"matches\":[],\"count\":0,\"truncated\":false}" },
};

TEST(grep_finds_what_git_would_track_and_what_is_named)
{
	for (size_t i = 0; i < COUNT(searches); i++) {
		auto_kit struct kit k;

		kit_init(&k);
		tree(&k);
		kit_call(&k, "grep", searches[i].args);
		if (!str_eqz(buf_str(&k.out), searches[i].want)) {
			print_error("%s:\n" STR_FMT "\nnot\n%s\n", searches[i].why, STR_ARG(buf_str(&k.out)), searches[i].want);
			CHECK(false);
		}
		CHECK(k.asked.class == JOB_INDEX && k.asked.argc == 0);
	}
}

TEST(grep_says_what_is_wrong_with_a_pattern_or_a_path)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "f", "x\n");
	kit_call(&k, "grep", "{`pattern`:`a(b`}");
	CHECK_HOLDS(&k, "pattern: missing closing parenthesis at character 4");
	kit_call(&k, "grep", "{`pattern`:`x`,`path`:`gone`}");
	CHECK_HOLDS(&k, "gone does not exist");
	kit_call(&k, "grep", "{`pattern`:``}");
	CHECK_HOLDS(&k, "pattern: must not be empty");
	kit_call(&k, "grep", "{`pattern`:`\\\\C`}");
	CHECK_HOLDS(&k, "pattern: ");
}

TEST(grep_bounds_rows_lines_and_patterns)
{
	auto_kit struct kit k;
	auto_buf struct buf text = BUF_MAX(8 * 1024 * 1024);
	struct test_dir d = { 0 };

	kit_init(&k);
	d.fd = k.ws;
	for (int i = 0; i < 500; i++)
		kit_put(&k, str_printf(k.mem, "f%03d", i).p, "hit\nhit\nhit\n");
	kit_call(&k, "grep", "{`pattern`:`hit`}");
	CHECK_HOLDS(&k, "\"count\":200,\"truncated\":true");
	CHECK_HOLDS(&k, ROW("f066", 2, "hit") "],");
	CHECK_STR(k.oc.summary, STR("200 matches (truncated)"));

	/* A line longer than the buffer is one line, and the numbers behind it are right. */
	for (int i = 0; i < 300000; i++)
		CHECK(buf_addz(&text, "long line ", ERR_DISCARD) == 0);
	CHECK(buf_addz(&text, "\nafter\n", ERR_DISCARD) == 0);
	test_write(&d, "long", buf_str(&text));
	kit_call(&k, "grep", "{`pattern`:`line|after`,`path`:`long`}");
	CHECK_HOLDS(&k, "\"line\":1,\"text\":\"long line long");
	CHECK_HOLDS(&k, "[...]\"},{\"path\":\"long\",\"line\":2,\"text\":\"after\"}],\"count\":2");

	kit_put(&k, "evil", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n");
	kit_call(&k, "grep", "{`pattern`:`(a+)+$`,`path`:`evil`}");
	CHECK_HOLDS(&k, "too complex");
}

TEST(grep_shows_odd_names_and_bytes_as_text)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "bad\xff", "caf\xe9 needle\x1b[31m\n");
	kit_put(&k, "nl\nx", "needle\n");
	kit_call(&k, "grep", "{`pattern`:`needle`}");
	CHECK_HOLDS(&k, ROW("\\\"bad\\\\377\\\"", 1, "caf\xEF\xBF\xBD needle\\u001b[31m"));
	CHECK_HOLDS(&k, ROW("\\\"nl\\\\nx\\\"", 1, "needle"));
	kit_call(&k, "grep", "{`pattern`:`needle`,`path`:`\\`nl\\\\nx\\``}");
	CHECK_HOLDS(&k, "\"count\":1");
}

TEST(grep_finds_lines_wherever_the_buffer_ends)
{
	auto_kit struct kit k;
	auto_buf struct buf text = BUF_MAX(8 * 1024 * 1024);
	struct test_dir d = { 0 };
	int n = 0;

	kit_init(&k);
	d.fd = k.ws;
	while (text.n < 5 * 1024 * 1024) {
		n++;
		CHECK(buf_addf(&text, ERR_DISCARD, n % 1000 == 0 ? "needle in line %d\n" : "hay in line %d of the file\n", n) == 0);
	}
	test_write(&d, "f", buf_str(&text));
	kit_call(&k, "grep", "{`pattern`:`needle`}");
	for (int i = 1000; i <= n; i += 1000)
		if (i / 1000 <= SEARCH_ROWS_MAX)
			CHECK_HOLDS(&k, str_printf(k.mem, "\"line\":%d,\"text\":\"needle in line %d\"", i, i).p);
}

/* The worker may be taken over by a hostile file: its words are checked. */
TEST(grep_believes_no_worker_that_breaks_the_form)
{
	static const char *const answers[] = { "", "not json\n", "{\"path\":1}\n", "{\"path\":\"a\",\"line\":-1,\"text\":\"\"}\n",
		"[]\n", "{\"done\":true}\n{\"done\":true}\n", "{\"path\":\"a\",\"line\":1,\"text\":\"t\"}\n" };

	for (size_t i = 0; i < COUNT(answers); i++) {
		auto_kit struct kit k;

		kit_init(&k);
		k.job = (struct job_result){ .why = JOB_EXITED, .out = str_from(answers[i]) };
		kit_call(&k, "grep", "{`pattern`:`x`}");
		CHECK(!k.oc.ok);
		CHECK_HOLDS(&k, "grep failed");
	}
}
