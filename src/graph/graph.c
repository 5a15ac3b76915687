/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "graph/graph.h"

#include "base/time.h"
#include "base/vec.h"

#include <string.h>
#include <sys/random.h>

#define TITLE_MAX  200
#define TEXT_MAX   2000
#define NOTES_MAX  8000
#define PATHS_MAX  32
#define PATH_MAX_  400
#define DEPS_MAX   16
#define BY_MAX     40
#define DEPTH_MAX  8

const char *const task_statuses[TASK_STATUSES + 1] = { "pending", "in_progress", "passed", "failed", "skipped",
	"obsolete", NULL };

static const char *const op_words[] = { "add_subtask", "update_status", "set_cursor", "record_commit", "back", NULL };
static const char *const status_words[] = { "", "pending", "in_progress", "passed", "failed", "skipped", "obsolete", NULL };
_Static_assert(COUNT(status_words) == TASK_STATUSES + 2, "a word for each status");
_Static_assert(COUNT(op_words) == GRAPH_BACK + 2, "a word for each operation");

#define AT(member) offsetof(struct graph_op, member)

static const struct field op_fields[] = {
	{ "op", &field_enum, AT(op), FIELD_REQUIRED, .choices = op_words },
	{ "id", &field_str, AT(id), .max = TASK_ID_LEN },
	{ "parent_id", &field_str, AT(parent_id), .max = TASK_ID_LEN },
	{ "after", &field_str, AT(after), .max = TASK_ID_LEN },
	{ "title", &field_str, AT(title), .max = TITLE_MAX },
	{ "rationale", &field_str, AT(rationale), .max = TEXT_MAX },
	{ "acceptance", &field_str, AT(acceptance), .max = TEXT_MAX },
	{ "by", &field_str, AT(by), .max = BY_MAX },
	{ "relevant_paths", &field_strs, AT(relevant_paths), .max = PATHS_MAX },
	{ "standing", &field_bool, AT(standing), .dflt = "false" },
	{ "depends_on", &field_strs, AT(depends_on), .max = DEPS_MAX },
	{ "status", &field_enum, AT(status), .dflt = "", .choices = status_words },
	{ "note", &field_str, AT(note), .max = TEXT_MAX },
	{ "sha", &field_str, AT(sha), .max = 64 },
	{ "to", &field_int, AT(to), .dflt = "0", .min = 0, .max = INT32_MAX },
};

/* ---- ids ---- */

static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void task_id_new(struct task_id *out)
{
	uint64_t ms = (uint64_t)time_now_ms();
	unsigned char random[16] = { 0 };

	BUG_IF(getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random));
	for (int i = 9; i >= 0; i--, ms >>= 5)
		out->z[i] = crockford[ms & 31];
	for (int i = 0; i < 16; i++)
		out->z[10 + i] = crockford[random[i] & 31];
	out->z[TASK_ID_LEN] = '\0';
}

bool task_id_ok(struct str id)
{
	if (id.n != TASK_ID_LEN)
		return false;
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] == '\0' || !strchr(crockford, id.p[i]))
			return false;
	return true;
}

static struct task_id id_of(struct str s)
{
	struct task_id id = { "" };

	if (task_id_ok(s))
		memcpy(id.z, s.p, TASK_ID_LEN);
	return id;
}

static bool same(const struct task_id *a, const struct task_id *b)
{
	return strcmp(a->z, b->z) == 0;
}

/* ---- the graph ---- */

struct graph *graph_new(void)
{
	struct graph *g = mem_alloc(sizeof(*g));

	g->mem = arena_new();
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	arena_free(g->mem);
	free(g->p);
	free(g);
}

static struct task *find(const struct graph *g, const struct task_id *id)
{
	for (size_t i = 0; i < g->n; i++)
		if (same(&g->p[i].id, id))
			return &g->p[i];
	return NULL;
}

const struct task *graph_find(const struct graph *g, struct str s)
{
	struct task_id id = id_of(s);

	return id.z[0] ? find(g, &id) : NULL;
}

bool task_is_open(enum task_status s)
{
	return s == TASK_PENDING || s == TASK_IN_PROGRESS;
}

static bool is_root(const struct task *t)
{
	return t->parent.z[0] == '\0';
}

/* ---- rules ---- */

static int no_such(const char *what, struct str id, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s: there is no task \"" STR_FMT "\"", what, STR_ARG(str_head(id, 64)));
}

static bool reaches(const struct graph *g, const struct task *from, const struct task_id *to, int depth)
{
	if (same(&from->id, to))
		return true;
	for (size_t i = 0; i < from->ndeps && depth < GRAPH_TASKS_MAX; i++) {
		const struct task *t = find(g, &from->deps[i]);

		if (t && reaches(g, t, to, depth + 1))
			return true;
	}
	return false;
}

static bool is_above(const struct graph *g, const struct task_id *above, const struct task *t)
{
	for (int i = 0; t && i <= DEPTH_MAX; i++, t = find(g, &t->parent))
		if (same(&t->parent, above))
			return true;
	return false;
}

/* Each is there, none leads back to the task, none is above it. self is NULL for a task that is to come. */
static int check_deps(const struct graph *g, const struct task *self, const struct task_id *parent,
	const struct str_list *deps, struct err *err)
{
	for (size_t i = 0; i < deps->n; i++) {
		const struct task *t = graph_find(g, deps->p[i]);

		if (!t)
			return no_such("depends_on", deps->p[i], err);
		if (self && reaches(g, t, &self->id, 0))
			return err_set(err, ERR_INVALID, "depends_on: \"%s\" depends on this task itself", t->id.z);
		if (parent->z[0] && (same(&t->id, parent) || is_above(g, &t->id, find(g, parent))))
			return err_set(err, ERR_INVALID, "depends_on: \"%s\" stands above this task and ends after it", t->id.z);
	}
	return 0;
}

static int depth_of(const struct graph *g, const struct task *t)
{
	int n = 0;

	for (; t && n <= DEPTH_MAX; n++)
		t = find(g, &t->parent);
	return n;
}

static int check_add(const struct graph *g, const struct graph_op *op, struct err *err)
{
	const struct task *parent = graph_find(g, op->parent_id), *after = graph_find(g, op->after);
	struct task_id parent_id = id_of(op->parent_id);

	if (!task_id_ok(op->id))
		return err_set(err, ERR_INVALID, "id: not a task's id");
	if (graph_find(g, op->id))
		return err_set(err, ERR_INVALID, "id: there is a task of this id already");
	if (g->n == GRAPH_TASKS_MAX)
		return err_set(err, ERR_LIMIT, "there are %d tasks already; no more are kept", GRAPH_TASKS_MAX);
	if (str_trim(op->title).n == 0)
		return err_set(err, ERR_INVALID, "title: must not be empty");
	if (op->parent_id.n > 0 && !parent)
		return no_such("parent_id", op->parent_id, err);
	if (parent && parent->standing)
		return err_set(err, ERR_INVALID, "parent_id: a standing goal has no parts");
	if (depth_of(g, parent) >= DEPTH_MAX)
		return err_set(err, ERR_INVALID, "parent_id: tasks are nested at most %d deep", DEPTH_MAX);
	if (op->after.n > 0 && (!after || !same(&after->parent, &parent_id)))
		return err_set(err, ERR_INVALID, "after: not a task beside the new one");
	return check_deps(g, NULL, &parent_id, &op->depends_on, err);
}

static int check_update(const struct graph *g, const struct graph_op *op, struct err *err)
{
	const struct task *t = graph_find(g, op->id);
	enum task_status to = (enum task_status)(op->status - 1);

	if (!t)
		return no_such("id", op->id, err);
	if (op->status == 0 && op->note.n == 0 && op->depends_on.n == 0)
		return err_set(err, ERR_INVALID, "nothing to change: give status, note or depends_on");
	if (op->status > 0 && t->status == TASK_PASSED && to != TASK_PASSED && to != TASK_OBSOLETE)
		return err_set(err, ERR_INVALID, "status: the task has passed; it can only become obsolete");
	if (op->status > 0 && t->standing && to != TASK_PENDING && to != TASK_IN_PROGRESS)
		return err_set(err, ERR_INVALID, "status: a standing goal stays open");
	if (t->ndeps + op->depends_on.n > DEPS_MAX)
		return err_set(err, ERR_LIMIT, "depends_on: a task depends on at most %d others", DEPS_MAX);
	if (t->notes.n + op->note.n > NOTES_MAX)
		return err_set(err, ERR_LIMIT, "note: the notes of this task are full");
	return check_deps(g, t, &t->parent, &op->depends_on, err);
}

static int check(const struct graph *g, const struct graph_op *op, struct err *err)
{
	switch ((enum graph_op_kind)op->op) {
	case GRAPH_ADD:
		return check_add(g, op, err);
	case GRAPH_UPDATE:
		return check_update(g, op, err);
	case GRAPH_CURSOR:
		return op->id.n == 0 || graph_find(g, op->id) ? 0 : no_such("id", op->id, err);
	case GRAPH_COMMIT:
		return graph_find(g, op->id) ? 0 : no_such("id", op->id, err);
	case GRAPH_BACK:
		break; /* a line of the journal, never asked for */
	}
	return err_set(err, ERR_INVALID, "op: not an operation on a graph");
}

/* ---- applying ---- */

static void add_deps(struct graph *g, struct task *t, const struct str_list *deps)
{
	struct task_id *all = arena_array(g->mem, t->ndeps + deps->n + 1, sizeof(*all));

	if (t->ndeps > 0)
		memcpy(all, t->deps, t->ndeps * sizeof(*all));
	for (size_t i = 0; i < deps->n; i++) {
		struct task_id id = id_of(deps->p[i]);
		bool there = false;

		for (size_t k = 0; k < t->ndeps; k++)
			there = there || same(&all[k], &id);
		if (!there)
			all[t->ndeps++] = id;
	}
	t->deps = all;
}

/* One line: what a person wrote over several stays readable in a list. */
static struct str one_line(struct arena *mem, struct str s)
{
	char *p = str_dupz(mem, str_head(s, s.n));

	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
			p[i] = ' ';
	return str_trim(str_of(p, s.n));
}

static struct task *insert(struct graph *g, size_t at)
{
	if (g->n == g->cap)
		g->p = vec_grow(g->p, g->n, &g->cap, sizeof(*g->p));
	memmove(&g->p[at + 1], &g->p[at], (g->n - at) * sizeof(*g->p));
	g->n++;
	g->p[at] = (struct task){ 0 };
	return &g->p[at];
}

static struct task *add(struct graph *g, const struct graph_op *op)
{
	const struct task *after = graph_find(g, op->after);
	struct task *t = insert(g, after ? (size_t)(after - g->p) + 1 : g->n);

	t->id = id_of(op->id);
	t->parent = id_of(op->parent_id);
	t->title = one_line(g->mem, op->title);
	t->rationale = str_dup(g->mem, op->rationale);
	t->acceptance = str_dup(g->mem, op->acceptance);
	t->by = one_line(g->mem, op->by);
	t->standing = op->standing;
	t->paths.p = arena_array(g->mem, op->relevant_paths.n + 1, sizeof(*t->paths.p));
	for (size_t i = 0; i < op->relevant_paths.n; i++) {
		struct str p = one_line(g->mem, str_head(op->relevant_paths.p[i], utf8_head(op->relevant_paths.p[i], PATH_MAX_)));

		if (p.n > 0)
			t->paths.p[t->paths.n++] = p;
	}
	add_deps(g, t, &op->depends_on);
	return t;
}

static void update(struct graph *g, struct task *t, const struct graph_op *op)
{
	if (op->status > 0)
		t->status = (enum task_status)(op->status - 1);
	if (str_trim(op->note).n > 0)
		t->notes = t->notes.n == 0 ? str_dup(g->mem, str_trim(op->note))
			: str_printf(g->mem, STR_FMT "\n" STR_FMT, STR_ARG(t->notes), STR_ARG(str_trim(op->note)));
	add_deps(g, t, &op->depends_on);
}

int graph_apply(struct graph *g, const struct graph_op *op, int64_t now_us, struct err *err)
{
	struct task_id id = id_of(op->id);
	struct task *t;

	TRY(check(g, op, err));
	g->version++;
	t = op->op == GRAPH_ADD ? add(g, op) : find(g, &id);
	if (op->op == GRAPH_CURSOR)
		g->cursor = id;
	else if (op->op == GRAPH_UPDATE)
		update(g, t, op);
	else if (op->op == GRAPH_COMMIT)
		t->commit = str_dup(g->mem, op->sha);
	if (t) {
		t->created_us = op->op == GRAPH_ADD ? now_us : t->created_us;
		t->updated_us = now_us;
		t->version = g->version;
	}
	return 0;
}

/* ---- operations as text ---- */

static int add_strs(struct buf *out, const char *key, const struct str_list *l, struct err *err)
{
	if (l->n == 0)
		return 0;
	TRY(buf_addf(out, err, ",\"%s\":[", key));
	for (size_t i = 0; i < l->n; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, l->p[i], err));
	}
	return buf_addc(out, ']', err);
}

int graph_op_encode(const struct graph_op *op, struct buf *out, struct err *err)
{
	const struct { const char *key; struct str value; } members[] = { { "id", op->id }, { "parent_id", op->parent_id },
		{ "after", op->after }, { "title", op->title }, { "rationale", op->rationale }, { "acceptance", op->acceptance },
		{ "by", op->by }, { "note", op->note }, { "sha", op->sha } };

	TRY(buf_addf(out, err, "{\"op\":\"%s\"", op_words[op->op]));
	for (size_t i = 0; i < COUNT(members); i++)
		if (members[i].value.n > 0)
			TRY(json_add_member(out, members[i].key, members[i].value, err));
	TRY(add_strs(out, "relevant_paths", &op->relevant_paths, err));
	TRY(add_strs(out, "depends_on", &op->depends_on, err));
	if (op->status > 0)
		TRY(buf_addf(out, err, ",\"status\":\"%s\"", status_words[op->status]));
	if (op->standing)
		TRY(buf_addz(out, ",\"standing\":true", err));
	if (op->op == GRAPH_BACK)
		TRY(buf_addf(out, err, ",\"to\":%lld", (long long)op->to));
	return buf_addc(out, '}', err);
}

static int decode(json_t *obj, struct arena *mem, struct graph_op *out, struct err *err)
{
	if (!json_is_object(obj))
		return err_set(err, ERR_INVALID, "an operation on a graph is a JSON object");
	return fields_from_json(op_fields, COUNT(op_fields), obj, mem, out, sizeof(*out), err);
}

int graph_op_decode(struct str json, struct arena *mem, struct graph_op *out, struct err *err)
{
	auto_json json_t *obj = NULL;

	if (json.n > GRAPH_OP_MAX)
		return err_set(err, ERR_LIMIT, "an operation on a graph is longer than %d bytes", GRAPH_OP_MAX);
	TRY(json_decode(json, JSON_EXACT, &obj, err));
	return decode(obj, mem, out, err);
}

int graph_line(struct str op, int64_t version, int64_t now_us, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, "{\"ts_us\":%lld,\"graph_version\":%lld,", (long long)now_us, (long long)version));
	TRY(buf_add(out, str_skip(op, 1), err));
	return buf_addc(out, '\n', err);
}

/* ---- folding a journal ---- */

struct entry {
	int64_t version, us;
	struct graph_op op;
};
struct entries {
	VEC(struct entry);
};

static bool read_line(struct str line, struct arena *mem, struct entry *e)
{
	auto_json json_t *obj = NULL;

	if (line.n > GRAPH_OP_MAX || json_decode(line, JSON_EXACT, &obj, ERR_DISCARD) < 0 || !json_is_object(obj))
		return false;
	e->version = json_get_int(obj, "graph_version", -1);
	e->us = json_get_int(obj, "ts_us", 0);
	if (json_object_del(obj, "graph_version") < 0)
		return false;
	(void)!json_object_del(obj, "ts_us");
	return decode(obj, mem, &e->op, ERR_DISCARD) == 0;
}

int64_t graph_fold(struct graph *g, struct str lines, int64_t until)
{
	auto_arena struct arena *mem = arena_new();
	struct entries all = { 0 };
	int64_t bad = 0;

	while (lines.n > 0) {
		struct str line = str_trim(str_line(&lines));
		struct entry e = { 0 };

		if (line.n == 0)
			continue;
		if (!read_line(line, mem, &e)) {
			bad++;
			continue;
		}
		if (e.op.op == GRAPH_BACK)
			while (all.n > 0 && all.p[all.n - 1].version > e.op.to)
				all.n--;
		else
			*vec_new(&all) = e;
	}
	for (size_t i = 0; i < all.n && (until < 0 || all.p[i].version <= until); i++) {
		bad += graph_apply(g, &all.p[i].op, all.p[i].us, ERR_DISCARD) < 0;
		g->version = all.p[i].version;
	}
	vec_fini(&all);
	return bad;
}

/* ---- looking ---- */

static void add_rows(const struct graph *g, const struct task_id *parent, int depth, struct graph_row *rows, size_t *n)
{
	for (size_t i = 0; i < g->n && depth <= DEPTH_MAX; i++)
		if (same(&g->p[i].parent, parent)) {
			rows[(*n)++] = (struct graph_row){ &g->p[i], depth };
			add_rows(g, &g->p[i].id, depth + 1, rows, n);
		}
}

size_t graph_rows(const struct graph *g, struct arena *mem, struct graph_row **out)
{
	static const struct task_id none = { "" };
	size_t n = 0;

	*out = arena_array(mem, g->n + 1, sizeof(**out));
	add_rows(g, &none, 0, *out, &n);
	return n;
}

static bool is_done(enum task_status s)
{
	return s == TASK_PASSED || s == TASK_SKIPPED || s == TASK_OBSOLETE;
}

static bool can_be_focused(const struct graph *g, const struct task *t)
{
	if (is_root(t) || !task_is_open(t->status))
		return false;
	for (size_t i = 0; i < t->ndeps; i++) {
		const struct task *d = find(g, &t->deps[i]);

		if (d && !is_done(d->status))
			return false;
	}
	for (size_t i = 0; i < g->n; i++)
		if (same(&g->p[i].parent, &t->id) && task_is_open(g->p[i].status))
			return false;
	return true;
}

const struct task *graph_focus(const struct graph *g)
{
	auto_arena struct arena *mem = arena_new();
	const struct task *cursor = g->cursor.z[0] ? find(g, &g->cursor) : NULL, *standing = NULL;
	struct graph_row *rows;
	size_t n;

	if (cursor && !cursor->standing && can_be_focused(g, cursor))
		return cursor;
	n = graph_rows(g, mem, &rows);
	for (size_t i = 0; i < n; i++) {
		if (!can_be_focused(g, rows[i].task))
			continue;
		if (!rows[i].task->standing)
			return rows[i].task;
		standing = standing ? standing : rows[i].task; /* when nothing else is left */
	}
	return standing;
}

size_t graph_open(const struct graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		n += !is_root(&g->p[i]) && !g->p[i].standing && task_is_open(g->p[i].status);
	return n;
}
