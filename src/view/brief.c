/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/brief.h"

#include "fmt/shellword.h"

#include <string.h>

/* Stops quietly when the text is longer than anybody reads. */
static int add_words(struct jval list, size_t max, struct buf *b, struct err *err)
{
	struct jval item;
	bool first = true;

	for (size_t pos = 0; b->n < max && jval_next(list, &pos, NULL, &item); first = false) {
		auto_buf struct buf word = BUF_MAX(item.text.n * 3 + 16);

		if (jval_add_text(&word, item, NUL_REPLACE, err) < 0)
			continue;
		TRY(first ? 0 : buf_addc(b, ' ', err));
		TRY(shellword_add(b, str_head(buf_str(&word), 2 * max), err));
	}
	return 0;
}

static int add_text(struct jval v, size_t max, struct buf *b, struct err *err)
{
	auto_buf struct buf all = BUF_MAX(v.text.n * 3 + 16);

	if (v.type != JSCAN_STRING)
		return buf_add(b, str_head(v.text, max), err);
	TRY(jval_add_text(&all, v, NUL_REPLACE, err));
	return buf_add(b, str_head(buf_str(&all), 2 * max), err);
}

/* The first file a patch names. */
static int add_patch_name(struct jval patch, size_t max, struct buf *b, struct err *err)
{
	static const char *const marks[] = { "+++ b/", "+++ ", "*** Update File: ", "*** Add File: ", "*** Delete File: " };
	auto_buf struct buf all = BUF_MAX(patch.text.n * 3 + 16);

	TRY(jval_add_text(&all, patch, NUL_REPLACE, err));
	for (struct str rest = buf_str(&all); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest));

		for (size_t i = 0; i < COUNT(marks); i++)
			if (str_starts(line, str_from(marks[i])) && !str_eqz(line, "+++ /dev/null"))
				return buf_add(b, str_head(str_skip(line, strlen(marks[i])), max), err);
	}
	return 0;
}

/* {"edits":[{"path":"a"},{"path":"b"}]}: the first path, and how many more */
static int add_first_path(struct jval list, size_t max, struct buf *b, struct err *err)
{
	struct jval item, path = { .type = JSCAN_NONE };
	size_t n = 0;

	for (size_t pos = 0; jval_next(list, &pos, NULL, &item); n++)
		if (n == 0)
			path = jval_get(item, "path");
	if (path.type != JSCAN_STRING)
		return 0;
	TRY(add_text(path, max, b, err));
	return n > 1 ? buf_addf(b, err, " (+%zu more)", n - 1) : 0;
}

static int add_object(struct jval obj, size_t max, struct buf *b, struct err *err)
{
	/* What tells most about a call, whichever tool it is; at most two of them. */
	static const char *const keys[] = { "path", "pattern", "glob", "query", "name", "symbol", "title", "question",
		"text", "id", "task_id", "summary", "message" };
	struct jval argv = jval_get(obj, "argv"), patch = jval_get(obj, "patch");
	int found = 0;

	if (argv.type == JSCAN_ARRAY)
		return add_words(argv, max, b, err);
	if (patch.type == JSCAN_STRING)
		return add_patch_name(patch, max, b, err);
	for (size_t i = 0; i < COUNT(keys) && found < 2; i++) {
		struct jval v = jval_get(obj, keys[i]);

		if (v.type != JSCAN_STRING || v.text.n <= 2)
			continue;
		TRY(found++ ? buf_addc(b, ' ', err) : 0);
		TRY(add_text(v, max, b, err));
	}
	return found > 0 ? 0 : add_first_path(jval_get(obj, "edits"), max, b, err);
}

int brief_upto(struct jval args, size_t max, struct buf *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16 * max + 4096); /* a byte may become eight */

	TRY(args.type == JSCAN_ARRAY ? add_words(args, max, &b, err) : add_object(args, max, &b, err));
	if (b.n <= max)
		return buf_add(out, buf_str(&b), err);
	struct str s = buf_str(&b);
	TRY(buf_add(out, str_head(s, utf8_head(s, max - 3)), err));
	return buf_addz(out, "...", err);
}

int brief_args(struct jval args, struct buf *out, struct err *err)
{
	return brief_upto(args, BRIEF_BYTES, out, err);
}
