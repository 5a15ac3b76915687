/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/offer.h"

#include "app/models.h"
#include "ui/cli/prompt.h"

#include <stdio.h>

#define PATIENCE_MS 5000 /* who is not there refuses at once */
#define SHOWN_MOST  20 /* of one server's models */

struct choice {
	const struct connect_preset *preset;
	struct str model;
};

/* Only who has configured nothing at all is asked; a configuration that is wrong says so elsewhere. */
static bool is_bare(const struct place *place, struct arena *mem)
{
	struct config *c = arena_alloc(mem, sizeof(*c));

	return config_load(&place->files, mem, c, ERR_DISCARD) == 0 && c->nproviders == 0 &&
		c->models[CONFIG_WORKER].model.n == 0;
}

static int refuse(const struct local_server *s, struct err *err)
{
	int r = err_set(err, ERR_DENIED, "no model is configured; %s at %s offers %zu", s->preset->name, s->preset->base_url,
		s->models.n);

	err_hint(err, "agent6 connect %s && agent6 model worker %s " STR_FMT, s->preset->name, s->preset->name,
		STR_ARG(s->models.p[0].id));
	return r;
}

static size_t show(const struct local_server *found, size_t n, struct choice *choices, size_t most)
{
	size_t have = 0;

	fputs("no model is configured; on this machine there are:\n", stderr);
	for (size_t i = 0; i < n; i++) {
		const struct model_list *l = &found[i].models;

		for (size_t k = 0; k < l->n && k < SHOWN_MOST && have < most; k++) {
			choices[have] = (struct choice){ found[i].preset, l->p[k].id };
			fprintf(stderr, "  %2zu  %-9s " STR_FMT "\n", ++have, found[i].preset->name, STR_ARG(l->p[k].id));
		}
		if (l->n > SHOWN_MOST)
			fprintf(stderr, "      %-9s and %zu more: agent6 model worker %s\n", found[i].preset->name,
				l->n - SHOWN_MOST, found[i].preset->name);
	}
	return have;
}

static int choose(const struct choice *choices, size_t n, struct arena *mem, const struct choice **out, struct err *err)
{
	struct str answer;
	int64_t number;

	TRY(prompt_line("which one, by number or name (Ctrl-C for none)", "1", mem, &answer, err));
	answer = str_trim(answer);
	for (size_t i = 0; i < n; i++)
		if (str_eq(answer, choices[i].model)) {
			*out = &choices[i];
			return 0;
		}
	if (str_to_i64(answer, &number, ERR_DISCARD) < 0 || number < 1 || number > (int64_t)n)
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is none of them", STR_ARG(str_head(answer, utf8_head(answer, 80))));
	*out = &choices[number - 1];
	return 0;
}

static int configure(const struct place *place, const struct choice *c, struct arena *mem, struct err *err)
{
	const struct connect_request rq = { .name = str_from(c->preset->name), .layer = CONFIG_GLOBAL };
	const struct config_change changes[] = {
		{ CONFIG_SET, CONFIG_GLOBAL, STR("models.worker.provider"), rq.name },
		{ CONFIG_SET, CONFIG_GLOBAL, STR("models.worker.model"), c->model },
	};
	struct config_edited done[COUNT(changes)];
	struct connect_done connected;

	TRY(connect_provider(place, &rq, mem, &connected, err));
	TRY(config_edit(&place->files, changes, COUNT(changes), mem, done, err));
	cli_note("the worker is %s/" STR_FMT " from now on, in %s", c->preset->name, STR_ARG(c->model), done[0].file);
	return 0;
}

int offer_local(struct command_ctx *ctx, bool can_ask, struct err *err)
{
	struct local_server *found = NULL;
	struct choice choices[4 * SHOWN_MOST];
	const struct choice *chosen = NULL;
	struct place place;
	size_t n = 0;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	if (!is_bare(&place, ctx->mem))
		return 0;
	TRY(models_discover(ctx->mem, PATIENCE_MS, &found, &n, err));
	if (n == 0)
		return 0;
	if (!can_ask)
		return refuse(&found[0], err);
	TRY(choose(choices, show(found, n, choices, COUNT(choices)), ctx->mem, &chosen, err));
	return configure(&place, chosen, ctx->mem, err);
}
