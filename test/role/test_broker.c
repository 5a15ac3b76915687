/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/wire.h"
#include "role/broker_priv.h"
#include "sys/chan.h"
#include "test/lib/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct route route_of(const char *host)
{
	struct route r;

	route_set_host(&r, str_from(host), 443);
	return r;
}

static const struct {
	const char *host, *answer;
	bool ok;
} answers[] = {
	{ "api.example.com", "93.184.216.34", true },
	{ "api.example.com", "2606:4700::1", true },
	{ "api.example.com", "127.0.0.1", false },
	{ "api.example.com", "10.0.0.1", false },
	{ "api.example.com", "169.254.169.254", false },
	{ "api.example.com", "::1", false },
	{ "api.example.com", "::ffff:10.0.0.1", false },
	{ "api.example.com", "fe80::1", false },
	{ "gpu-box", "10.0.0.1", true },
	{ "gpu-box", "127.0.0.1", false },
	{ "gpu-box", "169.254.169.254", false },
	{ "localhost", "127.0.0.1", true },
	{ "localhost", "10.0.0.1", false },
	{ "10.0.0.1", "10.0.0.1", true },
};

TEST(broker_dials_an_answer_only_in_the_ranges_its_route_was_written_with)
{
	for (size_t i = 0; i < COUNT(answers); i++) {
		struct route r = route_of(answers[i].host);
		struct sockaddr_in v4 = { .sin_family = AF_INET };
		struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
		bool is_v4 = inet_pton(AF_INET, answers[i].answer, &v4.sin_addr) == 1;

		CHECK(is_v4 || inet_pton(AF_INET6, answers[i].answer, &v6.sin6_addr) == 1);
		CHECK(route_allows(&r, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6) == answers[i].ok);
	}
}

TEST(broker_asks_nobody_about_addresses_and_localhost)
{
	struct dial_addr a[DIAL_ADDRS];
	struct route r = route_of("192.0.2.7");

	CHECK_INT(dial_known(&r, a), 1);
	CHECK_INT(((struct sockaddr_in *)&a[0].sa)->sin_addr.s_addr, htonl(0xc0000207));
	CHECK_INT(ntohs(((struct sockaddr_in *)&a[0].sa)->sin_port), 443);
	r = route_of("2001:db8::1");
	CHECK_INT(dial_known(&r, a), 1);
	CHECK_INT(a[0].sa.ss_family, AF_INET6);
	r = route_of("localhost");
	CHECK_INT(dial_known(&r, a), 2);
	r = route_of("example.com");
	CHECK_INT(dial_known(&r, a), 0);
}

TEST(broker_dials_what_it_was_answered_at_the_routes_own_port)
{
	struct lookup_answer a = { .n = 2, .addrs = { { false, { 93, 184, 216, 34 } }, { true, { 0x26, 0x06, [15] = 1 } } } };
	struct dial_addr to[DIAL_ADDRS];
	struct in6_addr v6;

	CHECK_INT(dial_answered(&a, 8443, to), 2);
	CHECK_INT(((struct sockaddr_in *)&to[0].sa)->sin_addr.s_addr, htonl(0x5db8d822));
	CHECK_INT(ntohs(((struct sockaddr_in *)&to[0].sa)->sin_port), 8443);
	CHECK_INT(to[1].sa.ss_family, AF_INET6);
	CHECK_INT(inet_pton(AF_INET6, "2606::1", &v6), 1);
	CHECK(memcmp(&((struct sockaddr_in6 *)&to[1].sa)->sin6_addr, &v6, sizeof(v6)) == 0);
	CHECK_INT(ntohs(((struct sockaddr_in6 *)&to[1].sa)->sin6_port), 8443);
}

static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

TEST(broker_takes_an_answer_and_gives_up_who_says_anything_else)
{
	static const struct {
		const char *why;
		uint16_t type;
		size_t bytes;
		bool with_fd;
		int want;
	} cases[] = {
		{ "an answer", WIRE_LOOKED_UP, 152, false, 0 },
		{ "a byte too few", WIRE_LOOKED_UP, 151, false, -ERR_PROTOCOL },
		{ "a byte too many", WIRE_LOOKED_UP, 153, false, -ERR_PROTOCOL },
		{ "nothing", WIRE_LOOKED_UP, 0, false, -ERR_PROTOCOL },
		{ "a descriptor", WIRE_LOOKED_UP, 152, true, -ERR_PROTOCOL },
		{ "a question", WIRE_LOOK_UP, 9, false, -ERR_PROTOCOL },
		{ "somebody else's word", WIRE_DIAL_FAILED, 9, false, -ERR_PROTOCOL },
		{ "a number that is no message", 9999, 0, false, -ERR_PROTOCOL },
	};
	static const char zeros[200];
	struct lookup_answer a;
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(chan_nonblock(pair[0], &err));
	CHECK_INT(resolver_take(pair[0], &a, &err), -ERR_BUSY);
	for (size_t i = 0; i < COUNT(cases); i++) {
		int fd = next_fd();

		CHECK_OK(chan_send(pair[1], cases[i].type, str_of(zeros, cases[i].bytes), &pair[1], cases[i].with_fd, &err));
		if (resolver_take(pair[0], &a, &err) != cases[i].want)
			CHECK_STR(str_from(cases[i].why), STR("taken otherwise"));
		CHECK_INT(next_fd(), fd); /* what came along is closed */
	}
	close(pair[1]);
	CHECK_INT(resolver_take(pair[0], &a, &err), -ERR_CLOSED);
	CHECK_INT(resolver_ask(pair[0], &(struct lookup_question){ 0 }, &err), -ERR_CLOSED);
	close(pair[0]);
}

TEST(broker_waits_for_no_resolver_that_does_not_read)
{
	struct err err = { 0 };
	int pair[2], r = 0;

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(chan_nonblock(pair[0], &err));
	for (int i = 0; i < 100000 && r == 0; i++)
		r = resolver_ask(pair[0], &(struct lookup_question){ 0 }, &err);
	CHECK_INT(r, -ERR_BUSY);
	close(pair[0]);
	close(pair[1]);
}
