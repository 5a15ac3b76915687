/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* resolver_files: what getaddrinfo reads and talks to, as Landlock rules for a process that looks names
 * up after it was confined.
 *
 * Shape    Copy the rules in front of the process's own.
 * Source   resolver(5), nsswitch.conf(5), nss-resolve(8). Links are granted by their usual targets.
 */
#ifndef SANDBOX_RESOLVER_FILES_H
#define SANDBOX_RESOLVER_FILES_H

#include "sandbox/landlock.h"

#define RESOLVER_RULES 14

extern const struct ll_rule resolver_rules[RESOLVER_RULES];

#endif
