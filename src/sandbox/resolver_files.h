/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* resolver_files: what getaddrinfo reads, as Landlock rules for a process that looks names up after it was confined. It talks
 * to name servers only: its filter has no unix socket.
 *
 * Shape    Copy the rules in front of the process's own.
 * Source   resolver(5), nsswitch.conf(5), systemd-resolved(8). Links are granted by their usual targets.
 */
#ifndef SANDBOX_RESOLVER_FILES_H
#define SANDBOX_RESOLVER_FILES_H

#include "sandbox/landlock.h"

#define RESOLVER_RULES 12

extern const struct ll_rule resolver_rules[RESOLVER_RULES];

#endif
