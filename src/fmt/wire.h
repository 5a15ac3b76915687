/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* wire: every message that two of our processes may exchange, in one table.
 *
 * Shape    A message is sent with chan_send(fd, WIRE_X, body, fds). The receiver calls wire_check
 *          with the link and the direction before it looks at the body.
 * Errors   -ERR_PROTOCOL: unknown type, not allowed on this link or in this direction, a body out of
 *          bounds, a wrong number of descriptors. The receiver then drops the peer, never answers it.
 * Source   docs/architecture.md, "Channels"; bodies are written with fmt/pack.h in the order given.
 */
#ifndef FMT_WIRE_H
#define FMT_WIRE_H

#include "base/err.h"

/* Who talks to whom. The first named end is "up": the one that sends WIRE_DOWN messages. */
enum wire_link {
	LINK_MONITOR_ZYGOTE,   /* also the git zygote */
	LINK_MONITOR_AGENT,
	LINK_MONITOR_RECORDER, /* the monitor's own records: approvals, deaths, stops */
	LINK_MONITOR_CLIENT,
	LINK_MONITOR_BROKER,
	LINK_MONITOR_RESOLVER,
	LINK_MONITOR_SPAWNER,
	LINK_MONITOR_VIEW,
	LINK_ZYGOTE_AGENT,     /* also the git zygote */
	LINK_CLIENT_AGENT,
	LINK_CLIENT_SPAWNER,   /* tokens of providers.NAME.token_command: from who makes them to who sends them */
	LINK_BROKER_CLIENT,    /* connections of routes, and why a dial failed */
	LINK_BROKER_RESOLVER,
	LINK_RECORDER_AGENT,
	LINK_MONITOR_FORKER,   /* one request, one answer */
	LINK_MONITOR_LISTER,   /* the same */
	LINK_MONITOR_TOOLSMITH, /* the same */
	LINK_MONITOR_ANY,      /* of a row: any of the monitor's links */
	LINK_MONITOR_READER,   /* the same */
	LINK_COUNT
};

enum wire_dir { WIRE_DOWN, WIRE_UP };

/* X(type, value, link, direction, fds_min, fds_max, body_max)   body, in pack order */
#define WIRE_TYPES(X)                                                                                        \
	/* monitor -> zygote */                                                                              \
	X(WIRE_CEILING, 1, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 1, 1, 0)     /* memfd: cell spec, JSON */            \
	X(WIRE_START_AGENT, 2, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 5, AGENT_ENDS_MAX, 16384) /* strs argv; fds: agent's ends */ \
	X(WIRE_VERDICT, 3, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 0, 0, 4096)  /* u32 job, u8 allowed, str reason */   \
	X(WIRE_KILL_JOB, 4, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 0, 0, 4)    /* u32 job */                           \
	X(WIRE_STOP_ALL, 5, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 0, 0, 0)    /* kill every job but the agent */      \
	X(WIRE_FINISH, 13, LINK_MONITOR_ZYGOTE, WIRE_DOWN, 0, 0, 0)     /* kill all, look, answer WIRE_AGENT_EXIT, end */ \
	/* zygote -> monitor */                                                                              \
	X(WIRE_CELL_READY, 6, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 16384) /* u32 landlock abi, strs notes */     \
	X(WIRE_CELL_FAIL, 7, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 4096)  /* str message, str hint */             \
	X(WIRE_APPROVE, 8, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, CHAN_BODY) /* u32 job, u8 class, str cwd below the workspace, strs argv */ \
	X(WIRE_JOB_END, 9, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 64)      /* u32 job, u8 class, u32 code, u8 why */ \
	X(WIRE_AGENT_EXIT, 10, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 8)   /* u32 code, u32 signal */              \
	X(WIRE_AGENT_UP, 11, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 0)     /* the agent was started */             \
	X(WIRE_GIT_FOUND, 12, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 8192) /* str directory, str name, str moved to or "", str why not */ \
	X(WIRE_GIT_CHANGED, 14, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, 8192) /* str paths, one a line */          \
	X(WIRE_APPROVE_CALL, 15, LINK_MONITOR_ZYGOTE, WIRE_UP, 0, 0, CHAN_BODY) /* u32 job, str tool, str arguments, or "" when they are too long to be shown */ \
	/* agent -> zygote */                                                                                \
	X(WIRE_RUN, 20, LINK_ZYGOTE_AGENT, WIRE_UP, 0, 1, CHAN_BODY)    /* u32 job (larger than any before), u8 class, u32 timeout_ms, str cwd ("" or below the workspace), strs argv, strs env "K=V"; memfd stdin */ \
	X(WIRE_GIT, 21, LINK_ZYGOTE_AGENT, WIRE_UP, 0, 1, CHAN_BODY)    /* u32 job (larger than any before), u8 op (git/gitop.h), strs args; memfd stdin */ \
	X(WIRE_KILL, 22, LINK_ZYGOTE_AGENT, WIRE_UP, 0, 0, 4)           /* u32 job */                           \
	X(WIRE_SERVE, 25, LINK_ZYGOTE_AGENT, WIRE_UP, 0, 0, 8)          /* u32 job (larger than any before), u8 which server of the ceiling */ \
	X(WIRE_SAY, 26, LINK_ZYGOTE_AGENT, WIRE_UP, 0, 1, 8192)         /* u32 job (larger than any before), u32 job of the server, struct mcp_say (fmt/mcp.h); memfd arguments. WIRE_EXIT: 0, JOB_EXITED when it was said */ \
	/* zygote -> agent */                                                                                \
	X(WIRE_STARTED, 23, LINK_ZYGOTE_AGENT, WIRE_DOWN, 2, 3, 4)      /* u32 job; fds: stdout, stderr, of a server that may be spoken to directly stdin */ \
	X(WIRE_EXIT, 24, LINK_ZYGOTE_AGENT, WIRE_DOWN, 0, 0, 4096)      /* u32 job, u32 code, u8 why, u64 wall_us, str note */ \
	/* monitor -> agent */                                                                               \
	X(WIRE_GO, 30, LINK_MONITOR_AGENT, WIRE_DOWN, 1, 1, 0)          /* memfd: struct run_params, agent/params.h */ \
	X(WIRE_ANSWER, 31, LINK_MONITOR_AGENT, WIRE_DOWN, 0, 0, 32768)  /* u32 id, u8 answered, strs answers */ \
	X(WIRE_STEER, 32, LINK_MONITOR_AGENT, WIRE_DOWN, 0, 0, 32768)   /* str text */                          \
	X(WIRE_STOP, 33, LINK_MONITOR_AGENT, WIRE_DOWN, 0, 0, 1)        /* u8 how: 1 after the step, 2 now */    \
	X(WIRE_TELL, 36, LINK_MONITOR_AGENT, WIRE_DOWN, 0, 0, 32768)    /* u8 enum wire_tell, str text */       \
	/* agent -> monitor */                                                                               \
	X(WIRE_ASK, 34, LINK_MONITOR_AGENT, WIRE_UP, 0, 0, 32768)       /* u32 id, u32 n, n x (str question, strs options) */ \
	X(WIRE_DONE, 35, LINK_MONITOR_AGENT, WIRE_UP, 0, 0, 8192)       /* u8 exit code, u8 discard, str reason, str message */ \
	/* to the recorder, from the agent (link RECORDER_AGENT) and the monitor (MONITOR_RECORDER) */        \
	X(WIRE_RECORD, 40, LINK_RECORDER_AGENT, WIRE_UP, 0, 1, CHAN_BODY) /* u8 what, u32 arg, str name, str json; memfd json when large */ \
	X(WIRE_SYNC, 41, LINK_RECORDER_AGENT, WIRE_UP, 0, 0, 4)         /* u32 token: answer when durable */     \
	X(WIRE_LOAD, 42, LINK_RECORDER_AGENT, WIRE_UP, 0, 0, 8)         /* u32 turn or UINT32_MAX for newest */  \
	X(WIRE_SYNCED, 43, LINK_RECORDER_AGENT, WIRE_DOWN, 0, 0, 4)     /* u32 token */                         \
	X(WIRE_LOADED, 44, LINK_RECORDER_AGENT, WIRE_DOWN, 0, 1, 4096)  /* u8 found, str error; memfd: state and messages */ \
	X(WIRE_LOST, 45, LINK_RECORDER_AGENT, WIRE_DOWN, 0, 0, 4096)    /* str error: nothing is saved from here on */ \
	X(WIRE_OPEN, 46, LINK_MONITOR_RECORDER, WIRE_DOWN, 1, 3, 8192)  /* str run id, str dir name, u8 resume; fds: run directory, bucket directory, and memories/ where the agent may write notes */ \
	X(WIRE_OPENED, 47, LINK_MONITOR_RECORDER, WIRE_UP, 0, 0, 4096)  /* u8 ok, str error */                   \
	X(WIRE_NOTE, 48, LINK_MONITOR_RECORDER, WIRE_DOWN, 0, 1, CHAN_BODY) /* as WIRE_RECORD, from the monitor */ \
	X(WIRE_CLOSE, 49, LINK_MONITOR_RECORDER, WIRE_DOWN, 0, 0, 1)    /* u8 discard: sync (or remove) and exit */ \
	X(WIRE_LOST_UP, 50, LINK_MONITOR_RECORDER, WIRE_UP, 0, 0, 4096) /* str error: nothing is saved from here on */ \
	/* to the client and back */                                                                         \
	X(WIRE_ENDPOINTS, 60, LINK_MONITOR_CLIENT, WIRE_DOWN, 1, 5, 1)  /* u8 enum client_fds; memfd: endpoint table, fmt/endpoint.h; then the fds it names, in order */ \
	X(WIRE_CLIENT_READY, 61, LINK_MONITOR_CLIENT, WIRE_UP, 0, 0, 4096) /* u8 0 or enum err_code, str error, str hint */      \
	X(WIRE_REQ, 62, LINK_CLIENT_AGENT, WIRE_UP, 0, 1, 16)           /* u32 id, u8 endpoint, u8 route; sealed memfd body: POST, without: GET */ \
	X(WIRE_CANCEL, 63, LINK_CLIENT_AGENT, WIRE_UP, 0, 0, 4)         /* u32 id */                            \
	X(WIRE_HEAD, 64, LINK_CLIENT_AGENT, WIRE_DOWN, 0, 0, 64)        /* u32 id, u32 status, i64 retry_after_ms or -1, u8 content kind */ \
	X(WIRE_DATA, 65, LINK_CLIENT_AGENT, WIRE_DOWN, 0, 0, CHAN_BODY) /* u32 id, str bytes */                  \
	X(WIRE_END, 66, LINK_CLIENT_AGENT, WIRE_DOWN, 0, 0, 4096)       /* u32 id, u8 outcome, str text: for people, no key in it; of NET_OK: the address, where what came says that it is neither JSON nor events */ \
	X(WIRE_POST, 67, LINK_CLIENT_AGENT, WIRE_UP, 0, 1, 8192)        /* u32 id, u8 endpoint, struct mcp_say (fmt/mcp.h); memfd arguments */ \
	X(WIRE_APPROVE_POST, 68, LINK_MONITOR_CLIENT, WIRE_UP, 0, 0, CHAN_BODY) /* u32 id, u8 endpoint, str tool, str arguments, or "" when they are too long to be shown */ \
	X(WIRE_VERDICT_POST, 69, LINK_MONITOR_CLIENT, WIRE_DOWN, 0, 0, 4096) /* u32 id, u8 allowed, str reason */ \
	X(WIRE_POST_OVER, 59, LINK_MONITOR_CLIENT, WIRE_UP, 0, 0, 4)    /* u32 id: no verdict is wanted any more */ \
	/* the broker */                                                                                     \
	X(WIRE_ROUTES, 70, LINK_MONITOR_BROKER, WIRE_DOWN, 2, 3, 0)     /* memfd: route table, fmt/endpoint.h; fds: its channel to the client, and to the resolver where there is one */ \
	X(WIRE_BROKER_READY, 71, LINK_MONITOR_BROKER, WIRE_UP, 0, 0, 4096) /* u8 0 or enum err_code, str error, str hint */     \
	X(WIRE_DIAL, 77, LINK_BROKER_CLIENT, WIRE_UP, 1, 1, 1)          /* u8 route; its end of a pair of stream sockets */ \
	X(WIRE_DIAL_FAILED, 72, LINK_BROKER_CLIENT, WIRE_DOWN, 0, 0, 1024) /* u8 route, u8 enum net_outcome, str text */ \
	/* the resolver */                                                                                   \
	X(WIRE_NAMES, 73, LINK_MONITOR_RESOLVER, WIRE_DOWN, 1, 1, 0)    /* memfd: the broker's route table */   \
	X(WIRE_RESOLVER_READY, 74, LINK_MONITOR_RESOLVER, WIRE_UP, 0, 0, 4096) /* u8 0 or enum err_code, str error, str hint */ \
	X(WIRE_LOOK_UP, 75, LINK_BROKER_RESOLVER, WIRE_DOWN, 0, 0, 9)   /* struct lookup_question, fmt/lookup.h */ \
	X(WIRE_LOOKED_UP, 76, LINK_BROKER_RESOLVER, WIRE_UP, 0, 0, 152) /* struct lookup_answer */              \
	/* the spawner: three bytes and, for resume, an id */                                                \
	X(WIRE_SPAWN, 80, LINK_MONITOR_SPAWNER, WIRE_DOWN, 0, 1, 80)    /* u8 op, u16 index, str id */           \
	X(WIRE_SPAWNED, 81, LINK_MONITOR_SPAWNER, WIRE_UP, 0, 0, 16384) /* u8 op, u16 index, u8 ok, str text */  \
	X(WIRE_TOKENS, 82, LINK_MONITOR_SPAWNER, WIRE_DOWN, 2, 2, 0)    /* memfd: u32 n, n x (u8 endpoint, strs argv); fd: its end of the channel to the client */ \
	X(WIRE_HOOKS, 85, LINK_MONITOR_SPAWNER, WIRE_DOWN, 1, 1, 0)     /* memfd: u32 timeout_ms, str run id, str mode, str run directory, strs on_complete, strs on_wait */ \
	X(WIRE_TOKEN_WANTED, 83, LINK_CLIENT_SPAWNER, WIRE_UP, 0, 0, 1) /* u8 endpoint */                       \
	X(WIRE_TOKEN, 84, LINK_CLIENT_SPAWNER, WIRE_DOWN, 0, 0, 20480)  /* u8 endpoint, u8 ok, str token, or why there is none */ \
	/* the view */                                                                                       \
	X(WIRE_VIEW_OPEN, 90, LINK_MONITOR_VIEW, WIRE_DOWN, 2, 3, 8192) /* str run id, u8 attended, strs options; fds: record dir, answers dir, a file for a plan's questions */ \
	/* of any of them, from a signal handler (sys/crash.h), as its last */                                \
	X(WIRE_CRASH, 125, LINK_MONITOR_ANY, WIRE_UP, 0, 0, 12)         /* u32 signal, u64 place in the program or 0 */ \
	/* of a zygote or the client, once, before the first thing that the record of the run has to tell of */ \
	X(WIRE_WORKED, 126, LINK_MONITOR_ANY, WIRE_UP, 0, 0, 0)          \
	/* the forker */                                                                                     \
	X(WIRE_FORK, 100, LINK_MONITOR_FORKER, WIRE_DOWN, 2, 2, 1024)   /* u32 turn or UINT32_MAX for newest, u8 undo, u32 below, str parent id, str new id; fds: the parent's record, the new one */ \
	X(WIRE_FORKED, 101, LINK_MONITOR_FORKER, WIRE_UP, 0, 0, CHAN_BODY) /* u8 outcome, u32 turn, u32 said, str sha, str grandparent, str text or error */ \
	/* the lister */                                                                                     \
	X(WIRE_LIST, 110, LINK_MONITOR_LISTER, WIRE_DOWN, 1, 1, 0)      /* memfd: a server's answer to GET /models */ \
	X(WIRE_LISTED, 111, LINK_MONITOR_LISTER, WIRE_UP, 0, 0, CHAN_BODY) /* u32 n, n x (str id, i64 window, f64 price in, f64 price out) */ \
	/* the toolsmith: MCP servers looked at outside of a run */                                           \
	X(WIRE_SERVERS, 120, LINK_MONITOR_TOOLSMITH, WIRE_DOWN, 2, 10, 4) /* u32 n programs; fds: memfd: strs, packed struct server_params, programs first; the asker's ends of their zygotes; of the client when there are others */ \
	X(WIRE_SERVERS_LISTED, 121, LINK_MONITOR_TOOLSMITH, WIRE_UP, 1, 1, 0) /* memfd: role/toolsmith.h */ \
	/* the reader */                                                                                     \
	X(WIRE_READ, 130, LINK_MONITOR_READER, WIRE_DOWN, 1, 3, CHAN_BODY) /* u8 question, and what it asks (role/reader.c); fds: what is read */ \
	X(WIRE_READ_DONE, 131, LINK_MONITOR_READER, WIRE_UP, 0, 1, 4096) /* u8 err code or 0, str why; memfd: the answer */

#define CHAN_BODY 65536
#define AGENT_ENDS_MAX 14 /* monitor, zygote, git zygote, client, recorder, a zygote for each MCP server, and that of the language servers */

enum wire_type {
#define X(type, value, link, dir, fmin, fmax, bmax) type = (value),
	WIRE_TYPES(X)
#undef X
};

/* Classes of jail. What each may do is the zygote's table (sandbox/jail.h), not the asker's choice. */
enum job_class {
	JOB_COMMAND = 1, /* run_command: the monitor decides by sandbox.run_commands */
	JOB_VERIFY = 2,  /* the gate: the same decision */
	JOB_METRIC = 3,
	JOB_INDEX = 4,   /* our own index worker: workspace read-only, no approval */
	JOB_GIT = 5,     /* only in the git cell */
	JOB_AGENT = 6,   /* started once by the monitor's word, never by WIRE_RUN */
	JOB_BACKGROUND = 7, /* a run_command that outlives its call, until the leg ends: shown as such */
	JOB_LANGUAGE = 8, /* a language server of the operator's, by WIRE_SERVE: workspace read-only */
	JOB_MCP = 9,      /* an MCP server, by WIRE_SERVE in a cell of its own: nothing of the workspace */
};

enum job_end {
	JOB_EXITED = 1,   /* code is the exit status */
	JOB_SIGNALED = 2, /* code is 128 + signal */
	JOB_TIMEOUT = 3,  /* code is 124 */
	JOB_DENIED = 4,   /* the monitor or the operator said no; note says who */
	JOB_UNRUNNABLE = 5, /* argv[0] cannot be executed: code 127, note says why */
	JOB_REFUSED = 6,  /* the request itself breaks a rule; note says which */
	JOB_LOST = 7,     /* the jail could not be made; note says why */
	JOB_STOPPED = 8,  /* killed on request */
};

/* WIRE_RECORD and WIRE_NOTE: what is to be written. */
enum record_what {
	RECORD_EVENT = 1,      /* name: event type; json: its fields. arg 1: volatile (streaming delta) */
	RECORD_MESSAGE = 2,    /* arg: index from 0; json: one conversation message, appended once */
	RECORD_STATE = 3,      /* arg: turn; json: the small loop state; becomes the newest checkpoint */
	RECORD_TRANSCRIPT = 4, /* arg: sequence; name: role; json: {endpoint, request, status, response...} */
	RECORD_MANIFEST = 5,   /* json: members to set in manifest.json */
	RECORD_FILE = 6,       /* name: from the recorder's closed list; json: the bytes, any */
	RECORD_IN_FLIGHT = 7,  /* json: {iteration, tools}; empty json removes the marker */
	RECORD_RESTART = 8,    /* arg: messages kept: the conversation is cut back (compaction, repair) */
	RECORD_GRAPH = 9,      /* arg: the version it makes; json: one operation on the task graph, graph/graph.h */
	RECORD_NOTE = 10,      /* name: the note's id; arg 0: {"scope","text"} to keep; 1: {"reason"} it is no longer so */
};

/* WIRE_SPAWN: what is to be run. index: of SPAWN_ENDED, hook_end_index; else 0. */
enum spawn_op { SPAWN_GIT_IDENTITY = 1, SPAWN_ENDED = 2, SPAWN_APPROVAL = 3, SPAWN_QUESTION = 4, SPAWN_GIT_TRUSTED = 5 };

/* WIRE_ENDPOINTS: which descriptors follow the memfd. */
enum client_fds { CLIENT_BROKER = 1, CLIENT_SECRETS = 2, CLIENT_RECORDING = 4, CLIENT_TOKENS = 8 };

/* WIRE_REQ routes and WIRE_HEAD content kinds, WIRE_END outcomes. */
enum net_route { ROUTE_CHAT = 1, ROUTE_MODELS = 2 };
enum net_content { CONTENT_OTHER = 0, CONTENT_SSE = 1, CONTENT_JSON = 2 };
enum net_outcome {
	NET_OK = 0,
	NET_DNS = 1,
	NET_CONNECT = 2,
	NET_TLS = 3,
	NET_TIMEOUT = 4,
	NET_RESET = 5,
	NET_LIMIT = 6,
	NET_CANCELLED = 7,
	NET_REFUSED = 8, /* the client itself refused: unknown endpoint, ceiling reached */
	NET_UNTRUSTED = 9, /* the server's certificate is not accepted */
	NET_OTHER = 10,
};

/* What the operator wants of a run beside words for the model. */
enum wire_tell {
	TELL_PAUSE = 1,     /* wait at the next boundary between two turns */
	TELL_PAUSE_NOW = 2, /* give up the call or the command in flight and wait */
	TELL_CONTINUE = 3,
	TELL_COMPACT = 4,   /* text: what the summary shall keep in mind */
	TELL_BTW = 5,       /* text: a question beside the work */
};

enum wire_stop { STOP_AFTER_STEP = 1, STOP_NOW = 2 };

int wire_check(enum wire_link link, enum wire_dir dir, uint16_t type, size_t body_n, size_t nfds,
	struct err *err) CHECKED;
const char *wire_name(uint16_t type); /* for errors and tests; "?" when unknown */

#endif
