/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* denial: whether it was the jail that made a command fail, and which key of the configuration would allow it.
 *
 * Shape    denial_explain after a command; where the asker may not read what the command wrote, another process does
 *          (role/reader.h), and denial_say makes the same sentence of what that found. It says something only when the command failed and the end of its error
 *          output names what the jail refuses: a path outside the grants, the network, a privileged call. What a
 *          failing test suite prints about paths inside the workspace says nothing. A command that writes no error output may
 *          have put it into its standard output (2>&1), of which the last three lines are looked at. Of one that wrote nothing at
 *          all the words it was started by tell, where they do (git stash, curl -s).
 *          Where links in what is shown may be looked at, one that leads out of it is named with where it leads, as the name that the
 *          command saw is not what would have to be granted.
 * Memory   The note lives in the arena.
 * Errors   None: no note is a result. It is a guess from words, for people and the model; nothing is decided by it.
 * Source   docs/tools.md, "Commands".
 */
#ifndef TOOL_DENIAL_H
#define TOOL_DENIAL_H

#include "tool/tool.h"

#define DENIAL_TAIL     4096 /* bytes of the error output, its end, that are looked at; of the other where there is none */
#define DENIAL_PATH_MAX 160

enum denial_look {
	DENIAL_LOOK_NONE, DENIAL_LOOK_UNKNOWN,                  /* nothing is there; it may not be looked at */
	DENIAL_LOOK_LINK, DENIAL_LOOK_DIR, DENIAL_LOOK_OTHER,
};
/* What a path is, itself; of a link what it holds. */
typedef enum denial_look denial_look_fn(struct str path, struct arena *mem, struct str *target);
denial_look_fn denial_disk; /* where this process stands */

/* What a command ran in. */
struct denial_jail {
	denial_look_fn *look;          /* NULL: links are not followed */
	bool looks_outside;            /* it sees the host's files, not only those that are shown */
	const struct tool_root *roots; /* what it was granted, the workspace first; of each the path and whether it is written */
	size_t nroots;
	struct str_list hide_paths;    /* absolute */
	struct str cwd;                /* absolute */
	bool online;                   /* with the host's network */
	bool git_open;                 /* nothing protects a .git: what fails in one there is an ordinary failure */
	bool no_namespaces;            /* no network and no /tmp of their own: of the host's they have one directory, which is TMPDIR */
	bool memory_each;              /* sandbox.memory_limit_mb limits each process by itself */
	bool looks;                    /* plan, ask, review: they write nothing but their own /tmp */
	bool unconfined;               /* without a jail */
	struct str commands;           /* denial_commands of what was run; empty: not known */
};

enum denial_rule {
	DENIAL_NONE, /* not the jail, as far as can be told */
	DENIAL_NET, DENIAL_LOOP, DENIAL_NO_SOCKET, DENIAL_MEMORY, DENIAL_PROCESSES, DENIAL_ARCH,
	DENIAL_CALL, DENIAL_FAMILY, DENIAL_OWNER, DENIAL_MODE, DENIAL_SIGNAL, DENIAL_LIMIT, DENIAL_ROOT,
	DENIAL_PACKAGES, DENIAL_DAEMON, DENIAL_SHARED, DENIAL_SOCKET, DENIAL_TERMINAL, DENIAL_TRACE, DENIAL_LEAKS, DENIAL_BROWSER, DENIAL_AUTHOR,
	/* these are about a path */
	DENIAL_HIDDEN, DENIAL_GIT, DENIAL_LOOKS, DENIAL_READ_ONLY, DENIAL_SPACE, DENIAL_TOP,
	DENIAL_DEVICE, DENIAL_KERNEL, DENIAL_SYSFS, DENIAL_TMP, DENIAL_ETC_GONE, DENIAL_ETC, DENIAL_SYSTEM,
	DENIAL_WRITE, DENIAL_SEE,
	DENIAL_RULES
};

struct denial {
	enum denial_rule rule;
	struct str path; /* at most DENIAL_PATH_MAX bytes, and what the command wrote; empty where the rule has none */
	bool cut;        /* it is longer */
	struct str link; /* a link that leads there was named, at most DENIAL_PATH_MAX bytes; empty: the path itself was */
	size_t grant;    /* with a link: so many bytes of the path are what would have to be granted to be seen; 0: none would */
	struct str note; /* the sentence; empty for DENIAL_NONE */
	const char *key; /* what the operator could set; NULL: nothing allows it */
};

/* What it runs, one command a line: of a shell's -c what its line begins, else the words. At most DENIAL_TAIL bytes. */
struct str denial_commands(const struct str_list *argv, struct arena *mem);
bool denial_may_be(const struct job_result *job); /* it ended as what the jail refused something may */
void denial_explain(const struct denial_jail *jail, const struct job_result *job, struct arena *mem, struct denial *out);
bool denial_has_path(enum denial_rule rule);
/* The sentence and the key of a rule and a path that another process found. */
void denial_say(struct denial *d, struct arena *mem);

#endif
