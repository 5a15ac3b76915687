/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/endpoint.h"

#include "fmt/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One path segment or query part: everything that is not unreserved is written %XX. */
static int add_escaped(struct buf *b, struct str s, struct err *err)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '-' || c == '.' || c == '_' || c == '~';

		TRY(plain ? buf_addc(b, (char)c, err) : buf_addf(b, err, "%%%02X", c));
	}
	return 0;
}

/* Where a chat request goes, after the base URL. %s is the model's name, one segment. */
static const struct {
	enum api_wire wire;
	int deployment;
	const char *before, *after; /* the model stands between them when after is not NULL */
} chat_paths[] = {
	{ API_ANTHROPIC, DEPLOYMENT_DIRECT, "/messages", NULL },
	{ API_ANTHROPIC, DEPLOYMENT_VERTEX, "/", ":streamRawPredict" },
	{ API_CHAT, DEPLOYMENT_DIRECT, "/chat/completions", NULL },
	{ API_CHAT, DEPLOYMENT_VERTEX, "/chat/completions", NULL },
	{ API_CHAT, DEPLOYMENT_AZURE, "/openai/deployments/", "/chat/completions" },
	{ API_RESPONSES, DEPLOYMENT_DIRECT, "/responses", NULL },
	{ API_RESPONSES, DEPLOYMENT_AZURE, "/openai/v1/responses", NULL },
};

static enum api_wire wire_at(const struct config_provider *p, struct str model, const struct endpoint *e)
{
	static const enum api_wire wires[] = {
		[CONFIG_API_ANTHROPIC] = API_ANTHROPIC,
		[CONFIG_API_OPENAI] = API_CHAT,
		[CONFIG_API_RESPONSES] = API_RESPONSES,
	};
	static const enum api_deployment deployments[] = {
		[DEPLOYMENT_DIRECT] = DEPLOY_DIRECT,
		[DEPLOYMENT_VERTEX] = DEPLOY_VERTEX,
		[DEPLOYMENT_AZURE] = DEPLOY_AZURE,
	};
	struct model_spec spec = { .wire = wires[p->api_format], .deployment = deployments[p->deployment], .model = model,
		.openai_host = str_eqz(e->host, "api.openai.com") };

	return model_wire(&spec);
}

enum api_wire app_wire(const struct config_provider *p, struct str model)
{
	auto_arena struct arena *mem = arena_new();
	struct endpoint e;

	endpoint_init(&e);
	if (endpoint_set_url(&e, config_base_url(p), mem, ERR_DISCARD) < 0)
		e.host = STR("");
	return wire_at(p, model, &e);
}

static int set_paths(const struct config_provider *p, struct str model, struct arena *mem, struct endpoint *e,
	struct err *err)
{
	enum api_wire wire = wire_at(p, model, e);
	auto_buf struct buf b = BUF_MAX(1024);

	for (size_t i = 0; i < COUNT(chat_paths); i++) {
		if (chat_paths[i].wire != wire || chat_paths[i].deployment != p->deployment)
			continue;
		TRY(buf_addz(&b, chat_paths[i].before, err));
		if (chat_paths[i].after) {
			TRY(add_escaped(&b, model, err));
			TRY(buf_addz(&b, chat_paths[i].after, err));
		}
		if (wire == API_CHAT && p->deployment == DEPLOYMENT_AZURE &&
			str_find(p->extra_query, STR("\"api-version\"")) == p->extra_query.n)
			return err_set(err, ERR_INVALID, "deployment azure wants extra_query = { api-version = \"2024-10-21\" }; "
							 "the address https://RESOURCE.openai.azure.com/openai/v1 with deployment direct wants none");
		e->chat_path = str_dup(mem, buf_str(&b));
		e->models_path = p->deployment == DEPLOYMENT_DIRECT ? STR("/models") : STR("");
		return 0;
	}
	return err_set(err, ERR_INVALID, "this api_format does not exist in that deployment");
}

static int set_headers(const struct config_provider *p, struct arena *mem, struct endpoint *e, struct err *err)
{
	auto_json json_t *extra = NULL;
	const char *name;
	json_t *value;

	if (p->extra_headers.n > 0)
		TRY(json_decode(p->extra_headers, JSON_EXACT, &extra, err));
	e->headers = arena_array(mem, (extra ? json_object_size(extra) : 0) + 1, sizeof(*e->headers));
	if (p->api_format == CONFIG_API_ANTHROPIC && p->deployment == DEPLOYMENT_DIRECT)
		e->headers[e->nheaders++] = (struct endpoint_header){ STR("anthropic-version"), STR("2023-06-01") };
	if (!extra)
		return 0;
	json_object_foreach(extra, name, value) {
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, "extra_headers.%s is not a string", name);
		e->headers[e->nheaders++] = (struct endpoint_header){ str_dup(mem, str_from(name)),
			str_dup(mem, json_view(value)) };
	}
	return 0;
}

static int set_query(const struct config_provider *p, struct arena *mem, struct endpoint *e, struct err *err)
{
	auto_json json_t *query = NULL;
	auto_buf struct buf b = BUF_MAX(2048);
	const char *name;
	json_t *value;

	if (p->extra_query.n == 0)
		return 0;
	TRY(json_decode(p->extra_query, JSON_EXACT, &query, err));
	json_object_foreach(query, name, value) {
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, "extra_query.%s is not a string", name);
		TRY(b.n > 0 ? buf_addc(&b, '&', err) : 0);
		TRY(add_escaped(&b, str_from(name), err));
		TRY(buf_addc(&b, '=', err));
		TRY(add_escaped(&b, json_view(value), err));
	}
	e->query = str_dup(mem, buf_str(&b));
	return 0;
}

static void set_key(const struct config_provider *p, struct arena *mem, struct endpoint *e)
{
	static const enum endpoint_auth auths[] = {
		[CONFIG_AUTH_BEARER] = AUTH_BEARER,
		[CONFIG_AUTH_X_API_KEY] = AUTH_X_API_KEY,
		[CONFIG_AUTH_API_KEY_HEADER] = AUTH_API_KEY_HEADER,
		[CONFIG_AUTH_NONE] = AUTH_NONE,
	};
	const char *env = p->api_key_env.n > 0 ? getenv(str_dupz(mem, p->api_key_env)) : NULL;
	struct str key = str_trim(str_from(env));

	e->auth = auths[config_auth_of(p)];
	if (e->auth == AUTH_NONE) {
		e->key_from = KEY_NONE;
	} else if (p->token_command.n > 0) {
		e->key_from = KEY_COMMAND;
		e->token_ttl_ms = p->token_command_ttl_s * 1000;
		e->token_argv = p->token_command.p;
		e->ntoken_argv = p->token_command.n;
	} else if (key.n > 0) {
		e->key_from = KEY_INLINE;
		secret_set(&e->key, key);
	} else {
		e->key_from = KEY_SECRETS;
		e->key_name = p->name;
		e->key_optional = !config_needs_key(p);
	}
}

int app_endpoint(const struct config_provider *p, struct str model, struct arena *mem, struct endpoint *out,
	struct err *err)
{
	struct endpoint e;
	int r;

	endpoint_init(&e);
	e.name = p->name;
	e.ca_file = p->ca_file;
	e.first_byte_ms = e.idle_ms = p->http_timeout_s * 1000;
	r = endpoint_set_url(&e, config_base_url(p), mem, err);
	if (r == 0)
		r = set_paths(p, model, mem, &e, err);
	if (r == 0)
		r = set_headers(p, mem, &e, err);
	if (r == 0)
		r = set_query(p, mem, &e, err);
	if (r < 0)
		return err_wrap(err, "providers." STR_FMT, STR_ARG(p->name));
	set_key(p, mem, &e);
	r = endpoint_check(&e, err);
	if (r < 0) {
		secret_fini(&e.key);
		return err_wrap(err, "providers." STR_FMT, STR_ARG(p->name));
	}
	*out = e;
	return 0;
}

void app_endpoint_forget_keys(const struct config *c)
{
	for (size_t i = 0; i < c->nproviders; i++) {
		struct str name = c->providers[i]->api_key_env;

		for (char **e = environ; name.n > 0 && e && *e; e++) {
			struct str var = str_from(*e);

			if (str_starts(var, name) && var.n > name.n && var.p[name.n] == '=')
				explicit_bzero(*e + name.n + 1, var.n - name.n - 1);
		}
	}
}
