/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitop.h"

#include <string.h>

enum who { ANY, MERGE };
enum index { PERSON, OWN };

struct row {
	enum git_op op;
	enum who who;
	enum index index;
	bool in;
	const char *name, *words;
};

static const struct row rows[] = {
#define X(op, value, who, index, in, words) { op, who, index, in, #op, words },
	GIT_OPS(X)
#undef X
};

/* Whatever a repository's own configuration says, these say otherwise. */
static const char *const settings[] = {
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false", "core.splitIndex=false",
	"core.attributesFile=/dev/null", "core.safecrlf=false", "core.pager=cat", "core.editor=false",
	"core.askPass=false", "core.sshCommand=false", "core.alternateRefsCommand=false", "credential.helper=",
	"commit.gpgSign=false", "tag.gpgSign=false", "gpg.program=false", "log.showSignature=false",
	"diff.external=", "diff.autoRefreshIndex=false", "diff.orderFile=/dev/null", "diff.noprefix=false", "diff.mnemonicPrefix=false",
	"diff.ignoreSubmodules=all", "submodule.recurse=false", "protocol.allow=never", "color.ui=false",
	"i18n.commitEncoding=UTF-8", "gc.auto=0", "maintenance.auto=false", "core.quotePath=false",
	"core.protectHFS=true", /* where a file system folds names, what nobody sees in one may fold to .git */
};

static const char *const fixed_env[] = {
	"PATH=/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_EDITOR=false", "GIT_ASKPASS=false",
	"GIT_SSH_COMMAND=false", "GIT_PAGER=cat",
};

static const struct row *row_of(unsigned op)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if ((unsigned)rows[i].op == op)
			return &rows[i];
	return NULL;
}

static bool all_of(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (!memchr(set, s.p[i], strlen(set)))
			return false;
	return true;
}

bool git_sha_ok(struct str s)
{
	return (s.n == 40 || s.n == 64) && all_of(s, "0123456789abcdef");
}

/* Zeros instead of a new object would delete the ref. */
static bool object_ok(struct str s)
{
	return git_sha_ok(s) && !all_of(s, "0");
}

bool git_run_id_ok(struct str s)
{
	return s.n > 0 && s.n <= 64 && s.p[0] != '-' &&
		all_of(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
}

static bool component_ok(struct str c)
{
	return c.n > 0 && c.p[0] != '.' && !str_ends(c, STR(".lock"));
}

/* git-check-ref-format(1), rules 1 to 10, and no leading '-'. */
bool git_branch_ok(struct str s)
{
	struct str rest = s;

	if (s.n == 0 || s.n > 200 || s.p[0] == '-' || s.p[s.n - 1] == '/' || s.p[s.n - 1] == '.' ||
		str_eqz(s, "@") || str_eqz(s, "HEAD"))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || memchr("\177~^:?*[\\", s.p[i], 8))
			return false;
	if (str_find(s, STR("..")) < s.n || str_find(s, STR("@{")) < s.n)
		return false;
	while (rest.n > 0)
		if (!component_ok(str_cut(&rest, '/')))
			return false;
	return true;
}

static bool rev_ok(struct str s)
{
	struct str tail = str_trim_prefix(s, STR("refs/heads/"));

	if (tail.n < s.n)
		return git_branch_ok(tail);
	tail = str_trim_prefix(s, STR("refs/agent6/"));
	if (tail.n < s.n)
		return str_ends(tail, STR("/head")) && git_run_id_ok(str_head(tail, tail.n - 5));
	tail = str_trim_prefix(s, STR("refs/agent6-stash/"));
	if (tail.n < s.n)
		return git_run_id_ok(tail);
	return str_eqz(s, "HEAD") || git_sha_ok(s);
}

/* gitrevisions(7), one commit of it. git reads it as no option, for it stands behind --end-of-options; a blank or a colon
 * may stand in braces, as in "main@{2 days ago}", and nowhere else. "^{/words}" looks for words: compiling a regular expression
 * can take all memory there is, "((a{1,99}){1,99}){1,99}". */
const char *git_expr_wrong(struct str s)
{
	bool in_braces = false, in_words = false;

	if (s.n == 0)
		return "it is empty";
	if (s.n > GIT_EXPR_MAX)
		return "it is longer than 250 bytes";
	if (s.p[0] == '-')
		return "it begins with \"-\"";
	if (s.p[0] == '^')
		return "it begins with \"^\"";
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < ' ' || c == 127)
			return "it has a control character";
		in_braces = c == '{' || (in_braces && c != '}');
		in_words = in_words || (in_braces && c == '/' && s.p[i - 1] == '{'); /* to the end: git looks for the last brace */
		if (in_words && strchr("\\*+?()[]{|", c))
			return "what it looks for is more than words";
		if (!in_braces && c == ' ')
			return "it has a blank";
		if (!in_braces && c == ':')
			return "with \":\" it names a file, not a commit";
		if (!in_braces && c == '.' && i + 1 < s.n && s.p[i + 1] == '.')
			return "\"..\" stands in it, which makes two of it";
	}
	return NULL;
}

static bool expr_ok(struct str s)
{
	return !git_expr_wrong(s);
}
_Static_assert(GIT_EXPR_MAX == 250, "as git_expr_wrong says");

static bool number_ok(struct str s)
{
	return s.n > 0 && s.n <= 7 && all_of(s, "0123456789");
}

static bool path_ok(struct str s)
{
	struct str rest = s;

	if (s.n == 0 || s.p[0] == '/' || memchr(s.p, '\0', s.n))
		return false;
	while (rest.n > 0)
		if (str_eqz(str_cut(&rest, '/'), ".."))
			return false;
	return true;
}

static bool driver_ok(struct str s)
{
	return s.n > 0 && s.n <= 128 &&
		all_of(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
}

static const struct kind {
	char letter;
	bool (*ok)(struct str s);
	const char *must;
} kinds[] = {
	{ 's', object_ok, "an object name" },
	{ 'z', git_sha_ok, "an object name or zeros" },
	{ 'v', rev_ok, "an object name, HEAD, refs/heads/NAME, refs/agent6/ID/head or refs/agent6-stash/ID" },
	{ 'o', rev_ok, "an object name, HEAD, refs/heads/NAME, refs/agent6/ID/head or refs/agent6-stash/ID" },
	{ 'e', expr_ok, "an expression for one commit" },
	{ 'r', git_run_id_ok, "the run's id" },
	{ 'b', git_branch_ok, "a branch name" },
	{ 'n', number_ok, "a number" },
	{ 'p', object_ok, "an object name" },
	{ 'P', path_ok, "a path below the work tree" },
};

struct build {
	const struct zygote_git_request *rq;
	const struct row *row;
	struct arena *mem;
	const char **words;
	size_t n, room;
	size_t next; /* argument */
	struct err *err;
};

static void push(struct build *b, const char *w)
{
	BUG_IF(b->n + 1 >= b->room);
	b->words[b->n++] = w;
}

static const struct kind *kind_of(char letter)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].letter == letter)
			return &kinds[i];
	return NULL;
}

static int check_arg(struct build *b, const struct kind *k, struct str a)
{
	if (!k->ok(a))
		return err_set(b->err, ERR_INVALID, "%s: argument %zu is not %s", b->row->name, b->next, k->must);
	if (k->letter == 'r' && !str_eqz(a, b->rq->run_id ? b->rq->run_id : ""))
		return err_set(b->err, ERR_DENIED, "%s: the refs of another run stay as they are", b->row->name);
	return 0;
}

static int next_arg(struct build *b, const struct kind *k, struct str *out)
{
	if (b->next >= b->rq->nargs)
		return err_set(b->err, ERR_INVALID, "%s: argument %zu is missing: %s", b->row->name, b->next + 1, k->must);
	*out = b->rq->args[b->next++];
	return check_arg(b, k, *out);
}

/* One word of the template with its placeholder, if it has one. */
static int add_word(struct build *b, struct str word)
{
	size_t at = str_find(word, STR("{"));
	const struct kind *k = at + 2 < word.n && word.p[at + 2] == '}' ? kind_of(word.p[at + 1]) : NULL;
	struct str a;

	if (!k) {
		push(b, str_dupz(b->mem, word));
		return 0;
	}
	if (k->letter == 'o' && b->next >= b->rq->nargs)
		return 0;
	while (strchr("pP", k->letter) && b->next < b->rq->nargs) {
		TRY(next_arg(b, k, &a));
		if (k->letter == 'p')
			push(b, "-p");
		push(b, str_dupz(b->mem, a));
	}
	if (strchr("pP", k->letter))
		return 0;
	TRY(next_arg(b, k, &a));
	push(b, str_printf(b->mem, STR_FMT STR_FMT STR_FMT, STR_ARG(str_head(word, at)), STR_ARG(a),
			STR_ARG(str_skip(word, at + 3))).p);
	return 0;
}

/* What each kind of driver is told instead of what the repository says. */
static const struct driver_kind {
	const char *prefix, *section;
	const char *keys[5];
} driver_kinds[] = {
	{ GIT_DRIVER_PREFIX, "filter", { "clean=", "smudge=", "process=", "required=false", NULL } },
	{ GIT_MERGER_PREFIX, "merge", { "driver=false", NULL } },
};

static const struct driver_kind *driver_kind_of(struct str word)
{
	for (size_t i = 0; i < COUNT(driver_kinds); i++)
		if (str_starts(word, str_from(driver_kinds[i].prefix)))
			return &driver_kinds[i];
	return NULL;
}

static int add_drivers(struct build *b)
{
	const struct zygote_git_request *rq = b->rq;
	const struct driver_kind *k;

	for (; b->next < rq->nargs && (k = driver_kind_of(rq->args[b->next])); b->next++) {
		struct str name = str_trim_prefix(rq->args[b->next], str_from(k->prefix));

		if (!driver_ok(name) || b->next >= GIT_DRIVERS_MAX)
			return err_set(b->err, ERR_INVALID, "%s: argument %zu is not the name of one of at most %d drivers",
				b->row->name, b->next + 1, GIT_DRIVERS_MAX);
		for (size_t i = 0; k->keys[i]; i++) {
			push(b, "-c");
			push(b, str_printf(b->mem, "%s." STR_FMT ".%s", k->section, STR_ARG(name), k->keys[i]).p);
		}
	}
	return 0;
}

static const char *const *make_env(const struct build *b)
{
	const struct zygote_git_request *rq = b->rq;
	const char **env = arena_array(b->mem, COUNT(fixed_env) + 6, sizeof(*env));
	size_t n = 0;

	for (; n < COUNT(fixed_env); n++)
		env[n] = fixed_env[n];
	env[n++] = str_printf(b->mem, "GIT_CONFIG_GLOBAL=%s", rq->config ? rq->config : "/dev/null").p;
	env[n++] = str_printf(b->mem, "GIT_DIR=%s", rq->git_dir).p;
	env[n++] = str_printf(b->mem, "GIT_WORK_TREE=%s", rq->work_tree).p;
	if (strcmp(rq->git_dir, rq->common_dir) != 0)
		env[n++] = str_printf(b->mem, "GIT_COMMON_DIR=%s", rq->common_dir).p;
	/* Our own index keeps what a scan learnt; the person's is only read. */
	env[n++] = b->row->index == OWN ? str_printf(b->mem, "GIT_INDEX_FILE=%s", rq->index).p
					: "GIT_OPTIONAL_LOCKS=0";
	return env;
}

static int check_request(const struct zygote_git_request *rq, const struct row *row, struct err *err)
{
	if (!row)
		return err_set(err, ERR_INVALID, "git operation %u is unknown", (unsigned)rq->op);
	if (row->who == MERGE && !rq->may_merge)
		return err_set(err, ERR_DENIED, "%s is not allowed here", row->name);
	if (rq->has_stdin && !row->in)
		return err_set(err, ERR_INVALID, "%s takes no input", row->name);
	for (size_t i = 0; i < rq->nargs; i++)
		if (memchr(rq->args[i].p ? rq->args[i].p : "", '\0', rq->args[i].n))
			return err_set(err, ERR_INVALID, "%s: argument %zu holds a NUL byte", row->name, i + 1);
	return 0;
}

/* By its words: a ref is moved, or a commit made. Trees and blobs that none of these names are nobody's. */
static bool leaves_something(const struct row *row)
{
	return str_starts(str_from(row->words), STR("update-ref ")) || str_starts(str_from(row->words), STR("commit-tree "));
}

int gitop_words(const struct zygote_git_request *rq, struct arena *mem, struct zygote_words *out, struct err *err)
{
	const struct row *row = row_of(rq->op);
	struct build b = { .rq = rq, .row = row, .mem = mem, .err = err };

	TRY(check_request(rq, row, err));
	b.room = 64 + 2 * COUNT(settings) + 10 * rq->nargs;
	b.words = arena_array(mem, b.room, sizeof(*b.words));
	push(&b, "git");
	push(&b, "--no-pager");
	for (size_t i = 0; i < COUNT(settings); i++) {
		push(&b, "-c");
		push(&b, settings[i]);
	}
	TRY(add_drivers(&b));
	for (struct str rest = str_from(row->words); rest.n > 0;)
		TRY(add_word(&b, str_cut(&rest, ' ')));
	if (b.next < rq->nargs)
		return err_set(err, ERR_INVALID, "%s: argument %zu is one too many", row->name, b.next + 1);
	*out = (struct zygote_words){ b.words, make_env(&b), leaves_something(row) };
	return 0;
}

int gitop_overdue(int64_t wall_ms, struct err *err)
{
	return err_set(err, ERR_TIMEOUT, "git did not end within %lld s; is there a FIFO or a very large .gitignore or .gitattributes?",
		(long long)wall_ms / 1000);
}

const char *gitop_name(enum git_op op)
{
	const struct row *r = row_of(op);

	return r ? r->name : "?";
}
