/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mcp: tools that servers of the operator's offer, as the model sees them.
 *
 * Shape    mcp_read_page for each page of a server's list; mcp_offer when it is whole; tools_schema and tool_call
 *          take the catalogue from there. mcp_result turns what a call was answered with into a result.
 * Memory   Everything lives in the arena that is passed in.
 * Errors   A tool that cannot be offered is left out and named; nothing of a server's makes a request invalid.
 * Source   docs/mcp.md; modelcontextprotocol.io, "Tools".
 */
#ifndef TOOL_MCP_H
#define TOOL_MCP_H

#include "base/arena.h"
#include "fmt/field.h"
#include "fmt/jscan.h"

#define MCP_OFFERED_MAX  64            /* tools of one server; each is paid for on every turn */
#define MCP_LISTED_MAX   4096          /* looked at */
#define MCP_PAGES_MAX    100
#define MCP_SCHEMA_MAX   (16 * 1024)   /* of one tool */
#define MCP_OFFER_BYTES  (128 * 1024)  /* of all tools of one server */
#define MCP_HELP_MAX     1024

/* A tool as its server lists it. */
struct mcp_listed {
	struct str name, help;
	struct str schema; /* a JSON object, or empty when there is none */
	const char *fault; /* why it cannot be offered; NULL: it can */
	bool headers;      /* over HTTP, in the modern era, arguments of it are wanted as headers too */
};
struct mcp_list {
	struct mcp_listed *p;
	size_t n, cap;
	uint64_t more; /* beyond what is looked at */
};

/* As it is offered to the model. */
struct mcp_tool {
	struct str shown;  /* mcp__SERVER__TOOL, of letters, digits, '-' and '_', at most 64 */
	struct str name;   /* the server's own */
	struct str help, schema;
	size_t server;     /* place among the run's servers */
};
struct mcp_catalogue {
	struct mcp_tool *p; /* sorted by server, then by name */
	size_t n;
};

/* cursor: of the next page; empty: this was the last. */
int mcp_read_page(struct jval result, struct arena *mem, struct mcp_list *list, struct str *cursor, struct err *err) CHECKED;
/* only: names to offer; empty: all. left_out: "NAME: why", a line each. */
int mcp_offer(struct mcp_catalogue *c, size_t server, struct str server_name, struct mcp_list *list, const struct str_list *only,
	struct arena *mem, struct str_list *left_out, struct err *err) CHECKED;
const struct mcp_tool *mcp_tool_find(const struct mcp_catalogue *c, struct str shown); /* NULL: not offered */

/* A picture in an answer: what it is shows in its first bytes, whatever the server calls it. */
#define MCP_PICTURES_MAX 4                  /* of one answer */
#define MCP_PICTURE_MAX  (4 * 1024 * 1024)  /* bytes of base64 */
struct mcp_picture {
	const char *type; /* "image/png", ... */
	struct str data;  /* clean base64 */
};
struct mcp_pictures {
	struct mcp_picture p[MCP_PICTURES_MAX];
	size_t n, most;   /* most: how many are wanted; 0: none is shown */
	struct arena *mem;
};

/* The answer's content as one JSON object for the model; *failed: the tool says that it failed. What is shown beside it goes
 * into pictures, in its order; what is not is named. */
int mcp_result(struct jval result, struct buf *out, struct mcp_pictures *pictures, bool *failed, struct err *err) CHECKED;
/* An error object as a sentence. */
int mcp_error_text(struct jval error, struct buf *out, struct err *err) CHECKED;

/* Text of a server's without what hides or turns text around, or moves a terminal's cursor. */
int mcp_clean(struct buf *out, struct str text, struct err *err) CHECKED;

#endif
