/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_hook: the operator's own programs are told that a run waits or has ended. What is asked of the spawner is an
 * operation and a number. */
#include "role/hooks.h"
#include "role/monitor_priv.h"

#include "fmt/json.h"

#include <signal.h>
#include <stdio.h>

#define OVERDUE_MS 5000 /* beyond what a hook has: for the spawner to kill it and to say so */

/* 1; 0: there is nobody to ask, and the run does not depend on it. */
static int ask(struct monitor *m, enum spawn_op op, uint16_t index, struct err *err)
{
	int chan = m->members[PEER_SPAWNER].peer.chan;
	int r = chan < 0 ? 0 : hooks_ask(chan, op, index, err);

	return r == -ERR_CLOSED || r == -ERR_BUSY || chan < 0 ? 0 : r < 0 ? r : 1;
}

int hook_waiting(struct monitor *m, enum spawn_op op, struct err *err)
{
	int r = m->spec->hooks_wait ? ask(m, op, 0, err) : 0;

	return r < 0 ? r : 0;
}

static void over(struct monitor *m, struct str why)
{
	m->hook_runs = false;
	if (why.n > 0)
		snprintf(m->end->note, sizeof(m->end->note), "notify.on_complete: " STR_FMT, STR_ARG(why));
	monitor_drop(m, PEER_SPAWNER); /* the run is over, and so is it */
	monitor_leave(m);
}

void hook_gone(struct monitor *m, enum peer_id id)
{
	if (id == PEER_SPAWNER && m->hook_runs)
		over(m, STR("the process that runs it is gone"));
}

static int overdue(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;
	struct member *p = &m->members[PEER_SPAWNER];

	(void)events;
	(void)err;
	if (!m->hook_runs)
		return 0;
	if (p->peer.proc.pid > 0)
		proc_kill(&p->peer.proc, SIGKILL);
	over(m, STR("nobody says what became of it"));
	return 0;
}

int hook_end(struct monitor *m, struct err *err)
{
	int r;

	if (!m->spec->hooks_end || m->end->discard)
		return 0;
	r = ask(m, SPAWN_ENDED, hook_end_index(m->end->exit_code, str_from(m->end->reason)), err);
	if (r == 0)
		snprintf(m->end->note, sizeof(m->end->note), "notify.on_complete: the process that runs it is gone");
	if (r <= 0)
		return r;
	m->hook_runs = true;
	return loop_after(m->loop, m->spec->hook_ms + OVERDUE_MS, overdue, m, err);
}

bool hook_keeps(const struct monitor *m, enum peer_id id)
{
	return id == PEER_SPAWNER && m->hook_runs;
}

static int tell_failure(struct monitor *m, struct str why, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096), text = BUF_MAX(512);

	if (m->wait_hook_failed || m->state != MON_RUNNING)
		return 0;
	m->wait_hook_failed = true;
	TRY(buf_addf(&text, err, "notify.on_wait: " STR_FMT, STR_ARG(str_head(why, utf8_head(why, 400)))));
	TRY(buf_addz(&b, "{\"level\":\"warning\"", err));
	TRY(json_add_member(&b, "text", buf_str(&text), err));
	TRY(buf_addz(&b, "}", err));
	return monitor_note(m, EVENT_RUN_NOTICE, buf_str(&b), err);
}

int hook_result(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint8_t op = unpack_u8(&u);

	(void)from;
	unpack_u16(&u); /* the number, as it was asked */
	bool ok = unpack_u8(&u) == 1;
	struct str why = unpack_str(&u);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_SPAWNED does not decode");
	if (op != SPAWN_ENDED)
		return ok ? 0 : tell_failure(m, why, err);
	if (!m->hook_runs)
		return err_set(err, ERR_PROTOCOL, "a hook ended that was not asked for");
	over(m, ok ? STR("") : str_head(why, utf8_head(why, 200)));
	return 0;
}
