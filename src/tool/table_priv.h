/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* table_priv: the tools, one file each; tool.c puts them in the model's order. */
#ifndef TOOL_TABLE_PRIV_H
#define TOOL_TABLE_PRIV_H

#include "tool/tool.h"

#define MODES_ALL     (MODE_RUN | MODE_PLAN | MODE_ASK | MODE_REVIEW)
#define TOOL_FILE_MAX ((size_t)64 * 1024 * 1024) /* larger files are for commands to edit */

extern const struct tool tool_read_file, tool_list_dir, tool_grep, tool_outline, tool_find_definition, tool_find_references, tool_apply_edit, tool_apply_patch,
	tool_run_verify_command, tool_run_command, tool_run_metric_command, tool_read_background, tool_stop_background, tool_ask_user, tool_add_task,
	tool_update_task, tool_list_tasks, tool_add_memory, tool_invalidate_memory, tool_use_skill, tool_finish_run,
	tool_finish_planning;

/* Notes a file that was changed, for the record. */
void outcome_add_path(struct tool_ctx *ctx, struct tool_outcome *oc, struct str shown);

#endif
