/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/state.h"
#include "agent/keep.h"
#include "fmt/json.h"

const struct loop_limits loop_limits = {
	.max_tokens = 16384,
	.quiet_nudges = 4,
	.silent_nudges = 2,
	.silent_until = 3,
	.same_call_notice = 3,
	.same_call_stop = 10,
	.error_nudge = 3,
	.error_escalate = 5,
	.error_stop = 8,
	.verify_nudge = 4,
	.verify_escalate = 7,
	.verify_stop = 10,
	.settled_nudge = 3,
	.settled_stop = 6,
	.finish_patience = 3,
	.step_turns = 60,
	.step_reds = 3,
	.step_reviews = 2,
	.task_turns = 20,
	.task_nudges = 3,
	.stagnation_ms = 300 * 1000,
	.budget_nudge = 0.25,
	.plan_budget = 0.35,
	.plan_turns = 12,
	.stub_min = 500,
	.notices = 64,
	.files_named = 500,
	.patch_bytes = 8000,
	.tail_bytes = 2000,
};

static void write_STR(struct note *n, const char *key, const struct str *v)
{
	note_str(n, key, *v);
}

static void write_INT(struct note *n, const char *key, const int64_t *v)
{
	note_int(n, key, *v);
}

static void write_TRI(struct note *n, const char *key, const enum tri *v)
{
	if (*v == TRI_UNKNOWN)
		note_null(n, key);
	else
		note_bool(n, key, *v == TRI_YES);
}

static void write_STRS(struct note *n, const char *key, const struct str_list *v)
{
	note_strs(n, key, *v);
}

int loop_state_write(const struct loop_state *s, struct buf *out, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "version", STATE_VERSION);
#define X(kind, member) write_##kind(&n, #member, &s->member);
	LOOP_STATE(X)
#undef X
	TRY(buf_add(out, note_text(&n), err));
	return n.bad ? err_set(err, ERR_LIMIT, "the state of the loop is too long") : 0;
}

static int wrong(const char *key, const char *want, struct err *err)
{
	return err_set(err, ERR_INVALID, "the saved state: \"%s\" is not %s", key, want);
}

static int read_STR(const json_t *j, const char *key, struct arena *mem, struct str *v, struct err *err)
{
	if (!json_is_string(j))
		return wrong(key, "a string", err);
	*v = str_dup(mem, json_view(j));
	return 0;
}

static int read_INT(const json_t *j, const char *key, struct arena *mem, int64_t *v, struct err *err)
{
	(void)mem;
	if (!json_is_integer(j))
		return wrong(key, "an integer", err);
	*v = json_integer_value(j);
	return 0;
}

static int read_TRI(const json_t *j, const char *key, struct arena *mem, enum tri *v, struct err *err)
{
	(void)mem;
	if (!json_is_null(j) && !json_is_boolean(j))
		return wrong(key, "true, false or null", err);
	*v = json_is_null(j) ? TRI_UNKNOWN : json_is_true(j) ? TRI_YES : TRI_NO;
	return 0;
}

static int read_STRS(const json_t *j, const char *key, struct arena *mem, struct str_list *v, struct err *err)
{
	if (!json_is_array(j))
		return wrong(key, "a list of strings", err);
	v->n = json_array_size(j);
	v->p = arena_array(mem, v->n, sizeof(*v->p));
	for (size_t i = 0; i < v->n; i++)
		TRY(read_STR(json_array_get(j, i), key, mem, &v->p[i], err));
	return 0;
}

int loop_state_read(struct str json, struct arena *mem, struct loop_state *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct loop_state s = { 0 };

	if (json_decode(json, JSON_EXACT, &j, err) < 0)
		return err_wrap(err, "the saved state");
	if (json_get_int(j, "version", 0) != STATE_VERSION)
		return err_set(err, ERR_INVALID,
			"the saved state is of version %lld, this agent6 reads version %d",
			(long long)json_get_int(j, "version", 0), STATE_VERSION);
#define X(kind, member)                                                                                      \
	if (json_object_get(j, #member)) /* a state of an older build lacks what came later */               \
		TRY(read_##kind(json_object_get(j, #member), #member, mem, &s.member, err));
	LOOP_STATE(X)
#undef X
	*out = s;
	return 0;
}
