/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_crash: a process of the run died by a signal: which, of what, where, is noted once, and nothing else of it. */
#include "role/monitor_priv.h"

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#define DYING_MS 300 /* between the end of file of a process that dies and its death */

/* The record hears of it while there is one to hear. */
static void put_died(struct monitor *m, const struct member *p)
{
	auto_buf struct buf b = BUF_MAX(1024);

	if (m->state != MON_RUNNING || p->id == PEER_RECORDER)
		return;
	if (buf_addf(&b, ERR_DISCARD, "{\"signal\":%d", p->crash.signal) < 0 || json_add_member(&b, "name", str_from(p->name), ERR_DISCARD) < 0 ||
		json_add_member(&b, "detail", str_from(crash_signal_name(p->crash.signal)), ERR_DISCARD) < 0 || buf_addc(&b, '}', ERR_DISCARD) < 0)
		return;
	(void)!monitor_note(m, EVENT_PROCESS_DIED, buf_str(&b), ERR_DISCARD); /* the death itself ends the run where it must */
}

static void note(struct monitor *m, struct member *p, struct crash c)
{
	char why[96], words[CRASH_WORDS_MAX];

	if (p->crash.signal != 0)
		return; /* the first word about it is the one */
	p->crash = c;
	put_died(m, p);
	if (m->spec->crashes)
		crash_note(m->spec->crashes, p->name, &c);
	/* The end of the run may say so too; but the agent may have seen it first, and the record have its words. */
	snprintf(why, sizeof(why), "the %s died", p->name);
	if (crash_is_fault(c.signal))
		snprintf(m->end->note, sizeof(m->end->note), "%s", crash_words(m, p->id, why, words));
}

/* From a process that may have been taken over: two numbers, which are shown as numbers. */
int crash_told(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint32_t sig = unpack_u32(&u);
	uint64_t at = unpack_u64(&u);

	if (!unpack_done(&u) || sig == 0 || sig > 64)
		return err_set(err, ERR_PROTOCOL, "WIRE_CRASH does not decode");
	note(m, from, (struct crash){ (int)sig, at });
	return 0;
}

/* At the end we kill them ourselves. */
void crash_seen(struct monitor *m, struct member *p, int sig)
{
	if (sig != 0 && (m->state == MON_RUNNING || crash_is_fault(sig)))
		note(m, p, (struct crash){ sig, 0 });
}

void crash_await(struct monitor *m, struct member *p)
{
	struct pollfd dead = { p->peer.proc.pidfd, POLLIN, 0 };
	siginfo_t how = { 0 };

	if (dead.fd < 0 || p->crash.signal != 0 || poll(&dead, 1, DYING_MS) <= 0)
		return;
	/* Its status stays where it is, for who reaps it. */
	if (waitid(P_PIDFD, (id_t)dead.fd, &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid != 0 && how.si_code != CLD_EXITED)
		crash_seen(m, p, how.si_status);
}

static const char *program_of(enum peer_id id)
{
	switch (id) {
	case PEER_ZYGOTE:
	case PEER_GIT:
		return "agent6-jail";
	case PEER_CLIENT:
		return "agent6-net";
	case PEER_RESOLVER:
		return "agent6-resolver";
	default:
		return "agent6";
	}
}

const char *crash_words(const struct monitor *m, enum peer_id id, const char *why, char out[CRASH_WORDS_MAX])
{
	const struct member *p = &m->members[id];
	const struct crash *c = &p->crash;
	char place[64] = "";

	if (c->signal == 0)
		return why;
	if (c->at != 0)
		snprintf(place, sizeof(place), " at %s+0x%llx", program_of(id), (unsigned long long)c->at);
	snprintf(out, CRASH_WORDS_MAX, "%s (%s%s, agent6 %s)%s%s%s", why, crash_signal_name(c->signal), place, AGENT6_VERSION,
		m->spec->crashes_path ? "; noted in " : "", m->spec->crashes_path ? m->spec->crashes_path : "",
		crash_is_fault(c->signal) ? ": a fault of agent6, please report that line" : "");
	return out;
}

/* Its death is the zygote's to report. An agent that was taken over can close its channel and live: nobody could stop it any
 * more, and nobody would be told that it is over. */
static int agent_overdue(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;
	char why[128];

	(void)events;
	if (m->state != MON_RUNNING || m->agent_over)
		return 0;
	snprintf(why, sizeof(why), "the agent's channel ended, and its process was not reported to have ended within %lld ms",
		(long long)m->agent_grace_ms);
	return monitor_end_badly(m, "crashed", why, 1, err);
}

int crash_await_agent(struct monitor *m, struct err *err)
{
	return m->agent_over ? 0 : loop_after(m->loop, m->agent_grace_ms, agent_overdue, m, err);
}

int crash_agent_exit(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint32_t code = unpack_u32(&u), sig = unpack_u32(&u);
	char why[96], words[CRASH_WORDS_MAX];

	(void)from;
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_AGENT_EXIT does not decode");
	m->agent_over = true;
	if (m->state == MON_LEAVING)
		return monitor_quiet(m, err);
	TRY(monitor_drain(m, PEER_AGENT, err)); /* its last words were said before */
	if (m->done || m->state != MON_RUNNING)
		return 0;
	if (m->interrupts > 1)
		return monitor_end_badly(m, "interrupted", "stopped by the operator", 130, err);
	crash_seen(m, &m->members[PEER_AGENT], sig <= 64 ? (int)sig : 0);
	if (sig != 0)
		snprintf(why, sizeof(why), "the agent was killed by signal %u", sig);
	else if (m->members[PEER_AGENT].crash.signal != 0)
		snprintf(why, sizeof(why), "the agent was killed by signal %d", m->members[PEER_AGENT].crash.signal);
	else
		snprintf(why, sizeof(why), "the agent ended with status %u and did not say why", code);
	return monitor_end_badly(m, "crashed", crash_words(m, PEER_AGENT, why, words), 1, err);
}
