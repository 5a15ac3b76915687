/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/fork.h"

#include "session/journal.h"
#include "session/manifest.h"
#include "session/record.h"
#include "session/store.h"
#include "session/talk.h"

#include "base/time.h"
#include "fmt/jscan.h"
#include "sys/file.h"

#define TEXT_MAX      ((size_t)2 << 30)
#define UNTRACKED     "untracked-at-start"
#define MANIFEST_NAME "manifest.json"
#define TEXT_SHOWN    16384
#define TURNS_NAMED   12

struct point {
	uint32_t turn, said;
	size_t end; /* of its line */
};

struct points {
	VEC(struct point);
};

struct counts {
	VEC(uint32_t); /* what the operator said in the messages up to and with this one */
};

/* How often the operator speaks in a message, and what was said last. A text of ours that gives their words stands in a
 * block of its own; what a model or a tool wrote is never at the beginning of one. */
static uint32_t said_in(struct str message, struct buf *words)
{
	struct jval content, block;
	uint32_t n = 0;

	if (!str_starts(message, STR("{\"role\":\"user\"")))
		return 0;
	content = jval_get(jval_from(message), "content");
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		auto_buf struct buf text = BUF_MAX(RECORD_MESSAGE_MAX);

		if (!jval_is(jval_get(block, "type"), "text") ||
			jval_add_text(&text, jval_get(block, "text"), NUL_REPLACE, ERR_DISCARD) < 0 ||
			!str_starts(buf_str(&text), STR(FORK_STEER)))
			continue;
		n++;
		buf_clear(words);
		if (buf_add(words, str_skip(buf_str(&text), strlen(FORK_STEER)), ERR_DISCARD) < 0)
			buf_clear(words);
	}
	return n;
}

/* Every checkpoint of the file with how much the operator had said by then. */
static void find_points(struct str text, struct points *out, uint32_t *now)
{
	auto_buf struct buf words = BUF_MAX(RECORD_MESSAGE_MAX);
	auto_talk struct talk t = { 0 };
	struct counts said = { 0 };

	for (struct str rest = text; rest.n > 0;) {
		struct str whole = str_line(&rest), line = str_trim_suffix(whole, STR("\n")), state;
		uint32_t turn;

		if (!talk_line(&t, line))
			continue;
		if (str_starts(line, STR("{\"back\":")))
			said.n = 0;
		said.n = said.n < t.now.n ? said.n : t.now.n;
		while (said.n < t.now.n) {
			/* The first message is the task itself. */
			uint32_t n = said.n > 0 ? said.p[said.n - 1] + said_in(t.now.p[said.n], &words) : 1;

			*vec_new(&said) = n;
		}
		if (talk_checkpoint(line, &turn, &state))
			*vec_new(out) = (struct point){ turn, said.n > 0 ? said.p[said.n - 1] : 1,
				(size_t)(whole.p + whole.n - text.p) };
	}
	*now = said.n > 0 ? said.p[said.n - 1] : 1;
	vec_fini(&said);
}

static int no_such_turn(const struct points *all, uint32_t turn, struct err *err)
{
	auto_buf struct buf list = BUF_MAX(1024);
	uint32_t last = UINT32_MAX;
	size_t named = 0;

	if (all->n == 0)
		return err_set(err, ERR_NOENT, "it has no checkpoint: it ended before its first turn");
	for (size_t i = all->n > TURNS_NAMED ? all->n - TURNS_NAMED : 0; i < all->n; i++) {
		if (all->p[i].turn == last)
			continue;
		last = all->p[i].turn;
		TRY(buf_addf(&list, err, "%s%u", named++ > 0 ? ", " : "", last));
	}
	return err_set(err, ERR_NOENT, "it has no checkpoint of turn %u; the %s ones are of turns " STR_FMT, turn,
		all->n > TURNS_NAMED ? "newest" : "only", STR_ARG(buf_str(&list)));
}

static const struct point *point_of_turn(const struct points *all, uint32_t turn)
{
	const struct point *found = NULL;

	for (size_t i = 0; i < all->n; i++)
		if (turn == FORK_NEWEST || all->p[i].turn == turn)
			found = &all->p[i];
	return found;
}

/* The newest one that knows less. Only the task was said: the very first one, before anything was done. */
static const struct point *point_before(const struct points *all, uint32_t said)
{
	if (said <= 1)
		return all->n >= 2 ? &all->p[0] : NULL;
	for (size_t i = all->n; i > 0; i--)
		if (all->p[i - 1].said < said)
			return &all->p[i - 1];
	return NULL;
}

/* Whether the monitor heard these words: nobody else can write that event. */
static bool was_heard(struct str journal, struct str words)
{
	const char *type = event_at(EVENT_RUN_STEER)->type;

	while (journal.n > 0) {
		auto_buf struct buf text = BUF_MAX(EVENT_JSON_MAX);
		struct str line = str_line(&journal);
		struct jval event;

		if (str_find(line, str_from(type)) == line.n)
			continue;
		event = jval_from(str_trim(line));
		if (jval_is(jval_get(event, "type"), type) &&
			jval_add_text(&text, jval_get(event, "text"), NUL_REPLACE, ERR_DISCARD) == 0 &&
			str_eq(str_trim(buf_str(&text)), words))
			return true;
	}
	return false;
}

/* What the operator said last; empty where the record does not say that they did. */
static int said_last(int from, struct str text, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf journal = BUF_MAX(JOURNAL_MAX), words = BUF_MAX(RECORD_MESSAGE_MAX);
	auto_talk struct talk t = { 0 };
	uint32_t n = 0;
	int r;

	talk_all(&t, text);
	for (size_t i = t.now.n; i > 1 && n == 0; i--)
		n = said_in(t.now.p[i - 1], &words);
	if (n == 0)
		return 0;
	r = file_read(from, JOURNAL_NAME, &journal, err);
	if (r < 0 && r != -ERR_NOENT)
		return r;
	if (was_heard(buf_str(&journal), str_trim(buf_str(&words))))
		*out = str_dup(mem, str_head(buf_str(&words), utf8_head(buf_str(&words), TEXT_SHOWN)));
	return 0;
}

/* ---- writing ---- */

/* What lies in the work tree by now is not what lay there then: the first leg of the fork must know that it is one. */
static int copy_state(struct store *s, const struct talk *t, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_MESSAGE_MAX);
	auto_json json_t *state = NULL;

	if (json_decode(t->state, JSON_EXACT, &state, err) < 0)
		return err_wrap(err, "the checkpoint of turn %u", t->turn);
	BUG_IF(json_object_set_new(state, "forked", json_integer(1)) < 0);
	TRY(json_add(&b, state, err));
	return store_state(s, t->turn, buf_str(&b), err);
}

static int copy_talk(struct store *s, const struct talk *t, struct err *err)
{
	for (uint32_t i = 0; i < t->kept; i++)
		TRY(store_message(s, i, talk_message(t, i), err));
	return copy_state(s, t, err);
}

static int copy_file(int from, struct store *s, const char *name, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_FILE_MAX);
	int r = file_read(from, name, &b, err);

	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	return store_file(s, str_from(name), buf_str(&b), err);
}

/* All of the parent's but what is its own: who it is, where it was merged, what it waited for. */
static int write_manifest(int from, int to, const struct fork_ask *ask, const struct fork_done *d, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(MANIFEST_MAX), own = BUF_MAX(4096);
	char now[TIME_ISO_MAX];

	TRY(file_read(from, MANIFEST_NAME, &text, err));
	TRY(file_replace(to, MANIFEST_NAME, buf_str(&text), 0600, err));
	TRY(buf_addz(&own, "{", err));
	TRY(json_add_member(&own, "run_id", ask->new_id, err));
	TRY(json_add_member(&own, "parent_run_id", ask->parent_id, err));
	TRY(json_add_member(&own, "start_ts", str_from(time_iso(time_now_us(), now)), err));
	TRY(json_add_member(&own, "forked_from_sha", d->sha, err));
	TRY(buf_addf(&own, err, ",\"forked_from_turn\":%u,\"run_branch\":null,\"parked_task\":null,\"parked_reason\":null,\"stash\":null,"
				"\"merged\":{\"into\":null,\"sha\":null,\"ts\":null,\"tip\":null}}", d->turn));
	return manifest_merge(to, MANIFEST_HO, buf_str(&own), err);
}

static int write_event(struct store *s, const struct fork_ask *ask, const struct fork_done *d, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "parent", ask->parent_id, err));
	TRY(buf_addf(&b, err, ",\"turn\":%u", d->turn));
	TRY(json_add_member(&b, "sha", d->sha, err));
	TRY(buf_addf(&b, err, ",\"undo\":%s}", ask->undo ? "true" : "false"));
	return store_event(s, EVENT_RECORDER, STR("run.forked"), buf_str(&b), err);
}

/* The whole of it is a fact of this journal as well. */
static int note_manifest(int to, struct store *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(MANIFEST_MAX + 64);
	auto_json json_t *members = NULL;

	TRY(manifest_members(to, &members, err));
	TRY(buf_addz(&b, "{\"members\":", err));
	TRY(json_add(&b, members, err));
	TRY(buf_addz(&b, "}", err));
	return store_event(s, EVENT_RECORDER, STR("record.manifest"), buf_str(&b), err);
}

static int write_all(int from, int to, const struct fork_ask *ask, const struct talk *t, const struct fork_done *d,
	struct err *err)
{
	auto_store struct store *s = NULL;

	TRY(write_manifest(from, to, ask, d, err));
	TRY(store_open(to, &s, err));
	TRY(write_event(s, ask, d, err));
	TRY(note_manifest(to, s, err));
	TRY(copy_file(from, s, UNTRACKED, err));
	TRY(copy_talk(s, t, err));
	return store_end(s, err);
}

/* ---- both ---- */

static int take_member(const json_t *obj, const char *key, struct arena *mem, struct str *out, struct err *err)
{
	struct str s = json_get_str(obj, key);

	if (s.n > 256)
		return err_set(err, ERR_INVALID, "\"%s\" of the record is %zu bytes long", key, s.n);
	*out = str_dup(mem, s);
	return 0;
}

static int read_facts(int from, struct str state, struct arena *mem, struct fork_done *d, struct err *err)
{
	auto_json json_t *j = NULL;
	struct manifest m;

	if (json_decode(state, JSON_EXACT, &j, err) < 0)
		return err_wrap(err, "the checkpoint of turn %u", d->turn);
	TRY(take_member(j, "head_sha", mem, &d->sha, err));
	TRY(manifest_load(from, mem, &m, err));
	if (m.parent_run_id.n <= 256)
		d->grandparent = m.parent_run_id;
	if (d->said <= 1)
		d->text = str_head(m.user_task, utf8_head(m.user_task, TEXT_SHOWN));
	return 0;
}

static int choose(const struct points *all, const struct fork_ask *ask, uint32_t now, struct fork_done *d,
	const struct point **out, struct err *err)
{
	if (!ask->undo) {
		*out = point_of_turn(all, ask->turn);
		d->found = *out != NULL;
		return *out ? 0 : no_such_turn(all, ask->turn, err);
	}
	d->said = ask->below > 0 ? ask->below : now;
	*out = point_before(all, d->said);
	d->found = *out != NULL;
	return 0;
}

/* The run may be at it: half a line at the end is none. */
static void keep_whole_lines(struct buf *text)
{
	size_t nl = str_rfind(buf_str(text), '\n');

	buf_shrink(text, nl < text->n ? nl + 1 : 0);
}

int fork_record(int from, int to, const struct fork_ask *ask, struct arena *mem, struct fork_done *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	auto_talk struct talk t = { 0 };
	struct points all = { 0 };
	struct fork_done d = { 0 };
	const struct point *at = NULL;
	uint32_t now;
	int r = file_read(from, STORE_MESSAGES, &text, err);

	if (r < 0 && r != -ERR_NOENT)
		return r;
	keep_whole_lines(&text);
	find_points(buf_str(&text), &all, &now);
	r = choose(&all, ask, now, &d, &at, err);
	size_t end = at ? at->end : 0;
	d.turn = at ? at->turn : 0;
	vec_fini(&all);
	TRY(r);
	talk_all(&t, str_head(buf_str(&text), end));
	if (ask->undo && ask->below == 0 && d.said > 1)
		TRY(said_last(from, buf_str(&text), mem, &d.text, err));
	TRY(read_facts(from, t.found ? t.state : STR("{}"), mem, &d, err));
	if (d.found)
		TRY(write_all(from, to, ask, &t, &d, err));
	*out = d;
	return 0;
}
