/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* listing: what `runs list` and `runs show` tell about sessions, read from the disk.
 *
 * Shape    listing_load for many, in a glance each; listing_open for one, folded whole.
 * Memory   Rows live in the arena. A struct listing_one owns its view.
 * Errors   A session whose manifest or journal cannot be read is listed as "unreadable".
 * Units    Milliseconds since the epoch, UTC; dollars.
 */
#ifndef VIEW_LISTING_H
#define VIEW_LISTING_H

#include "session/layout.h"
#include "session/manifest.h"
#include "view/fold.h"

struct listing_row {
	struct session_entry entry;
	struct str word, reason; /* reason may be empty */
	struct str task, mode;
	double usd;              /* below 0: not known */
	bool usd_partial, unmerged; /* it ended with commits that nobody merged */
};

int listing_load(const char *repo_dir, unsigned kinds, struct arena *mem, struct listing_row **out, size_t *out_n,
	struct err *err) CHECKED;

struct listing_one {
	struct session_ref ref;
	struct manifest manifest;
	bool has_manifest, live;
	int64_t owner;      /* process, or 0 */
	struct view *view;  /* owned */
	int64_t start_ms, last_ms; /* of the journal; 0: none */
};

int listing_open(const char *repo_dir, const struct session_ref *ref, struct arena *mem, struct listing_one *out,
	struct err *err) CHECKED;
void listing_close(struct listing_one *one);
#define auto_listing CLEANUP(listing_close)

int64_t listing_ms(struct str iso); /* of a journal's ts; 0 when it is none */

#endif
