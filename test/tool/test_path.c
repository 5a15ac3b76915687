/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define CREATE(path) "{`path`:`" path "`,`edits`:[{`kind`:`create`,`new_string`:`n`}]}"

static void outside(struct kit *k)
{
	struct test_dir d = { .fd = k->dir.fd };

	test_write(&d, "outside/s.txt", STR("TOPSECRET\n"));
	CHECK(symlinkat("../outside", k->ws, "out") == 0);
	CHECK(symlinkat("../outside/s.txt", k->ws, "f.txt") == 0);
	CHECK(symlinkat(str_printf(k->mem, "%s/outside/s.txt", k->dir.path).p, k->ws, "abs") == 0);
	CHECK(symlinkat("../outside/not-yet", k->ws, "dangling") == 0);
	CHECK(symlinkat("/proc/self/root/etc", k->ws, "magic") == 0);
	CHECK(symlinkat("loop", k->ws, "loop") == 0);
}

static const struct {
	const char *tool, *args, *says;
} escapes[] = {
	{ "read_file", "{`path`:`out/s.txt`}", "the link out -> ../outside leads outside" },
	{ "read_file", "{`path`:`f.txt`}", "leads outside the workspace" },
	{ "read_file", "{`path`:`abs`}", "leads outside the workspace" },
	{ "read_file", "{`path`:`../outside/s.txt`}", "is outside the workspace" },
	{ "read_file", "{`path`:`a/../../outside/s.txt`}", "is outside the workspace" },
	{ "read_file", "{`path`:`/etc/passwd`}", "is outside the workspace" },
	{ "read_file", "{`path`:`magic/passwd`}", "leads outside the workspace" },
	{ "read_file", "{`path`:`loop`}", "more than 40 links" },
	{ "read_file", "{`path`:`x\\u0000y`}", "NUL" },
	{ "list_dir", "{`path`:`out`}", "leads outside the workspace" },
	{ "list_dir", "{`path`:`..`}", "is outside the workspace" },
	{ "apply_edit", CREATE("out/n.txt"), "leads outside the workspace" },
	{ "apply_edit", CREATE("dangling"), "leads outside the workspace" },
	{ "apply_edit", "{`path`:`f.txt`,`edits`:[{`old_string`:`TOPSECRET`,`new_string`:`x`}]}", "leads outside" },
	{ "apply_patch", "{`patch`:`--- a/out/s.txt\\n+++ b/out/s.txt\\n@@ -1 +1 @@\\n-TOPSECRET\\n+x\\n`}", "leads outside" },
	{ "grep", "{`pattern`:`TOP`,`path`:`out`}", "leads outside the workspace" },
};

TEST(no_tool_follows_a_path_out_of_the_workspace)
{
	auto_kit struct kit k;

	kit_init(&k);
	outside(&k);
	for (size_t i = 0; i < COUNT(escapes); i++) {
		kit_call(&k, escapes[i].tool, escapes[i].args);
		CHECK(!k.oc.ok && !k.oc.edited);
		CHECK_HOLDS(&k, escapes[i].says);
		CHECK_LACKS(&k, "TOPSECRET\\n");
	}
	CHECK(file_is(k.dir.fd, "outside/s.txt", STR("TOPSECRET\n")));
	CHECK(faccessat(k.dir.fd, "outside/n.txt", F_OK, 0) < 0 && faccessat(k.dir.fd, "outside/not-yet", F_OK, 0) < 0);
}

TEST(links_that_stay_inside_work_however_they_are_written)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "real/a.txt", "a\n");
	kit_put(&k, "deep/er/x", "x\n");
	CHECK(symlinkat("real", k.ws, "link") == 0);
	CHECK(symlinkat(str_printf(k.mem, "%s/ws/real", k.dir.path).p, k.ws, "abs") == 0);
	CHECK(symlinkat("../../real/a.txt", k.ws, "deep/er/up") == 0);
	CHECK(symlinkat("real/later", k.ws, "dangling") == 0);

	kit_call(&k, "read_file", "{`path`:`link/a.txt`}");
	CHECK_HOLDS(&k, "\"a\\n\"");
	kit_call(&k, "read_file", "{`path`:`abs/./a.txt`}");
	CHECK_HOLDS(&k, "\"a\\n\"");
	kit_call(&k, "read_file", "{`path`:`deep//er/up`}");
	CHECK_HOLDS(&k, "\"a\\n\"");
	kit_call(&k, "read_file", str_printf(k.mem, "{`path`:`%s/ws/link/a.txt`}", k.dir.path).p);
	CHECK_HOLDS(&k, "\"a\\n\"");
	kit_call(&k, "apply_edit", CREATE("link/sub/n.txt"));
	CHECK(kit_is(&k, "real/sub/n.txt", "n"));
	kit_call(&k, "apply_edit", CREATE("dangling"));
	CHECK(kit_is(&k, "real/later", "n"));
	kit_call(&k, "list_dir", "{}");
	CHECK_HOLDS(&k, "\"link/\"");
}

static const struct {
	const char *path, *says;
} kept[] = {
	{ ".git/config", "may not be written" },
	{ ".git/hooks/new", "may not be written" },
	{ ".GIT/config", "may not be written" },
	{ "./.Git/x", "may not be written" },
	{ "decoy/config", "may not be written" },
	{ "sub/.git/../.git/x", "outside" },
	{ "env/lib/x.py", "virtual environment" },
	{ "lib/Site-Packages/x.py", "installed packages" },
	{ "secret/key", "hidden by the operator" },
	{ "SECRET/key", "hidden by the operator" },
	{ ".", "is a directory" },
};

TEST(protected_places_are_never_written)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, ".git/config", "c\n");
	kit_put(&k, "env/pyvenv.cfg", "");
	kit_put(&k, "secret/key", "k\n");
	k.hide = (struct str_list){ &(struct str){ 0 }, 1 };
	k.hide.p[0] = str_printf(k.mem, "%s/ws/secret", k.dir.path);
	CHECK(symlinkat(".git", k.ws, "decoy") == 0);
	for (size_t i = 0; i < COUNT(kept); i++) {
		kit_call(&k, "apply_edit", str_printf(k.mem, "{`path`:`%s`,`edits`:[{`kind`:`create`,`new_string`:`n`}]}",
			kept[i].path).p);
		CHECK(!k.oc.ok);
		CHECK_HOLDS(&k, kept[i].says);
	}
	CHECK(!kit_exists(&k, ".git/hooks") && !kit_exists(&k, "lib") && !kit_exists(&k, "SECRET"));
	kit_call(&k, "apply_edit", CREATE(".github/x"));
	CHECK(k.oc.ok);
	kit_call(&k, "apply_edit", CREATE("sub/.git/x"));
	CHECK(k.oc.ok);
	kit_call(&k, "read_file", "{`path`:`.git/config`}");
	CHECK(k.oc.ok);
	kit_call(&k, "read_file", "{`path`:`secret/key`}");
	CHECK_HOLDS(&k, "hidden by the operator");
	kit_call(&k, "list_dir", "{}");
	CHECK_LACKS(&k, "secret");
	CHECK_HOLDS(&k, "\"hidden\":1");
}

TEST(a_granted_place_is_read_by_its_absolute_path_and_not_written)
{
	auto_kit struct kit k;
	struct test_dir d = { 0 };

	kit_init(&k);
	d.fd = k.roots[1].dirfd;
	test_write(&d, "x", STR("granted\n"));
	kit_call(&k, "read_file", str_printf(k.mem, "{`path`:`%s/more/x`}", k.dir.path).p);
	CHECK_HOLDS(&k, "granted");
	kit_call(&k, "apply_edit", str_printf(k.mem, "{`path`:`%s/more/y`,`edits`:[{`kind`:`create`,`new_string`:`n`}]}",
		k.dir.path).p);
	CHECK_HOLDS(&k, "granted for reading only");
}

TEST(what_is_no_regular_file_is_refused_at_once)
{
	auto_kit struct kit k;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	kit_init(&k);
	CHECK(mkfifoat(k.ws, "p", 0644) == 0);
	autoclose int s = socket(AF_UNIX, SOCK_STREAM, 0);
	struct str at = str_printf(k.mem, "%s/ws/s", k.dir.path);
	CHECK(at.n < sizeof(addr.sun_path));
	memcpy(addr.sun_path, at.p, at.n);
	CHECK(bind(s, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	kit_put(&k, "d/x", "x");
	for (size_t i = 0; i < 3; i++) {
		const char *name = (const char *[]){ "p", "s", "d" }[i];

		kit_call(&k, "read_file", str_printf(k.mem, "{`path`:`%s`}", name).p);
		CHECK_HOLDS(&k, "not a regular file");
		kit_call(&k, "apply_edit",
			str_printf(k.mem, "{`path`:`%s`,`edits`:[{`old_string`:`a`,`new_string`:`b`}]}", name).p);
		CHECK_HOLDS(&k, "not a regular file");
	}
	kit_call(&k, "list_dir", "{`path`:`p`}");
	CHECK_HOLDS(&k, "p is not a directory");
	kit_call(&k, "read_file", "{`path`:`gone`}");
	CHECK_HOLDS(&k, "No such file");
}

TEST(odd_names_are_shown_quoted_and_taken_back)
{
	static const struct { const char *bytes, *json; } names[] = {
		{ "-n", "-n" }, { "a -> b", "a -> b" }, { "\xC3\xA4 \xE4\xB8\xAD.txt", "\xC3\xA4 \xE4\xB8\xAD.txt" },
		{ "nl\nx", "\\\"nl\\\\nx\\\"" }, { "bad\xff", "\\\"bad\\\\377\\\"" }, { "q\"u", "q\\\"u" },
		{ "back\\s", "back\\\\s" }, { "esc\x1b[31m", "\\\"esc\\\\033[31m\\\"" }, { "\"q", "\\\"\\\\\\\"q\\\"" },
	};
	auto_kit struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < COUNT(names); i++)
		kit_put(&k, names[i].bytes, "needle\n");
	kit_call(&k, "list_dir", "{}");
	for (size_t i = 0; i < COUNT(names); i++)
		CHECK_HOLDS(&k, str_printf(k.mem, "\"%s\"", names[i].json).p);
	for (size_t i = 0; i < COUNT(names); i++) {
		kit_call(&k, "apply_edit", str_printf(k.mem,
			"{`path`:`%s`,`edits`:[{`old_string`:`needle`,`new_string`:`pin`}]}", names[i].json).p);
		CHECK(k.oc.ok && kit_is(&k, names[i].bytes, "pin\n"));
		CHECK_HOLDS(&k, names[i].json);
	}
}
