/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/sentence.h"

#include "view/brief.h"

static const struct sentence sentences[] = {
	{ EVENT_RECORD_TORN, VIEW_WARNING, "record: an incomplete last line of {file} ({bytes} bytes) was cut off; every whole line is there" },
	{ EVENT_RECORD_CUT, VIEW_WARNING, "record: the journal ends at event {ended}, the conversation has seen event {seen}: what lies between is lost" },
	{ EVENT_RECORD_DAMAGED, VIEW_WARNING, "record: damaged, {lines} lines are skipped: {detail}" },
	{ EVENT_RECORD_PEER, VIEW_WARNING, "record: the {peer} sent what may not be recorded and was cut off: {reason}" },
	{ EVENT_PROCESS_DIED, VIEW_WARNING, "{name} died: {detail}" },
	{ EVENT_JAIL_DEGRADED, VIEW_WARNING, "jail: {detail}" },
	{ EVENT_JAIL_NEWGIT, VIEW_WARNING, "{detail}" },
	{ EVENT_JAIL_GIT_CHANGED, VIEW_WARNING, "{detail}" },
	{ EVENT_RUN_NOTICE, VIEW_MARKER, "{text}" },
	{ EVENT_RUN_STOP, VIEW_MARKER, "stop requested ({source}): {how}" },
	{ EVENT_LOOP_NOTE, VIEW_MARKER, "{text}" },
	{ EVENT_PLAN_READY, VIEW_MARKER, "plan: {summary}" },
	{ EVENT_STEP_START, VIEW_MARKER, "step {index}: {title}" },
	{ EVENT_STEP_END, VIEW_MARKER, "step {index} {status}: {title}" },
	{ EVENT_PROVIDER_RETRY, VIEW_MARKER, "provider: attempt {attempt} failed: {error}; trying again in {wait_ms}" },
	{ EVENT_PROVIDER_EMPTY, VIEW_MARKER, "provider: an empty tool call, asking again" },
	{ EVENT_REASONING_STARVED, VIEW_WARNING, "the model used all its output for thinking" },
	{ EVENT_AUTO_COMMIT_FAILED, VIEW_WARNING, "not committed: {error}" },
	{ EVENT_VERIFY_INFERRED, VIEW_MARKER, "gate ({source}): {command}" },
	{ EVENT_VERIFY_SWAPPED, VIEW_MARKER, "gate changed to {now}" },
	{ EVENT_VERIFY_GATED, VIEW_MARKER, "not finished yet: the gate is red" },
	{ EVENT_VERIFY_BROKEN, VIEW_WARNING, "the gate cannot be run" },
	{ EVENT_NO_PROGRESS, VIEW_MARKER, "no progress: the same failure {streak} times" },
	{ EVENT_TOOL_ERROR, VIEW_MARKER, "the same tool error {streak} times" },
	{ EVENT_LOOP_GUARD, VIEW_WARNING, "{tool} was called the same way {streak} times" },
	{ EVENT_WENT_QUIET, VIEW_MARKER, "the model called no tool, asking again" },
	{ EVENT_RUN_BUDGET, VIEW_MARKER, "the budget is nearly used" },
	{ EVENT_TASK_GATED, VIEW_MARKER, "not finished yet: tasks are open" },
	{ EVENT_TOOL_UNREACHABLE, VIEW_WARNING, "{binary} is not there in the jail" },
	{ EVENT_SKILLS_WARNING, VIEW_WARNING, "skills: {warning}" },
	{ EVENT_MCP_UNAVAILABLE, VIEW_WARNING, "mcp {server}: {error}" },
	{ EVENT_MCP_READY, VIEW_MARKER, "mcp {server}: tools: {tools}, protocol {protocol}" },
	{ EVENT_MCP_ENDED, VIEW_WARNING, "mcp {server}: {detail}" },
	{ EVENT_LSP_READY, VIEW_MARKER, "language server {server} answers too" },
	{ EVENT_LSP_ENDED, VIEW_WARNING, "language server {server}: {detail}" },
	{ EVENT_MCP_NOTE, VIEW_MARKER, "mcp {server}: {text}" },
	{ EVENT_COMMAND_BACKGROUND, VIEW_MARKER, "{id} runs in the background: {command}" },
	{ EVENT_COMMAND_ENDED, VIEW_MARKER, "{id} {state} (exit {exit_code}): {command}" },
	{ EVENT_BACKGROUND_NUDGE, VIEW_MARKER, "not finished yet: commands run in the background" },
	{ EVENT_RUN_PAUSE, VIEW_MARKER, "pausing {how}" },
	{ EVENT_STANDING_RESUMED, VIEW_MARKER, "the standing goal goes on ({reason})" },
	{ EVENT_COMPACT_REFUSED, VIEW_MARKER, "context: {reason}" },
	{ EVENT_COMPACT_SUMMARISE, VIEW_MARKER, "context: asking for a note of {messages} messages" },
	{ EVENT_PIN_REFUSED, VIEW_WARNING, "not pinned: {chars} characters, {limit} in all" },
	{ EVENT_METRIC_SAMPLE, VIEW_MARKER, "metric {label}: {score}" },
	{ EVENT_REVIEW_START, VIEW_MARKER, "review ({trigger}): asking" },
	{ EVENT_REVIEW_SEAT, VIEW_MARKER, "review by {persona} ({model}): {verdict}, findings: {findings}" },
	{ EVENT_REVIEW_LOOK, VIEW_MARKER, "review by {persona}: looks with {name}" },
	{ EVENT_REVIEW_PANEL, VIEW_MARKER, "review ({decision}): {n_block} block, {n_abstain} abstain" },
	{ EVENT_REVIEW_SKIPPED, VIEW_MARKER, "no review: {reason}" },
	{ EVENT_REVIEW_REJECTED, VIEW_MARKER, "not finished yet: the review blocks it" },
	{ EVENT_REVIEW_SILENT, VIEW_MARKER, "not finished yet: the review blocks it" },
	{ EVENT_REVIEW_CAP, VIEW_MARKER, "review: sent back often enough ({rejections} times in all), the person decides" },
	{ EVENT_METRIC_CEILING, VIEW_MARKER, "metric: {score} is all there is" },
	{ EVENT_COMPACT_SUMMARISED, VIEW_MARKER, "context summarised ({summary_chars} characters)" },
	{ EVENT_COMPACT_DROPPED, VIEW_MARKER, "context: {n} old results set aside" },
	{ EVENT_COMPACT_PICTURES, VIEW_MARKER, "context: {n} pictures set aside" },
	{ EVENT_COMPACT_THINKING, VIEW_MARKER, "context: the thoughts of {turns} old answers set aside" },
	{ EVENT_COMPACT_FAILED, VIEW_WARNING, "context could not be summarised: {error}" },
	{ EVENT_PLAN_REREAD, VIEW_MARKER, "the plan was changed by hand ({bytes} bytes): the person's holds" },
	{ EVENT_STEER_ABORTED, VIEW_MARKER, "stopped by the operator" },
};

const struct sentence *sentence_of(enum event_id id)
{
	for (size_t i = 0; i < COUNT(sentences); i++)
		if (sentences[i].id == id)
			return &sentences[i];
	return NULL;
}

/* A time is for people: "1.5 s". */
static int add_time(struct jval j, struct buf *out, struct err *err)
{
	int64_t ms;

	if (!jval_to_i64(j, &ms))
		return buf_addz(out, "?", err);
	return buf_addf(out, err, "%.1f s", (double)ms / 1000);
}

static int add_value(struct str name, struct jval j, struct buf *out, struct err *err)
{
	if (str_ends(name, STR("_ms")))
		return add_time(j, out, err);
	if (j.type == JSCAN_STRING)
		return jval_add_text(out, j, NUL_REPLACE, err);
	if (j.type == JSCAN_ARRAY)
		return brief_upto(j, WHOLE_BYTES, out, err);
	return j.type == JSCAN_NONE || j.type == JSCAN_NULL ? buf_addz(out, "?", err) : buf_add(out, j.text, err);
}

int sentence_add(const struct sentence *s, sentence_field_fn *field, const void *self, struct buf *out, struct err *err)
{
	struct str form = str_from(s->form);

	while (form.n > 0) {
		size_t open = str_find_any(form, STR("{"));

		TRY(buf_add(out, str_head(form, open), err));
		form = str_skip(form, open);
		if (form.n == 0)
			break;
		form = str_skip(form, 1);

		struct str name = str_cut(&form, '}');

		TRY(add_value(name, field(self, name), out, err));
	}
	return 0;
}
