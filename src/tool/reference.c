/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* docs/tools.md, printed from the table of tools; what no table knows stands here. */
#include "tool/tool.h"

static const char intro[] =
	"<!-- Printed from the table of tools (src/tool). A test compares this file with it. -->\n"
	"# Tools\n\n"
	"What the model may call, in the order it sees them. There is no shell string, no free file write, no fetch and\n"
	"no eval. A call is checked in this order: the name, the mode and the command policy, the arguments (unknown\n"
	"members are errors; a list or object that arrives as a string holding JSON is accepted), then the tool itself.\n"
	"A failure is a result: `{\"error\": \"...\"}`.\n\n";

static const struct {
	const char *title, *text;
} sections[] = {
	{ "Results",
		"A result is one JSON object, valid UTF-8, of at most 60,000 bytes as encoded. Bytes that are not UTF-8 appear as\n"
		"U+FFFD. `read_file` and `list_dir` stop at whole lines and entries and say where to go on; `stdout` and `stderr`\n"
		"keep their first 8,000 and last 12,000 bytes with a line between that tells how much is missing. Anything else\n"
		"that is too long becomes `{\"_tool_result_truncated\":true,\"tool\",\"shown_chars\",\"total_chars\",\"head\",\"guidance\"}`.\n" },
	{ "Paths",
		"Relative paths start at the workspace; absolute ones must lie in it or in a place granted by\n"
		"`sandbox.extra_read_paths` or `sandbox.extra_write_paths`. A path holds no `..`. Links are followed as long as every\n"
		"one of them stays inside; writing through a link changes its target. Files are opened beneath a directory\n"
		"descriptor with links forbidden, so a link made in between is an error and never a way out.\n\n"
		"Refused for writing: the repository's own `.git` in any spelling and through any link, everything in a Python\n"
		"virtual environment or in `site-packages`, and files without any write permission. Refused altogether: what\n"
		"`sandbox.hide_paths` names, and whatever is not a regular file (a FIFO, socket or device is never waited for).\n\n"
		"A name that is not valid UTF-8, holds control characters or starts with a quote is shown C-quoted, as git does,\n"
		"and that spelling is accepted back: `\"nl\\nx\"`, `\"bad\\377\"`.\n" },
	{ "Edits",
		"`old_string` must occur exactly once, overlaps counted, in the file as it is now; earlier edits of the same call\n"
		"count as done. LF in `old_string` matches CRLF in the file, and new lines take the ending of their neighbours. Text\n"
		"that differs from the file by one common shift of its indent matches as well (`replace~indent`). When nothing\n"
		"matches, the error shows the most similar region and how it differs. All other bytes stay: byte order mark,\n"
		"encoding, final newline; and so do mode, owner, extended attributes and links.\n" },
	{ "Patches",
		"Unified diffs (also git's, with renames, modes and quoted names) and the `*** Begin Patch` format, for any number\n"
		"of files. Everything is planned first; then all files change or none does. Added and moved files never replace\n"
		"one that exists. A deletion must remove every line.\n\n"
		"A hunk that is not exactly at its line number may match there but for trailing blanks (`~rstrip`) or one common\n"
		"shift of the indent (`~indent`), or at one other place in the file (`~moved`); `healed` lists these. A hunk that\n"
		"fits several places, or none, is refused, and the error shows what was looked for and what is on disk. Counts in\n"
		"hunk headers may be wrong: the lines decide. Without `\\ No newline at end of file` marks the end of the file stays\n"
		"as it was.\n" },
	{ "grep",
		"Matches Perl-like patterns (PCRE2) against single lines. Left out are what `.gitignore` files and\n"
		"`.git/info/exclude` name, by git's rules, `.git` itself, links, binary files and hidden places; dotfiles are\n"
		"searched. A path that is itself ignored is searched whole. At most 200 lines come back, sorted by path and line,\n"
		"long ones cut to 300 bytes around the match; `truncated` tells that there are more. A `glob` without a slash\n"
		"fits names, one with a slash paths from the workspace or from `path`; `{a,b}` are alternatives.\n" },
	{ "Commands",
		"`{\"returncode\",\"stdout\",\"stderr\",\"duration_s\",\"exec_failed\"}`. 124 with `timed_out` is the time limit, 127 with\n"
		"`exec_failed` a program that cannot be executed, 128 + n death by signal n. When a command failed and the end of\n"
		"its error output, or the last three lines of its standard output where it wrote no error output, say that it was\n"
		"the jail, `jail` names the rule and the key by which the operator could allow it (a table of patterns,\n"
		"`src/tool/denial_rows.c`; what a runtime prints after an error, its stack, does not count). Of a command that wrote nothing\n"
		"its words and status tell, where they do: `git stash`, `curl -s`. Of deaths by a signal SIGABRT is looked at, by which\n"
		"programs give up, and SIGSYS. What is said where a loopback address refuses is true of a server outside of the jail and\n"
		"of one that does not listen yet. Of a link in the workspace or the system that leads out of what is shown it says where\n"
		"it leads. Whether anything is there, a run under `strict` does not look: the model would know it. `agent6 exec` says the\n"
		"same sentence, but none of a link that leads to nothing. A verify command that cannot be executed ends the run.\n" },
	{ "Background commands",
		"With `background` a command is asked about like any other, as one that stays; once it runs, the answer is\n"
		"`{\"returncode\":null,...,\"still_running\":true,\"background_id\":\"bg1\"}`. A command that takes longer than\n"
		"`workflow.command_checkin_s` is handed back in the same form, with what it wrote so far, and runs on; its time limit,\n"
		"`workflow.command_timeout_s`, still holds. One that was started in the background has none.\n\n"
		"A background command has its jail and process namespace to itself and shares the network and `/tmp` of the run's\n"
		"other commands: a server answers the next command on 127.0.0.1. `read_background` gives what came on either stream\n"
		"since it was asked last, at most the first 8,000 and last 24,000 bytes of it, all counted. When one ends the model\n"
		"is told once, with the results of the turn. At most eight run at once. All of them end with the run, or with the\n"
		"leg that a kill cuts short; the next leg is told which they were.\n" },
};

static const struct {
	enum tool_mode mode;
	const char *word;
} modes[] = { { MODE_RUN, "run" }, { MODE_PLAN, "plan" }, { MODE_ASK, "ask" }, { MODE_REVIEW, "review" } };

static const char *const effects[] = {
	[EFFECT_NONE] = "reads only",
	[EFFECT_EDIT] = "changes files of the workspace",
	[EFFECT_VERIFY] = "runs a program; only with a verify command, not with `sandbox.run_commands = \"no\"`",
	[EFFECT_COMMAND] = "runs a program; not with `sandbox.run_commands = \"no\"`",
	[EFFECT_BACKGROUND] = "looks after background commands; not with `sandbox.run_commands = \"no\"`",
	[EFFECT_FINISH] = "asks to end the run",
	[EFFECT_ASK] = "asks the person",
	[EFFECT_TASKS] = "changes the run's task list, no file of the workspace",
	[EFFECT_NOTES] = "changes the repository's notes, which later runs are told; no file of the workspace",
};

static int put_fields(const struct field *f, size_t n, const char *indent, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (f[i].flags & FIELD_HIDDEN)
			continue;
		TRY(buf_addf(out, err, "%s- `%s`: %s", indent, f[i].name, f[i].type->word));
		for (size_t c = 0; f[i].choices && f[i].choices[c]; c++)
			TRY(buf_addf(out, err, "%s`%s`", c > 0 ? ", " : " of ", f[i].choices[c]));
		if (f[i].flags & FIELD_REQUIRED)
			TRY(buf_addz(out, ", required", err));
		else if (f[i].dflt && *f[i].dflt)
			TRY(buf_addf(out, err, ", default `%s`", f[i].dflt));
		if (f[i].help)
			TRY(buf_addf(out, err, "; %s", f[i].help));
		TRY(buf_addc(out, '\n', err));
		TRY(put_fields(f[i].sub, f[i].nsub, "  ", out, err));
	}
	return 0;
}

static int put_tool(const struct tool *t, struct buf *out, struct err *err)
{
	const char *sep = "";

	TRY(buf_addf(out, err, "## %s\n\n%s\n\nModes: ", t->name, t->help));
	for (size_t i = 0; i < COUNT(modes); i++)
		if (t->modes & modes[i].mode) {
			TRY(buf_addf(out, err, "%s%s", sep, modes[i].word));
			sep = ", ";
		}
	TRY(buf_addf(out, err, ". Effect: %s.\n\n", effects[t->effect]));
	TRY(put_fields(t->fields, t->nfields, "", out, err));
	return buf_addz(out, t->nfields > 0 ? "\n" : "", err);
}

int tools_print_reference(struct buf *out, struct err *err)
{
	TRY(buf_addz(out, intro, err));
	for (size_t i = 0; tools[i]; i++)
		TRY(put_tool(tools[i], out, err));
	for (size_t i = 0; i < COUNT(sections); i++)
		TRY(buf_addf(out, err, "%s# %s\n\n%s", i > 0 ? "\n" : "", sections[i].title, sections[i].text));
	return 0;
}
