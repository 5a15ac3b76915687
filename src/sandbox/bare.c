/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/bare.h"
#include "base/time.h"
#include "sys/proc.h"

#define KEEP_MAX (64 * 1024 * 1024)

int bare_run(const struct sandbox_policy *p, struct once_result *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(KEEP_MAX);
	auto_buf struct buf errs = BUF_MAX(KEEP_MAX);
	struct proc_spec spec = { .argv = p->argv.p, .env = p->env.p, .cwd = p->cwd, .die_with_parent = true };
	struct proc_status st = { 0 };
	int r;

	r = proc_run(&spec, STR(""), p->timeout_ms, &text, &errs, &st, err);
	if (r == -ERR_TIMEOUT) {
		out->timed_out = true;
		out->code = ONCE_TIMEOUT_CODE;
	} else if (r == -ERR_NOENT || r == -ERR_PERM) {
		once_unexecutable(out, p->argv.p[0], err->sys);
	} else if (r < 0) {
		return r;
	} else {
		out->code = st.code;
	}
	capture_feed(&out->out, buf_str(&text));
	capture_feed(&out->errs, buf_str(&errs));
	return 0;
}
