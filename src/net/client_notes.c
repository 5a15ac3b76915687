/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What the broker says about dials that failed: through its sockets they look like connections that broke. */
#include "net/client_priv.h"

#include "fmt/pack.h"
#include "fmt/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void client_read_notes(struct client *c)
{
	while (c->notes >= 0) {
		struct unpack u;
		struct str text;
		struct note *n;
		uint8_t route, outcome;
		int r = chan_recv(c->notes, &c->msg, ERR_DISCARD);

		if (r == -ERR_BUSY)
			return;
		if (r < 0 || wire_check(LINK_BROKER_CLIENT, WIRE_DOWN, c->msg.type, c->msg.body.n, c->msg.nfds,
				     ERR_DISCARD) < 0) {
			chan_msg_fini(&c->msg);
			close(take_fd(&c->notes));
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

int client_connect_notes(struct client *c, int dir_fd, struct err *err)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (dir_fd < 0)
		return 0;
	c->notes = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/" ROUTE_NOTES, dir_fd);
	if (c->notes < 0 || connect(c->notes, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return err_sys(err, errno, "reach the broker");
	return 0;
}
