/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial.h"

#include "sandbox/root.h"

#include <string.h>

#define LINES      12 /* the last ones that are not blank */
#define NEAR_END   3  /* for words that mean something else as often */
#define OWN_TMP    "/tmp/agent6-" /* what TMPDIR names begins so, where there is no /tmp */

/* ---- what is said ---- */

static const struct {
	const char *text, *key; /* no key: nothing allows it */
	bool path;              /* the text follows a path */
} rules[DENIAL_RULES] = {
	[DENIAL_NET] = { "commands reach no network outside of the jail", "sandbox.tool_network", false },
	[DENIAL_LOOP] = { "commands reach only servers that other commands of this run started", "sandbox.tool_network", false },
	[DENIAL_CALL] = { "the jail refuses privileged system calls, and nothing allows them", NULL, false },
	[DENIAL_FAMILY] = { "commands have unix, TCP and UDP sockets and no others, and nothing allows them", NULL, false },
	[DENIAL_OWNER] = { "the jail has one user and one group: no file can be given to another, and nothing allows it", NULL, false },
	[DENIAL_MODE] = { "in the jail no set-user-ID or set-group-ID file can be made, and no mode of somebody else's file changed; "
			  "nothing allows it", NULL, false },
	[DENIAL_SIGNAL] = { "commands can signal their own processes and no others, and nothing allows it", NULL, false },
	[DENIAL_LIMIT] = { "the jail raises no limits, and nothing allows it", NULL, false },
	[DENIAL_ROOT] = { "commands have no privileges, whoever started agent6, and nothing gives them any", NULL, false },
	[DENIAL_PACKAGES] = { "commands cannot install packages of the system: the operator does, outside, and they are there then", NULL,
		false },
	[DENIAL_DAEMON] = { "the services of this machine (containers, systemd and their like) are outside of the jail, and nothing lets "
			    "them in", NULL, false },
	[DENIAL_SHARED] = { "without namespaces commands have no /dev/shm, which this needs, and with \"strict\" they have one",
		"sandbox.profile", false },
	[DENIAL_SOCKET] = { "without namespaces commands have no unix socket, which this needs, and with \"strict\" they have them",
		"sandbox.profile", false },
	[DENIAL_TERMINAL] = { "commands have no terminal and can make none, and nothing allows it", NULL, false },
	[DENIAL_TRACE] = { "commands trace no process, not even their own, and nothing allows it", NULL, false },
	[DENIAL_LEAKS] = { "LeakSanitizer traces its process, which commands cannot, and nothing allows it; ASAN_OPTIONS=detect_leaks=0 keeps "
			   "the rest", NULL, false },
	[DENIAL_BROWSER] = { "commands are in a sandbox and can make none in it, and nothing allows it; Chromium works with --no-sandbox "
			     "under \"strict\"", NULL, false },
	[DENIAL_AUTHOR] = { "commands see no .gitconfig of a home; user.name and user.email come from the repository, git -c or GIT_AUTHOR_* and "
			    "GIT_COMMITTER_*", NULL, false },
	[DENIAL_HIDDEN] = { "is hidden from commands", "sandbox.hide_paths", true },
	[DENIAL_GIT] = { "is read-only for commands", "sandbox.protect_git", true },
	[DENIAL_READ_ONLY] = { "may be read and not written", "sandbox.extra_write_paths", true },
	[DENIAL_DEVICE] = { "is none of the few devices that commands have, and nothing gives them more", NULL, true },
	[DENIAL_KERNEL] = { "is the kernel's, which commands may read and never change", NULL, true },
	[DENIAL_SYSFS] = { "is in /sys, of which commands have nothing, and nothing gives it to them", NULL, true },
	[DENIAL_TMP] = { "is not the commands': without namespaces they have a directory of their own, which TMPDIR names, and with \"strict\" "
			 "a /tmp", "sandbox.profile", true },
	[DENIAL_ETC_GONE] = { "is not in the part of /etc that commands see, if it is there at all", "sandbox.extra_read_paths", true },
	[DENIAL_ETC] = { "is in /etc, of which commands see a part and change nothing", "sandbox.extra_read_paths", true },
	[DENIAL_SYSTEM] = { "is part of the system, which commands may read and never change", NULL, true },
	[DENIAL_WRITE] = { "is outside what commands may write", "sandbox.extra_write_paths", true },
	[DENIAL_SEE] = { "is outside what commands may see", "sandbox.extra_read_paths (or extra_write_paths)", true },
};

bool denial_has_path(enum denial_rule rule)
{
	return rules[rule].path;
}

void denial_say(struct denial *d, struct arena *mem)
{
	const char *before = !rules[d->rule].path ? "" : d->cut ? "... " : " ", *key = rules[d->rule].key;

	if (d->rule == DENIAL_NONE)
		return;
	d->key = key;
	d->note = str_printf(mem, STR_FMT "%s%s%s%s%s", STR_ARG(d->path), before, rules[d->rule].text, key ? "; the operator's " : "",
		key ? key : "", key ? " decides" : "");
}

/* ---- what a line says ---- */

/* Of a line that names a path the path decides; of any other the rule is known by it alone. */
enum cause {
	CAUSE_WRITE = DENIAL_RULES, /* refused, as only writing is */
	CAUSE_OPEN,                 /* refused, reading or writing */
	CAUSE_GONE,                 /* not there: outside the grants nothing is */
};

/* Every word of a row stands in the line, in any case. The first row that fits a line counts. */
static const struct {
	unsigned cause; /* a rule, or what it has to do with a path */
	const char *words[2];
	size_t within; /* of the last lines */
} rows[] = {
	{ DENIAL_PACKAGES, { "/var/lib/apt/" }, LINES },
	{ DENIAL_PACKAGES, { "/etc/apt/" }, LINES },
	{ DENIAL_PACKAGES, { "/var/lib/dpkg/" }, LINES },
	{ DENIAL_PACKAGES, { "dpkg: error", "superuser privilege" }, LINES },
	{ DENIAL_DAEMON, { "cannot connect to the docker daemon" }, LINES },
	{ DENIAL_DAEMON, { "docker daemon socket" }, LINES },
	{ DENIAL_DAEMON, { "docker.sock: connect: " }, LINES },
	{ DENIAL_NET, { "network is unreachable" }, LINES },
	{ DENIAL_NET, { "temporary failure in name resolution" }, LINES },
	{ DENIAL_NET, { "temporary failure resolving" }, LINES },
	{ DENIAL_NET, { "could not resolve host" }, LINES },
	{ DENIAL_NET, { "unable to resolve host address" }, LINES },
	{ DENIAL_NET, { "getaddrinfo", "eai_again" }, LINES },
	{ DENIAL_NET, { "getaddrinfo", "enotfound" }, LINES },
	{ DENIAL_NET, { "dial tcp: lookup", ":53:" }, LINES },
	{ DENIAL_NET, { "failed to lookup address information" }, LINES },
	{ DENIAL_NET, { "no servers could be reached" }, NEAR_END },
	/* without namespaces no socket can be made */
	{ DENIAL_NET, { " socket: permission denied" }, LINES },
	{ DENIAL_NET, { "_socket.socket.__init__(" }, NEAR_END },
	{ DENIAL_SOCKET, { "process_singleton", "socket() failed" }, LINES },
	{ DENIAL_NET, { "ssh: connect to host", ": failure" }, NEAR_END },
	{ DENIAL_SHARED, { "_multiprocessing.semlock(" }, NEAR_END },
	{ DENIAL_NET, { "unknownhostexception" }, NEAR_END },
	{ DENIAL_NET, { "name or service not known" }, NEAR_END },
	{ DENIAL_LOOP, { "failed to connect to", "couldn't connect to server" }, NEAR_END },
	{ DENIAL_LOOP, { "connection refused" }, NEAR_END },
	{ DENIAL_LOOP, { "econnrefused" }, NEAR_END },
	{ DENIAL_DAEMON, { "not been booted with systemd" }, LINES },
	{ DENIAL_DAEMON, { "failed to connect to bus" }, NEAR_END },
	{ DENIAL_CALL, { "mount:", "must be superuser" }, NEAR_END },
	{ DENIAL_CALL, { "mount", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "unshare", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "namespace", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "no permissions to create new namespace" }, NEAR_END },
	{ DENIAL_TRACE, { "ptrace", "operation not permitted" }, LINES },
	{ DENIAL_TRACE, { "could not trace the inferior process" }, LINES },
	{ DENIAL_LEAKS, { "leaksanitizer has encountered a fatal error" }, LINES },
	{ DENIAL_BROWSER, { "no usable sandbox!" }, LINES },
	{ DENIAL_AUTHOR, { "unable to auto-detect email address" }, NEAR_END },
	{ DENIAL_AUTHOR, { "empty ident name" }, NEAR_END },
	{ DENIAL_CALL, { "perf_event_open", "operation not permitted" }, LINES },
	{ DENIAL_CALL, { "no permission to enable", "event" }, NEAR_END },
	{ DENIAL_CALL, { "set personality", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "rtnetlink", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "kernel buffer", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "cannot set date", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "cap_net_raw" }, NEAR_END },
	{ DENIAL_CALL, { "mknod", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "raw socket", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "chroot", "operation not permitted" }, NEAR_END },
	{ DENIAL_CALL, { "no new privileges" }, LINES },
	{ DENIAL_FAMILY, { "address family not supported" }, NEAR_END },
	{ DENIAL_OWNER, { "changing ownership of", "invalid argument" }, NEAR_END },
	{ DENIAL_OWNER, { "changing ownership of", "operation not permitted" }, NEAR_END },
	{ DENIAL_OWNER, { "cannot change ownership to", "invalid argument" }, NEAR_END },
	{ DENIAL_OWNER, { "cannot change ownership to", "operation not permitted" }, NEAR_END },
	{ DENIAL_MODE, { "changing permissions of", "operation not permitted" }, NEAR_END },
	{ DENIAL_MODE, { "cannot change permissions of", "operation not permitted" }, NEAR_END },
	{ DENIAL_MODE, { "cannot change mode to", "operation not permitted" }, NEAR_END },
	{ DENIAL_SIGNAL, { "kill:", "operation not permitted" }, NEAR_END },
	{ DENIAL_LIMIT, { "ulimit:", "operation not permitted" }, NEAR_END },
	{ DENIAL_LIMIT, { "ulimit:", "cannot modify limit" }, NEAR_END },
	{ DENIAL_ROOT, { "you must be root" }, NEAR_END },
	{ DENIAL_ROOT, { "are you root?" }, NEAR_END },
	{ DENIAL_TERMINAL, { "failed to create pseudo-terminal" }, NEAR_END },
	{ DENIAL_TERMINAL, { "out of pty devices" }, NEAR_END },
	{ DENIAL_TERMINAL, { "create window failed", "fork failed" }, NEAR_END },
	{ DENIAL_TERMINAL, { "forkpty" , "failed" }, NEAR_END },
	{ DENIAL_TERMINAL, { "no more ptys" }, NEAR_END },
	{ CAUSE_WRITE, { "read-only file system" }, LINES },
	{ CAUSE_WRITE, { "erofs:" }, LINES },
	{ CAUSE_OPEN, { "permission denied" }, LINES },
	{ CAUSE_OPEN, { "permissionerror" }, LINES },
	{ CAUSE_OPEN, { "eacces:" }, LINES },
	{ CAUSE_OPEN, { "accessdeniedexception" }, LINES },
	{ CAUSE_OPEN, { "operation not permitted" }, LINES },
	{ CAUSE_OPEN, { "unable to open database" }, NEAR_END },
	{ CAUSE_GONE, { "no such file or directory" }, NEAR_END },
	{ CAUSE_GONE, { "nosuchfileexception" }, LINES },
	{ CAUSE_GONE, { "directory nonexistent" }, NEAR_END },
	{ CAUSE_GONE, { "can't cd to" }, NEAR_END },
	{ CAUSE_GONE, { "enoent:" }, NEAR_END },
};

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
	if (jail->no_tmp && cause == CAUSE_OPEN && beneath(path, STR("/tmp")) && !str_starts(path, STR(OWN_TMP)) && !is_near(jail, path))
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

	while (i < COUNT(rows) && !(from_end < rows[i].within && holds(line, rows[i].words[0]) &&
				      (!rows[i].words[1] || holds(line, rows[i].words[1]))))
		i++;
	if (i == COUNT(rows))
		return false;
	if (rows[i].cause < DENIAL_RULES) {
		if (jail->online && (rows[i].cause == DENIAL_NET || rows[i].cause == DENIAL_LOOP))
			return false;
		return found(d, rows[i].cause, STR(""));
	}
	for (struct str rest = past_speaker(line), path; next_path(&rest, false, &path);)
		if (judge_path(jail, rows[i].cause, plain(mem, jail->cwd, path), mem, d))
			return true;
	/* A word of the line may be a path below where it ran; of those, only what is hidden says something. */
	for (struct str rest = line, path; jail->hide_paths.n > 0 && next_path(&rest, true, &path);)
		if (is_hidden(jail, plain(mem, jail->cwd, path)))
			return judge_path(jail, rows[i].cause, plain(mem, jail->cwd, path), mem, d);
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
	if (judge_text(jail, job->errs, LINES, mem, out) || (silent && judge_text(jail, job->out, NEAR_END, mem, out)) ||
		(job->why == JOB_UNRUNNABLE && judge_text(jail, job->note, LINES, mem, out)))
		denial_say(out, mem);
}
