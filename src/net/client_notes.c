/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The broker: what is dialled through it, and what it says about dials that failed, which look like connections that broke. */
#include "net/client_priv.h"

#include "fmt/pack.h"
#include "fmt/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DIAL_NAME "dialled"

void client_read_notes(struct client *c)
{
	while (c->broker >= 0) {
		struct unpack u;
		struct str text;
		struct note *n;
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
		n = &c->note[route];
		n->count = ++c->note_count;
		n->outcome = outcome;
		snprintf(n->text, sizeof(n->text), STR_FMT, STR_ARG(text));
	}
}

/* libcurl before 8 uses a connection again only if its other end has a name. The name is gone at once, the file too. */
static int name_end(const struct client *c, int fd)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	/* By the descriptor: the directory's own path may be longer than sun_path. */
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/" DIAL_NAME, c->dir);
	return bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 || unlinkat(c->dir, DIAL_NAME, 0) < 0 ? -1 : 0;
}

int client_dial(struct client *c, size_t route)
{
	uint8_t number = (uint8_t)route;
	int pair[2], r = -1;

	if (c->broker < 0 || chan_streams(pair, ERR_DISCARD) < 0)
		return -1;
	if (name_end(c, pair[1]) == 0)
		r = chan_send(c->broker, WIRE_DIAL, str_of((const char *)&number, 1), &pair[1], 1, ERR_DISCARD);
	close(pair[1]);
	if (r == 0)
		return pair[0];
	close(pair[0]);
	return -1;
}
