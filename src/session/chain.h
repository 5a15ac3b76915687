/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* chain: the shape of one journal line, and the hash that ties it to the line before.
 *
 * Shape    line_parse recognises a line by its fixed head and tail alone, without reading the JSON
 *          between: the writer, the verifier and the fold all use it.
 * Memory   Views into the line.
 * Errors   A line that has no journal shape is LINE_BAD.
 * Source   session/journal.h, "A line".
 */
#ifndef SESSION_CHAIN_H
#define SESSION_CHAIN_H

#include "base/str.h"

#define CHAIN_HEX 64

enum line_kind { LINE_BAD, LINE_DURABLE, LINE_VOLATILE };

struct journal_line {
	enum line_kind kind;
	struct str ts;   /* 27 bytes */
	int64_t seq;     /* durable: from 1 */
	struct str type;
	struct str rest; /* after the type's closing quote: ',"field":...' up to h or volatile, may be empty */
	struct str body; /* durable: what is hashed, without the closing brace */
	struct str h;    /* durable: 64 hex digits */
};

/* line: without its newline. */
struct journal_line line_parse(struct str line);

/* h of a line: prev (64 hex digits), then body and '}'. */
void chain_next(const char prev[CHAIN_HEX], struct str body, char out[CHAIN_HEX + 1]);
/* One hash over two texts, a NUL between them. */
void chain_text(struct str a, struct str b, char out[CHAIN_HEX + 1]);
bool chain_is_hash(struct str s); /* 64 hex digits, small ones */
void chain_first(char out[CHAIN_HEX + 1]); /* 64 zeros */

#endif
