/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/prompt.h"
#include "sys/term.h"
#include "sys/term_mode.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ANSWER_MAX   4096
#define WITH_CTRL(c) ((c)&0x1f)

static void mode_restore(bool *changed)
{
	if (*changed)
		term_mode_restore();
}
#define auto_mode CLEANUP(mode_restore)

static void wipe(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	buf_fini(b);
}
#define auto_wiped CLEANUP(wipe)

/* 1 with a byte, 0 at the end. */
static int next_byte(char *c, struct err *err)
{
	for (;;) {
		ssize_t n = read(STDIN_FILENO, c, 1);

		if (n >= 0)
			return (int)n;
		if (errno != EINTR)
			return err_sys(err, errno, "read the answer");
	}
}

static int stopped(struct err *err)
{
	return err_set(err, ERR_STOPPED, "interrupted");
}

static int closed(struct err *err)
{
	return err_set(err, ERR_CLOSED, "the input ended before there was an answer");
}

/* Up to the end of the line. Byte by byte: what follows belongs to the next question. */
static int read_line(struct buf *out, struct err *err)
{
	char c;
	int r;

	while ((r = next_byte(&c, err)) > 0 && c != '\n')
		TRY(buf_addc(out, c, err));
	TRY(r);
	if (out->n >= TERM_TYPED_MAX && term_is_tty(STDIN_FILENO))
		return err_set(err, ERR_LIMIT, "longer than a line of a terminal can be");
	if (out->n > 0 && out->p[out->n - 1] == '\r')
		buf_shrink(out, out->n - 1);
	return r == 0 && out->n == 0 ? closed(err) : 0;
}

static int read_unseen(struct buf *out, struct err *err)
{
	char c;
	int r;

	while ((r = next_byte(&c, err)) > 0 && c != '\n') {
		if (c == WITH_CTRL('c'))
			return stopped(err);
		if (c == WITH_CTRL('d') && out->n == 0)
			return closed(err);
		if (c == WITH_CTRL('u'))
			buf_clear(out);
		else if ((c == 0x7f || c == '\b') && out->n > 0)
			buf_shrink(out, out->n - 1);
		else if ((unsigned char)c >= ' ' && c != 0x7f)
			TRY(buf_addc(out, c, err));
	}
	TRY(r);
	return r == 0 && out->n == 0 ? closed(err) : 0;
}

/* ---- a question that is seen ---- */

struct back { /* hears that we go on after a stop */
	int fd;
	sigset_t before;
};

static void back_fini(struct back *b)
{
	if (b->fd < 0)
		return;
	close(b->fd);
	sigprocmask(SIG_SETMASK, &b->before, NULL);
}
#define auto_back CLEANUP(back_fini)

static int back_watch(struct back *b, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	b->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->fd < 0)
		return err_sys(err, errno, "signalfd");
	if (sigprocmask(SIG_BLOCK, &set, &b->before) == 0)
		return 0;
	int sys = errno;

	close(b->fd);
	b->fd = -1;
	return err_sys(err, sys, "sigprocmask");
}

/* Until a line is there. Ctrl-Z throws away what was typed of it and the shell writes over the question: who comes back is asked
 * again. */
static int show_until_typed(const char *prompt, struct err *err)
{
	auto_back struct back back = { .fd = -1 };
	struct signalfd_siginfo si;

	if (term_is_tty(STDIN_FILENO))
		TRY(back_watch(&back, err));
	for (;;) {
		struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { back.fd, POLLIN, 0 } };
		int n;

		fputs(prompt, stderr);
		fflush(stderr);
		if (back.fd < 0)
			return 0;
		do
			n = poll(fds, COUNT(fds), -1);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return err_sys(err, errno, "poll");
		if (fds[0].revents != 0)
			return 0;
		while (read(back.fd, &si, sizeof(si)) > 0)
			;
	}
}

bool prompt_can_ask(void)
{
	return term_is_tty(STDIN_FILENO) && term_is_tty(STDERR_FILENO);
}

int prompt_line(const char *question, const char *dflt, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(ANSWER_MAX);

	TRY(show_until_typed(dflt ? str_printf(mem, "%s [%s]: ", question, dflt).p : str_printf(mem, "%s: ", question).p, err));
	TRY(read_line(&line, err));
	struct str answer = str_trim(buf_str(&line));
	*out = str_dup(mem, answer.n == 0 && dflt ? str_from(dflt) : answer);
	return 0;
}

int prompt_words(const char *prompt, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(ANSWER_MAX);
	char c = '\0';
	int r;

	TRY(show_until_typed(prompt, err));
	r = read_line(&line, err);
	while (r == -ERR_LIMIT && line.n == line.max && c != '\n' && next_byte(&c, ERR_DISCARD) > 0)
		;
	TRY(r);
	*out = str_dup(mem, str_trim(buf_str(&line)));
	return 0;
}

int prompt_hidden(const char *question, struct secret *out, struct err *err)
{
	auto_wiped struct buf line = BUF_MAX(ANSWER_MAX);
	auto_mode bool changed = false;
	int r;

	TRY(buf_reserve(&line, ANSWER_MAX, err));
	TRY(term_mode_unseen(STDIN_FILENO, err));
	changed = true;
	fprintf(stderr, "%s (not shown): ", question);
	fflush(stderr);
	r = read_unseen(&line, err);
	fputc('\n', stderr);
	if (r >= 0)
		secret_set(out, str_trim(buf_str(&line)));
	return r;
}

int prompt_piped(struct secret *out, struct err *err)
{
	auto_wiped struct buf line = BUF_MAX(ANSWER_MAX);
	int r;

	TRY(buf_reserve(&line, ANSWER_MAX, err));
	r = read_line(&line, err);
	if (r == -ERR_CLOSED) /* no key is an answer too */
		return 0;
	TRY(r);
	secret_set(out, str_trim(buf_str(&line)));
	return 0;
}
