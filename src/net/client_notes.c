/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The broker: what is dialled through it, and what it says about dials that failed, which look like connections that broke. */
#include "net/client_priv.h"

#include "fmt/pack.h"
#include "fmt/wire.h"

#include <unistd.h>

static void note(struct client *c, size_t route, enum net_outcome outcome, struct str text)
{
	struct note *n = &c->note[route % ROUTES_MAX];

	n->count = ++c->note_count;
	n->outcome = outcome;
	snprintf(n->text, sizeof(n->text), STR_FMT, STR_ARG(text));
}

void client_read_notes(struct client *c)
{
	while (c->broker >= 0) {
		struct unpack u;
		struct str text;
		uint8_t route, outcome;
		int r = chan_recv(c->broker, &c->msg, ERR_DISCARD);

		if (r == -ERR_BUSY)
			return;
		if (r < 0 || wire_check(LINK_BROKER_CLIENT, WIRE_DOWN, c->msg.type, c->msg.body.n, c->msg.nfds,
				     ERR_DISCARD) < 0) {
			chan_msg_fini(&c->msg);
			close(take_fd(&c->broker));
			return;
		}
		u = unpack_from(c->msg.body);
		route = unpack_u8(&u);
		outcome = unpack_u8(&u);
		text = unpack_str(&u);
		if (!unpack_done(&u) || route >= ROUTES_MAX)
			continue;
		note(c, route, outcome, text);
	}
}

static int dial(struct client *c, size_t route, int *out, struct err *err)
{
	uint8_t number = (uint8_t)route;
	autoclose int theirs = -1, ours = -1;
	int pair[2];

	if (c->broker < 0)
		return err_set(err, ERR_CLOSED, "the broker is gone");
	TRY(chan_streams(pair, err));
	ours = pair[0];
	theirs = pair[1];
	if (chan_send(c->broker, WIRE_DIAL, str_of((const char *)&number, 1), &theirs, 1, err) < 0)
		return err_wrap(err, "tell the broker");
	*out = take_fd(&ours);
	return 0;
}

int client_dial(struct client *c, size_t route)
{
	struct err why = { 0 };
	int fd = -1;

	if (dial(c, route, &fd, &why) == 0)
		return fd;
	note(c, route, NET_CONNECT, str_from(why.msg));
	return -1;
}
