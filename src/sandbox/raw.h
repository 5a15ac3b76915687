/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* raw: system calls without libc, for a process that shares its memory with the one that made it.
 *
 * Shape    raw(SYS_x, ...) answers what the kernel answered: a value, or minus the errno. It touches no
 *          errno, no lock and no cache of libc's, which all belong to the other process.
 */
#ifndef SANDBOX_RAW_H
#define SANDBOX_RAW_H

#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
		: "=a"(ret)
		: "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#else
#error "the jail knows x86_64 and aarch64"
#endif

#define RAW_PICK(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define raw(...)                                                                                             \
	RAW_PICK(__VA_ARGS__, RAW7, RAW6, RAW5, RAW4, RAW3, RAW2, RAW1, unused)(__VA_ARGS__)
#define RAW1(n)                   raw6(n, 0, 0, 0, 0, 0, 0)
#define RAW2(n, a)                raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW3(n, a, b)             raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW4(n, a, b, c)          raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW5(n, a, b, c, d)       raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(n, a, b, c, d, e)    raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define RAW7(n, a, b, c, d, e, f) raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
