/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/ours.h"
#include "base/buf.h"
#include "fmt/shellword.h"
#include "sys/fault.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel's own limit */
#define NAMES_MAX ((size_t)4 * 1024 * 1024) /* of /etc/passwd and /etc/group each: a longer one is not looked through */

#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))

/* ---- whose group it is ---- */

static bool is_number(struct str s, int64_t n)
{
	int64_t v;

	return str_to_i64(s, &v, ERR_DISCARD) >= 0 && v == n;
}

/* name:password:uid:gid:... */
static bool passwd_line(struct str *rest, struct str *name, struct str *uid, struct str *gid)
{
	struct str line;

	if (rest->n == 0)
		return false;
	line = str_cut(rest, '\n');
	*name = str_cut(&line, ':');
	str_cut(&line, ':');
	*uid = str_cut(&line, ':');
	*gid = str_cut(&line, ':');
	return true;
}

static bool is_name_of(struct str passwd, struct str wanted, uid_t uid)
{
	struct str name, u, g;

	while (passwd_line(&passwd, &name, &u, &g))
		if (str_eq(name, wanted) && (is_number(u, uid) || is_number(u, 0)))
			return true;
	return false;
}

bool ours_group_is_private(struct str passwd, struct str group, uid_t uid, gid_t gid)
{
	bool known = false;
	struct str name, u, g;

	for (struct str rest = passwd; passwd_line(&rest, &name, &u, &g);) {
		if (!is_number(g, gid))
			continue;
		if (!is_number(u, uid) && !is_number(u, 0))
			return false;
		known = true;
	}
	while (group.n > 0) { /* name:password:gid:member,member */
		struct str line = str_cut(&group, '\n');

		str_cut(&line, ':');
		str_cut(&line, ':');
		if (!is_number(str_cut(&line, ':'), gid))
			continue;
		known = true;
		while (line.n > 0)
			if (!is_name_of(passwd, str_cut(&line, ','), uid))
				return false;
	}
	return known || gid == uid;
}

static int read_names(const char *path, struct buf *out)
{
	int r = file_read(AT_FDCWD, path, out, ERR_DISCARD);

	return r == -ERR_NOENT ? 0 : r;
}

/* Where an access list is, the group's bits are what all of its entries may have. */
static bool has_acl(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return true;
	return errno != ENODATA && errno != EOPNOTSUPP;
}

static bool is_private_group(int fd, gid_t gid)
{
	auto_buf struct buf passwd = BUF_MAX(NAMES_MAX), group = BUF_MAX(NAMES_MAX);

	return gid == getegid() && !has_acl(fd) && read_names("/etc/passwd", &passwd) >= 0 && read_names("/etc/group", &group) >= 0 &&
		ours_group_is_private(buf_str(&passwd), buf_str(&group), geteuid(), gid);
}

/* ---- one thing on the way ---- */

static const char *kind_word(mode_t mode)
{
	return S_ISDIR(mode) ? "the directory" : S_ISLNK(mode) ? "the link" : "the file";
}

/* A command is shown whole or not at all. */
static void hint_command(struct err *err, const char *command, const char *path)
{
	auto_buf struct buf b = BUF_MAX(sizeof(err->hint) - 1);

	if (buf_addz(&b, command, ERR_DISCARD) < 0 || shellword_add(&b, str_from(path), ERR_DISCARD) < 0)
		err_hint(err, "%sit", command);
	else
		err_hint(err, "%s", b.p);
}

static int refuse_owner(const char *path, const struct stat *st, struct err *err)
{
	err_set(err, ERR_DENIED, "%s %s belongs to user %u, and you are user %u: who owns it can put something else in its place",
		kind_word(st->st_mode), path, (unsigned)st->st_uid, (unsigned)geteuid());
	if (geteuid() == 0)
		err_hint(err, "work as that user, or with a home of your own (\"sudo -H\" gives root's)");
	else
		err_hint(err, "take a place of your own (HOME, XDG_CONFIG_HOME, AGENT6_CONFIG_HOME and the like), or have it given to you");
	return -ERR_DENIED;
}

static int refuse_mode(const char *path, const struct stat *st, struct err *err)
{
	bool others = st->st_mode & S_IWOTH;

	if (others)
		err_set(err, ERR_DENIED, "%s %s can be written by everybody (mode %04o): who may do that can put something else in its place",
			kind_word(st->st_mode), path, (unsigned)st->st_mode & 07777);
	else
		err_set(err, ERR_DENIED, "%s %s can be written by others of group %u (mode %04o): who may do that can put something else in its place",
			kind_word(st->st_mode), path, (unsigned)st->st_gid, (unsigned)st->st_mode & 07777);
	hint_command(err, others ? "chmod go-w " : "chmod g-w ", path);
	return -ERR_DENIED;
}

/* Who owns "/" can replace all of it, and in a user namespace root may have another number. */
static bool is_top(uid_t uid)
{
	struct stat st;

	return stat("/", &st) == 0 && st.st_uid == uid;
}

static int check_one(int fd, const char *path, const struct stat *st, bool last, struct err *err)
{
	if (st->st_uid != geteuid() && st->st_uid != 0 && !is_top(st->st_uid))
		return refuse_owner(path, st, err);
	if (S_ISLNK(st->st_mode) || (!last && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return 0;
	if ((st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !is_private_group(fd, st->st_gid)))
		return refuse_mode(path, st, err);
	return 0;
}

/* ---- the way ---- */

struct walk {
	struct stat home;
	bool has_home;    /* what is below it counts, what was above does not */
	struct err fault; /* the first one, code 0: none */
	struct buf done;  /* as far as we are: no link, no "..", "" is the root */
	struct buf rest;  /* what is left of the way */
	int links;
};

static void walk_fini(struct walk *w)
{
	buf_fini(&w->done);
	buf_fini(&w->rest);
}
#define auto_walk CLEANUP(walk_fini)

static const char *name_of(const struct walk *w)
{
	return w->done.n > 0 ? w->done.p : "/";
}

static void look(struct walk *w, int fd, const struct stat *st, bool last)
{
	struct err err = { 0 };

	if (w->has_home && st->st_dev == w->home.st_dev && st->st_ino == w->home.st_ino)
		w->fault = (struct err){ 0 };
	if (w->fault.code == 0 && check_one(fd, name_of(w), st, last, &err) < 0)
		w->fault = err;
}

static void go_up(struct walk *w)
{
	size_t slash = str_rfind(buf_str(&w->done), '/');

	w->done.n = slash < w->done.n ? slash : 0;
	if (w->done.p)
		w->done.p[w->done.n] = '\0';
}

/* The link's own place was looked at; now its target's is the way. */
static int follow(struct walk *w, int fd, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof(target));

	if (n <= 0 || ++w->links > LINKS_MAX)
		return n < 0 ? err_sys(err, errno, "%s", name_of(w)) : err_sys(err, ELOOP, "%s", name_of(w));
	go_up(w);
	if (target[0] == '/')
		buf_clear(&w->done);
	TRY(buf_splice(&w->rest, 0, 0, STR("/"), err));
	return buf_splice(&w->rest, 0, 0, str_of(target, (size_t)n), err);
}

static bool is_over(struct str rest)
{
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] != '/')
			return false;
	return true;
}

/* 1 when there is nothing further to see. */
static int step(struct walk *w, struct err *err)
{
	struct str all = buf_str(&w->rest), part = str_cut(&all, '/');
	bool up = str_eqz(part, ".."), stays = up || part.n == 0 || str_eqz(part, ".");
	autoclose int fd = -1;
	struct stat st;

	if (!stays) {
		TRY(buf_addc(&w->done, '/', err));
		TRY(buf_add(&w->done, part, err));
	}
	TRY(buf_splice(&w->rest, 0, w->rest.n - all.n, STR(""), err)); /* from here on part is something else */
	if (up)
		go_up(w);
	if (stays)
		return 0;
	fd = FAULTY(open(w->done.p, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0) /* what is not there, or cannot be reached, is told where it is wanted */
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 1 : err_sys(err, errno, "%s", w->done.p);
	if (FAULTY(fstat(fd, &st)) < 0)
		return err_sys(err, errno, "%s", w->done.p);
	look(w, fd, &st, is_over(buf_str(&w->rest)));
	return S_ISLNK(st.st_mode) ? follow(w, fd, err) : 0;
}

/* What of a path lies below a directory of that name, by their words. */
static bool words_below(const char *path, const char *dir, struct str *out)
{
	struct str all = str_from(path), head = str_from(dir);

	while (head.n > 0 && head.p[head.n - 1] == '/')
		head.n--;
	*out = str_skip(all, head.n < all.n ? head.n : all.n);
	return head.n > 0 && str_starts(all, head) && (out->n == 0 || out->p[0] == '/');
}

/* The walk from "/" would come by HOME, and forget what it saw. False: it has to be walked, since HOME is not where it can be
 * seen, or has no name. */
static bool begin_at_home(struct walk *w, const char *home, struct str left)
{
	char self[64], real[PATH_MAX + 1];
	autoclose int fd = FAULTY(open(home, O_PATH | O_CLOEXEC));
	struct stat st;
	ssize_t n;

	if (fd < 0 || FAULTY(fstat(fd, &w->home)) < 0)
		return false;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, real, sizeof(real) - 1);
	if (n <= 1 || (size_t)n == sizeof(real) - 1 || real[0] != '/')
		return false;
	real[n] = '\0';
	if (lstat(real, &st) < 0 || st.st_dev != w->home.st_dev || st.st_ino != w->home.st_ino || buf_add(&w->done, str_of(real, (size_t)n), ERR_DISCARD) < 0 ||
		buf_add(&w->rest, left, ERR_DISCARD) < 0)
		return false;
	w->has_home = true;
	look(w, fd, &w->home, is_over(left));
	return true;
}

static int begin(struct walk *w, const char *path, struct err *err)
{
	const char *home = getenv("HOME");
	autoclose int root = -1;
	struct stat st;
	struct str left;

	if (home && home[0] == '/' && words_below(path, home, &left) && begin_at_home(w, home, left))
		return 0;
	buf_clear(&w->done);
	w->has_home = home && home[0] == '/' && stat(home, &w->home) == 0;
	root = FAULTY(open("/", O_PATH | O_CLOEXEC));
	if (root < 0 || FAULTY(fstat(root, &st)) < 0)
		return err_sys(err, errno, "/");
	look(w, root, &st, false);
	buf_clear(&w->rest);
	return buf_addz(&w->rest, path, err);
}

int ours_check(const char *path, struct err *err)
{
	auto_walk struct walk w = { .done = BUF_MAX(PATH_MAX), .rest = BUF_MAX(2 * PATH_MAX) };
	int r;

	BUG_IF(path[0] != '/');
	r = begin(&w, path, err);
	while (r == 0 && w.rest.n > 0)
		r = step(&w, err);
	if (r < 0)
		return r;
	if (w.fault.code == 0)
		return 0;
	*err = w.fault;
	return -(int)err->code;
}
