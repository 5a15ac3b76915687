/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "sys/fault.h"
#include "tool/change.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define EDIT(old, new) "{`path`:`f`,`edits`:[{`old_string`:`" old "`,`new_string`:`" new "`}]}"

static const struct {
	const char *why, *before, *args, *after; /* after NULL: refused and untouched */
} edits[] = {
	{ "one exact place", "a\nb\nc\n", EDIT("b", "B"), "a\nB\nc\n" },
	{ "LF text finds a CRLF place", "one\r\ntwo\r\nthree\r\n", EDIT("one\\ntwo\\n", "ONE\\nTWO\\n"),
		"ONE\r\nTWO\r\nthree\r\n" },
	{ "new lines end as their neighbours", "a\r\nb\r\n", EDIT("b", "b\\nc"), "a\r\nb\r\nc\r\n" },
	{ "CRLF sent to an LF file becomes LF", "a\nb\nc\n", EDIT("a\\r\\nb", "x\\r\\ny"), "x\ny\nc\n" },
	{ "CRLF in new text alone becomes LF", "a\nb\n", EDIT("b", "b\\r\\nc"), "a\nb\nc\n" },
	{ "a mixed file keeps each ending", "a\nb\r\nc\n", EDIT("b", "b\\nx"), "a\nb\r\nx\r\nc\n" },
	{ "a byte order mark stays", "\xEF\xBB\xBF" "Dim a\r\nx\r\n", EDIT("Dim a", "Dim b"), "\xEF\xBB\xBF" "Dim b\r\nx\r\n" },
	{ "other encodings stay", "int x = 1;\r\n// caf\xe9\r\n", EDIT("x = 1", "x = 2"), "int x = 2;\r\n// caf\xe9\r\n" },
	{ "no final newline stays none", "a\nb", EDIT("b", "c"), "a\nc" },
	{ "straight to curly quotes is a change", "'x'\n", EDIT("'x'", "\\u2018x\\u2019"), "\xE2\x80\x98x\xE2\x80\x99\n" },
	{ "nothing is expanded", "X\n", EDIT("X", "$1 \\\\1 $& \\\\n %s"), "$1 \\1 $& \\n %s\n" },
	{ "a joined emoji at the end is whole", "X", EDIT("X", "\xE6\x9C\xAC\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC"),
		"\xE6\x9C\xAC\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC" },
	{ "the same shift of all lines", "if:\n\t\ta\n\t\tb\n", EDIT("\\ta\\n\\tb", "\\tc\\n\\t\\td"), "if:\n\t\tc\n\t\t\td\n" },
	{ "deeper lines first", "{\n    x {\n        y\n    }\n}\n", EDIT("  y\\n}", "  z\\n}"), "{\n    x {\n        y\n    }\n}\n" },
	{ "twice", "x = 1\ny\nx = 1\n", EDIT("x = 1", "x = 2"), NULL },
	{ "overlapping itself", "baaab\n", EDIT("aa", "c"), NULL },
	{ "empty", "b\n", EDIT("", "c"), NULL },
	{ "old equals new", "b\n", EDIT("b", "b"), NULL },
	{ "absent", "b\n", EDIT("nowhere", "c"), NULL },
	{ "spaces for tabs", "f() {\n\tif x {\n\t\treturn 2\n\t}\n}\n",
		EDIT("    if x {\\n        return 2", "    if y {\\n        return 3"), NULL },
	{ "two edits, uniqueness counts after the first", "a\nb\n",
		"{`path`:`f`,`edits`:[{`old_string`:`a`,`new_string`:`b`},{`old_string`:`b`,`new_string`:`c`}]}", NULL },
	{ "two edits in order", "a\nb\n",
		"{`path`:`f`,`edits`:[{`old_string`:`a`,`new_string`:`x`},{`old_string`:`x`,`new_string`:`y`}]}", "y\nb\n" },
	{ "none when one fails", "a\nb\n",
		"{`path`:`f`,`edits`:[{`old_string`:`a`,`new_string`:`x`},{`old_string`:`q`,`new_string`:`y`}]}", NULL },
	{ "a list that came as text", "a\n",
		"{`path`:`f`,`edits`:`[{\\`old_string\\`:\\`a\\`,\\`new_string\\`:\\`b\\`}]`}", "b\n" },
	{ "create is alone", "a\n",
		"{`path`:`f`,`edits`:[{`old_string`:`a`,`new_string`:`x`},{`kind`:`create`,`new_string`:`y`}]}", NULL },
	{ "create over a file", "a\n", "{`path`:`f`,`edits`:[{`kind`:`create`,`new_string`:`y`}]}", NULL },
	{ "an unknown member", "a\n", "{`path`:`f`,`edits`:[{`old_string`:`a`,`new_string`:`x`}],`force`:true}", NULL },
	{ "move is no kind", "a\n", "{`path`:`f`,`edits`:[{`kind`:`move`,`old_string`:`a`,`new_string`:`x`}]}", NULL },
};

TEST(apply_edit_changes_the_span_and_no_other_byte)
{
	for (size_t i = 0; i < COUNT(edits); i++) {
		auto_kit struct kit k;

		kit_init(&k);
		kit_put(&k, "f", edits[i].before);
		kit_call(&k, "apply_edit", edits[i].args);
		const char *want = edits[i].after ? edits[i].after : edits[i].before;
		bool applied = strcmp(want, edits[i].before) != 0;
		if (!kit_is(&k, "f", want) || k.oc.ok != applied || k.oc.edited != applied || kit_count(&k) != 1) {
			print_error("case: %s\n", edits[i].why);
			CHECK(false);
		}
	}
}

TEST(apply_edit_says_how_often_and_what_is_there_instead)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "f", "x = 1\ny\nx = 1\n");
	kit_call(&k, "apply_edit", EDIT("x = 1", "x = 2"));
	CHECK_HOLDS(&k, "not unique: 2 matches");
	kit_put(&k, "f", "int main(void)\n{\n\treturn value;\n}\n");
	kit_call(&k, "apply_edit", EDIT("  return value;", "x"));
	CHECK_HOLDS(&k, "differs only in whitespace (lines 3-3)");
	CHECK_HOLDS(&k, "<<<ON_DISK\\n\\treturn value;\\n>>>ON_DISK");
	kit_call(&k, "apply_edit", EDIT("{\\n\\treturn valve;", "x"));
	CHECK_HOLDS(&k, "% alike (lines 2-3)");
	CHECK_HOLDS(&k, "-\\treturn valve;");
	CHECK_HOLDS(&k, "+\\treturn value;");
	kit_call(&k, "apply_edit", EDIT("zzzzqqqq", "x"));
	CHECK_HOLDS(&k, "Nothing in the file resembles it");
	CHECK_HOLDS(&k, "4 lines");
}

TEST(apply_edit_creates_what_was_sent_and_its_directories)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_call(&k, "apply_edit", "{`path`:`e`,`edits`:[{`kind`:`create`,`old_string`:``,`new_string`:``}]}");
	CHECK(kit_is(&k, "e", ""));
	kit_call(&k, "apply_edit", "{`path`:`d/e/y.txt`,`edits`:[{`kind`:`create`,`new_string`:`y`}]}");
	CHECK(k.oc.ok && kit_is(&k, "d/e/y.txt", "y"));
	CHECK_HOLDS(&k, "\"applied\":[\"create\"],\"path\":\"d/e/y.txt\"");
	CHECK_STR(k.oc.summary, STR("applied=[create] path=d/e/y.txt"));
	CHECK(k.oc.paths.n == 1 && str_eqz(k.oc.paths.p[0], "d/e/y.txt"));
	kit_call(&k, "apply_edit", "{`path`:`gone`,`edits`:[{`old_string`:`a`,`new_string`:`y`}]}");
	CHECK_HOLDS(&k, "gone does not exist");
}

TEST(apply_edit_keeps_mode_attributes_hard_links_and_links)
{
	auto_kit struct kit k;
	struct stat before, after;
	char value[8] = "";

	kit_init(&k);
	kit_put(&k, "f", "a\n");
	CHECK(fchmodat(k.ws, "f", 0750, 0) == 0);
	autoclose int fd = openat(k.ws, "f", O_RDONLY);
	bool attrs = fsetxattr(fd, "user.note", "kept", 4, 0) == 0;
	kit_call(&k, "apply_edit", EDIT("a", "b"));
	CHECK(kit_is(&k, "f", "b\n") && fstatat(k.ws, "f", &after, 0) == 0 && (after.st_mode & 07777) == 0750);
	base_close_fd(&fd);
	fd = openat(k.ws, "f", O_RDONLY);
	CHECK(!attrs || (fgetxattr(fd, "user.note", value, sizeof(value)) == 4 && memcmp(value, "kept", 4) == 0));

	CHECK(linkat(k.ws, "f", k.ws, "g", 0) == 0 && fstatat(k.ws, "f", &before, 0) == 0);
	kit_call(&k, "apply_edit", EDIT("b", "longer than before"));
	CHECK(kit_is(&k, "g", "longer than before\n") && kit_is(&k, "f", "longer than before\n"));
	CHECK(fstatat(k.ws, "f", &after, 0) == 0 && after.st_ino == before.st_ino && after.st_nlink == 2);

	kit_put(&k, "real/t", "t\n");
	CHECK(symlinkat("real/t", k.ws, "l") == 0);
	kit_call(&k, "apply_edit", "{`path`:`l`,`edits`:[{`old_string`:`t`,`new_string`:`u`}]}");
	CHECK(kit_is(&k, "real/t", "u\n"));
	CHECK(fstatat(k.ws, "l", &after, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(after.st_mode));
	CHECK_STR(k.oc.paths.p[0], STR("real/t"));

	CHECK(fchmodat(k.ws, "f", 0444, 0) == 0);
	kit_call(&k, "apply_edit", EDIT("longer", "x"));
	CHECK_HOLDS(&k, "f is read-only (mode 0444)");
}

TEST(apply_edit_leaves_the_old_or_the_new_file_and_no_other)
{
	for (int nth = 1, fired = 1; fired; nth++) {
		auto_kit struct kit k;

		kit_init(&k);
		kit_put(&k, "f", "old\n");
		fault_arm(nth, EIO);
		kit_call(&k, "apply_edit", EDIT("old", "new"));
		fired = fault_disarm();
		CHECK(k.oc.ok ? kit_is(&k, "f", "new\n") : kit_is(&k, "f", "old\n"));
		CHECK(fired || k.oc.ok);
		CHECK_INT(kit_count(&k), 1);
	}
}

/* Somebody else's write between reading and writing is never lost. */
TEST(a_file_that_changed_meanwhile_is_not_overwritten)
{
	auto_kit struct kit k;
	struct tool_path p;
	auto_buf struct buf text = BUF_MAX(0);
	struct err err = { 0 };

	kit_init(&k);
	kit_put(&k, "f", "old\n");
	CHECK_OK(path_resolve(&k.ctx, STR("f"), PATH_WRITE, &p, &err));
	CHECK_OK(change_read(&p, 100, &text, &err));
	kit_put(&k, "f", "theirs\n");
	struct change c = { .kind = CHANGE_REWRITE, .path = p, .bytes = STR("ours\n") };
	CHECK_INT(changes_apply(&c, 1, &err), -ERR_CONFLICT);
	c.kind = CHANGE_DELETE;
	CHECK_INT(changes_apply(&c, 1, &err), -ERR_CONFLICT);
	CHECK(kit_is(&k, "f", "theirs\n") && kit_count(&k) == 1);
	CHECK(strstr(err.msg, "f changed while it was being edited"));

	CHECK_OK(path_resolve(&k.ctx, STR("new"), PATH_WRITE, &p, &err));
	kit_put(&k, "new", "theirs\n");
	c = (struct change){ .kind = CHANGE_CREATE, .path = p, .bytes = STR("ours\n") };
	CHECK_INT(changes_apply(&c, 1, &err), -ERR_EXIST);
	CHECK(kit_is(&k, "new", "theirs\n") && kit_count(&k) == 2);
}

/* Another indent is looked for only as long as that takes no time: this would compare a hundred thousand million lines. */
TEST(apply_edit_gives_up_on_text_that_almost_fits_everywhere)
{
	auto_kit struct kit k;
	auto_buf struct buf file = BUF_MAX(8 << 20), call = BUF_MAX(16 << 20);

	kit_init(&k);
	CHECK(buf_addz(&call, "{`path`:`f`,`edits`:[{`new_string`:`x`,`old_string`:`", ERR_DISCARD) == 0);
	for (int i = 0; i < 600000; i++)
		CHECK(buf_addz(&file, "a\n", ERR_DISCARD) == 0 &&
			(i >= 200000 || buf_addz(&call, "a\\n", ERR_DISCARD) == 0));
	CHECK(buf_addz(&call, "b`}]}", ERR_DISCARD) == 0);
	kit_put(&k, "f", file.p);
	kit_call(&k, "apply_edit", call.p);
	CHECK_HOLDS(&k, "old_string was not found");
}
