/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/hooks.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "session/ending.h"
#include "sys/chan.h"

#include <limits.h>
#include <signal.h>

#define TABLE_MAX (256 * 1024)
#define ARGV_MAX  64
#define EXIT_MASK 0xff

/* ---- who tells and asks ---- */

int hooks_tell(int chan, const struct hooks_spec *spec, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(TABLE_MAX);
	autoclose int table = -1;

	pack_u32(&b, (uint32_t)spec->timeout_ms);
	pack_str(&b, spec->id);
	pack_str(&b, spec->mode);
	pack_str(&b, spec->dir);
	pack_strs(&b, spec->on_complete.p, spec->on_complete.n);
	pack_strs(&b, spec->on_wait.p, spec->on_wait.n);
	TRY(pack_ok(&b, err));
	TRY(memfd_seal("agent6-hooks", buf_str(&b), &table, err));
	return chan_send(chan, WIRE_HOOKS, STR(""), &table, 1, err);
}

int hooks_ask(int chan, enum spawn_op op, uint16_t index, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);

	pack_u8(&b, (uint8_t)op);
	pack_u16(&b, index);
	pack_str(&b, STR(""));
	TRY(pack_ok(&b, err));
	return chan_send(chan, WIRE_SPAWN, buf_str(&b), NULL, 0, err);
}

uint16_t hook_end_index(int exit_code, struct str reason)
{
	return (uint16_t)(ending_number(reason) << 8 | (exit_code & EXIT_MASK));
}

/* ---- who runs them ---- */

int hooks_take(struct hooks *h, struct str body, struct err *err)
{
	struct unpack u = unpack_from(str_dup(h->mem, body));
	struct hooks_spec *s = &h->spec;

	if (h->told)
		return err_set(err, ERR_PROTOCOL, "hooks are told once");
	h->told = true;
	s->timeout_ms = unpack_u32(&u);
	s->id = unpack_str(&u);
	s->mode = unpack_str(&u);
	s->dir = unpack_str(&u);
	s->on_complete.p = unpack_strs(&u, h->mem, ARGV_MAX, &s->on_complete.n);
	s->on_wait.p = unpack_strs(&u, h->mem, ARGV_MAX, &s->on_wait.n);
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "the hooks are malformed");
}

/* What can happen, and whose program is told of it. */
static const struct {
	enum spawn_op op;
	int kind;
	const char *word;
} events[] = {
	{ SPAWN_ENDED, HOOK_COMPLETE, "end" },
	{ SPAWN_APPROVAL, HOOK_WAIT, "approval" },
	{ SPAWN_QUESTION, HOOK_WAIT, "question" },
};

static const char **argv_of(struct arena *mem, const struct str_list *words)
{
	const char **argv = arena_array(mem, words->n + 1, sizeof(*argv));

	for (size_t i = 0; i < words->n; i++)
		argv[i] = str_dupz(mem, words->p[i]);
	return argv;
}

/* Ours, and what is said of the run: an id of our own making, words of fixed tables, numbers, and a directory of the
 * operator's. Nothing that a model, a server or a file of the workspace chose. */
static const char **env_of(const struct hooks *h, const char *event, const struct hook_running *r, struct arena *mem)
{
	bool ended = r->op == SPAWN_ENDED;
	int code = r->index & EXIT_MASK;
	size_t n = 0, k = 0;

	while (environ[n])
		n++;
	const char **env = arena_array(mem, n + 8, sizeof(*env));
	for (size_t i = 0; i < n; i++)
		env[k++] = environ[i];
	env[k++] = str_printf(mem, "AGENT6_SESSION_ID=" STR_FMT, STR_ARG(h->spec.id)).p;
	env[k++] = str_printf(mem, "AGENT6_SESSION_MODE=" STR_FMT, STR_ARG(h->spec.mode)).p;
	env[k++] = str_printf(mem, "AGENT6_SESSION_DIR=" STR_FMT, STR_ARG(h->spec.dir)).p;
	env[k++] = str_printf(mem, "AGENT6_SESSION_EVENT=%s", event).p;
	if (!ended)
		return env;
	env[k++] = str_printf(mem, "AGENT6_SESSION_EXIT=%d", code).p;
	env[k++] = str_printf(mem, "AGENT6_SESSION_OK=%d", code == 0).p;
	env[k++] = str_printf(mem, "AGENT6_SESSION_REASON=%s", ending_word((uint8_t)(r->index >> 8))).p;
	return env;
}

int hooks_start(struct hooks *h, enum spawn_op op, uint16_t index, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	size_t row = 0;

	while (row < COUNT(events) && events[row].op != op)
		row++;
	if (row == COUNT(events))
		return err_set(err, ERR_PROTOCOL, "operation %u is no hook", (unsigned)op);
	const struct str_list *words = events[row].kind == HOOK_COMPLETE ? &h->spec.on_complete : &h->spec.on_wait;
	struct hook_running *r = &h->running[events[row].kind];

	/* Who is being called is not called twice at once. */
	if (words->n == 0 || r->proc.pid > 0 || (events[row].kind == HOOK_WAIT && h->waits++ >= HOOK_WAITS_MOST))
		return 0;
	*r = (struct hook_running){ .op = op, .index = index, .until_ms = time_mono_ms() + h->spec.timeout_ms };
	struct proc_spec spec = { .argv = argv_of(mem, words), .env = env_of(h, events[row].word, r, mem), .cwd = "/",
		.own_session = true, .die_with_parent = true };

	return proc_spawn(&spec, &r->proc, err) < 0 ? -(int)err->code : 1;
}

int hooks_poll_ms(const struct hooks *h)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < HOOK_KINDS; i++)
		if (h->running[i].proc.pid > 0 && !h->running[i].late && h->running[i].until_ms < first)
			first = h->running[i].until_ms;
	if (first == INT64_MAX)
		return -1;
	int64_t left = first - time_mono_ms();

	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

void hooks_due(struct hooks *h)
{
	for (int i = 0; i < HOOK_KINDS; i++) {
		struct hook_running *r = &h->running[i];

		if (r->proc.pid <= 0 || r->late || time_mono_ms() < r->until_ms)
			continue;
		r->late = true;
		proc_kill_session(&r->proc);
	}
}

int hooks_ended(struct hook_running *r, int64_t timeout_ms, struct err *err)
{
	struct proc_status st;
	int w = proc_wait(&r->proc, &st, err);
	bool late = r->late;

	r->proc = (struct proc){ 0, -1 };
	TRY(w);
	if (late)
		return err_set(err, ERR_TIMEOUT, "it did not end within %lld s and was killed", (long long)timeout_ms / 1000);
	if (st.signal != 0)
		return err_set(err, ERR_REMOTE, "it was killed by signal %d", st.signal);
	return st.code == 0 ? 0 : err_set(err, ERR_REMOTE, "it ended with status %d", st.code);
}

void hooks_kill(struct hooks *h)
{
	for (int i = 0; i < HOOK_KINDS; i++)
		if (h->running[i].proc.pid > 0) {
			proc_kill_session(&h->running[i].proc);
			(void)!hooks_ended(&h->running[i], 0, ERR_DISCARD);
		}
}
