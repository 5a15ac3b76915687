/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* live: an endpoint made ready for requests while files can still be opened: URLs, headers with the key
 * in them, trusted certificates.
 *
 * Shape    live_init once per endpoint of the table, live_fini at the end. Nothing changes in between.
 * Memory   The endpoint is borrowed. Certificate stores are shared and owned by struct stores.
 * Errors   -ERR_NOENT or -ERR_SYNTAX for certificates, as castore_load.
 */
#ifndef NET_LIVE_H
#define NET_LIVE_H

#include "fmt/endpoint.h"
#include "net/castore.h"

#include <curl/curl.h>

struct live {
	const struct endpoint *e;
	char *chat_url, *models_url; /* NULL: the endpoint has no such route */
	char by_broker[8];           /* the name of its route, "r0"; empty: direct */
	char *host;                  /* for sentences */
	struct curl_slist *post_headers, *get_headers;
	struct castore *ca; /* borrowed from stores; NULL: plain http */
	size_t trust;       /* which of them, from 1 on; 0: none */
	struct secret token;  /* KEY_COMMAND: the newest one, until then */
	struct secret before; /* and the one it took the place of: a server may know it still */
	int64_t token_until_ms;
	bool token_wanted;    /* asked for, not there yet */
};

struct store {
	struct str path; /* borrowed from the table; empty: the system's */
	struct castore *ca;
};
struct stores {
	struct store p[ENDPOINTS_MAX];
	size_t n;
};

int live_init(struct live *l, const struct endpoint *e, bool broker, struct stores *stores, struct err *err) CHECKED;
/* The headers of one request with this key; the caller frees them. */
enum live_request { LIVE_GET, LIVE_POST, LIVE_STREAM }; /* LIVE_STREAM: a GET that wants events */
struct curl_slist *live_headers(const struct endpoint *e, const struct secret *key, enum live_request what);
/* One more; value is printable. */
void live_add_header(struct curl_slist **list, const char *name, struct str value);
void live_put_token(struct live *l, struct secret token); /* takes it; empty: there is none now */
void live_fini(struct live *l);
void stores_fini(struct stores *all);
char *live_cstr(struct str s); /* an owned copy */

#endif
