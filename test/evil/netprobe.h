/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* netprobe: every way to reach somebody by a socket, tried for real, from wherever it is called.
 *
 * Shape    netprobe_run with the targets as "NAME=VALUE" words (tcp4, tcp6, udp, udp6: ports on loopback; path, abstract:
 *          unix sockets of each kind, "path" for streams and "path.d" for datagrams), then one line for each way:
 *          "NAME reached" or "NAME refused ERRNO". A way that only asks for a socket is "reached" when it gets one; "own" when
 *          a listener that it puts on the loopback itself answers it.
 */
#ifndef TEST_EVIL_NETPROBE_H
#define TEST_EVIL_NETPROBE_H

typedef void netprobe_say_fn(void *self, const char *line);

void netprobe_run(const char *targets, netprobe_say_fn *say, void *self);

#endif
