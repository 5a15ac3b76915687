/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_mcp_say: whatever an agent wants said to a server, what is said is one line and one JSON-RPC message whose method,
 * id and tool are those of the fields that were checked, and what was shown to the operator is what it holds. */
#include "fmt/jscan.h"
#include "fmt/jstrict.h"
#include "fmt/mcp.h"
#include "fmt/pack.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct mcp_say *s, const struct mcp_line *l)
{
	auto_buf struct buf again = BUF_MAX(2 * MCP_LINE_MAX), name = BUF_MAX(8192);
	struct jval v = jval_from(buf_str(&l->text)), params = jval_get(v, "params");
	int64_t id = -1;

	BUG_IF(memchr(l->text.p, '\n', l->text.n) || memchr(l->text.p, '\r', l->text.n));
	BUG_IF(jstrict_add_object(&again, buf_str(&l->text), ERR_DISCARD) < 0);
	BUG_IF(!str_eq(buf_str(&again), buf_str(&l->text)));
	if (s->method == MCP_PONG || s->method == MCP_REFUSE) {
		BUG_IF(jval_get(v, "method").type != JSCAN_NONE);
		return;
	}
	if (s->method == MCP_CALL || s->method == MCP_LIST)
		BUG_IF(!jval_to_i64(jval_get(v, "id"), &id) || id != s->id);
	if (s->method != MCP_CALL)
		return;
	BUG_IF(!jval_is(jval_get(v, "method"), "tools/call"));
	BUG_IF(jval_add_text(&name, jval_get(params, "name"), NUL_KEEP, ERR_DISCARD) < 0 || !str_eq(buf_str(&name), s->text));
	BUG_IF(!str_eq(jval_get(params, "arguments").text, str_of(l->text.p + l->args_at, l->args_n)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_say say = { .id = 7 };
	struct mcp_line line = { 0 };
	struct unpack u;
	size_t head;

	if (size < 2)
		return 0;
	head = data[0] < size - 1 ? data[0] : size - 1;
	u = unpack_from(str_of(data + 1, head));
	if (mcp_say_unpack(&u, &say, ERR_DISCARD) < 0) { /* a call of something, then */
		say = (struct mcp_say){ MCP_CALL, data[0] & 1 ? MCP_ERA_LEGACY : MCP_ERA_MODERN, 7, .text = str_of(data + 1, head) };
	}
	say.args = str_of(data + 1 + head, size - 1 - head);
	if (mcp_compose(&say, &line, ERR_DISCARD) == 0)
		check(&say, &line);
	buf_fini(&line.text);
	return 0;
}
