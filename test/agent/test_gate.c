/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/gate_ask.h"
#include "test/lib/test.h"

#include <sys/stat.h>

struct file {
	const char *name, *text;
};

static const struct {
	const char *why;
	struct file files[3];
	const char *want; /* the words, each in brackets */
	const char *source;
} cases[] = {
	{ "nothing to go by", { { "README", "hello" } }, "", "none" },
	{ "a block below a heading",
		{ { "AGENTS.md",
			"# Project\n\n## Verify\n\nRun this:\n```sh\n# all\nmake -s check\n```\n" } },
		"[make][-s][check]", "agents_md" },
	{ "any level, any case, a longer title",
		{ { "AGENTS.md", "###### TESTING it\n~~~\n$ cargo test\n~~~\n" } }, "[cargo][test]",
		"agents_md" },
	{ "continued lines are one", { { "AGENTS.md", "# Test\n```\npython3 -m \\\n  pytest -q\n```\n" } },
		"[python3][-m][pytest][-q]", "agents_md" },
	{ "several commands must all succeed", { { "AGENTS.md", "# Test\n```\nmake\nmake test\n```\n" } },
		"[sh][-c][make && make test]", "agents_md" },
	{ "a shell line stays a shell line", { { "AGENTS.md", "# Test\n```\nmake test | tail -3\n```\n" } },
		"[sh][-c][make test | tail -3]", "agents_md" },
	{ "a variable in front needs a shell", { { "AGENTS.md", "# Test\n```\nCI=1 make test\n```\n" } },
		"[sh][-c][CI=1 make test]", "agents_md" },
	{ "the block is too far away",
		{ { "AGENTS.md", "# Test\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n```\nmake\n```\n" } },
		"", "none" },
	{ "a heading of another kind comes between",
		{ { "AGENTS.md", "# Test\n\n# Build\n```\nmake\n```\n" } }, "", "none" },
	{ "a heading inside a block is text",
		{ { "AGENTS.md", "# Build\n```\n# test\n```\n\n```\nmake\n```\n" } }, "", "none" },
	{ "an empty block is none", { { "AGENTS.md", "# Test\n```\n# later\n```\n" } }, "", "none" },
	{ "a block without an end is none", { { "AGENTS.md", "# Test\n```\nmake test\n" } }, "", "none" },
	{ "an inline line", { { "AGENTS.md", "- **Verify:** `sh verify.sh`, please\n" } }, "[sh][verify.sh]",
		"agents_md" },
	{ "an inline line without marks", { { "AGENTS.md", "Test: make test\n" } }, "[make][test]",
		"agents_md" },
	{ "the notes win over the rest",
		{ { "AGENTS.md", "Verify: make lint\n" }, { "Makefile", "test:\n" } }, "[make][lint]",
		"agents_md" },
	{ "notes that are not text are none", { { "AGENTS.md", "Verify: \xff\n" } }, "", "none" },
	{ "verify.sh by the shell", { { "verify.sh", "exit 0\n" } }, "[sh][verify.sh]", "verify.sh" },
	{ "npm", { { "package.json", "{\"scripts\":{\"test\":\"jest\"}}" } }, "[npm][test][--silent]",
		"package.json" },
	{ "npm's placeholder",
		{ { "package.json",
			"{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}" } },
		"", "none" },
	{ "package.json that is none", { { "package.json", "{" } }, "", "none" },
	{ "make test", { { "Makefile", "all:\n\techo\ntest: all\n\t./t\n" } }, "[make][test]",
		"Makefile:test" },
	{ "make check", { { "makefile", "all check:\n\t./t\n" } }, "[make][check]", "Makefile:check" },
	{ "test before check, wherever it stands", { { "Makefile", "check:\ntest:\n" } }, "[make][test]",
		"Makefile:test" },
	{ "a variable is no target", { { "Makefile", "test := 1\ntest=2\n# test:\n\ttest:\n" } }, "",
		"none" },
	{ "GNUmakefile is what make reads first",
		{ { "GNUmakefile", "check:\n" }, { "Makefile", "test:\n" } }, "[make][check]",
		"Makefile:check" },
	{ "python", { { "pyproject.toml", "" } }, "[python3][-m][pytest][-q]", "pyproject" },
	{ "python of the project", { { "tox.ini", "" }, { ".venv/bin/python", "" } },
		"[.venv/bin/python][-m][pytest][-q]", "pyproject" },
	{ "cargo", { { "Cargo.toml", "" } }, "[cargo][test][--quiet]", "Cargo.toml" },
	{ "go", { { "go.mod", "" } }, "[go][test][./...]", "go.mod" },
	{ "loose tests at the top", { { "test_a.py", "" } }, "[python3][-m][pytest][-q]", "test_*.py" },
	{ "loose tests one below", { { "tests/test_a.py", "" } }, "[python3][-m][pytest][-q]", "test_*.py" },
	{ "a helper is no test", { { "tests/helper.py", "" } }, "", "none" },
	{ "a rule whose program is not there is passed over",
		{ { "setup.py", "" }, { "AGENTS.md", "Test: frobnicate\n" } }, "[python3][-m][pytest][-q]",
		"pyproject" },
	{ "a script that is not there neither", { { "AGENTS.md", "Test: ./missing.sh\n" } }, "", "none" },
};

/* Directories of the path, with the programs the rules may find. */
static struct str_list fake_path(const struct test_dir *bin)
{
	static const char *const programs[] = { "make", "sh", "npm", "python3", "cargo", "go" };
	static struct str path[2];

	for (size_t i = 0; i < COUNT(programs); i++) {
		test_write(bin, programs[i], STR("#!/bin/sh\n"));
		CHECK(fchmodat(bin->fd, programs[i], 0755, 0) == 0);
	}
	path[0] = STR("/nonexistent-agent6");
	path[1] = str_from(bin->path);
	return (struct str_list){ path, 2 };
}

TEST(the_gate_is_inferred_by_fixed_rules)
{
	auto_dir struct test_dir bin = test_dir_new();
	struct str_list path = fake_path(&bin);

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(1024);
		struct gate_found found;

		for (size_t k = 0; k < COUNT(cases[i].files) && cases[i].files[k].name; k++)
			test_write(&dir, cases[i].files[k].name, str_from(cases[i].files[k].text));
		gate_infer(dir.fd, &path, mem, &found);
		for (size_t k = 0; k < found.command.n; k++)
			CHECK(buf_addf(&got, ERR_DISCARD, "[" STR_FMT "]", STR_ARG(found.command.p[k])) == 0);
		if (!str_eqz(buf_str(&got), cases[i].want) || strcmp(found.source, cases[i].source) != 0)
			print_error("case: %s\n", cases[i].why);
		CHECK_STR(buf_str(&got), str_from(cases[i].want));
		CHECK_STR(str_from(found.source), str_from(cases[i].source));
	}
}

/* What a model says the verify command is. */
TEST(an_answer_that_can_be_no_gate_is_none)
{
	static const char nul[] = "a\0b", bad[] = "\xff";
	static const struct {
		struct str words[3];
		size_t n;
		const char *why;
	} answers[] = {
		{ { { "make", 4 }, { "test", 4 } }, 2, NULL },
		{ { { "sh", 2 }, { "-c", 2 }, { "make test | tee x", 17 } }, 3, NULL },
		{ { { NULL, 0 } }, 0, "there is none" },
		{ { { "true", 4 } }, 1, "it looks at nothing" },
		{ { { "echo", 4 }, { "ok", 2 } }, 2, "it looks at nothing" },
		{ { { "nosuch", 6 } }, 1, "its program is not there" },
		{ { { "../make", 7 } }, 1, "its program is not there" },
		{ { { "", 0 }, { "test", 4 } }, 2, "a word of it is empty, too long or no text" },
		{ { { "make", 4 }, { "", 0 } }, 2, "a word of it is empty, too long or no text" },
		{ { { "make", 4 }, { nul, 3 } }, 2, "a word of it is empty, too long or no text" },
		{ { { "make", 4 }, { bad, 1 } }, 2, "a word of it is empty, too long or no text" },
	};
	auto_dir struct test_dir bin = test_dir_new(), dir = test_dir_new();
	struct str_list path = fake_path(&bin);

	for (size_t i = 0; i < COUNT(answers); i++) {
		struct str words[3];
		const struct str_list l = { words, answers[i].n };
		const char *why;

		memcpy(words, answers[i].words, sizeof(words));
		why = gate_objection(dir.fd, &path, &l);
		CHECK_STR(str_from(why ? why : ""), str_from(answers[i].why ? answers[i].why : ""));
	}
}

TEST(notes_that_hold_a_nul_are_no_notes)
{
	static const char text[] = "Verify: `./a\0b`\n";
	static const struct str_list path = { 0 };
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct gate_found found;

	test_write(&dir, "AGENTS.md", str_of(text, sizeof(text) - 1));
	gate_infer(dir.fd, &path, mem, &found);
	CHECK_INT(found.command.n, 0);
}

TEST(an_executable_verify_sh_is_called_by_itself)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct str_list path = { 0 };
	struct gate_found found;

	test_write(&dir, "verify.sh", STR("#!/bin/sh\n"));
	CHECK(fchmodat(dir.fd, "verify.sh", 0755, 0) == 0);
	gate_infer(dir.fd, &path, mem, &found);
	CHECK_INT(found.command.n, 1);
	CHECK_STR(found.command.p[0], STR("./verify.sh"));
}

TEST(inference_neither_waits_for_a_fifo_nor_follows_a_link_out)
{
	auto_dir struct test_dir dir = test_dir_new(), out = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct str_list path = { 0 };
	struct gate_found found;
	struct str target = str_printf(mem, "%s/AGENTS.md", out.path);

	test_write(&out, "AGENTS.md", STR("Verify: make evil\n"));
	CHECK(symlinkat(target.p, dir.fd, "AGENTS.md") == 0);
	CHECK(mkfifoat(dir.fd, "package.json", 0600) == 0);
	CHECK(mkfifoat(dir.fd, "Makefile", 0600) == 0);
	gate_infer(dir.fd, &path, mem, &found);
	CHECK_STR(str_from(found.source), STR("none"));
}

TEST(a_runner_that_is_missing_is_told_from_code_that_fails)
{
	static const struct {
		const char *why, *out, *errs;
		int code;
		int64_t wall_ms;
		bool dead;
	} runs[] = {
		{ "no pytest", "", "/usr/bin/python3: No module named pytest\n", 1, 100, true },
		{ "no program", "", "sh: 1: frob: not found\n", 127, 5, true },
		{ "conftest", "ImportError while loading conftest '/w/conftest.py'\n", "", 4, 900, true },
		{ "the same words after long work", "", "No module named pytest\n", 1, 3001, false },
		{ "red tests", "1 failed, 3 passed\n", "", 1, 500, false },
		{ "green, whatever it prints", "command not found\n", "", 0, 10, false },
	};

	for (size_t i = 0; i < COUNT(runs); i++) {
		struct job_result job = { .why = JOB_EXITED,
			.code = runs[i].code,
			.wall_ms = runs[i].wall_ms,
			.out = str_from(runs[i].out),
			.errs = str_from(runs[i].errs) };

		if (gate_did_not_run(&job) != runs[i].dead)
			print_error("case: %s\n", runs[i].why);
		CHECK_INT(gate_did_not_run(&job), runs[i].dead);
	}
}

TEST(failures_that_differ_in_numbers_and_places_only_are_the_same)
{
	static const char *const same[] = { "t.py:12: AssertionError at 0x7ffe1234 in 0.12s (/tmp/a/b)\n",
		"t.py:9: AssertionError at 0x55aa in 11.5s (/tmp/x)\n" };
	struct job_result a = { .code = 1, .out = str_from(same[0]) },
			  b = { .code = 1, .out = str_from(same[1]) };
	struct job_result c = { .code = 1,
		.out = STR("t.py:12: KeyError at 0x7ffe1234 in 0.12s (/tmp/a/b)\n") };
	struct job_result d = { .code = 2, .out = str_from(same[0]) };

	CHECK(gate_signature(&a) == gate_signature(&b));
	CHECK(gate_signature(&a) != gate_signature(&c));
	CHECK(gate_signature(&a) != gate_signature(&d));
}
