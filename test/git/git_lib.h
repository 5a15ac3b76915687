/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* git_lib: scratch repositories for tests, and the two ways to run our git operations on them.
 *
 * Shape    each_host(fn): fn once with git as a plain process and once in the real git cell. A host that
 *          cannot make a cell skips loudly.
 */
#ifndef TEST_GIT_GIT_LIB_H
#define TEST_GIT_GIT_LIB_H

#include "git/githost.h"
#include "git/repo.h"

#include "test/lib/test.h"

struct fixture {
	struct test_dir dir; /* the work tree; its HOME is beside it */
	struct arena *mem;
	struct git_host *host;
	struct discovered found;
	struct repo *repo;   /* opened by fixture_repo */
	int64_t timeout_ms, memory_mb; /* of each git in its cell; 0: enough */
	bool jailed, may_merge; /* may_merge: true unless set otherwise before fixture_repo */
	struct git_zygote *zygote;
	int monitor, asker;
	struct proc *proc;
	void *row;           /* what the caller plays: a row of its table */
};

typedef void scenario_fn(struct fixture *f);

void each_host(scenario_fn *fn);
void each_host_for(scenario_fn *fn, void *row);
/* Runs git as the person would: setup and inspection. Output trimmed; fails the test when git fails. */
struct str git(struct fixture *f, const char *const *words);
#define GIT(f, ...) git((f), (const char *const[]){ "git", __VA_ARGS__, NULL })
/* The same for a few lines of shell; stops at the first that fails. */
struct str shell(struct fixture *f, const char *lines);
int git_status_of(struct fixture *f, const char *const *words); /* exit status, whatever it is */
/* git init with a first commit of a.txt and d/b.txt. */
void repo_with_commit(struct fixture *f);
/* Starts the host now, and asks it nothing. */
void fixture_host(struct fixture *f);
/* Starts the host now (the cell sees what is there) and opens the handle. */
void fixture_repo(struct fixture *f);
struct repo_stepped step(struct fixture *f, const struct repo_step *s);
struct str sha_of(struct fixture *f, const char *rev);
bool has_name(const struct str_list *l, const char *name);
struct repo_step step_from_head(struct fixture *f);

#define RUN_ID "calm-fox-000001"
#define CHAIN  "refs/agent6/" RUN_ID "/head"
#define SIDE   "agent6/" RUN_ID

#endif
