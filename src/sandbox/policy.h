/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* policy: what a caller wants a command, or a whole cell, to be confined to.
 *
 * Shape    policy_decode the JSON; or fill the struct and policy_encode it for agent6-jail.
 * Memory   Everything decoded lives in the arena that was passed in.
 * Errors   -ERR_SYNTAX, -ERR_INVALID or -ERR_LIMIT, naming the field and what would be right. Unknown
 *          and duplicate fields, relative paths, "." and ".." components, NUL and bytes that are not
 *          UTF-8 are refused.
 * Units    timeout_ms: JSON has seconds (a number, 0 to 10^7); 0 is no limit.
 * Source   docs/sandbox.md, "The policy".
 */
#ifndef SANDBOX_POLICY_H
#define SANDBOX_POLICY_H

#include "base/arena.h"
#include "base/buf.h"

#include <sys/types.h>

#define POLICY_BYTES_MAX (4 * 1024 * 1024)
#define POLICY_PATHS_MAX 256 /* of one list */
#define POLICY_WORDS_MAX 32768 /* of argv and of env */
#define POLICY_ROOT_UID  64006 /* whom root becomes, unless root_as_uid says otherwise */

enum policy_profile { PROFILE_STRICT, PROFILE_HARDENED, PROFILE_NONE };
enum policy_network { NETWORK_NONE, NETWORK_HOST };

struct policy_list { /* C strings; p[n] is NULL when n > 0 */
	const char **p;
	size_t n;
};

struct sandbox_policy {
	enum policy_profile profile; /* JSON: "profile" or "isolation" */
	const char *cwd;             /* the workspace */
	struct policy_list argv;     /* may be empty for a cell */
	struct policy_list env;      /* "NAME=value" */
	enum policy_network network;
	struct policy_list extra_ro_paths, extra_rw_paths, tool_paths, hide_paths, extra_protect_paths;
	int64_t timeout_ms;
	int64_t memory_limit_mb;     /* RLIMIT_DATA; 0: none */
	int64_t root_as_uid;
	bool git_cell;               /* cell only: .git writable, the worktree noexec */
	bool bare;                   /* cell only: nothing of cwd is shown; what runs stands in its own HOME */
	bool read_only;              /* cell only: nothing outside its own /tmp is written, the workspace neither; no
				      * extra_rw_paths */
};

enum policy_use { POLICY_ONCE, POLICY_CELL }; /* POLICY_CELL: argv may be absent */

int policy_decode(struct str text, enum policy_use use, struct arena *mem, struct sandbox_policy *out,
	struct err *err) CHECKED;
int policy_encode(const struct sandbox_policy *p, struct buf *out, struct err *err) CHECKED;
const char *policy_profile_name(enum policy_profile p);
/* Adds a copy to a list (keeps p[n] == NULL). */
void policy_list_add(struct policy_list *l, struct arena *mem, const char *s);

#endif
