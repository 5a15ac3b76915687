/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial_priv.h"

#include "sandbox/root.h"

#include <string.h>

#define OWN_TMP "/tmp/agent6-" /* what TMPDIR names begins so, where there is no /tmp */

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
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= line.n; i++) {
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

/* The next word of the line that begins with "/", "../" or ".git/", or any word; quotes hold blanks together. */
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
		if (!any && !str_starts(at, STR("/")) && !str_starts(at, STR("../")) && !str_starts(at, STR(".git/")))
			continue;
		n = str_find_any(at, quoted ? STR("'\"`\xe2") : STR(" \t\r\n'\"`:,;)]>"));
		*out = str_head(at, n);
		*rest = str_skip(at, n);
		if (out->n > 1)
			return true;
		i = 0;
	}
	return false;
}

/* Without "." and ".."; relative ones begin where the command ran. */
static struct str plain(struct arena *mem, struct str cwd, struct str path)
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
static const struct tool_root *root_of(const struct denial_jail *jail, struct str path)
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

/* ---- which rule ---- */

static bool found(struct denial *d, enum denial_rule rule, struct str path)
{
	size_t n = utf8_head(path, DENIAL_PATH_MAX);

	*d = (struct denial){ .rule = rule, .path = str_head(path, n), .cut = n < path.n };
	return true;
}

static bool judge_path(const struct denial_jail *jail, unsigned cause, struct str path, struct arena *mem, struct denial *d)
{
	const struct tool_root *root = root_of(jail, path);
	bool etc = beneath(path, STR("/etc"));

	if (is_hidden(jail, path))
		return found(d, DENIAL_HIDDEN, path);
	if (root && cause != CAUSE_GONE && in_git(path) && root->writable && !jail->git_open)
		return found(d, DENIAL_GIT, path);
	if (root && (root->writable || cause != CAUSE_WRITE))
		return false; /* what was granted: an ordinary failure */
	if (root)
		return found(d, DENIAL_READ_ONLY, path);
	if (beneath(path, STR("/dev")) && path.n > 5 && !beneath_any(path, own_devices, COUNT(own_devices)))
		return found(d, DENIAL_DEVICE, path);
	if ((cause == CAUSE_WRITE && beneath(path, STR("/proc"))) || (cause == CAUSE_OPEN && beneath(path, STR("/proc/sys"))))
		return found(d, DENIAL_KERNEL, path);
	if (beneath(path, STR("/sys")))
		return found(d, DENIAL_SYSFS, path);
	if (jail->no_namespaces && cause == CAUSE_OPEN && beneath(path, STR("/tmp")) && !str_starts(path, STR(OWN_TMP)) && !is_near(jail, path))
		return found(d, DENIAL_TMP, path);
	if (beneath_any(path, of_the_cell, COUNT(of_the_cell)) && !is_near(jail, path))
		return false;
	if (cause == CAUSE_GONE && etc)
		return found(d, DENIAL_ETC_GONE, path);
	if (root_is_system(str_dupz(mem, path))) /* of /etc Landlock refuses reading as it does writing */
		return cause != CAUSE_GONE && found(d, cause == CAUSE_OPEN && etc ? DENIAL_ETC : DENIAL_SYSTEM, path);
	if (cause == CAUSE_GONE && !beneath_any(path, kept_outside, COUNT(kept_outside)) && !is_near(jail, path))
		return false;
	return found(d, cause == CAUSE_WRITE ? DENIAL_WRITE : DENIAL_SEE, path);
}

/* "/usr/bin/ld: cannot open /x": who speaks is not what it speaks of, where it names something else. */
static struct str past_speaker(struct str line)
{
	size_t n = str_find_any(line, STR(" \t:"));
	struct str rest = str_skip(line, n), scan = rest, path;

	return str_starts(line, STR("/")) && str_starts(rest, STR(": ")) && next_path(&scan, false, &path) ? rest : line;
}

static bool judge_line(const struct denial_jail *jail, struct str line, size_t from_end, struct arena *mem, struct denial *d)
{
	size_t i = 0;

	while (i < denial_nrows && !(from_end < denial_rows[i].within && holds(line, denial_rows[i].words[0]) &&
				      (!denial_rows[i].words[1] || holds(line, denial_rows[i].words[1]))))
		i++;
	if (i == denial_nrows)
		return false;
	if (denial_rows[i].cause < DENIAL_RULES) {
		if (jail->online && (denial_rows[i].cause == DENIAL_NET || denial_rows[i].cause == DENIAL_LOOP))
			return false;
		return found(d, denial_rows[i].cause, STR(""));
	}
	for (struct str rest = past_speaker(line), path; next_path(&rest, false, &path);)
		if (judge_path(jail, denial_rows[i].cause, plain(mem, jail->cwd, path), mem, d))
			return true;
	/* A word of the line may be a path below where it ran; of those, only what is hidden says something. */
	for (struct str rest = line, path; jail->hide_paths.n > 0 && next_path(&rest, true, &path);)
		if (is_hidden(jail, plain(mem, jail->cwd, path)))
			return judge_path(jail, denial_rows[i].cause, plain(mem, jail->cwd, path), mem, d);
	return false;
}

/* lines: the last ones that are looked at. */
static bool judge_text(const struct denial_jail *jail, struct str text, size_t lines, struct arena *mem, struct denial *d)
{
	text = str_trim(str_tail(text, DENIAL_TAIL));
	for (size_t from_end = 0; text.n > 0 && from_end < lines; from_end++) {
		size_t nl = str_rfind(text, '\n');
		struct str line = nl < text.n ? str_skip(text, nl + 1) : text;

		if (judge_line(jail, line, from_end, mem, d))
			return true;
		text = str_trim(str_head(text, text.n - line.n));
	}
	return false;
}

void denial_explain(const struct denial_jail *jail, const struct job_result *job, struct arena *mem, struct denial *out)
{
	bool failed = (job->why == JOB_EXITED && job->code != 0) || job->why == JOB_UNRUNNABLE;
	bool silent = str_trim(job->errs).n == 0;

	*out = (struct denial){ 0 };
	if (jail->unconfined || !failed || jail->nroots == 0)
		return;
	if (judge_text(jail, job->errs, DENIAL_LINES, mem, out) || (silent && judge_text(jail, job->out, DENIAL_NEAR_END, mem, out)) ||
		(job->why == JOB_UNRUNNABLE && judge_text(jail, job->note, DENIAL_LINES, mem, out)))
		denial_say(out, mem);
}
