/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/caps.h"
#include "sandbox/namespace.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whose a directory is need not be whose its group is. */
TEST(caps_of_root_become_an_owner_without_root_s_group)
{
	auto_dir struct test_dir dir = test_dir_new();
	struct err err = { 0 };
	int st = 0;

	if (!ns_is_real_root())
		return;
	CHECK(chown(dir.path, 1234, 0) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		_exit(fd >= 0 && caps_become_owner(fd, &err) == 0 && getuid() == 1234 && getgid() == 1234 && getegid() == 1234 ? 0 : 1);
	}
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(st, 0);
}
