/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/endpoint.h"
#include "test/lib/test.h"

#include <arpa/inet.h>

static const struct {
	const char *url;
	bool tls;
	const char *host;
	int port;
	const char *prefix; /* NULL: refused */
} urls[] = {
	{ "https://api.anthropic.com/v1", true, "api.anthropic.com", 443, "/v1" },
	{ "https://API.Example.com:8443/a/b//", true, "api.example.com", 8443, "/a/b" },
	{ "http://localhost:11434/v1/", false, "localhost", 11434, "/v1" },
	{ "http://127.0.0.1", false, "127.0.0.1", 80, "" },
	{ "https://[2001:db8::1]:444/v1", true, "2001:db8::1", 444, "/v1" },
	{ "https://[::1]", true, "::1", 443, "" },
	{ .url = "ftp://x/" },
	{ .url = "https://user:pw@x/v1" },
	{ .url = "https:///v1" },
	{ .url = "https://x:0/" },
	{ .url = "https://x:65536/" },
	{ .url = "https://x:/" },
	{ .url = "https://x:1x/" },
	{ .url = "https://x/v1?a=b" },
	{ .url = "https://x/v1#f" },
	{ .url = "https://x/v 1" },
	{ .url = "https://x\r\nHost: y/" },
	{ .url = "https://[::1/v1" },
	{ .url = "https://[x]/v1" },
	{ .url = "https://a:b:c/" },
};

TEST(endpoint_url_is_split_or_refused)
{
	for (size_t i = 0; i < COUNT(urls); i++) {
		auto_arena struct arena *mem = arena_new();
		struct endpoint e;
		struct err err = { 0 };
		int r;

		endpoint_init(&e);
		r = endpoint_set_url(&e, str_from(urls[i].url), mem, &err);
		if (!urls[i].prefix) {
			CHECK_INT(r, -ERR_INVALID);
			CHECK(err.msg[0]);
			continue;
		}
		CHECK_OK(r);
		CHECK(e.tls == urls[i].tls && e.port == urls[i].port);
		CHECK_STR(e.host, str_from(urls[i].host));
		CHECK_STR(e.prefix, str_from(urls[i].prefix));
	}
}

static const struct {
	const char *host;
	enum host_range range;
} ranges[] = {
	{ "8.8.8.8", HOST_PUBLIC }, { "127.0.0.1", HOST_LOOPBACK }, { "127.255.0.9", HOST_LOOPBACK },
	{ "0.0.0.0", HOST_LOOPBACK }, { "::", HOST_LOOPBACK }, { "::1", HOST_LOOPBACK },
	{ "10.1.2.3", HOST_PRIVATE }, { "172.16.0.1", HOST_PRIVATE }, { "172.32.0.1", HOST_PUBLIC },
	{ "192.168.1.1", HOST_PRIVATE }, { "100.64.0.1", HOST_PRIVATE }, { "fc00::1", HOST_PRIVATE },
	{ "169.254.169.254", HOST_LOCAL }, { "fe80::1", HOST_LOCAL }, { "100.100.100.200", HOST_LOCAL },
	{ "168.63.129.16", HOST_LOCAL }, { "168.63.129.17", HOST_PUBLIC }, { "192.0.0.192", HOST_LOCAL },
	{ "fd00:ec2::254", HOST_LOCAL }, { "224.0.0.1", HOST_LOCAL }, { "255.255.255.255", HOST_LOCAL },
	{ "::ffff:127.0.0.1", HOST_LOOPBACK }, { "::ffff:169.254.169.254", HOST_LOCAL },
	{ "::ffff:0:169.254.169.254", HOST_LOCAL }, { "64:ff9b:1::a00:1", HOST_PRIVATE }, { "64:ff9b:1::808:808", HOST_PUBLIC },
	{ "2001:0:1:2:3:4:f5ff:fffe", HOST_PRIVATE }, { "2001:0:1:2:3:4:5601:5601", HOST_LOCAL }, { "2001:1::f5ff:fffe", HOST_PUBLIC },
	{ "2001:db8::5efe:127.0.0.1", HOST_LOOPBACK }, { "2001:db8::200:5efe:10.0.0.1", HOST_PRIVATE }, { "2001:db8::5efe:8.8.8.8", HOST_PUBLIC },
	/* one address, several readings: 6to4 to an identifier of ISATAP, a unique local one to this host */
	{ "2002:808:808::5efe:10.0.0.1", HOST_PRIVATE }, { "2002:808:808:1:200:5efe:169.254.169.254", HOST_LOCAL },
	{ "2002:808:808::5efe:8.8.8.8", HOST_PUBLIC }, { "2002:a00:1::5efe:8.8.8.8", HOST_PRIVATE }, { "2002:a00:1::5efe:127.0.0.1", HOST_LOCAL },
	{ "fd00::5efe:10.0.0.1", HOST_PRIVATE }, { "fd00::5efe:8.8.8.8", HOST_PRIVATE }, { "fd00::5efe:127.0.0.1", HOST_LOCAL },
	/* RFC 6052, 2.2: by a prefix of 48, 56, 64 bits, with octet 8 and suffix as anybody likes */
	{ "64:ff9b:1:a9fe:a9:fe00::", HOST_LOCAL }, { "64:ff9b:1:a00:0:100::", HOST_PRIVATE }, { "64:ff9b:1:7f00:ff00:108:808:808", HOST_LOOPBACK },
	{ "64:ff9b:1:2a:0:1::", HOST_PUBLIC }, { "64:ff9b:1:a:0:1::", HOST_PRIVATE }, { "64:ff9b:1:17f:0:1::", HOST_LOOPBACK },
	{ "64:ff9b:1:1:c0:a801:100:0", HOST_PRIVATE }, { "64:ff9b:1::a:0:100:0", HOST_PRIVATE }, { "64:ff9b:1:808:8:800::", HOST_PUBLIC },
	{ "64:ff9b:1:808:8:800:7f00:1", HOST_LOOPBACK }, { "64:ff9b:1:abcd::808:808", HOST_PUBLIC }, { "64:ff9b:2:a00:0:100::", HOST_PUBLIC },
	{ "fe80::5efe:8.8.8.8", HOST_LOCAL }, { "fec0::1", HOST_LOCAL }, { "ff02::1", HOST_LOCAL }, { "fdff::1", HOST_PRIVATE }, { "fe00::1", HOST_PUBLIC },
	{ "fd20:ce::254", HOST_LOCAL }, { "fd20:cf::254", HOST_PRIVATE },
	{ "::127.0.0.1", HOST_LOOPBACK }, { "64:ff9b::a9fe:a9fe", HOST_LOCAL }, { "2002:7f00:1::", HOST_LOOPBACK },
	{ "2606:4700::1", HOST_PUBLIC }, { "example.com", HOST_NAME }, { "127.1", HOST_NAME }, { "", HOST_NAME },
};

TEST(host_ranges_see_through_every_spelling_of_an_address)
{
	for (size_t i = 0; i < COUNT(ranges); i++)
		CHECK_INT(host_range(str_from(ranges[i].host)), ranges[i].range);
	CHECK(host_is_loopback(STR("localhost")) && host_is_loopback(STR("a.localhost")));
	CHECK(!host_is_loopback(STR("notlocalhost")) && !host_is_loopback(STR("localhost.example.com")));
}

static const struct {
	const char *text, *host;
	int port; /* 0: refused */
	bool loopback, private, local;
} routes[] = {
	{ "api.example.com", "api.example.com", 443, false, false, false },
	{ "Api.Example.com:99", "api.example.com", 99, false, false, false },
	{ "http://localhost:80/mcp?x=1", "localhost", 80, true, false, false },
	{ "https://models.lan/v1", "models.lan", 443, false, true, false },
	{ "gpu-box:8000", "gpu-box", 8000, false, true, false },
	{ "10.0.0.7:8000", "10.0.0.7", 8000, false, true, false },
	{ "169.254.169.254:80", "169.254.169.254", 80, false, false, true },
	{ "[::1]:5", "::1", 5, true, false, false },
	{ "::1", "::1", 443, true, false, false },
	{ .text = "" }, { .text = "a b" }, { .text = "x:y" }, { .text = "[::1]x" }, { .text = ".x" },
};

TEST(route_allows_only_the_ranges_that_were_written_down)
{
	for (size_t i = 0; i < COUNT(routes); i++) {
		auto_arena struct arena *mem = arena_new();
		struct route r = { 0 };
		struct err err = { 0 };
		int rc = route_set_text(&r, str_from(routes[i].text), mem, &err);

		if (routes[i].port == 0) {
			CHECK_INT(rc, -ERR_INVALID);
			continue;
		}
		CHECK_OK(rc);
		CHECK_STR(r.host, str_from(routes[i].host));
		CHECK_INT(r.port, routes[i].port);
		CHECK(r.loopback_ok == routes[i].loopback && r.private_ok == routes[i].private &&
			r.local_ok == routes[i].local);
	}
}

static struct endpoint sample(struct arena *mem)
{
	struct endpoint e;

	endpoint_init(&e);
	BUG_IF(endpoint_set_url(&e, STR("https://api.example.com/v1"), mem, ERR_DISCARD) < 0);
	e.name = STR("example");
	e.chat_path = STR("/chat/completions");
	e.models_path = STR("/models");
	e.query = STR("api-version=2024-01-01&x=%20");
	e.headers = arena_array(mem, 2, sizeof(*e.headers));
	e.headers[e.nheaders++] = (struct endpoint_header){ STR("anthropic-version"), STR("2023-06-01") };
	e.headers[e.nheaders++] = (struct endpoint_header){ STR("x-title"), STR("agent6") };
	e.auth = AUTH_X_API_KEY;
	e.key_from = KEY_INLINE;
	secret_set(&e.key, STR("sk-secret"));
	e.ca_file = STR("/etc/ssl/own.pem");
	return e;
}

TEST(endpoint_table_survives_packing_and_a_cut_or_longer_one_is_refused)
{
	auto_arena struct arena *mem = arena_new();
	struct endpoint rows[2];
	struct endpoint_table t = { .p = rows, .n = 2, .max_requests = 5, .max_bytes = -1 }, got = { 0 };
	auto_buf struct buf b = BUF_MAX(ENDPOINT_TABLE_BYTES);
	struct err err = { 0 };

	rows[0] = sample(mem);
	endpoint_init(&rows[1]);
	rows[1].name = STR("demo");
	rows[1].kind = ENDPOINT_RECORDING;
	rows[1].use = ENDPOINT_MCP_ASK;
	rows[1].tools = (struct str[]){ STR("look"), STR("read") };
	rows[1].ntools = 2;
	CHECK_OK(endpoints_pack(&t, &b, &err));
	for (size_t cut = 0; cut < b.n; cut++)
		CHECK(endpoints_unpack(str_head(buf_str(&b), cut), mem, &got, ERR_DISCARD) < 0);
	CHECK_OK(endpoints_unpack(buf_str(&b), mem, &got, &err));
	CHECK_INT(got.n, 2);
	CHECK_INT(got.max_requests, 5);
	CHECK_STR(got.p[0].headers[1].name, STR("x-title"));
	CHECK_STR(secret_reveal(&got.p[0].key), STR("sk-secret"));
	CHECK_STR(got.p[0].query, STR("api-version=2024-01-01&x=%20"));
	CHECK_INT(got.p[1].kind, ENDPOINT_RECORDING);
	CHECK_INT(got.p[1].ntools, 2);
	CHECK_STR(got.p[1].tools[1], STR("read"));
	endpoints_fini(&got);
	CHECK_OK(buf_addc(&b, 'x', &err));
	CHECK(endpoints_unpack(buf_str(&b), mem, &got, ERR_DISCARD) < 0);
	endpoints_fini(&t);
}

static void break_http(struct endpoint *e)
{
	e->tls = false;
}

static void break_kind(struct endpoint *e)
{
	e->kind = 3;
}

static void break_host(struct endpoint *e)
{
	e->host = STR("a/b");
}

static void break_port(struct endpoint *e)
{
	e->port = 0;
}

static void break_path(struct endpoint *e)
{
	e->chat_path = STR("/x HTTP/1.1\r\nHost: y");
}

static void break_path2(struct endpoint *e)
{
	e->chat_path = STR("x");
}

static void break_query(struct endpoint *e)
{
	e->query = STR("a=b c");
}

static void break_header(struct endpoint *e)
{
	e->headers[0].value = STR("a\nb: c");
}

static void break_header2(struct endpoint *e)
{
	e->headers[0].name = STR("Authorization");
}

static void break_ca(struct endpoint *e)
{
	e->ca_file = STR("own.pem");
}

static void break_time(struct endpoint *e)
{
	e->idle_ms = 0;
}

static void break_key(struct endpoint *e)
{
	secret_fini(&e->key);
}

static void break_key2(struct endpoint *e)
{
	secret_set(&e->key, STR("sk-\r\nx: y"));
}

static const struct {
	const char *why, *says;
	void (*damage)(struct endpoint *e);
} bad[] = {
	{ "plain http leaves the machine", "in the clear", break_http },
	{ "an unknown kind", "kind 3 is unknown", break_kind },
	{ "a host with a slash", "not a host name", break_host },
	{ "no port", "port is missing", break_port },
	{ "a path that splits the request", "not a path", break_path },
	{ "a path without a slash", "not a path", break_path2 },
	{ "a query with a space", "percent-encoded", break_query },
	{ "a header value with a line end", "control bytes", break_header },
	{ "an auth header by the back door", "set by agent6 itself", break_header2 },
	{ "a relative ca_file", "not an absolute path", break_ca },
	{ "no time limit", "time limits", break_time },
	{ "a key that is announced but absent", "key is missing", break_key },
	{ "a key that splits the header", "not shown", break_key2 },
};

TEST(endpoint_that_breaks_a_rule_is_refused_by_both_ends_and_says_why)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_arena struct arena *mem = arena_new();
		struct endpoint row = sample(mem);
		struct endpoint_table t = { .p = &row, .n = 1 };
		auto_buf struct buf b = BUF_MAX(ENDPOINT_TABLE_BYTES);
		struct err err = { 0 };

		bad[i].damage(&row);
		CHECK(endpoints_pack(&t, &b, &err) < 0);
		CHECK(strstr(err.msg, bad[i].says));
		CHECK(strstr(err.msg, "provider example"));
		CHECK(!strstr(err.msg, "sk-"));
		endpoints_fini(&t);
	}
}

TEST(routes_are_derived_once_per_destination)
{
	auto_arena struct arena *mem = arena_new();
	struct endpoint rows[4];
	struct endpoint_table t = { .p = rows, .n = 4 };
	struct route_table r = { 0 }, got = { 0 };
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };

	for (size_t i = 0; i < 4; i++)
		endpoint_init(&rows[i]);
	CHECK_OK(endpoint_set_url(&rows[0], STR("https://a.example/v1"), mem, &err));
	CHECK_OK(endpoint_set_url(&rows[1], STR("https://b.example/v1"), mem, &err));
	CHECK_OK(endpoint_set_url(&rows[2], STR("https://a.example/v2"), mem, &err));
	CHECK_OK(endpoint_set_url(&rows[3], STR("https://c.example/v2"), mem, &err));
	rows[3].direct = true;
	CHECK_OK(routes_derive(&t, &r, mem, &err));
	CHECK_INT(r.n, 2);
	CHECK(rows[0].route == 0 && rows[1].route == 1 && rows[2].route == 0);
	CHECK_OK(routes_pack(&r, &b, &err));
	for (size_t cut = 0; cut < b.n; cut++)
		CHECK(routes_unpack(str_head(buf_str(&b), cut), mem, &got, ERR_DISCARD) < 0);
	CHECK_OK(routes_unpack(buf_str(&b), mem, &got, &err));
	CHECK_STR(got.p[1].host, STR("b.example"));
}
