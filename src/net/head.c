/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/head.h"

#include <curl/curl.h>
#include <math.h>
#include <string.h>

static bool is_named(struct str name, const char *want)
{
	return name.n == strlen(want) && strncasecmp(name.p, want, name.n) == 0;
}

static int64_t clamp(double ms)
{
	if (!isfinite(ms))
		return -1;
	return ms < 0 ? 0 : ms > HEAD_RETRY_MAX ? HEAD_RETRY_MAX : (int64_t)ms;
}

int64_t head_retry_after(struct str value, int64_t now_ms)
{
	char date[64];
	double seconds;
	time_t t;

	value = str_trim(value);
	if (str_to_f64(value, &seconds, ERR_DISCARD) == 0)
		return clamp(seconds * 1000);
	if (value.n == 0 || value.n >= sizeof(date) || memchr(value.p, '\0', value.n))
		return -1;
	memcpy(date, value.p, value.n);
	date[value.n] = '\0';
	t = curl_getdate(date, NULL);
	return t < 0 ? -1 : clamp((double)t * 1000 - (double)now_ms);
}

enum net_content head_content(struct str type)
{
	struct str media = str_trim(str_cut(&type, ';'));

	if (is_named(media, "text/event-stream"))
		return CONTENT_SSE;
	if (is_named(media, "application/json") || str_ends(media, STR("+json")))
		return CONTENT_JSON;
	return CONTENT_OTHER;
}

static void start_over(struct head *h, struct str line)
{
	struct str rest = line;
	int64_t status = 0;

	(void)str_cut(&rest, ' ');
	if (str_to_i64(str_head(rest, 3), &status, ERR_DISCARD) < 0 || status < 100 || status > 999)
		status = 0;
	*h = (struct head){ .status = (int)status, .retry_after_ms = -1, .bytes = h->bytes };
}

static void take_session(struct head *h, struct str value)
{
	h->session[0] = '\0';
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] <= ' ' || value.p[i] > '~')
			return;
	if (value.n <= HEAD_SESSION_MAX && value.n > 0) {
		memcpy(h->session, value.p, value.n);
		h->session[value.n] = '\0';
	}
}

int head_line(struct head *h, struct str line, int64_t now_ms, struct err *err)
{
	struct str value, name;

	h->bytes += line.n;
	if (h->bytes > HEAD_BYTES)
		return err_set(err, ERR_LIMIT, "the answer's headers are longer than %d bytes", HEAD_BYTES);
	line = str_trim(line);
	if (h->done)
		return 0; /* a trailer, whatever it looks like */
	if (str_starts(line, STR("HTTP/"))) {
		start_over(h, line);
		return 0;
	}
	if (line.n == 0) {
		h->done = h->status >= 200;
		return 0;
	}
	value = line;
	name = str_cut(&value, ':');
	value = str_trim(value);
	/* libcurl would decode what nobody asked for, and a few bytes can become many. */
	if (is_named(name, "transfer-encoding") && !is_named(value, "chunked") && !is_named(value, "identity"))
		return err_set(err, ERR_UNSUPPORTED, "the answer has a Transfer-Encoding that nobody asked for");
	if (is_named(name, "mcp-session-id"))
		take_session(h, value);
	if (is_named(name, "content-type"))
		h->content = head_content(value);
	if (is_named(name, "retry-after") && !h->retry_exact)
		h->retry_after_ms = head_retry_after(value, now_ms);
	if (is_named(name, "retry-after-ms")) {
		double ms;

		h->retry_exact = str_to_f64(value, &ms, ERR_DISCARD) == 0 && clamp(ms) >= 0;
		if (h->retry_exact)
			h->retry_after_ms = clamp(ms);
	}
	return 0;
}
