/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* MCP servers over HTTP: the agent says which method, tool and arguments; address, headers, session and token are ours. */
#include "net/client_priv.h"

#include "base/time.h"
#include "fmt/pack.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SHOWN_MAX (32 * 1024)

static char *session_of(struct request *q)
{
	return q->c->session[q->live - q->c->live];
}

/* What the operator is shown are the bytes that will be sent. */
static int ask_monitor(struct request *q, struct err *err)
{
	struct str args = str_of(q->composed.text.p + q->composed.args_at, q->composed.args_n);
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	if (q->c->monitor <= 0)
		return err_set(err, ERR_DENIED, "nobody can be asked about this call");
	pack_u32(&b, q->id);
	pack_u8(&b, (uint8_t)(q->live - q->c->live));
	pack_str(&b, str_from(q->tool));
	pack_str(&b, args.n > SHOWN_MAX ? STR("") : args);
	TRY(pack_ok(&b, err));
	TRY(chan_send(q->c->monitor, WIRE_APPROVE_POST, buf_str(&b), NULL, 0, err));
	q->asked = true;
	return 0;
}

static int send_it(struct request *q, struct err *err)
{
	if (q->say.method == MCP_INITIALIZE)
		session_of(q)[0] = '\0';
	q->route = ROUTE_CHAT;
	q->body = buf_str(&q->composed.text);
	q->last_ms = time_mono_ms();
	return client_begin_transfer(q, err);
}

static uint32_t *sessions_of(struct request *q)
{
	return &q->c->sessions[q->live - q->c->live];
}

bool client_listens(const struct request *q)
{
	return q->post && q->say.method == MCP_LISTEN;
}

/* Neither says anything of the agent's. */
static int check_wordless(const struct request *q, int args_fd, struct err *err)
{
	if (args_fd >= 0 || q->say.text.n > 0 || q->say.era != MCP_ERA_LEGACY || q->say.version >= MCP_VERSIONS)
		return err_set(err, ERR_INVALID, "this says nothing, to a server of the older era");
	if (session_of((struct request *)q)[0] == '\0' && q->say.method == MCP_END)
		return err_set(err, ERR_NOENT, "there is no session");
	return 0;
}

static int compose(struct request *q, int args_fd, struct err *err)
{
	struct str args = STR("");
	int r;

	if (args_fd >= 0)
		TRY(client_map_body(args_fd, &args, err));
	q->say.args = args;
	r = mcp_compose(&q->say, &q->composed, err);
	if (args.n > 0)
		munmap((void *)args.p, args.n);
	snprintf(q->tool, sizeof(q->tool), STR_FMT, STR_ARG(q->say.method == MCP_CALL ? q->say.text : STR("")));
	q->say.args = q->say.text = STR("");
	return r;
}

static bool may_call(const struct endpoint *e, struct str tool)
{
	for (size_t i = 0; i < e->ntools; i++)
		if (str_eq(e->tools[i], tool))
			return true;
	return e->ntools == 0;
}

int client_post(struct request *q, uint8_t endpoint, struct unpack *u, int args_fd, struct err *err)
{
	q->say.id = q->id;
	TRY(mcp_say_unpack(u, &q->say, err));
	TRY(client_admit(q, endpoint, err));
	if (q->live->e->use == ENDPOINT_MODEL || q->live->e->kind != ENDPOINT_NETWORK)
		return err_set(err, ERR_DENIED, "endpoint %u is no MCP server", endpoint);
	if (q->say.method == MCP_CALL && !may_call(q->live->e, q->say.text))
		return err_set(err, ERR_DENIED, STR_FMT ".tools does not name this tool", STR_ARG(q->live->e->name));
	if (mcp_is_wordless(q->say.method)) {
		TRY(check_wordless(q, args_fd, err));
		return send_it(q, err);
	}
	TRY(compose(q, args_fd, err));
	if (q->say.method == MCP_CALL && q->live->e->use == ENDPOINT_MCP_ASK)
		return ask_monitor(q, err);
	if (q->say.method == MCP_CALL) /* else the question has said it */
		TRY(client_works(q->c, err));
	return send_it(q, err);
}

struct curl_slist *client_post_headers(struct request *q)
{
	struct curl_slist *list = live_headers(q->live->e, &q->live->e->key, mcp_is_wordless(q->say.method) ? LIVE_STREAM : LIVE_POST);
	const char *session = session_of(q);

	q->in_session = *sessions_of(q);
	if (q->say.era == MCP_ERA_MODERN) {
		live_add_header(&list, "MCP-Protocol-Version", STR(MCP_MODERN));
		if (mcp_method_name(q->say.method)[0] != '\0')
			live_add_header(&list, "Mcp-Method", str_from(mcp_method_name(q->say.method)));
		if (q->tool[0] != '\0')
			live_add_header(&list, "Mcp-Name", str_from(q->tool));
		return list;
	}
	if (q->say.version > 0)
		live_add_header(&list, "MCP-Protocol-Version", str_from(mcp_versions[q->say.version]));
	if (session[0] != '\0')
		live_add_header(&list, "Mcp-Session-Id", str_from(session));
	return list;
}

void client_post_head(struct request *q)
{
	if (!q->post)
		return;
	if (q->say.method == MCP_INITIALIZE && q->head.status >= 200 && q->head.status < 300) {
		snprintf(session_of(q), HEAD_SESSION_MAX + 1, "%s", q->head.session);
		q->in_session = ++*sessions_of(q);
	}
	/* The session ended: its own, since a word that was said before one began may be refused after that. */
	if ((q->head.status == 404 || q->say.method == MCP_END) && q->in_session == *sessions_of(q))
		session_of(q)[0] = '\0';
}

/* It was given up while the operator was asked. */
void client_post_over(struct request *q)
{
	auto_buf struct buf b = BUF_MAX(8);

	if (!q->asked)
		return;
	q->asked = false;
	pack_u32(&b, q->id);
	(void)!chan_send(q->c->monitor, WIRE_POST_OVER, buf_str(&b), NULL, 0, ERR_DISCARD); /* its end is seen elsewhere */
}

int client_verdict(struct client *c, const struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	struct request *q = client_request(c, unpack_u32(&u));
	bool allowed = unpack_u8(&u) == 1;
	struct str reason = unpack_str(&u);
	struct err why = { 0 };

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_VERDICT_POST does not decode");
	if (!q || !q->asked)
		return 0; /* given up meanwhile */
	q->asked = false;
	if (!allowed)
		client_end_request(q, NET_REFUSED, STR_FMT, STR_ARG(reason));
	else if (send_it(q, &why) < 0)
		client_end_request(q, NET_REFUSED, "%s", why.msg);
	if (q->over)
		client_stop_request(q);
	return client_watch_agent(c, err);
}
