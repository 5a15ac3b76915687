/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* skill: a directory of instructions that the operator installed, as the agent is given it.
 *
 * Shape    The trusted side reads the files without looking into them (app/skills.h) and packs them; the agent
 *          unpacks the bundle and parses each SKILL.md. The agent has no path to a skill's directory: what is not
 *          in the bundle cannot be read, whatever it is called.
 * Memory   Unpacked strings are views into the bytes, which must stay; parsed text lives in the arena.
 * Errors   -ERR_PROTOCOL for bytes that are no bundle. A SKILL.md that cannot be used costs that skill: `fault`
 *          says why, and skills_find does not find it.
 * Source   The front matter is the part of YAML that such files use: plain, quoted and block scalars at the
 *          top level; everything else is skipped. docs/skills.md.
 */
#ifndef MEMORY_SKILL_H
#define MEMORY_SKILL_H

#include "base/arena.h"
#include "base/buf.h"

#define SKILLS_MAX        64
#define SKILL_NAME_MAX    64
#define SKILL_FILES_MAX   100
#define SKILL_FILE_MAX    ((size_t)256 * 1024)      /* larger ones are named, not carried */
#define SKILL_BUNDLE_MAX  ((size_t)2 * 1024 * 1024) /* of all skills together */

struct skill_file {
	struct str path;  /* relative to the skill's directory */
	struct str bytes;
	bool left_out;    /* too large to be carried */
};

struct skill {
	struct str name; /* of its directory */
	bool always;     /* its text is in every prompt */
	struct skill_file *files;
	size_t nfiles;
	/* By skills_unpack, from SKILL.md. */
	struct str description, body;
	bool hidden;      /* disable-model-invocation: the operator alone may start it */
	const char *fault; /* why it cannot be used; NULL: it can */
};

struct skills {
	struct skill *p;
	size_t n;
};

struct skill_text {
	struct str name, description, body; /* name is empty when the file gives none */
	bool hidden;
};

/* The text of a SKILL.md. -ERR_INVALID says what is wrong with it. */
int skill_parse(struct str text, struct arena *mem, struct skill_text *out, struct err *err) CHECKED;
bool skill_name_ok(struct str name); /* letters, digits, '-', '_'; at most SKILL_NAME_MAX */

int skills_pack(const struct skills *s, struct buf *out, struct err *err) CHECKED;
int skills_unpack(struct str bytes, struct arena *mem, struct skills *out, struct err *err) CHECKED;
const struct skill *skills_find(const struct skills *s, struct str name);          /* NULL: none that can be used */
const struct skill_file *skill_file(const struct skill *s, struct str path);
bool skills_any(const struct skills *s); /* is there one that the model may use? */

#endif
