/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial_priv.h"

#include "sandbox/root.h"

#include <signal.h>
#include <string.h>

#define OWN_TMP  "/tmp/agent6-" /* what TMPDIR names begins so, where there is no /tmp */
#define ABORTED  (128 + SIGABRT) /* a program's own way to fail */
#define BAD_CALL (128 + SIGSYS)

/* Where people and their programs keep things: a file that is missing there is likely to be there outside. */
static const char *const kept_outside[] = { "/home", "/root", "/opt", "/srv", "/mnt", "/media", "/var", "/run", "/data" };
/* A cell's own: they look the same and are others. */
static const char *const of_the_cell[] = { "/tmp", "/dev", "/proc" };
/* Of /dev, what is there under every name that a command may make or hold. */
static const char *const own_devices[] = { "/dev/shm", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr" };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool holds(struct str line, const char *word)
{
	bool first = word[0] == '^';
	size_t n = strlen(word += first);

	for (size_t i = 0; i + n <= line.n && (i == 0 || !first); i++) {
		size_t k = 0;

		while (k < n && lower(line.p[i + k]) == word[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

/* ---- the path a line names ---- */

static bool beneath(struct str path, struct str dir)
{
	dir = str_trim_suffix(dir, STR("/"));
	return str_starts(path, dir) && (path.n == dir.n || path.p[dir.n] == '/');
}

static bool beneath_any(struct str path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (beneath(path, str_from(dirs[i])))
			return true;
	return false;
}

#define OPENING STR("\xe2\x80\x98") /* a quote as it is printed where there is more than ASCII; its like closes */

/* The next word of the line that begins with "/", "../" or ".git/", or is ".git" or a quoted "/", or any word; quotes hold blanks
 * together. */
static bool next_path(struct str *rest, bool any, struct str *out)
{
	for (size_t i = 0; i < rest->n; i++) {
		struct str at = str_skip(*rest, i);
		char before = i > 0 ? rest->p[i - 1] : ' ';
		bool curly = str_ends(str_head(*rest, i), OPENING);
		bool quoted = curly || before == '\'' || before == '"' || before == '`';
		size_t n;

		if (!curly && !strchr(" \t'\"`(=:[<", before))
			continue;
		if (before == ':' && str_starts(at, STR("//"))) /* of a URL */
			continue;
		n = str_find_any(at, quoted ? STR("'\"`\xe2") : STR(" \t\r\n'\"`:,;)]>"));
		*out = str_head(at, n);
		if (!any && !str_starts(at, STR("/")) && !str_starts(at, STR("../")) && !str_starts(at, STR(".git/")) && !str_eqz(*out, ".git"))
			continue;
		*rest = str_skip(at, n);
		if (out->n > 1 || (quoted && str_eqz(*out, "/")))
			return true;
		i = 0;
	}
	return false;
}

struct str denial_plain(struct arena *mem, struct str cwd, struct str path)
{
	struct str all = str_starts(path, STR("/")) ? path
						    : str_printf(mem, STR_FMT "/" STR_FMT, STR_ARG(cwd), STR_ARG(path));
	char *p = arena_alloc(mem, all.n + 2);
	size_t n = 0;

	while (all.n > 0) {
		struct str part = str_cut(&all, '/');

		if (part.n == 0 || str_eqz(part, "."))
			continue;
		if (str_eqz(part, "..")) {
			while (n > 0 && p[--n] != '/')
				;
			continue;
		}
		p[n++] = '/';
		memcpy(p + n, part.p, part.n);
		n += part.n;
	}
	return n > 0 ? str_of(p, n) : STR("/");
}

static bool in_git(struct str path)
{
	while (path.n > 0)
		if (str_eqz(str_cut(&path, '/'), ".git"))
			return true;
	return false;
}

/* The innermost one; of the same place twice, what is granted more. */
const struct tool_root *denial_root_of(const struct denial_jail *jail, struct str path)
{
	const struct tool_root *best = NULL;

	for (size_t i = 0; i < jail->nroots; i++) {
		const struct tool_root *r = &jail->roots[i];

		if (beneath(path, r->path) && (!best || r->path.n > best->path.n || (r->path.n == best->path.n && r->writable)))
			best = r;
	}
	return best;
}

/* The person's own beside the workspace: what is missing there is likely to be there outside. */
static bool is_near(const struct denial_jail *jail, struct str path)
{
	struct str ws = jail->roots[0].path, up = str_head(ws, str_rfind(ws, '/')), first, rest = str_skip(ws, 1);

	str_cut(&rest, '/');
	str_cut(&rest, '/');
	first = str_trim_suffix(str_head(ws, ws.n - rest.n), STR("/")); /* two components: /home/me, /srv/git */
	for (size_t i = 0; i < COUNT(of_the_cell); i++)
		if (str_eqz(up, of_the_cell[i]))
			return false;
	return (up.n > 0 && beneath(path, up)) || (rest.n > 0 && beneath(path, first));
}

static bool is_hidden(const struct denial_jail *jail, struct str path)
{
	for (size_t i = 0; i < jail->hide_paths.n; i++)
		if (beneath(path, jail->hide_paths.p[i]))
			return true;
	return false;
}

/* ---- the address a line names ---- */

static bool is_of_address(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == ':' || c == '-';
}

/* The next run of what addresses and names of hosts are written with; a port may be behind it. */
static bool next_address(struct str *rest, struct str *out)
{
	size_t from = 0, n = 0;

	while (from < rest->n && !is_of_address(rest->p[from]))
		from++;
	while (from + n < rest->n && is_of_address(rest->p[from + n]))
		n++;
	*out = str_head(str_skip(*rest, from), n);
	*rest = str_skip(*rest, from + n);
	return n > 0;
}

static bool is_ipv4(struct str s)
{
	int dots = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' && i > 0 && s.p[i - 1] != '.')
			dots++;
		else if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return dots == 3 && s.n > 0 && s.p[s.n - 1] != '.';
}

/* Whether it names somebody who is not on this machine. What names no address at all meant the loopback: nothing else refuses. */
static bool leads_away(struct str line)
{
	bool away = false;

	for (struct str word, host, rest = line; next_address(&rest, &word);) {
		host = word;
		host = str_cut(&host, ':');
		if (str_eqz(host, "localhost") || str_starts(word, STR("::1")) || (is_ipv4(host) && (str_starts(host, STR("127.")) ||
			str_eqz(host, "0.0.0.0"))))
			return false;
		away = away || is_ipv4(host);
	}
	return away;
}

/* ---- which rule ---- */

static bool found(struct denial *d, enum denial_rule rule, struct str path)
{
	size_t n = utf8_head(path, DENIAL_PATH_MAX);

	*d = (struct denial){ .rule = rule, .path = str_head(path, n), .cut = n < path.n };
	return true;
}

static bool judge_path(const struct denial_jail *jail, unsigned cause, struct str path, struct arena *mem, struct denial *d)
{
	const struct tool_root *root = denial_root_of(jail, path);
	bool etc = beneath(path, STR("/etc"));

	if (cause == CAUSE_PROGRAM)
		cause = CAUSE_GONE;
	if (cause == CAUSE_FULL)
		return !root && !jail->no_namespaces && (beneath(path, STR("/tmp")) || beneath(path, STR("/dev/shm"))) &&
			found(d, DENIAL_SPACE, path);
	if (is_hidden(jail, path))
		return found(d, DENIAL_HIDDEN, path);
	if (jail->looks && cause == CAUSE_WRITE && (root || !beneath_any(path, of_the_cell, COUNT(of_the_cell))))
		return found(d, DENIAL_LOOKS, path);
	if (root && cause != CAUSE_GONE && in_git(path) && root->writable && !jail->git_open)
		return found(d, DENIAL_GIT, path);
	if (cause == CAUSE_BUSY)
		return false; /* in use, as anywhere */
	if (path.n == 1)
		return jail->no_namespaces && cause == CAUSE_OPEN && found(d, DENIAL_TOP, path);
	if (root && (root->writable || cause != CAUSE_WRITE))
		return false; /* what was granted: an ordinary failure */
	if (root)
		return found(d, DENIAL_READ_ONLY, path);
	if (jail->no_namespaces && cause != CAUSE_GONE && beneath(path, STR("/dev/shm")))
		return found(d, DENIAL_SHARED, STR(""));
	if (beneath(path, STR("/dev")) && path.n > 5 && !beneath_any(path, own_devices, COUNT(own_devices)))
		return found(d, DENIAL_DEVICE, path);
	if ((cause == CAUSE_WRITE && beneath(path, STR("/proc"))) || (cause == CAUSE_OPEN && beneath(path, STR("/proc/sys"))))
		return found(d, DENIAL_KERNEL, path);
	if (beneath(path, STR("/sys")))
		return found(d, DENIAL_SYSFS, path);
	if (jail->no_namespaces && cause != CAUSE_GONE && beneath(path, STR("/tmp")) && !str_starts(path, STR(OWN_TMP)) && !is_near(jail, path))
		return found(d, DENIAL_TMP, path);
	if (beneath_any(path, of_the_cell, COUNT(of_the_cell)) && !is_near(jail, path))
		return false;
	if (cause == CAUSE_GONE && etc)
		return found(d, DENIAL_ETC_GONE, path);
	if (beneath(path, STR("/boot")) && cause != CAUSE_WRITE) /* of the system, and not shown */
		return found(d, DENIAL_SEE, path);
	if (root_is_system(str_dupz(mem, path))) /* of /etc Landlock refuses reading as it does writing */
		return cause != CAUSE_GONE && found(d, cause == CAUSE_OPEN && etc ? DENIAL_ETC : DENIAL_SYSTEM, path);
	if (cause == CAUSE_GONE && !beneath_any(path, kept_outside, COUNT(kept_outside)) && !is_near(jail, path))
		return false;
	return found(d, cause == CAUSE_WRITE ? DENIAL_WRITE : DENIAL_SEE, path);
}

static bool names_place(enum denial_rule rule)
{
	return rule == DENIAL_SEE || rule == DENIAL_ETC || rule == DENIAL_ETC_GONE;
}

/* It names a link in what is shown, or what lies behind one, that leads out of it. */
static bool judge_link(const struct denial_jail *jail, unsigned cause, struct str path, struct arena *mem, struct denial *d)
{
	struct denial_way way;
	struct denial to;
	bool gone = cause == CAUSE_GONE || cause == CAUSE_PROGRAM;

	if ((!gone && cause != CAUSE_OPEN && cause != CAUSE_WRITE) || !denial_follow(jail, path, mem, &way))
		return false;
	if (gone && jail->looks_outside && way.is == DENIAL_LOOK_NONE)
		return false; /* nowhere, as an ordinary link that leads to nothing */
	if (gone && !jail->looks_outside && way.is != DENIAL_LOOK_NONE)
		return false; /* what it leads to is shown */
	if (!judge_path(jail, gone && jail->looks_outside ? CAUSE_OPEN : cause, way.path, mem, &to))
		return false;
	if (!names_place(to.rule) && to.rule != DENIAL_WRITE && to.rule != DENIAL_HIDDEN &&
		(cause != CAUSE_WRITE || (to.rule != DENIAL_SYSTEM && to.rule != DENIAL_GIT && to.rule != DENIAL_READ_ONLY)))
		return false;
	if (way.to.n > DENIAL_PATH_MAX || way.link.n > DENIAL_PATH_MAX)
		return false;
	*d = (struct denial){ .rule = to.rule, .path = way.to, .link = way.link, .grant = names_place(to.rule) ? way.grant.n : 0 };
	return true;
}

/* "/usr/bin/ld: cannot open /x": who speaks is not what it speaks of, where it names something else. */
static struct str past_speaker(struct str line)
{
	size_t n = str_find_any(line, STR(" \t:"));
	struct str rest = str_skip(line, n), scan = rest, path;

	return str_starts(line, STR("/")) && str_starts(rest, STR(": ")) && next_path(&scan, false, &path) ? rest : line;
}

/* Of a command that said it wrote no file of a .git, or of which nothing else can be meant. */
static bool judge_git(const struct denial_jail *jail, struct arena *mem, struct denial *d)
{
	const struct tool_root *root = denial_root_of(jail, jail->cwd);

	if (jail->looks)
		return found(d, DENIAL_LOOKS, jail->roots[0].path);
	return root && root->writable && !jail->git_open && found(d, DENIAL_GIT, str_printf(mem, STR_FMT "/.git", STR_ARG(root->path)));
}

static bool judge_refused(const struct denial_jail *jail, struct str line, struct denial *d)
{
	struct str rest = line, path;

	if (jail->online)
		return false;
	/* A socket that has a path is as any other file; bash names addresses so. */
	while (next_path(&rest, false, &path))
		if (!str_starts(path, STR("/dev/tcp/")))
			return false;
	if (jail->no_namespaces)
		return found(d, DENIAL_NO_SOCKET, STR(""));
	return found(d, leads_away(line) ? DENIAL_NET : DENIAL_LOOP, STR(""));
}

/* A limit of the command's own is none of ours. */
static bool limits_itself(struct str commands)
{
	struct str args;

	while (commands.n > 0) {
		struct str line = str_trim(str_line(&commands));

		if (denial_runs(line, "ulimit", &args) || denial_runs(line, "prlimit", &args))
			return true;
	}
	return false;
}

/* A rule that is known without a path. */
static bool judge_rule(const struct denial_jail *jail, enum denial_rule rule, struct denial *d)
{
	switch (rule) {
	case DENIAL_NONE:
		return false;
	case DENIAL_NET:
		return !jail->online && found(d, rule, STR(""));
	case DENIAL_NO_SOCKET: /* with the host's network it is the unix sockets that are not there */
		return jail->no_namespaces && found(d, jail->online ? DENIAL_SOCKET : rule, STR(""));
	case DENIAL_MEMORY:
		return jail->memory_each && !limits_itself(jail->commands) && found(d, rule, STR(""));
	case DENIAL_PROCESSES:
		return !jail->no_namespaces && found(d, rule, STR(""));
	default:
		return found(d, rule, STR(""));
	}
}

/* A word of the line may be a path below where it ran; a program's may be its name alone. */
static bool judge_word(const struct denial_jail *jail, unsigned cause, struct str word, struct arena *mem, struct denial *d)
{
	struct str place;

	if (judge_link(jail, cause, denial_plain(mem, jail->cwd, word), mem, d))
		return true;
	for (size_t i = 0; cause == CAUSE_PROGRAM && denial_program(jail, word, mem, i, &place); i++)
		if (judge_link(jail, cause, place, mem, d))
			return true;
	return false;
}

static bool judge_cause(const struct denial_jail *jail, unsigned cause, struct str line, struct arena *mem, struct denial *d)
{
	bool named = false;

	if (cause < DENIAL_RULES)
		return judge_rule(jail, cause, d);
	if (cause == CAUSE_GIT)
		return judge_git(jail, mem, d);
	if (cause == CAUSE_REFUSED)
		return judge_refused(jail, line, d);
	for (struct str rest = line, path; jail->look && next_path(&rest, true, &path);)
		if (judge_word(jail, cause, path, mem, d))
			return true;
	for (struct str rest = past_speaker(line), path; next_path(&rest, false, &path); named = true)
		if (judge_path(jail, cause, denial_plain(mem, jail->cwd, path), mem, d))
			return true;
	/* A word of the line may be a path below where it ran; of those, only what is hidden says something. */
	for (struct str rest = line, path; jail->hide_paths.n > 0 && next_path(&rest, true, &path);)
		if (is_hidden(jail, denial_plain(mem, jail->cwd, path)))
			return judge_path(jail, cause, denial_plain(mem, jail->cwd, path), mem, d);
	/* A name without a place: where nothing is to be written it is that, and a command about a .git means that. */
	if (!named && cause == CAUSE_WRITE && jail->looks)
		return judge_git(jail, mem, d);
	return !named && (cause == CAUSE_BUSY || (cause == CAUSE_WRITE && !holds(line, "permission denied"))) &&
		denial_names_git(jail->commands) && judge_git(jail, mem, d);
}

static bool judge_line(const struct denial_jail *jail, struct str line, size_t from_end, struct arena *mem, struct denial *d)
{
	size_t i = 0;

	while (i < denial_nrows && !(from_end < denial_rows[i].within && holds(line, denial_rows[i].words[0]) &&
					   (!denial_rows[i].words[1] || holds(line, denial_rows[i].words[1]))))
		i++;
	return i < denial_nrows && judge_cause(jail, denial_rows[i].cause, line, mem, d);
}

/* " 1: 0x..." or "12: 0x..." */
static bool is_frame(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] >= '0' && line.p[n] <= '9')
		n++;
	return n > 0 && str_starts(str_skip(line, n), STR(": 0x"));
}

static bool is_trailer(struct str line)
{
	for (size_t i = 0; denial_trailers[i]; i++)
		if (str_starts(line, str_from(denial_trailers[i])))
			return true;
	return is_frame(line);
}

/* lines: the last ones that are looked at. What only ends the line before it does not count for that one, so that an error counts as
 * the last line, however long the stack is that is printed after it. */
static bool judge_text(const struct denial_jail *jail, struct str text, size_t lines, struct arena *mem, struct denial *d)
{
	size_t before = 0, nth = 0;

	text = str_trim(str_tail(text, DENIAL_TAIL));
	for (; text.n > 0 && before < lines; nth++) {
		size_t nl = str_rfind(text, '\n');
		struct str line = nl < text.n ? str_skip(text, nl + 1) : text;
		bool trailer = is_trailer(line);

		if (judge_line(jail, line, trailer ? nth : before, mem, d))
			return true;
		before += !trailer;
		text = str_trim(str_head(text, text.n - line.n));
	}
	return false;
}

/* Nothing but blanks, and what sets colours back. */
static bool is_blank(struct str text)
{
	for (text = str_trim(text); str_starts(text, STR("\x1b[")); text = str_trim(text)) {
		size_t n = 2;

		while (n < text.n && (text.p[n] < '@' || text.p[n] > '~'))
			n++;
		text = str_skip(text, n + 1);
	}
	return text.n == 0;
}

static bool judge_silence(const struct denial_jail *jail, int code, struct arena *mem, struct denial *d)
{
	for (struct str commands = jail->commands; commands.n > 0;) {
		struct str line = str_trim(str_line(&commands)), args;

		for (size_t i = 0; i < denial_nsilences; i++) {
			const struct denial_silence *s = &denial_silences[i];

			if (code == s->code && denial_runs(line, s->program, &args) && (!s->word || denial_has_word(args, s->word)) &&
				!denial_has_word(args, "list") && !denial_has_word(args, "show") &&
				judge_cause(jail, s->cause, args, mem, d))
				return true;
		}
	}
	return false;
}

/* The note begins with the program, as it was asked for. */
static bool judge_unrunnable(const struct denial_jail *jail, struct str note, struct arena *mem, struct denial *d)
{
	return jail->look && judge_word(jail, CAUSE_PROGRAM, str_head(note, str_find(note, STR(": "))), mem, d);
}

bool denial_may_be(const struct job_result *job)
{
	return (job->why == JOB_EXITED && job->code != 0) || job->why == JOB_UNRUNNABLE ||
		(job->why == JOB_SIGNALED && (job->code == ABORTED || job->code == BAD_CALL));
}

void denial_explain(const struct denial_jail *jail, const struct job_result *job, struct arena *mem, struct denial *out)
{
	bool silent = is_blank(job->errs);

	*out = (struct denial){ 0 };
	if (jail->unconfined || !denial_may_be(job) || jail->nroots == 0)
		return;
	if ((job->why == JOB_SIGNALED && job->code == BAD_CALL && found(out, DENIAL_ARCH, STR(""))) ||
		judge_text(jail, job->errs, DENIAL_LINES, mem, out) || (silent && judge_text(jail, job->out, DENIAL_NEAR_END, mem, out)) ||
		(job->why == JOB_UNRUNNABLE && (judge_unrunnable(jail, job->note, mem, out) || judge_text(jail, job->note, DENIAL_LINES, mem, out))) ||
		(silent && is_blank(job->out) && judge_silence(jail, job->code, mem, out)))
		denial_say(out, mem);
}
