/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/layout.h"
#include "session/words.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(repo_id_tells_a_slash_from_a_dash_and_never_grows_long)
{
	static const struct { const char *path, *want; } cases[] = {
		{ "/home/a/b", "-home-a-b-e" },
		{ "/home/a-b", "-home-a-b-c" },
		{ "/", "--8" },
		{ "/a-b/c-d/e", "-a-b-c-d-e-a8" },
	};
	auto_buf struct buf a = BUF_MAX(4096), b = BUF_MAX(4096);
	char deep[200] = "/";

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf got = BUF_MAX(4096);

		CHECK(session_repo_id(str_from(cases[i].path), &got, ERR_DISCARD) == 0);
		CHECK_STR(buf_str(&got), str_from(cases[i].want));
	}
	memset(deep + 1, 'x', sizeof(deep) - 2);
	deep[60] = '/';
	CHECK(session_repo_id(str_from(deep), &a, ERR_DISCARD) == 0);
	CHECK(a.n <= 100);
	deep[1] = 'y';
	CHECK(session_repo_id(str_from(deep), &b, ERR_DISCARD) == 0);
	CHECK(!str_eq(buf_str(&a), buf_str(&b)));
	CHECK(session_repo_id(STR("home"), &a, ERR_DISCARD) == -ERR_INVALID);
}

TEST(no_word_begins_another)
{
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 300; k++) {
			const char *a = word_adjective(i), *b = word_adjective(k), *n = word_noun(i), *m = word_noun(k);

			CHECK(a == b || !str_starts(str_from(a), str_from(b)));
			CHECK(n == m || !str_starts(str_from(n), str_from(m)));
		}
}

TEST(session_ids_are_one_plain_component)
{
	static const char *const good[] = { "sunny-otter-K4Q7B2", "a", "x_y", "fan-l1", "0" };
	static const char *const bad[] = { "", ".", "..", "a/b", "a\\b", "-x", ".x", "a.b", "a b", "a\nb", "x.lock",
		"caf\xC3\xA9" };

	for (size_t i = 0; i < COUNT(good); i++)
		CHECK(session_id_ok(str_from(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		CHECK(!session_id_ok(str_from(bad[i])));
}

static void made(const char *dir, enum session_kind kind, const char *id, int64_t mtime_s)
{
	auto_arena struct arena *mem = arena_new();
	struct session_ref ref = { .kind = kind };
	struct timespec times[2] = { { .tv_sec = mtime_s }, { .tv_sec = mtime_s } };
	struct err err = { 0 };

	snprintf(ref.id, sizeof(ref.id), "%s", id);
	CHECK_OK(session_create(dir, &ref, &err));
	if (mtime_s == 0)
		return;
	const char *log = session_path(dir, &ref, "record/logs.jsonl", mem);
	autoclose int fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && futimens(fd, times) == 0);
}

TEST(sessions_are_found_by_prefix_over_all_kinds)
{
	static const struct { const char *word; unsigned kinds; int want; const char *id, *msg; } cases[] = {
		{ "sunny-otter-AAAAA1", SESSION_ANY, 0, "sunny-otter-AAAAA1", "" },
		{ "sunny-ot", SESSION_ANY, 0, "sunny-otter-AAAAA1", "" },
		{ "sunny", SESSION_ANY, -ERR_AMBIGUOUS, "", "\"sunny\" fits 2 sessions: asks/sunny-owl-BBBBB2, runs/sunny-otter-AAAAA1" },
		{ "calm", SESSION_ANY, 0, "calm", "" },
		{ "cal", SESSION_ANY, -ERR_AMBIGUOUS, "", "\"cal\" fits 2 sessions: runs/calm, plans/calm-elk-CCCCC3" },
		{ "", SESSION_ANY, 0, "sunny-owl-BBBBB2", "" },
		{ "", 1u << SESSION_RUN, 0, "sunny-otter-AAAAA1", "" },
		{ "sunny-ow", 1u << SESSION_RUN, -ERR_INVALID, "", "sunny-owl-BBBBB2 is an ask" },
		{ "", 1u << SESSION_MACHINE, -ERR_NOENT, "", "there is no machine of this repository yet" },
		{ "nobody", SESSION_ANY, -ERR_NOENT, "", "no session is called \"nobody\" or begins so" },
		{ "husk", SESSION_ANY, -ERR_NOENT, "", "no session is called \"husk\" or begins so" },
	};
	auto_dir struct test_dir d = test_dir_new();

	made(d.path, SESSION_RUN, "sunny-otter-AAAAA1", 300);
	made(d.path, SESSION_ASK, "sunny-owl-BBBBB2", 400);
	made(d.path, SESSION_RUN, "calm", 200);
	made(d.path, SESSION_PLAN, "calm-elk-CCCCC3", 100);
	made(d.path, SESSION_RUN, "husk", 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct session_ref ref = { 0 };
		struct err err = { 0 };

		CHECK_INT(session_resolve(d.path, str_from(cases[i].word), cases[i].kinds, &ref, &err), cases[i].want);
		CHECK_STR(str_from(ref.id), str_from(cases[i].id));
		CHECK_STR(str_from(err.msg), str_from(cases[i].msg));
	}
}

TEST(session_create_makes_private_directories_once)
{
	auto_dir struct test_dir d = test_dir_new();
	struct session_ref ref;
	struct err err = { 0 };
	struct stat st;

	CHECK_OK(session_mint(d.path, SESSION_RUN, &ref, &err));
	CHECK(session_id_ok(str_from(ref.id)));
	CHECK_OK(session_create(d.path, &ref, &err));
	CHECK_INT(session_create(d.path, &ref, &err), -ERR_EXIST);
	auto_arena struct arena *mem = arena_new();
	CHECK_STR(str_from(err.msg), str_printf(mem, "there is a session called \"%s\" already", ref.id));
	CHECK(stat(session_path(d.path, &ref, "answers", mem), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0700);
}

TEST(a_lock_names_its_owner_and_dies_with_it)
{
	auto_dir struct test_dir d = test_dir_new();
	struct session_ref ref = { .kind = SESSION_RUN, .id = "calm" };
	struct err err = { 0 };
	int ready[2], fd = -1;
	char c;

	made(d.path, SESSION_RUN, "calm", 100);
	CHECK(!session_is_live(d.path, &ref));
	CHECK(pipe(ready) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		int mine;

		if (session_lock(d.path, &ref, &mine, ERR_DISCARD) == 0 && write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	CHECK_INT(session_lock(d.path, &ref, &fd, &err), -ERR_BUSY);
	auto_arena struct arena *mem = arena_new();
	CHECK_STR(str_from(err.msg), str_printf(mem, "calm is running, as process %d", (int)pid));
	CHECK(session_is_live(d.path, &ref));
	CHECK_INT(session_owner(d.path, &ref), pid);

	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(!session_is_live(d.path, &ref)); /* whatever its number is used for now */
	CHECK_INT(session_owner(d.path, &ref), 0);
	CHECK_OK(session_lock(d.path, &ref, &fd, &err));
	CHECK_INT(session_owner(d.path, &ref), getpid());
	close(fd);
	close(ready[0]);
	close(ready[1]);
}
