/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/term_mode.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* What ends or stops a process that handles nothing; faults are sys/crash.h's, which calls us. */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

static struct {
	struct termios before;
	int fd;
	bool handled[COUNT(signals)];
	volatile sig_atomic_t changed;
} term_kept;

/* A terminal that is not ours to lose has no foreground. */
static bool in_front(int fd)
{
	pid_t front = tcgetpgrp(fd);

	return front < 0 || front == getpgrp();
}

static int hide(void)
{
	struct termios t = term_kept.before;

	t.c_lflag &= (tcflag_t) ~(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	t.c_iflag |= ICRNL;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	return tcsetattr(term_kept.fd, TCSAFLUSH, &t);
}

/* What was typed may not have come to the terminal's input yet: TCSAFLUSH leaves it, and it would be shown when it comes. */
static void show(void)
{
	if (!in_front(term_kept.fd))
		return;
	tcflush(term_kept.fd, TCIFLUSH);
	tcsetattr(term_kept.fd, TCSAFLUSH, &term_kept.before);
}

void term_mode_restore(void)
{
	if (!term_kept.changed)
		return;
	term_kept.changed = false;
	show();
	for (size_t i = 0; i < COUNT(signals); i++)
		if (term_kept.handled[i])
			signal(signals[i], SIG_DFL);
}

static void on_signal(int sig)
{
	int kept = errno;
	sigset_t one;

	if (sig == SIGTSTP) {
		show();
		raise(SIGSTOP);
		if (in_front(term_kept.fd)) /* here again: the key may go on */
			hide();
		errno = kept;
		return;
	}
	term_mode_restore();
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
}

int term_mode_unseen(int fd, struct err *err)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;

	BUG_IF(term_kept.changed);
	if (tcgetattr(fd, &term_kept.before) < 0)
		return err_sys(err, errno, "the terminal's mode");
	term_kept.fd = fd;
	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < COUNT(signals); i++) { /* who ignores one goes on ignoring it */
		term_kept.handled[i] = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
			sigaction(signals[i], &act, NULL) == 0;
	}
	term_kept.changed = true;
	if (hide() < 0) {
		int sys = errno;

		term_mode_restore();
		return err_sys(err, sys, "the terminal's mode");
	}
	return 0;
}
