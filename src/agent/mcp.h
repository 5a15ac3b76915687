/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mcp: MCP servers: started, asked for their tools, called, and given up when they misbehave.
 *
 * Shape    mcp_open starts all at once and waits until each has listed its tools or failed; then the catalogue stands
 *          for the leg. mcp_call as often as the model wants.
 * Memory   Servers and the catalogue live in the arena of the run; an answer in that of the call.
 * Errors   -ERR_STOPPED when the operator wants out, -ERR_CLOSED when a process of ours is gone. Whatever a server
 *          does is a result, or a record of why it is not there.
 * Units    Milliseconds, bytes.
 * Source   docs/mcp.md; modelcontextprotocol.io, revisions 2024-11-05 to 2026-07-28.
 */
#ifndef AGENT_MCP_H
#define AGENT_MCP_H

#include "agent/jobs.h"
#include "agent/keep.h"
#include "agent/params.h"
#include "fmt/jsonrpc.h"
#include "fmt/sse.h"

#define MCP_STDERR_KEPT 8192

enum mcp_state {
	MCP_OFF,        /* not started, or ended */
	MCP_STARTING,   /* the zygote was asked */
	MCP_PROBING,    /* which era is it */
	MCP_OPENING,    /* initialize */
	MCP_LISTING,
	MCP_READY,
	MCP_GIVEN_UP,   /* for the rest of the leg */
};

/* One exchange with a server over HTTP. */
struct mcp_post {
	uint32_t id; /* 0: the place is free */
	int status;
	bool stream;     /* the answer is an event stream */
	struct buf body; /* else it is here */
	struct sse sse;
	struct mcp_server *server;
};

#define MCP_POSTS_MAX 4

struct mcp_server {
	struct mcp *all;
	bool remote;     /* over HTTP: p.endpoint */
	struct mcp_post posts[MCP_POSTS_MAX];
	struct mcp_post stream; /* what it says by itself; id 0: it is not open */
	bool no_stream;  /* it has none */
	uint32_t farewell; /* the exchange that ends its session */
	uint32_t greeting; /* the exchange that ends the handshake; nothing may overtake it */
	bool has_tools;  /* it says that it has some */
	uint8_t version; /* of mcp_versions, as agreed; 0: nothing yet */
	size_t index;
	struct server_params p;
	struct jobs jobs;
	struct job_server proc;
	struct rpc_reader rpc;
	enum mcp_state state;
	enum mcp_era era;
	bool era_known;      /* by an earlier start */
	bool listed;         /* its tools are in the catalogue */
	char protocol[16];
	struct mcp_list list;
	size_t pages;
	struct str cursor;   /* of the page that was asked for */
	uint32_t open;       /* the id of the request that is answered next; 0: none */
	enum mcp_method asked; /* what that was */
	uint64_t unasked;    /* messages since the last answer */
	bool told_changed, told_ids;
	int64_t deadline_ms; /* of the start */
	int64_t probe_ms;    /* until when an answer to the probe counts */
	unsigned starts;
	bool stopping;       /* we end it */
	char why[256];       /* it ended, or was given up */
	struct str_list left_out; /* tools that are not offered, and why */
	struct capture errs; /* of its stderr: the tail */
	/* the call that is waited for */
	struct arena *mem;   /* NULL: none */
	struct mcp_reply *reply;
	bool answered;
	bool waits;          /* it was not said yet: the operator may be asked about it */
	bool said;           /* it was just now */
	bool progressed;     /* the server tells that it works on it */
	uint32_t progress;   /* how often it told that */
};

struct mcp {
	struct links *links;
	struct keep *keep;
	struct arena *run_mem;
	struct mcp_server *servers; /* in run_mem */
	size_t n;
	struct mcp_catalogue catalogue;
	uint32_t last_post;
	size_t pictures; /* how many of an answer are shown: as the caller sets it before each call */
};

/* k: NULL: there is no record. */
int mcp_open(struct mcp *m, struct links *l, struct keep *k, const struct str_list *params, struct arena *mem, struct err *err)
	CHECKED;
/* Says to servers over HTTP that their sessions are over, where they have one; waits for them a second at most. */
void mcp_close(struct mcp *m);
void mcp_fini(struct mcp *m);
int mcp_on_post(void *self, struct chan_msg *m, uint32_t id, struct err *err) CHECKED; /* of the client, about one of ours */
struct str mcp_errs(const struct mcp_server *s); /* the end of what it wrote to stderr */
int mcp_call(struct mcp *m, const struct mcp_tool *tool, struct str args, struct arena *mem, struct mcp_reply *out,
	struct err *err) CHECKED;

#endif
