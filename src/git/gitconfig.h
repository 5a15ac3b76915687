/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitconfig: the settings in the bytes of one of git's configuration files, as git reads them; included files are not.
 *
 * Shape    gitconfig_next once per setting, in their order, until it gives something else than 1.
 * Memory   Section, subsection, key and value are of the reader, and die with the next call.
 * Errors   -1: not such a file from here on, or a byte in it that no text has: git itself would fail, or must be asked.
 * Source   git-config(1), "CONFIGURATION FILE": parse_value and its neighbours in git's config.c.
 */
#ifndef GIT_GITCONFIG_H
#define GIT_GITCONFIG_H

#include "base/buf.h"

struct gitconfig {
	struct str rest;
	bool in_section, has_sub; /* [a ""] has one, which is empty, and is another section than [a] */
	struct buf section, sub, key, value;
};

struct gitconfig gitconfig_from(struct str bytes);
void gitconfig_fini(struct gitconfig *c);
#define auto_gitconfig CLEANUP(gitconfig_fini)
/* 1: section, sub, key and value are of one setting; section and key in small letters; a key without '=' has an empty value.
 * 0: the end. */
int gitconfig_next(struct gitconfig *c);
bool gitconfig_is(const struct gitconfig *c, const char *section, const char *key); /* without a subsection */

#endif
