/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The Responses wire where the recorded answers do not reach: items that are told twice, out of order or
 * not at all. */
#include "provider/provider.h"
#include "test/lib/test.h"

#include <string.h>

struct run {
	struct reply reply;
	struct provider_fault fault;
	struct buf shown;
	int r;
};

static void run_fini(struct run *r)
{
	buf_fini(&r->shown);
}

static void show(void *self, struct str piece)
{
	CHECK(buf_add(self, piece, ERR_DISCARD) == 0);
}

static void feed(struct run *run, struct str body, size_t step, struct arena *mem)
{
	struct model_spec spec = MODEL_SPEC;
	struct reply_watch watch = { .on_text = show, .self = &run->shown };
	auto_reply struct reply_stream *s = NULL;

	*run = (struct run){ .shown = BUF_MAX(1 << 20) };
	spec.wire = API_RESPONSES;
	spec.model = STR("m");
	s = reply_new(&spec, STR(""), &watch, mem);
	for (; body.n > 0; body = str_skip(body, step))
		reply_feed(s, str_head(body, step));
	run->r = reply_end(s, OVER_EOF, STR(""), &run->reply, &run->fault);
}

#define EVENT(type, members) "data: {\"type\":\"response." type "\"," members "}\n\n"
#define ADDED(place, item)   EVENT("output_item.added", "\"output_index\":" place ",\"item\":{" item "}")
#define ENDED(place, item)   EVENT("output_item.done", "\"output_index\":" place ",\"item\":{" item "}")
#define DELTA(what, id, text) EVENT(what ".delta", "\"item_id\":\"" id "\",\"delta\":\"" text "\"")
#define SAID(id, text)       "\"type\":\"message\",\"id\":\"" id "\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]"
#define CALLED(id, call, args) "\"type\":\"function_call\",\"id\":\"" id "\",\"call_id\":\"" call "\",\"name\":\"x\",\"arguments\":\"" args "\""
#define DONE(members)        EVENT("completed", "\"response\":{\"status\":\"completed\"" members "}")
#define CUT                  EVENT("incomplete", "\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}")
#define FROM                 "{\"role\":\"assistant\",\"from\":\"responses:m\",\"content\":["

static const struct {
	const char *why, *body, *want; /* text|thinking|id args error;...|stop */
	const char *message;           /* NULL: not looked at */
} streams[] = {
	{ "what is done replaces what the pieces made", ADDED("0", "\"type\":\"message\",\"id\":\"m\"") DELTA("output_text", "m", "a")
		DELTA("output_text", "m", "b") ENDED("0", SAID("m", "abc")) DONE(""), "abc|||end_turn", NULL },
	{ "an item told twice is one", ENDED("0", SAID("m", "a")) ENDED("0", SAID("m", "a")) DONE(""), "a|||end_turn", NULL },
	{ "no item was done, the list at the end is whole", DELTA("output_text", "m", "x")
		DONE(",\"output\":[{" SAID("m", "xy") "},{" CALLED("f", "c", "{}") "}]"), "xy||c {} 0;|tool_use", NULL },
	{ "the list at the end adds nothing to items that were done", ENDED("0", SAID("m", "a"))
		DONE(",\"output\":[{" SAID("m", "a") "}]"), "a|||end_turn", NULL },
	{ "calls in turn, told apart by their item", ADDED("0", CALLED("f", "c", "")) ADDED("1", CALLED("g", "d", ""))
		DELTA("function_call_arguments", "f", "{") DELTA("function_call_arguments", "g", "{")
		DELTA("function_call_arguments", "f", "}") DELTA("function_call_arguments", "g", "}") DONE(""),
		"||c {} 0;d {} 0;|tool_use", NULL },
	{ "a call that was cut before its arguments is no call without any", ADDED("0", CALLED("f", "c", "")) CUT,
		"||c {} 1;|max_tokens", NULL },
	{ "no arguments are an empty object", ENDED("0", CALLED("f", "c", "")) DONE(""), "||c {} 0;|tool_use",
		FROM "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"x\",\"input\":{}}]}" },
	{ "arguments as an object", ENDED("0", "\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"x\",\"arguments\":{\"a\":1}")
		DONE(""), "||c {\"a\":1} 0;|tool_use", NULL },
	{ "a refusal leaves the history", ENDED("0", "\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]")
		DONE(""), "no|||refusal", "" },
	{ "a filter's end", EVENT("incomplete", "\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"}}"),
		"|||refusal", "" },
	{ "thoughts of an open model", ENDED("0", "\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[],\"content\":"
		"[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]") ENDED("1", SAID("m", "a")) DONE(""), "a|hm||end_turn",
		FROM "{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"x_item\",\"item\":{\"type\":\"reasoning\",\"summary\":[],"
		"\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}},{\"type\":\"text\",\"text\":\"a\"}]}" },
	{ "ids, nulls and states of a store do not go back", ENDED("0", "\"type\":\"reasoning\",\"id\":\"r\",\"status\":null,\"content\":null,"
		"\"encrypted_content\":\"ZQ\",\"summary\":[]") ENDED("1", CALLED("f", "c", "{}")) DONE(""), "||c {} 0;|tool_use",
		FROM "{\"type\":\"x_item\",\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"ZQ\",\"summary\":[]}},"
		"{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"x\",\"input\":{}}]}" },
	{ "the phase of a message stays with it", ENDED("0", SAID("m", "a") ",\"phase\":\"commentary\"") DONE(""), "a|||end_turn",
		FROM "{\"type\":\"text\",\"x_phase\":\"commentary\",\"text\":\"a\"}]}" },
	{ "what a server's own tool did is not ours", ENDED("0", "\"type\":\"web_search_call\",\"id\":\"w\"") ENDED("1", SAID("m", "a")) DONE(""),
		"a|||end_turn", FROM "{\"type\":\"text\",\"text\":\"a\"}]}" },
	{ "a compaction of the server's is kept", ENDED("0", "\"type\":\"compaction\",\"encrypted_content\":\"YQ\"") ENDED("1", SAID("m", "a")) DONE(""),
		"a|||end_turn", FROM "{\"type\":\"x_item\",\"item\":{\"type\":\"compaction\",\"encrypted_content\":\"YQ\"}},{\"type\":\"text\",\"text\":\"a\"}]}" },
	{ "half a surrogate pair waits for the other", DELTA("output_text", "m", "x\\ud83e") DELTA("output_text", "m", "\\udd80") DONE(""),
		"x\xf0\x9f\xa6\x80|||end_turn", NULL },
	{ "an event with a name alone", "event: response.completed\ndata: {\"response\":{\"status\":\"completed\",\"output\":[{" SAID("m", "a") "}]}}\n\n",
		"a|||end_turn", NULL },
	{ "a broken event, and [DONE] of another wire", ENDED("0", SAID("m", "a")) "data: {oops\n\n" DONE("") "data: [DONE]\n\n", "a|||end_turn", NULL },
	{ "one JSON object where a stream was asked for", "{\"status\":\"completed\",\"output\":[{" SAID("m", "a") "}]}", "a|||end_turn", NULL },
};

static void describe(struct buf *out, const struct reply *r)
{
	CHECK(buf_addf(out, ERR_DISCARD, STR_FMT "|" STR_FMT "|", STR_ARG(r->text), STR_ARG(r->thinking)) == 0);
	for (size_t i = 0; i < r->ncalls; i++)
		CHECK(buf_addf(out, ERR_DISCARD, STR_FMT " " STR_FMT " %d;", STR_ARG(r->calls[i].id), STR_ARG(r->calls[i].args),
			r->calls[i].args_error) == 0);
	CHECK(buf_addf(out, ERR_DISCARD, "|%s", reply_stop_name(r->stop)) == 0);
}

TEST(responses_streams_are_read_in_pieces_of_every_size)
{
	for (size_t i = 0; i < COUNT(streams); i++)
		for (size_t step = 1; step <= strlen(streams[i].body); step++) {
			auto_arena struct arena *mem = arena_new();
			auto_buf struct buf got = BUF_MAX(4096);
			CLEANUP(run_fini) struct run run = { 0 };

			feed(&run, str_from(streams[i].body), step, mem);
			describe(&got, &run.reply);
			if (run.r < 0 || !str_eqz(buf_str(&got), streams[i].want))
				print_error("%s: %s %s\n", streams[i].why, got.p, run.fault.message);
			CHECK_INT(run.r, 0);
			CHECK_STR(buf_str(&got), str_from(streams[i].want));
			CHECK_STR(buf_str(&run.shown), run.reply.text);
			if (streams[i].message)
				CHECK_STR(run.reply.message, str_from(streams[i].message));
		}
}

static const struct {
	const char *why, *body;
	enum provider_fault_kind kind;
} ends[] = {
	{ "closed before the end", ENDED("0", SAID("m", "a")), FAULT_INCOMPLETE },
	{ "[DONE] is no end here", ENDED("0", SAID("m", "a")) "data: [DONE]\n\n", FAULT_INCOMPLETE },
	{ "a plan that lacks the model", EVENT("failed", "\"response\":{\"error\":{\"code\":\"usage_not_included\",\"message\":\"x\"}}"), FAULT_BILLING },
	{ "a policy", EVENT("failed", "\"response\":{\"error\":{\"code\":\"cyber_policy\",\"message\":\"x\"}}"), FAULT_FILTER },
	{ "overloaded", EVENT("failed", "\"response\":{\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"x\"}}"), FAULT_OVERLOADED },
	{ "a gateway's own error", "data: {\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}\n\n", FAULT_SERVER },
	{ "a failure as one object", "{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"x\"}}", FAULT_RATE_LIMIT },
};

TEST(responses_that_end_badly_are_faults_and_no_turn)
{
	for (size_t i = 0; i < COUNT(ends); i++) {
		auto_arena struct arena *mem = arena_new();
		CLEANUP(run_fini) struct run run = { 0 };

		feed(&run, str_from(ends[i].body), 9, mem);
		if (run.r == 0 || run.fault.kind != ends[i].kind)
			print_error("%s: %d %s\n", ends[i].why, run.r, provider_fault_name(run.fault.kind));
		CHECK(run.r < 0 && run.fault.kind == ends[i].kind && run.reply.message.n == 0);
	}
}
