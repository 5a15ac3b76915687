/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* manifest: what a session is, in one small file: record/manifest.json.
 *
 * Shape    The recorder alone writes it: manifest_merge checks members against the table and sets them,
 *          nested objects member by member. Readers: manifest_load.
 * Memory   Strings of a loaded manifest live in the arena. Absent members are empty or at their default.
 * Errors   -ERR_INVALID names a member of the wrong type, or the version when the file is newer than
 *          this program. Unknown members on disk are kept and ignored.
 * Source   docs/architecture.md, "manifest.json"; version 3.
 */
#ifndef SESSION_MANIFEST_H
#define SESSION_MANIFEST_H

#include "fmt/field.h"

#define MANIFEST_VERSION 3
#define MANIFEST_MAX     (256 * 1024)

/* X(kind, member, "dotted.name")   STR string, OPT string or null, INT integer or null, BOOL, STRS */
#define MANIFEST_MEMBERS(X)                                                                                  \
	X(STR, agent6_version, "agent6_version")                                                             \
	X(STR, run_id, "run_id")                                                                             \
	X(STR, mode, "mode")                                                                                 \
	X(STR, start_ts, "start_ts")                                                                         \
	X(STR, user_task, "user_task")          /* for display, at most 4000 bytes */                        \
	X(STR, workspace, "workspace")                                                                       \
	X(STR, base_sha, "base_sha")                                                                         \
	X(STR, base_branch, "base_branch")                                                                   \
	X(STR, run_branch, "run_branch")                                                                     \
	X(STR, git_control, "git_control")                                                                   \
	X(STR, worker_provider, "models.worker.provider")                                                    \
	X(STR, worker_model, "models.worker.model")                                                          \
	X(STR, reviewer_provider, "models.reviewer.provider")                                                \
	X(STR, reviewer_model, "models.reviewer.model")                                                      \
	X(STR, preset, "workflow.preset")                                                                    \
	X(STRS, verify_command, "workflow.verify_command")                                                   \
	X(STR, verify_origin, "workflow.verify_origin") /* configured, inferred, adopted, "" */              \
	X(STR, run_commands, "policy.run_commands")                                                          \
	X(STR, isolation, "policy.isolation")   /* as resolved */                                            \
	X(STR, network, "policy.network")                                                                    \
	X(STR, parked_task, "parked_task")                                                                   \
	X(STR, parked_reason, "parked_reason")                                                               \
	X(STR, parent_run_id, "parent_run_id")                                                               \
	X(INT, forked_from_turn, "forked_from_turn")                                                         \
	X(STR, forked_from_sha, "forked_from_sha")                                                           \
	X(STR, merged_into, "merged.into")                                                                   \
	X(STR, merged_sha, "merged.sha")                                                                     \
	X(STR, merged_ts, "merged.ts")                                                                       \
	X(STR, merged_tip, "merged.tip")

#define MANIFEST_SLOT_STR(m)  struct str m;
#define MANIFEST_SLOT_INT(m)  int64_t m; /* -1: null or absent */
#define MANIFEST_SLOT_STRS(m) struct str_list m;
struct manifest {
	int64_t version;
#define X(kind, member, name) MANIFEST_SLOT_##kind(member)
	MANIFEST_MEMBERS(X)
#undef X
};

int manifest_load(int record_fd, struct arena *mem, struct manifest *out, struct err *err) CHECKED;
/* Sets the members of one JSON object ({"base_sha": "...", "policy": {"isolation": "strict"}}) in the
 * file, creating it; the old or the new file, never another. */
int manifest_merge(int record_fd, struct str members, struct err *err) CHECKED;

#endif
