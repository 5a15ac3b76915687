/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/launch.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PATH "/usr/bin:/bin"

static struct str search_path(const char *const *env)
{
	for (size_t i = 0; env && env[i]; i++)
		if (strncmp(env[i], "PATH=", 5) == 0)
			return str_from(env[i] + 5);
	return STR(DEFAULT_PATH);
}

size_t launch_tries_room(const struct jail_spec *spec)
{
	return (strlen(spec->argv[0]) + 2) * LAUNCH_TRY_MAX + search_path(spec->env).n;
}

int launch_tries(const struct jail_spec *spec, const char **tries, char *room, size_t room_n, struct err *err)
{
	const char *name = spec->argv[0];
	struct str path = search_path(spec->env);
	size_t n = 0;

	tries[1] = NULL;
	if (strchr(name, '/')) {
		tries[0] = name;
		return 0;
	}
	while (path.n > 0 && n < LAUNCH_TRY_MAX) {
		struct str dir = str_cut(&path, ':');
		int w;

		if (dir.n == 0 || dir.p[0] != '/') /* "here" is not a place to look for programs */
			continue;
		w = snprintf(room, room_n, STR_FMT "/%s", STR_ARG(dir), name);
		if (w < 0 || (size_t)w >= room_n)
			return err_set(err, ERR_LIMIT, "search PATH for %.64s: it is too long", name);
		tries[n++] = room;
		room += w + 1;
		room_n -= (size_t)w + 1;
	}
	tries[n] = NULL;
	return 0;
}

/* ---- an order ---- */

struct room {
	char *at;
	size_t left;
	bool full;
};

static void *take_room(struct room *r, size_t n, size_t align)
{
	size_t skip = -(uintptr_t)r->at & (align - 1);
	char *got = r->at + skip;

	if (r->full || r->left < skip || r->left - skip < n) {
		r->full = true;
		return NULL;
	}
	r->at = got + n;
	r->left -= skip + n;
	return got;
}

static const char *put(struct room *r, const char *z)
{
	size_t n = strlen(z) + 1;
	char *to = take_room(r, n, 1);

	return to ? memcpy(to, z, n) : NULL;
}

static const char *const *put_list(struct room *r, const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	const char **out = take_room(r, (n + 1) * sizeof(*out), _Alignof(char *));

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		out[i] = put(r, list[i]);
	out[n] = NULL;
	return out;
}

static size_t list_fds(const struct jail_spec *s, int *fds)
{
	const int single[] = { s->in_fd, s->out_fd, s->err_fd, s->exe_fd > 0 ? s->exe_fd : -1 };
	size_t n = 0;

	BUG_IF(s->nfds > JAIL_FDS_MAX);
	for (size_t i = 0; i < COUNT(single); i++)
		if (single[i] >= 0)
			fds[n++] = single[i];
	for (size_t i = 0; i < s->nfds; i++)
		fds[n++] = s->fds[i];
	return n;
}

int launch_order_write(struct launch_order *o, const struct jail_spec *spec, int *fds, size_t *nfds, struct err *err)
{
	struct room r = { o->room, sizeof(o->room), false };

	o->spec = *spec;
	o->spec.fds = NULL; /* their numbers are ours */
	o->spec.argv = put_list(&r, spec->argv);
	o->spec.env = put_list(&r, spec->env);
	o->spec.cwd = put(&r, spec->cwd);
	size_t room_n = r.full ? 0 : launch_tries_room(&o->spec);
	char *room = take_room(&r, room_n, 1);

	if (r.full)
		return err_set(err, ERR_LIMIT, "a command and its environment are longer than %d bytes", LAUNCH_ORDER_ROOM);
	*nfds = list_fds(spec, fds);
	return launch_tries(&o->spec, o->tries, room, room_n, err);
}
