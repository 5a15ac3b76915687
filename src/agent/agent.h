/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent: the process that reads everything hostile and can do nothing by itself.
 *
 * Shape    `agent6 --role agent`, descriptors 3 to 7: monitor, command zygote, git zygote, client, recorder.
 *          It waits for WIRE_GO, opens the workspace and what was granted, confines itself, then drives one
 *          conversation to its end and says WIRE_DONE.
 * Errors   The exit status is 0 when WIRE_DONE was said, else 1.
 * Source   docs/architecture.md, "The processes of a run".
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "base/err.h"

struct links;

int role_agent_main(void);
int role_toolsmith_main(void); /* role/toolsmith.h */

/* The same over channels that a test holds the other ends of; confine false leaves this process as it is. */
int agent_serve(struct links *l, bool confine, struct err *err) CHECKED;

#endif
