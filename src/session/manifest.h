/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* manifest: what a session is, in one small file: record/manifest.json.
 *
 * Shape    The recorder alone writes it: manifest_merge checks members and their sender against the table and
 *          sets them, nested objects member by member. Readers: manifest_load.
 * Memory   Strings of a loaded manifest live in the arena. Absent members are empty or at their default.
 * Errors   -ERR_INVALID names a member of the wrong type, or the version when the file is newer than
 *          this program. Unknown members on disk are kept and ignored.
 * Source   docs/architecture.md, "The record"; version 3.
 */
#ifndef SESSION_MANIFEST_H
#define SESSION_MANIFEST_H

#include "fmt/field.h"
#include "session/event.h"

#define MANIFEST_VERSION 3
#define MANIFEST_MAX     (256 * 1024)

/* Who may set a member: the agent's process, which may have been taken over (AG); the monitor, before any hostile byte is
 * read (MO); or a command of the operator's while no run is on (HO), which may set all of them. What later commands
 * act upon, such as the branch that `runs merge` changes, is never AG. */
#define MANIFEST_AG EVENT_AGENT
#define MANIFEST_MO EVENT_MONITOR
#define MANIFEST_HO (1u << 15)

/* X(kind, who, member, "dotted.name")   STR string, OPT string or null, INT integer or null, BOOL, STRS */
#define MANIFEST_MEMBERS(X)                                                                                  \
	X(STR, MO, agent6_version, "agent6_version")                                                             \
	X(STR, MO, run_id, "run_id")                                                                             \
	X(STR, MO, mode, "mode")                                                                                 \
	X(STR, MO, start_ts, "start_ts")                                                                         \
	X(STR, MO, user_task, "user_task")          /* for display, at most 4000 bytes */                        \
	X(STR, MO, workspace, "workspace")                                                                       \
	X(STR, MO, base_sha, "base_sha")                                                                         \
	X(STR, MO, base_branch, "base_branch")                                                                   \
	X(STR, AG, run_branch, "run_branch")                                                                     \
	X(STR, MO, git_control, "git_control")                                                                   \
	X(STR, MO, worker_provider, "models.worker.provider")                                                    \
	X(STR, MO, worker_model, "models.worker.model")                                                          \
	X(STR, MO, reviewer_provider, "models.reviewer.provider")                                                \
	X(STR, MO, reviewer_model, "models.reviewer.model")                                                      \
	X(STR, MO, preset, "workflow.preset")                                                                    \
	X(STRS, AG, verify_command, "workflow.verify_command")                                                   \
	X(STR, AG, verify_origin, "workflow.verify_origin") /* configured, inferred, adopted, "" */              \
	X(STR, MO, run_commands, "policy.run_commands")                                                          \
	X(STR, MO, isolation, "policy.isolation")   /* as resolved */                                            \
	X(STR, MO, network, "policy.network")                                                                    \
	X(STR, MO, parked_task, "parked_task")                                                                   \
	X(STR, MO, parked_reason, "parked_reason")                                                               \
	X(STR, MO, stash, "stash")                  /* what was set aside before it: a commit, at refs/agent6-stash/ID */ \
	X(STR, MO, parent_run_id, "parent_run_id")                                                               \
	X(INT, MO, forked_from_turn, "forked_from_turn")                                                         \
	X(STR, MO, forked_from_sha, "forked_from_sha")                                                           \
	X(STR, HO, merged_into, "merged.into")                                                                   \
	X(STR, HO, merged_sha, "merged.sha")                                                                     \
	X(STR, HO, merged_ts, "merged.ts")                                                                       \
	X(STR, HO, merged_tip, "merged.tip")

#define MANIFEST_SLOT_STR(m)  struct str m;
#define MANIFEST_SLOT_INT(m)  int64_t m; /* -1: null or absent */
#define MANIFEST_SLOT_STRS(m) struct str_list m;
struct manifest {
	int64_t version;
#define X(kind, who, member, name) MANIFEST_SLOT_##kind(member)
	MANIFEST_MEMBERS(X)
#undef X
};

int manifest_load(int record_fd, struct arena *mem, struct manifest *out, struct err *err) CHECKED;
/* What manifest_merge would refuse, before anything is done. out: the members. */
int manifest_check(unsigned who, struct str members, json_t **out, struct err *err) CHECKED;
/* Sets the members of one JSON object ({"base_sha": "...", "policy": {"isolation": "strict"}}) in the
 * file, creating it; the old or the new file, never another. who: one of MANIFEST_AG, MO, HO. */
int manifest_merge(int record_fd, unsigned who, struct str members, struct err *err) CHECKED;

/* All of the file that a run may set, as one object of members. */
int manifest_members(int record_fd, json_t **out, struct err *err) CHECKED;
/* What was set, as the journal has it, against what stands in the file. What only commands of the operator's set is not
 * compared, nor what was never set of a session that began before all of it was recorded: such a one has no run_id in `set`. */
void manifest_fold(json_t *set, const json_t *members); /* the next ones, over those before */
int manifest_read(int record_fd, json_t **out, struct err *err) CHECKED; /* NULL: absent, or no manifest */
typedef void manifest_differs_fn(void *self, const char *name, const json_t *recorded, const json_t *found); /* NULL: absent */
void manifest_compare(const json_t *now, const json_t *set, manifest_differs_fn *differs, void *self);

#endif
