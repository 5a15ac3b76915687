/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lsp: how the Language Server Protocol frames messages, names files and counts columns.
 *
 * Shape    lsp_feed with whatever came; on_message runs inside it, once per message. lsp_frame writes one.
 * Memory   One message, at most `max` bytes, is held. The views in rpc_message die when on_message returns.
 * Errors   Whatever on_message returned, -ERR_PROTOCOL when the bytes are no frame or a frame would be larger than `max`;
 *          afterwards only lsp_reader_fini is legal. A frame whose text is no message is skipped, LSP_JUNK_MAX of them in a row are not.
 * Units    Columns of the protocol begin at 0 and count UTF-16 units, or bytes where both sides agreed on that.
 * Source   Language Server Protocol 3.17, "Base Protocol", "Position", "URI"; RFC 3986.
 */
#ifndef FMT_LSP_H
#define FMT_LSP_H

#include "fmt/jsonrpc.h"

#define LSP_HEAD_MAX 4096
#define LSP_JUNK_MAX 20

struct lsp_reader {
	rpc_message_fn *on_message;
	void *self; /* borrowed, passed to on_message */
	size_t max;
	struct buf head, body;
	bool in_body;
	size_t want; /* bytes of the body */
	unsigned junk;
};

void lsp_reader_init(struct lsp_reader *r, size_t max, rpc_message_fn *on_message, void *self);
void lsp_reader_fini(struct lsp_reader *r);
#define auto_lsp_reader CLEANUP(lsp_reader_fini)
int lsp_feed(struct lsp_reader *r, struct str bytes, struct err *err) CHECKED;
int lsp_frame(struct buf *out, struct str text, struct err *err) CHECKED;

int lsp_uri_add(struct buf *out, struct str path, struct err *err) CHECKED; /* of an absolute path */
/* The path of a file: URI of this machine; -ERR_INVALID: it is none. */
int lsp_uri_path(struct str uri, struct buf *out, struct err *err) CHECKED;

/* Of one line without its end. Beyond it, or within a character: the next place that is one. */
size_t lsp_bytes_of(struct str line, int64_t units);
int64_t lsp_units_of(struct str line, size_t bytes);

#endif
