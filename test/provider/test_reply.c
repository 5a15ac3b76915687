/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "provider/provider.h"
#include "test/lib/test.h"

#include <string.h>

#define TOOLS                                                                                                \
	"[{\"name\":\"read_file\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}," \
	"\"n\":{\"type\":\"integer\"},\"all\":{\"type\":\"boolean\"},\"list\":{\"type\":\"array\"},\"any\":{}}}}," \
	"{\"name\":\"grep\",\"input_schema\":{\"type\":\"object\"}}]"

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

static void feed(struct run *run, enum api_wire wire, struct reply_head head, struct str body, size_t step,
	enum reply_over over, struct arena *mem)
{
	struct model_spec spec = MODEL_SPEC;
	struct reply_watch watch = { .on_text = show, .self = &run->shown };
	auto_reply struct reply_stream *s = NULL;

	*run = (struct run){ .shown = BUF_MAX(1 << 20) };
	spec.wire = wire;
	spec.model = STR("m\"x");
	s = reply_new(&spec, STR(TOOLS), &watch, mem);
	reply_head(s, head);
	for (; body.n > 0; body = str_skip(body, step))
		reply_feed(s, str_head(body, step));
	run->r = reply_end(s, over, STR("connection reset"), &run->reply, &run->fault);
}

/* One chat answer of this text, as a stream of pieces of n bytes. */
static void chat_text(struct buf *out, struct str text, size_t n)
{
	for (; text.n > 0; text = str_skip(text, n)) {
		CHECK(buf_addz(out, "data: {\"choices\":[{\"delta\":{\"content\":", ERR_DISCARD) == 0);
		CHECK(json_add_quoted(out, str_head(text, n), ERR_DISCARD) == 0);
		CHECK(buf_addz(out, "}}]}\n\n", ERR_DISCARD) == 0);
	}
	CHECK(buf_addz(out, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", ERR_DISCARD) == 0);
}

static const struct {
	const char *why, *text, *left, *calls; /* calls: name args; name args; */
} written[] = {
	{ "a tagged call", "<tool_call>{\"name\":\"grep\",\"arguments\":{\"re\":\"a\"}}</tool_call>", "", "grep {\"re\":\"a\"};" },
	{ "two of them after words", "I look.\n<tool_call>\n{\"name\":\"grep\",\"parameters\":{}}\n</tool_call>\n"
		"<tool_call>{\"name\":\"read_file\",\"input\":\"{\\\"path\\\":\\\"x\\\"}\"}</tool_call>\n",
		"I look.", "grep {};read_file {\"path\":\"x\"};" },
	{ "a broken one stays in the text", "<tool_call>{\"name\":\"grep\"}</tool_call>\n<tool_call>{oops}</tool_call>",
		"\n<tool_call>{oops}</tool_call>", "grep {};" },
	{ "the closing tag may be missing", "<tool_call>{\"name\":\"grep\",\"arguments\":{}}", "", "grep {};" },
	{ "a tool that was not offered", "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>",
		"<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>", "" },
	{ "quoted in a sentence", "Write <tool_call>{\"name\":\"grep\"}</tool_call>", "Write <tool_call>{\"name\":\"grep\"}</tool_call>", "" },
	{ "quoted, and the answer goes on", "<tool_call>{\"name\":\"grep\"}</tool_call>\nis the form.",
		"<tool_call>{\"name\":\"grep\"}</tool_call>\nis the form.", "" },
	{ "parameters by tag, typed by the schema", "<function=read_file><parameter=path>\n 7\n</parameter><parameter=n>7</parameter>"
		"<parameter=all>True</parameter><parameter=list>[1]</parameter><parameter=any>{\"a\":1}</parameter></function>",
		"", "read_file {\"path\":\" 7\",\"n\":7,\"all\":true,\"list\":[1],\"any\":{\"a\":1}};" },
	{ "what does not fit its type stays a string", "<function=read_file><parameter=n>many</parameter>"
		"<parameter=list>[1</parameter><parameter=any>7</parameter></function>",
		"", "read_file {\"n\":\"many\",\"list\":\"[1\",\"any\":\"7\"};" },
	{ "missing closers, inside a tag", "<tool_call>\n<function=read_file>\n<parameter=path>a\n<parameter=n>1\n</tool_call>", "",
		"read_file {\"path\":\"a\",\"n\":1};" },
	{ "two functions", "<function=grep></function>\n<function=grep>{\"re\":\"x\"}</function>", "", "grep {};grep {\"re\":\"x\"};" },
	{ "a function in the unclosed one before it", "<function=grep>\n<tool_call>\n<function=grep>{}</function></tool_call>", "",
		"grep {};grep {};" },
	{ "Python in a fence", "```tool_code\nprint(read_file(path='a\\'b', n=3, all=True, list=[1, 'x', None], any={'k': (1,)}))\n```",
		"", "read_file {\"path\":\"a'b\",\"n\":3,\"all\":true,\"list\":[1,\"x\",null],\"any\":{\"k\":[1]}};" },
	{ "a list of Python calls", "Sure.\n```tool_code\n[grep(re=\"a\"), grep()]\n```", "Sure.", "grep {\"re\":\"a\"};grep {};" },
	{ "Python that is more than literals", "```tool_code\ngrep(re=open('x'))\n```", "```tool_code\ngrep(re=open('x'))\n```", "" },
	{ "positional arguments", "```tool_code\ngrep('x')\n```", "```tool_code\ngrep('x')\n```", "" },
	{ "Mistral's list", "[TOOL_CALLS][{\"name\":\"grep\",\"arguments\":{}},{\"name\":\"grep\",\"arguments\":{\"re\":\"b\"}}]", "",
		"grep {};grep {\"re\":\"b\"};" },
	{ "a fence that is one call", "```json\n{\"name\":\"grep\",\"arguments\":{\"re\":\"a\"}}\n```", "", "grep {\"re\":\"a\"};" },
	{ "a bare object", " {\"name\":\"grep\",\"arguments\":{\"re\":\"\\ud83e\\udd80\"}} ", "", "grep {\"re\":\"\\ud83e\\udd80\"};" },
	{ "an object that is no call", "{\"name\":\"grep\",\"arguments\":7}", "{\"name\":\"grep\",\"arguments\":7}", "" },
	{ "code is text", "```c\nint main(void);\n```", "```c\nint main(void);\n```", "" },
};

TEST(reply_reads_calls_that_a_model_wrote_as_text)
{
	for (size_t i = 0; i < COUNT(written); i++)
		for (size_t n = 1; n <= strlen(written[i].text); n += n < 8 ? 1 : 17) {
			auto_arena struct arena *mem = arena_new();
			auto_buf struct buf body = BUF_MAX(1 << 20), calls = BUF_MAX(4096);
			CLEANUP(run_fini) struct run run = { 0 };

			chat_text(&body, str_from(written[i].text), n);
			feed(&run, API_CHAT, REPLY_HEAD(200), buf_str(&body), body.n, OVER_EOF, mem);
			CHECK_INT(run.r, 0);
			for (size_t k = 0; k < run.reply.ncalls; k++) {
				CHECK(run.reply.calls[k].recovered && !run.reply.calls[k].args_error);
				CHECK(buf_addf(&calls, ERR_DISCARD, STR_FMT " " STR_FMT ";", STR_ARG(run.reply.calls[k].name),
					STR_ARG(run.reply.calls[k].args)) == 0);
			}
			if (!str_eqz(buf_str(&calls), written[i].calls) || !str_eqz(run.reply.text, written[i].left))
				print_error("%s\n", written[i].why);
			CHECK_STR(buf_str(&calls), str_from(written[i].calls));
			CHECK_STR(run.reply.text, str_from(written[i].left));
			CHECK_STR(buf_str(&run.shown), run.reply.text); /* what was taken away was never shown */
			CHECK_INT(run.reply.stop, run.reply.ncalls > 0 ? STOP_TOOLS : STOP_END);
		}
}

TEST(reply_does_not_search_a_text_again_for_each_of_endless_parameters)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(1 << 16), body = BUF_MAX(1 << 20);
	CLEANUP(run_fini) struct run run = { 0 };

	CHECK(buf_addz(&text, "<function=grep>", ERR_DISCARD) == 0);
	for (int i = 0; i < 100; i++)
		CHECK(buf_addz(&text, "<parameter=re>a", ERR_DISCARD) == 0);
	chat_text(&body, buf_str(&text), 1000);
	feed(&run, API_CHAT, REPLY_HEAD(200), buf_str(&body), body.n, OVER_EOF, mem);
	CHECK_INT(run.r, 0);
	CHECK_INT(run.reply.ncalls, 0);
	CHECK_STR(run.reply.text, buf_str(&text));
}

#define AN_START "data: {\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":3}}}\n\n"
#define AN_CALL(id, name, json)                                                                              \
	"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"" id     \
	"\",\"name\":\"" name "\",\"input\":{},\"caller\":null}}\n\n"                                              \
	"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" \
	json "\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
#define AN_STOP(why)                                                                                         \
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" why "\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
#define FROM "{\"role\":\"assistant\",\"from\":\"anthropic:m\\\"x\",\"content\":["

static const struct {
	const char *why, *body, *message;
} messages[] = {
	{ "a call, without the nulls", AN_START AN_CALL("t1", "a", "{\\\"n\\\":1.0}") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"n\":1.0}}]}" },
	{ "broken arguments go back as an object", AN_START AN_CALL("t1", "a", "{\\\"n") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"_raw_arguments\":\"{\\\"n\"}}]}" },
	{ "a name no server takes", AN_START AN_CALL("t1", "rm -rf \\u0007/", "") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"rm_-rf___\",\"input\":{}}]}" },
	{ "an id with blanks", AN_START AN_CALL("t 1", "a", "") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"call_0\",\"name\":\"a\",\"input\":{}}]}" },
	{ "two calls of one id", AN_START AN_CALL("t", "a", "") AN_CALL("t", "b", "") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{}},"
		"{\"type\":\"tool_use\",\"id\":\"t_1\",\"name\":\"b\",\"input\":{}}]}" },
	{ "a NUL in arguments stays with the tool, not in the history", AN_START AN_CALL("t", "a", "{\\\"p\\\":\\\"\\\\u0000\\\"}") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{\"p\":\"\xEF\xBF\xBD\"}}]}" },
	{ "a lone surrogate in arguments", AN_START AN_CALL("t", "a", "{\\\"p\\\":\\\"\\\\ud83e\\\"}") AN_STOP("tool_use"),
		FROM "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{\"p\":\"\xEF\xBF\xBD\"}}]}" },
	{ "nothing said", AN_START AN_STOP("end_turn"), "" },
	{ "blanks said", AN_START "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\" \\n\"}}\n\n"
		AN_STOP("end_turn"), "" },
	{ "a refusal leaves the history", AN_START AN_CALL("t", "a", "") AN_STOP("refusal"), "" },
};

TEST(reply_message_is_what_every_server_takes_back)
{
	for (size_t i = 0; i < COUNT(messages); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_conversation struct conversation *c = conversation_new();
		CLEANUP(run_fini) struct run run = { 0 };
		struct err err = { 0 };

		feed(&run, API_ANTHROPIC, REPLY_HEAD(200), str_from(messages[i].body), 7, OVER_EOF, mem);
		CHECK_INT(run.r, 0);
		CHECK_STR(run.reply.message, str_from(messages[i].message));
		if (run.reply.message.n == 0)
			continue;
		CHECK_OK(conversation_add(c, run.reply.message, &err));
		CHECK_STR(conversation_get(c, 0), run.reply.message);
	}
}

TEST(reply_keeps_what_a_router_wants_back)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(run_fini) struct run run = { 0 };

	feed(&run, API_CHAT, REPLY_HEAD(200), STR("data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"a\":1}]}}]}\n\n"
		"data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"b\":2}],\"tool_calls\":[{\"id\":\"i\",\"extra_content\":{\"g\":1},"
		"\"function\":{\"name\":\"x\"}}]}}]}\n\ndata: [DONE]\n\n"), 11, OVER_EOF, mem);
	CHECK_INT(run.r, 0);
	CHECK_STR(run.reply.message, STR("{\"role\":\"assistant\",\"from\":\"openai:m\\\"x\",\"content\":["
		"{\"type\":\"x_reasoning_details\",\"details\":[{\"a\":1},{\"b\":2}]},"
		"{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"x\",\"input\":{},\"extra_content\":{\"g\":1}}]}"));
	CHECK_STR(run.reply.calls[0].extra, STR("{\"g\":1}"));
}

TEST(reply_keeps_a_nul_for_the_tool)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(run_fini) struct run run = { 0 };

	feed(&run, API_ANTHROPIC, REPLY_HEAD(200), str_from(messages[5].body), 1, OVER_EOF, mem);
	CHECK_STR(run.reply.calls[0].args, STR("{\"p\":\"\\u0000\"}"));
}

#define CHAT(delta) "data: {\"choices\":[{\"delta\":{" delta "}}]}\n\n"

static const struct {
	const char *why;
	enum api_wire wire;
	int status;
	const char *body;
	enum reply_over over;
	int r;
	enum provider_fault_kind kind;
} ends[] = {
	{ "EOF in mid-text", API_CHAT, 200, CHAT("\"content\":\"a\""), OVER_EOF, -ERR_REMOTE, FAULT_INCOMPLETE },
	{ "a reset in mid-text", API_CHAT, 200, CHAT("\"content\":\"a\""), OVER_NETWORK, -ERR_REMOTE, FAULT_NETWORK },
	{ "no answer at all", API_CHAT, 200, "", OVER_NETWORK, -ERR_REMOTE, FAULT_NETWORK },
	{ "a certificate that is not accepted", API_CHAT, 200, "", OVER_REFUSED, -ERR_REMOTE, FAULT_UNREACHABLE },
	{ "silence", API_CHAT, 200, "", OVER_TIMEOUT, -ERR_REMOTE, FAULT_TIMEOUT },
	{ "we stopped it", API_CHAT, 200, CHAT("\"content\":\"a\""), OVER_STOPPED, -ERR_REMOTE, FAULT_STOPPED },
	{ "a reset after the end is no matter", API_CHAT, 200, CHAT("\"content\":\"a\"") "data: [DONE]\n\n", OVER_NETWORK, 0, FAULT_AUTH },
	{ "nothing with 200", API_ANTHROPIC, 200, "", OVER_EOF, -ERR_REMOTE, FAULT_INCOMPLETE },
	{ "a web page", API_CHAT, 200, "<html>Log in</html>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a web page behind a mark and a comment", API_CHAT, 200, "\xEF\xBB\xBF \n<!-- hi --><!DOCTYPE HTML>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a web page that breaks off", API_CHAT, 200, "<html>Log in", OVER_NETWORK, -ERR_REMOTE, FAULT_PAGE },
	{ "what is no page and no JSON", API_CHAT, 200, "<?xml version=\"1.0\"?><Error/>", OVER_EOF, -ERR_REMOTE, FAULT_PROTOCOL },
	{ "a page that nobody is at", API_CHAT, 404, "<html>Not Found</html>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a page that wants a method", API_CHAT, 405, "<html>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a page that wants a password", API_ANTHROPIC, 401, "<html>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a page that leads elsewhere", API_CHAT, 302, "<html>Found</html>", OVER_EOF, -ERR_REMOTE, FAULT_PAGE },
	{ "a gateway that is overloaded says so with a page", API_CHAT, 503, "<html>", OVER_EOF, -ERR_REMOTE, FAULT_OVERLOADED },
	{ "a gateway that bounds the rate", API_CHAT, 429, "<html>", OVER_EOF, -ERR_REMOTE, FAULT_RATE_LIMIT },
	{ "a gateway that bounds the size", API_CHAT, 413, "<html>", OVER_EOF, -ERR_REMOTE, FAULT_TOO_LARGE },
	{ "an error object that quotes a page", API_CHAT, 404, "{\"error\":{\"message\":\"<html>\"}}", OVER_EOF, -ERR_REMOTE, FAULT_NOT_FOUND },
	{ "JSON of something else", API_CHAT, 200, "{\"a\":1}", OVER_EOF, -ERR_REMOTE, FAULT_PROTOCOL },
	{ "an array of something else", API_CHAT, 200, "[1]", OVER_EOF, -ERR_REMOTE, FAULT_PROTOCOL },
	{ "JSON cut short", API_ANTHROPIC, 200, "{\"content\":[", OVER_EOF, -ERR_REMOTE, FAULT_INCOMPLETE },
	{ "an error envelope beside empty content", API_ANTHROPIC, 200, "{\"content\":[],\"error\":{\"type\":\"overloaded_error\",\"message\":\"o\"}}",
		OVER_EOF, -ERR_REMOTE, FAULT_OVERLOADED },
	{ "a null error beside an answer", API_CHAT, 200, "{\"error\":null,\"choices\":[{\"message\":{\"content\":\"a\"}}]}", OVER_EOF, 0, FAULT_AUTH },
	{ "a whole Anthropic message", API_ANTHROPIC, 200, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"stop_reason\":\"end_turn\"}", OVER_EOF, 0, FAULT_AUTH },
	{ "a redirect", API_CHAT, 302, "", OVER_EOF, -ERR_REMOTE, FAULT_PROTOCOL },
	{ "a status and a reset", API_CHAT, 503, "{\"err", OVER_NETWORK, -ERR_REMOTE, FAULT_OVERLOADED },
	{ "a provider out of resources", API_CHAT, 200, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"insufficient_system_resource\"}]}\n\n",
		OVER_EOF, -ERR_REMOTE, FAULT_OVERLOADED },
};

TEST(reply_that_ends_badly_is_a_fault_and_no_turn)
{
	for (size_t i = 0; i < COUNT(ends); i++) {
		auto_arena struct arena *mem = arena_new();
		CLEANUP(run_fini) struct run run = { 0 };

		feed(&run, ends[i].wire, REPLY_HEAD(ends[i].status), str_from(ends[i].body), 5, ends[i].over, mem);
		if (run.r != ends[i].r || run.fault.kind != ends[i].kind)
			print_error("%s: %d %s\n", ends[i].why, run.r, provider_fault_name(run.fault.kind));
		CHECK_INT(run.r, ends[i].r);
		CHECK_INT(run.r < 0 ? run.fault.kind : 0, run.r < 0 ? ends[i].kind : 0);
		CHECK(run.r == 0 || (run.reply.message.n == 0 && run.fault.message[0] != '\0'));
	}
}

#define USAGE(in, out) "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" in ",\"completion_tokens\":" out "}}\n\n"
#define FRAGMENT(members) CHAT("\"tool_calls\":[{" members "}]")
#define DONE "data: [DONE]\n\n"

static const struct {
	const char *why;
	enum api_wire wire;
	const char *body, *want; /* text|thinking|id name args;...|stop|in out read write */
} streams[] = {
	{ "text and usage", API_CHAT, CHAT("\"content\":\"a\"") CHAT("\"content\":\"b\"") USAGE("7", "2") DONE, "ab|||end_turn|7 2 0 0" },
	{ "half a surrogate pair waits for the other", API_CHAT, CHAT("\"content\":\"x\\ud83e\"") CHAT("\"content\":\"\\udd80\"") DONE,
		"x\xf0\x9f\xa6\x80|||end_turn|0 0 0 0" },
	{ "and stands as a mark when it never comes", API_CHAT, CHAT("\"content\":\"x\\ud83e\"") CHAT("\"content\":\"y\"") DONE,
		"x\xEF\xBF\xBDy|||end_turn|0 0 0 0" },
	{ "think tags, cut anywhere", API_CHAT, CHAT("\"content\":\" <think>\\n a <b \"") CHAT("\"content\":\"</think>\\n\\nyes </think>\"") DONE,
		"yes </think>|a <b||end_turn|0 0 0 0" },
	{ "a tag that is never closed", API_CHAT, CHAT("\"content\":\"<think>a</thin\"") DONE, "|a</thin||end_turn|0 0 0 0" },
	{ "a text that only begins like a tag", API_CHAT, CHAT("\"content\":\"<thi\"") DONE, "<thi|||end_turn|0 0 0 0" },
	{ "half a fence at the start waits, code then comes", API_CHAT, CHAT("\"content\":\" `\"") CHAT("\"content\":\"``c\\nx\"") DONE, " ```c\nx|||end_turn|0 0 0 0" },
	{ "both reasoning fields are one thought", API_CHAT, CHAT("\"reasoning\":\"t\",\"reasoning_content\":\"t\"") CHAT("\"reasoning\":\"u\"") DONE,
		"|tu||end_turn|0 0 0 0" },
	{ "fragments by index, in turn", API_CHAT, FRAGMENT("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\"}")
		FRAGMENT("\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":\"{\"}")
		FRAGMENT("\"index\":0,\"function\":{\"arguments\":\"}\"}") FRAGMENT("\"index\":1,\"function\":{\"arguments\":\"}\"}") DONE,
		"||a x {};b y {};|tool_use|0 0 0 0" },
	{ "one index for all, ids differ", API_CHAT, FRAGMENT("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}")
		FRAGMENT("\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}") DONE, "||a x {};b x {};|tool_use|0 0 0 0" },
	{ "neither index nor id", API_CHAT, FRAGMENT("\"function\":{\"name\":\"x\",\"arguments\":\"{\"}")
		FRAGMENT("\"function\":{\"arguments\":\"}\"}") FRAGMENT("\"function\":{\"name\":\"y\"}") DONE, "||call_0 x {};call_1 y {};|tool_use|0 0 0 0" },
	{ "arguments before the name", API_CHAT, FRAGMENT("\"index\":3,\"id\":\"a\",\"function\":{\"arguments\":\"{\\\"q\\\":1}\"}")
		FRAGMENT("\"index\":3,\"id\":\"a\",\"function\":{\"name\":\"x\"}") DONE, "||a x {\"q\":1};|tool_use|0 0 0 0" },
	{ "arguments twice in quotes", API_CHAT, FRAGMENT("\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"\\\"{}\\\"\"}") DONE,
		"||a x {};|tool_use|0 0 0 0" },
	{ "junk after the object", API_CHAT, FRAGMENT("\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}</s>\"}") DONE,
		"||a x {};|tool_use|0 0 0 0" },
	{ "a call without a name is none", API_CHAT, FRAGMENT("\"id\":\"a\",\"function\":{\"name\":\" \",\"arguments\":\"{}\"}") DONE,
		"|||end_turn|0 0 0 0" },
	{ "the form before tool_calls", API_CHAT, CHAT("\"function_call\":{\"name\":\"x\",\"arguments\":\"\"}") DONE, "||call_0 x {};|tool_use|0 0 0 0" },
	{ "cached tokens are part of the prompt", API_CHAT, "data: {\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,"
		"\"prompt_tokens_details\":{\"cached_tokens\":99}}}\n\n" DONE, "|||end_turn|0 1 10 0" },
	{ "the last usage counts", API_CHAT, USAGE("5", "1") USAGE("6", "-2") DONE, "|||end_turn|6 0 0 0" },
	{ "Anthropic's counters are cumulative", API_ANTHROPIC, AN_START
		"data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":4,\"cache_read_input_tokens\":8}}\n\n"
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5,\"input_tokens\":null}}\n\n"
		"data: {\"type\":\"message_stop\"}\n\n", "|||end_turn|3 5 8 0" },
	{ "interleaved blocks, in order of appearance", API_ANTHROPIC, AN_START
		"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\n"
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"t\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"b\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"u\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"text_delta\",\"text\":\"lost\"}}\n\n"
		AN_STOP("end_turn"), "ab|tu||end_turn|3 0 0 0" },
	{ "half a pair is repaired in text and thoughts", API_ANTHROPIC, AN_START
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"t\\ud83e\"}}\n\n"
		"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\\udd80\"}}\n\n"
		AN_STOP("end_turn"), "\xEF\xBF\xBD|t\xEF\xBF\xBD||end_turn|3 0 0 0" },
	{ "a broken event is skipped", API_ANTHROPIC, AN_START "data: {oops\n\n" AN_STOP("pause_turn"), "|||pause|3 0 0 0" },
	{ "a delta of another kind than its block", API_ANTHROPIC, AN_START
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n"
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n"
		AN_STOP("end_turn"), "|||end_turn|3 0 0 0" },
	{ "everything after the end is ignored", API_ANTHROPIC, AN_START AN_STOP("end_turn") "data: {\"type\":\"error\"}\n\n", "|||end_turn|3 0 0 0" },
};

static void describe(struct buf *out, const struct reply *r)
{
	const struct usage *u = &r->usage;

	CHECK(buf_addf(out, ERR_DISCARD, STR_FMT "|" STR_FMT "|", STR_ARG(r->text), STR_ARG(r->thinking)) == 0);
	for (size_t i = 0; i < r->ncalls; i++)
		CHECK(buf_addf(out, ERR_DISCARD, STR_FMT " " STR_FMT " " STR_FMT ";", STR_ARG(r->calls[i].id),
			STR_ARG(r->calls[i].name), STR_ARG(r->calls[i].args)) == 0);
	CHECK(buf_addf(out, ERR_DISCARD, "|%s|%lld %lld %lld %lld", reply_stop_name(r->stop), (long long)u->input,
		(long long)u->output, (long long)u->cache_read, (long long)u->cache_write) == 0);
}

TEST(reply_reads_every_stream_in_pieces_of_every_size)
{
	for (size_t i = 0; i < COUNT(streams); i++)
		for (size_t step = 1; step <= strlen(streams[i].body); step++) {
			auto_arena struct arena *mem = arena_new();
			auto_buf struct buf got = BUF_MAX(4096);
			CLEANUP(run_fini) struct run run = { 0 };

			feed(&run, streams[i].wire, REPLY_HEAD(200), str_from(streams[i].body), step, OVER_EOF, mem);
			describe(&got, &run.reply);
			if (run.r < 0 || !str_eqz(buf_str(&got), streams[i].want))
				print_error("%s, pieces of %zu: %s\n", streams[i].why, step, run.fault.message);
			CHECK_INT(run.r, 0);
			CHECK_STR(buf_str(&got), str_from(streams[i].want));
			CHECK_STR(buf_str(&run.shown), run.reply.text);
		}
}

TEST(reply_refuses_an_answer_without_end)
{
	auto_arena struct arena *mem = arena_new();
	struct model_spec spec = MODEL_SPEC;
	auto_reply struct reply_stream *s = reply_new(&spec, STR(""), NULL, mem);
	autofree char *noise = mem_alloc(1 << 20);
	struct provider_fault fault = { 0 };
	struct reply out;
	int fed = 0;

	memset(noise, 'x', 1 << 20);
	for (; fed < 100 && !reply_is_done(s); fed++)
		reply_feed(s, str_of(noise, 1 << 20));
	CHECK_INT(fed, 9); /* one line may be 8 MiB */
	CHECK_INT(reply_end(s, OVER_EOF, STR(""), &out, &fault), -ERR_REMOTE);
	CHECK_INT(fault.kind, FAULT_PROTOCOL);
	CHECK(fault.retryable);
}

TEST(reply_idle_time_follows_what_the_model_does_and_pings_do_not_count)
{
	static const struct {
		const char *piece;
		int64_t idle_ms;
		uint64_t beats;
	} steps[] = {
		{ AN_START, 120000, 1 },
		{ ": comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n", 120000, 1 },
		{ "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n", 300000, 2 },
		{ "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n", 45000, 3 },
	};
	auto_arena struct arena *mem = arena_new();
	struct model_spec spec = MODEL_SPEC;
	auto_reply struct reply_stream *s = reply_new(&spec, STR(""), NULL, mem);

	CHECK_INT(reply_idle_ms(s), 120000);
	for (size_t i = 0; i < COUNT(steps); i++) {
		reply_feed(s, str_from(steps[i].piece));
		CHECK_INT(reply_idle_ms(s), steps[i].idle_ms);
		CHECK_INT(reply_beats(s), steps[i].beats);
	}
}

TEST(reply_idle_time_is_short_once_a_chat_server_has_said_anything)
{
	static const char *const said[] = { CHAT("\"content\":\"a\""), CHAT("\"content\":\"<think>\""),
		CHAT("\"reasoning\":\"t\""), FRAGMENT("\"id\":\"a\"") };

	for (size_t i = 0; i < COUNT(said); i++) {
		auto_arena struct arena *mem = arena_new();
		struct model_spec spec = MODEL_SPEC;

		spec.wire = API_CHAT;
		auto_reply struct reply_stream *s = reply_new(&spec, STR(""), NULL, mem);
		reply_feed(s, STR(CHAT("\"role\":\"assistant\",\"content\":\"\"")));
		CHECK_INT(reply_idle_ms(s), 120000); /* a role alone is no output */
		reply_feed(s, str_from(said[i]));
		CHECK_INT(reply_idle_ms(s), 45000);
	}
}

TEST(reply_that_promised_a_call_and_brought_none_is_empty)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(run_fini) struct run run = { 0 };

	feed(&run, API_CHAT, REPLY_HEAD(200), STR("data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"finish_reason\":\"tool_calls\"}]}\n\n"),
		9, OVER_EOF, mem);
	CHECK_INT(run.r, 0);
	CHECK(reply_is_empty(&run.reply));
	run_fini(&run);
	feed(&run, API_ANTHROPIC, REPLY_HEAD(200), STR(AN_START AN_STOP("end_turn")), 9, OVER_EOF, mem);
	CHECK(!reply_is_empty(&run.reply));
}

TEST(reply_with_an_error_status_says_what_the_body_said)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(run_fini) struct run run = { 0 };
	struct reply_head head = REPLY_HEAD(429);

	head.retry_after_ms = 3000;
	head.request_id = STR("req_1");
	feed(&run, API_ANTHROPIC, head, STR("{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}"), 3, OVER_EOF, mem);
	CHECK_INT(run.r, -ERR_REMOTE);
	CHECK_STR(str_from(run.fault.message), STR("slow down"));
	CHECK_STR(str_from(run.fault.request_id), STR("req_1"));
	CHECK_INT(run.fault.status, 429);
	CHECK_INT(run.fault.retry_after_ms, 3000);
}

TEST(reply_numbers_the_ids_it_makes_up_from_where_it_is_told)
{
	auto_arena struct arena *mem = arena_new();
	struct model_spec spec = MODEL_SPEC;
	struct provider_fault fault;
	struct reply out;

	spec.wire = API_CHAT;
	auto_reply struct reply_stream *s = reply_new(&spec, STR(""), NULL, mem);
	reply_number_calls(s, 41);
	reply_feed(s, STR("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\"}},"
		"{\"function\":{\"name\":\"b\"}}]}}]}\n\ndata: [DONE]\n\n"));
	CHECK_INT(reply_end(s, OVER_EOF, STR(""), &out, &fault), 0);
	CHECK_INT(out.ncalls, 2);
	CHECK_STR(out.calls[0].id, STR("call_41"));
	CHECK_STR(out.calls[1].id, STR("call_42"));
}

TEST(reply_with_too_many_parts_is_refused)
{
	auto_arena struct arena *mem = arena_new();
	struct model_spec spec = MODEL_SPEC;
	auto_reply struct reply_stream *s = reply_new(&spec, STR(""), NULL, mem);
	struct provider_fault fault = { 0 };
	struct reply out;

	for (int i = 0; i < 2000; i++)
		reply_feed(s, STR("data: {\"type\":\"content_block_start\",\"index\":-5,\"content_block\":{\"type\":\"text\"}}\n\n"));
	CHECK_INT(reply_end(s, OVER_EOF, STR(""), &out, &fault), -ERR_REMOTE);
	CHECK_INT(fault.kind, FAULT_PROTOCOL);
}
