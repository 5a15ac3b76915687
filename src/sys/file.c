/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/file.h"
#include "sys/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define READ_FIRST 4000 /* with what a buffer adds it is a page */
#define READ_STEP (64 * 1024)
#define LINKS_MAX 40 /* as the kernel's own limit */
#define REMOVE_DEPTH 64 /* one descriptor for each level */

/* One place where a test may make the next call fail. */
#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))

/* Where a filter refuses openat2, since the mode it creates with is behind a pointer: the same, one name at a
 * time. No "..", no link: so what is reached lies beneath dirfd. */
static int open_by_names(int dirfd, struct str rest, int flags)
{
	autoclose int held = -1;
	int at = dirfd;

	for (;;) {
		char name[NAME_MAX + 1];
		struct str part = str_cut(&rest, '/');
		bool last = str_trim_prefix(rest, STR("/")).n == 0;
		struct stat st;

		if (part.n == 0 && !last)
			continue;
		if (part.n > NAME_MAX || str_eqz(part, "..")) {
			errno = part.n > NAME_MAX ? ENAMETOOLONG : EXDEV;
			return -1;
		}
		snprintf(name, sizeof(name), STR_FMT, STR_ARG(part.n > 0 ? part : STR(".")));
		int next = openat(at, name, (last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC) | O_NOFOLLOW);
		/* A link where a directory was wanted is a link first, unless it was asked for as such. */
		if (next < 0 && errno == ENOTDIR && !(last && (flags & O_NOFOLLOW)))
			errno = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
		/* O_PATH alone would hand out the link itself. */
		if (next >= 0 && last && (flags & (O_PATH | O_NOFOLLOW)) == O_PATH &&
			(fstat(next, &st) < 0 || S_ISLNK(st.st_mode))) {
			close(next);
			errno = ELOOP;
			return -1;
		}
		if (next < 0 || last)
			return next;
		base_close_fd(&held);
		at = held = next;
	}
}

/* As above, with links that stay beneath dirfd followed: `done` holds no link, so ".." is what it looks like. */
static int open_by_links(int dirfd, const char *name, int flags)
{
	auto_buf struct buf done = BUF_MAX(PATH_MAX), rest = BUF_MAX(2 * PATH_MAX);
	int links = 0;

	if (buf_addz(&rest, name, ERR_DISCARD) < 0)
		goto too_long;
	while (rest.n > 0) {
		struct str all = buf_str(&rest), part = str_cut(&all, '/');
		size_t used = rest.n - all.n, before = done.n;
		char target[PATH_MAX];
		const char *path;

		if (part.n == 0 || str_eqz(part, ".")) {
			TRY(buf_splice(&rest, 0, used, STR(""), ERR_DISCARD));
			continue;
		}
		if (str_eqz(part, "..")) {
			if (done.n == 0)
				goto outside;
			size_t slash = str_rfind(buf_str(&done), '/');

			done.n = slash < done.n ? slash : 0;
			TRY(buf_splice(&rest, 0, used, STR(""), ERR_DISCARD));
			continue;
		}
		if ((done.n > 0 && buf_addc(&done, '/', ERR_DISCARD) < 0) || buf_add(&done, part, ERR_DISCARD) < 0 ||
			buf_cstr(&done, &path, ERR_DISCARD) < 0)
			goto too_long;
		autoclose int fd = open_by_names(dirfd, str_from(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));
		if (fd < 0)
			return -1;
		if (n <= 0 || (all.n == 0 && (flags & O_NOFOLLOW))) {
			TRY(buf_splice(&rest, 0, used, STR(""), ERR_DISCARD));
			continue;
		}
		if (target[0] == '/')
			goto outside;
		if (++links > LINKS_MAX) {
			errno = ELOOP;
			return -1;
		}
		done.n = before;
		if (buf_splice(&rest, 0, part.n, str_of(target, (size_t)n), ERR_DISCARD) < 0)
			goto too_long;
	}
	return open_by_names(dirfd, done.n > 0 ? buf_str(&done) : STR("."), flags);
too_long:
	errno = ENAMETOOLONG;
	return -1;
outside:
	errno = EXDEV;
	return -1;
}

int file_openat2(int dirfd, const char *name, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)flags, .mode = mode, .resolve = resolve };
	long fd;

	do
		fd = FAULTY(syscall(SYS_openat2, dirfd, name, &how, sizeof(how)));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd >= 0 || errno != ENOSYS || !(resolve & RESOLVE_BENEATH) || (flags & O_CREAT) || !*name || *name == '/')
		return (int)fd;
	return resolve & RESOLVE_NO_SYMLINKS ? open_by_names(dirfd, str_from(name), flags)
					     : open_by_links(dirfd, name, flags);
}

static int must_be_regular(int fd, const char *name, struct err *err)
{
	struct stat st;

	if (FAULTY(fstat(fd, &st)) < 0)
		return err_sys(err, errno, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%s is not a regular file", name);
	return 0;
}

int file_open(int dirfd, const char *name, bool nofollow, int *out, struct err *err)
{
	/* O_NONBLOCK: a FIFO must not hold us; on a regular file it means nothing. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (nofollow ? O_NOFOLLOW : 0);
	autoclose int fd = FAULTY(openat(dirfd, name, flags));

	if (fd < 0 && errno == ENXIO) /* a socket */
		return err_set(err, ERR_INVALID, "%s is not a regular file", name);
	if (fd < 0)
		return err_sys(err, errno, "open %s", name);
	TRY(must_be_regular(fd, name, err));
	*out = take_fd(&fd);
	return 0;
}

/* What is not written to costs nothing, but room for much is asked of the kernel, and given back, each time. */
static size_t read_step(size_t got)
{
	return got < READ_FIRST ? READ_FIRST : got < READ_STEP ? got : READ_STEP;
}

int file_read_fd(int fd, struct buf *out, struct err *err)
{
	size_t start = out->n;

	for (;;) {
		size_t step = read_step(out->n - start), room = out->max - out->n, want = room < step ? room : step;
		char probe;
		ssize_t n;

		if (want > 0)
			TRY(buf_reserve(out, want, err));
		n = FAULTY(read(fd, want > 0 ? out->p + out->n : &probe, want > 0 ? want : 1));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int sys = errno;

			buf_shrink(out, start);
			return err_sys(err, sys, "read");
		}
		if (n == 0)
			return 0;
		if (want == 0) {
			buf_shrink(out, start);
			return err_set(err, ERR_LIMIT, "larger than %zu bytes", out->max);
		}
		out->n += (size_t)n;
		out->p[out->n] = '\0';
	}
}

int file_read(int dirfd, const char *name, struct buf *out, struct err *err)
{
	autoclose int fd = -1;

	TRY(file_open(dirfd, name, false, &fd, err));
	if (file_read_fd(fd, out, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

/* write(2), which may take less than all; a test may make it so. */
static ssize_t write_some(int fd, struct str bytes)
{
	int fault = fault_hit();

	if (fault == FAULT_SHORT || fault == FAULT_HALF) {
		if (fault == FAULT_HALF)
			fault_arm(1, ENOSPC);
		return write(fd, bytes.p, bytes.n > 1 ? bytes.n / 2 : bytes.n);
	}
	errno = fault;
	return fault ? -1 : write(fd, bytes.p, bytes.n);
}

int file_write_fd(int fd, struct str bytes, struct err *err)
{
	while (bytes.n > 0) {
		ssize_t n = write_some(fd, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "write");
		bytes = str_skip(bytes, (size_t)n);
	}
	return 0;
}

static int fill_and_rename(int dirfd, const char *tmp, const char *name, struct str bytes, mode_t mode,
	struct err *err)
{
	autoclose int fd = FAULTY(openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
	struct stat st;

	if (fd < 0)
		return err_sys(err, errno, "create %s", tmp);
	/* The umask must not decide. A view's filter has no fchmod: its modes lose nothing by umask 077. */
	if (fstat(fd, &st) < 0 || ((st.st_mode & 07777) != mode && FAULTY(fchmod(fd, mode)) < 0))
		return err_sys(err, errno, "chmod %s", tmp);
	if (file_write_fd(fd, bytes, err) < 0)
		return err_wrap(err, "%s", tmp);
	if (FAULTY(fsync(fd)) < 0)
		return err_sys(err, errno, "fsync %s", tmp);
	if (FAULTY(renameat(dirfd, tmp, dirfd, name)) < 0)
		return err_sys(err, errno, "rename to %s", name);
	return 0;
}

int file_replace(int dirfd, const char *name, struct str bytes, mode_t mode, struct err *err)
{
	char tmp[300];

	BUG_IF(strchr(name, '/'));
	if (snprintf(tmp, sizeof(tmp), ".%s.%d.tmp", name, (int)getpid()) >= (int)sizeof(tmp))
		return err_set(err, ERR_LIMIT, "the name %s is too long", name);
	if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT) /* of a dead process with our number */
		return err_sys(err, errno, "write %s", name);
	int r = fill_and_rename(dirfd, tmp, name, bytes, mode, err);
	if (r < 0) {
		unlinkat(dirfd, tmp, 0);
		return err_wrap(err, "write %s", name);
	}
	/* The new name itself must be on disk. Not every file system can; the content is safe anyway. */
	if (FAULTY(fsync(dirfd)) < 0 && errno != EINVAL && errno != EBADF)
		return err_sys(err, errno, "fsync the directory of %s", name);
	return 0;
}

int dir_make(const char *path, mode_t mode, struct err *err)
{
	autofree char *p = mem_strdup(path);

	for (char *slash = strchr(p + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (FAULTY(mkdir(p, mode)) < 0 && errno != EEXIST)
			return err_sys(err, errno, "make directory %s", p);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

int dir_open(int dirfd, const char *name, int *out, struct err *err)
{
	int fd = FAULTY(openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0)
		return err_sys(err, errno, "open directory %s", name);
	*out = fd;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return str_cmp(((const struct dir_entry *)a)->name, ((const struct dir_entry *)b)->name);
}

static unsigned char type_of(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int dir_list(int dirfd, struct arena *mem, size_t max, struct dir_entry **out, size_t *out_n, struct err *err)
{
	autoclose int fd = FAULTY(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CLEANUP(close_dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0, cap = 0;
	struct dir_entry *list = NULL;

	if (!d)
		return err_sys(err, errno, "open directory");
	fd = -1; /* d owns it */
	for (;;) {
		errno = 0;
		const struct dirent *e = readdir(d);

		if (!e && errno != 0)
			return err_sys(err, errno, "read directory");
		if (!e)
			break;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (n == max)
			return err_set(err, ERR_LIMIT, "more than %zu entries", max);
		if (n == cap) {
			size_t more = cap > 0 ? cap * 2 : 32;
			struct dir_entry *bigger = arena_array(mem, more, sizeof(*bigger));

			if (n > 0)
				memcpy(bigger, list, n * sizeof(*list));
			list = bigger;
			cap = more;
		}
		list[n++] = (struct dir_entry){ str_dup(mem, str_from(e->d_name)),
			e->d_type != DT_UNKNOWN ? e->d_type : type_of(dirfd, e->d_name) };
	}
	if (n > 0)
		qsort(list, n, sizeof(*list), by_name);
	*out = list;
	*out_n = n;
	return 0;
}

/* What is removed may have been made by somebody hostile: directories without rights, or nested deeper than there
 * are descriptors. The deep ones are moved up and have their turn later. */
struct removal {
	int top;
	unsigned long long moved;
};

static int open_to_empty(int dirfd, const char *name, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dirfd, name, flags);
	struct stat st;

	if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dirfd, name, flags);
	if (fd < 0)
		return err_sys(err, errno, "open directory %s", name);
	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)!fchmod(fd, 0700); /* where that fails, removing says so */
	return fd;
}

static int move_up(struct removal *rm, int dirfd, const char *name, struct err *err)
{
	char away[32];
	int r;

	do {
		snprintf(away, sizeof(away), "%llu", ++rm->moved);
		r = file_rename(dirfd, name, rm->top, away, RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST);
	return r < 0 ? err_sys(err, errno, "move directory %s", name) : 0;
}

static int empty_dir(struct removal *rm, int dirfd, int depth, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *list;
	size_t n;

	TRY(dir_list(dirfd, mem, SIZE_MAX, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		const char *name = list[i].name.p;

		if (unlinkat(dirfd, name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return err_sys(err, errno, "remove %s", name);
		autoclose int fd = open_to_empty(dirfd, name, err);
		TRY(fd);
		if (depth == REMOVE_DEPTH) {
			TRY(move_up(rm, dirfd, name, err));
			continue;
		}
		TRY(empty_dir(rm, fd, depth + 1, err));
		if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
			return err_sys(err, errno, "remove directory %s", name);
	}
	return 0;
}

int dir_remove_tree(int dirfd, const char *name, struct err *err)
{
	struct removal rm = { .moved = 0 };
	unsigned long long before;

	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM && errno != EACCES) /* who may remove directories only is told EACCES */
		return err_sys(err, errno, "remove %s", name);
	autoclose int top = open_to_empty(dirfd, name, err);
	TRY(top);
	rm.top = top;
	do {
		before = rm.moved;
		TRY(empty_dir(&rm, top, 0, err));
	} while (rm.moved != before);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		return err_sys(err, errno, "remove directory %s", name);
	return 0;
}

int file_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

char *path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	bool slash = n > 0 && dir[n - 1] != '/';
	char *p = mem_alloc(n + m + 2);

	memcpy(p, dir, n);
	if (slash)
		p[n++] = '/';
	memcpy(p + n, name, m + 1);
	return p;
}

bool path_is_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/') /* the root */
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool path_is_clean(struct str path)
{
	if (path.n == 0 || path.p[0] != '/' || memchr(path.p, '\0', path.n))
		return false;
	if (path.n == 1)
		return true;
	struct str rest = str_skip(path, 1);
	do {
		bool last = memchr(rest.p, '/', rest.n) == NULL;
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_eqz(part, ".") || str_eqz(part, ".."))
			return false;
		if (last)
			return true;
	} while (rest.n > 0);
	return false; /* it ended in '/' */
}
