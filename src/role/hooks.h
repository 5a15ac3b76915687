/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* hooks: the operator's own programs that are told of a run: that it ended (notify.on_complete), that it waits for
 * somebody (notify.on_wait). The spawner runs them; what it is asked is an operation and a number.
 *
 * Shape    hooks_tell before the run: the programs and what their environment says of the run. hooks_ask when
 *          something happened. The spawner's side: hooks_take, hooks_start, hooks_due, hooks_ended.
 * Memory   struct hooks: strings in its arena.
 * Errors   A program that fails is a result, told in our own words; nothing it prints is read.
 * Source   docs/notify.md.
 */
#ifndef ROLE_HOOKS_H
#define ROLE_HOOKS_H

#include "fmt/field.h"
#include "fmt/wire.h"
#include "sys/proc.h"

#define HOOK_WAITS_MOST 200 /* of a run: one that was taken over does not ring for ever */

struct hooks_spec {
	struct str_list on_complete, on_wait; /* argv; empty: none */
	int64_t timeout_ms;
	struct str id, mode, dir; /* of the run; the directory is the operator's */
};

int hooks_tell(int chan, const struct hooks_spec *spec, struct err *err) CHECKED;

/* What happened. `index` of an end says how: hook_end_index. */
int hooks_ask(int chan, enum spawn_op op, uint16_t index, struct err *err) CHECKED;
uint16_t hook_end_index(int exit_code, struct str reason);

/* ---- the spawner's side ---- */

enum { HOOK_COMPLETE, HOOK_WAIT, HOOK_KINDS };

struct hook_running {
	struct proc proc; /* pid 0: none */
	enum spawn_op op;
	uint16_t index;
	int64_t until_ms; /* time_mono_ms */
	bool late;        /* it was killed */
};

struct hooks {
	struct arena *mem;
	struct hooks_spec spec;
	bool told;
	unsigned waits;
	struct hook_running running[HOOK_KINDS];
};

int hooks_take(struct hooks *h, struct str body, struct err *err) CHECKED; /* what hooks_tell packed */
/* 1: it runs, hooks_ended will have its result; 0: nothing is to be run; negative: it cannot be started. */
int hooks_start(struct hooks *h, enum spawn_op op, uint16_t index, struct err *err) CHECKED;
int hooks_poll_ms(const struct hooks *h); /* until the first is late; -1: none runs */
void hooks_due(struct hooks *h);          /* kills what is late */
/* It ended: 0, or why that is a failure. */
int hooks_ended(struct hook_running *r, int64_t timeout_ms, struct err *err) CHECKED;
void hooks_kill(struct hooks *h);

#endif
