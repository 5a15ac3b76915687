/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* badnames: agent6-resolver, as somebody would have it who took it over by the packets it reads. What it answers to a question
 * is said by the first label of the name that it is asked for. */
#include "base/arena.h"
#include "fmt/endpoint.h"
#include "fmt/lookup.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MONITOR_FD 3
#define BROKER_FD  4

static struct route_table take_table(struct arena *mem)
{
	static struct chan_msg m;
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES), ready = BUF_MAX(64);
	struct route_table t = { 0 };

	BUG_IF(chan_recv(MONITOR_FD, &m, ERR_DISCARD) < 0 || memfd_read(m.fds[0], &bytes, ERR_DISCARD) < 0);
	BUG_IF(routes_unpack(str_dup(mem, buf_str(&bytes)), mem, &t, ERR_DISCARD) < 0);
	pack_u8(&ready, 0);
	pack_str(&ready, STR(""));
	pack_str(&ready, STR(""));
	BUG_IF(chan_send(MONITOR_FD, WIRE_RESOLVER_READY, buf_str(&ready), NULL, 0, ERR_DISCARD) < 0);
	return t;
}

static void send_bytes(uint16_t type, const char *bytes, size_t n, bool with_fd)
{
	const int fd = MONITOR_FD;

	(void)!chan_send(BROKER_FD, type, str_of(bytes, n), &fd, with_fd, ERR_DISCARD); /* who hangs up at the first is right */
}

static void say(const struct lookup_answer *a)
{
	auto_buf struct buf b = BUF_MAX(256);

	BUG_IF(lookup_answer_pack(a, &b, ERR_DISCARD) < 0);
	send_bytes(WIRE_LOOKED_UP, b.p, b.n, false);
}

static void say_address(struct lookup_answer a, unsigned char first, unsigned char last)
{
	a.n = 1;
	a.addrs[0] = (struct lookup_addr){ false, { first, 0, 0, last } };
	say(&a);
}

/* To everybody but who asked, and to who asked for another turn. */
static void say_to_others(struct lookup_answer a, unsigned rounds)
{
	struct lookup_answer right = a;

	for (unsigned i = 0; i < rounds; i++) {
		a.link = i % 64;
		a.turn = right.turn + (a.link == right.link ? 1 + i : i);
		say_address(a, 127, 1);
	}
	right.gai = EAI_NONAME;
	say(&right);
}

static void answer(struct str how, struct lookup_answer a)
{
	static const char zeros[CHAN_BODY_MAX];
	char strange[152] = { 0 };

	if (str_eqz(how, "loopback")) {
		say_address(a, 127, 1);
	} else if (str_eqz(how, "inside")) {
		say_address(a, 10, 1);
	} else if (str_eqz(how, "link")) {
		a.link = 64;
		say_address(a, 127, 1);
	} else if (str_eqz(how, "links")) {
		a.link = UINT32_MAX;
		say_address(a, 127, 1);
	} else if (str_eqz(how, "short")) {
		send_bytes(WIRE_LOOKED_UP, zeros, 100, false);
	} else if (str_eqz(how, "long")) {
		send_bytes(WIRE_LOOKED_UP, zeros, 153, false);
	} else if (str_eqz(how, "huge")) {
		send_bytes(WIRE_LOOKED_UP, zeros, sizeof(zeros), false);
	} else if (str_eqz(how, "kind")) {
		strange[16] = 5;
		send_bytes(WIRE_LOOKED_UP, strange, sizeof(strange), false);
	} else if (str_eqz(how, "descriptor")) {
		send_bytes(WIRE_LOOKED_UP, zeros, 152, true);
	} else if (str_eqz(how, "type")) {
		send_bytes(WIRE_DIAL_FAILED, zeros, 6, false);
	} else if (str_eqz(how, "bytes")) {
		(void)!write(BROKER_FD, "x", 1); /* no head at all */
	} else if (str_eqz(how, "others")) {
		say_to_others(a, 1000);
	} else if (str_eqz(how, "flood")) {
		say_to_others(a, 200000);
	} else if (str_eqz(how, "numbers")) {
		a.gai = INT32_MIN;
		a.sys = INT32_MIN;
		say(&a);
	} else if (str_eqz(how, "system")) {
		a.gai = EAI_SYSTEM;
		a.sys = INT32_MIN;
		say(&a);
	} else if (str_eqz(how, "none")) {
		say(&a);
	} else if (str_eqz(how, "dies")) {
		_exit(1);
	} else {
		BUG_IF(!str_eqz(how, "silent"));
	}
}

int main(void)
{
	struct arena *mem = arena_new();
	const struct route_table t = take_table(mem);
	static struct chan_msg m;
	struct lookup_question q;

	while (chan_recv(BROKER_FD, &m, ERR_DISCARD) == 0) {
		BUG_IF(lookup_ask_unpack(m.body, &q, ERR_DISCARD) < 0 || q.route >= t.n);
		struct str name = t.p[q.route].host;

		answer(str_cut(&name, '.'), (struct lookup_answer){ .link = q.link, .turn = q.turn });
	}
	arena_free(mem);
	return 0;
}
