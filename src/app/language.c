/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Language servers of a run: which of them are installed, and the cell that they share. */
#include "app/apart.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "fmt/lsp_table.h"
#include "sys/chan.h"

static bool is_wanted(const struct config_lsp *c, const char *name)
{
	for (size_t i = 0; i < c->servers.n; i++)
		if (str_eqz(c->servers.p[i], name))
			return true;
	return c->servers.n == 0;
}

/* Its program is the operator's: found in PATH, and nowhere where the model may write. False: it is not installed. */
static int find(struct start *s, const struct lsp_server *l, struct policy_list *argv, bool *found, struct err *err)
{
	const struct apart_program as = { .key = "lsp.servers", .path = s->tools.path, .confined = true };
	struct str_list places, words = { arena_array(s->mem, COUNT(l->argv), sizeof(*words.p)), 0 };

	while (words.n < COUNT(l->argv) && l->argv[words.n]) {
		words.p[words.n] = str_from(l->argv[words.n]);
		words.n++;
	}
	/* A directory of the repository in PATH is passed over, and one of PATH that links into it refused. */
	TRY(settings_writable(s, &places, err));
	TRY(apart_argv(&places, &as, &words, s->mem, &words, err));
	*found = str_starts(words.p[0], STR("/"));
	for (size_t i = 0; i < words.n; i++)
		policy_list_add(argv, s->mem, str_dupz(s->mem, words.p[i]));
	return 0;
}

static void add_server(struct start *s, const struct lsp_server *l)
{
	bool named = s->config->lsp.servers.n > 0, found = false;
	struct zygote_server z = { .name = l->name };
	struct err why = { 0 };

	if (find(s, l, &z.argv, &found, &why) < 0)
		start_notice(s, str_printf(s->mem, "language server %s is not there: %s", l->name, why.msg));
	else if (!found && named)
		start_notice(s, str_printf(s->mem, "language server %s is not there: \"%s\" is not found in PATH", l->name, l->argv[0]));
	if (!found)
		return;
	s->languages[s->params.languages.n] = z;
	s->params.languages.p[s->params.languages.n++] = str_from(l->name);
}

void language_choose(struct start *s)
{
	const struct config_lsp *c = &s->config->lsp;

	if (!c->enabled || s->rq->recording_fd >= 0 || s->rq->rehearse)
		return;
	if (s->profile == PROFILE_NONE) {
		start_notice(s, STR("lsp.enabled: no language server is started without a sandbox: it reads the model's files"));
		return;
	}
	s->params.languages = (struct str_list){ arena_array(s->mem, LSP_SERVERS_MAX, sizeof(struct str)), 0 };
	for (size_t i = 0; i < nlsp_servers; i++)
		if (is_wanted(c, lsp_servers[i].name))
			add_server(s, &lsp_servers[i]);
	s->params.language_timeout_s = c->timeout_s;
}

/* What commands see, to read: nothing outside of the cell's own /tmp is written, and there is no network. */
static int make_cell(struct start *s, struct zygote_spec *out, struct err *err)
{
	struct zygote_spec z;

	TRY(settings_command_cell(s, &z, err));
	for (size_t i = 0; i < z.policy.extra_rw_paths.n; i++)
		policy_list_add(&z.policy.extra_ro_paths, s->mem, z.policy.extra_rw_paths.p[i]);
	z.policy.extra_rw_paths = (struct policy_list){ 0 };
	z.policy.read_only = true;
	z.policy.network = NETWORK_NONE;
	z.git_dir = z.common_dir = "";
	z.no_git = z.inner_git = (struct policy_list){ 0 };
	z.limits[0] = (struct zygote_limit){ JOB_LANGUAGE, 0, false };
	z.nlimits = 1;
	for (; z.nservers < s->params.languages.n; z.nservers++)
		z.servers[z.nservers] = s->languages[z.nservers];
	*out = z;
	return 0;
}

int language_launch(struct start *s, int *agent_end, struct err *err)
{
	struct zygote_spec cell;
	int pair[2];

	if (s->params.languages.n == 0)
		return 0;
	TRY(make_cell(s, &cell, err));
	TRY(chan_pair(pair, err));
	autoclose int to_zygote = pair[1];
	*agent_end = pair[0];
	return zygote_launch(s->programs.jail, to_zygote, NULL, &cell, &s->language, err);
}

void language_await(struct start *s)
{
	struct str_list notes = { 0 };
	struct err err = { 0 };

	if (s->params.languages.n == 0 || zygote_await(&s->language, s->mem, &notes, &err) == 0)
		return;
	peer_end(&s->language);
	start_notice(s, str_printf(s->mem, "language servers are not there: %s%s%s", err.msg, err.hint[0] ? "; " : "", err.hint));
}
