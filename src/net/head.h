/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* head: the few facts of an HTTP response head that the agent may know.
 *
 * Shape    head_line once per header line as libcurl hands them over, status line included; a new
 *          status line (after 100 Continue, say) starts again, until the head is over.
 * Errors   -ERR_LIMIT past HEAD_BYTES of header lines; -ERR_UNSUPPORTED when the body has a Transfer-Encoding other than
 *          chunked, which was never asked for: no decompressor runs beside a key.
 * Units    Milliseconds.
 * Source   RFC 9110, 10.2.3 (Retry-After: seconds or a date). `retry-after-ms` is what some providers
 *          add, observed 2026; it wins because it is exact.
 */
#ifndef NET_HEAD_H
#define NET_HEAD_H

#include "base/str.h"
#include "fmt/wire.h"

#define HEAD_BYTES     (64 * 1024)
#define HEAD_SESSION_MAX 255
#define HEAD_RETRY_MAX (86400 * 1000LL) /* a longer hint counts as a day */

struct head {
	int status;
	int64_t retry_after_ms; /* -1: none */
	bool retry_exact;       /* it came in milliseconds */
	enum net_content content;
	char session[HEAD_SESSION_MAX + 1]; /* of an MCP server: visible ASCII, or "" */
	size_t bytes;           /* of all header lines so far, interim responses too */
	bool done;              /* the empty line was seen */
};

int head_line(struct head *h, struct str line, int64_t now_ms, struct err *err) CHECKED;
int64_t head_retry_after(struct str value, int64_t now_ms); /* -1 when it says nothing usable */
enum net_content head_content(struct str type);

#endif
