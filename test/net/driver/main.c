/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* net-driver: stands where the monitor and the agent stand, so that a test can speak to a real broker and
 * a real client line by line. Run as `--role broker` it is the broker, as agent6 would be.
 *
 * In, one word and its values a line: provider NAME, url URL, chat PATH, models PATH, query Q, auth STYLE,
 * key VALUE, keyname NAME, optional, header NAME: VALUE, ca FILE, connect_ms N, first_ms N, idle_ms N, direct,
 * recorded (these describe the last provider); allow TEXT, max_requests N, max_bytes N, secrets FILE,
 * recording FILE, proxy URL; start; then req ID ENDPOINT chat|models|NUMBER [BODY], big ID ENDPOINT BYTES,
 * open ID ENDPOINT chat BODY (a request whose body anybody may still write), cancel ID, raw TYPE HEX, stall, resume, get MS,
 * hangup broker|client|resolver, quit.
 * Out: ready CLIENT-PID BROKER-PID RESOLVER-PID DIR, fail CODE MESSAGE, head ID STATUS RETRY KIND, data ID HEX,
 * end ID OUTCOME TEXT, got STATUS KIND BYTES, left STATUS, gone. */
#include "app/egress.h"
#include "fmt/pack.h"
#include "role/broker.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

struct driver {
	struct arena *mem;
	struct programs progs;
	struct endpoint rows[ENDPOINTS_MAX];
	struct endpoint_table table;
	struct route_table more;
	int secrets, recording;
	struct egress e;
	bool stalled, quit;
	struct chan_msg msg;
};

static void fail(const struct err *err)
{
	printf("fail %s %s%s%s\n", err_code_name(err->code), err->msg, err->hint[0] ? " | " : "", err->hint);
}

static int64_t number(struct str s)
{
	int64_t n = 0;

	BUG_IF(str_to_i64(s, &n, ERR_DISCARD) < 0);
	return n;
}

static struct endpoint *last(struct driver *d)
{
	BUG_IF(d->table.n == 0);
	return &d->rows[d->table.n - 1];
}

static void describe(struct driver *d, struct str word, struct str rest, struct err *err)
{
	struct str text = str_dup(d->mem, rest);
	struct endpoint *e;

	if (str_eqz(word, "provider")) {
		BUG_IF(d->table.n == ENDPOINTS_MAX);
		e = &d->rows[d->table.n++];
		endpoint_init(e);
		e->name = text;
		e->chat_path = STR("/chat/completions");
		e->models_path = STR("/models");
		return;
	}
	e = last(d);
	if (str_eqz(word, "url")) {
		if (endpoint_set_url(e, text, d->mem, err) < 0)
			fail(err);
	} else if (str_eqz(word, "chat")) {
		e->chat_path = text;
	} else if (str_eqz(word, "models")) {
		e->models_path = text;
	} else if (str_eqz(word, "query")) {
		e->query = text;
	} else if (str_eqz(word, "auth")) {
		e->auth = str_eqz(rest, "bearer") ? AUTH_BEARER : str_eqz(rest, "x") ? AUTH_X_API_KEY : AUTH_API_KEY_HEADER;
	} else if (str_eqz(word, "key")) {
		e->key_from = KEY_INLINE;
		secret_set(&e->key, rest);
	} else if (str_eqz(word, "keyname")) {
		e->key_from = KEY_SECRETS;
		e->key_name = text;
	} else if (str_eqz(word, "optional")) {
		e->key_optional = true;
	} else if (str_eqz(word, "header")) {
		struct str value = text, name = str_cut(&value, ':');

		if (!e->headers)
			e->headers = arena_array(d->mem, ENDPOINT_HEADERS_MAX, sizeof(*e->headers));
		e->headers[e->nheaders++] = (struct endpoint_header){ name, str_trim(value) };
	} else if (str_eqz(word, "ca")) {
		e->ca_file = text;
	} else if (str_eqz(word, "connect_ms")) {
		e->connect_ms = number(rest);
	} else if (str_eqz(word, "first_ms")) {
		e->first_byte_ms = number(rest);
	} else if (str_eqz(word, "idle_ms")) {
		e->idle_ms = number(rest);
	} else if (str_eqz(word, "direct")) {
		e->direct = true;
	} else if (str_eqz(word, "recorded")) {
		e->kind = ENDPOINT_RECORDING;
	} else {
		BUG_IF(true);
	}
}

static void start(struct driver *d, struct err *err)
{
	struct egress_spec spec = { .progs = &d->progs, .table = &d->table, .more = &d->more, .secrets_fd = d->secrets,
		.recording_fd = d->recording };

	if (egress_start(&spec, &d->e, err) < 0)
		fail(err);
	else
		printf("ready %d %d %d\n", d->e.client.proc.pid, d->e.broker.proc.pid, d->e.resolver.proc.pid);
}

static void send_message(struct driver *d, uint16_t type, struct str body, int fd)
{
	struct err err = { 0 };

	if (chan_send(d->e.agent_chan, type, body, &fd, fd >= 0, &err) < 0)
		fail(&err);
}

/* As memfd_seal, but for the seals. */
static int memfd_leave_open(struct str bytes)
{
	int fd = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	BUG_IF(fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n);
	return fd;
}

static void request(struct driver *d, struct str word, struct str rest)
{
	bool big = str_eqz(word, "big");

	struct str id = str_cut(&rest, ' '), endpoint = str_cut(&rest, ' ');
	struct str route = big ? STR("chat") : str_cut(&rest, ' ');
	auto_buf struct buf b = BUF_MAX(16), body = BUF_MAX(80 * 1024 * 1024);
	autoclose int fd = -1;

	pack_u32(&b, (uint32_t)number(id));
	pack_u8(&b, (uint8_t)number(endpoint));
	pack_u8(&b, str_eqz(route, "chat") ? ROUTE_CHAT : str_eqz(route, "models") ? ROUTE_MODELS : (uint8_t)number(route));
	BUG_IF(pack_ok(&b, ERR_DISCARD) < 0);
	if (big) {
		BUG_IF(buf_reserve(&body, (size_t)number(rest), ERR_DISCARD) < 0);
		body.n = (size_t)number(rest);
		memset(body.p, 'x', body.n);
		rest = buf_str(&body);
	}
	if (str_eqz(word, "open"))
		fd = memfd_leave_open(rest);
	else if (rest.n > 0)
		BUG_IF(memfd_seal("body", rest, &fd, ERR_DISCARD) < 0);
	send_message(d, WIRE_REQ, buf_str(&b), fd);
}

static void cancel(struct driver *d, struct str rest)
{
	auto_buf struct buf b = BUF_MAX(4);

	pack_u32(&b, (uint32_t)number(rest));
	send_message(d, WIRE_CANCEL, buf_str(&b), -1);
}

static void raw(struct driver *d, struct str rest)
{
	struct str type = str_cut(&rest, ' ');
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	for (; rest.n >= 2; rest = str_skip(rest, 2)) {
		char hex[3] = { rest.p[0], rest.p[1], 0 };

		pack_u8(&b, (uint8_t)strtoul(hex, NULL, 16));
	}
	send_message(d, (uint16_t)number(type), buf_str(&b), -1);
}

/* The host-side door: one question of the first provider, by a pair of its own. */
static void get(struct driver *d, struct str ms, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(1024 * 1024);
	struct egress_reply reply;

	if (egress_get(&d->progs, &d->rows[0], ROUTE_MODELS, STR(""), d->secrets, number(ms), &out, &reply, err) < 0)
		fail(err);
	else
		printf("got %d %d %zu\n", reply.status, (int)reply.content, out.n);
}

/* The monitor goes away for one of them: it must leave by itself. */
static void hang_up(struct peer *p, struct err *err)
{
	struct proc_status st;

	peer_close(p);
	if (proc_wait(&p->proc, &st, err) < 0)
		fail(err);
	else
		printf("left %d\n", st.code);
	p->proc = (struct proc){ 0, -1 };
}

static void obey(struct driver *d, struct str line)
{
	struct str rest = line, word = str_cut(&rest, ' ');
	struct err err = { 0 };

	if (str_eqz(word, "start")) {
		start(d, &err);
	} else if (str_eqz(word, "req") || str_eqz(word, "big") || str_eqz(word, "open")) {
		request(d, word, rest);
	} else if (str_eqz(word, "cancel")) {
		cancel(d, rest);
	} else if (str_eqz(word, "raw")) {
		raw(d, rest);
	} else if (str_eqz(word, "stall") || str_eqz(word, "resume")) {
		d->stalled = str_eqz(word, "stall");
	} else if (str_eqz(word, "get")) {
		get(d, rest, &err);
	} else if (str_eqz(word, "hangup")) {
		hang_up(str_eqz(rest, "broker") ? &d->e.broker : str_eqz(rest, "resolver") ? &d->e.resolver : &d->e.client, &err);
	} else if (str_eqz(word, "quit")) {
		d->quit = true;
	} else if (str_eqz(word, "max_requests")) {
		d->table.max_requests = number(rest);
	} else if (str_eqz(word, "max_bytes")) {
		d->table.max_bytes = number(rest);
	} else if (str_eqz(word, "proxy")) {
		d->table.proxy = str_dup(d->mem, rest);
	} else if (str_eqz(word, "secrets") || str_eqz(word, "recording")) {
		int *fd = str_eqz(word, "secrets") ? &d->secrets : &d->recording;

		*fd = open(str_dupz(d->mem, rest), O_RDONLY | O_CLOEXEC);
		BUG_IF(*fd < 0);
	} else if (str_eqz(word, "allow")) {
		struct route r;
		size_t index;

		if (route_set_text(&r, rest, d->mem, &err) < 0 || routes_add(&d->more, &r, d->mem, &index, &err) < 0)
			fail(&err);
	} else {
		describe(d, word, rest, &err);
	}
}

static void print_data(uint32_t id, struct str bytes)
{
	printf("data %u ", id);
	for (size_t i = 0; i < bytes.n; i++)
		printf("%02x", (unsigned char)bytes.p[i]);
	printf("\n");
}

static void hear(struct driver *d)
{
	struct err err = { 0 };
	struct unpack u;
	uint32_t id, status;
	int64_t retry;
	uint8_t kind;

	if (chan_recv(d->e.agent_chan, &d->msg, &err) < 0) {
		printf("gone\n");
		close(take_fd(&d->e.agent_chan));
		return;
	}
	BUG_IF(wire_check(LINK_CLIENT_AGENT, WIRE_DOWN, d->msg.type, d->msg.body.n, d->msg.nfds, &err) < 0);
	u = unpack_from(d->msg.body);
	id = unpack_u32(&u);
	if (d->msg.type == WIRE_HEAD) {
		status = unpack_u32(&u);
		retry = unpack_i64(&u);
		kind = unpack_u8(&u);
		printf("head %u %u %lld %u\n", id, status, (long long)retry, kind);
	} else if (d->msg.type == WIRE_DATA) {
		print_data(id, unpack_str(&u));
	} else {
		kind = unpack_u8(&u);
		struct str text = unpack_str(&u);
		printf("end %u %u " STR_FMT "\n", id, kind, STR_ARG(text));
	}
	BUG_IF(!unpack_done(&u));
}

static void take_lines(struct driver *d, struct buf *in)
{
	struct str rest = buf_str(in);
	size_t eol;

	while ((eol = str_find(rest, STR("\n"))) < rest.n) {
		obey(d, str_head(rest, eol));
		rest = str_skip(rest, eol + 1);
	}
	BUG_IF(buf_splice(in, 0, in->n - rest.n, STR(""), ERR_DISCARD) < 0);
}

static void drive(struct driver *d)
{
	auto_buf struct buf in = BUF_MAX(4 * 1024 * 1024);

	while (!d->quit) {
		struct pollfd p[2] = { { STDIN_FILENO, POLLIN, 0 }, { d->stalled ? -1 : d->e.agent_chan, POLLIN, 0 } };

		fflush(stdout);
		if (poll(p, 2, -1) < 0)
			return;
		if (p[1].revents)
			hear(d);
		if (p[0].revents) {
			BUG_IF(buf_reserve(&in, 65536, ERR_DISCARD) < 0);
			ssize_t n = read(STDIN_FILENO, in.p + in.n, 65536);

			if (n <= 0)
				return;
			in.n += (size_t)n;
			take_lines(d, &in);
		}
	}
}

int main(int argc, char **argv)
{
	struct driver *d = mem_alloc(sizeof(*d));
	struct err err = { 0 };

	if (argc == 3 && strcmp(argv[1], "--role") == 0 && strcmp(argv[2], "broker") == 0)
		return role_broker_main();
	signal(SIGPIPE, SIG_IGN);
	d->mem = arena_new();
	d->table = (struct endpoint_table){ .p = d->rows, .max_requests = -1, .max_bytes = -1 };
	d->secrets = d->recording = -1;
	d->e = EGRESS_NONE;
	if (programs_open(&d->progs, &err) < 0) {
		fail(&err);
		return 1;
	}
	drive(d);
	egress_stop(&d->e);
	endpoints_fini(&d->table);
	programs_close(&d->progs);
	arena_free(d->mem);
	free(d);
	return 0;
}
