/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "sys/fault.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD "--- a/f\\n+++ b/f\\n"
#define UPD "*** Begin Patch\\n*** Update File: f\\n"
#define END "*** End Patch\\n"

static const struct {
	const char *why, *before, *patch, *after; /* after NULL: refused and untouched */
} patches[] = {
	{ "a plain hunk", "a\nb\nc\n", HEAD "@@ -1,3 +1,3 @@\\n a\\n-b\\n+B\\n c\\n", "a\nB\nc\n" },
	{ "LF patch, CRLF file", "foo\r\nbar\r\nbaz\r\n", HEAD "@@ -1,3 +1,4 @@\\n foo\\n-bar\\n+BAR\\n+new\\n baz\\n",
		"foo\r\nBAR\r\nnew\r\nbaz\r\n" },
	{ "CRLF patch, LF file", "foo\nbar\n", "--- a/f\\r\\n+++ b/f\\r\\n@@ -1,2 +1,2 @@\\r\\n foo\\r\\n-bar\\r\\n+BAR\\r\\n",
		"foo\nBAR\n" },
	{ "short counts", "a\nb\nc\n", HEAD "@@ -2 +2 @@\\n-b\\n+B\\n", "a\nB\nc\n" },
	{ "git headers, time stamps, a function behind @@", "a\nb\nc\n",
		"diff --git a/f b/f\\nindex 1..2 100644\\n--- a/f\\t2024-01-01\\n+++ b/f\\t2024-01-01\\n"
		"@@ -1,3 +1,3 @@ void f(int a)\\n a\\n b\\n-c\\n+C\\n", "a\nb\nC\n" },
	{ "no prefix", "p\n", "--- f\\n+++ f\\n@@ -1 +1 @@\\n-p\\n+P\\n", "P\n" },
	{ "keeps no newline", "a\nb", HEAD "@@ -1,2 +1,2 @@\\n-a\\n+A\\n b\\n\\\\ No newline at end of file\\n", "A\nb" },
	{ "adds a newline", "a\nb", HEAD "@@ -1,2 +1,2 @@\\n a\\n-b\\n\\\\ No newline at end of file\\n+b\\n", "a\nb\n" },
	{ "removes a newline", "a\nb\n", HEAD "@@ -1,2 +1,2 @@\\n a\\n-b\\n+b\\n\\\\ No newline at end of file\\n", "a\nb" },
	{ "mark on both sides", "x", HEAD "@@ -1 +1 @@\\n-x\\n\\\\ No newline at end of file\\n+y\\n\\\\ No newline at end of "
		"file\\n", "y" },
	{ "forgotten marks keep the end as it was", "a\nb", HEAD "@@ -1,2 +1,3 @@\\n a\\n b\\n+c\\n", "a\nb\nc" },
	{ "wrong numbers, unique context", "1\n2\n3\n4\n5\n6\n7\n8\n", HEAD "@@ -1,2 +1,2 @@\\n 6\\n-7\\n+S\\n"
		"@@ -40,2 +40,2 @@\\n-2\\n+Z\\n 3\\n", "1\nZ\n3\n4\n5\n6\nS\n8\n" },
	{ "wrong counts, every line found", "a\nb\nc\nd\n", HEAD "@@ -1,2 +1,9 @@\\n a\\n-b\\n+B\\n c\\n d\\n", "a\nB\nc\nd\n" },
	{ "a blank context line past the count", "a\n\nc\n", HEAD "@@ -1,1 +1,1 @@\\n a\\n\\n-c\\n+C\\n", "a\n\nC\n" },
	{ "no closing @@", "a\nb\n", HEAD "@@ -1,2 +1,2\\n a\\n-b\\n+B\\n", "a\nB\n" },
	{ "prose around it", "a\nb\n", "Here it is:\\n\\n" HEAD "@@ -1,2 +1,2 @@\\n a\\n-b\\n+B\\n\\nDone.\\n", "a\nB\n" },
	{ "a mail signature is not a line", "a\nb\n", HEAD "@@ -1,2 +1,2 @@\\n a\\n-b\\n+B\\n-- \\n2.39\\n", "a\nB\n" },
	{ "a removed line that looks like a header", "a\n-- x\nb\n", HEAD "@@ -1,3 +1,3 @@\\n a\\n--- x\\n+++ y\\n b\\n",
		"a\n++ y\nb\n" },
	{ "trailing blanks on disk", "a  \nb\nc\n", HEAD "@@ -1,3 +1,3 @@\\n a\\n-b\\n+B\\n c\\n", "a  \nB\nc\n" },
	{ "another indent", "\tif (x)\n\t\ty();\n", HEAD "@@ -1,2 +1,3 @@\\n if (x)\\n \\ty();\\n+\\tz();\\n",
		"\tif (x)\n\t\ty();\n\t\tz();\n" },
	{ "insertion behind a line", "a\nb\n", HEAD "@@ -1,0 +2 @@\\n+n\\n", "a\nn\nb\n" },
	{ "everything removed", "a\n", HEAD "@@ -1 +0,0 @@\\n-a\\n", "" },
	{ "into an empty file", "", HEAD "@@ -0,0 +1 @@\\n+a\\n", "a\n" },
	{ "hunks alone with the call's path", "a\nb\n", "@@ -1,2 +1,2 @@\\n a\\n-b\\n+B\\n`,`path`:`f", "a\nB\n" },
	{ "context that is nowhere", "a\nb\n", HEAD "@@ -1,3 +1,3 @@\\n alpha\\n-beta\\n+BETA\\n gamma\\n", NULL },
	{ "context in two places", "x\na\nb\ny\na\nb\n", HEAD "@@ -9,2 +9,2 @@\\n a\\n-b\\n+B\\n", NULL },
	{ "no hunk", "a\n", HEAD, NULL },
	{ "nothing", "a\n", "   \\n", NULL },
	{ "prose only", "a\n", "please change a to b\\n", NULL },
	{ "an existing file added", "a\n", "--- /dev/null\\n+++ b/f\\n@@ -0,0 +1 @@\\n+new\\n", NULL },
	{ "both sides null", "a\n", "--- /dev/null\\n+++ /dev/null\\n@@ -1 +1 @@\\n-a\\n+b\\n", NULL },
	{ "a deletion that misses a line", "1\n2\n3\n", "--- a/f\\n+++ /dev/null\\n@@ -1,2 +0,0 @@\\n-1\\n-2\\n", NULL },
	{ "a bad header", "a\n", HEAD "@@ -x +1 @@\\n-a\\n+b\\n", NULL },
	{ "envelope", "a\nb\nc\n", UPD "@@\\n a\\n-b\\n+B\\n" END, "a\nB\nc\n" },
	{ "envelope, first of two by its hint", "f1\nx\nf2\nx\n", UPD "@@ f2\\n-x\\n+y\\n" END, "f1\nx\nf2\ny\n" },
	{ "envelope, whole lines only", "abc\n", UPD "@@\\n-b\\n+B\\n" END, NULL },
	{ "envelope, ambiguous", "x\nx\n", UPD "@@\\n-x\\n+y\\n" END, NULL },
	{ "envelope, only additions", "a\n", UPD "@@\\n+b\\n" END, NULL },
	{ "envelope, deletion takes its newline", "a\nb\nc\n", UPD "@@\\n-b\\n" END, "a\nc\n" },
	{ "envelope, two hunks and an end mark", "a\nb\nc\n", UPD "@@\\n-a\\n+A\\n@@\\n-c\\n+C\\n*** End of File\\n" END,
		"A\nb\nC\n" },
	{ "envelope, existing file added", "a\n", "*** Begin Patch\\n*** Add File: f\\n+b\\n" END, NULL },
	{ "envelope, added text without +", "a\n", "*** Begin Patch\\n*** Add File: g\\nb\\n" END, NULL },
};

TEST(apply_patch_does_what_the_patch_can_only_mean)
{
	for (size_t i = 0; i < COUNT(patches); i++) {
		auto_kit struct kit k;
		const char *want = patches[i].after ? patches[i].after : patches[i].before;

		kit_init(&k);
		kit_put(&k, "f", patches[i].before);
		kit_call(&k, "apply_patch", str_printf(k.mem, "{`patch`:`%s`}", patches[i].patch).p);
		if (!kit_is(&k, "f", want) || k.oc.ok != (patches[i].after != NULL) || kit_count(&k) != 1) {
			print_error("case: %s\n" STR_FMT "\n", patches[i].why, STR_ARG(buf_str(&k.out)));
			CHECK(false);
		}
	}
}

TEST(apply_patch_adds_moves_and_deletes)
{
	auto_kit struct kit k;
	struct stat st;

	kit_init(&k);
	kit_put(&k, "old name", "same\nline\n");
	kit_put(&k, "d.txt", "1\n2\n");
	kit_put(&k, "u", "u\n");
	kit_call(&k, "apply_patch", "{`patch`:`diff --git a/old name b/new name\\nsimilarity index 50%\\n"
		"rename from old name\\nrename to new name\\n--- a/old name\\n+++ b/new name\\n@@ -1,2 +1,2 @@\\n same\\n"
		"-line\\n+LINE\\ndiff --git a/d.txt b/d.txt\\ndeleted file mode 100644\\n--- a/d.txt\\n+++ /dev/null\\n"
		"@@ -1,2 +0,0 @@\\n-1\\n-2\\ndiff --git a/s/run b/s/run\\nnew file mode 100755\\n--- /dev/null\\n+++ b/s/run\\n"
		"@@ -0,0 +1 @@\\n+#!\\ndiff --git a/empty b/empty\\nnew file mode 100644\\nindex 0000000..e69de29\\n`}");
	CHECK(kit_is(&k, "new name", "same\nLINE\n") && !kit_exists(&k, "old name") && !kit_exists(&k, "d.txt"));
	CHECK(kit_is(&k, "s/run", "#!\n") && kit_is(&k, "empty", ""));
	CHECK(fstatat(k.ws, "s/run", &st, 0) == 0 && (st.st_mode & 0777) == 0755);
	CHECK_HOLDS(&k, "\"deleted\":[\"old name\",\"d.txt\"]");
	CHECK_STR(k.oc.summary, STR("patched 3 files, deleted 2 bytes=13"));

	kit_call(&k, "apply_patch", "{`patch`:`*** Begin Patch\\n*** Update File: u\\n*** Move to: v\\n@@\\n-u\\n+v\\n"
		"*** Add File: w\\n+w\\n\\n*** Delete File: empty\\n*** End Patch`}");
	CHECK(kit_is(&k, "v", "v\n") && kit_is(&k, "w", "w\n") && !kit_exists(&k, "u") && !kit_exists(&k, "empty"));

	kit_call(&k, "apply_patch", "{`patch`:`*** Begin Patch\\n*** Update File: v\\n*** Move to: w\\n@@\\n-v\\n+x\\n"
		"*** End Patch`}");
	CHECK(!k.oc.ok && kit_is(&k, "v", "v\n") && kit_is(&k, "w", "w\n"));
	CHECK_HOLDS(&k, "w exists already");
}

TEST(apply_patch_reads_quoted_names_and_real_directories_named_a)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "caf\xC3\xA9 x.txt", "a\n");
	kit_put(&k, "t\tb.txt", "a\n");
	kit_put(&k, "a/x.txt", "x\n");
	kit_put(&k, "x.txt", "root\n");
	kit_call(&k, "apply_patch", "{`patch`:`diff --git \\`a/caf\\\\303\\\\251 x.txt\\` \\`b/caf\\\\303\\\\251 x.txt\\`\\n"
		"--- \\`a/caf\\\\303\\\\251 x.txt\\`\\n+++ \\`b/caf\\\\303\\\\251 x.txt\\`\\n@@ -1 +1 @@\\n-a\\n+b\\n`}");
	CHECK(kit_is(&k, "caf\xC3\xA9 x.txt", "b\n"));
	kit_call(&k, "apply_patch", "{`patch`:`--- \\`a/t\\\\tb.txt\\`\\n+++ \\`b/t\\\\tb.txt\\`\\n@@ -1 +1 @@\\n-a\\n+b\\n`}");
	CHECK(kit_is(&k, "t\tb.txt", "b\n"));
	CHECK_HOLDS(&k, "\"path\":\"\\\"t\\\\tb.txt\\\"\"");
	kit_call(&k, "apply_patch", "{`patch`:`--- a/a/x.txt\\n+++ b/a/x.txt\\n@@ -1 +1 @@\\n-x\\n+X\\n`}");
	CHECK(kit_is(&k, "a/x.txt", "X\n") && kit_is(&k, "x.txt", "root\n"));
	CHECK_INT(kit_count(&k), 4);
}

#define SEVERAL "{`patch`:`*** Begin Patch\\n*** Delete File: d\\n*** Add File: n/e/w\\n+n\\n*** Update File: u\\n@@\\n-u\\n" \
	"+U\\n*** Update File: l\\n@@\\n-l\\n+L\\n*** Update File: last\\n@@\\n-%s\\n+x\\n*** End Patch\\n`}"

static void several(struct kit *k)
{
	kit_put(k, "d", "d\n");
	kit_put(k, "u", "u\n");
	kit_put(k, "l", "l\n");
	CHECK(linkat(k->ws, "l", k->ws, "l2", 0) == 0);
	kit_put(k, "last", "last\n");
}

static bool untouched(struct kit *k)
{
	return kit_is(k, "d", "d\n") && kit_is(k, "u", "u\n") && kit_is(k, "l", "l\n") && kit_is(k, "l2", "l\n") &&
		kit_is(k, "last", "last\n") && !kit_exists(k, "n") && kit_count(k) == 5;
}

static bool patched(struct kit *k)
{
	return !kit_exists(k, "d") && kit_is(k, "u", "U\n") && kit_is(k, "l", "L\n") && kit_is(k, "l2", "L\n") &&
		kit_is(k, "last", "x\n") && kit_is(k, "n/e/w", "n\n") && kit_count(k) == 5;
}

TEST(a_patch_of_several_files_applies_whole_or_not_at_all)
{
	auto_kit struct kit k;

	kit_init(&k);
	several(&k);
	kit_call(&k, "apply_patch", str_printf(k.mem, SEVERAL, "no such line").p);
	CHECK(!k.oc.ok && !k.oc.edited && untouched(&k));
	CHECK_HOLDS(&k, "last: the hunk at patch line 14");
	CHECK_HOLDS(&k, "Expected:\\n        no such line");
	kit_put(&k, ".git/config", "c\n");
	kit_call(&k, "apply_patch", "{`patch`:`*** Begin Patch\\n*** Delete File: d\\n*** Add File: .git/x\\n+n\\n"
		"*** End Patch`}");
	CHECK(!k.oc.ok && kit_exists(&k, "d"));
	CHECK_HOLDS(&k, ".git/x may not be written");
}

/* Whatever call fails, on its way in or on its way back from a failure: all or nothing. */
TEST(a_failing_disk_leaves_all_files_old_or_all_files_new)
{
	int nth = 1;

	for (int fired = 1; fired; nth++) {
		auto_kit struct kit k;

		kit_init(&k);
		several(&k);
		fault_arm(nth, ENOSPC);
		kit_call(&k, "apply_patch", str_printf(k.mem, SEVERAL, "last").p);
		fired = fault_disarm();
		if (k.oc.ok ? !patched(&k) : !untouched(&k)) {
			print_error("after call %d failed: " STR_FMT "\n", nth, STR_ARG(buf_str(&k.out)));
			CHECK(false);
		}
		CHECK(fired || k.oc.ok);
	}
	CHECK(nth > 20);
}

TEST(two_sections_of_one_file_build_on_each_other)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "f", "a\nb\n");
	kit_call(&k, "apply_patch", "{`patch`:`--- a/f\\n+++ b/f\\n@@ -1 +1 @@\\n-a\\n+A\\n--- a/f\\n+++ b/f\\n@@ -2 +2 @@\\n-b\\n"
		"+B\\n--- /dev/null\\n+++ b/g\\n@@ -0,0 +1 @@\\n+g\\n--- a/g\\n+++ b/g\\n@@ -1 +1 @@\\n-g\\n+G\\n`}");
	CHECK(kit_is(&k, "f", "A\nB\n") && kit_is(&k, "g", "G\n"));
}

/* `times` lines of `line`, then one of `last`, as they stand in a patch or, with mark 0, in a file. */
static void many(struct buf *out, char mark, size_t times, const char *line, const char *last)
{
	for (size_t i = 0; i <= times; i++)
		CHECK(buf_addf(out, ERR_DISCARD, mark ? "%s%s\\n" : "%.0s%s\n", mark ? (char[]){ mark, '\0' } : "",
			      i < times ? line : last) == 0);
}

/* What a patch may cost is bounded: these would compare a hundred thousand million lines. */
TEST(apply_patch_gives_up_on_a_hunk_that_almost_fits_everywhere)
{
	static const char *const heads[] = { HEAD "@@ -1,9 +1,9 @@\\n", UPD "@@\\n", UPD "@@ a\\n" };

	for (size_t i = 0; i < COUNT(heads); i++) {
		auto_kit struct kit k;
		auto_buf struct buf file = BUF_MAX(8 << 20), call = BUF_MAX(16 << 20);

		kit_init(&k);
		many(&file, 0, 600000, "a", "c");
		CHECK(buf_addf(&call, ERR_DISCARD, "{`patch`:`%s", heads[i]) == 0);
		many(&call, ' ', 200000, "a", "b");
		CHECK(buf_addf(&call, ERR_DISCARD, "-x\\n+y\\n%s`}", i > 0 ? END : "") == 0);
		kit_put(&k, "f", file.p);
		kit_call(&k, "apply_patch", call.p);
		CHECK_HOLDS(&k, "takes too long to place");
		CHECK(kit_is(&k, "f", file.p));
	}
}

TEST(apply_patch_looks_at_a_blank_line_once)
{
	auto_kit struct kit k;
	auto_buf struct buf call = BUF_MAX(4 << 20);

	kit_init(&k);
	kit_put(&k, "f", "a\n");
	CHECK(buf_addz(&call, "{`patch`:`" HEAD "@@ -1 +1 @@\\n-a\\n+b\\n", ERR_DISCARD) == 0);
	for (int i = 0; i < 400000; i++)
		CHECK(buf_addz(&call, "\\n", ERR_DISCARD) == 0);
	CHECK(buf_addz(&call, " c\\n`}", ERR_DISCARD) == 0);
	kit_call(&k, "apply_patch", call.p);
	CHECK(!k.oc.ok && kit_is(&k, "f", "a\n"));
}
