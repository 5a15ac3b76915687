/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/sides.h"

#include "agent/seats.h"

const struct side *const sides[] = { &side_planner, &side_critic, &side_reviewer, &side_gate, &side_reviser, &side_subject, &side_summarizer,
	&side_btw, NULL };

int side_prompt(const struct side *s, struct buf *out, struct err *err)
{
	const struct seat_ask ask = { .system = str_from(s->system ? s->system : ""), .fields = s->fields, .nfields = s->nfields };

	return seat_system(&ask, out, err);
}
