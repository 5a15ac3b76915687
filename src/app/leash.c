/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/leash.h"

#include "git/gitop.h"
#include "role/monitor.h"
#include "sys/chan.h"
#include "sys/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORD_MAX (SESSION_ID_MAX + 16)
#define ID       "id "
#define STASH    "stash "
_Static_assert(WORD_MAX > sizeof(STASH) + 64, "a commit's name fits a word");

/* The terminal's signals reach the run by themselves; here they must not end the wait for it. */
static const int ignored[] = { SIGINT, SIGQUIT, SIGTSTP, SIGTTOU, SIGHUP };

static int ignore_signals(void (*how)(int), struct err *err)
{
	for (size_t i = 0; i < COUNT(ignored); i++)
		if (signal(ignored[i], how) == SIG_ERR)
			return err_sys(err, errno, "ignore a signal of the terminal");
	return 0;
}

int leash_begin(struct run_request *rq, struct leash *out, struct err *err)
{
	int pair[2], r;

	TRY(chan_pair(pair, err));
	autoclose int ours = pair[0], theirs = pair[1];
	fflush(NULL); /* what is buffered would be printed twice */
	TRY(r = proc_fork(&out->run, err));
	if (r == 1) {
		rq->leash_fd = take_fd(&theirs);
		return 1;
	}
	out->fd = take_fd(&ours);
	return ignore_signals(SIG_IGN, err);
}

void leash_tell_id(int leash_fd, const char *run_id)
{
	char word[WORD_MAX];

	if (leash_fd < 0)
		return;
	snprintf(word, sizeof(word), ID "%s", run_id);
	(void)!write(leash_fd, word, strlen(word)); /* it is only asked for the next instruction with it */
}

void leash_tell_stash(int leash_fd, struct str sha)
{
	char word[WORD_MAX];

	if (leash_fd < 0)
		return;
	snprintf(word, sizeof(word), STASH STR_FMT, STR_ARG(sha));
	(void)!write(leash_fd, word, strlen(word)); /* the ref is there whoever knows of it */
}

/* One word of the run. False: it has ended. */
static bool hear(const struct leash *l, struct leash_end *end)
{
	char word[WORD_MAX];
	ssize_t n = recv(l->fd, word, sizeof(word) - 1, MSG_DONTWAIT);
	struct str s;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	s = str_of(word, (size_t)n);
	if (str_eqz(s, LEASH_DETACHED))
		end->detached = true;
	else if (str_eqz(s, LEASH_UNDO))
		end->undo = true;
	else if (str_eqz(s, LEASH_ASIDE))
		end->aside = true;
	else if (str_starts(s, STR(ID)) && session_id_ok(str_skip(s, strlen(ID))))
		snprintf(end->run_id, sizeof(end->run_id), STR_FMT, STR_ARG(str_skip(s, strlen(ID))));
	else if (str_starts(s, STR(STASH)) && git_sha_ok(str_skip(s, strlen(STASH))))
		snprintf(end->stash, sizeof(end->stash), STR_FMT, STR_ARG(str_skip(s, strlen(STASH))));
	return n > 0;
}

/* A terminal that closes tells its session's first process, and behind a su or a script that one may tell nobody. */
static int watch(const struct leash *l, int sigs, struct leash_end *end, struct err *err)
{
	int terminal = isatty(STDIN_FILENO) ? STDIN_FILENO : -1;

	for (bool open = true; open && !end->detached;) {
		struct pollfd p[] = { { l->fd, POLLIN, 0 }, { sigs, POLLIN, 0 }, { terminal, 0, 0 } };
		struct signalfd_siginfo si;

		if (poll(p, COUNT(p), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "wait for the run");
		if (p[1].revents & POLLIN && read(sigs, &si, sizeof(si)) == (ssize_t)sizeof(si))
			proc_kill(&l->run, SIGTERM);
		if (p[2].revents) { /* hung up, which is told whatever is asked for */
			proc_kill(&l->run, SIGHUP);
			terminal = -1;
		}
		if (p[0].revents)
			open = hear(l, end);
	}
	return 0;
}

int leash_wait(struct leash *l, struct leash_end *out, struct err *err)
{
	static const int forwarded[] = { SIGTERM };
	struct leash_end end = { 0 };
	struct proc_status st = { 0 };
	autoclose int sigs = -1;
	sigset_t set;

	TRY(loop_signals(forwarded, COUNT(forwarded), &sigs, err));
	TRY(watch(l, sigs, &end, err));
	if (end.detached)
		base_close_fd(&l->run.pidfd); /* init reaps it */
	else
		TRY(proc_wait(&l->run, &st, err));
	base_close_fd(&l->fd);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
		return err_sys(err, errno, "hear SIGTERM again");
	end.status = st.code;
	*out = end;
	return ignore_signals(SIG_DFL, err);
}
