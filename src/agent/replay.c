/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/replay.h"
#include "agent/redecide.h"
#include "agent/run_priv.h"
#include "fmt/jscan.h"
#include "fmt/json.h"
#include "session/chain.h"
#include "session/journal.h"
#include "session/store.h"
#include "session/talk.h"
#include "sys/file.h"

#include <stdio.h>

#define TEXT_MAX       ((size_t)2 << 30)
#define REQUEST_MAX    ((size_t)128 * 1024 * 1024)
#define TRANSCRIPT_MAX (RECORD_TRANSCRIPT_MAX + 4096)
#define AROUND         40 /* bytes shown in front of a difference */

struct replay {
	int transcripts; /* directory */
	struct replay_report *rep;
	struct arena *mem;  /* of the answer that is compared */
	struct str lines;   /* of messages.jsonl, what comes next */
	struct talk talk;
	struct conversation *conv;
	struct {
		VEC(const char *);
	} held;             /* where the messages that conv holds stand in the text */
	struct buf system, tools; /* of this leg */
	bool prompt;        /* they are known */
	struct buf previous;
	struct reply reply; /* in mem; whose calls come next */
	size_t next_call;
	int64_t turn;
	bool back;          /* a resume: the next line that counts says so */
	struct redecide decide;
	/* The conversation as it was: before the last cut of this turn's checkpoint, before one within the turn, and as the
	 * last request that was too long held it. */
	struct talk_list cut, shortened, refused, was;
	bool was_shortened, was_refused;
	bool cut_off;       /* the leg ended before the checkpoint of this turn was kept: nothing of the turn may follow */
};

static void replay_fini(struct replay *r)
{
	talk_fini(&r->talk);
	conversation_free(r->conv);
	vec_fini(&r->held);
	buf_fini(&r->system);
	buf_fini(&r->tools);
	buf_fini(&r->previous);
	redecide_fini(&r->decide);
	vec_fini(&r->cut);
	vec_fini(&r->shortened);
	vec_fini(&r->refused);
	vec_fini(&r->was);
	base_close_fd(&r->transcripts);
	arena_free(r->mem);
}

/* ---- a difference ---- */

static void show(char *to, size_t size, struct str s, size_t at)
{
	struct str part = str_skip(s, at > AROUND ? at - AROUND : 0);
	size_t skip = 0;

	while (at > AROUND && skip < part.n && skip < 4 && ((unsigned char)part.p[skip] & 0xc0) == 0x80)
		skip++;
	part = str_skip(part, skip);
	snprintf(to, size, "%s" STR_FMT, at > AROUND ? "..." : "", STR_ARG(str_head(part, utf8_head(part, size - 8))));
}

static int differs(struct replay *r, const struct journal_line *l, const char *what, struct str was, struct str now)
{
	struct replay_report *rep = r->rep;
	size_t at = 0;

	while (at < was.n && at < now.n && was.p[at] == now.p[at])
		at++;
	rep->seq = l->seq;
	rep->turn = r->turn;
	snprintf(rep->type, sizeof(rep->type), STR_FMT, STR_ARG(l->type));
	snprintf(rep->what, sizeof(rep->what), "%s", what);
	show(rep->was, sizeof(rep->was), was, at);
	show(rep->now, sizeof(rep->now), now, at);
	return 1;
}

/* ---- the conversation ---- */

/* What was added since is added; after a cut it is built anew. */
static int sync_conversation(struct replay *r, struct err *err)
{
	const struct talk_list *now = &r->talk.now;
	size_t same = 0;

	while (same < r->held.n && same < now->n && r->held.p[same] == now->p[same].p)
		same++;
	if (same < r->held.n || !r->conv) {
		conversation_free(r->conv);
		r->conv = conversation_new();
		r->held.n = 0;
		TRY(conversation_set_prompt(r->conv, buf_str(&r->system), buf_str(&r->tools), err));
	}
	for (size_t i = r->held.n; i < now->n; i++) {
		if (conversation_add(r->conv, now->p[i], err) < 0)
			return err_wrap(err, "message %zu of the record", i);
		*vec_new(&r->held) = now->p[i].p;
	}
	return 0;
}

static struct str take_line(struct replay *r)
{
	struct str line = str_trim_suffix(str_line(&r->lines), STR("\n"));

	talk_line(&r->talk, line);
	return line;
}

/* Whether this leg has a checkpoint of that turn, and the state in it. */
static bool has_turn(const struct replay *r, int64_t turn, struct str *state_of)
{
	bool back = r->back;

	for (struct str ahead = r->lines, state; ahead.n > 0;) {
		struct str line = str_trim_suffix(str_line(&ahead), STR("\n"));
		uint32_t n;

		if (str_starts(line, STR("{\"back\":"))) {
			if (!back)
				return false;
			back = false;
		} else if (!back && talk_checkpoint(line, &n, &state) && n == turn) {
			*state_of = state;
			return true;
		}
	}
	return false;
}

static void keep_list(struct talk_list *to, const struct talk_list *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		*vec_new(to) = from->p[i];
}

/* Up to and with the checkpoint of that turn; false: there is none. */
static bool go_to_turn(struct replay *r, int64_t turn)
{
	r->cut.n = 0;
	while (r->lines.n > 0) {
		struct str line, state;
		uint32_t n;

		if (str_starts(r->lines, STR("{\"cut\":")))
			keep_list(&r->cut, &r->talk.now);
		line = take_line(r);
		if (r->back && !str_starts(line, STR("{\"back\":")))
			continue;
		r->back = false;
		if (talk_checkpoint(line, &n, &state) && n == turn)
			return true;
	}
	return false;
}

/* The conversation was made shorter within the turn: up to the cut. False: it was not. */
static bool go_to_cut(struct replay *r)
{
	struct str ahead = r->lines, state;
	uint32_t n;

	while (ahead.n > 0) {
		struct str line = str_trim_suffix(str_line(&ahead), STR("\n"));

		if (talk_checkpoint(line, &n, &state) && n != r->turn)
			return false;
		if (!str_starts(line, STR("{\"cut\":")))
			continue;
		if (!r->was_shortened)
			keep_list(&r->shortened, &r->talk.now);
		r->was_shortened = true;
		while (r->lines.n > ahead.n)
			take_line(r);
		return true;
	}
	return false;
}

/* ---- transcripts ---- */

static int read_transcript(struct replay *r, int64_t seq, struct buf *text, struct err *err)
{
	char name[32];

	buf_clear(text);
	snprintf(name, sizeof(name), "%04lld.json", (long long)seq);
	return file_read(r->transcripts, name, text, err);
}

static int add_member(struct buf *out, struct jval obj, const char *key, struct err *err)
{
	struct jval v = jval_get(obj, key);

	if (v.type != JSCAN_STRING)
		return err_set(err, ERR_INVALID, "\"%s\" is not there", key);
	return jval_add_text(out, v, NUL_KEEP, err);
}

static int64_t int_of(struct jval obj, const char *key)
{
	int64_t v;

	return jval_to_i64(jval_get(obj, key), &v) ? v : -1;
}

static bool is_true(struct jval obj, const char *key)
{
	return jval_get(obj, key).type == JSCAN_TRUE;
}

static int on_prompt(struct replay *r, const struct journal_line *l, struct jval ev, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TRANSCRIPT_MAX), want = BUF_MAX(256);
	char hash[CHAIN_HEX + 1];
	struct jval t;

	buf_clear(&r->system);
	buf_clear(&r->tools);
	conversation_free(r->conv);
	r->conv = NULL;
	r->held.n = 0;
	if (read_transcript(r, int_of(ev, "transcript"), &text, err) < 0)
		return differs(r, l, "the transcript of the prompt cannot be read", STR(""), str_from(err->msg));
	t = jval_from(buf_str(&text));
	if (add_member(&r->system, t, "system", err) < 0 || add_member(&r->tools, t, "tools", err) < 0)
		return differs(r, l, "the transcript of the prompt holds none", STR(""), str_from(err->msg));
	TRY(add_member(&want, ev, "sha256", err));
	chain_text(buf_str(&r->system), buf_str(&r->tools), hash);
	r->prompt = true;
	if (!str_eqz(buf_str(&want), hash))
		return differs(r, l, "the prompt was changed", buf_str(&want), str_from(hash));
	return 0;
}

static bool read_spec(struct jval t, struct arena *mem, struct model_spec *out, bool *no_calls)
{
	auto_buf struct buf word = BUF_MAX(64), extra = BUF_MAX(1 << 20), model = BUF_MAX(1024), effort = BUF_MAX(64);
	struct jval s = jval_get(t, "spec");
	struct model_spec spec = MODEL_SPEC;
	struct err err;

	if (s.type != JSCAN_OBJECT || add_member(&word, s, "wire", &err) < 0 || add_member(&effort, s, "effort", &err) < 0 ||
		add_member(&extra, s, "extra_body", &err) < 0 || add_member(&model, t, "model", &err) < 0 ||
		!api_wire_from(buf_str(&word), &spec.wire) || !jval_to_f64(jval_get(s, "temperature"), &spec.temperature))
		return false;
	if (!api_effort_from(buf_str(&effort), &spec.effort))
		spec.effort = EFFORT_UNSET;
	int64_t deployment = int_of(s, "deployment");

	if (deployment < DEPLOY_DIRECT || deployment > DEPLOY_AZURE)
		return false;
	spec.deployment = (enum api_deployment)deployment;
	spec.openai_host = is_true(s, "openai_host");
	spec.max_tokens = int_of(s, "max_tokens");
	spec.prompt_caching = is_true(s, "prompt_caching");
	spec.recover_text_calls = is_true(s, "recover_text_calls");
	spec.think_tags = is_true(s, "think_tags");
	spec.adapted = (unsigned)int_of(s, "adapted");
	spec.extra_body = str_dup(mem, buf_str(&extra));
	spec.model = str_dup(mem, buf_str(&model));
	*no_calls = is_true(s, "no_calls");
	*out = spec;
	return true;
}

/* The request as it was sent: what it shares with the one before, and the rest. */
static int recorded_request(struct replay *r, struct jval t, struct buf *out, struct err *err)
{
	struct jval rq = jval_get(t, "request");
	int64_t prefix = int_of(rq, "prefix");

	if (prefix < 0 || (size_t)prefix > r->previous.n)
		return err_set(err, ERR_INVALID, "it begins with %lld bytes of a request of %zu", (long long)prefix,
			r->previous.n);
	TRY(buf_add(out, str_head(buf_str(&r->previous), (size_t)prefix), err));
	return add_member(out, rq, "text", err);
}

static int encode(struct replay *r, const struct model_spec *spec, bool no_calls, struct buf *out, struct err *err)
{
	const struct request_options opts = { .no_tools = no_calls };

	buf_clear(out);
	TRY(sync_conversation(r, err));
	return request_encode(spec, r->conv, &opts, out, err);
}

static int compare_request(struct replay *r, const struct journal_line *l, const struct model_spec *spec, bool no_calls,
	struct str sent)
{
	auto_buf struct buf now = BUF_MAX(REQUEST_MAX);
	struct err why = { 0 };

	if (encode(r, spec, no_calls, &now, &why) < 0)
		return differs(r, l, "the conversation of that moment gives no request", sent, str_from(why.msg));
	r->was_shortened = false;
	while (!str_eq(buf_str(&now), sent) && go_to_cut(r))
		while (!str_eq(buf_str(&now), sent) && str_starts(r->lines, STR("{\"i\":"))) {
			take_line(r);
			if (encode(r, spec, no_calls, &now, &why) < 0) /* calls whose results come next */
				buf_clear(&now);
		}
	r->rep->requests++;
	if (!str_eq(buf_str(&now), sent))
		return differs(r, l, "the request is not what the conversation of that moment gives", sent, buf_str(&now));
	return 0;
}

/* ---- answers ---- */

/* The members of the event that follow from the answer. */
static int compare_members(struct replay *r, const struct journal_line *l, struct str event, struct str made, const char *what)
{
	struct redecided d = redecide_same(r->mem, l, event, made, what);

	return d.differs ? differs(r, l, what, d.was, d.now) : 0;
}

static int decode(struct replay *r, const struct model_spec *spec, struct jval t, struct str body, struct err *err)
{
	struct str named = jval_is(jval_get(t, "seat"), "worker") ? buf_str(&r->tools) : STR("");
	auto_reply struct reply_stream *s = reply_new(spec, named, NULL, r->mem);
	struct reply_head head = REPLY_HEAD((int)int_of(jval_get(t, "response"), "status"));
	struct provider_fault fault;

	reply_number_calls(s, r->conv ? conversation_count(r->conv) : 0);
	reply_head(s, head);
	reply_feed(s, body);
	if (reply_end(s, OVER_EOF, STR(""), &r->reply, &fault) == 0)
		return 0;
	return err_set(err, ERR_REMOTE, "%s", fault.message);
}

/* The message that was kept of it comes next in the record. */
static int compare_message(struct replay *r, const struct journal_line *l, struct err *err)
{
	auto_conversation struct conversation *one = conversation_new();
	struct str ahead = r->lines, line = STR(""), state;
	size_t at;
	uint32_t n;

	if (r->reply.message.n == 0)
		return 0;
	while (ahead.n > 0) {
		line = str_trim_suffix(str_line(&ahead), STR("\n"));
		if (str_starts(line, STR("{\"i\":")) || str_starts(line, STR("{\"back\":")) ||
			(talk_checkpoint(line, &n, &state) && n != r->turn))
			break;
	}
	if (!str_starts(line, STR("{\"i\":")))
		return 0; /* the end came first: nothing of the turn was kept */
	TRY(conversation_add(one, r->reply.message, err));
	at = str_find(line, STR(",\"message\":")) + 11;
	line = at < line.n ? str_head(str_skip(line, at), line.n - at - 1) : STR("");
	if (!str_eq(line, conversation_get(one, 0)))
		return differs(r, l, "the message that was kept is not the answer", line, conversation_get(one, 0));
	return 0;
}

static int compare_answer(struct replay *r, const struct journal_line *l, struct str event, struct str seat, struct err *err)
{
	auto_note struct note n = NOTE;
	int differ;

	r->rep->answers++;
	caller_note_result(&n, seat, &r->reply, NULL);
	differ = compare_members(r, l, event, note_text(&n), "the answer in the transcript is another one");
	return differ || !str_eqz(seat, "worker") ? differ : compare_message(r, l, err);
}

static int decided(struct replay *r, const struct journal_line *l, struct redecided d)
{
	return d.differs ? differs(r, d.at_event ? &d.line : l, d.what, d.was, d.now) : 0;
}

/* The conversation that a request was made of, for what was decided before it. */
static void show_conversation(struct replay *r, struct redecide_answer *a)
{
	struct talk_list *before = r->was_refused ? &r->refused : redecide_set_aside(&r->decide) ? &r->cut
		: r->was_shortened ? &r->shortened : NULL;

	a->conv = r->conv;
	if (before)
		keep_list(&r->was, before);
	a->before = before ? r->was.p : NULL;
	a->nbefore = before ? r->was.n : 0;
	a->system = buf_str(&r->system);
	a->tools = buf_str(&r->tools);
	r->was_refused = str_eqz(a->outcome, provider_fault_name(FAULT_OVERFLOW)) || str_eqz(a->outcome, provider_fault_name(FAULT_TOO_LARGE));
	if (r->was_refused)
		keep_list(&r->refused, &r->talk.now);
}

/* What the answer says, and what follows from it; a fault, or an answer that was not kept whole, is taken as it stands. */
static int on_answer(struct replay *r, const struct journal_line *l, struct str event, const struct model_spec *spec,
	struct jval t, struct redecide_answer *a, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(TRANSCRIPT_MAX), seat = BUF_MAX(64), outcome = BUF_MAX(256), model = BUF_MAX(1024);
	struct jval res = jval_get(t, "response");
	struct err why = { 0 };
	int differ = 0;
	bool ok;

	if (add_member(&body, res, "body", &why) < 0 || add_member(&seat, t, "seat", &why) < 0 || add_member(&outcome, res, "outcome", &why) < 0 ||
		add_member(&model, t, "model", &why) < 0)
		return differs(r, l, "the transcript holds no answer", STR(""), str_from(why.msg));
	a->seat = buf_str(&seat);
	a->outcome = buf_str(&outcome);
	a->model = buf_str(&model);
	ok = str_eqz(a->outcome, "ok");
	a->read = int_of(res, "bytes") == (int64_t)body.n;
	a->turn = a->read && decode(r, spec, t, buf_str(&body), &why) == 0 && (ok || str_eqz(a->outcome, provider_fault_name(FAULT_EMPTY)));
	if (a->read && ok && !a->turn)
		return differs(r, l, "the answer cannot be read again", STR(""), str_from(why.msg));
	if (a->turn)
		caller_estimate(&r->reply, a->weighed);
	a->reply = &r->reply;
	if (ok && a->turn)
		TRY(differ = compare_answer(r, l, event, a->seat, err));
	if (str_eqz(a->seat, "worker"))
		show_conversation(r, a);
	if (!ok)
		r->reply.ncalls = 0;
	return differ ? differ : decided(r, l, redecide_answer(&r->decide, l, a));
}

static int on_result(struct replay *r, const struct journal_line *l, struct str event, struct jval ev, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TRANSCRIPT_MAX), sent = BUF_MAX(REQUEST_MAX);
	struct redecide_answer a = { .transcript = int_of(ev, "transcript") };
	struct model_spec spec;
	struct err why = { 0 };
	bool no_calls;
	struct jval t;

	arena_reset(r->mem);
	r->reply = (struct reply){ 0 };
	r->next_call = 0;
	int found = read_transcript(r, a.transcript, &text, &why);

	if (found < 0)
		return differs(r, l, "its transcript cannot be read", STR(""), str_from(why.msg));
	t = jval_from(buf_str(&text));
	if (!read_spec(t, r->mem, &spec, &no_calls))
		return differs(r, l, "its transcript does not say how the request was made", STR(""), buf_str(&text));
	if (is_true(t, "left_out")) {
		r->rep->left_out++;
		buf_clear(&r->previous);
		return decided(r, l, redecide_answer(&r->decide, l, &a));
	}
	if (recorded_request(r, t, &sent, &why) < 0)
		return differs(r, l, "its transcript is not whole", STR(""), str_from(why.msg));
	buf_clear(&r->previous);
	TRY(buf_add(&r->previous, buf_str(&sent), err));
	a.sent = buf_str(&sent);
	a.weighed = sent.n;
	a.endpoint = int_of(t, "endpoint");
	if (jval_is(jval_get(t, "seat"), "worker")) {
		int differ = compare_request(r, l, &spec, no_calls, buf_str(&sent));

		if (differ)
			return differ;
		a.weighed -= request_unweighed(&spec, r->conv);
	}
	return on_answer(r, l, event, &spec, t, &a, err);
}

static int on_call(struct replay *r, const struct journal_line *l, struct str event, struct err *err)
{
	auto_note struct note n = NOTE;

	if (r->next_call >= r->reply.ncalls)
		return differs(r, l, "the model called nothing more in this turn", event, STR(""));
	redecide_call(&r->decide, l, &r->reply.calls[r->next_call]);
	TRY(turn_note_call(&n, &r->reply.calls[r->next_call++], err));
	r->rep->calls++;
	return compare_members(r, l, event, note_text(&n), "the model called something else");
}

/* A turn begins: the one before is decided again with what it came to. */
static int on_turn(struct replay *r, const struct journal_line *l, struct jval ev)
{
	struct str state = STR("");
	int64_t turn = int_of(ev, "iteration");
	int differ = 0;

	r->cut_off = !has_turn(r, turn, &state);
	if (!r->cut_off)
		differ = decided(r, l, redecide_turn(&r->decide, state, true));
	r->turn = turn;
	if (differ == 0 && !r->cut_off && !go_to_turn(r, turn))
		return differs(r, l, "the conversation has no checkpoint of this turn", STR(""), STR(""));
	return differ;
}

static int on_end(struct replay *r, const struct journal_line *l, struct jval ev)
{
	struct str state = STR("");
	int differ = 0;

	if (has_turn(r, int_of(ev, "iterations") + 1, &state))
		differ = decided(r, l, redecide_turn(&r->decide, state, false));
	return differ ? differ : decided(r, l, redecide_end(&r->decide, l, ev));
}

/* 1: something differs. */
static int on_event(struct replay *r, const struct journal_line *l, struct str line, struct err *err)
{
	struct jval ev = jval_from(line);

	enum event_id id = event_id_of(l->type);

	r->rep->events++;
	if (r->cut_off && (id == EVENT_LOOP_BUDGET || id == EVENT_ROLE_RESULT || id == EVENT_TOOL_CALL))
		return differs(r, l, "the conversation has no checkpoint of this turn", STR(""), STR(""));
	if (id == EVENT_RUN_START || id == EVENT_RUN_RESUME)
		redecide_begin(&r->decide, !jval_is(jval_get(ev, "mode"), "run"));

	int differ = decided(r, l, redecide_event(&r->decide, id, l, line));

	if (differ)
		return differ;
	switch (id) {
	case EVENT_RUN_START:
		return 0;
	case EVENT_RUN_RESUME:
		r->cut_off = false;
		buf_clear(&r->previous); /* the first request of a leg is kept whole */
		r->back = true;
		return 0;
	case EVENT_LOOP_PROMPT:
		return on_prompt(r, l, ev, err);
	case EVENT_LOOP_BUDGET:
		return on_turn(r, l, ev);
	case EVENT_RUN_END:
		return on_end(r, l, ev);
	case EVENT_ROLE_RESULT:
		if (!r->prompt && jval_is(jval_get(ev, "role"), "worker")) /* others may be asked before it */
			return differs(r, l, "the record is of an older agent6 and cannot be replayed", STR(""), STR(""));
		return on_result(r, l, line, ev, err);
	case EVENT_TOOL_CALL:
		return on_call(r, l, line, err);
	default:
		return 0;
	}
}

static int check_chain(int record, struct replay_report *rep, bool *good, struct err *err)
{
	autoclose int fd = -1;
	struct journal_report j;

	TRY(file_open(record, JOURNAL_NAME, true, &fd, err));
	TRY(journal_verify(fd, &j, err));
	*good = j.bad_line == 0;
	if (!*good) {
		rep->seq = j.bad_line;
		snprintf(rep->type, sizeof(rep->type), "journal");
		snprintf(rep->what, sizeof(rep->what), "line %lld is wrong: %.120s", (long long)j.bad_line, j.reason);
	}
	return 0;
}

int replay_run(int record, struct replay_report *out, struct err *err)
{
	auto_buf struct buf journal = BUF_MAX((size_t)JOURNAL_MAX + 1), messages = BUF_MAX(TEXT_MAX), graph = BUF_MAX(GRAPH_FILE_MAX + 1);
	struct replay_report rep = { 0 };
	CLEANUP(replay_fini) struct replay r = { .transcripts = -1, .rep = &rep, .mem = arena_new(),
		.system = BUF_MAX(TRANSCRIPT_MAX), .tools = BUF_MAX(TRANSCRIPT_MAX), .previous = BUF_MAX(REQUEST_MAX) };
	bool good;
	int found;

	TRY(check_chain(record, &rep, &good, err));
	*out = rep;
	if (!good)
		return 0;
	TRY(file_read(record, JOURNAL_NAME, &journal, err));
	found = file_read(record, STORE_MESSAGES, &messages, err);
	if (found < 0 && found != -ERR_NOENT)
		return found;
	found = dir_open(record, "transcripts", &r.transcripts, err);
	if (found < 0 && found != -ERR_NOENT)
		return found;
	found = file_read(record, GRAPH_FILE, &graph, err);
	if (found < 0 && found != -ERR_NOENT)
		return found;
	r.lines = buf_str(&messages);
	redecide_open(&r.decide, buf_str(&graph));
	for (struct str rest = buf_str(&journal); rest.n > 0;) {
		struct str line = str_trim_suffix(str_line(&rest), STR("\n"));
		struct journal_line l = line_parse(line);

		if (l.kind != LINE_DURABLE)
			continue;
		int differ = on_event(&r, &l, line, err);

		if (differ < 0)
			return err_wrap(err, "event %lld", (long long)l.seq);
		if (differ)
			break;
	}
	*out = rep;
	return 0;
}
