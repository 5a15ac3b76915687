/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apart.h"

#include "app/start_priv.h"
#include "role/spawner.h"
#include "sys/file.h"
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOPS_MAX   40 /* as the kernel's */
#define PATH_BYTES ((size_t)64 * 1024)

/* ---- where ---- */

static void add_names(struct str_list *to, struct arena *mem, struct mount_names names)
{
	struct str *all = arena_array(mem, to->n + names.n, sizeof(*all));

	for (size_t i = 0; i < to->n; i++)
		all[i] = to->p[i];
	for (size_t i = 0; i < names.n; i++)
		all[to->n++] = str_from(names.p[i]);
	to->p = all;
}

static void add(struct str_list *to, const struct mounts *mounts, struct arena *mem, struct str_list paths)
{
	for (size_t i = 0; i < paths.n; i++)
		add_names(to, mem, mounts_names(mounts, settings_resolve(str_dupz(mem, paths.p[i]), mem), mem));
}

int apart_places(const struct config *c, const char *workspace, struct arena *mem, struct str_list *out, struct err *err)
{
	struct str_list all = { 0 };
	struct mounts mounts;

	TRY(mounts_load(mem, &mounts, err));
	add(&all, &mounts, mem, (struct str_list){ (struct str[]){ str_from(workspace) }, 1 });
	add(&all, &mounts, mem, c->sandbox.extra_write_paths);
	for (size_t i = 0; i < c->nmcp; i++)
		if (c->mcp[i]->enabled)
			add(&all, &mounts, mem, c->mcp[i]->extra_write_paths);
	*out = all;
	return 0;
}

/* ---- one path ---- */

struct hit {
	const char *name; /* the path or link that lies there; NULL: none */
	const char *place;
};

static bool lies_in(const struct str_list *places, const char *name, struct arena *mem, struct hit *out)
{
	for (size_t i = 0; i < places->n; i++) {
		const char *place = str_dupz(mem, places->p[i]);

		if (!path_is_within(name, place))
			continue;
		*out = (struct hit){ name, place };
		return true;
	}
	return false;
}

static int no_end(const char *path, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s leads through more than %d links", path, HOPS_MAX);
}

static const char *parent_of(const char *dir, struct arena *mem)
{
	const char *slash = strrchr(dir, '/');

	return slash ? str_dupz(mem, str_of(dir, (size_t)(slash - dir))) : "";
}

/* `at` is what was walked so far, without a link in it; "" is the root. Ends at the first name that lies in a
 * place. */
static int walk(
	const struct str_list *places, const char *path, struct arena *mem, struct hit *out, struct err *err)
{
	struct str rest = str_from(path);
	const char *at = "";
	int hops = 0;

	*out = (struct hit){ 0 };
	while (rest.n > 0) {
		struct str part = str_cut(&rest, '/');
		char target[PATH_MAX];
		const char *name;
		ssize_t n;

		if (part.n == 0 || str_eqz(part, "."))
			continue;
		if (str_eqz(part, "..")) {
			at = parent_of(at, mem);
			continue;
		}
		name = str_printf(mem, "%s/" STR_FMT, at, STR_ARG(part)).p;
		if (lies_in(places, name, mem, out))
			return 0;
		n = readlink(name, target, sizeof(target));
		if (n < 0) { /* no link, or not there */
			at = name;
			continue;
		}
		if (++hops > HOPS_MAX || (size_t)n == sizeof(target))
			return no_end(path, err);
		rest = str_printf(mem, STR_FMT "/" STR_FMT, (int)n, target, STR_ARG(rest));
		if (n > 0 && target[0] == '/')
			at = "";
	}
	return 0;
}

static int refuse(const char *key, const char *path, const struct hit *h, struct err *err)
{
	int r;

	if (path_is_within(path, h->name))
		r = err_set(
			err, ERR_DENIED, "%s: %s lies in %s, where the model may write", key, path, h->place);
	else
		r = err_set(err, ERR_DENIED,
			"%s: %s leads through %s, which lies in %s, where the model may write", key, path,
			h->name, h->place);
	err_hint(err, "keep it, and every link to it, outside of the repository and of what is granted for "
		      "writing");
	return r;
}

int apart_path(
	const struct str_list *places, const char *key, const char *path, struct arena *mem, struct err *err)
{
	struct hit h;

	if (walk(places, path, mem, &h, err) < 0)
		return err_wrap(err, "%s", key);
	return h.name ? refuse(key, path, &h, err) : 0;
}

/* ---- a program ---- */

static int own_path(const struct str_list *places, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf path = BUF_MAX(PATH_BYTES);
	const char *value = getenv("PATH");

	TRY(spawner_path(value ? value : "", places, &path, err));
	*out = str_dup(mem, buf_str(&path));
	return 0;
}

static bool is_program(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* As execvp looks, but a name that leads where the model writes is refused rather than passed by: it is the
 * model's to decide whether something is there. */
static int find(const struct str_list *places, const struct apart_program *as, struct str name,
	struct arena *mem, struct str *out, struct err *err)
{
	struct str rest = str_from(as->path);
	bool passed = false;
	int r;

	if (!as->path)
		TRY(own_path(places, mem, &rest, err));
	while (rest.n > 0) {
		const char *dir = str_dupz(mem, str_cut(&rest, ':'));
		const char *file = str_printf(mem, "%s/" STR_FMT, dir, STR_ARG(name)).p;
		struct hit h;

		if (dir[0] != '/')
			continue;
		TRY(walk(places, dir, mem, &h, err));
		if (h.name) {
			passed = true;
			continue;
		}
		TRY(apart_path(places, as->key, file, mem, err));
		if (!is_program(file))
			continue;
		*out = str_from(file);
		return 0;
	}
	if (!passed || !as->confined)
		return 0;
	r = err_set(err, ERR_DENIED,
		"%s: \"" STR_FMT "\" is in no directory of PATH that the model may not write", as->key,
		STR_ARG(name));
	err_hint(err, "name the program by its whole path, outside of the repository");
	return r;
}

static bool is_place(const struct str_list *places, const char *path, struct arena *mem)
{
	const char *real = settings_resolve(path, mem);

	for (size_t i = 0; i < places->n; i++)
		if (str_eqz(places->p[i], real))
			return true;
	return false;
}

int apart_argv(const struct str_list *places, const struct apart_program *as, const struct str_list *words,
	struct arena *mem, struct str_list *out, struct err *err)
{
	struct str_list done = { arena_array(mem, words->n + 1, sizeof(*done.p)), words->n };

	for (size_t i = 0; i < words->n; i++) {
		struct str w = words->p[i];
		bool bare = str_find(w, STR("/")) == w.n;
		const char *path = str_starts(w, STR("/")) ? str_dupz(mem, w)
							   : str_printf(mem, "/" STR_FMT, STR_ARG(w)).p;

		done.p[i] = w;
		if (bare && i == 0)
			TRY(find(places, as, w, mem, &done.p[i], err));
		else if (!bare && !(as->may_work_on && i > 0 && is_place(places, path, mem)))
			TRY(apart_path(places, as->key, path, mem, err));
	}
	*out = done;
	return 0;
}

int apart_git(const struct str_list *places, struct arena *mem, struct err *err)
{
	struct str word = STR("git");
	struct str_list words = { &word, 1 };

	return apart_argv(places, &(struct apart_program){ .key = "PATH" }, &words, mem, &words, err);
}

int apart_token(const struct str_list *places, struct endpoint *e, struct arena *mem, struct err *err)
{
	struct str_list words = { (struct str *)e->token_argv, e->ntoken_argv };
	struct apart_program as = {
		.key = str_printf(mem, "providers." STR_FMT ".token_command", STR_ARG(e->name)).p
	};

	TRY(apart_argv(places, &as, &words, mem, &words, err));
	e->token_argv = words.p;
	e->ntoken_argv = words.n;
	return 0;
}

int apart_ca(const struct str_list *places, const char *key, const struct endpoint *e, struct arena *mem, struct err *err)
{
	return e->ca_file.n > 0 ? apart_path(places, key, str_dupz(mem, e->ca_file), mem, err) : 0;
}
