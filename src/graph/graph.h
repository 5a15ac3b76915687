/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* graph: the task notepad of a run: a tree of tasks that may depend on one another, changed by one typed
 * operation at a time.
 *
 * Shape    graph_new; graph_apply per operation, or graph_fold over the text of record/graph.jsonl, which
 *          holds every operation ever made; graph_focus says what is next. The same code runs where a tool
 *          asks and where the recorder writes, so a graph that is on disk obeys the rules below.
 *          {"op":"back"} lines say that a leg went on from an older version: what came after it counts no more.
 * Memory   The graph owns all its texts. A task pointer dies at the next graph_apply.
 * Errors   -ERR_INVALID for an operation that breaks a rule: unknown ids, a circle of dependencies, a task
 *          that passed and is to change, a standing one that is to pass, bounds. Nothing changes then.
 * Source   docs/tasks.md.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "fmt/field.h"

#define TASK_ID_LEN     26
#define GRAPH_TASKS_MAX 256
#define GRAPH_FILE      "graph.jsonl"
#define GRAPH_FILE_MAX  (32 * 1024 * 1024)
#define GRAPH_OP_MAX    (64 * 1024) /* of one operation, as JSON */

enum task_status { TASK_PENDING, TASK_IN_PROGRESS, TASK_PASSED, TASK_FAILED, TASK_SKIPPED, TASK_OBSOLETE, TASK_STATUSES };
extern const char *const task_statuses[TASK_STATUSES + 1]; /* NULL ended */

struct task_id {
	char z[TASK_ID_LEN + 1]; /* a ULID; empty: none */
};

struct task {
	struct task_id id, parent;
	struct str title, rationale, acceptance, notes, by, commit;
	struct str_list paths;
	struct task_id *deps;
	size_t ndeps;
	enum task_status status;
	bool standing;           /* a goal that is never done */
	int64_t created_us, updated_us, version; /* version of the graph that changed it last */
};

struct graph {
	struct arena *mem;   /* owned */
	struct task *p;      /* siblings stand in their order; a parent stands anywhere */
	size_t n, cap;
	struct task_id cursor;
	int64_t version;     /* operations so far */
};

struct graph *graph_new(void);
void graph_free(struct graph *g); /* NULL is fine */
static inline void graph_free_ptr(struct graph **g)
{
	graph_free(*g);
}
#define auto_graph CLEANUP(graph_free_ptr)

enum graph_op_kind { GRAPH_ADD, GRAPH_UPDATE, GRAPH_CURSOR, GRAPH_COMMIT, GRAPH_BACK };

struct graph_op {
	int op;              /* enum graph_op_kind */
	struct str id;       /* of the task; for the cursor empty: none */
	/* add */
	struct str parent_id; /* empty: a root */
	struct str after;     /* a sibling, or empty: last */
	struct str title, rationale, acceptance, by;
	struct str_list relevant_paths;
	bool standing;
	/* add, update: dependencies to add */
	struct str_list depends_on;
	/* update */
	int status;          /* enum task_status + 1; 0: as it is */
	struct str note;
	struct str sha;      /* commit */
	int64_t to;          /* back: the version that counts */
};

int graph_op_encode(const struct graph_op *op, struct buf *out, struct err *err) CHECKED; /* one JSON object */
int graph_op_decode(struct str json, struct arena *mem, struct graph_op *out, struct err *err) CHECKED;
int graph_apply(struct graph *g, const struct graph_op *op, int64_t now_us, struct err *err) CHECKED;
/* The line of an operation that makes `version`, with its newline; op: as graph_op_encode wrote it. */
int graph_line(struct str op, int64_t version, int64_t now_us, struct buf *out, struct err *err) CHECKED;
/* Applies a journal's lines up to that version (-1: all). Returns how many lines could not be used. */
int64_t graph_fold(struct graph *g, struct str lines, int64_t until);

void task_id_new(struct task_id *out); /* a ULID of now */
bool task_id_ok(struct str id);
const struct task *graph_find(const struct graph *g, struct str id); /* NULL: not there */
bool task_is_open(enum task_status s);                               /* pending or in progress */

/* Tasks in the order a person reads them: each parent before its children. */
struct graph_row {
	const struct task *task;
	int depth;
};
size_t graph_rows(const struct graph *g, struct arena *mem, struct graph_row **out);
/* What is to be worked on: the cursor if it can be, else the first leaf whose dependencies are done. NULL: none. */
const struct task *graph_focus(const struct graph *g);
size_t graph_open(const struct graph *g); /* open tasks that are no root and no standing goal */

/* nodes/<id>.md */
int graph_print_node(const struct graph *g, const struct task *t, struct buf *out, struct err *err) CHECKED;
int graph_print_tree(const struct graph *g, struct buf *out, struct err *err) CHECKED; /* a line each */
int graph_print_dot(const struct graph *g, struct buf *out, struct err *err) CHECKED;
int graph_print_json(const struct graph *g, struct buf *out, struct err *err) CHECKED; /* [{...},...] in tree order */

#endif
