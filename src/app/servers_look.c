/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/egress.h"
#include "app/servers.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "sys/chan.h"

#define PARALLEL MCP_SERVERS_MAX

/* Those that are looked at at the same time: programs, or those over HTTP. */
struct batch {
	struct server_view *views[PARALLEL];
	struct server_params params[PARALLEL];
	struct peer zygotes[PARALLEL];
	int askers[PARALLEL];
	size_t n;
};

static void batch_end(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		base_close_fd(&b->askers[i]);
		peer_end(&b->zygotes[i]);
	}
	b->n = 0;
}

static int launch_one(struct start *s, struct batch *b, const struct config_mcp *m, struct err *err)
{
	struct zygote_spec cell;
	struct str_list notes = { 0 };
	int pair[2];

	TRY(servers_cell(s, m, &cell, err));
	TRY(chan_pair(pair, err));
	autoclose int ours = pair[0], theirs = pair[1];
	struct peer z = PEER_NONE;
	int r = zygote_launch(s->programs.jail, theirs, NULL, &cell, &z, err);

	r = r < 0 ? r : zygote_await(&z, s->mem, &notes, err);
	if (r < 0) {
		peer_end(&z);
		return r;
	}
	b->zygotes[b->n] = z;
	b->askers[b->n] = take_fd(&ours);
	return 0;
}

static int find_address(struct start *s, struct batch *b, const struct config_mcp *m, int64_t *endpoint, struct err *err)
{
	uint8_t at = 0;

	TRY(servers_endpoint(s, m, &at, err));
	s->endpoints.p[at].use = ENDPOINT_MCP_ASK; /* nobody is there to be asked: no tool is called from here */
	b->zygotes[b->n] = PEER_NONE;
	b->askers[b->n] = -1;
	*endpoint = at;
	return 0;
}

static void add(struct start *s, struct batch *b, struct server_view *v)
{
	const struct config_mcp *m = v->config;
	struct err why = { 0 };
	int64_t endpoint = -1;
	size_t endpoints = s->endpoints.n;

	if ((m->url.n > 0 ? find_address(s, b, m, &endpoint, &why) : launch_one(s, b, m, &why)) < 0) {
		v->found.why = str_printf(s->mem, "%s%s%s", why.msg, why.hint[0] ? "; " : "", why.hint);
		s->endpoints.n = endpoints;
		return;
	}
	v->looked = true;
	b->views[b->n] = v;
	b->params[b->n++] = (struct server_params){ .name = m->name, .startup_timeout_s = m->startup_timeout_s,
		.call_timeout_s = m->call_timeout_s, .tools = m->tools, .endpoint = endpoint };
}

static void egress_end(struct egress *e)
{
	egress_stop(e);
}

static int ask(struct start *s, struct batch *b, struct err *err)
{
	struct found_server found[PARALLEL] = { 0 };
	CLEANUP(egress_end) struct egress way = EGRESS_NONE;
	struct toolsmith_task task = { .params = b->params, .n = b->n, .programs = s->endpoints.n > 0 ? 0 : b->n, .askers = b->askers };

	if (b->n == 0)
		return 0;
	if (task.programs == 0)
		TRY(egress_start(&(struct egress_spec){ .progs = &s->programs, .table = &s->endpoints, .spawner_chan = -1, .secrets_fd = -1,
			.recording_fd = -1 }, &way, err));
	task.client = way.agent_chan;
	TRY(toolsmith_ask(&s->programs, &task, s->mem, found, err));
	for (size_t i = 0; i < b->n; i++)
		b->views[i]->found = found[i];
	return 0;
}

/* Wipes the keys of those that were asked. */
static void no_endpoints(struct start *s)
{
	endpoints_fini(&s->endpoints);
	s->endpoints = (struct endpoint_table){ .p = arena_array(s->mem, PARALLEL, sizeof(struct endpoint)), .max_requests = -1, .max_bytes = -1 };
}

static int ask_all(struct start *s, struct batch *b, struct err *err)
{
	int r = ask(s, b, err);

	batch_end(b);
	no_endpoints(s);
	return r;
}

static const char *not_looked(const struct config_mcp *m)
{
	return !m->enabled ? "disabled" : m->approval == APPROVAL_NO ? "its approval is \"no\": runs do not start it" : NULL;
}

static int look_at(struct start *s, struct server_views *v, bool remote, bool whatever, struct err *err)
{
	CLEANUP(batch_end) struct batch b = { 0 };

	no_endpoints(s);
	for (size_t i = 0; i < v->n; i++) {
		struct server_view *one = &v->p[i];
		const char *why = not_looked(one->config);

		if ((one->config->url.n > 0) != remote)
			continue;
		one->asks = one->config->approval == APPROVAL_ASK;
		if (why && !whatever) {
			one->found.why = str_from(why);
			continue;
		}
		add(s, &b, one);
		if (b.n == PARALLEL)
			TRY(ask_all(s, &b, err));
	}
	return ask_all(s, &b, err);
}

static void fini(struct start *s)
{
	start_fini(s);
}

int servers_look(struct str config_file, const struct config_mcp *one, struct arena *mem, struct server_views *out, struct err *err)
{
	struct run_request rq = run_request_new();
	CLEANUP(fini) struct start s = start_new(mem, &rq);

	rq.config = config_file;
	TRY(settings_workspace(&s, err));
	TRY(settings_paths(&s, err));
	TRY(settings_load(&s, err));
	TRY(settings_profile(&s, err));
	TRY(settings_whose(&s, err));
	TRY(settings_tools(&s, err));
	TRY(programs_open(&s.programs, err));
	out->profile = policy_profile_name(s.profile);
	out->n = one ? 1 : s.config->nmcp;
	out->p = arena_array(mem, out->n + 1, sizeof(*out->p));
	for (size_t i = 0; i < out->n; i++)
		out->p[i] = (struct server_view){ .config = one ? one : s.config->mcp[i] };
	TRY(look_at(&s, out, false, one != NULL, err));
	TRY(look_at(&s, out, true, one != NULL, err));
	out->notices.p = arena_array(mem, s.nnotices + 1, sizeof(*out->notices.p));
	for (size_t i = 0; i < s.nnotices; i++)
		out->notices.p[out->notices.n++] = s.notices[i];
	return 0;
}
