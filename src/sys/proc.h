/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* proc: starts programs on the host. With sandbox/, the only code that forks or executes.
 *
 * Shape    proc_run for a program whose output is wanted; proc_spawn for a role that talks over
 *          descriptors. No shell: argv is an array from first to last.
 * Memory   A struct proc owns its pidfd; proc_wait closes it. A struct proc_pipes owns its descriptors.
 * Errors   A program that cannot be started says which step failed and why; a program that ran and
 *          failed is a result.
 * Units    Deadlines in milliseconds, 0 is none.
 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include "base/buf.h"

#include <sys/types.h>

#define PROC_FDS_MAX 8

struct proc_spec {
	const char *const *argv; /* NULL ended; argv[0] without a '/' is searched in our own PATH */
	const char *const *env;  /* NULL ended; NULL is the empty environment */
	int exe_fd;              /* when > 0: execveat of this descriptor, argv[0] is only a name */
	const char *cwd;         /* NULL: unchanged */
	const int *fds;          /* become 3, 4, ... in the child, close-on-exec cleared */
	size_t nfds;
	bool own_session;        /* setsid */
	bool die_with_parent;    /* PR_SET_PDEATHSIG SIGKILL, then the parent is compared */
	bool keep_stdio;         /* 0, 1, 2 stay; otherwise all are /dev/null */
	int in_fd;               /* when > 0: the child's stdin */
	int out_fd, err_fd;      /* when > 0: the child's stdout and stderr */
};

struct proc {
	pid_t pid;
	int pidfd;
};

struct proc_status {
	int code;   /* exit status, or 128 + signal */
	int signal; /* 0 when it exited */
};

/* Goes on in two processes: 0 in the one that was there, with the other in *out; 1 in the new one. */
int proc_fork(struct proc *out, struct err *err) CHECKED;
int proc_spawn(const struct proc_spec *spec, struct proc *out, struct err *err) CHECKED;
int proc_wait(struct proc *p, struct proc_status *out, struct err *err) CHECKED;
int proc_kill(const struct proc *p, int sig);
void proc_kill_session(const struct proc *p); /* of one with own_session: SIGKILL to its whole group */

/* Runs to the end, capturing stdout and stderr (each to its buf's max; more is read and dropped).
 * Past deadline_ms the program's session is killed: -ERR_TIMEOUT. spec's own_session is forced on. */
int proc_run(const struct proc_spec *spec, struct str in, int64_t deadline_ms, struct buf *out,
	struct buf *errs, struct proc_status *st, struct err *err) CHECKED;

/* Two pipes to talk to a child through: what it reads and writes, and our ends of both. */
struct proc_pipes {
	int child_in, child_out, to, from;
};
#define PROC_PIPES ((struct proc_pipes){ -1, -1, -1, -1 })
int proc_pipes_open(struct proc_pipes *out, struct err *err) CHECKED;
void proc_pipes_close(struct proc_pipes *p); /* those that were not taken */
#define auto_proc_pipes CLEANUP(proc_pipes_close)

int proc_self_exe(int *out, struct err *err) CHECKED; /* O_PATH of our own program */
/* A stack that every function of ours fits on: raised within the hard limit where it is less. What they need beyond,
 * they would die of by a signal. */
int proc_need_stack(struct err *err) CHECKED;
/* Sane start for every program: descriptors 0 to 2 are valid, 3 and up closed, signals default but
 * SIGPIPE and SIGXFSZ, which are ignored (a write says EPIPE, EFBIG), mask empty, umask 077, no core dumps. keep_fds descriptors
 * from 3 on stay. */
int proc_sanitize(unsigned keep_fds, struct err *err) CHECKED;

#endif
