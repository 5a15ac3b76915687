/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent6-net: the client. The only program that links TLS and the only process that holds a key.
 * Descriptor 3 is its channel to the monitor, 4 its channel to the agent. */
#include "config/secrets.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "net/client.h"
#include "net/transfer.h"
#include "sandbox/confine.h"
#include "sandbox/resolver_files.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "sys/proc.h"

#include <signal.h>
#include <string.h>

#define MONITOR_FD 3
#define AGENT_FD   4

#ifdef AGENT6_SANITIZED
/* The leak finder needs system calls that the filter refuses. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct net {
	struct arena *mem;
	struct loop *loop;
	struct endpoint_table table;
	struct buf recording;
	int broker, secrets, recording_fd, tokens;
	struct client *client;
};

/* The descriptors behind the table come in the order of enum client_fds. */
static int take_fds(struct net *n, struct chan_msg *m, uint8_t which, struct err *err)
{
	struct {
		uint8_t bit;
		int *slot;
	} all[] = { { CLIENT_BROKER, &n->broker }, { CLIENT_SECRETS, &n->secrets },
		{ CLIENT_RECORDING, &n->recording_fd }, { CLIENT_TOKENS, &n->tokens } };
	size_t next = 1;

	for (size_t i = 0; i < COUNT(all); i++)
		if (which & all[i].bit)
			*all[i].slot = chan_take_fd(m, next++);
	if (next != m->nfds || which > (CLIENT_BROKER | CLIENT_SECRETS | CLIENT_RECORDING | CLIENT_TOKENS))
		return err_set(err, ERR_PROTOCOL, "the descriptors do not fit the message");
	return 0;
}

static int take_endpoints(struct net *n, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES);
	autoclose int table = -1;
	struct unpack u;
	uint8_t which;
	int r;

	TRY(chan_recv(MONITOR_FD, m, err));
	TRY(wire_check(LINK_MONITOR_CLIENT, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	u = unpack_from(m->body);
	which = unpack_u8(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the endpoints' message is malformed");
	table = chan_take_fd(m, 0);
	TRY(take_fds(n, m, which, err));
	TRY(memfd_read(table, &bytes, err));
	r = endpoints_unpack(str_dup(n->mem, buf_str(&bytes)), n->mem, &n->table, err);
	explicit_bzero(bytes.p, bytes.n);
	return r;
}

/* Each endpoint ends with its key or without one; where keys are looked up is over after this. */
static int resolve_key(const struct net *n, struct endpoint *e, struct err *err)
{
	struct err why = { 0 };
	int r = -ERR_NOENT;

	if (e->key_from != KEY_SECRETS)
		return 0;
	if (n->secrets >= 0)
		r = secrets_get(n->secrets, e->key_name, &e->key, &why);
	if (r < 0 && r != -ERR_NOENT) {
		*err = why;
		return err_wrap(err, "the key of provider " STR_FMT, STR_ARG(e->name));
	}
	if (r < 0 && !e->key_optional) {
		r = err_set(err, ERR_DENIED, "there is no key for provider " STR_FMT, STR_ARG(e->name));
		if (why.hint[0])
			err_hint(err, "%s", why.hint);
		else
			err_hint(err, "agent6 connect " STR_FMT ", or set providers." STR_FMT ".api_key_env", STR_ARG(e->name),
				STR_ARG(e->name));
		return r;
	}
	e->key_from = r < 0 ? KEY_NONE : KEY_INLINE;
	return endpoint_check(e, err); /* a key that cannot be a header is refused here */
}

static int resolve_keys(struct net *n, struct err *err)
{
	for (size_t i = 0; i < n->table.n; i++)
		TRY(resolve_key(n, &n->table.p[i], err));
	base_close_fd(&n->secrets);
	return 0;
}

/* A client that dials for itself looks names up and makes threads for it; any other one keeps nothing. */
static int confine(struct net *n, struct err *err)
{
	struct ll_rule *rules = arena_array(n->mem, RESOLVER_RULES + ENDPOINTS_MAX + 2, sizeof(*rules));
	size_t nrules = 0;

	for (size_t i = 0; i < n->table.n; i++)
		if (n->table.p[i].direct)
			rules[nrules++] = (struct ll_rule){ .kind = LL_CONNECT, .port = n->table.p[i].port };
	if (nrules == 0)
		return confine_self(SECCOMP_CLIENT, NULL, 0, err);
	if (n->table.proxy.n > 0) {
		struct endpoint proxy;

		endpoint_init(&proxy);
		if (endpoint_set_url(&proxy, n->table.proxy, n->mem, err) < 0)
			return err_wrap(err, "the proxy");
		rules[nrules++] = (struct ll_rule){ .kind = LL_CONNECT, .port = proxy.port };
	}
	rules[nrules++] = (struct ll_rule){ .kind = LL_CONNECT, .port = 53 };
	memcpy(rules + nrules, resolver_rules, sizeof(resolver_rules));
	return confine_self(SECCOMP_CLIENT_OPEN, rules, nrules + RESOLVER_RULES, err);
}

static int set_up(struct net *n, struct err *err)
{
	struct client_spec spec;

	TRY(transfers_prepare(err)); /* while the monitor is still making up its mind */
	TRY(take_endpoints(n, err));
	TRY(resolve_keys(n, err));
	if (n->recording_fd >= 0)
		TRY(file_read_fd(n->recording_fd, &n->recording, err));
	TRY(loop_open(&n->loop, err));
	spec = (struct client_spec){ .table = &n->table, .agent_fd = AGENT_FD, .monitor_fd = MONITOR_FD, .tokens_fd = n->tokens, .broker_fd = n->broker,
		.recording = buf_str(&n->recording) };
	TRY(client_open(&spec, n->loop, &n->client, err));
	return confine(n, err);
}

static int tell_ready(int r, const struct err *why, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(4096);

	pack_u8(&body, (uint8_t)-r);
	pack_str(&body, str_from(r == 0 ? "" : why->msg));
	pack_str(&body, str_from(r == 0 ? "" : why->hint));
	TRY(pack_ok(&body, err));
	return chan_send(MONITOR_FD, WIRE_CLIENT_READY, buf_str(&body), NULL, 0, err);
}

/* It has verdicts to say about calls of MCP servers' tools; whatever else happens on its channel is the end. */
static int on_monitor(void *self, uint32_t events, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct net *n = self;
	int r;

	(void)events;
	r = chan_recv(MONITOR_FD, m, err);
	if (r == 0)
		r = wire_check(LINK_MONITOR_CLIENT, WIRE_DOWN, m->type, m->body.n, m->nfds, err);
	if (r == 0)
		r = m->type == WIRE_VERDICT_POST ? client_verdict(n->client, m, err) : -ERR_PROTOCOL;
	chan_msg_fini(m);
	if (r < 0)
		loop_quit(n->loop);
	return 0;
}

static int serve(struct net *n, struct err *err)
{
	int r = set_up(n, err);
	struct err why = *err;

	TRY(tell_ready(r, &why, err));
	if (r < 0)
		return r;
	TRY(loop_watch(n->loop, MONITOR_FD, EPOLLIN | EPOLLRDHUP, on_monitor, n, err));
	TRY(client_serve(n->client, err));
	return loop_run(n->loop, err);
}

int main(void)
{
	struct net n = { .recording = BUF_MAX(RECORDING_BYTES), .broker = -1, .secrets = -1, .recording_fd = -1, .tokens = -1 };
	struct err err = { 0 };
	int r;

	/* SSLKEYLOGFILE, OPENSSL_CONF and the like would be obeyed by the libraries. */
	if (clearenv() != 0 || proc_sanitize(2, &err) < 0)
		return 1;
	n.mem = arena_new();
	r = serve(&n, &err);
	client_close(n.client);
	endpoints_fini(&n.table);
	buf_fini(&n.recording);
	loop_close(n.loop);
	arena_free(n.mem);
	return r < 0;
}
