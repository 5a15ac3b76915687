/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "session/chain.h"
#include "session/journal.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>

static int note(struct journal *j, const char *text, struct err *err)
{
	auto_json json_t *f = json_object();

	CHECK(json_object_set_new(f, "text", json_text(str_from(text))) == 0);
	return journal_append(j, event_at(EVENT_LOOP_NOTE), f, err);
}

static int delta(struct journal *j, const char *text, struct err *err)
{
	auto_json json_t *f = json_object();

	CHECK(json_object_set_new(f, "role", json_text(STR("worker"))) == 0);
	CHECK(json_object_set_new(f, "text", json_text(str_from(text))) == 0);
	return journal_append(j, event_at(EVENT_ROLE_TEXT), f, err);
}

static struct journal_report verify(const struct test_dir *d)
{
	struct journal_report r = { 0 };
	struct err err = { 0 };
	autoclose int fd = -1;

	CHECK_OK(file_open(d->fd, JOURNAL_NAME, true, &fd, &err));
	CHECK_OK(journal_verify(fd, &r, &err));
	return r;
}

static struct buf content(const struct test_dir *d)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(file_read(d->fd, JOURNAL_NAME, &b, &err));
	return b;
}

static struct journal *opened(const struct test_dir *d, struct journal_state *st)
{
	struct journal *j = NULL;
	struct err err = { 0 };

	CHECK_OK(journal_open(d->fd, &j, st, &err));
	return j;
}

/* Three lines with a delta between, made at a fixed time. */
static void fill(const struct test_dir *d)
{
	struct journal_state st;
	struct err err = { 0 };
	auto_journal struct journal *j = opened(d, &st);

	time_fake(1796400042000);
	CHECK_OK(note(j, "one", &err));
	CHECK_OK(delta(j, "zw\xC3\xB6lf\n", &err));
	CHECK_OK(note(j, "two", &err));
	CHECK_OK(note(j, "three", &err));
	CHECK_OK(journal_sync(j, &err));
	time_fake(0);
}

TEST(journal_lines_are_as_the_page_says)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	char h[CHAIN_HEX + 1], zero[CHAIN_HEX + 1];

	fill(&d);
	auto_buf struct buf got = content(&d);
	struct str rest = buf_str(&got), first = str_line(&rest), second = str_line(&rest);
	struct str body = STR("{\"ts\":\"2026-12-04T16:00:42.000000Z\",\"seq\":1,\"type\":\"loop.note\",\"text\":\"one\"");

	chain_first(zero);
	chain_next(zero, body, h);
	CHECK_STR(str_head(first, body.n), body);
	CHECK_STR(str_skip(first, body.n), str_printf(mem, ",\"h\":\"%s\"}\n", h));
	CHECK_STR(second, STR("{\"ts\":\"2026-12-04T16:00:42.000000Z\",\"type\":\"role.text_delta\",\"role\":\"worker\","
			      "\"text\":\"zw\xC3\xB6lf\\n\",\"volatile\":true}\n"));
}

TEST(chain_is_sha256_of_previous_and_line) /* figures from sha256sum */
{
	char zero[CHAIN_HEX + 1], h[CHAIN_HEX + 1];

	chain_first(zero);
	chain_next(zero, STR("{\"a\":1"), h);
	CHECK_STR(str_from(h), STR("fc6cee09194dd2578bd7664604fcb72a539066fd34544cea0009c43eb6cdc289"));
}

TEST(journal_verify_accepts_what_was_written_and_finds_any_changed_byte)
{
	auto_dir struct test_dir d = test_dir_new();

	fill(&d);
	auto_buf struct buf good = content(&d);
	struct journal_report r = verify(&d);

	CHECK_INT(r.lines, 4);
	CHECK_INT(r.chained, 3);
	CHECK_INT(r.bad_line, 0);
	CHECK_INT(r.torn_bytes, 0);
	struct str rest = buf_str(&good), delta_line = (str_line(&rest), str_line(&rest));
	for (size_t i = 0; i < good.n; i++) {
		auto_buf struct buf bad = BUF_MAX(1 << 20);
		bool in_delta = good.p + i >= delta_line.p && good.p + i < delta_line.p + delta_line.n;

		CHECK(buf_add(&bad, buf_str(&good), ERR_DISCARD) == 0);
		bad.p[i] ^= 1;
		test_write(&d, JOURNAL_NAME, buf_str(&bad));
		r = verify(&d);
		CHECK(in_delta || r.bad_line > 0 || r.torn_bytes > 0); /* deltas are outside the chain */
	}
}

TEST(journal_verify_finds_a_line_removed_added_or_moved)
{
	static const struct { const char *why; int order[6]; int64_t bad; } cases[] = {
		{ "as it was", { 1, 2, 3, 4 }, 0 },
		{ "the delta may go", { 1, 3, 4 }, 0 },
		{ "the first is gone", { 2, 3, 4 }, 2 },
		{ "a middle one is gone", { 1, 2, 4 }, 3 },
		{ "two changed places", { 1, 2, 4, 3 }, 3 },
		{ "one stands twice", { 1, 1, 2, 3, 4 }, 2 },
	};
	auto_dir struct test_dir d = test_dir_new();
	struct str lines[4];

	fill(&d);
	auto_buf struct buf good = content(&d);
	struct str rest = buf_str(&good);
	for (size_t i = 0; i < 4; i++)
		lines[i] = str_line(&rest);
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf b = BUF_MAX(1 << 20);

		for (size_t k = 0; cases[i].order[k]; k++)
			CHECK(buf_add(&b, lines[cases[i].order[k] - 1], ERR_DISCARD) == 0);
		test_write(&d, JOURNAL_NAME, buf_str(&b));
		CHECK_INT(verify(&d).bad_line, cases[i].bad);
	}
}

TEST(journal_verify_refuses_an_event_dressed_as_a_delta)
{
	auto_dir struct test_dir d = test_dir_new();

	test_write(&d, JOURNAL_NAME, STR("{\"ts\":\"2026-12-04T16:00:42.000000Z\",\"type\":\"approval.answer\",\"id\":"
					 "\"approval-1\",\"approved\":true,\"source\":\"frontend\",\"volatile\":true}\n"));
	struct journal_report r = verify(&d);

	CHECK_INT(r.bad_line, 1);
	CHECK_STR(str_from(r.reason), STR("the event approval.answer may not stand outside the chain"));
}

TEST(journal_cut_at_every_byte_keeps_all_whole_lines_and_goes_on)
{
	auto_dir struct test_dir d = test_dir_new();
	struct err err = { 0 };

	fill(&d);
	auto_buf struct buf good = content(&d);
	for (size_t cut = 0; cut <= good.n; cut++) {
		struct str part = str_head(buf_str(&good), cut);
		size_t nl = str_rfind(part, '\n'), keep = nl < part.n ? nl + 1 : 0;
		struct journal_state st;
		int64_t before = 0;

		for (size_t i = 0; i < keep; i++)
			before += good.p[i] == '\n';
		test_write(&d, JOURNAL_NAME, part);
		auto_journal struct journal *j = opened(&d, &st);
		CHECK_INT(st.torn_bytes, cut - keep);
		CHECK_INT(st.damaged_lines, 0);
		CHECK_OK(note(j, "after", &err));
		struct journal_report r = verify(&d);
		CHECK_INT(r.bad_line, 0);
		CHECK_INT(r.torn_bytes, 0);
		CHECK_INT(r.lines, before + 1);
	}
}

TEST(journal_opens_what_a_crash_or_a_hand_left)
{
	static const struct { const char *why; struct str tail; int64_t torn, damaged; } cases[] = {
		{ "zero bytes at the end", { "\0\0\0\0\0\0", 6 }, 6, 0 },
		{ "half a character", { "{\"text\":\"caf\xC3", 13 }, 13, 0 },
		{ "a whole line of nonsense stays", { "{\"half\": tru\n", 13 }, 0, 1 },
		{ "nonsense, then a torn line", { "nonsense\n{\"ts", 13 }, 4, 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir d = test_dir_new();
		struct journal_state st;
		struct err err = { 0 };

		fill(&d);
		auto_buf struct buf b = content(&d);
		CHECK_OK(buf_add(&b, cases[i].tail, &err));
		test_write(&d, JOURNAL_NAME, buf_str(&b));
		auto_journal struct journal *j = opened(&d, &st);
		CHECK_INT(st.torn_bytes, cases[i].torn);
		CHECK_INT(st.damaged_lines, cases[i].damaged);
		CHECK_INT(st.lines, 3);
		CHECK_OK(note(j, "after", &err));
		struct journal_report r = verify(&d);
		CHECK_INT(r.bad_line, cases[i].damaged ? 5 : 0);
	}
}

TEST(journal_finds_its_end_behind_a_very_long_torn_line)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf b = BUF_MAX(1 << 20);
	struct journal_state st;
	struct err err = { 0 };

	fill(&d);
	auto_buf struct buf good = content(&d);
	CHECK_OK(buf_add(&b, buf_str(&good), &err));
	for (int i = 0; i < 200 * 1024; i++)
		CHECK_OK(buf_addc(&b, 'x', &err));
	test_write(&d, JOURNAL_NAME, buf_str(&b));
	auto_journal struct journal *j = opened(&d, &st);

	CHECK_INT(st.torn_bytes, 200 * 1024);
	CHECK_INT(st.lines, 3);
	CHECK_OK(note(j, "after", &err));
	CHECK_INT(verify(&d).bad_line, 0);
}

TEST(journal_append_adds_a_whole_line_or_none)
{
	static const int errnos[] = { ENOSPC, EIO };

	for (size_t e = 0; e < COUNT(errnos); e++)
		for (int nth = 1, fired = 1; fired; nth++) {
			auto_dir struct test_dir d = test_dir_new();
			struct journal_state st;
			struct err err = { 0 };

			fill(&d);
			auto_journal struct journal *j = opened(&d, &st);
			fault_arm(nth, errnos[e]);
			int r = note(j, "four", &err);
			fired = fault_disarm();
			CHECK(fired || r == 0);
			struct journal_report rep = verify(&d);
			CHECK_INT(rep.bad_line, 0);
			CHECK_INT(rep.torn_bytes, 0);
			CHECK_INT(rep.chained, r == 0 ? 4 : 3);
		}
}

TEST(journal_does_not_follow_a_link_or_open_a_fifo)
{
	auto_dir struct test_dir d = test_dir_new();
	struct journal *j = NULL;
	struct journal_state st;

	CHECK(symlinkat("/etc/hostname", d.fd, JOURNAL_NAME) == 0);
	CHECK(journal_open(d.fd, &j, &st, ERR_DISCARD) < 0);
}
