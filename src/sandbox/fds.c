/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int fds_keep(const int *keep, size_t n, struct err *err)
{
	int all[FDS_KEEP_MAX + 3] = { 0, 1, 2 };
	size_t count = 3;
	unsigned from = 0;

	BUG_IF(n > FDS_KEEP_MAX);
	for (size_t i = 0; i < n; i++)
		if (keep[i] >= 0)
			all[count++] = keep[i];
	qsort(all, count, sizeof(*all), by_number);
	for (size_t i = 0; i < count; i++) {
		unsigned fd = (unsigned)all[i];

		if (fd > from && syscall(SYS_close_range, from, fd - 1, 0) < 0)
			return err_sys(err, errno, "close descriptors");
		from = fd + 1;
	}
	if (syscall(SYS_close_range, from, ~0u, 0) < 0)
		return err_sys(err, errno, "close descriptors");
	return 0;
}
