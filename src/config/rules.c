/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a value must be beyond its type, and what values must be beside each other. */
#include "config/keys_priv.h"
#include "fmt/endpoint.h"
#include "fmt/lsp_table.h"
#include "sandbox/root.h"
#include "sys/file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ one value */

static void *slot_of(const struct config_leaf *leaf)
{
	return (char *)leaf->base + leaf->field->offset;
}

static int accept_path(struct config *c, struct str key, struct str *path, struct err *err)
{
	if (c->home && str_starts(*path, STR("~/")))
		*path = str_printf(c->mem, "%s/" STR_FMT, c->home, STR_ARG(str_skip(*path, 2)));
	if (path->n > 0 && path->n < 4096 && path_is_clean(*path))
		return 0;
	return err_set(err, ERR_INVALID,
		STR_FMT ": \"" STR_FMT "\" is not an absolute path without \"..\", \"//\" or an end in '/'",
		STR_ARG(key), STR_ARG(str_head(*path, 200)));
}

/* Of what is granted or hidden: not everything, and not what a cell has of its own or never lets be written. */
static int accept_grant(struct str key, struct str path, struct err *err)
{
	bool writable = str_ends(key, STR(".extra_write_paths"));
	const char *in = root_never_granted(path.p);
	int r;

	if (str_eqz(path, "/")) {
		r = err_set(err, ERR_INVALID, STR_FMT ": \"/\" is the whole machine", STR_ARG(key));
		err_hint(err, "name the directories that are meant");
		return r;
	}
	if (in && !str_eqz(key, "sandbox.hide_paths"))
		return err_set(err, ERR_INVALID, STR_FMT ": \"" STR_FMT "\" cannot be granted: commands have a %s of their own",
			STR_ARG(key), STR_ARG(str_head(path, 200)), in);
	if (writable && root_is_system(path.p))
		return err_set(err, ERR_INVALID, STR_FMT ": \"" STR_FMT "\" is part of the system, which no command may change",
			STR_ARG(key), STR_ARG(str_head(path, 200)));
	return 0;
}

static int accept_paths(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	struct str_list *list = slot_of(leaf);

	for (size_t i = 0; i < list->n; i++) {
		TRY(accept_path(c, leaf->key, &list->p[i], err));
		list->p[i] = str_from(str_dupz(c->mem, list->p[i]));
		TRY(accept_grant(leaf->key, list->p[i], err));
	}
	return 0;
}

static int accept_one_path(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	struct str *path = slot_of(leaf);

	return path->n > 0 ? accept_path(c, leaf->key, path, err) : 0;
}

static int accept_hosts(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	const struct str_list *list = slot_of(leaf);

	for (size_t i = 0; i < list->n; i++) {
		struct route r;

		if (route_set_text(&r, list->p[i], c->mem, err) < 0)
			return err_wrap(err, STR_FMT, STR_ARG(leaf->key));
	}
	return 0;
}

static int accept_servers(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	const struct str_list *list = slot_of(leaf);
	auto_buf struct buf names = BUF_MAX(256);

	for (size_t i = 0; i < list->n; i++) {
		if (lsp_server_find(list->p[i]))
			continue;
		for (size_t k = 0; k < nlsp_servers; k++)
			TRY(buf_addf(&names, err, "%s%s", k > 0 ? ", " : "", lsp_servers[k].name));
		return err_set(err, ERR_INVALID, STR_FMT ": \"" STR_FMT "\" is none of " STR_FMT, STR_ARG(leaf->key),
			STR_ARG(str_head(list->p[i], 200)), STR_ARG(buf_str(&names)));
	}
	(void)c;
	return 0;
}

static int accept_url(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	const struct str *url = slot_of(leaf);
	struct endpoint e;

	endpoint_init(&e);
	if (url->n > 0 && endpoint_set_url(&e, *url, c->mem, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(leaf->key));
	if (url->n > 0 && !e.tls && !host_is_loopback(e.host))
		return err_set(err, ERR_INVALID,
			STR_FMT ": http is for this machine only; another host needs https",
			STR_ARG(leaf->key));
	return 0;
}

static bool is_token(const char *s)
{
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
			return false;
	return *s != '\0';
}

static int accept_header(struct str key, const char *name, const json_t *value, struct err *err)
{
	/* Where keys travel, and what the client decides for itself. */
	static const char *const ours[] = { "authorization", "x-api-key", "api-key", "proxy-authorization",
		"host", "content-length", "content-type", "transfer-encoding", "connection" };
	struct str text = json_view(value);

	if (!is_token(name))
		return err_set(err, ERR_INVALID, STR_FMT ": a header's name is of letters, digits and '-'",
			STR_ARG(key));
	for (size_t i = 0; i < COUNT(ours); i++)
		if (strcasecmp(name, ours[i]) == 0) {
			err_set(err, ERR_INVALID, STR_FMT ": %s is not set here", STR_ARG(key), ours[i]);
			if (i < 4)
				err_hint(err,
					"\"agent6 connect\" stores a key where the model cannot read it");
			return -ERR_INVALID;
		}
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' || (unsigned char)text.p[i] > '~')
			return err_set(err, ERR_INVALID, STR_FMT ".%s: a header's value is printable ASCII",
				STR_ARG(key), name);
	return 0;
}

static int accept_words(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	const struct str *text = slot_of(leaf);
	auto_json json_t *j = NULL;
	const char *name;
	json_t *value;

	(void)c;
	if (text->n == 0)
		return 0;
	TRY(json_decode(*text, JSON_EXACT, &j, err));
	json_object_foreach(j, name, value)
	{
		if (!json_is_string(value))
			return err_set(
				err, ERR_INVALID, STR_FMT ".%s: expected a string", STR_ARG(leaf->key), name);
		if (leaf->field->flags & KEY_HEADERS)
			TRY(accept_header(leaf->key, name, value, err));
	}
	return 0;
}

typedef int accept_fn(struct config *c, const struct config_leaf *leaf, struct err *err);

int keys_accept(struct config *c, const struct config_leaf *leaf, struct err *err)
{
	static const struct {
		unsigned flag;
		accept_fn *accept;
	} rules[] = {
		{ KEY_PATHS, accept_paths },
		{ KEY_PATH, accept_one_path },
		{ KEY_HOSTS, accept_hosts },
		{ KEY_SERVERS, accept_servers },
		{ KEY_URL, accept_url },
		{ KEY_HEADERS | KEY_WORDS, accept_words },
	};

	for (size_t i = 0; i < COUNT(rules); i++)
		if (leaf->field->flags & rules[i].flag)
			TRY(rules[i].accept(c, leaf, err));
	return 0;
}

/* ------------------------------------------------------------------ values beside each other */

static bool is_variable(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
			return false;
	return name.n > 0 && name.n <= 200;
}

struct check {
	keys_fault_fn *fn;
	void *self;
};

static const struct config_origin *origin_in(
	const struct keys *k, const struct config_origin *origin, const char *name)
{
	return &origin[field_find(k->p, k->n, str_from(name)) - k->p];
}

/* The place of the named key when it is set, else of any key of that table. */
static const struct config_origin *place_in(
	const struct keys *k, const struct config_origin *origin, const char *name)
{
	const struct config_origin *at = origin_in(k, origin, name);

	for (size_t i = 0; i < k->n && at->layer == CONFIG_DEFAULT; i++)
		at = &origin[i];
	return at;
}

static void provider_fault(
	const struct check *k, const struct config_provider *p, const char *name, const char *what)
{
	struct err err = { 0 };

	err_set(&err, ERR_INVALID, "providers." STR_FMT ".%s: %s", STR_ARG(p->name), name, what);
	k->fn(k->self, place_in(&keys_provider, p->origin, name), &err);
}

static void check_provider(const struct check *k, const struct config_provider *p)
{
	bool has_format = origin_in(&keys_provider, p->origin, "api_format")->layer != CONFIG_DEFAULT;

	if (!has_format)
		provider_fault(k, p, "api_format", "required, one of anthropic, openai, responses");
	if (has_format && p->deployment == DEPLOYMENT_AZURE && p->api_format == CONFIG_API_ANTHROPIC)
		provider_fault(k, p, "deployment", "azure is for api_format = \"openai\" or \"responses\" only");
	if (has_format && p->deployment == DEPLOYMENT_VERTEX && p->api_format == CONFIG_API_RESPONSES)
		provider_fault(k, p, "deployment", "vertex does not speak api_format = \"responses\"");
	if (p->deployment != DEPLOYMENT_DIRECT && p->base_url.n == 0)
		provider_fault(k, p, "base_url", "required unless the deployment is direct");
	if (p->auth_style == CONFIG_AUTH_NONE && p->api_key_env.n > 0)
		provider_fault(k, p, "api_key_env", "has no use with auth_style = \"none\"");
	if (p->auth_style == CONFIG_AUTH_NONE && p->token_command.n > 0)
		provider_fault(k, p, "token_command", "has no use with auth_style = \"none\"");
	for (size_t i = 0; i < p->token_command.n; i++)
		if (str_trim(p->token_command.p[i]).n == 0) {
			provider_fault(k, p, "token_command", "a word of it is blank");
			return;
		}
}

static void check_argv(const struct check *k, const struct config *c, const char *key, const struct str_list *argv)
{
	struct err err = { 0 };

	for (size_t i = 0; i < argv->n; i++)
		if (str_trim(argv->p[i]).n == 0 && i == 0) {
			err_set(&err, ERR_INVALID, "%s: the program's name is blank", key);
			k->fn(k->self, origin_in(&keys_fixed, c->origin, key), &err);
		}
}

static void mcp_fault(const struct check *k, const struct config_mcp *m, const char *name, const char *what)
{
	struct err err = { 0 };

	err_set(&err, ERR_INVALID, "mcp." STR_FMT ".%s: %s", STR_ARG(m->name), name, what);
	k->fn(k->self, place_in(&keys_mcp, m->origin, name), &err);
}

static void check_mcp(const struct check *k, const struct config_mcp *m)
{
	bool command = m->command.n > 0;

	if (command == (m->url.n > 0))
		mcp_fault(k, m, command ? "url" : "command", command ? "a server has a command or a url, not both"
								     : "required, unless it is reached by a url");
	if (command && str_trim(m->command.p[0]).n == 0)
		mcp_fault(k, m, "command", "its program is blank");
	if (command && m->api_key_env.n > 0)
		mcp_fault(k, m, "api_key_env", "is for a url; a command gets variables by \"env\"");
	if (command && m->ca_file.n > 0)
		mcp_fault(k, m, "ca_file", "is for a url");
	if (!command && (m->allow_network || m->env.n > 0 || m->extra_read_paths.n > 0 || m->extra_write_paths.n > 0))
		mcp_fault(k, m, "url", "a server over HTTP runs elsewhere: env, allow_network and paths are for a command");
	for (size_t i = 0; i < m->env.n; i++)
		if (!is_variable(m->env.p[i])) {
			mcp_fault(k, m, "env", "expected names of variables, without '=' and values");
			return;
		}
}

static void check_model(const struct check *k, const struct config *c, enum config_role role)
{
	const struct config_model *m = &c->models[role];
	auto_buf struct buf known = BUF_MAX(400);
	struct err err = { 0 };
	int r = 0;

	if (m->provider.n == 0 || config_provider(c, m->provider))
		return;
	for (size_t i = 0; i < c->nproviders && r >= 0; i++)
		r = buf_addf(
			&known, ERR_DISCARD, "%s" STR_FMT, i > 0 ? ", " : "", STR_ARG(c->providers[i]->name));
	err_set(&err, ERR_INVALID,
		"models.%s.provider: \"" STR_FMT "\" is not a configured provider%s" STR_FMT,
		config_role_name(role), STR_ARG(m->provider), known.n > 0 ? "; configured: " : "",
		STR_ARG(buf_str(&known)));
	err_hint(&err, "\"agent6 connect " STR_FMT "\" configures it", STR_ARG(m->provider));
	k->fn(k->self, origin_in(&keys_model, m->origin, "provider"), &err);
}

void keys_check(struct config *c, keys_fault_fn *fn, void *self)
{
	struct check k = { fn, self };

	for (size_t i = 0; i < c->nproviders; i++)
		check_provider(&k, c->providers[i]);
	check_argv(&k, c, "notify.on_complete", &c->notify.on_complete);
	check_argv(&k, c, "notify.on_wait", &c->notify.on_wait);
	check_argv(&k, c, "workflow.verify_command", &c->workflow.verify_command);
	check_argv(&k, c, "workflow.metric.command", &c->workflow.metric_command);
	for (size_t i = 0; i < c->nmcp; i++)
		check_mcp(&k, c->mcp[i]);
	for (int i = 0; i < CONFIG_ROLES; i++)
		check_model(&k, c, (enum config_role)i);
}

/* ------------------------------------------------------------------ values that follow from others */

struct config_model config_model_of(const struct config *c, enum config_role role)
{
	const struct config_model *w = &c->models[CONFIG_WORKER];
	struct config_model m = c->models[role];
	bool own = m.model.n > 0;

	if (m.provider.n == 0)
		m.provider = w->provider;
	if (!own) { /* what the model is comes with it */
		m.model = w->model;
		m.context_tokens = w->context_tokens;
		m.price_in = w->price_in;
		m.price_out = w->price_out;
		m.price_cache_read = w->price_cache_read;
		m.price_cache_write = w->price_cache_write;
		m.pictures = w->pictures;
	}
	if (!own && origin_in(&keys_model, m.origin, "effort")->layer == CONFIG_DEFAULT)
		m.effort = w->effort;
	if (!own && origin_in(&keys_model, m.origin, "temperature")->layer == CONFIG_DEFAULT)
		m.temperature = w->temperature;
	return m;
}

bool config_needs_key(const struct config_provider *p)
{
	return config_auth_of(p) != CONFIG_AUTH_NONE && (p->api_format == CONFIG_API_ANTHROPIC || p->api_key_env.n > 0);
}

struct str config_base_url(const struct config_provider *p)
{
	struct str url = p->base_url;

	if (url.n == 0)
		url = p->api_format == CONFIG_API_ANTHROPIC ? STR("https://api.anthropic.com/v1")
						     : STR("https://api.openai.com/v1");
	while (str_ends(url, STR("/")))
		url.n--;
	return url;
}

enum config_auth config_auth_of(const struct config_provider *p)
{
	if (p->auth_style != CONFIG_AUTH_AUTO)
		return (enum config_auth)p->auth_style;
	if (p->deployment == DEPLOYMENT_AZURE)
		return CONFIG_AUTH_API_KEY_HEADER;
	return p->api_format == CONFIG_API_ANTHROPIC && p->deployment == DEPLOYMENT_DIRECT ? CONFIG_AUTH_X_API_KEY
										    : CONFIG_AUTH_BEARER;
}

const struct config_origin *config_origin_of(const struct config *c, const char *key)
{
	const struct field *f = field_find(keys_fixed.p, keys_fixed.n, str_from(key));

	BUG_IF(!f);
	return &c->origin[f - keys_fixed.p];
}

bool config_is_set(const struct config *c, const char *key)
{
	return config_origin_of(c, key)->layer != CONFIG_DEFAULT;
}
