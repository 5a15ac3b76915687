/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/fold_priv.h"

#include "view/brief.h"

#include <stdio.h>
#include <string.h>

/* ---- members of the current line ---- */

void members_read(struct view *v, struct str line)
{
	struct jval obj = jval_from(line), key, value;

	v->nmembers = 0;
	for (size_t pos = 0; v->nmembers < MEMBERS_MAX && jval_next(obj, &pos, &key, &value);) {
		v->members[v->nmembers].key = str_of(key.text.p + 1, key.text.n - 2);
		v->members[v->nmembers++].value = value;
	}
}

struct jval member_get(const struct view *v, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < v->nmembers; i++)
		if (v->members[i].key.n == n && memcmp(v->members[i].key.p, name, n) == 0)
			return v->members[i].value;
	return (struct jval){ .type = JSCAN_NONE };
}

/* scratch was reserved for the whole line, so earlier views into it stay where they are. */
struct str member_text(struct view *v, const char *name)
{
	struct jval j = member_get(v, name);
	size_t at = v->scratch.n;

	if (j.type != JSCAN_STRING || jval_add_text(&v->scratch, j, NUL_KEEP, ERR_DISCARD) < 0)
		return STR("");
	jtext_repair(&v->scratch, at);
	return str_skip(buf_str(&v->scratch), at);
}

int64_t member_int(const struct view *v, const char *name, int64_t dflt)
{
	int64_t n;

	return jval_to_i64(member_get(v, name), &n) ? n : dflt;
}

double member_num(const struct view *v, const char *name, double dflt)
{
	double d;

	return jval_to_f64(member_get(v, name), &d) ? d : dflt;
}

bool member_flag(const struct view *v, const char *name)
{
	return member_get(v, name).type == JSCAN_TRUE;
}

enum tri member_tri(const struct view *v, const char *name)
{
	struct jval j = member_get(v, name);

	return j.type == JSCAN_TRUE ? TRI_TRUE : j.type == JSCAN_FALSE ? TRI_FALSE : TRI_NULL;
}

struct str member_brief(struct view *v, const char *name)
{
	size_t at = v->scratch.n;

	if (brief_args(member_get(v, name), &v->scratch, ERR_DISCARD) < 0)
		return STR("");
	return str_skip(buf_str(&v->scratch), at);
}

struct str member_whole(struct view *v, const char *name)
{
	size_t at = v->scratch.n;

	if (brief_upto(member_get(v, name), WHOLE_BYTES, &v->scratch, ERR_DISCARD) < 0)
		return STR("");
	return str_skip(buf_str(&v->scratch), at);
}

/* ---- keeping ---- */

void keep_text(struct buf *b, struct str s)
{
	if (b->max == 0)
		*b = BUF_MAX(TEXT_BYTES);
	buf_clear(b);
	BUG_IF(buf_add(b, str_head(s, utf8_head(s, TEXT_BYTES)), ERR_DISCARD) < 0);
}

void keep_z(char *to, size_t size, struct str s)
{
	snprintf(to, size, STR_FMT, STR_ARG(str_head(s, utf8_head(s, size - 1))));
}

void keep_strs(struct view *v, const char *name, struct buf *out)
{
	struct jval list = member_get(v, name), item;

	if (out->max == 0)
		*out = BUF_MAX(TEXT_BYTES);
	buf_clear(out);
	for (size_t pos = 0; jval_next(list, &pos, NULL, &item);)
		if (jval_add_text(out, item, NUL_REPLACE, ERR_DISCARD) < 0 || buf_addc(out, '\n', ERR_DISCARD) < 0)
			return;
}

struct str_list view_names(const struct buf *lines, struct arena *mem)
{
	struct str_list l = { 0 };
	size_t n = 0;

	for (struct str rest = buf_str(lines); rest.n > 0; n++)
		str_line(&rest);
	l.p = arena_array(mem, n + 1, sizeof(*l.p));
	for (struct str rest = buf_str(lines); rest.n > 0;)
		l.p[l.n++] = str_trim_suffix(str_line(&rest), STR("\n"));
	return l;
}
