/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* crash: what a process of ours says when a fault ends it: which signal, and where in our own program. Nothing of what it
 * was working on: no memory, no stack, no words.
 *
 * Shape    crash_watch early in each process. A role tells its monitor over its channel (WIRE_CRASH); what a person
 *          started says it on standard error, and in the file of crash_keep.
 * Memory   Two words and a stack of its own, in src/GLOBALS: a handler cannot be passed anything.
 * Units    A place is an offset into our program as it lies on disk (addr2line reads it); 0 is not in it.
 */
#ifndef SYS_CRASH_H
#define SYS_CRASH_H

#include "base/str.h"

#define CRASH_LINE_MAX 512

struct crash {
	int signal;  /* 0: there was none */
	uint64_t at;
};

/* chan: the channel to the monitor, or -1. Signals that somebody else handles by then stay theirs. */
void crash_watch(int chan);
/* Where a line is left when this very process dies; -1: nowhere. Both texts are borrowed. */
struct crash_keep {
	int fd;
	const char *process, *run_id;
};
void crash_keep(const struct crash_keep *k);
/* Appends that line for another process. Async-signal-safe, as all of this. */
void crash_note(const struct crash_keep *k, const char *process, const struct crash *c);
const char *crash_signal_name(int sig); /* "SIGSEGV"; "?" */
bool crash_is_fault(int sig);           /* the program's own mistake, not somebody's kill */

#endif
