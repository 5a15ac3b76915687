/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/monitor_priv.h"

#include "fmt/json.h"
#include "sandbox/confine.h"
#include "session/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define STOP_GRACE_MS  5000 /* after "stop now" the agent gets this long to say how it ended */
#define DOUBT_MS       100  /* for the rest of what one death tells to arrive */
#define CLOSE_GRACE_MS 3000 /* after the record is closed, before what is left is killed; and then for that to help */
#define RECORD_GRACE_MS 60000 /* for the recorder to bring the record to the disk, which may be slow */

/* ---- sending ---- */

int monitor_send(struct monitor *m, enum peer_id to, uint16_t type, const struct buf *body, struct err *err)
{
	struct member *p = &m->members[to];
	int r;

	if (p->peer.chan < 0)
		return 0; /* it is gone, and that was seen */
	r = chan_send(p->peer.chan, type, body ? buf_str(body) : STR(""), NULL, 0, err);
	if (r == -ERR_BUSY) { /* it does not read: nobody may hold the monitor up */
		shutdown(p->peer.chan, SHUT_RDWR);
		return 0;
	}
	return r == -ERR_CLOSED ? 0 : r; /* its end of file is handled where it is read */
}

int monitor_note(struct monitor *m, enum event_id event, struct str json, struct err *err)
{
	struct member *p = &m->members[PEER_RECORDER];
	int r;

	if (m->lost || p->peer.chan < 0)
		return 0;
	r = record_event(&(struct record_to){ p->peer.chan, WIRE_NOTE }, event, json, err);
	if (r == -ERR_BUSY) {
		shutdown(p->peer.chan, SHUT_RDWR);
		return 0;
	}
	return r == -ERR_CLOSED ? 0 : r;
}

/* ---- the end ---- */

static bool is_zygote(enum peer_id id)
{
	return id == PEER_ZYGOTE || id == PEER_GIT || id >= PEER_SERVER;
}

/* What stands around a zygote ends what is in it first, and the view gives the terminal back. */
static void kill_member(const struct member *p)
{
	if (p->peer.proc.pid > 0)
		proc_kill(&p->peer.proc, is_zygote(p->id) || p->id == PEER_VIEW ? SIGTERM : SIGKILL);
}

/* It may show the end for as long as its terminal takes, unless there is none to show or somebody does not want to wait. */
static bool view_must_go(const struct monitor *m)
{
	return m->end->discard || (m->hurried && m->state == MON_CLOSING);
}

/* Who was asked and stays does not keep the run from ending; without a namespace, what is in it may stay then. */
static int kill_deaf(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	(void)err;
	for (int i = 0; i < PEER_COUNT; i++)
		if ((is_zygote((enum peer_id)i) || (i == PEER_VIEW && view_must_go(m))) && m->members[i].peer.proc.pid > 0)
			proc_kill(&m->members[i].peer.proc, SIGKILL);
	return 0;
}

static int kill_rest(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	for (int i = 0; i < PEER_COUNT; i++)
		if (!hook_keeps(m, i) && (i != PEER_VIEW || view_must_go(m)) && (i != PEER_RECORDER || m->state == MON_CLOSING))
			kill_member(&m->members[i]);
	return loop_after(m->loop, m->close_grace_ms, kill_deaf, m, err);
}

static int record_overdue(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	(void)err;
	if (m->state != MON_ENDING)
		return 0;
	m->end->exit_code = 1;
	snprintf(m->end->reason, sizeof(m->end->reason), "record_lost");
	snprintf(m->end->message, sizeof(m->end->message),
		"the record was not on the disk after %lld s and may lack its end", (long long)m->record_grace_ms / 1000);
	proc_kill(&m->members[PEER_RECORDER].peer.proc, SIGKILL);
	return 0;
}

void monitor_leave(struct monitor *m)
{
	bool alone = !m->hook_runs;

	for (int i = 0; i < PEER_COUNT; i++)
		alone = alone && m->members[i].peer.proc.pid <= 0;
	if (m->state == MON_CLOSING && alone)
		loop_quit(m->loop);
}

void monitor_drop(struct monitor *m, enum peer_id id)
{
	struct member *p = &m->members[id];

	if (p->peer.chan < 0)
		return;
	loop_unwatch(m->loop, p->peer.chan);
	peer_close(&p->peer);
}

/* The record is closed, or there is none: everybody goes. The view, told by the end of its channel, shows what
 * is left of the journal and ends, however slow the terminal is. It may not wait for the run's last event: an
 * agent that was taken over need not write one. */
static int close_all(struct monitor *m, struct err *err)
{
	if (m->state == MON_CLOSING)
		return 0;
	m->state = MON_CLOSING;
	TRY(hook_end(m, err));
	kill_member(&m->members[PEER_RESOLVER]); /* it may stand in a lookup, and has nothing to clean up */
	for (int i = 0; i < PEER_COUNT; i++)
		if (!hook_keeps(m, i))
			monitor_drop(m, i);
	monitor_leave(m);
	return loop_after(m->loop, m->close_grace_ms, kill_rest, m, err);
}

int monitor_close_record(struct monitor *m, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);

	m->state = MON_ENDING;
	if (m->lost || m->members[PEER_RECORDER].peer.proc.pid <= 0)
		return close_all(m, err);
	pack_u8(&b, m->end->discard);
	TRY(monitor_send(m, PEER_RECORDER, WIRE_CLOSE, &b, err));
	TRY(loop_after(m->loop, m->record_grace_ms, record_overdue, m, err));
	return loop_after(m->loop, STOP_GRACE_MS, kill_rest, m, err);
}

bool monitor_may_have_worked(enum peer_id id)
{
	return is_zygote(id) || id == PEER_CLIENT;
}

/* MON_LEAVING is over when the jail has looked and, before a record may go, when everybody who works has ended: what they
 * said before they did it has been read then. */
int monitor_quiet(struct monitor *m, struct err *err)
{
	if (m->spec->looks && !m->agent_over && m->members[PEER_ZYGOTE].peer.chan >= 0)
		return 0;
	for (int i = 0; m->end->discard && i < PEER_COUNT; i++)
		if (monitor_may_have_worked((enum peer_id)i) && m->members[i].peer.chan >= 0)
			return 0;
	return monitor_close_record(m, err);
}

/* The agent says that the run never began. They end by the end of their channel, and may say until then that it did. */
static void quiet_all(struct monitor *m)
{
	for (int i = 0; m->end->discard && i < PEER_COUNT; i++)
		if (monitor_may_have_worked((enum peer_id)i) && m->members[i].peer.chan >= 0 && (i != PEER_ZYGOTE || !m->spec->looks))
			shutdown(m->members[i].peer.chan, SHUT_WR);
}

static int end_run(struct monitor *m, struct err *err)
{
	if (m->state != MON_RUNNING)
		return 0;
	ask_give_up(m);
	TRY(monitor_send(m, PEER_ZYGOTE, WIRE_STOP_ALL, NULL, err));
	TRY(monitor_send(m, PEER_GIT, WIRE_STOP_ALL, NULL, err));
	m->state = MON_LEAVING;
	/* What a new .git is called now belongs on record, and to the person before they use git there. */
	if (m->spec->looks && !m->agent_over)
		TRY(monitor_send(m, PEER_ZYGOTE, WIRE_FINISH, NULL, err));
	quiet_all(m);
	TRY(monitor_quiet(m, err));
	return m->state == MON_LEAVING ? loop_after(m->loop, STOP_GRACE_MS, kill_rest, m, err) : 0;
}

int monitor_say_end(struct monitor *m, const char *reason, const char *why, int code, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8 * sizeof(m->end->message));
	struct str text = str_from(why);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "reason", str_from(reason), err));
	TRY(json_add_member(&b, "message", str_head(text, utf8_head(text, sizeof(m->end->message) - 1)), err));
	TRY(buf_addf(&b, err, ",\"iterations\":0,\"all_passed\":null,\"exit_code\":%d}", code));
	return monitor_note(m, EVENT_RUN_END, buf_str(&b), err);
}

void monitor_set_end(struct monitor *m, const char *reason, const char *why, int code)
{
	m->end->exit_code = code;
	snprintf(m->end->reason, sizeof(m->end->reason), "%s", reason);
	snprintf(m->end->message, sizeof(m->end->message), "%s", why);
}

/* The run ends without the agent having said how: the monitor writes the last event itself. */
int monitor_end_badly(struct monitor *m, const char *reason, const char *why, int code, struct err *err)
{
	if (m->state != MON_RUNNING)
		return 0;
	if (m->end->reason[0] != '\0') /* the record was lost, and this follows from it */
		return end_run(m, err);
	monitor_set_end(m, reason, why, code);
	TRY(monitor_say_end(m, reason, why, code, err));
	return end_run(m, err);
}

/* ---- requests ---- */

static int on_done(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint8_t code = unpack_u8(&u);
	bool discard = unpack_u8(&u) != 0;
	struct str reason = unpack_str(&u), message = unpack_str(&u);

	(void)from;
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_DONE does not decode");
	if (m->state != MON_RUNNING)
		return 0; /* it ended another way already */
	if (discard && m->worked)
		return err_set(err, ERR_PROTOCOL, MONITOR_NEVER_BEGAN);
	m->done = true;
	if (m->lost) /* why it ended is known here, whatever the agent makes of it */
		return end_run(m, err);
	m->end->exit_code = code;
	m->end->discard = discard;
	/* The person's word and not the agent's; who holds the terminal does it, and once. */
	if (discard && m->set_aside && !m->detached && m->spec->leash_fd >= 0)
		m->end->set_aside = write(m->spec->leash_fd, LEASH_ASIDE, strlen(LEASH_ASIDE)) > 0;
	snprintf(m->end->reason, sizeof(m->end->reason), STR_FMT, STR_ARG(reason));
	snprintf(m->end->message, sizeof(m->end->message), STR_FMT, STR_ARG(message));
	return end_run(m, err);
}

static int on_lost(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	struct str why = unpack_str(&u);

	(void)from;
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_LOST_UP does not decode");
	m->lost = true;
	m->end->exit_code = 1;
	snprintf(m->end->reason, sizeof(m->end->reason), "record_lost");
	snprintf(m->end->message, sizeof(m->end->message), "the record cannot be written: " STR_FMT, STR_ARG(why));
	/* The agent was told too and stops by itself; if it does not, its deadline is ours. */
	return monitor_stop(m, STOP_NOW, "record", err);
}

static int on_job_end(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint32_t job = unpack_u32(&u);

	unpack_u8(&u);  /* its class, */
	unpack_u32(&u); /* its code, */
	unpack_u8(&u);  /* and why it ended: the agent's to judge */
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_JOB_END does not decode");
	return ask_withdraw(m, from->id, job, err);
}

static int ignore(struct monitor *m, struct member *from, struct err *err)
{
	(void)m;
	(void)from;
	(void)err;
	return 0;
}

/* Everything that may be asked of the monitor while a run is on. What is not here ends its sender. */
static const struct {
	enum wire_type type;
	int (*serve)(struct monitor *m, struct member *from, struct err *err);
} requests[] = {
	{ WIRE_APPROVE, ask_approval },
	{ WIRE_APPROVE_CALL, ask_call },
	{ WIRE_APPROVE_POST, ask_post },
	{ WIRE_POST_OVER, ask_post_over },
	{ WIRE_ASK, ask_question },
	{ WIRE_DONE, on_done },
	{ WIRE_JOB_END, on_job_end },
	{ WIRE_AGENT_EXIT, crash_agent_exit },
	{ WIRE_AGENT_UP, ignore },
	{ WIRE_GIT_FOUND, found_git },
	{ WIRE_GIT_CHANGED, found_changed },
	{ WIRE_LOST_UP, on_lost },
	{ WIRE_SPAWNED, hook_result },
	{ WIRE_CRASH, crash_told },
	{ WIRE_WORKED, found_work },
};

/* ---- peers: messages, ends of file, deaths ---- */

#define ALONE PEER_COUNT

/* Whose end means what, and whose end takes it along. A run without its jail, its record or its client cannot go on. */
static const struct {
	enum peer_id id;
	const char *reason, *why;
	enum peer_id with; /* its asker: ALONE where it has none to end with */
} deaths[] = {
	{ PEER_ZYGOTE, "jail_lost", "the process that runs commands died", ALONE },
	{ PEER_GIT, "jail_lost", "the process that runs git died", PEER_AGENT },
	{ PEER_RECORDER, "record_lost", "the process that writes the record died", ALONE },
	{ PEER_CLIENT, "provider_error", "the process that talks to the provider died", ALONE },
	{ PEER_BROKER, "provider_error", "the process that reaches the network died", ALONE },
	{ PEER_RESOLVER, "provider_error", "the process that looks names up died", PEER_BROKER },
};

static int end_by_death(struct monitor *m, enum peer_id id, struct err *err)
{
	char words[CRASH_WORDS_MAX];

	crash_await(m, &m->members[id]);
	for (size_t i = 0; i < COUNT(deaths); i++)
		if (deaths[i].id == id)
			return monitor_end_badly(m, deaths[i].reason, crash_words(m, id, deaths[i].why, words), 1, err);
	/* The zygote reports the agent's exit next. A front-end may die without harm. */
	return id == PEER_AGENT ? crash_await_agent(m, err) : 0;
}

static enum peer_id ends_with(enum peer_id id)
{
	for (size_t i = 0; i < COUNT(deaths); i++)
		if (deaths[i].id == id)
			return deaths[i].with;
	return ALONE;
}

/* Where its asker is gone too, that one's end is what counts: the broker's own, the agent's as the other zygote reports it. */
static int died_alone(void *self, uint32_t events, struct err *err)
{
	struct member *p = self;
	struct monitor *m = p->mon;

	(void)events;
	if (m->state != MON_RUNNING || m->members[ends_with(p->id)].peer.chan < 0)
		return 0;
	return end_by_death(m, p->id, err);
}

static int peer_gone(struct monitor *m, struct member *p, struct err *err)
{
	if (p->id == PEER_RECORDER && m->state == MON_ENDING)
		return close_all(m, err);
	if (p->id == PEER_RECORDER)
		m->lost = true;
	hook_gone(m, p->id);
	if (m->state == MON_LEAVING) {
		if (p->id == PEER_ZYGOTE && m->spec->looks && !m->agent_over)
			m->end->discard = false; /* nobody looked to the end: who knows what there is to tell */
		return monitor_quiet(m, err);
	}
	if (m->state != MON_RUNNING)
		return 0;
	/* Whose end came first is not told by who was read first: its asker's may be in that one's channel already. */
	return ends_with(p->id) == ALONE ? end_by_death(m, p->id, err) : loop_after(m->loop, DOUBT_MS, died_alone, p, err);
}

static int broke_rule(struct monitor *m, struct member *p, struct err *err)
{
	char why[256];

	snprintf(why, sizeof(why), "the %s broke a rule of its channel: %.180s", p->name, err->msg);
	monitor_drop(m, p->id);
	kill_member(p);
	if (m->state == MON_RUNNING)
		return monitor_end_badly(m, "protocol", why, 1, err);
	/* The end of its process is what others wait for, unless that was seen already. */
	return m->state == MON_LEAVING || p->peer.proc.pid <= 0 ? peer_gone(m, p, err) : 0;
}

static int serve(struct monitor *m, struct member *p, struct err *err)
{
	TRY(wire_check(p->link, WIRE_UP, m->msg->type, m->msg->body.n, m->msg->nfds, err));
	for (size_t i = 0; i < COUNT(requests); i++)
		if (requests[i].type == m->msg->type)
			return requests[i].serve(m, p, err);
	return err_set(err, ERR_PROTOCOL, "%s is not asked while a run is on", wire_name(m->msg->type));
}

int monitor_drain(struct monitor *m, enum peer_id id, struct err *err)
{
	struct member *p = &m->members[id];

	while (p->peer.chan >= 0) {
		int r = chan_recv(p->peer.chan, m->msg, err);

		if (r == -ERR_BUSY || r == -ERR_CLOSED)
			return 0; /* its end is handled where it is read */
		if (r == 0) {
			r = serve(m, p, err);
			chan_msg_fini(m->msg);
		}
		if (r < 0)
			return r == -ERR_PROTOCOL ? broke_rule(m, p, err) : r;
	}
	return 0;
}

static int on_readable(void *self, uint32_t events, struct err *err)
{
	struct member *p = self;
	struct monitor *m = p->mon;
	int r;

	(void)events;
	if (p->peer.chan < 0)
		return 0;
	r = chan_recv(p->peer.chan, m->msg, err);
	if (r == -ERR_BUSY)
		return 0;
	if (r == -ERR_CLOSED) {
		monitor_drop(m, p->id);
		return peer_gone(m, p, err);
	}
	if (r == 0) {
		r = serve(m, p, err);
		chan_msg_fini(m->msg);
	}
	return r == -ERR_PROTOCOL ? broke_rule(m, p, err) : r;
}

static int on_exit_of(void *self, uint32_t events, struct err *err)
{
	struct member *p = self;
	struct monitor *m = p->mon;
	struct proc_status st;

	(void)events;
	loop_unwatch(m->loop, p->peer.proc.pidfd);
	TRY(proc_wait(&p->peer.proc, &st, err));
	p->peer.proc = (struct proc){ 0, -1 };
	crash_seen(m, p, st.signal);
	if (p->id == PEER_VIEW) {
		tell_view_gone(m);
		if (st.signal != 0) /* by itself it goes when it has shown the end */
			tell_view_died(m);
		m->result_lost = st.code == VIEW_RESULT_LOST;
	}
	/* What it said last may still be in its channel; the end of file there is what counts. */
	if (p->peer.chan < 0)
		TRY(peer_gone(m, p, err));
	monitor_leave(m);
	return 0;
}

/* ---- the operator ---- */

static int stop_overdue(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	if (m->state != MON_RUNNING)
		return 0;
	/* The agent does not answer. Its cell dies with the zygote. */
	if (m->lost) {
		kill_member(&m->members[PEER_ZYGOTE]);
		return end_run(m, err);
	}
	return monitor_end_badly(m, "interrupted", "stopped by the operator", 130, err);
}

int monitor_stop(struct monitor *m, enum wire_stop how, const char *source, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8), note = BUF_MAX(256);

	if (m->state != MON_RUNNING || m->interrupts >= (int)how)
		return 0; /* over, or asked for already: its deadline stands */
	m->interrupts = (int)how;
	TRY(buf_addz(&note, "{", err));
	TRY(json_add_member(&note, "source", str_from(source), err));
	TRY(json_add_member(&note, "how", how == STOP_NOW ? STR("now") : STR("after the step"), err));
	TRY(buf_addz(&note, "}", err));
	TRY(monitor_note(m, EVENT_RUN_STOP, buf_str(&note), err));
	pack_u8(&b, (uint8_t)how);
	TRY(monitor_send(m, PEER_AGENT, WIRE_STOP, &b, err));
	if (how != STOP_NOW)
		return 0;
	ask_give_up(m);
	TRY(monitor_send(m, PEER_ZYGOTE, WIRE_STOP_ALL, NULL, err));
	return loop_after(m->loop, STOP_GRACE_MS, stop_overdue, m, err);
}

static int on_interrupt(struct monitor *m, struct err *err)
{
	return m->interrupts >= (int)STOP_NOW ? stop_overdue(m, 0, err) : tell_interrupt(m, err);
}

/* The run is over, and what still shows it hangs. */
static int hurry_view(struct monitor *m, struct err *err)
{
	m->hurried = true;
	kill_member(&m->members[PEER_VIEW]);
	return m->state == MON_CLOSING ? loop_after(m->loop, m->close_grace_ms, kill_deaf, m, err) : 0;
}

static int on_signal(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;
	struct signalfd_siginfo si;

	(void)events;
	while (read(m->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (m->state != MON_RUNNING) {
			TRY(hurry_view(m, err));
		} else if (si.ssi_signo == SIGINT) {
			TRY(on_interrupt(m, err));
		} else {
			m->hurried = true; /* who sends these waits for our end, and reads no screen */
			TRY(monitor_stop(m, STOP_NOW, si.ssi_signo == SIGTERM ? "sigterm" : "sighup", err));
		}
	}
	return 0;
}

static int on_answers(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;
	char changes[4096];

	(void)events;
	/* Which name changed does not matter: the table of open questions says what to look for. */
	while (read(m->inotify_fd, changes, sizeof(changes)) > 0)
		;
	return ask_read_answers(m, err);
}

/* ---- start ---- */

static int watch_member(struct monitor *m, enum peer_id id, const char *name, enum wire_link link, struct peer peer,
	struct err *err)
{
	struct member *p = &m->members[id];

	*p = (struct member){ .mon = m, .id = id, .link = link, .peer = peer, .name = name };
	if (p->peer.chan >= 0) {
		TRY(chan_nonblock(p->peer.chan, err));
		TRY(loop_watch(m->loop, p->peer.chan, EPOLLIN, on_readable, p, err));
	}
	if (p->peer.proc.pid > 0)
		TRY(loop_watch(m->loop, p->peer.proc.pidfd, EPOLLIN, on_exit_of, p, err));
	return 0;
}

static int watch_all(struct monitor *m, struct err *err)
{
	struct monitor_spec *s = m->spec;
	const struct {
		enum peer_id id;
		const char *name;
		enum wire_link link;
		struct peer peer;
	} rows[] = {
		{ PEER_ZYGOTE, "zygote", LINK_MONITOR_ZYGOTE, s->zygote },
		{ PEER_GIT, "git zygote", LINK_MONITOR_ZYGOTE, s->git },
		{ PEER_CLIENT, "client", LINK_MONITOR_CLIENT, s->client },
		{ PEER_BROKER, "broker", LINK_MONITOR_BROKER, s->broker },
		{ PEER_RESOLVER, "resolver", LINK_MONITOR_RESOLVER, s->resolver },
		{ PEER_RECORDER, "recorder", LINK_MONITOR_RECORDER, s->recorder },
		{ PEER_SPAWNER, "spawner", LINK_MONITOR_SPAWNER, s->spawner },
		{ PEER_VIEW, "view", LINK_MONITOR_VIEW, s->view },
		{ PEER_AGENT, "agent", LINK_MONITOR_AGENT, { .proc = { 0, -1 }, .chan = s->agent_chan } },
	};
	_Static_assert(COUNT(rows) == PEER_SERVER, "every peer is watched");

	for (size_t i = 0; i < COUNT(rows); i++)
		TRY(watch_member(m, rows[i].id, rows[i].name, rows[i].link, rows[i].peer, err));
	for (size_t i = 0; i < s->nservers; i++)
		TRY(watch_member(m, (enum peer_id)(PEER_SERVER + i), "cell of a server", LINK_MONITOR_ZYGOTE, s->servers[i].zygote, err));
	return 0;
}

static int watch_operator(struct monitor *m, struct err *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	char path[64];

	TRY(loop_signals(signals, COUNT(signals), &m->signal_fd, err));
	TRY(loop_watch(m->loop, m->signal_fd, EPOLLIN, on_signal, m, err));
	TRY(tell_watch_leash(m, err));
	if (m->spec->leash_fd >= 0 && (m->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
		return err_sys(err, errno, "open /dev/null");
	if (m->spec->answers_fd < 0)
		return 0;
	m->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (m->inotify_fd < 0)
		return err_sys(err, errno, "inotify_init1");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->spec->answers_fd);
	if (inotify_add_watch(m->inotify_fd, path, IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return err_sys(err, errno, "watch the answers directory");
	return loop_watch(m->loop, m->inotify_fd, EPOLLIN, on_answers, m, err);
}

static int confine(const struct monitor *m, struct err *err)
{
	/* Its children stand outside of its domain, and have to hear of its end and by its hand of theirs. */
	const struct ll_rule rules[] = {
		{ .kind = LL_SIGNAL_FREE },
		{ .kind = LL_FD, .fd = m->spec->answers_fd, .access = LL_RO | LL_REMOVE_FILE },
	};

	if (!m->spec->confine)
		return 0;
	if (confine_self(SECCOMP_MONITOR, rules, COUNT(rules) - (m->spec->answers_fd < 0), err) < 0)
		return err_wrap(err, "confine the monitor");
	return 0;
}

static int go(struct monitor *m, struct err *err)
{
	autoclose int fd = -1;

	TRY(memfd_seal("go", m->spec->go, &fd, err));
	TRY(confine(m, err)); /* no hostile byte has been read by anyone before this line */
	if (m->spec->steer.n > 0) /* before GO: it is there when the agent looks for the first time */
		TRY(tell_steer(m, m->spec->steer, "resume", err));
	int r = chan_send(m->spec->agent_chan, WIRE_GO, STR(""), &fd, 1, err);
	return r == -ERR_CLOSED ? 0 : r; /* the zygote tells how it died */
}

static void fini(struct monitor *m)
{
	for (int i = 0; i < PEER_COUNT; i++)
		peer_kill(&m->members[i].peer);
	loop_close(m->loop);
	base_close_fd(&m->signal_fd);
	base_close_fd(&m->inotify_fd);
	base_close_fd(&m->null_fd);
	base_close_fd(&m->spec->leash_fd);
	free(m->msg);
	free(m);
}

static void fini_ptr(struct monitor **m)
{
	fini(*m);
}

int monitor_run(struct monitor_spec *spec, struct monitor_end *out, struct err *err)
{
	struct monitor_end end = { .exit_code = 1 };
	CLEANUP(fini_ptr) struct monitor *m = mem_alloc(sizeof(*m));

	*m = (struct monitor){ .spec = spec, .end = &end, .signal_fd = -1, .inotify_fd = -1, .null_fd = -1,
		.msg = mem_alloc(sizeof(struct chan_msg)) };
	m->record_grace_ms = spec->record_grace_ms > 0 ? spec->record_grace_ms : RECORD_GRACE_MS;
	m->close_grace_ms = spec->close_grace_ms > 0 ? spec->close_grace_ms : CLOSE_GRACE_MS;
	m->agent_grace_ms = spec->agent_grace_ms > 0 ? spec->agent_grace_ms : STOP_GRACE_MS;
	for (int i = 0; i < PEER_COUNT; i++)
		m->members[i].peer = PEER_NONE;
	TRY(loop_open(&m->loop, err));
	TRY(watch_all(m, err));
	TRY(watch_operator(m, err));
	TRY(go(m, err));
	TRY(loop_run(m->loop, err));
	if (m->result_lost && end.exit_code == 0) /* the view may have read the end before we had it */
		end.exit_code = 1;
	*out = end;
	return 0;
}
