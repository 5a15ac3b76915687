/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/loop.h"
#include "base/time.h"
#include "base/vec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

struct watch {
	int fd; /* -1: removed, freed after the round */
	loop_fn *fn;
	void *self;
};

struct timer {
	int64_t due_ms;
	loop_fn *fn; /* NULL: free */
	void *self;
};

struct loop {
	int epfd;
	bool quit;
	struct {
		VEC(struct watch *);
	} watches;
	struct {
		VEC(struct timer);
	} timers;
};

int loop_open(struct loop **out, struct err *err)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return err_sys(err, errno, "epoll_create1");
	struct loop *l = mem_alloc(sizeof(*l));
	l->epfd = fd;
	*out = l;
	return 0;
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->watches.n; i++)
		free(l->watches.p[i]);
	vec_fini(&l->watches);
	vec_fini(&l->timers);
	close(l->epfd);
	free(l);
}

int loop_watch(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *self, struct err *err)
{
	struct watch *w = mem_alloc(sizeof(*w));
	struct epoll_event ev = { .events = events, .data.ptr = w };

	*w = (struct watch){ fd, fn, self };
	if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		int sys = errno;

		free(w);
		return err_sys(err, sys, "watch a descriptor");
	}
	*vec_new(&l->watches) = w;
	return 0;
}

void loop_unwatch(struct loop *l, int fd)
{
	for (size_t i = 0; i < l->watches.n; i++) {
		if (l->watches.p[i]->fd != fd)
			continue;
		epoll_ctl(l->epfd, EPOLL_CTL_DEL, fd, NULL);
		l->watches.p[i]->fd = -1;
	}
}

static void sweep(struct loop *l)
{
	size_t keep = 0;

	for (size_t i = 0; i < l->watches.n; i++)
		if (l->watches.p[i]->fd < 0)
			free(l->watches.p[i]);
		else
			l->watches.p[keep++] = l->watches.p[i];
	l->watches.n = keep;
}

void loop_cancel(struct loop *l, loop_fn *fn, const void *self)
{
	for (size_t i = 0; i < l->timers.n; i++)
		if (l->timers.p[i].fn == fn && l->timers.p[i].self == self)
			l->timers.p[i].fn = NULL;
}

int loop_after(struct loop *l, int64_t delay_ms, loop_fn *fn, void *self, struct err *err)
{
	(void)err; /* cannot fail today; a timerfd could */
	loop_cancel(l, fn, self);
	*vec_new(&l->timers) = (struct timer){ time_mono_ms() + delay_ms, fn, self };
	return 0;
}

static int wait_ms(const struct loop *l)
{
	int64_t now = time_mono_ms(), best = -1;

	for (size_t i = 0; i < l->timers.n; i++) {
		if (!l->timers.p[i].fn)
			continue;
		int64_t left = l->timers.p[i].due_ms > now ? l->timers.p[i].due_ms - now : 0;

		if (best < 0 || left < best)
			best = left;
	}
	return best > INT32_MAX ? INT32_MAX : (int)best;
}

static int fire_timers(struct loop *l, struct err *err)
{
	int64_t now = time_mono_ms();
	size_t keep = 0;

	for (size_t i = 0; i < l->timers.n; i++) {
		struct timer t = l->timers.p[i];

		if (!t.fn || t.due_ms > now)
			continue;
		l->timers.p[i].fn = NULL; /* before the call: the handler may set it again */
		TRY(t.fn(t.self, 0, err));
	}
	for (size_t i = 0; i < l->timers.n; i++)
		if (l->timers.p[i].fn)
			l->timers.p[keep++] = l->timers.p[i];
	l->timers.n = keep;
	return 0;
}

int loop_run(struct loop *l, struct err *err)
{
	l->quit = false;
	while (!l->quit) {
		struct epoll_event evs[32];
		int n = epoll_wait(l->epfd, evs, COUNT(evs), wait_ms(l));

		if (n < 0 && errno != EINTR)
			return err_sys(err, errno, "epoll_wait");
		for (int i = 0; i < n; i++) {
			const struct watch *w = evs[i].data.ptr;

			if (w->fd >= 0)
				TRY(w->fn(w->self, evs[i].events, err));
		}
		sweep(l);
		TRY(fire_timers(l, err));
	}
	return 0;
}

void loop_quit(struct loop *l)
{
	l->quit = true;
}

int loop_signals(const int *sigs, size_t n, int *out_fd, struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, sigs[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, errno, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(err, errno, "signalfd");
	*out_fd = fd;
	return 0;
}
