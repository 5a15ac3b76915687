/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "net/client.h"
#include "sandbox/seccomp.h"
#include "sys/chan.h"
#include "test/lib/test.h"

#include <errno.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 300 /* a client that says nothing fails the test instead of hanging it */

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const struct {
	const char *why;
	int nr;
	uint64_t args[3];
	bool ok;
} calls[] = {
	{ "a pair, whose other end goes to the broker", SYS_socketpair, { AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0 }, true },
	{ "no pair that may be connected anew", SYS_socketpair, { AF_UNIX, SOCK_DGRAM, 0 }, false },
	{ "no socket of this host", SYS_socket, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, false },
	{ "no connection", SYS_connect, { 4, 0, 0 }, false },
	{ "its requests come by messages", SYS_recvmsg, { 4, 0, 0 }, true },
	{ "no internet", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, false },
	{ "no internet of the new kind", SYS_socket, { AF_INET6, SOCK_DGRAM, 0 }, false },
	{ "no talk with the kernel", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, false },
	{ "no file", SYS_openat, { (uint64_t)-100, 0, 0 }, false },
	{ "no look at a path", SYS_newfstatat, { (uint64_t)-100, 0, 0 }, false },
	{ "no program", SYS_execve, { 0, 0, 0 }, false },
	{ "no process", SYS_clone, { 17, 0, 0 }, false },
	{ "no other process's memory", SYS_process_vm_readv, { 1, 0, 0 }, false },
#ifndef AGENT6_SANITIZED /* its run time maps what it likes */
	{ "no memory that is code", SYS_mmap, { 0, 4096, 5 }, false },
#endif
};

TEST(client_keeps_its_channels_and_pairs_and_nothing_else)
{
	struct seccomp_filter f;
	struct err err = { 0 };

	CHECK_OK(seccomp_build(SECCOMP_CLIENT, &f, &err));
	for (size_t i = 0; i < COUNT(calls); i++) {
		uint64_t args[6] = { calls[i].args[0], calls[i].args[1], calls[i].args[2] };
		int got = seccomp_judge(&f, ARCH, calls[i].nr, args);

		if ((got == 0) != calls[i].ok)
			print_message("%s: %d\n", calls[i].why, got);
		CHECK((got == 0) == calls[i].ok);
	}
}

/* ---- a token that is refused ---- */

/* The client and the server are processes of their own; the test is the agent and the spawner. */
struct bench {
	pid_t client, server;
	int agent, tokens;
	struct chan_msg msg;
};

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void answer_with(int fd, const char *text)
{
	char request[4096];

	if (read(fd, request, sizeof(request)) <= 0 || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* Refuses, and then talks until the other side has enough; what comes after it is answered well. */
static void be_server(int listener)
{
	static char noise[16384];
	int fd = accept(listener, NULL, NULL);

	answer_with(fd, "HTTP/1.1 401 no\r\ncontent-type: text/plain\r\n\r\n");
	while (send(fd, noise, sizeof(noise), MSG_NOSIGNAL) > 0)
		;
	close(fd);
	fd = accept(listener, NULL, NULL);
	answer_with(fd, "HTTP/1.1 200 ok\r\ncontent-length: 20\r\n\r\ntoken-one, token-two");
	_exit(0);
}

static void be_client(int agent, int tokens, uint16_t port)
{
	struct endpoint e;
	struct endpoint_table table = { .p = &e, .n = 1, .max_requests = -1, .max_bytes = -1 };
	struct client_spec spec = { .table = &table, .agent_fd = agent, .tokens_fd = tokens, .broker_fd = -1 };
	struct loop *loop = NULL;
	struct client *c = NULL;
	struct err err = { 0 };

	endpoint_init(&e);
	e.name = STR("p");
	e.direct = true;
	e.host = STR("127.0.0.1");
	e.port = port;
	e.models_path = STR("/models");
	e.key_from = KEY_COMMAND;
	e.token_ttl_ms = 600000;
	e.tls = false;
	_exit(chan_nonblock(tokens, &err) < 0 || loop_open(&loop, &err) < 0 || client_open(&spec, loop, &c, &err) < 0 ||
		client_serve(c, &err) < 0 || loop_run(loop, &err) < 0);
}

static void start(struct bench *b)
{
	const struct timeval patience = { PATIENCE_S, 0 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int agent[2], tokens[2], listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err err = { 0 };

	CHECK(bind(listener, (struct sockaddr *)&at, n) == 0 && listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&at, &n) == 0);
	CHECK_OK(chan_pair(agent, &err));
	CHECK_OK(chan_pair(tokens, &err));
	b->server = fork_child();
	if (b->server == 0)
		be_server(listener);
	close(listener);
	b->client = fork_child();
	if (b->client == 0) {
		close(agent[0]);
		close(tokens[0]);
		be_client(agent[1], tokens[1], ntohs(at.sin_port));
	}
	close(agent[1]);
	close(tokens[1]);
	b->agent = agent[0];
	b->tokens = tokens[0];
	CHECK(setsockopt(b->agent, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
	CHECK(setsockopt(b->tokens, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
}

static void stop(struct bench *b)
{
	kill(b->client, SIGKILL);
	kill(b->server, SIGKILL);
	CHECK(waitpid(b->client, NULL, 0) == b->client && waitpid(b->server, NULL, 0) == b->server);
	close(b->agent);
	close(b->tokens);
}

static struct unpack hear(struct bench *b, int fd, uint16_t type)
{
	struct err err = { 0 };

	CHECK_OK(chan_recv(fd, &b->msg, &err));
	CHECK_STR(str_from(wire_name(b->msg.type)), str_from(wire_name(type)));
	return unpack_from(b->msg.body);
}

static void hand_token(struct bench *b, struct str token)
{
	auto_buf struct buf body = BUF_MAX(256);
	struct err err = { 0 };

	hear(b, b->tokens, WIRE_TOKEN_WANTED);
	pack_u8(&body, 0);
	pack_u8(&body, 1);
	pack_str(&body, token);
	CHECK_OK(chan_send(b->tokens, WIRE_TOKEN, buf_str(&body), NULL, 0, &err));
}

/* And neither the token that was refused nor the one after it comes back to the agent. */
TEST(client_renews_a_token_however_long_the_refusal_is)
{
	auto_buf struct buf body = BUF_MAX(64), got = BUF_MAX(4096);
	struct bench *b = mem_alloc(sizeof(*b));
	struct err err = { 0 };
	struct unpack u;

	start(b);
	pack_u32(&body, 1);
	pack_u8(&body, 0);
	pack_u8(&body, ROUTE_MODELS);
	CHECK_OK(chan_send(b->agent, WIRE_REQ, buf_str(&body), NULL, 0, &err));
	hand_token(b, STR("token-one"));
	hand_token(b, STR("token-two"));
	u = hear(b, b->agent, WIRE_HEAD);
	CHECK_INT(unpack_u32(&u), 1);
	CHECK_INT(unpack_u32(&u), 200);
	for (;;) {
		CHECK_OK(chan_recv(b->agent, &b->msg, &err));
		u = unpack_from(b->msg.body);
		CHECK_INT(unpack_u32(&u), 1);
		if (b->msg.type != WIRE_DATA)
			break;
		CHECK_OK(buf_add(&got, unpack_str(&u), &err));
	}
	CHECK_INT(b->msg.type, WIRE_END);
	CHECK_INT(unpack_u8(&u), NET_OK);
	CHECK_STR(buf_str(&got), STR("<REDACTED>, <REDACTED>"));
	stop(b);
	free(b);
}
