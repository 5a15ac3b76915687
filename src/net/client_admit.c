/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a request must pass before it begins: room, the run's ceilings, a body that cannot change. */
#include "net/client_priv.h"

#include "base/time.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* Of models all together, of an MCP server its own: whatever one does, the others find room. */
static int find_room(const struct request *q, const struct live *l, struct err *err)
{
	int n = 0, most = !q->post ? CLIENT_LIVE : client_listens(q) ? CLIENT_LISTENS : CLIENT_POSTS;

	for (size_t i = 0; i < SLOTS; i++) {
		const struct request *o = &q->c->requests[i];

		n += o != q && o->used && !o->over && o->post == q->post && client_listens(o) == client_listens(q) &&
			(!q->post || o->live == l);
	}
	if (n < most)
		return 0;
	return err_set(err, ERR_DENIED, "%d requests are under way already", n);
}

int client_admit(struct request *q, uint8_t endpoint, struct err *err)
{
	struct client *c = q->c;

	if (endpoint >= c->table->n)
		return err_set(err, ERR_DENIED, "there is no endpoint %u", endpoint);
	uint64_t *used = q->post ? &c->posts_used[endpoint] : &c->requests_used;

	TRY(find_room(q, &c->live[endpoint], err));
	if (c->table->max_requests >= 0 && *used >= (uint64_t)c->table->max_requests)
		return err_set(err, ERR_DENIED, "the ceiling of %lld requests for this run is reached",
			(long long)c->table->max_requests);
	++*used;
	q->live = &c->live[endpoint];
	q->last_ms = time_mono_ms();
	return 0;
}

int client_works(struct client *c, struct err *err)
{
	if (c->worked || c->monitor <= 0)
		return 0;
	c->worked = true;
	return chan_send(c->monitor, WIRE_WORKED, STR(""), NULL, 0, err);
}

/* The sealed body, mapped: it cannot change or shrink under us, and is not copied. */
int client_map_body(int fd, struct str *out, struct err *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int have = fcntl(fd, F_GET_SEALS);
	off_t n = lseek(fd, 0, SEEK_END); /* the filter has no stat: paths are none of ours */
	void *p;

	if (have < 0 || (have & seals) != seals || n < 0)
		return err_set(err, ERR_PROTOCOL, "the request's body is not a sealed memfd");
	if (n == 0 || n > CLIENT_BODY_MAX)
		return err_set(err, ERR_LIMIT, "a request has 1 byte to %d MiB", CLIENT_BODY_MAX / (1024 * 1024));
	p = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "map the request's body");
	*out = str_of(p, (size_t)n);
	return 0;
}
