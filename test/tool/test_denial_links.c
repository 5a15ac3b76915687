/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial.h"

#include "test/lib/test.h"

#include <string.h>
#include <unistd.h>

static const struct tool_root roots[] = { { -1, { "/w/p", 4 }, true }, { -1, { "/home/me/docs", 13 }, false } };

static const struct {
	const char *path, *target; /* NULL: a directory, "": a file */
} disk[] = {
	{ "/w/p", NULL }, { "/w/p/sub", NULL }, { "/w/p/file", "" },
	{ "/w/p/tool", "/opt/sdk/bin/tool" }, { "/w/p/data", "/mnt/set/one" }, { "/w/p/flat", "/opt/flat" }, { "/w/p/mine", "../../home/me/x" },
	{ "/w/p/sub/again", "../tool" }, { "/w/p/gone", "/opt/gone/x" }, { "/w/p/nowhere", "no-such" }, { "/w/p/custom", "/nix/y/z" },
	{ "/w/p/round", "round" }, { "/w/p/hid", "secret/key" }, { "/w/p/lib", "/usr/lib/x" }, { "/w/p/meta", ".git/config" },
	{ "/w/p/docs", "/home/me/docs/a" }, { "/w/p/tmp", "/tmp/x" },
	{ "/usr", NULL }, { "/usr/lib", NULL }, { "/usr/lib/x", NULL }, { "/usr/lib/sdk", "/opt/sdk" }, { "/usr/bin", NULL }, { "/usr/bin/prog", "/etc/alternatives/prog" },
	{ "/usr/bin/real", "" }, { "/usr/lib/alt", "/etc/alternatives/prog" }, { "/etc", NULL }, { "/etc/alternatives", NULL },
	{ "/etc/alternatives/prog", "/opt/sdk/bin/prog" }, { "/etc/unseen", "/opt/sdk/unseen" },
	{ "/home/me/docs", NULL }, { "/home/me/docs/a", "" },
};
/* What is there besides, for who sees the host. */
static const char *const outside[] = { "/opt/sdk/bin/tool", "/opt/sdk/bin/prog", "/opt/sdk", "/mnt/set/one", "/opt/flat", "/home/me/x",
	"/nix/y/z", "/w/p/secret/key", "/opt/sdk/unseen", "/w/p/.git/config" };
static bool on_host;

static enum denial_look look(struct str path, struct arena *mem, struct str *target)
{
	(void)mem;
	for (size_t i = 0; i < COUNT(disk); i++)
		if (str_eqz(path, disk[i].path) && disk[i].target && disk[i].target[0] != '\0') {
			*target = str_from(disk[i].target);
			return DENIAL_LOOK_LINK;
		} else if (str_eqz(path, disk[i].path)) {
			return disk[i].target ? DENIAL_LOOK_OTHER : DENIAL_LOOK_DIR;
		}
	for (size_t i = 0; i < COUNT(outside) && on_host; i++)
		if (str_eqz(path, outside[i]))
			return DENIAL_LOOK_OTHER;
	return DENIAL_LOOK_NONE;
}

static struct denial explain(const char *errs, bool host, denial_look_fn *fn, struct arena *mem)
{
	struct str hidden[] = { STR("/w/p/secret") };
	bool unrunnable = str_starts(str_from(errs), STR("! "));
	const struct denial_jail jail = { .roots = roots, .nroots = COUNT(roots), .cwd = roots[0].path, .hide_paths = { hidden, COUNT(hidden) },
		.look = fn, .looks_outside = host };
	struct job_result job = { .why = JOB_EXITED, .code = 1, .errs = str_from(errs) };
	struct denial d;

	if (unrunnable)
		job = (struct job_result){ .why = JOB_UNRUNNABLE, .code = 127, .note = str_from(errs + 2) };
	on_host = host;
	denial_explain(&jail, &job, mem, &d);
	return d;
}

#define SEE " is a link to /opt/sdk/bin/tool, which is outside what commands may see; the operator's sandbox.extra_read_paths decides, with /opt/sdk/bin in it"

TEST(denial_names_a_link_that_leads_out_of_what_is_shown_and_where_to)
{
	static const struct {
		const char *why, *errs, *inside, *host; /* the note's beginning, of who sees what is shown and of who sees the host; "": none */
	} cases[] = {
		{ "its end is elsewhere", "cat: tool: No such file or directory\n", "/w/p/tool" SEE, "=" },
		{ "its whole name", "cat: /w/p/tool: No such file or directory\n", "/w/p/tool" SEE, "=" },
		{ "a link to a link", "cat: sub/again: No such file or directory\n", "/w/p/sub/again" SEE, "=" },
		{ "opened where all is there and little may be", "cat: tool: Permission denied\n", "/w/p/tool" SEE, "=" },
		{ "a program", "! ./tool: No such file or directory", "/w/p/tool" SEE, "=" },
		{ "a program that may not be run", "! ./tool: Permission denied", "/w/p/tool" SEE, "=" },
		{ "a shell's program", "sh: 1: ./tool: not found\n", "/w/p/tool" SEE, "=" },
		{ "a name in what is shown of /etc", "cat: /etc/alternatives/prog: No such file or directory\n",
			"/etc/alternatives/prog is a link to /opt/sdk/bin/prog, which is outside what commands may see; the operator's "
			"sandbox.extra_read_paths decides, with /opt/sdk/bin in it", "=" },
		{ "a program without a place", "sh: 1: prog: not found\n", "/usr/bin/prog is a link to /opt/sdk/bin/prog, which is outside", "=" },
		{ "the same", "bash: line 1: prog: command not found\n", "/usr/bin/prog is a link to /opt/sdk/bin/prog, which is outside", "=" },
		{ "the same, run at once", "! prog: No such file or directory", "/usr/bin/prog is a link to /opt/sdk/bin/prog, which is outside", "=" },
		{ "not of a file of that name", "cat: prog: No such file or directory\n", "", "" },
		{ "a name of the system", "cat: /usr/lib/alt: No such file or directory\n", "/usr/lib/alt is a link to /opt/sdk/bin/prog, which", "=" },
		{ "a link on the way", "cat: /usr/lib/sdk/share/x: No such file or directory\n",
			"/usr/lib/sdk is a link to /opt/sdk, which is outside what commands may see; the operator's sandbox.extra_read_paths decides, "
			"with /opt/sdk in it", "=" },
		{ "a directory of data", "FileNotFoundError: [Errno 2] No such file or directory: 'data/x.csv'\n",
			"/w/p/data is a link to /mnt/set/one, which is outside what commands may see; the operator's sandbox.extra_read_paths decides, "
			"with /mnt/set/one in it", "=" },
		{ "no directory of the top is asked for", "cat: flat: No such file or directory\n", "/w/p/flat is a link to /opt/flat, which is outside what "
			"commands may see; the operator's sandbox.extra_read_paths decides, with /opt/flat in it", "=" },
		{ "nor a home", "cat: mine: No such file or directory\n", "/w/p/mine is a link to /home/me/x, which is outside what commands may see; the "
			"operator's sandbox.extra_read_paths decides, with /home/me/x in it", "=" },
		{ "it leads to nothing, as who sees the host knows", "cat: gone: No such file or directory\n", "/w/p/gone is a link to /opt/gone/x, which", "" },
		{ "to nothing in the workspace", "cat: nowhere: No such file or directory\n", "", "" },
		{ "where things are seldom kept, when it is there", "cat: custom: No such file or directory\n", "", "/w/p/custom is a link to /nix/y/z, which" },
		{ "in a circle", "cat: round: Too many levels of symbolic links\ncat: round: No such file or directory\n", "", "" },
		{ "to what is hidden", "cat: hid: No such file or directory\n", "/w/p/hid is a link to /w/p/secret/key, which is hidden from commands; the "
			"operator's sandbox.hide_paths decides", "=" },
		{ "writing through one", "sh: 1: cannot create lib/y: Read-only file system\n", "/w/p/lib is a link to /usr/lib/x, which is part of the system", "=" },
		{ "the same, into .git", "sh: 1: cannot create meta: Read-only file system\n", "/w/p/meta is a link to /w/p/.git/config, which is read-only", "=" },
		{ "the same, into what is granted to be read", "sh: 1: cannot create docs: Read-only file system\n",
			"/w/p/docs is a link to /home/me/docs/a, which may be read and not written; the operator's sandbox.extra_write_paths decides", "=" },
		{ "the same, elsewhere", "touch: cannot touch 'tool': Permission denied\n", "/w/p/tool is a link to /opt/sdk/bin/tool, which is outside what "
			"commands may write; the operator's sandbox.extra_write_paths decides", "=" },
		{ "reading what is shown and nobody may read", "cat: lib: Permission denied\n", "", "" },
		{ "the same, of a grant", "cat: docs: Permission denied\n", "", "" },
		{ "a cell has a /tmp of its own", "cat: tmp: No such file or directory\n", "", "" },
		{ "no link", "cat: file: Permission denied\n", "", "" },
		{ "nothing", "cat: sub/missing: No such file or directory\n", "", "" },
		{ "what is not shown of /etc", "cat: /etc/unseen: No such file or directory\n", "/etc/unseen is not in the part of /etc", "=" },
		{ "a program that is nowhere", "sh: 1: no-such: not found\n", "", "" },
		{ "one that is there", "bash: line 1: real: command not found\n", "", "" },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++)
		for (int host = 0; host < 2; host++) {
			const char *want = host == 0 || strcmp(cases[i].host, "=") != 0 ? (host ? cases[i].host : cases[i].inside) : cases[i].inside;
			struct denial d = explain(cases[i].errs, host == 1, look, mem);

			if (!str_starts(d.note, str_from(want)) || (*want == '\0') != (d.note.n == 0))
				print_error("%s (%s): " STR_FMT "\n", cases[i].why, host ? "host" : "inside", STR_ARG(d.note));
			CHECK(str_starts(d.note, str_from(want)) && (*want == '\0') == (d.note.n == 0));
			CHECK(d.link.n == 0 || (d.path.n > 0 && d.grant <= d.path.n && !d.cut));
		}
}

TEST(denial_follows_no_link_where_nobody_looks)
{
	auto_arena struct arena *mem = arena_new();

	CHECK_INT(explain("cat: tool: No such file or directory\n", true, NULL, mem).rule, DENIAL_NONE);
	CHECK_INT(explain("! prog: No such file or directory", true, NULL, mem).rule, DENIAL_NONE);
}

TEST(denial_disk_tells_a_link_a_directory_and_what_is_not_there_apart)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct str at = str_from(dir.path), target = STR("");

	test_write(&dir, "f", STR("x"));
	CHECK(symlinkat("no/where", dir.fd, "l") == 0);
	CHECK_INT(denial_disk(at, mem, &target), DENIAL_LOOK_DIR);
	CHECK_INT(denial_disk(str_printf(mem, STR_FMT "/f", STR_ARG(at)), mem, &target), DENIAL_LOOK_OTHER);
	CHECK_INT(denial_disk(str_printf(mem, STR_FMT "/g", STR_ARG(at)), mem, &target), DENIAL_LOOK_NONE);
	CHECK_INT(denial_disk(str_printf(mem, STR_FMT "/f/g", STR_ARG(at)), mem, &target), DENIAL_LOOK_NONE);
	CHECK_STR(target, STR(""));
	CHECK_INT(denial_disk(str_printf(mem, STR_FMT "/l", STR_ARG(at)), mem, &target), DENIAL_LOOK_LINK);
	CHECK_STR(target, STR("no/where"));
}
