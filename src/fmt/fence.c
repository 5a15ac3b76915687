/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/fence.h"

#include <string.h>
#include <strings.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Behind a '<'. */
static bool reads_like(struct str s, const char *tag)
{
	size_t n = strlen(tag), i = 0;

	while (i < s.n && (blank(s.p[i]) || s.p[i] == '/'))
		i++;
	return s.n - i >= n && strncasecmp(s.p + i, tag, n) == 0;
}

int fence_text(struct buf *out, const char *tag, struct str text, struct err *err)
{
	while (text.n > 0) {
		size_t at = str_find(text, STR("<"));

		TRY(buf_add_utf8(out, str_head(text, at), err));
		if (at == text.n)
			return 0;
		text = str_skip(text, at + 1);
		TRY(buf_addc(out, reads_like(text, tag) ? '(' : '<', err));
	}
	return 0;
}

int fence_add(struct buf *out, const char *tag, struct str attributes, struct str text, struct err *err)
{
	TRY(buf_addf(out, err, "<%s" STR_FMT ">\n", tag, STR_ARG(attributes)));
	TRY(fence_text(out, tag, text, err));
	return buf_addf(out, err, "%s</%s>\n", text.n > 0 && text.p[text.n - 1] == '\n' ? "" : "\n", tag);
}
