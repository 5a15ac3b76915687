/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lsp: language servers: started when a tool first has a use for one, asked, and given up when they misbehave.
 *
 * Shape    lsp_open once; lsp_ask as often as a tool wants; lsp_touched when tools changed files. Nothing of a server is
 *          waited for longer than language_timeout_s a call: then the answer says so and the code index stands alone.
 * Memory   Servers live in the arena of the run; an answer in that of the call.
 * Errors   -ERR_STOPPED when the operator wants out, -ERR_CLOSED when a process of ours is gone. Whatever a server does is
 *          an answer, or a note of why there is none.
 * Units    Milliseconds, bytes.
 * Source   docs/lsp.md; Language Server Protocol 3.17.
 *
 * The agent writes to a server's standard input itself: it has nothing to say there that the server could not read in the
 * workspace. What it answers is hostile: fmt/lsp.h bounds it, tool/language.h believes none of it.
 */
#ifndef AGENT_LSP_H
#define AGENT_LSP_H

#include "agent/jobs.h"
#include "agent/keep.h"
#include "agent/params.h"
#include "fmt/lsp.h"
#include "fmt/lsp_table.h"
#include "tool/language.h"

enum lsp_state {
	LSP_OFF,      /* not started, or ended */
	LSP_STARTING, /* the zygote was asked */
	LSP_OPENING,  /* initialize */
	LSP_READY,
	LSP_GIVEN_UP, /* for the rest of the leg */
};

struct lsp_doc { /* open at the server */
	struct buf path;
	int64_t mtime_ns, ctime_ns, size;
	uint64_t ino;
	int64_t version;
	uint64_t used; /* when it was asked about last */
};

#define LSP_DOCS_MAX 32

struct lsp_peer {
	struct lsp *all;
	const struct lsp_server *is;
	size_t index;   /* of all.peers */
	uint8_t place;  /* in the cell */
	struct job_server proc;
	struct lsp_reader reader;
	enum lsp_state state;
	bool bytes;      /* columns are bytes */
	bool stopping;   /* we end it */
	unsigned starts;
	unsigned late;   /* requests in a row that it did not answer in time */
	uint64_t unasked, unasked_bytes; /* since the last answer */
	int64_t started_ms;
	struct buf errs; /* the end of its stderr */
	uint64_t errs_total;
	struct buf out;  /* not written yet ... */
	size_t out_at;   /* ... from here on */
	int64_t last_id, open_id; /* 0: nothing is asked */
	bool answered, refused;
	struct lsp_doc docs[LSP_DOCS_MAX];
	size_t ndocs;
	char why[256];   /* it ended, or was given up */
};

struct lsp {
	struct links *links;
	struct keep *keep;
	struct jobs jobs;
	bool there;      /* there is a cell for them */
	struct str workspace;
	int64_t timeout_ms;
	struct lsp_peer *peers; /* in the run's arena */
	size_t n;
	uint64_t asked;  /* counts calls */
	struct {
		VEC(struct buf);
	} touched;       /* names that tools wrote since the servers were told */
	/* the call that is waited for */
	struct arena *mem;
	enum search_what what;
	struct language_answer *answer;
};

int lsp_open(struct lsp *l, struct links *links, struct keep *keep, const struct run_params *p, struct arena *mem, struct err *err)
	CHECKED;
void lsp_fini(struct lsp *l);
bool lsp_knows(const struct lsp *l, struct str path); /* a server for it is there and not given up */
int lsp_touched(struct lsp *l, struct str_list paths, struct err *err) CHECKED; /* relative to the workspace */
int lsp_ask(struct lsp *l, struct tool_ctx *ctx, const struct language_ask *ask, struct language_answer *out, struct err *err) CHECKED;

#endif
