/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jobs: asks a zygote to run one program and keeps the head and the tail of what it writes.
 *
 * Shape    jobs_init once per zygote; jobs_command for WIRE_RUN, jobs_ask for any other request whose body
 *          begins with the number that jobs_next gave. One job at a time.
 * Memory   Results live in the arena of the call.
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

struct jobs {
	struct links *links;
	enum peer peer;
	uint32_t last;
	enum job_phase phase;
	struct capture out, errs;
	struct job_result result; /* its note points into note */
	struct buf note;
	char *chunk;
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
};
uint32_t jobs_next(struct jobs *j);
int jobs_ask(struct jobs *j, const struct job_ask *ask, struct arena *mem, struct job_result *out,
	struct err *err) CHECKED;

#endif
