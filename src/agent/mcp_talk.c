/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What is said to a server and what it answers. Everything here runs inside the pump. */
#include "agent/mcp_priv.h"

#include <stdio.h>

#define UNASKED_MAX 2000 /* messages without one that was asked for */
#define FLOODS      "it floods: 2000 messages that nobody asked for"
#define PROGRESS_MAX 20000 /* words about one call */
#define ID_MAX      256  /* bytes of an id that a server gives */
#define RESULT_MAX  ((size_t)1024 * 1024)

/* ---- saying ---- */

static int send(struct mcp_server *s, const struct mcp_say *words, uint32_t *id, struct err *err)
{
	struct mcp_say say = *words;
	int r;

	say.era = s->era;
	say.version = s->version;
	r = s->remote ? mcp_post(s, &say, err) : jobs_say(&s->jobs, &s->proc, &say, err);
	if (r == -ERR_BUSY)
		return mcp_give_up(s, "it does not read what it is sent", err);
	TRY(r);
	*id = say.id;
	return 0;
}

int mcp_ask(struct mcp_server *s, const struct mcp_say *words, struct err *err)
{
	uint32_t id = 0;

	TRY(send(s, words, &id, err));
	if (s->state == MCP_GIVEN_UP)
		return 0;
	s->open = id;
	s->asked = words->method;
	return 0;
}

int mcp_tell(struct mcp_server *s, const struct mcp_say *words, struct err *err)
{
	uint32_t id;

	return send(s, words, &id, err);
}

int mcp_ask_initialize(struct mcp_server *s, struct err *err)
{
	s->era = MCP_ERA_LEGACY;
	s->state = MCP_OPENING;
	return mcp_ask(s, &(struct mcp_say){ .method = MCP_INITIALIZE }, err);
}

int mcp_ask_list(struct mcp_server *s, struct str cursor, struct err *err)
{
	s->state = MCP_LISTING;
	s->cursor = cursor;
	return mcp_ask(s, &(struct mcp_say){ .method = MCP_LIST, .text = cursor }, err);
}

/* A word of the zygote: it was said, or why not. */
int mcp_on_said(void *self, uint32_t number, const struct job_result *r, struct err *err)
{
	struct mcp_server *s = self;

	if (number != s->open || s->open == 0)
		return 0;
	if (r->why == JOB_EXITED) {
		s->waits = false;
		s->said = true;
		return 0;
	}
	s->open = 0;
	if (s->asked != MCP_CALL) {
		char why[200];

		snprintf(why, sizeof(why), STR_FMT, STR_ARG(r->note.n > 0 ? r->note : STR("it could not be spoken to")));
		return s->proc.job == 0 ? 0 : mcp_give_up(s, why, err);
	}
	if (!s->reply)
		return 0;
	s->reply->why = r->why;
	s->reply->note = str_dup(s->mem, r->note);
	s->answered = true;
	return 0;
}

/* ---- answers ---- */

/* Of mcp_versions; 0: none that we speak. */
static uint8_t legacy_version(struct jval version)
{
	for (uint8_t i = 1; mcp_versions[i]; i++)
		if (jval_is(version, mcp_versions[i]))
			return i;
	return 0;
}

static bool holds_modern(struct jval versions)
{
	struct jval v;
	size_t pos = 0;

	while (jval_next(versions, &pos, NULL, &v))
		if (jval_is(v, MCP_MODERN))
			return true;
	return false;
}

static int become_modern(struct mcp_server *s, struct err *err)
{
	s->era = MCP_ERA_MODERN;
	s->era_known = true;
	snprintf(s->protocol, sizeof(s->protocol), "%s", MCP_MODERN);
	if (s->listed) {
		s->state = MCP_READY;
		return 0;
	}
	return mcp_ask_list(s, STR(""), err);
}

/* What is no clear yes is a server of the other era: those answer a question they do not know in many ways. */
static int on_discover(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	struct jval code = jval_get(m->body, "code");
	int64_t number = 0;

	if (m->kind == RPC_RESULT && holds_modern(jval_get(m->body, "supportedVersions")))
		return become_modern(s, err);
	if (m->kind == RPC_ERROR && jval_to_i64(code, &number) && number <= -32020 && number >= -32022 &&
		holds_modern(jval_get(jval_get(m->body, "data"), "supported")))
		return become_modern(s, err);
	return mcp_ask_initialize(s, err);
}

static int refused(struct mcp_server *s, const char *what, struct jval error, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(4096);
	char why[240];

	TRY(mcp_error_text(error, &text, err));
	snprintf(why, sizeof(why), "%s: %.200s", what, text.p);
	return mcp_give_up(s, why, err);
}

static int on_initialize(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	struct jval version = jval_get(m->body, "protocolVersion");
	auto_buf struct buf text = BUF_MAX(1024 * 1024);
	char why[128];

	if (m->kind == RPC_ERROR)
		return refused(s, "it refuses to begin", m->body, err);
	s->version = legacy_version(version);
	if (s->version == 0) {
		if (version.type == JSCAN_STRING && version.text.n < 64)
			TRY(jval_add_text(&text, version, NUL_REPLACE, err));
		snprintf(why, sizeof(why), "it speaks protocol \"" STR_FMT "\", which agent6 does not", STR_ARG(buf_str(&text)));
		return mcp_give_up(s, why, err);
	}
	TRY(jval_add_text(&text, version, NUL_REPLACE, err));
	snprintf(s->protocol, sizeof(s->protocol), STR_FMT, STR_ARG(buf_str(&text)));
	s->era_known = true;
	s->has_tools = jval_get(jval_get(m->body, "capabilities"), "tools").type != JSCAN_NONE;
	TRY(send(s, &(struct mcp_say){ .method = MCP_INITIALIZED }, &s->greeting, err));
	if (s->remote || s->state == MCP_GIVEN_UP)
		return 0; /* the end of that exchange goes on */
	return mcp_greeted(s, err);
}

int mcp_greeted(struct mcp_server *s, struct err *err)
{
	s->greeting = 0;
	s->state = MCP_READY;
	return s->listed || !s->has_tools ? 0 : mcp_ask_list(s, STR(""), err);
}

static int on_list(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	struct err why = { 0 };
	struct str next;

	if (m->kind == RPC_ERROR)
		return refused(s, "it does not list its tools", m->body, err);
	if (mcp_read_page(m->body, s->all->run_mem, &s->list, &next, &why) < 0)
		return mcp_give_up(s, why.msg, err);
	s->pages++;
	if (next.n > 0 && !str_eq(next, s->cursor) && s->pages < MCP_PAGES_MAX)
		return mcp_ask_list(s, next, err);
	s->state = MCP_READY;
	return 0;
}

static int on_call(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	auto_buf struct buf json = BUF_MAX(RESULT_MAX), text = BUF_MAX(4096);
	struct mcp_reply *out = s->reply;

	if (!out)
		return 0;
	if (m->kind == RPC_ERROR) {
		TRY(mcp_error_text(m->body, &text, err));
		out->why = JOB_LOST;
		out->note = str_dup(s->mem, buf_str(&text));
	} else if (mcp_result(m->body, &json, &out->pictures, &out->failed, ERR_DISCARD) < 0) {
		out->why = JOB_LOST;
		out->note = STR("its answer is too long");
	} else {
		out->json = str_dup(s->mem, buf_str(&json));
	}
	s->answered = true;
	return 0;
}

static int on_answer(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	if (!m->id_known || s->open == 0 || m->id != s->open) {
		if (++s->unasked > UNASKED_MAX)
			return mcp_give_up(s, FLOODS, err);
		if (s->told_ids || (m->id_known && m->id > 0 && m->id < (int64_t)(s->remote ? s->all->last_post : s->jobs.last))) /* late, of a call that was given up */
			return 0;
		s->told_ids = true;
		return mcp_note(s, "answers with an id that was not asked with are passed over", err);
	}
	s->open = 0;
	s->unasked = 0;
	s->waits = false;
	switch (s->asked) {
	case MCP_DISCOVER:
		return on_discover(s, m, err);
	case MCP_INITIALIZE:
		return on_initialize(s, m, err);
	case MCP_LIST:
		return on_list(s, m, err);
	default:
		return on_call(s, m, err);
	}
}

/* The exchange over HTTP is over, and the request is not answered. */
int mcp_post_unanswered(struct mcp_server *s, int status, bool denied, struct str text, struct err *err)
{
	char why[200];

	if (text.n > 0)
		snprintf(why, sizeof(why), STR_FMT, STR_ARG(str_head(text, utf8_head(text, sizeof(why) - 1))));
	else if (status == 401 || status == 403)
		snprintf(why, sizeof(why), "the server answered HTTP %d: mcp." STR_FMT ".api_key_env names the variable that holds a token for it",
			status, STR_ARG(s->p.name));
	else
		snprintf(why, sizeof(why), "the server answered HTTP %d without a result", status);
	s->open = 0;
	if (s->asked == MCP_DISCOVER && status >= 400)
		return mcp_ask_initialize(s, err);
	if (s->asked != MCP_CALL)
		return mcp_give_up(s, why, err);
	if (status == 404) { /* its session ended: the next call begins another one */
		s->state = MCP_OFF;
		s->starts = 1;
	}
	if (!s->reply)
		return 0;
	s->reply->why = denied ? JOB_REFUSED : JOB_LOST;
	s->reply->note = str_dup(s->mem, str_from(why));
	s->answered = true;
	return 0;
}

/* ---- what a server asks or says of its own accord ---- */

static int answer_request(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	auto_buf struct buf id = BUF_MAX(4 * ID_MAX);
	struct mcp_say say = { .method = jval_is(m->method, "ping") ? MCP_PONG : MCP_REFUSE, .ref = m->id };

	if (!m->id_known) {
		if (m->id_raw.type != JSCAN_STRING || m->id_raw.text.n > ID_MAX)
			return 0; /* an id that we do not repeat */
		TRY(jval_add_text(&id, m->id_raw, NUL_REPLACE, err));
		jtext_repair(&id, 0);
		say.is_text = true;
		say.text = buf_str(&id);
	}
	return mcp_tell(s, &say, err);
}

static int on_notification(struct mcp_server *s, const struct rpc_message *m, struct err *err)
{
	if (!jval_is(m->method, "notifications/tools/list_changed") || s->told_changed || !s->listed)
		return 0;
	s->told_changed = true;
	return mcp_note(s, "its tools changed; the model keeps those of the start until the run is resumed", err);
}

/* About the call that is waited for; any other is a message that nobody asked for. */
static bool is_progress(const struct mcp_server *s, const struct rpc_message *m)
{
	int64_t token = 0;

	return m->kind == RPC_NOTIFICATION && jval_is(m->method, "notifications/progress") && s->open != 0 && s->asked == MCP_CALL &&
		jval_to_i64(jval_get(m->body, "progressToken"), &token) && token == s->open;
}

int mcp_on_message(void *self, const struct rpc_message *m, struct err *err)
{
	struct mcp_server *s = self;

	if (s->state == MCP_GIVEN_UP)
		return 0;
	if (m->kind == RPC_RESULT || m->kind == RPC_ERROR)
		return on_answer(s, m, err);
	if (is_progress(s, m) && s->progress++ < PROGRESS_MAX) {
		s->progressed = true;
		return 0;
	}
	if (++s->unasked > UNASKED_MAX)
		return mcp_give_up(s, FLOODS, err);
	return m->kind == RPC_REQUEST ? answer_request(s, m, err) : on_notification(s, m, err);
}
