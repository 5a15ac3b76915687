/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/connect.h"
#include "config/secrets.h"
#include "fmt/endpoint.h"

#include <stdlib.h>

const struct connect_preset connect_presets[] = {
	{ "anthropic", "anthropic", NULL, false, "Claude models, api.anthropic.com" },
	{ "openai", "openai", NULL, false, "OpenAI models, api.openai.com" },
	{ "openrouter", "openai", "https://openrouter.ai/api/v1", false,
		"models of many makers, openrouter.ai" },
	{ "gemini", "openai", "https://generativelanguage.googleapis.com/v1beta/openai", false, "Gemini models" },
	{ "mistral", "openai", "https://api.mistral.ai/v1", false, "Mistral's models" },
	{ "deepseek", "openai", "https://api.deepseek.com", false, "DeepSeek's models" },
	{ "groq", "openai", "https://api.groq.com/openai/v1", false, "open models, fast" },
	{ "azure", "openai", NULL, false, "OpenAI models at Azure; the model's name is the deployment's",
		.url_form = "https://RESOURCE.openai.azure.com/openai/v1", .auth_style = "api_key_header" },
	{ "vertex", "anthropic", NULL, false, "Claude models at Vertex AI; signs in with gcloud",
		.url_form = "https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/anthropic/models",
		.deployment = "vertex", .token_command = "[\"gcloud\", \"auth\", \"print-access-token\"]" },
	{ "ollama", "openai", "http://localhost:11434/v1", true, "Ollama on this machine" },
	{ "lmstudio", "openai", "http://localhost:1234/v1", true, "LM Studio on this machine" },
	{ "llamacpp", "openai", "http://localhost:8080/v1", true, "llama.cpp's server on this machine" },
	{ "vllm", "openai", "http://localhost:8000/v1", true, "vLLM on this machine" },
};
const size_t nconnect_presets = COUNT(connect_presets);

const struct connect_preset *connect_preset(struct str name)
{
	for (size_t i = 0; i < nconnect_presets; i++)
		if (str_eqz(name, connect_presets[i].name))
			return &connect_presets[i];
	return NULL;
}

int connect_check(const struct connect_request *rq, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct endpoint e;

	if (!config_name_ok(rq->name))
		return err_set(err, ERR_INVALID,
			"\"" STR_FMT "\" is not a provider's name: letters, digits, '-' and '_'",
			STR_ARG(str_head(rq->name, 80)));
	if (rq->api_format.n > 0 && !str_eqz(rq->api_format, "anthropic") &&
		!str_eqz(rq->api_format, "openai") && !str_eqz(rq->api_format, "responses"))
		return err_set(err, ERR_INVALID, "the format \"" STR_FMT "\" is not one of anthropic, openai, responses",
			STR_ARG(str_head(rq->api_format, 80)));
	endpoint_init(&e);
	return rq->base_url.n > 0 ? endpoint_set_url(&e, rq->base_url, mem, err) : 0;
}

/* A value nobody gave is left as it is, or taken from the preset when the provider is new. */
static struct str wanted(struct str given, const char *preset, bool is_new)
{
	return given.n > 0 || !preset || !is_new ? given : str_from(preset);
}

static int check_secrets(const struct place *place, struct err *err)
{
	autoclose int fd = -1;
	int r = secrets_open(place->paths.secrets_file, &fd, err);

	return r == -ERR_NOENT ? 0 : r;
}

const char *connect_preset_near(struct str name)
{
	for (size_t i = 0; i < nconnect_presets && !connect_preset(name); i++)
		if (str_distance(str_from(connect_presets[i].name), name) < 3)
			return connect_presets[i].name;
	return NULL;
}

/* A name that is nearly one we know is a slip, any other is a server of the person's own. */
static void hint_preset(struct str name, struct err *err)
{
	const char *near = connect_preset_near(name);

	if (near) {
		err_hint(err, "did you mean \"agent6 connect %s\"?", near);
		return;
	}
	err_hint(err, "agent6 connect " STR_FMT " --format openai --base-url https://HOST/v1", STR_ARG(str_head(name, 64)));
}

/* One that is new must say what it speaks and where it is, or have a preset that does. */
static int check_new(const struct connect_request *rq, const struct connect_preset *preset, struct err *err)
{
	int r = 0;

	if (rq->api_format.n == 0 && !preset) {
		r = err_set(err, ERR_INVALID, "what \"" STR_FMT "\" speaks is not known; name a format: anthropic, openai or responses",
			STR_ARG(rq->name));
		hint_preset(rq->name, err);
	} else if (preset && preset->url_form && rq->base_url.n == 0) {
		r = err_set(err, ERR_INVALID, "the address of " STR_FMT " is not the same for everybody", STR_ARG(rq->name));
		err_hint(err, "agent6 connect %s --base-url %s", preset->name, preset->url_form);
	}
	return r;
}

int connect_provider(const struct place *place, const struct connect_request *rq, struct arena *mem,
	struct connect_done *out, struct err *err)
{
	const struct connect_preset *preset = connect_preset(rq->name);
	struct config *c = arena_alloc(mem, sizeof(*c));
	struct connect_done done = { 0 };
	bool is_new;

	TRY(connect_check(rq, err));
	/* A configuration that is wrong elsewhere does not stop anybody from connecting. */
	is_new = config_load(&place->files, mem, c, ERR_DISCARD) < 0 || !config_provider(c, rq->name);
	if (is_new)
		TRY(check_new(rq, preset, err));

	const struct {
		const char *key;
		struct str value;
	} values[] = {
		{ "api_format", wanted(rq->api_format, preset ? preset->api_format : NULL, is_new) },
		{ "base_url", wanted(rq->base_url, preset ? preset->base_url : NULL, is_new) },
		{ "deployment", wanted(STR(""), preset ? preset->deployment : NULL, is_new) },
		{ "auth_style", wanted(STR(""), preset ? preset->auth_style : NULL, is_new) },
		{ "token_command", wanted(STR(""), preset ? preset->token_command : NULL, is_new) },
		{ "api_key_env", rq->api_key_env },
		{ "ca_file", rq->ca_file },
	};
	bool has_key = rq->key && !secret_is_empty(rq->key);
	if (has_key) /* a file that cannot take the key is found before anything is written */
		TRY(check_secrets(place, err));
	struct config_change changes[COUNT(values)];
	struct config_edited edited[COUNT(values)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(values); i++)
		if (values[i].value.n > 0)
			changes[n++] = (struct config_change){ CONFIG_SET, rq->layer,
				str_printf(mem, "providers." STR_FMT ".%s", STR_ARG(rq->name), values[i].key),
				values[i].value };
	if (n > 0) {
		TRY(config_edit(&place->files, changes, n, mem, edited, err));
		done.config_file = edited[0].file;
		done.warning = edited[0].warning;
	}
	if (has_key) {
		TRY(secrets_put(place->paths.secrets_file, rq->name, rq->key, err));
		done.secrets_file = place->paths.secrets_file;
	}
	*out = done;
	return 0;
}

int connect_logout(const struct place *place, struct str name, struct err *err)
{
	if (!config_name_ok(name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a provider's name",
			STR_ARG(str_head(name, 80)));
	if (access(place->paths.secrets_file, F_OK) != 0)
		return 0;
	return secrets_drop(place->paths.secrets_file, name, err);
}

int connect_key_of(const struct place *place, const struct config_provider *p, struct arena *mem,
	enum connect_key *out, struct err *err)
{
	const char *env = p->api_key_env.n > 0 ? getenv(str_dupz(mem, p->api_key_env)) : NULL;
	autoclose int fd = -1;
	int r;

	if (config_auth_of(p) == CONFIG_AUTH_NONE) {
		*out = CONNECT_KEY_NOT_NEEDED;
		return 0;
	}
	if (p->token_command.n > 0) {
		*out = CONNECT_KEY_COMMAND;
		return 0;
	}
	if (str_trim(str_from(env)).n > 0) {
		*out = CONNECT_KEY_ENV;
		return 0;
	}
	r = secrets_open(place->paths.secrets_file, &fd, err);
	if (r < 0 && r != -ERR_NOENT)
		return r;
	r = fd >= 0 ? secrets_has(fd, p->name, err) : 0;
	if (r >= 0)
		*out = r > 0 ? CONNECT_KEY_STORED : CONNECT_KEY_NONE;
	return r < 0 ? r : 0;
}
