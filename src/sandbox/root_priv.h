/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* root_priv: what pinning remembers and building uses. Inside sandbox/ only. */
#ifndef SANDBOX_ROOT_PRIV_H
#define SANDBOX_ROOT_PRIV_H

#include "base/vec.h"
#include "sandbox/root.h"
#include "sys/mounts.h"

#include <sys/stat.h>

enum grant_kind { GRANT_SYSTEM, GRANT_RO, GRANT_TOOL, GRANT_RW, GRANT_WORKSPACE, GRANT_PIN, GRANT_PROTECT, GRANT_HIDE };

struct grant {
	const char *path;
	enum grant_kind kind;
	struct stat st;      /* device, inode and kind at the time of pinning */
	const char *found;   /* hide: what it is, where nobody asked for it to be hidden */
	const char *gitfile; /* protect: the path was a symbolic link; a file with this text covers it */
	int tree;            /* detached, while building */
	int userns;          /* as root: the id map of its owner; the first of several grants owns it */
	bool owns_userns;
	pid_t mapper;          /* as root, on the host: killed, to be waited for */
};

struct root {
	struct root_spec spec;
	struct arena *mem;
	struct {
		VEC(struct grant);
	} mounts; /* parents before children */
	struct {
		VEC(struct grant);
	} covers; /* protected first, then hidden: put on top of the mounts */
	int top;     /* the new root, while building */
	dev_t top_dev; /* of everything made here */
	bool has_proc;
	bool mounts_inside; /* in one of the grants */
};

bool path_beneath(const char *path, const char *dir); /* the same, or below it */

/* beneath.c: what comes along with a grant and is covered; after the mounts are sorted and what was to be hidden is pinned. */
int beneath_cover(struct root *r, struct err *err) CHECKED;
/* Is anything mounted in the tree that was put in its place? Where the kernel cannot say so, yes. */
bool beneath_mounted(int tree);
/* What cannot be mapped to another owner since something is mounted in it is refused by that reason; else 0. */
int beneath_unmapped(const struct root *r, const struct grant *g, struct err *err) CHECKED;
const struct grant *root_shows(const struct root *r, const char *path);
bool root_hides(const struct root *r, const char *path);
/* sockets.c: what root_find_sockets found is covered, once the mounts stand. */
int sockets_cover(struct root *r, const struct side *side, struct err *err) CHECKED;
struct socket_names {
	struct str *p; /* absolute, none twice in a row; views of the text */
	size_t n;
};
struct socket_names sockets_decode(struct str text, struct arena *mem);
/* pin.c: the directories between a path and the mount that holds it become mounts of their own, so that it stays where it is. */
int pin_ancestors(struct root *r, const char *path, const char *what, struct err *err) CHECKED;
const char *kernel_fs_of(unsigned long magic); /* NULL: it is no window into the kernel */

/* What of the host's /etc a command may see; NULL ended. */
extern const char *const etc_names[], *const etc_nested[];
/* The /etc of a cell: that table, written into the directory `etc`. */
int etc_build(const struct root *r, int etc, struct err *err) CHECKED;
/* A user namespace that shows files of `owner` as files of the cell's identity; its descriptor. It took a process, which is
 * killed but not waited for: 0, or a child. */
int idmap_open(uid_t owner, gid_t group, uid_t uid, gid_t gid, int *out, pid_t *killed, struct err *err) CHECKED;
/* What root_give_maps gives, in the same order. */
int root_take_maps(struct root *r, const struct side *side, struct err *err) CHECKED;
/* A file to mount on: one more name of the mask, which costs half of a file. As linkat(2). */
int root_place_file(const struct root *r, int dir, const char *name);
int root_write_file(int dir, const char *name, struct str bytes, struct err *err) CHECKED;

#endif
