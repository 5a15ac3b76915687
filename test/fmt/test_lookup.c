/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/lookup.h"
#include "test/lib/test.h"

#include <string.h>

TEST(lookup_packs_a_question_and_an_answer_and_reads_them_back)
{
	const struct lookup_question q = { .link = 3, .turn = 0xfffffffe, .route = 63 };
	struct lookup_answer a = { .link = 63, .turn = 7, .gai = -11, .sys = 110, .n = LOOKUP_ADDRS };
	auto_buf struct buf b = BUF_MAX(1024);
	struct lookup_question q2;
	struct lookup_answer a2;
	struct err err = { 0 };

	CHECK_OK(lookup_ask_pack(&q, &b, &err));
	CHECK_OK(lookup_ask_unpack(buf_str(&b), &q2, &err));
	CHECK(q2.link == q.link && q2.turn == q.turn && q2.route == q.route);
	for (size_t n = 0; n <= LOOKUP_ADDRS; n++) {
		a.n = n;
		for (size_t i = 0; i < n; i++)
			a.addrs[i] = (struct lookup_addr){ i % 2 == 1, { (unsigned char)i, 2, 3, 4, [15] = 9 } };
		buf_clear(&b);
		CHECK_OK(lookup_answer_pack(&a, &b, &err));
		CHECK_INT(b.n, 152); /* of one size, however many addresses there are */
		CHECK_OK(lookup_answer_unpack(buf_str(&b), &a2, &err));
		CHECK(a2.link == a.link && a2.turn == a.turn && a2.gai == a.gai && a2.sys == a.sys && a2.n == n);
		CHECK(memcmp(a2.addrs, a.addrs, n * sizeof(a.addrs[0])) == 0);
	}
}

/* Whoever answers has read packets of strangers. */
TEST(lookup_takes_no_answer_that_has_not_its_shape)
{
	enum { HEAD = 16, SLOT = 17, BODY = HEAD + LOOKUP_ADDRS * SLOT };
	struct lookup_answer a = { .n = 77 };
	struct lookup_question q = { .route = 77 };
	char body[BODY + 1] = { 0 };
	struct err err = { 0 };

	for (size_t n = 0; n <= BODY + 1; n++)
		CHECK_INT(lookup_answer_unpack(str_of(body, n), &a, &err), n == BODY ? 0 : -ERR_PROTOCOL);
	for (size_t n = 0; n < 20; n++)
		CHECK_INT(lookup_ask_unpack(str_of(body, n), &q, &err), n == 9 ? 0 : -ERR_PROTOCOL);
	for (int kind = 0; kind < 256; kind++) {
		body[HEAD] = (char)kind;
		CHECK_INT(lookup_answer_unpack(str_of(body, BODY), &a, &err),
			kind == 0 || kind == 4 || kind == 6 ? 0 : -ERR_PROTOCOL);
	}
	body[HEAD] = 0;
	body[HEAD + SLOT] = 4; /* a gap before it */
	a.n = 77;
	CHECK_INT(lookup_answer_unpack(str_of(body, BODY), &a, &err), -ERR_PROTOCOL);
	CHECK_INT(a.n, 77); /* nothing is written on failure */
	for (size_t i = 0; i < LOOKUP_ADDRS; i++)
		body[HEAD + i * SLOT] = 6;
	CHECK_OK(lookup_answer_unpack(str_of(body, BODY), &a, &err));
	CHECK_INT(a.n, LOOKUP_ADDRS);
}
