/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jailed: one shell script in a jail of a class, in a cell of its own, for tests.
 *
 * Shape    jailed_cell fills a spec for a scratch workspace; jailed_sh runs and returns what came out.
 */
#ifndef TEST_SANDBOX_JAILED_H
#define TEST_SANDBOX_JAILED_H

#include "sandbox/cell.h"
#include "sandbox/jail.h"
#include "test/lib/test.h"

struct jailed {
	struct buf out; /* stdout and stderr */
	int code, signal, exec_errno;
	struct err err; /* when the jail could not be made: code is -1 */
};
void jailed_fini(struct jailed *j);
#define auto_jailed CLEANUP(jailed_fini)

/* Skips the test (and answers false) where this host cannot make cells. */
bool jailed_possible(void);
struct cell_spec jailed_cell(const struct test_dir *ws);
struct jailed jailed_sh(const struct cell_spec *spec, enum job_class class, const char *script);
struct jailed jailed_argv(const struct cell_spec *spec, enum job_class class, const char *const *argv);
/* A command's, as where Landlock is of that ABI. */
struct jailed jailed_under(const struct cell_spec *spec, int abi, const char *script);
/* The same after a command of the same cell ran a script of its own to a good end. */
struct jailed jailed_after(const struct cell_spec *spec, const char *first, enum job_class class, const char *script);

#endif
