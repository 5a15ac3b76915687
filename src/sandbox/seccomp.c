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

#define CALLS      (NR_LAST + 1)
#define WORDS      ((CALLS + 31) / 32)
#define CHECKS_MAX 64 /* calls of one profile whose arguments are looked at */

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

struct build {
	struct seccomp_filter *f;
	size_t n; /* also counts what no longer fits */
	uint8_t verdict[WORDS * 32];
	struct {
		size_t at; /* of the jump to be patched */
		uint8_t verdict;
	} jump[CHECKS_MAX];
	size_t njumps;
	bool too_far; /* a jump past 255 instructions */
};

static size_t emit(struct build *b, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (b->n < SECCOMP_INSNS_MAX)
		b->f->insn[b->n] = (struct sock_filter)BPF_JUMP(code, k, jt, jf);
	return b->n++;
}

static uint32_t action(enum verdict v)
{
	static const uint32_t actions[VERDICT_CHECKS] = { [V_ALLOW] = SECCOMP_RET_ALLOW,
		[V_EPERM] = SECCOMP_RET_ERRNO | EPERM, [V_EACCES] = SECCOMP_RET_ERRNO | EACCES,
		[V_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS, [V_NOTHING] = SECCOMP_RET_ERRNO,
		[V_NOTIFY] = SECCOMP_RET_USER_NOTIF };

	BUG_IF(v >= VERDICT_CHECKS);
	return actions[v];
}

static void ret(struct build *b, uint32_t what)
{
	emit(b, BPF_RET | BPF_K, what, 0, 0);
}

static void load_nr(struct build *b)
{
	emit(b, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

/* The half the kernel looks at: flags, modes, requests and pids are 32 bits wide. */
static void load_arg(struct build *b, unsigned i)
{
	uint32_t at = (uint32_t)offsetof(struct seccomp_data, args) + 8 * i;

	emit(b, BPF_LD | BPF_W | BPF_ABS, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? at + 4 : at, 0, 0);
}

static void ret_if_any(struct build *b, uint32_t bits, uint32_t what)
{
	emit(b, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	ret(b, what);
}

static void ret_if_is(struct build *b, uint32_t value, uint32_t what)
{
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	ret(b, what);
}

static void ret_if_in(struct build *b, const uint32_t *list, size_t n, uint32_t what)
{
	for (size_t i = 0; i < n; i++)
		ret_if_is(b, list[i], what);
}

static void check_bits(struct build *b, unsigned arg, uint32_t bits)
{
	load_arg(b, arg);
	ret_if_any(b, bits, action(V_EPERM));
	ret(b, action(V_ALLOW));
}

static void check_open(struct build *b, unsigned flags, unsigned mode)
{
	load_arg(b, flags);
	emit(b, BPF_JMP | BPF_JSET | BPF_K, OPEN_CREATES, 1, 0);
	ret(b, action(V_ALLOW));
	check_bits(b, mode, SET_ID_BITS);
}

static void check_mknod(struct build *b, unsigned mode)
{
	load_arg(b, mode);
	ret_if_any(b, SET_ID_BITS, action(V_EPERM));
	emit(b, BPF_ALU | BPF_AND | BPF_K, S_IFMT, 0, 0);
	ret_if_is(b, S_IFCHR, action(V_EPERM));
	ret_if_is(b, S_IFBLK, action(V_EPERM));
	ret(b, action(V_ALLOW));
}

static void check_list(struct build *b, unsigned arg, const uint32_t *list, size_t n, enum verdict in, enum verdict out)
{
	load_arg(b, arg);
	ret_if_in(b, list, n, action(in));
	ret(b, action(out));
}

/* A = kind of socket already masked: STREAM with protocol 0 or TCP, DGRAM with 0 or UDP. */
static void check_inet_kind(struct build *b)
{
	load_arg(b, 1);
	emit(b, BPF_ALU | BPF_AND | BPF_K, SOCK_KIND_MASK, 0, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 4);
	load_arg(b, 2);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, 6, 5, 0);
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 0, 4);
	load_arg(b, 2);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 1);
	ret(b, action(V_ALLOW));
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

/* What may be made beside sockets of IPv4 and IPv6. */
enum socket_more { MORE_NONE = 0, MORE_UNIX = 1, MORE_ROUTE = 2 };

static void check_socket(struct build *b, unsigned more)
{
	load_arg(b, 0);
	if (more & MORE_UNIX)
		ret_if_is(b, AF_UNIX, action(V_ALLOW));
	if (more & MORE_ROUTE) {
		emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3);
		load_arg(b, 2);
		ret_if_is(b, 0 /* NETLINK_ROUTE */, action(V_ALLOW));
		load_arg(b, 0);
	}
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	check_inet_kind(b);
}

static void check_tcp(struct build *b)
{
	load_arg(b, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	load_arg(b, 1);
	emit(b, BPF_ALU | BPF_AND | BPF_K, SOCK_KIND_MASK, 0, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 1, 0);
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	load_arg(b, 2);
	ret_if_is(b, 0, action(V_ALLOW));
	ret_if_is(b, IPPROTO_TCP, action(V_ALLOW));
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void check_only(struct build *b, unsigned arg, uint32_t value, uint32_t otherwise)
{
	load_arg(b, arg);
	ret_if_is(b, value, action(V_ALLOW));
	ret(b, otherwise);
}

enum pair_of { PAIR_OF_STREAMS, PAIR_OF_STREAMS_OR_RECORDS };

static void check_pair(struct build *b, enum pair_of what)
{
	load_arg(b, 0);
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
	ret(b, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	load_arg(b, 1);
	emit(b, BPF_ALU | BPF_AND | BPF_K, SOCK_KIND_MASK, 0, 0);
	ret_if_is(b, SOCK_STREAM, action(V_ALLOW));
	if (what == PAIR_OF_STREAMS_OR_RECORDS)
		ret_if_is(b, SOCK_SEQPACKET, action(V_ALLOW));
	ret(b, action(V_EACCES));
}

static void check_thread(struct build *b)
{
	load_arg(b, 0);
	ret_if_any(b, (uint32_t)NEW_NAMESPACES, action(V_EPERM));
	ret_if_any(b, CLONE_THREAD, action(V_ALLOW));
	ret(b, action(V_EPERM));
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
		return check_only(b, 0, AF_UNIX, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	case V_NOEXEC:
		return check_bits(b, 2, PROT_EXEC);
	case V_SELF0:
		return check_only(b, 0, 0, action(V_EPERM));
	case V_SELF1:
		return check_only(b, 1, 0, action(V_EPERM));
	case V_SELF_PID:
		return check_only(b, 0, (uint32_t)getpid(), action(V_EPERM));
	case V_ONE_PROCESS:
		return check_only(b, 3, 0, action(V_EPERM));
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
	case V_NOTHING:
	case V_NOTIFY:
	case VERDICT_COUNT:
		break;
	}
	BUG_IF(true);
}

static void fill_verdicts(struct build *b, const struct seccomp_table *t)
{
	memset(b->verdict, (int)t->dflt, sizeof(b->verdict));
	for (size_t s = 0; s < SECCOMP_SETS_MAX && t->sets[s]; s++)
		for (size_t i = 0; i < t->sets[s]->n; i++) {
			const struct seccomp_row *row = &t->sets[s]->rows[i];

			BUG_IF(row->nr > NR_LAST);
			if (row->nr >= 0)
				b->verdict[row->nr] = (uint8_t)row->verdict;
		}
}

/* The calls of one word of 32, as bits, by verdict; the last is those that have a check. */
struct word_masks {
	uint32_t of[VERDICT_CHECKS + 1];
};

static struct word_masks masks_of(const struct build *b, size_t word)
{
	struct word_masks m = { 0 };

	for (unsigned i = 0; i < 32; i++) {
		uint8_t is = b->verdict[word * 32 + i];

		m.of[is < VERDICT_CHECKS ? is : VERDICT_CHECKS] |= 1u << i;
	}
	return m;
}

static void emit_check_jumps(struct build *b, size_t word, uint32_t checked)
{
	size_t skip = emit(b, BPF_JMP | BPF_JSET | BPF_K, checked, 0, 0);

	load_nr(b);
	for (size_t nr = word * 32; nr < word * 32 + 32; nr++) {
		if (b->verdict[nr] < VERDICT_CHECKS)
			continue;
		BUG_IF(b->njumps == CHECKS_MAX);
		emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
		b->jump[b->njumps].verdict = b->verdict[nr];
		b->jump[b->njumps++].at = emit(b, BPF_JMP | BPF_JA, 0, 0, 0);
	}
	if (skip < SECCOMP_INSNS_MAX)
		b->f->insn[skip].jf = (uint8_t)(b->n - skip - 1);
	/* A now holds the number on the way that fell through, which no call takes. */
}

/* M[0] holds 1 << (nr % 32): the verdicts of a word are a few bit tests, most common one last. */
static void emit_word(struct build *b, size_t word)
{
	const struct word_masks m = masks_of(b, word);
	enum verdict common = V_ALLOW;

	for (unsigned v = V_ALLOW; v < VERDICT_CHECKS; v++)
		if (__builtin_popcount(m.of[v]) > __builtin_popcount(m.of[common]))
			common = v;
	if (m.of[common] != UINT32_MAX)
		emit(b, BPF_LD | BPF_MEM, 0, 0, 0);
	for (unsigned v = V_ALLOW; v < VERDICT_CHECKS; v++)
		if (v != common && m.of[v] != 0)
			ret_if_any(b, m.of[v], action(v));
	if (m.of[VERDICT_CHECKS] != 0)
		emit_check_jumps(b, word, m.of[VERDICT_CHECKS]);
	ret(b, action(common));
}

static void emit_tree(struct build *b, size_t lo, size_t hi)
{
	size_t mid = (lo + hi) / 2, node;

	if (hi - lo == 1)
		return emit_word(b, lo);
	node = emit(b, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)mid, 0, 0);
	emit_tree(b, lo, mid);
	if (b->n - node - 1 > UINT8_MAX)
		b->too_far = true;
	if (node < SECCOMP_INSNS_MAX)
		b->f->insn[node].jt = (uint8_t)(b->n - node - 1);
	emit_tree(b, mid, hi);
}

static void emit_checks(struct build *b)
{
	for (unsigned v = VERDICT_CHECKS; v < VERDICT_COUNT; v++) {
		size_t start = b->n;
		bool used = false;

		for (size_t i = 0; i < b->njumps; i++) {
			if (b->jump[i].verdict != v)
				continue;
			used = true;
			if (b->jump[i].at < SECCOMP_INSNS_MAX)
				b->f->insn[b->jump[i].at].k = (uint32_t)(start - b->jump[i].at - 1);
		}
		if (used)
			emit_check(b, v);
	}
}

int seccomp_build(enum seccomp_profile profile, struct seccomp_filter *out, struct err *err)
{
	struct build b = { .f = out };

	if (MACHINE == 0)
		return err_set(err, ERR_UNSUPPORTED, "there is no system-call table for this machine");
	fill_verdicts(&b, &seccomp_tables[profile]);
	emit(&b, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(&b, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	ret(&b, SECCOMP_RET_KILL_PROCESS);
	load_nr(&b);
	emit(&b, BPF_JMP | BPF_JGT | BPF_K, NR_LAST, 0, 1); /* x32 calls have bit 30 set and end here too */
	ret(&b, action(V_ENOSYS));
	emit(&b, BPF_ALU | BPF_AND | BPF_K, 31, 0, 0);
	emit(&b, BPF_MISC | BPF_TAX, 0, 0, 0);
	emit(&b, BPF_LD | BPF_IMM, 1, 0, 0);
	emit(&b, BPF_ALU | BPF_LSH | BPF_X, 0, 0, 0);
	emit(&b, BPF_ST, 0, 0, 0);
	load_nr(&b);
	emit(&b, BPF_ALU | BPF_RSH | BPF_K, 5, 0, 0);
	emit_tree(&b, 0, WORDS);
	emit_checks(&b);
	BUG_IF(b.n > SECCOMP_INSNS_MAX || b.too_far); /* the tables are constant: a test builds every one */
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

static uint32_t alu(uint16_t code, uint32_t a, uint32_t operand)
{
	switch (BPF_OP(code)) {
	case BPF_AND:
		return a & operand;
	case BPF_LSH:
		return a << (operand & 31);
	case BPF_RSH:
		return a >> (operand & 31);
	default:
		BUG_IF(true);
	}
}

static uint32_t run_filter(const struct seccomp_filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, m0 = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct sock_filter *in = &f->insn[i];

		switch (BPF_CLASS(in->code)) {
		case BPF_LD:
			if (BPF_MODE(in->code) == BPF_ABS)
				memcpy(&a, (const char *)data + in->k, sizeof(a));
			else
				a = BPF_MODE(in->code) == BPF_MEM ? m0 : in->k;
			break;
		case BPF_ST:
			m0 = a;
			break;
		case BPF_MISC:
			x = a;
			break;
		case BPF_ALU:
			a = alu(in->code, a, BPF_SRC(in->code) == BPF_X ? x : in->k);
			break;
		case BPF_JMP:
			i += BPF_OP(in->code) == BPF_JA	       ? in->k
				: jump_taken(in->code, a, in->k) ? in->jt
								: in->jf;
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
