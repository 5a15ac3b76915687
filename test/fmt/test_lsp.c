/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/lsp.h"
#include "fmt/lsp_table.h"

#include "test/lib/test.h"

#include <string.h>

static int record(void *self, const struct rpc_message *m, struct err *err)
{
	return buf_addf(self, err, "%d#%lld " STR_FMT ";", (int)m->kind, m->id_known ? (long long)m->id : -1, STR_ARG(m->body.text));
}

#define FRAME(n, text) "Content-Length: " #n "\r\n\r\n" text

static const struct {
	const char *why, *in, *want;
	int result;
} frames[] = {
	{ "a result, then a notification", FRAME(21, "{\"id\":3,\"result\":{}}\n") FRAME(29, "{\"method\":\"x\",\"params\":[1,2]}"),
		"0#3 {};3#-1 [1,2];", 0 },
	{ "other fields, any case, blanks", "X-Y: 1\r\ncontent-LENGTH:20 \r\nContent-Type: a; b\r\n\r\n{\"id\":3,\"result\":{}}", "0#3 {};", 0 },
	{ "bare line ends", "Content-Length: 20\n\n{\"id\":3,\"result\":{}}", "0#3 {};", 0 },
	{ "a text that is no message is skipped", FRAME(4, "[{}]") FRAME(20, "{\"id\":3,\"result\":{}}"), "0#3 {};", 0 },
	{ "an empty one too", FRAME(0, "") FRAME(20, "{\"id\":3,\"result\":{}}"), "0#3 {};", 0 },
	{ "a message of exactly the most", FRAME(64, "{\"id\":3,\"result\":\"01234567890123456789012345678901234567890123\"}"),
		"0#3 \"01234567890123456789012345678901234567890123\";", 0 },
	{ "half a message", FRAME(200, "{"), "", -ERR_PROTOCOL },
	{ "one byte more than the most", FRAME(65, ""), "", -ERR_PROTOCOL },
	{ "a length beyond all", FRAME(99999999999999999999999999, ""), "", -ERR_PROTOCOL },
	{ "a negative one", FRAME(-1, ""), "", -ERR_PROTOCOL },
	{ "none", "X: 1\r\n\r\n{}", "", -ERR_PROTOCOL },
	{ "two", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "", -ERR_PROTOCOL },
	{ "a line that is no field", "hello\r\n\r\n", "", -ERR_PROTOCOL },
	{ "an empty head", "\r\n\r\n", "", -ERR_PROTOCOL },
};

TEST(lsp_reads_every_frame_in_every_chunking)
{
	for (size_t i = 0; i < COUNT(frames); i++)
		for (size_t step = 1; step <= strlen(frames[i].in); step++) {
			auto_buf struct buf got = BUF_MAX(1024);
			auto_lsp_reader struct lsp_reader r = { 0 };
			int rc = 0;

			lsp_reader_init(&r, 64, record, &got);
			for (struct str in = str_from(frames[i].in); in.n > 0 && rc == 0; in = str_skip(in, step))
				rc = lsp_feed(&r, str_head(in, step), ERR_DISCARD);
			CHECK_INT(rc, frames[i].result);
			test_check_str(buf_str(&got), str_from(frames[i].want), frames[i].why, __FILE__, __LINE__);
		}
}

TEST(lsp_ends_a_head_without_end_and_messages_that_are_none)
{
	auto_buf struct buf got = BUF_MAX(64);
	auto_lsp_reader struct lsp_reader r = { 0 }, junk = { 0 };
	int rc = 0;
	size_t n = 0;

	lsp_reader_init(&r, 64, record, &got);
	for (; rc == 0 && n <= LSP_HEAD_MAX; n++)
		rc = lsp_feed(&r, STR("x"), ERR_DISCARD);
	CHECK_INT(rc, -ERR_PROTOCOL);
	CHECK(n > LSP_HEAD_MAX - 2 && r.head.cap <= 2 * LSP_HEAD_MAX);

	lsp_reader_init(&junk, 64, record, &got);
	for (int i = 0; i < LSP_JUNK_MAX; i++)
		CHECK_INT(lsp_feed(&junk, STR("Content-Length: 1\r\n\r\n1"), ERR_DISCARD), 0);
	CHECK_INT(lsp_feed(&junk, STR("Content-Length: 1\r\n\r\n1"), ERR_DISCARD), -ERR_PROTOCOL);
}

TEST(lsp_frames_what_it_reads)
{
	auto_buf struct buf frame = BUF_MAX(256), got = BUF_MAX(256);
	auto_lsp_reader struct lsp_reader r = { 0 };
	struct err err = { 0 };

	lsp_reader_init(&r, 256, record, &got);
	CHECK_OK(lsp_frame(&frame, STR("{\"method\":\"\xC3\xA9\",\"params\":1}"), &err));
	CHECK_OK(lsp_feed(&r, buf_str(&frame), &err));
	CHECK_STR(buf_str(&got), STR("3#-1 1;"));
}

TEST(lsp_names_a_file_and_finds_it_again)
{
	for (int c = 1; c < 256; c++) {
		auto_buf struct buf uri = BUF_MAX(64), path = BUF_MAX(64);
		char name[] = { '/', 'a', (char)c, 'b' };
		struct err err = { 0 };

		CHECK_OK(lsp_uri_add(&uri, str_of(name, 4), &err));
		CHECK_OK(lsp_uri_path(buf_str(&uri), &path, &err));
		CHECK_STR(buf_str(&path), str_of(name, 4));
	}
	static const char *const none[] = { "", "file:", "file://", "file://host/a", "http:///a", "/a", "file:///a%", "file:///a%4", "file:///a%zz",
		"file:///a%00b", "untitled:a" };
	for (size_t i = 0; i < COUNT(none); i++) {
		auto_buf struct buf path = BUF_MAX(64);

		CHECK_INT(lsp_uri_path(str_from(none[i]), &path, ERR_DISCARD), -ERR_INVALID);
	}
}

TEST(lsp_counts_columns_as_the_protocol_does)
{
	static const struct {
		const char *line;
		size_t bytes;
		int64_t units;
	} cases[] = { { "abc", 0, 0 }, { "abc", 2, 2 }, { "abc", 3, 3 }, { "\xC3\xA9x", 2, 1 }, { "\xE2\x82\xACx", 3, 1 },
		{ "\xF0\x9F\x98\x80x", 4, 2 }, { "\xFF\xFEx", 2, 2 }, { "", 0, 0 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		CHECK_INT((int64_t)lsp_bytes_of(str_from(cases[i].line), cases[i].units), (int64_t)cases[i].bytes);
		CHECK_INT(lsp_units_of(str_from(cases[i].line), cases[i].bytes), cases[i].units);
	}
	CHECK_INT((int64_t)lsp_bytes_of(STR("abc"), INT64_MAX), 3);
	CHECK_INT((int64_t)lsp_bytes_of(STR("abc"), -7), 0);
	CHECK_INT((int64_t)lsp_bytes_of(STR("\xF0\x9F\x98\x80x"), 1), 4); /* within a character */
	CHECK_INT(lsp_units_of(STR("abc"), 900), 3);
}

TEST(lsp_servers_are_found_by_name_and_know_their_files)
{
	for (size_t i = 0; i < nlsp_servers; i++) {
		const struct lsp_server *s = &lsp_servers[i];

		CHECK(lsp_server_find(str_from(s->name)) == s);
		CHECK(s->argv[0] && !strchr(s->argv[0], '/') && s->languages[0].end);
		CHECK(!s->options || jval_from(str_from(s->options)).type == JSCAN_OBJECT);
		CHECK(!lsp_language_id(s, STR("a.txt")) && !lsp_language_id(s, STR("")));
	}
	CHECK(!lsp_server_find(STR("clang")) && !lsp_server_find(STR("")));
	CHECK_STR(str_from(lsp_language_id(lsp_server_find(STR("clangd")), STR("d/a.cpp"))), STR("cpp"));
}
