/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/proof.h"

#include "session/chain.h"
#include "session/manifest.h"
#include "session/store.h"
#include "session/talk.h"

#include "sys/file.h"

#include <stdlib.h>

#define TEXT_MAX  ((size_t)2 << 30)
#define VALUE_MAX (64 * 1024)
#define TRIES     16 /* a run sets something a few times in its life */

struct reading {
	struct arena *mem;
	struct str head;
	struct proof *p;
	struct {
		VEC(struct talk_witness);
	} seen;              /* by number; what they show lies in the text of the conversation */
	size_t next;         /* the first that the journal has not come to */
	json_t *set, *before; /* of the manifest: by all events, and by all but the newest when that set something; owned */
};

static void reading_fini(struct reading *r)
{
	vec_fini(&r->seen);
	json_decref(r->set);
	json_decref(r->before);
}

/* ---- what the conversation has seen ---- */

static int by_number(const void *a, const void *b)
{
	const struct talk_witness *x = a, *y = b;

	return (x->n > y->n) - (x->n < y->n);
}

static int read_witnesses(int record, struct buf *text, struct reading *r, struct err *err)
{
	struct talk_witness w;
	int found = file_read(record, STORE_MESSAGES, text, err);

	if (found == -ERR_NOENT)
		return 0;
	TRY(found);
	for (struct str rest = buf_str(text); rest.n > 0;)
		if (talk_witness(str_trim_suffix(str_line(&rest), STR("\n")), &w))
			*vec_new(&r->seen) = w;
	if (r->seen.n == 0)
		return 0;
	qsort(r->seen.p, r->seen.n, sizeof(*r->seen.p), by_number);
	r->p->seen = r->seen.p[r->seen.n - 1].n;
	return 0;
}

/* ---- the journal ---- */

static int take_members(struct reading *r, struct str line, struct err *err)
{
	auto_json json_t *event = NULL;

	if (json_decode(line, JSON_EXACT, &event, err) < 0)
		return err_wrap(err, "record.manifest");
	r->before = json_deep_copy(r->set);
	BUG_IF(!r->before);
	if (json_is_object(json_object_get(event, "members")))
		manifest_fold(r->set, json_object_get(event, "members"));
	return 0;
}

static int on_line(void *self, const struct journal_line *l, struct str line, struct err *err)
{
	struct reading *r = self;

	if (r->head.n > 0 && str_starts(l->h, r->head))
		r->p->head = l->seq;
	for (; r->next < r->seen.n && r->seen.p[r->next].n <= l->seq; r->next++)
		if (!str_eq(r->seen.p[r->next].h, l->h) && r->p->replaced == 0)
			r->p->replaced = l->seq;
	json_decref(r->before);
	r->before = NULL;
	return str_eqz(l->type, event_at(EVENT_RECORD_MANIFEST)->type) ? take_members(r, line, err) : 0;
}

static int read_journal(int record, struct reading *r, struct err *err)
{
	autoclose int fd = -1;
	int found = file_open(record, JOURNAL_NAME, true, &fd, err);

	if (found == -ERR_NOENT && r->seen.n > 0) { /* all of it is cut off */
		chain_first(r->p->journal.head);
		r->p->cut = true;
		return 0;
	}
	TRY(found);
	TRY(journal_walk(fd, on_line, r, &r->p->journal, err));
	r->p->cut = r->p->journal.bad_line == 0 && r->next < r->seen.n;
	return 0;
}

/* ---- the manifest ---- */

struct comparing {
	struct arena *mem;
	struct proof_difference *found;
};

static struct str value_text(const json_t *v, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(VALUE_MAX);

	if (!v)
		return STR("nothing");
	if (json_add(&b, v, ERR_DISCARD) < 0)
		return STR("a long value");
	return str_dup(mem, buf_str(&b));
}

static void differs(void *self, const char *name, const json_t *recorded, const json_t *found)
{
	struct comparing *c = self;
	struct proof_difference *d = arena_array(c->mem, 1, sizeof(*d)), **last = &c->found;

	*d = (struct proof_difference){ str_dup(c->mem, str_from(name)), value_text(recorded, c->mem),
		value_text(found, c->mem), NULL };
	while (*last)
		last = &(*last)->next;
	*last = d;
}

static struct proof_difference *differences(const json_t *now, const json_t *set, struct arena *mem)
{
	struct comparing c = { .mem = mem };

	manifest_compare(now, set, differs, &c);
	return c.found;
}

/* The newest event may say what a kill kept from being done, and then the file is as it was before. */
static void compare_manifest(const json_t *now, struct reading *r)
{
	r->p->differences = differences(now, r->set, r->mem);
	if (r->p->differences && r->before && !differences(now, r->before, r->mem))
		r->p->differences = NULL;
}

/* ---- both ---- */

bool proof_head_ok(struct str head)
{
	char all[JOURNAL_HEX];

	if (head.n < PROOF_HEAD_MIN || head.n > JOURNAL_HEX)
		return false;
	memset(all, '0', sizeof(all));
	memcpy(all, head.p, head.n);
	return chain_is_hash(str_of(all, sizeof(all)));
}

/* The conversation is read first: of a run that is at it the journal is never behind it then. moved: the run set something of
 * the manifest meanwhile, so that it and the journal are not of one time. */
static int read_all(int record_fd, struct str head, struct arena *mem, struct proof *out, bool *moved, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	struct proof p = { 0 };
	CLEANUP(reading_fini) struct reading r = { .mem = mem, .head = head, .p = &p, .set = json_object() };
	auto_json json_t *before = NULL, *after = NULL;

	BUG_IF(!r.set);
	TRY(manifest_read(record_fd, &before, err));
	TRY(read_witnesses(record_fd, &text, &r, err));
	TRY(read_journal(record_fd, &r, err));
	TRY(manifest_read(record_fd, &after, err));
	if (p.journal.bad_line == 0)
		compare_manifest(after, &r);
	*moved = before != after && !(before && after && json_equal(before, after));
	*out = p;
	return 0;
}

int proof_read(int record_fd, struct str head, struct arena *mem, struct proof *out, struct err *err)
{
	bool moved = true;

	for (int i = 0; i < TRIES && moved; i++) {
		TRY(read_all(record_fd, head, mem, out, &moved, err));
		moved = moved && out->differences;
	}
	return 0;
}

bool proof_is_whole(const struct proof *p, bool live, struct str head)
{
	return p->journal.bad_line == 0 && (live || p->journal.torn_bytes == 0) && !p->cut && p->replaced == 0 &&
		!p->differences && (head.n == 0 || p->head > 0);
}
