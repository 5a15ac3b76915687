/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* zygote_priv: what the files of the zygote share. */
#ifndef SANDBOX_ZYGOTE_PRIV_H
#define SANDBOX_ZYGOTE_PRIV_H

#include "fmt/mcp.h"
#include "sandbox/gitwatch.h"
#include "sandbox/ground.h"
#include "sandbox/group.h"
#include "sandbox/jail.h"
#include "sandbox/newgit.h"
#include "sandbox/zygote.h"
#include "sys/chan.h"
#include "sys/loop.h"
#include "sys/proc.h"

/* ---- zygote_work.c: one program, in a jail of the cell or, with the sandbox off, as a plain process ---- */

struct work {
	enum job_class class;
	const char *const *argv; /* NULL ended */
	const char *const *env;
	const char *cwd;
	int in_fd, out_fd, err_fd; /* -1: /dev/null */
	const int *fds;            /* become 3, 4, ... */
	size_t nfds;
	int exe_fd;                /* > 0 */
	int64_t memory_limit_mb;
};

struct worker {
	bool plain;
	struct jail jail;
	struct proc proc;
	int pidfd; /* of whichever; readable when all of it is gone */
};

struct worker_end {
	int code, signal;
};

/* 0: it runs. 1: argv[0] cannot be executed, and why is in *exec_errno. */
int worker_start(struct jails *jails, const struct work *w, struct worker *out, int *exec_errno, struct err *err)
	CHECKED;
void worker_kill(const struct worker *w);
int worker_reap(struct worker *w, struct worker_end *out, struct err *err) CHECKED;

/* ---- zygote_ask.c: a request, checked and made ready to run ---- */

struct request {
	struct arena *mem; /* owned; the rest lives in it */
	uint32_t job;
	enum job_class class;
	uint32_t timeout_ms;
	const char *const *argv, *const *env;
	const char *cwd;
	int in_fd;         /* owned, or -1 */
	bool own_program;  /* runs agent6-index */
	bool leaves;       /* a commit or a ref */
	const struct zygote_server *server; /* of the spec; NULL: it is no server */
};

struct git_place {
	zygote_git_fn *words;
	const char *index; /* the run's own */
	const char *config; /* where spec.git_config lies, when there is one */
};

/* What of the asker's message makes a request. -ERR_PROTOCOL: the bytes are not one; the asker is dropped.
 * Anything else: the request breaks a rule, job is set, and err says which. */
int request_read_run(const struct zygote_spec *spec, struct chan_msg *m, struct request *out, struct err *err) CHECKED;
int request_read_git(const struct zygote_spec *spec, const struct git_place *git, struct chan_msg *m,
	struct request *out, struct err *err) CHECKED;
int request_read_serve(const struct zygote_spec *spec, struct chan_msg *m, struct request *out, struct err *err) CHECKED;
void request_fini(struct request *r);

/* ---- zygote.c ---- */

enum job_state { JOB_FREE, JOB_ASKED, JOB_RUNNING, JOB_REAPED };

struct zygote;

/* What a server that is spoken to by the zygote has not read yet. */
struct speech {
	int fd;          /* its stdin, or -1 */
	struct buf rest;
	bool watched;
};

/* A message for a server that waits for the monitor's word. */
struct saying {
	uint32_t number; /* 0: the place is free */
	uint32_t server; /* its job */
	struct buf line;
};

struct job {
	enum job_state state;
	struct zygote *z;
	struct request rq;
	struct worker worker;
	int64_t started_us;
	enum job_end killed; /* why we killed it; 0: we did not */
	struct speech speech;
};

#define ZYGOTE_SAYINGS_MAX 16

struct zygote {
	struct zygote_spec spec;
	struct jails *jails;   /* NULL: the sandbox is off */
	const struct ground *ground; /* hardened */
	gitwatch_digest_fn *digest;
	struct gitwatch *watch; /* a repository that no mount protects; or NULL */
	int keeper;            /* hung up: the process that cleans up after us is gone; or -1 */
	int monitor, asker;    /* channels; asker is -1 once it was dropped */
	int exe, index_exe;    /* the programs agent6 and agent6-index, or -1 */
	struct git_place git;
	struct loop *loop;
	struct chan_msg *msg;
	struct job jobs[ZYGOTE_JOBS_MAX];
	struct saying sayings[ZYGOTE_SAYINGS_MAX];
	uint32_t last_job;     /* numbers only grow */
	bool worked;           /* and the monitor was told */
	bool agent_up;
	struct worker agent;
	struct newgit newgit;  /* where no repository may appear */
	int events;            /* memory.events of the cell's control group, or -1 */
	struct group_ooms ooms; /* what it said last */
	int64_t memory_mb;     /* of that group */
};

struct zygote_end {
	uint32_t number;
	enum job_class class;
	uint32_t code;
	enum job_end why;
	uint64_t wall_us;
	struct str note;
};

const struct zygote_limit *zygote_limit_of(const struct zygote_spec *s, enum job_class class);

/* Serves in a cell, or on the ground, to the end; the exit status. */
int zygote_run_in(struct zygote *z, const struct cell *cell);
/* Tells the monitor why not; the exit status. */
int zygote_fail(const struct zygote *z, const struct err *err);
/* A private directory beneath /tmp, and what names one in the environment turned to it. */
int zygote_own_dir(struct zygote *z, struct arena *mem, const char **out, struct err *err) CHECKED;

/* ---- zygote_group.c: a control group for the cell, where one can be had ---- */

/* In the process that goes on, in a group of its own: 0. In the one that keeps it, and ends when the other did: 1, and its
 * exit status. Where nothing is delegated, or no limit is wanted: 0. */
int zygote_in_group(struct zygote *z, int *status, struct err *err) CHECKED;
/* What the kernel killed for the limit since it was last asked: words for who asked for the job, or nothing. */
int zygote_tell_kills(struct zygote *z, struct buf *note, struct err *err) CHECKED;

/* ---- zygote_ground.c: where no namespace is ---- */

int zygote_on_ground(struct zygote *z, struct arena *mem, struct err *err) CHECKED;

/* ---- zygote_serve.c ---- */

/* Serves until one of the channels ends. Everything it started is gone when it returns. */
int zygote_serve(struct zygote *z, struct err *err) CHECKED;
/* To the peers. An asker that does not read its answers is dropped. */
int zygote_tell_monitor(struct zygote *z, enum wire_type type, struct buf *body, struct err *err) CHECKED;
/* The end of a request; told: the monitor was asked about it, so it hears of its end. */
int zygote_tell_end(struct zygote *z, const struct zygote_end *end, bool told, struct err *err) CHECKED;
int zygote_drop_asker(struct zygote *z, struct err *err) CHECKED;
int zygote_works(struct zygote *z, struct err *err) CHECKED; /* before what the run's record has to tell of */
struct job *zygote_job(struct zygote *z, uint32_t number); /* NULL: there is none */

/* ---- zygote_look.c: what jobs made of a repository ---- */

int look_for_git(struct zygote *z, struct buf *note, struct err *err) CHECKED; /* where none may appear */
bool look_may_write(enum job_class class);
bool look_commands_run(const struct zygote *z);
int look_at_git(struct zygote *z, bool refs, struct buf *note, struct err *err) CHECKED;
int look_mark(struct zygote *z, struct err *err) CHECKED; /* a command is about to start */

/* ---- zygote_say.c: words for a server, from typed fields ---- */

int say_accept(struct zygote *z, struct err *err) CHECKED; /* WIRE_SAY is in z->msg */
/* 1: it was about something to be said. */
int say_verdict(struct zygote *z, uint32_t number, bool allowed, struct str reason, struct err *err) CHECKED;
int say_withdraw(struct zygote *z, uint32_t number, struct err *err) CHECKED;
void say_forget(struct zygote *z); /* whatever waits for the monitor's word */
void say_hang_up(struct zygote *z, struct job *j); /* its stdin ends, and nothing waits for it any more */

#endif
