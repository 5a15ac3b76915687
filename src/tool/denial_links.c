/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Where the links lead that stand in what commands are shown. Of a link that leads out of it a program says what it says of a name
 * that is not there, and it is not the name that would have to be granted. */
#include "tool/denial_priv.h"

#include "sandbox/root.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOPS_MAX 40 /* as the kernel's */

/* Where a program is looked for that is named without a place. */
static const char *const program_dirs[] = { "/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin" };

enum denial_look denial_disk(struct str path, struct arena *mem, struct str *target)
{
	char to[PATH_MAX];
	const char *name = str_dupz(mem, path);
	struct stat st;
	ssize_t n = readlink(name, to, sizeof(to));

	if (n > 0 && (size_t)n < sizeof(to)) {
		*target = str_dup(mem, str_of(to, (size_t)n));
		return DENIAL_LOOK_LINK;
	}
	if (lstat(name, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? DENIAL_LOOK_NONE : DENIAL_LOOK_UNKNOWN;
	return S_ISDIR(st.st_mode) ? DENIAL_LOOK_DIR : DENIAL_LOOK_OTHER;
}

/* Of everything else who looks may have another one before it than the commands do. */
static bool is_shown(const struct denial_jail *jail, struct str path, struct arena *mem)
{
	const char *name = str_dupz(mem, path);

	return denial_root_of(jail, path) || root_shows_etc(name) || (root_is_system(name) && !str_starts(path, STR("/etc")));
}

/* The first link on the way of a plain path; rest is what follows it, with its "/". False: there is none. */
static bool next_link(const struct denial_jail *jail, struct str path, struct arena *mem, struct str *name, struct str *target,
	struct str *rest)
{
	for (size_t n = 1; n < path.n;) {
		n += str_find(str_skip(path, n), STR("/"));
		struct str at = str_head(path, n);
		enum denial_look is = is_shown(jail, at, mem) ? jail->look(at, mem, target) : DENIAL_LOOK_DIR;

		if (is == DENIAL_LOOK_LINK) {
			*name = at;
			*rest = str_skip(path, n);
			return true;
		}
		if (is != DENIAL_LOOK_DIR)
			return false;
		n++;
	}
	return false;
}

/* A path without its last name; of "/x" it is empty. */
static struct str above(struct str path)
{
	return str_head(path, str_rfind(path, '/'));
}

/* Too much to be named as what could be granted: a directory of the top, a home, and what holds something that was granted. */
static bool is_wide(const struct denial_jail *jail, struct str dir)
{
	struct str up = above(dir);

	if (up.n == 0 || str_eqz(up, "/home") || str_eqz(dir, "/"))
		return true;
	for (size_t i = 0; i < jail->nroots; i++)
		if (str_starts(jail->roots[i].path, dir))
			return true;
	return false;
}

bool denial_follow(const struct denial_jail *jail, struct str path, struct arena *mem, struct denial_way *out)
{
	struct denial_way w = { .path = path };
	struct str name, target, rest, behind = STR("");
	size_t hops = 0;

	while (jail->look && hops <= HOPS_MAX && next_link(jail, w.path, mem, &name, &target, &rest)) {
		if (hops++ == 0 || rest.n < behind.n) { /* of links that lead to one another the first one was named */
			w.link = name;
			behind = rest;
		}
		target = denial_plain(mem, above(name), target);
		w.path = denial_plain(mem, STR("/"), str_printf(mem, STR_FMT STR_FMT, STR_ARG(target), STR_ARG(rest)));
	}
	if (hops == 0 || hops > HOPS_MAX || !str_ends(w.path, behind))
		return false;
	w.to = str_head(w.path, w.path.n - behind.n);
	if (w.to.n == 0)
		return false;
	w.is = jail->look(w.to, mem, &target);
	bool whole = behind.n > 0 || w.is == DENIAL_LOOK_DIR || is_wide(jail, above(w.to));

	w.grant = whole ? w.to : above(w.to);
	*out = w;
	return true;
}

bool denial_program(const struct denial_jail *jail, struct str word, struct arena *mem, size_t nth, struct str *out)
{
	if (nth >= COUNT(program_dirs) || memchr(word.p, '/', word.n))
		return false;
	*out = str_printf(mem, "%s/" STR_FMT, program_dirs[nth], STR_ARG(word));
	return jail->look != NULL;
}
