/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* root: builds the directory tree that is all a cell can ever see.
 *
 * Shape    On the host: root_pin resolves and remembers every source. In the new mount namespace:
 *          root_build makes the tree and moves into it. Meanwhile the process on the host gives it, of a copy of the same
 *          root: root_give_maps, what maps ids, and then what root_find_sockets writes down, in the host's network and mount
 *          namespaces still: which sockets are bound on paths there. The old root lies on the new one until somebody in that mount
 *          namespace calls root_let_go: this waits for every processor, so another process than the cell's first enters for it
 *          where it may.
 * Memory   root_free empties; strings live in the arena that is passed to root_pin, the spec's are borrowed.
 * Errors   The step, the path and the kernel's answer; a hint where the cause is known. Nothing is ever
 *          created on the host.
 * Source   open_tree(2), mount_setattr(2), move_mount(2), openat2(2), pivot_root(2).
 */
#ifndef SANDBOX_ROOT_H
#define SANDBOX_ROOT_H

#include "sandbox/policy.h"
#include "sandbox/side.h"

/* What /, /tmp and /dev/shm hold together: each file system more would be a twentieth of a jail. */
#define ROOT_TMP_MIB "1296"

struct root_spec {
	const char *workspace; /* NULL: none is shown */
	struct policy_list ro_paths, rw_paths, tool_paths, hide_paths, protect_paths;
	bool workspace_noexec;  /* the git cell */
	bool workspace_ro;
	bool host_network;      /* then resolv.conf and hosts are the host's */
	uid_t uid;              /* inside; what the synthesised passwd names */
	gid_t gid;
	bool idmap;             /* started as root: the workspace and grants are mapped from uid 0 to uid */
	bool mask_proc;         /* no jail in this cell mounts a /proc of its own: mask and lock this one */
};

struct root;

int root_pin(const struct root_spec *spec, struct arena *mem, struct root **out, struct err *err) CHECKED;
void root_free(struct root *r); /* NULL is fine */
static inline void root_free_ptr(struct root **r)
{
	root_free(*r);
}
#define auto_root CLEANUP(root_free_ptr)

int root_give_maps(struct root *r, const struct side *side, struct err *err) CHECKED;
void root_reap_maps(struct root *r); /* waits for what giving them has started */
int root_find_sockets(const struct root *r, int *out, struct err *err) CHECKED;
int root_build(struct root *r, const struct side *side, struct err *err) CHECKED;
int root_let_go(struct err *err) CHECKED;
/* What was covered though nobody asked for it, as a sentence; empty: nothing. */
void root_notice(const struct root *r, char *out, size_t max);
/* After root_build: false when /proc could not be mounted and is empty. */
bool root_has_proc(const struct root *r);
/* Beneath a directory of the host that every cell shows or makes itself, and where nothing may be granted for writing. */
bool root_is_system(const char *path);
/* In the host's /etc, and there in what every cell shows (etc.c). */
bool root_shows_etc(const char *path);
/* The directory of which a cell has its own, so that nothing of the host's may be granted there; NULL: it is none. */
const char *root_never_granted(const char *path);
/* The parts of the host that every cell shows read-only, where they are there; NULL ended. */
extern const char *const root_system_paths[];
/* The read-only empty file and directory that masks are made of, inside the new root. */
#define ROOT_MASK_FILE "/.mask/file"
#define ROOT_MASK_DIR  "/.mask/dir"

#endif
