/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apparmor.h"

#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DIR_OF_PROFILES "/etc/apparmor.d"
#define NAME            "agent6-jail"
#define FRESH           ".agent6-jail.new" /* a name that is not loaded at the start of the system */
#define FIRST_LINE      "# agent6-jail: written by \"agent6 system apparmor install\"\n"
#define PROFILE_MAX     (64 * 1024)
#define PARSER_MS       60000

static const char *const parsers[] = { "/usr/sbin/apparmor_parser", "/sbin/apparmor_parser" };
#define LSM      "/sys/kernel/security/lsm"
#define LOADED   "/sys/kernel/security/apparmor/profiles"
#define RESTRICT "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
#define MEDIATES "/sys/kernel/security/apparmor/features/namespaces/mask"

static const char *in_root(const struct apparmor *a, const char *path)
{
	return str_printf(a->mem, "%s%s", a->root, path).p;
}

static void say(const struct apparmor *a, const char *fmt, ...) FORMAT(2, 3);

static void say(const struct apparmor *a, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	a->say(a->self, line);
}

/* ---- what is there ---- */

struct found {
	const char *parser;   /* NULL: none */
	struct str lsm;       /* the kernel's list; empty: it cannot be read */
	char restricts;       /* '0', '1', or 0: this kernel has no such switch, which is Ubuntu's */
	bool mediates;        /* a profile decides who makes user namespaces (Linux 6.7): one around agent6 may refuse them */
	bool exists, ours;    /* the file of the profile */
	struct str text;      /* of that file */
};

static struct str read_small(const struct apparmor *a, const char *path)
{
	auto_buf struct buf b = BUF_MAX(PROFILE_MAX);

	return file_read(AT_FDCWD, in_root(a, path), &b, ERR_DISCARD) < 0 ? STR("") : str_dup(a->mem, str_trim(buf_str(&b)));
}

static bool list_has(struct str list, char sep, const char *word)
{
	while (list.n > 0)
		if (str_eqz(str_cut(&list, sep), word))
			return true;
	return false;
}

static int look_at_profile(const struct apparmor *a, struct found *f, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(PROFILE_MAX);
	autoclose int fd = -1;
	int r = file_open(AT_FDCWD, in_root(a, DIR_OF_PROFILES "/" NAME), true, &fd, err);

	if (r == -ERR_NOENT)
		return 0;
	f->exists = true;
	if (r < 0)
		return r == -ERR_PERM ? 0 : err_wrap(err, "look at the profile"); /* a link, a device: nothing of ours */
	TRY(file_read_fd(fd, &b, err));
	f->text = str_dup(a->mem, buf_str(&b));
	f->ours = str_starts(f->text, STR(FIRST_LINE));
	return 0;
}

static int look(const struct apparmor *a, struct found *f, struct err *err)
{
	struct str restricts = read_small(a, RESTRICT);

	*f = (struct found){ .lsm = read_small(a, LSM), .restricts = restricts.n > 0 ? restricts.p[0] : '\0',
		.mediates = list_has(read_small(a, MEDIATES), ' ', "userns_create") };
	for (size_t i = 0; i < COUNT(parsers) && !f->parser; i++)
		if (access(in_root(a, parsers[i]), X_OK) == 0)
			f->parser = in_root(a, parsers[i]);
	return look_at_profile(a, f, err);
}

/* ---- the profile ---- */

int apparmor_profile(const char *launcher, struct buf *out, struct err *err)
{
	struct str path = str_from(launcher);

	/* Quoted, it may hold spaces; these mean something else than themselves, or end it. */
	if (!path_is_clean(path) || str_find_any(path, STR("*?[]{}^\"\\,@\n\r\t")) < path.n) {
		int r = err_set(err, ERR_INVALID, "the path %s cannot be written in an AppArmor profile", launcher);

		err_hint(err, "install agent6 where no name holds one of * ? [ ] { } ^ \" \\ , @");
		return r;
	}
	return buf_addf(out, err,
		FIRST_LINE
		"# It lets this one program make user namespaces; all that happens in them is agent6-jail's to confine.\n"
		"abi <abi/4.0>,\n"
		"include <tunables/global>\n"
		"\n"
		"profile " NAME " \"%s\" flags=(unconfined) {\n"
		"  userns,\n"
		"\n"
		"  include if exists <local/" NAME ">\n"
		"}\n", launcher);
}

/* ---- who may ---- */

static int need_apparmor(const struct found *f, struct err *err)
{
	int r;

	if (f->parser && list_has(f->lsm, ',', "apparmor") && (f->restricts || f->mediates))
		return 0;
	if (!f->parser || !list_has(f->lsm, ',', "apparmor"))
		r = err_set(err, ERR_UNSUPPORTED, "this host does not use AppArmor: %s",
			f->lsm.n == 0 ? LSM " cannot be read"
				      : f->parser ? "it is not in " LSM : "there is no apparmor_parser in /usr/sbin or /sbin");
	else
		r = err_set(err, ERR_UNSUPPORTED, "the AppArmor of this kernel has no rule about user namespaces: there is nothing to allow");
	err_hint(err, "agent6 check sandbox says what keeps \"strict\" away, if anything does");
	return r;
}

static int need_root(const struct apparmor *a, const char *verb, struct err *err)
{
	if (a->uid == 0)
		return 0;
	err_set(err, ERR_DENIED, "the profile is root's to change");
	err_hint(err, "sudo agent6 system apparmor %s", verb);
	return -ERR_DENIED;
}

/* Whoever can put another program in its place would be given what the launcher is given. */
static int need_fixed_launcher(const struct apparmor *a, struct err *err)
{
	char *path = str_dupz(a->mem, str_from(a->launcher));
	struct stat st;

	for (;;) {
		const char *here = in_root(a, path[0] ? path : "/");

		if (lstat(here, &st) < 0)
			return err_sys(err, errno, "%s", here);
		if (S_ISLNK(st.st_mode) || st.st_uid != a->owner || (st.st_mode & (S_IWGRP | S_IWOTH))) {
			err_set(err, ERR_DENIED, "%s can be exchanged by others than root, and the profile would be for whatever lies "
						 "there", here);
			err_hint(err, "install agent6 where only root writes: sudo PREFIX=/usr/local ./dev install");
			return -ERR_DENIED;
		}
		if (path[0] == '\0')
			return 0;
		*strrchr(path, '/') = '\0';
	}
}

static int need_ours(const struct found *f, struct err *err)
{
	if (!f->exists || f->ours)
		return 0;
	err_set(err, ERR_DENIED, DIR_OF_PROFILES "/" NAME " is not agent6's");
	err_hint(err, "look at it, and move it away when nothing needs it");
	return -ERR_DENIED;
}

/* ---- doing it ---- */

static int run_parser(const struct apparmor *a, const struct found *f, const char *const *options, const char *file,
	struct err *err)
{
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	auto_buf struct buf out = BUF_MAX(8192), errs = BUF_MAX(8192);
	const char *argv[6] = { f->parser };
	struct proc_status st;
	size_t n = 1;

	for (; options[n - 1]; n++)
		argv[n] = options[n - 1];
	argv[n] = file;
	say(a, n == 3 ? "+ %s %s %s %s" : "+ %s %s %s%s", argv[0], argv[1], argv[2], n == 3 ? argv[3] : "");
	TRY(proc_run(&(struct proc_spec){ .argv = argv, .env = env, .cwd = "/" }, STR(""), PARSER_MS, &out, &errs, &st, err));
	if (st.code != 0)
		return err_set(err, ERR_SYS, "apparmor_parser: exit status %d: " STR_FMT, st.code,
			STR_ARG(str_head(str_trim(errs.n > 0 ? buf_str(&errs) : buf_str(&out)), 400)));
	return 0;
}

static int write_fresh(int dir, struct str text, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	autoclose int fd = -1;
	int r;

	if (unlinkat(dir, FRESH, 0) < 0 && errno != ENOENT) /* of an install that was killed */
		return err_sys(err, errno, "remove " DIR_OF_PROFILES "/" FRESH);
	fd = openat(dir, FRESH, flags, 0644);
	if (fd < 0)
		return err_sys(err, errno, "make " DIR_OF_PROFILES "/" FRESH);
	r = fchmod(fd, 0644) < 0 ? err_sys(err, errno, "chmod") : file_write_fd(fd, text, err);
	if (r == 0 && fsync(fd) < 0)
		r = err_sys(err, errno, "write " DIR_OF_PROFILES "/" FRESH);
	if (r < 0)
		unlinkat(dir, FRESH, 0);
	return r;
}

/* Loaded first, from a file that no start of the system looks at; in its place only when the kernel has taken it. */
static int load_then_place(const struct apparmor *a, const struct found *f, int dir, struct err *err)
{
	static const char *const load[] = { "-r", "-K", NULL }, *const unload[] = { "-R", NULL };
	const char *fresh = in_root(a, DIR_OF_PROFILES "/" FRESH);
	int r = run_parser(a, f, load, fresh, err);

	if (r == 0 && renameat(dir, FRESH, dir, NAME) < 0) {
		r = err_sys(err, errno, "put the profile in its place");
		if (!f->exists && run_parser(a, f, unload, fresh, ERR_DISCARD) < 0)
			say(a, "the profile stays loaded until the next start of the system");
	}
	if (r < 0) {
		unlinkat(dir, FRESH, 0);
		return err_wrap(err, "nothing was changed");
	}
	return fsync(dir) < 0 ? err_sys(err, errno, "write " DIR_OF_PROFILES) : 0;
}

int apparmor_install(const struct apparmor *a, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PROFILE_MAX);
	autoclose int dir = -1;
	struct found f;

	TRY(look(a, &f, err));
	TRY(need_apparmor(&f, err));
	TRY(need_root(a, "install", err));
	TRY(need_fixed_launcher(a, err));
	TRY(need_ours(&f, err));
	TRY(apparmor_profile(a->launcher, &text, err));
	TRY(dir_open(AT_FDCWD, in_root(a, DIR_OF_PROFILES), &dir, err));
	TRY(write_fresh(dir, buf_str(&text), err));
	TRY(load_then_place(a, &f, dir, err));
	say(a, "installed and loaded: %s may make user namespaces", a->launcher);
	if (f.restricts == '0')
		say(a, "this host does not restrict them at the moment: %s is 0", RESTRICT);
	if (!f.restricts)
		say(a, "this kernel restricts them for no program but those with a profile that does: it counts where one of these starts "
		       "agent6");
	return 0;
}

int apparmor_remove(const struct apparmor *a, struct err *err)
{
	static const char *const unload[] = { "-R", NULL };
	const char *file = in_root(a, DIR_OF_PROFILES "/" NAME);
	struct err why = { 0 };
	struct found f;

	TRY(look(a, &f, err));
	if (!f.exists) {
		say(a, "there is no profile to remove");
		return 0;
	}
	TRY(need_root(a, "remove", err));
	TRY(need_ours(&f, err));
	if (!f.parser)
		say(a, "there is no apparmor_parser: the file is removed, and what is loaded stays until the next start");
	else if (run_parser(a, &f, unload, file, &why) < 0)
		say(a, "it could not be unloaded (%s) and stays until the next start of the system", why.msg);
	if (unlink(file) < 0)
		return err_sys(err, errno, "remove %s", file);
	say(a, "removed");
	return 0;
}

static const char *loaded_words(const struct apparmor *a)
{
	autoclose int fd = open(in_root(a, LOADED), O_RDONLY | O_CLOEXEC);
	auto_buf struct buf b = BUF_MAX(1 << 20);

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? "only root can see" : "no, there is no AppArmor in this kernel";
	if (file_read_fd(fd, &b, ERR_DISCARD) < 0)
		return "only root can see";
	for (struct str rest = buf_str(&b); rest.n > 0;)
		if (str_starts(str_line(&rest), STR(NAME " (")))
			return "yes";
	return "no";
}

static const char *file_words(const struct apparmor *a, const struct found *f)
{
	auto_buf struct buf want = BUF_MAX(PROFILE_MAX);

	if (!f->exists)
		return "not there";
	if (!f->ours)
		return "there, but not agent6's";
	if (apparmor_profile(a->launcher, &want, ERR_DISCARD) < 0 || !str_eq(buf_str(&want), f->text))
		return "there, but not for this agent6-jail: install it again";
	return "there";
}

int apparmor_status(const struct apparmor *a, struct err *err)
{
	struct found f;

	TRY(look(a, &f, err));
	say(a, "profile   " DIR_OF_PROFILES "/" NAME ": %s", file_words(a, &f));
	say(a, "loaded    %s", loaded_words(a));
	say(a, "launcher  %s", a->launcher);
	say(a, "parser    %s", f.parser ? f.parser : "not there");
	say(a, "modules   " STR_FMT, STR_ARG(f.lsm.n > 0 ? f.lsm : STR(LSM " cannot be read")));
	say(a, "restricts %s", f.restricts == '1' ? "user namespaces need a profile that allows them"
		: f.restricts == '0'		    ? "not at the moment (" RESTRICT " is 0)"
		: f.mediates			    ? "programs whose profile does not allow them: this kernel has no switch for all"
						    : "no: this kernel has no such rule");
	if (!f.parser || !list_has(f.lsm, ',', "apparmor"))
		say(a, "this host does not use AppArmor: there is nothing to install");
	return 0;
}
