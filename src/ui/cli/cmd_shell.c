/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/sides.h"
#include "app/connect.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/complete.h"
#include "ui/cli/manual.h"

#include "app/models.h"
#include "app/notes.h"
#include "app/place.h"
#include "config/preset.h"
#include "app/skills.h"
#include "memory/notes.h"
#include "session/layout.h"
#include "sys/file.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RC_MAX ((size_t)4 * 1024 * 1024) /* a start file of a shell */
#define NOTE_SHOWN 72

#define MARK_BEGIN "# >>> agent6 completions >>>"
#define MARK_END   "# <<< agent6 completions <<<"

/* Each asks the program itself, so a script never has to be made anew. No candidates: file names. */
static const char bash_script[] =
	"# Completion of agent6 for bash.\n"
	"_agent6()\n"
	"{\n"
	"\tlocal lines\n"
	"\tmapfile -t lines < <(agent6 complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"\tCOMPREPLY=(\"${lines[@]%%$'\\t'*}\")\n"
	"}\n"
	"complete -o default -F _agent6 agent6\n";

static const char zsh_script[] =
	"#compdef agent6\n"
	"# Completion of agent6 for zsh.\n"
	"_agent6()\n"
	"{\n"
	"\tlocal line\n"
	"\tlocal -a found shown\n"
	"\tfor line in \"${(@f)$(agent6 complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
	"\t\t[[ -n $line ]] || continue\n"
	"\t\tfound+=(\"${line%%$'\\t'*}\")\n"
	"\t\tshown+=(\"${line/$'\\t'/  }\")\n"
	"\tdone\n"
	"\tif (( $#found )); then compadd -l -d shown -a found; else _files; fi\n"
	"}\n"
	"(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
	"compdef _agent6 agent6\n";

static const char fish_script[] =
	"# Completion of agent6 for fish.\n"
	"function __agent6_complete\n"
	"\tset -l words (commandline -opc)[2..-1]\n"
	"\tset -l found (agent6 complete -- $words (commandline -ct) 2>/dev/null)\n"
	"\tif test (count $found) -gt 0\n"
	"\t\tprintf '%s\\n' $found\n"
	"\telse\n"
	"\t\t__fish_complete_path (commandline -ct)\n"
	"\tend\n"
	"end\n"
	"complete -c agent6 -f -a '(__agent6_complete)'\n";

/* Where a shell reads it: a file of its own beside agent6's configuration and a block in a start file that reads
 * it; or, without a start file, where the shell looks by itself. */
enum { BASH, ZSH, FISH, SHELLS };
static const char *const shell_names[] = { "bash", "zsh", "fish", NULL };
static const struct {
	const char *script;
	const char *rc_var, *rc; /* the start file: in the directory this variable names, or else in HOME */
} shells[SHELLS] = {
	[BASH] = { bash_script, NULL, ".bashrc" },
	[ZSH] = { zsh_script, "ZDOTDIR", ".zshrc" },
	[FISH] = { fish_script, NULL, NULL },
};

/* ------------------------------------------------------------------ complete: what the scripts ask */

static int add_ids(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct session_entry *list;
	struct place place;
	size_t n;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(session_list(place.repo_dir, SESSION_ANY, ctx->mem, &list, &n, err));
	for (size_t i = 0; i < n; i++)
		TRY(complete_add(c, str_from(list[i].ref.id), str_from(session_word(list[i].ref.kind)), err));
	return 0;
}

static int add_keys(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct config_leaf *leaves;
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	size_t n = config_leaves(config, ctx->mem, &leaves);
	for (size_t i = 0; i < n; i++)
		TRY(complete_add(c, leaves[i].key, str_from(leaves[i].field->help), err));
	return 0;
}

static int add_presets(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	struct str_list names = config_preset_names(config);

	for (size_t i = 0; i < names.n; i++)
		TRY(complete_add(c, names.p[i], STR(""), err));
	return 0;
}

/* What the key before it may be: the words of a choice, true and false, a preset, a provider. */
static int add_key_values(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct config_leaf leaf = { 0 };
	struct place place;

	if (str_eqz(c->before, "preset"))
		return add_presets(ctx, c, err);
	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	if (config_leaf(config, c->before, &leaf, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; leaf.field->choices && leaf.field->choices[i]; i++)
		TRY(complete_add(c, str_from(leaf.field->choices[i]), STR(""), err));
	if (leaf.field->type == &field_bool) {
		TRY(complete_add(c, STR("true"), STR(""), err));
		TRY(complete_add(c, STR("false"), STR(""), err));
	}
	if (str_starts(leaf.key, STR("models.")) && str_ends(leaf.key, STR(".provider")))
		for (size_t i = 0; i < config->nproviders; i++)
			TRY(complete_add(c, config->providers[i]->name, STR(""), err));
	return 0;
}

static int add_roles(const struct complete *c, struct err *err)
{
	for (int i = 0; i < CONFIG_ROLES; i++)
		TRY(complete_add(c, str_from(config_role_name((enum config_role)i)), STR(""), err));
	return complete_add(c, STR("all"), STR("each of them"), err);
}

static int add_providers(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	for (size_t i = 0; i < config->nproviders; i++)
		TRY(complete_add(c, config->providers[i]->name, config_base_url(config->providers[i]), err));
	return 0;
}

/* Nobody is asked: a shell waits for this at a key. */
static int add_models(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct model_list list;
	struct place place;
	bool fresh;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	if (models_cached(&place, c->before, ctx->mem, &list, &fresh, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; i < list.n; i++)
		TRY(complete_add(c, list.p[i].id, STR(""), err));
	return 0;
}

static int add_skills(struct command_ctx *ctx, const struct complete *c, bool all, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct skills_found found;
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	TRY(skills_collect(&place.paths, config, all, ctx->mem, &found, err));
	for (size_t i = 0; i < found.skills.n; i++)
		TRY(complete_add(c, found.skills.p[i].name, STR(""), err));
	return 0;
}

static int add_servers(struct command_ctx *ctx, const char *prefix, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	for (size_t i = 0; i < config->nmcp; i++)
		TRY(complete_add(c, str_printf(ctx->mem, "%s" STR_FMT, prefix, STR_ARG(config->mcp[i]->name)), STR("an MCP server"), err));
	return 0;
}

static int add_tables(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct place place;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	for (size_t i = 0; i < config->nproviders; i++)
		TRY(complete_add(c, str_printf(ctx->mem, "providers." STR_FMT, STR_ARG(config->providers[i]->name)), STR("all of a provider"), err));
	return 0;
}

static int add_known_providers(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct place place;

	for (size_t i = 0; i < nconnect_presets; i++)
		TRY(complete_add(c, str_from(connect_presets[i].name), str_from(connect_presets[i].help), err));
	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	if (config_load(&place.files, ctx->mem, config, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; i < config->nproviders; i++)
		if (!connect_preset(config->providers[i]->name))
			TRY(complete_add(c, config->providers[i]->name, config_base_url(config->providers[i]), err));
	return 0;
}

static int add_personas(const struct complete *c, struct err *err)
{
	for (size_t i = 0; side_persona(i); i++)
		TRY(complete_add(c, str_from(side_persona(i)), STR(""), err));
	return 0;
}

/* Behind the last comma: those that stand before it are said already. */
static int add_more_personas(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	size_t comma = str_rfind(c->typed, ',');
	struct str said = comma < c->typed.n ? str_head(c->typed, comma + 1) : STR("");
	struct str before = str_printf(ctx->mem, "," STR_FMT, STR_ARG(said));

	for (size_t i = 0; side_persona(i); i++)
		if (str_find(before, str_printf(ctx->mem, ",%s,", side_persona(i))) == before.n)
			TRY(complete_add(c, str_printf(ctx->mem, STR_FMT "%s", STR_ARG(said), side_persona(i)), STR(""), err));
	return 0;
}

/* A run wrote them: what reads them holds nothing else any more. */
static int add_notes(struct command_ctx *ctx, const struct complete *c, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(4 * NOTE_TEXT_MAX);
	autoclose int fd = -1;
	struct memory_note *list;
	struct place place;
	size_t n;

	TRY(place_find(STR(""), STR(""), ctx->mem, &place, err));
	TRY(app_notes_open(place.repo_dir, NOTES_READ, &fd, err));
	if (fd < 0)
		return 0;
	TRY(runs_confine(&fd, 1, err));
	TRY(notes_list(fd, false, ctx->mem, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		buf_clear(&line);
		TRY(term_clean(list[i].text, TERM_LINE, &line, err));
		TRY(complete_add(c, str_from(list[i].id), str_head(buf_str(&line), utf8_head(buf_str(&line), NOTE_SHOWN)), err));
	}
	return 0;
}

static int add_sides(const struct complete *c, struct err *err)
{
	for (size_t i = 0; sides[i]; i++)
		TRY(complete_add(c, str_from(sides[i]->name), str_from(sides[i]->when), err));
	return complete_add(c, STR("review"), STR("a reviewer of a change"), err);
}

static int add_values(void *self, enum complete_what what, const struct complete *c, struct err *err)
{
	switch (what) {
	case COMPLETE_ID:
		return add_ids(self, c, err);
	case COMPLETE_KEY:
		return add_keys(self, c, err);
	case COMPLETE_VALUE:
		return add_key_values(self, c, err);
	case COMPLETE_PRESET:
		return add_presets(self, c, err);
	case COMPLETE_ROLE:
		return add_roles(c, err);
	case COMPLETE_PROVIDER:
		return add_providers(self, c, err);
	case COMPLETE_MODEL:
		return add_models(self, c, err);
	case COMPLETE_SKILL:
		return add_skills(self, c, false, err);
	case COMPLETE_SKILL_ALL:
		return add_skills(self, c, true, err);
	case COMPLETE_KEY_OR_TABLE:
		TRY(add_servers(self, "mcp.", c, err));
		TRY(add_tables(self, c, err));
		return add_keys(self, c, err);
	case COMPLETE_SERVER:
		return add_servers(self, "", c, err);
	case COMPLETE_CONNECT:
		return add_known_providers(self, c, err);
	case COMPLETE_SIDE:
		return add_sides(c, err);
	case COMPLETE_PERSONA:
		return add_personas(c, err);
	case COMPLETE_PERSONAS:
		return add_more_personas(self, c, err);
	case COMPLETE_BRANCH:
		return complete_branches(((struct command_ctx *)self)->mem, c, err);
	case COMPLETE_NOTE:
		return add_notes(self, c, err);
	case COMPLETE_OTHER:
		break;
	}
	return 0;
}

static int run_complete(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(1024 * 1024);
	char **words = arena_array(ctx->mem, ctx->rest.n + 1, sizeof(char *));

	(void)decoded;
	for (size_t i = 0; i < ctx->rest.n; i++)
		words[i] = str_dupz(ctx->mem, ctx->rest.p[i]);
	TRY(complete_words((struct args_words){ words, ctx->rest.n }, add_values, ctx, &out, err));
	cli_out(STR_FMT, STR_ARG(buf_str(&out)));
	return 0;
}

/* ------------------------------------------------------------------ completions: putting a script where a shell finds it */

struct completions_args {
	struct str shell;
	bool print;
};

static int shell_index(struct str name)
{
	for (int i = 0; i < SHELLS; i++)
		if (str_eqz(name, shell_names[i]))
			return i;
	return -1;
}

/* The shell that started us, or else the person's. */
static int shell_now(struct arena *mem)
{
	auto_buf struct buf comm = BUF_MAX(64);
	const char *env = getenv("SHELL");
	struct str login = str_from(env ? env : "");
	int i = -1;

	if (file_read(AT_FDCWD, str_printf(mem, "/proc/%d/comm", (int)getppid()).p, &comm, ERR_DISCARD) == 0)
		i = shell_index(str_trim(buf_str(&comm)));
	return i >= 0 ? i : shell_index(str_skip(login, str_rfind(login, '/') < login.n ? str_rfind(login, '/') + 1 : 0));
}

/* Puts the line between our marks, where they stand or at the end. */
static int with_block(struct str old, struct str line, const char *rc, struct buf *out, struct err *err)
{
	size_t begin = str_find(old, STR(MARK_BEGIN)), end = str_find(old, STR(MARK_END));

	if ((begin < old.n) != (end < old.n) || end < begin) {
		int r = err_set(err, ERR_INVALID, "%s: only one of the lines \"%s\" and \"%s\" is there, or they are the wrong way "
						  "round", rc, MARK_BEGIN, MARK_END);

		err_hint(err, "remove what is left of the block by hand, and say it again");
		return r;
	}
	struct str before = begin < old.n ? str_head(old, begin) : old;
	struct str after = begin < old.n ? str_skip(old, end + strlen(MARK_END)) : STR("\n");
	bool newline = before.n > 0 && before.p[before.n - 1] != '\n';

	TRY(buf_add(out, before, err));
	TRY(buf_addf(out, err, "%s%s\n" STR_FMT "\n%s", newline ? "\n" : "", MARK_BEGIN, STR_ARG(line), MARK_END));
	return buf_add(out, after, err);
}

/* path: absolute. */
static int replace(const char *path, struct str bytes, mode_t mode, struct arena *mem, struct err *err)
{
	struct str whole = str_from(path);
	size_t slash = str_rfind(whole, '/');
	autoclose int dir = -1;

	TRY(dir_open(AT_FDCWD, slash == 0 ? "/" : str_dupz(mem, str_head(whole, slash)), &dir, err));
	if (file_replace(dir, path + slash + 1, bytes, mode, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

/* A start file may be a link into a person's collection of such files: what it leads to is replaced. */
static int add_block(const char *rc, struct str line, struct arena *mem, struct err *err)
{
	auto_buf struct buf old = BUF_MAX(RC_MAX), new = BUF_MAX(RC_MAX + 4096);
	char *real = arena_alloc(mem, PATH_MAX);
	struct stat st = { .st_mode = 0644 };

	if (!realpath(rc, real)) {
		if (errno != ENOENT)
			return err_sys(err, errno, "look at %s", rc);
		real = str_dupz(mem, str_from(rc));
	} else if (stat(real, &st) < 0) {
		return err_sys(err, errno, "look at %s", rc);
	} else {
		TRY(file_read(AT_FDCWD, real, &old, err));
	}
	TRY(with_block(buf_str(&old), line, rc, &new, err));
	if (str_eq(buf_str(&old), buf_str(&new)))
		return 0;
	return replace(real, buf_str(&new), st.st_mode & 07777, mem, err);
}

static struct str single_quoted(struct arena *mem, const char *path)
{
	auto_buf struct buf b = BUF_MAX(5 * PATH_MAX);
	int r = buf_addc(&b, '\'', ERR_DISCARD);

	for (; *path && r == 0; path++)
		r = *path == '\'' ? buf_addz(&b, "'\\''", ERR_DISCARD) : buf_addc(&b, *path, ERR_DISCARD);
	BUG_IF(r < 0 || buf_addc(&b, '\'', ERR_DISCARD) < 0);
	return str_dup(mem, buf_str(&b));
}

static int install_fish(const struct place *place, struct arena *mem, struct err *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *base = xdg && xdg[0] == '/' ? xdg : str_printf(mem, "%s/.config", place->files.home).p;
	const char *dir = str_printf(mem, "%s/fish/completions", base).p, *file = str_printf(mem, "%s/agent6.fish", dir).p;

	TRY(dir_make(dir, 0755, err));
	TRY(replace(file, str_from(fish_script), 0644, mem, err));
	cli_out("wrote %s\n", file);
	return 0;
}

static int install(int shell, const struct place *place, struct arena *mem, struct err *err)
{
	const char *file = str_printf(mem, "%s/completions.%s", place->paths.config, shell_names[shell]).p;
	const char *dir = shells[shell].rc_var ? getenv(shells[shell].rc_var) : NULL;

	if (!place->files.home)
		return err_set(err, ERR_NOENT, "HOME is not set, so there is no start file to write; --print prints the script");
	if (!shells[shell].rc)
		return install_fish(place, mem, err);
	const char *rc = str_printf(mem, "%s/%s", dir && dir[0] == '/' ? dir : place->files.home, shells[shell].rc).p;
	TRY(dir_make(place->paths.config, 0700, err));
	TRY(replace(file, str_from(shells[shell].script), 0644, mem, err));
	TRY(add_block(rc, str_printf(mem, ". " STR_FMT, STR_ARG(single_quoted(mem, file))), mem, err));
	cli_out("wrote %s, read from %s; it works in the next shell\n", file, rc);
	return 0;
}

static int run_completions(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct completions_args *args = decoded;
	int shell = args->shell.n > 0 ? shell_index(args->shell) : shell_now(ctx->mem);
	struct place place;

	if (shell < 0 && args->shell.n > 0)
		return err_set(err, ERR_INVALID, "shell: \"" STR_FMT "\" is not one of bash, zsh, fish", STR_ARG(args->shell));
	if (shell < 0) {
		int r = err_set(err, ERR_INVALID, "which shell is this? neither the program that started agent6 nor SHELL is one of bash, "
						  "zsh, fish");

		err_hint(err, "agent6 completions bash");
		return r;
	}
	if (args->print) {
		cli_out("%s", shells[shell].script);
		return 0;
	}
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	return install(shell, &place, ctx->mem, err);
}

/* ------------------------------------------------------------------ man */

static int run_man(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(1024 * 1024);

	(void)ctx;
	(void)decoded;
	TRY(manual_print(&out, err));
	cli_out(STR_FMT, STR_ARG(buf_str(&out)));
	return 0;
}

static const struct field completions_fields[] = {
	{ "shell", &field_str, offsetof(struct completions_args, shell), .flags = FIELD_POSITIONAL, .choices = shell_names,
		.help = "The shell; the one you are in when left out." },
	{ "print", &field_bool, offsetof(struct completions_args, print), .help = "Print the script and change nothing." },
};

static const struct command commands[] = {
	{ .name = "completions", .help = "let a shell complete agent6's commands, flags, keys and ids",
		.about = "Writes the script beside agent6's configuration and a marked block that reads it into ~/.bashrc or ~/.zshrc;\n"
			 "for fish, a file where fish looks. Saying it again changes nothing.",
		.fields = completions_fields, .nfields = COUNT(completions_fields), .size = sizeof(struct completions_args),
		.run = run_completions, .needs_no_root_check = true },
	{ .name = "complete", .help = "print what may stand next", .takes_rest = true, .hidden = true, .run = run_complete,
		.needs_no_root_check = true },
	{ .name = "man", .help = "print the manual page", .hidden = true, .run = run_man, .needs_no_root_check = true },
};

const struct command_group commands_shell = { commands, COUNT(commands), NULL };
