/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* run: one run from the command line to its exit status: what is refused, which processes are started
 * and with what, and the monitor's watch until everybody is gone.
 *
 * Shape    Fill a struct run_request, call app_run. It returns an exit status, or -ERR_... when the run
 *          was refused before anything was kept.
 * Errors   -ERR_DENIED for a refusal by policy; others as they came from below, with a hint.
 * Source   docs/architecture.md, "Start".
 */
#ifndef APP_RUN_H
#define APP_RUN_H

#include "fmt/field.h"

#define RUN_NOTE_MAX 768

struct run_request {
	const char *mode;       /* of app/mode.h; NULL: run */
	struct str task;
	struct str context;     /* what the person attached, told before the task; or empty */
	bool json;              /* not run mode: the result goes to stdout as one JSON object */
	bool decompose;         /* the model breaks the task up first */
	struct str review_base, review_range, review_decision; /* review; empty: as configured */
	struct str review_tier;
	struct str_list review_seats, review_paths;
	int questions_fd;       /* open questions are written there as JSON, and end a run that nobody answers; -1: nowhere */
	struct str workspace;   /* a directory; empty: the current one */
	struct str config;      /* --config FILE, or empty */
	struct str preset;      /* --preset NAME, or empty */
	struct str run_id;      /* wanted id, or empty: one is minted. To resume: an id or a prefix, empty: the newest */
	bool force;             /* to resume: whatever the run's chain says */
	bool resume;            /* go on with a run that ended; task is the run's own */
	struct str steer;       /* to resume: the first thing the model is told, or empty */
	struct str_list pins;   /* --pin */
	struct str standing;    /* --standing: what it goes on with when the task is done */
	bool interactive;       /* -i: it waits for the person after each step */
	bool disable_sandbox;   /* --dangerously-disable-sandbox */
	bool auto_approve;      /* run_commands "ask" becomes "yes" */
	bool no_commands;       /* run_commands becomes "no" */
	bool rehearse;          /* it ends before its first request, changes nothing and shows nothing (app/rehearse.h) */
	bool set_aside;         /* as git.auto_stash: the person said it when they were asked */
	bool yes;               /* --yes: a plan is carried out without asking */
	bool unattended;        /* never ask, whatever the terminal is */
	const double *max_usd;         /* NULL: as configured; so the next */
	const int64_t *max_iterations;
	/* A recorded model instead of a provider (agent6 demo): an open descriptor in net/recording.h's
	 * format; no provider and no key is looked for then. */
	int recording_fd;       /* -1: none */
	const char *git_name, *git_email; /* identity to use instead of the person's; NULL: theirs */
	struct str_list skills; /* names that open the task */
	int leash_fd;           /* to the process that holds the terminal for this run (app/leash.h); -1: there is none */
	struct str_list verify_command;   /* overrides the configuration; empty: as configured */
	char *out_note;         /* when not NULL: RUN_NOTE_MAX bytes, what the person should know after the end, or empty */
	char *out_run_id;       /* when not NULL: at least SESSION_ID_MAX + 1 bytes, gets the run's id */
};

/* A request with nothing given. */
struct run_request run_request_new(void);
int app_run(const struct run_request *rq, struct err *err) CHECKED;
/* What a run of this would be refused for by its settings, before anything is made: nobody to ask, no model, no key, a host that
 * cannot confine. rq names a session to resume. */
int app_run_could_begin(const struct run_request *rq, struct err *err) CHECKED;
/* Whether nothing would stand between the model and this user's files: no sandbox, and commands that nobody is asked about. */
int app_run_unguarded(const struct run_request *rq, bool *out, struct err *err) CHECKED;

#endif
