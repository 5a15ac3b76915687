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

static int add_flag(const struct field *f, struct buf *out, struct err *err)
{
	size_t start = out->n;

	TRY(buf_addz(out, "  ", err));
	TRY(usage_field(f, out, err));
	if (out->n - start >= 32)
		return buf_addf(out, err, "\n%*s%s\n", 34, "", f->help);
	return buf_addf(out, err, "%*s%s\n", (int)(34 - (out->n - start)), "", f->help);
}

int help_command(const struct command *c, struct buf *out, struct err *err)
{
	bool any = false;

	TRY(buf_addz(out, "usage: ", err));
	TRY(usage_line(c, out, err));
	TRY(buf_addf(out, err, "\n\n%s\n", c->help));
	if (c->about)
		TRY(buf_addf(out, err, "\n%s\n", c->about));
	for (size_t i = 0; i < c->nfields; i++) {
		const struct field *f = &c->fields[i];

		if (f->flags & FIELD_HIDDEN)
			continue;
		if (!any)
			TRY(buf_addz(out, "\n", err));
		any = true;
		if (f->flags & FIELD_POSITIONAL) {
			size_t start = out->n;

			TRY(buf_addz(out, "  ", err));
			TRY(add_value(f, out, err));
			TRY(buf_addf(out, err, "%*s%s\n", (int)(out->n - start < 33 ? 34 - (out->n - start) : 1), "",
				f->help));
		} else {
			TRY(add_flag(f, out, err));
		}
	}
	return 0;
}

int help_all(struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "usage: agent6 [--config FILE] [--allow-root] COMMAND ...\n\n"
		"A coding agent that treats the language model as an adversary: every command in its own jail,\n"
		"every green step a commit on a side chain, every run on the record.\n\n", err));
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];

			if (!c->hidden)
				TRY(buf_addf(out, err, "  %-22s %s\n", c->name, c->help));
		}
	return buf_addz(out, "\n\"agent6 COMMAND --help\" tells more; \"agent6 config path\" shows where things are kept.\n"
		"Start with \"agent6 demo\": it needs no key, no network and no configuration.\n", err);
}
