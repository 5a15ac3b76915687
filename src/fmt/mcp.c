/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/mcp.h"
#include "fmt/jsonr.h"
#include "fmt/jstrict.h"
#include "fmt/pack.h"

#include <string.h>

#define CLIENT "{\"name\":\"agent6\",\"version\":\"" AGENT6_VERSION "\"}"
#define META                                                                                                 \
	"\"io.modelcontextprotocol/protocolVersion\":\"" MCP_MODERN                                          \
	"\",\"io.modelcontextprotocol/clientInfo\":" CLIENT ",\"io.modelcontextprotocol/clientCapabilities\":{}"

static const struct {
	const char *name;
	bool request; /* it has our id and is answered */
} methods[MCP_METHODS] = {
	[MCP_DISCOVER] = { "server/discover", true },
	[MCP_INITIALIZE] = { "initialize", true },
	[MCP_INITIALIZED] = { "notifications/initialized", false },
	[MCP_LIST] = { "tools/list", true },
	[MCP_CALL] = { "tools/call", true },
	[MCP_CANCEL] = { "notifications/cancelled", false },
	[MCP_PONG] = { "", false },
	[MCP_REFUSE] = { "", false },
	[MCP_LISTEN] = { "", false },
	[MCP_END] = { "", false },
};

const char *const mcp_versions[MCP_VERSIONS + 1] = { "", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NULL };

bool mcp_is_wordless(enum mcp_method m)
{
	return m == MCP_LISTEN || m == MCP_END;
}

const char *mcp_method_name(enum mcp_method m)
{
	return methods[m].name;
}

void mcp_say_pack(const struct mcp_say *s, struct buf *b)
{
	pack_u8(b, (uint8_t)s->method);
	pack_u8(b, (uint8_t)s->era);
	pack_i64(b, s->ref);
	pack_u8(b, s->is_text);
	pack_str(b, s->text);
	pack_u8(b, s->version);
}

int mcp_say_unpack(struct unpack *u, struct mcp_say *out, struct err *err)
{
	struct mcp_say s = { .id = out->id };

	s.method = (enum mcp_method)unpack_u8(u);
	s.era = (enum mcp_era)unpack_u8(u);
	s.ref = unpack_i64(u);
	s.is_text = unpack_u8(u) == 1;
	s.text = unpack_str(u);
	s.version = unpack_u8(u);
	if (!unpack_done(u))
		return err_set(err, ERR_PROTOCOL, "a message for a server does not decode");
	*out = s;
	return 0;
}

static bool is_word(char c, const char *more)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != '\0' && strchr(more, c));
}

bool mcp_name_ok(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!is_word(name.p[i], "-_"))
			return false;
	return name.n > 0 && name.n <= MCP_NAME_MAX && str_find(name, STR("__")) == name.n;
}

bool mcp_tool_ok(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] < ' ' || name.p[i] > '~')
			return false;
	return name.n > 0 && name.n <= MCP_TOOL_MAX && name.p[0] != ' ' && name.p[name.n - 1] != ' ';
}

static int check(const struct mcp_say *s, struct err *err)
{
	if (s->method < MCP_DISCOVER || s->method >= MCP_METHODS || mcp_is_wordless(s->method))
		return err_set(err, ERR_INVALID, "method %d is not said to a server", (int)s->method);
	if (s->era != MCP_ERA_LEGACY && s->era != MCP_ERA_MODERN)
		return err_set(err, ERR_INVALID, "era %d is unknown", (int)s->era);
	if (s->version >= MCP_VERSIONS)
		return err_set(err, ERR_INVALID, "version %d is unknown", (int)s->version);
	if (s->text.n > MCP_CURSOR_MAX || !utf8_valid(s->text) || (s->text.n > 0 && memchr(s->text.p, '\0', s->text.n)))
		return err_set(err, ERR_INVALID, "a text for a server must be UTF-8 of at most %d bytes, without NUL", MCP_CURSOR_MAX);
	if (s->method == MCP_CALL && !mcp_tool_ok(s->text))
		return err_set(err, ERR_INVALID, "the tool's name must be printable ASCII of at most %d bytes", MCP_TOOL_MAX);
	if ((s->args.n > 0) != (s->method == MCP_CALL))
		return err_set(err, ERR_INVALID, "arguments belong to a call, and a call has them");
	if (s->args.n > MCP_ARGS_MAX)
		return err_set(err, ERR_LIMIT, "the arguments are longer than %d bytes", MCP_ARGS_MAX);
	return 0;
}

static int add_id(struct buf *b, const struct mcp_say *s, struct err *err)
{
	if (methods[s->method].request)
		return buf_addf(b, err, ",\"id\":%u", s->id);
	if (s->method != MCP_PONG && s->method != MCP_REFUSE)
		return 0;
	if (!s->is_text)
		return buf_addf(b, err, ",\"id\":%lld", (long long)s->ref);
	TRY(buf_addz(b, ",\"id\":", err));
	return jsonw_quoted(b, s->text, err);
}

static int add_call(struct mcp_line *l, const struct mcp_say *s, struct err *err)
{
	TRY(buf_addz(&l->text, "\"name\":", err));
	TRY(jsonw_quoted(&l->text, s->text, err));
	TRY(buf_addz(&l->text, ",\"arguments\":", err));
	l->args_at = l->text.n;
	if (jstrict_add_object(&l->text, s->args, err) < 0)
		return err_wrap(err, "the arguments");
	l->args_n = l->text.n - l->args_at;
	return 0;
}

/* A call's own id is what a server names when it tells how far it is. */
static int add_meta(struct buf *b, const struct mcp_say *s, const char *before, struct err *err)
{
	bool modern = s->era == MCP_ERA_MODERN && methods[s->method].request, call = s->method == MCP_CALL;

	if (!modern && !call)
		return 0;
	TRY(buf_addf(b, err, "%s\"_meta\":{", before));
	if (call)
		TRY(buf_addf(b, err, "\"progressToken\":%u%s", s->id, modern ? "," : ""));
	return buf_addf(b, err, "%s}", modern ? META : "");
}

static int add_params(struct mcp_line *l, const struct mcp_say *s, struct err *err)
{
	struct buf *b = &l->text;
	size_t open;

	TRY(buf_addz(b, ",\"params\":{", err));
	open = b->n;
	if (s->method == MCP_CALL)
		TRY(add_call(l, s, err));
	if (s->method == MCP_LIST && s->text.n > 0) {
		TRY(buf_addz(b, "\"cursor\":", err));
		TRY(jsonw_quoted(b, s->text, err));
	}
	if (s->method == MCP_INITIALIZE)
		TRY(buf_addz(b, "\"protocolVersion\":\"" MCP_LEGACY "\",\"capabilities\":{},\"clientInfo\":" CLIENT, err));
	if (s->method == MCP_CANCEL)
		TRY(buf_addf(b, err, "\"requestId\":%lld,\"reason\":\"no longer wanted\"", (long long)s->ref));
	TRY(add_meta(b, s, b->n > open ? "," : "", err));
	return buf_addc(b, '}', err);
}

int mcp_compose(const struct mcp_say *s, struct mcp_line *out, struct err *err)
{
	struct buf *b = &out->text;

	TRY(check(s, err));
	b->max = MCP_LINE_MAX;
	buf_clear(b);
	out->args_at = out->args_n = 0;
	TRY(buf_addz(b, "{\"jsonrpc\":\"2.0\"", err));
	TRY(add_id(b, s, err));
	if (s->method == MCP_PONG)
		return buf_addz(b, ",\"result\":{}}", err);
	if (s->method == MCP_REFUSE)
		return buf_addz(b, ",\"error\":{\"code\":-32601,\"message\":\"agent6 does not offer this\"}}", err);
	TRY(buf_addf(b, err, ",\"method\":\"%s\"", methods[s->method].name));
	if (s->method != MCP_INITIALIZED)
		TRY(add_params(out, s, err));
	return buf_addc(b, '}', err);
}
