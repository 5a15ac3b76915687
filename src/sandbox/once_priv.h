/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* once_priv: what the launcher shares with the process that starts the command. Inside sandbox/ only. */
#ifndef SANDBOX_ONCE_PRIV_H
#define SANDBOX_ONCE_PRIV_H

#include "sandbox/cell.h"
#include "sandbox/policy.h"

/* Written once, when the command stands or why it does not. */
struct once_verdict {
	int r, exec_errno;
	struct err err;
	char covered[CELL_COVERED_MAX]; /* what the cell says of that */
};

struct once {
	const struct sandbox_policy *policy;
	int out[2], errs[2], verdict[2];
	int life; /* hardened: closing it ends the command */
	char *step; /* what was read last; NULL until something is */
};

#endif
