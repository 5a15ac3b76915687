/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/ours.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OTHER 12345u
#define FOREIGN_GROUP 54321u

/* A home with a configuration, and dotfiles beside it. */
struct scene {
	struct test_dir dir;
	char home[200];
	char *before; /* HOME as it was */
};

static struct scene scene_new(void)
{
	struct scene s = { .dir = test_dir_new() };
	const char *was = getenv("HOME");

	s.before = was ? mem_strdup(was) : NULL;
	snprintf(s.home, sizeof(s.home), "%s/up/home", s.dir.path);
	test_write(&s.dir, "up/home/.config/agent6/config.toml", STR("\n"));
	test_write(&s.dir, "up/home/dotfiles/agent6/config.toml", STR("\n"));
	test_write(&s.dir, "outside/agent6/config.toml", STR("\n"));
	for (const char *const *p = (const char *const[]){ "up", "up/home", "up/home/.config", "up/home/.config/agent6", "up/home/dotfiles",
		     "up/home/dotfiles/agent6", "outside", "outside/agent6", NULL }; *p; p++)
		CHECK(fchmodat(s.dir.fd, *p, 0755, 0) == 0);
	for (const char *const *p = (const char *const[]){ "up/home/.config/agent6/config.toml", "up/home/dotfiles/agent6/config.toml",
		     "outside/agent6/config.toml", NULL }; *p; p++)
		CHECK(fchmodat(s.dir.fd, *p, 0644, 0) == 0);
	CHECK(setenv("HOME", s.home, 1) == 0);
	return s;
}

static void scene_fini(struct scene *s)
{
	CHECK((s->before ? setenv("HOME", s->before, 1) : unsetenv("HOME")) == 0);
	free(s->before);
	test_dir_fini(&s->dir);
}
#define auto_scene CLEANUP(scene_fini)

static void link_to(const struct scene *s, const char *where, const char *to)
{
	char old[512], new[600];

	snprintf(old, sizeof(old), "%s/%s", s->dir.path, where);
	snprintf(new, sizeof(new), "%s.away", old);
	CHECK(rename(old, new) == 0);
	CHECK(symlink(to, old) == 0);
}

static int check(const struct scene *s, const char *what, struct err *err)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", s->dir.path, what);
	return ours_check(path, err);
}

#define CONFIG "up/home/.config/agent6/config.toml"
#define LINK(target) .linked = "up/home/.config/agent6", .to = (target)

TEST(ours_refuses_what_others_may_replace_and_names_it)
{
	static const struct {
		const char *why, *what, *changed;
		mode_t mode;
		uid_t owner; /* 0: as it is */
		gid_t group;
		const char *linked, *to;
		const char *names; /* in the refusal; NULL: there is none */
		const char *hint;
	} rows[] = {
		{ "as it should be", CONFIG },
		{ "a directory of everybody's", CONFIG, "up/home/.config/agent6", 0777, .names = "/.config/agent6 can be written by everybody (mode 0777)", .hint = "chmod go-w " },
		{ "one further up", CONFIG, "up/home/.config", 0777, .names = "/.config can be" },
		{ "home itself", CONFIG, "up/home", 0777, .names = "/home can be" },
		{ "what lies above home is not looked at", CONFIG, "up", 0777 },
		{ "the file", CONFIG, CONFIG, 0666, .names = "the file " },
		{ "everybody's, and sticky, on the way: nothing of ours is replaced there", CONFIG, "up/home/.config", 01777 },
		{ "everybody's, and sticky, at the end: something is added", "up/home/.config/agent6", "up/home/.config/agent6", 01777, .names = "(mode 1777)" },
		{ "it is not there yet, and its place is ours", "up/home/.local/state/agent6" },
		{ "it is not there yet, and its place is everybody's", "up/home/.config/new/agent6", "up/home/.config", 0777, .names = "/.config can be" },
		{ "group, foreign", CONFIG, "up/home/.config", 0775, .group = FOREIGN_GROUP, .names = "can be written by others of group 54321 (mode 0775)", .hint = "chmod g-w " },
		{ "group, foreign, of the file", CONFIG, CONFIG, 0664, .group = FOREIGN_GROUP, .names = "the file " },
		{ "group, foreign, which may only read", CONFIG, "up/home/.config", 0750, .group = FOREIGN_GROUP },
		{ "somebody else's directory", CONFIG, "up/home/.config", 0755, .owner = OTHER, .names = "/.config belongs to user 12345, and you are user 0", .hint = "sudo -H" },
		{ "somebody else's home", CONFIG, "up/home", 0755, .owner = OTHER, .names = "/home belongs to user 12345" },
		{ "somebody else's, above home", CONFIG, "up", 0755, .owner = OTHER },
		{ "somebody else's and sticky: its owner replaces what they like", CONFIG, "up/home/.config", 01777, .owner = OTHER, .names = "belongs to user" },
		{ "a link within home", CONFIG, LINK("../dotfiles/agent6") },
		{ "a link within home to a place of everybody's", CONFIG, "up/home/dotfiles", 0777, LINK("../dotfiles/agent6"), .names = "/dotfiles can be" },
		{ "a link out of home", CONFIG, LINK("../../../outside/agent6") },
		{ "a link out of home to a place of everybody's", CONFIG, "outside", 0777, LINK("../../../outside/agent6"), .names = "/outside can be" },
		{ "a link out of home to a place of somebody else's", CONFIG, "outside", 0755, OTHER, LINK("../../../outside/agent6"), .names = "/outside belongs" },
		{ "the file is a link", CONFIG, "up/home/dotfiles", 0777, .linked = CONFIG, .to = "../../dotfiles/agent6/config.toml", .names = "/dotfiles can be" },
		{ "a link to nothing", CONFIG, LINK("../nothing") },
		{ "a link to itself", CONFIG, LINK("agent6"), .names = "Too many levels" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_scene struct scene s = scene_new();
		struct err err = { 0 };

		if ((rows[i].owner || rows[i].group) && geteuid() != 0)
			continue; /* only root can give a file away; the tests run as root too */
		if (rows[i].linked)
			link_to(&s, rows[i].linked, rows[i].to);
		if (rows[i].owner || rows[i].group)
			CHECK(fchownat(s.dir.fd, rows[i].changed, rows[i].owner ? rows[i].owner : (uid_t)-1, rows[i].group ? rows[i].group : (gid_t)-1, 0) == 0);
		if (rows[i].changed)
			CHECK(fchmodat(s.dir.fd, rows[i].changed, rows[i].mode, 0) == 0);

		int r = check(&s, rows[i].what, &err);

		if (rows[i].names ? r == 0 || !strstr(err.msg, rows[i].names) : r < 0)
			fail_msg("%s: %d, %s", rows[i].why, r, err.msg);
		if (rows[i].hint && !strstr(err.hint, rows[i].hint))
			fail_msg("%s: hint: %s", rows[i].why, err.hint);
		for (const char *const *p = (const char *const[]){ "up", "up/home", "up/home/.config", NULL }; *p; p++)
			(void)!fchmodat(s.dir.fd, *p, 0755, 0);
	}
}

TEST(ours_takes_a_link_of_somebody_else_for_what_it_is)
{
	auto_scene struct scene s = scene_new();
	struct err err = { 0 };

	if (geteuid() != 0)
		return; /* only root can give a link away; the tests run as root too */
	link_to(&s, "up/home/.config/agent6", "../dotfiles/agent6");
	CHECK(fchmodat(s.dir.fd, "up/home/.config", 01777, 0) == 0);
	CHECK_OK(check(&s, CONFIG, &err));
	CHECK(fchownat(s.dir.fd, "up/home/.config/agent6", OTHER, OTHER, AT_SYMLINK_NOFOLLOW) == 0);
	CHECK_INT(check(&s, CONFIG, &err), -ERR_DENIED);
	CHECK(strstr(err.msg, "the link ") && strstr(err.msg, "belongs to user 12345"));
}

/* What comes after a name is taken for no part of it: a letter before what begins with a dot is not ".", and a dot before a name is. */
TEST(ours_looks_at_a_name_of_one_letter)
{
	static const struct {
		const char *what, *changed;
		bool ours;
	} rows[] = { { "c/.config/agent6", "c", false }, { "c/../outside/agent6", "c", false }, { "./up/home/.config/agent6", "up", true },
		{ "up/h/.config/agent6", "up/h", false }, { "up/home/./.config/agent6", "up/home/.config", false } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_scene struct scene s = scene_new();
		struct err err = { 0 };

		CHECK(mkdirat(s.dir.fd, "c", 0755) == 0 && mkdirat(s.dir.fd, "up/h", 0755) == 0);
		test_write(&s.dir, "c/.config/agent6/config.toml", STR("\n"));
		CHECK(fchmodat(s.dir.fd, rows[i].changed, 0777, 0) == 0);

		int r = check(&s, rows[i].what, &err);

		if (rows[i].ours ? r < 0 : r != -ERR_DENIED || !strstr(err.msg, rows[i].changed))
			fail_msg("%s: %d, %s", rows[i].what, r, err.msg);
		CHECK(fchmodat(s.dir.fd, rows[i].changed, 0755, 0) == 0);
	}

	struct err err = { 0 };

	CHECK_OK(ours_check("/./etc", &err));
}

/* It is begun at HOME, whatever that is called, and at nothing that is only called like it. */
TEST(ours_knows_home_by_every_name)
{
	static const struct {
		const char *why, *home, *what; /* in the scene, unless it begins with "/" or "." */
		const char *changed, *names;
	} rows[] = {
		{ "as it is", "up/home", "up/home/.config/agent6", "up", NULL },
		{ "slashes at its end", "up/home//", "up/home/.config/agent6", "up", NULL },
		{ "slashes in the path", "up/home", "up/home//.config//agent6", "up/home/.config", "/home/.config can be" },
		{ "by a link", "alias", "alias/.config/agent6", "up", NULL },
		{ "by a link, and the path by its own name", "alias", "up/home/.config/agent6", "up", NULL },
		{ "by its own name, and the path by a link", "up/home", "alias/.config/agent6", "up", NULL },
		{ "by a link, and what is below it counts", "alias", "alias/.config/agent6", "up/home/.config", "/up/home/.config can be" },
		{ "home is all of it", "alias", "alias", "up/home", "/up/home can be" },
		{ "a name that begins like it", "up/ho", "up/home/.config/agent6", "up", "/up can be" },
		{ "out of it again", "up/home", "up/home/../../outside/agent6", "outside", "/outside can be" },
		{ "out of it again, over what is not looked at", "up/home", "up/home/../../outside/agent6", "up", NULL },
		{ "it is not there", "up/none", "up/none/.config/agent6", "up", "/up can be" },
		{ "it is the root", "/", "up/home/.config/agent6", "up", "/up can be" },
		{ "it is relative", "./home", "up/home/.config/agent6", "up", "/up can be" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_scene struct scene s = scene_new();
		struct err err = { 0 };
		char home[300];

		CHECK(symlinkat("up/home", s.dir.fd, "alias") == 0 && mkdirat(s.dir.fd, "up/ho", 0755) == 0);
		snprintf(home, sizeof(home), "%s%s%s", strchr("/.", rows[i].home[0]) ? "" : s.dir.path, strchr("/.", rows[i].home[0]) ? "" : "/",
			rows[i].home);
		CHECK(setenv("HOME", home, 1) == 0);
		CHECK(fchmodat(s.dir.fd, rows[i].changed, 0777, 0) == 0);

		int r = check(&s, rows[i].what, &err);

		if (rows[i].names ? r == 0 || !strstr(err.msg, rows[i].names) : r < 0)
			fail_msg("%s: %d, %s", rows[i].why, r, err.msg);
		CHECK(fchmodat(s.dir.fd, rows[i].changed, 0755, 0) == 0);
	}
}

/* The group's bits are then what everybody in the list may have, whoever the group is. */
TEST(ours_believes_no_group_bits_where_an_access_list_is)
{
	/* version 2; user::rwx, user:12345:rwx, group::r-x, mask::rwx, other::r-x */
	static const unsigned char list[] = { 2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 0x39, 0x30, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255,
		0x10, 0, 7, 0, 255, 255, 255, 255, 0x20, 0, 5, 0, 255, 255, 255, 255 };
	auto_scene struct scene s = scene_new();
	struct err err = { 0 };
	char path[1024];

	snprintf(path, sizeof(path), "%s/up/home/.config", s.dir.path);
	if (setxattr(path, "system.posix_acl_access", list, sizeof(list), 0) < 0 && errno == EOPNOTSUPP)
		TEST_SKIP("the file system has no access lists");
	CHECK_INT(check(&s, CONFIG, &err), -ERR_DENIED);
	CHECK(strstr(err.msg, "/.config can be written by others of group"));
	CHECK(removexattr(path, "system.posix_acl_access") == 0);
	CHECK(chmod(path, 0755) == 0);
	CHECK_OK(check(&s, CONFIG, &err));
}

TEST(ours_shows_the_command_that_mends_it_whole_or_not_at_all)
{
	auto_scene struct scene s = scene_new();
	char name[256];
	struct err err = { 0 };

	CHECK(mkdirat(s.dir.fd, "up/home/a b", 0777) == 0 && fchmodat(s.dir.fd, "up/home/a b", 0777, 0) == 0);
	CHECK_INT(check(&s, "up/home/a b", &err), -ERR_DENIED);
	CHECK(strstr(err.hint, "chmod go-w '/") && strstr(err.hint, "/a b'"));
	snprintf(name, sizeof(name), "up/home/%0200d", 0);
	CHECK(mkdirat(s.dir.fd, name, 0777) == 0 && fchmodat(s.dir.fd, name, 0777, 0) == 0);
	CHECK_INT(check(&s, name, &err), -ERR_DENIED);
	CHECK_STR(str_from(err.hint), STR("chmod go-w it"));
}

TEST(ours_knows_whose_alone_a_group_is)
{
	static const struct {
		const char *why, *passwd, *group;
		uid_t uid;
		gid_t gid;
		bool want;
	} rows[] = {
		{ "a group of one's own", "me:x:1000:1000::/h:/s\n", "me:x:1000:\n", 1000, 1000, true },
		{ "of another number", "me:x:1000:700::/h:/s\n", "me:x:700:\n", 1000, 700, true },
		{ "that names its owner", "me:x:1000:1000::/h:/s\n", "me:x:1000:me\n", 1000, 1000, true },
		{ "that names root", "root:x:0:0::/:/s\nme:x:1000:1000::/h:/s\n", "me:x:1000:root\n", 1000, 1000, true },
		{ "that names another", "me:x:1000:1000::/h:/s\nyou:x:1001:1001::/h:/s\n", "me:x:1000:you\n", 1000, 1000, false },
		{ "that names another behind its owner", "me:x:1000:1000::/h:/s\n", "me:x:1000:me,you\n", 1000, 1000, false },
		{ "that names whom no file knows", "me:x:1000:1000::/h:/s\n", "me:x:1000:you\n", 1000, 1000, false },
		{ "another's first one", "me:x:1000:1000::/h:/s\nyou:x:1001:1000::/h:/s\n", "me:x:1000:\n", 1000, 1000, false },
		{ "everybody's, as distributions with one group for all have it", "me:x:1000:100::/h:/s\nyou:x:1001:100::/h:/s\n", "users:x:100:\n", 1000, 100, false },
		{ "one of two names for the number", "me:x:1000:1000::/h:/s\n", "me:x:1000:\nus:x:1000:you\n", 1000, 1000, false },
		{ "two names for one person", "me:x:1000:1000::/h:/s\nalso:x:1000:1000::/h:/s\n", "me:x:1000:also\n", 1000, 1000, true },
		{ "root's", "root:x:0:0::/:/s\n", "root:x:0:\n", 0, 0, true },
		{ "root's, with others in it", "root:x:0:0::/:/s\nsync:x:5:0::/:/s\n", "root:x:0:\n", 0, 0, false },
		{ "no file knows it, and the number is the person's", "", "", 1000, 1000, true },
		{ "no file knows it", "me:x:1000:1000::/h:/s\n", "", 1000, 100, false },
		{ "a line that is none", "me\n\n:::\n", "1000\n::1000:\n", 1000, 1000, true },
		{ "a line without an end", "me:x:1000:1000", "me:x:1000:you", 1000, 1000, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (ours_group_is_private(str_from(rows[i].passwd), str_from(rows[i].group), rows[i].uid, rows[i].gid) != rows[i].want)
			fail_msg("%s", rows[i].why);
}
