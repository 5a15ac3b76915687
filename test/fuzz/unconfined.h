/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* unconfined: in the place of the sandbox's confine_self, for a process of ours that plays its part within a fuzzer: that has to go on. */
#ifndef TEST_FUZZ_UNCONFINED_H
#define TEST_FUZZ_UNCONFINED_H

#include "sandbox/confine.h"

int confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err)
{
	(void)profile, (void)rules, (void)n, (void)err;
	return 0;
}

#endif
