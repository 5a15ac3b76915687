/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* zygote_client: one job at a time over an asker's channel to a zygote, to its end.
 *
 * Shape    zygote_client_init; zygote_call as often as wanted.
 * Memory   Output goes into the caller's bufs; what does not fit is read, dropped and counted.
 * Errors   -ERR_CLOSED when the zygote is gone, -ERR_PROTOCOL when it breaks a rule. A command that failed,
 *          was denied or could not run is a result.
 */
#ifndef SANDBOX_ZYGOTE_CLIENT_H
#define SANDBOX_ZYGOTE_CLIENT_H

#include "fmt/wire.h"
#include "base/buf.h"

struct zygote_client {
	int fd;           /* borrowed */
	uint32_t last_job;
	struct chan_msg *msg; /* owned */
};

struct zygote_call {
	enum job_class class; /* JOB_GIT: op and args; otherwise argv = args, cwd, env, timeout_ms */
	uint8_t op;
	const struct str *args;
	size_t nargs;
	const struct str *env; /* "K=V" */
	size_t nenv;
	struct str cwd;
	uint32_t timeout_ms;
	struct str in;        /* stdin; empty: /dev/null */
};

struct zygote_answer {
	uint32_t code;
	enum job_end why;
	uint64_t wall_us;
	size_t lost_out, lost_err; /* bytes that did not fit */
	char note[512];
};

void zygote_client_init(struct zygote_client *c, int fd);
void zygote_client_fini(struct zygote_client *c);
#define auto_zygote_client CLEANUP(zygote_client_fini)
int zygote_call(struct zygote_client *c, const struct zygote_call *call, struct buf *out, struct buf *errs,
	struct zygote_answer *answer, struct err *err) CHECKED;

#endif
