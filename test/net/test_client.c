/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/seccomp.h"
#include "test/lib/test.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const struct {
	const char *why;
	int nr;
	uint64_t args[3];
	bool ok;
} calls[] = {
	{ "a path socket to the broker", SYS_socket, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, true },
	{ "its requests come by messages", SYS_recvmsg, { 4, 0, 0 }, true },
	{ "no internet", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, false },
	{ "no internet of the new kind", SYS_socket, { AF_INET6, SOCK_DGRAM, 0 }, false },
	{ "no talk with the kernel", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, false },
	{ "no file", SYS_openat, { (uint64_t)-100, 0, 0 }, false },
	{ "no look at a path", SYS_newfstatat, { (uint64_t)-100, 0, 0 }, false },
	{ "no program", SYS_execve, { 0, 0, 0 }, false },
	{ "no process", SYS_clone, { 17, 0, 0 }, false },
	{ "no other process's memory", SYS_process_vm_readv, { 1, 0, 0 }, false },
#ifndef AGENT6_SANITIZED /* its run time maps what it likes */
	{ "no memory that is code", SYS_mmap, { 0, 4096, 5 }, false },
#endif
};

TEST(client_keeps_its_channels_and_the_brokers_sockets_and_nothing_else)
{
	struct seccomp_filter f;
	struct err err = { 0 };

	CHECK_OK(seccomp_build(SECCOMP_CLIENT, &f, &err));
	for (size_t i = 0; i < COUNT(calls); i++) {
		uint64_t args[6] = { calls[i].args[0], calls[i].args[1], calls[i].args[2] };
		int got = seccomp_judge(&f, ARCH, calls[i].nr, args);

		if ((got == 0) != calls[i].ok)
			print_message("%s: %d\n", calls[i].why, got);
		CHECK((got == 0) == calls[i].ok);
	}
}
