/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* endpoint: where the client may send a model request, and where the broker may dial.
 *
 * Shape    The monitor fills a table from the configuration, packs it into a sealed memfd and sends it
 *          once (WIRE_ENDPOINTS, WIRE_ROUTES); the client and the broker unpack it. Nothing can be added
 *          later, and the agent names an endpoint by its index only.
 * Memory   Texts are views into what was parsed or unpacked, except key, which the table owns and
 *          endpoints_fini wipes.
 * Errors   -ERR_INVALID naming the value that broke a rule; both sides run the same check. -ERR_PROTOCOL
 *          for bytes that are not such a table.
 * Units    Milliseconds; ports in host order.
 */
#ifndef FMT_ENDPOINT_H
#define FMT_ENDPOINT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/secret.h"

#define ENDPOINTS_MAX        64
#define ENDPOINT_HEADERS_MAX 32
#define ENDPOINT_TOOLS_MAX   256
#define ENDPOINT_TABLE_BYTES (256 * 1024) /* packed, at most */
#define ROUTES_MAX           64

enum endpoint_kind {
	ENDPOINT_NETWORK = 1,   /* through the broker's route number `route`, or directly */
	ENDPOINT_RECORDING = 2, /* answered by the client from a recording, net/recording.h */
};

enum endpoint_auth {
	AUTH_NONE = 1,
	AUTH_BEARER = 2,         /* authorization: Bearer KEY */
	AUTH_X_API_KEY = 3,      /* x-api-key: KEY */
	AUTH_API_KEY_HEADER = 4, /* api-key: KEY */
};

enum endpoint_key {
	KEY_NONE = 1,    /* no header is sent */
	KEY_INLINE = 2,  /* `key`, which the monitor took from the environment */
	KEY_SECRETS = 3, /* the client looks `key_name` up in the secrets file */
	KEY_COMMAND = 4, /* the client asks the spawner for it, which runs the operator's token_command */
};

/* What is sent there. An MCP server gets what WIRE_POST asks for and nothing else. */
enum endpoint_use { ENDPOINT_MODEL = 0, ENDPOINT_MCP_ASK = 1, ENDPOINT_MCP_YES = 2 };

struct endpoint_header {
	struct str name, value;
};

struct endpoint {
	struct str name; /* of the provider, for messages */
	enum endpoint_kind kind;
	bool tls;        /* https; without it host must be a loopback name or address */
	bool direct;     /* agent_network = open: the client dials itself, no broker */
	struct str host; /* a name or an address, IPv6 without brackets */
	uint16_t port;
	uint8_t route;   /* index into the broker's table; unused when direct */
	struct str prefix;      /* path of the base URL: "" or "/v1", never a '/' at the end */
	enum endpoint_use use;
	struct str *tools;      /* of an MCP server: those that may be called; none: all */
	size_t ntools;
	struct str chat_path;   /* ROUTE_CHAT: "/chat/completions", "/messages", ... */
	struct str models_path; /* ROUTE_MODELS: "/models"; empty: this endpoint has none */
	struct str query;       /* percent-encoded, without the '?'; may be empty */
	struct endpoint_header *headers; /* sent with each request; auth headers are refused here */
	size_t nheaders;
	enum endpoint_auth auth;
	enum endpoint_key key_from;
	bool key_optional;   /* KEY_SECRETS: an absent name means no header; otherwise it is an error */
	struct str key_name; /* KEY_SECRETS */
	struct secret key;   /* KEY_INLINE; owned */
	int64_t token_ttl_ms; /* KEY_COMMAND: how long a token is taken to be good */
	const struct str *token_argv; /* KEY_COMMAND: what the spawner runs; not packed, the client never sees it */
	size_t ntoken_argv;
	struct str ca_file;  /* absolute path of a PEM bundle; empty: the system's */
	int64_t connect_ms;    /* name, TCP and TLS together */
	int64_t first_byte_ms; /* from the request to the first byte of the answer */
	int64_t idle_ms;       /* between two bytes */
};

struct endpoint_table {
	struct endpoint *p;
	size_t n;
	int64_t max_requests; /* of the run, all models together, and as many of each MCP server; -1: no ceiling */
	int64_t max_bytes;    /* sent and received; -1: no ceiling */
	struct str proxy;     /* for direct endpoints: URL of an HTTP proxy, or empty */
	struct str no_proxy;  /* curl's list syntax */
};

#define ENDPOINT_CONNECT_MS 20000
#define ENDPOINT_DATA_MS    600000

/* Sane values: network, bearer, no key, the usual times, no ceiling on the table. */
void endpoint_init(struct endpoint *e);
void endpoints_fini(struct endpoint_table *t); /* wipes the keys */

/* "https://api.example.com:8443/v1/" into tls, host, port and prefix. The host is lowered (in mem).
 * No user, no fragment, no query. */
int endpoint_set_url(struct endpoint *e, struct str url, struct arena *mem, struct err *err) CHECKED;

int endpoints_pack(const struct endpoint_table *t, struct buf *out, struct err *err) CHECKED;
/* Views point into bytes. */
int endpoints_unpack(struct str bytes, struct arena *mem, struct endpoint_table *out, struct err *err) CHECKED;
int endpoint_check(const struct endpoint *e, struct err *err) CHECKED;

/* One destination of the broker: the client names it by its index. */
struct route {
	struct str host;
	uint16_t port;
	/* An answer of the resolver inside these ranges is refused unless the entry was configured so. */
	bool loopback_ok; /* 127/8, ::1 */
	bool private_ok;  /* 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7 */
	bool local_ok;    /* 169.254/16, fe80::/10: where cloud metadata lives */
};

struct route_table {
	struct route *p;
	size_t n;
};

/* Fills the *_ok marks from what the operator wrote: an address allows its own range; localhost and
 * *.localhost allow loopback; a name without a dot or below .local, .lan, .internal, .home.arpa
 * allows private answers. Any other name allows public answers only. */
void route_set_host(struct route *r, struct str host, uint16_t port);
/* "host", "host:port", "[v6]:port" or a URL (an entry of sandbox.allow_urls); the port is 443 when
 * absent, 80 for an http URL. */
int route_set_text(struct route *r, struct str text, struct arena *mem, struct err *err) CHECKED;
/* The index of an equal route, which is added when there is none yet. */
int routes_add(struct route_table *t, const struct route *r, struct arena *mem, size_t *index,
	struct err *err) CHECKED;

/* Every destination of the endpoints that go through the broker, each endpoint's `route` filled in. */
int routes_derive(struct endpoint_table *t, struct route_table *out, struct arena *mem, struct err *err) CHECKED;

int routes_pack(const struct route_table *t, struct buf *out, struct err *err) CHECKED;
int routes_unpack(struct str bytes, struct arena *mem, struct route_table *out, struct err *err) CHECKED;
int route_check(const struct route *r, struct err *err) CHECKED;

/* Its host is a name that somebody has to be asked about: no address, not localhost. */
bool route_is_looked_up(const struct route *r);
bool routes_want_lookups(const struct route_table *t);

enum host_range { HOST_NAME, HOST_PUBLIC, HOST_LOOPBACK, HOST_PRIVATE, HOST_LOCAL };
enum host_range host_range(struct str host);                /* of an address; HOST_NAME for a name */
enum host_range host_range_of(int family, const void *addr); /* struct in_addr or in6_addr; mapped v4 seen through */
bool host_is_loopback(struct str host);                     /* localhost, *.localhost, 127/8, ::1 */

#endif
