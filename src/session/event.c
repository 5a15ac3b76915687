/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/event.h"

#define S(name)  { name, EVENT_STR, false }
#define SO(name) { name, EVENT_STR, true }
#define I(name)  { name, EVENT_INT, false }
#define IO(name) { name, EVENT_INT, true }
#define N(name)  { name, EVENT_NUM, false }
#define NO(name) { name, EVENT_NUM, true }
#define B(name)  { name, EVENT_BOOL, false }
#define BO(name) { name, EVENT_BOOL, true }
#define L(name)  { name, EVENT_STRS, false }
#define LO(name) { name, EVENT_STRS, true }
#define A(name)  { name, EVENT_LIST, false }
#define AO(name) { name, EVENT_LIST, true }
#define O(name)  { name, EVENT_OBJ, false }
#define OO(name) { name, EVENT_OBJ, true }

#define X(row, type, flags, ...) static const struct event_field fields_##row[] = { __VA_ARGS__ };
EVENT_TYPES(X)
#undef X

static const struct event_type types[] = {
#define X(row, type, flags, ...) [EVENT_##row] = { type, sizeof(type) - 1, flags, fields_##row, COUNT(fields_##row) },
	EVENT_TYPES(X)
#undef X
};
_Static_assert(COUNT(types) == EVENT_COUNT, "every event has its row");

static const char *const kind_words[] = {
	[EVENT_STR] = "a string", [EVENT_INT] = "an integer", [EVENT_NUM] = "a number",
	[EVENT_BOOL] = "true or false", [EVENT_STRS] = "a list of strings", [EVENT_LIST] = "a list",
	[EVENT_OBJ] = "an object",
};

const struct event_type *event_at(enum event_id id)
{
	BUG_IF(id >= EVENT_COUNT);
	return &types[id];
}

enum event_id event_id_of(struct str type)
{
	for (size_t i = 0; i < EVENT_COUNT; i++)
		if (type.n == types[i].type_n && memcmp(type.p, types[i].type, type.n) == 0)
			return (enum event_id)i;
	return EVENT_COUNT;
}

const struct event_type *event_find(struct str type)
{
	enum event_id id = event_id_of(type);

	return id < EVENT_COUNT ? &types[id] : NULL;
}

static bool all_strings(const json_t *list)
{
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++)
		if (!json_is_string(json_array_get(list, i)))
			return false;
	return true;
}

static bool fits(enum event_kind kind, const json_t *v)
{
	switch (kind) {
	case EVENT_STR:
		return json_is_string(v);
	case EVENT_INT:
		return json_is_integer(v);
	case EVENT_NUM:
		return json_is_number(v);
	case EVENT_BOOL:
		return json_is_boolean(v);
	case EVENT_STRS:
		return json_is_array(v) && all_strings(v);
	case EVENT_LIST:
		return json_is_array(v);
	case EVENT_OBJ:
		return json_is_object(v);
	}
	return false;
}

static int no_other_field(const struct event_type *t, const json_t *fields, struct err *err)
{
	const char *key;
	const json_t *value;

	json_object_foreach((json_t *)fields, key, value) {
		size_t i = 0;

		while (i < t->nfields && strcmp(t->fields[i].name, key) != 0)
			i++;
		if (i == t->nfields)
			return err_set(err, ERR_INVALID, "%s: \"%.64s\" is not a field of it", t->type, key);
	}
	return 0;
}

int event_check(const struct event_type *t, const json_t *fields, struct err *err)
{
	size_t seen = 0;

	if (!json_is_object(fields))
		return err_set(err, ERR_INVALID, "%s: the fields are not an object", t->type);
	for (size_t i = 0; i < t->nfields; i++) {
		const struct event_field *f = &t->fields[i];
		const json_t *v = json_object_get(fields, f->name);

		seen += v != NULL;
		if (!v || json_is_null(v)) {
			if (!f->optional)
				return err_set(err, ERR_INVALID, "%s: \"%s\" is missing", t->type, f->name);
			continue;
		}
		if (!fits(f->kind, v))
			return err_set(err, ERR_INVALID, "%s: \"%s\" is not %s", t->type, f->name,
				kind_words[f->kind]);
	}
	return seen == json_object_size(fields) ? 0 : no_other_field(t, fields, err);
}

/* ---- the page ---- */

static const char *const kind_names[] = {
	[EVENT_STR] = "string", [EVENT_INT] = "integer", [EVENT_NUM] = "number", [EVENT_BOOL] = "boolean",
	[EVENT_STRS] = "strings", [EVENT_LIST] = "list", [EVENT_OBJ] = "object",
};

static const struct {
	unsigned flag;
	const char *word;
} senders[] = { { EVENT_AGENT, "agent" }, { EVENT_MONITOR, "monitor" }, { EVENT_RECORDER, "recorder" } };

static int print_row(const struct event_type *t, struct buf *out, struct err *err)
{
	const char *sep = "";

	TRY(buf_addf(out, err, "| `%s` |", t->type));
	for (size_t i = 0; i < COUNT(senders); i++)
		if (t->flags & senders[i].flag) {
			TRY(buf_addf(out, err, "%s %s", sep, senders[i].word));
			sep = ",";
		}
	TRY(buf_addz(out, t->flags & EVENT_VOLATILE ? " (volatile) |" : " |", err));
	for (size_t i = 0; i < t->nfields; i++)
		TRY(buf_addf(out, err, "%s %s %s%s", i > 0 ? "," : "", t->fields[i].name, kind_names[t->fields[i].kind],
			t->fields[i].optional ? "?" : ""));
	return buf_addz(out, " |\n", err);
}

int events_print(struct buf *out, struct err *err)
{
	TRY(buf_addz(out,
		"# Events\n\n"
		"`record/logs.jsonl` holds one JSON object a line. Every line has `ts` (UTC, microseconds) and `type`. A durable\n"
		"line has `seq`, counted from 1, and as its last member `h`, the hash that ties it to the line before:\n\n"
		"    h = hex(SHA-256(previous h, as its 64 hex digits || the line without ,\"h\":\"...\"))\n\n"
		"where the line without its `h` ends in its closing brace. The first previous `h` is 64 zeros. `agent6 runs verify`\n"
		"follows the chain, and compares its end with what `record/messages.jsonl` has seen of it. A volatile line has\n"
		"`\"volatile\":true` instead: it is a piece of an answer as it streamed, outside the chain, and only the events marked\n"
		"so may stand there. `record.manifest` holds what is set of `manifest.json`, and stands before it is.\n\n"
		"A field with `?` may be absent or null. What is not in this table the recorder refuses; a reader skips what it does\n"
		"not know.\n\n"
		"| event | written by | fields |\n| --- | --- | --- |\n", err));
	for (size_t i = 0; i < EVENT_COUNT; i++)
		TRY(print_row(&types[i], out, err));
	return 0;
}
