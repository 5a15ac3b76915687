/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/args.h"
#include "sys/term.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int parse_given_num(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	struct given_num *n = slot;

	TRY(field_num.parse(f, text, mem, &n->value, err));
	n->given = true;
	return 0;
}

static int parse_given_int(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	struct given_int *n = slot;

	TRY(field_int.parse(f, text, mem, &n->value, err));
	n->given = true;
	return 0;
}

const struct field_type given_num = { "a number", sizeof(struct given_num), parse_given_num, NULL, NULL, NULL };
const struct field_type given_int = { "an integer", sizeof(struct given_int), parse_given_int, NULL, NULL, NULL };

static bool is_list(const struct field *f)
{
	return f->type == &field_strs;
}

static void list_add(const struct field *f, void *into, struct str word, struct arena *mem)
{
	struct str_list *l = (struct str_list *)((char *)into + f->offset);
	struct str *bigger = arena_array(mem, l->n + 1, sizeof(*bigger));

	if (l->n > 0)
		memcpy(bigger, l->p, l->n * sizeof(*bigger));
	bigger[l->n] = word;
	l->p = bigger;
	l->n++;
}

/* Nothing says nothing: what would be right is what the help tells. */
static int refuse_empty(const struct field *f, struct err *err)
{
	int r = err_set(err, ERR_INVALID, "%s%s must not be empty", (f->flags & FIELD_POSITIONAL) ? "" : "--", f->name);

	if (f->help)
		err_hint(err, "%s", f->help);
	return r;
}

/* A word of the command line is a string as it stands: quotes and escapes were the shell's. */
static int set_value(const struct field *f, struct str word, struct arena *mem, void *into, struct err *err)
{
	if (!(f->flags & FIELD_EMPTY) && (is_list(f) || f->type == &field_str) &&
		((f->flags & FIELD_POSITIONAL) ? word : str_trim(word)).n == 0)
		return refuse_empty(f, err);
	if (is_list(f)) {
		list_add(f, into, word, mem);
		return 0;
	}
	if (f->type == &field_str) {
		*(struct str *)((char *)into + f->offset) = word;
		return 0;
	}
	return field_parse(f, word, mem, into, err);
}

static const struct field *flag_of(const struct command *c, struct str name)
{
	const struct field *f = field_find(c->fields, c->nfields, name);

	return f && !(f->flags & FIELD_POSITIONAL) ? f : NULL;
}

static int unknown_flag(const struct command *c, struct str word, struct err *err)
{
	struct str name = str_trim_prefix(str_trim_prefix(word, STR("-")), STR("-"));
	const struct field *near = field_nearest(c->fields, c->nfields, str_cut(&name, '='));
	int r = err_set(err, ERR_INVALID, "agent6 %s has no flag \"" STR_FMT "\"", c->name, STR_ARG(word));

	if (near && !(near->flags & FIELD_POSITIONAL))
		err_hint(err, "did you mean --%s?", near->name);
	else
		err_hint(err, "agent6 %s --help lists them", c->name);
	return r;
}

static bool is_global(struct str name)
{
	return str_eqz(name, "config") || str_eqz(name, "allow-root");
}

/* "--steer --auto-approve": a flag that was meant as one is no value, and the run would be another one than was asked for. */
static bool is_flag(const struct command *c, struct str word)
{
	bool dashes = str_starts(word, STR("--"));
	struct str name = str_skip(word, dashes ? 2 : 1);

	if (word.n < 2 || word.p[0] != '-' || (!dashes && name.n != 1))
		return false;
	if (dashes)
		name = str_cut(&name, '=');
	return flag_of(c, name) != NULL || (dashes && is_global(name));
}

static int take_flag(const struct command *c, struct args_words *words, struct arena *mem, void *into,
	struct err *err)
{
	struct str word = str_from(words->p[0]);
	bool dashes = str_starts(word, STR("--"));
	struct str value = str_skip(word, dashes ? 2 : 1), name = value;
	bool inline_value = dashes && memchr(value.p, '=', value.n) != NULL;

	if (inline_value)
		name = str_cut(&value, '=');
	const struct field *f = flag_of(c, name);
	if (!f || (!dashes && name.n != 1) || (dashes && name.n == 1))
		return unknown_flag(c, word, err);
	words->p++;
	words->n--;
	if (f->type == &field_bool && !inline_value) {
		*(bool *)((char *)into + f->offset) = true;
		return 0;
	}
	if (!inline_value) {
		if (words->n == 0)
			return err_set(err, ERR_INVALID, "%s needs a value, %s", word.p, f->type->word);
		value = str_from(words->p[0]);
		if (is_flag(c, value)) {
			int r = err_set(err, ERR_INVALID, "%s wants %s, and %s is a flag", word.p, f->type->word, value.p);

			err_hint(err, "%s=%s if that is meant", word.p, value.p);
			return r;
		}
		words->p++;
		words->n--;
	}
	return set_value(f, value, mem, into, err); /* which names the flag */
}

static const struct field *positional_at(const struct command *c, size_t index)
{
	for (size_t i = 0; i < c->nfields; i++) {
		if (!(c->fields[i].flags & FIELD_POSITIONAL))
			continue;
		if (index == 0 || is_list(&c->fields[i]))
			return &c->fields[i];
		index--;
	}
	return NULL;
}

static int take_word(const struct command *c, struct str word, size_t index, struct arena *mem, void *into,
	struct err *err)
{
	const struct field *f = positional_at(c, index);

	if (!f) {
		int r = err_set(err, ERR_INVALID, "agent6 %s does not take \"" STR_FMT "\"", c->name, STR_ARG(word));

		f = index > 0 ? positional_at(c, index - 1) : NULL;
		if (f && ((f->flags & FIELD_REQUIRED) || strcmp(f->name, "task") == 0))
			err_hint(err, "a text of several words needs quotes; agent6 %s --help", c->name);
		else
			err_hint(err, "agent6 %s --help tells what it takes", c->name);
		return r;
	}
	return set_value(f, word, mem, into, err);
}

static int check_required(const struct command *c, size_t npositional, struct err *err)
{
	size_t index = 0;

	for (size_t i = 0; i < c->nfields; i++) {
		const struct field *f = &c->fields[i];

		if (!(f->flags & FIELD_POSITIONAL))
			continue;
		if ((f->flags & FIELD_REQUIRED) && index >= npositional) {
			auto_buf struct buf usage = BUF_MAX(4096);
			int r = err_set(err, ERR_INVALID, "agent6 %s: the %s is missing", c->name, f->name);

			if (usage_line(c, &usage, ERR_DISCARD) == 0)
				err_hint(err, "usage: " STR_FMT, STR_ARG(buf_str(&usage)));
			return r;
		}
		index++;
	}
	return 0;
}

static int defaults(const struct command *c, struct arena *mem, void *into, struct err *err)
{
	memset(into, 0, c->size);
	for (size_t i = 0; i < c->nfields; i++)
		if (c->fields[i].dflt)
			TRY(set_value(&c->fields[i], str_from(c->fields[i].dflt), mem, into, err));
	return 0;
}

static void take_rest(struct args_words words, struct command_ctx *ctx)
{
	ctx->rest.p = arena_array(ctx->mem, words.n + 1, sizeof(struct str));
	for (ctx->rest.n = 0; ctx->rest.n < words.n; ctx->rest.n++)
		ctx->rest.p[ctx->rest.n] = str_from(words.p[ctx->rest.n]);
}

int args_decode(const struct command *c, struct args_words words, struct command_ctx *ctx, void *into,
	struct err *err)
{
	size_t npositional = 0;
	bool flags = true;

	TRY(defaults(c, ctx->mem, into, err));
	while (words.n > 0) {
		struct str word = str_from(words.p[0]);

		if (c->words && (word.n < 2 || word.p[0] != '-' || str_eqz(word, "--"))) {
			take_rest(words, ctx);
			break;
		}
		if (flags && str_eqz(word, "--")) {
			flags = false;
			words.p++;
			words.n--;
			if (c->takes_rest) {
				take_rest(words, ctx);
				break;
			}
			continue;
		}
		/* "--config" and "--allow-root" are taken here as well as in front of the command. */
		if (flags && str_starts(word, STR("--")) && is_global(str_skip(word, 2)) && !flag_of(c, str_skip(word, 2))) {
			TRY(args_global(&words, ctx, err));
			continue;
		}
		/* "-1" is a value: no flag is a digit. */
		if (flags && word.n > 1 && word.p[0] == '-' && !isdigit((unsigned char)word.p[1])) {
			TRY(take_flag(c, &words, ctx->mem, into, err));
			continue;
		}
		TRY(take_word(c, word, npositional++, ctx->mem, into, err));
		words.p++;
		words.n--;
	}
	return check_required(c, npositional, err);
}

int args_global(struct args_words *words, struct command_ctx *ctx, struct err *err)
{
	while (words->n > 0) {
		struct str word = str_from(words->p[0]);

		if (str_eqz(word, "--allow-root")) {
			ctx->allow_root = true;
		} else if (str_eqz(word, "--config")) {
			if (words->n < 2 || str_eqz(str_from(words->p[1]), "--allow-root"))
				return err_set(err, ERR_INVALID, "--config needs a file");
			ctx->config = str_from(words->p[1]);
			words->p++;
			words->n--;
		} else if (str_starts(word, STR("--config="))) {
			ctx->config = str_skip(word, strlen("--config="));
		} else {
			return 0;
		}
		words->p++;
		words->n--;
	}
	return 0;
}

static const struct command *in_group(const struct command_group *g, struct str name)
{
	for (size_t i = 0; i < g->n; i++)
		if (str_eqz(name, g->p[i].name))
			return &g->p[i];
	return NULL;
}

const struct command *command_find(struct str name)
{
	for (size_t i = 0; command_groups[i]; i++) {
		const struct command *c = in_group(command_groups[i], name);

		if (c)
			return c;
	}
	return NULL;
}

/* "config" alone, or followed by something that is no verb of it, means the group's default verb. */
const struct command *command_of_group(struct str word)
{
	for (size_t i = 0; command_groups[i]; i++) {
		const struct command_group *g = command_groups[i];

		if (!g->dflt)
			continue;
		struct str first = str_from(g->dflt);

		if (str_eq(str_cut(&first, ' '), word))
			return in_group(g, str_from(g->dflt));
	}
	return NULL;
}

static const struct command *nearest(struct str word)
{
	const struct command *best = NULL;
	size_t best_d = 3;

	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			struct str name = str_from(command_groups[i]->p[k].name);
			size_t d = str_distance(str_cut(&name, ' '), word);

			if (d < best_d) {
				best_d = d;
				best = &command_groups[i]->p[k];
			}
		}
	return best;
}

static bool takes_words(const struct command *c)
{
	return positional_at(c, 0) != NULL || c->takes_rest;
}

/* The verb of this group nearest to what was written. */
static const struct command *nearest_verb(struct str group, struct str verb)
{
	const struct command *best = NULL;
	size_t best_d = 3;

	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			struct str name = str_from(command_groups[i]->p[k].name);
			size_t d = str_eq(str_cut(&name, ' '), group) && name.n > 0 ? str_distance(name, verb) : best_d;

			if (d < best_d) {
				best_d = d;
				best = &command_groups[i]->p[k];
			}
		}
	return best;
}

/* "plan list" would pay a model for the task "list": one word that looks like a verb is taken for one. */
static bool looks_like_verb(const struct command *c, struct str group, struct str word)
{
	static const char *const verbs[] = { "delete", "get", "help", "list", "ls", "merge", "open", "print", "remove", "rm", "run",
		"status", "view" };

	for (size_t i = 0; c->starts_commands && i < COUNT(verbs); i++)
		if (str_eqz(word, verbs[i]))
			return true;
	return c->starts_commands && nearest_verb(group, word);
}

/* "runs foo": a group's default verb took it for an argument, and takes none, or it looks like a verb. */
static int unknown_verb(const struct args_words *words, struct err *err)
{
	const struct command *near = nearest_verb(str_from(words->p[0]), str_from(words->p[1]));
	const struct command *dflt = command_of_group(str_from(words->p[0]));
	auto_buf struct buf verbs = BUF_MAX(400);
	int r;

	if (!takes_words(dflt)) {
		r = err_set(err, ERR_INVALID, "\"%.80s %.80s\" is not a command of agent6", words->p[0], words->p[1]);
		err_hint(err, near ? "did you mean \"agent6 %s\"?" : "agent6 --help lists them", near ? near->name : "");
		return r;
	}
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			struct str name = str_from(command_groups[i]->p[k].name);

			if (str_eqz(str_cut(&name, ' '), words->p[0]) && name.n > 0)
				TRY(buf_addf(&verbs, err, "%s" STR_FMT, verbs.n > 0 ? ", " : "", STR_ARG(name)));
		}
	r = err_set(err, ERR_INVALID, "\"%.80s %.80s\" is not a command of agent6", words->p[0], words->p[1]);
	err_hint(err, "%s takes: " STR_FMT "; as a task it is \"agent6 %s %.80s\"", words->p[0], STR_ARG(buf_str(&verbs)),
		dflt->name, words->p[1]);
	return r;
}

int args_command(struct args_words *words, const struct command **out, struct err *err)
{
	auto_buf struct buf two = BUF_MAX(256);
	struct str word = str_from(words->p[0]);
	const struct command *c = NULL;
	size_t used = 2;

	if (words->n > 1 && buf_addf(&two, ERR_DISCARD, "%s %s", words->p[0], words->p[1]) == 0)
		c = command_find(buf_str(&two));
	if (!c) {
		c = command_find(word);
		used = 1;
	}
	if (!c) {
		c = command_of_group(word);
		if (c && words->n > 1 && words->p[1][0] != '-' &&
			(!takes_words(c) || looks_like_verb(c, word, str_from(words->p[1]))))
			return unknown_verb(words, err);
	}
	if (!c) {
		const struct command *near = nearest(word);
		int r = err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a command of agent6", STR_ARG(word));

		if (str_eqz(word, "version") || str_eqz(word, "-V") || str_eqz(word, "-v"))
			err_hint(err, "agent6 --version");
		else if (near)
			err_hint(err, "did you mean \"agent6 %s\"?", near->name);
		else
			err_hint(err, "agent6 --help lists them");
		return r;
	}
	words->p += used;
	words->n -= used;
	*out = c;
	return 0;
}

bool cli_env_flag(const char *name)
{
	return term_env_flag(name);
}
