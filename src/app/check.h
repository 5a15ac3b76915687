/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* check: what is right and what is wrong here, one row for each fact, without a run.
 *
 * Shape    check_config, check_keys, check_sandbox, check_boundaries; each calls row for every fact it finds. Keys are looked
 *          for but not looked at, and nothing is asked of a network.
 * Memory   The arena is the caller's. What row is told dies when it returns.
 * Errors   A wrong fact is a row, not an error. Failures of the check itself are errors.
 */
#ifndef APP_CHECK_H
#define APP_CHECK_H

#include "app/place.h"

enum check_verdict { CHECK_PASS, CHECK_FAIL, CHECK_INFO };

struct check {
	/* promise: which of SECURITY.md it belongs to ("P1"), or "". */
	void (*row)(void *self, enum check_verdict v, const char *name, const char *promise, const char *detail);
	void *self;
	struct arena *mem;
};

int check_config(const struct check *k, const struct place *place, struct err *err) CHECKED;
int check_keys(const struct check *k, const struct place *place, struct err *err) CHECKED;
/* Tries each mechanism in a jail of its own, in a scratch directory, under the profile that a run here would get.
 * An unloadable configuration counts as the defaults: how this host confines is worth knowing then too. */
int check_sandbox(const struct check *k, const struct place *place, struct err *err) CHECKED;
/* For each process of a run: what it may read, write, reach and call, from what a run here would be started with. */
int check_boundaries(const struct check *k, const struct place *place, struct err *err) CHECKED;

#endif
