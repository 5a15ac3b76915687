/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "test/lib/test.h"

TEST(pack_and_unpack_agree_and_a_cut_message_is_bad)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(256);
	struct str list[] = { STR("ls"), STR("-l"), STR("") };
	struct err err = { 0 };
	size_t n;

	pack_u8(&b, 7);
	pack_u16(&b, 65535);
	pack_u32(&b, 1u << 31);
	pack_i64(&b, -2);
	pack_str(&b, STR("a\0b"));
	pack_strs(&b, list, COUNT(list));
	CHECK_OK(pack_ok(&b, &err));

	for (size_t cut = 0; cut <= b.n; cut++) {
		struct unpack u = unpack_from(str_head(buf_str(&b), cut));

		uint8_t a = unpack_u8(&u);
		uint16_t c = unpack_u16(&u);
		uint32_t d = unpack_u32(&u);
		int64_t e = unpack_i64(&u);
		struct str s = unpack_str(&u);
		struct str *got = unpack_strs(&u, mem, 8, &n);
		CHECK(unpack_done(&u) == (cut == b.n));
		if (cut < b.n)
			continue;
		CHECK(a == 7 && c == 65535 && d == 1u << 31 && e == -2);
		CHECK_STR(s, STR("a\0b"));
		CHECK_INT(n, 3);
		CHECK_STR(got[1], STR("-l"));
	}
}

TEST(pack_tells_when_something_did_not_fit)
{
	auto_buf struct buf b = BUF_MAX(6);

	pack_str(&b, STR("abc"));
	CHECK_INT(pack_ok(&b, ERR_DISCARD), -ERR_LIMIT);
	pack_u8(&b, 1);
	CHECK_INT(pack_ok(&b, ERR_DISCARD), -ERR_LIMIT);
}

TEST(unpack_refuses_a_count_that_lies)
{
	auto_arena struct arena *mem = arena_new();
	struct unpack u = unpack_from(STR("\xff\xff\xff\x7f" "abcd"));
	size_t n = 9;

	CHECK(unpack_strs(&u, mem, PACK_STRS_MAX, &n) == NULL);
	CHECK(u.bad && n == 0);
}

TEST(wire_messages_have_one_number_each_and_only_go_where_the_table_says)
{
	static const uint16_t all[] = {
#define X(type, value, link, dir, fmin, fmax, bmax) type,
		WIRE_TYPES(X)
#undef X
	};

	for (size_t i = 0; i < COUNT(all); i++)
		for (size_t j = 0; j < i; j++)
			CHECK(all[i] != all[j]);
	CHECK_INT(wire_check(LINK_ZYGOTE_AGENT, WIRE_UP, WIRE_RUN, 100, 0, ERR_DISCARD), 0);
	CHECK_INT(wire_check(LINK_ZYGOTE_AGENT, WIRE_DOWN, WIRE_RUN, 100, 0, ERR_DISCARD), -ERR_PROTOCOL);
	CHECK_INT(wire_check(LINK_MONITOR_ZYGOTE, WIRE_UP, WIRE_RUN, 100, 0, ERR_DISCARD), -ERR_PROTOCOL);
	CHECK_INT(wire_check(LINK_ZYGOTE_AGENT, WIRE_UP, WIRE_RUN, CHAN_BODY + 1, 0, ERR_DISCARD), -ERR_PROTOCOL);
	CHECK_INT(wire_check(LINK_ZYGOTE_AGENT, WIRE_UP, WIRE_RUN, 100, 2, ERR_DISCARD), -ERR_PROTOCOL);
	CHECK_INT(wire_check(LINK_ZYGOTE_AGENT, WIRE_UP, 9999, 0, 0, ERR_DISCARD), -ERR_PROTOCOL);
}
