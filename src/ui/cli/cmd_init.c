/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/command.h"
#include "ui/cli/prompt.h"
#include "ui/cli/typed.h"

#include "app/init.h"
#include "fmt/shellword.h"
#include "sys/term.h"

struct init_args {
	bool yes;
	struct str ecosystem;
};

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, 4096), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int ecosystem_of(struct str word, enum init_ecosystem *out, struct err *err)
{
	*out = INIT_OTHER;
	if (word.n == 0)
		return 0;
	for (int i = 0; init_ecosystems[i]; i++)
		if (str_eqz(word, init_ecosystems[i])) {
			*out = (enum init_ecosystem)(i + 1);
			return 0;
		}
	return err_set(err, ERR_INVALID, "--ecosystem: \"" STR_FMT "\" is not one of py, rust, node", STR_ARG(word));
}

static int may(const struct init_args *args, const struct place *place, struct arena *mem, struct err *err)
{
	struct str answer;
	int r;

	if (args->yes)
		return 0;
	if (!prompt_can_ask()) {
		r = err_set(err, ERR_DENIED, "nobody can be asked here whether the files of %s may be changed", place->workspace);
		err_hint(err, "agent6 init --yes");
		return r;
	}
	cli_note("in %s: adds to .gitignore and AGENTS.md, and sets the repository's verify command where none is set", place->workspace);
	TRY(prompt_line("go on? (y/n)", "n", mem, &answer, err));
	return str_eqz(answer, "y") || str_eqz(answer, "yes") ? 0 : err_set(err, ERR_STOPPED, "nothing was changed");
}

static struct str words(struct arena *mem, struct str_list argv)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	for (size_t i = 0; i < argv.n; i++)
		if ((i > 0 && buf_addc(&b, ' ', ERR_DISCARD) < 0) || shellword_add(&b, argv.p[i], ERR_DISCARD) < 0)
			break;
	return clean(mem, buf_str(&b));
}

static void tell(struct command_ctx *ctx, const struct place *place, const struct init_done *d)
{
	if (d->verify.n > 0)
		cli_out("verify command: " STR_FMT " (" STR_FMT ")%s%s\n", STR_ARG(words(ctx->mem, d->verify)),
			STR_ARG(clean(ctx->mem, str_from(d->verify_from))),
			d->verify_set ? ", set in " : "", d->verify_set ? place->files.repo : "");
	else
		cli_out("verify command: none found; agent6 config set --repo workflow.verify_command '[\"make\", \"test\"]'\n");
	cli_out(".gitignore: %zu line%s added\n", d->ignored, d->ignored == 1 ? "" : "s");
	cli_out("AGENTS.md: %s\n", d->agents_made ? "made; say in it what a newcomer must know" : d->agents_added ? "got a verify section" : "as it was");
	for (size_t i = 0; i < d->notes.n; i++)
		cli_note(STR_FMT, STR_ARG(clean(ctx->mem, d->notes.p[i])));
	cli_out("next: %s" STR_FMT "\n",
		!place->is_repo ? "git init; " : d->ignored > 0 || d->agents_made || d->agents_added ? "commit what was added; " : "",
		STR_ARG(typed_here(STR("agent6 check; agent6 run \"...\""), ctx->mem)));
}

static int run_init(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct init_args *args = decoded;
	enum init_ecosystem ecosystem;
	struct init_done done;
	struct place place;

	TRY(ecosystem_of(args->ecosystem, &ecosystem, err));
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(place_is_open(place.workspace, err));
	TRY(may(args, &place, ctx->mem, err));
	TRY(app_init(&place, ecosystem, ctx->mem, &done, err));
	tell(ctx, &place, &done);
	return 0;
}

static const struct field init_fields[] = {
	{ "yes", &field_bool, offsetof(struct init_args, yes), .help = "Do not ask." },
	{ "ecosystem", &field_str, offsetof(struct init_args, ecosystem), .choices = init_ecosystems,
		.help = "Whose build products .gitignore names; found out when left out." },
};

static const struct command commands[] = {
	{ .name = "init", .help = "prepare a repository: verify command, .gitignore, AGENTS.md",
		.about = "What exists is only added to, and nothing is committed. The repository's configuration lies outside of it.",
		.fields = init_fields, .nfields = COUNT(init_fields), .size = sizeof(struct init_args), .run = run_init },
};

const struct command_group commands_init = { commands, COUNT(commands), NULL };
