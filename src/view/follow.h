/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* follow: the lines of a journal as they are written, without polling.
 *
 * Shape    follow_open, then follow_read once, then again whenever follow_fd is readable.
 * Memory   One incomplete line at most; the handle owns its descriptors.
 * Errors   A line longer than a journal line can be is skipped. What an earlier read saw of a line that
 *          was torn and cut off is forgotten.
 * Source   inotify(7): the directory is watched, so the journal may still have to be made.
 */
#ifndef VIEW_FOLLOW_H
#define VIEW_FOLLOW_H

#include "base/buf.h"

struct follow;
typedef int follow_line_fn(void *self, struct str line, struct err *err); /* without its newline */

int follow_open(int record_fd, struct follow **out, struct err *err) CHECKED;
void follow_close(struct follow *f); /* NULL is fine */
static inline void follow_close_ptr(struct follow **f)
{
	follow_close(*f);
}
#define auto_follow CLEANUP(follow_close_ptr)

int follow_fd(const struct follow *f); /* for epoll */
/* Every whole line that is there and was not read yet. Returns what fn failed with, or 0. */
int follow_read(struct follow *f, follow_line_fn *fn, void *self, struct err *err) CHECKED;

#endif
