/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* scrub: takes the key out of a body that is on its way to the agent. Some servers repeat the key in
 * their error text, and the agent must never hold it.
 *
 * Shape    scrub_feed for each piece, scrub_end once. A key that is cut over pieces is found: a tail
 *          that could be its beginning is held back until the next byte decides.
 * Memory   The key is borrowed. At most its length is held.
 * Errors   -ERR_LIMIT when out is full: a piece may grow by a quarter and what was held.
 */
#ifndef NET_SCRUB_H
#define NET_SCRUB_H

#include "base/buf.h"
#include "base/secret.h"

#define SCRUB_MIN  8 /* a shorter key would blank ordinary words */
#define SCRUB_TEXT "<REDACTED>"

struct scrub {
	const struct secret *key; /* NULL or shorter than SCRUB_MIN: bytes pass unchanged */
	size_t held;              /* so many first bytes of the key were seen and not passed on */
};

int scrub_feed(struct scrub *s, struct str in, struct buf *out, struct err *err) CHECKED;
int scrub_end(struct scrub *s, struct buf *out, struct err *err) CHECKED;

#endif
