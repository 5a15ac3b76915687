/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/lineage.h"

#include "session/append.h"

#include "base/time.h"
#include "base/vec.h"
#include "fmt/jscan.h"
#include "fmt/json.h"
#include "sys/file.h"

#include <fcntl.h>

#define LINEAGE_MAX ((int64_t)16 << 20)
#define MEMBER_MAX  256

int lineage_add(const char *repo_dir, const struct lineage *l, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);
	struct append file = APPEND_NONE;
	autoclose int dir = -1;
	char now[TIME_ISO_MAX];
	int64_t torn;
	int r;

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "child", l->child, err));
	TRY(json_add_member(&b, "parent", l->parent, err));
	TRY(buf_addf(&b, err, ",\"turn\":%lld", (long long)l->turn));
	TRY(json_add_member(&b, "sha", l->sha, err));
	TRY(json_add_member(&b, "ts", str_from(time_iso(time_now_us(), now)), err));
	TRY(buf_addz(&b, "}\n", err));
	TRY(dir_open(AT_FDCWD, repo_dir, &dir, err));
	TRY(append_open(dir, LINEAGE_NAME, LINEAGE_MAX, &file, &torn, err));
	r = append_write(&file, buf_str(&b), err);
	if (r == 0)
		r = append_sync(&file, err);
	append_close(&file);
	return r;
}

static bool read_member(struct jval line, const char *key, struct arena *mem, struct str *out)
{
	auto_buf struct buf b = BUF_MAX(MEMBER_MAX);
	struct jval v = jval_get(line, key);

	if (v.type != JSCAN_STRING || jval_add_text(&b, v, NUL_REPLACE, ERR_DISCARD) < 0)
		return false;
	*out = str_dup(mem, buf_str(&b));
	return true;
}

int lineage_load(const char *repo_dir, struct arena *mem, struct lineage **out, size_t *n, struct err *err)
{
	auto_buf struct buf text = BUF_MAX((size_t)LINEAGE_MAX);
	autoclose int dir = -1;
	size_t lines = 0;

	*n = 0;
	TRY(dir_open(AT_FDCWD, repo_dir, &dir, err));
	int r = file_read(dir, LINEAGE_NAME, &text, err);

	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	*out = arena_array(mem, lines + 1, sizeof(**out));
	for (struct str rest = buf_str(&text); rest.n > 0 && *n < lines;) {
		struct jval line = jval_from(str_line(&rest));
		struct lineage l = { 0 };

		if (read_member(line, "child", mem, &l.child) && read_member(line, "parent", mem, &l.parent) &&
			read_member(line, "sha", mem, &l.sha) && read_member(line, "ts", mem, &l.ts) &&
			jval_to_i64(jval_get(line, "turn"), &l.turn))
			(*out)[(*n)++] = l;
	}
	return 0;
}
