/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* zygote_lib: plays the monitor and the asker against the real agent6-jail --zygote.
 *
 * Shape    as_each_user(fn): fn as root with an id-mapped workspace and as an ordinary user, as far as the
 *          test itself may; a host without user namespaces skips loudly.
 */
#ifndef TEST_SANDBOX_ZYGOTE_LIB_H
#define TEST_SANDBOX_ZYGOTE_LIB_H

#include "sandbox/zygote.h"
#include "sandbox/zygote_client.h"
#include "sys/chan.h"
#include "sys/proc.h"

#include "test/lib/test.h"

struct zy {
	struct test_dir dir;  /* holds ws/, the workspace, and out/, which is not in the cell */
	const char *ws, *out;
	struct arena *mem;
	uid_t uid;            /* who starts the zygote */
	struct zygote_spec spec;
	const char *program;  /* descriptor 5; NULL: none */
	int monitor, asker;
	struct proc proc;
	struct zygote_client client;
	struct chan_msg *msg;
	/* of the last run */
	struct buf text, errs;
	struct zygote_answer answer;
};

void as_each_user(void (*fn)(struct zy *z));
/* Without namespaces, profile hardened: an ordinary user, and root, who becomes that user. */
void on_ground(void (*fn)(struct zy *z));
void zy_start(struct zy *z);          /* sends the spec, waits for READY */
struct chan_msg *zy_start_raw(struct zy *z); /* the zygote's first answer, whatever it is */
void zy_stop(struct zy *z);           /* closes the monitor's end and reaps; the status must be 0 */
/* Runs a shell line as a job of that class to its end; the exit status. */
int zy_run(struct zy *z, enum job_class class, const char *line);
int zy_argv(struct zy *z, const struct zygote_call *call);
struct str zy_out(const struct zy *z);  /* its stdout, trimmed */

/* One message at a time, for what a client would not do. */
void zy_send_run(struct zy *z, uint32_t job, enum job_class class, const char *line);
void zy_send_run_in(struct zy *z, uint32_t job, enum job_class class, const char *dir, const char *line); /* dir: of the workspace */
void zy_order(struct zy *z, enum wire_type type, uint32_t job); /* KILL_JOB, STOP_ALL */
void zy_verdict(struct zy *z, uint32_t job, bool allowed, const char *reason);
struct chan_msg *zy_from_asker_side(struct zy *z);   /* next message to the asker */
struct chan_msg *zy_from_monitor_side(struct zy *z); /* next message to the monitor */
struct zygote_answer zy_exit_of(struct zy *z, uint32_t job); /* skips STARTED; the next must be this job's EXIT */

#endif
