/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jobs: asks a zygote to run one program and keeps the head and the tail of what it writes.
 *
 * Shape    jobs_init once per zygote; jobs_command for WIRE_RUN, jobs_ask for any other request whose body
 *          begins with the number that jobs_next gave. One job at a time is waited for. A job that is let go
 *          becomes one of `behind`: its output is read whenever the pump turns, and on_behind_end tells of its
 *          end. jobs_begin starts a job that nobody waits for yet, jobs_fetch waits for it.
 * Memory   Results live in the arena of the call. What a job behind wrote and nobody read is bounded: its
 *          head and its tail are kept, the rest is counted.
 * Errors   -ERR_STOPPED when the operator wants out (the job is dead then), -ERR_CLOSED when the zygote is
 *          gone. A job that was denied, refused or failed is a result.
 * Units    Milliseconds, bytes.
 *
 * A job ends with the zygote's word, not when its pipes close: a program left in the background may
 * hold them. What is in the pipes at that moment is still read, up to a bound.
 */
#ifndef AGENT_JOBS_H
#define AGENT_JOBS_H

#include "agent/links.h"
#include "tool/tool.h"

struct capture {
	struct buf head, tail; /* the tail holds up to twice what is kept, then its front is dropped */
	size_t keep_head, keep_tail;
	uint64_t total;
};

enum job_phase { JOB_IDLE, JOB_ASKED, JOB_RUNNING, JOB_OVER };

#define JOBS_BEHIND_MAX  8
#define JOBS_BEHIND_HEAD 8000 /* of what nobody read: kept at the front, */
#define JOBS_BEHIND_TAIL 24000 /* and at the end */
_Static_assert(LINKS_PIPES >= 2 + 2 * JOBS_BEHIND_MAX, "every job has its pipes");

/* A job that runs on behind the back of the loop. Its place tells its pipes: 2 + 2 * i and the next. That
 * of one that ended is kept until another needs it. */
struct job_behind {
	uint32_t job;        /* 0: the place is free */
	bool over;           /* result is there */
	struct capture text; /* both streams as they came, since they were read last; of one that was begun: stdout */
	bool begun;          /* by jobs_begin: the place is its own until it is fetched */
	struct capture errs; /* of such a one: stderr */
	struct job_result result; /* its note is in ... */
	struct buf note;
};

typedef int job_behind_fn(void *self, struct job_behind *b, struct err *err);

/* A program that stays: an MCP server or a language server. Its ceiling says what it is; here it is a place there, and
 * bytes. All callbacks run inside the pump: they must not wait. */
struct job_server {
	uint32_t job;   /* its number; 0: it was not asked for, or its end was told */
	bool runs;
	int in;         /* owned: the way to its stdin, non-blocking; -1: it takes words by jobs_say alone */
	size_t pipe;    /* its places in links.pipe: this one and the next */
	int (*on_start)(void *self, struct err *err); /* may be NULL */
	int (*on_out)(void *self, struct str bytes, struct err *err);
	int (*on_errs)(void *self, struct str bytes, struct err *err);
	int (*on_end)(void *self, const struct job_result *r, struct err *err);
	/* Of jobs_say: JOB_EXITED: it was said. */
	int (*on_said)(void *self, uint32_t number, const struct job_result *r, struct err *err);
	void *self;
};

#define JOBS_SERVERS_MAX 8
#define JOBS_SAYS_MAX    32

struct jobs {
	struct links *links;
	enum peer peer;
	uint32_t last;
	uint32_t waited; /* the number that is waited for, while phase is not JOB_IDLE */
	enum job_phase phase;
	struct capture out, errs;
	struct job_result result; /* its note points into note */
	struct buf note;
	char *chunk;
	int64_t started_ms; /* of the one that is waited for */
	struct job_behind behind[JOBS_BEHIND_MAX];
	struct job_server *servers[JOBS_SERVERS_MAX]; /* borrowed */
	struct {
		uint32_t number;
		struct job_server *server;
	} says[JOBS_SAYS_MAX];
	job_behind_fn *on_behind_end; /* NULL: nobody asks; inside the pump, so it must not wait */
	void *self;
};

void jobs_init(struct jobs *j, struct links *l, enum peer zygote);
void jobs_fini(struct jobs *j);
#define auto_jobs CLEANUP(jobs_fini)

int jobs_command(struct jobs *j, const struct job_request *req, struct arena *mem, struct job_result *out,
	struct err *err) CHECKED;

struct job_ask {
	uint16_t type;
	struct str body;
	struct str in; /* stdin, empty for none */
	size_t keep_head, keep_tail;
	bool finish; /* goes on to its end even when the operator wants out now */
	bool behind; /* let go of as soon as it runs */
	int64_t checkin_ms; /* let go of after it ran so long; 0: never */
};
uint32_t jobs_next(struct jobs *j);
/* Starts the server at that place of the ceiling; -ERR_BUSY when it runs. Whatever comes of it is told by its callbacks. */
int jobs_serve(struct jobs *j, struct job_server *s, uint8_t place, struct err *err) CHECKED;
int jobs_serve_kill(struct jobs *j, const struct job_server *s, struct err *err) CHECKED; /* on_end comes later */
/* id is set: it is the number of the saying, and of the request where the message is one. -ERR_BUSY: too many are open. */
int jobs_say(struct jobs *j, struct job_server *s, struct mcp_say *words, struct err *err) CHECKED;
int jobs_unsay(struct jobs *j, uint32_t number, struct err *err) CHECKED; /* while the operator is asked */
/* What a job behind wrote since the last time, as job_result.out says it; its memory starts anew. */
struct str jobs_behind_read(struct job_behind *b, struct arena *mem, uint64_t *total);
int jobs_behind_kill(struct jobs *j, const struct job_behind *b, struct err *err) CHECKED; /* its end comes later */
int jobs_ask(struct jobs *j, const struct job_ask *ask, struct arena *mem, struct job_result *out,
	struct err *err) CHECKED;
/* The job that jobs_next numbered last, to be fetched by that number. -ERR_BUSY: as many as there may be have been begun.
 * It is brought to its end whatever the operator wants, so it must be a short one; `in`, `behind` and `checkin_ms` are void. */
int jobs_begin(struct jobs *j, const struct job_ask *ask, struct err *err) CHECKED;
int jobs_fetch(struct jobs *j, uint32_t number, struct arena *mem, struct job_result *out, struct err *err) CHECKED;

#endif
