/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lookup: what the broker asks the process that looks names up, and what that answers.
 *
 * Shape    Both packed into a body of a fixed size (fmt/wire.h, WIRE_LOOK_UP and WIRE_LOOKED_UP). A name is asked for by
 *          the index of its route: there is no way to ask for another one.
 * Errors   -ERR_PROTOCOL for bytes that are not such a body. What an address may be used for is the asker's to decide:
 *          whoever answers read packets of strangers.
 */
#ifndef FMT_LOOKUP_H
#define FMT_LOOKUP_H

#include "base/buf.h"

#define LOOKUP_ADDRS 8

struct lookup_question {
	uint32_t link, turn; /* come back in the answer: a link may have been reused meanwhile */
	uint8_t route;
};

struct lookup_addr {
	bool v6;
	unsigned char bytes[16]; /* in network order; the first four of an IPv4 address */
};

struct lookup_answer {
	uint32_t link, turn;
	int gai, sys; /* what getaddrinfo said; errno with EAI_SYSTEM */
	size_t n;
	struct lookup_addr addrs[LOOKUP_ADDRS];
};

int lookup_ask_pack(const struct lookup_question *q, struct buf *out, struct err *err) CHECKED;
int lookup_ask_unpack(struct str body, struct lookup_question *out, struct err *err) CHECKED;
int lookup_answer_pack(const struct lookup_answer *a, struct buf *out, struct err *err) CHECKED;
int lookup_answer_unpack(struct str body, struct lookup_answer *out, struct err *err) CHECKED;

#endif
