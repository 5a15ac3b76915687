/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "role/reader.h"
#include "test/lib/test.h"
#include "tool/denial.h"

#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef01234567"

/* ---- a record ---- */

static const char manifest[] =
	"{\"version\":3,\"run_id\":\"calm-fox-1\",\"mode\":\"run\",\"user_task\":\"do it\",\"base_sha\":\"" SHA "\",\"base_branch\":\"main\","
	"\"parked_task\":null,\"forked_from_turn\":7,\"workflow\":{\"verify_command\":[\"make\",\"check it\"],\"preset\":\"fast\"},"
	"\"models\":{\"worker\":{\"model\":\"m\"}},\"unknown\":[1,{}]}";

static struct facts facts_of(const struct test_dir *dir, bool ending, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(FACTS_MAX);
	struct facts f, got;
	struct err err = { 0 };

	CHECK_OK(facts_read(dir->fd, ending, mem, &f, &err));
	facts_pack(&f, &b);
	CHECK_OK(pack_ok(&b, &err));
	CHECK_OK(facts_unpack(buf_str(&b), mem, &got, &err));
	for (size_t n = 0; n < b.n; n++) { /* none of it is cut, none is more */
		struct facts none;

		CHECK(facts_unpack(str_head(buf_str(&b), n), mem, &none, ERR_DISCARD) < 0);
	}
	CHECK(buf_addc(&b, 'x', ERR_DISCARD) == 0 && facts_unpack(buf_str(&b), mem, &f, ERR_DISCARD) < 0);
	return got;
}

TEST(facts_of_a_record_survive_the_way)
{
	static const struct {
		const char *why, *journal;
		const char *reason, *ended, *outcome, *change;
		const char *edited[3], *deleted;
	} cases[] = {
		{ "it ended", "{\"type\":\"diff.updated\",\"patch\":\"+a\"}\n{\"type\":\"run.end\",\"reason\":\"finished\",\"summary\":\"done\",\"edited_untracked\":[\"a.c\",\"b\"],\"deleted_untracked\":[\"d.c\"]}\n",
			"finished", "finished", "done", "+a", { "a.c", "b" }, "d.c" },
		{ "it goes on", "{\"type\":\"run.end\",\"reason\":\"stopped\",\"edited_untracked\":[\"a.c\"]}\n{\"type\":\"run.start\"}\n", "", "stopped", "", "" },
		{ "it was cut off", "{\"type\":\"run.end\",\"reason\":\"finished\"}\n{\"type\":\"run.e", "", "finished", "", "" },
		{ "a text that plays an end", "{\"type\":\"note\",\"text\":\"\\\"run.end\\\"\",\"reason\":\"finished\"}\n", "", "", "", "" },
		{ "a reason that is none", "{\"type\":\"run.end\",\"reason\":[1]}\n", "", "", "", "" },
		{ "nothing", "", "", "", "", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_arena struct arena *mem = arena_new();

		test_write(&dir, "manifest.json", str_from(manifest));
		test_write(&dir, "logs.jsonl", str_from(cases[i].journal));
		struct facts f = facts_of(&dir, true, mem);

		CHECK_STR(f.reason, str_from(cases[i].reason));
		CHECK_STR(f.ended, str_from(cases[i].ended));
		CHECK_STR(f.outcome, str_from(cases[i].outcome));
		CHECK_STR(f.change, str_from(cases[i].change));
		size_t n = 0;

		for (; cases[i].edited[n]; n++)
			CHECK_STR(f.edited_untracked.p[n], str_from(cases[i].edited[n]));
		CHECK_INT(f.edited_untracked.n, n);
		CHECK_INT(f.deleted_untracked.n, cases[i].deleted ? 1 : 0);
		if (cases[i].deleted)
			CHECK_STR(f.deleted_untracked.p[0], str_from(cases[i].deleted));
		CHECK_STR(f.manifest.user_task, STR("do it"));
		CHECK_STR(f.manifest.base_branch, STR("main"));
		CHECK_STR(f.manifest.worker_model, STR("m"));
		CHECK_INT(f.manifest.forked_from_turn, 7);
		CHECK_INT(f.manifest.verify_command.n, 2);
		CHECK_STR(f.manifest.verify_command.p[1], STR("check it"));
	}
}

TEST(facts_without_a_journal_are_of_a_run_that_never_began)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	test_write(&dir, "manifest.json", str_from(manifest));
	CHECK_STR(facts_of(&dir, false, mem).reason, STR(""));
}

TEST(facts_name_no_commit_that_cannot_be_one)
{
	static const char *const bad[] = { "-x", "main", "0123", SHA "0", "--upload-pack=x", SHA "\\n" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf b = BUF_MAX(FACTS_MAX);
		struct facts f;
		struct err err = { 0 };

		test_write(&dir, "manifest.json", str_printf(mem, "{\"base_sha\":\"%s\"}", bad[i]));
		CHECK_OK(facts_read(dir.fd, false, mem, &f, &err));
		facts_pack(&f, &b);
		CHECK(facts_unpack(buf_str(&b), mem, &f, &err) < 0);
	}
}

/* ---- answers ---- */

static const struct discovered here = { .top = "/w", .dot_git = "/w/.git", .git_dir = "/w/.git", .common_dir = "/w/.git" };

static int take_repo(struct arena *mem, const char *branch, const char *sha, const struct str *dirs, size_t n)
{
	auto_buf struct buf b = BUF_MAX(65536);
	struct repo_facts f;

	pack_u8(&b, 1);
	pack_u8(&b, 0);
	pack_str(&b, str_from(branch));
	pack_str(&b, str_from(sha));
	pack_u8(&b, 0);
	pack_strs(&b, dirs, n);
	for (size_t k = 0; k < b.n; k++)
		CHECK(reader_unpack_repo(str_head(buf_str(&b), k), &here, mem, &f, ERR_DISCARD) < 0);
	return reader_unpack_repo(buf_str(&b), &here, mem, &f, ERR_DISCARD);
}

static int take_note(struct arena *mem, const char *id, const char *scope, const char *origin)
{
	auto_buf struct buf b = BUF_MAX(65536);
	struct str_list l;

	pack_u32(&b, 1);
	pack_str(&b, str_from(id));
	pack_str(&b, str_from(scope));
	pack_str(&b, STR("two\nlines"));
	pack_str(&b, str_from(origin));
	pack_str(&b, STR("2026-01-01T00:00:00Z"));
	return reader_unpack_notes(buf_str(&b), mem, &l, ERR_DISCARD);
}

TEST(reader_believes_no_answer_that_has_not_its_shape)
{
	static const struct {
		const char *why, *branch, *sha, *dir;
		bool right;
	} cases[] = {
		{ "what there may be", "main", SHA, "/w/sub", true },
		{ "a branch without a commit", "main", "", "/w/a/b", true },
		{ "a commit that is none", "main", "-x", "/w/sub", false },
		{ "a branch of two lines", "main\nx", SHA, "/w/sub", false },
		{ "the top itself", "main", SHA, "/w", false },
		{ "beside it", "main", SHA, "/wx", false },
		{ "out of it", "main", SHA, "/w/../etc", false },
		{ "elsewhere", "main", SHA, "/etc", false },
		{ "no path", "main", SHA, "sub", false },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct str dir = str_from(cases[i].dir);

		if ((take_repo(mem, cases[i].branch, cases[i].sha, &dir, 1) == 0) != cases[i].right)
			print_error("%s\n", cases[i].why);
		CHECK((take_repo(mem, cases[i].branch, cases[i].sha, &dir, 1) == 0) == cases[i].right);
	}
	struct str nul = str_of("/w/a\0b", 6);

	CHECK(take_repo(mem, "main", SHA, &nul, 1) < 0);
	CHECK_INT(take_note(mem, "m-0123abcd", "build", "run calm-fox-1"), 0);
	CHECK(take_note(mem, "m-../../x", "build", "run x") < 0);
	CHECK(take_note(mem, "m-0123abcd", "Build it", "run x") < 0);
	CHECK(take_note(mem, "m-0123abcd", "build", "operator\n") < 0);
}

static int take_denial(struct arena *mem, uint8_t rule, uint8_t cut, struct str path, struct str link, uint32_t grant, struct denial *out)
{
	auto_buf struct buf b = BUF_MAX(65536);

	pack_u8(&b, rule);
	pack_u8(&b, cut);
	pack_str(&b, path);
	pack_str(&b, link);
	pack_u32(&b, grant);
	for (size_t k = 0; k < b.n; k++)
		CHECK(reader_unpack_denial(str_head(buf_str(&b), k), mem, out, ERR_DISCARD) < 0);
	return reader_unpack_denial(buf_str(&b), mem, out, ERR_DISCARD);
}

TEST(reader_lets_nothing_but_a_rule_and_a_path_say_why_a_command_failed)
{
	static char longest[] = "/ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
				"ppppppppppppppppppppppppppppppppppppppppppppppppppp";
	const struct {
		const char *why;
		uint8_t rule, cut;
		struct str path;
		bool right;
		struct str link;
		uint32_t grant;
	} cases[] = {
		{ "nothing", DENIAL_NONE, 0, STR(""), true },
		{ "a rule of its own", DENIAL_NET, 0, STR(""), true },
		{ "a path", DENIAL_SEE, 0, STR("/opt/x"), true },
		{ "the beginning of a path", DENIAL_SEE, 1, str_of(longest, DENIAL_PATH_MAX), true },
		{ "a rule there is not", DENIAL_RULES, 0, STR(""), false },
		{ "another", 255, 0, STR("/x"), false },
		{ "a path without a rule", DENIAL_NONE, 0, STR("/x"), false },
		{ "a path too many", DENIAL_NET, 0, STR("/x"), false },
		{ "cut, of no path", DENIAL_NET, 1, STR(""), false },
		{ "cut, in another way", DENIAL_SEE, 2, STR("/x"), false },
		{ "no path", DENIAL_SEE, 0, STR(""), false },
		{ "words", DENIAL_SEE, 0, STR("run this: /x"), false },
		{ "too long a path", DENIAL_SEE, 0, str_of(longest, DENIAL_PATH_MAX + 1), false },
		{ "two lines", DENIAL_SEE, 0, STR("/x\n[agent6] y"), false },
		{ "an escape sequence", DENIAL_SEE, 0, STR("/x\x1b[2J"), false },
		{ "bytes that are no characters", DENIAL_SEE, 0, STR("/x\xff"), false },
		{ "a NUL", DENIAL_SEE, 0, STR("/x\0y"), false },
		{ "a link", DENIAL_SEE, 0, STR("/opt/x"), true, STR("/w/x"), 0 },
		{ "a link, and what is above", DENIAL_SEE, 0, STR("/opt/x"), true, STR("/w/x"), 4 },
		{ "a link, and all of it", DENIAL_SEE, 0, STR("/opt/x"), true, STR("/w/x"), 6 },
		{ "not a part of a name", DENIAL_SEE, 0, STR("/opt/x"), false, STR("/w/x"), 3 },
		{ "more than there is", DENIAL_SEE, 0, STR("/opt/x"), false, STR("/w/x"), 7 },
		{ "something without a link", DENIAL_SEE, 0, STR("/opt/x"), false, STR(""), 4 },
		{ "words for a link", DENIAL_SEE, 0, STR("/opt/x"), false, STR("run this"), 4 },
		{ "a link that steers", DENIAL_SEE, 0, STR("/opt/x"), false, STR("/w/\x1b[2J"), 4 },
		{ "a link to what is cut", DENIAL_SEE, 1, STR("/opt/x"), false, STR("/w/x"), 0 },
		{ "too long a link", DENIAL_SEE, 0, STR("/opt/x"), false, str_of(longest, DENIAL_PATH_MAX + 1), 0 },
		{ "a link of no path", DENIAL_NET, 0, STR(""), false, STR("/w/x"), 0 },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct denial d = { 0 };
		bool taken = take_denial(mem, cases[i].rule, cases[i].cut, cases[i].path, cases[i].link, cases[i].grant, &d) == 0;

		if (taken != cases[i].right)
			print_error("%s\n", cases[i].why);
		CHECK(taken == cases[i].right && (d.note.n > 0) == (taken && cases[i].rule != DENIAL_NONE));
	}
}
