/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* guard: a command under Landlock and a filter alone, and the process that watches over it: profile "hardened".
 *
 * Shape    guard_start (guard_once.c) forks the guardian of one command of the launcher; guards.h keeps guardians for
 *          a zygote. In a guardian: guard_enter once, then per command guard_launch, guard_watch, guard_sweep.
 *          It answers metadata calls, and when the command ends, or its stop descriptor is readable or closed by
 *          whoever holds the other end, it kills everything the command left.
 * Memory   The listener is guard's; stop is the caller's.
 * Errors   A command that cannot be executed is a result, told by launch->result.
 */
#ifndef SANDBOX_GUARD_H
#define SANDBOX_GUARD_H

#include "sandbox/cell.h"
#include "sandbox/launch.h"
#include "sandbox/once_priv.h"

struct guard {
	int stop;      /* readable or hung up: the command has to end */
	bool (*ends)(void *self); /* NULL, or reads what came on stop: has the command to end? */
	void *self;
	int listener;  /* of the command's filter, or -1 */
	int ended;     /* a signalfd of SIGCHLD */
	int children;  /* for sweeping */
	bool walled;   /* it can signal nobody but what it started, so all whom it can signal may be ended */
	bool read_memory; /* something of a command's memory was read here */
	const struct policy_list *written; /* beneath these, metadata may change */
};

/* How many processes may there be of this user, who is not alone with a command here, before one cannot start another. */
int64_t guard_processes_max(void);
/* A session and orphans of its own, and where the kernel can do it a wall around what it signals. */
int guard_enter(struct guard *g, struct err *err) CHECKED;
/* As launch_run, with the filter's listener. The launch's ruleset and filter are the caller's to set, and its post. */
long guard_launch(struct guard *g, struct launch *l, struct err *err) CHECKED;
/* The command's wait status, or -1 when it had to be ended. */
int guard_watch(struct guard *g, pid_t command);
void guard_sweep(struct guard *g);

/* *life is the caller's: closing it ends the command. */
int guard_start(const struct once *o, struct cell_proc *out, int *life, struct err *err) CHECKED;

#endif
