/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/start_priv.h"

#include "app/network.h"

#include <stdlib.h>
#include <string.h>

void start_notice(struct start *s, struct str text)
{
	BUG_IF(s->nnotices == COUNT(s->notices));
	s->notices[s->nnotices++] = text;
}

static void warn_of(struct start *s, enum network_actor actor, int setting)
{
	const struct network_row *r = network_row(actor, setting, NETWISH_AUTO);

	if (r->warning)
		start_notice(s, str_from(r->warning));
}

/* ---- commands ---- */

static const struct network_row *commands_row(const struct start *s)
{
	return network_row(NETWORK_OF_COMMANDS, s->config->sandbox.tool_network, NETWISH_AUTO);
}

enum policy_network settings_jail_network(const struct start *s)
{
	return network_of_jail(commands_row(s)->reach[s->profile]);
}

int settings_networks(struct start *s, struct err *err)
{
	const struct network_row *r = commands_row(s);

	TRY(network_judge(r, s->profile, "this run", err));
	if (s->profile != PROFILE_NONE && r->warning) /* without a sandbox it says nothing new */
		start_notice(s, str_from(r->warning));
	return 0;
}

/* ---- the client's proxy ---- */

static const char *const proxy_names[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };

static const char *first_of(const char *const *names, size_t n, const char **name)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = getenv(names[i]);

		*name = names[i];
		if (value && *value)
			return value;
	}
	return NULL;
}

/* Plain HTTP is for this machine, which needs no proxy: so only what is meant for https counts. */
static int take_proxy(struct start *s, struct err *err)
{
	static const char *const exceptions[] = { "no_proxy", "NO_PROXY" };
	const char *name, *unused;
	const char *proxy = first_of(proxy_names, COUNT(proxy_names), &name);
	const char *none = first_of(exceptions, COUNT(exceptions), &unused);
	struct endpoint parsed;
	struct err why = { 0 };

	if (!proxy || s->endpoints.proxy.n > 0)
		return 0;
	endpoint_init(&parsed);
	if (endpoint_set_url(&parsed, str_from(proxy), s->mem, &why) < 0) { /* the value may hold a password */
		int r = err_set(err, ERR_INVALID, "the proxy that %s names cannot be used", name);

		err_hint(err, "agent6 takes http://host:port or https://host:port, without a user; unset %s, or agent6 config "
			      "unset sandbox.agent_network, which needs no proxy setting", name);
		return r;
	}
	s->endpoints.proxy = str_dup(s->mem, str_from(proxy));
	s->endpoints.no_proxy = str_from(none ? str_dupz(s->mem, str_from(none)) : "");
	start_notice(s, str_printf(s->mem, "model requests go through the proxy " STR_FMT ":%u, which %s names",
		STR_ARG(parsed.host), (unsigned)parsed.port, name));
	return 0;
}

/* ---- model requests ---- */

int settings_endpoint_network(struct start *s, struct endpoint *e, struct err *err)
{
	/* The profile is not known yet, and makes no difference to the client. */
	switch (network_row(NETWORK_OF_CLIENT, s->config->sandbox.agent_network, NETWISH_AUTO)->reach[PROFILE_STRICT]) {
	case REACH_TABLE:
		return 0;
	case REACH_LOCAL:
		if (host_is_loopback(e->host))
			return 0;
		err_set(err, ERR_DENIED,
			"sandbox.agent_network is \"local\" and %s" STR_FMT " is at " STR_FMT, e->use == ENDPOINT_MODEL ? "provider " : "",
			STR_ARG(e->name), STR_ARG(e->host));
		err_hint(err, "choose a provider on this machine (agent6 model), or agent6 config unset sandbox.agent_network");
		return -ERR_DENIED;
	case REACH_ANY:
		e->direct = true;
		return take_proxy(s, err);
	default:
		return err_set(err, ERR_INVALID, "sandbox.agent_network has no such value");
	}
}

static int add_allowed(struct start *s, struct str text, struct err *err)
{
	struct route r;
	size_t index;

	TRY(route_set_text(&r, text, s->mem, err));
	TRY(routes_add(&s->allowed, &r, s->mem, &index, err));
	if (host_range(r.host) == HOST_LOCAL)
		start_notice(s, str_printf(s->mem, "sandbox.allow_urls names " STR_FMT ", a link-local address, where clouds keep "
			"the credentials of their machines", STR_ARG(text)));
	return 0;
}

int settings_routes(struct start *s, struct err *err)
{
	const struct config_sandbox *c = &s->config->sandbox;

	warn_of(s, NETWORK_OF_CLIENT, c->agent_network);
	if (c->allow_urls.n > 0 && c->agent_network != AGENT_NETWORK_PROVIDERS)
		start_notice(s, str_printf(s->mem, "sandbox.allow_urls has no effect: sandbox.agent_network is \"%s\"",
			config_word("sandbox.agent_network", c->agent_network)));
	if (c->agent_network != AGENT_NETWORK_PROVIDERS || s->rq->recording_fd >= 0)
		return 0;
	for (size_t i = 0; i < c->allow_urls.n; i++)
		if (add_allowed(s, c->allow_urls.p[i], err) < 0)
			return err_wrap(err, "sandbox.allow_urls");
	return 0;
}
