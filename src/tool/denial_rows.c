/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What is said of each rule, and the words by which programs show that it was one. */
#include "tool/denial_priv.h"

#include "sandbox/root.h"

/* ---- what is said ---- */

static const struct {
	const char *text, *key; /* no key: nothing allows it */
	bool path;              /* the text follows a path */
} rules[DENIAL_RULES] = {
	[DENIAL_NET] = { "commands reach no network outside of the jail", "sandbox.tool_network", false },
	[DENIAL_LOOP] = { "no command of this run listens there, and servers outside of the jail are not reached", "sandbox.tool_network",
		false },
	[DENIAL_NO_SOCKET] = { "without namespaces commands can make no such socket, and with \"strict\" they have unix sockets and a network "
			       "of their own", "sandbox.tool_network (or profile)", false },
	[DENIAL_MEMORY] = { "the memory of each process of a command is limited", "sandbox.memory_limit_mb", false },
	[DENIAL_PROCESSES] = { "commands have at most 4096 processes and threads together, and nothing gives them more", NULL, false },
	[DENIAL_ARCH] = { "the jail ends a program that calls the kernel in the way of another architecture (32 bit), and nothing allows it",
		NULL, false },
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
	[DENIAL_LOOKS] = { "is not to be changed: commands of plan, ask and review write their own /tmp alone, and nothing allows more", NULL,
		true },
	[DENIAL_SPACE] = { "is in /tmp or /dev/shm of the commands, which hold " ROOT_TMP_MIB " MiB together, and nothing gives them more", NULL,
		true },
	[DENIAL_TOP] = { "is not listed for commands without namespaces, and with \"strict\" it is", "sandbox.profile", true },
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
	const char *before = !rules[d->rule].path ? "" : d->cut ? "... " : " ", *text = rules[d->rule].text, *key = rules[d->rule].key;

	if (d->rule == DENIAL_NONE)
		return;
	d->key = key;
	if (d->grant > 0)
		d->note = str_printf(mem, STR_FMT " is a link to " STR_FMT ", which %s; the operator's sandbox.extra_read_paths decides, with "
			STR_FMT " in it", STR_ARG(d->link), STR_ARG(d->path), text, STR_ARG(str_head(d->path, d->grant)));
	else
		d->note = str_printf(mem, STR_FMT "%s" STR_FMT "%s%s%s%s%s%s", STR_ARG(d->link), d->link.n > 0 ? " is a link to " : "",
			STR_ARG(d->path), d->link.n > 0 ? ", which" : "", before, text, key ? "; the operator's " : "", key ? key : "",
			key ? " decides" : "");
}

/* ---- what a line says ---- */

const struct denial_row denial_rows[] = {
	{ DENIAL_NONE, { "reached heap limit" }, DENIAL_LINES }, /* Node's own, which --max-old-space-size sets */
	{ DENIAL_NONE, { "near heap limit" }, DENIAL_LINES },
	{ DENIAL_NONE, { "^wget: cannot read /etc/wgetrc" }, DENIAL_LINES }, /* it goes on without */
	{ DENIAL_NONE, { "hard link", "operation not permitted" }, DENIAL_LINES }, /* of what is somebody else's: the kernel's own rule */
	{ DENIAL_PACKAGES, { "^e: ", "/apt/" }, DENIAL_LINES },
	{ DENIAL_PACKAGES, { "^w: ", "/apt/" }, DENIAL_LINES },
	{ DENIAL_PACKAGES, { "^e: ", "/var/lib/dpkg/" }, DENIAL_LINES },
	{ DENIAL_PACKAGES, { "^dpkg: ", "/dpkg/" }, DENIAL_LINES },
	{ DENIAL_PACKAGES, { "dpkg: error", "superuser privilege" }, DENIAL_LINES },
	{ DENIAL_DAEMON, { "cannot connect to the docker daemon" }, DENIAL_LINES },
	{ DENIAL_DAEMON, { "docker daemon socket" }, DENIAL_LINES },
	{ DENIAL_DAEMON, { "docker.sock: connect: " }, DENIAL_LINES },
	{ DENIAL_NET, { "network is unreachable" }, DENIAL_LINES },
	{ DENIAL_NET, { "temporary failure in name resolution" }, DENIAL_LINES },
	{ DENIAL_NET, { "temporary failure resolving" }, DENIAL_LINES },
	{ DENIAL_NET, { "could not resolve host" }, DENIAL_LINES },
	{ DENIAL_NET, { "unable to resolve host address" }, DENIAL_LINES },
	{ DENIAL_NET, { "getaddrinfo", "eai_again" }, DENIAL_LINES },
	{ DENIAL_NET, { "getaddrinfo", "enotfound" }, DENIAL_LINES },
	{ DENIAL_NET, { "dial tcp: lookup", ":53:" }, DENIAL_LINES },
	{ DENIAL_NET, { "failed to lookup address information" }, DENIAL_LINES },
	{ DENIAL_NET, { "no servers could be reached" }, DENIAL_NEAR_END },
	{ DENIAL_NET, { "connect enetunreach" }, DENIAL_LINES },
	/* without namespaces no socket can be made */
	{ DENIAL_NO_SOCKET, { " socket: permission denied" }, DENIAL_LINES },
	{ DENIAL_NO_SOCKET, { "_socket.socket.__init__(" }, DENIAL_NEAR_END },
	{ DENIAL_NO_SOCKET, { "urlopen error [errno 13]" }, DENIAL_NEAR_END },
	{ DENIAL_NO_SOCKET, { "failed to establish a new connection: [errno 13]" }, DENIAL_LINES },
	{ DENIAL_NO_SOCKET, { "^connecting to ", "failed: permission denied" }, DENIAL_NEAR_END },
	{ DENIAL_NO_SOCKET, { "java.net.socketexception: permission denied" }, DENIAL_NEAR_END },
	{ DENIAL_NO_SOCKET, { "/dev/tcp/", "permission denied" }, DENIAL_NEAR_END },
	{ DENIAL_NO_SOCKET, { "connect eacces" }, DENIAL_LINES },
	{ DENIAL_NO_SOCKET, { "listen eacces" }, DENIAL_LINES },
	{ DENIAL_SOCKET, { "process_singleton", "socket() failed" }, DENIAL_LINES },
	{ DENIAL_NO_SOCKET, { "ssh: connect to host", ": failure" }, DENIAL_NEAR_END },
	{ DENIAL_SHARED, { "_multiprocessing.semlock(" }, DENIAL_NEAR_END },
	{ DENIAL_NET, { "unknownhostexception" }, DENIAL_NEAR_END },
	{ DENIAL_NET, { "name or service not known" }, DENIAL_NEAR_END },
	{ CAUSE_REFUSED, { "failed to connect to", "couldn't connect to server" }, DENIAL_NEAR_END },
	{ CAUSE_REFUSED, { "connect econnrefused" }, DENIAL_LINES },
	{ CAUSE_REFUSED, { "connection refused" }, DENIAL_NEAR_END },
	{ CAUSE_REFUSED, { "econnrefused" }, DENIAL_NEAR_END },
	{ CAUSE_REFUSED, { "connect call failed" }, DENIAL_NEAR_END },
	{ CAUSE_REFUSED, { "can't connect to mysql server on" }, DENIAL_NEAR_END },
	/* where each process has a limit of its own */
	{ DENIAL_MEMORY, { "^memoryerror" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "javascript heap out of memory" }, DENIAL_LINES },
	{ DENIAL_MEMORY, { "array buffer allocation failed" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "std::bad_alloc" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "cannot allocate" }, DENIAL_NEAR_END }, /* memory, or so many bytes */
	{ DENIAL_MEMORY, { "memory allocation of", "failed" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "^out of memory!" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "out of memory allocating" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { ", out of memory (" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "runtime: out of memory" }, DENIAL_LINES },
	{ DENIAL_MEMORY, { "memory exhausted" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "os::commit_memory", "not enough space" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "could not reserve enough space for" }, DENIAL_NEAR_END },
	{ DENIAL_MEMORY, { "sanitizer failed to allocate", "errno: 12" }, DENIAL_NEAR_END },
	{ DENIAL_PROCESSES, { "fork", "resource temporarily unavailable" }, DENIAL_NEAR_END },
	{ DENIAL_PROCESSES, { ": cannot fork" }, DENIAL_NEAR_END },
	{ DENIAL_ARCH, { "^bad system call" }, DENIAL_NEAR_END },
	{ DENIAL_DAEMON, { "not been booted with systemd" }, DENIAL_LINES },
	{ DENIAL_DAEMON, { "failed to connect to bus" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "cannot clone", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "^nsenter: ", "permission denied" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "mount:", "must be superuser" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "mount", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "unshare", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "namespace", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "no permissions to create new namespace" }, DENIAL_NEAR_END },
	{ DENIAL_TRACE, { "ptrace", "operation not permitted" }, DENIAL_LINES },
	{ DENIAL_TRACE, { "could not trace the inferior process" }, DENIAL_LINES },
	{ DENIAL_LEAKS, { "leaksanitizer has encountered a fatal error" }, DENIAL_LINES },
	{ DENIAL_BROWSER, { "no usable sandbox!" }, DENIAL_LINES },
	{ DENIAL_BROWSER, { "suid sandbox helper binary" }, DENIAL_LINES },
	{ DENIAL_AUTHOR, { "unable to auto-detect email address" }, DENIAL_NEAR_END },
	{ DENIAL_AUTHOR, { "empty ident name" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "perf_event_open", "operation not permitted" }, DENIAL_LINES },
	{ DENIAL_CALL, { "no permission to enable", "event" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "set personality", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "rtnetlink", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "kernel buffer", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "cannot set date", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "cap_net_raw" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "mknod", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "raw socket", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "chroot", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_CALL, { "no new privileges" }, DENIAL_LINES },
	{ DENIAL_FAMILY, { "address family not supported" }, DENIAL_NEAR_END },
	{ DENIAL_OWNER, { "changing ownership of", "invalid argument" }, DENIAL_NEAR_END },
	{ DENIAL_OWNER, { "changing ownership of", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_OWNER, { "cannot change ownership to", "invalid argument" }, DENIAL_NEAR_END },
	{ DENIAL_OWNER, { "cannot change ownership to", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_MODE, { "changing permissions of", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_MODE, { "cannot change permissions of", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_MODE, { "cannot change mode to", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_SIGNAL, { "kill:", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_LIMIT, { "ulimit:", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_LIMIT, { "ulimit:", "cannot modify limit" }, DENIAL_NEAR_END },
	{ DENIAL_LIMIT, { "resource limit", "operation not permitted" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "you must be root" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "are you root?" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "must be run as root" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "please run as root" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "^sudo: ", "must be owned by uid 0" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "^sudo: ", "effective uid is not 0" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "^su: critical error" }, DENIAL_NEAR_END },
	{ DENIAL_ROOT, { "pam_start() failed" }, DENIAL_NEAR_END },
	{ DENIAL_TERMINAL, { "failed to create pseudo-terminal" }, DENIAL_NEAR_END },
	{ DENIAL_TERMINAL, { "out of pty devices" }, DENIAL_NEAR_END },
	{ DENIAL_TERMINAL, { "create window failed", "fork failed" }, DENIAL_NEAR_END },
	{ DENIAL_TERMINAL, { "forkpty" , "failed" }, DENIAL_NEAR_END },
	{ DENIAL_TERMINAL, { "no more ptys" }, DENIAL_NEAR_END },
	{ CAUSE_GIT, { "unable to create temporary file: read-only file system" }, DENIAL_LINES },
	{ CAUSE_GIT, { "unable to move logfile", "read-only file system" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "read-only file system" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "erofs:" }, DENIAL_LINES },
	{ CAUSE_GIT, { "^error: could not lock config file .git/config" }, DENIAL_NEAR_END },
	{ CAUSE_GIT, { "^error: could not write index" }, DENIAL_NEAR_END },
	{ CAUSE_BUSY, { "device or resource busy" }, DENIAL_NEAR_END },
	{ CAUSE_BUSY, { "ebusy:" }, DENIAL_NEAR_END },
	{ CAUSE_FULL, { "no space left on device" }, DENIAL_LINES },
	{ CAUSE_FULL, { "enospc:" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "cannot create", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "cannot touch", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "cannot remove", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "cannot move", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "failed to create", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "couldn't open temporary file", "permission denied" }, DENIAL_LINES },
	{ CAUSE_WRITE, { "cannot open output file", "permission denied" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "permission denied" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "permissionerror" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "eacces:" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "accessdeniedexception" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "operation not permitted" }, DENIAL_LINES },
	{ CAUSE_OPEN, { "unable to open database" }, DENIAL_NEAR_END },
	{ CAUSE_GONE, { "no such file or directory" }, DENIAL_NEAR_END },
	{ CAUSE_PROGRAM, { "^sh: ", ": not found" }, DENIAL_NEAR_END },
	{ CAUSE_PROGRAM, { ": command not found" }, DENIAL_NEAR_END },
	{ CAUSE_GONE, { "nosuchfileexception" }, DENIAL_LINES },
	{ CAUSE_GONE, { "directory nonexistent" }, DENIAL_NEAR_END },
	{ CAUSE_GONE, { "can't cd to" }, DENIAL_NEAR_END },
	{ CAUSE_GONE, { "can't open the manpath configuration file" }, DENIAL_NEAR_END },
	{ CAUSE_GONE, { "enoent:" }, DENIAL_NEAR_END },
};
const size_t denial_nrows = COUNT(denial_rows);

/* ---- what is told by saying nothing ---- */

const struct denial_silence denial_silences[] = {
	{ "git", "stash", 1, CAUSE_GIT },
	{ "curl", NULL, 6, DENIAL_NET },
	{ "curl", NULL, 7, CAUSE_REFUSED },
	{ "wget", NULL, 4, CAUSE_REFUSED },
};
const size_t denial_nsilences = COUNT(denial_silences);

const char *const denial_trailers[] = { " ", "\t", "}", "]", "Node.js v", "goroutine ", "exit status ", "make: *** ", "make[", "-----",
	"[ERROR] To see the full stack trace", "[ERROR] Re-run Maven", "[ERROR] For more information", "[ERROR] [Help", NULL };
