/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/settings.h"
#include "agent/run_priv.h"
#include "fmt/json.h"

/* ---- writing ---- */

static void write_STR(struct note *n, const char *key, const struct str *v)
{
	note_str(n, key, *v);
}

static void write_INT(struct note *n, const char *key, const int64_t *v)
{
	note_int(n, key, *v);
}

static void write_NUM(struct note *n, const char *key, const double *v)
{
	note_num(n, key, *v);
}

static void write_STRS(struct note *n, const char *key, const struct str_list *v)
{
	note_strs(n, key, *v);
}

/* X(member), of struct model_facts: integers */
#define FACTS(X) X(in) X(out) X(cache_read) X(cache_write) X(tier_above) X(tier_in) X(tier_out) X(window)

static int add_model(const struct seat *s, struct buf *out, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "endpoint", s->endpoint);
	note_str(&n, "model", s->spec.model);
	note_int(&n, "max_tokens", s->spec.max_tokens);
	note_bool(&n, "price_known", s->facts.price_known);
#define X(m) note_int(&n, #m, s->facts.m);
	FACTS(X)
#undef X
	TRY(buf_addz(out, out->n > 1 ? "," : "", err));
	return buf_add(out, note_text(&n), err);
}

static bool same_model(const struct seat *a, const struct seat *b)
{
	return a->endpoint == b->endpoint && str_eq(a->spec.model, b->spec.model);
}

static int add_models(const struct run *r, struct buf *out, struct err *err)
{
	const struct seat lead = { .spec = r->caller.spec, .facts = r->caller.facts, .endpoint = r->caller.endpoint };
	const struct seat *roles = r->seats.role;

	TRY(buf_addc(out, '[', err));
	TRY(add_model(&lead, out, err));
	for (size_t i = 0; i < CONFIG_ROLES; i++) {
		bool known = same_model(&roles[i], &lead);

		for (size_t k = 0; k < i; k++)
			known = known || same_model(&roles[i], &roles[k]);
		if (!known)
			TRY(add_model(&roles[i], out, err));
	}
	return buf_addc(out, ']', err);
}

int settings_put(struct run *r, struct err *err)
{
	auto_buf struct buf models = BUF_MAX(256 * 1024);
	auto_note struct note n = NOTE, rules = NOTE;

#define X(kind, member) write_##kind(&rules, #member, &r->p->member);
	SETTINGS(X)
#undef X
	TRY(add_models(r, &models, err));
	note_json(&n, "rules", note_text(&rules));
	note_json(&n, "models", buf_str(&models));
	n.bad = n.bad || rules.bad;
	return note_send(&n, r->keep, EVENT_LOOP_SETTINGS, err);
}

/* ---- reading ---- */

static int read_STR(struct jval v, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(256 * 1024);

	if (v.type != JSCAN_STRING)
		return err_set(err, ERR_INVALID, "not a text");
	TRY(jval_add_text(&b, v, NUL_KEEP, err));
	*out = str_dup(mem, buf_str(&b));
	return 0;
}

static int read_INT(struct jval v, struct arena *mem, int64_t *out, struct err *err)
{
	(void)mem;
	return jval_to_i64(v, out) ? 0 : err_set(err, ERR_INVALID, "not a whole number");
}

static int read_NUM(struct jval v, struct arena *mem, double *out, struct err *err)
{
	(void)mem;
	return jval_to_f64(v, out) ? 0 : err_set(err, ERR_INVALID, "not a number");
}

static int read_STRS(struct jval v, struct arena *mem, struct str_list *out, struct err *err)
{
	struct jval e;
	size_t n = 0;

	if (v.type != JSCAN_ARRAY)
		return err_set(err, ERR_INVALID, "not a list");
	for (size_t pos = 0; jval_next(v, &pos, NULL, &e);)
		n++;
	*out = (struct str_list){ arena_array(mem, n + 1, sizeof(struct str)), 0 };
	for (size_t pos = 0; jval_next(v, &pos, NULL, &e);)
		TRY(read_STR(e, mem, &out->p[out->n++], err));
	return 0;
}

static int read_model(struct jval m, struct arena *mem, struct settings_model *out, struct err *err)
{
	struct settings_model got = { 0 };
	int64_t endpoint;

	TRY(read_INT(jval_get(m, "endpoint"), mem, &endpoint, err));
	if (endpoint < 0 || endpoint > UINT8_MAX)
		return err_set(err, ERR_INVALID, "no endpoint has that number");
	got.endpoint = (uint8_t)endpoint;
	TRY(read_STR(jval_get(m, "model"), mem, &got.model, err));
	TRY(read_INT(jval_get(m, "max_tokens"), mem, &got.max_tokens, err));
	got.facts.price_known = jval_get(m, "price_known").type == JSCAN_TRUE;
#define X(member) TRY(read_INT(jval_get(m, #member), mem, &got.facts.member, err));
	FACTS(X)
#undef X
	*out = got;
	return 0;
}

int settings_read(struct jval event, struct arena *mem, struct settings *out, struct err *err)
{
	struct jval rules = jval_get(event, "rules"), models = jval_get(event, "models"), m;
	struct settings s = { 0 };

#define X(kind, member)                                                                                      \
	if (read_##kind(jval_get(rules, #member), mem, &s.params.member, err) < 0)                           \
		return err_wrap(err, #member);
	SETTINGS(X)
#undef X
	for (size_t pos = 0; jval_next(models, &pos, NULL, &m) && s.n < SETTINGS_MODELS; s.n++)
		if (read_model(m, mem, &s.models[s.n], err) < 0)
			return err_wrap(err, "model %zu", s.n + 1);
	if (s.n == 0)
		return err_set(err, ERR_INVALID, "models: none is named");
	*out = s;
	return 0;
}

const struct settings_model *settings_model_of(const struct settings *s, int64_t endpoint, struct str model)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->models[i].model, model) && (s->models[i].endpoint == endpoint || s->models[i].endpoint + 1 == endpoint))
			return &s->models[i];
	return NULL;
}
