/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/connect.h"
#include "app/models.h"
#include "config/secrets.h"
#include "ui/cli/choose.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/prompt.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ what is chosen for a role */

struct model_args {
	struct str role, provider, model, effort;
	bool repo, force, json;
};

static int set_role(struct command_ctx *ctx, const struct place *place, const struct model_args *args, const char *role,
	struct err *err)
{
	const struct {
		const char *key;
		struct str value;
	} values[] = { { "provider", args->provider }, { "model", args->model }, { "effort", args->effort } };
	struct config_change changes[COUNT(values)];
	struct config_edited done[COUNT(values)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(values); i++)
		if (values[i].value.n > 0)
			changes[n++] = (struct config_change){ CONFIG_SET, args->repo ? CONFIG_REPO : CONFIG_GLOBAL,
				str_printf(ctx->mem, "models.%s.%s", role, values[i].key), values[i].value };
	TRY(config_edit(&place->files, changes, n, ctx->mem, done, err));
	if (!args->json)
		cli_out("Set %s to " STR_FMT "/" STR_FMT " in %s\n", role, STR_ARG(args->provider), STR_ARG(args->model), done[0].file);
	return 0;
}

/* ------------------------------------------------------------------ connect */

struct connect_args {
	struct str name, format, base_url, key_env, ca_file;
	bool repo, no_verify, logout, json;
};

static const struct field connect_fields[] = {
	{ "name", &field_str, offsetof(struct connect_args, name), .flags = FIELD_POSITIONAL,
		.help = "anthropic, openai, openrouter, gemini, mistral, deepseek, groq, azure, vertex, ollama, lmstudio, llamacpp, "
			"vllm, or a name of your own." },
	{ "format", &field_str, offsetof(struct connect_args, format), .help = "What the server speaks: anthropic, openai or responses." },
	{ "base-url", &field_str, offsetof(struct connect_args, base_url), .help = "Address of the server's API." },
	{ "key-env", &field_str, offsetof(struct connect_args, key_env),
		.help = "Take the key from this environment variable at each run; nothing is stored." },
	{ "ca-file", &field_str, offsetof(struct connect_args, ca_file),
		.help = "PEM certificates to trust instead of the system's." },
	{ "repo", &field_bool, offsetof(struct connect_args, repo),
		.help = "Configure it for this repository only. The key is stored for all." },
	{ "no-verify", &field_bool, offsetof(struct connect_args, no_verify), .help = "Do not ask the server whether the key is right." },
	{ "logout", &field_bool, offsetof(struct connect_args, logout), .help = "Remove the stored key; the configuration stays." },
	{ "json", &field_bool, offsetof(struct connect_args, json), .help = "Print one JSON object; no model is asked for." },
};

static int logout_json(struct str name, bool removed, struct err *err)
{
	auto_json json_t *o = json_pack("{s:o,s:b}", "provider", json_text(name), "removed", removed);

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static int logout(const struct place *place, struct str name, bool json, struct arena *mem, struct err *err)
{
	int r = connect_logout(place, name, err);

	TRY(r);
	if (json)
		return logout_json(name, r > 0, err);
	if (r > 0)
		cli_out("Removed the key of %s from %s\n", str_dupz(mem, name), place->paths.secrets_file);
	else
		cli_note("no key of %s is stored", str_dupz(mem, name));
	return 0;
}

/* Their names, for a hint. */
static struct str configured(const struct config *c, struct arena *mem)
{
	struct str_list names = { arena_array(mem, c->nproviders + 1, sizeof(*names.p)), 0 };

	while (names.n < c->nproviders) {
		names.p[names.n] = names.n == 0 ? c->providers[0]->name : str_printf(mem, " " STR_FMT, STR_ARG(c->providers[names.n]->name));
		names.n++;
	}
	return str_join(mem, names.p, names.n, ',');
}

static int no_provider(const struct config *c, struct str name, struct arena *mem, struct err *err)
{
	int r = err_set(err, ERR_INVALID, "no provider \"" STR_FMT "\" is configured", STR_ARG(name));

	if (c->nproviders > 0)
		err_hint(err, "\"agent6 connect " STR_FMT "\" configures it; configured: " STR_FMT, STR_ARG(name), STR_ARG(configured(c, mem)));
	else
		err_hint(err, "\"agent6 connect " STR_FMT "\" configures it", STR_ARG(name));
	return r;
}

static void list_presets(void)
{
	for (size_t i = 0; i < nconnect_presets; i++)
		fprintf(stderr, "  %-12s %s\n", connect_presets[i].name, connect_presets[i].help);
	fputs("  or a name of your own for another server\n", stderr);
}

#define TRIES 3 /* answers to one question */

static void tell_again(const struct err *why)
{
	cli_note("%s%s%s", why->msg, why->hint[0] ? "; " : "", why->hint);
}

/* What speaks against an answer is told, and it is asked again. `value` is of rq, and empty before. */
static int ask_one(const char *question, const char *dflt, bool needed, struct connect_request *rq, struct str *value, struct arena *mem,
	struct err *err)
{
	for (int n = 1;; n++) {
		struct err why = { 0 };
		int r;

		TRY(prompt_line(question, dflt, mem, value, err));
		r = needed && value->n == 0 ? err_set(&why, ERR_INVALID, "it has to be said") : connect_check(rq, &why);
		if (r == 0)
			return 0;
		*value = STR("");
		if (n == TRIES || r != -ERR_INVALID) {
			*err = why;
			return r;
		}
		tell_again(&why);
	}
}

/* A name that is nearly one we know is a slip, unless it is typed once more. */
static int ask_name(struct connect_request *rq, const struct config *c, struct arena *mem, struct err *err)
{
	struct str before = STR("");

	list_presets();
	for (int n = 1;; n++) {
		const char *near;

		rq->name = STR("");
		TRY(ask_one("provider", "anthropic", true, rq, &rq->name, mem, err));
		near = connect_preset_near(rq->name);
		if (!near || n == TRIES || str_eq(rq->name, before) || (c && config_provider(c, rq->name)))
			return 0;
		before = rq->name;
		cli_note("did you mean %s? typed once more it is a server of your own", near);
	}
}

/* Fills in what was not given on the command line. Without a terminal nothing is asked. c: NULL where the configuration is wrong. */
static int ask(struct command_ctx *ctx, struct connect_request *rq, const struct config *c, struct err *err)
{
	bool can_ask = prompt_can_ask(), known;
	const struct connect_preset *preset;

	if (rq->name.n == 0 && can_ask)
		TRY(ask_name(rq, c, ctx->mem, err));
	if (rq->name.n == 0) { /* a key goes to nobody whom no one named */
		int r = err_set(err, ERR_INVALID, "which provider is meant is not said, and there is no terminal to ask on");

		err_hint(err, "agent6 connect anthropic < key; agent6 connect --help tells which there are");
		return r;
	}
	TRY(connect_check(rq, err));
	known = c && config_provider(c, rq->name);
	preset = connect_preset(rq->name);
	if (preset && preset->url_form && !known && can_ask && rq->base_url.n == 0)
		TRY(ask_one(str_printf(ctx->mem, "base URL, %s", preset->url_form).p, NULL, true, rq, &rq->base_url, ctx->mem, err));
	if (preset || known || !can_ask)
		return 0;
	if (rq->api_format.n == 0)
		TRY(ask_one("format, anthropic, openai or responses", "openai", true, rq, &rq->api_format, ctx->mem, err));
	if (rq->base_url.n == 0 && !str_eqz(rq->api_format, "anthropic"))
		TRY(ask_one("base URL, such as https://host/v1", NULL, false, rq, &rq->base_url, ctx->mem, err));
	return 0;
}

static int ask_hidden(const char *question, struct secret *key, struct err *err)
{
	for (int n = 1;; n++) {
		struct err why = { 0 };
		int r;

		TRY(prompt_hidden(question, key, err));
		r = secret_is_empty(key) ? 0 : secrets_check(key, &why);
		if (r == 0)
			return 0;
		secret_fini(key);
		if (n == TRIES) {
			*err = why;
			return r;
		}
		tell_again(&why);
	}
}

static int ask_key(const struct connect_request *rq, struct secret *key, struct err *err)
{
	const struct connect_preset *preset = connect_preset(rq->name);

	if (rq->api_key_env.n > 0 || (preset && preset->token_command))
		return 0;
	if (!prompt_can_ask())
		return isatty(STDIN_FILENO) ? 0 : prompt_piped(key, err);
	return ask_hidden(preset && preset->keyless ? "API key, empty for none" : "API key", key, err);
}

/* Whether it is the server that was meant, as far as its list of models tells. What is configured stays. */
enum verdict { UNASKED, VERIFIED, UNANSWERED, REJECTED, NO_LIST, ODD };
static const char *const verdict_words[] = { [UNASKED] = "not asked", [VERIFIED] = "verified", [UNANSWERED] = "no answer",
	[REJECTED] = "rejected", [NO_LIST] = "no list of models", [ODD] = "not verified" };

struct verified {
	enum verdict what;
	struct connect_answer answer;
	struct err why;
};

static struct verified verify(const struct place *place, const struct config_provider *p, struct arena *mem)
{
	struct verified v = { .what = ODD };

	if (connect_probe(place, p, mem, &v.answer, &v.why) < 0)
		v.what = UNANSWERED;
	else if (v.answer.status == 401 || v.answer.status == 403)
		v.what = REJECTED;
	else if (v.answer.status == 404 || (v.answer.status >= 200 && v.answer.status < 300 && v.answer.models.n == 0))
		v.what = NO_LIST;
	else if (v.answer.status >= 200 && v.answer.status < 300)
		v.what = VERIFIED;
	return v;
}

static void tell_verified(const struct verified *v, const struct config_provider *p, bool has_key, struct arena *mem)
{
	const char *url = str_dupz(mem, config_base_url(p)), *what = has_key ? "the key" : "the address";

	switch (v->what) {
	case UNASKED:
		return;
	case VERIFIED:
		cli_out("The server answers and offers %zu model%s\n", v->answer.models.n, v->answer.models.n == 1 ? "" : "s");
		return;
	case UNANSWERED:
		cli_note_why(str_printf(mem, "%s was not verified", what).p, &v->why);
		return;
	case REJECTED:
		cli_note(has_key ? "warning: the server rejects the key (HTTP %d); it is kept, connect again to change it" :
				   "warning: the server wants a key (HTTP %d): connect again with one", v->answer.status);
		return;
	case NO_LIST:
		cli_note("warning: what answers at %s has no list of models (HTTP %d): is the address right? most end with /v1", url,
			v->answer.status);
		return;
	case ODD:
		cli_note("%s was not verified: the server answered HTTP %d to the list of models", what, v->answer.status);
		return;
	}
}

static int connect_json(const struct config_provider *p, enum connect_key key, const struct connect_done *done, const struct verified *v,
	struct err *err)
{
	static const char *const sources[] = { [CONNECT_KEY_NONE] = "none", [CONNECT_KEY_ENV] = "environment", [CONNECT_KEY_STORED] = "stored",
		[CONNECT_KEY_NOT_NEEDED] = "not needed", [CONNECT_KEY_COMMAND] = "command" };
	auto_json json_t *o = json_pack("{s:o,s:o,s:o,s:s,s:s,s:i,s:i,s:o}", "provider", json_text(p->name), "config_file",
		done->config_file ? json_text(str_from(done->config_file)) : json_null(), "secrets_file",
		done->secrets_file ? json_text(str_from(done->secrets_file)) : json_null(), "key", sources[key], "server", verdict_words[v->what],
		"http_status", v->answer.status, "models", (int)v->answer.models.n, "reason",
		v->what == UNANSWERED ? json_text(str_from(v->why.msg)) : json_null());

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static void tell_key(const struct config_provider *p, enum connect_key key, const struct connect_done *done,
	struct arena *mem)
{
	const char *name = str_dupz(mem, p->name);

	if (done->secrets_file)
		cli_out("Stored the key in %s\n", done->secrets_file);
	if (key == CONNECT_KEY_ENV && done->secrets_file)
		cli_note("%s is set and wins over the stored key", str_dupz(mem, p->api_key_env));
	if (key != CONNECT_KEY_NONE)
		return;
	if (p->api_key_env.n > 0)
		cli_note("warning: %s has no key: " STR_FMT " is not set", name, STR_ARG(p->api_key_env));
	else if (config_needs_key(p))
		cli_note("warning: %s has no key and cannot be used without one", name);
	else
		cli_note("%s has no key: a server that wants none is assumed", name);
}

/* Somebody at a terminal may choose at once; who does not is told how. */
static int first_model(struct command_ctx *ctx, const struct place *place, const struct connect_request *rq,
	const struct connect_answer *answer, struct err *err)
{
	struct model_args args = { .provider = rq->name, .repo = rq->layer == CONFIG_REPO };

	if (answer->models.n > 0 && prompt_can_ask() && choose_model(&answer->models, ctx->mem, &args.model, ERR_DISCARD) == 0)
		return set_role(ctx, place, &args, config_role_name(CONFIG_WORKER), err);
	cli_note("no model is chosen yet: agent6 model worker %s%s", str_dupz(ctx->mem, rq->name), prompt_can_ask() ? "" : " MODEL");
	return 0;
}

/* What is so now, whatever was asked. */
static int finish(struct command_ctx *ctx, const struct place *place, const struct connect_request *rq,
	const struct connect_done *done, const struct connect_args *args, struct err *err)
{
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct verified v = { .what = UNASKED };
	const struct config_provider *p;
	enum connect_key key;

	if (done->config_file && !args->json)
		cli_out("Configured providers.%s in %s\n", str_dupz(ctx->mem, rq->name), done->config_file);
	TRY(config_load(&place->files, ctx->mem, c, err));
	p = config_provider(c, rq->name);
	if (!p)
		return no_provider(c, rq->name, ctx->mem, err);
	TRY(connect_key_of(place, p, ctx->mem, &key, err));
	if (!args->json)
		tell_key(p, key, done, ctx->mem);
	if (!args->no_verify && (key != CONNECT_KEY_NONE || !config_needs_key(p)))
		v = verify(place, p, ctx->mem);
	if (args->json)
		return connect_json(p, key, done, &v, err);
	tell_verified(&v, p, key != CONNECT_KEY_NONE && key != CONNECT_KEY_NOT_NEEDED, ctx->mem);
	return c->models[CONFIG_WORKER].model.n > 0 ? 0 : first_model(ctx, place, rq, &v.answer, err);
}

static int run_connect(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct connect_args *args = decoded;
	struct connect_request rq = { .name = args->name, .api_format = args->format, .base_url = args->base_url,
		.api_key_env = args->key_env, .ca_file = args->ca_file, .layer = args->repo ? CONFIG_REPO : CONFIG_GLOBAL };
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	auto_secret struct secret key = { 0 };
	struct connect_done done = { 0 };
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	if (args->logout)
		return logout(&place, args->name.n > 0 ? args->name : STR("anthropic"), args->json, ctx->mem, err);
	TRY(ask(ctx, &rq, config_load(&place.files, ctx->mem, c, ERR_DISCARD) < 0 ? NULL : c, err));
	TRY(ask_key(&rq, &key, err));
	rq.key = &key;
	TRY(connect_provider(&place, &rq, ctx->mem, &done, err));
	return finish(ctx, &place, &rq, &done, args, err);
}

/* ------------------------------------------------------------------ model */

static const struct field model_fields[] = {
	{ "role", &field_str, offsetof(struct model_args, role), .flags = FIELD_POSITIONAL,
		.help = "worker, planner, critic, reviewer, summarizer, or all." },
	{ "provider", &field_str, offsetof(struct model_args, provider), .flags = FIELD_POSITIONAL,
		.help = "Name of a configured provider." },
	{ "model", &field_str, offsetof(struct model_args, model), .flags = FIELD_POSITIONAL,
		.help = "The model's id; without it the provider's models are listed." },
	{ "effort", &field_str, offsetof(struct model_args, effort), .help = "off, low, medium, high, xhigh or max." },
	{ "repo", &field_bool, offsetof(struct model_args, repo), .help = "For this repository only." },
	{ "force", &field_bool, offsetof(struct model_args, force), .help = "Take a model that the server does not list." },
	{ "json", &field_bool, offsetof(struct model_args, json), .help = "Print one JSON array: the roles, or the provider's models." },
};

/* The nearest layer that says something of a role. */
static enum config_layer layer_of(const struct config_model *m)
{
	enum config_layer from = CONFIG_DEFAULT;

	for (size_t k = 0; k < CONFIG_SUBKEYS_MAX; k++)
		if (m->origin[k].layer > from)
			from = m->origin[k].layer;
	return from;
}

static int roles_json(const struct config *c, struct err *err)
{
	auto_json json_t *list = json_array();

	for (int i = 0; i < CONFIG_ROLES; i++) {
		const struct config_model *m = &c->models[i], used = config_model_of(c, (enum config_role)i);

		BUG_IF(json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:s,s:b,s:s}", "role", config_role_name((enum config_role)i),
			"provider", used.provider.n > 0 ? json_text(used.provider) : json_null(), "model",
			used.model.n > 0 ? json_text(used.model) : json_null(), "effort", config_word("effort", used.effort), "set",
			m->model.n > 0, "source", config_layer_name(layer_of(m)))) < 0);
	}
	return runs_print_json(list, err);
}

static void show_models(const struct config *c)
{
	for (int i = 0; i < CONFIG_ROLES; i++) {
		const struct config_model *m = &c->models[i];
		enum config_layer from = layer_of(m);

		if (m->model.n == 0 && from == CONFIG_DEFAULT)
			cli_out("%-11s (unset%s)\n", config_role_name((enum config_role)i), i == CONFIG_WORKER ? "" : ", as worker");
		else
			cli_out("%-11s " STR_FMT "/" STR_FMT "  effort=%s  [%s]\n", config_role_name((enum config_role)i),
				STR_ARG(m->provider), STR_ARG(m->model), config_word("effort", m->effort), config_layer_name(from));
	}
}

static int ask_list(struct command_ctx *ctx, const struct place *place, const struct config *c, struct str provider,
	struct model_list *out, struct err *err)
{
	const struct config_provider *p = config_provider(c, provider);
	struct connect_answer answer = { 0 };

	if (!p)
		return no_provider(c, provider, ctx->mem, err);
	TRY(models_list(place, p, ctx->mem, &answer, err));
	if (answer.status < 200 || answer.status >= 300)
		return err_set(err, ERR_REMOTE, "the server answered HTTP %d to the list of models", answer.status);
	*out = answer.models;
	return 0;
}

static int listed_json(const struct model_list *list, struct err *err)
{
	auto_json json_t *all = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct listed_model *m = &list->p[i];

		BUG_IF(json_array_append_new(all, json_pack("{s:o,s:o,s:o,s:o}", "id", json_text(m->id), "context_tokens",
			m->window > 0 ? json_integer(m->window) : json_null(), "price_in", m->price_in >= 0 ? json_real(m->price_in) : json_null(),
			"price_out", m->price_out >= 0 ? json_real(m->price_out) : json_null())) < 0);
	}
	return runs_print_json(all, err);
}

static int list_models(struct command_ctx *ctx, const struct place *place, const struct config *c, struct str provider,
	bool json, struct err *err)
{
	struct model_list list;

	TRY(ask_list(ctx, place, c, provider, &list, err));
	if (json)
		return listed_json(&list, err);
	for (size_t i = 0; i < list.n; i++)
		cli_out(STR_FMT "\n", STR_ARG(list.p[i].id));
	return 0;
}

/* A person at a terminal chooses from what the server has; without a list the name is asked for. */
static int offer_models(struct command_ctx *ctx, const struct place *place, const struct config *c, struct model_args *args,
	struct err *err)
{
	struct model_list list = { 0 };
	int r;

	r = ask_list(ctx, place, c, args->provider, &list, err);
	if (r == -ERR_INVALID)
		return r;
	if (r == 0 && list.n > 0)
		return choose_model(&list, ctx->mem, &args->model, err);
	cli_note("%s", r < 0 ? err->msg : "the server lists no model");
	return prompt_line("model", NULL, ctx->mem, &args->model, err);
}

static int unlisted(const struct model_args *args, const struct model_verdict *v, struct err *err)
{
	auto_buf struct buf near = BUF_MAX(sizeof(err->hint));
	int r = err_set(err, ERR_INVALID, STR_FMT " lists %zu models and none is called \"" STR_FMT "\"", STR_ARG(args->provider), v->listed,
		STR_ARG(str_head(args->model, utf8_head(args->model, LISTED_ID_MAX))));

	for (size_t i = 0; i < v->nnear; i++)
		if (buf_addf(&near, ERR_DISCARD, "%s" STR_FMT, i == 0 ? "nearest: " : ", ", STR_ARG(v->near[i])) < 0)
			break;
	err_hint(err, STR_FMT "%s--force takes it all the same", STR_ARG(buf_str(&near)), near.n > 0 ? "; " : "agent6 model ROLE PROVIDER lists them; ");
	return r;
}

/* A name that the server does not know is a slip, unless nobody can tell. */
static int check_model(const struct place *place, const struct config *c, struct model_args *args, struct arena *mem, struct err *err)
{
	const struct config_provider *p = config_provider(c, args->provider);
	enum connect_key key = CONNECT_KEY_NONE;
	struct model_verdict v;

	if (args->force || !p || connect_key_of(place, p, mem, &key, ERR_DISCARD) < 0)
		return 0; /* what is wrong with the provider is said where it is used */
	if (key == CONNECT_KEY_NONE && p->api_format == CONFIG_API_ANTHROPIC)
		return 0; /* it answers nobody without a key, which is said later */
	models_judge(place, p, args->model, mem, &v);
	if (v.known == MODEL_UNLISTED)
		return unlisted(args, &v, err);
	if (v.known == MODEL_UNASKED)
		cli_note("warning: whether " STR_FMT " has such a model is not known: %s", STR_ARG(args->provider), v.why.msg);
	args->model = v.id;
	return 0;
}

static int check_role(struct str role, struct err *err)
{
	if (str_eqz(role, "all"))
		return 0;
	for (int i = 0; i < CONFIG_ROLES; i++)
		if (str_eqz(role, config_role_name((enum config_role)i)))
			return 0;
	return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not one of worker, planner, critic, reviewer, summarizer, all",
		STR_ARG(str_head(role, 80)));
}

static int set_models(struct command_ctx *ctx, const struct place *place, const struct model_args *args, struct err *err)
{
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	const struct config_provider *p;
	enum connect_key key = CONNECT_KEY_NONE;

	for (int i = 0; i < CONFIG_ROLES; i++)
		if (str_eqz(args->role, "all") || str_eqz(args->role, config_role_name((enum config_role)i)))
			TRY(set_role(ctx, place, args, config_role_name((enum config_role)i), err));
	TRY(config_load(&place->files, ctx->mem, c, err));
	p = config_provider(c, args->provider);
	if (p && connect_key_of(place, p, ctx->mem, &key, err) < 0)
		cli_note("%s", err->msg);
	else if (p && key == CONNECT_KEY_NONE && config_needs_key(p))
		cli_note(STR_FMT " has no key yet: agent6 connect " STR_FMT, STR_ARG(p->name), STR_ARG(p->name));
	return args->json ? roles_json(c, err) : 0;
}

static int run_model(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	struct model_args args = *(const struct model_args *)decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, c, err));
	if (args.role.n == 0 && args.json)
		return roles_json(c, err);
	if (args.role.n == 0) {
		show_models(c);
		return 0;
	}
	TRY(check_role(args.role, err));
	if (args.provider.n == 0 && !args.json && prompt_can_ask())
		TRY(prompt_line("provider", c->nproviders > 0 ? c->providers[0]->name.p : NULL, ctx->mem, &args.provider, err));
	if (args.provider.n == 0) {
		int r = err_set(err, ERR_INVALID, "agent6 model: the provider is missing");

		if (c->nproviders > 0)
			err_hint(err, "agent6 model ROLE PROVIDER MODEL; configured: " STR_FMT, STR_ARG(configured(c, ctx->mem)));
		else
			err_hint(err, "none is configured yet: agent6 connect");
		return r;
	}
	if (args.model.n == 0 && !args.json && prompt_can_ask() && isatty(STDOUT_FILENO))
		TRY(offer_models(ctx, &place, c, &args, err));
	else if (args.model.n > 0)
		TRY(check_model(&place, c, &args, ctx->mem, err));
	if (args.model.n > 0)
		return set_models(ctx, &place, &args, err);
	if (args.effort.n > 0)
		cli_note("--effort is ignored: no model was named");
	return list_models(ctx, &place, c, args.provider, args.json, err);
}

#define FIELDS(table, type) .fields = table, .nfields = COUNT(table), .size = sizeof(struct type)

static const struct command commands[] = {
	{ .name = "connect", .help = "configure a provider and store its key",
		.about = "On a terminal it asks for what is missing and the key is not shown. Otherwise the key is the first\n"
			 "line of stdin: agent6 connect anthropic < key. Keys go to secrets.toml, mode 0600; they never appear\n"
			 "in the configuration, on a command line or in a run's record.",
		FIELDS(connect_fields, connect_args), .run = run_connect },
	{ .name = "model", .help = "show or choose the model of each role",
		.about = "Without words it shows the roles. ROLE PROVIDER lists the provider's models when there is no terminal.",
		FIELDS(model_fields, model_args), .run = run_model },
};

const struct command_group commands_connect = { commands, COUNT(commands), NULL };
