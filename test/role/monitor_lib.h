/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_lib: a monitor in a process of its own, and what everybody else says to it and hears from it.
 *
 * Shape    bench_start(), then bench_say* and bench_ask* for what the others say, bench_hear* for what they must hear
 *          next, and bench_finish() for how the run ended. What is not heard in time fails the test.
 */
#ifndef TEST_ROLE_MONITOR_LIB_H
#define TEST_ROLE_MONITOR_LIB_H

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "role/monitor.h"
#include "session/answers.h"
#include "sys/chan.h"

#include "test/lib/test.h"

enum side { ZYGOTE, GIT, CLIENT, BROKER, RESOLVER, RECORDER, SPAWNER, VIEW, AGENT, SERVER, SIDES };

#define LONG_WORD  5000 /* of a command that is shown whole */
#define PATIENCE_S 300  /* a monitor that says nothing fails the test instead of hanging it */

/* A monitor in a process of its own; the test is everybody else. */
struct bench {
	struct test_dir dir;
	pid_t pid;
	int ends[SIDES]; /* ours */
	int answers;     /* the directory */
	int lifeline;    /* closed: the recorder's process ends */
	int result;      /* how the run ended comes through here */
	struct chan_msg msg;
};

/* What the next bench is like. */
extern struct bench_wish {
	bool deaf;               /* the zygote does not hear, */
	bool no_git;             /* its workspace is no repository, */
	bool hooks;              /* the operator's programs are told, */
	bool menu;               /* its view can ask at a pause, */
	struct str_list verify;  /* the verify command that was set */
	int leash[2];            /* somebody holds the terminal for it: its end, and theirs */
	int64_t agent_grace_ms;  /* how long its agent may take to die, */
	int64_t record_grace_ms; /* and how long its record may take; 0: as it is */
} bench_wish;

void bench_hear_type(struct bench *b, enum side who, uint16_t type);
void bench_start(struct bench *b, enum approval_policy policy, bool attended);
void bench_let_go(int *fd);
struct monitor_end bench_finish(struct bench *b);
void bench_say(struct bench *b, enum side who, uint16_t type, const struct buf *body);
void bench_put_approve(struct buf *body, uint32_t job, enum job_class class, struct str word);
void bench_ask_for_class(struct bench *b, uint32_t job, enum job_class class, struct str word);
void bench_ask_to_run(struct bench *b, uint32_t job, struct str word);
void bench_ask_to_call(struct bench *b, uint32_t job, struct str tool, struct str args);
void bench_put_ask(struct buf *body, uint32_t id, uint32_t n);
void bench_ask_question_of(struct bench *b, uint32_t id, uint32_t n);
void bench_say_done(struct bench *b, uint8_t code, uint8_t discard, const char *reason);
void bench_say_exit(struct bench *b, uint32_t code, uint32_t sig);
void bench_hear_spawn(struct bench *b, enum spawn_op op, uint16_t index);
void bench_say_spawned(struct bench *b, enum spawn_op op, bool ok, const char *why);
void bench_say_lost(struct bench *b);
void bench_answer(struct bench *b, const char *id, struct str text);
struct str bench_hear_note(struct bench *b, const char *event);
struct str bench_hear_verdict_at(struct bench *b, enum side who, uint32_t job, bool allowed);
struct str bench_hear_verdict(struct bench *b, uint32_t job, bool allowed);
void bench_hear_answer(struct bench *b, uint32_t id, bool answered, const char *const *want, size_t n);
void bench_hear_stop(struct bench *b, enum wire_stop how);
void bench_hear_close(struct bench *b, bool discard);
void bench_say_git_found(struct bench *b, const char *moved_to, const char *why);
void bench_say_git_changed(struct bench *b, const char *paths);
void bench_hear_tell(struct bench *b, enum wire_tell what, const char *text);
void bench_front_end_says(struct bench *b, enum answer_kind kind, const char *text);
void bench_end_well(struct bench *b);
void bench_start_on_leash(struct bench *b, enum approval_policy policy, int *far);
void bench_let_workers_go(struct bench *b);
void bench_hear_the_end(struct bench *b, enum side who);

#endif
