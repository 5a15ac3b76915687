/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a command can leave in the work tree for git to wait for, or to read whole. */
#include "git/repo_priv.h"
#include "test/git/git_lib.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void ends_in_time(struct fixture *f)
{
	struct git_result res;
	struct err err = { 0 };

	if (!f->jailed)
		return;
	f->timeout_ms = 100; /* nobody ever writes to it */
	repo_with_commit(f);
	CHECK_INT(mkfifoat(f->dir.fd, ".gitignore", 0666), 0);
	fixture_host(f);
	CHECK_INT(f->host->run(f->host->self, GIT_STATUS, NULL, 0, STR(""), f->mem, &res, &err), -ERR_TIMEOUT);
	CHECK(strstr(err.msg, "git did not end within ") && strstr(err.msg, " s; is there a FIFO or a very large .gitignore or .gitattributes?"));
}

TEST(a_git_that_waits_for_a_fifo_is_ended) { each_host(ends_in_time); }

static void ends_in_bounds(struct fixture *f)
{
	struct git_result res;
	struct err err = { 0 };

	if (!f->jailed)
		return;
	f->memory_mb = 128;
	repo_with_commit(f);
	fixture_host(f);
	CHECK_OK(f->host->run(f->host->self, GIT_STATUS, NULL, 0, STR(""), f->mem, &res, &err));
	CHECK_INT(res.code, 0);
	autoclose int fd = openat(f->dir.fd, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	CHECK_INT(ftruncate(fd, 512L << 20), 0);
	CHECK_OK(f->host->run(f->host->self, GIT_STATUS, NULL, 0, STR(""), f->mem, &res, &err));
	CHECK_INT(res.code, 128);
	CHECK_INT(repo_failed(&res, "look", &err), -ERR_REMOTE);
	CHECK(strstr(err.msg, "emory") && strstr(err.msg, "is there a very large .gitignore or .gitattributes?"));
}

TEST(a_git_that_reads_a_large_file_whole_has_its_bound) { each_host(ends_in_bounds); }
