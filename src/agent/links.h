/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* links: the agent's channels, served by one pump.
 *
 * Shape    links_init with the descriptors; whoever waits for an answer calls links_pump until its own
 *          state says it came. Meanwhile stops, steers and losses are noted here at once.
 * Memory   Owns the descriptors and the queue of steers. A handler's message dies when it returns.
 * Errors   -ERR_CLOSED when the monitor is gone, -ERR_PROTOCOL when any peer broke the rules of its
 *          channel. Another peer that is gone is marked; who waits for it says so (link_gone).
 * Units    Milliseconds; a timeout below 0 waits without end.
 * Source   docs/architecture.md, "Channels".
 */
#ifndef AGENT_LINKS_H
#define AGENT_LINKS_H

#include "base/buf.h"
#include "base/vec.h"
#include "fmt/mcp.h"
#include "fmt/wire.h"
#include "sys/chan.h"

/* In the order of the descriptors from 3 on. From PEER_SERVER on: the zygotes of MCP servers, as many as there are; then that
 * of the language servers, if there are any. */
enum peer { PEER_MONITOR, PEER_ZYGOTE, PEER_GIT, PEER_CLIENT, PEER_RECORDER, PEER_SERVER,
	PEER_COUNT = PEER_SERVER + MCP_SERVERS_MAX + 1 };
_Static_assert((int)PEER_COUNT == AGENT_ENDS_MAX, "the agent is given an end of each");

#define AGENT_FDS  5 /* that there are in each run */
#define STEERS_MAX 32
#define LINKS_JOBS (2 + 2 * 8) /* stdout and stderr of the job that is waited for and of eight others */
#define LINKS_PIPES (LINKS_JOBS + 2 * 16) /* and of servers */
#define LINKS_OUTS  8 /* ways to the stdin of servers that we write to */

typedef int peer_fn(void *self, struct chan_msg *m, struct err *err);
typedef int pipe_fn(void *self, size_t which, struct err *err); /* which: its place in links.pipe */

struct tell {
	enum wire_tell what;
	struct buf text;
};

struct links {
	struct {
		int fd;
		bool gone;
		peer_fn *on_msg; /* NULL: nothing is expected from it */
		void *self;
	} peer[PEER_COUNT];
	struct {
		int fd; /* -1: unused */
		pipe_fn *on_ready;
		void *self;
	} pipe[LINKS_PIPES];
	struct {
		int fd; /* borrowed; -1: nothing waits to be written */
		pipe_fn *on_ready; /* which: its place here */
		void *self;
	} out[LINKS_OUTS];
	struct chan_msg *msg; /* owned; one at a time */
	enum wire_stop stop;  /* 0: go on */
	bool aborted;         /* it was the steer "abort" that stops us */
	enum wire_tell pause; /* 0, TELL_PAUSE or TELL_PAUSE_NOW; words of the person leave it as it is */
	bool crowded;         /* more was said than is kept: say so */
	struct {
		VEC(struct buf);
	} steers; /* oldest first */
	struct {
		VEC(struct tell);
	} tells; /* TELL_COMPACT and TELL_BTW, oldest first */
};

void links_init(struct links *l, const int fds[PEER_COUNT]); /* -1: that one is not there */
int links_given(int fds[PEER_COUNT]); /* what this process was started with, and how many */
void links_fini(struct links *l);
#define auto_links CLEANUP(links_fini)

void links_serve(struct links *l, enum peer p, peer_fn *fn, void *self);
int links_send(struct links *l, enum peer p, uint16_t type, struct str body, const int *fds, size_t nfds,
	struct err *err) CHECKED;
/* Waits for something, then serves all that is there: at most one message of each peer. 0: time is up. */
int links_pump(struct links *l, int64_t timeout_ms, struct err *err) CHECKED;
int links_wait(struct links *l, enum peer p, int64_t timeout_ms,
	struct err *err) CHECKED;                        /* pump; fails when p is gone */
bool links_interrupted(const struct links *l); /* what is in flight shall be given up */
bool links_take_tell(struct links *l, enum wire_tell *what, struct buf *text);
bool links_take_steer(struct links *l, struct buf *out); /* false: none waits; out gets its bytes */

#endif
