/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/recording.h"
#include "net/head.h"

enum line_kind { LINE_NONE, LINE_ANSWER, LINE_MODELS, LINE_RETRY, LINE_WAIT, LINE_BODY, LINE_BODY_OPEN, LINE_BAD };

struct line {
	enum line_kind kind;
	struct str rest; /* after the word, or the body bytes with their line feed */
};

static struct line next_line(struct str *text)
{
	static const struct {
		const char *word;
		enum line_kind kind;
	} words[] = { { "answer", LINE_ANSWER }, { "models", LINE_MODELS }, { "retry-after", LINE_RETRY },
		{ "wait", LINE_WAIT } };
	struct str whole = str_line(text), rest = str_trim_suffix(whole, STR("\n")), word;

	if (str_starts(whole, STR("|")))
		return (struct line){ LINE_BODY, str_skip(whole, 1) };
	if (str_starts(whole, STR("+")))
		return (struct line){ LINE_BODY_OPEN, str_skip(rest, 1) };
	if (str_trim(rest).n == 0 || str_starts(whole, STR("#")))
		return (struct line){ LINE_NONE, rest };
	word = str_cut(&rest, ' ');
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(word, words[i].word))
			return (struct line){ words[i].kind, str_trim(rest) };
	return (struct line){ LINE_BAD, word };
}

static int number(struct str text, int64_t max, int64_t *out, struct err *err)
{
	if (str_to_i64(text, out, ERR_DISCARD) < 0 || *out < 0 || *out > max)
		return err_set(err, ERR_SYNTAX, "\"" STR_FMT "\" is not a number from 0 to %lld", STR_ARG(text),
			(long long)max);
	return 0;
}

static int parse_answer(struct str rest, struct play *out, struct err *err)
{
	int64_t status;

	TRY(number(str_cut(&rest, ' '), 999, &status, err));
	if (status < 200)
		return err_set(err, ERR_SYNTAX, "a status is 200 to 999");
	*out = (struct play){ .status = (int)status, .content = head_content(rest), .retry_after_ms = -1 };
	return 0;
}

/* One line of a recording; `last` is the kind of the line before that was none. */
static int check_line(const struct line *l, enum line_kind last, bool begun, bool *models, struct err *err)
{
	struct play play;
	int64_t n;

	if (l->kind == LINE_BAD)
		return err_set(err, ERR_SYNTAX,
			"\"" STR_FMT "\" is not one of answer, models, retry-after, wait, |..., +...",
			STR_ARG(str_head(l->rest, 40)));
	if (l->kind == LINE_ANSWER || l->kind == LINE_MODELS) {
		if (l->kind == LINE_MODELS && *models)
			return err_set(err, ERR_SYNTAX, "a second \"models\"");
		*models |= l->kind == LINE_MODELS;
		return parse_answer(l->rest, &play, err);
	}
	if (!begun)
		return err_set(err, ERR_SYNTAX, "an \"answer\" line must come first");
	if (l->kind == LINE_RETRY && last != LINE_ANSWER && last != LINE_MODELS)
		return err_set(err, ERR_SYNTAX, "\"retry-after\" stands directly below \"answer\"");
	if (l->kind == LINE_RETRY)
		return number(l->rest, 86400, &n, err);
	return l->kind == LINE_WAIT ? number(l->rest, RECORDING_WAIT_MS, &n, err) : 0;
}

int recording_parse(struct str text, struct recording *out, struct err *err)
{
	struct str rest = text;
	enum line_kind last = LINE_NONE;
	bool models = false;
	size_t answers = 0;
	int line = 1;

	if (!str_eqz(str_trim(str_line(&rest)), "agent6-recording 1")) {
		err_set(err, ERR_SYNTAX, "the first line is not \"agent6-recording 1\"");
		err_at(err, "recording", line, 1);
		return -ERR_SYNTAX;
	}
	while (rest.n > 0) {
		struct line l = next_line(&rest);

		line++;
		if (l.kind == LINE_NONE)
			continue;
		if (check_line(&l, last, last != LINE_NONE, &models, err) < 0) {
			err_at(err, "recording", line, 1);
			return -ERR_SYNTAX;
		}
		answers += l.kind == LINE_ANSWER;
		last = l.kind;
	}
	*out = (struct recording){ .text = text, .answers = answers };
	return 0;
}

int recording_answer(const struct recording *r, enum net_route route, size_t nth, struct play *out,
	struct err *err)
{
	enum line_kind want = route == ROUTE_MODELS ? LINE_MODELS : LINE_ANSWER;
	struct str rest = r->text;

	(void)str_line(&rest);
	while (rest.n > 0) {
		struct line l = next_line(&rest);
		struct str peek = rest;

		if (l.kind != want || (want == LINE_ANSWER && nth-- > 0))
			continue;
		TRY(parse_answer(l.rest, out, err));
		do
			l = next_line(&peek);
		while (l.kind == LINE_NONE && peek.n > 0);
		if (l.kind == LINE_RETRY) {
			TRY(number(l.rest, 86400, &out->retry_after_ms, err));
			out->retry_after_ms *= 1000;
			rest = peek;
		}
		out->rest = rest;
		return 0;
	}
	return want == LINE_MODELS ? err_set(err, ERR_NOENT, "the recording has no model listing")
				   : err_set(err, ERR_NOENT, "the recording has no answer left (%zu were played)",
					     r->answers);
}

int play_next(struct play *p, size_t enough, struct buf *out, int64_t *wait_ms, struct err *err)
{
	for (;;) {
		struct str after = p->rest;
		struct line l;

		if (p->line.n > 0) {
			struct str piece = str_head(p->line, enough > out->n ? enough - out->n : 0);

			*wait_ms = 0;
			if (piece.n == 0)
				return 1;
			TRY(buf_add(out, piece, err));
			p->line = str_skip(p->line, piece.n);
			continue;
		}
		if (p->rest.n == 0)
			return 0;
		l = next_line(&after);
		if (l.kind == LINE_ANSWER || l.kind == LINE_MODELS)
			return 0;
		p->rest = after;
		if (l.kind == LINE_BODY || l.kind == LINE_BODY_OPEN)
			p->line = l.rest;
		if (l.kind != LINE_WAIT)
			continue;
		TRY(number(l.rest, RECORDING_WAIT_MS, wait_ms, err));
		return 1;
	}
}
