/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/ending.h"

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
