/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* transfer: one HTTP exchange by libcurl, driven by our loop.
 *
 * Shape    transfers_open once; transfer_start per request; then on_line for each header line, on_body for
 *          each piece, on_done exactly once, after which the transfer is gone. transfer_cancel instead
 *          ends it without on_done. One multi handle for the process's life: connections are reused.
 * Memory   Everything in the spec is borrowed until on_done or transfer_cancel.
 * Errors   How an exchange ended is an enum net_outcome and a sentence; a status of 400 is NET_OK.
 * Units    Milliseconds.
 * Source   libcurl 7.88.1: curl_multi_socket_action(3); measured facts in docs/architecture.md, "Network".
 */
#ifndef NET_TRANSFER_H
#define NET_TRANSFER_H

#include "fmt/wire.h"
#include "net/castore.h"
#include "sys/loop.h"

#include <curl/curl.h>

struct transfers;
struct transfer;

enum transfer_take { TRANSFER_TAKEN, TRANSFER_LATER, TRANSFER_STOP };

struct transfer_spec {
	const char *url;
	const char *host;      /* for sentences */
	const char *by_broker; /* the name of a route: connections of another one are not used again; NULL: dial directly */
	int (*dial)(void *self); /* with by_broker: a connection, the transfer's; -1: there is none */
	const char *proxy, *no_proxy; /* only with a direct one; NULL: none */
	struct curl_slist *headers;
	bool post;
	bool remove;           /* DELETE; else, and not post, GET */
	struct str body;
	struct castore *ca;    /* NULL: plain http */
	int64_t connect_ms;
	int (*on_line)(void *self, struct str line);  /* -1 stops the exchange */
	enum transfer_take (*on_body)(void *self, struct str piece); /* LATER: offered again after transfer_go_on */
	void (*on_done)(void *self, enum net_outcome outcome, const char *text);
	void *self;
};

int transfers_prepare(struct err *err) CHECKED; /* the libraries' own start, for who must wait anyway; never needed */
int transfers_open(struct loop *loop, struct transfers **out, struct err *err) CHECKED;
void transfers_close(struct transfers *t);
int transfer_start(struct transfers *t, const struct transfer_spec *spec, struct transfer **out,
	struct err *err) CHECKED;
void transfer_go_on(struct transfer *x);
void transfer_cancel(struct transfer *x); /* not from a callback */

#endif
