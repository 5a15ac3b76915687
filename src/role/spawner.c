/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/spawner.h"
#include "role/hooks.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAN_FD     3
#define ANSWER_MAX  16000
#define DEADLINE_MS 5000
#define TOKEN_MAX   16384
#define TOKEN_MS    30000 /* such a program may ask a server itself */
#define TOKENS_MOST 1000  /* of a run: a client that was taken over starts no more */
#define TOKEN_TABLE (1024 * 1024)
#define ARGV_MAX    64

/* What can be asked, and exactly what is run for it: outside any repository, no shell, no word from
 * anybody. --global reads the person's own file and, with --includes, what it includes; a directory of git's that is none leaves
 * those of the system and the person. Never a repository's. */
static const struct {
	enum spawn_op op;
	const char *argv[8];
} programs[] = {
	{ SPAWN_GIT_IDENTITY, { "git", "config", "--global", "--includes", "--null", "--get-regexp", "^(user\\.(name|email)|core\\.(autocrlf|eol|excludesfile))$", NULL } },
	{ SPAWN_GIT_TRUSTED, { "git", "--git-dir=/dev/null", "config", "--null", "--path", "--get-all", "safe.directory", NULL } },
};

/* What the programs above need to find themselves and the person's own configuration. */
static const char *const env_names[] = { "PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "LANG", "USER",
	/* of the usual token commands: gcloud, az, aws, a keyring's */
	"CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CONFIG_DIR", "AWS_PROFILE",
	"AWS_CONFIG_FILE", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	/* of what shows something on a desktop */
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY" };

struct token_command {
	uint8_t endpoint;
	struct str *argv;
	size_t n;
};

struct spawner {
	struct arena *mem; /* of the commands */
	struct token_command *commands;
	size_t ncommands, ntokens;
	int client; /* -1: nobody asks for tokens */
	struct hooks hooks;
};

static int reply(uint8_t op, uint16_t index, bool ok, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(ANSWER_MAX + 64);

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
	bool ok = proc_run(&spec, STR(""), DEADLINE_MS, &out, &errs, &st, ERR_DISCARD) == 0 && st.code == 0 &&
		out.n < ANSWER_MAX; /* what was cut may say something else */

	return reply(op, index, ok, ok ? str_trim(buf_str(&out)) : STR(""), err);
}

/* ---- tokens ---- */

static int take_commands(struct spawner *s, struct chan_msg *m, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(TOKEN_TABLE);
	autoclose int table = chan_take_fd(m, 0);
	struct unpack u;
	uint32_t n;

	if (s->client >= 0)
		return err_set(err, ERR_PROTOCOL, "token commands are told once");
	s->client = chan_take_fd(m, 1);
	TRY(memfd_read(table, &bytes, err));
	u = unpack_from(str_dup(s->mem, buf_str(&bytes)));
	n = unpack_u32(&u);
	if (n > ENDPOINTS_MAX)
		return err_set(err, ERR_PROTOCOL, "too many token commands");
	s->commands = arena_array(s->mem, n, sizeof(*s->commands));
	for (; s->ncommands < n; s->ncommands++) {
		struct token_command *c = &s->commands[s->ncommands];

		c->endpoint = unpack_u8(&u);
		c->argv = unpack_strs(&u, s->mem, ARGV_MAX, &c->n);
	}
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "the token commands are malformed");
}

/* What went wrong without a word of what was printed: it may be half of a key, and the agent will read it. */
static int run_token(const struct token_command *c, struct buf *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf errs = BUF_MAX(ANSWER_MAX);
	const char **argv = arena_array(mem, c->n + 1, sizeof(*argv));
	struct proc_spec spec = { .argv = argv, .env = (const char *const *)environ, .cwd = "/", .die_with_parent = true };
	struct proc_status st;

	for (size_t i = 0; i < c->n; i++)
		argv[i] = str_dupz(mem, c->argv[i]);
	if (proc_run(&spec, STR(""), TOKEN_MS, out, &errs, &st, err) < 0)
		return err_wrap(err, "token_command");
	if (st.code != 0)
		return err_set(err, ERR_REMOTE, "token_command ended with status %d; run it by hand to see why", st.code);
	if (str_trim(buf_str(out)).n == 0)
		return err_set(err, ERR_REMOTE, "token_command printed nothing");
	return 0;
}

static int answer_token(struct spawner *s, uint8_t endpoint, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(TOKEN_MAX + 64), out = BUF_MAX(TOKEN_MAX);
	struct err why = { 0 };
	int r = err_set(&why, ERR_DENIED, "there is no token_command for it");

	if (buf_reserve(&out, TOKEN_MAX, err) < 0 || buf_reserve(&body, TOKEN_MAX + 64, err) < 0) /* no copies stay behind */
		return -ERR_LIMIT;
	for (size_t i = 0; i < s->ncommands; i++)
		if (s->commands[i].endpoint == endpoint)
			r = s->ntokens++ < TOKENS_MOST ? run_token(&s->commands[i], &out, &why)
						       : err_set(&why, ERR_LIMIT, "token_command ran %d times already", TOKENS_MOST);
	pack_u8(&body, endpoint);
	pack_u8(&body, r == 0);
	pack_str(&body, r == 0 ? str_trim(buf_str(&out)) : str_from(why.msg));
	r = pack_ok(&body, err);
	if (r == 0)
		r = chan_send(s->client, WIRE_TOKEN, buf_str(&body), NULL, 0, err);
	explicit_bzero(out.p, out.n);
	explicit_bzero(body.p, body.n);
	return r;
}

/* A client that breaks a rule, or is gone, gets no more tokens. */
static void serve_client(struct spawner *s, struct chan_msg *m)
{
	struct unpack u;
	uint8_t endpoint;

	if (chan_recv(s->client, m, ERR_DISCARD) == 0 &&
		wire_check(LINK_CLIENT_SPAWNER, WIRE_UP, m->type, m->body.n, m->nfds, ERR_DISCARD) == 0) {
		u = unpack_from(m->body);
		endpoint = unpack_u8(&u);
		if (unpack_done(&u) && answer_token(s, endpoint, ERR_DISCARD) == 0)
			return;
	}
	base_close_fd(&s->client);
}

/* ---- hooks ---- */

static int take_hooks(struct spawner *s, struct chan_msg *m, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(TOKEN_TABLE);
	autoclose int table = chan_take_fd(m, 0);

	TRY(memfd_read(table, &bytes, err));
	return hooks_take(&s->hooks, buf_str(&bytes), err);
}

static int start_hook(struct spawner *s, enum spawn_op op, uint16_t index, struct err *err)
{
	struct err why = { 0 };
	int r = hooks_start(&s->hooks, op, index, &why);

	return r > 0 ? 0 : reply((uint8_t)op, index, r == 0, str_from(why.msg), err);
}

static int end_hooks(struct spawner *s, const struct pollfd *p, struct err *err)
{
	hooks_due(&s->hooks);
	for (int i = 0; i < HOOK_KINDS; i++) {
		struct hook_running *r = &s->hooks.running[i];
		struct err why = { 0 };

		if (r->proc.pid <= 0 || !p[i].revents)
			continue;
		int ended = hooks_ended(r, s->hooks.spec.timeout_ms, &why);

		TRY(reply((uint8_t)r->op, r->index, ended == 0, str_from(why.msg), err));
	}
	return 0;
}

/* ---- the monitor's requests ---- */

static int serve_one(struct spawner *s, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint8_t op;
	uint16_t index;

	TRY(wire_check(LINK_MONITOR_SPAWNER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	if (m->type == WIRE_TOKENS)
		return take_commands(s, m, err);
	if (m->type == WIRE_HOOKS)
		return take_hooks(s, m, err);
	op = unpack_u8(&u);
	index = unpack_u16(&u);
	unpack_str(&u); /* the id, for operations that name a run */
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "a request of the wrong form");
	for (size_t i = 0; i < COUNT(programs); i++)
		if (programs[i].op == op)
			return run_program(i, op, index, err);
	if (op == SPAWN_ENDED || op == SPAWN_APPROVAL || op == SPAWN_QUESTION)
		return start_hook(s, (enum spawn_op)op, index, err);
	return err_set(err, ERR_PROTOCOL, "operation %u is unknown", op);
}

int role_spawner_main(void)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct spawner s = { .mem = arena_new(), .client = -1 };
	struct err err = { 0 };

	if (proc_sanitize(1, &err) < 0)
		return 1;
	s.hooks.mem = s.mem;
	for (;;) {
		struct pollfd p[2 + HOOK_KINDS] = { { CHAN_FD, POLLIN, 0 }, { s.client, POLLIN, 0 } };
		int r;

		for (int i = 0; i < HOOK_KINDS; i++)
			p[2 + i] = (struct pollfd){ s.hooks.running[i].proc.pid > 0 ? s.hooks.running[i].proc.pidfd : -1, POLLIN, 0 };
		if (poll(p, COUNT(p), hooks_poll_ms(&s.hooks)) < 0 && errno != EINTR)
			return 1;
		if (end_hooks(&s, p + 2, &err) < 0)
			return 1;
		if (p[1].revents) {
			serve_client(&s, m);
			chan_msg_fini(m);
		}
		if (!p[0].revents)
			continue;
		r = chan_recv(CHAN_FD, m, &err);

		if (r == -ERR_CLOSED)
			hooks_kill(&s.hooks); /* nothing of a run outlives it */
		if (r == -ERR_CLOSED)
			return 0;
		if (r < 0)
			return 1;
		r = serve_one(&s, m, &err);
		chan_msg_fini(m);
		if (r < 0)
			return 1;
	}
}

static bool may_be_written(const char *dir, const struct str_list *apart)
{
	for (size_t i = 0; i < apart->n; i++) {
		auto_arena struct arena *mem = arena_new();

		if (path_is_within(dir, str_dupz(mem, apart->p[i])))
			return true;
	}
	return false;
}

/* PATH without what a model may have written, and without what is relative: an activated environment of the project
 * would have the spawner execute the model's own programs. */
int spawner_path(const char *path, const struct str_list *apart, struct buf *out, struct err *err)
{
	for (struct str rest = str_from(path); rest.n > 0;) {
		auto_arena struct arena *mem = arena_new();
		struct str dir = str_cut(&rest, ':');
		char real[PATH_MAX];

		if (dir.n == 0 || dir.p[0] != '/' || !realpath(str_dupz(mem, dir), real) || may_be_written(real, apart))
			continue;
		TRY(buf_addf(out, err, "%s%s", out->n > 0 ? ":" : "", real));
	}
	return 0;
}

int spawner_start(const struct programs *progs, struct peer *out, struct err *err)
{
	auto_buf struct buf path = BUF_MAX(64 * 1024);
	static const char *const argv[] = { "agent6", "--role", "spawner", NULL };
	auto_arena struct arena *mem = arena_new();
	const char *env[COUNT(env_names) + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; i < COUNT(env_names); i++) {
		const char *v = getenv(env_names[i]);

		if (v && strcmp(env_names[i], "PATH") == 0) {
			TRY(spawner_path(v, &progs->apart, &path, err));
			env[n++] = str_printf(mem, "PATH=" STR_FMT, STR_ARG(buf_str(&path))).p;
		} else if (v) {
			env[n++] = str_printf(mem, "%s=%s", env_names[i], v).p;
		}
	}
	if (launch(&(struct launch_spec){ .exe = progs->agent6, .argv = argv, .env = env }, out, err) < 0)
		return err_wrap(err, "start the spawner");
	return 0;
}

int spawner_tokens(int chan, const struct endpoint_table *t, int *to_client, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(TOKEN_TABLE);
	autoclose int table = -1, theirs = -1, ours = -1;
	uint32_t n = 0;
	int pair[2];

	*to_client = -1;
	for (size_t i = 0; i < t->n; i++)
		n += t->p[i].key_from == KEY_COMMAND;
	if (n == 0)
		return 0;
	pack_u32(&bytes, n);
	for (size_t i = 0; i < t->n; i++) {
		if (t->p[i].key_from != KEY_COMMAND)
			continue;
		pack_u8(&bytes, (uint8_t)i);
		pack_strs(&bytes, t->p[i].token_argv, t->p[i].ntoken_argv);
	}
	TRY(pack_ok(&bytes, err));
	TRY(memfd_seal("agent6-tokens", buf_str(&bytes), &table, err));
	TRY(chan_pair(pair, err));
	theirs = pair[0];
	ours = pair[1];
	TRY(chan_send(chan, WIRE_TOKENS, STR(""), (int[]){ table, theirs }, 2, err));
	*to_client = take_fd(&ours);
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

/* Where git looks for it, with the home directory written out. */
static struct str excludes_path(struct str value, struct arena *mem)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");

	if (str_starts(value, STR("~/")) && home)
		return str_printf(mem, "%s" STR_FMT, home, STR_ARG(str_skip(value, 1)));
	if (value.n > 0)
		return value;
	if (xdg && xdg[0])
		return str_printf(mem, "%s/git/ignore", xdg);
	return home ? str_printf(mem, "%s/.config/git/ignore", home) : STR("");
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
		else if (str_eqz(key, "core.autocrlf"))
			id.autocrlf = value;
		else if (str_eqz(key, "core.eol"))
			id.eol = value;
		else if (str_eqz(key, "core.excludesfile"))
			id.excludes = value;
	}
	id.excludes = excludes_path(id.excludes, mem);
	*out = id;
	return 0;
}

int spawner_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err)
{
	TRY(spawner_ask_identity(chan, err));
	return spawner_take_identity(chan, mem, out, err);
}

int spawner_trusted(int chan, struct arena *mem, struct str *out, struct err *err)
{
	TRY(ask(chan, SPAWN_GIT_TRUSTED, err));
	return take_answer(chan, SPAWN_GIT_TRUSTED, mem, out, err);
}
