/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "sys/file.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>

#define ENTRIES_MAX 200000
#define SHOWN_MAX   55000 /* encoded bytes */

struct list_args {
	struct str path;
};

static const struct field fields[] = {
	{ "path", &field_str, offsetof(struct list_args, path), .dflt = "." },
};

/* A link is shown as what it leads to, as long as that is inside. */
static bool is_dir(int dirfd, const struct dir_entry *e)
{
	if (e->type != DT_LNK)
		return e->type == DT_DIR;
	autoclose int fd = file_openat2(dirfd, e->name.p, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	return fd >= 0;
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct list_args *a = args;
	struct tool_path p;
	struct dir_entry *list;
	size_t n, hidden = 0, shown = 0, size = 0;
	autoclose int fd = -1;

	TRY(path_resolve(ctx, a->path, PATH_READ, &p, err));
	TRY(path_open_dir(&p, &fd, err));
	if (dir_list(fd, ctx->mem, ENTRIES_MAX, &list, &n, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(p.shown));

	TRY(buf_addz(out, "{\"entries\":[", err));
	for (size_t i = 0; i < n; i++) {
		if (ctx->hide_paths && ctx->hide_paths->n > 0 && path_is_hidden(ctx, &p, list[i].name)) {
			hidden++;
			continue;
		}
		struct str name = is_dir(fd, &list[i]) ? str_printf(ctx->mem, STR_FMT "/", STR_ARG(list[i].name)) :
			list[i].name;

		name = cquote_dup(ctx->mem, name);
		size += result_quoted_size(name) + 1;
		if (size > SHOWN_MAX)
			break;
		TRY(buf_addz(out, shown > 0 ? "," : "", err));
		TRY(json_add_quoted(out, name, err));
		shown++;
	}
	TRY(buf_addc(out, ']', err));
	if (hidden > 0)
		TRY(buf_addf(out, err, ",\"hidden\":%zu", hidden));
	if (size > SHOWN_MAX)
		TRY(buf_addf(out, err, ",\"truncated\":true,\"total\":%zu", n));
	oc->summary = hidden > 0 ? str_printf(ctx->mem, "%zu entries, %zu hidden", shown, hidden) :
		str_printf(ctx->mem, "%zu entries", shown);
	return buf_addc(out, '}', err);
}

const struct tool tool_list_dir = {
	.name = "list_dir", .help = "List a directory; directories end in \"/\".",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct list_args),
	.modes = MODES_ALL, .effect = EFFECT_NONE, .run = run,
};
