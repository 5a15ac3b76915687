/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* `agent6 system apparmor` on hosts made of a scratch directory, with a parser that notes how it was called. */
#include "app/apparmor.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lab {
	struct test_dir dir;
	struct arena *mem;
	struct apparmor a;
	struct buf said;
};

static void take_line(void *self, const char *line)
{
	struct lab *l = self;

	CHECK(buf_addf(&l->said, ERR_DISCARD, "%s\n", line) == 0);
}

/* The parser writes down its words and what it was given to load, and fails where "refuse" lies beside it. */
static void put_parser(struct lab *l)
{
	struct str script = str_printf(l->mem, "#!/bin/sh\necho \"$*\" >> %s/calls\ncat \"$3\" > %s/loaded 2>/dev/null\n"
		"[ ! -e %s/refuse ] || { echo 'syntax error, line 3' >&2; exit 1; }\n", l->dir.path, l->dir.path, l->dir.path);

	test_write(&l->dir, "usr/sbin/apparmor_parser", script);
	CHECK(fchmodat(l->dir.fd, "usr/sbin/apparmor_parser", 0755, 0) == 0);
}

static struct lab lab_new(void)
{
	struct lab l = { .dir = test_dir_new(), .mem = arena_new(), .said = BUF_MAX(64 * 1024) };

	put_parser(&l);
	test_write(&l.dir, "sys/kernel/security/lsm", STR("lockdown,capability,landlock,yama,apparmor\n"));
	test_write(&l.dir, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", STR("1\n"));
	test_write(&l.dir, "etc/apparmor.d/other", STR("somebody else's\n"));
	test_write(&l.dir, "usr/local/bin/agent6-jail", STR("the launcher\n"));
	CHECK(chmod(l.dir.path, 0755) == 0);
	l.a = (struct apparmor){ .mem = l.mem, .root = str_dupz(l.mem, str_from(l.dir.path)), .uid = 0, .owner = geteuid(),
		.launcher = "/usr/local/bin/agent6-jail", .say = take_line };
	return l;
}

static void lab_fini(struct lab *l)
{
	buf_fini(&l->said);
	test_dir_fini(&l->dir);
	arena_free(l->mem);
}
#define auto_lab CLEANUP(lab_fini)

static bool said(const struct lab *l, const char *what)
{
	return str_find(buf_str(&l->said), str_from(what)) < l->said.n;
}

#define PROFILE "etc/apparmor.d/agent6-jail"

static const char expected[] = "# agent6-jail: written by \"agent6 system apparmor install\"\n"
			       "# It lets this one program make user namespaces; all that happens in them is agent6-jail's to confine.\n"
			       "abi <abi/4.0>,\n"
			       "include <tunables/global>\n"
			       "\n"
			       "profile agent6-jail \"/usr/local/bin/agent6-jail\" flags=(unconfined) {\n"
			       "  userns,\n"
			       "\n"
			       "  include if exists <local/agent6-jail>\n"
			       "}\n";

/* The directory holds these and nothing else. */
static void check_names(const struct lab *l, const char *const *want, size_t n)
{
	autoclose int fd = -1;
	struct dir_entry *e;
	size_t got;
	struct err err = { 0 };

	CHECK_OK(dir_open(l->dir.fd, "etc/apparmor.d", &fd, &err));
	CHECK_OK(dir_list(fd, l->mem, 10, &e, &got, &err));
	CHECK_INT(got, n);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(e[i].name, str_from(want[i]));
}

TEST(apparmor_installs_exactly_one_file_and_loads_it_first)
{
	static const char *const names[] = { "agent6-jail", "other" };
	auto_lab struct lab l = lab_new();
	struct err err = { 0 };
	struct stat st;

	l.a.self = &l;
	CHECK_OK(apparmor_install(&l.a, &err));
	check_names(&l, names, COUNT(names));
	CHECK(file_is(l.dir.fd, PROFILE, str_from(expected)));
	CHECK(file_is(l.dir.fd, "loaded", str_from(expected)));
	CHECK(fstatat(l.dir.fd, PROFILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 07777) == 0644);
	CHECK(file_is(l.dir.fd, "calls", str_printf(l.mem, "-r -K %s/etc/apparmor.d/.agent6-jail.new\n", l.dir.path)));
	CHECK(said(&l, "+ ") && said(&l, "may make user namespaces"));
	CHECK_OK(apparmor_install(&l.a, &err)); /* again is the same */
	check_names(&l, names, COUNT(names));
	buf_clear(&l.said);
	CHECK_OK(apparmor_status(&l.a, &err));
	CHECK(said(&l, "agent6-jail: there\n") && said(&l, "lockdown,capability,landlock,yama,apparmor") && said(&l, "need a profile"));
}

TEST(apparmor_changes_nothing_when_the_parser_refuses)
{
	static const char *const none[] = { "other" }, *const both[] = { "agent6-jail", "other" };
	auto_lab struct lab l = lab_new();
	struct err err = { 0 };

	l.a.self = &l;
	test_write(&l.dir, "refuse", STR(""));
	CHECK_INT(apparmor_install(&l.a, &err), -ERR_SYS);
	CHECK(strstr(err.msg, "nothing was changed") && strstr(err.msg, "syntax error, line 3"));
	check_names(&l, none, COUNT(none));
	/* Nor when an older one is there. */
	CHECK(unlinkat(l.dir.fd, "refuse", 0) == 0);
	CHECK_OK(apparmor_install(&l.a, &err));
	test_write(&l.dir, "refuse", STR(""));
	test_write(&l.dir, "usr/bin/agent6-jail", STR("another\n"));
	l.a.launcher = "/usr/bin/agent6-jail";
	CHECK_INT(apparmor_install(&l.a, &err), -ERR_SYS);
	check_names(&l, both, COUNT(both));
	CHECK(file_is(l.dir.fd, PROFILE, str_from(expected)));
	buf_clear(&l.said);
	CHECK_OK(apparmor_status(&l.a, &err));
	CHECK(said(&l, "not for this agent6-jail: install it again"));
}

TEST(apparmor_installs_where_only_a_profile_can_refuse_and_says_when_that_counts)
{
	auto_lab struct lab l = lab_new();
	struct err err = { 0 };

	l.a.self = &l;
	CHECK(unlinkat(l.dir.fd, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 0);
	test_write(&l.dir, "sys/kernel/security/apparmor/features/namespaces/mask", STR("pivot userns_created\n"));
	CHECK_INT(apparmor_install(&l.a, &err), -ERR_UNSUPPORTED); /* another word */
	test_write(&l.dir, "sys/kernel/security/apparmor/features/namespaces/mask", STR("other userns_create\n"));
	CHECK_OK(apparmor_install(&l.a, &err));
	CHECK(file_is(l.dir.fd, PROFILE, str_from(expected)) && file_is(l.dir.fd, "loaded", str_from(expected)));
	CHECK(said(&l, "for no program but those with a profile"));
	buf_clear(&l.said);
	CHECK_OK(apparmor_status(&l.a, &err));
	CHECK(said(&l, "restricts programs whose profile does not allow them"));
}

TEST(apparmor_refuses_what_it_must_not_do)
{
	static const char *const none[] = { "other" };
	static const struct {
		const char *why;
		const char *file, *text; /* written before; text NULL: removed */
		mode_t mode;             /* of file, when not 0 */
		const char *link;        /* file becomes a link to it */
		uid_t uid;
		const char *launcher;
		int want;
		const char *says;
	} cases[] = {
		{ "not root", .uid = 1000, .want = -ERR_DENIED, .says = "root's to change" },
		{ "no parser", "usr/sbin/apparmor_parser", .want = -ERR_UNSUPPORTED, .says = "no apparmor_parser" },
		{ "not in the kernel", "sys/kernel/security/lsm", "capability,yama\n", .want = -ERR_UNSUPPORTED, .says = "does not use" },
		{ "unknown", "sys/kernel/security/lsm", .want = -ERR_UNSUPPORTED, .says = "cannot be read" },
		{ "another word", "sys/kernel/security/lsm", "noapparmor\n", .want = -ERR_UNSUPPORTED, .says = "does not use" },
		{ "no switch and no rule", "proc/sys/kernel/apparmor_restrict_unprivileged_userns", .want = -ERR_UNSUPPORTED,
			.says = "nothing to allow" },
		{ "somebody else's profile", PROFILE, "profile agent6-jail {}\n", .want = -ERR_DENIED, .says = "not agent6's" },
		{ "a launcher all may write", "usr/local/bin/agent6-jail", "x", .mode = 0757, .want = -ERR_DENIED,
			.says = "exchanged by others" },
		{ "a directory its group may write", "usr/local/bin", .mode = 0775, .want = -ERR_DENIED, .says = "exchanged by others" },
		{ "a link", "usr/local/bin/agent6-jail", .link = "/bin/true", .want = -ERR_DENIED, .says = "exchanged by others" },
		{ "a launcher that is not there", .launcher = "/usr/bin/agent6-jail", .want = -ERR_NOENT, .says = "agent6-jail" },
		{ "a pattern", "usr/bin/a*/agent6-jail", "x", .launcher = "/usr/bin/a*/agent6-jail", .want = -ERR_INVALID,
			.says = "cannot be written" },
		{ "a variable", "usr/bin/@{HOME}/agent6-jail", "x", .launcher = "/usr/bin/@{HOME}/agent6-jail", .want = -ERR_INVALID,
			.says = "cannot be written" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_lab struct lab l = lab_new();
		struct err err = { 0 };

		l.a.self = &l;
		l.a.uid = cases[i].uid;
		if (cases[i].launcher)
			l.a.launcher = cases[i].launcher;
		if (cases[i].text)
			test_write(&l.dir, cases[i].file, str_from(cases[i].text));
		else if (cases[i].file && cases[i].mode == 0)
			CHECK(unlinkat(l.dir.fd, cases[i].file, 0) == 0);
		if (cases[i].link)
			CHECK(symlinkat(cases[i].link, l.dir.fd, cases[i].file) == 0);
		if (cases[i].mode)
			CHECK(fchmodat(l.dir.fd, cases[i].file, cases[i].mode, 0) == 0);
		CHECK_INT(apparmor_install(&l.a, &err), cases[i].want);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
		CHECK(faccessat(l.dir.fd, "calls", F_OK, 0) < 0); /* the parser was not asked */
		if (!cases[i].file || strcmp(cases[i].file, PROFILE) != 0)
			check_names(&l, none, COUNT(none));
	}
}

TEST(apparmor_removes_its_own_profile_and_no_other)
{
	static const char *const none[] = { "other" };
	auto_lab struct lab l = lab_new();
	struct err err = { 0 };

	l.a.self = &l;
	CHECK_OK(apparmor_remove(&l.a, &err));
	CHECK(said(&l, "no profile to remove"));
	CHECK_OK(apparmor_install(&l.a, &err));
	l.a.uid = 1000;
	CHECK_INT(apparmor_remove(&l.a, &err), -ERR_DENIED);
	l.a.uid = 0;
	test_write(&l.dir, "refuse", STR("")); /* it is not loaded: the file goes all the same, and that is said */
	CHECK_OK(apparmor_remove(&l.a, &err));
	CHECK(said(&l, "could not be unloaded") && said(&l, "removed\n"));
	check_names(&l, none, COUNT(none));
	test_write(&l.dir, PROFILE, STR("profile agent6-jail {}\n"));
	CHECK_INT(apparmor_remove(&l.a, &err), -ERR_DENIED);
	CHECK(file_is(l.dir.fd, PROFILE, STR("profile agent6-jail {}\n")));
}
