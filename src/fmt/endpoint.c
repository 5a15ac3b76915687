/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/endpoint.h"
#include "fmt/pack.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>

#define TEXT_MAX     4096 /* of one text in a table; no URL or header needs more */
#define NAME_MAX_LEN 253  /* RFC 1035, a host name */

static bool all_of(struct str s, bool (*ok)(unsigned char c))
{
	for (size_t i = 0; i < s.n; i++)
		if (!ok((unsigned char)s.p[i]))
			return false;
	return true;
}

static bool is_host_byte(unsigned char c)
{
	return isalnum(c) || c == '-' || c == '.' || c == '_' || c == ':';
}

/* What may stand in a path or a query without being encoded, and '%'. */
static bool is_url_byte(unsigned char c)
{
	return c > ' ' && c < 127 && !strchr("\"<>\\^`{|}#", c);
}

static bool is_token_byte(unsigned char c) /* RFC 9110, 5.6.2 */
{
	return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_value_byte(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 127);
}

static bool is_key_byte(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c < 127);
}

static bool ends_label(struct str host, struct str suffix)
{
	return str_eq(host, str_skip(suffix, 1)) || str_ends(host, suffix);
}

static enum host_range range_of_v4(uint32_t a)
{
	static const struct {
		uint32_t net;
		int bits;
		enum host_range range;
	} nets[] = {
		{ 0x7f000000, 8, HOST_LOOPBACK },   { 0x00000000, 8, HOST_LOOPBACK }, /* 0.0.0.0 reaches this host */
		{ 0x0a000000, 8, HOST_PRIVATE },    { 0xac100000, 12, HOST_PRIVATE },
		{ 0xc0a80000, 16, HOST_PRIVATE },   { 0x64400000, 10, HOST_PRIVATE },
		{ 0xa9fe0000, 16, HOST_LOCAL },     { 0xe0000000, 3, HOST_LOCAL }, /* multicast and reserved */
		{ 0xc0000000, 24, HOST_LOCAL },     /* 192.0.0.0/24: a metadata address of one cloud is here */
		{ 0xa83f8110, 32, HOST_LOCAL },     /* 168.63.129.16: another cloud's */
		{ 0x646464c8, 32, HOST_LOCAL },     /* 100.100.100.200: a third one's */
	};
	enum host_range found = HOST_PUBLIC;
	int best = -1;

	for (size_t i = 0; i < COUNT(nets); i++)
		if (nets[i].bits > best && (a ^ nets[i].net) >> (32 - nets[i].bits) == 0) {
			found = nets[i].range;
			best = nets[i].bits;
		}
	return found;
}

static bool bits_equal(const unsigned char *a, const unsigned char *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* Of two readings of one address. Where both lead inside, and not into one range, no entry that allows one of them allows the other. */
static enum host_range narrower(enum host_range a, enum host_range b)
{
	if (a == b || b == HOST_PUBLIC)
		return a;
	return a == HOST_PUBLIC ? b : HOST_LOCAL;
}

/* Every row that fits counts, since one address is read in several ways: one of 6to4 ends in an identifier, which may be ISATAP's, and
 * nothing in an address of NAT64 says how long the prefix was (RFC 6052, 2.2, whatever its octet 8 and its suffix hold). A network's own
 * NAT64 prefix looks like any address. */
static enum host_range range_of_v6(const unsigned char *b)
{
	static const struct {
		unsigned char bytes[12];
		uint8_t from, bits;    /* where these stand in the address, and how much of them counts */
		enum host_range range; /* what that makes it; none: what the IPv4 address is that it carries, */
		uint8_t at[4];         /* whose bytes stand here, */
		uint8_t turned;        /* with these of their bits turned; */
		bool guessed;          /* one of several: where nothing stands, 0/8, to which nothing is translated, it is none */
	} rows[] = {
		{ { 0xfe, 0x80 }, 0, 9, .range = HOST_LOCAL }, /* link- and site-local */
		{ { 0xff }, 0, 8, .range = HOST_LOCAL }, /* multicast */
		{ { 0xfc }, 0, 7, .range = HOST_PRIVATE },
		{ { 0xfd, 0, 0x0e, 0xc2 }, 0, 32, .range = HOST_LOCAL }, /* two clouds' metadata: fd00:ec2::254, */
		{ { 0xfd, 0x20, 0, 0xce }, 0, 32, .range = HOST_LOCAL }, /* fd20:ce::254 */
		{ { 0 }, 0, 96, .at = { 12, 13, 14, 15 } }, /* compatible; :: and ::1, this host */
		{ { [10] = 0xff, 0xff }, 0, 96, .at = { 12, 13, 14, 15 } }, /* mapped */
		{ { [8] = 0xff, 0xff }, 0, 96, .at = { 12, 13, 14, 15 } }, /* translated */
		{ { 0, 0x64, 0xff, 0x9b }, 0, 96, .at = { 12, 13, 14, 15 } }, /* NAT64, RFC 6052 */
		{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 0, 48, .at = { 12, 13, 14, 15 }, .guessed = true }, /* RFC 8215, by a prefix of 96, */
		{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 0, 48, .at = { 9, 10, 11, 12 }, .guessed = true },  /* 64, */
		{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 0, 48, .at = { 7, 9, 10, 11 }, .guessed = true },   /* 56 */
		{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 0, 48, .at = { 6, 7, 9, 10 }, .guessed = true },    /* and 48 bits */
		{ { 0x20, 0x02 }, 0, 16, .at = { 2, 3, 4, 5 } }, /* 6to4 */
		{ { 0x20, 0x01 }, 0, 32, .at = { 12, 13, 14, 15 }, .turned = 0xff }, /* Teredo */
		{ { 0, 0, 0x5e, 0xfe }, 8, 32, .at = { 12, 13, 14, 15 } }, /* ISATAP */
		{ { 2, 0, 0x5e, 0xfe }, 8, 32, .at = { 12, 13, 14, 15 } },
	};
	enum host_range found = HOST_PUBLIC;

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint32_t v4 = 0;

		if (!bits_equal(b + rows[i].from, rows[i].bytes, rows[i].bits))
			continue;
		for (size_t k = 0; k < COUNT(rows[i].at); k++)
			v4 = v4 << 8 | (b[rows[i].at[k]] ^ rows[i].turned);
		if (rows[i].range != HOST_NAME)
			found = narrower(found, rows[i].range);
		else if (!rows[i].guessed || v4 >> 24 != 0)
			found = narrower(found, range_of_v4(v4));
	}
	return found;
}

enum host_range host_range_of(int family, const void *addr)
{
	const unsigned char *b = addr;

	return family == AF_INET ? range_of_v4((uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]) : range_of_v6(b);
}

enum host_range host_range(struct str host)
{
	char z[64];
	unsigned char addr[16];

	if (host.n == 0 || host.n >= sizeof(z))
		return HOST_NAME;
	memcpy(z, host.p, host.n);
	z[host.n] = '\0';
	if (inet_pton(AF_INET, z, addr) == 1)
		return host_range_of(AF_INET, addr);
	if (inet_pton(AF_INET6, z, addr) == 1)
		return host_range_of(AF_INET6, addr);
	return HOST_NAME;
}

bool host_is_loopback(struct str host)
{
	return ends_label(host, STR(".localhost")) || host_range(host) == HOST_LOOPBACK;
}

bool route_is_looked_up(const struct route *r)
{
	return host_range(r->host) == HOST_NAME && !host_is_loopback(r->host);
}

bool routes_want_lookups(const struct route_table *t)
{
	bool want = false;

	for (size_t i = 0; i < t->n; i++)
		want |= route_is_looked_up(&t->p[i]);
	return want;
}

static int check_host(struct str host, struct err *err)
{
	bool colon = str_find(host, STR(":")) < host.n;

	if (host.n == 0 || host.n > NAME_MAX_LEN)
		return err_set(err, ERR_INVALID, "a host name has 1 to %d bytes", NAME_MAX_LEN);
	if (!all_of(host, is_host_byte) || (colon && host_range(host) == HOST_NAME) || host.p[0] == '.' ||
		host.p[0] == '-')
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a host name or an address",
			STR_ARG(host));
	return 0;
}

static int parse_port(struct str text, uint16_t *out, struct err *err)
{
	int64_t port = 0;

	if (str_to_i64(text, &port, ERR_DISCARD) < 0 || port < 1 || port > 65535)
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a port from 1 to 65535", STR_ARG(text));
	*out = (uint16_t)port;
	return 0;
}

/* "host", "host:port", "[v6]:port"; *port stays as it is when the text has none. */
static int parse_authority(struct str text, struct arena *mem, struct str *host, uint16_t *port,
	struct err *err)
{
	struct str h = text, p = STR("");
	bool has_port = false;
	char *low;

	if (str_starts(text, STR("["))) {
		size_t end = str_find(text, STR("]"));

		h = str_skip(str_head(text, end), 1);
		p = str_skip(text, end + 1);
		has_port = str_starts(p, STR(":"));
		if (end == text.n || (p.n > 0 && !has_port) || host_range(h) == HOST_NAME)
			return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not [address] or [address]:port",
				STR_ARG(text));
		p = str_skip(p, 1);
	} else if (host_range(text) == HOST_NAME) { /* a bare IPv6 address has colons but no port */
		size_t colon = str_rfind(text, ':');

		has_port = colon < text.n;
		h = str_head(text, colon);
		p = str_skip(text, colon + 1);
	}
	TRY(check_host(h, err));
	if (has_port)
		TRY(parse_port(p, port, err));
	low = str_dupz(mem, h);
	for (size_t i = 0; i < h.n; i++)
		low[i] = (char)tolower((unsigned char)low[i]);
	*host = str_of(low, h.n);
	return 0;
}

void endpoint_init(struct endpoint *e)
{
	*e = (struct endpoint){ .kind = ENDPOINT_NETWORK, .tls = true, .port = 443, .auth = AUTH_NONE,
		.key_from = KEY_NONE, .connect_ms = ENDPOINT_CONNECT_MS, .first_byte_ms = ENDPOINT_DATA_MS,
		.idle_ms = ENDPOINT_DATA_MS };
}

void endpoints_fini(struct endpoint_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		secret_fini(&t->p[i].key);
	*t = (struct endpoint_table){ 0 };
}

static int split_url(struct str url, bool *tls, struct str *authority, struct str *path, struct err *err)
{
	struct str rest = str_trim_prefix(url, STR("https://"));
	size_t slash;

	*tls = rest.n < url.n;
	if (!*tls)
		rest = str_trim_prefix(url, STR("http://"));
	if (rest.n == url.n)
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" does not begin with https:// or http://",
			STR_ARG(url));
	slash = str_find_any(rest, STR("/?#"));
	*authority = str_head(rest, slash);
	*path = str_skip(rest, slash);
	if (str_find(*authority, STR("@")) < authority->n)
		return err_set(err, ERR_INVALID, "a URL here has no user and no password");
	return 0;
}

int endpoint_set_url(struct endpoint *e, struct str url, struct arena *mem, struct err *err)
{
	struct str authority, path, host;
	bool tls;
	uint16_t port;

	TRY(split_url(url, &tls, &authority, &path, err));
	port = tls ? 443 : 80;
	TRY(parse_authority(authority, mem, &host, &port, err));
	while (str_ends(path, STR("/")))
		path.n--;
	if (!all_of(path, is_url_byte) || str_find_any(path, STR("?#")) < path.n)
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not the path of a base URL (no query)",
			STR_ARG(path));
	e->tls = tls;
	e->port = port;
	e->host = host;
	e->prefix = path;
	return 0;
}

static int check_path(const char *what, struct str path, bool may_be_empty, struct err *err)
{
	if (path.n == 0 && may_be_empty)
		return 0;
	if (path.n > TEXT_MAX || !str_starts(path, STR("/")) || !all_of(path, is_url_byte) ||
		str_find(path, STR("?")) < path.n)
		return err_set(err, ERR_INVALID, "%s \"" STR_FMT "\" is not a path that begins with '/'", what,
			STR_ARG(str_head(path, 200)));
	return 0;
}

static int check_headers(const struct endpoint *e, struct err *err)
{
	static const char *const ours[] = { "authorization", "proxy-authorization", "x-api-key", "api-key", "host",
		"content-length", "transfer-encoding", "connection", "expect", "accept-encoding", "upgrade", "te" };

	if (e->nheaders > ENDPOINT_HEADERS_MAX)
		return err_set(err, ERR_INVALID, "more than %d extra headers", ENDPOINT_HEADERS_MAX);
	for (size_t i = 0; i < e->nheaders; i++) {
		struct str n = e->headers[i].name, v = e->headers[i].value;

		if (n.n == 0 || n.n > 128 || !all_of(n, is_token_byte))
			return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a header name",
				STR_ARG(str_head(n, 100)));
		if (v.n > TEXT_MAX || !all_of(v, is_value_byte))
			return err_set(err, ERR_INVALID, "header " STR_FMT " has a value with control bytes or "
				"more than %d bytes", STR_ARG(n), TEXT_MAX);
		for (size_t j = 0; j < COUNT(ours); j++)
			if (n.n == strlen(ours[j]) && strncasecmp(n.p, ours[j], n.n) == 0)
				return err_set(err, ERR_INVALID, "header " STR_FMT " is set by agent6 itself",
					STR_ARG(n));
	}
	return 0;
}

static int check_key(const struct endpoint *e, struct err *err)
{
	struct str key = secret_reveal(&e->key);

	if (e->auth < AUTH_NONE || e->auth > AUTH_API_KEY_HEADER || e->key_from < KEY_NONE ||
		e->key_from > KEY_COMMAND)
		return err_set(err, ERR_INVALID, "the way of signing in is unknown");
	if (e->key_from == KEY_SECRETS && (e->key_name.n == 0 || e->key_name.n > 256))
		return err_set(err, ERR_INVALID, "the name of a key has 1 to 256 bytes");
	if (e->key_from == KEY_COMMAND && e->token_ttl_ms < 1)
		return err_set(err, ERR_INVALID, "a token is good for some time");
	if ((e->key_from == KEY_INLINE) != (key.n > 0))
		return err_set(err, ERR_INVALID, "the key is missing");
	if (key.n > 16384 || !all_of(key, is_key_byte))
		return err_set(err, ERR_INVALID, "the key holds bytes that a header cannot (its value is not shown)");
	return 0;
}

static int check_network(const struct endpoint *e, struct err *err)
{
	TRY(check_host(e->host, err));
	if (e->port == 0)
		return err_set(err, ERR_INVALID, "the port is missing");
	if (!e->tls && !host_is_loopback(e->host)) {
		err_set(err, ERR_DENIED, "http:// to " STR_FMT " would send everything in the clear",
			STR_ARG(e->host));
		err_hint(err, "use https://, or a server on this machine (127.0.0.1, localhost)");
		return -ERR_DENIED;
	}
	TRY(check_path("base path", e->prefix, true, err));
	TRY(check_path("chat path", e->chat_path, true, err));
	TRY(check_path("models path", e->models_path, true, err));
	if (e->query.n > TEXT_MAX || !all_of(e->query, is_url_byte))
		return err_set(err, ERR_INVALID, "the query has bytes that must be percent-encoded");
	if (e->ca_file.n > 0 && (e->ca_file.n > TEXT_MAX || e->ca_file.p[0] != '/' ||
		memchr(e->ca_file.p, '\0', e->ca_file.n)))
		return err_set(err, ERR_INVALID, "ca_file \"" STR_FMT "\" is not an absolute path",
			STR_ARG(str_head(e->ca_file, 200)));
	return 0;
}

static bool is_sane_ms(int64_t ms)
{
	return ms >= 1 && ms <= 7 * 86400000LL;
}

static int check_one(const struct endpoint *e, struct err *err)
{
	if (e->kind == ENDPOINT_NETWORK)
		TRY(check_network(e, err));
	else if (e->kind != ENDPOINT_RECORDING)
		return err_set(err, ERR_INVALID, "endpoint kind %d is unknown", (int)e->kind);
	if (e->use > ENDPOINT_MCP_YES)
		return err_set(err, ERR_INVALID, "endpoint use %d is unknown", (int)e->use);
	if (e->ntools > ENDPOINT_TOOLS_MAX || (e->ntools > 0 && e->use == ENDPOINT_MODEL))
		return err_set(err, ERR_INVALID, "up to %d tools are named of an MCP server, of nothing else", ENDPOINT_TOOLS_MAX);
	TRY(check_headers(e, err));
	TRY(check_key(e, err));
	if (!is_sane_ms(e->connect_ms) || !is_sane_ms(e->first_byte_ms) || !is_sane_ms(e->idle_ms))
		return err_set(err, ERR_INVALID, "time limits are 1 ms to 7 days");
	return 0;
}

int endpoint_check(const struct endpoint *e, struct err *err)
{
	if (e->name.n == 0 || e->name.n > 256)
		return err_set(err, ERR_INVALID, "the name of a provider has 1 to 256 bytes");
	if (check_one(e, err) < 0)
		return err_wrap(err, "provider " STR_FMT, STR_ARG(e->name));
	return 0;
}

static void pack_endpoint(struct buf *b, const struct endpoint *e)
{
	pack_str(b, e->name);
	pack_u8(b, (uint8_t)e->kind);
	pack_u8(b, e->tls);
	pack_u8(b, e->direct);
	pack_str(b, e->host);
	pack_u16(b, e->port);
	pack_u8(b, e->route);
	pack_str(b, e->prefix);
	pack_u8(b, (uint8_t)e->use);
	pack_strs(b, e->tools, e->ntools);
	pack_str(b, e->chat_path);
	pack_str(b, e->models_path);
	pack_str(b, e->query);
	pack_u32(b, (uint32_t)e->nheaders);
	for (size_t i = 0; i < e->nheaders; i++) {
		pack_str(b, e->headers[i].name);
		pack_str(b, e->headers[i].value);
	}
	pack_u8(b, (uint8_t)e->auth);
	pack_u8(b, (uint8_t)e->key_from);
	pack_u8(b, e->key_optional);
	pack_str(b, e->key_name);
	pack_str(b, secret_reveal(&e->key));
	pack_i64(b, e->token_ttl_ms);
	pack_str(b, e->ca_file);
	pack_i64(b, e->connect_ms);
	pack_i64(b, e->first_byte_ms);
	pack_i64(b, e->idle_ms);
}

int endpoints_pack(const struct endpoint_table *t, struct buf *out, struct err *err)
{
	if (t->n > ENDPOINTS_MAX)
		return err_set(err, ERR_LIMIT, "%zu providers, at most %d are possible", t->n, ENDPOINTS_MAX);
	for (size_t i = 0; i < t->n; i++)
		TRY(endpoint_check(&t->p[i], err));
	pack_u32(out, (uint32_t)t->n);
	for (size_t i = 0; i < t->n; i++)
		pack_endpoint(out, &t->p[i]);
	pack_i64(out, t->max_requests);
	pack_i64(out, t->max_bytes);
	pack_str(out, t->proxy);
	pack_str(out, t->no_proxy);
	return pack_ok(out, err);
}

static bool unpack_bool(struct unpack *u)
{
	uint8_t v = unpack_u8(u);

	if (v > 1)
		u->bad = true;
	return v == 1;
}

static void unpack_headers(struct unpack *u, struct arena *mem, struct endpoint *e)
{
	size_t n = unpack_u32(u);

	if (n > ENDPOINT_HEADERS_MAX)
		u->bad = true;
	if (u->bad)
		return;
	e->headers = arena_array(mem, n, sizeof(*e->headers));
	for (e->nheaders = 0; e->nheaders < n; e->nheaders++) {
		e->headers[e->nheaders].name = unpack_str(u);
		e->headers[e->nheaders].value = unpack_str(u);
	}
}

static void unpack_endpoint(struct unpack *u, struct arena *mem, struct endpoint *e)
{
	e->name = unpack_str(u);
	e->kind = unpack_u8(u);
	e->tls = unpack_bool(u);
	e->direct = unpack_bool(u);
	e->host = unpack_str(u);
	e->port = unpack_u16(u);
	e->route = unpack_u8(u);
	e->prefix = unpack_str(u);
	e->use = unpack_u8(u);
	e->tools = unpack_strs(u, mem, ENDPOINT_TOOLS_MAX, &e->ntools);
	e->chat_path = unpack_str(u);
	e->models_path = unpack_str(u);
	e->query = unpack_str(u);
	unpack_headers(u, mem, e);
	e->auth = unpack_u8(u);
	e->key_from = unpack_u8(u);
	e->key_optional = unpack_bool(u);
	e->key_name = unpack_str(u);
	secret_set(&e->key, unpack_str(u));
	e->token_ttl_ms = unpack_i64(u);
	e->ca_file = unpack_str(u);
	e->connect_ms = unpack_i64(u);
	e->first_byte_ms = unpack_i64(u);
	e->idle_ms = unpack_i64(u);
}

int endpoints_unpack(struct str bytes, struct arena *mem, struct endpoint_table *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct endpoint_table t = { 0 };
	size_t n = unpack_u32(&u);
	int r = 0;

	if (n > ENDPOINTS_MAX)
		return err_set(err, ERR_PROTOCOL, "an endpoint table of %zu rows", n);
	t.p = arena_array(mem, n, sizeof(*t.p));
	for (t.n = 0; t.n < n && !u.bad; t.n++)
		unpack_endpoint(&u, mem, &t.p[t.n]);
	t.max_requests = unpack_i64(&u);
	t.max_bytes = unpack_i64(&u);
	t.proxy = unpack_str(&u);
	t.no_proxy = unpack_str(&u);
	if (!unpack_done(&u))
		r = err_set(err, ERR_PROTOCOL, "the endpoint table is cut or damaged");
	for (size_t i = 0; i < t.n && r == 0; i++)
		r = endpoint_check(&t.p[i], err);
	if (r < 0) {
		endpoints_fini(&t);
		return r;
	}
	*out = t;
	return 0;
}

void route_set_host(struct route *r, struct str host, uint16_t port)
{
	static const char *const near[] = { ".local", ".lan", ".internal", ".home.arpa" };
	enum host_range range = host_range(host);

	*r = (struct route){ .host = host, .port = port, .loopback_ok = host_is_loopback(host),
		.private_ok = range == HOST_PRIVATE, .local_ok = range == HOST_LOCAL };
	if (range != HOST_NAME || r->loopback_ok)
		return;
	r->private_ok = str_find(host, STR(".")) == host.n;
	for (size_t i = 0; i < COUNT(near); i++)
		r->private_ok |= str_ends(host, str_from(near[i]));
}

int route_set_text(struct route *r, struct str text, struct arena *mem, struct err *err)
{
	struct str authority = text, path, host;
	uint16_t port = 443;
	bool tls = true;

	if (str_find(text, STR("://")) < text.n) {
		TRY(split_url(text, &tls, &authority, &path, err));
		port = tls ? 443 : 80;
	}
	TRY(parse_authority(authority, mem, &host, &port, err));
	route_set_host(r, host, port);
	return 0;
}

int route_check(const struct route *r, struct err *err)
{
	TRY(check_host(r->host, err));
	if (r->port == 0)
		return err_set(err, ERR_INVALID, "route to " STR_FMT ": the port is missing", STR_ARG(r->host));
	return 0;
}

int routes_add(struct route_table *t, const struct route *r, struct arena *mem, size_t *index, struct err *err)
{
	TRY(route_check(r, err));
	for (size_t i = 0; i < t->n; i++)
		if (t->p[i].port == r->port && str_eq(t->p[i].host, r->host)) {
			*index = i;
			return 0;
		}
	if (t->n == ROUTES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d network destinations", ROUTES_MAX);
	if (!t->p)
		t->p = arena_array(mem, ROUTES_MAX, sizeof(*t->p));
	t->p[t->n] = *r;
	*index = t->n++;
	return 0;
}

int routes_derive(struct endpoint_table *t, struct route_table *out, struct arena *mem, struct err *err)
{
	for (size_t i = 0; i < t->n; i++) {
		struct endpoint *e = &t->p[i];
		struct route r;
		size_t index;

		if (e->kind != ENDPOINT_NETWORK || e->direct)
			continue;
		route_set_host(&r, e->host, e->port);
		TRY(routes_add(out, &r, mem, &index, err));
		e->route = (uint8_t)index;
	}
	return 0;
}

int routes_pack(const struct route_table *t, struct buf *out, struct err *err)
{
	pack_u32(out, (uint32_t)t->n);
	for (size_t i = 0; i < t->n; i++) {
		TRY(route_check(&t->p[i], err));
		pack_str(out, t->p[i].host);
		pack_u16(out, t->p[i].port);
		pack_u8(out, t->p[i].loopback_ok);
		pack_u8(out, t->p[i].private_ok);
		pack_u8(out, t->p[i].local_ok);
	}
	return pack_ok(out, err);
}

int routes_unpack(struct str bytes, struct arena *mem, struct route_table *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct route_table t = { 0 };
	size_t n = unpack_u32(&u);

	if (n > ROUTES_MAX)
		return err_set(err, ERR_PROTOCOL, "a route table of %zu rows", n);
	t.p = arena_array(mem, ROUTES_MAX, sizeof(*t.p));
	for (t.n = 0; t.n < n && !u.bad; t.n++) {
		struct route *r = &t.p[t.n];

		r->host = unpack_str(&u);
		r->port = unpack_u16(&u);
		r->loopback_ok = unpack_bool(&u);
		r->private_ok = unpack_bool(&u);
		r->local_ok = unpack_bool(&u);
	}
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the route table is cut or damaged");
	for (size_t i = 0; i < t.n; i++)
		TRY(route_check(&t.p[i], err));
	*out = t;
	return 0;
}

