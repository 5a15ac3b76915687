/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* servers: MCP servers looked at outside of a run: each program in the jail that a run would give it, each address
 * through a broker and a client as a run speaks to it.
 *
 * Shape    servers_look at the configured ones, or at one that is not configured yet.
 * Memory   In the arena.
 * Errors   What keeps every server from being looked at. One that cannot be had is a result.
 * Source   docs/mcp.md.
 */
#ifndef APP_SERVERS_H
#define APP_SERVERS_H

#include "config/config.h"
#include "role/toolsmith.h"

struct server_view {
	const struct config_mcp *config;
	bool looked;               /* else it is disabled or refused: found.why says so */
	bool asks;                 /* before each call */
	struct found_server found;
};

struct server_views {
	struct server_view *p;
	size_t n;
	const char *profile;
	struct str_list notices; /* what else the person must know */
};

/* one: this server alone, whatever the configuration says of its name; NULL: all that are configured. */
int servers_look(struct str config_file, const struct config_mcp *one, struct arena *mem, struct server_views *out, struct err *err)
	CHECKED;

#endif
