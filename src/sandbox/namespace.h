/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* namespace: making namespaces and the identity inside them.
 *
 * Shape    ns_clone starts a child as the first process of new namespaces; the child calls ns_map_self,
 *          ns_lo_up, and later ns_lock. ns_mounts_of and ns_hold while it runs, ns_release after its end.
 * Errors   A kernel that refuses user namespaces: -ERR_UNSUPPORTED with the reason and remedy from
 *          sandbox/probe.h in the hint.
 * Source   namespaces(7), user_namespaces(7), clone(2).
 */
#ifndef SANDBOX_NAMESPACE_H
#define SANDBOX_NAMESPACE_H

#include "base/err.h"

#include <sys/types.h>

/* True root: uid 0 of the first user namespace, not a uid 0 that somebody mapped. */
bool ns_is_real_root(void);

/* Like fork, into new namespaces (CLONE_NEW*). 0 in the child; the pid and a pidfd in the parent. */
int ns_clone(unsigned long flags, pid_t *pid, int *pidfd, struct err *err) CHECKED;
/* setgroups deny, then one line each: this uid and gid, unchanged. In the child, before id changes. */
int ns_map_self(uid_t uid, gid_t gid, struct err *err) CHECKED;
int ns_lo_up(struct err *err) CHECKED;
/* Who we are, and as which numbers that is seen in the user namespace that is made. */
struct ns_ids {
	uid_t uid;
	gid_t gid;
	uid_t seen_uid;
	gid_t seen_gid;
};
/* A second user namespace and a mount namespace in it: every mount made before is locked for good.
 * proc, here and below: a writable /proc that is open, or -1: the one that is mounted. */
int ns_lock(int proc, const struct ns_ids *ids, struct err *err) CHECKED;
/* A user namespace alone: whoever is in it has no right over the mount namespace, which belongs to the one around it. */
int ns_own_users(int proc, const struct ns_ids *ids, struct err *err) CHECKED;
/* A descriptor of the mount namespace of the process behind `pidfd`; -1: the kernel gives none (Linux 6.11 was the first). */
int ns_mounts_of(int pidfd);

/* Holds a mount namespace until its processes are gone, and then leaves it to a worker of the kernel's. Otherwise the last process
 * takes it apart before anybody hears of its end: mount by mount, with a wait for every processor. */
struct ns_held {
	int queue, feed;
};
void ns_hold(int *mounts, struct ns_held *out); /* takes `mounts`, -1 is fine; best effort */
void ns_release(struct ns_held *h);             /* again is fine, and so is { -1, -1 } */

/* user.max_user_namespaces = 0 in our own user namespace; best effort, needs that writable /proc as well. */
void ns_no_more_users(int proc);

#endif
