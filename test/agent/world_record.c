/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world_priv.h"

#include "agent/replay.h"
#include "memory/notes.h"

/* As the recorder does it. */
static void write_disk(struct world *w, uint8_t what, uint32_t arg, struct str name, struct str text)
{
	struct err err = { 0 };
	int r = 0;

	switch (what) {
	case RECORD_EVENT:
		r = store_event(w->store, EVENT_AGENT, name, text, &err);
		break;
	case RECORD_MESSAGE:
		r = store_message(w->store, arg, text, &err);
		break;
	case RECORD_STATE:
		r = store_state(w->store, arg, text, &err);
		break;
	case RECORD_TRANSCRIPT:
		r = store_transcript(w->store, arg, name, text, &err);
		break;
	case RECORD_IN_FLIGHT:
		r = store_in_flight(w->store, text, &err);
		break;
	case RECORD_RESTART:
		r = store_restart(w->store, arg, &err);
		break;
	case RECORD_GRAPH:
		r = graph_disk_apply(w->graph_disk, arg, text, &err);
		break;
	}
	if (r < 0)
		fail_msg("the disk refuses %.*s: %s", STR_ARG(name), err.msg);
}

void world_replay(struct world *w, struct replay_report *out)
{
	struct err err = { 0 };

	CHECK_OK(store_sync(w->store, &err));
	CHECK_OK(graph_disk_sync(w->graph_disk, &err));
	CHECK_OK(replay_run(w->disk.fd, out, &err));
}

static void keep_record(struct world *w, uint8_t what, uint32_t arg, struct str name, struct str text)
{
	const struct event_type *t = event_find(name);
	struct err err = { 0 };
	struct graph_op op;
	json_t *j = NULL;

	w->dirty = true;
	if (w->store)
		write_disk(w, what, arg, name, text);
	if (what == RECORD_EVENT)
		CHECK(text.n <= EVENT_JSON_MAX);
	if (what == RECORD_IN_FLIGHT)
		w->in_flight = text.n > 0;
	if (what == RECORD_FILE || what == RECORD_IN_FLIGHT)
		return;
	if (what == RECORD_GRAPH) { /* as the recorder keeps it: refused, it would drop the agent */
		CHECK_OK(graph_op_decode(text, w->mem, &op, &err));
		if (arg <= w->graph->version)
			CHECK_OK(buf_addf(&w->graph_lines, &err, "{\"graph_version\":%u,\"op\":\"back\",\"to\":%u}\n", arg - 1, arg - 1));
		CHECK(arg <= w->graph->version + 1);
		CHECK_OK(graph_line(text, arg, 1, &w->graph_lines, &err));
		graph_free(w->graph);
		w->graph = graph_new();
		CHECK_INT(graph_fold(w->graph, buf_str(&w->graph_lines), -1), 0);
		return;
	}
	if (what == RECORD_NOTE) {
		if (json_decode(text, JSON_EXACT, &j, &err) < 0)
			fail_msg("a note that is no JSON: %s", err.msg);
		CHECK(note_id_ok(name));
		json_object_set_new(j, "id", json_text(name));
		json_array_append_new(w->notes, j);
		return;
	}
	if (what == RECORD_RESTART) {
		while (json_array_size(w->messages) > arg)
			json_array_remove(w->messages, json_array_size(w->messages) - 1);
		return;
	}
	if (json_decode(text, JSON_EXACT, &j, &err) < 0)
		fail_msg("the record got what is no JSON: %s: %.*s", err.msg, STR_ARG(text));
	if (what == RECORD_EVENT) {
		if (!t || event_check(t, j, &err) < 0)
			fail_msg("the record refuses %.*s: %s", STR_ARG(name), err.msg);
		json_object_set_new(j, "type", json_text(name));
		if (str_eqz(name, "loop.parked"))
			world_act(w, json_view(json_array_get(json_object_get(w->script, "parked"), w->parked++)));
		w->dirty = w->dirty && arg == 0;
		json_array_append_new(arg ? w->deltas : w->events, j);
	} else if (what == RECORD_MESSAGE) {
		CHECK_INT(arg, json_array_size(w->messages));
		json_array_append_new(w->messages, j);
	} else if (what == RECORD_STATE) {
		w->in_flight = 0;
		json_decref(w->state);
		w->state = j;
	} else if (what == RECORD_TRANSCRIPT && str_eqz(name, "prompt")) {
		json_decref(w->prompt);
		w->prompt = j;
	} else if (what == RECORD_TRANSCRIPT) {
		json_array_append_new(w->transcripts, j);
	} else {
		json_object_update_recursive(w->manifest, j);
		json_decref(j);
	}
}

static void on_load(struct world *w)
{
	auto_buf struct buf body = BUF_MAX(4096), bytes = BUF_MAX(1 << 24), text = BUF_MAX(1 << 24);
	autoclose int fd = -1;

	pack_u8(&body, w->prior != NULL);
	pack_str(&body, STR(""));
	if (w->prior) {
		pack_u32(&bytes, (uint32_t)json_get_int(w->prior->state, "next_iteration", 0));
		BUG_IF(json_add(&text, w->prior->state, ERR_DISCARD) < 0);
		pack_str(&bytes, buf_str(&text));
		pack_str(&bytes, STR(""));
		pack_u32(&bytes, (uint32_t)json_array_size(w->prior->messages));
		for (size_t i = 0; i < json_array_size(w->prior->messages); i++) {
			buf_clear(&text);
			BUG_IF(json_add(&text, json_array_get(w->prior->messages, i), ERR_DISCARD) < 0);
			pack_str(&bytes, buf_str(&text));
		}
		if (w->prior->graph_lines.n > 0) {
			pack_str(&bytes, buf_str(&w->prior->graph_lines));
			BUG_IF(buf_add(&w->graph_lines, buf_str(&w->prior->graph_lines), ERR_DISCARD) < 0);
			graph_fold(w->graph, buf_str(&w->graph_lines), -1);
		}
		BUG_IF(memfd_seal("loaded", buf_str(&bytes), &fd, ERR_DISCARD) < 0);
		json_array_extend(w->messages, w->prior->messages);
	}
	world_say(w->fds[PEER_RECORDER], WIRE_LOADED, &body, &fd, fd >= 0 ? 1 : 0);
}

void world_say_synced(struct world *w)
{
	world_say_number(w, PEER_RECORDER, WIRE_SYNCED, w->syncing);
	w->syncing = 0;
}

void world_on_record(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	auto_buf struct buf large = BUF_MAX(1 << 26);
	autoclose int fd = chan_take_fd(m, 0);
	bool was = w->dirty;

	if (m->type == WIRE_SYNC) {
		w->dirty = false;
		w->syncing = unpack_u32(&u);
		if (!w->late_sync)
			world_say_synced(w);
		return;
	}
	if (m->type == WIRE_LOAD) {
		on_load(w);
		return;
	}
	uint8_t what = unpack_u8(&u);
	uint32_t arg = unpack_u32(&u);
	struct str name = unpack_str(&u), text = unpack_str(&u);

	if (fd >= 0) {
		BUG_IF(memfd_read(fd, &large, ERR_DISCARD) < 0);
		text = buf_str(&large);
	}
	keep_record(w, what, arg, name, text);
	if (what == RECORD_EVENT && arg != 0)
		w->dirty = was; /* volatile */
	else
		w->early_acts += w->syncing != 0;
}
