/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/change.h"

#include "base/time.h"
#include "base/vec.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "tool/table_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define ATTR_NAMES_MAX  (64 * 1024)
#define ATTR_VALUE_MAX (64 * 1024)
#define TMP_NAME_MAX         64

/* One place where a test may make the next call fail. */
#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))

enum done { DONE_NOTHING, DONE_TMP, DONE_CREATED, DONE_SWAPPED, DONE_MOVED_AWAY, DONE_IN_PLACE };

/* What has happened to one change, so that it can be taken back. */
struct work {
	const struct change *c;
	int dirfd;
	const char *leaf;
	char tmp[TMP_NAME_MAX]; /* holds the new content before the swap, the old one after it */
	enum done done;
	struct buf old;    /* in place only: what to put back */
};

struct made {
	int dirfd;
	char *name;
};

struct job {
	struct work *work;
	size_t n;
	struct {
		VEC(struct made);
	} made; /* directories, outermost first */
};

static void job_fini(struct job *j)
{
	for (size_t i = 0; i < j->n; i++) {
		base_close_fd(&j->work[i].dirfd);
		buf_fini(&j->work[i].old);
	}
	for (size_t i = 0; i < j->made.n; i++) {
		base_close_fd(&j->made.p[i].dirfd);
		free(j->made.p[i].name);
	}
	vec_fini(&j->made);
	free(j->work);
}

int change_read(struct tool_path *p, size_t max, struct buf *out, struct err *err)
{
	autoclose int fd = -1;

	out->max = max;
	TRY(path_open_file(p, &fd, err));
	if (fstat(fd, &p->st) < 0)
		return err_sys(err, errno, "stat " STR_FMT, STR_ARG(p->shown));
	if (file_read_fd(fd, out, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(p->shown));
	return 0;
}

/* ------------------------------------------------------------------ preparing */

static int failed(const struct work *w, int sys, const char *what, struct err *err)
{
	return err_sys(err, sys, "%s " STR_FMT, what, STR_ARG(w->c->path.shown));
}

/* The parents of rel, one at a time beneath the root, each remembered when it is ours. */
static int make_parents(struct job *j, const struct change *c, struct err *err)
{
	autofree char *rel = mem_strdup(c->path.rel.p);
	autoclose int at = -1;
	const char *name = rel;

	for (char *slash = strchr(rel, '/'); slash; slash = strchr(slash + 1, '/')) {
		int from = at < 0 ? c->path.root->dirfd : at;

		*slash = '\0';
		if (FAULTY(mkdirat(from, name, 0777)) == 0) { /* the umask decides, as for mkdir */
			struct made *m = vec_new(&j->made);

			*m = (struct made){ fcntl(from, F_DUPFD_CLOEXEC, 0), mem_strdup(name) };
			if (m->dirfd < 0) {
				int sys = errno;

				unlinkat(from, name, AT_REMOVEDIR);
				return err_sys(err, sys, "duplicate a descriptor");
			}
		} else if (errno != EEXIST) {
			return err_sys(err, errno, "make the directory %s", rel);
		}
		int next = file_openat2(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
		if (next < 0)
			return err_sys(err, errno, "open the directory %s", rel);
		base_close_fd(&at);
		at = next;
		*slash = '/';
		name = slash + 1;
	}
	return 0;
}

/* Best effort: attributes of the security name space are the kernel's to set. */
static void copy_xattrs(int from, int to)
{
	autofree char *names = mem_alloc(ATTR_NAMES_MAX), *value = mem_alloc(ATTR_VALUE_MAX);
	ssize_t all = flistxattr(from, names, ATTR_NAMES_MAX);

	for (ssize_t i = 0; i < all; i += (ssize_t)strlen(names + i) + 1) {
		ssize_t n = fgetxattr(from, names + i, value, ATTR_VALUE_MAX);

		if (n >= 0 && fsetxattr(to, names + i, value, (size_t)n, 0) < 0)
			continue;
	}
}

/* Owner before mode: chown clears the set-id bits. */
static bool keep_identity(int fd, const struct stat *was, mode_t mode)
{
	struct stat now;

	if (FAULTY(fstat(fd, &now)) < 0)
		return false;
	if ((now.st_uid != was->st_uid || now.st_gid != was->st_gid) && FAULTY(fchown(fd, was->st_uid, was->st_gid)) < 0)
		return false;
	return (now.st_mode & 07777) == mode || FAULTY(fchmod(fd, mode)) == 0;
}

/* *same is false when the new file cannot be like the old one: then the old one has to be written. */
static int fill_tmp(struct work *w, bool *same, struct err *err)
{
	const struct change *c = w->c;
	const struct tool_path *like = c->kind == CHANGE_REWRITE ? &c->path : c->like;
	mode_t mode = c->mode > 0 ? c->mode : c->path.st.st_mode & 07777;
	autoclose int from = -1;
	autoclose int fd = FAULTY(openat(w->dirfd, w->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));

	if (fd < 0)
		return failed(w, errno, "create a temporary file beside", err);
	w->done = DONE_TMP;
	if (file_write_fd(fd, c->bytes, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(c->path.shown));
	if (like && path_open_file(like, &from, ERR_DISCARD) == 0)
		copy_xattrs(from, fd);
	*same = c->kind != CHANGE_REWRITE || keep_identity(fd, &c->path.st, mode);
	if (c->kind == CHANGE_CREATE && c->mode > 0 && FAULTY(fchmod(fd, c->mode)) < 0)
		return failed(w, errno, "set the mode of", err);
	return 0;
}

static int unchanged(const struct work *w, int dirfd, const char *name, struct err *err)
{
	const struct stat *was = &w->c->path.st;
	struct stat now;

	if (FAULTY(fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW)) < 0)
		return failed(w, errno, "stat", err);
	if (now.st_dev != was->st_dev || now.st_ino != was->st_ino || now.st_size != was->st_size ||
		now.st_mtim.tv_sec != was->st_mtim.tv_sec || now.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
		return err_set(err, ERR_CONFLICT, STR_FMT " changed while it was being edited", STR_ARG(w->c->path.shown));
	return 0;
}

/* A second name must keep seeing the same file, and a directory that takes no new file still lets its
 * files be written. */
static bool needs_in_place(const struct work *w)
{
	return w->c->kind == CHANGE_REWRITE &&
		(w->c->path.st.st_nlink > 1 || faccessat(w->dirfd, ".", W_OK, AT_EACCESS) < 0);
}

static int prepare_in_place(struct work *w, struct err *err)
{
	struct tool_path p = w->c->path;

	return change_read(&p, TOOL_FILE_MAX, &w->old, err); /* it was read under this limit before */
}

static int prepare_content(struct work *w, struct err *err)
{
	bool same = false;

	if (needs_in_place(w))
		return prepare_in_place(w, err);
	TRY(fill_tmp(w, &same, err));
	if (same)
		return 0;
	unlinkat(w->dirfd, w->tmp, 0);
	w->done = DONE_NOTHING;
	return prepare_in_place(w, err);
}

static int prepare(struct job *j, size_t i, struct err *err)
{
	struct work *w = &j->work[i];
	const struct change *c = w->c;

	if (c->kind == CHANGE_CREATE)
		TRY(make_parents(j, c, err));
	TRY(path_open_parent(&c->path, &w->dirfd, &w->leaf, err));
	snprintf(w->tmp, sizeof(w->tmp), ".agent6-%d-%llx-%zu.tmp", (int)getpid(),
		(unsigned long long)time_now_us(), i);
	if (c->kind != CHANGE_CREATE) {
		if (!S_ISREG(c->path.st.st_mode))
			return err_set(err, ERR_INVALID, STR_FMT " is not a regular file", STR_ARG(c->path.shown));
		if (c->kind == CHANGE_REWRITE && (c->path.st.st_mode & 0222) == 0)
			return err_set(err, ERR_PERM, STR_FMT " is read-only (mode %04o)", STR_ARG(c->path.shown),
				(unsigned)(c->path.st.st_mode & 07777));
	}
	return c->kind == CHANGE_DELETE ? 0 : prepare_content(w, err);
}

/* ------------------------------------------------------------------ committing */

static int write_in_place(struct work *w, struct str bytes, struct err *err)
{
	autoclose int fd = FAULTY(openat(w->dirfd, w->leaf, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(w, errno, "open", err);
	if (!S_ISREG(st.st_mode) || st.st_ino != w->c->path.st.st_ino)
		return err_set(err, ERR_CONFLICT, STR_FMT " changed while it was being edited", STR_ARG(w->c->path.shown));
	w->done = DONE_IN_PLACE;
	TRY(file_write_fd(fd, bytes, err));
	if (FAULTY(ftruncate(fd, (off_t)bytes.n)) < 0)
		return failed(w, errno, "truncate", err);
	if (w->c->mode != 0 && fchmod(fd, w->c->mode) < 0)
		return failed(w, errno, "set the mode of", err);
	return 0;
}

static int commit_create(struct work *w, struct err *err)
{
	/* A link and not a rename: it refuses an existing name on every file system. */
	if (FAULTY(linkat(w->dirfd, w->tmp, w->dirfd, w->leaf, 0)) < 0) {
		if (errno == EEXIST)
			return err_set(err, ERR_EXIST, STR_FMT " exists already", STR_ARG(w->c->path.shown));
		if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
			return failed(w, errno, "create", err);
		/* No hard links here (vfat, some network file systems). */
		if (FAULTY(file_rename(w->dirfd, w->tmp, w->dirfd, w->leaf, RENAME_NOREPLACE)) < 0)
			return failed(w, errno, "create", err);
	}
	w->done = DONE_CREATED;
	return 0;
}

static int commit_delete(struct work *w, struct err *err)
{
	TRY(unchanged(w, w->dirfd, w->leaf, err));
	if (FAULTY(file_rename(w->dirfd, w->leaf, w->dirfd, w->tmp, RENAME_NOREPLACE)) < 0)
		return failed(w, errno, "delete", err);
	w->done = DONE_MOVED_AWAY;
	return 0;
}

static int commit_rewrite(struct work *w, struct err *err)
{
	TRY(unchanged(w, w->dirfd, w->leaf, err));
	if (w->done != DONE_TMP)
		return write_in_place(w, w->c->bytes, err);
	if (FAULTY(file_rename(w->dirfd, w->tmp, w->dirfd, w->leaf, RENAME_EXCHANGE)) < 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return failed(w, errno, "replace", err);
		/* No exchange on this file system: the file itself is written. */
		unlinkat(w->dirfd, w->tmp, 0);
		w->done = DONE_NOTHING;
		TRY(prepare_in_place(w, err));
		return write_in_place(w, w->c->bytes, err);
	}
	w->done = DONE_SWAPPED;
	return 0;
}

static int commit(struct work *w, struct err *err)
{
	switch (w->c->kind) {
	case CHANGE_CREATE:
		return commit_create(w, err);
	case CHANGE_DELETE:
		return commit_delete(w, err);
	default:
		return commit_rewrite(w, err);
	}
}

/* Nothing here may fail the caller again: each step is the reverse of one that worked. */
static void take_back(struct work *w)
{
	switch (w->done) {
	case DONE_CREATED:
		unlinkat(w->dirfd, w->leaf, 0);
		unlinkat(w->dirfd, w->tmp, 0);
		break;
	case DONE_SWAPPED:
		file_rename(w->dirfd, w->tmp, w->dirfd, w->leaf, RENAME_EXCHANGE);
		unlinkat(w->dirfd, w->tmp, 0);
		break;
	case DONE_MOVED_AWAY:
		file_rename(w->dirfd, w->tmp, w->dirfd, w->leaf, RENAME_NOREPLACE);
		break;
	case DONE_IN_PLACE:
		if (write_in_place(w, buf_str(&w->old), ERR_DISCARD) < 0)
			break; /* the failure already on its way is the one to tell */
		break;
	case DONE_TMP:
		unlinkat(w->dirfd, w->tmp, 0);
		break;
	case DONE_NOTHING:
		break;
	}
}

static void take_all_back(struct job *j)
{
	for (size_t i = j->n; i-- > 0;)
		take_back(&j->work[i]);
	for (size_t i = j->made.n; i-- > 0;)
		unlinkat(j->made.p[i].dirfd, j->made.p[i].name, AT_REMOVEDIR);
}

int changes_apply(const struct change *list, size_t n, struct err *err)
{
	CLEANUP(job_fini) struct job j = { .work = mem_alloc(n * sizeof(struct work) + 1), .n = n };
	int r = 0;

	for (size_t i = 0; i < n; i++)
		j.work[i] = (struct work){ .c = &list[i], .dirfd = -1 };
	for (size_t i = 0; i < n && r == 0; i++)
		r = prepare(&j, i, err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = commit(&j.work[i], err);
	if (r < 0) {
		take_all_back(&j);
		return r;
	}
	/* The old contents, or the second name of what was created. */
	for (size_t i = 0; i < n; i++)
		if (j.work[i].done != DONE_IN_PLACE)
			unlinkat(j.work[i].dirfd, j.work[i].tmp, 0);
	return 0;
}
