/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* world: everybody the agent talks to, played by a test from a script.
 *
 * Shape    world_new, change params, world_play(script), look at what came out, world_fini. The agent runs
 *          unconfined in a child process; jobs are answered from the script, git requests by real git in
 *          the scratch directory.
 * Script   {"turns": [TURN...], "jobs": [JOB...], "answer": "text", "steer": "at the start"}
 *          "answers": [TEXT...] are the first ones, before "answer".
 *          TURN  {"text", "calls": [["tool", {args}]...], "stop", "act", "thinking"} or {"status", "body", "act"},
 *                {"cut": true}, {"hang": true}. act: "stop" (after the step), "now", "steer TEXT", "lost",
 *                "pause", "pause now", "continue", "compact TEXT", "btw TEXT"; "parked": [act...], one each time the
 *                run waits for the person.
 *                raw: the arguments of its one call as they are. stream: its text, and no calls, as a stream.
 *          "notes": [TURN...] answers requests for a handover note, whenever they come.
 *          JOB   {"code", "out", "errs", "why", "write": "file"}; past the end: code 0. why "hang": it only starts.
 *                ends: the number of a job that ends first, with code 4.
 *          Past the last turn the model answers with status 400, so that a run always ends.
 */
#ifndef TEST_AGENT_WORLD_H
#define TEST_AGENT_WORLD_H

#include "agent/params.h"
#include "fmt/json.h"
#include "fmt/wire.h"
#include "graph/graph.h"
#include "test/lib/test.h"

struct world {
	struct test_dir dir;
	struct arena *mem;
	struct run_params params;
	const char *ws;            /* where git works: dir's path, unless a test says otherwise */
	const struct world *prior; /* what a resume loads: its messages and its last state */
	/* what came out */
	json_t *events; /* [{"type", fields...}] without the volatile ones */
	json_t *deltas;
	json_t *messages; /* as recorded */
	json_t *requests; /* bodies */
	json_t *argvs;    /* of the jobs */
	json_t *manifest;
	json_t *state; /* the last one */
	json_t *transcripts;
	json_t *prompt;      /* what the model is told first, of the newest leg */
	json_t *notes;        /* kept and taken back, as the recorder was told */
	struct graph *graph;  /* the task list as the recorder has it */
	struct buf graph_lines;
	int in_flight;                        /* markers put minus markers taken away */
	int unsynced_requests, unsynced_jobs; /* side effects before the record was safe */
	int early_requests, early_acts; /* with late_sync: while the disk was still at work */
	int cancels, kills, asked;
	int late_git; /* an operation of git's that does not end in its time */
	int gits[64]; /* how often each operation was asked for, by its number */
	bool done, discard;
	int code;
	struct str reason, message;
	int status; /* of the child */
	/* inside */
	json_t *script;
	int fds[AGENT_ENDS_MAX]; /* by enum peer */
	size_t turn, job, parked, note;
	uint32_t live;
	bool dirty;
	struct test_dir disk; /* what it keeps, but for a leg that goes on from another world; world_play makes it again */
	struct store *store;
	struct graph_disk *graph_disk;
	bool late_sync; /* the disk answers only when nothing else happens any more */
	uint32_t syncing;
	pid_t child;
};

void world_init(struct world *w);
void world_fini(struct world *w);
#define auto_world CLEANUP(world_fini)
void world_play(struct world *w, const char *script);

/* The record that was written, made again. */
struct replay_report;
void world_replay(struct world *w, struct replay_report *out);

extern const char *const world_git_env[]; /* of an operator with a name; NULL ended */
int world_git(struct world *w, const char *a, const char *b, const char *c, const char *d); /* exit status */
struct str world_git_out(struct world *w, const char *rev); /* of git show; empty when there is none */

void world_repository(struct world *w); /* with a first commit of what is there */
void world_gate(struct world *w);       /* make test */
void world_metric(struct world *w);     /* score, and the number it prints */

size_t world_count(const struct world *w, const char *type); /* events of that type */
const json_t *world_event(const struct world *w, const char *type, size_t i);
struct str world_text(const json_t *message); /* its blocks of text, joined */
bool world_pairs(const json_t *messages); /* every call has one result, in the next message, results first */

#endif
