/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/store.h"

#include "session/append.h"
#include "session/chain.h"
#include "session/journal.h"
#include "session/manifest.h"
#include "session/record.h"
#include "session/talk.h"

#include "base/time.h"
#include "base/vec.h"
#include "fmt/jscan.h"
#include "fmt/pack.h"
#include "sys/fault.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FAULTY(call)    ((errno = fault_hit()) != 0 ? -1 : (call))
#define MESSAGES_MAX    ((int64_t)2 << 30)
#define TRANSCRIPTS_MAX ((int64_t)8 << 30) /* bytes of one leg, */
#define TRANSCRIPT_MIN  (64 * 1024)        /* what each counts for at least: 131072 files in one leg */
#define TRANSCRIPT_DIR  "transcripts"
#define AGAIN_MAX       1000 /* transcripts of one number */

struct store {
	int dir;
	struct journal *journal;
	struct append messages;
	uint32_t count;           /* messages as the writer sees them */
	uint32_t in_file;         /* as the lines in the file add up */
	uint32_t back_turn;       /* the checkpoint that was loaded */
	bool back;                /* say so before the next line */
	int64_t transcript_bytes;
	bool named; /* the names of new files are on disk */
	bool lost;
	char why[256]; /* it was lost */
	bool work; /* what is here tells of something that happened */
	/* The conversation as it was read at the opening, until it was loaded or grows. */
	struct buf text;
	struct talk talk;
	bool is_read;
};

/* ---- what a sender may hand over ---- */

static int check_line(struct str json, const char *what, struct err *err)
{
	for (size_t i = 0; i < json.n; i++)
		if ((unsigned char)json.p[i] < 0x20)
			return err_set(err, ERR_INVALID, "%s: byte %zu is a control character, JSON on one line is wanted",
				what, i);
	if (!utf8_valid(json))
		return err_set(err, ERR_INVALID, "%s: it is not UTF-8", what);
	if (jval_from(json).type != JSCAN_OBJECT)
		return err_set(err, ERR_INVALID, "%s: it is not a JSON object", what);
	return 0;
}

/* A write failed: from here on nothing is saved, and everybody hears it. */
static int lose(struct store *s, int r, const struct err *err)
{
	if (r < 0 && !s->lost)
		snprintf(s->why, sizeof(s->why), "%.255s", err->msg);
	if (r < 0)
		s->lost = true;
	return r;
}

static int alive(const struct store *s, struct err *err)
{
	return s->lost ? err_set(err, ERR_CLOSED, "%s", s->why) : 0;
}

/* ---- events ---- */

static int write_event(struct store *s, enum event_id id, json_t *fields, struct err *err)
{
	return lose(s, journal_append(s->journal, event_at(id), fields, err), err);
}

static bool tells_of_work(const struct event_type *t)
{
	static const enum event_id ids[] = { EVENT_ROLE_CALL, EVENT_TOOL_CALL, EVENT_APPROVAL_PROMPT, EVENT_AUTO_COMMIT,
		EVENT_JAIL_NEWGIT, EVENT_JAIL_GIT_CHANGED };

	for (size_t i = 0; i < COUNT(ids); i++)
		if (t == event_at(ids[i]))
			return true;
	return false;
}

/* What the person said, and how the run is held, the monitor has set before: views show it by the agent's event. */
static int says_as_set(const struct store *s, const struct event_type *t, const json_t *fields, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct manifest m = { 0 };

	if (t != event_at(EVENT_RUN_START) && t != event_at(EVENT_RUN_RESUME))
		return 0;
	int r = manifest_load(s->dir, mem, &m, err);

	if (r < 0)
		return r == -ERR_NOENT ? 0 : r;
	const struct {
		const char *name;
		struct str set;
	} rows[] = { { "user_task", m.user_task }, { "isolation", m.isolation } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		const json_t *v = json_object_get(fields, rows[i].name);

		if (json_is_string(v) && rows[i].set.n > 0 && !str_eq(str_of(json_string_value(v), json_string_length(v)), rows[i].set))
			return err_set(err, ERR_INVALID, "%s: \"%s\" is not what was set before the run", t->type, rows[i].name);
	}
	return 0;
}

int store_event(struct store *s, unsigned sender, struct str type, struct str json, struct err *err)
{
	const struct event_type *t = event_find(type);
	auto_json json_t *fields = NULL;

	TRY(alive(s, err));
	if (!t)
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not an event", STR_ARG(str_head(type, 64)));
	if (!(t->flags & sender))
		return err_set(err, ERR_INVALID, "%s is not this sender's to write", t->type);
	if (json.n > EVENT_JSON_MAX)
		return err_set(err, ERR_INVALID, "%s: longer than %d bytes", t->type, EVENT_JSON_MAX);
	if (json_decode(json, JSON_EXACT, &fields, err) < 0)
		return err_wrap(err, "%s", t->type);
	TRY(event_check(t, fields, err));
	TRY(sender == EVENT_AGENT ? says_as_set(s, t, fields, err) : 0);
	s->work = s->work || tells_of_work(t);
	return lose(s, journal_append(s->journal, t, fields, err), err);
}

/* ---- the conversation ---- */

static void forget_talk(struct store *s)
{
	talk_fini(&s->talk);
	buf_fini(&s->text);
	s->talk = (struct talk){ 0 };
	s->is_read = false;
}

/* Lines go out together: a cut and what follows it must not be parted by a full disk. */
static int write_lines(struct store *s, struct buf *lines, uint32_t count_after, struct err *err)
{
	forget_talk(s);
	TRY(lose(s, append_write(&s->messages, buf_str(lines), err), err));
	s->count = s->in_file = count_after;
	s->back = false;
	return 0;
}

static int begin_lines(const struct store *s, struct buf *lines, struct err *err)
{
	if (s->back)
		TRY(buf_addf(lines, err, "{\"back\":%u}\n", s->back_turn));
	return s->count < s->in_file ? buf_addf(lines, err, "{\"cut\":%u}\n", s->count) : 0;
}

/* Whoever cuts the journal off after this line is found out by it. */
static int add_witness(const struct store *s, struct buf *lines, struct err *err)
{
	struct journal_head at = journal_head(s->journal);

	return at.seq > 0 ? buf_addf(lines, err, "{\"journal\":%lld,\"h\":\"%s\"}\n", (long long)at.seq, at.h) : 0;
}

int store_message(struct store *s, uint32_t index, struct str json, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_MESSAGE_MAX + 256);

	TRY(alive(s, err));
	if (index != s->count)
		return err_set(err, ERR_INVALID, "message %u came when %u was next", index, s->count);
	TRY(check_line(json, "message", err));
	TRY(begin_lines(s, &b, err));
	TRY(buf_addf(&b, err, "{\"i\":%u,\"message\":", index));
	TRY(buf_add(&b, json, err));
	TRY(buf_addz(&b, "}\n", err));
	return write_lines(s, &b, index + 1, err);
}

int store_state(struct store *s, uint32_t turn, struct str json, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_STATE_MAX + 256);

	TRY(alive(s, err));
	TRY(check_line(json, "state", err));
	s->work = true;
	TRY(begin_lines(s, &b, err));
	TRY(add_witness(s, &b, err));
	TRY(buf_addf(&b, err, "{\"turn\":%u,\"state\":", turn));
	TRY(buf_add(&b, json, err));
	TRY(buf_addz(&b, "}\n", err));
	return write_lines(s, &b, s->count, err);
}

int store_restart(struct store *s, uint32_t kept, struct err *err)
{
	TRY(alive(s, err));
	if (kept > s->count)
		return err_set(err, ERR_INVALID, "%u messages cannot be kept, there are %u", kept, s->count);
	s->count = kept; /* the cut is written with what follows it */
	return 0;
}

int store_in_flight(struct store *s, struct str json, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_SMALL_MAX + 256);

	TRY(alive(s, err));
	if (json.n > 0)
		TRY(check_line(json, "in flight", err));
	TRY(begin_lines(s, &b, err));
	TRY(add_witness(s, &b, err));
	TRY(buf_addz(&b, "{\"in_flight\":", err));
	TRY(buf_add(&b, json.n > 0 ? json : STR("null"), err));
	TRY(buf_addz(&b, "}\n", err));
	return write_lines(s, &b, s->count, err);
}

/* ---- other files ---- */

/* What stands there was recorded and stays: a number that is used again gets a name beside it. */
static int open_new(int dir, uint32_t seq, char name[static 64], int *out, struct err *err)
{
	snprintf(name, 64, "%04u.json", seq);
	for (unsigned again = 2; again <= AGAIN_MAX; again++) {
		*out = FAULTY(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
		if (*out >= 0 || errno != EEXIST)
			break;
		snprintf(name, 64, "%04u-%u.json", seq, again);
	}
	return *out < 0 ? err_sys(err, errno, "create %s", name) : 0;
}

static int write_new(int dir, uint32_t seq, struct str bytes, struct err *err)
{
	autoclose int fd = -1;
	char name[64];

	TRY(open_new(dir, seq, name, &fd, err));
	int r = file_write_fd(fd, bytes, err);
	if (r < 0) {
		unlinkat(dir, name, 0);
		return err_wrap(err, "%s", name);
	}
	return 0;
}

static int write_transcript(struct store *s, uint32_t seq, struct str bytes, struct err *err)
{
	autoclose int dir = -1;

	int64_t size = bytes.n > TRANSCRIPT_MIN ? (int64_t)bytes.n : TRANSCRIPT_MIN;

	if (s->transcript_bytes + size > TRANSCRIPTS_MAX)
		return err_set(err, ERR_LIMIT, "transcripts would grow past %lld bytes", (long long)TRANSCRIPTS_MAX);
	if (FAULTY(mkdirat(s->dir, TRANSCRIPT_DIR, 0700)) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make directory %s", TRANSCRIPT_DIR);
	TRY(dir_open(s->dir, TRANSCRIPT_DIR, &dir, err));
	TRY(write_new(dir, seq, bytes, err));
	s->transcript_bytes += size;
	return 0;
}

int store_transcript(struct store *s, uint32_t seq, struct str role, struct str json, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_TRANSCRIPT_MAX + 1024);
	struct str rest = str_skip(json, 1);
	char ts[TIME_ISO_MAX];

	TRY(alive(s, err));
	TRY(check_line(json, "transcript", err));
	s->work = true;
	if (role.n > 64)
		return err_set(err, ERR_INVALID, "transcript: the role's name is longer than 64 bytes");
	TRY(buf_addf(&b, err, "{\"ts\":\"%s\",\"seq\":%u", time_iso(time_now_us(), ts), seq));
	TRY(json_add_member(&b, "seat", role, err));
	TRY(str_eq(rest, STR("}")) ? 0 : buf_addc(&b, ',', err));
	TRY(buf_add(&b, rest, err));
	TRY(buf_addc(&b, '\n', err));
	return lose(s, write_transcript(s, seq, buf_str(&b), err), err);
}

/* The journal first, so that what it says last can be done again when a kill or a power cut came between the two. */
int store_manifest(struct store *s, unsigned who, struct str json, struct err *err)
{
	auto_json json_t *members = NULL, *fields = json_object();

	TRY(alive(s, err));
	TRY(manifest_check(who, json, &members, err));
	BUG_IF(!fields || json_object_set(fields, "members", members) < 0);
	TRY(write_event(s, EVENT_RECORD_MANIFEST, fields, err));
	TRY(lose(s, journal_sync(s->journal, err), err));
	return lose(s, manifest_merge(s->dir, who, json, err), err);
}

int store_file(struct store *s, struct str name, struct str bytes, struct err *err)
{
	auto_buf struct buf z = BUF_MAX(64);
	const char *path;

	TRY(alive(s, err));
	if (!record_file_ok(name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a file of the record", STR_ARG(str_head(name, 64)));
	TRY(buf_add(&z, name, err));
	TRY(buf_cstr(&z, &path, err));
	return lose(s, file_replace(s->dir, path, bytes, 0600, err), err);
}

/* The names of new files must be on disk before their content is called durable. */
static int sync_names(struct store *s, struct err *err)
{
	if (s->named)
		return 0;
	if (FAULTY(fsync(s->dir)) < 0 && errno != EINVAL)
		return err_sys(err, errno, "fsync the run's directory");
	s->named = true;
	return 0;
}

/* The conversation first: a journal that tells of a turn has the turn behind it. */
int store_sync(struct store *s, struct err *err)
{
	TRY(alive(s, err));
	TRY(lose(s, sync_names(s, err), err));
	TRY(lose(s, append_sync(&s->messages, err), err));
	return lose(s, journal_sync(s->journal, err), err);
}

int store_end(struct store *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(256);

	TRY(alive(s, err));
	TRY(add_witness(s, &b, err));
	if (b.n > 0)
		TRY(lose(s, append_write(&s->messages, buf_str(&b), err), err));
	return store_sync(s, err);
}

/* ---- opening and loading ---- */

static int pack_loaded(const struct talk *r, struct buf *out, struct err *err)
{
	struct str marker = str_eqz(r->in_flight, "null") ? STR("") : r->in_flight;

	pack_u32(out, r->turn);
	pack_str(out, r->state);
	pack_str(out, marker);
	pack_u32(out, r->kept);
	for (uint32_t i = 0; i < r->kept; i++)
		pack_str(out, talk_message(r, i));
	return pack_ok(out, err);
}

static int read_talk(struct store *s, int64_t *bad, struct err *err)
{
	forget_talk(s);
	s->text = BUF_MAX((size_t)MESSAGES_MAX + 1);
	TRY(append_tail(&s->messages, (size_t)s->messages.size, &s->text, err));
	*bad = talk_all(&s->talk, buf_str(&s->text));
	s->is_read = true;
	return 0;
}

static int load_newest(struct store *s, struct buf *out, struct err *err)
{
	int64_t bad;

	if (!s->is_read)
		TRY(read_talk(s, &bad, err));
	const struct talk *t = &s->talk;
	bool found = t->found;

	s->in_file = found ? t->kept : (uint32_t)t->now.n;
	s->count = found ? t->kept : 0;
	s->back = found;
	s->back_turn = t->turn;
	int r = found ? pack_loaded(t, out, err) : 0;

	forget_talk(s);
	return r < 0 ? r : found;
}

int store_load(struct store *s, uint32_t turn, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX((size_t)MESSAGES_MAX + 1);
	auto_talk struct talk t = { 0 };

	if (turn == UINT32_MAX)
		return load_newest(s, out, err);
	TRY(append_tail(&s->messages, (size_t)s->messages.size, &text, err));
	talk_all(&t, talk_until(buf_str(&text), turn));
	if (!t.found)
		return 0;
	TRY(pack_loaded(&t, out, err));
	return 1;
}

static int tell(struct store *s, enum event_id id, json_t *taken, struct err *err)
{
	auto_json json_t *fields = taken;

	BUG_IF(!fields);
	return write_event(s, id, fields, err);
}

static int tell_torn(struct store *s, const char *file, int64_t bytes, struct err *err)
{
	if (bytes == 0)
		return 0;
	return tell(s, EVENT_RECORD_TORN, json_pack("{s:I, s:s}", "bytes", (json_int_t)bytes, "file", file), err);
}

static int tell_damaged(struct store *s, const char *file, int64_t lines, struct err *err)
{
	if (lines == 0)
		return 0;
	return tell(s, EVENT_RECORD_DAMAGED,
		json_pack("{s:I, s:s+}", "lines", (json_int_t)lines, "detail", file, " has lines that cannot be read back"),
		err);
}

/* The conversation has seen more of the journal than there is, or another one. */
static int tell_cut(struct store *s, struct err *err)
{
	const struct talk_witness *seen = &s->talk.seen;
	struct journal_head at = journal_head(s->journal);

	if (!s->is_read || seen->n < at.seq || (seen->n == at.seq && str_eqz(seen->h, at.h)) || seen->n == 0)
		return 0;
	return tell(s, EVENT_RECORD_CUT, json_pack("{s:I, s:I}", "ended", (json_int_t)at.seq, "seen", (json_int_t)seen->n), err);
}

/* A kill came after the event that says what the manifest shall say and before it did. */
static int set_again(struct store *s, struct err *err)
{
	struct journal_line l = line_parse(journal_newest(s->journal));
	auto_json json_t *event = NULL;
	auto_buf struct buf members = BUF_MAX(MANIFEST_MAX);

	if (l.kind != LINE_DURABLE || !str_eqz(l.type, event_at(EVENT_RECORD_MANIFEST)->type) ||
		json_decode(journal_newest(s->journal), JSON_EXACT, &event, ERR_DISCARD) < 0 ||
		!json_object_get(event, "members"))
		return 0;
	TRY(json_add(&members, json_object_get(event, "members"), err));
	return manifest_merge(s->dir, MANIFEST_HO, buf_str(&members), err);
}

/* How the conversation's lines add up, for a writer that goes on without loading. */
static int count_messages(struct store *s, int64_t *bad, struct err *err)
{
	if (s->messages.size == 0)
		return 0;
	TRY(read_talk(s, bad, err));
	s->in_file = s->count = (uint32_t)s->talk.now.n;
	return 0;
}

int store_open(int record_fd, struct store **out, struct err *err)
{
	auto_store struct store *s = mem_alloc(sizeof(*s));
	struct journal_state st;
	int64_t torn = 0, bad = 0;

	s->dir = record_fd;
	s->messages = APPEND_NONE;
	TRY(journal_open(record_fd, &s->journal, &st, err));
	TRY(append_open(record_fd, STORE_MESSAGES, MESSAGES_MAX, &s->messages, &torn, err));
	TRY(count_messages(s, &bad, err));
	s->work = st.lines > 0 || s->messages.size > 0;
	TRY(set_again(s, err));
	TRY(tell_cut(s, err));
	TRY(tell_torn(s, JOURNAL_NAME, st.torn_bytes, err));
	TRY(tell_torn(s, STORE_MESSAGES, torn, err));
	TRY(tell_damaged(s, JOURNAL_NAME, st.damaged_lines, err));
	TRY(tell_damaged(s, STORE_MESSAGES, bad, err));
	*out = take(&s);
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	journal_close(s->journal);
	append_close(&s->messages);
	forget_talk(s);
	free(s);
}

bool store_is_lost(const struct store *s)
{
	return s->lost;
}

int store_lose(struct store *s, int r, const struct err *err)
{
	return lose(s, r, err);
}

bool store_tells_of_work(const struct store *s)
{
	return s->work;
}
