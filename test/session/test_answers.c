/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/answers.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <string.h>
#include <sys/stat.h>

static size_t files(const struct test_dir *d)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *list;
	size_t n = 0;

	CHECK(dir_list(d->fd, mem, 100, &list, &n, ERR_DISCARD) == 0);
	return n;
}

TEST(what_is_said_first_is_heard_first_and_once)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf text = BUF_MAX(ANSWER_TEXT_MAX);
	enum answer_kind kind;
	struct err err = { 0 };

	CHECK_OK(answers_tell(dir.fd, ANSWER_STEER, STR("use tabs\n"), &err));
	CHECK_OK(answers_tell(dir.fd, ANSWER_COMPACT, STR(""), &err));
	CHECK_OK(answers_tell(dir.fd, ANSWER_STEER, STR("and spaces"), &err));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 1);
	CHECK_INT(kind, ANSWER_STEER);
	CHECK_STR(buf_str(&text), STR("use tabs"));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 1);
	CHECK_INT(kind, ANSWER_COMPACT);
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 1);
	CHECK_STR(buf_str(&text), STR("and spaces"));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 0);
	CHECK_INT(files(&dir), 0);
}

TEST(what_is_no_word_of_a_front_end_stays_where_it_is)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf text = BUF_MAX(ANSWER_TEXT_MAX);
	enum answer_kind kind;
	struct err err = { 0 };

	test_write(&dir, "approval-1", STR("yes"));
	test_write(&dir, "steer", STR("no stamp"));
	test_write(&dir, "steering.1-1", STR("no such word"));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 0);
	CHECK_INT(files(&dir), 3);
	test_write(&dir, "stop.request", STR("now"));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 1);
	CHECK_INT(kind, ANSWER_STOP);
	CHECK_STR(buf_str(&text), STR("")); /* that file always meant: after the step */
}

TEST(a_word_that_cannot_be_read_is_gone_and_holds_up_nothing)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf text = BUF_MAX(64);
	enum answer_kind kind;
	struct err err = { 0 };
	char longer[100];

	memset(longer, 'x', sizeof(longer));
	CHECK_OK(answers_tell(dir.fd, ANSWER_STEER, str_of(longer, sizeof(longer)), &err));
	CHECK_INT(mkfifoat(dir.fd, "steer.0-0", 0600), 0);
	CHECK_OK(answers_tell(dir.fd, ANSWER_BTW, STR("why?"), &err));
	CHECK_INT(answers_take(dir.fd, &kind, &text, &err), 1);
	CHECK_INT(kind, ANSWER_BTW);
	CHECK_STR(buf_str(&text), STR("why?"));
	CHECK_INT(files(&dir), 0);
}

TEST(words_that_are_none_or_too_many_are_refused_where_they_are_said)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf longer = BUF_MAX(2 * ANSWER_TEXT_MAX);
	struct err err = { 0 };

	while (longer.n <= ANSWER_TEXT_MAX)
		CHECK(buf_addz(&longer, "word", ERR_DISCARD) == 0);
	CHECK_INT(answers_tell(dir.fd, ANSWER_STEER, STR(" \n"), &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("steer needs words"));
	CHECK_INT(answers_tell(dir.fd, ANSWER_STEER, buf_str(&longer), &err), -ERR_LIMIT);
	CHECK_INT(files(&dir), 0);
}
