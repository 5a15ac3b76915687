/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* view_role: the foreground view of a run, a process of its own.
 *
 * Shape    `agent6 --role view`, with the person's stdin, stdout and stderr; descriptor 3 is the channel to
 *          the monitor. WIRE_VIEW_OPEN says what to show: run id, whether somebody can answer, and words:
 *          "color" and "utf8" (sys/term.h), "since=TS" (what was recorded before is not shown), "result=text|once|json" (what a session that
 *          only looks came to goes to stdout at the end; a third descriptor gets a plan's questions). The view confines
 *          itself, follows the record, writes stderr, asks and answers, and ends with the run.
 *          SIGINT is the monitor's to handle.
 * Errors   Exit status 1 when it could not show the run; the run does not mind.
 * Source   docs/architecture.md, "The view". It stands in ui/ and not in role/, because it draws.
 */
#ifndef UI_CLI_VIEW_ROLE_H
#define UI_CLI_VIEW_ROLE_H

int role_view_main(void); /* exit status */

#endif
