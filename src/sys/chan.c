/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/chan.h"
#include "sys/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define HEAD_BYTES 16

int chan_pair(int out[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out) < 0)
		return err_sys(err, errno, "socketpair");
	return 0;
}

int chan_streams(int out[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, out) < 0)
		return err_sys(err, errno, "socketpair");
	return 0;
}

static void put_le(char *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(v >> (8 * i));
}

static uint64_t get_le(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)(unsigned char)p[i] << (8 * i);
	return v;
}

static int send_failed(int sys, struct err *err)
{
	if (sys == EAGAIN || sys == EWOULDBLOCK)
		return err_set(err, ERR_BUSY, "the channel is full");
	if (sys == EPIPE || sys == ECONNRESET)
		return err_set(err, ERR_CLOSED, "the peer is gone");
	return err_sys(err, sys, "send");
}

int chan_send(int fd, uint16_t type, struct str body, const int *fds, size_t nfds, struct err *err)
{
	char head[HEAD_BYTES] = { 0 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(CHAN_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)body.p, body.n } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = body.n > 0 ? 2 : 1 };
	ssize_t n;

	if (body.n > CHAN_BODY_MAX)
		return err_set(err, ERR_LIMIT, "a message of %zu bytes is too long", body.n);
	BUG_IF(nfds > CHAN_FDS_MAX);
	put_le(head, type, 2);
	put_le(head + 4, body.n, 4);
	if (nfds > 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		n = (errno = fault_hit()) != 0 ? -1 : sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? send_failed(errno, err) : 0;
}

/* Every descriptor that came is taken into m, so that none can leak by being one too many. */
static void collect_fds(struct msghdr *msg, struct chan_msg *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (m->nfds < CHAN_FDS_MAX)
				m->fds[m->nfds++] = fd;
			else
				close(fd);
		}
	}
}

static ssize_t receive(int fd, struct msghdr *msg)
{
	ssize_t n;

	do
		n = (errno = fault_hit()) != 0 ? -1 : recvmsg(fd, msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Nothing was received: that is the end when the other side sends no more, and else a message without a byte. */
static bool is_at_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	int r;

	do
		r = poll(&p, 1, 0);
	while (r < 0 && errno == EINTR);
	return r != 0;
}

/* A peer that goes with messages of ours unread leaves ECONNRESET, told once and before what it sent. */
int chan_recv(int fd, struct chan_msg *m, struct err *err)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(CHAN_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { m->bytes, sizeof(m->bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
		.msg_controllen = sizeof(control.space) };
	ssize_t n;

	m->nfds = 0;
	m->body = STR("");
	n = receive(fd, &msg);
	if (n < 0 && errno == ECONNRESET)
		n = receive(fd, &msg);
	if (n < 0)
		return send_failed(errno, err);
	collect_fds(&msg, m);
	if (n == 0 && is_at_end(fd)) {
		chan_msg_fini(m); /* such a message may have come first */
		return err_set(err, ERR_CLOSED, "the peer is gone");
	}
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || n < HEAD_BYTES ||
		get_le(m->bytes + 4, 4) != (uint64_t)n - HEAD_BYTES) {
		chan_msg_fini(m);
		return err_set(err, ERR_PROTOCOL, "a message was cut or has a wrong length");
	}
	m->type = (uint16_t)get_le(m->bytes, 2);
	m->flags = (uint16_t)get_le(m->bytes + 2, 2);
	m->seq = get_le(m->bytes + 8, 8);
	m->body = str_of(m->bytes + HEAD_BYTES, (size_t)n - HEAD_BYTES);
	if (m->flags != 0) {
		chan_msg_fini(m);
		return err_set(err, ERR_PROTOCOL, "a message has unknown flags");
	}
	return 0;
}

void chan_msg_fini(struct chan_msg *m)
{
	for (size_t i = 0; i < m->nfds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->nfds = 0;
}

int chan_take_fd(struct chan_msg *m, size_t i)
{
	return i < m->nfds ? take_fd(&m->fds[i]) : -1;
}

int chan_nonblock(int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, errno, "make a channel non-blocking");
	return 0;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

int memfd_seal(const char *name, struct str bytes, int *out, struct err *err)
{
	autoclose int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_sys(err, errno, "memfd_create");
	while (bytes.n > 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "write to a memfd");
		bytes = str_skip(bytes, (size_t)n);
	}
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys(err, errno, "seal a memfd");
	*out = take_fd(&fd);
	return 0;
}

int memfd_read(int fd, struct buf *out, struct err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	off_t at = 0;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return err_set(err, ERR_PROTOCOL, "a descriptor is not a sealed memfd");
	if (st.st_size < 0 || (uint64_t)st.st_size > out->max - out->n)
		return err_set(err, ERR_LIMIT, "longer than %zu bytes", out->max);
	TRY(buf_reserve(out, (size_t)st.st_size, err));
	while (at < st.st_size) {
		ssize_t n = pread(fd, out->p + out->n, (size_t)(st.st_size - at), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, n < 0 ? errno : EIO, "read a memfd");
		out->n += (size_t)n;
		at += n;
	}
	out->p[out->n] = '\0';
	return 0;
}
