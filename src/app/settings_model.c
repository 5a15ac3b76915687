/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* settings_model: which model plays which role, and the endpoints they are reached at. */
#include "app/start_priv.h"

#include "app/apart.h"
#include "app/endpoint.h"
#include "app/models.h"
#include "config/secrets.h"

#include <string.h>

#define REQUESTS_BASE   200
#define REQUESTS_A_TURN 40 /* attempts, summaries, seats of a review and what else a turn may lead to */

static int no_model(struct err *err)
{
	int r = err_set(err, ERR_DENIED, "no model is configured");

	err_hint(err, "agent6 connect adds a provider, agent6 model worker PROVIDER MODEL chooses one; agent6 demo needs neither");
	return r;
}

static int open_secrets(struct start *s, const struct endpoint *e, struct err *err)
{
	int r;

	if (e->key_from != KEY_SECRETS || s->secrets_fd >= 0)
		return 0;
	r = secrets_open(s->paths.secrets_file, &s->secrets_fd, err);
	if (r != -ERR_NOENT)
		return r;
	if (e->key_optional)
		return 0;
	r = err_set(err, ERR_DENIED, "there is no key for provider " STR_FMT, STR_ARG(e->name));
	err_hint(err, "agent6 connect " STR_FMT " stores one; or set the variable that providers." STR_FMT ".api_key_env names",
		STR_ARG(e->name), STR_ARG(e->name));
	return r;
}

static int use_recording(struct start *s)
{
	struct endpoint *e = s->endpoints.p;

	endpoint_init(e);
	s->endpoints.n = 1;
	e->name = STR("recording");
	e->kind = ENDPOINT_RECORDING;
	e->auth = AUTH_NONE;
	e->key_from = KEY_NONE;
	s->params.provider = STR("recording");
	s->params.model = STR("recording");
	s->params.api_format = STR("anthropic");
	s->params.deployment = STR("direct");
	s->params.effort = STR("off");
	s->params.temperature = -1;
	s->params.pictures = STR("no");
	s->params.price_in = s->params.price_out = -1;
	s->params.price_cache_read = s->params.price_cache_write = -1;
	return 0;
}

/* A model and where it is: the same pair twice is one endpoint. Some servers have the model in their address. */
struct reached {
	struct str provider, model;
};

static int add_endpoint(struct start *s, const struct config_provider *p, struct str model, struct err *err)
{
	struct endpoint *e = &s->endpoints.p[s->endpoints.n];
	struct str_list places;

	endpoint_init(e); /* so that a failure leaves something to wipe */
	s->endpoints.n++;
	TRY(app_endpoint(p, model, s->mem, e, err));
	TRY(settings_endpoint_network(s, e, err));
	TRY(settings_writable(s, &places, err));
	TRY(apart_token(&places, e, s->mem, err));
	TRY(apart_ca(&places, str_printf(s->mem, "providers." STR_FMT ".ca_file", STR_ARG(p->name)).p, e, s->mem, err));
	return open_secrets(s, e, err);
}

/* Chat Completions of a server have its Responses as a neighbour, for a model that takes tools there alone. */
static bool has_neighbour(const struct config_provider *p, struct str model)
{
	return p->deployment == DEPLOYMENT_DIRECT && app_wire(p, model) == API_CHAT;
}

static int reach(struct start *s, const struct config_provider *p, struct str model, struct reached *have, int64_t *at,
	struct err *err)
{
	struct config_provider responses = *p;

	for (size_t i = 0; i < s->endpoints.n; i++)
		if (str_eq(have[i].provider, p->name) && str_eq(have[i].model, model)) {
			*at = (int64_t)i;
			return 0;
		}
	*at = (int64_t)s->endpoints.n;
	have[s->endpoints.n] = (struct reached){ p->name, model };
	TRY(add_endpoint(s, p, model, err));
	if (!has_neighbour(p, model))
		return 0;
	have[s->endpoints.n] = (struct reached){ STR(""), STR("") }; /* nobody's own */
	responses.api_format = CONFIG_API_RESPONSES;
	return add_endpoint(s, &responses, model, err);
}

/* Dollars that somebody asked for by flag must be countable: by a price of the operator's, of our table, or
 * of a server that is known to report what a call cost. */
static int check_price(const struct start *s, enum config_role role, const struct config_model *m, const struct endpoint *e, struct err *err)
{
	bool known = (m->price_in >= 0 && m->price_out >= 0) || model_facts_get(m->model).price_known ||
		str_eqz(e->host, "openrouter.ai");
	int r;

	if (!s->rq->max_usd || *s->rq->max_usd < 0 || known)
		return 0;
	r = err_set(err, ERR_DENIED, "--max-usd cannot be kept: no price of the model \"" STR_FMT "\" is known", STR_ARG(m->model));
	/* A role without a model of its own has the worker's price. */
	if (s->config->models[role].model.n == 0)
		role = CONFIG_WORKER;
	err_hint(err, "agent6 config set models.%s.price_in 3, and price_out 15 (dollars per million tokens); or limit tokens: "
		      "budget.max_input_tokens", config_role_name(role));
	return r;
}

/* What the provider's own list says, as `connect` or `model` left it, where the operator says nothing: the
 * window a server really has is not always the model's. Prices of our table go first, they know of caches. */
static void learn(const struct start *s, struct config_model *m)
{
	const struct place place = { .paths = s->paths };
	const struct listed_model *known;
	struct model_list list;
	bool fresh;

	if (models_cached(&place, m->provider, s->mem, &list, &fresh, ERR_DISCARD) < 0)
		return;
	known = models_find(&list, m->model);
	if (!known)
		return;
	if (m->context_tokens == 0)
		m->context_tokens = known->window;
	if ((m->price_in >= 0 && m->price_out >= 0) || model_facts_get(m->model).price_known || known->price_in < 0 || known->price_out < 0)
		return;
	m->price_in = known->price_in;
	m->price_out = known->price_out;
}

static int fill(struct start *s, enum config_role role, struct reached *have, struct seat_params *out, struct err *err)
{
	struct config_model m = config_model_of(s->config, role);
	const struct config_provider *p;

	if (m.provider.n == 0 || m.model.n == 0)
		return no_model(err);
	p = config_provider(s->config, m.provider);
	if (!p) {
		int r = err_set(err, ERR_INVALID, "models.%s.provider: there is no [providers." STR_FMT "]", config_role_name(role),
			STR_ARG(m.provider));

		err_hint(err, "agent6 connect " STR_FMT " adds it", STR_ARG(m.provider));
		return r;
	}
	learn(s, &m);
	TRY(reach(s, p, m.model, have, &out->endpoint, err));
	out->provider = p->name;
	out->api_format = str_from(api_wire_name(app_wire(p, m.model)));
	out->deployment = str_from(config_word("deployment", p->deployment));
	out->openai_direct = str_eqz(s->endpoints.p[out->endpoint].host, "api.openai.com");
	out->responses_too = has_neighbour(p, m.model);
	out->local_server = host_is_loopback(s->endpoints.p[out->endpoint].host);
	out->model = m.model;
	out->effort = str_from(config_word("effort", m.effort));
	out->temperature = m.temperature;
	out->prompt_caching = p->prompt_caching;
	out->context_tokens = m.context_tokens;
	out->price_in = m.price_in;
	out->price_out = m.price_out;
	out->price_cache_read = m.price_cache_read;
	out->price_cache_write = m.price_cache_write;
	out->pictures = str_from(config_word("pictures", m.pictures));
	out->extra_body = p->extra_body;
	return check_price(s, role, &m, &s->endpoints.p[out->endpoint], err);
}

/* The roles that a session of this mode may need besides the one that leads it. */
static unsigned roles_of(const struct start *s)
{
	unsigned all = (1u << CONFIG_ROLES) - 1;

	if (str_eqz(str_from(s->mode->word), "run") && s->config->workflow.dflt == WORKFLOW_IMPLEMENT)
		return all;
	return 1u << CONFIG_SUMMARIZER | 1u << CONFIG_REVIEWER;
}

static int pack_seat(struct start *s, const struct seat_params *seat, struct str *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(256 * 1024);

	TRY(seat_params_pack(seat, &b, err));
	*out = str_dup(s->mem, buf_str(&b));
	return 0;
}

/* Nobody who works as agent6 does comes near it: an agent that was taken over shall not ask a model for ever. */
static int64_t most_requests(const struct start *s)
{
	int64_t turns = s->rq->max_iterations ? *s->rq->max_iterations : s->config->workflow.max_iterations;

	return turns < 0 ? -1 : REQUESTS_BASE + turns * REQUESTS_A_TURN;
}

int settings_model(struct start *s, struct err *err)
{
	struct str *seats = arena_array(s->mem, CONFIG_ROLES, sizeof(*seats));
	struct reached have[2 * (CONFIG_ROLES + 1)];
	struct seat_params driver = { 0 };
	unsigned roles = roles_of(s);

	s->endpoints = (struct endpoint_table){ .p = arena_array(s->mem, 2 * (CONFIG_ROLES + 1) + MCP_SERVERS_MAX, sizeof(struct endpoint)), .n = 0,
		.max_requests = most_requests(s), .max_bytes = -1 };
	if (s->rq->recording_fd >= 0)
		return use_recording(s);
	TRY(fill(s, s->mode->driver, have, &driver, err));
	seat_params_lead(&driver, &s->params);
	for (enum config_role r = 0; r < CONFIG_ROLES; r++) {
		struct seat_params seat = { 0 };

		if (!(roles & 1u << r))
			continue;
		TRY(fill(s, r, have, &seat, err));
		TRY(pack_seat(s, &seat, &seats[r], err));
	}
	s->params.seats = (struct str_list){ seats, CONFIG_ROLES };
	return 0;
}

void settings_take_keys(struct start *s)
{
	servers_take_keys(s); /* one may share a provider's variable */
	app_endpoint_forget_keys(s->config);
}
