/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/chain.h"

#include <sha2.h>
#include <sys/types.h>

#define TS_BYTES 27 /* 2026-11-29T20:00:42.123456Z */

static const struct str head = { "{\"ts\":\"", 7 };
static const struct str seq_key = { "\",\"seq\":", 8 };
static const struct str type_key = { ",\"type\":\"", 9 };
static const struct str volatile_tail = { ",\"volatile\":true}", 17 };
static const struct str h_key = { ",\"h\":\"", 6 };
static const struct str h_end = { "\"}", 2 };

static bool eat(struct str *s, struct str what)
{
	if (!str_starts(*s, what))
		return false;
	*s = str_skip(*s, what.n);
	return true;
}

static bool is_hex(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return true;
}

/* The type has no escapes in it: it comes from a table of plain words. */
static bool eat_type(struct str *s, struct str *type)
{
	size_t n = str_find_any(*s, STR("\"\\"));

	if (n == s->n || s->p[n] != '"' || n == 0)
		return false;
	*type = str_head(*s, n);
	*s = str_skip(*s, n + 1);
	return s->n == 0 || s->p[0] == ',';
}

static struct journal_line parse_volatile(struct journal_line l, struct str rest)
{
	if (!str_ends(rest, volatile_tail))
		return l;
	rest = str_head(rest, rest.n - volatile_tail.n);
	if (!eat(&rest, type_key) || !eat_type(&rest, &l.type))
		return l;
	l.rest = rest;
	l.kind = LINE_VOLATILE;
	return l;
}

struct journal_line line_parse(struct str line)
{
	struct journal_line l = { .kind = LINE_BAD };
	const size_t tail = h_key.n + CHAIN_HEX + h_end.n;
	struct str rest = line;

	if (!eat(&rest, head) || rest.n < TS_BYTES)
		return l;
	l.ts = str_head(rest, TS_BYTES);
	rest = str_skip(rest, TS_BYTES);
	if (!eat(&rest, seq_key))
		return eat(&rest, STR("\"")) ? parse_volatile(l, rest) : l;

	if (line.n < tail || !str_ends(line, h_end))
		return l;
	struct str end = str_tail(line, tail);
	if (!str_starts(end, h_key) || !is_hex(str_head(str_skip(end, h_key.n), CHAIN_HEX)))
		return l;
	size_t digits = 0;
	while (digits < rest.n && rest.p[digits] >= '0' && rest.p[digits] <= '9')
		digits++;
	if (str_to_i64(str_head(rest, digits), &l.seq, ERR_DISCARD) < 0)
		return l;
	rest = str_skip(rest, digits);
	if (rest.n < tail)
		return l;
	rest = str_head(rest, rest.n - tail);
	if (!eat(&rest, type_key) || !eat_type(&rest, &l.type))
		return l;
	l.rest = rest;
	l.body = str_head(line, line.n - tail);
	l.h = str_head(str_skip(end, h_key.n), CHAIN_HEX);
	l.kind = LINE_DURABLE;
	return l;
}

bool chain_is_hash(struct str s)
{
	return s.n == CHAIN_HEX && is_hex(s);
}

void chain_first(char out[CHAIN_HEX + 1])
{
	memset(out, '0', CHAIN_HEX);
	out[CHAIN_HEX] = '\0';
}

static void finish(SHA2_CTX *ctx, char out[CHAIN_HEX + 1])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256Final(digest, ctx);
	for (size_t i = 0; i < sizeof(digest); i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[CHAIN_HEX] = '\0';
}

void chain_next(const char prev[CHAIN_HEX], struct str body, char out[CHAIN_HEX + 1])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)prev, CHAIN_HEX);
	SHA256Update(&ctx, (const uint8_t *)body.p, body.n);
	SHA256Update(&ctx, (const uint8_t *)"}", 1);
	finish(&ctx, out);
}

void chain_text(struct str a, struct str b, char out[CHAIN_HEX + 1])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)a.p, a.n);
	SHA256Update(&ctx, (const uint8_t *)"", 1);
	SHA256Update(&ctx, (const uint8_t *)b.p, b.n);
	finish(&ctx, out);
}
