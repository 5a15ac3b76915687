/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/attended.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/offer.h"
#include "ui/cli/prompt.h"
#include "ui/cli/questions.h"
#include "ui/cli/talk.h"

#include "app/attach.h"
#include "app/run.h"
#include "git/gitop.h"
#include "git/range.h"
#include "session/layout.h"
#include "sys/file.h"
#include "sys/proc.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLAN_MAX  (512 * 1024)
#define SEATS_MAX 8

struct mode_args {
	struct str text, id, from, base, head, range, decision, tier, personas, questions_file, answers_file, run_id, preset;
	struct str_list file, seat, path;
	int64_t reviewers;
	bool interactive;
	bool json, auto_approve, no_commands, disable_sandbox, unattended;
	struct given_num max_usd;
	struct given_int max_iterations;
};

#define AT(member) offsetof(struct mode_args, member)

/* What every session that only looks takes. */
#define LIMIT_FIELDS                                                                                         \
	{ "json", &field_bool, AT(json), .help = "Print one JSON object instead of text." },                 \
	{ "preset", &field_str, AT(preset), .max = 64,                               \
		.help = "A strategy preset for this session; \"agent6 config presets\" lists them." },        \
	{ "max-usd", &given_num, AT(max_usd), .min = -1, .max = 1000000,                                     \
		.help = "Stop before the request that would pass this many dollars; -1 is no limit." },      \
	{ "unattended", &field_bool, AT(unattended), .help = "Ask nothing, even on a terminal." },           \
	{ "run-id", &field_str, AT(run_id), .max = 96,                              \
		.help = "Use this id instead of a made-up one." },                                           \
	{ "dangerously-disable-sandbox", &field_bool, AT(disable_sandbox), .flags = FIELD_LOOSENS,           \
		.help = "Run everything unconfined, as you." }

#define LOOK_FIELDS                                                                                          \
	{ "auto-approve", &field_bool, AT(auto_approve), .help = "Run commands without asking; they cannot write." }, \
	{ "no-commands", &field_bool, AT(no_commands), .help = "Run no command at all." },                   \
	{ "max-iterations", &given_int, AT(max_iterations), .min = -1, .max = 1000000,                       \
		.help = "At most this many turns; -1 is no limit." },                                        \
	{ "file", &field_strs, AT(file), .max = 64, .help = "Attach this file, at most 64 KiB; may be given several times." }, \
	{ "from", &field_str, AT(from), .max = 96,                                  \
		.help = "Attach what came of an earlier session." },                                         \
	LIMIT_FIELDS

static const struct field ask_fields[] = {
	{ "question", &field_str, AT(text), .flags = FIELD_POSITIONAL,
		.help = "What you want to know. Left out on a terminal: a conversation." },
	{ "interactive", &field_bool, AT(interactive), .help = "Go on asking, until you end it; needs a terminal." },
	{ "i", &field_bool, AT(interactive), .flags = FIELD_HIDDEN, .help = "The same as --interactive." },
	LOOK_FIELDS,
};
static const struct field new_fields[] = {
	{ "task", &field_str, AT(text), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "What is to be planned, in your words." },
	{ "questions-file", &field_str, AT(questions_file), .max = 4096,
		.help = "Write the plan's open questions there, as JSON with empty answers." },
	{ "answers-file", &field_str, AT(answers_file), .max = 4096,
		.help = "Such a file, filled in." },
	LOOK_FIELDS,
};
static const struct field revise_fields[] = {
	{ "feedback", &field_str, AT(text), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "What is to be different." },
	{ "id", &field_str, AT(id), .flags = FIELD_POSITIONAL, .max = 96,
		.help = "The plan; the newest when left out." },
	{ "questions-file", &field_str, AT(questions_file), .max = 4096,
		.help = "Write the plan's open questions there, as JSON with empty answers." },
	{ "answers-file", &field_str, AT(answers_file), .max = 4096,
		.help = "Such a file, filled in." },
	LOOK_FIELDS,
};
static const struct field id_fields[] = {
	{ "id", &field_str, AT(id), .flags = FIELD_POSITIONAL, .max = 96,
		.help = "The plan; the newest when left out." },
	{ "json", &field_bool, AT(json), .help = "Print one JSON object instead of text." },
};
static const struct field edit_fields[] = {
	{ "id", &field_str, AT(id), .flags = FIELD_POSITIONAL, .max = 96,
		.help = "The plan; the newest when left out." },
};

static const struct field review_fields[] = {
	{ "purpose", &field_str, AT(text), .flags = FIELD_POSITIONAL | FIELD_EMPTY, .dflt = "Judge whether this change should go in.",
		.help = "What the change is for." },
	{ "base", &field_str, AT(base), .max = GIT_EXPR_MAX,
		.help = "Judge what is new in the work tree since it left this branch, commit or run, instead of since HEAD." },
	{ "range", &field_str, AT(range), .max = RANGE_MAX,
		.help = "Judge between two commits instead: FROM..TO, FROM...TO since they parted, REV^! one commit; a side left out is HEAD. "
			"Branches, tags, HEAD~3, @{u}, runs." },
	{ "head", &field_str, AT(head), .max = GIT_EXPR_MAX,
		.help = "With --base: judge up to this branch, commit or run, not the work tree." },
	{ "path", &field_strs, AT(path), .max = 64,
		.help = "Judge only what lies beneath this path, from the repository's top; may be given several times." },
	{ "personas", &field_str, AT(personas), .max = 1000, .help = "Reviewers, with commas between them: security,tests." },
	{ "reviewers", &field_int, AT(reviewers), .dflt = "0", .min = 0, .max = 8,
		.help = "So many seats: of the personas, or of security, correctness, tests, over-engineering, edge-cases." },
	{ "tier", &field_str, AT(tier), .max = 16, .help = "diff, or explore: a seat may read the repository too (review.tier)." },
	{ "seat", &field_strs, AT(seat), .max = 8, .help = "A reviewer; may be given several times (review.seats)." },
	{ "decision", &field_str, AT(decision), .max = 16, .help = "advisory, veto, quorum or all (review.decision)." },
	LIMIT_FIELDS,
};

static struct run_request request_of(const struct command_ctx *ctx, const struct mode_args *a, const char *mode)
{
	struct run_request rq = run_request_new();

	rq.mode = mode;
	rq.task = a->text;
	rq.config = ctx->config;
	rq.preset = a->preset;
	rq.run_id = a->run_id;
	rq.json = a->json;
	rq.auto_approve = a->auto_approve || cli_env_flag("AGENT6_AUTO_APPROVE");
	rq.no_commands = a->no_commands || cli_env_flag("AGENT6_NO_COMMANDS");
	rq.disable_sandbox = a->disable_sandbox || cli_env_flag("AGENT6_DANGEROUSLY_DISABLE_SANDBOX");
	rq.unattended = a->unattended;
	rq.max_usd = a->max_usd.given ? &a->max_usd.value : NULL;
	rq.max_iterations = a->max_iterations.given ? &a->max_iterations.value : NULL;
	return rq;
}

static int check_flags(const struct mode_args *a, struct err *err)
{
	if (a->auto_approve && a->no_commands)
		return err_set(err, ERR_INVALID, "--auto-approve and --no-commands exclude each other");
	return 0;
}

static int check(const struct mode_args *a, struct err *err)
{
	if (str_trim(a->text).n == 0)
		return err_set(err, ERR_INVALID, "nothing but blanks");
	return check_flags(a, err);
}

static int attach(struct command_ctx *ctx, const struct mode_args *a, struct buf *out, struct err *err)
{
	struct session_ref ref;
	struct place place;

	for (size_t i = 0; i < a->file.n; i++)
		TRY(attach_file(a->file.p[i], out, err));
	if (a->from.n > 0) {
		TRY(runs_find(ctx, a->from, SESSION_ANY, &place, &ref, err));
		TRY(attach_session(&place, &ref, ctx->mem, out, err));
	}
	return a->answers_file.n > 0 ? attach_answers(a->answers_file, out, err) : 0;
}

static int start(struct command_ctx *ctx, struct run_request *rq, struct err *err)
{
	TRY(offer_local(ctx, !rq->unattended && prompt_can_ask(), err));
	return run_session(rq, err);
}

static int run_ask(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct mode_args *a = decoded;
	auto_buf struct buf context = BUF_MAX(ATTACH_MAX);
	struct run_request rq = request_of(ctx, a, "ask");
	bool talk = a->interactive || (a->text.n == 0 && !a->unattended && !a->json && prompt_can_ask());

	if (talk && (a->unattended || a->json || !prompt_can_ask()))
		return err_set(err, ERR_INVALID, a->json ? "--interactive and --json exclude each other" : "--interactive needs a terminal");
	if (!talk && a->text.n == 0)
		return err_set(err, ERR_INVALID, "agent6 ask: the question is missing");
	TRY(a->text.n > 0 ? check(a, err) : check_flags(a, err));
	TRY(attach(ctx, a, &context, err));
	rq.context = buf_str(&context);
	if (!talk)
		return start(ctx, &rq, err);
	TRY(offer_local(ctx, true, err));
	return talk_run(ctx, &rq, err);
}

/* Who judges: named with --seat or --personas, and as many as --reviewers says. */
static int seats_of(const struct mode_args *a, struct arena *mem, struct str_list *out, struct err *err)
{
	static const char *const usual[] = { "security", "correctness", "tests", "over-engineering", "edge-cases" };
	_Static_assert(COUNT(usual) <= SEATS_MAX, "they are seats");
	struct str_list from = a->seat, list = { arena_array(mem, SEATS_MAX, sizeof(struct str)), 0 };

	if (a->personas.n > 0 && from.n > 0)
		return err_set(err, ERR_INVALID, "--seat and --personas exclude each other");
	for (struct str rest = a->personas; rest.n > 0;) {
		struct str one = str_trim(str_cut(&rest, ','));

		if (one.n == 0)
			return err_set(err, ERR_INVALID, "--personas: \"" STR_FMT "\" has an empty name in it", STR_ARG(a->personas));
		if (list.n == SEATS_MAX)
			return err_set(err, ERR_INVALID, "--personas: more than %d", SEATS_MAX);
		list.p[list.n++] = one;
	}
	bool named = from.n > 0 || list.n > 0;
	for (size_t i = 0; a->reviewers > 0 && !named && i < COUNT(usual); i++)
		list.p[list.n++] = str_from(usual[i]);
	from = list.n > 0 ? list : from;
	if (a->reviewers > 0) { /* more than there are begin again: another look of the same kind */
		struct str *seats = arena_array(mem, SEATS_MAX, sizeof(*seats));

		for (size_t i = 0; i < (size_t)a->reviewers; i++)
			seats[i] = from.p[i % from.n];
		from = (struct str_list){ seats, (size_t)a->reviewers };
	}
	*out = from;
	return 0;
}

/* What no git would be asked is refused before a session begins; whether the rest is there git says then. */
static int check_revisions(const struct mode_args *a, struct err *err)
{
	struct range range;

	if (a->base.n > 0)
		TRY(range_side("--base", a->base, err));
	if (a->head.n > 0)
		TRY(range_side("--head", a->head, err));
	return a->range.n > 0 ? range_parse(a->range, &range, err) : 0;
}

static int run_review(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	static const char *const decisions[] = { "", "advisory", "veto", "quorum", "all" };
	const struct mode_args *a = decoded;
	struct run_request rq = request_of(ctx, a, "review");
	bool known = false;

	for (size_t i = 0; i < COUNT(decisions); i++)
		known = known || str_eqz(a->decision, decisions[i]);
	if (!known)
		return err_set(err, ERR_INVALID, "--decision: \"" STR_FMT "\" is not one of advisory, veto, quorum, all", STR_ARG(a->decision));
	if (a->base.n > 0 && a->range.n > 0)
		return err_set(err, ERR_INVALID, "--base and --range exclude each other");
	if (a->head.n > 0 && a->base.n == 0)
		return err_set(err, ERR_INVALID, "--head needs --base: judge from where?");
	if (a->tier.n > 0 && !str_eqz(a->tier, "diff") && !str_eqz(a->tier, "explore"))
		return err_set(err, ERR_INVALID, "--tier: \"" STR_FMT "\" is not one of diff, explore", STR_ARG(a->tier));
	TRY(check_revisions(a, err));
	TRY(seats_of(a, ctx->mem, &rq.review_seats, err));
	rq.review_base = a->head.n > 0 ? STR("") : a->base;
	rq.review_range = a->head.n > 0 ? str_printf(ctx->mem, STR_FMT ".." STR_FMT, STR_ARG(a->base), STR_ARG(a->head)) : a->range;
	rq.review_paths = a->path;
	rq.review_tier = a->tier;
	rq.review_decision = a->decision;
	return start(ctx, &rq, err);
}

/* ---- plan ---- */

static int run_plan(struct command_ctx *ctx, const struct mode_args *a, struct str task, struct buf *context, struct err *err)
{
	struct run_request rq = request_of(ctx, a, "plan");
	autoclose int questions = -1;

	TRY(check(a, err));
	TRY(attach(ctx, a, context, err));
	TRY(questions_open(a->questions_file, ctx->mem, &questions, err));
	rq.task = task;
	rq.context = buf_str(context);
	rq.questions_fd = questions;
	return start(ctx, &rq, err);
}

static int run_new(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct mode_args *a = decoded;
	auto_buf struct buf context = BUF_MAX(ATTACH_MAX);

	return run_plan(ctx, a, a->text, &context, err);
}

static int find_plan(struct command_ctx *ctx, struct str id, struct place *place, struct session_ref *ref, struct err *err)
{
	TRY(runs_find(ctx, id, id.n > 0 ? SESSION_ANY : 1u << SESSION_PLAN, place, ref, err));
	return ref->kind == SESSION_PLAN ? 0 : err_set(err, ERR_INVALID, "%s is a %s, not a plan", ref->id, session_word(ref->kind));
}

static int run_revise(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct mode_args *a = decoded;
	auto_buf struct buf context = BUF_MAX(ATTACH_MAX);
	struct session_ref ref;
	struct place place;
	struct str task;

	TRY(check(a, err));
	TRY(find_plan(ctx, a->id, &place, &ref, err));
	TRY(attach_plan(&place, &ref, "There is a plan for this task already:", ctx->mem, &context, &task, err));
	TRY(buf_addf(&context, err, "The person wants it changed:\n" STR_FMT "\nHand in the whole plan anew.\n", STR_ARG(a->text)));
	return run_plan(ctx, a, task, &context, err);
}

static int open_record(const struct place *place, const struct session_ref *ref, struct arena *mem, int *fd, struct err *err)
{
	return dir_open(AT_FDCWD, session_path(place->repo_dir, ref, "record", mem), fd, err);
}

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct mode_args *a = decoded;
	auto_buf struct buf text = BUF_MAX(PLAN_MAX), clean = BUF_MAX(6 * PLAN_MAX), open = BUF_MAX(4 * PLAN_MAX);
	autoclose int record = -1;
	struct session_ref ref;
	struct place place;
	int r;

	TRY(find_plan(ctx, a->id, &place, &ref, err));
	TRY(open_record(&place, &ref, ctx->mem, &record, err));
	r = file_read(record, a->json ? "result.json" : "plan.md", &text, err);
	if (r == -ERR_NOENT)
		return err_set(err, ERR_NOENT, "%s wrote no plan", ref.id);
	TRY(r);
	TRY(term_clean(buf_str(&text), a->json ? TERM_JSON : TERM_TEXT, &clean, err));
	cli_out(STR_FMT "%s", STR_ARG(buf_str(&clean)), str_ends(buf_str(&clean), STR("\n")) ? "" : "\n");
	fflush(stdout);
	TRY(questions_text(record, ref.id, &open, err));
	fwrite(open.p, 1, open.n, stderr);
	cli_note("plan %s; `agent6 run --from-plan %s` carries it out", ref.id, ref.id);
	return 0;
}

/* The person's editor, with its own words split at blanks. */
static int run_editor(struct command_ctx *ctx, const char *path, struct err *err)
{
	const char *named = getenv("VISUAL"), *words[32];
	struct str rest;
	struct proc p;
	struct proc_status st;
	size_t n = 0;

	named = named && *named ? named : getenv("EDITOR");
	rest = str_from(named && *named ? named : "vi");
	while (rest.n > 0 && n + 2 < COUNT(words)) {
		struct str word = str_cut(&rest, ' ');

		if (word.n > 0)
			words[n++] = str_dupz(ctx->mem, word);
	}
	words[n++] = path;
	words[n] = NULL;
	TRY(proc_spawn(&(struct proc_spec){ .argv = words, .env = (const char *const *)environ, .keep_stdio = true }, &p, err));
	TRY(proc_wait(&p, &st, err));
	return st.code == 0 ? 0 : err_set(err, ERR_DENIED, "%s ended with status %d; the plan is as it was", words[0], st.code);
}

static int run_edit(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct mode_args *a = decoded;
	auto_buf struct buf text = BUF_MAX(PLAN_MAX), edited = BUF_MAX(PLAN_MAX);
	autoclose int record = -1, lock = -1;
	struct session_ref ref;
	struct place place;

	TRY(find_plan(ctx, a->id, &place, &ref, err));
	TRY(session_lock(place.repo_dir, &ref, &lock, err)); /* nobody plans meanwhile */
	TRY(open_record(&place, &ref, ctx->mem, &record, err));
	if (file_read(record, "plan.md", &text, err) < 0)
		return err_wrap(err, "%s", ref.id);
	TRY(file_replace(record, "plan.edit.md", buf_str(&text), 0600, err));
	int r = run_editor(ctx, session_path(place.repo_dir, &ref, "record/plan.edit.md", ctx->mem), err);

	r = r < 0 ? r : file_read(record, "plan.edit.md", &edited, err);
	unlinkat(record, "plan.edit.md", 0);
	TRY(r);
	if (str_trim(buf_str(&edited)).n == 0)
		return err_set(err, ERR_INVALID, "the plan is empty now; it is kept as it was");
	if (str_eq(buf_str(&edited), buf_str(&text))) {
		cli_note("the plan is as it was");
		return 0;
	}
	TRY(file_replace(record, "plan.md", buf_str(&edited), 0600, err));
	cli_note("plan %s is changed; `agent6 run --from-plan %s` carries it out", ref.id, ref.id);
	return 0;
}

#define FIELDS(table) .fields = table, .nfields = COUNT(table), .size = sizeof(struct mode_args)

static const struct command commands[] = {
	{ .name = "ask", .help = "answer a question about the files here, changing nothing",
		.about = "Works outside a repository too. Nothing can be written, by the model or by a command it runs. The answer goes\n"
			 "to standard output, everything else to standard error. Exit status: 0 answered, 1 not, 2 refused, 3 budget\n"
			 "spent, 130 interrupted. -i, or no question on a terminal, is a conversation. `agent6 resume ID --steer \"...\"` asks further.",
		FIELDS(ask_fields), .run = run_ask,
		.starts_commands = true },
	{ .name = "review", .help = "have a change judged by one model or a panel",
		.about = "The change is what is new in the work tree, or --base, or --range. A finding counts only if it quotes lines that\n"
			 "stand in the diff. Exit status: 0 it may go in, 1 nobody gave a verdict, 2 it is blocked (or refused), 3 budget\n"
			 "spent.",
		FIELDS(review_fields), .run = run_review },
	{ .name = "plan new", .help = "write a plan, changing nothing",
		.about = "The plan goes to standard output and is kept. Exit status as for ask.", FIELDS(new_fields), .run = run_new,
		.starts_commands = true },
	{ .name = "plan show", .help = "print a plan", FIELDS(id_fields), .run = run_show, .needs_no_root_check = true },
	{ .name = "plan revise", .help = "write a plan anew from what is said to it", FIELDS(revise_fields), .run = run_revise,
		.starts_commands = true },
	{ .name = "plan edit", .help = "open a plan in $VISUAL or $EDITOR", FIELDS(edit_fields), .run = run_edit },
};

const struct command_group commands_modes = { commands, COUNT(commands), "plan new" };
