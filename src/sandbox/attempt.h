/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* attempt: one thing that a jail must refuse, tried by a program inside it: what `check sandbox` runs there.
 *
 * Shape    `agent6-jail --attempt NAME [ARG]` prints one line. Exit status 0: it was refused, and the line says how; 1: it
 *          worked, and the line says what; 2: there is no such attempt, or it could not be made.
 * Errors   None. Where nothing refuses it an attempt still does no harm: calls that would change the system have wrong
 *          arguments, files are made in given places, and a process that nobody ends ends itself after 20 s.
 * Source   docs/sandbox.md, "agent6 check".
 */
#ifndef SANDBOX_ATTEMPT_H
#define SANDBOX_ATTEMPT_H

enum { ATTEMPT_REFUSED = 0, ATTEMPT_WORKED = 1, ATTEMPT_UNKNOWN = 2 };

/* The names:
 *   write PATH, read PATH      a file that is outside
 *   setid                      set-id bits and device nodes, in the working directory
 *   trace, userns, mount       of other processes and worlds
 *   kernel                     io_uring, bpf, keys, userfaultfd, perf
 *   privileges                 any capability, or a way to regain one by executing
 *   signal PID, process PID    a process outside
 *   dial                       TCP and UDP, both families, to an address of the documentation
 *   families                   every kind of socket that reaches neither the run's loopback nor a path
 *   sockets                    any socket at all
 *   interfaces                 a network interface that is not the loopback
 *   memory MB                  that much of it
 *   linger FILE                leaves a process behind that holds a lock on FILE, and ends
 *   hang FILE                  the same, and does not end
 */
int attempt_main(const char *name, const char *arg);

#endif
