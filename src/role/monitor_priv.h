/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_priv: what the monitor's own files share. */
#ifndef ROLE_MONITOR_PRIV_H
#define ROLE_MONITOR_PRIV_H

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "role/monitor.h"
#include "session/event.h"
#include "sys/chan.h"
#include "sys/loop.h"

#define PENDING_MAX 64
#define ID_MAX      32

enum peer_id { PEER_ZYGOTE, PEER_GIT, PEER_CLIENT, PEER_BROKER, PEER_RESOLVER, PEER_RECORDER, PEER_SPAWNER, PEER_VIEW, PEER_AGENT,
	PEER_SERVER, /* the first of the MCP servers' zygotes, and behind them that of the language servers */
	PEER_COUNT = PEER_SERVER + MCP_SERVERS_MAX + 1 };

enum monitor_state {
	MON_RUNNING,
	MON_LEAVING, /* the run is over: the zygote ends what is left in the cell and looks for a new repository; a record that is
		      * not to be kept waits for everybody who could have worked */
	MON_ENDING,  /* the run is over: the recorder is told to close */
	MON_CLOSING, /* the record is closed: everybody else goes */
};

enum grant { GRANT_NONE, GRANT_ALWAYS, GRANT_NEVER };

/* What the operator said of all that will still come, and in which answer. */
struct standing {
	enum grant grant;
	char id[ID_MAX]; /* of the approval; empty: none, he said so when he left */
};

/* Something the operator has been asked and has not answered. */
struct pending {
	bool used;
	bool question;     /* of the agent; otherwise an approval for a zygote */
	char id[ID_MAX];   /* "approval-3": the name of its answer file */
	uint32_t questions; /* of a question: how many texts it has, so many answers are sent */
	uint32_t number;   /* job, or the agent's number of its question */
	enum peer_id from;
	char tool[MCP_TOOL_MAX + 1]; /* of a call of a server's tool; empty: a command */
	uint8_t endpoint; /* of a server that the client speaks to */
};

/* The operator's standing answer about one tool of one server. */
struct call_grant {
	enum peer_id from;
	uint8_t endpoint;
	char tool[MCP_TOOL_MAX + 1];
	struct standing said;
};

#define CALL_GRANTS_MAX 128

struct member {
	struct monitor *mon;
	enum peer_id id;
	enum wire_link link;
	struct peer peer;
	const char *name;
	struct crash crash; /* what ended it */
};

struct monitor {
	struct loop *loop;
	struct member members[PEER_COUNT];
	struct monitor_spec *spec;
	struct monitor_end *end;
	enum monitor_state state;
	bool agent_over;        /* the zygote said how the agent's process ended, its last word */
	bool done;              /* the agent said how the run ended */
	bool lost;              /* nothing is recorded any more */
	bool set_aside;         /* the newest answer to a question says so, answer_sets_aside */
	bool worked;            /* the run cannot be called off as never begun: somebody but the agent said so */
	int interrupts;
	enum wire_tell pausing; /* asked for and not taken back: 0, TELL_PAUSE, TELL_PAUSE_NOW */
	bool detached;          /* the terminal was left */
	int null_fd;            /* stands for the terminal then */
	int64_t record_grace_ms, close_grace_ms, agent_grace_ms;
	bool hook_runs;         /* notify.on_complete was asked for and has not ended */
	bool wait_hook_failed;  /* and that was told */
	bool hurried;           /* a signal said that nobody waits for the view to show the end */
	bool result_lost;     /* the view could not write what the session was for */
	int signal_fd, inotify_fd;
	unsigned asked;         /* approvals and questions so far, numbers their ids */
	struct standing commands;   /* the operator's answer for every command of this leg */
	struct standing everything; /* said for as long as nobody is there: commands and calls alike */
	struct call_grant calls[CALL_GRANTS_MAX];
	size_t ncalls;
	struct pending pending[PENDING_MAX];
	struct chan_msg *msg;   /* one message at a time */
};

/* monitor_ask.c: approvals and questions. */
int ask_approval(struct monitor *m, struct member *from, struct err *err) CHECKED;  /* WIRE_APPROVE */
int ask_call(struct monitor *m, struct member *from, struct err *err) CHECKED;      /* WIRE_APPROVE_CALL */
int ask_post(struct monitor *m, struct member *from, struct err *err) CHECKED;      /* WIRE_APPROVE_POST */
int ask_post_over(struct monitor *m, struct member *from, struct err *err) CHECKED; /* WIRE_POST_OVER */
int ask_question(struct monitor *m, struct member *from, struct err *err) CHECKED;  /* WIRE_ASK */
int ask_read_answers(struct monitor *m, struct err *err) CHECKED; /* the directory changed */
void ask_give_up(struct monitor *m); /* nobody will answer: the run is ending */

int ask_withdraw(struct monitor *m, enum peer_id from, uint32_t job, struct err *err) CHECKED; /* the job is over */
int ask_grant(struct monitor *m, enum grant grant, struct err *err) CHECKED; /* for the rest of the run, open ones too */

/* monitor_tell.c: what the operator says of his own accord. */
int tell_interrupt(struct monitor *m, struct err *err) CHECKED; /* Ctrl-C */
int tell_read(struct monitor *m, struct err *err) CHECKED;      /* the directory changed */
int tell_steer(struct monitor *m, struct str text, const char *source, struct err *err) CHECKED;
int tell_watch_leash(struct monitor *m, struct err *err) CHECKED;
void tell_view_gone(struct monitor *m);
void tell_view_died(struct monitor *m);

/* monitor_hook.c: the operator's programs that are told of the run. */
int hook_waiting(struct monitor *m, enum spawn_op op, struct err *err) CHECKED; /* for an answer */
int hook_end(struct monitor *m, struct err *err) CHECKED;  /* the record is closed */
int hook_result(struct monitor *m, struct member *from, struct err *err) CHECKED; /* WIRE_SPAWNED */
void hook_gone(struct monitor *m, enum peer_id id); /* this one is */
bool hook_keeps(const struct monitor *m, enum peer_id id); /* it is not to be ended yet */

/* monitor_crash.c: deaths by a signal. */
int crash_told(struct monitor *m, struct member *from, struct err *err) CHECKED; /* WIRE_CRASH */
void crash_seen(struct monitor *m, struct member *p, int sig); /* its process ended by one */
void crash_await(struct monitor *m, struct member *p); /* its end of file was seen: how did it die? */
#define CRASH_WORDS_MAX 640
/* What the person is told of this death beside `why`, in `out`. */
const char *crash_words(const struct monitor *m, enum peer_id id, const char *why, char out[CRASH_WORDS_MAX]);
int crash_await_agent(struct monitor *m, struct err *err) CHECKED; /* its end of file was seen: one that lives on ends the run */
int crash_agent_exit(struct monitor *m, struct member *from, struct err *err) CHECKED; /* WIRE_AGENT_EXIT, of the zygote */

/* monitor_found.c: what others than the agent say became of the run. */
int found_work(struct monitor *m, struct member *from, struct err *err) CHECKED;    /* WIRE_WORKED */
int found_git(struct monitor *m, struct member *from, struct err *err) CHECKED;     /* WIRE_GIT_FOUND */
int found_changed(struct monitor *m, struct member *from, struct err *err) CHECKED; /* WIRE_GIT_CHANGED */
#define MONITOR_NEVER_BEGAN "a run that did something says it never began"

/* monitor.c */
bool monitor_may_have_worked(enum peer_id id); /* without the monitor having heard of it yet */
void monitor_set_end(struct monitor *m, const char *reason, const char *why, int code);
int monitor_say_end(struct monitor *m, const char *reason, const char *why, int code, struct err *err) CHECKED; /* to the record */
int monitor_close_record(struct monitor *m, struct err *err) CHECKED;
int monitor_quiet(struct monitor *m, struct err *err) CHECKED; /* closes the record when nobody works any more */
/* The run ends without the agent having said how. */
int monitor_end_badly(struct monitor *m, const char *reason, const char *why, int code, struct err *err) CHECKED;
int monitor_drain(struct monitor *m, enum peer_id id, struct err *err) CHECKED; /* serves what has arrived from it */
void monitor_leave(struct monitor *m); /* when the record is closed and nobody is left */
void monitor_drop(struct monitor *m, enum peer_id id); /* its channel is closed */
int monitor_note(struct monitor *m, enum event_id event, struct str json, struct err *err) CHECKED;
int monitor_send(struct monitor *m, enum peer_id to, uint16_t type, const struct buf *body, struct err *err) CHECKED;
int monitor_stop(struct monitor *m, enum wire_stop how, const char *source, struct err *err) CHECKED;

#endif
