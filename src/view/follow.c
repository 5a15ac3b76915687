/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/follow.h"

#include "session/journal.h"
#include "sys/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>

#define STEP (256 * 1024)

struct follow {
	int dir, file, notify; /* dir is borrowed; file -1: not there yet */
	int64_t at;            /* the first line not handed out yet begins here */
	bool skipping;         /* inside a line that is too long */
	struct buf block;
};

static int open_journal(struct follow *f, struct err *err)
{
	int r = file_open(f->dir, JOURNAL_NAME, true, &f->file, err);

	return r == -ERR_NOENT ? 0 : r;
}

int follow_open(int record_fd, struct follow **out, struct err *err)
{
	auto_follow struct follow *f = mem_alloc(sizeof(*f));
	char path[64];

	f->dir = record_fd;
	f->file = f->notify = -1;
	f->block = BUF_MAX(JOURNAL_LINE + STEP);
	f->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->notify < 0)
		return err_sys(err, errno, "inotify_init1");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", record_fd);
	if (inotify_add_watch(f->notify, path, IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0)
		return err_sys(err, errno, "watch the run's record");
	TRY(open_journal(f, err));
	*out = take(&f);
	return 0;
}

void follow_close(struct follow *f)
{
	if (!f)
		return;
	base_close_fd(&f->file);
	base_close_fd(&f->notify);
	buf_fini(&f->block);
	free(f);
}

int follow_fd(const struct follow *f)
{
	return f->notify;
}

/* What happened is not asked, only that something did: the file itself is the truth. */
static void drain_events(struct follow *f)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	while (read(f->notify, events, sizeof(events)) > 0)
		continue;
}

static int hand_out(struct follow *f, follow_line_fn *fn, void *self, struct err *err)
{
	struct str rest = buf_str(&f->block);

	for (;;) {
		const char *nl = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;

		if (!nl)
			break;
		struct str line = str_of(rest.p, (size_t)(nl - rest.p));

		rest = str_skip(rest, line.n + 1);
		f->at += (int64_t)line.n + 1;
		if (!f->skipping)
			TRY(fn(self, line, err));
		f->skipping = false;
	}
	if (rest.n > JOURNAL_LINE) { /* no journal line: its end is looked for, its content dropped */
		f->skipping = true;
		f->at += (int64_t)rest.n;
	}
	return 0;
}

int follow_read(struct follow *f, follow_line_fn *fn, void *self, struct err *err)
{
	drain_events(f);
	if (f->file < 0)
		TRY(open_journal(f, err));
	while (f->file >= 0) {
		int64_t before = f->at;
		ssize_t n = 0;

		/* From the start of the line on: an incomplete one may have been cut off and replaced. */
		buf_clear(&f->block);
		TRY(buf_reserve(&f->block, JOURNAL_LINE + STEP, err));
		while (f->block.n < STEP || !memchr(f->block.p, '\n', f->block.n)) {
			size_t room = JOURNAL_LINE + STEP - f->block.n;

			n = room > 0 ? pread(f->file, f->block.p + f->block.n, room < STEP ? room : STEP,
					       f->at + (int64_t)f->block.n) : 0;
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return err_sys(err, errno, "read %s", JOURNAL_NAME);
			if (n == 0)
				break;
			f->block.n += (size_t)n;
		}
		TRY(hand_out(f, fn, self, err));
		if (f->at == before)
			break;
	}
	return 0;
}
