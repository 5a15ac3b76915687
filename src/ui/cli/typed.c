/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/typed.h"

#include "sys/term.h"
#include "ui/cli/args.h"

#define NAME "agent6 "

static struct str word_at(struct str text, size_t at)
{
	struct str rest = str_skip(text, at);

	return str_head(rest, str_find_any(rest, STR(" \"`,;:.)\n")));
}

/* The command whose name the text begins with: two words or one. */
static const struct command *command_at(struct str text)
{
	struct str first = word_at(text, 0), second = word_at(text, first.n + 1);
	const struct command *c = second.n > 0 ? command_find(str_head(text, first.n + 1 + second.n)) : NULL;

	return c ? c : command_find(first);
}

int typed_add(struct buf *out, struct str text, struct err *err)
{
	for (size_t at; (at = str_find(text, STR(NAME))) < text.n;) {
		bool begins = at == 0 || str_find_any(str_of(text.p + at - 1, 1), STR(" \"`(\n")) == 0;
		size_t end = at + sizeof(NAME) - 1;
		const struct command *c = begins ? command_at(str_skip(text, end)) : NULL;

		TRY(buf_add(out, str_head(text, end), err));
		if (c && !c->needs_no_root_check)
			TRY(buf_addz(out, "--allow-root ", err));
		text = str_skip(text, end);
	}
	return buf_add(out, text, err);
}

struct str typed_here(struct str text, struct arena *mem)
{
	auto_buf struct buf out = BUF_MAX(16 * text.n + 64);

	if (!term_style_env().root || typed_add(&out, text, ERR_DISCARD) < 0)
		return text;
	return str_dup(mem, buf_str(&out));
}
