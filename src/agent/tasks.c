/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/tasks.h"

#include "agent/implement.h"

#include "base/time.h"

#define TITLE_SHOWN 80 /* of a task, in an event */
#define PATHS_SHOWN 8

/* ---- what the tools ask ---- */

int tasks_host_graph(void *self, const struct graph_op *op, int64_t version, struct err *err)
{
	struct run *r = self;
	auto_buf struct buf json = BUF_MAX(GRAPH_OP_MAX);

	TRY(graph_op_encode(op, &json, err));
	return keep_put(r->keep, RECORD_GRAPH, (uint32_t)version, STR(""), buf_str(&json), err);
}

int tasks_host_note(void *self, enum note_how how, struct str id, struct str json, struct err *err)
{
	struct run *r = self;
	auto_note struct note n = NOTE;

	TRY(keep_put(r->keep, RECORD_NOTE, how, id, json, err));
	note_str(&n, "id", id);
	note_json(&n, "note", json);
	return note_send(&n, r->keep, how == NOTE_KEEP ? EVENT_MEMORY_ADDED : EVENT_MEMORY_INVALIDATED, err);
}

/* ---- the start ---- */

static void read_notes(struct run *r)
{
	enum { PARTS = 5 };
	const struct str_list *l = &r->p->notes;
	struct memory_note *list = arena_array(r->mem, l->n / PARTS + 1, sizeof(*list));

	for (size_t i = 0; i + PARTS <= l->n; i += PARTS) {
		struct memory_note *n = &list[r->tools.nnotes];

		if (!note_id_ok(l->p[i]))
			continue;
		memcpy(n->id, l->p[i].p, NOTE_ID_LEN);
		n->scope = l->p[i + 1];
		n->text = l->p[i + 2];
		n->origin = l->p[i + 3];
		n->created_at = l->p[i + 4];
		r->tools.nnotes++;
	}
	r->tools.notes = list;
	r->tools.notes_written = &r->notes_written;
}

int tasks_open(struct run *r, struct str journal, struct err *err)
{
	(void)err;
	r->graph = graph_new();
	graph_fold(r->graph, journal, r->st.graph_version);
	r->st.graph_version = r->graph->version;
	r->tools.graph = r->graph;
	r->tools.task = r->p->task;
	read_notes(r);
	return 0;
}

void tasks_fini(struct run *r)
{
	graph_free(r->graph);
}

/* ---- the record ---- */

static void note_children(struct note *n, const struct graph *g, const struct task *t, struct arena *mem)
{
	struct str_list ids = { arena_array(mem, g->n + 1, sizeof(struct str)), 0 };

	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->p[i].parent.z, t->id.z) == 0)
			ids.p[ids.n++] = str_from(g->p[i].id.z);
	note_strs(n, "children", ids);
}

void tasks_note_update(struct note *n, const struct graph *g)
{
	auto_arena struct arena *mem = arena_new();
	auto_note struct note nodes = NOTE;

	for (size_t i = 0; i < g->n; i++) {
		auto_note struct note one = NOTE;
		const struct task *t = &g->p[i];

		note_str(&one, "title", str_head(t->title, utf8_head(t->title, TITLE_SHOWN)));
		note_z(&one, "status", task_statuses[t->status]);
		if (t->parent.z[0])
			note_z(&one, "parent_id", t->parent.z);
		else
			note_null(&one, "parent_id");
		note_children(&one, g, t, mem);
		note_json(&nodes, t->id.z, note_text(&one));
	}
	note_json(n, "nodes", note_text(&nodes));
	n->bad = n->bad || nodes.bad;
	if (g->cursor.z[0])
		note_z(n, "cursor", g->cursor.z);
}

static int put_update(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	tasks_note_update(&n, r->graph);
	return note_send(&n, r->keep, EVENT_GRAPH_UPDATE, err);
}

int tasks_apply(struct run *r, const struct graph_op *op, struct err *err)
{
	TRY(graph_apply(r->graph, op, time_now_us(), err));
	r->graph_changed = true;
	return tasks_host_graph(r, op, r->graph->version, err);
}

/* ---- focus ---- */

static struct str banner(const struct task *t, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(16384);
	size_t n = t->paths.n < PATHS_SHOWN ? t->paths.n : PATHS_SHOWN;
	int rc = buf_addf(&b, ERR_DISCARD, "Your task list is at: " STR_FMT " (%s)", STR_ARG(t->title), t->id.z);

	if (rc == 0 && t->acceptance.n > 0)
		rc = buf_addf(&b, ERR_DISCARD, "\nDone when: " STR_FMT, STR_ARG(t->acceptance));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = buf_addf(&b, ERR_DISCARD, "%s" STR_FMT, i == 0 ? "\nFiles: " : ", ", STR_ARG(t->paths.p[i]));
	return rc < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int surface(struct run *r, struct turn *t, const char *id, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str name = str_dup(t->mem, str_from(id)); /* the task's place in the graph may change */

	if (graph_find(r->graph, name)->status == TASK_PENDING)
		TRY(tasks_apply(r, &(struct graph_op){ .op = GRAPH_UPDATE, .id = name, .status = TASK_IN_PROGRESS + 1 }, err));
	if (!str_eqz(name, r->graph->cursor.z))
		TRY(tasks_apply(r, &(struct graph_op){ .op = GRAPH_CURSOR, .id = name }, err));
	r->st.focus = str_dup(r->mem, name);
	r->st.focus_turns = r->st.focus_nudges = 0;
	turn_notice(t, banner(graph_find(r->graph, name), t->mem));
	note_str(&n, "task_id", name);
	return note_send(&n, r->keep, EVENT_TASK_SURFACED, err);
}

static int nudge_stuck(struct run *r, struct turn *t, const struct task *task, struct err *err)
{
	auto_note struct note n = NOTE;

	r->st.focus_turns++;
	if (r->st.focus_turns % loop_limits.task_turns != 0 || r->st.focus_nudges >= loop_limits.task_nudges)
		return 0;
	r->st.focus_nudges++;
	turn_notice(t, str_printf(t->mem, "The task \"" STR_FMT "\" has been in work for %lld turns. If it is done, set its "
		"status; if it is too large, break it up with add_task; if it cannot be done, say so with update_task.",
		STR_ARG(task->title), (long long)r->st.focus_turns));
	note_z(&n, "task_id", task->id.z);
	note_int(&n, "turns", r->st.focus_turns);
	note_int(&n, "n", r->st.focus_nudges);
	return note_send(&n, r->keep, EVENT_TASK_STUCK, err);
}

int tasks_turn(struct run *r, struct turn *t, struct err *err)
{
	const struct task *focus = r->graph ? graph_focus(r->graph) : NULL;

	if (r->reason == REASON_NONE && !t->finish && focus && !implement_is_on(r)) {
		if (str_eqz(r->st.focus, focus->id.z))
			TRY(nudge_stuck(r, t, focus, err));
		else
			TRY(surface(r, t, focus->id.z, err));
	}
	if (!r->graph_changed)
		return 0;
	r->graph_changed = false;
	return put_update(r, err);
}

/* ---- finishing ---- */

bool tasks_gate(struct run *r, struct turn *t)
{
	size_t open = r->graph ? graph_open(r->graph) : 0;

	if (open == 0 || r->st.task_gated >= loop_limits.finish_patience)
		return false;
	r->st.task_gated++;
	turn_notice(t, str_printf(t->mem, "Not finished: %zu task%s of your list %s open. Do what is left, or set the status "
		"that is true (passed, failed, skipped, obsolete) with update_task, then call finish_run again.",
		open, open == 1 ? "" : "s", open == 1 ? "is" : "are"));
	return true;
}
