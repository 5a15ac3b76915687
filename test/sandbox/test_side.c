/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/side.h"
#include "test/lib/test.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fn_done(const struct side *s, void *self, struct err *err)
{
	(void)self;
	return side_asked(s, err) == 1 ? 0 : -ERR_SYS;
}

static int fn_fails(const struct side *s, void *self, struct err *err)
{
	(void)self;
	return side_asked(s, err) != 1 ? -ERR_SYS : err_set(err, ERR_CONFLICT, "the moon is full");
}

/* The question is there, and stays unread. */
static int fn_fails_unasked(const struct side *s, void *self, struct err *err)
{
	struct pollfd p = { .fd = s->give, .events = POLLIN };

	(void)self;
	return poll(&p, 1, -1) != 1 ? -ERR_SYS : err_set(err, ERR_CONFLICT, "the moon is new");
}

static int fn_dies(const struct side *s, void *self, struct err *err)
{
	(void)self;
	_exit(side_asked(s, err));
}

static int fn_says_more(const struct side *s, void *self, struct err *err)
{
	(void)self;
	return side_asked(s, err) == 1 && send(s->give, "!", 1, 0) == 1 ? 0 : -ERR_SYS;
}

/* Runs fn beside a process that asks and waits, late: not before nobody holds the other end. *let_go is set when nobody but that process holds an end. */
static void run_beside(side_fn *fn, bool late, int wait, int end, const char *says)
{
	bool *let_go = mmap(NULL, sizeof(*let_go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pollfd gone = { .events = 0 };
	struct err err = { 0 };
	struct side s;
	int st = 0;

	CHECK(let_go != MAP_FAILED);
	CHECK_OK(side_open(&s, &err));
	pid_t pid = fork();
	if (pid == 0) {
		close(s.give);
		gone.fd = s.take;
		if (side_ask(&s, &err) < 0 || (late && poll(&gone, 1, -1) != 1) || side_wait(&s, &err) != wait || !strstr(err.msg, says))
			_exit(1);
		_exit(wait < 0 || (side_end(&s, &err) == end && (end < 0 || *let_go)) ? 0 : 2);
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

TEST(side_is_waited_for_until_it_has_succeeded_and_then_until_it_is_gone)
{
	run_beside(fn_done, false, 0, 0, "");
	run_beside(fn_fails, false, -ERR_CONFLICT, 0, "the moon is full");
	run_beside(fn_fails_unasked, true, -ERR_CONFLICT, 0, "the moon is new");
	run_beside(fn_dies, false, -ERR_CLOSED, 0, "died");
	run_beside(fn_says_more, false, 0, -ERR_SYS, "");
}

TEST(side_that_waits_to_be_asked_hears_that_nobody_will)
{
	struct err err = { 0 };
	struct side s;

	CHECK_OK(side_open(&s, &err));
	close(s.take);
	CHECK_INT(side_asked(&s, &err), 0);
	close(s.give);
}
