/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* denial_priv: what judging a denial and the words it judges by share. */
#ifndef TOOL_DENIAL_PRIV_H
#define TOOL_DENIAL_PRIV_H

#include "tool/denial.h"

#define DENIAL_LINES    12 /* the last ones that are not blank */
#define DENIAL_NEAR_END 3  /* for words that mean something else as often */

/* Of a line that names a path the path decides; of any other the rule is known by it alone. */
enum denial_cause {
	CAUSE_WRITE = DENIAL_RULES, /* refused, as only writing is */
	CAUSE_OPEN,                 /* refused, reading or writing */
	CAUSE_GONE,                 /* not there: outside the grants nothing is */
	CAUSE_PROGRAM,              /* the same, of a program, which may be named without its place */
	CAUSE_BUSY,                 /* can be neither renamed nor removed, as what is mounted */
	CAUSE_FULL,                 /* no room is left there */
	CAUSE_GIT,                  /* git's, which names no path: it could not write in a .git */
	CAUSE_REFUSED,              /* nobody listens at the address that the line names, or none names */
};

/* Every word stands in the line, in any case; one that begins with "^" begins it. The first row that fits a line counts; one of
 * DENIAL_NONE says that the line is about something else. */
struct denial_row {
	unsigned cause; /* a rule, or what it has to do with a path */
	const char *words[2];
	size_t within; /* of the last lines */
};
extern const struct denial_row denial_rows[];
extern const size_t denial_nrows;

/* How a command ended that wrote nothing. */
struct denial_silence {
	const char *program, *word; /* a word of its own; NULL: any */
	int code;
	unsigned cause;
};
extern const struct denial_silence denial_silences[];
extern const size_t denial_nsilences;

/* Lines that only end what the line before them says: a stack, the last words of a build tool. */
extern const char *const denial_trailers[]; /* their beginnings; the last is NULL */

/* ---- denial.c ---- */

/* Without "." and ".."; relative ones begin at cwd. */
struct str denial_plain(struct arena *mem, struct str cwd, struct str path);
const struct tool_root *denial_root_of(const struct denial_jail *jail, struct str path);

/* ---- denial_links.c ---- */

struct denial_way {
	struct str path;     /* with every link that could be looked at followed */
	struct str link, to; /* the last link of the way, and what it leads to */
	struct str grant;    /* the directory that would have to be granted, or the place itself */
	enum denial_look is; /* what `to` is, for who looks */
};

/* False: no link stands on the way of the plain path in what is shown. */
bool denial_follow(const struct denial_jail *jail, struct str path, struct arena *mem, struct denial_way *out);
/* The nth place where a program of that name may be; false: no more. */
bool denial_program(const struct denial_jail *jail, struct str word, struct arena *mem, size_t nth, struct str *out);

/* ---- denial_commands.c ---- */

/* Whether a line of denial_commands runs this program; args is what follows it. */
bool denial_runs(struct str line, const char *program, struct str *args);
bool denial_has_word(struct str args, const char *word);
bool denial_names_git(struct str commands); /* one of them runs git, or names a .git */

#endif
