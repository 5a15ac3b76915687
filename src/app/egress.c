/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/egress.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "role/spawner.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#define READY_MS 60000 /* far longer than it takes where nothing else runs: who dies is heard of at once, and a machine may be busy */

/* Receives one message within the deadline. */
static int receive(int chan, int64_t deadline_ms, struct chan_msg *m, struct err *err)
{
	struct pollfd p = { .fd = chan, .events = POLLIN };
	int64_t left;
	int n;

	do {
		left = deadline_ms - time_mono_ms();
		n = left > 0 ? poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left) : 0;
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, errno, "wait for a process");
	return n == 0 ? err_set(err, ERR_TIMEOUT, "no answer in time") : chan_recv(chan, m, err);
}

static int await_ready(int chan, enum wire_link link, uint16_t type, int64_t deadline_ms, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct unpack u;
	struct str error, hint;
	uint8_t code;

	TRY(receive(chan, deadline_ms, m, err));
	TRY(wire_check(link, WIRE_UP, m->type, m->body.n, m->nfds, err));
	u = unpack_from(m->body);
	code = unpack_u8(&u);
	error = unpack_str(&u);
	hint = unpack_str(&u);
	if (m->type != type || !unpack_done(&u) || code >= ERR_COUNT)
		return err_set(err, ERR_PROTOCOL, "%s is malformed", wire_name(type));
	if (code == ERR_NONE)
		return 0;
	err_set(err, (enum err_code)code, STR_FMT, STR_ARG(error));
	if (hint.n > 0)
		err_hint(err, STR_FMT, STR_ARG(hint));
	return -(int)code;
}

/* A closed channel says nothing to a person; which program went away does. */
static int name_dead(int r, const char *program, struct err *err)
{
	return r == -ERR_CLOSED ? err_set(err, ERR_CLOSED, "%s died while it was starting", program) : r;
}

/* Started by the side of the broker, and only where there is a name that somebody has to be asked about. */
static int launch_resolver(const struct egress_spec *spec, int table, int to_broker, struct egress *e, struct err *err)
{
	static const char *const argv[] = { "agent6-resolver", NULL };

	if (launch(&(struct launch_spec){ .exe = spec->progs->resolver, .argv = argv, .fds = &to_broker, .nfds = 1,
			.errors = true }, &e->resolver, err) < 0)
		return err_wrap(err, "start agent6-resolver");
	return chan_send(e->resolver.chan, WIRE_NAMES, STR(""), &table, 1, err);
}

static int derive(const struct egress_spec *spec, struct arena *mem, struct route_table *out, struct err *err)
{
	size_t index;

	TRY(routes_derive(spec->table, out, mem, err));
	for (size_t i = 0; spec->more && i < spec->more->n; i++)
		TRY(routes_add(out, &spec->more->p[i], mem, &index, err));
	return 0;
}

int egress_launch_broker(const struct egress_spec *spec, struct egress *e, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct route_table routes = { 0 };

	TRY(derive(spec, mem, &routes, err));
	return routes.n > 0 ? launch_role(spec->progs, "broker", NULL, 0, false, &e->broker, err) : 0;
}

static int brief_broker(const struct egress_spec *spec, const struct route_table *routes, struct egress *e, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES);
	autoclose int table = -1, asks = -1, answers = -1, dialled = -1;
	int pair[2];

	TRY(routes_pack(routes, &bytes, err));
	TRY(memfd_seal("agent6-routes", buf_str(&bytes), &table, err));
	if (routes_want_lookups(routes)) {
		TRY(chan_pair(pair, err));
		asks = pair[0];
		answers = pair[1];
		TRY(name_dead(launch_resolver(spec, table, answers, e, err), "agent6-resolver", err));
	}
	TRY(chan_pair(pair, err));
	e->broker_chan = pair[0];
	dialled = pair[1];
	return chan_send(e->broker.chan, WIRE_ROUTES, STR(""), (int[]){ table, dialled, asks }, asks >= 0 ? 3 : 2, err);
}

static int await_broker(const struct egress *e, struct err *err)
{
	if (await_ready(e->broker.chan, LINK_MONITOR_BROKER, WIRE_BROKER_READY, e->deadline_ms, err) < 0)
		return err_wrap(err, "the broker");
	if (e->resolver.chan < 0)
		return 0;
	if (name_dead(await_ready(e->resolver.chan, LINK_MONITOR_RESOLVER, WIRE_RESOLVER_READY, e->deadline_ms, err),
			"agent6-resolver", err) < 0)
		return err_wrap(err, "the resolver");
	return 0;
}

/* The table may hold keys: it is wiped here as soon as the memfd has it. */
static int seal_table(const struct endpoint_table *t, int *out, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES);
	int r = buf_reserve(&bytes, ENDPOINT_TABLE_BYTES / 4, err); /* seldom grows, so no copy stays behind */

	if (r == 0)
		r = endpoints_pack(t, &bytes, err);
	if (r == 0)
		r = memfd_seal("agent6-endpoints", buf_str(&bytes), out, err);
	explicit_bzero(bytes.p, bytes.n);
	return r;
}

int egress_launch_client(const struct programs *progs, struct egress *e, struct err *err)
{
	static const char *const argv[] = { "agent6-net", NULL };
	autoclose int theirs = -1;
	int pair[2];

	TRY(chan_pair(pair, err));
	e->agent_chan = pair[0];
	theirs = pair[1];
	if (launch(&(struct launch_spec){ .exe = progs->net, .argv = argv, .fds = &theirs, .nfds = 1,
			.errors = true }, &e->client, err) < 0)
		return err_wrap(err, "start agent6-net");
	return 0;
}

int egress_brief_client(const struct egress_spec *spec, struct egress *e, struct err *err)
{
	autoclose int table = -1, tokens = -1;
	int fds[5];
	size_t n = 0;
	char which = 0;

	if (e->broker.chan >= 0)
		TRY(await_broker(e, err));
	TRY(spawner_tokens(e->spawner.chan >= 0 ? e->spawner.chan : spec->spawner_chan, spec->table, &tokens, err));
	TRY(seal_table(spec->table, &table, err));
	fds[n++] = table;
	struct {
		char bit;
		int fd;
	} more[] = { { CLIENT_BROKER, e->broker_chan }, { CLIENT_SECRETS, spec->secrets_fd },
		{ CLIENT_RECORDING, spec->recording_fd }, { CLIENT_TOKENS, tokens } };
	for (size_t i = 0; i < COUNT(more); i++)
		if (more[i].fd >= 0) {
			which |= more[i].bit;
			fds[n++] = more[i].fd;
		}
	int r = name_dead(chan_send(e->client.chan, WIRE_ENDPOINTS, str_of(&which, 1), fds, n, err), "agent6-net", err);

	base_close_fd(&e->broker_chan);
	return r;
}

int egress_brief(const struct egress_spec *spec, struct egress *e, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct route_table routes = { 0 };

	e->deadline_ms = time_mono_ms() + READY_MS;
	TRY(derive(spec, mem, &routes, err));
	if (routes.n == 0)
		return 0;
	if (e->broker.chan < 0)
		TRY(egress_launch_broker(spec, e, err));
	return brief_broker(spec, &routes, e, err);
}

int egress_await(struct egress *e, struct err *err)
{
	return name_dead(await_ready(e->client.chan, LINK_MONITOR_CLIENT, WIRE_CLIENT_READY, e->deadline_ms, err),
		"agent6-net", err);
}

int egress_start(const struct egress_spec *spec, struct egress *out, struct err *err)
{
	struct egress e = EGRESS_NONE;
	int r = egress_launch_client(spec->progs, &e, err);

	for (size_t i = 0; i < spec->table->n && r == 0; i++)
		if (spec->table->p[i].key_from == KEY_COMMAND && e.spawner.chan < 0)
			r = spawner_start(spec->progs, &e.spawner, err);
	if (r == 0)
		r = egress_brief(spec, &e, err);
	if (r == 0)
		r = egress_brief_client(spec, &e, err);
	if (r == 0)
		r = egress_await(&e, err);
	if (r < 0) {
		egress_stop(&e);
		return r;
	}
	*out = e;
	return 0;
}

void egress_stop(struct egress *e)
{
	base_close_fd(&e->agent_chan);
	base_close_fd(&e->broker_chan);
	peer_kill(&e->client);
	peer_kill(&e->broker);
	peer_kill(&e->resolver);
	peer_kill(&e->spawner);
	*e = EGRESS_NONE;
}

static int send_request(int chan, enum net_route route, struct str body, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);
	autoclose int fd = -1;

	pack_u32(&b, 1);
	pack_u8(&b, 0);
	pack_u8(&b, (uint8_t)route);
	TRY(pack_ok(&b, err));
	if (body.n > 0)
		TRY(memfd_seal("agent6-body", body, &fd, err));
	return chan_send(chan, WIRE_REQ, buf_str(&b), &fd, fd >= 0, err);
}

/* One message of the answer; 1 when it was the last. */
static int take_message(const struct chan_msg *m, struct buf *out, struct egress_reply *reply, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	struct str text = STR("");
	uint8_t outcome = NET_OK;

	(void)unpack_u32(&u);
	if (m->type == WIRE_HEAD) {
		reply->status = (int)unpack_u32(&u);
		reply->retry_after_ms = unpack_i64(&u);
		reply->content = unpack_u8(&u);
	} else {
		if (m->type == WIRE_END)
			outcome = unpack_u8(&u);
		text = unpack_str(&u);
	}
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "%s is malformed", wire_name(m->type));
	if (m->type == WIRE_DATA)
		return buf_add(out, text, err);
	if (m->type == WIRE_HEAD)
		return 0;
	switch (outcome) {
	case NET_OK:
		return 1;
	case NET_TIMEOUT:
		return err_set(err, ERR_TIMEOUT, STR_FMT, STR_ARG(text));
	case NET_REFUSED:
		return err_set(err, ERR_DENIED, STR_FMT, STR_ARG(text));
	case NET_LIMIT:
		return err_set(err, ERR_LIMIT, STR_FMT, STR_ARG(text));
	default:
		return err_set(err, ERR_REMOTE, STR_FMT, STR_ARG(text));
	}
}

static int read_answer(int chan, int64_t deadline_ms, struct buf *out, struct egress_reply *reply, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	int r = 0;

	while (r == 0) {
		TRY(receive(chan, deadline_ms, m, err));
		TRY(wire_check(LINK_CLIENT_AGENT, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
		r = take_message(m, out, reply, err);
	}
	return r < 0 ? r : 0;
}

static void egress_stop_ptr(struct egress *e)
{
	egress_stop(e);
}

int egress_get(const struct programs *progs, const struct endpoint *e, enum net_route route, struct str body,
	int secrets_fd, int64_t deadline_ms, struct buf *out, struct egress_reply *reply, struct err *err)
{
	struct endpoint one = *e; /* shares the key; only `route` is ours */
	struct endpoint_table t = { .p = &one, .n = 1, .max_requests = 1, .max_bytes = -1 };
	CLEANUP(egress_stop_ptr) struct egress pair = EGRESS_NONE;
	struct egress_reply got = { .retry_after_ms = -1 };

	TRY(egress_start(&(struct egress_spec){ .progs = progs, .table = &t, .spawner_chan = -1, .secrets_fd = secrets_fd,
		.recording_fd = -1 }, &pair, err));
	int64_t until_ms = time_mono_ms() + deadline_ms; /* the server's time, not that of our own processes */

	TRY(send_request(pair.agent_chan, route, body, err));
	if (read_answer(pair.agent_chan, until_ms, out, &got, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(e->name));
	*reply = got;
	return 0;
}
