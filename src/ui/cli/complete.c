/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/complete.h"

#include <stdio.h>
#include <ctype.h>
#include <string.h>

/* What a value is, by the name of its field; first the commands where that name means something else. */
static const struct {
	const char *field;
	enum complete_what what;
	const char *command; /* only of commands that begin so; NULL: of all */
} kinds[] = {
	{ "id", COMPLETE_NOTE, "memory " },
	{ "role", COMPLETE_SIDE, "prompt show" },
	{ "key", COMPLETE_KEY_OR_TABLE, "config unset" },
	{ "name", COMPLETE_SKILL_ALL, "skills " },
	{ "name", COMPLETE_CONNECT, "connect" },
	{ "name", COMPLETE_SERVER, "mcp connect" },
	{ "into", COMPLETE_BRANCH, NULL },
	{ "seat", COMPLETE_PERSONA, "review" },
	{ "personas", COMPLETE_PERSONAS, "review" },
	{ "id", COMPLETE_ID, NULL }, { "other", COMPLETE_ID, NULL }, { "from", COMPLETE_ID, NULL }, { "from-plan", COMPLETE_ID, NULL },
	{ "key", COMPLETE_KEY, NULL }, { "keys", COMPLETE_KEY, NULL }, { "role", COMPLETE_ROLE, NULL }, { "provider", COMPLETE_PROVIDER, NULL },
	{ "model", COMPLETE_MODEL, NULL }, { "skill", COMPLETE_SKILL, NULL }, { "value", COMPLETE_VALUE, NULL }, { "preset", COMPLETE_PRESET, NULL },
};

/* Flags that stand before any command or behind it. */
static const struct {
	const char *flag, *help;
} globals[] = {
	{ "--config", "A configuration file above the others." },
	{ "--allow-root", "Run although you are root." },
	{ "--help", "What the command is and takes." },
};

/* bash puts a candidate on the line as it is, and reads it there: one that would be more than a word is none, whoever named a branch. */
static bool is_plain(struct str word)
{
	for (size_t i = 0; i < word.n;) {
		int32_t c = utf8_next(word, &i);

		if (c < 0x80 ? !isalnum(c) && (c <= 0 || !strchr("%+,-./:=@_", c)) : utf8_sight(c) != UTF8_SEEN)
			return false;
	}
	return true;
}

int complete_add(const struct complete *c, struct str word, struct str help, struct err *err)
{
	if (!str_starts(word, c->typed) || !is_plain(word))
		return 0;
	return buf_addf(c->out, err, STR_FMT "\t" STR_FMT "\n", STR_ARG(word), STR_ARG(help));
}

static int add_globals(const struct complete *c, struct err *err)
{
	for (size_t i = 0; i < COUNT(globals); i++)
		TRY(complete_add(c, str_from(globals[i].flag), str_from(globals[i].help), err));
	return 0;
}

/* The index'th word of a command's name, empty when it has fewer. */
static struct str name_word(const struct command *c, size_t index)
{
	struct str rest = str_from(c->name), word = STR("");

	for (size_t i = 0; i <= index; i++)
		word = str_cut(&rest, ' ');
	return word;
}

static bool is_first_of_its_name(const struct command_group *g, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!g->p[i].hidden && str_eq(name_word(&g->p[i], 0), name_word(&g->p[k], 0)))
			return false;
	return true;
}

static int add_commands(const struct complete *c, struct err *err)
{
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *cmd = &command_groups[i]->p[k];
			bool one = name_word(cmd, 1).n == 0;

			if (cmd->hidden || !is_first_of_its_name(command_groups[i], k))
				continue;
			TRY(complete_add(c, name_word(cmd, 0), one ? str_from(cmd->help) : STR(""), err));
		}
	return complete_add(c, STR("help"), STR("what a command is and takes"), err);
}

static int add_verbs(struct str group, const struct complete *c, struct err *err)
{
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *cmd = &command_groups[i]->p[k];

			if (!cmd->hidden && str_eq(name_word(cmd, 0), group) && name_word(cmd, 1).n > 0)
				TRY(complete_add(c, name_word(cmd, 1), str_from(cmd->help), err));
		}
	return 0;
}

static int add_flags(const struct command *cmd, const struct complete *c, struct err *err)
{
	char flag[80];

	for (size_t i = 0; i < cmd->nfields; i++) {
		const struct field *f = &cmd->fields[i];

		if (f->flags & (FIELD_POSITIONAL | FIELD_HIDDEN))
			continue;
		snprintf(flag, sizeof(flag), "%s%s", f->name[1] == '\0' ? "-" : "--", f->name);
		TRY(complete_add(c, str_from(flag), str_from(f->help), err));
	}
	return add_globals(c, err);
}

static int add_values(const struct command *cmd, const struct field *f, const struct complete *c, complete_values *values, void *self,
	struct err *err)
{
	if (f->choices) {
		for (size_t i = 0; f->choices[i]; i++)
			TRY(complete_add(c, str_from(f->choices[i]), STR(""), err));
		return 0;
	}
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (strcmp(kinds[i].field, f->name) == 0 &&
			(!kinds[i].command || strncmp(cmd->name, kinds[i].command, strlen(kinds[i].command)) == 0))
			return values(self, kinds[i].what, c, err);
	return 0;
}

/* The flag that waits for a value, or NULL. */
static const struct field *waiting(const struct command *cmd, const char *word)
{
	size_t dashes = strspn(word, "-");
	const struct field *f;

	if (dashes == 0 || dashes > 2 || strchr(word, '='))
		return NULL;
	f = field_find(cmd->fields, cmd->nfields, str_from(word + dashes));
	return f && !(f->flags & FIELD_POSITIONAL) && f->type != &field_bool ? f : NULL;
}

static const struct field *positional(const struct command *cmd, size_t index)
{
	for (size_t i = 0; i < cmd->nfields; i++) {
		if (!(cmd->fields[i].flags & FIELD_POSITIONAL))
			continue;
		if (index == 0 || cmd->fields[i].type == &field_strs)
			return &cmd->fields[i];
		index--;
	}
	return NULL;
}

/* words: behind the command's name, the last one being typed. */
static int complete_args(const struct command *cmd, struct args_words words, struct complete *c, complete_values *values,
	void *self, struct err *err)
{
	const struct field *wants = NULL;
	size_t index = 0;

	for (size_t i = 0; i + 1 < words.n; i++) {
		if (strcmp(words.p[i], "--") == 0)
			return 0;
		if (wants || strcmp(words.p[i], "--config") == 0) {
			i += !wants;
			wants = NULL;
			if (i + 1 >= words.n)
				return 0; /* the file of --config */
		} else if (words.p[i][0] != '-') {
			c->before = str_from(words.p[i]);
			index++;
		} else {
			wants = waiting(cmd, words.p[i]);
		}
	}
	if (!wants && c->typed.n > 0 && c->typed.p[0] == '-')
		return add_flags(cmd, c, err);
	if (!wants)
		wants = positional(cmd, index);
	return wants ? add_values(cmd, wants, c, values, self, err) : 0;
}

static bool is_group(struct str word)
{
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++) {
			const struct command *c = &command_groups[i]->p[k];

			if (str_eq(name_word(c, 0), word) && name_word(c, 1).n > 0)
				return true;
		}
	return false;
}

int complete_words(struct args_words words, complete_values *values, void *self, struct buf *out, struct err *err)
{
	struct complete c = { .typed = words.n > 0 ? str_from(words.p[words.n - 1]) : STR(""), .before = STR(""), .out = out };
	struct command_ctx ignored = { 0 };
	const struct command *cmd;

	if (words.n == 0)
		return add_commands(&c, err);
	struct args_words before = { words.p, words.n - 1 };
	if (args_global(&before, &ignored, ERR_DISCARD) < 0)
		return 0; /* the file of --config */
	if (before.n == 0) {
		if (c.typed.n > 0 && c.typed.p[0] == '-')
			return add_globals(&c, err);
		return add_commands(&c, err);
	}
	bool help = strcmp(before.p[0], "help") == 0;
	if (help) {
		before.p++;
		before.n--;
	}
	if (before.n == 0)
		return add_commands(&c, err);
	bool flag = c.typed.n > 0 && c.typed.p[0] == '-';
	if (before.n == 1 && !flag && is_group(str_from(before.p[0]))) {
		TRY(add_verbs(str_from(before.p[0]), &c, err));
		if (!command_find(str_from(before.p[0])))
			return 0; /* the group's default verb has values too, which would drown the verbs */
	}
	words = (struct args_words){ before.p, before.n + 1 };
	if (help || args_command(&before, &cmd, ERR_DISCARD) < 0)
		return 0;
	size_t used = (size_t)(before.p - words.p);
	return complete_args(cmd, (struct args_words){ words.p + used, words.n - used }, &c, values, self, err);
}
