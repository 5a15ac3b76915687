/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/index_ask.h"

#define ANSWER_MAX (2 * 1024 * 1024) /* what the worker may say, without what it leaves; it promises much less */
#define TIMEOUT_MS 60000

struct answer {
	const char *tool;
	index_row_fn *row;
	void *self;
	struct arena *mem;
	struct index_answer *out;
	bool done;
	struct str failure;
};

static int take_line(struct answer *a, struct str line, struct err *err)
{
	auto_json json_t *j = NULL;

	if (json_decode(line, JSON_EXACT, &j, ERR_DISCARD) < 0 || !json_is_object(j) || a->done)
		return err_set(err, ERR_PROTOCOL, "%s failed: the search worker's answer cannot be read", a->tool);
	if (!json_object_get(j, "done") && !json_object_get(j, "error"))
		return a->row(a->self, j, err);
	a->done = true;
	a->out->source = str_dup(a->mem, json_get_str(j, "source"));
	a->out->note = str_dup(a->mem, json_get_str(j, "note"));
	a->failure = str_dup(a->mem, json_get_str(j, "error"));
	a->out->truncated = json_is_true(json_object_get(j, "truncated"));
	return 0;
}

int index_ask(struct tool_ctx *ctx, const char *tool, const struct search_request *s, index_row_fn *row, void *self,
	struct index_answer *out, struct err *err)
{
	struct answer a = { .tool = tool, .row = row, .self = self, .mem = ctx->mem, .out = out };
	struct buf *cache = s->what == SEARCH_DEFINITIONS ? ctx->index_cache : NULL;
	auto_buf struct buf request = BUF_MAX(SEARCH_REQUEST_MAX + (cache ? 1 + SEARCH_CACHE_MAX : 0));
	struct job_request req = { .class = JOB_INDEX, .timeout_ms = TIMEOUT_MS, .keep_head = ANSWER_MAX + (cache ? SEARCH_CACHE_MAX : 0) };
	struct job_result job = { 0 };

	*out = (struct index_answer){ 0 };
	TRY(search_encode(s, &request, err));
	if (cache) {
		TRY(buf_addc(&request, '\n', err));
		TRY(buf_add(&request, buf_str(cache), err));
	}
	req.in = buf_str(&request);
	TRY(ctx->host->job(ctx->host->self, &req, ctx->mem, &job, err));
	if (job.why != JOB_EXITED)
		return err_set(err, job.why == JOB_TIMEOUT ? ERR_TIMEOUT : ERR_SYS, "%s failed: %s", tool,
			job.note.n > 0 ? str_dup(ctx->mem, job.note).p : job.why == JOB_TIMEOUT ? "it took too long; narrow it"
			: "the search worker died");
	struct str rest = job.out;

	while (rest.n > 0 && !(cache && a.done))
		TRY(take_line(&a, str_trim(str_line(&rest)), err));
	if (rest.n > 0 && rest.n <= SEARCH_CACHE_MAX) { /* bytes to us: the worker that gets them back believes none of them */
		buf_clear(cache);
		TRY(buf_add(cache, rest, err));
	}
	if (a.failure.n > 0)
		return err_set(err, ERR_INVALID, STR_FMT, STR_ARG(a.failure));
	return a.done ? 0 : err_set(err, ERR_SYS, "%s failed: the search worker ended early (exit %d)", tool, job.code);
}
