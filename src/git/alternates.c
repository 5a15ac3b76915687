/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/alternates.h"
#include "base/buf.h"
#include "fmt/cquote.h"
#include "sys/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1 << 20)
#define DEEP_MAX 5 /* as git */

static int look_at(const char *objects, int depth, struct arena *mem, struct str_list *out, struct err *err);

static bool knows(const struct str_list *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eqz(l->p[i], path))
			return true;
	return false;
}

static int add(const char *objects, struct str line, int depth, struct arena *mem, struct str_list *out, struct err *err)
{
	const char *path;

	if (line.p[0] == '"' && cquote_read(line, mem, &line, err) < 0)
		return err_wrap(err, "%s/info/alternates", objects);
	path = line.n > 0 && line.p[0] == '/' ? str_dupz(mem, line) : str_printf(mem, "%s/" STR_FMT, objects, STR_ARG(line)).p;
	autofree char *real = realpath(path, NULL);

	if (!real || knows(out, real))
		return 0;
	if (out->n == ALTERNATES_MAX || depth == DEEP_MAX)
		return err_set(err, ERR_LIMIT, "%s/info/alternates leads too far", objects);
	out->p[out->n] = str_dup(mem, str_from(real));
	return look_at(out->p[out->n++].p, depth + 1, mem, out, err);
}

static int look_at(const char *objects, int depth, struct arena *mem, struct str_list *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(FILE_MAX);
	int r = file_read(AT_FDCWD, str_printf(mem, "%s/info/alternates", objects).p, &b, err);

	if (r < 0)
		return r == -ERR_NOENT ? 0 : r;
	/* git takes what it has read for a string of C. */
	for (struct str rest = str_head(buf_str(&b), str_find(buf_str(&b), STR("\0"))); rest.n > 0;) {
		struct str line = str_trim_suffix(str_line(&rest), STR("\n"));

		if (line.n > 0 && line.p[0] != '#')
			TRY(add(objects, line, depth, mem, out, err));
	}
	return 0;
}

int alternates_find(const char *common_dir, struct arena *mem, struct str_list *out, struct err *err)
{
	*out = (struct str_list){ arena_array(mem, ALTERNATES_MAX, sizeof(*out->p)), 0 };
	return look_at(str_printf(mem, "%s/objects", common_dir).p, 0, mem, out, err);
}
