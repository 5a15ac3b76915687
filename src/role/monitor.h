/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor: the process the operator started. It holds power and reads no hostile byte: what comes from
 * the others has a fixed head, a bounded body and a row in the table of requests below; texts are passed
 * on as they are and shown by the view, which cleans them.
 *
 * Shape    app/ starts the processes and hands them over; monitor_run serves until the run is over and
 *          everybody is gone. It answers approvals, passes answers and stops on, and sees deaths.
 * Memory   The monitor takes the peers in spec: monitor_run closes channels and reaps.
 * Errors   Only what keeps the monitor itself from working. How the run ended is in *out.
 * Source   docs/architecture.md, "The processes of a run" and "Death"; docs/steering.md.
 */
#ifndef ROLE_MONITOR_H
#define ROLE_MONITOR_H

#include "fmt/mcp.h"
#include "role/launch.h"
#include "sys/crash.h"

enum approval_policy { APPROVE_ASK, APPROVE_YES, APPROVE_NO };

/* An MCP server's zygote: what it asks about is shown with this name. */
struct monitor_server {
	struct peer zygote;
	struct str name;
};

struct monitor_spec {
	struct peer zygote, git, client, broker, resolver, recorder, spawner, view; /* PEER_NONE where there is none */
	struct monitor_server servers[MCP_SERVERS_MAX + 1]; /* behind them the language servers' zygote, if there is one */
	size_t nservers;
	struct { /* those over HTTP, which the client speaks to */
		uint8_t endpoint;
		struct str name;
	} remotes[MCP_SERVERS_MAX];
	size_t nremotes;
	int agent_chan;       /* our end of the agent's channel */
	int answers_fd;       /* the run's answers/ directory; -1: nobody ever answers */
	enum approval_policy commands;
	struct str_list verify; /* the verify command that was set, to be called so when it is asked about; empty: none */
	bool attended;        /* somebody can answer */
	bool menu;            /* the view can ask what shall be done at a pause */
	int leash_fd;         /* to the process that holds the terminal for us; -1: there is none */
	bool looks;           /* at the end the jail looks at what became of the repository, or whether there still is none */
	int64_t record_grace_ms; /* how long closing the record may take; 0: a minute */
	int64_t agent_grace_ms;  /* how long between the end of the agent's channel and word of its own; 0: five seconds */
	int64_t close_grace_ms;  /* how long who is left then may take to go; 0: three seconds */
	bool confine;         /* false only when the sandbox was disabled by hand */
	bool hooks_end, hooks_wait; /* the spawner was told of notify.on_complete, of notify.on_wait */
	int64_t hook_ms;      /* how long one of them may take */
	const struct crash_keep *crashes; /* where deaths of our processes are noted; NULL: nowhere */
	const char *crashes_path;
	struct str go;        /* packed struct run_params, sent once everybody stands */
	struct str steer;     /* what the operator says at once, or empty */
};

/* Said through the leash. */
#define LEASH_DETACHED "detached" /* the terminal is free, the run goes on */
#define LEASH_UNDO     "undo"     /* this run ends, and another one begins before the person's last words */

#define LEASH_ASIDE    "aside"    /* nothing was begun: what is not committed shall be set aside first, then the run begins anew */

#define VIEW_RESULT_LOST 3 /* the view's exit status: what the session was for could not be written to standard output */

struct monitor_end {
	int exit_code;
	bool set_aside;    /* LEASH_ASIDE was said */
	bool discard;      /* refused before it began: nothing was kept */
	char reason[64];
	char message[768]; /* for a discarded run: what the person is told */
	char note[768];    /* what the person is told besides: of notify.on_complete, of a fault of ours; empty: nothing */
};

int monitor_run(struct monitor_spec *spec, struct monitor_end *out, struct err *err) CHECKED;

#endif
