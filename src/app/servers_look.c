/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/servers.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "sys/chan.h"

#define PARALLEL MCP_SERVERS_MAX

/* Those that are looked at at the same time. */
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
	b->askers[b->n++] = take_fd(&ours);
	return 0;
}

static void add(struct start *s, struct batch *b, struct server_view *v)
{
	const struct config_mcp *m = v->config;
	struct err why = { 0 };

	b->views[b->n] = v;
	b->params[b->n] = (struct server_params){ .name = m->name, .startup_timeout_s = m->startup_timeout_s,
		.call_timeout_s = m->call_timeout_s, .tools = m->tools, .endpoint = -1 };
	if (launch_one(s, b, m, &why) < 0)
		v->found.why = str_printf(s->mem, "%s%s%s", why.msg, why.hint[0] ? "; " : "", why.hint);
	else
		v->looked = true;
}

static int ask(struct start *s, struct batch *b, struct err *err)
{
	struct found_server found[PARALLEL] = { 0 };

	if (b->n == 0)
		return 0;
	TRY(toolsmith_ask(&s->programs, b->params, b->askers, b->n, s->mem, found, err));
	for (size_t i = 0; i < b->n; i++)
		b->views[i]->found = found[i];
	return 0;
}

static const char *not_looked(const struct config_mcp *m)
{
	return m->url.n > 0 ? "over HTTP: runs start it, this does not"
		: !m->enabled ? "disabled"
		: m->approval == APPROVAL_NO ? "its approval is \"no\": runs do not start it"
					     : NULL;
}

static int look_at(struct start *s, struct server_view *views, size_t n, bool whatever, struct err *err)
{
	CLEANUP(batch_end) struct batch b = { 0 };

	for (size_t i = 0; i < n; i++) {
		const char *why = not_looked(views[i].config);

		views[i].asks = views[i].config->approval == APPROVAL_ASK;
		if (why && !whatever) {
			views[i].found.why = str_from(why);
			continue;
		}
		add(s, &b, &views[i]);
		if (b.n < PARALLEL)
			continue;
		TRY(ask(s, &b, err));
		batch_end(&b);
	}
	return ask(s, &b, err);
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
	TRY(settings_load(&s, err));
	TRY(session_repo_dir(s.state_dir, str_from(s.workspace), mem, &s.repo_dir, err));
	TRY(settings_profile(&s, err));
	TRY(settings_tools(&s, err));
	TRY(programs_open(&s.programs, err));
	out->profile = policy_profile_name(s.profile);
	out->n = one ? 1 : s.config->nmcp;
	out->p = arena_array(mem, out->n + 1, sizeof(*out->p));
	for (size_t i = 0; i < out->n; i++)
		out->p[i] = (struct server_view){ .config = one ? one : s.config->mcp[i] };
	return look_at(&s, out->p, out->n, one != NULL, err);
}
