/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* chan: one record, one message, between two of our own processes, over a socketpair.
 *
 * Shape    chan_pair; chan_send and chan_recv. SOCK_SEQPACKET, close-on-exec. A message is a header
 *          of 16 bytes (little endian: u16 type, u16 flags, u32 length, u64 sequence) and a body.
 * Memory   chan_recv fills a struct the caller owns; chan_msg_fini closes descriptors nobody took.
 * Errors   -ERR_CLOSED when the peer is gone. -ERR_PROTOCOL for a short, cut or empty message, a wrong
 *          length, or more descriptors than the message may carry: the caller drops that peer.
 *          -ERR_BUSY only on a non-blocking channel with nothing to read or no room to write.
 * Source   docs/architecture.md, "Channels".
 */
#ifndef SYS_CHAN_H
#define SYS_CHAN_H

#include "base/buf.h"

#define CHAN_BODY_MAX (64 * 1024)
#define CHAN_FDS_MAX  14

struct chan_msg {
	uint16_t type, flags;
	uint64_t seq;
	struct str body; /* into bytes */
	int fds[CHAN_FDS_MAX];
	size_t nfds;
	char bytes[16 + CHAN_BODY_MAX];
};

int chan_pair(int out[2], struct err *err) CHECKED;
int chan_streams(int out[2], struct err *err) CHECKED; /* not a channel: bytes, for who never waits */
int chan_send(int fd, uint16_t type, struct str body, const int *fds, size_t nfds, struct err *err) CHECKED;
int chan_recv(int fd, struct chan_msg *out, struct err *err) CHECKED;
void chan_msg_fini(struct chan_msg *m); /* closes what is left in fds */
int chan_take_fd(struct chan_msg *m, size_t i); /* the descriptor, now the caller's; -1 when absent */
int chan_nonblock(int fd, struct err *err) CHECKED;

/* Larger bodies travel as sealed memfds. */
int memfd_seal(const char *name, struct str bytes, int *out, struct err *err) CHECKED;
int memfd_read(int fd, struct buf *out, struct err *err) CHECKED; /* refuses an unsealed or larger one */

#endif
