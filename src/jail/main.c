/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent6-jail: one command under one policy: JSON on stdin, one line of JSON on stdout. */
#include "git/gitindex.h"
#include "git/gitop.h"
#include "sandbox/attempt.h"
#include "sandbox/once.h"
#include "sandbox/policy.h"
#include "sandbox/probe.h"
#include "sandbox/zygote.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_REFUSED 2
#define ANSWER_MAX   (16 * 1024 * 1024)

static int refuse(const struct err *err)
{
	fprintf(stderr, "agent6-jail: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "agent6-jail: hint: %s\n", err->hint);
	return EXIT_REFUSED;
}

static int run_once(struct err *err)
{
	auto_buf struct buf text = BUF_MAX(POLICY_BYTES_MAX);
	auto_buf struct buf answer = BUF_MAX(ANSWER_MAX);
	auto_arena struct arena *mem = arena_new();
	auto_once struct once_result result = { 0 };
	struct sandbox_policy policy;

	TRY(proc_sanitize(0, err));
	if (file_read_fd(0, &text, err) < 0)
		return err_wrap(err, "policy");
	TRY(policy_decode(buf_str(&text), POLICY_ONCE, mem, &policy, err));
	TRY(once_run(&policy, &result, err));
	TRY(once_encode(&result, &answer, err));
	if (policy.profile == PROFILE_NONE)
		fputs("agent6-jail: UNCONFINED: profile \"none\" ran the command with all of this user's rights\n",
			stderr);
	TRY(file_write_fd(1, buf_str(&answer), err));
	_exit(0); /* the kernel takes all of it back at once, faster than piece by piece */
}

/* Whether this program may make the namespaces that "strict" needs: AppArmor may allow it what it refuses others, or refuse
 * it what it allows them. Who asked is told on one line. */
static int run_probe(struct err *err)
{
	auto_buf struct buf line = BUF_MAX(256);
	struct probe p;

	TRY(proc_sanitize(0, err));
	TRY(probe_host(&p, err));
	if (p.userns)
		return 0;
	TRY(probe_tell(&p, &line, err));
	TRY(file_write_fd(1, buf_str(&line), err));
	return err_set(err, ERR_UNSUPPORTED, "%s", probe_reason(&p));
}

int main(int argc, char **argv)
{
	struct err err = { 0 };

	if (proc_need_stack(&err) < 0)
		return refuse(&err);
	if (argc == 1)
		return run_once(&err) < 0 ? refuse(&err) : 0;
	if (argc == 2 && strcmp(argv[1], "--zygote") == 0)
		return zygote_main(gitop_words, gitindex_digest);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("agent6-jail " AGENT6_VERSION);
		return 0;
	}
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "--attempt") == 0)
		return attempt_main(argv[2], argc == 4 ? argv[3] : NULL);
	if (argc == 2 && strcmp(argv[1], "--probe") == 0)
		return run_probe(&err) < 0 ? refuse(&err) : 0;
	err_set(&err, ERR_INVALID, "unknown arguments: a policy comes on standard input; --zygote, --attempt, --probe and --version are known");
	return refuse(&err);
}
