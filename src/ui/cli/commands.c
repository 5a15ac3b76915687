/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/args.h"

const struct command_group *const command_groups[] = {
	&commands_init,
	&commands_run,
	&commands_modes,
	&commands_runs,
	&commands_verify,
	&commands_watch,
	&commands_exec,
	&commands_history,
	&commands_replay,
	&commands_search,
	&commands_transcript,
	&commands_remove,
	&commands_compare,
	&commands_graph,
	&commands_memory,
	&commands_prompt,
	&commands_config,
	&commands_connect,
	&commands_demo,
	&commands_check,
	&commands_system,
	&commands_shell,
	&commands_skills,
	&commands_mcp,
	NULL,
};
