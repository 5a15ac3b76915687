/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/toolpath.h"
#include "sandbox/zygote.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES_MAX 20000 /* of one directory */

/* Where tools are; those with '~' are below the operator's home. */
static const char *const places[] = { "/usr/local/bin", "/usr/local/sbin", "/usr/local/go/bin", "~/.local/bin",
	"~/.cargo/bin", "~/go/bin", "/opt/homebrew/bin", "/snap/bin" };

/* What is shown whole, since its programs look for the rest of it: managers of versions, and what they installed. '+' is
 * the directory for data. A last part '*' is the one that the operator's PATH names, else the newest. None of these is
 * where keys are kept; ~/.cargo, ~/.config and ~/.npmrc are none of them. */
static const struct layout {
	const char *root;
	const char *bins[2]; /* of it, on PATH */
	const char *env;     /* says where it is: the operator's own, and the cell's */
} layouts[] = {
	{ "~/.rustup", { NULL }, "RUSTUP_HOME" },
	{ "~/.pyenv", { "shims", "bin" }, "PYENV_ROOT" },
	{ "~/.rbenv", { "shims", "bin" }, "RBENV_ROOT" },
	{ "~/.asdf", { "shims", "bin" }, "ASDF_DATA_DIR" },
	{ "+/mise", { "shims" }, "MISE_DATA_DIR" },
	{ "~/.volta", { "bin" }, "VOLTA_HOME" },
	{ "~/.nvm/versions/node/*", { "bin" }, NULL },
	{ "+/fnm/node-versions/*/installation", { "bin" }, NULL },
	{ "~/.bun", { "bin" }, "BUN_INSTALL" },
	{ "~/.deno", { "bin" }, NULL },
	{ "~/.sdkman/candidates/java/*", { "bin" }, NULL },
	{ "+/uv/python", { NULL }, NULL },
	{ "+/uv/tools", { NULL }, NULL },
	{ "+/pipx/venvs", { NULL }, NULL },
	{ "~/.local/pipx/venvs", { NULL }, NULL },
};

/* Shown in every cell already. */
static const char *const system_roots[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev" };

static const char *const passed[] = { "LANG", "LC_ALL", "TERM", "CI" };

#define SYSTEM_PATH "/usr/bin:/bin"

/* A program that lies here has what it needs beside it, as far as a link has ever brought that. */
static const char *const bin_names[] = { "bin", "sbin", ".bin", "shims", "libexec", NULL };
static const char *const package_names[] = { "node_modules", "site-packages", NULL };

/* Whatever a link says, nothing in these is a program's: keys, letters, what a browser or a program remembers. */
static const char *const private_names[] = { ".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube", ".mozilla", ".thunderbird",
	".password-store", ".pki", ".gcloud", ".oci", ".terraform.d", ".cert", "keyrings", ".var", NULL };

enum shown { SHOWN_NOT, SHOWN_FILE, SHOWN_ALL, SHOWN_PRIVATE };

struct derive {
	const struct toolpath_ask *ask;
	struct arena *mem;
	struct toolpath *out;
	struct policy_list path; /* beside the system's */
};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/' || (n > 0 && dir[n - 1] == '/'));
}

static bool in_system(const char *path)
{
	for (size_t i = 0; i < COUNT(system_roots); i++)
		if (is_below(path, system_roots[i]))
			return true;
	return false;
}

/* Home itself, anything around it, and what is denied or touches it. */
static bool may_show(const struct derive *d, const char *path)
{
	if (d->ask->home && is_below(d->ask->home, path))
		return false;
	for (size_t i = 0; i < d->ask->deny.n; i++)
		if (is_below(path, d->ask->deny.p[i]) || is_below(d->ask->deny.p[i], path))
			return false;
	return true;
}

static bool is_shown(const struct derive *d, const char *path)
{
	for (size_t i = 0; i < d->out->mounts.n; i++)
		if (is_below(path, d->out->mounts.p[i]))
			return true;
	return false;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* 1 when a command can reach it, by this mount or without any. */
static bool show(const struct derive *d, const char *path)
{
	if (in_system(path) || is_shown(d, path))
		return true;
	if (!may_show(d, path) || d->out->mounts.n >= POLICY_PATHS_MAX - 8)
		return false;
	policy_list_add(&d->out->mounts, d->mem, path);
	return true;
}

static bool has_part(const char *path, const char *const *names)
{
	for (struct str rest = str_from(path); rest.n > 0;) {
		struct str part = str_cut(&rest, '/');

		for (size_t i = 0; names[i]; i++)
			if (str_eqz(part, names[i]))
				return true;
	}
	return false;
}

static bool is_everybodys(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	if (!realpath(dir, path))
		return false;
	for (char *end = path + strlen(path); end != path; end = strrchr(path, '/')) { /* of / everybody may list the names */
		*end = '\0';
		if (stat(path, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

/* What a link leads to is a program; what lies around it is its own where that is how programs are laid out, or where root
 * put it for everybody. In a home it may be anything. */
static enum shown around(const struct derive *d, const char *dir, const struct stat *st)
{
	const char *base = strrchr(dir, '/') + 1;

	if (has_part(dir, private_names))
		return SHOWN_PRIVATE;
	if (has_part(base, bin_names) || has_part(dir, package_names))
		return SHOWN_ALL;
	if (d->ask->home && is_below(d->ask->home, dir))
		return SHOWN_ALL; /* home or around it, which is never shown */
	if ((st->st_mode & 077) == 0)
		return SHOWN_PRIVATE;
	if (st->st_uid == 0 && !(d->ask->home && is_below(dir, d->ask->home)) && is_everybodys(dir))
		return SHOWN_ALL;
	return SHOWN_FILE;
}

/* A link in a tool directory brings what it leads to, and what lies around that where it belongs to it. */
static void follow_link(const struct derive *d, const char *dir, struct str name)
{
	const char *path = str_printf(d->mem, "%s/" STR_FMT, dir, STR_ARG(name)).p;
	autofree char *real = realpath(path, NULL);
	struct stat file, st;
	enum shown how;

	if (!real || stat(real, &file) < 0 || !S_ISREG(file.st_mode) || in_system(real) || is_shown(d, real))
		return;
	char *slash = strrchr(real, '/');

	*slash = '\0';
	if (real[0] == '\0' || stat(real, &st) < 0)
		how = SHOWN_NOT;
	else
		how = around(d, real, &st);
	if (how == SHOWN_FILE) {
		*slash = '/';
		how = file.st_mode & 0111 ? SHOWN_ALL : SHOWN_NOT;
	}
	if (how == SHOWN_PRIVATE && d->out->withheld.n < POLICY_PATHS_MAX)
		policy_list_add(&d->out->withheld, d->mem, path);
	if ((how != SHOWN_ALL || !show(d, real)) && d->out->unreachable.n < POLICY_PATHS_MAX)
		policy_list_add(&d->out->unreachable, d->mem, path);
}

static int follow_links(const struct derive *d, const char *dir, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	autoclose int fd = -1;
	struct dir_entry *entries;
	size_t n;

	if (dir_open(AT_FDCWD, dir, &fd, ERR_DISCARD) < 0)
		return 0; /* not readable: nothing to follow */
	TRY(dir_list(fd, tmp, ENTRIES_MAX, &entries, &n, err));
	for (size_t i = 0; i < n; i++)
		if (entries[i].type == DT_LNK)
			follow_link(d, dir, entries[i].name);
	return 0;
}

static const char *lookup(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env && env[i]; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i];
	return NULL;
}

static const char *env_dir(const struct derive *d, const char *name)
{
	const char *kv = lookup(d->ask->env, name);
	const char *value = kv ? strchr(kv, '=') + 1 : "";

	return value[0] == '/' ? value : NULL;
}

static const char *place(const struct derive *d, const char *p)
{
	const char *data = p[0] == '+' ? env_dir(d, "XDG_DATA_HOME") : NULL;

	if (data)
		return str_printf(d->mem, "%s%s", data, p + 1).p;
	if (p[0] != '~' && p[0] != '+')
		return p;
	return d->ask->home ? str_printf(d->mem, "%s%s%s", d->ask->home, p[0] == '+' ? "/.local/share" : "", p + 1).p : NULL;
}

static void add_to_path(struct derive *d, const char *dir)
{
	if (!strchr(dir, ':'))
		policy_list_add(&d->path, d->mem, dir);
}

static bool is_writable(const struct derive *d, const char *dir)
{
	autofree char *real = realpath(dir, NULL);

	for (size_t i = 0; real && i < d->ask->writable.n; i++)
		if (is_below(real, d->ask->writable.p[i]))
			return true;
	return !real;
}

/* Which of two pythons or nodes a person means is what their own PATH says. */
static const char *order_path(const struct derive *d)
{
	const char *kv = lookup(d->ask->env, "PATH"), *first = "", *rest = "";
	bool *taken = arena_array(d->mem, d->path.n + 1, sizeof(*taken));

	memset(taken, 0, (d->path.n + 1) * sizeof(*taken));
	for (struct str own = str_from(kv ? kv + 5 : ""); own.n > 0;) {
		struct str one = str_cut(&own, ':');

		if (str_eqz(one, "/usr/bin") || str_eqz(one, "/bin"))
			break;
		for (size_t i = 0; i < d->path.n; i++)
			if (!taken[i] && str_eqz(one, d->path.p[i]) && !is_writable(d, d->path.p[i]) &&
				(!d->ask->another_user || is_everybodys(d->path.p[i]))) {
				taken[i] = true;
				first = str_printf(d->mem, "%s%s:", first, d->path.p[i]).p;
			}
	}
	for (size_t i = 0; i < d->path.n; i++)
		if (!taken[i])
			rest = str_printf(d->mem, "%s:%s", rest, d->path.p[i]).p;
	return str_printf(d->mem, "%s" SYSTEM_PATH "%s", first, rest).p;
}

static bool on_path(const struct derive *d, const char *dir)
{
	const char *kv = lookup(d->ask->env, "PATH");

	for (struct str rest = str_from(kv ? kv + 5 : ""); rest.n > 0;) {
		struct str one = str_cut(&rest, ':');

		if (path_is_within(str_dup(d->mem, one).p, dir))
			return true;
	}
	return false;
}

/* The version that '*' stands for; NULL: there is none. */
static const char *choose_version(const struct derive *d, const char *dir, const char *rest)
{
	autoclose int fd = -1;
	struct dir_entry *entries;
	const char *best = NULL, *best_name = "";
	size_t n;

	if (dir_open(AT_FDCWD, dir, &fd, ERR_DISCARD) < 0 || dir_list(fd, d->mem, ENTRIES_MAX, &entries, &n, ERR_DISCARD) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *name = entries[i].name.p;
		const char *path = str_printf(d->mem, "%s/%s%s", dir, name, rest).p;

		if (name[0] == '.' || !is_dir(path))
			continue;
		if (on_path(d, path))
			return path;
		if (strverscmp(name, best_name) > 0) {
			best = path;
			best_name = name;
		}
	}
	return best;
}

static const char *root_of(const struct derive *d, const struct layout *l)
{
	const char *own = l->env ? env_dir(d, l->env) : NULL, *dir = own ? own : place(d, l->root);
	const char *star = dir ? strstr(dir, "/*") : NULL;

	if (!star)
		return dir;
	return choose_version(d, str_printf(d->mem, "%.*s", (int)(star - dir), dir).p, star + 2);
}

static void show_roots(const struct derive *d)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		const char *dir = root_of(d, &layouts[i]);
		autofree char *real = dir && is_dir(dir) ? realpath(dir, NULL) : NULL;

		if (real)
			(void)show(d, real);
	}
}

static int add_layout(struct derive *d, const struct layout *l, struct err *err)
{
	const char *dir = root_of(d, l);
	autofree char *real = dir ? realpath(dir, NULL) : NULL;

	if (!real || !is_dir(real) || !show(d, real))
		return 0;
	if (l->env)
		policy_list_add(&d->out->env, d->mem, str_printf(d->mem, "%s=%s", l->env, real).p);
	for (size_t i = 0; i < COUNT(l->bins) && l->bins[i]; i++) {
		const char *bin = str_printf(d->mem, "%s/%s", real, l->bins[i]).p;

		if (!is_dir(bin))
			continue;
		add_to_path(d, bin);
		TRY(follow_links(d, bin, err));
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int toolpath_derive(const struct toolpath_ask *ask, struct arena *mem, struct toolpath *out, struct err *err)
{
	struct toolpath t = { 0 };
	struct derive d = { ask, mem, &t, { 0 } };

	show_roots(&d); /* so that no link into one of them is judged by what lies around it there */
	for (size_t i = 0; i < COUNT(places); i++) {
		const char *dir = place(&d, places[i]);
		autofree char *real = dir && is_dir(dir) ? realpath(dir, NULL) : NULL;

		if (!real || !show(&d, real))
			continue;
		add_to_path(&d, dir);
		if (strcmp(dir, real) != 0) /* reached by its own name only if that is shown too */
			add_to_path(&d, real);
		if (follow_links(&d, real, err) < 0)
			return err_wrap(err, "%s", dir);
	}
	for (size_t i = 0; i < COUNT(layouts); i++)
		if (add_layout(&d, &layouts[i], err) < 0)
			return err_wrap(err, "%s", layouts[i].root);
	t.path = order_path(&d);
	if (t.mounts.n > 0)
		qsort(t.mounts.p, t.mounts.n, sizeof(*t.mounts.p), by_text);
	*out = t;
	return 0;
}

void cell_env(const struct toolpath *tools, const char *const *host_env, const char *workspace, struct arena *mem,
	struct policy_list *out)
{
	static const char *const fixed[] = { ("HOME=" ZYGOTE_HOME), "PYTHONDONTWRITEBYTECODE=1", "UV_NO_SYNC=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory" };
	struct policy_list env = { 0 };

	policy_list_add(&env, mem, str_printf(mem, "PATH=%s", tools->path).p);
	for (size_t i = 0; i < COUNT(fixed); i++)
		policy_list_add(&env, mem, fixed[i]);
	policy_list_add(&env, mem, str_printf(mem, "GIT_CONFIG_VALUE_0=%s", workspace).p);
	for (size_t i = 0; i < tools->env.n; i++)
		policy_list_add(&env, mem, tools->env.p[i]);
	for (size_t i = 0; i < COUNT(passed); i++) {
		const char *kv = lookup(host_env, passed[i]);

		if (kv)
			policy_list_add(&env, mem, kv);
	}
	*out = env;
}
