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

int profile_resolve(const struct probe *host, enum probe_wish wish, enum policy_profile *out, struct buf *notice,
	struct err *err)
{
	const char *reason = probe_reason(host), *remedy = probe_remedy(host);
	enum policy_profile profile;

	TRY(probe_resolve(host, wish, &profile, notice, err));
	if (profile == PROFILE_HARDENED) {
		int r = err_set(err, ERR_UNSUPPORTED, "the profile \"hardened\" does not confine a whole run yet, only single "
						      "commands of agent6-jail%s%s", reason[0] ? "; strict is not possible: " : "",
			reason);

		err_hint(err, "%s", reason[0] ? remedy : "agent6 config set sandbox.profile strict");
		return r;
	}
	*out = profile;
	return 0;
}
