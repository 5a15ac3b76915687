/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "tool/table_priv.h"

#define QUESTIONS_MAX 8
#define OPTIONS_MAX   20
#define SUMMARY_BYTES 1000

struct question {
	struct str question;
	struct str_list options;
};

struct ask_args {
	struct obj_list questions; /* struct question */
	struct question flat;      /* one question without the list around it */
};

static const struct field question_fields[] = {
	{ "question", &field_str, offsetof(struct question, question), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
	{ "options", &field_strs, offsetof(struct question, options), .max = OPTIONS_MAX },
};

static const struct field fields[] = {
	{ "questions", &field_objs, offsetof(struct ask_args, questions), .max = QUESTIONS_MAX, .sub = question_fields,
		.nsub = COUNT(question_fields), .sub_size = sizeof(struct question) },
	{ "question", &field_str, offsetof(struct ask_args, flat.question), .flags = FIELD_HIDDEN },
	{ "options", &field_strs, offsetof(struct ask_args, flat.options), .flags = FIELD_HIDDEN, .max = OPTIONS_MAX },
};

static int fold(const struct ask_args *a, const struct question **list, size_t *n, struct err *err)
{
	*list = a->questions.p;
	*n = a->questions.n;
	if (*n == 0 && a->flat.question.n > 0) {
		*list = &a->flat;
		*n = 1;
	} else if (*n == 0) {
		return err_set(err, ERR_INVALID, "invalid arguments: questions: must not be empty");
	} else if (a->flat.question.n > 0) {
		return err_set(err, ERR_INVALID, "invalid arguments: question: put it into questions");
	}
	return 0;
}

/* What nobody answered stands in the record for who reads it later. */
static struct str unanswered(const struct tool_ctx *ctx, const struct str *texts, size_t n, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);

	BUG_IF(buf_addf(&b, ERR_DISCARD, "nobody is there to answer, %s:", ctx->asks_later ? "the run ends here" : "the model decides alone") < 0);
	for (size_t i = 0; i < n; i++)
		if (buf_addf(&b, ERR_DISCARD, "%s " STR_FMT, i > 0 ? " /" : "", STR_ARG(texts[i])) < 0)
			break;
	return str_dup(mem, str_head(buf_str(&b), utf8_head(buf_str(&b), SUMMARY_BYTES)));
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct question *list;
	struct str_list answers = { 0 };
	size_t n, given = 0;
	bool answered = false;

	TRY(fold(args, &list, &n, err));
	struct str *texts = arena_array(ctx->mem, n, sizeof(*texts));
	struct str_list *options = arena_array(ctx->mem, n, sizeof(*options));
	for (size_t i = 0; i < n; i++) {
		texts[i] = list[i].question;
		options[i] = list[i].options;
	}
	TRY(ctx->host->ask(ctx->host->self, texts, options, n, ctx->mem, &answers, &answered, err));

	TRY(buf_addz(out, "{\"answers\":[", err));
	for (size_t i = 0; i < n; i++) {
		struct str answer = answered && i < answers.n ? answers.p[i] : STR("");

		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, answer, err));
		given += answer.n > 0;
	}
	TRY(buf_addc(out, ']', err));
	if (!answered)
		TRY(json_add_member(out, "note", ctx->asks_later ? STR("nobody is there to answer: the run ends here and goes on with the answer")
			: STR("nobody is there to answer: decide yourself and say so at the end"), err));
	oc->summary = answered ? str_printf(ctx->mem, "%zu/%zu answered", given, n) : unanswered(ctx, texts, n, ctx->mem);
	return buf_addc(out, '}', err);
}

const struct tool tool_ask_user = {
	.name = "ask_user", .help = "Ask the person what only they can decide.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct ask_args),
	.modes = MODE_RUN, .effect = EFFECT_ASK, .run = run,
};
