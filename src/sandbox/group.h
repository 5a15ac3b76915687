/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* group: a control group around one cell: what everything in it may use together, and a fork into it.
 *
 * Shape    group_find says where one may be made: beside the group this process is in, where the group above was
 *          delegated to this user and hands the memory controller on. group_make; group_fork, whose child and all
 *          it starts are in it; group_end when they are gone. What others left empty is removed by group_make.
 * Memory   struct group owns its descriptors. Strings of a place live in the arena.
 * Errors   -ERR_UNSUPPORTED with the reason and a hint where this host delegates nothing: the caller goes on without.
 *          A group that could not be given its limit is removed again.
 * Units    MiB.
 * Source   Linux Documentation/admin-guide/cgroup-v2.rst, "Delegation"; clone(2), CLONE_INTO_CGROUP.
 */
#ifndef SANDBOX_GROUP_H
#define SANDBOX_GROUP_H

#include "base/arena.h"
#include "base/err.h"

#include <sys/types.h>

#define GROUP_PIDS_MAX 4096 /* processes and threads of one cell, where that controller is handed on as well */

/* Where the kernel tells; a test has a directory of its own. */
struct group_host {
	const char *mountinfo, *cgroup;
};
#define GROUP_HOST ((struct group_host){ "/proc/self/mountinfo", "/proc/self/cgroup" })

struct group_place {
	const char *dir; /* a group is made beneath it */
	const char *own; /* the group this process is in: what it may not exceed, the new one may not either */
};

struct group {
	int parent, dir; /* -1: none */
	char name[48];
	int64_t memory_mb; /* what it may use: less than was asked for where less is allowed around us */
};
#define GROUP_NONE ((struct group){ .parent = -1, .dir = -1 })

int group_find(const struct group_host *host, struct arena *mem, struct group_place *out, struct err *err) CHECKED;
int group_make(const struct group_place *place, int64_t memory_mb, struct group *out, struct err *err) CHECKED;
/* As fork. The child has its copies of the descriptors and should group_close them. */
int group_fork(const struct group *g, pid_t *pid, struct err *err) CHECKED;
void group_close(struct group *g); /* the descriptors alone */
int group_end(struct group *g, struct err *err) CHECKED; /* waits for the last process, removes it, closes it */

/* memory.events: how often its limit was reached and no room made, and how many processes the kernel killed in it, for that or
 * because a group around it or the machine had no memory left. */
struct group_ooms {
	int64_t limit, kills;
};
int group_events(const struct group *g, int *out, struct err *err) CHECKED;
struct group_ooms group_ooms(int events); /* 0 of what cannot be told */
/* Whether the kernel killed for the group's own limit since `was`, which is moved on where it killed at all. */
bool group_limit_killed(struct group_ooms *was, struct group_ooms now);

#endif
