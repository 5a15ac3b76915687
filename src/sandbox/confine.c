/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/confine.h"
#include "sandbox/caps.h"

#include <errno.h>
#include <sys/resource.h>

int confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err)
{
	struct rlimit none = { 0, 0 };
	struct seccomp_filter filter;

	TRY(seccomp_build(profile, &filter, err));
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(err, errno, "forbid core dumps");
	TRY(caps_drop_all(err));
	TRY(caps_undumpable(err));
	TRY(landlock_confine(rules, n, err));
	/* Last: it refuses what the steps above need. */
	return seccomp_enter(&filter, err);
}
