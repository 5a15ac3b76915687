/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* secret: bytes that no formatter accepts and that are wiped when they die.
 *
 * Shape    secret_set once; secret_reveal where it must be seen; secret_fini.
 * Memory   secret_fini overwrites before it frees. There is no conversion to struct str but
 *          secret_reveal, so a review can find every place that looks inside.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/str.h"

struct secret {
	char *hidden;
	size_t size;
};

void secret_set(struct secret *s, struct str value); /* copies */
void secret_fini(struct secret *s);
#define auto_secret CLEANUP(secret_fini)
struct str secret_reveal(const struct secret *s);
bool secret_is_empty(const struct secret *s);

#endif
