/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/caps.h"
#include "sandbox/confine.h"
#include "sandbox/resolver_files.h"
#include "sandbox/seccomp.h"
#include "sandbox/sysnr.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/securebits.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#ifdef __x86_64__
#define MINE    AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define MINE    AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

TEST(seccomp_tables_all_compile_and_fit)
{
	for (unsigned p = 0; p < SECCOMP_COUNT; p++) {
		struct seccomp_filter f = { 0 };
		struct err err = { 0 };

		CHECK_OK(seccomp_build(p, &f, &err));
		CHECK(f.n > 20 && f.n <= SECCOMP_INSNS_MAX);
		CHECK(strlen(seccomp_name(p)) > 0);
	}
}

TEST(seccomp_closes_other_machines_and_unknown_calls)
{
	static const uint64_t args[6] = { 0 };
	static const int unknown[] = { NR_LAST + 1, 1000, 0x40000000, 0x40000001, 0x7fffffff, -1 };

	for (unsigned p = 0; p < SECCOMP_COUNT; p++) {
		struct seccomp_filter f;

		CHECK(seccomp_build(p, &f, ERR_DISCARD) == 0);
		CHECK_INT(seccomp_judge(&f, FOREIGN, __NR_getpid, args), -1);
		for (size_t i = 0; i < COUNT(unknown); i++)
			CHECK_INT(seccomp_judge(&f, MINE, unknown[i], args), ENOSYS);
	}
}

/* Later x86-64 kernels let these pass every filter; who is no probe of theirs dies by SIGILL. */
#define NR_URETPROBE 335
#define NR_UPROBE    336

/* 0, or one more than the first number to which the kernel does not answer as the filter says. */
static int asks_every_refused(const struct seccomp_filter *f)
{
	static const uint64_t args[6] = { 0 };

	if (caps_no_new_privs(ERR_DISCARD) < 0 || seccomp_enter(f, ERR_DISCARD) < 0)
		return -1;
	for (int nr = 0; nr <= NR_LAST + 1; nr++) {
		int want = seccomp_judge(f, MINE, nr, args);

		if (MINE == AUDIT_ARCH_X86_64 && (nr == NR_URETPROBE || nr == NR_UPROBE))
			continue;
		if (want > 0 && (syscall(nr, 0, 0, 0, 0, 0, 0) != -1 || errno != want))
			return nr + 1;
	}
	return 0;
}

/* What the tables are compared with is our own reading of a filter: it is also the kernel's, on this machine. */
TEST(seccomp_is_obeyed_by_the_kernel_on_every_number)
{
	for (unsigned p = 0; p < SECCOMP_COUNT; p++) {
		int *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		struct seccomp_filter f;
		int st = 0;

		CHECK(seccomp_build(p, &f, ERR_DISCARD) == 0);
		*found = -2;
		pid_t pid = fork();
		if (pid == 0) {
			*found = asks_every_refused(&f);
			_exit(0);
		}
		CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st));
		CHECK_INT(*found, 0);
		munmap(found, sizeof(*found));
	}
}

#define HIGH (1ULL << 40) /* bits the kernel does not look at must not change the answer */

TEST(seccomp_looks_at_arguments)
{
	static const struct {
		const char *why;
		enum seccomp_profile profile;
		int nr;
		uint64_t args[6];
		int want;
	} cases[] = {
		{ "open for reading", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_RDONLY, 06755 }, 0 },
		{ "create", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_CREAT | O_WRONLY, 0644 }, 0 },
		{ "create set-uid", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_CREAT | O_WRONLY, 04755 }, EPERM },
		{ "create set-gid", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_CREAT | HIGH, 02755 | HIGH }, EPERM },
		{ "nameless set-uid", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_TMPFILE | O_RDWR, 04755 }, EPERM },
		{ "a directory is not O_TMPFILE", SECCOMP_COMMAND, __NR_openat, { 0, 0, O_DIRECTORY, 04755 }, 0 },
		{ "fchmod", SECCOMP_COMMAND, __NR_fchmod, { 3, 0755 }, 0 },
		{ "a view's terminal, by its mode", SECCOMP_VIEW, __NR_fchmod, { 1, 0666 }, EPERM },
		{ "a view's terminal, by a list of rights", SECCOMP_VIEW, __NR_fsetxattr, { 1 }, EPERM },
		{ "fchmod set-uid", SECCOMP_COMMAND, __NR_fchmod, { 3, 04755 | HIGH }, EPERM },
		{ "fchmodat set-gid", SECCOMP_COMMAND, __NR_fchmodat, { 3, 0, 02755 }, EPERM },
		{ "fchmodat2 set-gid", SECCOMP_COMMAND, __NR_fchmodat2, { 3, 0, 02755 }, EPERM },
		{ "mkdirat set-gid", SECCOMP_COMMAND, __NR_mkdirat, { 3, 0, 02755 }, EPERM },
		{ "a fifo", SECCOMP_COMMAND, __NR_mknodat, { 3, 0, S_IFIFO | 0644 }, 0 },
		{ "a disk", SECCOMP_COMMAND, __NR_mknodat, { 3, 0, S_IFBLK | 0644 }, EPERM },
		{ "a device", SECCOMP_COMMAND, __NR_mknodat, { 3, 0, S_IFCHR | HIGH }, EPERM },
		{ "a thread", SECCOMP_COMMAND, __NR_clone, { CLONE_VM | CLONE_THREAD }, 0 },
		{ "a user namespace", SECCOMP_COMMAND, __NR_clone, { CLONE_NEWUSER }, EPERM },
		{ "a cgroup namespace", SECCOMP_COMMAND, __NR_clone, { CLONE_NEWCGROUP | 17 }, EPERM },
		{ "window size", SECCOMP_COMMAND, __NR_ioctl, { 0, TIOCGWINSZ }, 0 },
		{ "type for the operator", SECCOMP_COMMAND, __NR_ioctl, { 0, TIOCSTI }, EPERM },
		{ "the same, disguised", SECCOMP_COMMAND, __NR_ioctl, { 0, TIOCSTI | HIGH }, EPERM },
		{ "paste for the operator", SECCOMP_COMMAND, __NR_ioctl, { 0, 0x541C }, EPERM },
		{ "take a terminal", SECCOMP_COMMAND, __NR_ioctl, { 0, TIOCSCTTY }, EPERM },
		{ "duplicate", SECCOMP_COMMAND, __NR_fcntl, { 0, F_DUPFD }, 0 },
		{ "signals for somebody", SECCOMP_COMMAND, __NR_fcntl, { 0, F_SETOWN }, EPERM },
		{ "unix", SECCOMP_COMMAND, __NR_socket, { AF_UNIX, SOCK_DGRAM }, 0 },
		{ "tcp", SECCOMP_COMMAND, __NR_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6 }, 0 },
		{ "tcp, any", SECCOMP_COMMAND, __NR_socket, { AF_INET6, SOCK_STREAM, 0 }, 0 },
		{ "multipath tcp", SECCOMP_COMMAND, __NR_socket, { AF_INET, SOCK_STREAM, 262 }, EAFNOSUPPORT },
		{ "udp", SECCOMP_COMMAND, __NR_socket, { AF_INET, SOCK_DGRAM, 17 }, 0 },
		{ "ping", SECCOMP_COMMAND, __NR_socket, { AF_INET, SOCK_DGRAM, 1 }, EAFNOSUPPORT },
		{ "raw", SECCOMP_COMMAND, __NR_socket, { AF_INET, SOCK_RAW, 1 }, EAFNOSUPPORT },
		{ "route", SECCOMP_COMMAND, __NR_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
		{ "audit", SECCOMP_COMMAND, __NR_socket, { AF_NETLINK, SOCK_RAW, 9 }, EAFNOSUPPORT },
		{ "vsock", SECCOMP_COMMAND, __NR_socket, { AF_VSOCK, SOCK_STREAM }, EAFNOSUPPORT },
		{ "packet", SECCOMP_COMMAND, __NR_socket, { AF_PACKET, SOCK_RAW, 0 }, EAFNOSUPPORT },
		{ "crypto", SECCOMP_COMMAND, __NR_socket, { AF_ALG, SOCK_SEQPACKET }, EAFNOSUPPORT },
		{ "no socket for git", SECCOMP_GIT, __NR_socket, { AF_UNIX, SOCK_STREAM }, EACCES },
		{ "personality asked", SECCOMP_COMMAND, __NR_personality, { 0xffffffff }, 0 },
		{ "personality changed", SECCOMP_COMMAND, __NR_personality, { 0x40000 }, EPERM },
		{ "data", SECCOMP_AGENT, __NR_mmap, { 0, 4096, PROT_READ | PROT_WRITE }, 0 },
		{ "code", SECCOMP_AGENT, __NR_mmap, { 0, 4096, PROT_READ | PROT_EXEC }, EPERM },
		{ "data made code", SECCOMP_AGENT, __NR_mprotect, { 0, 4096, PROT_EXEC }, EPERM },
		{ "an agent executes nothing", SECCOMP_AGENT, __NR_execve, { 0 }, EPERM },
		{ "an agent has no socket", SECCOMP_AGENT, __NR_socket, { AF_UNIX, SOCK_STREAM }, EPERM },
		{ "an agent makes no process", SECCOMP_AGENT, __NR_clone, { 17 }, EPERM },
		{ "the client's pairs", SECCOMP_CLIENT, __NR_socketpair, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
		{ "nothing that could be connected elsewhere", SECCOMP_CLIENT, __NR_socketpair, { AF_UNIX, SOCK_DGRAM, 0 }, EACCES },
		{ "no socket of the host", SECCOMP_CLIENT, __NR_socket, { AF_UNIX, SOCK_STREAM }, EPERM },
		{ "no other socket", SECCOMP_CLIENT, __NR_socket, { AF_INET, SOCK_STREAM }, EPERM },
		{ "no connection", SECCOMP_CLIENT, __NR_connect, { 0 }, SECCOMP_NOTHING },
		{ "a connection in a sendto", SECCOMP_BROKER, __NR_sendto, { 0, 0, 0, 0x20000000 }, EPERM },
		{ "the broker dials", SECCOMP_BROKER, __NR_socket, { AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 6 }, 0 },
		{ "the broker asks no name server", SECCOMP_BROKER, __NR_socket, { AF_INET, SOCK_DGRAM, 0 }, EAFNOSUPPORT },
		{ "the broker makes no unix socket", SECCOMP_BROKER, __NR_socket, { AF_UNIX, SOCK_STREAM, 0 }, EAFNOSUPPORT },
		{ "the broker opens no file", SECCOMP_BROKER, __NR_openat, { 0 }, EPERM },
		{ "the resolver asks", SECCOMP_RESOLVER, __NR_socket, { AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0 }, 0 },
		{ "the resolver asks no daemon of the host's", SECCOMP_RESOLVER, __NR_socket, { AF_UNIX, SOCK_STREAM, 0 }, EAFNOSUPPORT },
		{ "nor does a client that dials itself", SECCOMP_CLIENT_OPEN, __NR_socket, { AF_UNIX, SOCK_DGRAM, 0 }, EAFNOSUPPORT },
		{ "whose threads wake each other", SECCOMP_CLIENT_OPEN, __NR_socketpair, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, 0 },
		{ "by nothing that leads elsewhere", SECCOMP_CLIENT_OPEN, __NR_socketpair, { AF_UNIX, SOCK_DGRAM, 0 }, EACCES },
		{ "the resolver executes nothing", SECCOMP_RESOLVER, __NR_execve, { 0 }, EPERM },
		{ "the resolver listens to nobody", SECCOMP_RESOLVER, __NR_listen, { 0 }, EPERM },
		{ "nor does a client that dials itself", SECCOMP_CLIENT_OPEN, __NR_listen, { 0 }, EPERM },
		{ "nobody comes to it", SECCOMP_CLIENT_OPEN, __NR_accept4, { 0 }, EPERM },
		{ "its threads", SECCOMP_CLIENT_OPEN, __NR_clone, { CLONE_VM | CLONE_THREAD | CLONE_SIGHAND }, 0 },
		{ "and no process", SECCOMP_CLIENT_OPEN, __NR_clone, { 17 }, EPERM },
		{ "no pair of records", SECCOMP_CLIENT, __NR_socketpair, { AF_UNIX, SOCK_SEQPACKET, 0 }, EACCES },
		{ "the monitor's channels", SECCOMP_MONITOR, __NR_socketpair, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0 }, 0 },
		{ "a command's pair of records", SECCOMP_COMMAND_HARDENED, __NR_socketpair, { AF_UNIX, SOCK_SEQPACKET, 0 }, 0 },
		{ "what a command sends", SECCOMP_COMMAND, __NR_sendto, { 3, 0, 9, MSG_NOSIGNAL | MSG_DONTWAIT }, 0 },
		{ "no file is cut by its name", SECCOMP_RECORDER, __NR_truncate, { 0 }, EPERM },
		{ "one that it could open is", SECCOMP_RECORDER, __NR_ftruncate, { 0 }, 0 },
		{ "my limits", SECCOMP_AGENT, __NR_prlimit64, { 0, 0 }, 0 },
		{ "another's limits", SECCOMP_AGENT, __NR_prlimit64, { 5, 0 }, EPERM },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct seccomp_filter f;

		CHECK(seccomp_build(cases[i].profile, &f, ERR_DISCARD) == 0);
		if (seccomp_judge(&f, MINE, cases[i].nr, cases[i].args) != cases[i].want)
			CHECK_STR(str_from(cases[i].why), STR("judged otherwise"));
	}
}

/* Runs fn in a child that confined itself; what it returns is the exit status. */
static int confined(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, int (*fn)(const char *dir),
	const char *dir)
{
	pid_t pid = fork();
	int st = 0;

	if (pid == 0)
		_exit(confine_self(profile, rules, n, ERR_DISCARD) < 0 ? 99 : fn(dir));
	CHECK(waitpid(pid, &st, 0) == pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static bool may_open(const char *dir, const char *name, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int role_tries(const char *dir)
{
	char path[256];

	if (!may_open(dir, "mine/file", O_RDWR) || !may_open(dir, "mine/new", O_CREAT | O_WRONLY))
		return 1; /* what was granted must work */
	if (may_open(dir, "other/file", O_RDONLY) || errno != EACCES)
		return 2;
	if (may_open("/etc", "passwd", O_RDONLY))
		return 3;
	snprintf(path, sizeof(path), "%s/other/file", dir);
	if (truncate(path, 0) == 0)
		return 9;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return 4;
	if (syscall(SYS_clone, 17, 0, 0, 0, 0) >= 0)
		return 5;
	execl("/bin/true", "true", (char *)NULL);
	if (errno != EPERM)
		return 6;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 7;
	if (kill(getppid(), 0) == 0)
		return 8;
	return 0;
}

TEST(confine_leaves_a_role_what_it_was_granted_and_nothing_else)
{
	auto_dir struct test_dir dir = test_dir_new();
	char mine[256];

	test_write(&dir, "mine/file", STR("x"));
	test_write(&dir, "other/file", STR("x"));
	snprintf(mine, sizeof(mine), "%s/mine", dir.path);
	const struct ll_rule rules[] = { { LL_PATH, .path = mine, .access = LL_RW } };
	if (landlock_abi() == 0)
		TEST_SKIP("this kernel has no Landlock");
	CHECK_INT(confined(SECCOMP_RECORDER, rules, COUNT(rules), role_tries, dir.path), 0);
	CHECK_INT(confined(SECCOMP_AGENT, rules, COUNT(rules), role_tries, dir.path), 0);
	CHECK_INT(confined(SECCOMP_VIEW, rules, COUNT(rules), role_tries, dir.path), 0);
}

/* The number of the first thing that a role still has, 0: none. Root begins with everything. */
static int role_holds(const char *dir)
{
	static const char *const nothing[] = { "CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
		"CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n" };
	auto_buf struct buf text = BUF_MAX(1 << 16);
	struct rlimit core;

	(void)dir;
	if (file_read(AT_FDCWD, "/proc/self/status", &text, ERR_DISCARD) < 0)
		return 1;
	for (size_t i = 0; i < COUNT(nothing); i++)
		if (str_find(buf_str(&text), str_from(nothing[i])) == text.n)
			return 10 + (int)i;
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 2;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_cur != 0 || core.rlim_max != 0)
		return 3;
	if (geteuid() == 0 && str_find(buf_str(&text), STR("CapBnd:\t0000000000000000\n")) == text.n)
		return 4; /* nobody else may drop it, and NO_NEW_PRIVS makes it useless */
	return 0;
}

/* Those that its filter keeps a role from asking about. */
static int drops(void)
{
	const int locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (caps_drop_all(ERR_DISCARD) < 0)
		return 1;
	return prctl(PR_GET_SECUREBITS) == (geteuid() == 0 ? locked : 0) ? 0 : 2;
}

TEST(confine_leaves_a_role_no_way_back)
{
	const struct ll_rule rules[] = { { LL_PATH, .path = "/proc", .access = LL_RO } };
	int st = 0;
	pid_t pid;

	if (landlock_abi() == 0)
		TEST_SKIP("this kernel has no Landlock");
	CHECK_INT(confined(SECCOMP_RECORDER, rules, COUNT(rules), role_holds, NULL), 0);
	CHECK_INT(confined(SECCOMP_AGENT, rules, COUNT(rules), role_holds, NULL), 0);
	pid = fork();
	if (pid == 0)
		_exit(drops());
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
}

/* A daemon of the host's that executes what it is told listens on a path: D-Bus, docker. Connects to it, or tells it something,
 * with what sockets and ends of pairs there are; 0: in no way. */
static int reaches(const char *path, bool connects)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int pair[2];

	memcpy(sa.sun_path, path, strlen(path) + 1); /* out of one of the same size */
	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
		int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

		if (fd < 0 && socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0)
			fd = pair[0];
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0 && connects)
			return 1 + type;
		/* where it says yes and does nothing, who listens is asked; records are sent to the pair's other end, whatever address is named */
		if (fd >= 0 && type != SOCK_SEQPACKET && sendto(fd, "x", 1, MSG_NOSIGNAL, (const struct sockaddr *)&sa, sizeof(sa)) == 1)
			return 11 + type;
	}
	return 0;
}

static int looker_tries(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (udp < 0)
		return 1; /* name servers are asked by it */
	memcpy(sa.sun_path, path, strlen(path) + 1);
	return connect(udp, (const struct sockaddr *)&sa, sizeof(sa)) == 0 ? 9 : reaches(path, true);
}

/* What it dials is an end of a pair that it gives away. */
static int dialler_tries(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%.90s.mine", path);
	if (bind(pair[1], (const struct sockaddr *)&sa, sizeof(sa)) == 0 || errno != EPERM)
		return 2;
	if (bind(pair[1], (const struct sockaddr *)&sa, sizeof(sa.sun_family)) == 0 || errno != EPERM)
		return 4; /* a name of the kernel's choice */
	if (listen(pair[1], 1) == 0)
		return 3;
	return reaches(path, false);
}

TEST(confine_lets_who_has_sockets_to_no_daemon_of_the_host)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	auto_dir struct test_dir dir = test_dir_new();

	if (landlock_abi() == 0)
		TEST_SKIP("this kernel has no Landlock");
	for (size_t i = 0; i < COUNT(types); i++) {
		struct sockaddr_un sa = { .sun_family = AF_UNIX };
		autoclose int listener = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		CHECK(snprintf(sa.sun_path, sizeof(sa.sun_path), "%.90s/%zu", dir.path, i) > 0);
		CHECK_INT(bind(listener, (const struct sockaddr *)&sa, sizeof(sa)), 0);
		CHECK(types[i] == SOCK_DGRAM || listen(listener, 1) == 0);
		CHECK_INT(confined(SECCOMP_RESOLVER, resolver_rules, RESOLVER_RULES, looker_tries, sa.sun_path), 0);
		CHECK_INT(confined(SECCOMP_CLIENT_OPEN, resolver_rules, RESOLVER_RULES, looker_tries, sa.sun_path), 0);
		CHECK_INT(confined(SECCOMP_CLIENT, NULL, 0, dialler_tries, sa.sun_path), 0);
		char said;
		CHECK(types[i] == SOCK_DGRAM ? recv(listener, &said, 1, MSG_DONTWAIT) < 0 : accept4(listener, NULL, NULL, 0) < 0);
		CHECK_INT(errno, EAGAIN);
	}
}

TEST(confine_refuses_a_rule_for_nothing)
{
	const struct ll_rule missing[] = { { LL_PATH, .path = "/no/such/place", .access = LL_RO } };
	const struct ll_rule optional[] = { { LL_PATH, .path = "/no/such/place", .access = LL_RO, .optional = true } };
	struct err err = { 0 };
	int fd = -1;

	if (landlock_abi() == 0)
		TEST_SKIP("this kernel has no Landlock");
	CHECK_INT(landlock_ruleset(missing, 1, &fd, &err), -ERR_NOENT);
	CHECK(strstr(err.msg, "/no/such/place"));
	CHECK_OK(landlock_ruleset(optional, 1, &fd, &err));
	close(fd);
}
