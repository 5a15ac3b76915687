/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* elide: the cheap tier. Results of tools are most of a conversation, and old ones are rarely looked at again:
 * they are set aside, oldest first, many at once, since each time costs the provider's cache what follows. */
#include "agent/context_priv.h"
#include "fmt/json.h"

#define WORTH_IT     300 /* bytes of a result; a shorter one stays */
#define KEEP_RESULTS 2   /* the newest ones stay, and all of the newest turn */
#define EDITS_BACK   8   /* turns: what they edited is set aside last, */
#define EDITS_MAX    32  /* so many files of it */
#define TEXT_MAX     ((size_t)32 * 1024 * 1024)

struct result {
	size_t message;
	struct jval content;
	uint64_t hash;
	bool read, fresh; /* of read_file; of a file that was edited lately */
	bool skill;       /* of use_skill: instructions, which are followed until the end */
	bool drop, again; /* to be set aside; the same as a later one */
	bool with_gist;
};

struct paths {
	struct str p[EDITS_MAX]; /* as JSON writes them */
	size_t n;
};

struct results {
	VEC(struct result);
	struct paths edits;
	size_t bytes;
	size_t newest; /* the message with the newest results */
};

static void results_fini(struct results *l)
{
	vec_fini(l);
}

static struct jval content_of(const struct run *r, size_t i)
{
	return conversation_content(r->conv, i);
}

struct jval context_call(struct jval calls, struct jval id)
{
	struct jval call;

	for (size_t pos = 0; jval_next(calls, &pos, NULL, &call);)
		if (str_eq(jval_get(call, "id").text, id.text))
			return call;
	return (struct jval){ 0 };
}

/* The text of a JSON string that starts as a gist does, without decoding it whole. */
static bool was_elided(struct jval content, bool *bare)
{
	auto_buf struct buf head = BUF_MAX(65536);

	if (content.text.n > 8192 || jval_add_text(&head, content, NUL_KEEP, ERR_DISCARD) < 0)
		return false;
	*bare = gist_is_bare(buf_str(&head));
	return gist_is(buf_str(&head));
}

/* The paths that the newest turns edited. */
static void find_edits(const struct run *r, struct paths *out)
{
	size_t n = conversation_count(r->conv), from = n > 2 * EDITS_BACK ? n - 2 * EDITS_BACK : 0;
	struct jval call;

	for (size_t i = from; i < n; i++) {
		struct jval content = conversation_is_user(r->conv, i) ? (struct jval){ 0 } : content_of(r, i);

		for (size_t pos = 0; jval_next(content, &pos, NULL, &call);)
			if (jval_is(jval_get(call, "name"), "apply_edit") && out->n < EDITS_MAX)
				out->p[out->n++] = jval_get(jval_get(call, "input"), "path").text;
	}
}

static bool was_edited(const struct paths *edits, struct jval path)
{
	for (size_t i = 0; path.type == JSCAN_STRING && i < edits->n; i++)
		if (str_eq(edits->p[i], path.text))
			return true;
	return false;
}

static void note_result(size_t i, struct jval calls, struct jval block, struct results *out)
{
	struct result *e = vec_new(out);
	struct jval call = context_call(calls, jval_get(block, "tool_use_id"));

	*e = (struct result){ .message = i, .content = jval_get(block, "content") };
	e->read = jval_is(jval_get(call, "name"), "read_file");
	e->skill = jval_is(jval_get(call, "name"), "use_skill");
	e->fresh = e->read && was_edited(&out->edits, jval_get(jval_get(call, "input"), "path"));
	out->bytes += e->content.text.n;
	out->newest = i;
}

static void find_results(const struct run *r, struct results *out)
{
	struct jval calls = { 0 }, block;

	find_edits(r, &out->edits);
	for (size_t i = 0; i < conversation_count(r->conv); i++) {
		struct jval content = content_of(r, i);

		for (size_t pos = 0; conversation_is_user(r->conv, i) && jval_next(content, &pos, NULL, &block);)
			if (jval_is(jval_get(block, "type"), "tool_result"))
				note_result(i, calls, block, out);
		calls = content;
	}
}

/* ---- what goes ---- */

static bool may_go(const struct results *l, size_t i, enum elide_how how)
{
	const struct result *e = &l->p[i];

	if (e->drop || e->content.type != JSCAN_STRING || e->content.text.n < WORTH_IT)
		return false;
	return how == ELIDE_ALL || (!e->skill && e->message != l->newest && i + KEEP_RESULTS < l->n);
}

static size_t left_of(const struct result *e, bool gists)
{
	return gists && e->content.text.n > 2000 ? 500 : 80;
}

static void drop(struct results *l, size_t i, bool gists)
{
	struct result *e = &l->p[i];
	size_t left = e->again ? 60 : left_of(e, gists);

	e->drop = true;
	e->with_gist = gists;
	l->bytes -= e->content.text.n > left ? e->content.text.n - left : 0;
}

static void drop_repeats(struct results *l, enum elide_how how)
{
	for (size_t i = 0; i < l->n; i++)
		l->p[i].hash = run_hash(l->p[i].content.text, STR(""));
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = i + 1; may_go(l, i, how) && k < l->n; k++)
			if (l->p[i].hash == l->p[k].hash && str_eq(l->p[i].content.text, l->p[k].content.text)) {
				l->p[i].again = true;
				drop(l, i, false);
			}
}

static void drop_old(struct results *l, enum elide_how how, size_t want, bool fresh, bool gists)
{
	bool bare;

	for (size_t i = 0; i < l->n && l->bytes > want; i++)
		if (may_go(l, i, how) && l->p[i].fresh == fresh && !was_elided(l->p[i].content, &bare))
			drop(l, i, gists);
}

/* Gists of earlier times give way too when there is nothing else. */
static size_t demote(struct results *l, enum elide_how how, size_t want)
{
	size_t n = 0;
	bool bare = true;

	for (size_t i = 0; i < l->n && l->bytes > want; i++)
		if (may_go(l, i, how) && was_elided(l->p[i].content, &bare) && !bare) {
			drop(l, i, false);
			n++;
		}
	return n;
}

/* ---- rewriting ---- */

static int write_content(const struct result *e, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX), gist = BUF_MAX(65536);

	if (e->again)
		return buf_addz(out, "\"{\\\"elided\\\":\\\"the same as a later result\\\"}\"", err);
	TRY(jval_add_text(&text, e->content, NUL_REPLACE, err));
	TRY(gist_write(&gist, buf_str(&text), e->with_gist, err));
	return json_add_quoted(out, buf_str(&gist), err);
}

static int write_block(struct jval block, const struct result *e, struct buf *out, struct err *err)
{
	if (!e || !e->drop)
		return buf_add(out, block.text, err);
	TRY(buf_addz(out, "{\"type\":\"tool_result\",\"tool_use_id\":", err));
	TRY(buf_add(out, jval_get(block, "tool_use_id").text, err));
	TRY(buf_addz(out, ",\"content\":", err));
	TRY(write_content(e, out, err));
	return buf_addz(out, jval_get(block, "is_error").type == JSCAN_TRUE ? ",\"is_error\":true}" : "}", err);
}

/* Message i with what is left of its results; *next walks over the results. */
static int rewrite(struct run *r, size_t i, const struct results *l, size_t *next, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	struct jval content = content_of(r, i), block;
	size_t n = 0;

	TRY(buf_addz(&text, "{\"role\":\"user\",\"content\":[", err));
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block); n++) {
		bool result = jval_is(jval_get(block, "type"), "tool_result");

		if (n > 0)
			TRY(buf_addc(&text, ',', err));
		TRY(write_block(block, result ? &l->p[(*next)++] : NULL, &text, err));
	}
	TRY(buf_addz(&text, "]}", err));
	return conversation_replace(r->conv, i, buf_str(&text), err);
}

/* The views into a message die when it is replaced, so each message is done with before the next. */
static int apply(struct run *r, const struct results *l, size_t *first, struct err *err)
{
	*first = conversation_count(r->conv);
	for (size_t i = 0; i < l->n;) {
		size_t m = l->p[i].message, next = i;
		bool any = false;

		for (; next < l->n && l->p[next].message == m; next++)
			any = any || l->p[next].drop;
		if (any) {
			size_t at = i;

			TRY(rewrite(r, m, l, &at, err));
			*first = m < *first ? m : *first;
		}
		i = next;
	}
	return 0;
}

/* ---- thoughts ---- */

static bool is_thought(struct jval block)
{
	struct jval type = jval_get(block, "type");

	return jval_is(type, "thinking") || jval_is(type, "redacted_thinking") || jval_is(type, "x_reasoning_details") ||
		(jval_is(type, "x_item") && jval_is(jval_get(jval_get(block, "item"), "type"), "reasoning"));
}

/* Message i without its thoughts; *chars: how much they were, 0 when there were none or nothing else. */
static int without_thoughts(struct run *r, size_t i, int64_t *chars, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	struct jval from = jval_get(jval_from(conversation_get(r->conv, i)), "from"), block;
	size_t before = conversation_get(r->conv, i).n, n = 0;
	bool any = false;

	*chars = 0;
	TRY(buf_addz(&text, "{\"role\":\"assistant\",", err));
	if (from.type == JSCAN_STRING)
		TRY(buf_addf(&text, err, "\"from\":" STR_FMT ",", STR_ARG(from.text)));
	TRY(buf_addz(&text, "\"content\":[", err));
	for (size_t pos = 0; jval_next(content_of(r, i), &pos, NULL, &block);) {
		if (is_thought(block)) {
			any = true;
			continue;
		}
		if (n++ > 0)
			TRY(buf_addc(&text, ',', err));
		TRY(buf_add(&text, block.text, err));
	}
	TRY(buf_addz(&text, "]}", err));
	if (!any || n == 0)
		return 0;
	TRY(conversation_replace(r->conv, i, buf_str(&text), err));
	*chars = (int64_t)(before - conversation_get(r->conv, i).n);
	return 0;
}

/* The prefix is new from here on anyway. A provider that binds thoughts to what stood before them refuses the later ones
 * once, and is then asked without any (ADAPT_NO_THINKING_REPLAY). */
static int drop_thoughts(struct run *r, size_t *first, struct err *err)
{
	auto_note struct note note = NOTE;
	int64_t answers = 0, turns = 0, chars = 0, one;

	for (size_t i = conversation_count(r->conv); r->p->keep_thinking_turns > 0 && i-- > 0;) {
		if (conversation_is_user(r->conv, i) || answers++ < r->p->keep_thinking_turns)
			continue;
		TRY(without_thoughts(r, i, &one, err));
		if (one == 0)
			continue;
		turns++;
		chars += one;
		*first = i < *first ? i : *first;
	}
	if (turns == 0)
		return 0;
	note_int(&note, "turns", turns);
	note_int(&note, "chars", chars);
	return note_send(&note, r->keep, EVENT_COMPACT_THINKING, err);
}

/* Message i with words in place of its pictures; *n: how many they were. */
static int without_pictures(struct run *r, size_t i, int64_t *n, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	struct jval block;
	size_t blocks = 0;

	*n = 0;
	TRY(buf_addz(&text, "{\"role\":\"user\",\"content\":[", err));
	for (size_t pos = 0; jval_next(content_of(r, i), &pos, NULL, &block);) {
		bool picture = jval_is(jval_get(block, "type"), "image");

		*n += picture;
		TRY(buf_addz(&text, blocks++ > 0 ? "," : "", err));
		TRY(buf_add(&text, picture ? STR("{\"type\":\"text\",\"text\":\"[it is not shown any more]\"}") : block.text, err));
	}
	TRY(buf_addz(&text, "]}", err));
	return *n > 0 ? conversation_replace(r->conv, i, buf_str(&text), err) : 0;
}

/* Those of the newest results stay, unless all must go. */
static int drop_pictures(struct run *r, enum elide_how how, size_t newest, size_t *first, struct err *err)
{
	auto_note struct note note = NOTE;
	int64_t all = 0, one;

	for (size_t i = 0; conversation_pictures(r->conv) > 0 && i < conversation_count(r->conv); i++) {
		if (!conversation_is_user(r->conv, i) || (how != ELIDE_ALL && i >= newest))
			continue;
		TRY(without_pictures(r, i, &one, err));
		all += one;
		*first = one > 0 && i < *first ? i : *first;
	}
	if (all == 0)
		return 0;
	note_int(&note, "n", all);
	return note_send(&note, r->keep, EVENT_COMPACT_PICTURES, err);
}

static int put_counts(struct run *r, const struct results *l, size_t demoted, struct err *err)
{
	auto_note struct note dropped = NOTE, again = NOTE, gists = NOTE;
	int64_t n = 0, same = 0, gisted = 0;

	for (size_t i = 0; i < l->n; i++) {
		n += l->p[i].drop && !l->p[i].again;
		same += l->p[i].again;
		gisted += l->p[i].drop && l->p[i].with_gist && l->p[i].content.text.n > 2000;
	}
	r->st.context_elided += n + same - (int64_t)demoted;
	note_int(&again, "n", same);
	note_int(&dropped, "n", n - (int64_t)demoted);
	note_int(&gists, "gisted", gisted);
	note_int(&gists, "demoted", (int64_t)demoted);
	if (same > 0)
		TRY(note_send(&again, r->keep, EVENT_COMPACT_DEDUPED, err));
	if (n > (int64_t)demoted)
		TRY(note_send(&dropped, r->keep, EVENT_COMPACT_DROPPED, err));
	return gisted + (int64_t)demoted > 0 ? note_send(&gists, r->keep, EVENT_COMPACT_GISTS, err) : 0;
}

void elide_count(const struct run *r, int64_t *elided, int64_t *gists)
{
	CLEANUP(results_fini) struct results l = { 0 };
	bool bare = false;

	*elided = *gists = 0;
	find_results(r, &l);
	for (size_t i = 0; i < l.n; i++)
		if (l.p[i].content.type == JSCAN_STRING && was_elided(l.p[i].content, &bare)) {
			(*elided)++;
			*gists += !bare;
		}
}

int elide_results(struct run *r, enum elide_how how, size_t *freed, struct err *err)
{
	CLEANUP(results_fini) struct results l = { 0 };
	struct context_limits lim = context_limits_of(r);
	size_t had, want = how == ELIDE_DOWN ? lim.drop_at / 2 : 0, demoted, first, before;
	bool gists = r->p->elision_gists != 0;

	*freed = 0;
	find_results(r, &l);
	had = l.bytes;
	r->context.look_at = conversation_bytes(r->conv) + (lim.drop_at > had ? lim.drop_at - had : 0);
	if (how == ELIDE_DOWN && had <= lim.drop_at)
		return 0;
	drop_repeats(&l, how);
	drop_old(&l, how, want, false, gists);
	drop_old(&l, how, want, true, gists);
	demoted = how == ELIDE_DOWN && l.bytes <= lim.drop_at ? 0 : demote(&l, how, want);
	if (l.bytes == had || (how == ELIDE_DOWN && had - l.bytes < lim.drop_at / 8)) {
		r->context.look_at = conversation_bytes(r->conv) + lim.drop_at / 8;
		return 0; /* not worth a new prefix; the summary comes in time */
	}
	before = conversation_bytes(r->conv);
	TRY(put_counts(r, &l, demoted, err));
	TRY(apply(r, &l, &first, err));
	TRY(drop_pictures(r, how, l.newest, &first, err));
	TRY(drop_thoughts(r, &first, err));
	*freed = before - conversation_bytes(r->conv);
	r->context.look_at = conversation_bytes(r->conv) + lim.drop_at / 8;
	return context_record_from(r, first, err);
}
