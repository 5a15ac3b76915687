/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a command's words run. It is no shell: quotes and variables are not looked at, so what a quoted text holds may seem to be
 * run. Only a command that failed without a word, or that could not write a name without a place, is told by it. */
#include "tool/denial_priv.h"

#include <string.h>

static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ash" };
/* They come before what is run. */
static const char *const before[] = { "!", "{", "if", "then", "else", "elif", "while", "until", "do", "time", "exec", "env", "command" };

static struct str base_name(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

static bool is_any(struct str word, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(word, names[i]))
			return true;
	return false;
}

/* The word after -c, -lc, -ec. */
static bool script_of(const struct str_list *argv, struct str *out)
{
	if (argv->n == 0 || !is_any(base_name(argv->p[0]), shells, COUNT(shells)))
		return false;
	for (size_t i = 1; i + 1 < argv->n && str_starts(argv->p[i], STR("-")); i++)
		if (str_ends(argv->p[i], STR("c"))) {
			*out = argv->p[i + 1];
			return true;
		}
	return false;
}

/* The bytes of `ends` become ends of lines. */
static void add(struct buf *b, struct str text, const char *ends, char to)
{
	for (size_t i = 0; i < text.n; i++)
		(void)!buf_addc(b, text.p[i] != '\0' && strchr(ends, text.p[i]) ? to : text.p[i], ERR_DISCARD);
}

struct str denial_commands(const struct str_list *argv, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(DENIAL_TAIL);
	struct str script;

	if (script_of(argv, &script))
		add(&b, script, ";|&(`\n", '\n');
	else
		for (size_t i = 0; i < argv->n; i++) {
			add(&b, i > 0 ? STR(" ") : STR(""), "", ' ');
			add(&b, argv->p[i], "\n", ' ');
		}
	return str_dup(mem, buf_str(&b));
}

static struct str next_word(struct str *rest)
{
	*rest = str_trim(*rest);
	return str_cut(rest, ' ');
}

bool denial_runs(struct str line, const char *program, struct str *args)
{
	struct str word;

	do
		word = next_word(&line);
	while (word.n > 0 && (is_any(word, before, COUNT(before)) || str_find(word, STR("=")) < word.n));
	*args = line;
	return str_eqz(base_name(word), program);
}

bool denial_has_word(struct str args, const char *word)
{
	while (args.n > 0)
		if (str_eqz(next_word(&args), word))
			return true;
	return false;
}

/* ".git" by itself, or what is in it. */
static bool names_dot_git(struct str line)
{
	for (size_t at; (at = str_find(line, STR(".git"))) < line.n;) {
		char prev = at > 0 ? line.p[at - 1] : ' ', next = at + 4 < line.n ? line.p[at + 4] : ' ';

		if (strchr(" '\"/=(", prev) && strchr(" '\"/),", next))
			return true;
		line = str_skip(line, at + 4);
	}
	return false;
}

bool denial_names_git(struct str commands)
{
	while (commands.n > 0) {
		struct str line = str_trim(str_line(&commands)), args;

		if (denial_runs(line, "git", &args) || names_dot_git(line))
			return true;
	}
	return false;
}
