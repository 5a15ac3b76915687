/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* profile: the configured sandbox.profile turned into what this host will do for a run.
 *
 * Errors   -ERR_UNSUPPORTED when an explicit wish cannot be honoured, or when all this host could do is
 *          hardened: that confines single commands of agent6-jail, and no whole run yet. The message
 *          says why strict is not to be had, the hint what to do about it.
 * Source   docs/sandbox.md, "Profiles".
 */
#ifndef APP_PROFILE_H
#define APP_PROFILE_H

#include "config/config.h"
#include "sandbox/probe.h"

enum probe_wish profile_wish(const struct config *c);
/* notice: what was weakened or is missing, empty when nothing. */
int profile_resolve(const struct probe *host, enum probe_wish wish, enum policy_profile *out, struct buf *notice,
	struct err *err) CHECKED;

#endif
