/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* background: the commands of a run that go on while the model does other things, by the names it knows them by.
 *
 * Shape    background_open once the jobs stand; background_adopt for each job that was let go of;
 *          background_ask for the tools; background_settle at the end of a turn, background_stop_all at the run's.
 * Memory   Reports live in the arena of the call. A row lasts until another job needs its place.
 * Errors   -ERR_NOENT for an id that is not known, naming those that are; else what the channels say.
 * Units    Milliseconds.
 *
 * What one writes is told once: a report has what came since the one before, head and tail, all counted.
 */
#ifndef AGENT_BACKGROUND_H
#define AGENT_BACKGROUND_H

#include "agent/jobs.h"
#include "agent/keep.h"

struct background_row {
	uint32_t job;       /* 0: none yet */
	int64_t number;     /* of "bg3" */
	struct buf command; /* as a shell would take it, shortened */
	enum { STOPPING_NOT, STOPPING_ONE, STOPPING_ALL } stopping; /* we asked for its end */
	bool told;          /* the model knows that it ended */
};

struct background {
	struct jobs *jobs; /* borrowed, as keep */
	struct keep *keep;
	int64_t last;      /* the number of the newest; of earlier legs too, so that none means two commands */
	bool active;       /* one ran since background_settle asked last */
	struct background_row rows[JOBS_BEHIND_MAX]; /* side by side with jobs->behind */
};

void background_open(struct background *b, struct jobs *j, struct keep *k);
void background_fini(struct background *b);

/* The job that `result` says was let go of: sets its behind_id. handed_back: it was waited for first. */
int background_adopt(struct background *b, const struct job_request *req, bool handed_back, struct arena *mem,
	struct job_result *result, struct err *err) CHECKED;
int background_ask(struct background *b, const struct background_request *req, struct arena *mem,
	struct background_report *out, struct err *err) CHECKED;

size_t background_running(const struct background *b);
/* One line for each that runs: "bg1: make watch". */
struct str_list background_list(struct background *b, struct arena *mem);
/* What ended and was not told yet: one line for each. */
struct str_list background_news(struct background *b, struct arena *mem);
/* Ends all that run and waits for their ends, as long as the zygote is there. */
int background_stop_all(struct background *b, struct err *err) CHECKED;

#endif
