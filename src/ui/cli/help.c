/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/args.h"

#include <ctype.h>
#include <string.h>

/* A value's name in a usage line: the positional's own, or the type of a flag's value. */
static int add_value(const struct field *f, struct buf *out, struct err *err)
{
	if (f->choices) {
		for (size_t i = 0; f->choices[i]; i++)
			TRY(buf_addf(out, err, "%s%s", i > 0 ? "|" : "", f->choices[i]));
		return 0;
	}
	const char *name = f->flags & FIELD_POSITIONAL ? f->name : f->type->word;
	const char *article = f->flags & FIELD_POSITIONAL ? NULL : strchr(name, ' '); /* "a number" */

	for (const char *p = article ? article + 1 : name; *p; p++)
		TRY(buf_addc(out, (char)toupper((unsigned char)*p), err));
	return 0;
}

static int add_positional(const struct field *f, struct buf *out, struct err *err)
{
	bool must = f->flags & FIELD_REQUIRED;

	TRY(buf_addz(out, must ? " " : " [", err));
	TRY(add_value(f, out, err));
	if (f->type == &field_strs)
		TRY(buf_addz(out, "...", err));
	return must ? 0 : buf_addz(out, "]", err);
}

int usage_line(const struct command *c, struct buf *out, struct err *err)
{
	bool flags = false;

	TRY(buf_addf(out, err, "agent6 %s", c->name));
	for (size_t i = 0; i < c->nfields; i++)
		if (!(c->fields[i].flags & (FIELD_POSITIONAL | FIELD_HIDDEN)))
			flags = true;
	if (flags)
		TRY(buf_addz(out, " [flags]", err));
	for (size_t i = 0; i < c->nfields; i++)
		if (c->fields[i].flags & FIELD_POSITIONAL)
			TRY(add_positional(&c->fields[i], out, err));
	if (c->words)
		return buf_addf(out, err, " %s", c->words);
	return c->takes_rest ? buf_addz(out, " [-- WORDS...]", err) : 0;
}

int usage_field(const struct field *f, struct buf *out, struct err *err)
{
	if (f->flags & FIELD_POSITIONAL)
		return add_value(f, out, err);
	TRY(buf_addf(out, err, "%s%s", f->name[1] == '\0' ? "-" : "--", f->name));
	if (f->type == &field_bool)
		return 0;
	TRY(buf_addz(out, " ", err));
	return add_value(f, out, err);
}

#define FLAG_COLS 34 /* of the flags, before what they do */
#define NAME_COLS 25 /* of the commands */

/* Words of one paragraph after another, in lines of so many columns; 0: as they stand. A line that begins with a blank
 * stays one. */
static int add_text(struct str text, size_t at, size_t indent, size_t cols, struct buf *out, struct err *err)
{
	bool blank = false, own = at == 0 && str_starts(text, STR(" "));
	size_t lead = 0; /* blanks that this line began with */

	if (cols == 0)
		return buf_add(out, text, err);
	for (size_t i = 0, n; i < text.n; i += n) {
		char c = text.p[i], next = i + 1 < text.n ? text.p[i + 1] : '\n';

		n = 1;
		if (c == '\n' && (own || next == ' ' || next == '\n' || at == 0)) {
			TRY(buf_addc(out, '\n', err));
			at = lead = 0;
			blank = false;
			own = next == ' ';
		} else if (at == 0 && c == ' ') {
			TRY(buf_addc(out, ' ', err));
			lead++;
		} else if (c == ' ' || c == '\n') {
			blank = true;
		} else {
			n = str_find_any(str_skip(text, i), STR(" \n"));
			if (blank && at > indent && at + 1 + n > cols) {
				TRY(buf_addf(out, err, "\n%*s", (int)indent, ""));
				at = indent;
			} else if (blank) {
				TRY(buf_addc(out, ' ', err));
				at++;
			}
			TRY(buf_add(out, str_head(str_skip(text, i), n), err));
			at += n + (at == 0 ? lead : 0);
			blank = false;
		}
	}
	return 0;
}

/* What stands in the right column of a line that began at `start`. */
static int add_column(size_t start, const char *text, size_t indent, size_t cols, struct buf *out, struct err *err)
{
	size_t used = out->n - start;

	if (used >= indent - 1) {
		TRY(buf_addc(out, '\n', err));
		used = 0;
	}
	TRY(buf_addf(out, err, "%*s", (int)(indent - used), ""));
	TRY(add_text(str_from(text), indent, indent, cols, out, err));
	return buf_addc(out, '\n', err);
}

int help_command(const struct command *c, size_t cols, struct buf *out, struct err *err)
{
	auto_buf struct buf usage = BUF_MAX(4096);
	bool any = false;

	TRY(buf_addz(&usage, "usage: ", err));
	TRY(usage_line(c, &usage, err));
	TRY(add_text(buf_str(&usage), 0, 7, cols, out, err));
	TRY(buf_addz(out, "\n\n", err));
	TRY(add_text(str_from(c->help), 0, 0, cols, out, err));
	TRY(buf_addc(out, '\n', err));
	if (c->about) {
		TRY(buf_addc(out, '\n', err));
		TRY(add_text(str_from(c->about), 0, 0, cols, out, err));
		TRY(buf_addc(out, '\n', err));
	}
	for (size_t i = 0; i < c->nfields; i++) {
		const struct field *f = &c->fields[i];
		size_t start;

		if (f->flags & FIELD_HIDDEN)
			continue;
		TRY(buf_addz(out, any ? "" : "\n", err));
		any = true;
		start = out->n;
		TRY(buf_addz(out, "  ", err));
		TRY(usage_field(f, out, err));
		TRY(add_column(start, f->help, FLAG_COLS, cols, out, err));
	}
	return 0;
}

int help_group(struct str word, size_t cols, struct buf *out, struct err *err)
{
	const struct command *dflt = command_of_group(word);
	auto_buf struct buf more = BUF_MAX(1024);
	bool any = false;

	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];
			struct str verb = str_from(c->name);
			size_t start;

			if (c->hidden || !str_eq(str_cut(&verb, ' '), word) || verb.n == 0)
				continue;
			if (!any)
				TRY(buf_addf(out, err, "usage: agent6 " STR_FMT " COMMAND ...\n\n", STR_ARG(word)));
			any = true;
			start = out->n;
			TRY(buf_addf(out, err, "  %s", c->name));
			TRY(add_column(start, c->help, NAME_COLS, cols, out, err));
		}
	if (!any)
		return 0;
	TRY(buf_addf(&more, err, "\"agent6 " STR_FMT " COMMAND --help\" tells more.", STR_ARG(word)));
	if (dflt)
		TRY(buf_addf(&more, err, " Without one it is \"agent6 %s\":", dflt->name));
	TRY(buf_addc(out, '\n', err));
	TRY(add_text(buf_str(&more), 0, 0, cols, out, err));
	TRY(buf_addz(out, dflt ? "\n\n" : "\n", err));
	if (dflt)
		TRY(help_command(dflt, cols, out, err));
	return 1;
}

int help_all(size_t cols, struct buf *out, struct err *err)
{
	TRY(add_text(STR("usage: agent6 [--config FILE] [--allow-root] COMMAND ...\n\n"
		"A coding agent that treats the language model as an adversary: every command in its own jail,\n"
		"every green step a commit on a side chain, every run on the record.\n\n"), 0, 0, cols, out, err));
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];
			size_t start = out->n;

			if (c->hidden)
				continue;
			TRY(buf_addf(out, err, "  %s", c->name));
			TRY(add_column(start, c->help, NAME_COLS, cols, out, err));
		}
	return add_text(STR("\n\"agent6 COMMAND --help\" tells more; \"agent6 config path\" shows where things are kept.\n"
		"Start with \"agent6 demo\": it needs no key, no network and no configuration.\n"), 0, 0, cols, out, err);
}
