/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/seccomp.h"
#include "sandbox/seccomp_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE 0
#endif

#define CALLS     (NR_LAST + 1)
#define FEW_SPANS 9 /* of numbers: then odd ones are asked for one by one */

#define NEW_NAMESPACES                                                                                       \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |        \
		CLONE_NEWNET)
#define SET_ID_BITS    (S_ISUID | S_ISGID)
#define OPEN_CREATES   (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define SOCK_KIND_MASK 0xf
#define FASTOPEN       0x20000000
#define F_SETOWN_EX_NR 15

/* Terminal injection, another's signals, inode flags: the kernel reads 32 bits of the request. */
static const uint32_t ioctls_refused[] = { TIOCSTI, 0x541C /* TIOCLINUX */, TIOCSCTTY, TIOCSETD, FIOSETOWN,
	SIOCSPGRP, 0x4B33 /* KDGKBTYPE */, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR };
/* A program of ours asks a terminal it was given for its size and mode, and pipes for their fill. */
static const uint32_t ioctls_own[] = { TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ, FIONBIO, FIONREAD, FIOCLEX,
	FIONCLEX };
static const uint32_t fcntls_refused[] = { F_SETOWN, F_SETOWN_EX_NR };
static const uint32_t sockopts_refused[] = { 77 /* SO_PEERPIDFD */ };
static const uint32_t prctls_own[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS,
	0x53564d41 /* PR_SET_VMA: allocators name their mappings */ };

/* Where a jump leads: to a verdict, of which each has one place behind the tree, or over some instructions. */
#define SKIP(n) (VERDICT_COUNT + (n))
#define NEXT    SKIP(0)

struct build {
	struct seccomp_filter *f;
	size_t n;
	struct {
		size_t yes, no;
	} to[SECCOMP_INSNS_MAX]; /* of the instructions that are jumps */
	size_t place[VERDICT_COUNT];
	bool wanted[VERDICT_COUNT]; /* some jump leads there */
};

static void emit(struct build *b, uint16_t code, uint32_t k)
{
	BUG_IF(b->n == SECCOMP_INSNS_MAX); /* the tables are constant: a test builds every one */
	b->f->insn[b->n++] = (struct sock_filter)BPF_STMT(code, k);
}

static size_t emit_jump(struct build *b, uint16_t test, uint32_t k, size_t yes, size_t no)
{
	size_t at = b->n;

	emit(b, BPF_JMP | BPF_K | test, k);
	b->to[at].yes = yes;
	b->to[at].no = no;
	if (yes < VERDICT_COUNT)
		b->wanted[yes] = true;
	if (no < VERDICT_COUNT)
		b->wanted[no] = true;
	return at;
}

static uint32_t action(enum verdict v)
{
	static const uint32_t actions[VERDICT_CHECKS] = { [V_ALLOW] = SECCOMP_RET_ALLOW,
		[V_EPERM] = SECCOMP_RET_ERRNO | EPERM, [V_EACCES] = SECCOMP_RET_ERRNO | EACCES,
		[V_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS, [V_EAFNOSUPPORT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
		[V_NOTHING] = SECCOMP_RET_ERRNO, [V_NOTIFY] = SECCOMP_RET_USER_NOTIF, [V_KILL] = SECCOMP_RET_KILL_PROCESS };

	return actions[v];
}

static void load(struct build *b, size_t offset)
{
	emit(b, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* The half the kernel looks at: flags, modes, requests and pids are 32 bits wide. */
static void load_arg(struct build *b, unsigned i)
{
	size_t at = offsetof(struct seccomp_data, args) + 8 * i;

	load(b, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? at + 4 : at);
}

static void mask(struct build *b, uint32_t bits)
{
	emit(b, BPF_ALU | BPF_AND | BPF_K, bits);
}

static void if_any(struct build *b, uint32_t bits, size_t yes, size_t no)
{
	emit_jump(b, BPF_JSET, bits, yes, no);
}

static void if_is(struct build *b, uint32_t value, size_t yes, size_t no)
{
	emit_jump(b, BPF_JEQ, value, yes, no);
}

static void check_bits(struct build *b, unsigned arg, uint32_t bits)
{
	load_arg(b, arg);
	if_any(b, bits, V_EPERM, V_ALLOW);
}

static void check_open(struct build *b, unsigned flags, unsigned mode)
{
	load_arg(b, flags);
	if_any(b, OPEN_CREATES, NEXT, V_ALLOW);
	check_bits(b, mode, SET_ID_BITS);
}

static void check_mknod(struct build *b, unsigned mode)
{
	load_arg(b, mode);
	if_any(b, SET_ID_BITS, V_EPERM, NEXT);
	mask(b, S_IFMT);
	if_is(b, S_IFCHR, V_EPERM, NEXT);
	if_is(b, S_IFBLK, V_EPERM, V_ALLOW);
}

static void check_list(struct build *b, unsigned arg, const uint32_t *list, size_t n, enum verdict in, enum verdict out)
{
	load_arg(b, arg);
	for (size_t i = 0; i < n; i++)
		if_is(b, list[i], in, i + 1 < n ? NEXT : out);
}

static void check_only(struct build *b, unsigned arg, uint32_t value, enum verdict otherwise)
{
	check_list(b, arg, &value, 1, V_ALLOW, otherwise);
}

static void load_kind(struct build *b)
{
	load_arg(b, 1);
	mask(b, SOCK_KIND_MASK);
}

#define PROTOCOL_INSNS 3

/* The only one of its kind, named or not. */
static void check_protocol(struct build *b, uint32_t protocol)
{
	const uint32_t either[] = { 0, protocol };

	check_list(b, 2, either, COUNT(either), V_ALLOW, V_EAFNOSUPPORT);
}

/* A = family: what goes on is IPv4 or IPv6. */
static void check_inet(struct build *b)
{
	if_is(b, AF_INET, SKIP(1), NEXT);
	if_is(b, AF_INET6, NEXT, V_EAFNOSUPPORT);
}

/* What may be made beside sockets of IPv4 and IPv6. */
enum socket_more { MORE_NONE = 0, MORE_UNIX = 1, MORE_ROUTE = 2 };

static void check_socket(struct build *b, unsigned more)
{
	load_arg(b, 0);
	if (more & MORE_UNIX)
		if_is(b, AF_UNIX, V_ALLOW, NEXT);
	if (more & MORE_ROUTE) {
		if_is(b, AF_NETLINK, NEXT, SKIP(2));
		load_arg(b, 2);
		if_is(b, 0 /* NETLINK_ROUTE */, V_ALLOW, V_EAFNOSUPPORT);
	}
	check_inet(b);
	load_kind(b);
	if_is(b, SOCK_STREAM, NEXT, SKIP(PROTOCOL_INSNS));
	check_protocol(b, IPPROTO_TCP);
	if_is(b, SOCK_DGRAM, NEXT, V_EAFNOSUPPORT);
	check_protocol(b, IPPROTO_UDP);
}

static void check_tcp(struct build *b)
{
	load_arg(b, 0);
	check_inet(b);
	load_kind(b);
	if_is(b, SOCK_STREAM, NEXT, V_EAFNOSUPPORT);
	check_protocol(b, IPPROTO_TCP);
}

enum pair_of { PAIR_OF_STREAMS, PAIR_OF_STREAMS_OR_RECORDS };

static void check_pair(struct build *b, enum pair_of what)
{
	load_arg(b, 0);
	if_is(b, AF_UNIX, NEXT, V_EAFNOSUPPORT);
	load_kind(b);
	if (what == PAIR_OF_STREAMS_OR_RECORDS)
		if_is(b, SOCK_SEQPACKET, V_ALLOW, NEXT);
	if_is(b, SOCK_STREAM, V_ALLOW, V_EACCES);
}

static void check_thread(struct build *b)
{
	load_arg(b, 0);
	if_any(b, (uint32_t)NEW_NAMESPACES, V_EPERM, NEXT);
	if_any(b, CLONE_THREAD, V_ALLOW, V_EPERM);
}

static void emit_check(struct build *b, enum verdict v)
{
	static const uint32_t personalities[] = { 0, UINT32_MAX /* a question, no change */ };

	switch (v) {
	case V_CLONE:
		return check_bits(b, 0, (uint32_t)NEW_NAMESPACES);
	case V_THREAD:
		return check_thread(b);
	case V_MODE1:
		return check_bits(b, 1, SET_ID_BITS);
	case V_MODE2:
		return check_bits(b, 2, SET_ID_BITS);
	case V_OPEN:
		return check_open(b, 1, 2);
	case V_OPENAT:
		return check_open(b, 2, 3);
	case V_MKNOD1:
		return check_mknod(b, 1);
	case V_MKNOD2:
		return check_mknod(b, 2);
	case V_IOCTL:
		return check_list(b, 1, ioctls_refused, COUNT(ioctls_refused), V_EPERM, V_ALLOW);
	case V_IOCTL_OWN:
		return check_list(b, 1, ioctls_own, COUNT(ioctls_own), V_ALLOW, V_EPERM);
	case V_FCNTL:
		return check_list(b, 1, fcntls_refused, COUNT(fcntls_refused), V_EPERM, V_ALLOW);
	case V_PRCTL_OWN:
		return check_list(b, 0, prctls_own, COUNT(prctls_own), V_ALLOW, V_EPERM);
	case V_PERSONALITY:
		return check_list(b, 0, personalities, COUNT(personalities), V_ALLOW, V_EPERM);
	case V_SOCKET:
		return check_socket(b, MORE_UNIX | MORE_ROUTE);
	case V_SOCKET_INET:
		return check_socket(b, MORE_ROUTE);
	case V_SOCKET_IP:
		return check_socket(b, MORE_NONE);
	case V_SOCKET_TCP:
		return check_tcp(b);
	case V_PAIR:
		return check_pair(b, PAIR_OF_STREAMS_OR_RECORDS);
	case V_PAIR_STREAM:
		return check_pair(b, PAIR_OF_STREAMS);
	case V_SOCKET_UNIX:
		return check_only(b, 0, AF_UNIX, V_EAFNOSUPPORT);
	case V_NOEXEC:
		return check_bits(b, 2, PROT_EXEC);
	case V_SELF0:
		return check_only(b, 0, 0, V_EPERM);
	case V_SELF1:
		return check_only(b, 1, 0, V_EPERM);
	case V_SELF_PID:
		return check_only(b, 0, (uint32_t)getpid(), V_EPERM);
	case V_ONE_PROCESS:
		return check_only(b, 3, 0, V_EPERM);
	case V_SOCKOPT:
		return check_list(b, 2, sockopts_refused, COUNT(sockopts_refused), V_EPERM, V_ALLOW);
	case V_SEND2:
		return check_bits(b, 2, FASTOPEN | MSG_OOB);
	case V_SEND3:
		return check_bits(b, 3, FASTOPEN | MSG_OOB);
	case V_ALLOW:
	case V_EPERM:
	case V_EACCES:
	case V_ENOSYS:
	case V_EAFNOSUPPORT:
	case V_NOTHING:
	case V_NOTIFY:
	case V_KILL:
	case VERDICT_COUNT:
		break;
	}
	BUG_IF(true);
}

/* Numbers of one verdict that follow each other. */
struct span {
	uint32_t from;
	enum verdict verdict;
};

static size_t find_spans(const struct seccomp_table *t, struct span out[CALLS])
{
	enum verdict is[CALLS];
	size_t n = 0;

	for (size_t nr = 0; nr < CALLS; nr++)
		is[nr] = t->dflt;
	for (size_t s = 0; s < SECCOMP_SETS_MAX && t->sets[s]; s++)
		for (size_t i = 0; i < t->sets[s]->n; i++) {
			const struct seccomp_row *row = &t->sets[s]->rows[i];

			BUG_IF(row->nr > NR_LAST);
			if (row->nr >= 0)
				is[row->nr] = row->verdict;
		}
	for (uint32_t nr = 0; nr < CALLS; nr++)
		if (nr == 0 || is[nr] != is[nr - 1])
			out[n++] = (struct span){ .from = nr, .verdict = is[nr] };
	return n;
}

/* What all of these are, or NEXT where that is left to find out. */
static size_t all_are(const struct span *s, size_t n)
{
	return n == 1 ? s->verdict : NEXT;
}

/* The first single number whose neighbours are of one verdict; 0 when there is none. */
static size_t odd_one(const struct span *s, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++)
		if (s[i + 1].from == s[i].from + 1 && s[i - 1].verdict == s[i + 1].verdict)
			return i;
	return 0;
}

/* A = a number of these. A tree of comparisons and nothing else: the kernel follows every number through it when a filter is installed,
 * and asks it no more about those that it allows without a look at their arguments. An odd one, once asked for, is as its neighbours. */
static void emit_tree(struct build *b, struct span *s, size_t n)
{
	for (size_t odd; n <= FEW_SPANS && (odd = odd_one(s, n)) > 0; n -= 2) {
		if_is(b, s[odd].from, s[odd].verdict, all_are(s, n - 2));
		memmove(&s[odd], &s[odd + 2], (n - odd - 2) * sizeof(*s));
	}
	if (n == 1)
		return;
	size_t mid = (n + 1) / 2, above = all_are(s + mid, n - mid);
	size_t node = emit_jump(b, BPF_JGE, s[mid].from, above, all_are(s, mid));
	emit_tree(b, s, mid);
	if (above == NEXT)
		b->to[node].yes = SKIP(b->n - node - 1);
	emit_tree(b, s + mid, n - mid);
}

/* Jumps lead forward: the checks jump to what is no check. */
static void emit_verdicts(struct build *b)
{
	for (unsigned v = VERDICT_CHECKS; v < VERDICT_COUNT; v++) {
		b->place[v] = b->n;
		if (b->wanted[v])
			emit_check(b, v);
	}
	for (unsigned v = 0; v < VERDICT_CHECKS; v++) {
		b->place[v] = b->n;
		if (b->wanted[v])
			emit(b, BPF_RET | BPF_K, action(v));
	}
}

static uint8_t distance(const struct build *b, size_t from, size_t to)
{
	return (uint8_t)(to < VERDICT_COUNT ? b->place[to] - from - 1 : to - NEXT);
}

static void set_jumps(struct build *b)
{
	_Static_assert(SECCOMP_INSNS_MAX <= UINT8_MAX + 1, "a conditional jump reaches over 255 instructions: any other");
	for (size_t i = 0; i < b->n; i++) {
		if (BPF_CLASS(b->f->insn[i].code) != BPF_JMP)
			continue;
		b->f->insn[i].jt = distance(b, i, b->to[i].yes);
		b->f->insn[i].jf = distance(b, i, b->to[i].no);
	}
}

int seccomp_build(enum seccomp_profile profile, struct seccomp_filter *out, struct err *err)
{
	struct build b = { .f = out };
	struct span spans[CALLS];
	size_t n;

	if (MACHINE == 0)
		return err_set(err, ERR_UNSUPPORTED, "there is no system-call table for this machine");
	n = find_spans(&seccomp_tables[profile], spans);
	load(&b, offsetof(struct seccomp_data, arch));
	if_is(&b, MACHINE, NEXT, V_KILL);
	load(&b, offsetof(struct seccomp_data, nr));
	emit_jump(&b, BPF_JGT, NR_LAST, V_ENOSYS, NEXT); /* x32 calls have bit 30 set and end here too */
	emit_tree(&b, spans, n);
	emit_verdicts(&b);
	set_jumps(&b);
	out->n = (uint16_t)b.n;
	return 0;
}

int seccomp_enter(const struct seccomp_filter *f, struct err *err)
{
	struct sock_fprog prog = { .len = f->n, .filter = (struct sock_filter *)f->insn };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(err, errno, "install the system-call filter");
	return 0;
}

const char *seccomp_name(enum seccomp_profile profile)
{
	return seccomp_tables[profile].name;
}

static bool jump_taken(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		BUG_IF(true);
	}
}

static uint32_t run_filter(const struct seccomp_filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct sock_filter *in = &f->insn[i];

		switch (BPF_CLASS(in->code)) {
		case BPF_LD:
			memcpy(&a, (const char *)data + in->k, sizeof(a));
			break;
		case BPF_ALU:
			a &= in->k;
			break;
		case BPF_JMP:
			i += jump_taken(in->code, a, in->k) ? in->jt : in->jf;
			break;
		case BPF_RET:
			return in->k;
		default:
			BUG_IF(true);
		}
	}
	BUG_IF(true); /* the kernel refuses a filter that can run off its end */
}

int seccomp_judge(const struct seccomp_filter *f, uint32_t arch, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = arch };
	uint32_t r;

	memcpy(data.args, args, sizeof(data.args));
	r = run_filter(f, &data);
	if (r == SECCOMP_RET_ALLOW)
		return 0;
	if (r == SECCOMP_RET_USER_NOTIF)
		return -2;
	if (r == SECCOMP_RET_ERRNO)
		return SECCOMP_NOTHING;
	return (r & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? (int)(r & SECCOMP_RET_DATA) : -1;
}
