/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* skills_fetch: what an operator names as the source of skills, brought to this machine and opened.
 *
 * Shape    skills_fetch takes a directory, a checkout with skills in it or below skills/, a SKILL.md, the https address of
 *          a SKILL.md, or of a git repository. skills_fetched_fini closes and removes what was fetched.
 * Memory   Names live in the arena.
 * Errors   -ERR_NOENT when there is no skill in it; -ERR_REMOTE when it cannot be fetched.
 *
 * A single file comes through the broker and the client like a model's answer, a repository by git in a jail whose
 * only writable place is an empty directory: nothing with the operator's rights reads what a server sends.
 */
#ifndef APP_SKILLS_FETCH_H
#define APP_SKILLS_FETCH_H

#include "app/skills.h"
#include "sandbox/probe.h"

struct skills_fetched {
	struct skill_source *p; /* owned descriptors */
	size_t n;
	struct str notice;   /* how the jail of a clone is weaker than it could be; empty: it is not */
	const char *scratch; /* directory to remove, or NULL */
	struct str origin;   /* how to fetch it again: the address, or the path from the root */
};

struct skills_how {
	enum probe_wish wish; /* the configured profile, for the jail of a clone */
	struct str ca_file;   /* absolute path of PEM certificates; empty: the system's */
};

int skills_fetch(struct str source, const struct skills_how *how, struct arena *mem, struct skills_fetched *out, struct err *err) CHECKED;
void skills_fetched_fini(struct skills_fetched *f);
#define auto_skills_fetched CLEANUP(skills_fetched_fini)

#endif
