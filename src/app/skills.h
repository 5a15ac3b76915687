/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* skills: the skills an operator has on disk: collected for a run, installed, removed.
 *
 * Shape    <data>/skills/NAME/ first, then skills.extra_dirs; the first of a name wins. Nothing in a repository is
 *          looked at: what comes with a checkout is no instruction of the operator's.
 * Memory   In the arena.
 * Errors   A directory that is not there holds no skills. -ERR_EXIST for a name that is taken.
 * Source   docs/skills.md.
 *
 * A skill is somebody else's text. This code moves its bytes and never looks into them; links in it are not
 * followed, and nothing of it is executed.
 */
#ifndef APP_SKILLS_H
#define APP_SKILLS_H

#include "config/config.h"
#include "config/paths.h"
#include "memory/skill.h"

struct skills_found {
	struct skills skills;   /* without what skill_parse adds */
	const char **dirs;      /* of each, absolute */
	bool *disabled;
	struct str_list notes;  /* what was left out, and why */
};

/* With the disabled ones when `all`. c may be NULL: the managed directory alone. */
int skills_collect(const struct paths *paths, const struct config *c, bool all, struct arena *mem, struct skills_found *out,
	struct err *err) CHECKED;
const char *skills_dir(const struct paths *paths, struct arena *mem); /* the managed directory */

/* A directory with a SKILL.md in it, and the name it gets. */
struct skill_source {
	struct str name;
	int dirfd; /* borrowed */
};
/* Copies them to the managed directory, all or none when a name is taken. replace: over those that are there. */
int skills_install(const struct paths *paths, const struct skill_source *from, size_t n, struct str origin, bool replace,
	struct arena *mem, struct err *err) CHECKED;
/* Where one was fetched from, kept beside the skills: skills_install of `origin` writes it, empty when nobody knows. */
int skills_origin(const struct paths *paths, struct str name, struct arena *mem, struct str *out, struct err *err) CHECKED;
/* Whether the managed skill of that name has exactly these files. */
bool skills_same(const struct paths *paths, const struct skill_source *with, struct arena *mem);
int skills_remove(const struct paths *paths, struct str name, struct arena *mem, struct err *err) CHECKED;

#endif
