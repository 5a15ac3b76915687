/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lsp_priv: lsp.c has the lives of language servers, lsp_talk.c what is said, lsp_docs.c the files that are open there. */
#ifndef AGENT_LSP_PRIV_H
#define AGENT_LSP_PRIV_H

#include "agent/lsp.h"

/* lsp.c */
int lsp_ready(struct lsp_peer *s, struct err *err) CHECKED; /* it began: on record */
int lsp_give_up(struct lsp_peer *s, const char *why, struct err *err) CHECKED;
int lsp_send(struct lsp_peer *s, struct str text, struct err *err) CHECKED; /* one message; what cannot be written yet waits */

/* lsp_talk.c; a request becomes the open one, params is JSON */
int lsp_request(struct lsp_peer *s, const char *method, struct str params, struct err *err) CHECKED;
int lsp_notify(struct lsp_peer *s, const char *method, struct str params, struct err *err) CHECKED;
int lsp_greet(struct lsp_peer *s, struct err *err) CHECKED;
int lsp_cancel(struct lsp_peer *s, struct err *err) CHECKED; /* the open one */
int lsp_on_message(void *self, const struct rpc_message *m, struct err *err) CHECKED;
int lsp_add_uri(struct buf *b, const struct lsp *l, struct str rel, struct err *err) CHECKED; /* "uri":"..." */

/* lsp_docs.c */
/* The file as it is now, at the server. text: what it holds. 1: it cannot be read or is no text, or the server was given up. */
int lsp_show(struct lsp_peer *s, struct tool_ctx *ctx, struct str rel, struct buf *text, struct err *err) CHECKED;
int lsp_refresh(struct lsp_peer *s, struct tool_ctx *ctx, struct err *err) CHECKED; /* all that are open */
void lsp_forget(struct lsp_peer *s); /* it ended: nothing is open there */

#endif
