/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* MCP servers of a run: which there are, what each one's cell shows, and their zygotes. */
#include "app/apart.h"
#include "app/network.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARAMS_BYTES 65536
#define END_SERVER   5 /* of agent_ends: the first one's */

bool servers_run(const struct start *s, const struct config_mcp *m)
{
	/* A model that is a recording calls no tools. What is only rehearsed has none either, but shows them; a server over HTTP would
	 * have to be asked with its key, which a rehearsal does with nobody. */
	bool real = s->rq->recording_fd < 0 || (s->rq->rehearse && m->url.n == 0);

	return s->mode->writes && real && m->enabled && m->approval != APPROVAL_NO;
}

static bool asks(const struct start *s, const struct config_mcp *m)
{
	return m->approval == APPROVAL_ASK && !s->rq->auto_approve;
}

static void add_all(struct policy_list *to, struct arena *mem, struct str_list from)
{
	for (size_t i = 0; i < from.n; i++)
		policy_list_add(to, mem, str_dupz(mem, from.p[i]));
}

/* It runs what its words name while the model works: they may not lie where the model writes. The workspace itself is what it
 * works on. */
static int add_command(struct start *s, const struct config_mcp *m, const char *key, struct policy_list *argv, struct err *err)
{
	const struct apart_program as = { .key = str_printf(s->mem, "%s.command", key).p, .path = s->tools.path, .may_work_on = true,
		.confined = true };
	struct str_list places, words;

	TRY(settings_writable(s, &places, err));
	TRY(apart_argv(&places, &as, &m->command, s->mem, &words, err));
	add_all(argv, s->mem, words);
	return 0;
}

static bool is_base(const char *kv)
{
	static const char *const names[] = { "PATH=", "HOME=", "LANG=", "LC_ALL=", "TERM=" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (strncmp(kv, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void add_env(struct start *s, const struct config_mcp *m, struct zygote_spec *z)
{
	auto_buf struct buf unset = BUF_MAX(8192);
	struct policy_list all = { 0 };

	cell_env(&s->tools, (const char *const *)environ, s->workspace, s->mem, &all);
	for (size_t i = 0; i < all.n; i++)
		if (is_base(all.p[i]))
			policy_list_add(&z->policy.env, s->mem, all.p[i]);
	for (size_t i = 0; i < m->env.n; i++) {
		const char *name = str_dupz(s->mem, m->env.p[i]), *value = getenv(name);

		if (value)
			policy_list_add(&z->servers[0].env, s->mem, str_printf(s->mem, "%s=%s", name, value).p);
		else
			BUG_IF(buf_addf(&unset, ERR_DISCARD, "%s%s", unset.n > 0 ? ", " : "", name) < 0);
	}
	if (unset.n > 0)
		start_notice(s, str_printf(s->mem, "mcp." STR_FMT ".env: not set here: " STR_FMT, STR_ARG(m->name), STR_ARG(buf_str(&unset))));
}

static int keep_dir(struct start *s, const struct config_mcp *m, struct str grant, const char *dir, struct zygote_spec *z, struct err *err)
{
	const struct policy_list *kept = &z->policy.extra_protect_paths;

	if (s->profile != PROFILE_STRICT) {
		err_set(err, ERR_UNSUPPORTED, "mcp." STR_FMT ".extra_write_paths: " STR_FMT " holds %s, which profile \"%s\" cannot keep read-only",
			STR_ARG(m->name), STR_ARG(grant), dir, policy_profile_name(s->profile));
		err_hint(err, "grant the directories in it that the server has to write");
		return -ERR_UNSUPPORTED;
	}
	for (size_t i = 0; i < kept->n; i++)
		if (strcmp(kept->p[i], dir) == 0)
			return 0;
	policy_list_add(&z->policy.extra_protect_paths, s->mem, dir);
	return 0;
}

/* The repository's own directories, and the .git at the top of what is granted, are read-only for it as they are for commands. */
static int protect(struct start *s, const struct config_mcp *m, struct zygote_spec *z, struct err *err)
{
	const char *dirs[] = { s->repo.dot_git, s->repo.git_dir, s->repo.common_dir };
	struct stat st;

	if (!s->config->sandbox.protect_git)
		return 0;
	for (size_t k = 0; k < m->extra_write_paths.n; k++) {
		struct str grant = m->extra_write_paths.p[k];
		const char *place = settings_resolve(str_dupz(s->mem, grant), s->mem), *dot_git = str_printf(s->mem, "%s/.git", place).p;

		for (size_t i = 0; s->is_git && i < COUNT(dirs); i++)
			if (path_is_within(dirs[i], place))
				TRY(keep_dir(s, m, grant, dirs[i], z, err));
		if (s->profile != PROFILE_NONE && lstat(dot_git, &st) == 0)
			TRY(keep_dir(s, m, grant, dot_git, z, err));
	}
	return 0;
}

static const struct network_row *network_of(const struct config_mcp *m)
{
	return network_row(NETWORK_OF_SERVER, NETWORK_ANY, m->allow_network ? NETWISH_ALLOW : NETWISH_BLOCK);
}

int servers_cell(struct start *s, const struct config_mcp *m, struct zygote_spec *out, struct err *err)
{
	const char *name = str_dupz(s->mem, m->name), *key = str_printf(s->mem, "mcp.%s", name).p;
	struct zygote_spec z = { .kind = ZYGOTE_SERVER, .run_id = "", .git_dir = "", .common_dir = "", .nlimits = 1,
		.limits = { { JOB_MCP, 0, false } }, .nservers = 1 };

	z.servers[0] = (struct zygote_server){ .name = name, .composed = true, .ask = asks(s, m) };
	add_all(&z.servers[0].tools, s->mem, m->tools);
	z.policy.profile = s->profile;
	z.policy.bare = true;
	z.policy.cwd = s->workspace; /* whose owner root becomes where ids cannot be mapped */
	z.policy.network = network_of_jail(network_of(m)->reach[s->profile]);
	z.policy.memory_limit_mb = config_is_set(s->config, "sandbox.memory_limit_mb") ? s->config->sandbox.memory_limit_mb : 0;
	z.memory_max_mb = s->config->sandbox.memory_limit_mb;
	z.policy.root_as_uid = s->config->sandbox.root_as_uid;
	z.policy.tool_paths = s->tools.mounts;
	add_all(&z.policy.extra_ro_paths, s->mem, m->extra_read_paths);
	add_all(&z.policy.extra_rw_paths, s->mem, m->extra_write_paths);
	add_all(&z.policy.hide_paths, s->mem, s->config->sandbox.hide_paths);
	for (size_t i = 0; i < s->shown.n; i++)
		policy_list_add(&z.policy.hide_paths, s->mem, s->shown.p[i]);
	TRY(add_command(s, m, key, &z.servers[0].argv, err));
	TRY(settings_server_grants(s, key, m, &z.policy.hide_paths, err));
	TRY(protect(s, m, &z, err));
	add_env(s, m, &z);
	*out = z;
	return 0;
}

/* ---- a run's ---- */

static int tell_agent(struct start *s, const struct config_mcp *m, int64_t endpoint, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(PARAMS_BYTES);
	const struct server_params p = { .name = m->name, .startup_timeout_s = m->startup_timeout_s,
		.call_timeout_s = m->call_timeout_s, .tools = m->tools, .endpoint = endpoint, .writes = m->extra_write_paths.n > 0 };

	if (server_params_pack(&p, &b, err) < 0)
		return err_wrap(err, "mcp." STR_FMT, STR_ARG(m->name));
	s->params.servers.p[s->params.servers.n++] = str_dup(s->mem, buf_str(&b));
	return 0;
}

static int too_many(const struct config_mcp *m, struct err *err)
{
	int r = err_set(err, ERR_LIMIT, "more than %d MCP servers are enabled", MCP_SERVERS_MAX);

	err_hint(err, "agent6 config set mcp." STR_FMT ".enabled false", STR_ARG(m->name));
	return r;
}

static bool has_key(const struct config_mcp *m)
{
	return m->enabled && m->url.n > 0 && m->api_key_env.n > 0;
}

/* All are read before any is wiped: several servers may share one. */
void servers_take_keys(struct start *s)
{
	const struct config *c = s->config;

	s->server_keys = arena_array(s->mem, c->nmcp + 1, sizeof(*s->server_keys));
	for (size_t i = 0; i < c->nmcp; i++)
		if (has_key(c->mcp[i]))
			secret_set(&s->server_keys[i], str_trim(str_from(getenv(str_dupz(s->mem, c->mcp[i]->api_key_env)))));
	for (size_t i = 0; i < c->nmcp; i++) {
		char *value = has_key(c->mcp[i]) ? getenv(str_dupz(s->mem, c->mcp[i]->api_key_env)) : NULL;

		if (value)
			explicit_bzero(value, strlen(value));
	}
}

void servers_forget_keys(struct start *s)
{
	for (size_t i = 0; s->server_keys && i < s->config->nmcp; i++)
		secret_fini(&s->server_keys[i]);
}

static struct str key_of(const struct start *s, const struct config_mcp *m)
{
	for (size_t i = 0; s->server_keys && i < s->config->nmcp; i++)
		if (s->config->mcp[i] == m)
			return secret_reveal(&s->server_keys[i]);
	/* Outside of a run nothing was taken: nobody is started who could see it. */
	return s->server_keys || m->api_key_env.n == 0 ? STR("") : str_trim(str_from(getenv(str_dupz(s->mem, m->api_key_env))));
}

int servers_endpoint(struct start *s, const struct config_mcp *m, uint8_t *at, struct err *err)
{
	struct endpoint *e = &s->endpoints.p[s->endpoints.n];
	struct str key = key_of(s, m);
	struct str_list places;

	endpoint_init(e);
	*at = (uint8_t)s->endpoints.n++;
	e->name = str_printf(s->mem, "mcp." STR_FMT, STR_ARG(m->name));
	e->use = asks(s, m) ? ENDPOINT_MCP_ASK : ENDPOINT_MCP_YES;
	e->tools = m->tools.p;
	e->ntools = m->tools.n;
	e->ca_file = m->ca_file;
	TRY(settings_writable(s, &places, err));
	TRY(apart_ca(&places, "ca_file", e, s->mem, err));
	TRY(endpoint_set_url(e, m->url, s->mem, err));
	e->chat_path = e->prefix.n > 0 ? e->prefix : STR("/");
	e->prefix = STR("");
	e->first_byte_ms = e->idle_ms = m->call_timeout_s * 1000;
	e->auth = key.n > 0 ? AUTH_BEARER : AUTH_NONE;
	e->key_from = key.n > 0 ? KEY_INLINE : KEY_NONE;
	if (m->api_key_env.n > 0 && key.n == 0)
		start_notice(s, str_printf(s->mem, "mcp." STR_FMT ".api_key_env: " STR_FMT " is not set: no token is sent", STR_ARG(m->name),
			STR_ARG(m->api_key_env)));
	if (key.n > 0)
		secret_set(&e->key, key);
	TRY(settings_endpoint_network(s, e, err));
	return endpoint_check(e, err);
}

static int choose_remote(struct start *s, const struct config_mcp *m, struct err *err)
{
	uint8_t at = 0;

	if (s->nservers + s->nremotes == MCP_SERVERS_MAX)
		return too_many(m, err);
	if (servers_endpoint(s, m, &at, err) < 0)
		return err_wrap(err, "mcp." STR_FMT, STR_ARG(m->name));
	s->remotes[s->nremotes++] = (struct start_remote){ m, at };
	return tell_agent(s, m, at, err);
}

static int choose_program(struct start *s, const struct config_mcp *m, struct err *err)
{
	if (s->nservers + s->nremotes == MCP_SERVERS_MAX)
		return too_many(m, err);
	if (network_of(m)->warning && s->profile != PROFILE_NONE)
		start_notice(s, str_printf(s->mem, "MCP server " STR_FMT " %s", STR_ARG(m->name), network_of(m)->warning));
	s->servers[s->nservers++] = (struct start_server){ m, PEER_NONE };
	return tell_agent(s, m, -1, err);
}

/* Programs first: a channel to the agent is found by its place. */
int servers_choose(struct start *s, struct err *err)
{
	s->params.servers = (struct str_list){ arena_array(s->mem, MCP_SERVERS_MAX, sizeof(struct str)), 0 };
	for (size_t i = 0; i < s->config->nmcp; i++)
		if (servers_run(s, s->config->mcp[i]) && s->config->mcp[i]->url.n == 0)
			TRY(choose_program(s, s->config->mcp[i], err));
	for (size_t i = 0; i < s->config->nmcp; i++)
		if (servers_run(s, s->config->mcp[i]) && s->config->mcp[i]->url.n > 0)
			TRY(choose_remote(s, s->config->mcp[i], err));
	servers_forget_keys(s);
	return 0;
}

int servers_launch(struct start *s, struct err *err)
{
	for (size_t i = 0; i < s->nservers; i++) {
		struct zygote_spec cell;
		int pair[2];

		TRY(servers_cell(s, s->servers[i].config, &cell, err));
		TRY(chan_pair(pair, err));
		autoclose int to_zygote = pair[1];
		s->agent_ends[END_SERVER + i] = pair[0];
		TRY(zygote_launch(s->programs.jail, to_zygote, NULL, &cell, &s->servers[i].zygote, err));
	}
	return 0;
}

void servers_await(struct start *s)
{
	for (size_t i = 0; i < s->nservers; i++) {
		struct start_server *v = &s->servers[i];
		struct str_list notes = { 0 };
		struct err err = { 0 };

		if (zygote_await(&v->zygote, s->mem, &notes, &err) == 0)
			continue;
		peer_end(&v->zygote);
		start_notice(s, str_printf(s->mem, "MCP server " STR_FMT " is not there: %s%s%s", STR_ARG(v->config->name), err.msg,
			err.hint[0] ? "; " : "", err.hint));
	}
}
