/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* owner: works in a repository of somebody else only where the person's git would.
 *
 * Shape    owner_check once the configuration is loaded, before anything is made or started for the repository.
 * Memory   In the arena, and nothing of it is kept.
 * Errors   -ERR_DENIED with whose it is and how to say that it is trusted.
 *
 * Git asks this when it finds a repository. Ours is told where one is (GIT_DIR) and asks nothing, so it is asked here; and
 * of what the person trusts the person's git is asked, which is run for it only where the owner is another one.
 */
#ifndef APP_OWNER_H
#define APP_OWNER_H

#include "app/place.h"

int owner_check(const struct discovered *d, const struct config *c, struct arena *mem, struct err *err) CHECKED;
/* The same of what lies around the place; where that is no repository nothing is asked. */
int owner_check_place(const struct place *place, const struct config *c, struct arena *mem, struct err *err) CHECKED;

#endif
