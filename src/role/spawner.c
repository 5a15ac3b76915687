/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/spawner.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAN_FD     3
#define ANSWER_MAX  4096
#define DEADLINE_MS 5000

/* What can be asked, and exactly what is run for it: outside any repository, no shell, no word from
 * anybody. --global reads the person's own file and what it includes, never a repository's. */
enum spawn_op { SPAWN_GIT_IDENTITY = 1 };

static const struct {
	enum spawn_op op;
	const char *argv[7];
} programs[] = {
	{ SPAWN_GIT_IDENTITY, { "git", "config", "--global", "--null", "--get-regexp", "^user\\.(name|email)$", NULL } },
};

/* What the programs above need to find themselves and the person's own configuration. */
static const char *const env_names[] = { "PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "LANG" };

static int reply(uint8_t op, uint16_t index, bool ok, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(ANSWER_MAX * 2);

	pack_u8(&b, op);
	pack_u16(&b, index);
	pack_u8(&b, ok);
	pack_str(&b, text);
	TRY(pack_ok(&b, err));
	return chan_send(CHAN_FD, WIRE_SPAWNED, buf_str(&b), NULL, 0, err);
}

static int run_program(size_t i, uint8_t op, uint16_t index, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(ANSWER_MAX), errs = BUF_MAX(ANSWER_MAX);
	struct proc_spec spec = { .argv = programs[i].argv, .env = (const char *const *)environ, .cwd = "/",
		.die_with_parent = true };
	struct proc_status st;
	bool ok = proc_run(&spec, STR(""), DEADLINE_MS, &out, &errs, &st, ERR_DISCARD) == 0 && st.code == 0;

	return reply(op, index, ok, ok ? str_trim(buf_str(&out)) : STR(""), err);
}

static int serve_one(struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint8_t op = unpack_u8(&u);
	uint16_t index = unpack_u16(&u);

	unpack_str(&u); /* the id, for operations that name a run */
	TRY(wire_check(LINK_MONITOR_SPAWNER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "a request of the wrong form");
	for (size_t i = 0; i < COUNT(programs); i++)
		if (programs[i].op == op)
			return run_program(i, op, index, err);
	return err_set(err, ERR_PROTOCOL, "operation %u is unknown", op);
}

int role_spawner_main(void)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct err err = { 0 };

	if (proc_sanitize(1, &err) < 0)
		return 1;
	for (;;) {
		int r = chan_recv(CHAN_FD, m, &err);

		if (r == -ERR_CLOSED)
			return 0;
		if (r < 0)
			return 1;
		r = serve_one(m, &err);
		chan_msg_fini(m);
		if (r < 0)
			return 1;
	}
}

int spawner_start(const struct programs *progs, struct peer *out, struct err *err)
{
	static const char *const argv[] = { "agent6", "--role", "spawner", NULL };
	auto_arena struct arena *mem = arena_new();
	const char *env[COUNT(env_names) + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; i < COUNT(env_names); i++) {
		const char *v = getenv(env_names[i]);

		if (v)
			env[n++] = str_printf(mem, "%s=%s", env_names[i], v).p;
	}
	if (launch(&(struct launch_spec){ .exe = progs->agent6, .argv = argv, .env = env }, out, err) < 0)
		return err_wrap(err, "start the spawner");
	return 0;
}

static int ask(int chan, enum spawn_op op, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64);

	pack_u8(&b, (uint8_t)op);
	pack_u16(&b, 0);
	pack_str(&b, STR(""));
	TRY(pack_ok(&b, err));
	return chan_send(chan, WIRE_SPAWN, buf_str(&b), NULL, 0, err);
}

static int take_answer(int chan, enum spawn_op op, struct arena *mem, struct str *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));

	TRY(chan_recv(chan, m, err));
	TRY(wire_check(LINK_MONITOR_SPAWNER, WIRE_UP, m->type, m->body.n, m->nfds, err));

	struct unpack u = unpack_from(m->body);
	bool same = unpack_u8(&u) == op;
	unpack_u16(&u);
	bool ok = unpack_u8(&u) == 1;
	struct str text = unpack_str(&u);
	if (!unpack_done(&u) || !same)
		return err_set(err, ERR_PROTOCOL, "the spawner answered something else");
	*out = ok ? str_dup(mem, text) : STR("");
	return 0;
}

int spawner_ask_identity(int chan, struct err *err)
{
	return ask(chan, SPAWN_GIT_IDENTITY, err);
}

/* KEY LF VALUE NUL, and so on; git itself takes the last of several. */
int spawner_take_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err)
{
	struct spawner_identity id = { 0 };
	struct str rest;

	TRY(take_answer(chan, SPAWN_GIT_IDENTITY, mem, &rest, err));
	while (rest.n > 0) {
		struct str value = str_cut(&rest, '\0');
		struct str key = str_cut(&value, '\n');

		if (str_eqz(key, "user.name"))
			id.name = str_trim(value);
		else if (str_eqz(key, "user.email"))
			id.email = str_trim(value);
	}
	*out = id;
	return 0;
}

int spawner_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err)
{
	TRY(spawner_ask_identity(chan, err));
	return spawner_take_identity(chan, mem, out, err);
}
