/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_zygote: whatever an asker sends, what becomes of it stays in the ceiling: a command's directory is
 * below the workspace, its PATH is the ceiling's, its time is bounded; git is one of the table's lines. */
#include "git/gitop.h"
#include "sandbox/zygote_priv.h"

#include <string.h>

#define WORKSPACE "/w/space"
#define PATH_WORD "PATH=/usr/bin"

static void check_run(const struct request *rq)
{
	size_t paths = 0;

	BUG_IF(strncmp(rq->cwd, WORKSPACE, sizeof(WORKSPACE) - 1) != 0);
	BUG_IF(rq->cwd[sizeof(WORKSPACE) - 1] != '\0' && rq->cwd[sizeof(WORKSPACE) - 1] != '/');
	BUG_IF(strstr(rq->cwd, "/../") || str_ends(str_from(rq->cwd), STR("/..")));
	BUG_IF(rq->timeout_ms == 0 || rq->timeout_ms > 5000);
	BUG_IF(rq->class != JOB_COMMAND && rq->class != JOB_BACKGROUND && rq->class != JOB_INDEX);
	for (size_t i = 0; rq->env[i]; i++)
		paths += strncmp(rq->env[i], "PATH=", 5) == 0;
	BUG_IF(paths != 1 || strcmp(rq->env[0], PATH_WORD) != 0);
}

/* The fixed words come first and are all there; no word of the asker's may be taken for an option of git's own. */
static void check_git(const struct request *rq)
{
	size_t i = 2;

	BUG_IF(strcmp(rq->argv[0], "git") != 0 || strcmp(rq->argv[1], "--no-pager") != 0);
	while (rq->argv[i] && strcmp(rq->argv[i], "-c") == 0)
		i += 2;
	BUG_IF(!rq->argv[i] || rq->argv[i][0] == '-');
	for (bool paths = false; rq->argv[i]; i++) {
		paths = paths || strcmp(rq->argv[i], "--") == 0;
		BUG_IF(!paths && (strcmp(rq->argv[i], "--force") == 0 || strncmp(rq->argv[i], "--output", 8) == 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *env[] = { PATH_WORD, "TERM=x", NULL };
	struct zygote_spec spec = { .policy = { .cwd = WORKSPACE, .env = { env, 2 } }, .git_dir = WORKSPACE "/.git",
		.common_dir = WORKSPACE "/.git", .run_id = "calm-fox-1", .nlimits = 4,
		.limits = { { JOB_COMMAND, 5000, true }, { JOB_INDEX, 5000, false }, { JOB_GIT, 5000, false },
			{ JOB_BACKGROUND, 5000, true } } };
	const struct git_place git = { .words = gitop_words, .index = "/tmp/i" };
	static struct chan_msg m; /* large; nothing but the body is read */
	struct request rq;
	struct err err = { 0 };

	static const char *words[] = { "srv", NULL }, *server_env[] = { "A=b", NULL };

	if (size == 0)
		return 0;
	spec.servers[0] = (struct zygote_server){ .name = "s", .argv = { words, 1 }, .env = { server_env, 1 } };
	spec.nservers = 1;
	spec.limits[spec.nlimits++] = (struct zygote_limit){ JOB_LANGUAGE, 0, false };
	spec.kind = data[0] & 1 && !(data[0] & 4) ? ZYGOTE_GIT : ZYGOTE_COMMAND;
	spec.may_merge = data[0] & 2;
	m.body = str_of(data + 1, size - 1);
	if (data[0] & 4) {
		if (request_read_serve(&spec, &m, &rq, &err) == 0)
			BUG_IF(rq.argv != words || rq.class != JOB_LANGUAGE || strcmp(rq.cwd, WORKSPACE) != 0 || rq.env[3]);
		request_fini(&rq);
		return 0;
	}
	if (spec.kind == ZYGOTE_GIT) {
		if (request_read_git(&spec, &git, &m, &rq, &err) == 0)
			check_git(&rq);
	} else if (request_read_run(&spec, &m, &rq, &err) == 0) {
		check_run(&rq);
	}
	request_fini(&rq);
	return 0;
}
