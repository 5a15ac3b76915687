/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/composer.h"

#include <string.h>

const struct composer_command composer_commands[] = {
	{ "/status", NULL, "how the run stands: cost, context, pins", TYPED_STATUS, 0, false },
	{ "/cost", NULL, "the same", TYPED_STATUS, 0, false },
	{ "/preset", "[NAME]", "the preset; NAME, between two legs: of the next", TYPED_PRESET, 0, false },
	{ "/shells", NULL, "the commands that run in the background", TYPED_SHELLS, 0, false },
	{ "/restate", NULL, "what happened since you spoke last", TYPED_RESTATE, 0, false },
	{ "/btw", "QUESTION", "ask beside the work; the run does not see it", TYPED_TELL, ANSWER_BTW, true },
	{ "/pin", "[TEXT]", "keep TEXT before the model; alone: what is kept", TYPED_TELL, ANSWER_STEER, false },
	{ "/skill", "NAME [WORDS]", "give the model a skill; /NAME WORDS does so too", TYPED_TELL, ANSWER_STEER, true },
	{ "/compact", "[FOCUS]", "summarise the conversation now", TYPED_TELL, ANSWER_COMPACT, false },
	{ "/pause", "[now]", "wait after this step; now: do not wait for it", TYPED_TELL, ANSWER_PAUSE, false },
	{ "/continue", NULL, "go on", TYPED_TELL, ANSWER_CONTINUE, false },
	{ "/undo", NULL, "take your last words back, in a run of its own", TYPED_TELL, ANSWER_UNDO, false },
	{ "/stop", "[now]", "end after this step; it can be resumed", TYPED_TELL, ANSWER_STOP, false },
	{ "/exit", NULL, "the same", TYPED_TELL, ANSWER_STOP, false },
	{ "/detach", "[wait|deny|approve]", "leave; the run goes on, and asks as you say here", TYPED_TELL, ANSWER_DETACH, false },
	{ "/help", NULL, "this list", TYPED_HELP, 0, false },
};
const size_t ncomposer_commands = COUNT(composer_commands);

/* At the pause a bare word will do. */
static const struct {
	const char *word, *command;
} short_words[] = {
	{ "q", "/stop" }, { "quit", "/stop" }, { "stop", "/stop" }, { "abort", "/stop" }, { "d", "/detach" },
	{ "", "/continue" }, { "/h", "/help" }, { "/?", "/help" }, { "/c", "/continue" }, { "/q", "/stop" },
};

static struct typed wrong(const char *message)
{
	return (struct typed){ .what = TYPED_WRONG, .message = message };
}

static const struct composer_command *find(struct str word, size_t *matches)
{
	const struct composer_command *found = NULL;

	*matches = 0;
	for (size_t i = 0; i < COUNT(composer_commands); i++) {
		const struct composer_command *c = &composer_commands[i];

		if (str_eqz(word, c->name)) {
			*matches = 1;
			return c;
		}
		if (str_starts(str_from(c->name), word)) {
			found = c;
			++*matches;
		}
	}
	return found;
}

static struct typed act(const struct composer_command *c, struct str line, struct str words)
{
	struct typed t = { .what = c->what, .kind = c->kind, .text = words };

	if (words.n > 0 && !c->words)
		return wrong("this command takes no words");
	if (words.n > 0 && c->kind == ANSWER_STOP && c->what == TYPED_TELL && !str_eqz(words, "now"))
		return wrong("/stop takes nothing or now; nothing is stopped, and words for the model stand without it");
	if (words.n > 0 && c->what == TYPED_PRESET)
		return wrong("a leg keeps the preset it began with; say this when the next instruction is asked for, or agent6 resume --preset NAME");
	if (words.n == 0 && c->needs_words)
		return wrong("this command needs words behind it");
	if (c->kind == ANSWER_STEER && c->what == TYPED_TELL) /* a directive: the run reads it whole */
		t = (struct typed){ .what = words.n > 0 ? TYPED_TELL : TYPED_PINS, .kind = c->kind, .text = line };
	return t;
}

struct typed compose(struct str line, bool paused)
{
	struct str rest = str_trim(line), all = rest, word = str_cut(&rest, ' ');
	const struct composer_command *c;
	size_t matches;

	rest = str_trim(rest);
	for (size_t i = 0; i < COUNT(short_words); i++)
		if ((paused || short_words[i].word[0] == '/') && str_eqz(all, short_words[i].word))
			word = all = str_from(short_words[i].command);
	if (all.n == 0)
		return (struct typed){ .what = TYPED_NOTHING };
	if (!str_starts(word, STR("/")))
		return (struct typed){ .what = TYPED_TELL, .kind = ANSWER_STEER, .text = all };
	c = find(word, &matches);
	if (rest.n > 0 && (!c || !str_eqz(word, c->name))) /* a path, or words that begin with one */
		return (struct typed){ .what = TYPED_TELL, .kind = ANSWER_STEER, .text = all };
	if (matches == 0)
		return wrong("no such command; /help lists them, and /skill NAME begins with one of your skills");
	if (matches > 1)
		return wrong("more than one command begins so; /help lists them");
	return act(c, all, rest);
}
