/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* steps: a process of ours as a whole, fed by an input.
 *
 * Shape    The process's loop is run as it is; whenever it would wait, steps_next plays one more step of the input: a message of
 *          one of its peers, an end of file, a signal. When the input is used up, time passes until the process ends. So one input is
 *          always one story. in_* read an input; in_body writes a message's body by a row of shapes.
 * Errors   A process that waits for nothing, or leaves a descriptor open, is a fault of its own.
 * Units    Each look at the clock takes STEP_MS.
 */
#ifndef TEST_FUZZ_STEPS_H
#define TEST_FUZZ_STEPS_H

#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_MS    50
#define STEPS_MAX  200
#define SILENT_MAX 32 /* times that nothing but the clock moves, after the last step */

struct in {
	const uint8_t *p;
	size_t n;
};

static inline uint8_t in_u8(struct in *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

static inline struct str in_str(struct in *in)
{
	size_t n = in_u8(in);

	n = n == 255 ? 255 + (size_t)in_u8(in) * 64 : n;
	n = n < in->n ? n : in->n;
	struct str s = str_of(in->p, n);

	in->p += n;
	in->n -= n;
	return s;
}

/* Small numbers, and the largest. */
static inline uint64_t in_number(struct in *in)
{
	uint8_t b = in_u8(in);

	return b < 250 ? b : (uint64_t)-(int64_t)(256 - b);
}

/* '1' '2' '4' '8': a number of so many bytes; 's': a string; 'S': a list of them; '*': as it stands in the input. */
static inline void in_body(struct in *in, const char *shape, struct buf *out)
{
	for (; *shape; shape++) {
		struct str list[8];
		size_t n = 0;

		switch (*shape) {
		case '1':
			pack_u8(out, in_u8(in));
			break;
		case '2':
			pack_u16(out, (uint16_t)in_number(in));
			break;
		case '4':
			pack_u32(out, (uint32_t)in_number(in));
			break;
		case '8':
			pack_u64(out, in_number(in));
			break;
		case 's':
			pack_str(out, in_str(in));
			break;
		case 'S':
			for (size_t want = in_u8(in) % (COUNT(list) + 1); n < want; n++)
				list[n] = in_str(in);
			pack_strs(out, list, n);
			break;
		default:
			BUG_IF(buf_add(out, in_str(in), ERR_DISCARD) < 0);
		}
	}
}

/* What a peer may say, and one row for what it may not: any type, any bytes. */
struct row {
	size_t who;
	uint16_t type;
	const char *shape;
};

static struct {
	struct in in;
	bool (*next)(struct in *in); /* plays one; false: that was the last */
	void (*hear)(void);          /* before each: what the process said since */
	bool over; /* the input is, */
	bool late; /* and what takes its time has had it */
	int played, silent, lowest;
} steps;

static inline int steps_lowest(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static inline void steps_begin(const uint8_t *data, size_t size, bool (*next)(struct in *in), void (*hear)(void))
{
	memset(&steps, 0, sizeof(steps));
	steps.in = (struct in){ data, size };
	steps.next = next;
	steps.hear = hear;
	steps.lowest = steps_lowest();
	time_fake_step(STEP_MS);
}

static inline void steps_end(void)
{
	BUG_IF(steps_lowest() != steps.lowest); /* nothing stays open */
}

/* In the place of libc's. */
int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	for (;;) {
		steps.hear();
		int n = (int)syscall(SYS_epoll_pwait, epfd, events, max, 0, NULL, 8);

		if (n != 0 || timeout == 0)
			return n;
		if (!steps.over) {
			steps.over = steps.played++ == STEPS_MAX || steps.in.n == 0;
			steps.over = !steps.next(&steps.in) || steps.over;
			continue;
		}
		if (timeout < 0 && !steps.late) {
			steps.late = true;
			continue;
		}
		BUG_IF(timeout < 0 || steps.silent++ > SILENT_MAX); /* it waits, and nobody will ever say anything more */
		for (int64_t end = time_mono_ms() + timeout; time_mono_ms() <= end;)
			;
		return 0;
	}
}

#endif
