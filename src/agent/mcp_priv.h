/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mcp_priv: what the two files about MCP servers share: mcp.c has their lives, mcp_talk.c what is said. */
#ifndef AGENT_MCP_PRIV_H
#define AGENT_MCP_PRIV_H

#include "agent/mcp.h"

#define MCP_PROBE_MS 3000

/* mcp.c */
int mcp_start(struct mcp_server *s, struct err *err) CHECKED;
int mcp_give_up(struct mcp_server *s, const char *why, struct err *err) CHECKED;
int mcp_note(struct mcp_server *s, const char *text, struct err *err) CHECKED;

enum peer mcp_peer(const struct mcp_server *s); /* who is between us and it */
bool mcp_cut_off(const struct mcp_server *s);   /* that one is gone */

/* mcp_post.c */
int mcp_post(struct mcp_server *s, struct mcp_say *words, struct err *err) CHECKED; /* words->id is set */
int mcp_listen(struct mcp_server *s, struct err *err) CHECKED; /* opens its stream, where it may have one and has none open */
int mcp_part(struct mcp_server *s, struct err *err) CHECKED;   /* its farewell, where it has a session */
bool mcp_is_parting(const struct mcp_server *s);               /* that is under way */
int mcp_post_cancel(struct mcp_server *s, uint32_t id, struct err *err) CHECKED;    /* nobody wants its answer */
int mcp_posts_cancel(struct mcp_server *s, struct err *err) CHECKED; /* of all; may be called while one is read */
int mcp_post_unanswered(struct mcp_server *s, int status, bool denied, struct str why, struct err *err) CHECKED; /* of the open request */
void mcp_posts_fini(struct mcp_server *s);

/* mcp_talk.c; a request becomes the open one */
int mcp_ask(struct mcp_server *s, const struct mcp_say *words, struct err *err) CHECKED;
int mcp_tell(struct mcp_server *s, const struct mcp_say *words, struct err *err) CHECKED; /* no answer is due */
int mcp_ask_initialize(struct mcp_server *s, struct err *err) CHECKED;
int mcp_greeted(struct mcp_server *s, struct err *err) CHECKED; /* the handshake is over */
int mcp_ask_list(struct mcp_server *s, struct str cursor, struct err *err) CHECKED;
int mcp_on_message(void *self, const struct rpc_message *m, struct err *err) CHECKED;
int mcp_on_said(void *self, uint32_t number, const struct job_result *r, struct err *err) CHECKED;

#endif
