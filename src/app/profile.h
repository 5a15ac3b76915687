/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* profile: the configured sandbox.profile turned into what this host will do for a run.
 *
 * Shape    profile_wish what was asked for, profile_probe what there is; sandbox/probe.h makes one profile of the two.
 * Errors   Those of probe_look. What this host refuses is a fact in *out and no error; nor is an agent6-jail that cannot be asked.
 * Source   docs/sandbox.md, "Profiles".
 */
#ifndef APP_PROFILE_H
#define APP_PROFILE_H

#include "config/config.h"
#include "sandbox/probe.h"

enum probe_wish profile_wish(const struct config *c);
/* What this host can do for agent6-jail, which makes the namespaces. It is asked where agent6 itself may make none, and
 * wherever AppArmor is in use, since that allows or refuses them by program. */
int profile_probe(struct probe *out, struct err *err) CHECKED;

#endif
