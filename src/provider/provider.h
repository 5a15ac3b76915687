/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* provider: model APIs. Typed request in, typed events out; no socket, no key, no clock.
 *
 * Shape    conversation.h keeps what was said; request.h makes a body of it; the client carries it;
 *          reply.h reads the answer; fault.h says what failed and when to try again; usage.h counts.
 *          A wire (Anthropic, Chat, ...) is one row in wires.c and lives in files of its own.
 */
#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include "provider/conversation.h"
#include "provider/fault.h"
#include "provider/model.h"
#include "provider/reply.h"
#include "provider/request.h"
#include "provider/usage.h"

#endif
