/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/attach.h"
#include "app/fork.h"
#include "app/run.h"
#include "ui/cli/attended.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/command.h"
#include "ui/cli/composer.h"
#include "ui/cli/offer.h"
#include "ui/cli/prompt.h"
#include "ui/cli/questions.h"

#define SHA_SHOWN 12

struct run_args {
	struct str questions_file, answers_file;
	struct str task, run_id, steer, from, from_plan, preset;
	bool decompose;
	struct str_list pin;
	struct str standing;
	bool auto_approve, no_commands, disable_sandbox, unattended, interactive, yes;
	struct str_list skills;
	struct given_num max_usd;
	struct given_int max_iterations;
	/* resume */
	bool force;
	/* fork */
	struct str new_id;
	int64_t at_turn;
	bool no_run;
};

/* What both `run` and `resume` take. */
#define SHARED_FIELDS                                                                                        \
	{ "auto-approve", &field_bool, offsetof(struct run_args, auto_approve),                              \
		.help = "Run commands without asking where sandbox.run_commands is \"ask\". Never overrides \"no\"." }, \
	{ "no-commands", &field_bool, offsetof(struct run_args, no_commands),                                \
		.help = "Run no command at all, not even the gate." },                                       \
	{ "preset", &field_str, offsetof(struct run_args, preset), .max = 64,        \
		.help = "A strategy preset for this run; \"agent6 config presets\" lists them." },            \
	{ "max-usd", &given_num, offsetof(struct run_args, max_usd), .min = -1, .max = 1000000,              \
		.help = "Stop before the request that would pass this many dollars; -1 is no limit." },      \
	{ "max-iterations", &given_int, offsetof(struct run_args, max_iterations), .min = -1,                \
		.max = 1000000, .help = "At most this many turns; -1 is no limit." },                        \
	{ "pin", &field_strs, offsetof(struct run_args, pin), .max = 32,                                      \
		.help = "Something the model is told again whenever the conversation begins anew; 4000 characters in all." }, \
	{ "standing", &field_str, offsetof(struct run_args, standing), .max = 4000,                           \
		.help = "A goal the run goes on with whenever its task is done, until the budget or you end it." },  \
	{ "interactive", &field_bool, offsetof(struct run_args, interactive),                                 \
		.help = "Pause after each step and wait for your words; needs a terminal." },                \
	{ "i", &field_bool, offsetof(struct run_args, interactive), .flags = FIELD_HIDDEN,                   \
		.help = "The same as --interactive." },                                                      \
	{ "yes", &field_bool, offsetof(struct run_args, yes),                                                \
		.help = "Carry the plan of workflow.default = \"implement\" out without asking first." },    \
	{ "unattended", &field_bool, offsetof(struct run_args, unattended),                                  \
		.help = "Ask nothing, even on a terminal." },                                                \
	{ "dangerously-disable-sandbox", &field_bool, offsetof(struct run_args, disable_sandbox),            \
		.flags = FIELD_LOOSENS, .help = "Run everything unconfined, as you." }

#define QUESTION_FIELDS                                                                                      \
	{ "questions-file", &field_str, offsetof(struct run_args, questions_file), .max = 4096, \
		.help = "Questions that nobody is there to answer end the run and are written there, as JSON with empty answers." }, \
	{ "answers-file", &field_str, offsetof(struct run_args, answers_file), .max = 4096, \
		.help = "Such a file, filled in." }

static const struct field run_fields[] = {
	{ "task", &field_str, offsetof(struct run_args, task), .flags = FIELD_POSITIONAL,
		.help = "What is to be done, in your words; or --from-plan." },
	{ "decompose", &field_bool, offsetof(struct run_args, decompose),
		.help = "Have the model break the task up into a task list first." },
	{ "from-plan", &field_str, offsetof(struct run_args, from_plan), .max = 96,
		.help = "Carry this plan out." },
	{ "from", &field_str, offsetof(struct run_args, from), .max = 96,
		.help = "Attach what came of an earlier session." },
	QUESTION_FIELDS,
	SHARED_FIELDS,
	{ "run-id", &field_str, offsetof(struct run_args, run_id), .max = 96,
		.help = "Use this id instead of a made-up one." },
	{ "skill", &field_strs, offsetof(struct run_args, skills), .max = 8,
		.help = "Begin with this skill's instructions; may be said several times." },
};

static const struct field resume_fields[] = {
	{ "id", &field_str, offsetof(struct run_args, run_id), .flags = FIELD_POSITIONAL, .max = 96,
		.help = "The run, or an unambiguous beginning of its id; the newest when absent." },
	{ "steer", &field_str, offsetof(struct run_args, steer), .max = 16384,
		.help = "The first thing the model is told." },
	{ "force", &field_bool, offsetof(struct run_args, force),
		.help = "Go on although the run's commits are not what its record says." },
	QUESTION_FIELDS,
	SHARED_FIELDS,
};

static const struct field fork_fields[] = {
	{ "id", &field_str, offsetof(struct run_args, run_id), .flags = FIELD_POSITIONAL, .max = 96,
		.help = "The run, or an unambiguous beginning of its id; the newest when absent." },
	{ "at-turn", &field_int, offsetof(struct run_args, at_turn), .min = 1, .max = UINT32_MAX - 1,
		.help = "Begin with what the model knew before this turn; the newest checkpoint when absent." },
	{ "run-id", &field_str, offsetof(struct run_args, new_id), .max = 96,
		.help = "The new run's id instead of a made-up one." },
	{ "no-run", &field_bool, offsetof(struct run_args, no_run),
		.help = "Only make it and print its id; agent6 resume starts it." },
	{ "steer", &field_str, offsetof(struct run_args, steer), .max = 16384,
		.help = "The first thing the model is told." },
	SHARED_FIELDS,
};

/* What a leg can begin with: words, or what the run itself reads. A command for a run that is on says nothing to the model. */
static int check_steer(struct str steer, struct err *err)
{
	struct typed t = compose(steer, false);

	if (steer.n == 0 || (t.what == TYPED_TELL && t.kind == ANSWER_STEER))
		return 0;
	if (t.what == TYPED_WRONG)
		return err_set(err, ERR_INVALID, "--steer: " STR_FMT ": %s", STR_ARG(str_head(steer, utf8_head(steer, 80))), t.message);
	err_set(err, ERR_INVALID, "--steer: " STR_FMT " is said to a run that is on", STR_ARG(str_head(steer, utf8_head(steer, 80))));
	err_hint(err, "words, /pin TEXT or /skill NAME can begin with it");
	return -ERR_INVALID;
}

static int request_of(const struct command_ctx *ctx, const struct run_args *args, struct run_request *out,
	struct err *err)
{
	struct run_request rq = run_request_new();

	if (args->task.n > 0 && str_trim(args->task).n == 0)
		return err_set(err, ERR_INVALID, "task: nothing but blanks");
	if (args->auto_approve && args->no_commands)
		return err_set(err, ERR_INVALID, "--auto-approve and --no-commands exclude each other");
	TRY(check_steer(args->steer, err));
	rq.task = args->task;
	rq.config = ctx->config;
	rq.run_id = args->run_id;
	rq.steer = args->steer;
	rq.preset = args->preset;
	rq.decompose = args->decompose;
	rq.pins = args->pin;
	rq.standing = str_trim(args->standing);
	rq.interactive = args->interactive;
	if (rq.interactive && (args->unattended || !prompt_can_ask()))
		return err_set(err, ERR_INVALID, "--interactive needs a terminal");
	rq.skills = args->skills;
	rq.force = args->force;
	rq.auto_approve = args->auto_approve || cli_env_flag("AGENT6_AUTO_APPROVE");
	rq.no_commands = args->no_commands || cli_env_flag("AGENT6_NO_COMMANDS");
	rq.disable_sandbox = args->disable_sandbox || cli_env_flag("AGENT6_DANGEROUSLY_DISABLE_SANDBOX");
	rq.yes = args->yes;
	rq.unattended = args->unattended;
	rq.max_usd = args->max_usd.given ? &args->max_usd.value : NULL;
	rq.max_iterations = args->max_iterations.given ? &args->max_iterations.value : NULL;
	*out = rq;
	return 0;
}

static int attach_to(struct command_ctx *ctx, const struct run_args *args, struct run_request *rq, struct buf *context,
	struct err *err)
{
	struct session_ref ref;
	struct place place;

	if (args->from_plan.n > 0) {
		TRY(runs_find(ctx, args->from_plan, 1u << SESSION_PLAN, &place, &ref, err));
		TRY(attach_plan(&place, &ref, "Carry out this plan, step by step; keep a task list of its steps:", ctx->mem, context,
			&rq->task, err));
	}
	if (args->from.n > 0) {
		TRY(runs_find(ctx, args->from, SESSION_ANY, &place, &ref, err));
		TRY(attach_session(&place, &ref, ctx->mem, context, err));
	}
	if (args->answers_file.n > 0)
		TRY(attach_answers(args->answers_file, context, err));
	rq->context = buf_str(context);
	return 0;
}

static int start(struct command_ctx *ctx, const struct run_args *args, bool resume, struct err *err)
{
	auto_buf struct buf context = BUF_MAX(ATTACH_MAX);
	autoclose int questions = -1;
	struct run_request rq;

	TRY(request_of(ctx, args, &rq, err));
	TRY(attach_to(ctx, args, &rq, &context, err));
	TRY(questions_open(args->questions_file, ctx->mem, &questions, err));
	rq.questions_fd = questions;
	rq.resume = resume;
	if (!resume)
		TRY(offer_local(ctx, !rq.unattended && prompt_can_ask(), err));
	return run_go(ctx, &rq, err);
}

static int run_task(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct run_args *args = decoded;

	if (args->task.n > 0 && args->from_plan.n > 0)
		return err_set(err, ERR_INVALID, "a task and --from-plan exclude each other");
	if (args->task.n == 0 && args->from_plan.n == 0) {
		int r = err_set(err, ERR_INVALID, "agent6 run: the task is missing");

		err_hint(err, "usage: agent6 run [flags] TASK, or agent6 run --from-plan ID");
		return r;
	}
	return start(ctx, args, false, err);
}

static int resume_run(struct command_ctx *ctx, const void *args, struct err *err)
{
	return start(ctx, args, true, err);
}

static void tell_fork(const struct fork_made *f)
{
	if (f->sha.n == 0)
		cli_note("forked %s at turn %u -> %s (nothing was committed by then)", f->from.id, f->turn, f->ref.id);
	else
		cli_note("forked %s at turn %u -> %s (%s%s at " STR_FMT ")", f->from.id, f->turn, f->ref.id,
			f->branch ? "branch agent6/" : "its chain", f->branch ? f->ref.id : "",
			STR_ARG(str_head(f->sha, SHA_SHOWN)));
}

static int fork_run(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct run_args *args = decoded;
	uint32_t turn = args->at_turn == 0 ? FORK_NEWEST : (uint32_t)args->at_turn;
	struct fork_made made;
	struct run_request rq;
	struct session_ref from;
	struct place place;

	if (args->no_run && args->steer.n > 0)
		return err_set(err, ERR_INVALID, "--steer and --no-run exclude each other: nobody would hear it");
	TRY(request_of(ctx, args, &rq, err));
	TRY(runs_find(ctx, args->run_id, 1u << SESSION_RUN, &place, &from, err));
	rq.resume = true;
	rq.run_id = str_from(from.id);
	if (!args->no_run) /* a fork that nobody could go on with is not made */
		TRY(app_run_could_begin(&rq, err));
	TRY(app_fork(&place, &from, args->new_id, turn, ctx->mem, &made, err));
	tell_fork(&made);
	if (args->no_run) {
		cli_out("%s\n", made.ref.id);
		return 0;
	}
	rq.run_id = str_from(made.ref.id);
	int r = run_go(ctx, &rq, err);

	if (r < 0)
		cli_note("the fork %s is there all the same; `agent6 resume %s` goes on with it, `agent6 runs rm %s` removes it", made.ref.id,
			made.ref.id, made.ref.id);
	return r;
}

static const struct command run_commands[] = {
	{ .name = "run", .help = "run one task in the repository around the current directory",
		.about = "Every green step becomes a commit on the side chain agent6/<id>; your branch, index and HEAD stay\n"
			 "as they are. \"agent6 runs merge\" brings the work over. On a terminal, what you type while it works goes to the\n"
			 "model, /help lists what else you can say, and Ctrl-C pauses after the step; elsewhere it stops then, twice now.\n"
			 "Exit status:" EXIT_STATUSES(EXIT_STATUS_LINE),
		.fields = run_fields, .nfields = COUNT(run_fields), .size = sizeof(struct run_args), .run = run_task,
		.starts_commands = true },
	{ .name = "resume", .help = "go on with a run that ended before it was done",
		.about = "The conversation goes on from its newest checkpoint, with a fresh budget. A finished run needs --steer.",
		.fields = resume_fields, .nfields = COUNT(resume_fields), .size = sizeof(struct run_args), .run = resume_run,
		.starts_commands = true },
	{ .name = "fork", .help = "begin a run of its own where another one stood",
		.about = "The new run knows what the other knew before that turn, and its chain begins at the step of then. The\n"
			 "work tree stays as it is: what was done since is in it, not on the new chain. Files that are new since stay out of\n"
			 "the fork's steps; what else was changed since is in its next step, and is named when it begins.",
		.fields = fork_fields, .nfields = COUNT(fork_fields), .size = sizeof(struct run_args), .run = fork_run,
		.starts_commands = true },
};

const struct command_group commands_run = { run_commands, COUNT(run_commands), NULL };
