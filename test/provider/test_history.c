/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The history that is sent is valid, whatever happened to it. */
#include "provider/provider.h"
#include "test/lib/test.h"
#include "test/provider/valid.h"

#include <stdio.h>

#define HISTORIES 1500
#define EVENTS    14
#define TOOLS STR("[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}]")

/* ---- what happens ---- */

struct life {
	struct conversation *c;
	uint64_t seed;
	int serial;              /* of call ids */
	int open[4], nopen;      /* calls of the last answer */
	bool counts_anew;        /* its server numbers the calls of each answer from 0, which Anthropic alone refuses */
};

static unsigned dice(struct life *l, unsigned sides) /* xorshift: the same history for the same seed, everywhere */
{
	l->seed ^= l->seed << 13;
	l->seed ^= l->seed >> 7;
	l->seed ^= l->seed << 17;
	return (unsigned)(l->seed >> 33) % sides;
}

static const char *const blocks[] = { /* what answers of the three wires are made of, besides calls */
	"{\"type\":\"text\",\"text\":\"Look.\"}",
	"{\"type\":\"text\",\"text\":\"\"}",
	"{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}",
	"{\"type\":\"thinking\",\"thinking\":\"unsigned\"}",
	"{\"type\":\"redacted_thinking\",\"data\":\"eA==\"}",
	"{\"type\":\"x_item\",\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"e\",\"summary\":[]}}",
	"{\"type\":\"x_item\",\"item\":{\"type\":\"web_search_call\",\"status\":\"completed\"}}",
	"{\"type\":\"x_reasoning_details\",\"details\":[{\"type\":\"reasoning.text\",\"text\":\"t\"}]}",
	"{\"type\":\"text\",\"x_phase\":\"commentary\",\"text\":\"so far\"}",
};
static const char *const from[] = { "", "\"from\":\"anthropic:claude-opus-5\",", "\"from\":\"openai:m\",", "\"from\":\"responses:gpt-5.4\"," };

static void answer(struct life *l, bool calls)
{
	auto_buf struct buf b = BUF_MAX(8192);
	int n = 0;

	CHECK(buf_addf(&b, ERR_DISCARD, "{\"role\":\"assistant\",%s\"content\":[", from[dice(l, COUNT(from))]) == 0);
	for (unsigned k = dice(l, 4); k > 0; k--)
		CHECK(buf_addf(&b, ERR_DISCARD, "%s%s", n++ > 0 ? "," : "", blocks[dice(l, COUNT(blocks))]) == 0);
	l->nopen = 0;
	l->serial = l->counts_anew ? 0 : l->serial;
	for (unsigned k = calls ? 1 + dice(l, 3) : 0; k > 0; k--) {
		int id = l->serial++;

		l->open[l->nopen++] = id;
		CHECK(buf_addf(&b, ERR_DISCARD, "%s{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"a\",\"input\":%s}", n++ > 0 ? "," : "", id,
			      dice(l, 4) == 0 ? "{\"_raw_arguments\":\"{\\\"x\\\":\"}" : "{}") == 0);
	}
	if (n == 0)
		CHECK(buf_addz(&b, blocks[0], ERR_DISCARD) == 0);
	CHECK(buf_addz(&b, "]}", ERR_DISCARD) == 0);
	(void)!conversation_add(l->c, buf_str(&b), ERR_DISCARD); /* one of nothing but what is left out is refused, as in a run */
}

static void results(struct life *l)
{
	struct call_result r[6];
	struct str notices[2] = { STR("note"), STR("") };
	char ids[6][16];
	size_t n = 0;

	for (int i = 0; i < l->nopen; i++) {
		if (dice(l, 5) == 0)
			continue; /* killed before it was done */
		for (unsigned times = 1 + (dice(l, 8) == 0); n < COUNT(r) && times > 0; times--) {
			snprintf(ids[n], sizeof(ids[n]), "t%d", l->open[i]);
			r[n] = (struct call_result){ str_from(ids[n]), dice(l, 4) ? STR("42") : STR(""), dice(l, 4) == 0 };
			n++;
		}
	}
	if (dice(l, 6) == 0 && n < COUNT(r)) { /* of a turn that was taken back */
		snprintf(ids[n], sizeof(ids[n]), "t%u", 1000 + dice(l, 9));
		r[n] = (struct call_result){ str_from(ids[n]), STR("for nobody"), false };
		n++;
	}
	(void)!conversation_add_results(l->c, r, n, notices, dice(l, 3), ERR_DISCARD);
	l->nopen = 0;
}

static void compact(struct life *l) /* the first message says something else, what follows it goes or stays */
{
	struct err err = { 0 };
	size_t n = conversation_count(l->c);

	if (n == 0)
		return;
	if (dice(l, 2))
		conversation_truncate(l->c, dice(l, (unsigned)n) + 1);
	CHECK_OK(conversation_replace(l->c, dice(l, 2) ? 0 : conversation_count(l->c) - 1,
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"TASK\"},{\"type\":\"text\",\"text\":\"the note\"}]}"), &err));
}

static void happen(struct life *l)
{
	size_t n = conversation_count(l->c), first;
	struct err err = { 0 };

	switch (dice(l, 9)) {
	case 0:
		answer(l, false);
		break;
	case 1:
	case 2:
		answer(l, true);
		break;
	case 3:
	case 4:
		results(l);
		break;
	case 5:
		CHECK_OK(conversation_add_user(l->c, STR("go on"), &err));
		break;
	case 6: /* undo, a refused turn, a kill */
		conversation_truncate(l->c, n > 0 ? dice(l, (unsigned)n + 1) : 0);
		break;
	case 7:
		compact(l);
		break;
	default:
		if (n > 0 && conversation_is_user(l->c, n - 1) && dice(l, 2))
			CHECK_OK(conversation_append(l->c, STR("beside the work"), &err));
		else
			CHECK(conversation_repair(l->c, &first, &err) >= 0);
	}
}

/* ---- what is sent ---- */

static const struct {
	enum api_wire wire;
	const char *model;
	unsigned adapted;
} wants[] = {
	{ API_ANTHROPIC, "claude-opus-5", 0 },
	{ API_ANTHROPIC, "claude-opus-5", ADAPT_NO_THINKING_REPLAY },
	{ API_ANTHROPIC, "another", 0 },
	{ API_CHAT, "m", 0 },
	{ API_CHAT, "kimi-k3", ADAPT_NINE_IDS },
	{ API_RESPONSES, "gpt-5.4", 0 },
	{ API_RESPONSES, "gpt-5.4", ADAPT_NO_THINKING_REPLAY },
	{ API_RESPONSES, "another", 0 },
};

static void check_sent(struct conversation *c, int which, bool counts_anew)
{
	for (size_t i = 0; i < COUNT(wants); i++) {
		if (counts_anew && wants[i].wire == API_ANTHROPIC)
			continue;
		auto_buf struct buf body = BUF_MAX(1 << 20);
		struct model_spec s = MODEL_SPEC;
		struct err err = { 0 };
		const char *bad;

		s.wire = wants[i].wire;
		s.model = str_from(wants[i].model);
		s.adapted = wants[i].adapted;
		s.temperature = -1;
		CHECK_OK(request_encode(&s, c, NULL, &body, &err));
		bad = valid_request(s.wire, buf_str(&body));
		if (bad)
			fail_msg("history %d, %s to %s: %s\n%.*s", which, api_wire_name(s.wire), wants[i].model, bad, (int)body.n, body.p);
	}
}

TEST(history_is_valid_for_every_wire_whatever_happened_to_it)
{
	for (int i = 1; i <= HISTORIES; i++) {
		auto_conversation struct conversation *c = conversation_new();
		struct life l = { .c = c, .seed = (uint64_t)i * 0x9E3779B97F4A7C15u, .counts_anew = i % 8 == 0 };
		struct err err = { 0 };
		size_t first;

		CHECK_OK(conversation_set_prompt(c, STR("sys"), TOOLS, &err));
		CHECK_OK(conversation_add_user(c, STR("TASK"), &err));
		for (int k = 0; k < EVENTS; k++)
			happen(&l);
		CHECK(conversation_repair(c, &first, &err) >= 0);
		if (conversation_count(c) == 0 || !conversation_is_user(c, conversation_count(c) - 1))
			CHECK_OK(conversation_add_user(c, STR("go on"), &err)); /* as a leg begins */
		check_sent(c, i, l.counts_anew);
		CHECK_INT(conversation_repair(c, &first, &err), 0); /* what is sound is left alone */
	}
}

/* ---- and the judge itself ---- */

#define U(t) "{\"role\":\"user\",\"content\":" t "}"
#define A(t) "{\"role\":\"assistant\",\"content\":" t "}"
#define HI "[{\"type\":\"text\",\"text\":\"hi\"}]"
#define USE(id) "[{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"a\",\"input\":{}}]"
#define GOT(id) "[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"r\"}]"
#define CALL(id) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":\"function\",\"id\":\"" id "\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}"
#define TOOL(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"r\"}"
#define CU "{\"role\":\"user\",\"content\":\"hi\"}"
#define RU "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}"
#define RC "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"a\",\"arguments\":\"{}\"}"
#define RO "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"r\"}"
#define RR "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"e\"}"

static const struct {
	enum api_wire wire;
	const char *body, *says; /* NULL: nothing */
} judged[] = {
	{ API_ANTHROPIC, "{\"messages\":[" U(HI) "," A(USE("1")) "," U(GOT("1")) "]}", NULL },
	{ API_ANTHROPIC, "{\"messages\":[" A(HI) "]}", "first" },
	{ API_ANTHROPIC, "{\"messages\":[" U(HI) "," A(USE("1")) "," U(HI) "]}", "immediately after" },
	{ API_ANTHROPIC, "{\"messages\":[" U(HI) "," U(GOT("1")) "]}", "unexpected" },
	{ API_ANTHROPIC, "{\"messages\":[" U(HI) "," A(USE("1")) "," U(GOT("1")) "," A(USE("1")) "," U(GOT("1")) "]}", "unique" },
	{ API_ANTHROPIC, "{\"messages\":[" U(HI) "," A("[{\"type\":\"thinking\",\"thinking\":\"x\"}]") "]}", "signature" },
	{ API_ANTHROPIC, "{\"messages\":[" U("[]") "]}", "not empty" },
	{ API_CHAT, "{\"messages\":[" CU "," CALL("1") "," TOOL("1") "," CU "]}", NULL },
	{ API_CHAT, "{\"messages\":[" CU "," CALL("1") "," CU "]}", "followed by" },
	{ API_CHAT, "{\"messages\":[" CU "," TOOL("1") "]}", "must follow" },
	{ API_CHAT, "{\"messages\":[" CU "," CALL("1") "]}", "at the end" },
	{ API_CHAT, "{\"messages\":[" CALL("1") "," TOOL("1") "]}", "speaks first" },
	{ API_RESPONSES, "{\"input\":[" RU "," RR "," RC "," RO "]}", NULL },
	{ API_RESPONSES, "{\"input\":[" RU "," RC "]}", "no tool output" },
	{ API_RESPONSES, "{\"input\":[" RU "," RO "]}", "no tool call" },
	{ API_RESPONSES, "{\"input\":[" RU "," RR "," RU "]}", "following item" },
	{ API_RESPONSES, "{\"input\":[" RU "," RR "]}", "following item" },
	{ API_RESPONSES, "{\"input\":[]}", "empty" },
};

TEST(history_that_a_server_refuses_is_noticed)
{
	for (size_t i = 0; i < COUNT(judged); i++) {
		const char *got = valid_request(judged[i].wire, str_from(judged[i].body));
		bool fits = judged[i].says ? got && str_find(str_from(got), str_from(judged[i].says)) < str_from(got).n : !got;

		if (!fits)
			fail_msg("%s: %s", judged[i].body, got ? got : "nothing");
	}
}
