/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* event: every event that may stand in a journal, its fields and who may write it, in one table.
 *
 * Shape    The sender names a row (EVENT_TOOL_CALL) and hands over the fields as one JSON object. The
 *          recorder checks them with event_check before it writes; a reader asks event_find.
 * Errors   -ERR_INVALID names the event and the field: `tool.result: "ok" is missing`. A field that
 *          is in no row is refused too, so nobody can write a second "seq" or "h".
 * Source   docs/events.md (printed from this table).
 */
#ifndef SESSION_EVENT_H
#define SESSION_EVENT_H

#include "fmt/json.h"

#define EVENT_JSON_MAX (256 * 1024) /* the fields of one event, as JSON */

/* Types a field may have. */
enum event_kind {
	EVENT_STR,
	EVENT_INT,
	EVENT_NUM,  /* an integer or a fraction */
	EVENT_BOOL,
	EVENT_STRS, /* a list of strings */
	EVENT_LIST, /* a list of anything */
	EVENT_OBJ,
};

struct event_field {
	char name[24]; /* not its address, which would have to be written at each start of the program */
	enum event_kind kind;
	bool optional; /* may be absent or null */
};

/* Who may write it, and how it is kept. */
enum event_flags {
	EVENT_AGENT = 1 << 0,
	EVENT_MONITOR = 1 << 1,
	EVENT_RECORDER = 1 << 2,
	EVENT_VOLATILE = 1 << 3, /* a streaming delta: no seq, not in the chain */
	EVENT_QUIET = 1 << 4,    /* a mirror or a counter: views do not list it */
};

/* X(row, "type", flags, fields...)   S string, I integer, N number, B true or false, L list of strings,
 * A list of anything, O object; a second O: may be absent or null. event.c gives the letters meaning. */
#define EVENT_AG EVENT_AGENT
#define EVENT_MO EVENT_MONITOR
#define EVENT_AM (EVENT_AGENT | EVENT_MONITOR)
/* clang-format off */
#define EVENT_TYPES(X)                                                                                       \
	/* the life of a leg */                                                                              \
	X(RUN_START, "run.start", EVENT_AM, S("run_id"), S("user_task"), S("mode"), SO("model"), SO("provider"), SO("isolation"), SO("preset")) \
	X(RUN_RESUME, "loop.resume.start", EVENT_AM, S("run_id"), S("mode"), I("iteration"), I("messages"), SO("user_task"), SO("preset")) \
	X(RUN_END, "run.end", EVENT_AM, S("reason"), I("iterations"), BO("all_passed"), SO("message"), SO("tool"), IO("streak"), IO("exit_code"), SO("verified"), IO("uncommitted"), LO("uncommitted_files"), LO("edited_untracked"), LO("deleted_untracked"), LO("gate_touched"), SO("summary"), OO("result"), SO("stale_gate"), LO("verify_command"), SO("baseline"), IO("commits"), SO("branch"), SO("base_branch"), SO("base_sha"), SO("head_sha"), AO("usage"), SO("usage_text"), NO("usd"), BO("usd_partial")) \
	X(RUN_STOP, "run.stop_requested", EVENT_MO, S("source"), S("how"))                                    \
	X(RUN_STEER, "run.steer_requested", EVENT_MO, S("source"), SO("text"))                                \
	X(RUN_PAUSE, "run.pause_requested", EVENT_MO, S("source"), S("how"))                                  \
	X(RUN_DETACHED, "run.detached", EVENT_MO, S("source"), S("away"))                                     \
	X(RUN_NOTICE, "run.notice", EVENT_AM, S("level"), S("text"))                                          \
	X(PROCESS_DIED, "process.died", EVENT_MO, S("name"), IO("code"), IO("signal"), SO("detail"))          \
	X(JAIL_DEGRADED, "jail.degraded", EVENT_MO, S("detail"))                                              \
	X(JAIL_GIT_CHANGED, "jail.git_changed", EVENT_MO, S("paths"), S("detail"))                            \
	X(JAIL_NEWGIT, "jail.git_quarantined", EVENT_MO, S("path"), SO("moved_to"), SO("error"), S("detail"))  \
	X(PLAN_READY, "plan.ready", EVENT_AG, S("summary"), A("steps"))                                       \
	X(STEP_START, "step.start", EVENT_AG, I("index"), S("title"), SO("status"))                           \
	X(STEP_END, "step.end", EVENT_AG, I("index"), S("title"), S("status"), SO("commit_sha"))              \
	X(STEP_DIFF, "step.diff", EVENT_AG, I("index"), S("commit_sha"), S("patch"))                          \
	X(LOOP_NOTE, "loop.note", EVENT_AG, S("text"))                                                        \
	X(RUN_FORKED, "run.forked", EVENT_RECORDER, S("parent"), I("turn"), SO("sha"), BO("undo"))            \
	/* the record's own */                                                                               \
	X(RECORD_TORN, "record.torn", EVENT_RECORDER, I("bytes"), SO("file"))                                 \
	X(RECORD_DAMAGED, "record.damaged", EVENT_RECORDER, I("lines"), S("detail"))                          \
	X(RECORD_CUT, "record.cut", EVENT_RECORDER, I("ended"), I("seen"))                                    \
	X(RECORD_MANIFEST, "record.manifest", EVENT_RECORDER | EVENT_QUIET, O("members"))                     \
	X(RECORD_PEER, "record.peer_dropped", EVENT_RECORDER, S("peer"), S("reason"))                         \
	/* model calls */                                                                                    \
	X(LOOP_PROMPT, "loop.prompt", EVENT_AG | EVENT_QUIET, I("transcript"), S("sha256"))                   \
	X(LOOP_SETTINGS, "loop.settings", EVENT_AG | EVENT_QUIET, O("rules"), A("models"))                     \
	X(ROLE_CALL, "role.call", EVENT_AG, S("role"), S("model"), SO("provider"))                            \
	X(ROLE_TEXT, "role.text_delta", EVENT_AG | EVENT_VOLATILE, S("role"), S("text"))                      \
	X(ROLE_THINKING, "role.thinking_delta", EVENT_AG | EVENT_VOLATILE, S("role"), S("text"))              \
	X(ROLE_RESULT, "role.result", EVENT_AG, S("role"), B("ok"), SO("text"), IO("tokens_in"), IO("tokens_out"), IO("cache_read"), IO("cache_creation"), SO("stop_reason"), SO("error"), SO("model"), NO("usd"), NO("duration_s"), IO("reasoning_chars"), IO("transcript")) \
	X(BUDGET_UPDATE, "budget.update", EVENT_AG, I("input_total"), I("output_total"), IO("input_cap"), IO("output_cap"), NO("usd_total"), BO("usd_partial"), NO("usd_cap"), IO("tokens_unmetered"), IO("tokens_fallback_cap"), NO("plan_used_percent"), NO("plan_consumed"), NO("plan_cap"), SO("plan_resets_at"), IO("cache_read_total"), IO("cache_creation_total"), IO("calls")) \
	X(LOOP_BUDGET, "loop.budget", EVENT_AG | EVENT_QUIET, I("iteration"), I("input_tokens"), I("output_tokens"), IO("cache_read_tokens"), NO("cost_usd"), IO("context_tokens"), IO("window_tokens"), IO("elided"), IO("pins")) \
	X(BUDGET_REFUSED, "loop.budget.refused", EVENT_AG | EVENT_QUIET, S("role"), I("bytes"), I("in_flight")) \
	X(PROVIDER_RETRY, "loop.provider.retry", EVENT_AG, I("attempt"), S("error"), IO("wait_ms"), IO("status_code")) \
	X(PROVIDER_FATAL, "loop.provider.fatal", EVENT_AG, IO("status_code"), S("error"))                     \
	X(PROVIDER_EMPTY, "loop.provider.empty_tool_call_retry", EVENT_AG, I("attempt"), SO("stop_reason"))   \
	X(REASONING_STARVED, "loop.reasoning_starvation", EVENT_AG, I("iteration"), I("reasoning_chars"), I("output_tokens"), SO("stop_reason")) \
	/* tools, the gate, approvals */                                                                     \
	X(TOOL_CALL, "tool.call", EVENT_AG, S("name"), O("args"), S("call_id"))                               \
	X(TOOL_RESULT, "tool.result", EVENT_AG, S("name"), B("ok"), S("summary"), S("call_id"), SO("stdout_tail"), SO("stderr_tail"), SO("head_tail"), IO("lines_total"), NO("duration_s"), IO("exit_code"), BO("edited"), BO("changed")) \
	X(LOOP_TOOL, "loop.tool.call", EVENT_AG | EVENT_QUIET, S("name"), I("iteration"))                     \
	X(VERIFY_START, "verify.start", EVENT_AG, L("cmd"), NO("timeout_s"))                                  \
	X(VERIFY_END, "verify.end", EVENT_AG, L("cmd"), I("exit_code"), N("duration_s"), NO("timeout_s"), BO("timed_out"), SO("stdout_tail"), SO("stderr_tail")) \
	X(METRIC_START, "metric.start", EVENT_AG, L("cmd"))                                                   \
	X(METRIC_END, "metric.end", EVENT_AG, L("cmd"), I("exit_code"), N("duration_s"), SO("stdout_tail"), SO("stderr_tail"), NO("score")) \
	X(COMMAND_BACKGROUND, "command.backgrounded", EVENT_AG, S("id"), IO("pid"), N("seconds"), SO("command"), BO("handed_back")) \
	X(COMMAND_ENDED, "command.ended", EVENT_AG, S("id"), S("state"), I("exit_code"), N("duration_s"), SO("command"), IO("bytes")) \
	X(BACKGROUND_NUDGE, "loop.background.nudge", EVENT_AG, I("iteration"), I("running"))                  \
	X(APPROVAL_PROMPT, "approval.prompt", EVENT_MO, S("id"), S("prompt"), B("standing"), SO("scope"), LO("argv"), SO("cwd"), SO("class")) \
	X(APPROVAL_ANSWER, "approval.answer", EVENT_MO, S("id"), B("approved"), S("source"), SO("answer"), SO("scope")) \
	X(QUESTION_PROMPT, "question.prompt", EVENT_MO, S("id"), A("questions"))                              \
	X(QUESTION_ANSWER, "question.answer", EVENT_MO, S("id"), L("answers"), S("source"))                   \
	X(MCP_UNAVAILABLE, "mcp.server_unavailable", EVENT_AM, S("server"), S("error"), SO("stderr_tail"))    \
	X(MCP_READY, "mcp.ready", EVENT_AG, S("server"), I("tools"), S("protocol"), LO("left_out"))           \
	X(MCP_ENDED, "mcp.ended", EVENT_AG, S("server"), S("detail"), SO("stderr_tail"))                      \
	X(LSP_READY, "lsp.ready", EVENT_AG, S("server"))                                                      \
	X(LSP_ENDED, "lsp.ended", EVENT_AG, S("server"), S("detail"), SO("stderr_tail"))                      \
	X(MCP_NOTE, "mcp.note", EVENT_AG, S("server"), S("text"))                                             \
	/* commits, the task graph, nudges */                                                                \
	X(GRAPH_UPDATE, "graph.update", EVENT_AG, OO("nodes"), SO("cursor"))                                  \
	X(AUTO_COMMIT, "loop.auto_commit", EVENT_AG, I("iteration"), S("sha"), S("subject"))                  \
	X(AUTO_COMMIT_FAILED, "loop.auto_commit.failed", EVENT_AG, I("iteration"), S("error"), SO("worktree_status"), SO("commit_subject")) \
	X(DIFF_UPDATED, "diff.updated", EVENT_AG, S("sha"), S("patch"))                                       \
	X(BASELINE, "loop.baseline", EVENT_AG, BO("ok"), I("iteration"))                                      \
	X(VERIFY_INFERRED, "loop.verify_inferred", EVENT_AG, L("command"), S("source"), IO("adopted_at"))     \
	X(VERIFY_SWAPPED, "loop.verify_swapped", EVENT_AG, L("was"), L("now"))                                \
	X(VERIFY_BROKEN, "loop.verify_broken.nudge", EVENT_AG, I("iteration"))                                \
	X(VERIFY_SETTLED, "loop.verify_settled.nudge", EVENT_AG, I("iteration"), IO("idle"))                  \
	X(VERIFY_GATED, "loop.verify_finish.gated", EVENT_AG, I("iteration"), I("nudges_used"), SO("trigger")) \
	X(NO_PROGRESS, "loop.no_progress.nudge", EVENT_AG, I("iteration"), I("streak"), IO("level"))          \
	X(TOOL_ERROR, "loop.tool_error.nudge", EVENT_AG, I("iteration"), I("streak"), IO("level"))            \
	X(LOOP_GUARD, "loop.loop_guard.triggered", EVENT_AG, I("iteration"), S("tool"), I("streak"))          \
	X(STAGNATION, "loop.stagnation.nudged", EVENT_AG, I("iteration"), N("elapsed_s"))                     \
	X(TASK_SURFACED, "loop.task.surfaced", EVENT_AG, S("task_id"))                                        \
	X(TASK_STUCK, "loop.task.stuck_nudge", EVENT_AG, S("task_id"), I("turns"), I("n"))                    \
	X(TASK_GATED, "loop.task_finish.gated", EVENT_AG, I("iteration"), I("nudges_used"), SO("trigger"))    \
	X(MEMORY_ADDED, "memory.added", EVENT_AG, S("id"), O("note"))                                         \
	X(MEMORY_INVALIDATED, "memory.invalidated", EVENT_AG, S("id"), O("note"))                             \
	X(MEMORY_FLIP, "loop.memory_flip.nudged", EVENT_AG, I("iteration"))                                   \
	X(QUESTION_NUDGE, "loop.question_nudge", EVENT_AG, I("iteration"))                                    \
	X(SILENT_NO_WORK, "loop.silent_no_work.nudge", EVENT_AG, I("iteration"), I("nudges_used"))            \
	X(WENT_QUIET, "loop.went_quiet.nudge", EVENT_AG, I("iteration"), I("nudges_used"), IO("nudges_max"), IO("output_tokens")) \
	X(RUN_BUDGET, "loop.run_budget.nudge", EVENT_AG, I("iteration"), IO("budget_remaining"))              \
	X(PLAN_FINISH, "loop.plan_finish.nudge", EVENT_AG, I("iteration"), IO("budget_remaining"))            \
	X(PLAN_WRITTEN, "loop.plan_written", EVENT_AG, S("path"), I("bytes"))                                 \
	X(PLAN_REREAD, "loop.plan_reread", EVENT_AG, S("path"), I("bytes"))                                   \
	X(TOOL_UNREACHABLE, "loop.sandbox_tool_unreachable", EVENT_AG, S("binary"))                           \
	X(SKILLS_WARNING, "loop.skills.warning", EVENT_AG, S("warning"))                                      \
	X(PARKED, "loop.parked", EVENT_AM, IO("iteration"), S("reason"))                                      \
	X(PARKED_RESUMED, "loop.parked.resumed", EVENT_AM, I("iteration"))                                    \
	X(REVISION_CALL, "loop.prompt_revision.call", EVENT_AG, S("mode"))                                    \
	X(REVISION_RESULT, "loop.prompt_revision.result", EVENT_AG, I("raw_chars"), I("revised_chars"), I("questions")) \
	X(REVISION_FAILED, "loop.prompt_revision.failed", EVENT_AG, S("error"))                               \
	/* metric, review */                                                                                 \
	X(METRIC_SAMPLE, "loop.metric.sample", EVENT_AG, I("iteration"), SO("label"), NO("score"), IO("returncode"), SO("sha"), BO("full")) \
	X(METRIC_PLATEAU, "loop.metric_plateau.nudge", EVENT_AG, I("iteration"), I("nudges_used"), IO("budget_remaining")) \
	X(METRIC_EARLY, "loop.metric_early_finish.rejected", EVENT_AG, I("iteration"), I("nudges_used"), SO("trigger")) \
	X(METRIC_CEILING, "loop.metric_ceiling.stop", EVENT_AG, I("iteration"), NO("score"))                  \
	X(REVIEW_START, "loop.review.start", EVENT_AG, I("iteration"), S("trigger"), I("seats"))              \
	X(REVIEW_SEAT, "loop.review.seat", EVENT_AG, I("iteration"), I("seat"), S("model"), S("verdict"), I("findings"), SO("persona"), IO("transcript")) \
	X(REVIEW_LOOK, "loop.review.look", EVENT_AG, I("iteration"), S("persona"), S("name"), SO("args"))       \
	X(REVIEW_PANEL, "loop.review.panel", EVENT_AG, I("iteration"), S("trigger"), S("decision"), B("blocked"), BO("raw_blocked"), BO("disarmed"), IO("n_block"), IO("n_abstain")) \
	X(REVIEW_SKIPPED, "loop.review.skipped", EVENT_AG, I("iteration"), S("reason"), SO("trigger"), NO("remaining")) \
	X(REVIEW_REJECTED, "loop.review.rejected_finish", EVENT_AG, I("iteration"))                           \
	X(REVIEW_SILENT, "loop.review.rejected_silent_finish", EVENT_AG, I("iteration"))                      \
	X(REVIEW_CAP, "loop.review.rejection_cap_reached", EVENT_AG, I("iteration"), I("rejections"))         \
	/* compaction, pins, steering */                                                                     \
	X(COMPACT_REQUESTED, "loop.compact.requested", EVENT_AG, S("focus"))                                  \
	X(COMPACT_REFUSED, "loop.compact.refused", EVENT_AG, S("reason"))                                     \
	X(COMPACT_DEDUPED, "loop.compact.deduped", EVENT_AG, I("n"), LO("calls"))                             \
	X(COMPACT_DROPPED, "loop.compact.dropped", EVENT_AG, I("n"), LO("calls"))                             \
	X(COMPACT_THINKING, "loop.compact.thinking_dropped", EVENT_AG, I("turns"), I("chars"))                \
	X(COMPACT_PICTURES, "loop.compact.pictures_dropped", EVENT_AG, I("n"))                                \
	X(COMPACT_GISTS, "loop.compact.gists", EVENT_AG, I("gisted"), I("demoted"))                           \
	X(COMPACT_SUMMARISE, "loop.compact.summarise.call", EVENT_AG, I("messages"))                          \
	X(COMPACT_SUMMARISED, "loop.compact.summarise.done", EVENT_AG, I("summary_chars"), S("summary"), IO("kept_turns")) \
	X(COMPACT_FAILED, "loop.compact.summarise.failed", EVENT_AG, S("error"))                              \
	X(COMPACT_RESTORED, "loop.compact.restored", EVENT_AG, I("elided"), IO("gists"))                      \
	X(PIN_ADDED, "loop.pin.added", EVENT_AG, S("text"), I("chars"), I("count"))                           \
	X(PIN_REFUSED, "loop.pin.refused", EVENT_AG, I("chars"), I("limit"))                                  \
	X(PIN_RESTORED, "loop.pin.restored", EVENT_AG, L("pins"), I("count"))                                 \
	X(STEER_REQUESTED, "loop.steer.requested", EVENT_AG, I("iteration"))                                  \
	X(STEER_INJECTED, "loop.steer.injected", EVENT_AG, I("chars"), S("text"))                             \
	X(STEER_ABORTED, "loop.steer.aborted", EVENT_AG, IO("iteration"))                                     \
	X(BTW_ANSWER, "loop.btw.answer", EVENT_AG, S("question"), S("text"))                                  \
	X(STANDING_RESUMED, "loop.standing.resumed", EVENT_AG, S("reason"), I("iteration"))
/* clang-format on */

enum event_id {
#define X(row, type, ...) EVENT_##row,
	EVENT_TYPES(X)
#undef X
	EVENT_COUNT
};

struct event_type {
	const char *type;
	size_t type_n; /* its length */
	unsigned flags;
	const struct event_field *fields;
	size_t nfields;
};

const struct event_type *event_at(enum event_id id);
const struct event_type *event_find(struct str type); /* NULL: not in the table */
enum event_id event_id_of(struct str type);           /* EVENT_COUNT: not in the table */
int event_check(const struct event_type *t, const json_t *fields, struct err *err) CHECKED;
int events_print(struct buf *out, struct err *err) CHECKED; /* docs/events.md */

#endif
