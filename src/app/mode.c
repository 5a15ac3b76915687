/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/mode.h"

#include <string.h>

static const struct app_mode modes[] = {
	{ "run", SESSION_RUN, CONFIG_WORKER, .writes = true, .commands = true },
	{ "plan", SESSION_PLAN, CONFIG_PLANNER, .commands = true },
	{ "ask", SESSION_ASK, CONFIG_WORKER, .commands = true },
	{ "review", SESSION_REVIEW, CONFIG_REVIEWER, .needs_repo = true },
};

const struct app_mode *app_mode_find(const char *word)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (strcmp(modes[i].word, word) == 0)
			return &modes[i];
	return NULL;
}

const struct app_mode *app_mode_of_kind(enum session_kind kind)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (modes[i].kind == kind)
			return &modes[i];
	return NULL;
}
