/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/facts.h"

#include "fmt/json.h"
#include "fmt/pack.h"
#include "git/gitop.h"
#include "session/journal.h"
#include "sys/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static struct str_list strs_of(const json_t *list, struct arena *mem)
{
	struct str_list out = { arena_array(mem, json_array_size(list) + 1, sizeof(*out.p)), 0 };

	for (size_t i = 0; i < json_array_size(list) && i < FACTS_NAMES; i++)
		out.p[out.n++] = str_dup(mem, json_view(json_array_get(list, i)));
	return out;
}

/* The journal's last line, when it is the end of a leg: why that leg ended, and what it left in no commit. */
static int read_last(int record, struct arena *mem, struct facts *out, struct err *err)
{
	auto_buf struct buf tail = BUF_MAX(2 * JOURNAL_LINE);
	autoclose int fd = -1;
	auto_json json_t *line = NULL;
	struct stat st;
	int r = file_open(record, JOURNAL_NAME, true, &fd, err);

	if (r == -ERR_NOENT) /* it never began */
		return 0;
	TRY(r);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "stat the journal");
	if (st.st_size > (off_t)tail.max && lseek(fd, st.st_size - (off_t)tail.max, SEEK_SET) < 0)
		return err_sys(err, errno, "seek in the journal");
	TRY(file_read_fd(fd, &tail, err));
	struct str text = str_trim_suffix(buf_str(&tail), STR("\n"));
	size_t nl = str_rfind(text, '\n');

	text = nl < text.n ? str_skip(text, nl + 1) : text;
	if (json_decode(text, JSON_REPAIR, &line, ERR_DISCARD) < 0)
		return 0; /* a torn tail: it did not end, it was cut off */
	if (str_eqz(json_get_str(line, "type"), "run.end")) {
		out->reason = str_dup(mem, json_get_str(line, "reason"));
		out->edited_untracked = strs_of(json_object_get(line, "edited_untracked"), mem);
		out->deleted_untracked = strs_of(json_object_get(line, "deleted_untracked"), mem);
	}
	return 0;
}

static struct str clipped(struct str text, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(FACTS_TOLD + 256);

	BUG_IF(buf_add_clipped(&b, text, FACTS_TOLD / 2, FACTS_TOLD / 2, ERR_DISCARD) < 0);
	return str_dup(mem, buf_str(&b));
}

static void take_line(struct str line, struct arena *mem, struct facts *f)
{
	auto_json json_t *j = NULL;

	if (str_find(line, STR("\"run.end\"")) == line.n && str_find(line, STR("\"diff.updated\"")) == line.n)
		return;
	if (json_decode(str_trim(line), JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return;
	if (str_eqz(json_get_str(j, "type"), "run.end")) {
		f->ended = clipped(json_get_str(j, "reason"), mem);
		f->outcome = clipped(json_get_str(j, "summary"), mem);
		f->message = clipped(json_get_str(j, "message"), mem);
	} else if (str_eqz(json_get_str(j, "type"), "diff.updated")) {
		f->change = clipped(json_get_str(j, "patch"), mem);
	}
}

static int read_ending(int record, struct arena *mem, struct facts *f, struct err *err)
{
	auto_buf struct buf journal = BUF_MAX(FACTS_JOURNAL);

	TRY(file_read(record, JOURNAL_NAME, &journal, err));
	for (struct str rest = buf_str(&journal); rest.n > 0;)
		take_line(str_line(&rest), mem, f);
	return 0;
}

int facts_read(int record_fd, bool ending, struct arena *mem, struct facts *out, struct err *err)
{
	struct facts f = { 0 };

	TRY(manifest_load(record_fd, mem, &f.manifest, err));
	TRY(read_last(record_fd, mem, &f, err));
	if (ending)
		TRY(read_ending(record_fd, mem, &f, err));
	*out = f;
	return 0;
}

/* ---- carrying ---- */

#define PACK_STR(m)  pack_str(out, f->manifest.m);
#define PACK_INT(m)  pack_i64(out, f->manifest.m);
#define PACK_STRS(m) pack_strs(out, f->manifest.m.p, f->manifest.m.n);
#define TAKE_STR(m)  f.manifest.m = str_dup(mem, unpack_str(&u));
#define TAKE_INT(m)  f.manifest.m = unpack_i64(&u);
#define TAKE_STRS(m) take_strs(&u, mem, &f.manifest.m);

static struct str *const *texts_of(struct facts *f, struct str *at[5])
{
	at[0] = &f->reason;
	at[1] = &f->ended;
	at[2] = &f->outcome;
	at[3] = &f->message;
	at[4] = &f->change;
	return at;
}

void facts_pack(const struct facts *f, struct buf *out)
{
	struct facts copy = *f;
	struct str *at[5];

	pack_i64(out, f->manifest.version);
#define X(kind, who, member, name) PACK_##kind(member)
	MANIFEST_MEMBERS(X)
#undef X
	pack_strs(out, f->edited_untracked.p, f->edited_untracked.n);
	pack_strs(out, f->deleted_untracked.p, f->deleted_untracked.n);
	texts_of(&copy, at);
	for (size_t i = 0; i < COUNT(at); i++)
		pack_str(out, *at[i]);
}

static void take_strs(struct unpack *u, struct arena *mem, struct str_list *out)
{
	struct str *list = unpack_strs(u, mem, PACK_STRS_MAX, &out->n);

	for (size_t i = 0; i < out->n; i++)
		list[i] = str_dup(mem, list[i]);
	out->p = list;
}

/* What later calls hand to git as a commit. Whatever else is a text is checked by who uses it, as it always was. */
static bool commits_ok(const struct manifest *m)
{
	const struct str all[] = { m->base_sha, m->forked_from_sha, m->merged_sha, m->merged_tip, m->stash };

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i].n > 0 && !git_sha_ok(all[i]))
			return false;
	return true;
}

int facts_unpack(struct str bytes, struct arena *mem, struct facts *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct facts f = { 0 };
	struct str *at[5];

	f.manifest.version = unpack_i64(&u);
#define X(kind, who, member, name) TAKE_##kind(member)
	MANIFEST_MEMBERS(X)
#undef X
	take_strs(&u, mem, &f.edited_untracked);
	take_strs(&u, mem, &f.deleted_untracked);
	texts_of(&f, at);
	for (size_t i = 0; i < COUNT(at); i++)
		*at[i] = str_dup(mem, unpack_str(&u));
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "what was read of the record does not decode");
	if (!commits_ok(&f.manifest))
		return err_set(err, ERR_INVALID, "manifest.json names a commit that cannot be one");
	*out = f;
	return 0;
}
