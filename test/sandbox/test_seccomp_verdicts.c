/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The compiled filters beside their tables, call by call, and what a filter costs. */
#include "sandbox/seccomp_priv.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#define MINE    AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define MINE    AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif
#define X32  0x40000000
#define HIGH (1ULL << 40) /* bits the kernel does not look at */

static const uint32_t namespaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
static const uint32_t requests_no_command_makes[] = { TIOCSTI, 0x541C /* TIOCLINUX */, TIOCSCTTY, TIOCSETD, FIOSETOWN, SIOCSPGRP,
	0x4B33 /* KDGKBTYPE */, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR };
static const uint32_t requests_of_ours[] = { TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ, FIONBIO, FIONREAD, FIOCLEX, FIONCLEX };
static const uint32_t options_of_ours[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, 0x53564d41 /* PR_SET_VMA */ };

static bool among(uint32_t value, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static int unless(bool refused, int how)
{
	return refused ? how : 0;
}

static bool names_a_namespace(uint32_t flags)
{
	for (size_t i = 0; i < COUNT(namespaces); i++)
		if (flags & namespaces[i])
			return true;
	return false;
}

static bool sets_an_id(uint32_t mode)
{
	return (mode & 04000) || (mode & 02000);
}

static bool creates(uint32_t flags)
{
	return (flags & O_CREAT) || (flags & 020000000 /* O_TMPFILE less O_DIRECTORY */);
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static bool is_tcp(const uint32_t a[6])
{
	return (a[0] == AF_INET || a[0] == AF_INET6) && a[1] % 16 == SOCK_STREAM && (a[2] == 0 || a[2] == 6);
}

static bool is_udp(const uint32_t a[6])
{
	return (a[0] == AF_INET || a[0] == AF_INET6) && a[1] % 16 == SOCK_DGRAM && (a[2] == 0 || a[2] == 17);
}

static bool is_route(const uint32_t a[6])
{
	return a[0] == AF_NETLINK && a[2] == 0;
}

static int pair(const uint32_t a[6], bool records)
{
	if (a[0] != AF_UNIX)
		return EAFNOSUPPORT;
	return unless(a[1] % 16 != SOCK_STREAM && !(records && a[1] % 16 == SOCK_SEQPACKET), EACCES);
}

static bool sends_oddly(uint32_t flags)
{
	return (flags & 0x20000000 /* MSG_FASTOPEN */) || (flags & MSG_OOB);
}

/* What a word of the tables means for these arguments; as seccomp_judge answers. */
static int meaning(enum verdict v, const uint64_t args[6])
{
	uint32_t a[6];

	for (size_t i = 0; i < 6; i++)
		a[i] = (uint32_t)args[i];
	switch (v) {
	case V_ALLOW:
		return 0;
	case V_EPERM:
		return EPERM;
	case V_EACCES:
		return EACCES;
	case V_ENOSYS:
		return ENOSYS;
	case V_EAFNOSUPPORT:
		return EAFNOSUPPORT;
	case V_NOTHING:
		return SECCOMP_NOTHING;
	case V_NOTIFY:
		return -2;
	case V_KILL:
		return -1;
	case V_CLONE:
		return unless(names_a_namespace(a[0]), EPERM);
	case V_THREAD:
		return unless(names_a_namespace(a[0]) || !(a[0] & CLONE_THREAD), EPERM);
	case V_MODE1:
		return unless(sets_an_id(a[1]), EPERM);
	case V_MODE2:
		return unless(sets_an_id(a[2]), EPERM);
	case V_OPEN:
		return unless(creates(a[1]) && sets_an_id(a[2]), EPERM);
	case V_OPENAT:
		return unless(creates(a[2]) && sets_an_id(a[3]), EPERM);
	case V_MKNOD1:
		return unless(is_device(a[1]) || sets_an_id(a[1]), EPERM);
	case V_MKNOD2:
		return unless(is_device(a[2]) || sets_an_id(a[2]), EPERM);
	case V_IOCTL:
		return unless(among(a[1], requests_no_command_makes, COUNT(requests_no_command_makes)), EPERM);
	case V_IOCTL_OWN:
		return unless(!among(a[1], requests_of_ours, COUNT(requests_of_ours)), EPERM);
	case V_FCNTL:
		return unless(a[1] == F_SETOWN || a[1] == 15 /* F_SETOWN_EX */, EPERM);
	case V_SOCKET:
		return unless(a[0] != AF_UNIX && !is_tcp(a) && !is_udp(a) && !is_route(a), EAFNOSUPPORT);
	case V_SOCKET_UNIX:
		return unless(a[0] != AF_UNIX, EAFNOSUPPORT);
	case V_SOCKET_INET:
		return unless(!is_tcp(a) && !is_udp(a) && !is_route(a), EAFNOSUPPORT);
	case V_SOCKET_IP:
		return unless(!is_tcp(a) && !is_udp(a), EAFNOSUPPORT);
	case V_SOCKET_TCP:
		return unless(!is_tcp(a), EAFNOSUPPORT);
	case V_PAIR:
		return pair(a, true);
	case V_PAIR_STREAM:
		return pair(a, false);
	case V_PERSONALITY:
		return unless(a[0] != 0 && a[0] != UINT32_MAX, EPERM);
	case V_NOEXEC:
		return unless(a[2] & PROT_EXEC, EPERM);
	case V_SELF0:
		return unless(a[0] != 0, EPERM);
	case V_SELF1:
		return unless(a[1] != 0, EPERM);
	case V_SELF_PID:
		return unless(a[0] != (uint32_t)getpid(), EPERM);
	case V_ONE_PROCESS:
		return unless(a[3] != 0, EPERM);
	case V_SOCKOPT:
		return unless(a[2] == 77 /* SO_PEERPIDFD */, EPERM);
	case V_SEND2:
		return unless(sends_oddly(a[2]), EPERM);
	case V_SEND3:
		return unless(sends_oddly(a[3]), EPERM);
	case V_PRCTL_OWN:
		return unless(!among(a[0], options_of_ours, COUNT(options_of_ours)), EPERM);
	case VERDICT_COUNT:
		break;
	}
	return 9999;
}

static enum verdict word_for(const struct seccomp_table *t, int nr)
{
	enum verdict v = nr > NR_LAST ? V_ENOSYS : t->dflt;

	for (size_t s = 0; s < SECCOMP_SETS_MAX && t->sets[s]; s++)
		for (size_t i = 0; i < t->sets[s]->n; i++)
			if (t->sets[s]->rows[i].nr == nr)
				v = t->sets[s]->rows[i].verdict;
	return v;
}

struct asked {
	const struct seccomp_filter *f;
	enum seccomp_profile profile;
	int nr;
	enum verdict word;
};

static void compare(const struct asked *q, const uint64_t args[6])
{
	int want = meaning(q->word, args), got = seccomp_judge(q->f, MINE, q->nr, args);
	char text[200];

	if (got == want)
		return;
	snprintf(text, sizeof(text), "%s: call %d with %llx %llx %llx %llx: %d instead of %d", seccomp_name(q->profile), q->nr,
		(unsigned long long)args[0], (unsigned long long)args[1], (unsigned long long)args[2], (unsigned long long)args[3], got, want);
	CHECK_STR(str_from(text), STR("as the table says"));
}

/* One argument is what some check looks for, one less, one more, or disguised; the others are nothing. */
static void compare_around(const struct asked *q, const uint32_t *values, size_t n)
{
	for (unsigned arg = 0; arg < 6; arg++)
		for (size_t i = 0; i < n; i++) {
			const uint64_t value = values[i], near[] = { value, value - 1, value + 1, value | HIGH };

			for (size_t k = 0; k < COUNT(near); k++) {
				uint64_t args[6] = { 0 };

				args[arg] = near[k];
				compare(q, args);
			}
		}
}

static void compare_sockets(const struct asked *q)
{
	static const uint32_t families[] = { 0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK };
	static const uint32_t kinds[] = { 0, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM | SOCK_CLOEXEC,
		SOCK_DGRAM | SOCK_NONBLOCK, SOCK_SEQPACKET | SOCK_CLOEXEC, 8 | SOCK_STREAM, 8 | SOCK_DGRAM };
	static const uint32_t protocols[] = { 0, 1, 6, 17, 262 };

	for (size_t i = 0; i < COUNT(families); i++)
		for (size_t j = 0; j < COUNT(kinds); j++)
			for (size_t k = 0; k < COUNT(protocols); k++)
				compare(q, (const uint64_t[6]){ families[i], kinds[j] | HIGH, protocols[k] });
}

static void compare_files(const struct asked *q)
{
	static const uint32_t flags[] = { 0, O_CREAT, O_CREAT | O_WRONLY, O_TMPFILE, O_DIRECTORY, O_RDWR };
	static const uint32_t modes[] = { 0644, 01777, 02755, 04755, 06755, S_IFREG | 04644, S_IFCHR | 0600, S_IFBLK, S_IFIFO };

	for (size_t i = 0; i < COUNT(flags); i++)
		for (size_t j = 0; j < COUNT(modes); j++) {
			compare(q, (const uint64_t[6]){ 0, flags[i] | HIGH, modes[j] });
			compare(q, (const uint64_t[6]){ 0, 0, flags[i], modes[j] | HIGH });
		}
}

/* Every number, with what the checks look for where there is one. The sum of two namespaces, and one's own number, are among it. */
TEST(seccomp_filters_say_what_their_tables_say)
{
	const uint32_t looked_for[] = { 0, (uint32_t)getpid(), CLONE_THREAD, CLONE_VM | CLONE_THREAD, CLONE_NEWNS | CLONE_NEWPID | CLONE_THREAD,
		CLONE_NEWNET | CLONE_NEWUSER, F_SETOWN, 15, 77, 02000, 04000, S_IFREG | 02644, S_IFCHR, S_IFBLK, S_IFIFO, 020000000, PROT_EXEC,
		PROT_READ | PROT_WRITE | PROT_EXEC, MSG_OOB, 0x20000000, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, 0x40000, UINT32_MAX };

	for (unsigned p = 0; p < SECCOMP_COUNT; p++) {
		struct seccomp_filter f;

		CHECK(seccomp_build(p, &f, ERR_DISCARD) == 0);
		for (int nr = 0; nr <= NR_LAST + 40; nr++) {
			const struct asked q = { &f, p, nr, word_for(&seccomp_tables[p], nr) };
			static const uint64_t none[6] = { 0 };

			compare(&q, none);
			compare(&q, (const uint64_t[6]){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX });
			CHECK_INT(seccomp_judge(&f, MINE, nr | X32, none), ENOSYS);
			CHECK_INT(seccomp_judge(&f, FOREIGN, nr, none), -1);
			if (q.word < VERDICT_CHECKS)
				continue;
			compare_around(&q, looked_for, COUNT(looked_for));
			compare_around(&q, namespaces, COUNT(namespaces));
			compare_around(&q, requests_no_command_makes, COUNT(requests_no_command_makes));
			compare_around(&q, requests_of_ours, COUNT(requests_of_ours));
			compare_around(&q, options_of_ours, COUNT(options_of_ours));
			compare_sockets(&q);
			compare_files(&q);
		}
	}
}

/* Compiling and installing costs by the instruction, for every command. */
TEST(seccomp_filter_of_a_command_is_short)
{
	struct seccomp_filter f;

	CHECK(seccomp_build(SECCOMP_COMMAND, &f, ERR_DISCARD) == 0);
	CHECK(f.n <= 200);
}

/* As seccomp_is_const_allow of Linux 5.11 and later goes through a filter when it is installed: with nothing but the call's number
 * and its machine. What it can follow to SECCOMP_RET_ALLOW never runs the filter again. */
static bool kernel_foresees(const struct seccomp_filter *f, int nr)
{
	uint32_t a = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct sock_filter *in = &f->insn[i];
		bool yes;

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k != offsetof(struct seccomp_data, nr) && in->k != offsetof(struct seccomp_data, arch))
				return false;
			a = in->k == offsetof(struct seccomp_data, nr) ? (uint32_t)nr : MINE;
			continue;
		case BPF_RET | BPF_K:
			return in->k == SECCOMP_RET_ALLOW;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == in->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= in->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			yes = a > in->k;
			break;
		default:
			return false;
		}
		i += yes ? in->jt : in->jf;
	}
	return false;
}

TEST(seccomp_filters_cost_an_allowed_call_nothing)
{
	for (unsigned p = 0; p < SECCOMP_COUNT; p++) {
		struct seccomp_filter f;

		CHECK(seccomp_build(p, &f, ERR_DISCARD) == 0);
		for (int nr = 0; nr <= NR_LAST; nr++)
			CHECK_INT(kernel_foresees(&f, nr), word_for(&seccomp_tables[p], nr) == V_ALLOW);
	}
}
