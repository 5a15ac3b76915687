/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/connect.h"
#include "app/egress.h"
#include "app/endpoint.h"
#include "config/secrets.h"
#include "fmt/json.h"

#define PROBE_MS   30000
#define LIST_MAX   ((size_t)8 * 1024 * 1024)
#define MODELS_MAX 5000

/* {"data":[{"id":"..."}]}, which both wires answer; anything else holds no names. */
static struct str_list read_models(struct str text, struct arena *mem)
{
	auto_json json_t *j = NULL;
	struct str_list out = { 0 };
	const json_t *data;

	if (json_decode(text, JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return out;
	data = json_object_get(j, "data");
	out.p = arena_array(mem, json_array_size(data), sizeof(*out.p));
	for (size_t i = 0; i < json_array_size(data) && out.n < MODELS_MAX; i++) {
		struct str id = json_get_str(json_array_get(data, i), "id");

		if (id.n > 0)
			out.p[out.n++] = str_dup(mem, id);
	}
	return out;
}

static int ask(const struct endpoint *e, int secrets_fd, struct arena *mem, struct connect_answer *out,
	struct err *err)
{
	auto_programs struct programs programs = { -1, -1, -1, "" };
	auto_buf struct buf text = BUF_MAX(LIST_MAX);
	struct egress_reply reply = { 0 };

	if (e->models_path.n == 0)
		return err_set(err, ERR_UNSUPPORTED, "\"" STR_FMT "\" has no list of models to ask for",
			STR_ARG(e->name));
	TRY(programs_open(&programs, err));
	TRY(egress_get(&programs, e, ROUTE_MODELS, STR(""), secrets_fd, PROBE_MS, &text, &reply, err));
	*out = (struct connect_answer){ .status = reply.status };
	if (reply.status >= 200 && reply.status < 300)
		out->models = read_models(buf_str(&text), mem);
	return 0;
}

int connect_probe(const struct place *place, const struct config_provider *p, struct arena *mem,
	struct connect_answer *out, struct err *err)
{
	autoclose int secrets = -1;
	struct endpoint e = { 0 };
	int r;

	TRY(app_endpoint(p, STR("none"), mem, &e, err));
	if (e.key_from == KEY_SECRETS) {
		r = secrets_open(place->paths.secrets_file, &secrets, err);
		if (r < 0 && r != -ERR_NOENT)
			return r;
	}
	r = ask(&e, secrets, mem, out, err);
	secret_fini(&e.key);
	return r;
}
