/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a test sets up in a world before the agent begins, and what it looks at afterwards. */
#include "test/agent/world.h"

#include "sys/proc.h"

const char *const world_git_env[] = { "GIT_AUTHOR_NAME=Ann", "GIT_COMMITTER_NAME=Ann",
	"GIT_AUTHOR_EMAIL=ann@example.invalid", "GIT_COMMITTER_EMAIL=ann@example.invalid",
	"PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", NULL };

static int git(struct world *w, const char *const *argv, struct buf *out)
{
	const struct proc_spec spec = { .argv = argv, .env = world_git_env, .cwd = w->ws };
	auto_buf struct buf errs = BUF_MAX(65536);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR(""), 10000, out, &errs, &st, &err));
	return st.code;
}

int world_git(struct world *w, const char *a, const char *b, const char *c, const char *d)
{
	const char *const argv[] = { "/usr/bin/git", a, b, c, d, NULL };
	auto_buf struct buf out = BUF_MAX(65536);

	return git(w, argv, &out);
}

struct str world_git_out(struct world *w, const char *rev)
{
	const char *const argv[] = { "/usr/bin/git", "show", rev, NULL };
	auto_buf struct buf out = BUF_MAX(65536);

	return git(w, argv, &out) == 0 ? str_dup(w->mem, buf_str(&out)) : STR("");
}

void world_repository(struct world *w)
{
	w->params.is_git = 1;
	CHECK_INT(world_git(w, "init", "-q", "-b", "main"), 0);
	CHECK_INT(world_git(w, "add", "seen", NULL, NULL), 0);
	CHECK_INT(world_git(w, "commit", "-q", "-m", "first"), 0);
}

void world_gate(struct world *w)
{
	static struct str words[] = { { "make", 4 }, { "test", 4 } };

	w->params.verify_command = (struct str_list){ words, COUNT(words) };
}

void world_metric(struct world *w)
{
	static struct str words[] = { { "score", 5 } };

	w->params.metric_command = (struct str_list){ words, COUNT(words) };
	w->params.metric_pattern = STR("([0-9]+)");
}

size_t world_count(const struct world *w, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(w->events); i++)
		n += str_eqz(json_get_str(json_array_get(w->events, i), "type"), type);
	return n;
}

const json_t *world_event(const struct world *w, const char *type, size_t nth)
{
	for (size_t i = 0; i < json_array_size(w->events); i++)
		if (str_eqz(json_get_str(json_array_get(w->events, i), "type"), type) && nth-- == 0)
			return json_array_get(w->events, i);
	return NULL;
}

struct str world_text(const json_t *message)
{
	const json_t *content = json_object_get(message, "content");

	for (size_t i = json_array_size(content); i-- > 0;)
		if (str_eqz(json_get_str(json_array_get(content, i), "type"), "text"))
			return json_get_str(json_array_get(content, i), "text");
	return json_view(content);
}

bool world_pairs(const json_t *messages)
{
	for (size_t i = 0; i < json_array_size(messages); i++) {
		const json_t *calls = json_object_get(json_array_get(messages, i), "content");
		const json_t *next = json_object_get(json_array_get(messages, i + 1), "content");
		size_t k = 0;

		for (size_t b = 0; b < json_array_size(calls); b++) {
			const json_t *call = json_array_get(calls, b);

			if (!str_eqz(json_get_str(call, "type"), "tool_use"))
				continue;
			const json_t *result = json_array_get(next, k++);
			if (!str_eqz(json_get_str(result, "type"), "tool_result") ||
				!str_eq(json_get_str(result, "tool_use_id"), json_get_str(call, "id")))
				return false;
		}
		for (; k < json_array_size(next); k++)
			if (str_eqz(json_get_str(json_array_get(next, k), "type"), "tool_result"))
				return false;
	}
	return true;
}
