/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* evil: what an agent that was taken over might try, and a report of what came of it.
 *
 * Shape    agent6-evil is agent6 with another role_agent_main: the same monitor, zygotes, client and recorder
 *          hand it the agent's descriptors and jail. The task of the run says what to try: "evil CASE [NUMBER]".
 *          What happened stands in evil.report in the workspace, one line each, and the test judges it.
 */
#ifndef EVIL_H
#define EVIL_H

#include "agent/links.h"
#include "agent/params.h"

struct evil {
	struct arena *mem;
	struct run_params params;
	int report;    /* evil.report, opened before anything was confined */
	int workspace; /* its directory */
	bool confined; /* taken over after the agent had confined itself; else in nothing but its jail */
	uint32_t job;  /* the last number used */
	struct chan_msg *msg;
};

void FORMAT(2, 3) evil_say(const struct evil *e, const char *fmt, ...);
/* Bytes from elsewhere, with what is not printable as \xNN. */
void evil_say_bytes(const struct evil *e, const char *what, struct str bytes);
int evil_memfd(struct str bytes, bool sealed);
/* Sends; false when the peer has hung up. A full channel is waited for. */
bool evil_send(struct evil *e, enum peer to, uint16_t type, struct str body, const int *fds, size_t nfds);
/* Has something recorded; false as evil_send. */
bool evil_record(struct evil *e, enum record_what what, uint32_t arg, const char *name, struct str bytes);
void evil_done(struct evil *e); /* says that the run is over, and well */
bool evil_dropped(enum peer p, int wait_ms); /* the peer hung up */

void evil_probe(struct evil *e);             /* system calls */
void evil_net(struct evil *e);               /* sockets, to the targets in the file net.targets */
void evil_commands(struct evil *e);          /* the command zygote, with well-formed requests */
void evil_git(struct evil *e);               /* the git zygote */
void evil_client(struct evil *e);            /* the model client */
void evil_approval(struct evil *e);          /* a command that somebody would have to allow */
void evil_swap(struct evil *e);              /* a question in the place of another */
void evil_words(struct evil *e);             /* a record whose texts steer whatever shows them as they are */
void evil_flood(struct evil *e);             /* of every channel; does not return */
void evil_server(struct evil *e);            /* an MCP server whose calls somebody would have to allow */
void evil_remote(struct evil *e);            /* the same over HTTP */
void evil_remote_again(struct evil *e);      /* and a number twice */
void evil_remote_many(struct evil *e);       /* and as often as it can */
void evil_repository(struct evil *e);        /* a .git where none is, again and again; does not return */
void evil_look(struct evil *e);              /* in a mode that may change nothing */
void evil_gone(struct evil *e);              /* does something and says that the run never began */
bool evil_next(struct evil *e, enum peer from, uint16_t type, int ms); /* a message of this type came; closed again */
void evil_hang_up(struct evil *e);           /* on the monitor, and lives on; does not return */
void evil_green(struct evil *e);             /* commits what the task ends with; that all is well is said then */
void evil_report(struct evil *e);            /* the report so far, where it cannot stand in the workspace */
void evil_wait(struct evil *e, enum peer from, const char *kind, const char *name); /* for the end of the last job */
enum breach_to { BREACH_ANY, BREACH_JAILS, BREACH_MONITOR };
void evil_break(struct evil *e, uint32_t nth, enum breach_to whom); /* one message that breaks a rule */
void evil_fuzz(struct evil *e, uint32_t seed);

#endif
