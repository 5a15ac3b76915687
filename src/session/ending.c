/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/ending.h"

#include "fmt/names.h"

#define NAMES_SHOWN 10

static const char *const final[] = { "finish_run", "silent_finish", "settled", "verify_settled", "metric_plateau",
	"gate_red_at_base", "gate_stale", "answered", "finish_planning", "reviewed",
	"review_blocked", "review_inconclusive" };

bool ending_is_final(struct str reason)
{
	for (size_t i = 0; i < COUNT(final); i++)
		if (str_eqz(reason, final[i]))
			return true;
	return false;
}

/* Every reason that is written into run.end, by the agent or by the monitor. */
static const char *const all[] = { "other", "finish_run", "silent_finish", "settled", "verify_settled", "gate_red_at_base", "gate_stale",
	"answered", "finish_planning", "reviewed", "review_blocked", "review_inconclusive", "open_questions", "plan_rejected",
	"metric_plateau", "prompt_revision_failed", "went_quiet", "budget_exhausted", "provider_error", "no_progress",
	"tool_error_stuck", "verify_command_unexecutable", "loop_guard_killed", "max_iterations", "steer_abort", "interrupted",
	"record_lost", "jail_lost", "crashed", "refused", "protocol", "unsafe_repository", "git_changed", "plan_declined",
	"git_overdue" };

uint8_t ending_number(struct str reason)
{
	for (size_t i = 1; i < COUNT(all); i++)
		if (str_eqz(reason, all[i]))
			return (uint8_t)i;
	return 0;
}

const char *ending_word(uint8_t number)
{
	return all[number < COUNT(all) ? number : 0];
}

static int say(const char *what, const struct str_list *names, struct buf *out, struct err *err)
{
	if (names->n == 0)
		return 0;
	TRY(buf_addz(out, what, err));
	return names_add(out, names, NAMES_SHOWN, err);
}

int ending_say_untracked(const struct str_list *edited, const struct str_list *deleted, struct buf *out, struct err *err)
{
	TRY(say("changed but in no commit, since they were untracked when the run began: ", edited, out, err));
	return say(edited->n > 0 ? "; deleted, and in no commit either: "
				 : "deleted, and in no commit, since they were untracked when the run began: ", deleted, out, err);
}

int ending_say_gate(const struct str_list *touched, struct buf *out, struct err *err)
{
	return say("the change touches what the gate runs: ", touched, out, err);
}
