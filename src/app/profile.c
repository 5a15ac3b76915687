/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/profile.h"

enum probe_wish profile_wish(const struct config *c)
{
	static const enum probe_wish wishes[] = {
		[CONFIG_PROFILE_AUTO] = WISH_AUTO,
		[CONFIG_PROFILE_STRICT] = WISH_STRICT,
		[CONFIG_PROFILE_HARDENED] = WISH_HARDENED,
		[CONFIG_PROFILE_NONE] = WISH_NONE,
	};

	return wishes[c->sandbox.profile];
}
