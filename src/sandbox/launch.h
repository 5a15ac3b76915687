/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* launch: process 1 of a jail, and the command as its child. Inside sandbox/ only.
 *
 * Shape    launch_open prepares everything that can allocate or fail for a reason of ours; then, as the first
 *          process of a pid namespace, launch_run starts the command and, when it stands, launch_wait_all
 *          reaps until it ends. Between the two the caller tells whoever waits.
 *          With a post nobody waits for the command: launch_post and launch_run, and a process stands confined at its
 *          post, a socket, until an order is there and it is told so with the order's descriptors. Then it becomes the
 *          command, which closes the socket, or writes its result there and ends.
 * Memory   launch_run may share its memory with the process that made it: raw system calls only. With a post the launch
 *          and its stack stay as they are until that process is a command or gone; its order is in memory that who writes
 *          it and who reads it see at the same address.
 * Errors   launch_open as usual. launch_run returns 0, or minus an errno with plan->step set.
 */
#ifndef SANDBOX_LAUNCH_H
#define SANDBOX_LAUNCH_H

#include "sandbox/jail.h"

#define LAUNCH_TRY_MAX    64
#define LAUNCH_ORDER_ROOM (256 * 1024) /* of a command's words, its environment and the paths it may be at */
#define LAUNCH_PROCESSES_MAX 4096 /* of one cell: Linux 5.14 counts an id's processes for each user namespace by itself */
#define LAUNCH_SENT_MAX   (4 + JAIL_FDS_MAX)

enum launch_step {
	LAUNCH_OK,
	LAUNCH_PROC,
	LAUNCH_MASK,
	LAUNCH_NARROW,
	LAUNCH_CAPS,
	LAUNCH_WAIT,
	LAUNCH_CLONE,
	LAUNCH_SESSION,
	LAUNCH_FDS,
	LAUNCH_CWD,
	LAUNCH_LIMITS,
	LAUNCH_LANDLOCK,
	LAUNCH_SECCOMP,
	LAUNCH_EXEC, /* from here on it is the command's fault, not the jail's */
	LAUNCH_STEPS
};

struct launch_result { /* in memory that both processes see */
	int step, sys;
	int status; /* of the command, as wait4 gives it */
	bool ended;
};

/* What a process at its post becomes. */
struct launch_order {
	struct jail_spec spec; /* a descriptor that is not -1 comes along: stdin, stdout, stderr, the program, the others */
	int64_t processes_max; /* as the launch's */
	const char *tries[LAUNCH_TRY_MAX + 1];
	char room[LAUNCH_ORDER_ROOM];
};

struct launch {
	const struct jail_spec *spec;
	const char *tries[LAUNCH_TRY_MAX + 1]; /* paths of argv[0], in order */
	int stdio[3], fds[JAIL_FDS_MAX], exe; /* copies above every number they will become */
	int ruleset;                          /* -1: no Landlock on this kernel */
	const struct seccomp_filter *filter;  /* NULL: none */
	int listener_to;                      /* a socket that gets the filter's listener; -1: the filter has none */
	int post;                             /* above every number its descriptors become; -1: there is none */
	const struct launch_order *order;
	pid_t die_with;                       /* 0, or the parent whose death is the command's */
	int64_t processes_max;                /* 0: no limit */
	bool strip_caps;
	struct launch_result *result;
	void *map;
	size_t map_n;
	char *child_stack, *stub_stack; /* their tops */
};

int launch_open(struct launch *l, const struct jail_spec *spec, struct err *err) CHECKED;
/* Its post, order and result are the caller's to set. */
int launch_post(struct launch *l, struct err *err) CHECKED;
/* A copy above every number that one of the command's will have. */
int launch_lift(int fd, int *out, struct err *err) CHECKED;
void launch_close(struct launch *l); /* everything but the map, which the stub may still run on */
void launch_unmap(void *map);
struct launch_result *launch_result_of(void *map);
long launch_run(struct launch *l);
/* `l` may be gone by now: it takes the shared result. */
_Noreturn void launch_wait_all(struct launch_result *result, long child);
/* step and errno as a sentence. */
int launch_err(const struct launch *l, struct err *err);
int launch_step_err(int step, int sys, const char *cwd, struct err *err);
/* clone with memory shared where the build allows it. */
long launch_clone(int (*fn)(void *), char *stack, unsigned long flags, void *arg, int *pidfd);

/* ---- launch_order.c ---- */

/* tries: the places argv[0] may be at, written into room, which holds launch_tries_room bytes. */
size_t launch_tries_room(const struct jail_spec *spec);
int launch_tries(const struct jail_spec *spec, const char **tries, char *room, size_t room_n, struct err *err) CHECKED;
/* fds: what has to be sent along, up to LAUNCH_SENT_MAX. */
int launch_order_write(struct launch_order *o, const struct jail_spec *spec, int *fds, size_t *nfds, struct err *err)
	CHECKED;

#endif
