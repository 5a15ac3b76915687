/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* turn_priv: the reply and its message, made from the blocks that were collected. */
#ifndef PROVIDER_TURN_PRIV_H
#define PROVIDER_TURN_PRIV_H

#include "provider/reply_priv.h"

void turn_recover(struct reply_stream *s);             /* calls written as text become calls */
void turn_make(struct reply_stream *s, struct reply *out); /* may find that the answer is too large */

/* Who made a message: "<wire>:<model>". */
struct str turn_origin(const struct model_spec *spec, struct arena *mem);

#endif
