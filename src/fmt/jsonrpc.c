/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jsonrpc.h"

#include <string.h>

#define KEEP_LINE (256 * 1024) /* storage that a long line needed is given back */

void rpc_init(struct rpc_reader *r, size_t max, rpc_message_fn *on_message, void *self)
{
	*r = (struct rpc_reader){ .on_message = on_message, .self = self, .line = BUF_MAX(max) };
}

void rpc_fini(struct rpc_reader *r)
{
	buf_fini(&r->line);
}

static void read_id(struct jval id, struct rpc_message *m)
{
	m->id_raw = id;
	/* 7.0 and "7" are no ids of ours: who echoes them so is broken. */
	m->id_known = id.type == JSCAN_NUMBER && str_find_any(id.text, STR(".eE")) == id.text.n && jval_to_i64(id, &m->id);
}

int rpc_decode(struct str text, struct rpc_message *out, struct err *err)
{
	struct jval v = jval_from(text), id = jval_get(v, "id"), method = jval_get(v, "method"), result = jval_get(v, "result"),
		    error = jval_get(v, "error");
	struct rpc_message m = { 0 };

	if (v.type != JSCAN_OBJECT)
		return err_set(err, ERR_SYNTAX, "not one JSON object");
	read_id(id, &m);
	if (method.type == JSCAN_STRING) {
		bool request = id.type == JSCAN_STRING || id.type == JSCAN_NUMBER;

		m.kind = request ? RPC_REQUEST : RPC_NOTIFICATION;
		m.method = method;
		m.body = jval_get(v, "params");
	} else if (error.type == JSCAN_OBJECT) {
		m.kind = RPC_ERROR;
		m.body = error;
	} else if (result.type != JSCAN_NONE) {
		m.kind = RPC_RESULT;
		m.body = result;
	} else {
		return err_set(err, ERR_SYNTAX, "neither a method nor a result nor an error");
	}
	*out = m;
	return 0;
}

static int junk(struct rpc_reader *r, struct err *err)
{
	r->skipped++;
	if (++r->junk > RPC_JUNK_MAX)
		return err_set(err, ERR_PROTOCOL, "%d lines in a row that are no message", RPC_JUNK_MAX);
	return 0;
}

static int end_line(struct rpc_reader *r, struct err *err)
{
	struct str line = buf_str(&r->line);
	struct rpc_message m;

	if (!r->begun)
		line = str_trim_prefix(line, STR("\xEF\xBB\xBF"));
	r->begun = true;
	if (r->dropping) {
		r->dropping = false;
		r->too_long++;
		return junk(r, err);
	}
	line = str_trim(line);
	if (line.n == 0)
		return 0;
	if (rpc_decode(line, &m, ERR_DISCARD) < 0)
		return junk(r, err);
	r->junk = 0;
	return r->on_message(r->self, &m, err);
}

int rpc_feed(struct rpc_reader *r, struct str in, struct err *err)
{
	while (in.n > 0) {
		const char *eol = memchr(in.p, '\n', in.n);
		size_t n = eol ? (size_t)(eol - in.p) : in.n;

		if (!r->dropping && buf_add(&r->line, str_head(in, n), ERR_DISCARD) < 0)
			r->dropping = true;
		r->dropped = r->dropping ? r->dropped + n : 0;
		if (r->dropping)
			buf_fini(&r->line);
		if (r->dropped > RPC_DROP_MAX)
			return err_set(err, ERR_PROTOCOL, "a line that does not end");
		in = str_skip(in, n);
		if (!eol)
			return 0; /* the rest of this line is still on its way */
		in = str_skip(in, 1);
		TRY(end_line(r, err));
		if (r->line.cap > KEEP_LINE)
			buf_fini(&r->line);
		buf_clear(&r->line);
	}
	return 0;
}
