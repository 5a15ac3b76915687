/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jail: one command inside a cell that stands.
 *
 * Shape    jails_open once in the cell, then jail_spawn per command (the first of a class compiles its filter
 *          and its Landlock rules, which all of its jails share); poll the pidfd; jail_reap. jail_kill takes the whole pid namespace down.
 * Memory   struct jail owns its pidfd and a small stack until jail_reap.
 * Errors   jail_spawn fails when the jail could not be made: the step and the kernel's answer. A command that
 *          cannot be executed is a result: 0 is returned, out->exec_errno is set and there is no process.
 *          The caller must not have set a handler or ignored a signal other than SIGPIPE and SIGCHLD.
 * Source   docs/sandbox.md, "The cell".
 */
#ifndef SANDBOX_JAIL_H
#define SANDBOX_JAIL_H

#include "fmt/wire.h"
#include "sandbox/cell.h"
#include "sandbox/seccomp.h"

/* What a class of jail may do, beyond what the cell's mounts already refuse. Accesses are Landlock's. */
struct jail_class {
	enum job_class id;
	const char *name;
	enum seccomp_profile filter;
	enum seccomp_profile hardened; /* instead, where no namespace is around it */
	bool workspace_ro;     /* remounted so in its own mount namespace, and so is what was granted for writing */
	bool workspace_noexec;
	bool own_network;      /* network, ipc and uts namespaces of its own; lo stays down */
	uint64_t root;         /* everything the cell shows */
	uint64_t system;       /* /usr and what belongs to it */
	uint64_t etc;
	uint64_t tools;        /* tool paths and read grants */
	uint64_t workspace, grants; /* the workspace; write grants */
	uint64_t tmp;          /* /tmp and /dev/shm, which the run's commands share; 0: another class sees none */
	const char *const *exec_paths; /* may be executed though `system` says no; NULL ended */
};

const struct jail_class *jail_class_find(enum job_class id); /* NULL when unknown */

struct jails;

int jails_open(const struct cell *cell, struct jails **out, struct err *err) CHECKED;
/* Without a cell: on the host's own directories. */
struct ground;
int jails_open_on(const struct ground *ground, int exe, int index_exe, struct jails **out, struct err *err) CHECKED;
void jails_close(struct jails *j);

#define JAIL_FDS_MAX 13

struct jail_spec {
	const struct jail_class *class;
	const char *const *argv; /* NULL ended */
	const char *const *env;  /* NULL ended "K=V"; argv[0] without '/' is searched in its PATH */
	const char *cwd;         /* absolute, inside the cell */
	int in_fd, out_fd, err_fd; /* -1: /dev/null */
	const int *fds;          /* become 3, 4, ... */
	size_t nfds;
	int exe_fd;              /* > 0: executed instead of argv[0] */
	int64_t memory_limit_mb; /* RLIMIT_DATA, 0 none */
};

struct guards;

struct jail {
	pid_t pid;      /* of the stub, process 1 of the jail */
	int pidfd;      /* readable when the whole jail is gone */
	int exec_errno; /* not 0: argv[0] could not be executed, and there is no process */
	void *map;      /* the stub runs on it */
	struct guards *guards; /* not NULL: a guardian stands in for the stub; pid is its, pidfd its socket */
};

struct jail_status {
	int code;   /* exit status, or 128 + signal */
	int signal; /* 0 when it exited */
};

int jail_spawn(struct jails *j, const struct jail_spec *spec, struct jail *out, struct err *err) CHECKED;
void jail_kill(const struct jail *j);
/* For a cell with one command in all: this process is the stub. After jail_start_here the command runs, or
 * *exec_errno says why it cannot be executed; jail_wait_here ends this process with the command's status. */
int jail_start_here(struct jails *j, const struct jail_spec *spec, long *child, int *exec_errno, struct err *err) CHECKED;
_Noreturn void jail_wait_here(long child);
int jail_reap(struct jail *j, struct jail_status *out, struct err *err) CHECKED; /* waits; closes the pidfd */

#endif
