/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_tell: what the operator says of his own accord, by Ctrl-C or through a front-end, and leaving the
 * terminal. Texts are passed on as they are. */
#include "role/monitor_priv.h"

#include "fmt/json.h"
#include "session/answers.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_MS 2000 /* a view that hangs does not keep the terminal for longer */

static int note(struct monitor *m, enum event_id event, const char *source, const char *key, struct str value,
	struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8 * ANSWER_TEXT_MAX);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "source", str_from(source), err));
	TRY(json_add_member(&b, key, value, err));
	TRY(buf_addz(&b, "}", err));
	return monitor_note(m, event, buf_str(&b), err);
}

static int notice(struct monitor *m, const char *text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "level", STR("warning"), err));
	TRY(json_add_member(&b, "text", str_from(text), err));
	TRY(buf_addz(&b, "}", err));
	return monitor_note(m, EVENT_RUN_NOTICE, buf_str(&b), err);
}

static int tell(struct monitor *m, enum wire_tell what, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(2 * ANSWER_TEXT_MAX);

	pack_u8(&b, (uint8_t)what);
	pack_str(&b, text);
	TRY(pack_ok(&b, err));
	return monitor_send(m, PEER_AGENT, WIRE_TELL, &b, err);
}

/* ---- words for the model ---- */

int tell_steer(struct monitor *m, struct str text, const char *source, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(2 * ANSWER_TEXT_MAX);

	if (str_eqz(text, "abort"))
		return monitor_stop(m, STOP_NOW, source, err);
	TRY(note(m, EVENT_RUN_STEER, source, "text", text, err));
	pack_str(&b, text);
	TRY(pack_ok(&b, err));
	return monitor_send(m, PEER_AGENT, WIRE_STEER, &b, err);
}

/* ---- pausing ---- */

static int pause_run(struct monitor *m, enum wire_tell how, const char *source, struct err *err)
{
	m->pausing = how;
	TRY(note(m, EVENT_RUN_PAUSE, source, "how", how == TELL_PAUSE_NOW ? STR("now") : STR("after the step"), err));
	return tell(m, how, STR(""), err);
}

static bool menu_is_there(const struct monitor *m)
{
	return m->spec->menu && !m->detached && m->members[PEER_VIEW].peer.proc.pid > 0;
}

int tell_interrupt(struct monitor *m, struct err *err)
{
	if (!menu_is_there(m) || m->interrupts > 0)
		return monitor_stop(m, m->interrupts == 0 ? STOP_AFTER_STEP : STOP_NOW, "sigint", err);
	if (m->pausing == TELL_PAUSE_NOW)
		return monitor_stop(m, STOP_NOW, "sigint", err);
	return pause_run(m, m->pausing == 0 ? TELL_PAUSE : TELL_PAUSE_NOW, "sigint", err);
}

/* ---- leaving the terminal ---- */

/* What becomes of questions when nobody is at the terminal. */
static const struct {
	const char *word;
	bool answered; /* somebody may come and answer */
	enum grant grant;
} aways[] = {
	{ "wait", true, GRANT_NONE },
	{ "deny", false, GRANT_NEVER },
	{ "approve", true, GRANT_ALWAYS },
};

static int let_go(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	(void)err;
	if (m->members[PEER_VIEW].peer.proc.pid > 0)
		proc_kill(&m->members[PEER_VIEW].peer.proc, SIGKILL);
	tell_view_gone(m);
	return 0;
}

/* The view has left the terminal, so whoever holds it for us may give it back. */
void tell_view_gone(struct monitor *m)
{
	if (!m->detached || m->spec->leash_fd < 0)
		return;
	loop_cancel(m->loop, let_go, m);
	loop_unwatch(m->loop, m->spec->leash_fd);
	(void)!write(m->spec->leash_fd, LEASH_DETACHED, strlen(LEASH_DETACHED)); /* it may be gone already */
	base_close_fd(&m->spec->leash_fd);
}

/* Nobody writes the terminal any more but this once: who sits there learns why nothing moves. A terminal that takes
 * nothing (Ctrl-S) keeps nobody. */
void tell_view_died(struct monitor *m)
{
	static const char words[] = "\n[agent6] the process that shows the run died; the run goes on\n"
				    "hint: \"agent6 watch\" on another terminal shows it; Ctrl-C stops it\n";
	struct pollfd out = { STDERR_FILENO, POLLOUT, 0 };

	if (m->state == MON_RUNNING && !m->detached && poll(&out, 1, 0) == 1 && (out.revents & POLLOUT))
		(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
}

static int detach(struct monitor *m, struct str away, const char *source, struct err *err)
{
	size_t row = 0;

	while (row < COUNT(aways) && !str_eqz(away, aways[row].word))
		row++;
	if (away.n > 0 && row == COUNT(aways))
		return notice(m, "detach: away is one of wait, deny, approve", err);
	row = away.n == 0 ? 0 : row;
	if (m->detached || m->spec->leash_fd < 0)
		return notice(m, "detach: this run holds no terminal", err);
	m->detached = true;
	m->pausing = 0;
	TRY(note(m, EVENT_RUN_DETACHED, source, "away", str_from(aways[row].word), err));
	m->spec->attended = aways[row].answered;
	if (aways[row].grant != GRANT_NONE)
		TRY(ask_grant(m, aways[row].grant, err));
	TRY(tell(m, TELL_CONTINUE, STR(""), err));
	/* A session of our own: what the terminal sends its processes is not for us any more. */
	if (setsid() < 0)
		TRY(notice(m, "detach: the run is still in the terminal's session and ends with it", err));
	for (int fd = 0; fd <= 2 && m->null_fd >= 0; fd++)
		if (dup2(m->null_fd, fd) < 0)
			TRY(notice(m, "detach: the run still holds the terminal", err));
	if (m->members[PEER_VIEW].peer.proc.pid <= 0)
		tell_view_gone(m);
	else
		TRY(loop_after(m->loop, LEAVE_MS, let_go, m, err));
	return 0;
}

/* Only who holds the terminal can begin another run: this process starts nothing any more. */
static int undo(struct monitor *m, const char *source, struct err *err)
{
	if (m->detached || m->spec->leash_fd < 0)
		return notice(m, "undo: nobody holds a terminal for this run; stop it, and agent6 fork goes back to any turn", err);
	(void)!write(m->spec->leash_fd, LEASH_UNDO, strlen(LEASH_UNDO)); /* gone: then the run only ends */
	return monitor_stop(m, STOP_NOW, source, err);
}

/* ---- the words of front-ends ---- */

static int serve(struct monitor *m, enum answer_kind kind, struct str text, struct err *err)
{
	bool now = str_eqz(text, "now");

	switch (kind) {
	case ANSWER_STEER:
		return tell_steer(m, text, "frontend", err);
	case ANSWER_COMPACT:
		return tell(m, TELL_COMPACT, text, err);
	case ANSWER_BTW:
		return tell(m, TELL_BTW, text, err);
	case ANSWER_PAUSE:
		return pause_run(m, now ? TELL_PAUSE_NOW : TELL_PAUSE, "frontend", err);
	case ANSWER_CONTINUE:
		m->pausing = 0;
		return tell(m, TELL_CONTINUE, STR(""), err);
	case ANSWER_STOP:
		return monitor_stop(m, now ? STOP_NOW : STOP_AFTER_STEP, "frontend", err);
	case ANSWER_DETACH:
		return detach(m, text, "frontend", err);
	case ANSWER_UNDO:
		return undo(m, "undo", err);
	case ANSWER_COUNT:
		break;
	}
	return 0;
}

int tell_read(struct monitor *m, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(ANSWER_TEXT_MAX);
	enum answer_kind kind;
	struct err why = { 0 };
	int r;

	while ((r = answers_take(m->spec->answers_fd, &kind, &text, &why)) == 1)
		if (m->state == MON_RUNNING)
			TRY(serve(m, kind, str_trim(buf_str(&text)), err));
	return r < 0 ? notice(m, "what was said to the run from outside cannot be read", err) : 0;
}

/* ---- the leash ---- */

/* Who holds the terminal for us is gone, and did not say that we may go on without. */
static int on_leash(void *self, uint32_t events, struct err *err)
{
	struct monitor *m = self;

	(void)events;
	loop_unwatch(m->loop, m->spec->leash_fd);
	base_close_fd(&m->spec->leash_fd);
	return monitor_stop(m, STOP_NOW, "terminal", err);
}

int tell_watch_leash(struct monitor *m, struct err *err)
{
	return m->spec->leash_fd < 0 ? 0 : loop_watch(m->loop, m->spec->leash_fd, EPOLLIN, on_leash, m, err);
}
