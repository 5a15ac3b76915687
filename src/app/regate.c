/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/regate.h"

#include "app/exec.h"
#include "app/history.h"
#include "fmt/names.h"
#include "session/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#define NAMES_SHOWN 3

/* 0: it is the same. 1: the run committed nothing. */
static int compare(const struct regate_request *rq, const char *when, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_history struct history *h = NULL;
	auto_buf struct buf names = BUF_MAX(64 * 1024);
	struct repo_commit *list;
	struct str_list differ;
	size_t n;

	TRY(history_open(rq->place, rq->ref, HISTORY_READ, mem, &h, err));
	TRY(history_commits(h, &list, &n, err));
	if (n == 0)
		return 1;
	TRY(history_differs(h, &differ, err));
	TRY(names_add(&names, &differ, NAMES_SHOWN, err));
	return differ.n == 0 ? 0 : err_set(err, ERR_DENIED, "%s: " STR_FMT, when, STR_ARG(buf_str(&names)));
}

static int run_gate(const struct regate_request *rq, struct err *err)
{
	autoclose int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct exec_request exec = { .argv = rq->argv, .config = rq->config, .preset = rq->preset,
		.disable_sandbox = rq->disable_sandbox, .at_top = true, .timeout_ms = rq->timeout_ms,
		.out = nowhere, .errs = nowhere, .note = rq->note, .self = rq->self };
	sigset_t before;
	bool noted = false;
	int r;

	exec.noted = &noted;
	if (nowhere < 0 || sigprocmask(SIG_BLOCK, NULL, &before) < 0)
		return err_sys(err, errno, "open /dev/null");
	r = app_exec(&exec, err);
	if (sigprocmask(SIG_SETMASK, &before, NULL) < 0)
		return err_sys(err, errno, "unblock signals");
	TRY(r);
	if (r != 0)
		return err_set(err, ERR_DENIED, "the gate was run again on what would be merged and ended with %d", r);
	/* Where no mount protects the repository, what would be merged may be something else now. In a run this ends it. */
	return noted ? err_set(err, ERR_DENIED, "the gate was run again, and its jail saw what no gate may do: it is said above") : 0;
}

int app_regate_reads(const struct regate_request *rq, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_history struct history *h = NULL;
	auto_buf struct buf said = BUF_MAX(1 << 20);
	struct str_list touched;

	TRY(history_open(rq->place, rq->ref, HISTORY_READ, mem, &h, err));
	TRY(history_gate_touched(h, rq->argv, &touched, err));
	TRY(ending_say_gate(&touched, &said, err));
	if (touched.n > 0)
		return err_set(err, ERR_DENIED, STR_FMT, STR_ARG(buf_str(&said)));
	TRY(history_gate_untracked(h, rq->argv, &touched, err));
	TRY(names_add(&said, &touched, NAMES_SHOWN, err));
	return touched.n == 0 ? 0 : err_set(err, ERR_DENIED, "what the gate runs is in no commit, so nobody can say whether the run changed "
		"it: " STR_FMT, STR_ARG(buf_str(&said)));
}

int app_regate(const struct regate_request *rq, struct err *err)
{
	int r = compare(rq, "the gate cannot be run on what would be merged, since the work tree is not that", err);

	TRY(r);
	if (r == 1)
		return 0;
	TRY(run_gate(rq, err));
	return compare(rq, "the gate was run again and changed what would be merged", err);
}
