/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/manual.h"

/* Text as roff shows it: a backslash and a minus are spelled, a line cannot begin a request. */
static int add_text(struct str text, struct buf *out, struct err *err)
{
	bool start = out->n == 0 || out->p[out->n - 1] == '\n';

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (start && (c == '.' || c == '\''))
			TRY(buf_addz(out, "\\&", err));
		if (c == '\\')
			TRY(buf_addz(out, "\\e", err));
		else if (c == '-')
			TRY(buf_addz(out, "\\-", err));
		else
			TRY(buf_addc(out, c, err));
		start = c == '\n';
	}
	return 0;
}

/* A help text as a sentence of its own lines. */
static int add_line(const char *text, struct buf *out, struct err *err)
{
	TRY(add_text(str_from(text), out, err));
	return buf_addc(out, '\n', err);
}

static int add_field(const struct field *f, struct buf *out, struct err *err)
{
	auto_buf struct buf usage = BUF_MAX(400);

	TRY(usage_field(f, &usage, err));
	TRY(buf_addz(out, f->flags & FIELD_POSITIONAL ? ".TP\n\\fI" : ".TP\n\\fB", err));
	TRY(add_text(buf_str(&usage), out, err));
	TRY(buf_addz(out, "\\fR\n", err));
	return add_line(f->help, out, err);
}

static int add_command(const struct command *c, struct buf *out, struct err *err)
{
	auto_buf struct buf usage = BUF_MAX(4096);

	TRY(usage_line(c, &usage, err));
	TRY(buf_addz(out, ".SS \"", err));
	TRY(add_text(buf_str(&usage), out, err));
	TRY(buf_addz(out, "\"\n", err));
	TRY(add_line(c->help, out, err));
	if (c->about) {
		TRY(buf_addz(out, ".PP\n", err));
		TRY(add_line(c->about, out, err));
	}
	for (size_t i = 0; i < c->nfields; i++)
		if (!(c->fields[i].flags & FIELD_HIDDEN))
			TRY(add_field(&c->fields[i], out, err));
	return 0;
}

static const char head[] =
	".TH AGENT6 1 \"\" \"agent6 " AGENT6_VERSION "\" \"User Commands\"\n"
	".SH NAME\n"
	"agent6 \\- a coding agent that treats the language model as an adversary\n"
	".SH SYNOPSIS\n"
	".B agent6\n"
	"[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fB\\-\\-allow\\-root\\fR] \\fICOMMAND\\fR ...\n"
	".SH DESCRIPTION\n"
	"agent6 lets a language model work in a git repository. The model reads, edits and runs commands through a\n"
	"small fixed set of tools; every command runs in its own jail; a verify command decides what counts as\n"
	"success; every green step is a commit on a side chain that never touches your branch.\n"
	".PP\n"
	"\\fBagent6 demo\\fR needs no key, no network and no configuration. \\fBagent6 connect\\fR sets up a model.\n"
	".SH COMMANDS\n";

#define EXIT_ENTRY(status, means) ".TP\n.B " status "\n" means "\n"

static const char tail[] =
	".SH EXIT STATUS\n"
	EXIT_STATUSES(EXIT_ENTRY)
	".SH OUTPUT FOR PROGRAMS\n"
	"With \\fB\\-\\-json\\fR a command prints JSON, one value or one object a line, and what it refuses or cannot do is one object\n"
	"on standard error, with the same exit status as without:\n"
	".PP\n"
	"{\"error\":{\"code\",\"message\",\"hint\",\"file\",\"line\",\"column\"},\"exit\"}\n"
	".PP\n"
	"Members that have no value are left out. What is the same has one name in all of them: run_id is a session, status the one word of how\n"
	"it stands, reason why, live whether it is running; cost_usd, input_tokens and output_tokens are what it took.\n"
	".SH ENVIRONMENT\n"
	".TP\n.B AGENT6_ALLOW_ROOT\nset to 1: the same as \\-\\-allow\\-root\n"
	".TP\n.B AGENT6_AUTO_APPROVE, AGENT6_NO_COMMANDS, AGENT6_DANGEROUSLY_DISABLE_SANDBOX\n"
	"set to 1: the same as the flags of those names\n"
	".TP\n.B AGENT6_JAIL_BIN\nthe jail program to use\n"
	".TP\n.B AGENT6_CONFIG_HOME, AGENT6_STATE_HOME, AGENT6_DATA_HOME, AGENT6_CACHE_HOME\n"
	"the directories of the configuration and the keys, of what sessions leave, of installed skills, and of what can be made anew\n"
	".TP\n.B XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME\n"
	"where the directory agent6 of each lies, unless a variable above names it; without either it is beneath HOME\n"
	".TP\n.B CI\nset to 1 or true: nobody sits at the terminal, so nothing is asked, as with \\-\\-unattended\n"
	".TP\n.B https_proxy, HTTPS_PROXY, all_proxy, ALL_PROXY, no_proxy, NO_PROXY\n"
	"the way to providers where sandbox.agent_network is open, and only there\n"
	".TP\n.B VISUAL, EDITOR\nthe editor of plan edit\n"
	".TP\n.B TMPDIR\nwhere demo makes its scratch repository, and skills install fetches to\n"
	".TP\n.B NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG\ncolour, and signs that are no ASCII, on a terminal\n"
	".PP\n"
	"A key is taken from the variable that its provider's api_key_env names. Of the environment\n"
	"commands of the model are given LANG, LC_ALL, TERM and CI, and what a toolchain needs to be found.\n"
	".SH FILES\n"
	"\\fBagent6 config path\\fR prints where everything is kept; \\fBagent6 config show \\-\\-descriptions\\fR prints every key.\n"
	".SH SEE ALSO\n"
	".BR git (1)\n";

int manual_print(struct buf *out, struct err *err)
{
	TRY(buf_addz(out, head, err));
	for (size_t i = 0; command_groups[i]; i++)
		for (size_t k = 0; k < command_groups[i]->n; k++)
			if (!command_groups[i]->p[k].hidden)
				TRY(add_command(&command_groups[i]->p[k], out, err));
	return buf_addz(out, tail, err);
}
