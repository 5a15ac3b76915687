/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* check_priv: what the two files of check_sandbox share. */
#ifndef APP_CHECK_PRIV_H
#define APP_CHECK_PRIV_H

#include "app/check.h"
#include "role/launch.h"
#include "sandbox/probe.h"

struct box {
	const struct check *k;
	const struct place *place;
	const struct config *config;
	struct programs programs;
	struct probe host;
	enum policy_profile profile;
	char dir[64];     /* scratch workspace; empty: none yet */
	char outside[64]; /* a directory beside it that everybody may write, but no jail */
};

/* check_probes.c: the table of what is tried, one row each. */
int check_probes(struct box *b, struct err *err) CHECKED;

#endif
