/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "evil.h"

#include "agent/agent.h"
#include "fmt/pack.h"
#include "sandbox/confine.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

void evil_say_bytes(const struct evil *e, const char *what, struct str bytes)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	int r = 0;

	for (size_t i = 0; i < bytes.n && r == 0; i++)
		r = isprint((unsigned char)bytes.p[i])
			? buf_addc(&b, bytes.p[i], ERR_DISCARD)
			: buf_addf(&b, ERR_DISCARD, "\\x%02x", (unsigned char)bytes.p[i]);
	for (size_t at = 0; at < b.n; at += 1500)
		evil_say(e, "%s " STR_FMT, what, STR_ARG(str_head(str_skip(buf_str(&b), at), 1500)));
}

int evil_memfd(struct str bytes, bool sealed)
{
	int fd = memfd_create("evil", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	BUG_IF(fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n);
	if (sealed)
		BUG_IF(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0);
	return fd;
}

bool evil_send(struct evil *e, enum peer to, uint16_t type, struct str body, const int *fds, size_t nfds)
{
	struct err err = { 0 };

	(void)e;
	for (;;) {
		struct pollfd p = { .fd = 3 + (int)to, .events = POLLOUT };
		int r = chan_send(3 + (int)to, type, body, fds, nfds, &err);

		if (r != -ERR_BUSY)
			return r == 0;
		if (poll(&p, 1, 10000) <= 0)
			return false;
	}
}

bool evil_record(struct evil *e, enum record_what what, uint32_t arg, const char *name, struct str bytes)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	pack_u8(&b, (uint8_t)what);
	pack_u32(&b, arg);
	pack_str(&b, str_from(name));
	pack_str(&b, bytes);
	return evil_send(e, PEER_RECORDER, WIRE_RECORD, buf_str(&b), NULL, 0);
}

bool evil_dropped(enum peer p, int wait_ms)
{
	struct pollfd f = { .fd = 3 + (int)p, .events = POLLRDHUP };

	return poll(&f, 1, wait_ms) > 0 && (f.revents & (POLLHUP | POLLERR | POLLRDHUP)) != 0;
}

bool evil_next(struct evil *e, enum peer from, uint16_t type, int ms)
{
	for (;;) {
		struct pollfd p = { .fd = 3 + (int)from, .events = POLLIN };

		if (poll(&p, 1, ms) <= 0 || chan_recv(p.fd, e->msg, ERR_DISCARD) < 0)
			return false;
		bool it = e->msg->type == type;

		chan_msg_fini(e->msg);
		if (it)
			return true;
	}
}

static void confine(const struct evil *e)
{
	const struct ll_rule rules[] = { { .kind = LL_FD, .fd = e->workspace, .access = LL_RW } };
	struct err err = { 0 };

	if (confine_self(SECCOMP_AGENT, rules, COUNT(rules), &err) < 0) {
		evil_say(e, "FAIL confine: %s", err.msg);
		_exit(9);
	}
}

void evil_done(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(256);

	pack_u8(&b, 0);
	pack_u8(&b, 0);
	pack_str(&b, STR("finish_run"));
	pack_str(&b, STR("nothing to see here"));
	evil_say(e, "DONE");
	evil_send(e, PEER_MONITOR, WIRE_DONE, buf_str(&b), NULL, 0);
}

void evil_report(struct evil *e)
{
	auto_buf struct buf text = BUF_MAX(CHAN_BODY_MAX);

	BUG_IF(lseek(e->report, 0, SEEK_SET) != 0 || file_read_fd(e->report, &text, ERR_DISCARD) < 0);
	evil_record(e, RECORD_FILE, 0, "result.md", buf_str(&text));
}

static void act(struct evil *e, struct str what, uint32_t number)
{
	if (str_eqz(what, "probe"))
		evil_probe(e);
	else if (str_eqz(what, "net"))
		evil_net(e);
	else if (str_eqz(what, "commands"))
		evil_commands(e);
	else if (str_eqz(what, "git"))
		evil_git(e);
	else if (str_eqz(what, "client"))
		evil_client(e);
	else if (str_eqz(what, "approval"))
		evil_approval(e);
	else if (str_eqz(what, "swap"))
		evil_swap(e);
	else if (str_eqz(what, "words"))
		evil_words(e);
	else if (str_eqz(what, "flood"))
		evil_flood(e);
	else if (str_eqz(what, "server"))
		evil_server(e);
	else if (str_eqz(what, "remote"))
		evil_remote(e);
	else if (str_eqz(what, "remote-again"))
		evil_remote_again(e);
	else if (str_eqz(what, "remote-many"))
		evil_remote_many(e);
	else if (str_eqz(what, "repository"))
		evil_repository(e);
	else if (str_eqz(what, "look"))
		evil_look(e);
	else if (str_eqz(what, "gone"))
		evil_gone(e);
	else if (str_eqz(what, "hang-up"))
		evil_hang_up(e);
	else if (str_eqz(what, "green"))
		evil_green(e);
	else if (str_eqz(what, "break"))
		evil_break(e, number, BREACH_ANY);
	else if (str_eqz(what, "break-jails"))
		evil_break(e, number, BREACH_JAILS);
	else if (str_eqz(what, "break-monitor"))
		evil_break(e, number, BREACH_MONITOR);
	else if (str_eqz(what, "fuzz"))
		evil_fuzz(e, number);
	else
		evil_say(e, "FAIL there is no case " STR_FMT, STR_ARG(what));
	evil_done(e);
}

/* "evil CASE [NUMBER]", or "evil raw CASE [NUMBER]" to stay as the zygote made it. */
static void obey(struct evil *e)
{
	struct str rest = e->params.task;
	int64_t number = 0;

	str_cut(&rest, ' ');
	struct str what = str_cut(&rest, ' ');

	e->confined = !str_eqz(what, "raw");
	if (!e->confined)
		what = str_cut(&rest, ' ');
	if (rest.n > 0 && str_to_i64(rest, &number, ERR_DISCARD) < 0)
		number = 0;
	if (e->confined)
		confine(e);
	act(e, what, (uint32_t)number);
}

static int wait_go(struct evil *e, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(16 << 20);

	do {
		chan_msg_fini(e->msg);
		TRY(chan_recv(3 + PEER_MONITOR, e->msg, err));
	} while (e->msg->type != WIRE_GO);
	TRY(memfd_read(e->msg->fds[0], &bytes, err));
	chan_msg_fini(e->msg);
	return run_params_unpack(str_dup(e->mem, buf_str(&bytes)), e->mem, &e->params, err);
}

int role_agent_main(void)
{
	struct evil e = { .mem = arena_new(), .report = -1, .workspace = -1 };
	struct err err = { 0 };

	int fds[PEER_COUNT];

	if (proc_sanitize(links_given(fds), &err) < 0)
		return 1;
	e.msg = mem_alloc(sizeof(*e.msg));
	if (wait_go(&e, &err) < 0 || dir_open(AT_FDCWD, str_dupz(e.mem, e.params.workspace), &e.workspace, &err) < 0)
		return 1;
	e.report = openat(e.workspace, "evil.report", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (e.report < 0) /* as it should be in a session that only looks */
		e.report = memfd_create("report", MFD_CLOEXEC);
	if (e.report < 0 || fchdir(e.workspace) < 0)
		return 1;
	obey(&e);
	return 0;
}
