/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fault: why a model call gave no turn, and whether to try again.
 *
 * Shape    reply_end fills a struct provider_fault; retry_delay_ms says how long to wait.
 * Memory   Inline: nothing to free.
 * Units    Milliseconds. retry_after_ms is -1 when the server named no time.
 * Source   docs/providers.md; Anthropic errors page and openai-python 3.3.1, read 2026-11.
 */
#ifndef PROVIDER_FAULT_H
#define PROVIDER_FAULT_H

#include "base/str.h"

/* X(kind, word, worth another try) */
#define PROVIDER_FAULTS(X)                                                                                   \
	X(FAULT_AUTH, "auth", false)             /* the key is missing or wrong */                           \
	X(FAULT_BILLING, "billing", false)       /* no credit, quota used up */                              \
	X(FAULT_PERMISSION, "permission", false)                                                             \
	X(FAULT_NOT_FOUND, "not_found", false)   /* no such model or path */                                 \
	X(FAULT_INVALID, "invalid", false)       /* the request was refused */                               \
	X(FAULT_TOO_LARGE, "too_large", false)   /* more bytes than the server takes */                      \
	X(FAULT_OVERFLOW, "overflow", false)     /* more tokens than the window: compact */                  \
	X(FAULT_FILTER, "content_filter", false)                                                             \
	X(FAULT_RATE_LIMIT, "rate_limit", true)                                                              \
	X(FAULT_OVERLOADED, "overloaded", true)                                                              \
	X(FAULT_SERVER, "server", true)                                                                      \
	X(FAULT_TIMEOUT, "timeout", true)                                                                    \
	X(FAULT_INCOMPLETE, "incomplete", true)  /* the stream ended before the turn did */                  \
	X(FAULT_PROTOCOL, "protocol", true)      /* a 200 that is not what was asked for */                  \
	X(FAULT_PAGE, "page", false)             /* a web page: somebody else answers there */               \
	X(FAULT_NETWORK, "network", true)        /* no answer at all */                                      \
	X(FAULT_UNREACHABLE, "unreachable", false) /* nor will there be one: a wrong certificate, a refused address */ \
	X(FAULT_EMPTY, "empty", true)            /* "tool_use" without a call and without text */            \
	X(FAULT_STOPPED, "stopped", false)       /* we ended it: the operator said so */

enum provider_fault_kind {
#define X(kind, word, again) kind,
	PROVIDER_FAULTS(X)
#undef X
	FAULT_COUNT
};

struct provider_fault {
	enum provider_fault_kind kind;
	int status;             /* HTTP status or the one inside an error envelope; 0: none */
	bool retryable;
	int64_t retry_after_ms; /* -1: the server did not say */
	char message[1024];     /* for a person, one text, valid UTF-8 */
	char hint[192];         /* what to do, may be empty */
	char request_id[128];   /* may be empty */
};

const char *provider_fault_name(enum provider_fault_kind kind);

/* An answer with a status of 400 or more, or an error object inside one with 200. should_retry is what
 * the x-should-retry header said: -1 absent, 0 no, 1 yes. */
void provider_fault_classify(struct provider_fault *f, int status, int64_t retry_after_ms, int should_retry,
	struct str body);

#define RETRY_ATTEMPTS 5

/* Milliseconds to wait after the attempt-th failure (1-based), or -1 to give up. random is in [0, 1). */
int64_t retry_delay_ms(const struct provider_fault *f, int attempt, double random);

#endif
