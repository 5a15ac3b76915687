/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* A directory stands for the hierarchy here; a kernel's own is tried in test/vm. */
#include "sandbox/group.h"

#include "test/lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct host {
	struct test_dir dir;
	struct arena *mem;
	struct group_host at;
};

static void host_fini(struct host *h)
{
	arena_free(h->mem);
	test_dir_fini(&h->dir);
}

static struct host host_new(const char *mount_root, const char *own, const char *handed)
{
	struct host h = { .dir = test_dir_new(), .mem = arena_new() };
	struct str mounts = str_printf(h.mem,
		"20 1 0:19 / /proc rw - proc proc rw\n"
		"30 1 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
		"31 1 0:27 %s %s/cg rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate\n", mount_root, h.dir.path);

	test_write(&h.dir, "mountinfo", mounts);
	test_write(&h.dir, "cgroup", str_printf(h.mem, "4:memory:/elsewhere\n0::%s\n", own));
	test_write(&h.dir, "cg/user/cgroup.subtree_control", str_from(handed));
	test_write(&h.dir, "cg/user/cgroup.procs", STR(""));
	test_write(&h.dir, "cg/user/shell/memory.max", STR("max\n"));
	h.at = (struct group_host){ str_printf(h.mem, "%s/mountinfo", h.dir.path).p, str_printf(h.mem, "%s/cgroup", h.dir.path).p };
	return h;
}

TEST(group_is_made_where_memory_is_handed_on_and_nowhere_else)
{
	static const struct {
		const char *why, *root, *own, *handed;
		const char *want; /* in the error; NULL: found */
	} cases[] = {
		{ "delegated", "/", "/user/shell", "cpu memory pids\n", NULL },
		{ "seen from a namespace: only the part that is mounted", "/outer", "/outer/user/shell", "memory\n", NULL },
		{ "not handed on", "/", "/user/shell", "cpu pids\n", "does not hand the memory controller" },
		{ "a longer word is another one", "/", "/user/shell", "memory2\n", "does not hand the memory controller" },
		{ "nothing is handed on", "/", "/user/shell", "", "does not hand the memory controller" },
		{ "outside of what is mounted", "/other", "/user/shell", "memory\n", "not beneath what is mounted" },
		{ "above the namespace", "/", "/../user/shell", "memory\n", "not beneath what is mounted" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(host_fini) struct host h = host_new(cases[i].root, cases[i].own, cases[i].handed);
		struct group_place place;
		struct err err = { 0 };
		int r = group_find(&h.at, h.mem, &place, &err);

		if (!cases[i].want) {
			CHECK_OK(r);
			CHECK_STR(str_from(place.dir), str_printf(h.mem, "%s/cg/user", h.dir.path));
			CHECK_STR(str_from(place.own), str_printf(h.mem, "%s/cg/user/shell", h.dir.path));
			continue;
		}
		CHECK_INT(r, -ERR_UNSUPPORTED);
		if (!strstr(err.msg, cases[i].want))
			print_error("%s: %s\n", cases[i].why, err.msg);
		CHECK(strstr(err.msg, cases[i].want));
		CHECK(err.hint[0] != '\0');
	}
}

TEST(group_needs_a_hierarchy_and_the_right_to_write_there)
{
	CLEANUP(host_fini) struct host h = host_new("/", "/user/shell", "memory\n");
	struct group_place place;
	struct err err = { 0 };

	if (geteuid() != 0) {
		CHECK_INT(fchmodat(h.dir.fd, "cg/user/cgroup.procs", 0444, 0), 0);
		CHECK_INT(group_find(&h.at, h.mem, &place, &err), -ERR_UNSUPPORTED);
		CHECK(strstr(err.msg, "is not delegated to this user"));
	}
	test_write(&h.dir, "cgroup", STR("4:memory:/elsewhere\n"));
	CHECK_INT(group_find(&h.at, h.mem, &place, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "in no group"));
	test_write(&h.dir, "mountinfo", STR("30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n\nx\n"));
	CHECK_INT(group_find(&h.at, h.mem, &place, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "no cgroup2 hierarchy"));
}

/* What was written stands in the files of the stand-in. */
static bool has(const struct host *h, const struct group *g, const char *name, const char *want)
{
	return file_is(h->dir.fd, str_printf(h->mem, "cg/user/%s/%s", g->name, name).p, str_from(want));
}

TEST(group_has_the_smaller_of_our_limits_and_those_around_us)
{
	static const struct {
		const char *max, *high, *pids;                /* of the group we are in */
		const char *want_max, *want_high, *want_pids; /* NULL: nothing is written */
	} cases[] = {
		{ "max\n", "max\n", "max\n", "134217728", NULL, "4096" },
		{ "1000000\n", "max\n", "9000\n", "1000000", NULL, "4096" },
		{ "9999999999\n", "50000\n", "100\n", "134217728", "50000", "100" },
		{ "nonsense\n", "\n", "-\n", "134217728", NULL, "4096" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(host_fini) struct host h = host_new("/", "/user/shell", "memory pids\n");
		struct group_place place;
		struct group g = GROUP_NONE;
		struct err err = { 0 };

		test_write(&h.dir, "cg/user/shell/memory.max", str_from(cases[i].max));
		test_write(&h.dir, "cg/user/shell/memory.high", str_from(cases[i].high));
		test_write(&h.dir, "cg/user/shell/pids.max", str_from(cases[i].pids));
		CHECK_OK(group_find(&h.at, h.mem, &place, &err));
		CHECK_OK(group_make(&place, 128, &g, &err));
		CHECK(has(&h, &g, "memory.max", cases[i].want_max));
		CHECK(has(&h, &g, "memory.swap.max", "0"));
		CHECK_INT(g.memory_mb, strcmp(cases[i].want_max, "1000000") == 0 ? 0 : 128);
		CHECK(has(&h, &g, "pids.max", cases[i].want_pids));
		CHECK(cases[i].want_high ? has(&h, &g, "memory.high", cases[i].want_high)
					 : faccessat(g.dir, "memory.high", F_OK, 0) < 0);
		group_close(&g);
	}
}

static void exists(const struct host *h, const char *name, bool want)
{
	CHECK((faccessat(h->dir.fd, name, F_OK, 0) == 0) == want);
}

TEST(group_takes_away_what_a_killed_run_left_and_nothing_that_lives)
{
	CLEANUP(host_fini) struct host h = host_new("/", "/user/shell", "memory\n");
	struct group_place place;
	struct group g = GROUP_NONE;
	struct err err = { 0 };

	CHECK_INT(mkdirat(h.dir.fd, "cg/user/agent6-left", 0755), 0);
	CHECK_INT(mkdirat(h.dir.fd, "cg/user/agent6-kept", 0755), 0);
	CHECK_INT(mkdirat(h.dir.fd, "cg/user/another", 0755), 0);
	test_write(&h.dir, "cg/user/agent6-full/process", STR("1"));
	autoclose int kept = openat(h.dir.fd, "cg/user/agent6-kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_INT(syscall(SYS_flock, kept, LOCK_EX), 0);
	CHECK_OK(group_find(&h.at, h.mem, &place, &err));
	CHECK_OK(group_make(&place, 64, &g, &err));
	exists(&h, "cg/user/agent6-left", false);
	exists(&h, "cg/user/agent6-kept", true);
	exists(&h, "cg/user/agent6-full", true);
	exists(&h, "cg/user/another", true);

	/* What the kernel's files are in a directory of a hierarchy does not keep it from going; here they do. */
	static const char *const files[] = { "memory.max", "memory.swap.max", "pids.max" };

	for (size_t i = 0; i < COUNT(files); i++)
		CHECK_INT(unlinkat(g.dir, files[i], 0), 0);
	struct str name = str_printf(h.mem, "cg/user/%s", g.name);

	CHECK_OK(group_end(&g, &err));
	exists(&h, name.p, false);
	CHECK_INT(g.dir, -1);
	CHECK_OK(group_end(&g, &err)); /* none: nothing to do */
}

TEST(group_that_cannot_be_limited_is_not_left_behind)
{
	struct group_place place = { "/proc/self", "/proc/self" }; /* where no directory can be made */
	struct group g = GROUP_NONE;
	struct err err = { 0 };

	CHECK(group_make(&place, 64, &g, &err) < 0);
	CHECK(strstr(err.msg, "make a control group"));
	CHECK_INT(g.parent, -1);
}

TEST(group_counts_kills_from_whatever_the_file_holds)
{
	static const struct {
		const char *text;
		struct group_ooms want;
	} cases[] = {
		{ "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 9\n", { 3, 2 } },
		{ "oom_kill 5", { 0, 5 } }, { "oom_group_kill 5\n", { 0, 0 } }, { "", { 0, 0 } }, { "oom_kill x\noom 1\n", { 1, 0 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir dir = test_dir_new();

		test_write(&dir, "memory.events", str_from(cases[i].text));
		autoclose int fd = openat(dir.fd, "memory.events", O_RDONLY | O_CLOEXEC);
		struct group_ooms got = group_ooms(fd);

		CHECK_INT(got.limit, cases[i].want.limit);
		CHECK_INT(got.kills, cases[i].want.kills);
	}
	CHECK_INT(group_ooms(-1).kills, 0);
}

TEST(group_takes_no_kill_for_its_limits_that_came_because_the_machine_was_full)
{
	static const struct {
		const char *why;
		struct group_ooms now;
		bool ours;
	} steps[] = { /* one after the other */
		{ "nothing happened", { 0, 0 }, false },
		{ "the machine was full", { 0, 1 }, false },
		{ "the limit was reached, and nobody has been killed yet", { 1, 1 }, false },
		{ "now", { 1, 2 }, true },
		{ "told once", { 1, 2 }, false },
		{ "the machine again", { 1, 3 }, false },
		{ "both at once", { 2, 5 }, true },
	};
	struct group_ooms was = { 0 };

	for (size_t i = 0; i < COUNT(steps); i++) {
		bool ours = group_limit_killed(&was, steps[i].now);

		if (ours != steps[i].ours)
			print_error("%s\n", steps[i].why);
		CHECK_INT(ours, steps[i].ours);
	}
}
