/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/seats.h"

#include "agent/run_priv.h"
#include "base/time.h"
#include "fmt/json.h"

#define TRIES 3

int seat_from(const struct seat_params *p, struct seat *out, struct err *err)
{
	struct seat s = { .played = true, .spec = MODEL_SPEC };

	if (!api_wire_from(p->api_format, &s.spec.wire))
		return err_set(err, ERR_INVALID, "api_format \"" STR_FMT "\" is not known", STR_ARG(p->api_format));
	s.spec.deployment = str_eqz(p->deployment, "azure")    ? DEPLOY_AZURE
			    : str_eqz(p->deployment, "vertex") ? DEPLOY_VERTEX
							       : DEPLOY_DIRECT;
	s.spec.model = p->model;
	s.spec.openai_host = p->openai_direct != 0;
	s.spec.local = p->local_server != 0;
	s.spec.responses_too = p->responses_too != 0;
	if (p->effort.n > 0 && !api_effort_from(p->effort, &s.spec.effort))
		return err_set(err, ERR_INVALID, "effort \"" STR_FMT "\" is not known", STR_ARG(p->effort));
	s.spec.temperature = p->temperature;
	s.spec.max_tokens = loop_limits.max_tokens;
	s.spec.prompt_caching = p->prompt_caching != 0;
	s.spec.extra_body = p->extra_body;
	s.spec.pictures = str_eqz(p->pictures, "yes") || (!str_eqz(p->pictures, "no") && model_sees(p->model));
	s.facts = model_facts_get(p->model);
	if (s.facts.max_output > 0 && s.facts.max_output < s.spec.max_tokens)
		s.spec.max_tokens = s.facts.max_output;
	if (p->price_in >= 0 && p->price_out >= 0) {
		s.facts.price_known = true;
		s.facts.in = (int64_t)(p->price_in * 1e6);
		s.facts.out = (int64_t)(p->price_out * 1e6);
		s.facts.cache_read = p->price_cache_read >= 0 ? (int64_t)(p->price_cache_read * 1e6) : s.facts.in / 10;
		s.facts.cache_write = p->price_cache_write >= 0 ? (int64_t)(p->price_cache_write * 1e6) : s.facts.in * 5 / 4;
		s.facts.tier_above = 0;
	}
	s.endpoint = (uint8_t)p->endpoint;
	s.provider = p->provider;
	*out = s;
	return 0;
}

int seats_open(struct run *r, struct err *err)
{
	struct seat_params lead = seat_params_of(r->p);
	struct seat s;

	TRY(seat_from(&lead, &s, err));
	for (size_t i = 0; i < CONFIG_ROLES; i++) {
		struct seat_params p;

		r->seats.role[i] = s;
		if (i >= r->p->seats.n || r->p->seats.p[i].n == 0)
			continue;
		TRY(seat_params_unpack(r->p->seats.p[i], r->mem, &p, err));
		TRY(seat_from(&p, &r->seats.role[i], err));
	}
	return 0;
}

struct str seat_model(const struct run *r, enum config_role role)
{
	return r->seats.role[role].spec.model;
}

/* The caller speaks for one model at a time; what it learns about a server's dialect stays with that server's seat. */
static void swap(struct caller *c, struct seat *s)
{
	const struct seat was = { true, c->spec, c->facts, c->endpoint, c->provider };

	c->spec = s->spec;
	c->facts = s->facts;
	c->endpoint = s->endpoint;
	c->provider = s->provider;
	*s = was;
}

/* Puts the model of one question in, and at the second call out again. */
struct turning {
	struct run *r;
	const struct seat_ask *ask;
	int64_t max_tokens; /* the seat's own */
	bool in;
};

static void turn_to(void *self, size_t i)
{
	struct turning *t = self;
	const struct seat_ask *ask = &t->ask[i];
	struct seat *s = &t->r->seats.role[ask->role];

	if (!t->in) {
		t->max_tokens = s->spec.max_tokens;
		if (ask->max_tokens > 0 && ask->max_tokens < s->spec.max_tokens)
			s->spec.max_tokens = ask->max_tokens;
	}
	swap(&t->r->caller, s);
	if (t->in)
		s->spec.max_tokens = t->max_tokens;
	t->in = !t->in;
}

#define CALLED_MAX (64 * 1024) /* bytes of a result */

static int ask_once(struct run *r, const struct seat_ask *ask, struct conversation *conv, struct arena *mem,
	struct reply *out, struct err *err)
{
	struct turning t = { .r = r, .ask = ask };
	struct provider_fault fault = { 0 };
	int rc;

	turn_to(&t, 0);
	rc = caller_ask(&r->caller, ask->name, conv, STR(""), mem, out, &fault, err);
	turn_to(&t, 0);
	return rc;
}

int seat_system(const struct seat_ask *ask, struct buf *out, struct err *err)
{
	TRY(buf_add_utf8(out, ask->system, err));
	if (ask->nfields == 0)
		return 0;
	TRY(buf_addz(out, "\nAnswer with one JSON object and nothing else. Its schema:\n", err));
	return fields_schema(ask->fields, ask->nfields, out, err);
}

static int open_conversation(const struct seat_ask *ask, struct conversation *conv, struct err *err)
{
	auto_buf struct buf system = BUF_MAX(256 * 1024);

	TRY(seat_system(ask, &system, err));
	TRY(conversation_set_prompt(conv, buf_str(&system), ask->tools ? ask->tools->schema : STR(""), err));
	return conversation_add_user(conv, ask->user, err);
}

int seat_text(struct run *r, const struct seat_ask *ask, struct arena *mem, struct str *out, struct err *err)
{
	auto_conversation struct conversation *conv = conversation_new();
	struct reply reply;

	TRY(open_conversation(ask, conv, err));
	TRY(ask_once(r, ask, conv, mem, &reply, err));
	*out = str_trim(reply.text);
	return out->n > 0 ? 0 : err_set(err, ERR_INVALID, "the answer of the %s is empty", ask->name);
}

struct str seat_object(struct str s)
{
	int depth = 0;
	bool quoted = false;
	size_t from = str_find(s, STR("{"));

	for (size_t i = from; i < s.n; i++) {
		char c = s.p[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && c == '{')
			depth++;
		else if (!quoted && c == '}' && --depth == 0)
			return str_head(str_skip(s, from), i + 1 - from);
	}
	return STR("");
}

int seat_decode(const struct seat_ask *ask, struct str answer, struct arena *mem, void *out, struct err *err)
{
	auto_json json_t *obj = NULL;
	struct str text = seat_object(answer);

	if (text.n == 0)
		return err_set(err, ERR_INVALID, "there is no JSON object in it");
	TRY(json_decode(text, JSON_REPAIR, &obj, err));
	return fields_from_json(ask->fields, ask->nfields, obj, mem, out, ask->size, err);
}

/* Without its tools: what it has seen must do. */
static int ask_last(struct run *r, const struct seat_ask *ask, struct conversation *conv, struct arena *mem, struct reply *out,
	struct err *err)
{
	bool was = r->caller.no_calls;
	int rc;

	r->caller.no_calls = ask->tools != NULL;
	rc = ask_once(r, ask, conv, mem, out, err);
	r->caller.no_calls = was;
	return rc;
}

static int answer_calls(const struct seat_ask *ask, const struct reply *reply, bool last, struct conversation *conv, struct arena *mem,
	struct err *err)
{
	const struct str now = STR("That was the last look. Answer now, with the JSON object and nothing else.");
	struct call_result *results = arena_array(mem, reply->ncalls, sizeof(*results));

	for (size_t i = 0; i < reply->ncalls; i++) {
		auto_buf struct buf out = BUF_MAX(CALLED_MAX);

		TRY(ask->tools->call(ask->tools->self, &reply->calls[i], mem, &out, err));
		results[i] = (struct call_result){ .call_id = reply->calls[i].id, .text = str_dup(mem, buf_str(&out)) };
	}
	TRY(conversation_add(conv, reply->message, err));
	return conversation_add_results(conv, results, reply->ncalls, &now, last, err);
}

/* From an answer that asks to look at something, to one that does not. */
static int explore(struct run *r, const struct seat_ask *ask, struct conversation *conv, struct reply *reply, struct arena *mem,
	struct seat_got *got, struct err *err)
{
	int64_t until = time_mono_ms() + ask->tools->ms;

	for (int64_t asked = 1; reply->ncalls > 0 && reply->message.n > 0 && asked < ask->tools->requests; asked++) {
		bool last = asked + 1 == ask->tools->requests || time_mono_ms() >= until;

		TRY(answer_calls(ask, reply, last, conv, mem, err));
		TRY(last ? ask_last(r, ask, conv, mem, reply, err) : ask_once(r, ask, conv, mem, reply, err));
		got->transcript = (int64_t)r->caller.transcript - 1;
		if (last)
			break;
	}
	return 0;
}

/* From the first answer on, until one can be used. */
static int settle(struct run *r, const struct seat_ask *ask, struct conversation *conv, struct reply *first, struct arena *mem,
	struct seat_got *got, struct err *err)
{
	struct reply reply = *first;
	struct err why = { 0 };

	if (ask->tools)
		TRY(explore(r, ask, conv, &reply, mem, got, err));
	for (int i = 1;; i++) {
		struct str back;

		why = (struct err){ 0 };
		if (seat_decode(ask, reply.text, mem, got->out, &why) == 0)
			return 0;
		if (i == TRIES)
			break;
		back = str_printf(mem, "That answer cannot be used: %s. Answer again, with one JSON object of the schema and "
			"nothing else.", why.msg);
		if (reply.message.n > 0 && reply.ncalls == 0) {
			TRY(conversation_add(conv, reply.message, err));
			TRY(conversation_add_user(conv, back, err));
		} else { /* calls of tools that it does not have get no results */
			TRY(conversation_append(conv, back, err));
		}
		TRY(ask_last(r, ask, conv, mem, &reply, err));
		got->transcript = (int64_t)r->caller.transcript - 1;
	}
	struct str persona = str_trim_prefix(str_from(ask->name), STR("review:"));
	bool reviews = persona.n < strlen(ask->name) && !str_eqz(persona, "reviewer");

	return err_set(err, ERR_INVALID, "the %s" STR_FMT " gave no answer that can be used: %s", reviews ? "reviewer " : "", STR_ARG(persona), why.msg);
}

int seat_typed(struct run *r, const struct seat_ask *ask, struct arena *mem, void *out, struct err *err)
{
	auto_conversation struct conversation *conv = conversation_new();
	struct seat_got got = { .out = out };
	struct reply reply;

	TRY(open_conversation(ask, conv, err));
	TRY(ask_once(r, ask, conv, mem, &reply, err));
	return settle(r, ask, conv, &reply, mem, &got, err);
}

/* ---- several at once ---- */

static int ask_some(struct run *r, const struct seat_ask *ask, struct call_round *q, struct arena *mem, struct seat_got *got,
	struct err *err)
{
	for (size_t i = 0; i < q->n; i++) {
		q->one[i].role = ask[i].name;
		q->one[i].conv = conversation_new();
		TRY(open_conversation(&ask[i], q->one[i].conv, err));
	}
	TRY(caller_ask_round(&r->caller, q, mem, err));
	for (size_t i = 0; i < q->n; i++) {
		struct call_one *one = &q->one[i];

		got[i].why = one->why;
		got[i].transcript = (int64_t)one->transcript;
		got[i].rc = one->rc < 0 ? one->rc : settle(r, &ask[i], one->conv, &one->reply, mem, &got[i], &got[i].why);
		if (got[i].rc < 0 && got[i].rc != -ERR_INVALID && (got[i].rc != -ERR_REMOTE || r->links->peer[PEER_CLIENT].gone)) {
			*err = got[i].why;
			return got[i].rc;
		}
	}
	return 0;
}

int seat_typed_all(struct run *r, const struct seat_ask *ask, size_t n, size_t at_once, struct arena *mem, struct seat_got *got,
	struct err *err)
{
	at_once = at_once < 1 ? 1 : at_once > CALLS_AT_ONCE ? CALLS_AT_ONCE : at_once;
	for (size_t i = 0; i < n; i += at_once) {
		struct turning t = { .r = r, .ask = ask + i };
		struct call_round q = { .n = n - i < at_once ? n - i : at_once, .swap = turn_to, .self = &t };
		int rc = ask_some(r, ask + i, &q, mem, got + i, err);

		for (size_t k = 0; k < q.n; k++)
			conversation_free(q.one[k].conv);
		TRY(rc);
	}
	return 0;
}
