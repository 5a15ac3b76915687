/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* request: the body of one model call.
 *
 * Shape    request_encode(spec, conversation, options, out). The client adds URL and credential.
 * Memory   Appends to out. Caches in the conversation what its wire needs, hence not const.
 * Errors   -ERR_LIMIT when the body outgrows out; -ERR_INVALID for an extra_body that is not an object.
 * Source   docs/providers.md. Linear in the bytes of the conversation; nothing is parsed again.
 */
#ifndef PROVIDER_REQUEST_H
#define PROVIDER_REQUEST_H

#include "provider/conversation.h"
#include "provider/model.h"

struct request_options {
	bool no_tools; /* the tools are named, as the history needs them, but may not be called */
};

int request_encode(const struct model_spec *spec, struct conversation *c, const struct request_options *opts,
	struct buf *out, struct err *err) CHECKED;

/* Bytes of pictures in such a body beyond what they count as (PICTURE_BYTES): no measure of what a model reads. */
size_t request_unweighed(const struct model_spec *spec, const struct conversation *c);

/* True when a member of this name in extra_body would be ignored. */
bool request_key_is_reserved(enum api_wire wire, struct str key);

#endif
