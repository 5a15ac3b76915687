/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/forker.h"

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "git/gitop.h"
#include "sandbox/confine.h"
#include "session/layout.h"
#include "sys/chan.h"

#define CHAN_FD 3

enum outcome { FORK_FAILED, FORK_MADE, FORK_NOTHING };

/* ---- the process ---- */

static int confine(int from, int to, struct err *err)
{
	const struct ll_rule rules[] = {
		{ .kind = LL_FD, .fd = from, .access = LL_RO },
		{ .kind = LL_FD, .fd = to, .access = LL_RO | LL_WRITE_FILE | LL_REMOVE_FILE | LL_MAKE_REG | LL_MAKE_DIR |
				LL_TRUNCATE },
	};
	return confine_self(SECCOMP_RECORDER, rules, COUNT(rules), err);
}

static int take_ask(struct chan_msg *m, struct fork_ask *ask, struct err *err)
{
	struct unpack u = unpack_from(m->body);

	TRY(wire_check(LINK_MONITOR_FORKER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	ask->turn = unpack_u32(&u);
	ask->undo = unpack_u8(&u) == 1;
	ask->below = unpack_u32(&u);
	ask->parent_id = unpack_str(&u);
	ask->new_id = unpack_str(&u);
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "WIRE_FORK does not decode");
}

static int work(struct chan_msg *m, struct arena *mem, struct fork_done *done, struct err *err)
{
	autoclose int from = -1, to = -1;
	struct fork_ask ask = { 0 };

	TRY(take_ask(m, &ask, err));
	from = chan_take_fd(m, 0);
	to = chan_take_fd(m, 1);
	TRY(confine(from, to, err));
	return fork_record(from, to, &ask, mem, done, err);
}

int role_forker_main(void)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct fork_done done = { 0 };
	struct err err = { 0 };
	int r;

	if (chan_recv(CHAN_FD, m, &err) < 0)
		return 1;
	r = work(m, mem, &done, &err);
	pack_u8(&b, r < 0 ? FORK_FAILED : done.found ? FORK_MADE : FORK_NOTHING);
	pack_u32(&b, done.turn);
	pack_u32(&b, done.said);
	pack_str(&b, done.sha);
	pack_str(&b, done.grandparent);
	pack_str(&b, r < 0 ? str_from(err.msg) : done.text);
	if (pack_ok(&b, &err) < 0 || chan_send(CHAN_FD, WIRE_FORKED, buf_str(&b), NULL, 0, &err) < 0)
		return 1;
	return 0;
}

/* ---- who asks ---- */

static int send_ask(int chan, int from, int to, const struct fork_ask *ask, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);
	const int fds[] = { from, to };

	pack_u32(&b, ask->turn);
	pack_u8(&b, ask->undo);
	pack_u32(&b, ask->below);
	pack_str(&b, ask->parent_id);
	pack_str(&b, ask->new_id);
	TRY(pack_ok(&b, err));
	return chan_send(chan, WIRE_FORK, buf_str(&b), fds, COUNT(fds), err);
}

/* What comes back was made of hostile bytes: each part is of the shape it must have, or nothing is taken. */
static int take_answer(const struct chan_msg *m, struct arena *mem, struct fork_done *out, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	struct fork_done d = { 0 };
	uint8_t how;

	TRY(wire_check(LINK_MONITOR_FORKER, WIRE_UP, m->type, m->body.n, m->nfds, err));
	how = unpack_u8(&u);
	d.turn = unpack_u32(&u);
	d.said = unpack_u32(&u);
	d.sha = str_dup(mem, unpack_str(&u));
	d.grandparent = str_dup(mem, unpack_str(&u));
	d.text = str_dup(mem, unpack_str(&u));
	if (!unpack_done(&u) || how > FORK_NOTHING)
		return err_set(err, ERR_PROTOCOL, "WIRE_FORKED does not decode");
	if (how == FORK_FAILED)
		return err_set(err, ERR_NOENT, STR_FMT, STR_ARG(str_head(d.text, utf8_head(d.text, 600))));
	if ((d.sha.n > 0 && !git_sha_ok(d.sha)) || (d.grandparent.n > 0 && !session_id_ok(d.grandparent)))
		return err_set(err, ERR_PROTOCOL, "the record names a commit or a run that cannot be one");
	d.found = how == FORK_MADE;
	*out = d;
	return 0;
}

int forker_ask(const struct programs *progs, int from, int to, const struct fork_ask *ask, struct arena *mem,
	struct fork_done *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct peer p = PEER_NONE;
	int r;

	TRY(launch_role(progs, "forker", NULL, 0, false, &p, err));
	r = send_ask(p.chan, from, to, ask, err);
	if (r == 0)
		r = chan_recv(p.chan, m, err);
	if (r == -ERR_CLOSED)
		r = err_set(err, ERR_CLOSED, "the process that reads the old record died");
	if (r == 0) {
		r = take_answer(m, mem, out, err);
		chan_msg_fini(m);
	}
	peer_kill(&p);
	return r;
}
