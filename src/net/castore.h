/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* castore: certificates we trust, read once before the process gives up its files.
 *
 * Shape    castore_load per bundle; castore_use is the callback libcurl runs for each new connection.
 * Memory   A store lives as long as the process and is shared by all connections.
 * Errors   -ERR_NOENT, -ERR_SYNTAX naming the file; -ERR_UNSUPPORTED when this libcurl is not an OpenSSL
 *          build or not of the OpenSSL that we were linked with.
 * Source   CURLOPT_SSL_CTX_FUNCTION(3), X509_STORE_load_locations(3). Handing over a parsed store costs
 *          nothing per connection; CURLOPT_CAINFO would be read at the first connection, when no file
 *          can be opened any more, and CURLOPT_CAINFO_BLOB is parsed anew (22 ms) for each.
 */
#ifndef NET_CASTORE_H
#define NET_CASTORE_H

#include "base/str.h"

struct castore;

int castore_check(struct err *err) CHECKED; /* once: does libcurl use the OpenSSL we see? */
/* path empty: the system's bundle, from a list of the places where distributions keep it. */
int castore_load(struct str path, struct castore **out, struct err *err) CHECKED;
void castore_free(struct castore *c);
int castore_use(void *ssl_ctx, struct castore *c); /* 0, or -1 */

#endif
