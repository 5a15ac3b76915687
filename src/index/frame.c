/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/pool_priv.h"

#include "base/time.h"
#include "fmt/pack.h"

#include <errno.h>
#include <poll.h>

static int await(int fd, int64_t until_ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	int r;

	do {
		int64_t left = until_ms < 0 ? -1 : until_ms - time_mono_ms();

		if (until_ms >= 0 && left <= 0)
			return -ERR_TIMEOUT;
		r = poll(&p, 1, (int)left);
	} while (r == 0 || (r < 0 && errno == EINTR));
	return r < 0 ? -ERR_SYS : 0;
}

/* n bytes more: 1; 0 when the end came first. */
static int fill(int fd, int64_t until_ms, size_t n, struct buf *out)
{
	TRY(buf_reserve(out, n, ERR_DISCARD));
	for (size_t want = out->n + n; out->n < want;) {
		if (until_ms >= 0)
			TRY(await(fd, until_ms));
		ssize_t got = read(fd, out->p + out->n, want - out->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -ERR_SYS : 0;
		out->n += (size_t)got;
	}
	return 1;
}

int frame_read(int fd, int64_t until_ms, struct buf *out)
{
	int r;

	buf_clear(out);
	r = fill(fd, until_ms, 4, out);
	if (r <= 0)
		return r;
	struct unpack u = unpack_from(buf_str(out));
	uint32_t n = unpack_u32(&u);

	buf_clear(out);
	return fill(fd, until_ms, n, out);
}
