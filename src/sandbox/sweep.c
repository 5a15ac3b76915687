/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/sweep.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 512 /* children looked at in one round */

int sweep_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)syscall(SYS_gettid));
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* One piece of the list at a time: a number that its end cuts would be somebody else's. */
static size_t from_list(int fd, pid_t *out)
{
	char text[4096];
	ssize_t got = pread(fd, text, sizeof(text), 0);
	struct str rest = str_of(text, got > 0 ? (size_t)got : 0);
	size_t n = 0;

	while (n < PIECE && str_find(rest, STR(" ")) < rest.n) {
		int64_t pid;

		if (str_to_i64(str_cut(&rest, ' '), &pid, ERR_DISCARD) == 0 && pid > 1)
			out[n++] = (pid_t)pid;
	}
	return n;
}

/* The name of a program may hold anything: its parent's number comes after the last ')'. */
static bool is_child(int proc, const char *name)
{
	char path[80], text[512];
	int parent;

	if (snprintf(path, sizeof(path), "%.20s/stat", name) >= (int)sizeof(path))
		return false;
	autoclose int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 && parent == getpid();
}

/* A kernel without lists of children. */
static size_t from_proc(pid_t *out)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	while (dir && n < PIECE && (e = readdir(dir))) {
		int64_t pid;

		if (str_to_i64(str_from(e->d_name), &pid, ERR_DISCARD) == 0 && pid > 1 && is_child(dirfd(dir), e->d_name))
			out[n++] = (pid_t)pid;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* By descriptor: it is our child and unreaped, so the number is its own; and this call every filter of ours has. */
static bool end(pid_t pid)
{
	autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

static bool is_kept(pid_t pid, const pid_t *keep, size_t nkeep)
{
	for (size_t i = 0; i < nkeep; i++)
		if (keep[i] == pid)
			return true;
	return false;
}

/* The kernel says so; a list may pass over one while others end. __WALL: also who was to end with another signal than SIGCHLD;
 * an orphan has that one whatever it was made with, a child of this process may not. */
static bool none_is_left(void)
{
	return waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

/* How many of a piece of the children were killed and waited for. */
static size_t sweep(int fd, const pid_t *keep, size_t nkeep)
{
	pid_t found[PIECE];
	size_t n = fd >= 0 ? from_list(fd, found) : from_proc(found), killed = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_kept(found[i], keep, nkeep) && end(found[i]))
			found[killed++] = found[i];
	for (size_t i = 0; i < killed; i++) /* ours until we wait: nobody else can have the number */
		while (waitpid(found[i], NULL, __WALL) < 0 && errno == EINTR)
			;
	return killed;
}

void sweep_all(int fd, const pid_t *keep, size_t nkeep)
{
	while (nkeep > 0 || !none_is_left())
		if (sweep(fd, keep, nkeep) == 0 && nkeep > 0)
			return;
}

/* A list tells of who was there, and one that is killed makes room for the next fork; this signal the kernel sends to all of them
 * before any of them has forked again. Each round: one whose parent is just dying was perhaps not a child yet. */
void sweep_domain(int fd)
{
	while (!none_is_left()) {
		kill(-1, SIGKILL);
		sweep(fd, NULL, 0);
	}
}
