/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* exec: a command of the person's own in exactly the jail that the model's commands get.
 *
 * Shape    app_exec runs it to its end, passing on what it writes as it comes. No approval: who types a command has
 *          approved it. No record, stdin is /dev/null, SIGINT, SIGTERM and SIGHUP kill it. When it was the jail that made it
 *          fail, the note "jail: ..." says which rule, as the result of a run's command does (tool/denial.h).
 * Errors   Everything that kept the command from running, as `agent6 run` would say it. A command that fails or
 *          cannot be executed is a result: its status, 128 + signal, 127; 124 when its time was up.
 * Source   docs/sandbox.md, "agent6 exec".
 */
#ifndef APP_EXEC_H
#define APP_EXEC_H

#include "fmt/field.h"

struct exec_request {
	struct str_list argv;
	struct str config;    /* --config FILE, or empty */
	struct str preset;    /* instead of the one that is configured; or empty */
	struct str run;       /* a session's id or the beginning of it: its isolation and network; empty: as configured */
	bool disable_sandbox;
	bool at_top;          /* it runs at the top of the workspace, wherever the person stands */
	int64_t timeout_ms;   /* 0: none */
	int out, errs;        /* where its output goes */
	bool clean_out, clean_errs; /* a terminal is there: what could steer it is shown instead */
	void (*note)(void *self, const char *text); /* what the person must know before and after it; not clean */
	void *self;
	bool *noted;          /* when not NULL: it ended by itself, and what the jail saw of it was noted: a repository that changed, say */
	int *caught;          /* when not NULL: gets the signal that ended it, because we heard it */
};

int app_exec(const struct exec_request *rq, struct err *err) CHECKED;

#endif
