/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ground: what stands where there is no cell, profile "hardened": the host's own directories, seen through Landlock.
 *
 * Shape    ground_open resolves every grant and keeps it open; ground_rules gives the Landlock rules of a class of
 *          jails, from what was opened and never from a name again; ground_written what metadata may be changed in.
 * Memory   Strings live in the arena; ground_close closes what is open.
 * Errors   What Landlock cannot express is refused with the remedy: hiding, protecting. -ERR_UNSUPPORTED on a kernel
 *          whose Landlock is too old.
 * Source   docs/sandbox.md, "Hardened".
 */
#ifndef SANDBOX_GROUND_H
#define SANDBOX_GROUND_H

#include "base/vec.h"
#include "sandbox/jail.h"
#include "sandbox/landlock.h"

struct opened {
	const char *path;
	enum opened_kind { OPENED_SYSTEM, OPENED_TOOL, OPENED_GRANT, OPENED_WORKSPACE } kind;
	int fd; /* O_PATH */
};

struct ground {
	struct arena *mem;   /* borrowed */
	const char *workspace;
	const char *tmp;     /* private, writable; NULL: none */
	bool host_network, read_only; /* read_only: the workspace */
	struct {
		VEC(struct opened);
	} opened;
};

/* tmp is borrowed. */
int ground_open(const struct sandbox_policy *p, const char *tmp, struct arena *mem, struct ground *out, struct err *err)
	CHECKED;
void ground_close(struct ground *g);
/* exe: a program of ours that may be read and executed, or -1. */
int ground_rules(const struct ground *g, const struct jail_class *class, int exe, int *out, struct err *err) CHECKED;
/* A zygote takes its own ceiling upon itself: what its jails may have at most, and taking `tmp` away at the end. */
int ground_enter(const struct ground *g, enum job_class most, const int *exe, size_t n, struct err *err) CHECKED;
/* Whom root becomes there: the owner of the workspace. Refused where that is root. */
int ground_owner(const char *workspace, uid_t *uid, gid_t *gid, struct err *err) CHECKED;
void ground_written(const struct ground *g, const struct jail_class *class, struct policy_list *out);

#endif
