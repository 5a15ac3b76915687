/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* network: who of a run may reach what, as one table. What starts processes, what refuses, what warns and what
 * `check boundaries` prints all ask it.
 *
 * Shape    network_row finds the row of an actor under a setting; its reach under a profile is row->reach[profile].
 *          network_judge turns REACH_REFUSED into an error.
 * Memory   Static.
 * Errors   -ERR_DENIED with what to change, when a run or a machine must not start so.
 * Source   docs/sandbox.md, "The network".
 */
#ifndef APP_NETWORK_H
#define APP_NETWORK_H

#include "base/err.h"
#include "config/config.h"
#include "sandbox/policy.h"

enum network_actor {
	NETWORK_OF_AGENT,    /* the process that reads what the model says; setting: enum config_agent_network */
	NETWORK_OF_CLIENT,   /* model requests: the client, and the broker for it; enum config_agent_network */
	NETWORK_OF_COMMANDS, /* what the model runs, the gate, metrics; enum config_tool_network */
	NETWORK_OF_SERVER,   /* an MCP server's program; no setting but its own allow_network */
	NETWORK_OF_STATE,    /* a machine's tool state; enum config_tool_network, and what the state asks for */
	NETWORK_ACTORS
};

enum network_wish { NETWISH_AUTO, NETWISH_BLOCK, NETWISH_ALLOW }; /* `allow_network` of a tool state or a server; else auto */

enum network_reach {
	REACH_NOTHING,    /* no socket of any family can be made */
	REACH_TABLE,      /* through the broker: the providers in use and allow_urls */
	REACH_LOCAL,      /* through the broker: providers on this machine */
	REACH_ANY,        /* the client dials by itself, through a proxy where one is named */
	REACH_RUN,        /* a network namespace that the run's commands share: its loopback */
	REACH_ALONE,      /* a network namespace of its own: its loopback */
	REACH_HOST,       /* the host's network; still no unix socket of the host */
	REACH_UNENFORCED, /* the host's network, because nothing confines it */
	REACH_REFUSED,    /* does not start */
	REACH_COUNT
};

struct network_row {
	enum network_actor actor;
	int setting;              /* NETWORK_ANY: whatever it is */
	int wish;                 /* enum network_wish, or NETWORK_ANY */
	enum network_reach reach[PROFILE_NONE + 1]; /* by enum policy_profile */
	const char *warning;      /* said at each start; NULL: this is no loosening */
	const char *refusal, *remedy; /* of REACH_REFUSED; refusal completes "NAME ..." */
};

#define NETWORK_ANY (-1)

/* In the order of the documentation; the end has no reach in any column and actor NETWORK_ACTORS. */
extern const struct network_row network_rows[];

const struct network_row *network_row(enum network_actor actor, int setting, enum network_wish wish);
/* What it may reach, as words for people: "nothing", "the host's network", ... */
const char *network_words(enum network_reach reach);
/* What a jail's policy has to say for it. Never asked for REACH_REFUSED. */
enum policy_network network_of_jail(enum network_reach reach);
/* who: the state's or the actor's name, for the message. */
int network_judge(const struct network_row *row, enum policy_profile profile, const char *who, struct err *err) CHECKED;

#endif
