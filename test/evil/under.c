/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* under KIND[,KIND...] CMD ARGS: runs a program as it would be on a host that cannot do some things.
 *
 *   no-userns      a filter refuses every new namespace, as containers' do
 *   no-newuser     a filter refuses user namespaces and no other
 *   no-landlock    the kernel answers as one without Landlock
 *   forbidden-landlock  a filter refuses it, as older containers' do
 *   max-userns-0   user.max_user_namespaces is 0
 *   masked-proc    a container's: a pid namespace whose /proc is covered in part, so that no new one may be mounted
 *   no-chroot      root without CAP_SYS_CHROOT, as a container's may be
 *   no-setns       a policy refuses to enter any namespace
 *   landlock       a Landlock domain, which forbids every mount, is around it already
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NEW_ANY  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define NR       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARG0     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]))
#define SAY(e)   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (e))
#define IF_NR(n, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, (skip))

static void die(const char *what)
{
	fprintf(stderr, "under: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void filter(struct sock_filter *rows, size_t n)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = rows };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		die("filter");
}

static void no_namespaces(uint32_t which)
{
	struct sock_filter rows[] = {
		NR,
		IF_NR(__NR_clone3, 1), SAY(ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_unshare, 1, 0),
		IF_NR(__NR_clone, 3),
		ARG0, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, which, 0, 1), SAY(EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	filter(rows, COUNT(rows));
}

static void no_userns(void)
{
	no_namespaces(NEW_ANY);
}

static void no_newuser(void)
{
	no_namespaces(CLONE_NEWUSER);
}

static void landlock_answers(int sys)
{
	struct sock_filter rows[] = {
		NR,
		IF_NR(444, 1), SAY((uint32_t)sys),
		IF_NR(445, 1), SAY((uint32_t)sys),
		IF_NR(446, 1), SAY((uint32_t)sys),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	filter(rows, COUNT(rows));
}

static void no_landlock(void)
{
	landlock_answers(ENOSYS);
}

static void forbidden_landlock(void)
{
	landlock_answers(EPERM);
}

static void no_setns(void)
{
	struct sock_filter rows[] = { NR, IF_NR(__NR_setns, 1), SAY(EACCES), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	filter(rows, COUNT(rows));
}

static void own_users(int more)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char line[64];

	if (unshare(CLONE_NEWUSER | more) < 0)
		die("unshare");
	put("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	put("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	put("/proc/self/gid_map", line);
}

static void max_userns_0(void)
{
	own_users(0);
	put("/proc/sys/user/max_user_namespaces", "0");
}

/* The program runs as process 1's only child would: its status is handed on. */
static void masked_proc(void)
{
	int st;

	own_users(CLONE_NEWNS | CLONE_NEWPID);
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid > 0) {
		if (waitpid(pid, &st, 0) != pid)
			die("wait");
		exit(WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st));
	}
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
		mount("/dev/null", "/proc/keys", NULL, MS_BIND, NULL) < 0)
		die("mask /proc");
}

static void no_chroot(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_CAPBSET_DROP, CAP_SYS_CHROOT, 0, 0, 0) < 0 || syscall(SYS_capget, &head, data) < 0)
		die("drop CAP_SYS_CHROOT");
	data[0].effective &= ~CAP_TO_MASK(CAP_SYS_CHROOT);
	data[0].permitted &= ~CAP_TO_MASK(CAP_SYS_CHROOT);
	data[0].inheritable &= ~CAP_TO_MASK(CAP_SYS_CHROOT);
	if (syscall(SYS_capset, &head, data) < 0)
		die("drop CAP_SYS_CHROOT");
}

static void landlock(void)
{
	const uint64_t all = (1ULL << 13) - 1;
	struct {
		uint64_t allowed;
		int32_t fd;
	} __attribute__((packed)) beneath = { all, open("/", O_PATH | O_CLOEXEC) };
	int rules = (int)syscall(444, &all, sizeof(all), 0);

	if (rules < 0 || syscall(445, rules, 1, &beneath, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(446, rules, 0) < 0)
		die("landlock");
	close(rules);
	close(beneath.fd);
}

static const struct {
	const char *name;
	void (*go)(void);
} kinds[] = { { "no-userns", no_userns }, { "no-newuser", no_newuser }, { "no-landlock", no_landlock },
	{ "forbidden-landlock", forbidden_landlock }, { "max-userns-0", max_userns_0 }, { "masked-proc", masked_proc },
	{ "no-chroot", no_chroot }, { "no-setns", no_setns }, { "landlock", landlock } };

static void enter(const char *name, size_t n)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, name, n) == 0) {
			kinds[i].go();
			return;
		}
	errno = EINVAL;
	die(name);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 99;
	for (const char *p = argv[1]; *p;) {
		size_t n = strcspn(p, ",");

		enter(p, n);
		p += n + (p[n] == ',');
	}
	execvp(argv[2], argv + 2);
	die(argv[2]);
}
