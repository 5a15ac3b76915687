/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* As root, a command runs under an id of its own, and the workspace is shown to it as if it owned it. */
#include "sandbox/launch.h"
#include "sandbox/namespace.h"
#include "sandbox/raw.h"
#include "sandbox/root_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Swaps `disk` and `seen`; everybody else is who they are. Left column: on disk. */
static int map_text(unsigned long disk, unsigned long seen, char out[256])
{
	unsigned long lo = disk < seen ? disk : seen, hi = disk < seen ? seen : disk;
	int n = 0;

	if (lo == hi)
		return snprintf(out, 256, "0 0 4294967295\n");
	if (lo > 0)
		n += snprintf(out, 256, "0 0 %lu\n", lo);
	n += snprintf(out + n, 256 - (size_t)n, "%lu %lu 1\n%lu %lu 1\n", lo, hi, hi, lo);
	if (hi - lo > 1)
		n += snprintf(out + n, 256 - (size_t)n, "%lu %lu %lu\n", lo + 1, lo + 1, hi - lo - 1);
	n += snprintf(out + n, 256 - (size_t)n, "%lu %lu %lu\n", hi + 1, hi + 1, 4294967295UL - hi - 1);
	return n;
}

static int write_map(pid_t pid, const char *file, unsigned long disk, unsigned long seen, struct err *err)
{
	char path[64], text[256];
	int n = map_text(disk, seen, text);

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		return err_sys(err, errno, "write %s", path);
	return 0;
}

static int open_mapped(pid_t pid, uid_t owner, gid_t group, uid_t uid, gid_t gid, int *out, struct err *err)
{
	char path[64];

	TRY(write_map(pid, "uid_map", owner, uid, err));
	TRY(write_map(pid, "gid_map", group, gid, err));
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	*out = open(path, O_RDONLY | O_CLOEXEC);
	return *out < 0 ? err_sys(err, errno, "open %s", path) : 0;
}

/* On a stack of its own in the other one's memory: raw calls only. */
static int keep_open(void *parent)
{
	/* It must not outlive a parent that is killed meanwhile, holding that one's stderr for ever. */
	if (raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) >= 0 && raw(SYS_getppid) == *(const pid_t *)parent)
		for (;;)
			raw(SYS_ppoll, NULL, 0, NULL, NULL, 0);
	raw(SYS_exit_group, 1);
	return 1;
}

int idmap_open(uid_t owner, gid_t group, uid_t uid, gid_t gid, int *out, pid_t *killed, struct err *err)
{
	/* A namespace exists only with a process in it, until its descriptor is held. */
	_Alignas(16) char stack[2048];
	pid_t parent = getpid();
	long pid = launch_clone(keep_open, stack + sizeof(stack), CLONE_NEWUSER | SIGCHLD, &parent, NULL);

	if (pid < 0)
		return err_sys(err, (int)-pid, "make a user namespace for the id map");
	int r = open_mapped((pid_t)pid, owner, group, uid, gid, out, err);
	/* It runs no instruction of its own from here on, so the stack may go. */
	kill((pid_t)pid, SIGKILL);
	*killed = (pid_t)pid;
	return r;
}
