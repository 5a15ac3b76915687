/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* profile: the configured sandbox.profile turned into what this host will do for a run.
 *
 * Source   docs/sandbox.md, "Profiles".
 */
#ifndef APP_PROFILE_H
#define APP_PROFILE_H

#include "config/config.h"
#include "sandbox/probe.h"

enum probe_wish profile_wish(const struct config *c);

#endif
