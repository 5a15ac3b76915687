/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_mcp_read: whatever a server writes, in two pieces or one it is the same messages; what is offered to the model is
 * valid and unique names with schemas that are objects, and each answer is one JSON object. */
#include "fmt/json.h"
#include "fmt/jsonrpc.h"
#include "tool/mcp.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct arena *mem;
	size_t messages, bytes;
	struct mcp_list list;
};

static void check_offered(struct seen *s)
{
	static const struct str_list all = { 0 };
	struct mcp_catalogue c = { 0 };
	struct str_list left = { 0 };

	BUG_IF(mcp_offer(&c, 0, STR("srv"), &s->list, &all, s->mem, &left, ERR_DISCARD) < 0);
	BUG_IF(c.n > MCP_OFFERED_MAX);
	for (size_t i = 0; i < c.n; i++) {
		auto_json json_t *schema = NULL;

		BUG_IF(c.p[i].shown.n > 64 || c.p[i].help.n > MCP_HELP_MAX || c.p[i].schema.n > MCP_SCHEMA_MAX);
		BUG_IF(mcp_tool_find(&c, c.p[i].shown) != &c.p[i]);
		BUG_IF(!utf8_valid(c.p[i].help) || !utf8_valid(c.p[i].schema));
		BUG_IF(c.p[i].schema.p[0] != '{');
		for (size_t k = 0; k < c.p[i].shown.n; k++)
			BUG_IF(!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c.p[i].shown.p[k]));
		/* A member may be named twice, which this reader refuses. */
		if (json_decode(c.p[i].schema, JSON_REPAIR, &schema, ERR_DISCARD) == 0)
			BUG_IF(!json_is_object(schema));
	}
}

static int on_message(void *self, const struct rpc_message *m, struct err *err)
{
	struct seen *s = self;
	auto_buf struct buf out = BUF_MAX(1 << 20);
	auto_json json_t *j = NULL;
	struct str cursor;
	bool failed;

	(void)err;
	s->messages++;
	s->bytes += m->body.text.n;
	if (m->kind == RPC_RESULT) {
		BUG_IF(mcp_read_page(m->body, s->mem, &s->list, &cursor, ERR_DISCARD) == 0 && s->list.n > MCP_LISTED_MAX);
		struct mcp_pictures pictures = { .most = MCP_PICTURES_MAX, .mem = s->mem };

		if (mcp_result(m->body, &out, &pictures, &failed, ERR_DISCARD) == 0)
			BUG_IF(json_decode(buf_str(&out), JSON_EXACT, &j, ERR_DISCARD) < 0 || !json_is_object(j));
	}
	return 0;
}

static void feed(const uint8_t *data, size_t size, size_t cut, struct seen *s)
{
	auto_rpc struct rpc_reader r;

	rpc_init(&r, 4096, on_message, s);
	if (rpc_feed(&r, str_of(data, cut), ERR_DISCARD) == 0 && rpc_feed(&r, str_of(data + cut, size - cut), ERR_DISCARD) == 0)
		BUG_IF(r.junk > RPC_JUNK_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	struct seen whole = { .mem = mem }, parts = { .mem = mem };

	if (size < 1)
		return 0;
	feed(data + 1, size - 1, size - 1, &whole);
	feed(data + 1, size - 1, data[0] % size, &parts);
	BUG_IF(whole.messages != parts.messages || whole.bytes != parts.bytes);
	check_offered(&whole);
	return 0;
}
