/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* zygote: the process that stands in a cell and starts jails there, on request.
 *
 * Shape    The monitor starts `agent6-jail --zygote` with descriptor 3 = its channel to the zygote, 4 = the
 *          zygote's end of the channel to whoever asks for jobs (the agent), 5 and 6 = the programs agent6 and
 *          agent6-index (command zygote only). It sends one WIRE_CEILING, a sealed memfd from zygote_spec_encode, and gets
 *          WIRE_CELL_READY or WIRE_CELL_FAIL. From then on src/fmt/wire.h says everything.
 *          Job numbers of one asker must grow: a number is never used twice, so that a verdict can never
 *          meet another command than the one that was shown.
 * Memory   Decoded specs live in the arena.
 * Errors   A peer that breaks a rule is dropped: the monitor's fault ends the zygote, the asker's ends its
 *          jobs and the agent. End of file on either channel does the same.
 * Units    Milliseconds.
 * Source   docs/sandbox.md, "The cell".
 */
#ifndef SANDBOX_ZYGOTE_H
#define SANDBOX_ZYGOTE_H

#include "fmt/wire.h"
#include "sandbox/gitwatch.h"
#include "sandbox/policy.h"

#define ZYGOTE_JOBS_MAX  16
#define ZYGOTE_BACKGROUND_MAX 8 /* of these, jobs of class JOB_BACKGROUND */
#define ZYGOTE_BYTES_MAX (1024 * 1024)
#define ZYGOTE_HOME      "/tmp/agent6-home" /* HOME of commands, made in the cell; without a
					      * sandbox a private directory takes its place */
#define ZYGOTE_GIT_INDEX  "/tmp/agent6.index" /* the git cell's own index */
#define ZYGOTE_GIT_CONFIG "/tmp/agent6.gitconfig"

enum zygote_kind { ZYGOTE_COMMAND, ZYGOTE_GIT, ZYGOTE_SERVER };

struct zygote_limit { /* of one class; a class that is not listed cannot be asked for */
	enum job_class class;
	int64_t timeout_ms; /* the most a job may ask for, and what it gets when it asks for 0; 0: none */
	bool ask;           /* the monitor is asked before each job */
};

/* A program that stays: an MCP server, alone in its cell, or a language server in the command cell. The asker starts
 * it by its place here (WIRE_SERVE), as often as it wants and one at a time, and gets what it writes as bytes. */
struct zygote_server {
	const char *name;
	struct policy_list argv;
	struct policy_list env; /* "K=V", on top of the policy's */
	bool composed;          /* the asker cannot write to it: the zygote says what WIRE_SAY asks for */
	bool ask;               /* composed: the monitor is asked before each tools/call */
	struct policy_list tools; /* composed: those that may be called; none: all */
};

#define ZYGOTE_SERVERS_MAX 8

struct zygote_spec {
	enum zygote_kind kind;
	/* What the cell is. cwd is the workspace (for git: the top of the work tree), env what every job gets.
	 * Command cell: the git directory, the common directory and a .git file stand in extra_protect_paths (and
	 * in extra_ro_paths when outside the workspace). Git cell: git_cell is set and they stand in
	 * extra_rw_paths when outside. */
	struct sandbox_policy policy;
	struct zygote_limit limits[8];
	size_t nlimits;
	/* Server cell: policy.bare is set. Its servers are of class JOB_MCP, those of a command cell JOB_LANGUAGE. */
	struct zygote_server servers[ZYGOTE_SERVERS_MAX];
	size_t nservers;
	int64_t memory_max_mb; /* of everything in the cell together, where control groups are delegated; 0: no limit */
	/* Directories of the workspace that are no repository: one that appears there is set aside (sandbox/newgit.h). */
	struct policy_list no_git;
	/* The .git of repositories inside it and of those granted for writing, where no mount protects them: what of the one at
	 * the top is compared for its programs is of these too. */
	struct policy_list inner_git;
	/* git cell */
	const char *git_dir, *common_dir; /* absolute; equal unless this is a linked worktree */
	const char *run_id;               /* whose refs may be moved; "" for none */
	bool may_merge;                   /* operations on the person's branches: never for an agent */
	const char *git_config;           /* what stands for git's global configuration, as a file's text; "" for none */
};

int zygote_spec_encode(const struct zygote_spec *s, struct buf *out, struct err *err) CHECKED;
int zygote_spec_decode(struct str text, struct arena *mem, struct zygote_spec *out, struct err *err) CHECKED;

/* A WIRE_GIT request, to be turned into words by the git room, which lies above this one. */
struct zygote_git_request {
	uint8_t op;
	const struct str *args;
	size_t nargs;
	bool has_stdin;
	const char *work_tree, *git_dir, *common_dir, *index, *run_id;
	const char *config; /* the file of the global configuration; NULL: none */
	bool may_merge;
};
struct zygote_words {
	const char *const *argv; /* NULL ended */
	const char *const *env;  /* NULL ended, without the spec's own env */
	bool leaves; /* a commit or a ref: the record of the run has to tell of it */
};
typedef int zygote_git_fn(const struct zygote_git_request *rq, struct arena *mem, struct zygote_words *out,
	struct err *err);

/* `agent6-jail --zygote`: returns an exit status. git is gitop_words of git/gitop.h, digest gitindex_digest of gitindex.h. */
int zygote_main(zygote_git_fn *git, gitwatch_digest_fn *digest);

#endif
