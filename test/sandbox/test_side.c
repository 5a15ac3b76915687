/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/side.h"
#include "test/lib/test.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fn_gives(const struct side *s, void *self, struct err *err)
{
	(void)self;
	return side_give(s, STDERR_FILENO, err);
}

static int fn_fails(const struct side *s, void *self, struct err *err)
{
	(void)s;
	(void)self;
	return err_set(err, ERR_CONFLICT, "the moon is full");
}

static int fn_fails_late(const struct side *s, void *self, struct err *err)
{
	TRY(fn_gives(s, self, err));
	return fn_fails(s, self, err);
}

static int fn_dies(const struct side *s, void *self, struct err *err)
{
	(void)s;
	(void)self;
	(void)err;
	_exit(0);
}

static int fn_gives_more(const struct side *s, void *self, struct err *err)
{
	TRY(fn_gives(s, self, err));
	return fn_gives(s, self, err);
}

/* Runs fn beside a process that takes a descriptor and waits for the end. *let_go is set when nobody but that process holds an end. */
static void run_beside(side_fn *fn, int take, int end, const char *says)
{
	bool *let_go = mmap(NULL, sizeof(*let_go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct err err = { 0 };
	struct side s;
	int st = 0;

	CHECK(let_go != MAP_FAILED);
	CHECK_OK(side_open(&s, &err));
	pid_t pid = fork();
	if (pid == 0) {
		int fd = -1, r;

		close(s.give);
		r = side_take(&s, &fd, &err);
		if (r != take || (fd >= 0) != (r == 0))
			_exit(1);
		if (r == 0 && (side_end(&s, &err) != end || (end == 0 && !*let_go)))
			_exit(2);
		_exit(strstr(err.msg, says) ? 0 : 3);
	}
	CHECK(pid > 0);
	close(s.take);
	CHECK_OK(side_run(&s, -1, fn, NULL, &err));
	*let_go = true;
	close(s.give);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(st, 0);
	munmap(let_go, sizeof(*let_go));
}

TEST(side_is_waited_for_until_it_is_gone_and_what_failed_is_heard)
{
	run_beside(fn_gives, 0, 0, "");
	run_beside(fn_fails, -ERR_CONFLICT, 0, "the moon is full");
	run_beside(fn_fails_late, 0, -ERR_CONFLICT, "the moon is full");
	run_beside(fn_dies, -ERR_CLOSED, 0, "died");
	run_beside(fn_gives_more, 0, -ERR_SYS, "more than was taken");
}

/* It says itself why it is gone. */
TEST(side_gives_to_nobody_without_an_error)
{
	struct err err = { 0 };
	struct side s;

	CHECK_OK(side_open(&s, &err));
	close(s.take);
	CHECK_OK(side_give(&s, STDERR_FILENO, &err));
	close(s.give);
}
