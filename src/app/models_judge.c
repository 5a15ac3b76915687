/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/models.h"

#include "app/endpoint.h"

static struct str lowered(struct arena *mem, struct str s)
{
	char *p = arena_alloc(mem, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]);
	return str_of(p, s.n);
}

/* "-20250929": of the same model, once with the day it was made and once without. */
static struct str without_day(struct str id)
{
	struct str tail = id.n > 9 ? str_skip(id, id.n - 9) : STR("");

	if (!str_starts(tail, STR("-20")))
		return id;
	for (size_t i = 1; i < tail.n; i++)
		if (tail.p[i] < '0' || tail.p[i] > '9')
			return id;
	return str_head(id, id.n - tail.n);
}

/* A name without a day means any day's model; one with another variant behind ':' is routed by the server. A local
 * server's ':' is part of the name, but there "qwen3" means "qwen3:latest" and no other. */
static bool same_model(struct str typed, struct str listed)
{
	struct str variant = typed, plain = str_cut(&variant, ':');

	if (str_eq(typed, listed) || str_eq(typed, str_trim_suffix(listed, STR(":latest"))))
		return true;
	if (plain.n < typed.n && str_find(plain, STR("/")) < plain.n) /* maker/model:variant */
		return str_eq(plain, listed);
	return str_eq(typed, without_day(listed)) || str_eq(without_day(typed), listed);
}

static struct str behind_slash(struct str id)
{
	size_t slash = str_rfind(id, '/');

	return slash < id.n ? str_skip(id, slash + 1) : id;
}

/* How far a name is from what was typed; large: no resemblance. */
static size_t distance(struct str typed, struct str id)
{
	size_t whole = str_distance(typed, id), part = str_distance(behind_slash(typed), behind_slash(id));
	size_t d = whole < part ? whole : part;

	if (typed.n >= 3 && str_find(id, typed) < id.n)
		return 0;
	return d <= 2 + typed.n / 3 ? d + 1 : SIZE_MAX;
}

size_t models_near(const struct model_list *list, struct str typed, struct arena *mem, struct str *out, size_t most)
{
	size_t far[MODELS_NEAR], n = 0;
	struct str low = lowered(mem, typed);

	BUG_IF(most > MODELS_NEAR);
	for (size_t i = 0; i < list->n; i++) {
		size_t d = distance(low, lowered(mem, list->p[i].id)), at = n;

		if (d == SIZE_MAX)
			continue;
		while (at > 0 && far[at - 1] > d)
			at--;
		if (at >= most)
			continue;
		n += n < most;
		for (size_t k = n - 1; k > at; k--) {
			far[k] = far[k - 1];
			out[k] = out[k - 1];
		}
		far[at] = d;
		out[at] = list->p[i].id;
	}
	return n;
}

/* Whether the list has it, under which name. A beginning that only one model has is that model. */
static bool find_in(const struct model_list *list, struct str typed, struct str *out)
{
	const struct listed_model *only = NULL;
	size_t hits = 0;

	*out = typed;
	for (size_t i = 0; i < list->n; i++)
		if (same_model(typed, list->p[i].id))
			return true;
	for (size_t i = 0; i < list->n; i++)
		if (str_starts(list->p[i].id, typed)) {
			only = &list->p[i];
			hits++;
		}
	if (hits == 1)
		*out = only->id;
	return hits == 1;
}

/* At Azure a model's name is that of a deployment, and the list there tells of models. */
static bool names_are_deployments(const struct config_provider *p)
{
	auto_arena struct arena *mem = arena_new();
	struct endpoint e = { 0 };

	return endpoint_set_url(&e, config_base_url(p), mem, ERR_DISCARD) == 0 && str_ends(e.host, STR(".azure.com"));
}

/* Asks the server itself. */
static int ask(const struct place *place, const struct config_provider *p, struct arena *mem, struct model_list *out, struct err *err)
{
	struct connect_answer answer = { 0 };

	if (names_are_deployments(p))
		return err_set(err, ERR_UNSUPPORTED, "at Azure a model's name is that of your deployment, which no list tells");
	TRY(connect_probe(place, p, mem, &answer, err));
	if (answer.status < 200 || answer.status >= 300)
		return err_set(err, ERR_REMOTE, "the server answered HTTP %d to the list of models", answer.status);
	if (answer.models.n == 0)
		return err_set(err, ERR_REMOTE, "what the server answered is no list of models");
	*out = answer.models;
	return 0;
}

void models_judge(const struct place *place, const struct config_provider *p, struct str model, struct arena *mem,
	struct model_verdict *out)
{
	struct model_list list;
	bool fresh;

	*out = (struct model_verdict){ .known = MODEL_LISTED, .id = model };
	if (models_cached(place, p->name, mem, &list, &fresh, ERR_DISCARD) == 0 && find_in(&list, model, &out->id) &&
		(fresh || str_eq(out->id, model)))
		return;
	out->id = model;
	if (ask(place, p, mem, &list, &out->why) < 0) {
		out->known = MODEL_UNASKED;
		return;
	}
	if (find_in(&list, model, &out->id))
		return;
	out->known = MODEL_UNLISTED;
	out->listed = list.n;
	out->nnear = models_near(&list, model, mem, out->near, MODELS_NEAR);
}
