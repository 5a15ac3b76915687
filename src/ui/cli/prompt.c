/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/prompt.h"
#include "sys/term.h"
#include "sys/term_mode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

bool prompt_can_ask(void)
{
	return term_is_tty(STDIN_FILENO) && term_is_tty(STDERR_FILENO);
}

int prompt_line(const char *question, const char *dflt, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(ANSWER_MAX);

	if (dflt)
		fprintf(stderr, "%s [%s]: ", question, dflt);
	else
		fprintf(stderr, "%s: ", question);
	fflush(stderr);
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

	fputs(prompt, stderr);
	fflush(stderr);
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
