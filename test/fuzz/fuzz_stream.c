/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_stream: whatever a server sends, what comes out is a turn that every wire takes back, or a fault.
 * The first byte chooses wire, status and options, the second the piece size. */
#include "fmt/json.h"
#include "provider/provider.h"

#define TOOLS STR("[{\"name\":\"grep\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"re\":{\"type\":\"string\"}}}}]")

static void must_be_json(struct str text)
{
	auto_json json_t *tree = NULL;

	BUG_IF(json_decode(text, JSON_EXACT, &tree, ERR_DISCARD) < 0);
}

static void show(void *self, struct str piece)
{
	(void)self;
	BUG_IF(!utf8_valid(piece));
}

static void check_reply(const struct reply *r)
{
	BUG_IF(!utf8_valid(r->text) || !utf8_valid(r->thinking) || !utf8_valid(r->stop_raw) || !utf8_valid(r->model));
	for (size_t i = 0; i < r->ncalls; i++) {
		BUG_IF(r->calls[i].args.p[0] != '{' || !utf8_valid(r->calls[i].raw_args));
		for (size_t k = 0; k < i; k++)
			BUG_IF(str_eq(r->calls[i].id, r->calls[k].id));
		if (str_find_any(r->calls[i].args, STR("0123456789")) == r->calls[i].args.n) /* numbers may be too large */
			must_be_json(r->calls[i].args);
	}
}

static void send_back(const struct reply *r, const struct model_spec *spec)
{
	auto_conversation struct conversation *c = conversation_new();
	size_t first;

	BUG_IF(conversation_set_prompt(c, STR("s"), TOOLS, ERR_DISCARD) < 0);
	BUG_IF(conversation_add_user(c, r->text.n > 0 ? r->text : STR("x"), ERR_DISCARD) < 0);
	if (r->message.n > 0)
		BUG_IF(conversation_add(c, r->message, ERR_DISCARD) < 0);
	BUG_IF(conversation_repair(c, &first, ERR_DISCARD) < 0);
	for (int wire = 0; wire < API_COUNT; wire++) {
		auto_buf struct buf body = BUF_MAX(64 << 20);
		struct model_spec other = *spec;

		other.wire = (enum api_wire)wire;
		BUG_IF(request_encode(&other, c, NULL, &body, ERR_DISCARD) < 0);
		BUG_IF(!utf8_valid(buf_str(&body)));
		if (str_find_any(r->message, STR("0123456789")) == r->message.n)
			must_be_json(buf_str(&body));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 200, 200, 200, 200, 200, 400, 429, 529 };
	auto_arena struct arena *mem = arena_new();
	struct model_spec spec = MODEL_SPEC;
	struct reply_watch watch = { show, show, NULL };
	struct provider_fault fault = { 0 };
	struct str in = str_of(data, size);
	struct reply r;

	if (size < 2)
		return 0;
	spec.wire = data[0] & 0x40 ? API_RESPONSES : data[0] & 1 ? API_CHAT : API_ANTHROPIC;
	spec.model = STR("m");
	spec.think_tags = data[0] & 2;
	auto_reply struct reply_stream *s = reply_new(&spec, data[0] & 4 ? TOOLS : STR(""), &watch, mem);
	reply_head(s, REPLY_HEAD(statuses[data[0] >> 3 & 7]));
	for (in = str_skip(in, 2); in.n > 0; in = str_skip(in, data[1] + 1u))
		reply_feed(s, str_head(in, data[1] + 1u));
	if (reply_end(s, OVER_EOF, STR(""), &r, &fault) < 0)
		BUG_IF(r.message.n > 0 || fault.message[0] == '\0' || !utf8_valid(str_from(fault.message)));
	check_reply(&r);
	send_back(&r, &spec);
	return 0;
}
