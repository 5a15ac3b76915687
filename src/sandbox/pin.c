/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Resolves every source of a cell once, on the host, and refuses what no cell may have. */
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/wait.h>

/* Read-only parts of the host that every cell has, where the host has them. */
const char *const root_system_paths[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", NULL };
#define SYSTEM_PATHS (COUNT(root_system_paths) - 1)
/* Nothing there may be granted for writing. */
static const char *const never_written[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/etc",
	"/boot", "/dev", "/proc", "/sys" };
/* Nothing there may be granted at all: the cell makes its own. */
static const char *const never_granted[] = { "/dev", "/proc", "/sys" };
bool path_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/' || n == 1);
}

static const char *beneath_any(const char *path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path_beneath(path, dirs[i]))
			return dirs[i];
	return NULL;
}

bool root_is_system(const char *path)
{
	return beneath_any(path, never_written, COUNT(never_written)) != NULL;
}

const char *root_never_granted(const char *path)
{
	return beneath_any(path, never_granted, COUNT(never_granted));
}

/* The last component may be a link: the caller looks at what it got. */
static int open_source(const char *path, const char *what, int *out, struct err *err)
{
	int fd = file_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (fd < 0 && errno == ELOOP) {
		err_set(err, ERR_INVALID, "%s %s: the path goes through a symbolic link", what, path);
		err_hint(err, "write the path the link leads to");
		return -ERR_INVALID;
	}
	if (fd < 0)
		return err_sys(err, errno, "%s %s", what, path);
	*out = fd;
	return 0;
}

static int check_kind(int fd, const char *what, const char *path, struct stat *st, struct err *err)
{
	const char *kernel;
	struct statfs fs;

	if (fstat(fd, st) < 0 || fstatfs(fd, &fs) < 0)
		return err_sys(err, errno, "%s %s", what, path);
	if (S_ISLNK(st->st_mode)) {
		err_set(err, ERR_INVALID, "%s %s: it is a symbolic link", what, path);
		err_hint(err, "write the path the link leads to");
		return -ERR_INVALID;
	}
	if (S_ISSOCK(st->st_mode)) {
		err_set(err, ERR_INVALID, "%s %s: it is a socket, and whoever listens there works outside of the jail, with rights of its own", what,
			path);
		err_hint(err, "take it out; what is needed of the other end a server of your own can offer as a tool (docs/mcp.md)");
		return -ERR_INVALID;
	}
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return err_set(err, ERR_INVALID, "%s %s: it is neither a directory nor a regular file", what, path);
	kernel = kernel_fs_of((unsigned long)fs.f_type);
	return kernel ? err_set(err, ERR_INVALID, "%s %s: it is on a %s file system", what, path, kernel) : 0;
}

static int check_grant(const char *path, enum grant_kind kind, const char *what, struct err *err)
{
	const char *in = beneath_any(path, never_granted, COUNT(never_granted));

	if (in)
		return err_set(err, ERR_INVALID, "%s %s: a cell has its own %s", what, path, in);
	in = beneath_any(path, never_written, COUNT(never_written));
	/* A workspace below /usr/src, say, is the operator's explicit choice; the system directories themselves not. */
	if (in && (kind == GRANT_RW || (kind == GRANT_WORKSPACE && (strcmp(in, path) == 0 || !strcmp(in, "/etc")))))
		return err_set(err, ERR_INVALID, "%s %s: nothing in %s may be writable", what, path, in);
	return 0;
}

static int pin_grant(struct root *r, const char *path, enum grant_kind kind, const char *what, struct err *err)
{
	autoclose int fd = -1;
	struct grant g = { .path = path, .kind = kind, .tree = -1, .userns = -1 };

	TRY(check_grant(path, kind, what, err));
	for (size_t i = 0; i < r->mounts.n; i++) {
		if (strcmp(r->mounts.p[i].path, path) != 0)
			continue;
		if (r->mounts.p[i].kind == kind || kind == GRANT_TOOL)
			return 0;
		if (r->mounts.p[i].kind == GRANT_WORKSPACE && kind == GRANT_RW)
			return 0;
		return err_set(err, ERR_INVALID, "%s %s: the same path is granted twice, differently", what, path);
	}
	int got = open_source(path, what, &fd, err);
	if (got == -ERR_NOENT && kind != GRANT_WORKSPACE)
		return 0; /* what is not there grants nothing */
	if (got == -ERR_PERM && kind == GRANT_TOOL)
		return 0; /* nor what whoever commands run as may not open: root's tools, for the workspace's owner */
	TRY(got);
	TRY(check_kind(fd, what, path, &g.st, err));
	if (kind == GRANT_WORKSPACE && !S_ISDIR(g.st.st_mode))
		return err_set(err, ERR_INVALID, "%s %s: it is not a directory", what, path);
	*vec_new(&r->mounts) = g;
	return 0;
}

static int pin_list(struct root *r, const struct policy_list *l, enum grant_kind kind, const char *what,
	struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		bool system = beneath_any(l->p[i], root_system_paths, SYSTEM_PATHS) != NULL;

		if (system && (kind == GRANT_RO || kind == GRANT_TOOL))
			continue; /* there already */
		TRY(pin_grant(r, l->p[i], kind, what, err));
	}
	return 0;
}

static int pin_system(struct root *r, struct err *err)
{
	for (size_t i = 0; i < SYSTEM_PATHS; i++) {
		struct grant g = { .path = root_system_paths[i], .kind = GRANT_SYSTEM, .tree = -1, .userns = -1 };

		if (lstat(g.path, &g.st) < 0) {
			if (errno == ENOENT)
				continue;
			return err_sys(err, errno, "look at %s", g.path);
		}
		*vec_new(&r->mounts) = g;
	}
	return 0;
}

static bool is_visible(const struct root *r, const char *path, bool writable_only)
{
	bool writable = false, seen = false;

	for (size_t i = 0; i < r->mounts.n; i++) { /* sorted: the last that holds it decides */
		if (!path_beneath(path, r->mounts.p[i].path))
			continue;
		seen = true;
		writable = r->mounts.p[i].kind == GRANT_RW || r->mounts.p[i].kind == GRANT_WORKSPACE;
	}
	return seen && (writable || !writable_only);
}

static int refuse_grants_in(const struct root *r, const char *path, const char *what, struct err *err)
{
	for (size_t i = 0; i < r->mounts.n; i++) {
		const struct grant *g = &r->mounts.p[i];

		if (!path_beneath(g->path, path) || (g->kind != GRANT_RW && g->kind != GRANT_WORKSPACE && strcmp(what, "hide") != 0))
			continue;
		err_set(err, ERR_INVALID, "%s %s: %s inside it is granted", what, path, g->path);
		err_hint(err, "take the grant inside it away, or %s something smaller", what);
		return -ERR_INVALID;
	}
	return 0;
}

static int pin_protect(struct root *r, const char *path, struct err *err);

/* A .git that is a link: a file that says where the repository is covers it, so it can be neither removed nor
 * renamed; what it leads to is protected where it would be writable. */
static int pin_link(struct root *r, struct grant *g, int fd, struct err *err)
{
	char link[PATH_MAX], real[PATH_MAX], self[64];
	const char *base = strrchr(g->path, '/') + 1;
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);

	if (n < 0)
		return err_sys(err, errno, "protect %s: read the link", g->path);
	link[n] = '\0';
	if (strcmp(base, ".git") != 0 || strchr(link, '\n'))
		return err_set(err, ERR_INVALID, "protect %s: it is a symbolic link", g->path);
	g->gitfile = str_printf(r->mem, "gitdir: %s\n", link).p;

	autoclose int to = open(g->path, O_PATH | O_CLOEXEC);
	if (to < 0)
		return 0; /* it leads nowhere: nothing to protect but the name */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", to);
	n = readlink(self, real, sizeof(real) - 1);
	if (n <= 0 || real[0] != '/')
		return err_sys(err, errno, "protect %s: find where it leads", g->path);
	real[n] = '\0';
	return is_visible(r, real, true) ? pin_protect(r, str_dupz(r->mem, str_from(real)), err) : 0;
}

static bool is_covered(const struct root *r, const char *path)
{
	for (size_t i = 0; i < r->covers.n; i++)
		if (strcmp(r->covers.p[i].path, path) == 0)
			return true;
	return false;
}

/* Renaming a directory would carry a protected or hidden path away and leave its name free: every directory between it and the
 * mount that holds it becomes a mount point of its own. */
int pin_ancestors(struct root *r, const char *path, const char *what, struct err *err)
{
	const char *holder = "";

	for (size_t i = 0; i < r->mounts.n; i++)
		if (path_beneath(path, r->mounts.p[i].path))
			holder = r->mounts.p[i].path;
	for (size_t at = strlen(holder) + 1; path[at]; at++) {
		autoclose int fd = -1;
		struct grant g = { .kind = GRANT_PIN, .tree = -1, .userns = -1 };

		if (path[at] != '/')
			continue;
		g.path = str_dupz(r->mem, str_of(path, at));
		if (is_covered(r, g.path))
			continue;
		TRY(open_source(g.path, what, &fd, err));
		TRY(check_kind(fd, what, g.path, &g.st, err));
		*vec_new(&r->covers) = g;
	}
	return 0;
}

static int pin_protect(struct root *r, const char *path, struct err *err)
{
	autoclose int fd = -1;
	struct grant g = { .path = path, .kind = GRANT_PROTECT, .tree = -1, .userns = -1 };

	for (size_t i = 0; i < r->covers.n; i++) /* once is enough, unless it is only pinned so far */
		if (r->covers.p[i].kind == GRANT_PROTECT && !strcmp(r->covers.p[i].path, path))
			return 0;
	TRY(refuse_grants_in(r, path, "protect", err));
	if (!is_visible(r, path, true))
		return 0; /* nobody could write it */
	int got = open_source(path, "protect", &fd, err);
	if (got == -ERR_NOENT)
		return 0; /* nothing is created on the host; what appears later is the caller's to judge */
	TRY(got);
	if (fstat(fd, &g.st) < 0)
		return err_sys(err, errno, "protect %s", path);
	if (S_ISLNK(g.st.st_mode))
		TRY(pin_link(r, &g, fd, err));
	else
		TRY(check_kind(fd, "protect", path, &g.st, err));
	TRY(pin_ancestors(r, path, "protect", err));
	*vec_new(&r->covers) = g;
	return 0;
}

static int pin_hide(struct root *r, const char *path, struct err *err)
{
	autoclose int fd = -1;
	struct grant g = { .path = path, .kind = GRANT_HIDE, .tree = -1, .userns = -1 };

	for (size_t i = 0; i < r->covers.n; i++)
		if (r->covers.p[i].kind == GRANT_HIDE && !strcmp(r->covers.p[i].path, path))
			return 0;
	TRY(refuse_grants_in(r, path, "hide", err));
	if (!is_visible(r, path, false))
		return 0; /* no grant shows it, so there is nothing to mask */
	int got = open_source(path, "hide", &fd, err);
	if (got == -ERR_NOENT)
		return 0;
	TRY(got);
	TRY(check_kind(fd, "hide", path, &g.st, err));
	if (is_visible(r, path, true)) /* or it would lie elsewhere in the next cell, where it is not looked for */
		TRY(pin_ancestors(r, path, "hide", err));
	*vec_new(&r->covers) = g;
	return 0;
}

typedef int pin_cover_fn(struct root *r, const char *path, struct err *err);

/* By every name, not by the one that was written alone: what is mounted twice lies in both places. */
static int pin_covers(struct root *r, const struct mounts *mounts, const struct policy_list *l, pin_cover_fn *pin, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct mount_names names = mounts_names(mounts, l->p[i], r->mem);

		for (size_t k = 0; k < names.n; k++)
			TRY(pin(r, names.p[k], err));
	}
	return 0;
}

/* The first of the mounts whose files on disk have the same owner: one id map serves them all. */
static struct grant *map_holder(struct root *r, const struct grant *g)
{
	struct grant *first = r->mounts.p;

	while (first->kind == GRANT_SYSTEM || first->st.st_uid != g->st.st_uid || first->st.st_gid != g->st.st_gid)
		first++;
	return first;
}

/* On the host, where /proc numbers processes as fork does: in the cell's pid namespace it does not. */
int root_give_maps(struct root *r, const struct side *side, struct err *err)
{
	for (size_t i = 0; r->spec.idmap && i < r->mounts.n; i++) {
		struct grant *g = &r->mounts.p[i];
		autoclose int userns = -1;

		if (g->kind == GRANT_SYSTEM || map_holder(r, g) != g)
			continue;
		TRY(idmap_open(g->st.st_uid, g->st.st_gid, r->spec.uid, r->spec.gid, &userns, &g->mapper, err));
		TRY(side_give(side, userns, err));
	}
	return 0;
}

void root_reap_maps(struct root *r)
{
	for (size_t i = 0; i < r->mounts.n; i++)
		while (r->mounts.p[i].mapper > 0 && waitpid(r->mounts.p[i].mapper, NULL, 0) < 0 && errno == EINTR)
			;
}

int root_take_maps(struct root *r, const struct side *side, struct err *err)
{
	for (size_t i = 0; r->spec.idmap && i < r->mounts.n; i++) {
		struct grant *g = &r->mounts.p[i];

		if (g->kind == GRANT_SYSTEM)
			continue;
		struct grant *holder = map_holder(r, g);
		if (holder == g)
			TRY(side_take(side, &g->userns, err));
		g->owns_userns = holder == g;
		g->userns = holder->userns;
	}
	return 0;
}

void root_free(struct root *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->mounts.n; i++)
		if (r->mounts.p[i].owns_userns)
			close(r->mounts.p[i].userns);
	vec_fini(&r->mounts);
	vec_fini(&r->covers);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct grant *)a)->path, ((const struct grant *)b)->path);
}

int root_pin(const struct root_spec *spec, struct arena *mem, struct root **out, struct err *err)
{
	auto_root struct root *r = arena_alloc(mem, sizeof(*r));
	struct mounts mounts = { 0 };

	r->spec = *spec;
	r->mem = mem;
	r->top = -1;
	TRY(pin_system(r, err));
	if (spec->workspace)
		TRY(pin_grant(r, spec->workspace, GRANT_WORKSPACE, "workspace", err));
	TRY(pin_list(r, &spec->rw_paths, GRANT_RW, "write grant", err));
	TRY(pin_list(r, &spec->ro_paths, GRANT_RO, "read grant", err));
	TRY(pin_list(r, &spec->tool_paths, GRANT_TOOL, "tool path", err));
	qsort(r->mounts.p, r->mounts.n, sizeof(*r->mounts.p), by_path);
	if (spec->protect_paths.n + spec->hide_paths.n > 0)
		TRY(mounts_load(mem, &mounts, err));
	TRY(pin_covers(r, &mounts, &spec->protect_paths, pin_protect, err));
	TRY(pin_covers(r, &mounts, &spec->hide_paths, pin_hide, err));
	*out = take(&r);
	return 0;
}
