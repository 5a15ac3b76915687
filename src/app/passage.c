/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/passage.h"

#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define BLOCK      (64 * 1024)
#define WRITE_MAX  4096 /* PIPE_BUF: after POLLOUT a pipe takes this much without blocking */
#define MOVE_MAX   (1024 * 1024)
#define CLEAN_COST 8    /* a byte becomes at most this many; a tab eight blanks */

void passage_open(struct passage *p, int from, int to, bool clean)
{
	struct stat st;

	*p = (struct passage){ .from = from, .to = to, .clean = clean, .in = BUF_MAX(BLOCK + 8),
		.out = BUF_MAX((BLOCK + 8) * CLEAN_COST) };
	p->moves = !clean && fstat(to, &st) == 0 && S_ISFIFO(st.st_mode);
}

void passage_fini(struct passage *p)
{
	base_close_fd(&p->from);
	buf_fini(&p->in);
	buf_fini(&p->out);
	buf_fini(&p->kept);
}

void passage_keep(struct passage *p, size_t n)
{
	p->kept = BUF_MAX(n);
	p->moves = false;
}

void passage_keep_end(struct passage *p, size_t n)
{
	p->kept = BUF_MAX(n);
	p->end_only = true;
}

static bool pending(const struct passage *p)
{
	return p->full || p->at < p->out.n;
}

void passage_last(struct passage *p)
{
	int flags = p->from >= 0 ? fcntl(p->from, F_GETFL) : -1;

	p->last = true;
	if (flags < 0 || fcntl(p->from, F_SETFL, flags | O_NONBLOCK) < 0)
		base_close_fd(&p->from);
}

struct pollfd passage_poll(const struct passage *p)
{
	return pending(p) ? (struct pollfd){ .fd = p->to, .events = POLLOUT }
			  : (struct pollfd){ .fd = p->from, .events = POLLIN };
}

bool passage_waits(const struct passage *p)
{
	return pending(p) || p->from < 0 || !p->last;
}

bool passage_over(const struct passage *p)
{
	return p->from < 0 && !pending(p);
}

/* How much of s does not depend on what comes next: no character begun, no CR before a possible LF. */
static size_t settled(struct str s)
{
	if (s.n > 0 && s.p[s.n - 1] == '\r')
		return s.n - 1;
	for (size_t back = 1; back <= 3 && back <= s.n; back++) {
		unsigned char c = (unsigned char)s.p[s.n - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return need > back ? s.n - back : s.n;
	}
	return s.n;
}

static int accept_bytes(struct passage *p, struct str got, struct err *err)
{
	struct str all;
	size_t n;

	if (!p->clean)
		return buf_add(&p->out, got, err);
	TRY(buf_add(&p->in, got, err));
	all = buf_str(&p->in);
	n = got.n == 0 ? all.n : settled(all);
	TRY(term_clean(str_head(all, n), TERM_TEXT, &p->out, err));
	return buf_splice(&p->in, 0, n, STR(""), err);
}

static int keep(struct passage *p, struct str got, struct err *err)
{
	size_t max = p->kept.max;

	got = str_tail(got, max);
	if (p->kept.n + got.n > max)
		TRY(buf_splice(&p->kept, 0, p->kept.n + got.n - max, STR(""), err));
	return buf_add(&p->kept, got, err);
}

static int read_block(struct passage *p, struct err *err)
{
	char block[BLOCK];
	ssize_t n = read(p->from, block, sizeof(block));

	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !p->last)))
		return 0;
	buf_clear(&p->out);
	p->at = 0;
	if (n > 0) {
		TRY(keep(p, str_of(block, (size_t)n), err));
		return accept_bytes(p, str_of(block, (size_t)n), err);
	}
	base_close_fd(&p->from);
	return accept_bytes(p, STR(""), err);
}

static int write_some(struct passage *p, struct err *err)
{
	struct str rest = str_skip(buf_str(&p->out), p->at);
	ssize_t n = write(p->to, rest.p, rest.n < WRITE_MAX ? rest.n : WRITE_MAX);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_sys(err, errno, "pass on what the command wrote");
	p->at += (size_t)n;
	return 0;
}

/* True when the pipes took it from here; false: never again, it is copied. */
static bool moved(struct passage *p, size_t most)
{
	int there = 0;
	ssize_t n = splice(p->from, NULL, p->to, NULL, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	p->full = false;
	if (n > 0 || (n < 0 && errno == EINTR))
		return true;
	if (n < 0 && errno != EAGAIN)
		return false;
	if (n == 0 || ioctl(p->from, FIONREAD, &there) < 0 || (there == 0 && p->last))
		base_close_fd(&p->from);
	p->full = there > 0;
	return true;
}

/* How much the kernel is to move; 0: it is copied, so that its end stays. */
static size_t to_move(const struct passage *p)
{
	int there = 0;

	if (!p->end_only)
		return MOVE_MAX;
	if (ioctl(p->from, FIONREAD, &there) < 0 || there <= (int)p->kept.max)
		return 0;
	return (size_t)there - p->kept.max;
}

static int move_or_read(struct passage *p, struct err *err)
{
	size_t most = to_move(p);

	if (most > 0) {
		buf_clear(&p->kept);
		p->moves = moved(p, most);
		if (p->moves)
			return 0;
	}
	p->full = false;
	return read_block(p, err);
}

int passage_step(struct passage *p, short revents, struct err *err)
{
	if (p->moves && p->from >= 0 && p->at == p->out.n && (revents || (p->last && !p->full)))
		return move_or_read(p, err);
	if (pending(p))
		return revents ? write_some(p, err) : 0;
	if (p->from >= 0 && (revents || p->last))
		return read_block(p, err);
	return 0;
}
