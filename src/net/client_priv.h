/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* client_priv: a request under way, as the client's two files share it. client_token.c stands between a
 * request and its exchange where the key comes from a token_command. */
#ifndef NET_CLIENT_PRIV_H
#define NET_CLIENT_PRIV_H

#include "fmt/mcp.h"
#include "net/client.h"
#include "net/head.h"
#include "net/live.h"
#include "net/scrub.h"
#include "net/transfer.h"
#include "sys/chan.h"

#define SLOTS      (CLIENT_LIVE + MCP_SERVERS_MAX * (CLIENT_POSTS + CLIENT_LISTENS) + 4) /* the further ones hold refusals that the agent has not read yet */
#define TEXT_BYTES 900

struct request {
	struct client *c;
	bool used;
	uint32_t id;
	struct live *live; /* NULL: refused before it began */
	struct transfer *transfer; /* NULL: not started, over, or played from the recording */
	bool playing;
	struct play play;
	enum net_route route;
	struct str body; /* mapped, or composed */
	bool post;       /* to an MCP server: body is composed, or say.method is wordless and there is none */
	bool asked;      /* the monitor was, and has not answered */
	uint32_t in_session; /* which of its server's sessions it is said in; 0: before there was one */
	struct mcp_say say; /* its text is tool */
	char tool[MCP_TOOL_MAX + 1];
	struct mcp_line composed;
	bool waiting;    /* for a token */
	bool redo;       /* the token was refused: what comes of this exchange is not shown */
	bool renewed;    /* and that was the one time */
	struct secret token, before; /* KEY_COMMAND: what this request is signed with, and what was used before that */
	struct curl_slist *headers; /* with it */
	uint32_t notes_seen; /* the count of the broker's notes when it began */
	struct head head;
	bool head_sent;
	struct scrub scrub, scrub_before;
	struct buf out; /* scrubbed, not yet sent */
	bool paused;    /* the transfer waits until out is empty */
	uint64_t received;
	int64_t last_ms; /* the last byte, or the start */
	bool over, end_sent;
	enum net_outcome outcome;
	char text[TEXT_BYTES];
};

/* What the broker said about its last failed dial of a route. */
struct note {
	uint32_t count; /* 0: nothing yet */
	enum net_outcome outcome;
	char text[TEXT_BYTES];
};

struct client {
	struct loop *loop; /* borrowed */
	const struct endpoint_table *table;
	struct live live[ENDPOINTS_MAX];
	char session[ENDPOINTS_MAX][HEAD_SESSION_MAX + 1]; /* of MCP servers */
	uint32_t sessions[ENDPOINTS_MAX];                  /* how many each has begun */
	int monitor; /* 0: nobody to ask */
	bool worked; /* and it was told so */
	uint32_t last_post;
	struct stores stores;
	char *proxy, *no_proxy;
	struct transfers *transfers[ENDPOINTS_MAX + 1]; /* by live.trust: a connection serves those alone who trust the same authorities */
	struct recording recording;
	size_t played; /* chat answers so far */
	int agent;
	int tokens; /* -1: nobody to ask */
	uint32_t watching; /* the events of the agent's channel that are watched; 0: not watched */
	bool blocked;      /* the agent's channel is full */
	int broker; /* -1: there is none, or it is gone */
	uint32_t note_count;
	struct note note[ROUTES_MAX];
	struct request requests[SLOTS];
	uint64_t requests_used, bytes_used;
	uint64_t posts_used[ENDPOINTS_MAX]; /* of each MCP server: it takes nothing of the models' */
	struct chan_msg msg;
};

/* client.c */
int client_start_transfer(struct request *q, struct err *err) CHECKED;
void client_end_request(struct request *q, enum net_outcome outcome, const char *fmt, ...) FORMAT(3, 4);
void client_stop_request(struct request *q); /* as a handler of the loop: ends the exchange as well */
int client_watch_agent(struct client *c, struct err *err) CHECKED;

/* client_notes.c: the broker */
int client_dial(struct client *c, size_t route); /* a connection to it, the caller's; -1, and a note of it: there is none */
void client_read_notes(struct client *c);

/* client_admit.c */
int client_admit(struct request *q, uint8_t endpoint, struct err *err) CHECKED; /* what speaks against any request */
int client_works(struct client *c, struct err *err) CHECKED; /* before what the run's record has to tell of */
int client_map_body(int fd, struct str *out, struct err *err) CHECKED; /* of a sealed memfd; unmapped by the caller */
struct request *client_request(struct client *c, uint32_t id); /* NULL: there is none */

/* client_post.c: MCP servers over HTTP */
int client_post(struct request *q, uint8_t endpoint, struct unpack *u, int args_fd, struct err *err) CHECKED;
struct curl_slist *client_post_headers(struct request *q);
bool client_listens(const struct request *q); /* it has no end of its own, and may be silent */
void client_post_head(struct request *q); /* the answer's head is whole */
void client_post_over(struct request *q);

/* client_token.c */
int client_begin_transfer(struct request *q, struct err *err) CHECKED; /* now, or when its token is there */
/* A token may have been revoked before its time: the request was refused, so it is sent once more. */
bool client_may_renew(const struct request *q);
loop_fn client_on_renew;  /* of a request */
loop_fn client_on_tokens; /* of the client: the spawner says something */

#endif
