/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Each right that a ruleset handles, tried by itself where nothing grants it: no filter and no mount stands before it. */
#include "base/arena.h"
#include "base/str.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTROPY 0x80045200 /* RNDGETENTCNT */

struct place {
	int dir, port, abstract;
	pid_t outside;
};

static int executes(const struct place *p)
{
	static char *const none[] = { NULL };

	return fexecve(openat(p->dir, "tool", O_PATH), none, none);
}

static int writes(const struct place *p)
{
	return openat(p->dir, "file", O_WRONLY | O_CLOEXEC);
}

static int reads(const struct place *p)
{
	return openat(p->dir, "file", O_RDONLY | O_CLOEXEC);
}

static int lists(const struct place *p)
{
	return openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int removes_dir(const struct place *p)
{
	return unlinkat(p->dir, "empty", AT_REMOVEDIR);
}

static int removes_file(const struct place *p)
{
	return unlinkat(p->dir, "file", 0);
}

static int makes(const struct place *p, mode_t kind)
{
	return mknodat(p->dir, "new", kind | 0600, makedev(1, 3));
}

static int makes_char(const struct place *p)
{
	return makes(p, S_IFCHR);
}

static int makes_block(const struct place *p)
{
	return makes(p, S_IFBLK);
}

static int makes_sock(const struct place *p)
{
	return makes(p, S_IFSOCK);
}

static int makes_fifo(const struct place *p)
{
	return makes(p, S_IFIFO);
}

static int makes_reg(const struct place *p)
{
	return makes(p, S_IFREG);
}

static int makes_dir(const struct place *p)
{
	return mkdirat(p->dir, "new", 0700);
}

static int makes_sym(const struct place *p)
{
	return symlinkat("file", p->dir, "new");
}

static int truncates(const struct place *p)
{
	return fchdir(p->dir) < 0 ? -1 : truncate("file", 0);
}

static int asks_device(const struct place *p)
{
	int n, fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	(void)p;
	return fd < 0 ? 0 : ioctl(fd, ENTROPY, &n);
}

static int over_tcp(const struct place *p, int (*how)(int, const struct sockaddr *, socklen_t), int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = { htonl(INADDR_LOOPBACK) } };

	(void)p;
	return how(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (const struct sockaddr *)&to, sizeof(to));
}

static int do_connect(int fd, const struct sockaddr *to, socklen_t n)
{
	return connect(fd, to, n);
}

static int do_bind(int fd, const struct sockaddr *to, socklen_t n)
{
	return bind(fd, to, n);
}

static int connects(const struct place *p)
{
	return over_tcp(p, do_connect, p->port);
}

static int binds(const struct place *p)
{
	return over_tcp(p, do_bind, 0);
}

static int reaches_abstract(const struct place *p)
{
	struct sockaddr_un to;
	socklen_t n = sizeof(to);

	return getsockname(p->abstract, (struct sockaddr *)&to, &n) < 0
		? 0
		: connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (const struct sockaddr *)&to, n);
}

static int signals(const struct place *p)
{
	return kill(p->outside, 0);
}

static const struct {
	const char *what;
	int abi;
	uint64_t given; /* everywhere: what the attempt needs besides */
	int (*tries)(const struct place *p);
	int refused;
} rights[] = {
	{ "execute", 1, LL_RO, executes, EACCES },
	{ "write a file", 1, LL_RO, writes, EACCES },
	{ "read a file", 1, 0, reads, EACCES },
	{ "read a directory", 1, 0, lists, EACCES },
	{ "remove a directory", 1, LL_RO, removes_dir, EACCES },
	{ "remove a file", 1, LL_RO, removes_file, EACCES },
	{ "make a character device", 1, LL_RO, makes_char, EACCES },
	{ "make a disk", 1, LL_RO, makes_block, EACCES },
	{ "make a socket", 1, LL_RO, makes_sock, EACCES },
	{ "make a fifo", 1, LL_RO, makes_fifo, EACCES },
	{ "make a file", 1, LL_RO, makes_reg, EACCES },
	{ "make a directory", 1, LL_RO, makes_dir, EACCES },
	{ "make a link", 1, LL_RO, makes_sym, EACCES },
	{ "cut a file short", 3, LL_RO | LL_WRITE_FILE, truncates, EACCES },
	{ "connect by TCP", 4, LL_RO, connects, EACCES },
	{ "take a TCP port", 4, LL_RO, binds, EACCES },
	{ "ask a device", 5, LL_RO, asks_device, EACCES },
	{ "reach an abstract socket", LL_SCOPES_ABI, LL_RO, reaches_abstract, EPERM },
	{ "signal somebody outside", LL_SCOPES_ABI, LL_RO, signals, EPERM },
};

/* The errno, 0 where it worked. */
static int tried(size_t i, const struct place *p, bool held)
{
	const struct ll_rule rule = { LL_PATH, .path = "/", .access = rights[i].given };
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		if (held && (caps_no_new_privs(ERR_DISCARD) < 0 || landlock_confine(&rule, rule.access != 0, ERR_DISCARD) < 0))
			_exit(255);
		_exit(rights[i].tries(p) < 0 ? errno : 0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st));
	return WEXITSTATUS(st);
}

/* By turns: held it is refused and changes nothing, so that it can be seen to work afterwards where nothing holds it. */
TEST(landlock_refuses_each_right_that_nothing_grants)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	sa_family_t nameless = AF_UNIX;
	socklen_t n = sizeof(at);
	autoclose int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	autoclose int abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (landlock_abi() == 0)
		TEST_SKIP("this kernel has no Landlock");
	CHECK(bind(tcp, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(tcp, 5) == 0);
	CHECK(getsockname(tcp, (struct sockaddr *)&at, &n) == 0);
	CHECK(bind(abstract, (const struct sockaddr *)&nameless, sizeof(nameless)) == 0 && listen(abstract, 5) == 0); /* the kernel names it */
	const struct place p = { .dir = dir.fd, .port = ntohs(at.sin_port), .abstract = abstract, .outside = getpid() };

	for (size_t i = 0; i < COUNT(rights); i++) {
		test_write(&dir, "file", STR("x"));
		test_write(&dir, "tool", STR("#!/bin/true\n"));
		CHECK(fchmodat(dir.fd, "tool", 0755, 0) == 0);
		(void)!mkdirat(dir.fd, "empty", 0700);
		(void)!unlinkat(dir.fd, "new", 0);
		(void)!unlinkat(dir.fd, "new", AT_REMOVEDIR);
		if (landlock_abi() >= rights[i].abi && tried(i, &p, true) != rights[i].refused)
			CHECK_STR(str_printf(mem, "%s: %s", rights[i].what, strerror(tried(i, &p, true))), STR("refused"));
		int free = tried(i, &p, false);
		if (free != 0 && (free != EPERM || geteuid() == 0)) /* device nodes are root's to make */
			CHECK_STR(str_printf(mem, "%s, where nothing holds: %s", rights[i].what, strerror(free)), STR("works"));
	}
}
