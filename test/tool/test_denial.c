/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial.h"

#include "test/lib/test.h"

#include <string.h>

static const struct tool_root roots[] = {
	{ -1, { "/w/p", 4 }, true }, { -1, { "/home/me/docs", 13 }, false }, { -1, { "/home/me/out", 12 }, true } };

static struct denial explain(struct tool_ctx *ctx, const char *errs, enum job_end why, int code, struct arena *mem)
{
	struct str hidden[] = { STR("/w/p/secret") };
	const struct str_list hide = { hidden, COUNT(hidden) };
	const struct job_result job = { .why = why, .code = code, .errs = str_from(errs), .note = str_from(errs) };
	struct denial d;

	ctx->roots = roots;
	ctx->nroots = COUNT(roots);
	ctx->hide_paths = &hide;
	denial_explain(ctx, &job, mem, &d);
	return d;
}

#define NOTHING "-"   /* no note */
#define NO_KEY  "none" /* a note, and nothing allows it */

TEST(denial_names_the_key_when_it_was_the_jail_and_says_nothing_when_it_was_not)
{
	static const struct {
		const char *errs, *key;
	} table[] = {
		/* files */
		{ "touch: cannot touch '../outside': Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "touch: cannot touch '/etc/x': Read-only file system\n", NO_KEY },
		{ "mkdir: cannot create directory '/usr/local/lib/x': Permission denied", NO_KEY },
		{ "cat: /home/me/.ssh/id_rsa: No such file or directory\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "sh: 1: cannot create /home/me/docs/a: Read-only file system", "sandbox.extra_write_paths" },
		{ "PermissionError: [Errno 13] Permission denied: '/srv/data/x y.db'", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "OSError: [Errno 30] Read-only file system: '/srv/data'", "sandbox.extra_write_paths" },
		{ "Error: EACCES: permission denied, open '/root/.npmrc'\n    at x\n    at y\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "fatal: Unable to create '/w/p/.git/index.lock': Read-only file system\n", "sandbox.protect_git" },
		{ "sh: 1: cannot create .git/config: Read-only file system\n", "sandbox.protect_git" },
		{ "cat: /w/p/secret/key: Permission denied\n", "sandbox.hide_paths" },
		{ "bash: /opt/sdk/bin/tool: No such file or directory", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "a\nb\ncp: cannot create regular file '/w/q/f': Permission denied\nmake: *** [Makefile:3: x] Error 1\n",
			"sandbox.extra_read_paths (or extra_write_paths)" },
		/* network */
		{ "curl: (6) Could not resolve host: example.com\n", "sandbox.tool_network" },
		{ "socket.gaierror: [Errno -3] Temporary failure in name resolution\n", "sandbox.tool_network" },
		{ "npm ERR! network request failed, reason: getaddrinfo EAI_AGAIN packages.example.org\n", "sandbox.tool_network" },
		{ "OSError: [Errno 101] Network is unreachable", "sandbox.tool_network" },
		{ "go: dial tcp: lookup modules.example.org on [::1]:53: read: connection refused\n", "sandbox.tool_network" },
		{ "psql: error: connection to server at \"127.0.0.1\", port 5432 failed: Connection refused\n", "sandbox.tool_network" },
		/* system calls */
		{ "mount: /mnt: must be superuser to use mount.\n", NO_KEY },
		{ "unshare: unshare failed: Operation not permitted\n", NO_KEY },
		{ "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted\n", NO_KEY },
		{ "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n", NO_KEY },
		{ "OSError: [Errno 97] Address family not supported by protocol\n", NO_KEY },
		{ "chroot: cannot change root directory to '.': Operation not permitted\n", NO_KEY },
		/* as it is printed where there is more than ASCII, relative, beside the workspace */
		{ "mkdir: cannot create directory \xe2\x80\x98/opt/x y\xe2\x80\x99: Read-only file system\n", "sandbox.extra_write_paths" },
		{ "cat: secret/key: No such file or directory\n", "sandbox.hide_paths" },
		{ "sh: 1: cannot create secret/new: Read-only file system\n", "sandbox.hide_paths" },
		{ "sh: 1: cannot create ../q/new: Directory nonexistent\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "cat: /w/q/file: No such file or directory\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		/* ordinary failures */
		{ "test: saw EACCES for /home/me/x as it should\nFAILED other\n", NOTHING },
		{ "cat: secrets/key: No such file or directory\n", NOTHING },
		{ "", NOTHING },
		{ "test_denied: expected \"Permission denied\"\n1 failed, 3 passed\n", NOTHING },
		{ "open /w/p/fixtures/locked: Permission denied (expected)\nFAIL other_test\n", NOTHING },
		{ "open fixtures/locked: Permission denied\nassertion failed\n", NOTHING },
		{ "cat: /w/p/missing: No such file or directory\n", NOTHING },
		{ "cat: /nonexistent: No such file or directory\n", NOTHING },
		{ "cat: missing: No such file or directory\n", NOTHING },
		{ "/usr/bin/ld: cannot find -lfoo: No such file or directory\n", NOTHING },
		{ "a.c:1:10: fatal error: foo.h: No such file or directory\n    1 | #include \"foo.h\"\n", NOTHING },
		{ "gcc: error: /usr/lib/x.o: No such file or directory\n", NOTHING },
		{ "cat: /tmp/x: No such file or directory\n", NOTHING },
		{ "sh: 1: ./script.sh: Permission denied\n", NOTHING },
		{ "cp: cannot open '/home/me/docs/locked': Permission denied\n", NOTHING },
		{ "cp: cannot open '/home/me/out/locked': Permission denied\n", NOTHING },
		{ "ok: connection refused as expected\nTest A failed\nTest B failed\nTest C failed\n", NOTHING },
		{ "saw: cat: /home/me/x: No such file or directory\na\nb\nc\n", NOTHING },
		{ "Traceback:\n  File \"/usr/lib/python3/x.py\", line 1\nAssertionError: 1 != 2\n", NOTHING },
		{ "chmod: changing permissions of 'a': Operation not permitted\n", NOTHING },
		{ "git@x: Permission denied (publickey).\n", NOTHING },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(table); i++) {
		struct tool_ctx ctx = { 0 };
		struct denial d = explain(&ctx, table[i].errs, JOB_EXITED, 1, mem);
		const char *got = d.note.n == 0 ? NOTHING : d.key ? d.key : NO_KEY;

		CHECK(strcmp(got, table[i].key) == 0);
		CHECK(d.note.n < 320 && utf8_valid(d.note));
		/* The same words from a command that succeeded, was stopped or had no jail say nothing. */
		CHECK_INT(explain(&ctx, table[i].errs, JOB_EXITED, 0, mem).note.n, 0);
		CHECK_INT(explain(&ctx, table[i].errs, JOB_STOPPED, 137, mem).note.n, 0);
		CHECK_INT(explain(&ctx, table[i].errs, JOB_TIMEOUT, 124, mem).note.n, 0);
		ctx.unconfined = true;
		CHECK_INT(explain(&ctx, table[i].errs, JOB_EXITED, 1, mem).note.n, 0);
		ctx = (struct tool_ctx){ .commands_online = true };
		if (strcmp(table[i].key, "sandbox.tool_network") == 0)
			CHECK_INT(explain(&ctx, table[i].errs, JOB_EXITED, 1, mem).note.n, 0);
	}
}

TEST(denial_explains_a_program_that_lies_outside)
{
	auto_arena struct arena *mem = arena_new();
	struct tool_ctx ctx = { 0 };

	CHECK(explain(&ctx, "/opt/x/tool: No such file or directory", JOB_UNRUNNABLE, 127, mem).key != NULL);
	CHECK_INT(explain(&ctx, "no-such-tool: No such file or directory", JOB_UNRUNNABLE, 127, mem).note.n, 0);
}
