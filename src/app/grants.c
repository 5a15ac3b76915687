/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What the operator grants may lie around what we trust, and is then shown without it: keys, configuration and the records
 * of runs are in no cell, whatever was granted. */
#include "app/start_priv.h"
#include "sandbox/root.h"
#include "sys/file.h"
#include "sys/mounts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *settings_resolve(const char *path, struct arena *mem)
{
	char *head = str_dupz(mem, str_from(path));
	const char *tail = "";
	char real[PATH_MAX];

	while (!realpath(head, real)) {
		char *slash = strrchr(head, '/');

		if (!slash || slash == head)
			return path;
		*slash = '\0';
		tail = path + (slash - head);
	}
	return str_printf(mem, "%s%s", strcmp(real, "/") == 0 ? "" : real, tail).p;
}

struct trusted {
	const char *path; /* links followed */
	struct mount_names names; /* and wherever else it is mounted */
	const char *what;
	bool server, hidden;
};

struct granted {
	const char *key, *path;
	bool writable;
};

static int lies_in(const struct granted *g, const struct trusted *t, const char *name, struct err *err)
{
	bool other = strcmp(name, t->path) != 0;
	int r = err_set(err, ERR_DENIED, "%s: %s lies in the %s %s%s%s, which no command may see", g->key, g->path, t->what, t->path,
		other ? ", mounted at " : "", other ? name : "");

	err_hint(err, "copy what is needed to another place, and grant that");
	return r;
}

static int holds(const struct start *s, const struct granted *g, const struct trusted *t, struct err *err)
{
	int r;

	if (s->profile != PROFILE_HARDENED)
		return 0;
	r = err_set(err, ERR_UNSUPPORTED, "%s: %s holds the %s %s, and profile \"hardened\" cannot hide it", g->key, g->path, t->what,
		t->path);
	err_hint(err, "grant the directories in it that are needed");
	return r;
}

/* In the cell by every name, of which it knows itself (src/sandbox/pin.c). */
static void hide(struct start *s, struct trusted *t, struct policy_list *cell)
{
	struct str_list *tools = &s->params.hide_paths;
	struct str *more = arena_array(s->mem, tools->n + t->names.n, sizeof(*more));

	if (t->hidden)
		return;
	t->hidden = true;
	policy_list_add(cell, s->mem, t->path);
	if (t->server) /* the agent's tools do not see what a server was granted */
		return;
	if (tools->n > 0)
		memcpy(more, tools->p, tools->n * sizeof(*more));
	for (size_t i = 0; i < t->names.n; i++)
		more[tools->n++] = str_from(t->names.p[i]);
	tools->p = more;
}

static int check(struct start *s, const struct granted *g, struct trusted *t, struct policy_list *cell, struct err *err)
{
	const char *real = settings_resolve(g->path, s->mem);
	bool around = false;

	for (size_t i = 0; i < t->names.n; i++) {
		if (path_is_within(real, t->names.p[i]))
			return lies_in(g, t, t->names.p[i], err);
		around |= path_is_within(t->names.p[i], real);
	}
	if (!around)
		return 0;
	TRY(holds(s, g, t, err));
	/* One that is not there is made later, by us with the run's record in it, or by a command, to be believed by the next
	 * run; and a mount can only cover what is there. */
	TRY(dir_make(t->path, 0700, err));
	hide(s, t, cell);
	return 0;
}

/* Landlock grants what lies in a directory with it. */
static int stays_readonly(const struct granted *g, const struct mount_names *names, const char *region, const char *is, struct err *err)
{
	for (size_t i = 0; i < names->n; i++) {
		bool other = i > 0;

		if (!path_is_within(names->p[i], region))
			continue;
		err_set(err, ERR_UNSUPPORTED, "%s: profile \"hardened\" cannot keep %s%s%s read-only: it lies in %s, which %s, and Landlock grants a "
			"directory whole", g->key, g->path, other ? ", mounted at " : "", other ? names->p[i] : "", region, is);
		err_hint(err, "take it out of %s, since it can be read there anyway, or move it out of what may be written", g->key);
		return -ERR_UNSUPPORTED;
	}
	return 0;
}

static int check_readonly(const struct start *s, const struct mounts *mounts, const struct granted *g, const char *write_key,
	const struct str_list *writes, bool server, struct err *err)
{
	struct mount_names names;

	if (s->profile != PROFILE_HARDENED || g->writable || (!server && !s->mode->writes))
		return 0; /* a session that only looks writes nowhere; its servers do */
	names = mounts_names(mounts, settings_resolve(g->path, s->mem), s->mem);
	if (!server)
		TRY(stays_readonly(g, &names, settings_resolve(s->workspace, s->mem), "is the workspace", err));
	for (size_t i = 0; i < writes->n; i++)
		TRY(stays_readonly(g, &names, settings_resolve(str_dupz(s->mem, writes->p[i]), s->mem),
			str_printf(s->mem, "%s makes writable", write_key).p, err));
	return 0;
}

/* The file that --config names is believed as well. */
static int check_file(const struct start *s, const struct mounts *mounts, const struct granted *g, struct err *err)
{
	struct mount_names names;
	int r;

	if (s->rq->config.n == 0 || !g->writable)
		return 0;
	names = mounts_names(mounts, settings_resolve(str_dupz(s->mem, s->rq->config), s->mem), s->mem);
	for (size_t i = 0; i < names.n; i++)
		if (path_is_within(names.p[i], settings_resolve(g->path, s->mem))) {
			r = err_set(err, ERR_DENIED, "%s: %s holds %s, which --config names: the model could change it", g->key, g->path,
				names.p[i]);
			err_hint(err, "move that file to a place that nothing grants for writing, or grant something smaller");
			return r;
		}
	return 0;
}

static struct trusted trust(const struct start *s, const struct mounts *mounts, const char *dir, const char *what, bool server)
{
	struct trusted t = { .path = settings_resolve(dir, s->mem), .what = what, .server = server };

	t.names = mounts_names(mounts, t.path, s->mem);
	return t;
}

/* ---- what no grant shows ---- */

static bool is_shown(const char *path)
{
	for (size_t i = 0; root_system_paths[i]; i++)
		if (path_is_within(path, root_system_paths[i]))
			return true;
	return root_shows_etc(path);
}

static int cannot_hide(const char *path, const char *name, const struct grants_own *own, struct err *err)
{
	bool other = strcmp(name, path) != 0;
	int r = err_set(err, ERR_UNSUPPORTED, "the %s %s%s%s lies where every command sees it, and %s", own->what, path,
		other ? " is mounted at " : "", other ? name : "",
		root_shows_etc(name) ? "nothing in /etc can be hidden" : "profile \"hardened\" cannot hide it");

	if (other)
		err_hint(err, "unmount it there: umount %s, or what holds it", name);
	else
		err_hint(err, "move it with %s", own->variable);
	return r;
}

int grants_shown(const struct grants_ask *ask, struct arena *mem, struct policy_list *out, struct err *err)
{
	const struct grants_own all[] = { { ask->paths->config, "configuration directory", "AGENT6_CONFIG_HOME" },
		{ ask->paths->state, "state directory", "AGENT6_STATE_HOME" }, { ask->paths->data, "data directory", "AGENT6_DATA_HOME" } };

	for (size_t t = 0; t < COUNT(all) && ask->profile != PROFILE_NONE; t++) {
		const char *path = settings_resolve(all[t].dir, mem);
		const struct mount_names names = mounts_names(ask->mounts, path, mem);
		bool shown = false;

		for (size_t i = 0; i < names.n; i++) {
			if (!is_shown(names.p[i]))
				continue;
			if (ask->profile == PROFILE_HARDENED || root_shows_etc(names.p[i]))
				return cannot_hide(path, names.p[i], &all[t], err);
			shown = true;
		}
		if (!shown)
			continue;
		TRY(dir_make(path, 0700, err)); /* as in a grant: what is not there cannot be covered */
		policy_list_add(out, mem, path); /* by every name, of which the cell knows itself */
	}
	return 0;
}

/* ---- what the configuration grants ---- */

static int check_lists(struct start *s, const char *key, const struct str_list *reads, const struct str_list *writes, bool server,
	struct policy_list *cell, struct err *err)
{
	const struct {
		const char *key;
		const struct str_list *list;
		bool writable;
	} lists[] = { { str_printf(s->mem, "%s.extra_read_paths", key).p, reads, false },
		{ str_printf(s->mem, "%s.extra_write_paths", key).p, writes, true } };
	struct mounts mounts;

	if (reads->n + writes->n == 0)
		return 0;
	TRY(mounts_load(s->mem, &mounts, err));
	struct trusted all[] = { trust(s, &mounts, s->config_dir, "configuration directory", server),
		trust(s, &mounts, s->state_dir, "state directory", server), trust(s, &mounts, s->paths.data, "data directory", server) };
	for (size_t i = 0; i < COUNT(lists); i++)
		for (size_t k = 0; k < lists[i].list->n; k++) {
			const struct granted g = { lists[i].key, str_dupz(s->mem, lists[i].list->p[k]), lists[i].writable };

			for (size_t t = 0; t < COUNT(all); t++)
				TRY(check(s, &g, &all[t], cell, err));
			TRY(check_file(s, &mounts, &g, err));
			TRY(check_readonly(s, &mounts, &g, lists[1].key, writes, server, err));
		}
	return 0;
}

int settings_grants(struct start *s, struct policy_list *cell, struct err *err)
{
	const struct config_sandbox *c = &s->config->sandbox;

	return check_lists(s, "sandbox", &c->extra_read_paths, &c->extra_write_paths, false, cell, err);
}

int settings_server_grants(struct start *s, const char *key, const struct config_mcp *m, struct policy_list *cell, struct err *err)
{
	return check_lists(s, key, &m->extra_read_paths, &m->extra_write_paths, true, cell, err);
}
