/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* recover_priv: the spellings in which models write calls as text.
 *
 * Shape    A reader is tried on the whole visible text; it adds to the list what it understood.
 */
#ifndef PROVIDER_RECOVER_PRIV_H
#define PROVIDER_RECOVER_PRIV_H

#include "base/vec.h"
#include "fmt/jscan.h"

struct found_call {
	size_t at, n;      /* the span of the text it takes away */
	struct buf name;   /* owned */
	struct buf args;   /* owned; a JSON object */
};

struct recovery {
	struct jval tools; /* the array of tools offered */
	VEC(struct found_call);
};

/* The schema of an offered tool; JSCAN_NONE when there is none of this name. */
struct jval recovery_schema(const struct recovery *r, struct str name);
struct found_call *recovery_add(struct recovery *r, size_t at, size_t n, struct str name);
void recovery_drop_last(struct recovery *r);
/* Adds "key":value to an args buf that begins with '{'; value is JSON. */
int recovery_member(struct buf *args, struct str key, struct str json, struct err *err) CHECKED;

void recover_python(struct recovery *r, struct str text); /* ```tool_code fences with Python calls */

#endif
