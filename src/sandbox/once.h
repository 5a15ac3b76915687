/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* once: one command under one policy, from start to end.
 *
 * Shape    once_run blocks until the command ended or its time was up; then nothing of it is left.
 * Memory   The result owns its captures.
 * Errors   The policy or the set-up was refused, and the command did not run. A command that cannot be executed,
 *          fails or runs out of time is a result.
 * Source   docs/sandbox.md, "agent6-jail".
 */
#ifndef SANDBOX_ONCE_H
#define SANDBOX_ONCE_H

#include "sandbox/capture.h"
#include "sandbox/policy.h"

#define ONCE_TIMEOUT_CODE 124
#define ONCE_NOEXEC_CODE  127

struct once_result {
	int code; /* exit status, 128 + signal, 124 out of time, 127 not executable */
	bool exec_failed, timed_out;
	struct capture out, errs;
	char note[1024]; /* what the caller should also see on stderr, or "" */
};

void once_fini(struct once_result *r);
#define auto_once CLEANUP(once_fini)
void once_unexecutable(struct once_result *r, const char *name, int sys); /* fills in that it could not be started */
int once_run(const struct sandbox_policy *p, struct once_result *out, struct err *err) CHECKED;
/* One line of JSON: {"returncode":..,"stdout":..,"stderr":..,"exec_failed":..,"timed_out":..} */
int once_encode(const struct once_result *r, struct buf *out, struct err *err) CHECKED;

#endif
