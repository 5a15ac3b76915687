/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* A process of ours that is taken over at the moment when it has locked itself in: the same program with every way of the agent's
 * stand-in (evil_probe.c, netprobe.c) tried before its first hostile byte. Then it goes on, so that the whole run is judged.
 *
 * Shape    Linked with --wrap=confine_self. It reports to the file evil.ROLE beside the program, where there is one, and tries
 *          nothing otherwise; ROLE is the word behind --role, else the command, else the program's name. evil.targets is for
 *          netprobe.
 */
#include "evil.h"
#include "netprobe.h"

#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int __real_confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err);
int __wrap_confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err);

void evil_say_bytes(const struct evil *e, const char *what, struct str bytes)
{
	evil_say(e, "%s %zu bytes", what, bytes.n);
}

void evil_done(struct evil *e)
{
	(void)e;
	BUG_IF(true); /* of a case that is not tried here */
}

/* "view", "runs", "agent6-net"; in words, which holds the command line. */
static const char *role_of(const char *words, size_t n)
{
	const char *program = strrchr(words, '/') ? strrchr(words, '/') + 1 : words, *end = words + n;
	const char *word = words + strlen(words) + 1;

	if (strcmp(program, "agent6") != 0 || word >= end)
		return program;
	if (strcmp(word, "--role") != 0)
		return word;
	word += strlen(word) + 1;
	return word < end ? word : program;
}

static int open_beside(const char *name, int flags)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 256);

	BUG_IF(n <= 0);
	path[n] = '\0';
	char *slash = strrchr(path, '/');

	snprintf(slash, 256, "/evil.%s", name);
	return open(path, flags | O_CLOEXEC);
}

static size_t read_all(int fd, char *to, size_t max)
{
	size_t n = 0;
	ssize_t r;

	while (fd >= 0 && n < max - 1 && (r = read(fd, to + n, max - 1 - n)) > 0)
		n += (size_t)r;
	to[n] = '\0';
	close(fd);
	return n;
}

static void judge(const struct evil *e, const char *what, long r)
{
	if (r < 0)
		evil_say(e, "denied %s: %s", what, strerrorname_np(errno));
	else
		evil_say(e, "HOLE %s = %ld", what, r);
}

/* Signal 0 is no signal, and asks for the same right. */
static void others(const struct evil *e)
{
	pid_t parent = getppid();
	struct f_owner_ex owner = { F_OWNER_PID, parent };
	static const int itself[] = { -10001, -20000 }; /* PIDFD_SELF_THREAD_GROUP, as it is and as Linux 6.14 had it */
	char of_parent[32];
	int pipe_fds[2], pair[2], peer;
	socklen_t size = sizeof(peer);

	judge(e, "signal to the parent", syscall(SYS_tgkill, parent, parent, 0));
	judge(e, "signal to init", syscall(SYS_tgkill, 1, 1, 0));
	judge(e, "kill of the parent", kill(parent, 0));
	judge(e, "kill of all", kill(-1, 0));
	judge(e, "queued signal", syscall(SYS_rt_sigqueueinfo, parent, 0, NULL));
	BUG_IF(pipe(pipe_fds) < 0);
	judge(e, "owner of a pipe", fcntl(pipe_fds[0], F_SETOWN, parent));
	judge(e, "owner of a pipe, the other way", fcntl(pipe_fds[0], F_SETOWN_EX, &owner));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	judge(e, "pidfd of the parent", syscall(SYS_pidfd_open, parent, 0));
	snprintf(of_parent, sizeof(of_parent), "/proc/%d", (int)parent);
	judge(e, "the parent's directory as its pidfd", syscall(SYS_pidfd_send_signal, open(of_parent, O_RDONLY | O_CLOEXEC), 0, NULL, 0));
	judge(e, "the parent's place as its pidfd", syscall(SYS_pidfd_send_signal, open(of_parent, O_PATH | O_CLOEXEC), 0, NULL, 0));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		pair[0] = 3; /* its channel */
	judge(e, "a socket's peer as a pidfd", getsockopt(pair[0], SOL_SOCKET, 77 /* SO_PEERPIDFD */, &peer, &size));
	for (size_t i = 0; i < COUNT(itself); i++)
		judge(e, "its own group by a pidfd", syscall(SYS_pidfd_send_signal, itself[i], 0, NULL, 4 /* the group */));
	judge(e, "limits of the parent", syscall(SYS_prlimit64, parent, 7, NULL, NULL));
}

/* Who holds the terminal could type for the person otherwise. */
static void terminal(const struct evil *e, bool is_view)
{
	static const struct { const char *name; unsigned long nr; } asks[] = { { "typed", 0x5412 }, { "pasted", 0x541C },
		{ "taken", 0x540E }, { "another discipline", 0x5423 }, { "redirected", 0x541D }, { "its group", 0x5410 }, { "its owner", 0x8901 } };
	char byte = ' ';

	for (int fd = 0; fd < 3; fd++)
		for (size_t i = 0; i < COUNT(asks); i++)
			judge(e, asks[i].name, syscall(SYS_ioctl, fd, asks[i].nr, &byte));
	for (int fd = 0; fd < 3 && is_view; fd++)
		judge(e, "opened to others", fchmod(fd, 0666));
}

static void say_net(void *self, const char *line)
{
	evil_say(self, "net %s", line);
}

int __wrap_confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err)
{
	static char words[65536], targets[2048];
	struct evil e = { .confined = true, .workspace = -1 };
	size_t len = read_all(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), words, sizeof(words));

	read_all(open_beside("targets", O_RDONLY), targets, sizeof(targets));
	e.report = open_beside(role_of(words, len), O_WRONLY | O_APPEND);
	int r = __real_confine_self(profile, rules, n, err);

	if (e.report < 0)
		return r;
	if (r < 0)
		evil_say(&e, "FAIL confine: %s", err->msg);
	evil_probe(&e);
	others(&e);
	terminal(&e, profile == SECCOMP_VIEW);
	if (targets[0])
		netprobe_run(targets, say_net, &e);
	evil_say(&e, "END");
	close(e.report);
	return r;
}
