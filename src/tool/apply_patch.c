/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/vec.h"
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/change.h"
#include "tool/patch.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <string.h>

#define WHY_MAX    (128 * 1024)
#define LABELS_MAX (64 * 1024)
#define STAGED_MAX ((size_t)256 * 1024 * 1024) /* bytes of all files of one patch */

struct patch_args {
	struct str patch;
	struct str path;
};

static const struct field fields[] = {
	{ "patch", &field_str, offsetof(struct patch_args, patch), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.help = "unified diff, or *** Begin Patch format" },
	{ "path", &field_str, offsetof(struct patch_args, path), .dflt = "", .flags = FIELD_HIDDEN },
};

/* One file as it will be. Later sections of the patch start from here, not from the disk. */
struct staged {
	struct tool_path path;
	bool on_disk, there; /* it was; it will be */
	bool read;
	struct buf text;     /* as it will be */
	mode_t mode;
	struct tool_path like; /* it moved here from there */
	bool moved;
};

struct stage {
	struct tool_ctx *ctx;
	struct {
		VEC(struct staged);
	} files;
	struct buf labels, why;
	size_t loaded;
	int64_t written;
};

static void stage_fini(struct stage *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		buf_fini(&s->files.p[i].text);
	vec_fini(&s->files);
	buf_fini(&s->labels);
	buf_fini(&s->why);
}

static size_t staged_file(struct stage *s, const struct tool_path *p)
{
	for (size_t i = 0; i < s->files.n; i++)
		if (s->files.p[i].path.root == p->root && str_eq(s->files.p[i].path.rel, p->rel))
			return i;

	struct staged *f = vec_new(&s->files);
	f->path = *p;
	f->on_disk = f->there = p->exists;
	f->text = BUF_MAX(TOOL_FILE_MAX);
	return s->files.n - 1;
}

static int load(struct stage *s, struct staged *f, struct err *err)
{
	if (f->read || !f->on_disk)
		return 0;
	f->read = true;
	TRY(change_read(&f->path, TOOL_FILE_MAX, &f->text, err));
	s->loaded += f->text.n;
	if (s->loaded > STAGED_MAX)
		return err_set(err, ERR_LIMIT, "the files of this patch are larger than %zu MiB together; split the patch",
			STAGED_MAX / 1024 / 1024);
	return 0;
}

static int stage_add(struct stage *s, const struct patch_file *pf, size_t i, struct err *err)
{
	struct staged *f = &s->files.p[i];
	auto_buf struct buf labels = BUF_MAX(LABELS_MAX);

	if (f->there)
		return err_set(err, ERR_EXIST, STR_FMT " exists already; update it instead", STR_ARG(f->path.shown));
	buf_clear(&f->text);
	TRY(patch_apply(pf, STR(""), s->ctx->mem, &f->text, &labels, &s->why, err));
	f->there = true;
	f->mode = pf->mode;
	return 0;
}

static int add_labels(struct stage *s, struct str shown, struct str labels, struct err *err)
{
	while (labels.n > 0) {
		size_t end = str_find(labels, STR(", "));

		TRY(buf_addf(&s->labels, err, STR_FMT " " STR_FMT "\n", STR_ARG(shown), STR_ARG(str_head(labels, end))));
		labels = str_skip(labels, end + 2);
	}
	return 0;
}

static int stage_move(struct stage *s, size_t from, size_t to, struct err *err)
{
	struct staged *a = &s->files.p[from], *b = &s->files.p[to];

	if (b->there)
		return err_set(err, ERR_EXIST, STR_FMT " exists already; nothing is moved over it", STR_ARG(b->path.shown));
	b->text = a->text;
	a->text = BUF_MAX(TOOL_FILE_MAX);
	a->there = false;
	b->there = b->moved = true;
	b->like = a->path;
	if (b->mode == 0)
		b->mode = a->mode != 0 ? a->mode : a->path.st.st_mode & 07777;
	return 0;
}

static int stage_change(struct stage *s, const struct patch_file *pf, size_t from, size_t to, struct err *err)
{
	struct staged *f = &s->files.p[from];
	auto_buf struct buf text = BUF_MAX(2 * TOOL_FILE_MAX), labels = BUF_MAX(LABELS_MAX);

	if (!f->there)
		return err_set(err, ERR_NOENT, STR_FMT " does not exist", STR_ARG(f->path.shown));
	TRY(load(s, f, err));
	if (pf->op == PATCH_DELETE && pf->whole) {
		f->there = false;
		return 0;
	}
	if (patch_apply(pf, buf_str(&f->text), s->ctx->mem, &text, &labels, &s->why, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(f->path.shown));
	TRY(add_labels(s, f->path.shown, buf_str(&labels), err));
	buf_fini(&f->text);
	f->text = text;
	text = BUF_MAX(0);
	if (pf->mode != 0)
		f->mode = pf->mode;
	if (pf->op == PATCH_DELETE) {
		f->there = false;
		return 0;
	}
	return from == to ? 0 : stage_move(s, from, to, err);
}

/* Every path is checked before any file is looked at. */
static int resolve_all(struct tool_ctx *ctx, const struct patch_args *a, const struct patch *p,
	struct tool_path *old, struct tool_path *new, struct err *err)
{
	struct tool_path given = { 0 };

	if (a->path.n > 0)
		TRY(path_resolve(ctx, a->path, PATH_WRITE, &given, err));
	for (size_t i = 0; i < p->n; i++) {
		/* Names in a patch are decoded already; quoting them again keeps a leading quote a quote. */
		struct str from = cquote_dup(ctx->mem, p->files[i].old_path), to = cquote_dup(ctx->mem, p->files[i].new_path);

		if (p->files[i].old_path.n == 0) {
			if (!given.root)
				return err_set(err, ERR_SYNTAX, "the patch names no file: expected \"--- a/FILE\" and \"+++ b/FILE\" "
					"lines before the hunks");
			from = to = a->path;
		}
		TRY(path_resolve(ctx, from, PATH_WRITE, &old[i], err));
		TRY(path_resolve(ctx, to, PATH_WRITE, &new[i], err));
	}
	if (given.root && (p->n > 1 || !str_eq(given.rel, new[0].rel)))
		return err_set(err, ERR_INVALID, "path: \"" STR_FMT "\" is not the one file that the patch names; leave it out",
			STR_ARG(given.shown));
	return 0;
}

static int stage_all(struct stage *s, const struct patch *p, const struct tool_path *old,
	const struct tool_path *new, struct err *err)
{
	for (size_t i = 0; i < p->n; i++) {
		size_t from = staged_file(s, &old[i]), to = staged_file(s, &new[i]);

		if (p->files[i].op == PATCH_ADD)
			TRY(stage_add(s, &p->files[i], to, err));
		else
			TRY(stage_change(s, &p->files[i], from, to, err));
	}
	return 0;
}

static int commit(struct stage *s, struct err *err)
{
	struct change *list = arena_array(s->ctx->mem, s->files.n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < s->files.n; i++) {
		struct staged *f = &s->files.p[i];

		if (!f->on_disk && !f->there)
			continue;
		if (f->on_disk && f->there && !f->read)
			continue;
		list[n++] = (struct change){
			.kind = !f->on_disk ? CHANGE_CREATE : f->there ? CHANGE_REWRITE : CHANGE_DELETE,
			.path = f->path, .bytes = buf_str(&f->text), .mode = f->mode, .like = f->moved ? &f->like : NULL };
		s->written += f->there ? (int64_t)f->text.n : 0;
	}
	return changes_apply(list, n, err);
}

/* ------------------------------------------------------------------ the answer */

static int put_list(const struct stage *s, bool deleted, struct buf *out, struct err *err)
{
	const char *sep = "";

	for (size_t i = 0; i < s->files.n; i++) {
		const struct staged *f = &s->files.p[i];

		if (deleted ? !f->on_disk || f->there : !f->there)
			continue;
		TRY(buf_addz(out, sep, err));
		if (deleted) {
			TRY(json_add_quoted(out, f->path.shown, err));
		} else {
			TRY(buf_addc(out, '{', err));
			TRY(json_add_member(out, "path", f->path.shown, err));
			TRY(buf_addf(out, err, ",\"bytes_written\":%zu}", f->text.n));
		}
		sep = ",";
	}
	return 0;
}

static int put_healed(const struct stage *s, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, ",\"healed\":[", err));
	for (struct str rest = buf_str(&s->labels); rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');

		TRY(json_add_quoted(out, line, err));
		TRY(buf_addz(out, rest.n > 0 ? "," : "", err));
	}
	return buf_addc(out, ']', err);
}

static int done(struct stage *s, struct str first, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	size_t there = 0, deleted = 0;

	for (size_t i = 0; i < s->files.n; i++) {
		const struct staged *f = &s->files.p[i];

		there += f->there;
		deleted += f->on_disk && !f->there;
		outcome_add_path(s->ctx, oc, f->path.shown);
	}
	oc->edited = true;
	if (there == 0)
		oc->summary = str_printf(s->ctx->mem, "deleted path=" STR_FMT, STR_ARG(first));
	else if (there == 1 && deleted == 0)
		oc->summary = str_printf(s->ctx->mem, "patched path=" STR_FMT " bytes=%lld", STR_ARG(first),
			(long long)s->written);
	else
		oc->summary = str_printf(s->ctx->mem, "patched %zu files%s bytes=%lld", there,
			deleted > 0 ? str_printf(s->ctx->mem, ", deleted %zu", deleted).p : "", (long long)s->written);

	TRY(buf_addc(out, '{', err));
	TRY(json_add_member(out, "path", first, err));
	TRY(buf_addf(out, err, ",\"bytes_written\":%lld", (long long)s->written));
	if (s->files.n > 1) {
		TRY(buf_addz(out, ",\"files\":[", err));
		TRY(put_list(s, false, out, err));
		TRY(buf_addc(out, ']', err));
	}
	if (deleted > 0) {
		TRY(buf_addz(out, ",\"deleted\":[", err));
		TRY(put_list(s, true, out, err));
		TRY(buf_addc(out, ']', err));
	}
	if (s->labels.n > 0)
		TRY(put_healed(s, out, err));
	return buf_addc(out, '}', err);
}

static int not_applied(struct stage *s, const struct err *cause, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(WHY_MAX + 4096);

	TRY(buf_addf(&text, err, "%s. Nothing was applied. ", cause->msg));
	TRY(buf_add(&text, buf_str(&s->why), err));
	oc->ok = false;
	oc->summary = str_dup(s->ctx->mem, str_from(cause->msg));
	return result_error(out, buf_str(&text), err);
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct patch_args *a = args;
	CLEANUP(stage_fini) struct stage s = { .ctx = ctx, .labels = BUF_MAX(LABELS_MAX), .why = BUF_MAX(WHY_MAX) };
	struct patch p = { 0 };
	struct err cause = { 0 };

	TRY(patch_decode(a->patch, ctx->mem, &p, err));
	struct tool_path *old = arena_array(ctx->mem, p.n, sizeof(*old)), *new = arena_array(ctx->mem, p.n, sizeof(*new));
	TRY(resolve_all(ctx, a, &p, old, new, err));
	if (stage_all(&s, &p, old, new, &cause) < 0 || commit(&s, &cause) < 0)
		return not_applied(&s, &cause, out, oc, err);
	return done(&s, new[0].shown, out, oc, err);
}

const struct tool tool_apply_patch = {
	.name = "apply_patch",
	.help = "Apply a patch to one or more files, all or nothing. Can add, change, move and delete files.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct patch_args),
	.modes = MODE_RUN, .effect = EFFECT_EDIT, .run = run,
};
