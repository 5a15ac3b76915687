/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apart.h"
#include "app/connect.h"
#include "app/egress.h"
#include "app/endpoint.h"
#include "app/models.h"
#include "config/secrets.h"

#define PROBE_MS   30000

/* A token command is executed on this host, and certificates say whom a key goes to: they are checked as a run does it. */
static int keep_apart(const struct place *place, struct endpoint *e, struct programs *programs, struct arena *mem, struct err *err)
{
	struct config *c = arena_alloc(mem, sizeof(*c));

	if (e->key_from != KEY_COMMAND && e->ca_file.n == 0)
		return 0;
	TRY(config_load(&place->files, mem, c, err));
	TRY(apart_places(c, place->workspace, mem, &programs->apart, err));
	TRY(apart_ca(&programs->apart, str_printf(mem, "providers." STR_FMT ".ca_file", STR_ARG(e->name)).p, e, mem, err));
	return apart_token(&programs->apart, e, mem, err);
}

static int ask(const struct place *place, struct endpoint *e, int secrets_fd, struct arena *mem, struct connect_answer *out,
	struct err *err)
{
	auto_programs struct programs programs = PROGRAMS_NONE;
	auto_buf struct buf text = BUF_MAX(CONNECT_LIST_MAX);
	struct egress_reply reply = { 0 };

	if (e->models_path.n == 0)
		return err_set(err, ERR_UNSUPPORTED, "\"" STR_FMT "\" has no list of models to ask for",
			STR_ARG(e->name));
	TRY(programs_open(&programs, err));
	TRY(keep_apart(place, e, &programs, mem, err));
	TRY(egress_get(&programs, e, ROUTE_MODELS, STR(""), secrets_fd, PROBE_MS, &text, &reply, err));
	*out = (struct connect_answer){ .status = reply.status };
	if (reply.status >= 200 && reply.status < 300)
		TRY(lister_ask(&programs, buf_str(&text), mem, &out->models, err));
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
	r = ask(place, &e, secrets, mem, out, err);
	if (r == 0)
		models_keep(place, p->name, &out->models);
	secret_fini(&e.key);
	return r;
}
