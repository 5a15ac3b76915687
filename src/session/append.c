/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/append.h"

#include "sys/fault.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))
#define TAIL_FIRST   (64 * 1024)

int append_tail(const struct append *a, size_t want, struct buf *out, struct err *err)
{
	if ((int64_t)want > a->size)
		want = (size_t)a->size;
	int64_t at = a->size - (int64_t)want;

	buf_clear(out);
	TRY(buf_reserve(out, want, err));
	while (out->n < want) {
		ssize_t n = FAULTY(pread(a->fd, out->p + out->n, want - out->n, at + (int64_t)out->n));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, n < 0 ? errno : EIO, "read %s", a->name);
		out->n += (size_t)n;
	}
	out->p[out->n] = '\0';
	return 0;
}

static int cut_torn_tail(struct append *a, int64_t *torn, struct err *err)
{
	auto_buf struct buf tail = BUF_MAX((size_t)a->size + 1);

	*torn = 0;
	for (size_t want = TAIL_FIRST; a->size > 0; want *= 4) {
		TRY(append_tail(a, want, &tail, err));
		size_t nl = str_rfind(buf_str(&tail), '\n');

		if (nl == tail.n && (int64_t)tail.n < a->size)
			continue; /* the torn line began before what was read */
		*torn = (int64_t)(nl == tail.n ? tail.n : tail.n - nl - 1);
		break;
	}
	if (*torn == 0)
		return 0;
	if (FAULTY(ftruncate(a->fd, a->size - *torn)) < 0)
		return err_sys(err, errno, "cut the torn end of %s", a->name);
	a->size -= *torn;
	a->dirty = true;
	return 0;
}

int append_open(int dirfd, const char *name, int64_t max, struct append *out, int64_t *torn, struct err *err)
{
	int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	autoclose int fd = FAULTY(openat(dirfd, name, flags, 0600));
	struct append a = { .name = name, .fd = fd, .max = max };
	struct stat st;

	if (fd < 0)
		return err_sys(err, errno, "open %s", name);
	if (FAULTY(fstat(fd, &st)) < 0)
		return err_sys(err, errno, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%s is not a regular file", name);
	if (st.st_size > max)
		return err_set(err, ERR_LIMIT, "%s is larger than %lld bytes", name, (long long)max);
	a.size = st.st_size;
	TRY(cut_torn_tail(&a, torn, err));
	*out = a;
	fd = -1;
	return 0;
}

void append_close(struct append *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

int append_write(struct append *a, struct str lines, struct err *err)
{
	if (a->dead)
		return err_set(err, ERR_CLOSED, "%s: an earlier write failed", a->name);
	if (a->size + (int64_t)lines.n > a->max)
		return err_set(err, ERR_LIMIT, "%s would grow past %lld bytes", a->name, (long long)a->max);
	if (file_write_fd(a->fd, lines, err) < 0) {
		a->dead = FAULTY(ftruncate(a->fd, a->size)) < 0;
		return err_wrap(err, "%s", a->name);
	}
	a->size += (int64_t)lines.n;
	a->dirty = true;
	return 0;
}

int append_sync(struct append *a, struct err *err)
{
	if (a->dead)
		return err_set(err, ERR_CLOSED, "%s: an earlier write failed", a->name);
	if (!a->dirty)
		return 0;
	if (FAULTY(fdatasync(a->fd)) < 0) {
		a->dead = true; /* what the kernel dropped it will not report again */
		return err_sys(err, errno, "fdatasync %s", a->name);
	}
	a->dirty = false;
	return 0;
}
