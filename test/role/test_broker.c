/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/broker_priv.h"
#include "test/lib/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

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

	CHECK_INT(resolver_known(&r, a), 1);
	CHECK_INT(((struct sockaddr_in *)&a[0].sa)->sin_addr.s_addr, htonl(0xc0000207));
	CHECK_INT(ntohs(((struct sockaddr_in *)&a[0].sa)->sin_port), 443);
	r = route_of("2001:db8::1");
	CHECK_INT(resolver_known(&r, a), 1);
	CHECK_INT(a[0].sa.ss_family, AF_INET6);
	r = route_of("localhost");
	CHECK_INT(resolver_known(&r, a), 2);
	r = route_of("example.com");
	CHECK_INT(resolver_known(&r, a), 0);
}

static int refuse(void *self, struct err *err)
{
	(void)self;
	return err_set(err, ERR_UNSUPPORTED, "no confinement here");
}

static int accept_all(void *self, struct err *err)
{
	*(bool *)self = true;
	(void)err;
	return 0;
}

TEST(broker_resolver_answers_from_its_thread_and_fails_with_its_confinement)
{
	static struct route rows[1]; /* the thread reads them for as long as the test program lives */
	static struct route_table t = { rows, 1 };
	static struct resolver good, bad, none;
	bool confined = false;
	struct resolver_answer a;
	struct err err = { 0 };

	rows[0] = route_of("no-such-host.invalid");
	CHECK_INT(resolver_open(&bad, &t, refuse, NULL, &err), -ERR_UNSUPPORTED);
	CHECK_STR(str_from(err.msg), STR("no confinement here"));
	CHECK_OK(resolver_open(&good, &t, accept_all, &confined, &err));
	CHECK(confined);
	CHECK_INT(resolver_take(&good, &a, &err), -ERR_BUSY);
	CHECK_OK(resolver_ask(&good, &(struct resolver_question){ .link = 3, .turn = 9, .route = 0 }, &err));
	CHECK_INT(poll(&(struct pollfd){ .fd = good.fd, .events = POLLIN }, 1, 60000), 1);
	CHECK_OK(resolver_take(&good, &a, &err));
	CHECK(a.link == 3 && a.turn == 9 && a.gai != 0 && a.n == 0);
	close(good.fd);
	close(bad.fd);

	static struct route near[1];
	static struct route_table u = { near, 1 };
	near[0] = route_of("127.0.0.1");
	CHECK_OK(resolver_open(&none, &u, refuse, NULL, &err));
	CHECK_INT(none.fd, -1);
}
