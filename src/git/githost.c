/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/githost.h"

#define OUT_MAX  (64u << 20)
#define ERRS_MAX (64u << 10)

static int run(void *self, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err)
{
	struct git_zygote *z = self;
	auto_buf struct buf text = BUF_MAX(OUT_MAX), errs = BUF_MAX(ERRS_MAX);
	const struct zygote_call call = { .class = JOB_GIT, .op = (uint8_t)op, .args = args, .nargs = n, .in = in };
	struct zygote_answer a;

	TRY(zygote_call(&z->client, &call, &text, &errs, &a, err));
	if (z->after)
		TRY(z->after(z->after_self, err));
	if (a.why == JOB_TIMEOUT)
		return gitop_overdue((int64_t)(a.wall_us / 1000), err);
	if (a.why == JOB_UNRUNNABLE || a.why == JOB_LOST)
		return err_set(err, ERR_UNSUPPORTED, "git cannot be run: %s", a.note);
	if (a.why != JOB_EXITED && a.why != JOB_SIGNALED)
		return err_set(err, ERR_DENIED, "git: %s", a.note[0] ? a.note : "the job was stopped");
	if (a.lost_out > 0)
		return err_set(err, ERR_LIMIT, "git printed more than %u MB", OUT_MAX >> 20);
	*out = (struct git_result){ (int)a.code, str_dup(mem, buf_str(&text)), str_dup(mem, buf_str(&errs)) };
	return 0;
}

void git_zygote_init(struct git_zygote *z, int fd)
{
	*z = (struct git_zygote){ .host = { z, run } };
	zygote_client_init(&z->client, fd);
}

void git_zygote_fini(struct git_zygote *z)
{
	zygote_client_fini(&z->client);
}
