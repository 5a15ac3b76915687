/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/caps.h"
#include "sandbox/mnt.h"
#include "sandbox/namespace.h"
#include "sys/file.h"
#include "test/sandbox/jailed.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Runs fn as the first process of a cell and returns its exit status. */
static int run_cell(const struct cell_spec *spec, cell_main_fn *fn, void *self)
{
	struct err err = { 0 };
	struct cell_proc p;
	int st = 0;

	CHECK_OK(cell_start(spec, fn, self, &p, &err));
	CHECK(waitpid(p.pid, &st, 0) == p.pid);
	close(p.pidfd);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

struct ceiling {
	char ws[256], hidden[256], protect[256], outside[256];
};

static bool clear(const char *path, uint64_t bits)
{
	struct mount_attr attr = { .attr_clr = bits };

	return syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr)) == 0;
}

/* Everything a taken-over zygote could do to widen the cell, with every capability of its user namespace and no
 * filter. Returns the number of the first attempt that worked, 0 when none did. */
static int widen(const struct cell *cell, void *self)
{
	const struct ceiling *c = self;
	char below[300];
	struct stat st;
	int tree;

	(void)cell;
	snprintf(below, sizeof(below), "%s/key", c->hidden);
	if (umount2(c->hidden, MNT_DETACH) == 0)
		return 1;
	if (umount2(c->protect, MNT_DETACH) == 0)
		return 2;
	if (umount2("/usr", MNT_DETACH) == 0)
		return 3;
	if (clear(c->protect, MOUNT_ATTR_RDONLY))
		return 4;
	if (clear("/usr", MOUNT_ATTR_RDONLY))
		return 5;
	if (clear("/", MOUNT_ATTR_RDONLY))
		return 6;
	if (clear(c->ws, MOUNT_ATTR_NOSUID) || clear(c->ws, MOUNT_ATTR_NODEV))
		return 7;
	if (mount(NULL, c->protect, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) == 0)
		return 8;
	/* A copy without what is mounted below would show what the mask hides. */
	if (mount(c->ws, "/tmp", NULL, MS_BIND, NULL) == 0)
		return 9;
	if (mnt_clone(AT_FDCWD, c->ws, 0) >= 0)
		return 10;
	tree = mnt_clone(AT_FDCWD, c->ws, AT_RECURSIVE);
	if (tree >= 0 && mnt_move(tree, AT_FDCWD, "/tmp") == 0 && stat("/tmp/hidden/key", &st) == 0)
		return 11;
	if (syscall(SYS_move_mount, AT_FDCWD, c->hidden, AT_FDCWD, "/dev/shm", 0) == 0)
		return 12;
	if (stat(below, &st) == 0)
		return 13;
	if (stat(c->outside, &st) == 0)
		return 14;
	if (mount("x", "/dev/shm", "sysfs", 0, NULL) == 0 && stat("/dev/shm/kernel", &st) == 0)
		return 15;
	if (mknod("/dev/shm/disk", S_IFBLK | 0600, 0) == 0)
		return 16;
	int ns = open("/proc/1/ns/net", O_RDONLY);
	if (ns >= 0 && setns(ns, CLONE_NEWNET) == 0)
		return 17;
	if (sethostname("taken", 5) == 0)
		return 18;
	return 0;
}

TEST(cell_cannot_be_widened_by_who_stands_in_it)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir outside = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	auto_arena struct arena *mem = arena_new();
	struct ceiling c;

	test_write(&ws, "hidden/key", STR("secret"));
	test_write(&ws, ".git/config", STR("x"));
	test_write(&outside, "file", STR("x"));
	snprintf(c.ws, sizeof(c.ws), "%s", ws.path);
	snprintf(c.hidden, sizeof(c.hidden), "%s/hidden", ws.path);
	snprintf(c.protect, sizeof(c.protect), "%s/.git", ws.path);
	snprintf(c.outside, sizeof(c.outside), "%s/file", outside.path);
	policy_list_add(&spec.root.hide_paths, mem, c.hidden);
	policy_list_add(&spec.root.protect_paths, mem, c.protect);
	if (!jailed_possible())
		return;
	CHECK_INT(run_cell(&spec, widen, &c), 0);
}

/* The same attempts where the mounts are not locked: they must work, or the test above proves nothing. */
static int widen_unlocked(const struct cell *cell, void *self)
{
	const struct ceiling *c = self;
	struct stat st;
	char below[300];

	(void)cell;
	snprintf(below, sizeof(below), "%s/key", c->hidden);
	if (stat(below, &st) == 0 || umount2(c->hidden, MNT_DETACH) < 0 || stat(below, &st) < 0)
		return 1;
	return clear(c->protect, MOUNT_ATTR_RDONLY) ? 0 : 2;
}

TEST(cell_without_the_lock_could_be_widened)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	auto_arena struct arena *mem = arena_new();
	struct ceiling c;

	if (spec.root.idmap)
		return; /* root's cells are always locked: this shows what an ordinary user's lock is for */
	test_write(&ws, "hidden/key", STR("secret"));
	test_write(&ws, ".git/config", STR("x"));
	snprintf(c.hidden, sizeof(c.hidden), "%s/hidden", ws.path);
	snprintf(c.protect, sizeof(c.protect), "%s/.git", ws.path);
	policy_list_add(&spec.root.hide_paths, mem, c.hidden);
	policy_list_add(&spec.root.protect_paths, mem, c.protect);
	spec.lock = false;
	if (!jailed_possible())
		return;
	CHECK_INT(run_cell(&spec, widen_unlocked, &c), 0);
}

static int wait_for_ever(const struct cell *cell, void *self)
{
	(void)cell;
	(void)self;
	while (pause() < 0)
		;
	return 0;
}

static void dies_with_its_parent(struct cell_spec *spec)
{
	int fds[2], st = 0;

	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	spec->keep_fds = &fds[1];
	spec->nkeep = 1;
	pid_t parent = fork();
	if (parent == 0) {
		struct cell_proc p;

		_exit(cell_start(spec, wait_for_ever, NULL, &p, ERR_DISCARD) < 0);
	}
	close(fds[1]);
	CHECK(waitpid(parent, &st, 0) == parent && WIFEXITED(st) && WEXITSTATUS(st) == 0);
	/* Only the cell still holds the other end: end of file says that it is gone. */
	struct pollfd p = { fds[0], POLLIN, 0 };
	CHECK_INT(poll(&p, 1, 60000), 1);
	CHECK(p.revents & POLLHUP);
	close(fds[0]);
}

TEST(cell_dies_with_its_parent)
{
	auto_dir struct test_dir ws = test_dir_new();

	if (!jailed_possible())
		return;
	for (int i = 0; i < 4; i++) {
		struct cell_spec spec = jailed_cell(&ws);

		spec.lock = i & 1;
		spec.late = i & 2; /* it may be at any point of its start when its parent ends */
		dies_with_its_parent(&spec);
	}
}

TEST(cell_that_is_late_and_dies_is_told_of)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	struct err err = { 0 };
	struct cell_proc p;
	int st = 0;

	if (!jailed_possible())
		return;
	spec.late = true;
	CHECK_OK(cell_start(&spec, wait_for_ever, NULL, &p, &err));
	CHECK(p.report >= 0);
	CHECK(syscall(SYS_pidfd_send_signal, p.pidfd, SIGKILL, NULL, 0) == 0);
	CHECK_INT(cell_failed(p.report, &err), -ERR_SYS);
	CHECK_STR(str_from(err.msg), STR("the cell's first process died before it was ready"));
	CHECK(waitpid(p.pid, &st, 0) == p.pid && WIFSIGNALED(st));
	close(p.pidfd);
	close(p.report);
}

TEST(cell_refuses_what_it_cannot_keep)
{
	static const struct {
		const char *why, *list, *path, *says;
	} cases[] = {
		{ "the cell has its own", "rw", "/proc/self", "a cell has its own /proc" },
		{ "devices", "ro", "/dev/null", "a cell has its own /dev" },
		{ "system", "rw", "/etc", "nothing in /etc may be writable" },
		{ "system, deeper", "rw", "/usr/local/lib", "nothing in /usr may be writable" },
		{ "a link", "rw", "link", "symbolic link" },
		{ "through a link", "ro", "link/file", "symbolic link" },
		{ "a fifo", "ro", "fifo", "neither a directory nor a regular file" },
		{ "hiding a link hides nothing", "hide", "link", "symbolic link" },
		{ "a grant inside what is hidden", "hide", "granted", "inside it is granted" },
		{ "a write grant inside what is protected", "protect", "granted", "inside it is granted" },
	};
	auto_dir struct test_dir ws = test_dir_new();

	test_write(&ws, "granted/sub/file", STR("x"));
	test_write(&ws, "real/file", STR("x"));
	CHECK(symlinkat("real", ws.fd, "link") == 0 && mkfifoat(ws.fd, "fifo", 0666) == 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_root struct root *root = NULL;
		struct root_spec spec = jailed_cell(&ws).root;
		struct err err = { 0 };
		char path[256];
		struct policy_list *list = cases[i].list[0] == 'h' ? &spec.hide_paths
			: cases[i].list[0] == 'p'		   ? &spec.protect_paths
			: strcmp(cases[i].list, "rw") == 0	   ? &spec.rw_paths
								   : &spec.ro_paths;

		snprintf(path, sizeof(path), "%s%s%s", cases[i].path[0] == '/' ? "" : ws.path,
			cases[i].path[0] == '/' ? "" : "/", cases[i].path);
		policy_list_add(list, mem, path);
		if (strcmp(cases[i].path, "granted") == 0) {
			snprintf(path, sizeof(path), "%s/granted/sub", ws.path);
			policy_list_add(&spec.rw_paths, mem, path);
		}
		CHECK_INT(root_pin(&spec, mem, &root, &err), -ERR_INVALID);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
	}
}

/* In mounts of its own, where what is mounted is gone with it. */
static bool apart(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && ns_map_self(uid, gid, ERR_DISCARD) == 0;
}

static void exchange_workspace(const struct test_dir *ws)
{
	char other[300];

	snprintf(other, sizeof(other), "%s.other", ws->path);
	CHECK(rename(ws->path, other) == 0 && mkdir(ws->path, 0755) == 0);
}

static void exchange_protected(const struct test_dir *ws)
{
	CHECK(renameat(ws->fd, "keep", ws->fd, "old") == 0 && mkdirat(ws->fd, "keep", 0755) == 0);
}

/* It leads to the same directory: but whose link it is nobody knows. */
static void lead_through_link(const struct test_dir *ws)
{
	CHECK(renameat(ws->fd, "a", ws->fd, "b") == 0 && symlinkat("b", ws->fd, "a") == 0);
}

/* What the process beside a cell's first gives it, given by itself. */
static int build_alone(struct root *root, struct err *err)
{
	autoclose int sockets = -1;
	struct side side;

	TRY(root_find_sockets(root, &sockets, err));
	TRY(side_open(&side, err));
	TRY(side_give(&side, sockets, err));
	return root_build(root, &side, err);
}

/* What was looked at is what is used, whatever its names lead to by then. */
TEST(cell_is_built_of_what_was_looked_at)
{
	static const struct {
		void (*change)(const struct test_dir *ws);
		const char *says;
	} cases[] = {
		{ exchange_workspace, "it was exchanged for something else" },
		{ exchange_protected, "keep: it was exchanged for something else" },
		{ lead_through_link, "a/grant: Too many levels of symbolic links" },
	};

	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir parent = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct root_spec spec = { .uid = geteuid(), .gid = getegid() };
		struct test_dir ws = parent;

		test_write(&parent, "ws/keep/file", STR("x"));
		test_write(&parent, "ws/a/grant/file", STR("x"));
		snprintf(ws.path, sizeof(ws.path), "%.100s/ws", parent.path);
		ws.fd = open(ws.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		spec.workspace = ws.path;
		policy_list_add(&spec.protect_paths, mem, str_printf(mem, "%s/keep", ws.path).p);
		policy_list_add(&spec.ro_paths, mem, str_printf(mem, "%s/a/grant", ws.path).p);
		pid_t pid = fork();
		int st = 0;

		if (pid == 0) {
			struct root *root = NULL;
			struct err err = { 0 };

			if (root_pin(&spec, mem, &root, &err) < 0 || !apart())
				_exit(9);
			cases[i].change(&ws);
			_exit(build_alone(root, &err) == 0 ? 1 : strstr(err.msg, cases[i].says) ? 0 : 2);
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
		close(ws.fd);
	}
}

TEST(cell_shows_no_window_into_the_kernel_wherever_it_is_mounted)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct root_spec spec = jailed_cell(&ws).root;
	int st = 0;

	test_write(&ws, "window/file", STR("x"));
	policy_list_add(&spec.ro_paths, mem, str_printf(mem, "%s/window", ws.path).p);
	if (!jailed_possible())
		return;
	pid_t pid = fork();
	if (pid == 0) {
		struct root *root = NULL;
		struct err err = { 0 };

		if (root_pin(&spec, mem, &root, &err) < 0 || !apart() || mount("/proc", spec.ro_paths.p[0], NULL, MS_BIND | MS_REC, NULL) < 0)
			_exit(9);
		_exit(root_pin(&spec, mem, &root, &err) == 0 ? 1 : strstr(err.msg, "it is on a proc file system") ? 0 : 2);
	}
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
}

TEST(cell_protects_every_kind_of_git_entry)
{
	static const struct {
		const char *why, *make;
	} cases[] = {
		{ "a directory", "mkdir .git && echo x > .git/config" },
		{ "a file, as a linked worktree has", "echo 'gitdir: ../x' > .git" },
		{ "a link to a directory in the workspace", "mkdir real && echo x > real/config && ln -s real .git" },
		{ "a link that leads nowhere", "ln -s nowhere .git" },
	};
	static const char attack[] = "state() { ls -lid .git real; cat .git .git/config real/config; }\n"
				     "before=$(state 2>&1)\n"
				     "for c in 'rm -rf .git' 'mv .git x' 'echo x > .git' 'echo y > .git/config' "
				     "'ln -sf /tmp .git' 'rm -rf real' 'mv real y' 'echo y > real/config' "
				     "'mkdir -p .git/hooks'; do ( eval \"$c\" ) 2>/dev/null; done\n"
				     "test \"$before\" = \"$(state 2>&1)\" && echo same || echo changed";

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct cell_spec spec = jailed_cell(&ws);
		bool protect = i % 2 == 0; /* the other half shows that the attack works */
		char path[256];

		if (!jailed_possible())
			return;
		auto_jailed struct jailed before = jailed_sh(&spec, JOB_COMMAND, cases[i / 2].make);
		CHECK_INT(before.code, 0);
		snprintf(path, sizeof(path), "%s/.git", ws.path);
		if (protect)
			policy_list_add(&spec.root.protect_paths, mem, path);
		auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, attack);
		CHECK_STR(buf_str(&j.out), protect ? STR("same\n") : STR("changed\n"));
	}
}

TEST(cell_keeps_a_protected_path_when_its_parents_are_renamed)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	char path[256];

	test_write(&ws, "a/b/keep", STR("mine\n"));
	snprintf(path, sizeof(path), "%s/a/b/keep", ws.path);
	policy_list_add(&spec.root.protect_paths, mem, path);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"mv a c; mv a/b a/d; rm -rf a; mv a/b/keep x; echo x > a/b/keep; echo new > a/b/other; cat a/b/keep a/b/other");
	struct str out = buf_str(&j.out);
	CHECK(str_ends(out, STR("mine\nnew\n")));
	CHECK(file_is(ws.fd, "a/b/keep", STR("mine\n")));
}

TEST(cell_hides_on_the_object_and_not_by_name)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	char path[256];

	test_write(&ws, "a/secret/key", STR("hidden\n"));
	test_write(&ws, ".env", STR("hidden\n"));
	CHECK(symlinkat("a/secret", ws.fd, "alias") == 0);
	snprintf(path, sizeof(path), "%s/a/secret", ws.path);
	policy_list_add(&spec.root.hide_paths, mem, path);
	snprintf(path, sizeof(path), "%s/.env", ws.path);
	policy_list_add(&spec.root.hide_paths, mem, path);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"{ cat a/secret/key alias/key; mv a b; cat b/secret/key; rm -rf a; mkdir -p a/secret; touch a/secret/new a/new; cat .env; ln .env x; cat x; echo x > .env; } 2>/dev/null; echo end");
	CHECK_STR(buf_str(&j.out), STR("end\n"));
	/* Nor is it carried to where the next cell does not hide it, or another one put in its place. */
	CHECK(file_is(ws.fd, "a/secret/key", STR("hidden\n")));
	CHECK(faccessat(ws.fd, "b", F_OK, 0) < 0 && faccessat(ws.fd, "a/secret/new", F_OK, 0) < 0);
	CHECK(faccessat(ws.fd, "a/new", F_OK, 0) == 0);
}

/* In a mount namespace of its own, in a child: the machine's is nobody's to change. */
static bool apart_with(const char *from, const char *to)
{
	bool own = geteuid() == 0 ? unshare(CLONE_NEWNS) == 0 : apart();

	return own && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount(from, to, NULL, MS_BIND, NULL) == 0;
}

TEST(cell_hides_and_protects_by_every_name_that_mounts_give)
{
	static const struct {
		const char *why, *from, *to, *hide, *protect, *script;
	} cases[] = {
		{ "the directory itself", "a/secret", "b", "a/secret", ".git", "cat a/secret/key b/key" },
		{ "what it lies in", "a", "b", "a/secret", ".git", "cat a/secret/key b/secret/key; mv b/secret c; mv b c; cat c/key c/secret/key" },
		{ "what lies in it", "a/secret/sub", "b", "a/secret", ".git", "cat a/secret/sub/key b/key; mv b c; cat c/key" },
		{ "the mount was written", "a/secret", "b", "b", ".git", "cat a/secret/key b/key; mv a c; cat c/secret/key" },
		{ "a protected directory", ".git", "b", "a/secret", ".git", "echo x > .git/config; echo x > b/config; rm -f b/config" },
		{ "a part of a protected directory", ".git/hooks", "b", "a/secret", ".git", "echo x > b/hook; echo x > .git/hooks/hook" },
	};

	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct cell_spec spec = jailed_cell(&ws);
		int st = 0;

		test_write(&ws, "a/secret/key", STR("hidden\n"));
		test_write(&ws, "a/secret/sub/key", STR("hidden\n"));
		test_write(&ws, ".git/config", STR("kept\n"));
		test_write(&ws, ".git/hooks/hook", STR("kept\n"));
		CHECK(mkdirat(ws.fd, "b", 0755) == 0);
		policy_list_add(&spec.root.hide_paths, mem, str_printf(mem, "%s/%s", ws.path, cases[i].hide).p);
		policy_list_add(&spec.root.protect_paths, mem, str_printf(mem, "%s/%s", ws.path, cases[i].protect).p);
		pid_t pid = fork();
		if (pid == 0) {
			if (!apart_with(str_printf(mem, "%s/%s", ws.path, cases[i].from).p, str_printf(mem, "%s/%s", ws.path, cases[i].to).p))
				_exit(9);
			auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, str_printf(mem, "{ %s; } 2>/dev/null; echo end", cases[i].script).p);
			_exit(j.code == -1 ? 8 : str_eqz(buf_str(&j.out), "end\n") ? 0 : 1);
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		if (st != 0)
			print_error("%s: %d\n", cases[i].why, WEXITSTATUS(st));
		CHECK_INT(st, 0);
		CHECK(file_is(ws.fd, ".git/config", STR("kept\n")) && file_is(ws.fd, ".git/hooks/hook", STR("kept\n")));
		CHECK(file_is(ws.fd, "a/secret/key", STR("hidden\n")));
	}
}

TEST(cell_shares_tmp_between_commands_but_no_processes)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, "echo x > /tmp/f; ls -d /proc/[0-9]* | wc -l");
	CHECK(j.out.n == 2 && j.out.p[0] >= '2' && j.out.p[0] <= '6'); /* stub, sh, ls, wc */
}

TEST(cell_leaves_nothing_on_the_host)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir other = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	struct stat st;
	char path[256];

	snprintf(path, sizeof(path), "%s/missing", other.path);
	policy_list_add(&spec.root.rw_paths, mem, path);
	snprintf(path, sizeof(path), "%s/.git", ws.path);
	policy_list_add(&spec.root.protect_paths, mem, path);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, "echo x > /tmp/agent6-trace-of-a-test");
	CHECK_INT(j.code, 0);
	CHECK(fstatat(ws.fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0);
	CHECK(fstatat(other.fd, "missing", &st, AT_SYMLINK_NOFOLLOW) < 0);
	CHECK(lstat("/tmp/agent6-trace-of-a-test", &st) < 0);
}

static const char *const own_namespaces[] = { "/proc/self/ns/mnt", "/proc/self/ns/pid", "/proc/self/ns/user", "/proc/self/ns/ipc",
	"/proc/self/ns/uts", "/proc/self/ns/net", "/proc/self/ns/cgroup" };

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* How many mounts lie at "/": the new root, and whatever was not let go. */
static int roots(void)
{
	auto_buf struct buf text = BUF_MAX(1 << 20);
	int n = 0;

	if (file_read(AT_FDCWD, "/proc/self/mountinfo", &text, ERR_DISCARD) < 0)
		return -1;
	for (struct str rest = buf_str(&text); rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');

		for (int field = 0; field < 4; field++)
			str_cut(&line, ' ');
		n += str_eq(str_cut(&line, ' '), STR("/"));
	}
	return n;
}

/* How many descriptors this process has. */
static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The number of the first thing that the first process of a cell holds and should not, 0 when it holds nothing. */
static int holds(const struct cell *cell, void *self)
{
	auto_buf struct buf text = BUF_MAX(1 << 16);

	(void)self;
	if (descriptors() != 3)
		return 1;
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 2;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			return 3;
	if (cell->spec->root.idmap && getgroups(0, NULL) != 0)
		return 4;
	if (getuid() == 0 || getgid() == 0 || getuid() != cell->uid)
		return 5;
	if (cell->has_proc && (file_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", &text, ERR_DISCARD) < 0 ||
				      !str_eq(buf_str(&text), STR("0\n"))))
		return 6;
	return 0;
}

TEST(cell_s_first_process_holds_nothing_that_it_was_not_given)
{
	static const gid_t groups[] = { 1, 20, 100 };
	auto_dir struct test_dir ws = test_dir_new();
	int left = open("/dev/null", O_RDONLY); /* not marked: nobody is to rely on who opened it */

	if (!jailed_possible())
		return;
	for (int i = 0; i < 2; i++) {
		struct cell_spec spec = jailed_cell(&ws);
		pid_t pid = fork();
		int st = 0;

		spec.lock = i;
		if (pid == 0) {
			if (geteuid() == 0 && setgroups(COUNT(groups), groups) < 0)
				_exit(99);
			_exit(run_cell(&spec, holds, NULL));
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
	}
	close(left);
}

/* The number of the first namespace that is the host's. */
static int is_the_hosts(const struct cell *cell, void *self)
{
	const uint64_t *host = self;

	for (size_t i = 0; cell->has_proc && i < COUNT(own_namespaces); i++)
		if (inode_of(own_namespaces[i]) == host[i] && !(cell->spec->root.host_network && strcmp(own_namespaces[i], "/proc/self/ns/net") == 0))
			return (int)i + 1;
	return 0;
}

TEST(cell_has_namespaces_of_its_own)
{
	auto_dir struct test_dir ws = test_dir_new();
	uint64_t host[COUNT(own_namespaces)];

	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(own_namespaces); i++)
		host[i] = inode_of(own_namespaces[i]);
	for (int i = 0; i < 4; i++) {
		struct cell_spec spec = jailed_cell(&ws);

		spec.lock = i & 1;
		spec.root.host_network = i & 2;
		CHECK_INT(run_cell(&spec, is_the_hosts, host), 0);
	}
}

/* The number of the first thing that is not as it should be, 0 when all is. */
static int look_around(const struct cell *cell, void *self)
{
	uint64_t host_net = *(uint64_t *)self;
	struct ifreq lo = { .ifr_name = "lo" };
	autoclose int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		return 1;
	if (cell->has_proc && roots() != 1)
		return 2;
	if (cell->has_proc && (inode_of("/proc/self/ns/net") == host_net) != cell->spec->root.host_network)
		return 3;
	if (ioctl(sock, SIOCGIFFLAGS, &lo) < 0 || !(lo.ifr_flags & IFF_UP))
		return 4;
	return 0;
}

TEST(cell_has_its_network_and_nobody_beside_its_first_process_nor_the_old_root)
{
	auto_dir struct test_dir ws = test_dir_new();
	uint64_t host_net = inode_of("/proc/self/ns/net");

	if (!jailed_possible())
		return;
	for (int i = 0; i < 4; i++) {
		struct cell_spec spec = jailed_cell(&ws);

		spec.lock = i & 1;
		spec.root.host_network = i & 2;
		CHECK_INT(run_cell(&spec, look_around, &host_net), 0);
	}
}

/* As a container's root may be: without it nobody enters a mount namespace from outside of a user namespace. */
static bool drop_chroot(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	data[0].effective &= ~CAP_TO_MASK(CAP_SYS_CHROOT);
	data[0].permitted &= ~CAP_TO_MASK(CAP_SYS_CHROOT);
	return syscall(SYS_capset, &head, data) == 0 && (!ns_is_real_root() || (data[0].effective & CAP_TO_MASK(CAP_SYS_ADMIN)));
}

TEST(cell_of_root_s_stands_where_nobody_can_enter_it)
{
	auto_dir struct test_dir ws = test_dir_new();
	uint64_t host_net = inode_of("/proc/self/ns/net");

	if (!jailed_possible())
		return;
	for (int i = 0; i < 4; i++) {
		struct cell_spec spec = jailed_cell(&ws);
		pid_t pid = fork();
		int st = 0;

		spec.lock = i & 1;
		spec.root.host_network = i & 2;
		if (pid == 0)
			_exit(drop_chroot() ? run_cell(&spec, look_around, &host_net) : 99);
		CHECK(waitpid(pid, &st, 0) == pid);
		CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
	}
}
