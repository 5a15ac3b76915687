/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/chan.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "sys/proc.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

static size_t entries(const struct test_dir *d)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *list;
	size_t n = 0;

	CHECK(dir_list(d->fd, mem, 100, &list, &n, ERR_DISCARD) == 0);
	return n;
}

TEST(file_replace_leaves_the_old_or_the_new_file_and_no_other)
{
	for (int nth = 1, fired = 1; fired; nth++) {
		auto_dir struct test_dir dir = test_dir_new();

		test_write(&dir, "f", STR("old"));
		fault_arm(nth, EIO);
		int r = file_replace(dir.fd, "f", STR("new"), 0644, ERR_DISCARD);
		fired = fault_disarm();

		CHECK(fired || r == 0);
		CHECK(file_is(dir.fd, "f", STR("new")) || (r < 0 && file_is(dir.fd, "f", STR("old"))));
		CHECK_INT(entries(&dir), 1); /* no temporary file stays behind */
	}
}

TEST(file_read_refuses_what_is_no_regular_file_at_once)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf b = BUF_MAX(16);
	struct err err = { 0 };

	CHECK(mkfifoat(dir.fd, "pipe", 0600) == 0);
	CHECK_INT(file_read(dir.fd, "pipe", &b, &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("pipe is not a regular file"));
	CHECK_INT(file_read(AT_FDCWD, "/dev/zero", &b, &err), -ERR_INVALID);
	CHECK_INT(file_read(dir.fd, "absent", &b, &err), -ERR_NOENT);
}

TEST(file_read_stops_at_the_limit_and_gives_nothing)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf exact = BUF_MAX(5), small = BUF_MAX(4);
	struct err err = { 0 };

	test_write(&dir, "f", STR("12345"));
	CHECK_OK(file_read(dir.fd, "f", &exact, &err));
	CHECK_STR(buf_str(&exact), STR("12345"));
	CHECK_INT(file_read(dir.fd, "f", &small, &err), -ERR_LIMIT);
	CHECK_INT(small.n, 0);
}

TEST(dir_remove_tree_follows_no_link)
{
	auto_dir struct test_dir dir = test_dir_new();
	struct err err = { 0 };

	test_write(&dir, "keep/a", STR("x"));
	test_write(&dir, "gone/b/c", STR("x"));
	CHECK(symlinkat("../keep", dir.fd, "gone/link") == 0);
	CHECK_OK(dir_remove_tree(dir.fd, "gone", &err));
	CHECK(file_is(dir.fd, "keep/a", STR("x")));
	CHECK_INT(entries(&dir), 1);
}

/* Deeper than descriptors reach, and closed to its owner: what a hostile program leaves behind. */
TEST(dir_remove_tree_removes_what_is_deep_or_closed)
{
	auto_dir struct test_dir dir = test_dir_new();
	autoclose int at = dup(dir.fd);
	struct err err = { 0 };

	test_write(&dir, "gone/1/f", STR("x")); /* a name that the removal would like to have */
	for (int i = 0; i < 1500; i++) {
		const char *name = i == 0 ? "gone" : "d";

		CHECK(mkdirat(at, name, 0700) == 0 || i == 0);
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		CHECK(next >= 0);
		close(at);
		at = next;
	}
	CHECK(mkdirat(at, "closed", 0700) == 0 && mkdirat(at, "closed/in", 0700) == 0);
	CHECK(fchmodat(at, "closed", 0, 0) == 0);
	CHECK_OK(dir_remove_tree(dir.fd, "gone", &err));
	CHECK_INT(entries(&dir), 0);
}

static void plant_links(const struct test_dir *dir)
{
	static const struct { const char *to, *at; } links[] = { { "in/file", "good" }, { "../in/file", "deep/up" },
		{ "deep", "dirlink" }, { "../outside", "out" }, { "/etc/passwd", "abs" }, { "loop", "loop" },
		{ "deep/../../x", "sly" }, { "nowhere", "dangling" }, { "dirlink/up", "chain" } };

	test_write(dir, "in/file", STR("x"));
	test_write(dir, "deep/er/f", STR("x"));
	for (size_t i = 0; i < COUNT(links); i++)
		CHECK(symlinkat(links[i].to, dir->fd, links[i].at) == 0);
}

TEST(file_openat2_by_hand_opens_what_the_kernel_opens_and_fails_as_it_fails)
{
	static const char *const names[] = { "in/file", "in", "in/", ".", "in//file", "./in/./file", "absent", "in/absent",
		"in/file/x", "good", "good/x", "deep/up", "dirlink", "dirlink/er/f", "dirlink/up", "out", "abs", "loop", "sly",
		"dangling", "chain", "in/../in/file", "..", "../x", "deep/er/../../..", "/etc/passwd", "" };
	static const int flags[] = { O_RDONLY, O_PATH, O_RDONLY | O_NOFOLLOW, O_PATH | O_NOFOLLOW, O_PATH | O_DIRECTORY,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW };
	static const uint64_t resolve[] = { RESOLVE_BENEATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	auto_dir struct test_dir dir = test_dir_new();

	plant_links(&dir);
	for (size_t i = 0; i < COUNT(names) * COUNT(flags) * COUNT(resolve); i++) {
		const char *name = names[i % COUNT(names)];
		int f = flags[i / COUNT(names) % COUNT(flags)] | O_CLOEXEC;
		uint64_t how = resolve[i / COUNT(names) / COUNT(flags)];
		struct stat a = { 0 }, b = { 0 };

		/* Without links the kernel walks ".." beneath; no caller of ours asks for that, so it is refused. */
		if ((how & RESOLVE_NO_SYMLINKS) && strcmp(name, "in/../in/file") == 0)
			continue;
		autoclose int native = file_openat2(dir.fd, name, f, 0, how);
		int sys = native < 0 ? errno : 0;
		fault_arm(1, ENOSYS);
		autoclose int hand = file_openat2(dir.fd, name, f, 0, how);
		int mine = hand < 0 ? errno : 0;
		CHECK_INT(fault_disarm(), 1);
		char got[128], want[128];
		snprintf(got, sizeof(got), "%s, flags %o: %s", name, (unsigned)f, strerror(mine));
		snprintf(want, sizeof(want), "%s, flags %o: %s", name, (unsigned)f, strerror(sys));
		if (name[0] == '\0' || name[0] == '/') /* not ours to open by hand: refused either way */
			CHECK(native < 0 && hand < 0);
		else
			CHECK_STR(str_from(got), str_from(want));
		if (native >= 0 && hand >= 0) {
			CHECK(fstat(native, &a) == 0 && fstat(hand, &b) == 0);
			CHECK(a.st_ino == b.st_ino && a.st_mode == b.st_mode);
		}
	}
}

TEST(path_is_clean_takes_plain_absolute_paths_only)
{
	static const struct {
		const char *path;
		bool clean;
	} cases[] = {
		{ "/", true }, { "/a", true }, { "/a/b.c", true }, { "", false }, { "a", false }, { "/a/", false },
		{ "//a", false }, { "/a//b", false }, { "/./a", false }, { "/a/..", false }, { "/a/.b", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(path_is_clean(str_from(cases[i].path)), cases[i].clean);
	CHECK(!path_is_clean(STR("/a\0b")));
}

TEST(path_is_within_ends_at_whole_names)
{
	static const struct { const char *path, *dir; bool within; } cases[] = {
		{ "/a/b", "/a", true }, { "/a", "/a", true }, { "/ab", "/a", false }, { "/", "/a", false },
		{ "/a", "/", true }, { "/", "/", true }, { "/a/b", "/a/", true }, { "/a", "/a/b", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(path_is_within(cases[i].path, cases[i].dir), cases[i].within);
}

TEST(chan_carries_a_body_and_descriptors_and_refuses_a_short_message)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	autoclose int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(chan_send(pair[0], 7, STR("hi\0there"), &fd, 1, &err));
	CHECK_OK(chan_recv(pair[1], m, &err));
	CHECK_INT(m->type, 7);
	CHECK_STR(m->body, STR("hi\0there"));
	CHECK_INT(m->nfds, 1);
	CHECK(fcntl(m->fds[0], F_GETFD) == FD_CLOEXEC);
	chan_msg_fini(m);

	CHECK(write(pair[0], "short", 5) == 5);
	CHECK_INT(chan_recv(pair[1], m, &err), -ERR_PROTOCOL);
	close(pair[0]);
	CHECK_INT(chan_recv(pair[1], m, &err), -ERR_CLOSED);
	close(pair[1]);
}

TEST(chan_keeps_no_descriptor_of_a_message_that_is_none)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr msg = { .msg_control = control.space, .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct err err = { 0 };
	int pair[2], pipe_fds[2];
	char byte;

	CHECK_OK(chan_pair(pair, &err));
	CHECK(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == 0);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &pipe_fds[1], sizeof(int));
	CHECK(sendmsg(pair[0], &msg, 0) == 0);
	close(pipe_fds[1]);
	CHECK_INT(chan_recv(pair[1], m, &err), -ERR_PROTOCOL);
	CHECK(read(pipe_fds[0], &byte, 1) == 0); /* nobody holds the other end */
	close(pipe_fds[0]);
	close(pair[0]);
	close(pair[1]);
}

TEST(chan_takes_a_message_of_nothing_for_a_broken_rule_and_for_an_end_only_an_end)
{
	static const struct {
		const char *why;
		int empty; /* messages of nothing */
		bool whole, ours; /* with a whole one behind, and one of ours that was not read */
		int shut;  /* how the other side ends: SHUT_..., -1: not at all, -2: it closes */
		int want[3];
	} cases[] = {
		{ "one, from who stays", 1, false, false, -1, { -ERR_PROTOCOL, -ERR_BUSY, -ERR_BUSY } },
		{ "two", 2, false, false, -1, { -ERR_PROTOCOL, -ERR_PROTOCOL, -ERR_BUSY } },
		{ "what follows is a message still", 1, true, false, -1, { -ERR_PROTOCOL, 0, -ERR_BUSY } },
		{ "one, and with ours unread", 1, false, true, -1, { -ERR_PROTOCOL, -ERR_BUSY, -ERR_BUSY } },
		{ "an end", 0, false, false, -2, { -ERR_CLOSED, -ERR_CLOSED, -ERR_CLOSED } },
		{ "an end, with ours unread", 0, false, true, -2, { -ERR_CLOSED, -ERR_CLOSED, -ERR_CLOSED } },
		{ "a half of an end", 0, false, false, SHUT_WR, { -ERR_CLOSED, -ERR_CLOSED, -ERR_CLOSED } },
		{ "both halves", 0, false, false, SHUT_RDWR, { -ERR_CLOSED, -ERR_CLOSED, -ERR_CLOSED } },
		{ "last words", 0, true, true, -2, { 0, -ERR_CLOSED, -ERR_CLOSED } },
		{ "one, and an end: it is one", 1, false, false, -2, { -ERR_CLOSED, -ERR_CLOSED, -ERR_CLOSED } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		autofree struct chan_msg *m = mem_alloc(sizeof(*m));
		struct err err = { 0 };
		int pair[2];

		CHECK_OK(chan_pair(pair, &err));
		CHECK_OK(chan_nonblock(pair[1], &err));
		if (cases[i].ours)
			CHECK_OK(chan_send(pair[1], 1, STR("never read"), NULL, 0, &err));
		for (int n = 0; n < cases[i].empty; n++)
			CHECK(send(pair[0], "", 0, 0) == 0);
		if (cases[i].whole)
			CHECK_OK(chan_send(pair[0], 1, STR("x"), NULL, 0, &err));
		if (cases[i].shut == -2)
			base_close_fd(&pair[0]);
		else if (cases[i].shut >= 0)
			CHECK(shutdown(pair[0], cases[i].shut) == 0);
		for (size_t k = 0; k < COUNT(cases[i].want); k++) {
			int r = chan_recv(pair[1], m, &err);

			if (r != cases[i].want[k])
				print_message("%s, %zu\n", cases[i].why, k);
			CHECK_INT(r, cases[i].want[k]);
		}
		base_close_fd(&pair[0]);
		close(pair[1]);
	}
}

TEST(chan_gives_what_a_peer_sent_last_though_it_left_ours_unread)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(chan_send(pair[0], 1, STR("never read"), NULL, 0, &err));
	CHECK_OK(chan_send(pair[1], 2, STR("last words"), NULL, 0, &err));
	close(pair[1]);
	CHECK_OK(chan_recv(pair[0], m, &err));
	CHECK_STR(m->body, STR("last words"));
	CHECK_INT(chan_recv(pair[0], m, &err), -ERR_CLOSED);
	close(pair[0]);
}

TEST(memfd_read_takes_sealed_ones_only)
{
	auto_buf struct buf b = BUF_MAX(64);
	autoclose int sealed = -1, file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err err = { 0 };

	CHECK_OK(memfd_seal("t", STR("bytes"), &sealed, &err));
	CHECK_OK(memfd_read(sealed, &b, &err));
	CHECK_STR(buf_str(&b), STR("bytes"));
	CHECK(write(sealed, "x", 1) < 0);
	CHECK_INT(memfd_read(file, &b, &err), -ERR_PROTOCOL);
}

TEST(proc_run_captures_both_streams_and_the_status)
{
	static const char *const argv[] = { "/bin/sh", "-c", "cat; echo oops >&2; exit 3", NULL };
	struct proc_spec spec = { .argv = argv };
	auto_buf struct buf out = BUF_MAX(4096), errs = BUF_MAX(4096);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR("input"), 10000, &out, &errs, &st, &err));
	CHECK_STR(buf_str(&out), STR("input"));
	CHECK_STR(buf_str(&errs), STR("oops\n"));
	CHECK_INT(st.code, 3);
}

TEST(proc_run_survives_a_program_that_does_not_read_its_input)
{
	const char *argv[] = { "/bin/false", NULL };
	struct proc_spec spec = { .argv = argv };
	auto_buf struct buf input = BUF_MAX(1024 * 1024), out = BUF_MAX(64), errs = BUF_MAX(64);
	struct proc_status st = { 0 };
	struct err err = { 0 };

	while (input.n < input.max)
		CHECK_OK(buf_add(&input, STR("0123456789abcdef"), &err));
	void (*before)(int) = signal(SIGPIPE, SIG_DFL);
	CHECK_OK(proc_run(&spec, buf_str(&input), 10000, &out, &errs, &st, &err));
	CHECK(signal(SIGPIPE, before) == SIG_DFL);
	CHECK_INT(st.code, 1);
}

TEST(proc_run_says_which_step_failed)
{
	static const char *const argv[] = { "/no/such/program", NULL };
	static const char *const ok[] = { "/bin/true", NULL };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(64);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_INT(proc_run(&(struct proc_spec){ .argv = argv }, STR(""), 0, &out, &errs, &st, &err), -ERR_NOENT);
	CHECK_STR(str_from(err.msg), STR("run /no/such/program: execute: No such file or directory"));
	CHECK_INT(proc_run(&(struct proc_spec){ .argv = ok, .cwd = "/no/dir" }, STR(""), 0, &out, &errs, &st, &err),
		-ERR_NOENT);
	CHECK_STR(str_from(err.msg), STR("run /bin/true: chdir /no/dir: No such file or directory"));
}

TEST(proc_run_ends_a_program_at_its_deadline)
{
	static const char *const argv[] = { "/bin/sh", "-c", "sleep 1000 & sleep 1000", NULL };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(64);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_INT(proc_run(&(struct proc_spec){ .argv = argv }, STR(""), 50, &out, &errs, &st, &err), -ERR_TIMEOUT);
}

TEST(proc_run_holds_the_deadline_of_a_program_that_closed_its_output)
{
	static const char *const argv[] = { "/bin/sh", "-c", "exec >&- 2>&-; sleep 1000", NULL };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(64);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_INT(proc_run(&(struct proc_spec){ .argv = argv }, STR(""), 200, &out, &errs, &st, &err), -ERR_TIMEOUT);
}

TEST(proc_run_does_not_wait_for_a_daemon_that_holds_the_pipe)
{
	static const char *const argv[] = { "/bin/sh", "-c", "setsid sleep 20 & echo done", NULL };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(64);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&(struct proc_spec){ .argv = argv }, STR(""), 15000, &out, &errs, &st, &err));
	CHECK_STR(buf_str(&out), STR("done\n"));
}

TEST(proc_spawn_hands_over_exactly_the_named_descriptors)
{
	static const char *const argv[] = { "/bin/sh", "-c", "cat <&3; ls /proc/self/fd | tr '\\n' ' '", NULL };
	auto_buf struct buf out = BUF_MAX(256), errs = BUF_MAX(256);
	autoclose int file = -1, leak = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(memfd_seal("t", STR("three "), &file, &err));
	CHECK(leak >= 0 && lseek(file, 0, SEEK_SET) == 0);
	CHECK_OK(proc_run(&(struct proc_spec){ .argv = argv, .fds = &file, .nfds = 1 }, STR(""), 10000, &out, &errs,
		&st, &err));
	CHECK_STR(buf_str(&out), STR("three 0 1 2 3 4 ")); /* 4: the directory ls reads */
}

struct ticks {
	struct loop *l;
	int n;
};

static int tick(void *self, uint32_t events, struct err *err)
{
	struct ticks *t = self;

	CHECK_INT(events, 0);
	if (++t->n == 3) {
		loop_quit(t->l);
		return 0;
	}
	return loop_after(t->l, 1, tick, t, err);
}

TEST(loop_timers_fire_again_when_set_again)
{
	struct ticks t = { 0 };
	struct err err = { 0 };

	CHECK_OK(loop_open(&t.l, &err));
	CHECK_OK(loop_after(t.l, 1, tick, &t, &err));
	CHECK_OK(loop_run(t.l, &err));
	CHECK_INT(t.n, 3);
	loop_close(t.l);
}

static int end_loop(void *self, uint32_t events, struct err *err)
{
	struct ticks *t = self;

	(void)err;
	CHECK(events & EPOLLIN);
	t->n += 10;
	loop_quit(t->l);
	return 0;
}

TEST(loop_watches_wake_and_unwatched_ones_do_not)
{
	struct ticks t = { 0 };
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(loop_open(&t.l, &err));
	CHECK_OK(loop_watch(t.l, pair[0], EPOLLIN, end_loop, &t, &err));
	CHECK_OK(chan_send(pair[1], 1, STR(""), NULL, 0, &err));
	CHECK_OK(loop_run(t.l, &err));
	CHECK_INT(t.n, 10);
	loop_unwatch(t.l, pair[0]);
	t.n = 2;
	CHECK_OK(loop_after(t.l, 1, tick, &t, &err));
	CHECK_OK(loop_run(t.l, &err));
	CHECK_INT(t.n, 3);
	loop_close(t.l);
	close(pair[0]);
	close(pair[1]);
}
