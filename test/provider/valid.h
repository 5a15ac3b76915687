/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* valid: whether a server would take the history of a request, by the rules of each wire.
 *
 * Shape    valid_request(wire, body): NULL, or what the server would refuse, as its own message would say.
 * Source   anthropic-messages.md, openai-chat.md and openai-responses.md of the protocol notes, read 2026-11.
 */
#ifndef TEST_PROVIDER_VALID_H
#define TEST_PROVIDER_VALID_H

#include "provider/model.h"

const char *valid_request(enum api_wire wire, struct str body);

#endif
