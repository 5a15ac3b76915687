/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* print: a graph as files and listings. */
#include "graph/graph.h"

#include "base/time.h"

#include <string.h>

#define LABEL_MAX 60

/* "..." with \\ \" \n \r, as a person and a YAML reader take it. */
static int scalar(struct buf *out, struct str s, struct err *err)
{
	TRY(buf_addc(out, '"', err));
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '\n' || c == '\r')
			TRY(buf_addz(out, c == '\n' ? "\\n" : "\\r", err));
		else if (c == '"' || c == '\\')
			TRY(buf_addf(out, err, "\\%c", c));
		else
			TRY(buf_addc(out, c, err));
	}
	return buf_addc(out, '"', err);
}

static int line(struct buf *out, const char *key, struct str value, struct err *err)
{
	TRY(buf_addf(out, err, "%s: ", key));
	TRY(scalar(out, value, err));
	return buf_addc(out, '\n', err);
}

static int list_begin(struct buf *out, const char *key, struct err *err)
{
	return buf_addf(out, err, "%s: [", key);
}

static int list_item(struct buf *out, size_t i, struct str s, struct err *err)
{
	TRY(buf_addz(out, i > 0 ? ", " : "", err));
	return scalar(out, s, err);
}

static int children(const struct graph *g, const struct task *t, struct buf *out, struct err *err)
{
	size_t n = 0;

	TRY(list_begin(out, "children", err));
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->p[i].parent.z, t->id.z) == 0)
			TRY(list_item(out, n++, str_from(g->p[i].id.z), err));
	return buf_addz(out, "]\n", err);
}

int graph_print_node(const struct graph *g, const struct task *t, struct buf *out, struct err *err)
{
	char created[TIME_ISO_MAX], updated[TIME_ISO_MAX];

	TRY(buf_addz(out, "---\n", err));
	TRY(line(out, "id", str_from(t->id.z), err));
	TRY(t->parent.z[0] ? line(out, "parent_id", str_from(t->parent.z), err) : buf_addz(out, "parent_id: ~\n", err));
	TRY(line(out, "title", t->title, err));
	TRY(line(out, "rationale", t->rationale, err));
	TRY(line(out, "acceptance", t->acceptance, err));
	TRY(list_begin(out, "relevant_paths", err));
	for (size_t i = 0; i < t->paths.n; i++)
		TRY(list_item(out, i, t->paths.p[i], err));
	TRY(buf_addz(out, "]\n", err));
	TRY(list_begin(out, "depends_on", err));
	for (size_t i = 0; i < t->ndeps; i++)
		TRY(list_item(out, i, str_from(t->deps[i].z), err));
	TRY(buf_addz(out, "]\n", err));
	TRY(children(g, t, out, err));
	TRY(line(out, "status", str_from(task_statuses[t->status]), err));
	TRY(line(out, "created_at", str_from(time_iso(t->created_us, created)), err));
	TRY(line(out, "updated_at", str_from(time_iso(t->updated_us, updated)), err));
	TRY(line(out, "created_by", t->by, err));
	TRY(line(out, "commit_sha", t->commit, err));
	TRY(buf_addf(out, err, "graph_version: %lld\n", (long long)t->version));
	if (t->standing)
		TRY(buf_addz(out, "standing: \"true\"\n", err));
	TRY(buf_addz(out, "---\n", err));
	TRY(buf_add(out, t->notes, err));
	return t->notes.n > 0 ? buf_addc(out, '\n', err) : 0;
}

int graph_print_tree(const struct graph *g, struct buf *out, struct err *err)
{
	static const char *const marks[] = { " ", ">", "x", "!", "-", "~" };
	auto_arena struct arena *mem = arena_new();
	struct graph_row *rows;
	size_t n = graph_rows(g, mem, &rows);

	_Static_assert(COUNT(marks) == TASK_STATUSES, "a mark for each status");
	for (size_t i = 0; i < n; i++) {
		const struct task *t = rows[i].task;
		bool cursor = strcmp(g->cursor.z, t->id.z) == 0;

		TRY(buf_addf(out, err, "%*s[%s] " STR_FMT "%s%s  %s\n", 2 * rows[i].depth, "", marks[t->status],
			STR_ARG(t->title), t->standing ? " (standing)" : "", cursor ? "  <-" : "", task_statuses[t->status]));
	}
	return 0;
}

static int dot_label(struct buf *out, struct str s, struct err *err)
{
	s = str_head(s, utf8_head(s, LABEL_MAX));
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			TRY(buf_addc(out, '\\', err));
		TRY(buf_addc(out, s.p[i], err));
	}
	return 0;
}

int graph_print_dot(const struct graph *g, struct buf *out, struct err *err)
{
	static const char *const fills[] = { "lightgray", "khaki", "palegreen", "salmon", "lightblue", "gray60" };

	_Static_assert(COUNT(fills) == TASK_STATUSES, "a colour for each status");
	TRY(buf_addz(out, "digraph tasks {\n\trankdir=LR;\n\tnode [shape=box, style=filled];\n", err));
	for (size_t i = 0; i < g->n; i++) {
		const struct task *t = &g->p[i];

		TRY(buf_addf(out, err, "\t\"%s\" [label=\"", t->id.z));
		TRY(dot_label(out, t->title, err));
		TRY(buf_addf(out, err, " [%s]\", fillcolor=%s];\n", task_statuses[t->status], fills[t->status]));
		if (t->parent.z[0])
			TRY(buf_addf(out, err, "\t\"%s\" -> \"%s\";\n", t->parent.z, t->id.z));
		for (size_t k = 0; k < t->ndeps; k++)
			TRY(buf_addf(out, err, "\t\"%s\" -> \"%s\" [style=dashed, color=blue];\n", t->deps[k].z, t->id.z));
	}
	return buf_addz(out, "}\n", err);
}

static int json_ids(struct buf *out, const struct task *t, struct err *err)
{
	TRY(buf_addz(out, ",\"depends_on\":[", err));
	for (size_t i = 0; i < t->ndeps; i++)
		TRY(buf_addf(out, err, "%s\"%s\"", i > 0 ? "," : "", t->deps[i].z));
	return buf_addc(out, ']', err);
}

int graph_print_json(const struct graph *g, struct buf *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct graph_row *rows;
	size_t n = graph_rows(g, mem, &rows);

	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; i < n; i++) {
		const struct task *t = rows[i].task;

		TRY(buf_addf(out, err, "%s{\"id\":\"%s\"", i > 0 ? "," : "", t->id.z));
		TRY(t->parent.z[0] ? json_add_member(out, "parent_id", str_from(t->parent.z), err)
				   : buf_addz(out, ",\"parent_id\":null", err));
		TRY(json_add_member(out, "title", t->title, err));
		TRY(json_add_member(out, "status", str_from(task_statuses[t->status]), err));
		TRY(json_add_member(out, "acceptance", t->acceptance, err));
		TRY(json_add_member(out, "rationale", t->rationale, err));
		TRY(json_add_member(out, "notes", t->notes, err));
		TRY(buf_addz(out, ",\"relevant_paths\":[", err));
		for (size_t k = 0; k < t->paths.n; k++) {
			TRY(buf_addz(out, k > 0 ? "," : "", err));
			TRY(json_add_quoted(out, t->paths.p[k], err));
		}
		TRY(buf_addc(out, ']', err));
		TRY(json_ids(out, t, err));
		TRY(buf_addf(out, err, ",\"cursor\":%s,\"depth\":%d}", strcmp(g->cursor.z, t->id.z) == 0 ? "true" : "false",
			rows[i].depth));
	}
	return buf_addc(out, ']', err);
}
