/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* tool: what the model may call, one table of all.
 *
 * Shape    tool_find a row, decode the call's arguments through its fields, run it, send the result.
 *          tool_call does all of that and always yields a result for the model: valid JSON, valid
 *          UTF-8, at most TOOL_RESULT_MAX bytes.
 * Memory   Arguments and scratch live in ctx->mem, which dies with the turn.
 * Errors   A failing tool is a result ({"error": "..."}), not a failure of ours. tool_call fails only
 *          with -ERR_STOPPED (the operator wants out), -ERR_CLOSED (a process of ours is gone) and
 *          -ERR_UNSUPPORTED (the gate's program cannot be executed), all of which end the run.
 * Source   docs/tools.md, printed from this table.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "fmt/field.h"
#include "fmt/wire.h"
#include "graph/graph.h"
#include "memory/notes.h"
#include "tool/mcp.h"

#define TOOL_RESULT_MAX 60000

enum tool_mode { MODE_RUN = 1 << 0, MODE_PLAN = 1 << 1, MODE_ASK = 1 << 2, MODE_REVIEW = 1 << 3 };

enum tool_effect {
	EFFECT_NONE,    /* reads */
	EFFECT_EDIT,    /* changes files of the workspace */
	EFFECT_VERIFY,  /* runs the gate: as COMMAND, and withheld where there is none */
	EFFECT_COMMAND, /* runs a program in a jail; withheld when no command may run */
	EFFECT_BACKGROUND, /* looks after background commands; withheld as COMMAND */
	EFFECT_FINISH,  /* asks to end the run; the loop decides */
	EFFECT_ASK,     /* asks the person */
	EFFECT_TASKS,   /* changes the run's task list, which is on its record */
	EFFECT_NOTES,   /* changes the notes that later runs are told */
};

/* One program in a jail of the cell, run to its end; of class JOB_BACKGROUND until it runs. */
struct job_request {
	enum job_class class;
	const struct str *argv;
	size_t argc;
	struct str cwd;          /* relative to the workspace, empty: its root */
	int64_t timeout_ms;      /* 0: the class's own limit */
	struct str in;           /* stdin; empty: /dev/null */
	size_t keep_head, keep_tail; /* bytes kept of each stream; what is between is counted and dropped */
	int64_t checkin_ms;      /* after so long it is handed back and runs on; 0: never */
};

struct job_result {
	enum job_end why;
	int code;
	/* Raw bytes in the caller's arena: the first keep_head and the last keep_tail of the stream, side by
	 * side. When total > n the gap lies at keep_head; nothing marks it. */
	struct str out, errs;
	uint64_t out_total, errs_total;
	int64_t wall_ms;
	struct str note;         /* why it was denied, refused or lost */
	uint32_t behind;         /* not 0: why is not set, it runs on ... */
	struct str behind_id;    /* ... and the model knows it by this */
};

/* What there is to say of the background commands. */
enum background_op { BACKGROUND_LIST, BACKGROUND_READ, BACKGROUND_STOP };
struct background_request {
	enum background_op op;
	struct str id;   /* "bg3"; LIST: of none */
	int64_t wait_ms; /* READ: for its end, at most so long */
};
struct background_report {
	struct str_list shells;   /* a line for each, oldest first */
	struct str text;          /* what it wrote since it was asked last, as job_result.out */
	uint64_t total;
	size_t gap_at;
};

/* What came of a call of a server's tool. */
struct mcp_reply {
	enum job_end why;     /* JOB_EXITED: it was answered; else note says why not */
	struct str json;      /* the result for the model */
	bool failed;          /* it says of itself that it failed */
	struct mcp_pictures pictures;
	bool may_have_written; /* files that the run's commands see */
	struct str note;
	int64_t wall_ms;
};

enum note_how { NOTE_KEEP, NOTE_DROP }; /* arg of RECORD_NOTE */

struct tool_ctx;
struct language_ask;
struct language_answer;

/* Everything a tool may ask of the world outside this process. */
struct tool_host {
	void *self;
	int (*job)(void *self, const struct job_request *req, struct arena *mem, struct job_result *out,
		struct err *err);
	/* n questions, each with options; answers come aligned. *answered is false when nobody can. */
	int (*ask)(void *self, const struct str *questions, const struct str_list *options, size_t n,
		struct arena *mem, struct str_list *answers, bool *answered, struct err *err);
	/* -ERR_NOENT: no such id, and err names those there are. */
	int (*background)(void *self, const struct background_request *req, struct arena *mem,
		struct background_report *out, struct err *err);
	/* A tool of a server: args is one JSON object. */
	int (*mcp)(void *self, const struct mcp_tool *tool, struct str args, struct arena *mem, struct mcp_reply *out,
		struct err *err);
	/* Language servers, tool/language.h. Both NULL: there are none. */
	bool (*language_knows)(void *self, struct str path);
	int (*language)(void *self, struct tool_ctx *ctx, const struct language_ask *ask, struct language_answer *out, struct err *err);
	/* To the recorder: an operation that was applied and made this version; a note kept or taken back. */
	int (*graph)(void *self, const struct graph_op *op, int64_t version, struct err *err);
	int (*note)(void *self, enum note_how how, struct str id, struct str json, struct err *err);
};

struct tool_root {
	int dirfd;       /* opened at start; paths are resolved beneath it */
	struct str path; /* where it is outside, absolute */
	bool writable;
};

struct skills;

struct tool_ctx {
	struct arena *mem;
	const struct tool_host *host;
	const struct tool_root *roots; /* roots[0] is the workspace; then extra read and write paths */
	size_t nroots;
	const struct str_list *hide_paths; /* absolute: refused, and dropped from listings with a count */
	enum tool_mode mode;
	bool commands_allowed;         /* commands may run at all */
	struct str commands_why;       /* else why not; empty: sandbox.run_commands is "no" */
	struct str_list verify_command; /* empty: gateless */
	int64_t verify_timeout_ms;
	int64_t command_timeout_ms;    /* 0: none */
	int64_t command_checkin_ms;    /* of run mode, where what was handed back can be looked after; 0: never */
	const struct skills *skills;   /* memory/skill.h; NULL: none */
	const struct mcp_catalogue *mcp; /* tools of servers; NULL: none */
	bool unconfined;               /* the sandbox is off */
	bool asks_later;               /* a question that nobody answers ends the run, which goes on with the answer */
	bool git_open;                 /* nothing protects a .git from commands */
	bool no_namespaces;            /* commands have no /tmp, but what TMPDIR names */
	bool memory_each;              /* sandbox.memory_limit_mb limits each process of commands by itself */
	bool commands_online;          /* commands have the host's network */
	struct str_list metric_command; /* empty: there is no metric */
	struct str metric_pattern;
	struct str task;               /* what the run is for */
	struct graph *graph;           /* NULL: there is no task list */
	const struct memory_note *notes; /* those that are in force */
	size_t nnotes;
	size_t *notes_written;         /* by this leg */
	struct buf *index_cache;       /* what the index worker left, for its next search; NULL: not kept */
};

/* What the loop wants to know besides the text for the model. */
struct tool_outcome {
	bool ok;
	bool refused;            /* denied by policy or by the operator: not a malformed call */
	bool edited;             /* files of the workspace changed */
	bool ran_command;        /* a command ran and may have changed them */
	bool waited;             /* it was to wait for something that goes on by itself */
	bool verified;           /* the gate ran to its end ... */
	bool verify_ok;          /* ... and exited 0 */
	bool metric;             /* the metric's command ran ... */
	bool has_score;          /* ... and printed a number */
	bool metric_full;        /* ... which is all there is: 12/12 */
	double score;
	struct job_result job;   /* of the gate or the command, when one ran */
	struct mcp_pictures pictures; /* beside the result */
	bool finish;             /* finish_run was called */
	struct str summary_text; /* its summary */
	struct str result_json;  /* its result object, or empty */
	struct str stale_gate;
	struct str plan;         /* finish_planning */
	struct str_list questions;
	struct str summary;      /* one line for people: "exit=1 in 0.4s", "applied=[replace] path=a.c" */
	struct str out_tail, errs_tail, head; /* for the record: at most 2000 bytes each */
	int64_t lines_total;     /* read_file */
	struct str_list paths;   /* touched, relative */
	bool graph_changed;      /* the task list */
	bool noted;              /* a note was kept or taken back */
};

struct tool {
	const char *name;
	const char *help;         /* the description the model sees: short, every byte is paid each turn */
	const struct field *fields;
	size_t nfields, size;
	unsigned modes;
	enum tool_effect effect;
	bool (*shown)(const struct tool_ctx *ctx); /* NULL: wherever mode and effect allow it */
	/* Writes one JSON object. A failure becomes {"error": err->msg}; a tool that has more to say than an
	 * err holds writes that object itself, sets oc->ok to false and returns 0. */
	int (*run)(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err);
};

extern const struct tool *const tools[]; /* in the order the model sees; NULL ended */

const struct tool *tool_find(struct str name);
bool tool_mode_from(struct str word, enum tool_mode *out); /* "run", "plan", "ask", "review" */
/* By its name, a server's too: it may change something outside of the conversation. */
bool tool_may_change(const struct tool_ctx *ctx, struct str name);
bool tool_exposed(const struct tool *t, const struct tool_ctx *ctx);

/* args: the JSON text as the model sent it. out: the result for the model. Never leaves out empty. */
int tool_call(struct tool_ctx *ctx, struct str name, struct str args, struct buf *out, struct tool_outcome *oc,
	struct err *err) CHECKED;

/* [{"name":...,"description":...,"input_schema":{...}},...] of the exposed tools. */
int tools_schema(const struct tool_ctx *ctx, struct buf *out, struct err *err) CHECKED;

/* docs/tools.md, whole: a test compares the file with it. */
int tools_print_reference(struct buf *out, struct err *err) CHECKED;

#endif
