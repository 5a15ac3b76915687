/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world_priv.h"

static void head(struct world *w, int status)
{
	auto_buf struct buf b = BUF_MAX(64);

	pack_u32(&b, w->live);
	pack_u32(&b, (uint32_t)status);
	pack_i64(&b, status == 200 ? -1 : 1);
	pack_u8(&b, CONTENT_JSON);
	world_say(w->fds[PEER_CLIENT], WIRE_HEAD, &b, NULL, 0);
}

static void data(struct world *w, struct str bytes)
{
	while (bytes.n > 0) {
		auto_buf struct buf b = BUF_MAX(65536);
		struct str piece = str_head(bytes, 50000);

		pack_u32(&b, w->live);
		pack_str(&b, piece);
		world_say(w->fds[PEER_CLIENT], WIRE_DATA, &b, NULL, 0);
		bytes = str_skip(bytes, piece.n);
	}
}

static void end(struct world *w, enum net_outcome outcome)
{
	auto_buf struct buf b = BUF_MAX(256);

	pack_u32(&b, w->live);
	pack_u8(&b, (uint8_t)outcome);
	pack_str(&b, outcome == NET_OK ? STR("") : STR("the connection was reset"));
	world_say(w->fds[PEER_CLIENT], WIRE_END, &b, NULL, 0);
	w->live = 0;
}

static json_t *calls_of(struct world *w, const json_t *turn)
{
	const json_t *calls = json_object_get(turn, "calls");
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(calls); i++) {
		const json_t *c = json_array_get(calls, i);
		auto_buf struct buf args = BUF_MAX(1 << 24);
		struct str id = str_printf(w->mem, "call_%zu_%zu", w->turn, i);

		BUG_IF(json_add(&args, json_array_get(c, 1), ERR_DISCARD) < 0);
		if (json_object_get(turn, "raw")) {
			buf_clear(&args);
			BUG_IF(buf_add(&args, json_get_str(turn, "raw"), ERR_DISCARD) < 0);
		}
		json_array_append_new(
			out, json_pack("{s:s,s:s,s:{s:O,s:o}}", "id", id.p, "type", "function", "function",
				     "name", json_array_get(c, 0), "arguments", json_text(buf_str(&args))));
	}
	return out;
}

/* Its text in one piece of a stream. */
static void stream(struct world *w, const json_t *turn)
{
	auto_buf struct buf body = BUF_MAX(1 << 24);
	auto_json json_t *chunk = json_pack("{s:s,s:[{s:i,s:{s:s,s:o}}]}", "id", "r", "choices", "index", 0,
		"delta", "role", "assistant", "content", json_text(json_get_str(turn, "text")));

	BUG_IF(!chunk || buf_addz(&body, "data: ", ERR_DISCARD) < 0 ||
		json_add(&body, chunk, ERR_DISCARD) < 0);
	BUG_IF(buf_addz(&body,
		       "\n\ndata: "
		       "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":"
		       "{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}}\n\ndata: "
		       "[DONE]\n\n",
		       ERR_DISCARD) < 0);
	head(w, 200);
	data(w, buf_str(&body));
	end(w, NET_OK);
}

static void answer(struct world *w, const json_t *turn)
{
	auto_json json_t *calls = calls_of(w, turn);
	auto_buf struct buf body = BUF_MAX(1 << 24);
	bool any = json_array_size(calls) > 0;
	auto_json json_t *message = json_pack(
		"{s:s,s:o}", "role", "assistant", "content", json_text(json_get_str(turn, "text")));
	auto_json json_t *reply = NULL;

	if (any)
		json_object_set(message, "tool_calls", calls);
	if (json_object_get(turn, "thinking"))
		json_object_set(message, "reasoning_content", json_object_get(turn, "thinking"));
	reply = json_pack("{s:s,s:s,s:[{s:i,s:O,s:s}],s:{s:i,s:i,s:i}}", "id", "r", "model", "m", "choices",
		"index", 0, "message", message, "finish_reason",
		json_object_get(turn, "stop") ? json_string_value(json_object_get(turn, "stop"))
		: any                         ? "tool_calls"
					      : "stop",
		"usage", "prompt_tokens", 100, "completion_tokens", 10, "total_tokens", 110);
	BUG_IF(!reply || json_add(&body, reply, ERR_DISCARD) < 0);
	head(w, 200);
	if (json_is_true(json_object_get(turn, "cut"))) {
		data(w, str_head(buf_str(&body), body.n / 2));
		end(w, NET_RESET);
		return;
	}
	data(w, buf_str(&body));
	end(w, NET_OK);
}

void world_on_request(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	auto_buf struct buf body = BUF_MAX(1 << 26);
	autoclose int fd = chan_take_fd(m, 0);
	const json_t *turn;
	json_t *j;

	if (m->type == WIRE_CANCEL) {
		w->cancels++;
		if (w->live != 0)
			end(w, NET_CANCELLED);
		return;
	}
	w->live = unpack_u32(&u);
	w->unsynced_requests += w->dirty;
	w->early_requests += w->syncing != 0;
	BUG_IF(memfd_read(fd, &body, ERR_DISCARD) < 0 ||
		json_decode(buf_str(&body), JSON_EXACT, &j, ERR_DISCARD) < 0);
	json_array_append_new(w->requests, j);
	if (str_find(buf_str(&body), STR("Write the note.")) < body.n && json_object_get(w->script, "notes"))
		turn = json_array_get(json_object_get(w->script, "notes"), w->note++);
	else
		turn = json_array_get(json_object_get(w->script, "turns"), w->turn++);
	world_act(w, json_get_str(turn, "act"));
	if (json_is_true(json_object_get(turn, "hang")))
		return;
	if (json_is_true(json_object_get(turn, "stream"))) {
		stream(w, turn);
		return;
	}
	if (turn && !json_object_get(turn, "status")) {
		answer(w, turn);
		return;
	}
	head(w, turn ? (int)json_get_int(turn, "status", 400) : 400);
	data(w, turn ? json_get_str(turn, "body") : STR("{\"error\":{\"message\":\"the script is over\"}}"));
	end(w, NET_OK);
}
