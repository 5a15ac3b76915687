/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/attended.h"

#include "app/fork.h"
#include "app/history.h"
#include "app/regate.h"
#include "config/preset.h"
#include "role/reader.h"
#include "session/answers.h"
#include "sys/file.h"
#include "sys/term.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/prompt.h"

#include <fcntl.h>

#define OFFERED_MAX 200 /* of words that were taken back: longer ones are not offered again */

/* Not in a job of a CI system, whose terminal nobody sits at; not where nobody is to be asked. */
static bool run_has_person(const struct run_request *rq)
{
	return !rq->unattended && prompt_can_ask() && !cli_env_flag("CI");
}

/* After a stop, a refusal or a crash there is nothing to go on with at once. */
static bool may_go_on(const struct leash_end *end)
{
	static const int done[] = { 0, 1, 3, 4, 5 };

	for (size_t i = 0; i < COUNT(done); i++)
		if (end->status == done[i] && end->run_id[0] != '\0' && !end->detached)
			return true;
	return false;
}

enum next { NEXT_NOTHING, NEXT_WORDS, NEXT_UNDO };

static bool is_exit(struct str word)
{
	return str_eqz(word, "/exit") || str_eqz(word, "/quit") || str_eqz(word, "/q");
}

static struct str shown(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, 4096), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

/* What begins with a slash is said to us, and is never the start of a leg. */
static void answer_here(struct str line)
{
	auto_buf struct buf word = BUF_MAX(256);
	struct str first = str_cut(&line, ' ');

	if (!str_eqz(first, "/help") && !str_eqz(first, "/h") && !str_eqz(first, "/?") &&
		term_clean(str_head(first, utf8_head(first, 40)), TERM_LINE, &word, ERR_DISCARD) == 0)
		cli_note(STR_FMT " %s; nothing was sent", STR_ARG(buf_str(&word)),
			str_eqz(first, "/undo") || is_exit(first) ? "takes no words" : "is no command here");
	cli_note("words begin the next leg (a / in front is for commands), /undo takes the last ones back, /preset NAME chooses a preset, "
		 "/exit ends");
}

/* The next leg's, and of those after it. Without a name: which one it is, and which there are. */
static void choose_preset(struct command_ctx *ctx, struct run_request *rq, struct str name)
{
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct err err = { 0 };
	struct place place;
	struct str_list all;

	if (place_find(STR(""), ctx->config, ctx->mem, &place, &err) < 0)
		return cli_note("%s", err.msg);
	place.files.preset = name.n > 0 ? name : rq->preset;
	if (config_load(&place.files, ctx->mem, c, &err) < 0)
		return cli_note(STR_FMT "; the preset stays as it is", STR_ARG(str_trim_prefix(str_from(err.msg), STR("--preset: "))));
	if (name.n > 0) {
		rq->preset = str_dup(ctx->mem, name);
		return cli_note("the next leg has preset " STR_FMT, STR_ARG(shown(ctx->mem, name)));
	}
	all = config_preset_names(c);
	cli_note("preset " STR_FMT "; there are: " STR_FMT, STR_ARG(c->preset.n > 0 ? shown(ctx->mem, c->preset) : STR("is not chosen")),
		STR_ARG(shown(ctx->mem, str_join(ctx->mem, all.p, all.n, ' '))));
}

/* offered: what Enter alone says; NULL: nothing. */
static enum next ask_next(struct command_ctx *ctx, struct run_request *rq, const char *run_id, const char *offered)
{
	struct arena *mem = ctx->mem;
	struct str *out = &rq->steer;

	for (;;) {
		struct err err = { 0 };
		struct str words, word;

		int r = prompt_line("next (/exit to finish)", offered, mem, out, &err);

		if (r == -ERR_LIMIT)
			cli_note("%s: nothing was sent; put it into a file and name it", err.msg);
		if (r == -ERR_LIMIT)
			continue;
		if (r < 0)
			break;
		if (is_exit(*out))
			break;
		if (str_eqz(*out, "/undo"))
			return NEXT_UNDO;
		words = *out;
		word = str_cut(&words, ' ');
		if (str_eqz(word, "/preset")) {
			choose_preset(ctx, rq, str_trim(words));
			continue;
		}
		if (str_starts(*out, STR("/"))) {
			answer_here(*out);
			continue;
		}
		if (out->n > 0 && out->n <= ANSWER_TEXT_MAX)
			return NEXT_WORDS;
	}
	cli_note("resume with: agent6 resume %s --steer \"...\"", run_id);
	return NEXT_NOTHING;
}

/* Another run, from before what the person said last; their words are theirs to say again. */
static int undo(struct command_ctx *ctx, const char *run_id, struct fork_made *made, const char **offered, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(64 * 1024);
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, str_from(run_id), 1u << SESSION_RUN, &place, &ref, err));
	TRY(app_undo(&place, &ref, ctx->mem, made, err));
	TRY(term_clean(str_head(made->text, OFFERED_MAX + 1), TERM_LINE, &clean, err));
	cli_note("undone: %s goes on from turn %u of %s, before you said%s" STR_FMT "%s", made->ref.id, made->turn, made->from.id,
		clean.n > 0 ? " \"" : " what you said last", STR_ARG(buf_str(&clean)),
		clean.n == 0 ? "" : made->text.n > OFFERED_MAX ? "...\"" : "\"");
	cli_note("nothing is lost: %s keeps all of it, agent6 resume %s goes on there", made->from.id, made->from.id);
	cli_note("only the conversation is taken back: the files stay as they lie there, and what is changed in them is in the next step; agent6 "
		 "runs diff %s shows the steps, git restore%s%s%s FILE takes a file back", made->from.id, made->sha.n > 0 ? " --source=refs/agent6/" : "",
		made->sha.n > 0 ? made->ref.id : "", made->sha.n > 0 ? "/head" : "");
	*offered = made->text.n > 0 && made->text.n <= OFFERED_MAX && !str_starts(made->text, STR("/")) &&
			str_eq(buf_str(&clean), made->text)
		? str_dupz(ctx->mem, made->text) : NULL;
	return 0;
}

/* False: nothing comes after this leg; otherwise rq is made ready for the next one. */
static bool next_leg(struct command_ctx *ctx, struct run_request *rq, const struct leash_end *end)
{
	const char *run_id = str_dupz(ctx->mem, str_from(end->run_id)), *offered = NULL;
	enum next what = end->undo && run_id[0] != '\0' ? NEXT_UNDO : may_go_on(end) ? NEXT_WORDS : NEXT_NOTHING;

	if (what == NEXT_WORDS)
		what = ask_next(ctx, rq, run_id, NULL);
	while (what == NEXT_UNDO) {
		struct fork_made made;
		struct err why = { 0 };

		if (undo(ctx, run_id, &made, &offered, &why) < 0)
			cli_note("nothing is undone: %s", why.msg);
		else
			run_id = str_dupz(ctx->mem, str_from(made.ref.id));
		what = ask_next(ctx, rq, run_id, offered);
	}
	if (what == NEXT_NOTHING)
		return false;
	rq->resume = true;
	rq->task = rq->context = STR("");
	rq->pins = (struct str_list){ 0 };
	rq->run_id = str_from(run_id);
	return true;
}

int run_session(struct run_request *rq, struct err *err)
{
	char note[RUN_NOTE_MAX] = "";
	int r;

	rq->out_note = note;
	r = app_run(rq, err);
	rq->out_note = NULL;
	if (note[0] != '\0')
		cli_note("%s", note);
	return r;
}

int run_leg(struct run_request *rq, struct leash_end *end, int *status, struct err *err)
{
	struct leash leash;
	int r = leash_begin(rq, &leash, err);

	TRY(r);
	if (r == 1) {
		TRY(*status = run_session(rq, err));
		return 1;
	}
	return leash_wait(&leash, end, err);
}

/* ---- what comes after a run by itself ---- */

/* What a run keeps of itself: the preset that goes with it, what was set aside before it began. */
static int manifest_of(const struct place *place, const struct session_ref *ref, struct arena *mem, struct manifest *out, struct err *err)
{
	autoclose int record = -1;
	struct facts f;

	TRY(dir_open(AT_FDCWD, session_path(place->repo_dir, ref, "record", mem), &record, err));
	TRY(reader_facts(record, false, mem, &f, err));
	*out = f.manifest;
	return 0;
}

/* What the configuration wants of who waits for a run. What is wrong with it the run itself will say. */
static struct config_git wishes(struct command_ctx *ctx, const struct run_request *rq)
{
	struct session_ref ref;
	struct config config;
	struct manifest m;
	struct place place;

	if (place_find(STR(""), ctx->config, ctx->mem, &place, ERR_DISCARD) < 0)
		return (struct config_git){ 0 };
	place.files.preset = rq->preset;
	if (config_load(&place.files, ctx->mem, &config, ERR_DISCARD) < 0)
		return (struct config_git){ 0 };
	/* Presets of ours say nothing of git. */
	if (rq->resume && rq->preset.n == 0 && config.npresets > 0 && session_resolve(place.repo_dir, rq->run_id, 1u << SESSION_RUN, &ref, ERR_DISCARD) == 0 &&
		manifest_of(&place, &ref, ctx->mem, &m, ERR_DISCARD) == 0) {
		place.files.preset = m.preset; /* it goes with the run */
		if (config_load(&place.files, ctx->mem, &config, ERR_DISCARD) < 0)
			return (struct config_git){ 0 };
	}
	return config.git;
}

static void note(void *self, const char *text)
{
	(void)self;
	cli_note("%s", text);
}

/* That the run is green is its agent's word: the gate that the operator set is run once more. 0: it holds. */
static int check_again(struct command_ctx *ctx, const struct run_request *rq, struct place *place,
	const struct session_ref *ref, struct err *err)
{
	struct config c;
	struct manifest m;
	struct regate_request again = { .place = place, .ref = ref, .config = ctx->config, .argv = rq->verify_command,
		.disable_sandbox = rq->disable_sandbox, .note = note };

	TRY(manifest_of(place, ref, ctx->mem, &m, err));
	again.preset = place->files.preset = rq->preset.n > 0 ? rq->preset : m.preset;
	TRY(config_load(&place->files, ctx->mem, &c, err));
	if (again.argv.n == 0)
		again.argv = c.workflow.verify_command;
	TRY(app_regate_reads(&again, err));
	if (again.argv.n == 0) {
		cli_note("workflow.verify_command is not set: that the run is done is its own word, and nothing else checked it");
		return 0;
	}
	if (rq->no_commands || c.sandbox.run_commands == RUN_COMMANDS_NO)
		return err_set(err, ERR_DENIED, "sandbox.run_commands is \"no\", so the gate cannot be run again");
	again.timeout_ms = c.workflow.verify_timeout_s * 1000;
	return app_regate(&again, err);
}

/* The exit status that the leg and its merge have together. */
static int merge_after(struct command_ctx *ctx, const struct run_request *rq, const struct leash_end *end, struct err *err)
{
	struct err why = { 0 };
	struct session_ref ref;
	struct place place;
	int r;

	if (end->status != 0 || end->detached || end->undo || end->run_id[0] == '\0')
		return end->status;
	TRY(runs_find(ctx, str_from(end->run_id), SESSION_ANY, &place, &ref, err));
	if (ref.kind != SESSION_RUN)
		return 0;
	r = check_again(ctx, rq, &place, &ref, &why) < 0 ? 1 : 0;
	if (r != 0)
		cli_note("%s", why.msg);
	else
		r = runs_auto_merge(ctx, str_from(ref.id), err);
	if (r != 0)
		cli_note("the run is done, but was not merged: agent6 runs merge %s", ref.id);
	return r;
}

static void tell_unstashed(struct command_ctx *ctx, enum repo_unstash how, const struct str_list *names, const char *id)
{
	if (how == REPO_UNSTASHED)
		cli_note("what was set aside before %s is back", id);
	if (how != REPO_UNSTASH_CONFLICTS)
		return;
	cli_note("what was set aside before %s stays so: it would come over other changes of", id);
	for (size_t i = 0; i < names->n; i++)
		cli_out("  " STR_FMT "\n", STR_ARG(shown(ctx->mem, names->p[i])));
}

/* It comes back where that is wished, and always where the run never began. Never lost: what stays is said with the way to get it. */
static void stash_after(struct command_ctx *ctx, const struct leash_end *end, const struct config_git *git, bool detached)
{
	enum repo_unstash how = REPO_UNSTASH_CONFLICTS;
	struct str sha = str_from(end->stash);
	struct str_list names = { 0 };
	struct session_ref ref;
	struct manifest m;
	struct place place;
	struct err err = { 0 };
	bool began;

	if (end->run_id[0] == '\0' || place_find(STR(""), ctx->config, ctx->mem, &place, ERR_DISCARD) < 0)
		return;
	began = session_resolve(place.repo_dir, str_from(end->run_id), 1u << SESSION_RUN, &ref, ERR_DISCARD) == 0;
	/* Before a run that goes on now: its record says it. */
	if (sha.n == 0 && began && git->auto_stash_pop && manifest_of(&place, &ref, ctx->mem, &m, ERR_DISCARD) == 0)
		sha = m.stash;
	if (sha.n == 0)
		return;
	if (!detached && !end->detached && (git->auto_stash_pop || !began || end->status == 2)) {
		if (history_unstash(&place, end->run_id, sha, ctx->mem, &how, &names, &err) < 0)
			cli_note("what was set aside before %s stays so: %s", end->run_id, err.msg);
		else
			tell_unstashed(ctx, how, &names, end->run_id);
	}
	/* Whoever set it aside just now knows of it; one that a record tells of may be back for long. */
	if (how == REPO_UNSTASH_GONE && end->stash[0] != '\0')
		cli_note("what was set aside before %s is not at refs/agent6-stash/%s any more, and was not brought back; if that was not you, while "
			 "git has it: git stash apply --index " STR_FMT, end->run_id, end->run_id, STR_ARG(sha));
	if (how == REPO_UNSTASH_CONFLICTS)
		cli_note("to get it back: git stash apply --index " STR_FMT " && git update-ref -d refs/agent6-stash/%s", STR_ARG(sha),
			end->run_id);
}

/* Who waits for the run has what a merge needs; the run itself gave it up. */
static int run_then_merge(struct command_ctx *ctx, struct run_request *rq, const struct config_git *git, struct err *err)
{
	struct leash_end end;
	int status, r = run_leg(rq, &end, &status, err);

	TRY(r);
	if (r == 1)
		return status;
	r = git->auto_merge ? merge_after(ctx, rq, &end, err) : end.status;
	stash_after(ctx, &end, git, false);
	return r;
}

/* Once, before anything exists: the operator said it in two places, and hears what both together mean. */
static int accept_unguarded(struct command_ctx *ctx, const struct run_request *rq, struct err *err)
{
	bool unguarded = false;
	struct str answer;

	TRY(app_run_unguarded(rq, &unguarded, err));
	if (!unguarded)
		return 0;
	cli_note("UNSANDBOXED, and no command is asked about: whatever the model says runs as you, with your files and your keys");
	TRY(prompt_line("Continue? (y/n)", "n", ctx->mem, &answer, err));
	if (str_eqz(answer, "y") || str_eqz(answer, "Y") || str_eqz(answer, "yes"))
		return 0;
	err_set(err, ERR_STOPPED, "nothing was started");
	err_hint(err, "take --dangerously-disable-sandbox or --auto-approve away, or set sandbox.profile or sandbox.run_commands");
	return -ERR_STOPPED;
}

static int run_attended(struct command_ctx *ctx, struct run_request *rq, const struct config_git *git, struct err *err)
{
	struct leash_end first = { 0 }; /* the leg before which something was set aside */

	TRY(accept_unguarded(ctx, rq, err));
	for (;;) {
		struct leash_end end;
		int status, r = run_leg(rq, &end, &status, err);

		TRY(r);
		if (r == 1)
			return status;
		if (end.aside && !rq->set_aside) {
			rq->set_aside = true;
			continue;
		}
		if (first.run_id[0] == '\0' || end.stash[0] != '\0')
			first = end;
		if (end.detached)
			cli_note("detached; the run goes on: agent6 watch %s", end.run_id);
		if (git->auto_merge && (r = merge_after(ctx, rq, &end, err)) >= 0)
			end.status = r;
		if (r >= 0 && next_leg(ctx, rq, &end))
			continue;
		first.status = end.status;
		stash_after(ctx, &first, git, end.detached);
		return r < 0 ? r : end.undo ? 0 : end.status;
	}
}

int run_go(struct command_ctx *ctx, struct run_request *rq, struct err *err)
{
	const struct config_git git = wishes(ctx, rq);

	if (run_has_person(rq))
		return run_attended(ctx, rq, &git, err);
	return git.auto_merge || git.auto_stash ? run_then_merge(ctx, rq, &git, err) : run_session(rq, err);
}
