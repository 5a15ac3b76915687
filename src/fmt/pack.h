/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* pack: bodies of messages between our own processes: fixed-size integers and counted strings.
 *
 * Shape    pack_* append to a buf; unpack_* read from a struct unpack in the same order. A reader
 *          that went past the end or met a wrong count is `bad` and returns zeros from then on;
 *          unpack_done says whether everything was there and nothing was left.
 * Memory   Strings read are views into the message.
 * Errors   pack_ok: -ERR_LIMIT. A message that does not read is for its reader to name.
 * Units    Little endian. A string is u32 length and bytes; a list is u32 count and strings.
 */
#ifndef FMT_PACK_H
#define FMT_PACK_H

#include "base/arena.h"
#include "base/buf.h"

#define PACK_STRS_MAX 4096

/* The buf's max bounds the message; exceeding it is a bug of the sender's bookkeeping, so these
 * latch: pack_ok tells at the end. */
void pack_u8(struct buf *b, uint8_t v);
void pack_u16(struct buf *b, uint16_t v);
void pack_u32(struct buf *b, uint32_t v);
void pack_u64(struct buf *b, uint64_t v);
void pack_i64(struct buf *b, int64_t v);
void pack_f64(struct buf *b, double v);
void pack_str(struct buf *b, struct str s);
void pack_strs(struct buf *b, const struct str *list, size_t n);
int pack_ok(const struct buf *b, struct err *err) CHECKED; /* -ERR_LIMIT when something did not fit */

struct unpack {
	struct str rest;
	bool bad;
};

struct unpack unpack_from(struct str body);
uint8_t unpack_u8(struct unpack *u);
uint16_t unpack_u16(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
int64_t unpack_i64(struct unpack *u);
double unpack_f64(struct unpack *u);
struct str unpack_str(struct unpack *u);
struct str *unpack_strs(struct unpack *u, struct arena *mem, size_t max, size_t *n);
bool unpack_done(const struct unpack *u);

#endif
