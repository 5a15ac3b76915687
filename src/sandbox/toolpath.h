/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* toolpath: where an operator's tools are, which of their directories a cell must show, and the
 * environment of a command.
 *
 * Shape    toolpath_derive on the host, cell_env from its result and the operator's environment.
 * Memory   Everything lives in the arena.
 * Errors   None for what is not there: a directory that does not exist is left out.
 * Source   docs/sandbox.md, "Tools" and "Environment".
 */
#ifndef SANDBOX_TOOLPATH_H
#define SANDBOX_TOOLPATH_H

#include "sandbox/policy.h"

struct toolpath_ask {
	const char *home;       /* absolute, NULL: none */
	const char *const *env; /* the operator's, "K=V", NULL ended: XDG_DATA_HOME, PATH, where managers of versions are */
	struct policy_list deny; /* never mounted, nor anything in or around them: config directory, state base */
	struct policy_list writable; /* commands may change what is in there: never before the system's own on PATH */
	bool another_user;           /* who runs them walks there as somebody else: first is only what everybody reaches */
};

struct toolpath {
	const char *path;          /* PATH of a command: what the operator's has before the system's comes before it here */
	struct policy_list mounts; /* directories and single programs to show read-only (policy tool_paths), sorted */
	struct policy_list env;    /* "K=V": where those are that look below HOME, which is another one in the cell */
	struct policy_list unreachable; /* tools whose links lead where nothing is shown */
	struct policy_list withheld;    /* those of them whose links lead into a private directory */
};

int toolpath_derive(const struct toolpath_ask *ask, struct arena *mem, struct toolpath *out, struct err *err) CHECKED;

/* The whole environment of a command: PATH, HOME in the cell, and of host_env ("K=V", NULL ended) only
 * LANG, LC_ALL, TERM and CI. Git in the cell trusts the workspace whoever owns it. */
void cell_env(const struct toolpath *tools, const char *const *host_env, const char *workspace, struct arena *mem,
	struct policy_list *out);

#endif
