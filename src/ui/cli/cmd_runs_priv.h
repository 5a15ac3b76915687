/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* cmd_runs_priv: what the files of the `runs` commands share. */
#ifndef UI_CLI_CMD_RUNS_PRIV_H
#define UI_CLI_CMD_RUNS_PRIV_H

#include "app/place.h"
#include "fmt/json.h"
#include "session/layout.h"
#include "ui/cli/command.h"

struct id_args {
	struct str id;
};

/* The session a person named, or the newest of the kinds when the word is empty. */
int runs_find(struct command_ctx *ctx, struct str word, unsigned kinds, struct place *place, struct session_ref *ref,
	struct err *err) CHECKED;

/* Before the first byte of a record is read: these directories can be read and nothing else. Where the host cannot
 * confine, that is said. */
int runs_confine(const int *dirs, size_t n, struct err *err) CHECKED;
/* The same for the sessions of a place; before there are any there is nothing to read. */
int runs_confine_to(const struct place *place, struct err *err) CHECKED;

/* What `runs show ID` prints. The process can do nothing else afterwards. */
int runs_show(struct command_ctx *ctx, struct str id, struct err *err) CHECKED;

/* One JSON value and a line feed on standard output. */
int runs_print_json(const json_t *j, struct err *err) CHECKED;

json_t *runs_names_json(const struct str_list *names); /* a list */
/* What git.auto_merge does after a run that ended well; the exit status of `runs merge`. */
int runs_auto_merge(struct command_ctx *ctx, struct str run_id, struct err *err) CHECKED;

#endif
