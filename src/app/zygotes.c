/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/zygotes.h"

#include "fmt/pack.h"
#include "sys/chan.h"

#define NOTES_MAX 64

int peer_await(int chan, enum wire_link link, uint16_t want, struct chan_msg *m, const char *who, struct err *err)
{
	int r = chan_recv(chan, m, err);

	if (r == -ERR_CLOSED)
		return err_set(err, ERR_CLOSED, "the %s died while it was starting", who);
	if (r < 0)
		return err_wrap(err, "start the %s", who);
	r = wire_check(link, WIRE_UP, m->type, m->body.n, m->nfds, err);
	if (r == 0 && m->type != want && m->type != WIRE_CELL_FAIL)
		r = err_set(err, ERR_PROTOCOL, "%s instead of %s", wire_name(m->type), wire_name(want));
	if (r < 0) {
		chan_msg_fini(m);
		return err_wrap(err, "start the %s", who);
	}
	return 0;
}

static int send_ceiling(const struct peer *z, const struct zygote_spec *spec, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(ZYGOTE_BYTES_MAX);
	autoclose int fd = -1;

	TRY(zygote_spec_encode(spec, &b, err));
	TRY(memfd_seal("ceiling", buf_str(&b), &fd, err));
	int r = chan_send(z->chan, WIRE_CEILING, STR(""), &fd, 1, err);
	return r == -ERR_CLOSED ? err_set(err, ERR_CLOSED, "the jail died while it was starting") : r;
}

int zygote_launch(int jail, int asker, const int own[2], const struct zygote_spec *spec, struct peer *out, struct err *err)
{
	static const char *const argv[] = { "agent6-jail", "--zygote", NULL };
	const int fds[] = { asker, own ? own[0] : -1, own ? own[1] : -1 };
	struct peer z;

	if (launch(&(struct launch_spec){ .exe = jail, .argv = argv, .fds = fds, .nfds = own ? 3 : 1,
			.errors = true }, &z, err) < 0)
		return err_wrap(err, "start the jail");
	int r = send_ceiling(&z, spec, err);
	if (r < 0)
		peer_kill(&z);
	else
		*out = z;
	return r;
}

int zygote_failed(struct str body, const char *what, struct err *err)
{
	struct unpack u = unpack_from(body);
	struct str why = unpack_str(&u), hint = unpack_str(&u);
	int r = err_set(err, ERR_UNSUPPORTED, "%s: " STR_FMT, what, STR_ARG(why));

	err_hint(err, STR_FMT, STR_ARG(hint.n > 0 ? hint : STR("\"agent6 check sandbox\" tries what a jail needs, and names what this host lacks")));
	return r;
}

int zygote_await(const struct peer *z, struct arena *mem, struct str_list *notes, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));

	TRY(peer_await(z->chan, LINK_MONITOR_ZYGOTE, WIRE_CELL_READY, m, "jail", err));
	struct unpack u = unpack_from(m->body);
	if (m->type == WIRE_CELL_FAIL)
		return zygote_failed(m->body, "the jail cannot be built", err);
	unpack_u32(&u); /* the Landlock ABI, told by `check sandbox` */
	notes->p = unpack_strs(&u, mem, NOTES_MAX, &notes->n);
	for (size_t i = 0; i < notes->n; i++)
		notes->p[i] = str_dup(mem, notes->p[i]);
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "WIRE_CELL_READY does not decode");
}
