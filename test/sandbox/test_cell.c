/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
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
