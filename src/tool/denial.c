/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial.h"

#include "sandbox/root.h"

#include <string.h>

#define TAIL_BYTES 4096
#define LINES      12 /* the last ones that are not blank */
#define NEAR_END   3  /* for words that mean something else as often */
#define PATH_SHOWN 160

/* ---- what a line says ---- */

enum cause {
	CAUSE_WRITE, /* refused, as only writing is: the path decides */
	CAUSE_OPEN,  /* refused, reading or writing: the path decides */
	CAUSE_GONE,  /* not there: outside the grants nothing is */
	CAUSE_NET,
	CAUSE_LOOP,  /* nobody listens there: maybe somebody does outside */
	CAUSE_CALL,  /* a system call no jail has */
	CAUSE_FAMILY, /* a kind of socket no jail has */
	CAUSE_OWNER, CAUSE_MODE, CAUSE_SIGNAL, CAUSE_LIMIT, CAUSE_ROOT, CAUSE_SYSTEM, CAUSE_DAEMON, CAUSE_TERMINAL,
	CAUSE_SHARED,
	CAUSES
};

/* What is said where the line alone decides. */
static const struct {
	const char *note, *key; /* no key: nothing allows it */
} notes[CAUSES] = {
	[CAUSE_NET] = { "commands reach no network outside of the jail; the operator's sandbox.tool_network decides",
		"sandbox.tool_network" },
	[CAUSE_LOOP] = { "commands reach only servers that other commands of this run started; the operator's sandbox.tool_network "
			 "decides", "sandbox.tool_network" },
	[CAUSE_CALL] = { "the jail refuses privileged system calls, and nothing allows them", NULL },
	[CAUSE_FAMILY] = { "commands have unix, TCP and UDP sockets and no others, and nothing allows them", NULL },
	[CAUSE_OWNER] = { "the jail has one user and one group: no file can be given to another, and nothing allows it", NULL },
	[CAUSE_MODE] = { "in the jail no set-user-ID or set-group-ID file can be made, and no mode of somebody else's file changed; "
			 "nothing allows it", NULL },
	[CAUSE_SIGNAL] = { "commands can signal their own processes and no others, and nothing allows it", NULL },
	[CAUSE_LIMIT] = { "the jail raises no limits, and nothing allows it", NULL },
	[CAUSE_ROOT] = { "commands have no privileges, whoever started agent6, and nothing gives them any", NULL },
	[CAUSE_SYSTEM] = { "commands cannot install packages of the system: the operator does, outside, and they are there then", NULL },
	[CAUSE_DAEMON] = { "the services of this machine (containers, systemd and their like) are outside of the jail, and nothing lets "
			   "them in", NULL },
	[CAUSE_SHARED] = { "without namespaces commands have no /dev/shm, which this needs; the operator's sandbox.profile decides: \"strict\" "
			   "has one", "sandbox.profile" },
	[CAUSE_TERMINAL] = { "commands have no terminal and can make none, and nothing allows it", NULL },
};

/* Every word of a row stands in the line, in any case. The first row that fits a line counts. */
static const struct {
	enum cause cause;
	const char *words[2];
	size_t within; /* of the last lines */
} rows[] = {
	{ CAUSE_SYSTEM, { "/var/lib/apt/" }, LINES },
	{ CAUSE_SYSTEM, { "/etc/apt/" }, LINES },
	{ CAUSE_SYSTEM, { "/var/lib/dpkg/" }, LINES },
	{ CAUSE_SYSTEM, { "dpkg: error", "superuser privilege" }, LINES },
	{ CAUSE_NET, { "network is unreachable" }, LINES },
	{ CAUSE_NET, { "temporary failure in name resolution" }, LINES },
	{ CAUSE_NET, { "temporary failure resolving" }, LINES },
	{ CAUSE_NET, { "could not resolve host" }, LINES },
	{ CAUSE_NET, { "unable to resolve host address" }, LINES },
	{ CAUSE_NET, { "getaddrinfo", "eai_again" }, LINES },
	{ CAUSE_NET, { "getaddrinfo", "enotfound" }, LINES },
	{ CAUSE_NET, { "dial tcp: lookup", ":53:" }, LINES },
	{ CAUSE_NET, { "failed to lookup address information" }, LINES },
	{ CAUSE_NET, { "no servers could be reached" }, NEAR_END },
	/* without namespaces no socket can be made */
	{ CAUSE_NET, { " socket: permission denied" }, LINES },
	{ CAUSE_NET, { "_socket.socket.__init__(" }, NEAR_END },
	{ CAUSE_NET, { "ssh: connect to host", ": failure" }, NEAR_END },
	{ CAUSE_SHARED, { "_multiprocessing.semlock(" }, NEAR_END },
	{ CAUSE_NET, { "unknownhostexception" }, NEAR_END },
	{ CAUSE_NET, { "name or service not known" }, NEAR_END },
	{ CAUSE_LOOP, { "failed to connect to", "couldn't connect to server" }, NEAR_END },
	{ CAUSE_LOOP, { "connection refused" }, NEAR_END },
	{ CAUSE_LOOP, { "econnrefused" }, NEAR_END },
	{ CAUSE_DAEMON, { "cannot connect to the docker daemon" }, LINES },
	{ CAUSE_DAEMON, { "docker daemon socket" }, LINES },
	{ CAUSE_DAEMON, { "not been booted with systemd" }, LINES },
	{ CAUSE_DAEMON, { "failed to connect to bus" }, NEAR_END },
	{ CAUSE_CALL, { "mount:", "must be superuser" }, NEAR_END },
	{ CAUSE_CALL, { "mount", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "unshare", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "namespace", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "no permissions to create new namespace" }, NEAR_END },
	{ CAUSE_CALL, { "ptrace", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "perf_event_open", "operation not permitted" }, LINES },
	{ CAUSE_CALL, { "no permission to enable", "event" }, NEAR_END },
	{ CAUSE_CALL, { "rtnetlink", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "kernel buffer", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "cannot set date", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "cap_net_raw" }, NEAR_END },
	{ CAUSE_CALL, { "mknod", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "raw socket", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "chroot", "operation not permitted" }, NEAR_END },
	{ CAUSE_CALL, { "no new privileges" }, LINES },
	{ CAUSE_FAMILY, { "address family not supported" }, NEAR_END },
	{ CAUSE_OWNER, { "changing ownership of", "invalid argument" }, NEAR_END },
	{ CAUSE_OWNER, { "changing ownership of", "operation not permitted" }, NEAR_END },
	{ CAUSE_OWNER, { "cannot change ownership to", "invalid argument" }, NEAR_END },
	{ CAUSE_OWNER, { "cannot change ownership to", "operation not permitted" }, NEAR_END },
	{ CAUSE_MODE, { "changing permissions of", "operation not permitted" }, NEAR_END },
	{ CAUSE_MODE, { "cannot change permissions of", "operation not permitted" }, NEAR_END },
	{ CAUSE_MODE, { "cannot change mode to", "operation not permitted" }, NEAR_END },
	{ CAUSE_SIGNAL, { "kill:", "operation not permitted" }, NEAR_END },
	{ CAUSE_LIMIT, { "ulimit:", "operation not permitted" }, NEAR_END },
	{ CAUSE_LIMIT, { "ulimit:", "cannot modify limit" }, NEAR_END },
	{ CAUSE_ROOT, { "you must be root" }, NEAR_END },
	{ CAUSE_ROOT, { "are you root?" }, NEAR_END },
	{ CAUSE_TERMINAL, { "failed to create pseudo-terminal" }, NEAR_END },
	{ CAUSE_TERMINAL, { "out of pty devices" }, NEAR_END },
	{ CAUSE_WRITE, { "read-only file system" }, LINES },
	{ CAUSE_WRITE, { "erofs:" }, LINES },
	{ CAUSE_OPEN, { "permission denied" }, LINES },
	{ CAUSE_OPEN, { "permissionerror" }, LINES },
	{ CAUSE_OPEN, { "eacces:" }, LINES },
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

/* Without "." and ".."; relative ones begin at the workspace. */
static struct str plain(struct arena *mem, struct str workspace, struct str path)
{
	struct str all = str_starts(path, STR("/")) ? path
						    : str_printf(mem, STR_FMT "/" STR_FMT, STR_ARG(workspace), STR_ARG(path));
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

static const struct tool_root *root_of(const struct tool_ctx *ctx, struct str path)
{
	for (size_t i = 0; i < ctx->nroots; i++)
		if (beneath(path, ctx->roots[i].path))
			return &ctx->roots[i];
	return NULL;
}

/* The person's own beside the workspace: what is missing there is likely to be there outside. */
static bool is_near(const struct tool_ctx *ctx, struct str path)
{
	struct str ws = ctx->roots[0].path, up = str_head(ws, str_rfind(ws, '/')), first, rest = str_skip(ws, 1);

	str_cut(&rest, '/');
	str_cut(&rest, '/');
	first = str_trim_suffix(str_head(ws, ws.n - rest.n), STR("/")); /* two components: /home/me, /srv/git */
	for (size_t i = 0; i < COUNT(of_the_cell); i++)
		if (str_eqz(up, of_the_cell[i]))
			return false;
	return (up.n > 0 && beneath(path, up)) || (rest.n > 0 && beneath(path, first));
}

static bool is_hidden(const struct tool_ctx *ctx, struct str path)
{
	for (size_t i = 0; ctx->hide_paths && i < ctx->hide_paths->n; i++)
		if (beneath(path, ctx->hide_paths->p[i]))
			return true;
	return false;
}

/* ---- which rule ---- */

static void say(struct denial *d, struct arena *mem, struct str path, const char *what, const char *key)
{
	bool cut = path.n > PATH_SHOWN;

	path = str_head(path, utf8_head(path, PATH_SHOWN));
	d->key = key;
	d->note = key ? str_printf(mem, STR_FMT "%s %s; the operator's %s decides", STR_ARG(path), cut ? "..." : "", what, key)
		      : str_printf(mem, STR_FMT "%s %s", STR_ARG(path), cut ? "..." : "", what);
}

static bool judge_path(const struct tool_ctx *ctx, enum cause cause, struct str path, struct arena *mem, struct denial *d)
{
	const struct tool_root *root = root_of(ctx, path);

	if (is_hidden(ctx, path))
		say(d, mem, path, "is hidden from commands", "sandbox.hide_paths");
	else if (root && cause != CAUSE_GONE && in_git(path) && root->writable)
		say(d, mem, path, "is read-only for commands", "sandbox.protect_git");
	else if (root && (root->writable || cause != CAUSE_WRITE))
		return false; /* what was granted: an ordinary failure */
	else if (root)
		say(d, mem, path, "may be read and not written", "sandbox.extra_write_paths");
	else if (beneath(path, STR("/dev")) && path.n > 5 && !beneath_any(path, own_devices, COUNT(own_devices)))
		say(d, mem, path, "is none of the few devices that commands have, and nothing gives them more", NULL);
	else if ((cause == CAUSE_WRITE && beneath(path, STR("/proc"))) || (cause == CAUSE_OPEN && beneath(path, STR("/proc/sys"))))
		say(d, mem, path, "is the kernel's, which commands may read and never change", NULL);
	else if (beneath_any(path, of_the_cell, COUNT(of_the_cell)) && !is_near(ctx, path))
		return false;
	else if (cause == CAUSE_GONE && beneath(path, STR("/etc")))
		say(d, mem, path, "is not in the part of /etc that commands see, if it is there at all",
			"sandbox.extra_read_paths");
	else if (root_is_system(str_dupz(mem, path))) {
		if (cause == CAUSE_GONE)
			return false;
		if (cause == CAUSE_OPEN && beneath(path, STR("/etc"))) /* to read it, or to write it: where Landlock refuses, both look so */
			say(d, mem, path, "is in /etc, of which commands see a part and change nothing", "sandbox.extra_read_paths");
		else
			say(d, mem, path, "is part of the system, which commands may read and never change", NULL);
	} else if (cause == CAUSE_GONE && !beneath_any(path, kept_outside, COUNT(kept_outside)) && !is_near(ctx, path))
		return false;
	else if (cause == CAUSE_WRITE)
		say(d, mem, path, "is outside what commands may write", "sandbox.extra_write_paths");
	else
		say(d, mem, path, "is outside what commands may see", "sandbox.extra_read_paths (or extra_write_paths)");
	return true;
}

static bool judge_line(const struct tool_ctx *ctx, struct str line, size_t from_end, struct arena *mem, struct denial *d)
{
	size_t i = 0;

	while (i < COUNT(rows) && !(from_end < rows[i].within && holds(line, rows[i].words[0]) &&
				      (!rows[i].words[1] || holds(line, rows[i].words[1]))))
		i++;
	if (i == COUNT(rows))
		return false;
	if (notes[rows[i].cause].note) {
		if (ctx->commands_online && (rows[i].cause == CAUSE_NET || rows[i].cause == CAUSE_LOOP))
			return false;
		*d = (struct denial){ str_from(notes[rows[i].cause].note), notes[rows[i].cause].key };
		return true;
	}
	for (struct str rest = line, path; next_path(&rest, false, &path);)
		if (judge_path(ctx, rows[i].cause, plain(mem, ctx->roots[0].path, path), mem, d))
			return true;
	/* A word of the line may be a path below the workspace; of those, only what is hidden says something. */
	for (struct str rest = line, path; ctx->hide_paths && ctx->hide_paths->n > 0 && next_path(&rest, true, &path);)
		if (is_hidden(ctx, plain(mem, ctx->roots[0].path, path)))
			return judge_path(ctx, rows[i].cause, plain(mem, ctx->roots[0].path, path), mem, d);
	return false;
}

static bool judge_text(const struct tool_ctx *ctx, struct str text, struct arena *mem, struct denial *d)
{
	text = str_trim(str_tail(text, TAIL_BYTES));
	for (size_t from_end = 0; text.n > 0 && from_end < LINES; from_end++) {
		size_t nl = str_rfind(text, '\n');
		struct str line = nl < text.n ? str_skip(text, nl + 1) : text;

		if (judge_line(ctx, line, from_end, mem, d))
			return true;
		text = str_trim(str_head(text, text.n - line.n));
	}
	return false;
}

void denial_explain(const struct tool_ctx *ctx, const struct job_result *job, struct arena *mem, struct denial *out)
{
	bool failed = (job->why == JOB_EXITED && job->code != 0) || job->why == JOB_UNRUNNABLE;

	*out = (struct denial){ 0 };
	if (ctx->unconfined || !failed || ctx->nroots == 0)
		return;
	if (!judge_text(ctx, job->errs, mem, out) && job->why == JOB_UNRUNNABLE)
		(void)!judge_text(ctx, job->note, mem, out);
}
