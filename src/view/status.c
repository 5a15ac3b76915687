/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/fold.h"

#include <string.h>

/* How a recorded reason is said, and the word for a run that ended so; NULL: by its gate. */
static const struct {
	const char *reason, *said, *word;
} reasons[] = {
	{ "finish_run", "finished", NULL },
	{ "finish_session", "finished", NULL },
	{ "finish_planning", "plan written", "planned" },
	{ "answered", "answered", "answered" },
	{ "reviewed", "reviewed", "reviewed" },
	{ "review_blocked", "the review blocks", "blocked" },
	{ "review_inconclusive", "no reviewer gave a verdict", "failed" },
	{ "silent_finish", "finished without saying so", NULL },
	{ "settled", "nothing left to change", "finished" },
	{ "verify_settled", "the gate stays green", NULL },
	{ "metric_plateau", "the metric stopped improving", NULL },
	{ "gate_red_at_base", "the gate was already red", "finished" },
	{ "gate_stale", "the gate is out of date", NULL },
	{ "prompt_revision_failed", "the task could not be restated", "failed" },
	{ "open_questions", "questions wait for an answer", "stopped" },
	{ "plan_rejected", "there is no plan to go by", "failed" },
	{ "plan_declined", "you did not say yes to the plan", "stopped" },
	{ "went_quiet", "the model went quiet", "failed" },
	{ "budget_exhausted", "budget exhausted", "failed" },
	{ "provider_error", "provider error", "failed" },
	{ "no_progress", "no progress", "failed" },
	{ "tool_error_stuck", "the same tool error again and again", "failed" },
	{ "verify_command_unexecutable", "the gate cannot be run in the jail", "failed" },
	{ "loop_guard_killed", "the same call again and again", "failed" },
	{ "max_iterations", "turn limit reached", "failed" },
	{ "steer_abort", "stopped by the operator", "stopped" },
	{ "interrupted", "interrupted", "stopped" },
	{ "interactive_stop", "stopped by the operator", "stopped" },
	{ "stopped", "stopped by the operator", "stopped" },
	{ "undone", "undone", "stopped" },
	{ "record_lost", "the record could not be written", "failed" },
	{ "jail_lost", "the jail died", "failed" },
	{ "git_overdue", "git did not end", "failed" },
	{ "git_changed", "the repository's settings or refs were changed", "failed" },
	{ "unsafe_repository", "a repository appeared that could not be set aside", "failed" },
	{ "protocol", "a process broke its rules", "failed" },
	{ "crashed", "crashed", "failed" },
};

const char *view_reason(struct str reason)
{
	for (size_t i = 0; i < COUNT(reasons); i++)
		if (str_eqz(reason, reasons[i].reason))
			return reasons[i].said;
	return NULL;
}

const char *view_gate_unasked(const struct view_state *s)
{
	bool may_change = strcmp(s->mode, "run") == 0;

	return s->end.gated && may_change && str_eqz(buf_str(&s->end.verified), "not_applicable")
		? "nothing was changed; the gate was not run" : NULL;
}

static struct view_status ended(const struct view_end *e)
{
	struct str reason = buf_str(&e->reason);
	const char *said = view_reason(reason), *word = NULL;

	for (size_t i = 0; i < COUNT(reasons); i++)
		if (str_eqz(reason, reasons[i].reason))
			word = reasons[i].word;
	if (!word && e->all_passed == TRI_TRUE)
		return (struct view_status){ "passed", NULL };
	if (!word && e->all_passed == TRI_FALSE)
		return str_eqz(buf_str(&e->verified), "unverified")
			? (struct view_status){ "unverified", "the gate did not run after the last change" }
			: (struct view_status){ "failed", "the gate is red" };
	if (word && strcmp(word, "finished") == 0 && e->all_passed == TRI_TRUE)
		return (struct view_status){ "passed", NULL };
	if (word && strcmp(word, "finished") != 0)
		return (struct view_status){ word, strcmp(word, said) == 0 ? NULL : said }; /* said once is enough */
	if (str_eqz(reason, "gate_red_at_base"))
		return (struct view_status){ "finished", said };
	if (str_eqz(buf_str(&e->verified), "not_applicable")) /* there was nothing to verify */
		return (struct view_status){ "finished", NULL };
	return (struct view_status){ "finished", "unverified" };
}

struct view_status view_status(const struct view_state *s, bool live)
{
	if (s->end.seen)
		return ended(&s->end);
	if (live && s->nprompts > 0)
		return (struct view_status){ "waiting", "needs answer" };
	if (live && s->paused)
		return (struct view_status){ "waiting", "paused" };
	if (!s->started)
		return live ? (struct view_status){ "starting", NULL } : (struct view_status){ "created", NULL };
	return live ? (struct view_status){ "running", NULL } : (struct view_status){ "stale", "likely crashed" };
}
