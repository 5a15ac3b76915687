/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/passage.h"

#include "test/lib/test.h"

#include <fcntl.h>
#include <string.h>

/* Writes text into the passage in pieces of `piece` bytes; what came out, read back. */
static void pass(struct str text, size_t piece, bool clean, struct buf *out)
{
	int in[2], to[2];
	struct err err = { 0 };
	CLEANUP(passage_fini) struct passage p = { .from = -1 };

	CHECK_INT(pipe2(in, O_CLOEXEC), 0);
	CHECK_INT(pipe2(to, O_CLOEXEC), 0);
	passage_open(&p, in[0], to[1], clean);
	for (size_t at = 0; at < text.n; at += piece) {
		struct str part = str_head(str_skip(text, at), piece);

		CHECK_INT(write(in[1], part.p, part.n), (int)part.n);
		do {
			struct pollfd pf = passage_poll(&p);

			CHECK_INT(poll(&pf, 1, 0), 1);
			CHECK_OK(passage_step(&p, pf.revents, &err));
		} while (passage_poll(&p).events == POLLOUT);
	}
	passage_last(&p); /* in[1] stays open: nobody who holds it is waited for */
	while (!passage_over(&p))
		CHECK_OK(passage_step(&p, POLLOUT, &err));
	close(in[1]);
	close(to[1]);
	CHECK_OK(buf_reserve(out, 4096, &err));
	for (ssize_t n; (n = read(to[0], out->p + out->n, 4096 - out->n)) > 0;)
		out->n += (size_t)n;
	close(to[0]);
}

TEST(passage_brings_every_byte_through_unchanged_or_clean_whatever_the_pieces)
{
	static const struct {
		const char *why;
		struct str in, clean;
	} rows[] = {
		{ "text", STR("one\ntwo\n"), STR("one\ntwo\n") },
		{ "an escape sequence", STR("a\x1b[2Jb\n"), STR("a\\x1b[2Jb\n") },
		{ "characters of every length", STR("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"),
			STR("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n") },
		{ "a character that does not end", STR("x\xe2\x82"), STR("x\\xe2\\x82") },
		{ "bytes that are no characters", STR("\xff\x80"), STR("\\xff\\x80") },
		{ "CR LF is a newline, CR alone is not", STR("a\r\nb\rc"), STR("a\nb\\rc") },
		{ "CR at the end", STR("a\r"), STR("a\\r") },
		{ "a control of two bytes", STR("\xc2\x9dx"), STR("\\x9dx") },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t piece = 1; piece <= rows[i].in.n; piece++)
			for (int clean = 0; clean < 2; clean++) {
				auto_buf struct buf out = BUF_MAX(8192);

				pass(rows[i].in, piece, clean, &out);
				CHECK(str_eq(buf_str(&out), clean ? rows[i].clean : rows[i].in));
			}
}

TEST(passage_keeps_the_last_bytes_as_they_came)
{
	for (size_t piece = 1; piece <= 12; piece++) {
		CLEANUP(passage_fini) struct passage p = { .from = -1 };
		struct str text = STR("a\x1b[2Jb\n\xff\r\n0123456789");
		int in[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
		struct err err = { 0 };

		CHECK_INT(pipe2(in, O_CLOEXEC), 0);
		passage_open(&p, in[0], nowhere, true);
		passage_keep(&p, 16);
		for (size_t at = 0; at < text.n; at += piece) {
			struct str part = str_head(str_skip(text, at), piece);

			CHECK_INT(write(in[1], part.p, part.n), (int)part.n);
			do
				CHECK_OK(passage_step(&p, POLLIN | POLLOUT, &err));
			while (passage_poll(&p).events == POLLOUT);
			CHECK_STR(buf_str(&p.kept), str_tail(str_head(text, at + part.n), 16));
		}
		close(in[1]);
		close(nowhere);
	}
}

/* Where the kernel moves what comes the end of it stays, whatever came before it and in what pieces. */
TEST(passage_keeps_the_end_of_what_the_kernel_moves)
{
	enum { ALL = 40000, KEPT = 4096 };
	static char text[ALL];

	for (size_t i = 0; i < ALL; i++)
		text[i] = (char)('a' + i % 23);
	for (size_t piece = 1000; piece <= ALL; piece += 3900) {
		CLEANUP(passage_fini) struct passage p = { .from = -1 };
		auto_buf struct buf got = BUF_MAX(2 * ALL);
		int in[2], to[2];
		struct err err = { 0 };

		CHECK_INT(pipe2(in, O_CLOEXEC), 0);
		CHECK_INT(pipe2(to, O_CLOEXEC | O_NONBLOCK), 0);
		passage_open(&p, in[0], to[1], false);
		passage_keep_end(&p, KEPT);
		CHECK(p.moves);
		for (size_t at = 0; at < ALL; at += piece) {
			struct str part = str_head(str_of(text + at, ALL - at), piece);

			CHECK_INT(write(in[1], part.p, part.n), (int)part.n);
			if (at + part.n == ALL)
				passage_last(&p);
			for (struct pollfd pf = passage_poll(&p); pf.fd >= 0 && poll(&pf, 1, 0) == 1; pf = passage_poll(&p)) {
				CHECK_OK(passage_step(&p, pf.revents, &err));
				CHECK_OK(buf_reserve(&got, ALL, &err));
				for (ssize_t n; (n = read(to[0], got.p + got.n, ALL)) > 0;)
					got.n += (size_t)n;
			}
		}
		while (!passage_over(&p))
			CHECK_OK(passage_step(&p, POLLOUT, &err));
		CHECK_STR(buf_str(&got), str_of(text, ALL));
		CHECK(p.kept.n > 0 && p.kept.n <= KEPT && str_ends(str_of(text, ALL), buf_str(&p.kept)));
		CHECK(p.kept.n >= (piece < KEPT ? piece : KEPT) || ALL % piece != 0);
		close(in[1]);
		close(to[0]);
		close(to[1]);
	}
}
