/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/attempt.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* What came of it: the first thing that worked, else why the first one was refused. */
struct outcome {
	const char *worked;
	int sys;
};

static void note(struct outcome *o, const char *what, long r)
{
	if (r >= 0 && !o->worked)
		o->worked = what;
	else if (r < 0 && o->sys == 0)
		o->sys = errno;
}

/* For calls that must do no harm where nothing refuses them: their arguments are wrong on purpose, so a kernel that looks
 * at them complains of those, and only a refusal says one of these three. */
static void note_call(struct outcome *o, const char *what, long r)
{
	bool refused = r < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);

	note(o, what, refused ? -1 : 0);
}

static void note_fd(struct outcome *o, const char *what, int fd)
{
	note(o, what, fd);
	if (fd >= 0)
		close(fd);
}

static long number(const char *arg)
{
	int64_t n = -1;

	return str_to_i64(str_from(arg), &n, ERR_DISCARD) < 0 || n < 0 ? -1 : (long)n;
}

/* ---- files ---- */

static void try_write(struct outcome *o, const char *path)
{
	note_fd(o, "a file was written outside", open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644));
}

static void try_read(struct outcome *o, const char *path)
{
	note_fd(o, "a file was opened outside", open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

static void try_setid(struct outcome *o, const char *arg)
{
	(void)arg;
	note_fd(o, "a set-uid file was made", open("setid", O_WRONLY | O_CREAT | O_CLOEXEC, 04755));
	autoclose int fd = open("plain", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	note(o, "a file was made set-uid", fchmod(fd, 04755));
	note(o, "a file was made set-gid", chmod("plain", 02755));
	note(o, "a device was made", mknod("device", S_IFCHR | 0666, makedev(1, 3)));
}

/* ---- other processes, other worlds ---- */

static void try_trace(struct outcome *o, const char *arg)
{
	(void)arg;
	note(o, "tracing is allowed", ptrace(PTRACE_TRACEME, 0, NULL, NULL)); /* refused by a filter alone */
}

/* A child that was made after all ends at once. */
static void note_child(struct outcome *o, const char *what, long pid)
{
	if (pid == 0)
		_exit(0);
	note(o, what, pid);
}

static void try_userns(struct outcome *o, const char *arg)
{
	(void)arg;
	note_child(o, "a user namespace was made", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
	note_child(o, "a network namespace was made", syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, NULL, NULL, NULL, NULL));
	note(o, "a user namespace was entered", unshare(CLONE_NEWUSER));
	note_call(o, "another namespace can be entered", syscall(SYS_setns, -1, 0));
}

static void try_mount(struct outcome *o, const char *arg)
{
	(void)arg;
	note_call(o, "something can be mounted", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	note_call(o, "something can be unmounted", syscall(SYS_umount2, NULL, 0));
	note_call(o, "the root can be changed", syscall(SYS_chroot, NULL));
	note_call(o, "a mount can be changed", syscall(SYS_mount_setattr, -1, NULL, 0, NULL, 0));
}

static void try_kernel(struct outcome *o, const char *arg)
{
	(void)arg;
	note_call(o, "io_uring is there", syscall(SYS_io_uring_setup, 8, NULL));
	note_call(o, "bpf is there", syscall(SYS_bpf, -1, NULL, 0));
	note_call(o, "the keyring is there", syscall(SYS_keyctl, -1, 0, 0));
	note_call(o, "userfaultfd is there", syscall(SYS_userfaultfd, -1));
	note_call(o, "perf events are there", syscall(SYS_perf_event_open, NULL, 0, -1, -1, -1));
}

static void try_privileges(struct outcome *o, const char *arg)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void)arg;
	o->sys = EPERM;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		o->worked = "executing a program may give rights";
	if (syscall(SYS_capget, &head, data) < 0)
		return;
	for (size_t i = 0; i < COUNT(data); i++)
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			o->worked = "a capability is there";
}

static void try_signal(struct outcome *o, const char *pid)
{
	long n = number(pid);

	note(o, "a process outside can be signalled", n > 0 ? kill((pid_t)n, 0) : -1);
}

static void try_process(struct outcome *o, const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/environ", number(pid));
	note_fd(o, "the environment of a process outside can be read", open(path, O_RDONLY | O_CLOEXEC));
	snprintf(path, sizeof(path), "/proc/%ld/mem", number(pid));
	note_fd(o, "the memory of a process outside can be opened", open(path, O_RDONLY | O_CLOEXEC));
}

/* ---- the network ---- */

static long dial_one(int family, int type)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	autoclose int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
	long r = family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
				   : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	return r < 0 && errno == EINPROGRESS ? 0 : r;
}

static void try_dial(struct outcome *o, const char *arg)
{
	(void)arg;
	note(o, "TCP has a way out", dial_one(AF_INET, SOCK_STREAM));
	note(o, "UDP has a way out", dial_one(AF_INET, SOCK_DGRAM));
	note(o, "TCP over IPv6 has a way out", dial_one(AF_INET6, SOCK_STREAM));
	note(o, "UDP over IPv6 has a way out", dial_one(AF_INET6, SOCK_DGRAM));
}

static void try_families(struct outcome *o, const char *arg)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} odd[] = {
		{ "a raw socket was made", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "a raw IPv6 socket was made", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
		{ "a packet socket was made", AF_PACKET, SOCK_RAW, 0 },
		{ "a vsock socket was made", AF_VSOCK, SOCK_STREAM, 0 },
		{ "a socket of the kernel's ciphers was made", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "a netlink socket of the audit system was made", AF_NETLINK, SOCK_RAW, 9 },
		{ "a netlink socket of the packet filter was made", AF_NETLINK, SOCK_RAW, 12 },
		{ "an MPTCP socket was made", AF_INET, SOCK_STREAM, 262 },
		{ "an SCTP socket was made", AF_INET, SOCK_STREAM, 132 },
		{ "an XDP socket was made", 44, SOCK_RAW, 0 },
	};

	(void)arg;
	for (size_t i = 0; i < COUNT(odd); i++)
		note_fd(o, odd[i].name, socket(odd[i].family, odd[i].type | SOCK_CLOEXEC, odd[i].protocol));
}

static void try_sockets(struct outcome *o, const char *arg)
{
	int pair[2];

	note_fd(o, "a unix socket was made", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	note_fd(o, "a TCP socket was made", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	note_fd(o, "a netlink socket was made", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0) {
		close(pair[1]);
		note_fd(o, "a pair was made that can be connected elsewhere", pair[0]);
	}
	try_families(o, arg);
}

static void try_interfaces(struct outcome *o, const char *arg)
{
	char line[512];
	FILE *f = fopen("/proc/self/net/dev", "re");

	(void)arg;
	o->sys = ENODEV;
	for (size_t n = 0; f && fgets(line, sizeof(line), f); n++) {
		struct str rest = str_from(line), name = str_trim(str_cut(&rest, ':'));

		if (n >= 2 && rest.n > 0 && !str_eqz(name, "lo"))
			o->worked = "an interface other than the loopback is there";
	}
	if (f)
		fclose(f);
}

/* ---- limits ---- */

static void try_memory(struct outcome *o, const char *mb)
{
	size_t bytes = (size_t)number(mb) << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		note(o, "", -1);
		return;
	}
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)p)[i] = 1;
	note(o, "more memory than the limit was used", 0);
}

#define ALONE_S 20 /* should nobody end it, it ends itself */

static void wait_unless_killed(void)
{
	alarm(ALONE_S);
	for (;;)
		pause();
}

/* The process that is left holds the lock as long as it lives, in a session of its own, whose parent is gone. */
static void leave_behind(const char *file)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; /* it belongs to the descriptor, whoever has it */
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
		exit(ATTEMPT_UNKNOWN);
	switch (fork()) {
	case -1:
		exit(ATTEMPT_UNKNOWN);
	case 0:
		setsid();
		if (fork() == 0)
			wait_unless_killed();
		_exit(0);
	}
	close(fd);
}

static void try_linger(struct outcome *o, const char *file)
{
	leave_behind(file);
	o->sys = ESRCH; /* who holds the lock now is for others to see */
}

static void try_hang(struct outcome *o, const char *file)
{
	(void)o;
	leave_behind(file);
	wait_unless_killed();
}

static const struct {
	const char *name;
	bool wants_arg;
	void (*go)(struct outcome *o, const char *arg);
} attempts[] = {
	{ "write", true, try_write }, { "read", true, try_read }, { "setid", false, try_setid },
	{ "trace", false, try_trace }, { "userns", false, try_userns }, { "mount", false, try_mount },
	{ "kernel", false, try_kernel }, { "privileges", false, try_privileges }, { "signal", true, try_signal },
	{ "process", true, try_process }, { "dial", false, try_dial }, { "families", false, try_families },
	{ "sockets", false, try_sockets }, { "interfaces", false, try_interfaces }, { "memory", true, try_memory },
	{ "linger", true, try_linger }, { "hang", true, try_hang },
};

int attempt_main(const char *name, const char *arg)
{
	struct outcome o = { 0 };
	size_t i = 0;

	while (i < COUNT(attempts) && strcmp(attempts[i].name, name) != 0)
		i++;
	if (i == COUNT(attempts) || attempts[i].wants_arg != (arg != NULL))
		return ATTEMPT_UNKNOWN;
	attempts[i].go(&o, arg);
	puts(o.worked ? o.worked : strerror(o.sys));
	if (fflush(stdout) != 0)
		return ATTEMPT_UNKNOWN;
	_exit(o.worked ? ATTEMPT_WORKED : ATTEMPT_REFUSED); /* a sanitizer's last words need calls that a jail refuses */
}
