/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* cell: a new world with its own root, and a first process in it.
 *
 * Shape    cell_start from a single-threaded process. It returns when the cell stands or failed, or with `late` before that; then
 *          `main_fn` runs in it as process 1, and its return value is the cell's exit status. The caller waits
 *          on the pidfd; killing it kills everything in the cell. The cell dies with its parent.
 * Memory   Descriptors other than those in keep_fds are closed in the cell before main_fn runs.
 * Errors   -ERR_UNSUPPORTED with a hint when this host cannot; otherwise what root_build says.
 * Source   docs/sandbox.md, "The cell".
 */
#ifndef SANDBOX_CELL_H
#define SANDBOX_CELL_H

#include "sandbox/root.h"

#define CELL_NOTES_MAX 8
#define CELL_NO_PROC                                                                                                              \
	"/proc is empty, without which Java, Go and others do not work: this host does not let a new one be mounted, since a container's " \
	"runtime covers parts of its own (docker: --security-opt systempaths=unconfined, podman: --security-opt unmask=ALL)"
#define CELL_KEEP_MAX  32
#define CELL_COVERED_MAX 1024

struct cell_spec {
	struct root_spec root;
	bool lock;          /* a second user namespace over the finished root: for a zygote */
	bool as_owner;      /* it sees its own id, and what is mapped to that, as the number of who owns the workspace on disk: */
	uid_t owner;        /* what git noted of files must read the same inside and outside */
	gid_t owners_group;
	bool hold_mounts;   /* cell_proc.mounts is wanted */
	bool late;          /* who waits hears of main_fn that it runs: else of cell_failed why it does not. One wake less */
	const int *keep_fds; /* stay open in the cell, same numbers */
	size_t nkeep;
};

/* What main_fn gets to know. */
struct cell {
	const struct cell_spec *spec;
	uid_t uid;
	gid_t gid;
	int landlock_abi;
	bool has_proc;
	const char *notes[CELL_NOTES_MAX]; /* what this host could not give, as sentences */
	size_t nnotes;
	char covered[CELL_COVERED_MAX]; /* one of them */
};

typedef int cell_main_fn(const struct cell *cell, void *self);

struct cell_proc {
	pid_t pid;
	int pidfd;
	int mounts; /* a descriptor of its mount namespace where it was wanted and the kernel gives one, else -1 */
	int report; /* late: where cell_failed hears it, the caller's to close; else -1 */
};

/* The spec of a policy: identity, id mapping as root, grants. Borrows the policy's strings. */
int cell_spec_from_policy(const struct sandbox_policy *p, struct cell_spec *out, struct err *err) CHECKED;
int cell_start(const struct cell_spec *spec, cell_main_fn *main_fn, void *self, struct cell_proc *out,
	struct err *err) CHECKED;
/* Late, and gone without a word of main_fn: what failed; below 0 in any case. */
int cell_failed(int report, struct err *err) CHECKED;

#endif
