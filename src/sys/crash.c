/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/crash.h"

#include "fmt/wire.h"
#include "sys/term_mode.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES 32768 /* a handler's frame holds the wide registers too */
#define HEAD_BYTES  16    /* of a channel's message, sys/chan.c */

static int crash_chan;
static struct crash_keep crash_kept;
static _Alignas(16) char crash_stack[STACK_BYTES];

extern const char __ehdr_start[], _end[]; /* of the linker: our program in memory */

static const struct {
	int sig;
	const char *name;
	bool fault;
} signals[] = {
	{ SIGSEGV, "SIGSEGV", true }, { SIGBUS, "SIGBUS", true }, { SIGILL, "SIGILL", true }, { SIGFPE, "SIGFPE", true },
	{ SIGABRT, "SIGABRT", true }, { SIGSYS, "SIGSYS", true }, { SIGTRAP, "SIGTRAP", true },
	{ SIGKILL, "SIGKILL", false }, { SIGTERM, "SIGTERM", false }, { SIGINT, "SIGINT", false }, { SIGHUP, "SIGHUP", false },
	{ SIGQUIT, "SIGQUIT", false }, { SIGPIPE, "SIGPIPE", false }, { SIGXCPU, "SIGXCPU", false },
};

const char *crash_signal_name(int sig)
{
	for (size_t i = 0; i < COUNT(signals); i++)
		if (signals[i].sig == sig)
			return signals[i].name;
	return "?";
}

bool crash_is_fault(int sig)
{
	for (size_t i = 0; i < COUNT(signals); i++)
		if (signals[i].sig == sig)
			return signals[i].fault;
	return false;
}

/* ---- a line, without the library's help ---- */

struct line {
	char p[CRASH_LINE_MAX];
	size_t n;
};

static void add(struct line *l, const char *s)
{
	while (*s && l->n < sizeof(l->p))
		l->p[l->n++] = *s++;
}

static void add_number(struct line *l, uint64_t v, unsigned base)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while ((v /= base) > 0);
	while (n > 0 && l->n < sizeof(l->p))
		l->p[l->n++] = digits[--n];
}

void crash_note(const struct crash_keep *k, const char *process, const struct crash *c)
{
	struct line l = { .n = 0 };
	struct timespec now = { 0 };

	if (k->fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	add(&l, "{\"time_s\":");
	add_number(&l, (uint64_t)now.tv_sec, 10);
	add(&l, ",\"version\":\"" AGENT6_VERSION "\",\"run_id\":\"");
	add(&l, k->run_id);
	add(&l, "\",\"process\":\"");
	add(&l, process);
	add(&l, "\",\"signal\":");
	add_number(&l, (uint64_t)c->signal, 10);
	add(&l, ",\"name\":\"");
	add(&l, crash_signal_name(c->signal));
	add(&l, "\",\"at\":\"0x");
	add_number(&l, c->at, 16);
	add(&l, "\"}\n");
	(void)!write(k->fd, l.p, l.n); /* appended in one piece; there is nobody to tell that it failed */
}

/* ---- the handler ---- */

static uint64_t place_of(const void *context)
{
	const ucontext_t *u = context;
#if defined(__x86_64__)
	uintptr_t pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	uintptr_t pc = (uintptr_t)u->uc_mcontext.pc;
#else
#error "where does this processor keep its program counter?"
#endif
	uintptr_t from = (uintptr_t)__ehdr_start;

	return pc >= from && pc < (uintptr_t)_end ? pc - from : 0;
}

static void tell_monitor(const struct crash *c)
{
	unsigned char m[HEAD_BYTES + 12] = { 0 };

	m[0] = WIRE_CRASH & 0xff;
	m[1] = WIRE_CRASH >> 8;
	m[4] = sizeof(m) - HEAD_BYTES;
	for (int i = 0; i < 4; i++)
		m[HEAD_BYTES + i] = (unsigned char)((unsigned)c->signal >> (8 * i));
	for (int i = 0; i < 8; i++)
		m[HEAD_BYTES + 4 + i] = (unsigned char)(c->at >> (8 * i));
	struct iovec iov = { m, sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	(void)!sendmsg(crash_chan, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void tell_person(const struct crash *c)
{
	struct line l = { .n = 0 };

	add(&l, "\nagent6: a fault of its own ended this process: ");
	add(&l, crash_signal_name(c->signal));
	add(&l, " at agent6+0x");
	add_number(&l, c->at, 16);
	add(&l, ", version " AGENT6_VERSION ". Please report this line. A run goes on with \"agent6 resume\".\n");
	(void)!write(STDERR_FILENO, l.p, l.n);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct crash c = { sig, place_of(context) };
	sigset_t one;

	term_mode_restore();
	if (crash_chan >= 0) {
		tell_monitor(&c);
	} else {
		tell_person(&c);
		crash_note(&crash_kept, crash_kept.process, &c);
	}
	if (info->si_code > 0 && sig != SIGSYS)
		return; /* the default is back (SA_RESETHAND): it happens again, and ends us */
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
	_exit(128 + sig); /* the first process of a namespace does not die of it */
}

void crash_keep(const struct crash_keep *k)
{
	crash_kept = *k;
}

void crash_watch(int chan)
{
	const stack_t stack = { .ss_sp = crash_stack, .ss_size = sizeof(crash_stack) };
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK }, before;

	crash_chan = chan;
	crash_kept = (struct crash_keep){ .fd = -1, .process = "", .run_id = "" };
	sigaltstack(&stack, NULL);
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < COUNT(signals); i++) {
		if (!signals[i].fault || signals[i].sig == SIGTRAP)
			continue;
		if (sigaction(signals[i].sig, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(signals[i].sig, &act, NULL);
	}
}
