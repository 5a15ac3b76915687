/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bench_provider: what a turn costs this room as the conversation grows. A turn is one answer decoded,
 * its message and a result added, and the next request encoded; the floor is one memcpy of that
 * request. Bound: a turn stays under 4 times its floor plus the cost of the first turn. */
#include "provider/provider.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define RESULT_BYTES 2000

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *const answers[API_COUNT] = {
	[API_ANTHROPIC] =
		"data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n"
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\","
		"\"name\":\"read_file\",\"input\":{}}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
		"\"partial_json\":\"{\\\"path\\\":\\\"src/main.c\\\"}\"}}\n\n"
		"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n"
		"data: {\"type\":\"message_stop\"}\n\n",
	[API_CHAT] =
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"function\":{\"name\":\"read_file\","
		"\"arguments\":\"{\\\"path\\\":\\\"src/main.c\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n"
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
	[API_RESPONSES] =
		"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\","
		"\"call_id\":\"t1\",\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"src/main.c\\\"}\"}}\n\n"
		"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":9,"
		"\"output_tokens\":2}}}\n\n",
};

static void turn(const struct model_spec *spec, struct conversation *c, struct buf *body, struct str result)
{
	auto_arena struct arena *mem = arena_new();
	auto_reply struct reply_stream *s = reply_new(spec, STR(""), NULL, mem);
	struct provider_fault fault;
	struct reply reply;

	reply_feed(s, str_from(answers[spec->wire]));
	BUG_IF(reply_end(s, OVER_EOF, STR(""), &reply, &fault) < 0 || reply.ncalls != 1);
	BUG_IF(conversation_add(c, reply.message, ERR_DISCARD) < 0);
	struct call_result r = { reply.calls[0].id, result, false };
	BUG_IF(conversation_add_results(c, &r, 1, NULL, 0, ERR_DISCARD) < 0);
	buf_clear(body);
	BUG_IF(request_encode(spec, c, NULL, body, ERR_DISCARD) < 0);
}

static double copy_us(const struct buf *body)
{
	autofree char *to = mem_alloc(body->n + 1);
	int64_t best = INT64_MAX;

	for (int i = 0; i < 9; i++) {
		int64_t at = now_ns();

		memcpy(to, body->p, body->n);
		__asm__ volatile("" : : "r"(to) : "memory");
		best = now_ns() - at < best ? now_ns() - at : best;
	}
	return (double)best / 1000;
}

/* The best of nine turns on a conversation of n turns. */
static double turn_us(const struct model_spec *spec, size_t n, struct buf *body, struct str result)
{
	auto_conversation struct conversation *c = conversation_new();
	int64_t best = INT64_MAX;

	BUG_IF(conversation_set_prompt(c, STR("system"), STR(""), ERR_DISCARD) < 0);
	BUG_IF(conversation_add_user(c, STR("TASK"), ERR_DISCARD) < 0);
	for (size_t i = 0; i < n; i++)
		turn(spec, c, body, result);
	for (int i = 0; i < 9; i++) {
		int64_t at = now_ns();

		turn(spec, c, body, result);
		best = now_ns() - at < best ? now_ns() - at : best;
	}
	return (double)best / 1000;
}

int main(void)
{
	static const size_t sizes[] = { 1, 100, 1000 };
	autofree char *result = mem_alloc(RESULT_BYTES);

	memset(result, 'r', RESULT_BYTES);
	for (int wire = 0; wire < API_COUNT; wire++) {
		double first = 0;

		for (size_t i = 0; i < COUNT(sizes); i++) {
			auto_buf struct buf body = BUF_MAX((size_t)64 << 20);
			struct model_spec spec = MODEL_SPEC;
			double us, floor;

			spec.wire = (enum api_wire)wire;
			spec.model = STR("m");
			us = turn_us(&spec, sizes[i], &body, str_of(result, RESULT_BYTES));
			floor = copy_us(&body);
			first = i == 0 ? us : first;
			printf("%-9s %5zu turns: %8.1f us a turn, body %7zu bytes, copy %7.1f us, (turn - first) / copy %5.2f\n",
				api_wire_name(spec.wire), sizes[i], us, body.n, floor, (us - first) / floor);
		}
	}
	return 0;
}
