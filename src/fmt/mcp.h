/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mcp: what may be said to a server that speaks the Model Context Protocol, composed from typed fields.
 *
 * Shape    Who wants to speak packs a struct mcp_say; whoever holds the way to the server unpacks it, checks it
 *          and composes the one JSON-RPC message that it stands for. Nobody else's bytes reach the server but a
 *          cursor, an id and a tool's name as JSON strings, and arguments that were proven to be one JSON object.
 * Memory   Unpacked texts are views into the message.
 * Errors   -ERR_PROTOCOL: the bytes are no such message. -ERR_INVALID, -ERR_SYNTAX, -ERR_LIMIT: a field breaks a
 *          rule, and err says which.
 * Units    Ids are the growing numbers of the channel.
 * Source   modelcontextprotocol.io, revisions 2024-11-05 to 2025-11-25 ("legacy": a handshake) and 2026-07-28
 *          ("modern": every request describes itself); docs/mcp.md.
 */
#ifndef FMT_MCP_H
#define FMT_MCP_H

#include "base/buf.h"

#define MCP_LEGACY "2025-11-25" /* the newest of the four we speak */
#define MCP_MODERN "2026-07-28"

#define MCP_SERVERS_MAX  8
#define MCP_NAME_MAX     40   /* of a configured server */
#define MCP_TOOL_MAX     128  /* of a tool's own name */
#define MCP_CURSOR_MAX   4096
#define MCP_ARGS_MAX     (1024 * 1024)
#define MCP_LINE_MAX     (MCP_ARGS_MAX + 8192)

/* Methods, and whether each is a request with an answer. */
enum mcp_method {
	MCP_DISCOVER = 1,    /* server/discover: the question which era it is */
	MCP_INITIALIZE = 2,
	MCP_INITIALIZED = 3, /* a notification */
	MCP_LIST = 4,        /* tools/list; text: the cursor, or empty */
	MCP_CALL = 5,        /* tools/call; text: the tool's own name; args: one JSON object */
	MCP_CANCEL = 6,      /* a notification; ref: the id of the request */
	MCP_PONG = 7,        /* the answer to ping; its id is text when is_text, else ref */
	MCP_REFUSE = 8,      /* the answer to any other request of the server: we do not do that; as MCP_PONG */
	MCP_LISTEN = 9,      /* no message: over HTTP, the stream of what a legacy server says by itself */
	MCP_END = 10,        /* no message: over HTTP, the end of a legacy server's session */
	MCP_METHODS
};

enum mcp_era { MCP_ERA_LEGACY = 1, MCP_ERA_MODERN = 2 };

struct mcp_say {
	enum mcp_method method;
	enum mcp_era era;
	uint32_t id;
	int64_t ref;
	bool is_text;
	struct str text, args;
	uint8_t version; /* over HTTP: of mcp_versions, what was agreed; 0: nothing yet */
};

#define MCP_VERSIONS 5
extern const char *const mcp_versions[MCP_VERSIONS + 1]; /* legacy ones, from 1 on; NULL ended */

/* After the number of the request, which is its id; args travel beside it. */
void mcp_say_pack(const struct mcp_say *s, struct buf *b);
struct unpack;
int mcp_say_unpack(struct unpack *u, struct mcp_say *out, struct err *err) CHECKED;

/* One message without a line's end. args_at, args_n: where the arguments stand in it, without blanks. */
struct mcp_line {
	struct buf text;
	size_t args_at, args_n;
};
int mcp_compose(const struct mcp_say *s, struct mcp_line *out, struct err *err) CHECKED;

const char *mcp_method_name(enum mcp_method m); /* "" for an answer */
bool mcp_is_wordless(enum mcp_method m); /* it is no message, and mcp_compose refuses it */
bool mcp_name_ok(struct str name);  /* of a server: letters, digits, '-' and '_', no "__" */
bool mcp_tool_ok(struct str name);  /* printable ASCII, 1 to MCP_TOOL_MAX, no blank at either end */

#endif
