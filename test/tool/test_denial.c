/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/denial.h"

#include "test/lib/test.h"

#include <string.h>

static const struct tool_root roots[] = {
	{ -1, { "/w/p", 4 }, true }, { -1, { "/home/me/docs", 13 }, false }, { -1, { "/home/me/out", 12 }, true } };

static struct denial explain(struct denial_jail *jail, const char *errs, enum job_end why, int code, struct arena *mem)
{
	struct str hidden[] = { STR("/w/p/secret") };
	const struct str_list hide = { hidden, COUNT(hidden) };
	const struct job_result job = { .why = why, .code = code, .errs = str_from(errs), .note = str_from(errs) };
	struct denial d;

	jail->roots = roots;
	jail->nroots = COUNT(roots);
	jail->hide_paths = hide;
	if (jail->cwd.n == 0)
		jail->cwd = roots[0].path;
	denial_explain(jail, &job, mem, &d);
	return d;
}

#define NOTHING "-"   /* no note */
#define NO_KEY  "none" /* a note, and nothing allows it */

/* What a row needs: without it the same words say nothing. */
enum jail_kind { ANY, NO_NAMESPACES, MEMORY_EACH, LOOKS };

static struct denial_jail jail_of(enum jail_kind kind)
{
	return (struct denial_jail){ .no_namespaces = kind == NO_NAMESPACES, .memory_each = kind == MEMORY_EACH, .looks = kind == LOOKS };
}

TEST(denial_names_the_key_when_it_was_the_jail_and_says_nothing_when_it_was_not)
{
	static const struct {
		const char *errs, *key;
		enum jail_kind in;
	} table[] = {
		/* files */
		{ "touch: cannot touch '../outside': Permission denied\n", "sandbox.extra_write_paths" },
		{ "touch: cannot touch '/etc/x': Read-only file system\n", NO_KEY },
		{ "mkdir: cannot create directory '/usr/local/lib/x': Permission denied", NO_KEY },
		{ "cat: /home/me/.ssh/id_rsa: No such file or directory\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "sh: 1: cannot create /home/me/docs/a: Read-only file system", "sandbox.extra_write_paths" },
		{ "PermissionError: [Errno 13] Permission denied: '/srv/data/x y.db'", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "OSError: [Errno 30] Read-only file system: '/srv/data'", "sandbox.extra_write_paths" },
		{ "Error: EACCES: permission denied, open '/root/.npmrc'\n    at x\n    at y\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "fatal: Unable to create '/w/p/.git/index.lock': Read-only file system\n", "sandbox.protect_git" },
		{ "sh: 1: cannot create .git/config: Read-only file system\n", "sandbox.protect_git" },
		{ "cat: /w/p/secret/key: Permission denied\n", "sandbox.hide_paths" },
		{ "bash: /opt/sdk/bin/tool: No such file or directory", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "a\nb\ncp: cannot create regular file '/w/q/f': Permission denied\nmake: *** [Makefile:3: x] Error 1\n",
			"sandbox.extra_write_paths" },
		/* network */
		{ "curl: (6) Could not resolve host: example.com\n", "sandbox.tool_network" },
		{ "socket.gaierror: [Errno -3] Temporary failure in name resolution\n", "sandbox.tool_network" },
		{ "npm ERR! network request failed, reason: getaddrinfo EAI_AGAIN packages.example.org\n", "sandbox.tool_network" },
		{ "OSError: [Errno 101] Network is unreachable", "sandbox.tool_network" },
		{ "go: dial tcp: lookup modules.example.org on [::1]:53: read: connection refused\n", "sandbox.tool_network" },
		{ "psql: error: connection to server at \"127.0.0.1\", port 5432 failed: Connection refused\n", "sandbox.tool_network" },
		/* system calls */
		{ "mount: /mnt: must be superuser to use mount.\n", NO_KEY },
		{ "unshare: unshare failed: Operation not permitted\n", NO_KEY },
		{ "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted\n", NO_KEY },
		{ "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n", NO_KEY },
		{ "OSError: [Errno 97] Address family not supported by protocol\n", NO_KEY },
		{ "chroot: cannot change root directory to '.': Operation not permitted\n", NO_KEY },
		/* what real programs print in a jail */
		{ "curl: (7) Failed to connect to 127.0.0.1 port 8000 after 0 ms: Couldn't connect to server\n", "sandbox.tool_network" },
		{ ";; communications error to 127.0.0.53#53: x\n;; no servers could be reached\n", "sandbox.tool_network" },
		{ "[ERROR] Unknown host\njava.net.UnknownHostException: repo.example.org\n", "sandbox.tool_network" },
		{ "TypeError: fetch failed\n cause: Error: getaddrinfo ENOTFOUND example.com\n    at x\n", "sandbox.tool_network" },
		{ "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n", NO_KEY },
		{ "System has not been booted with systemd as init system (PID 1). Can't operate.\nFailed to connect to bus: Host is down\n", NO_KEY },
		{ "E: List directory /var/lib/apt/lists/partial is missing. - Acquire (2: No such file or directory)\n"
		  "W: Unable to read /etc/apt/sources.list - RealFileExists (2: No such file or directory)\n", NO_KEY },
		{ "dpkg: error: requested operation requires superuser privilege\n", NO_KEY },
		{ "hostname: you must be root to change the host name\n", NO_KEY },
		{ "dmesg: read kernel buffer failed: Operation not permitted\n", NO_KEY },
		{ "date: cannot set date: Operation not permitted\n", NO_KEY },
		{ "perf_event_open(..., 0) failed unexpectedly with error 1 (Operation not permitted)\nError:\nNo permission to enable cycles:u event.\n",
			NO_KEY },
		{ "RTNETLINK answers: Operation not permitted\n", NO_KEY },
		{ "ping: socket: Operation not permitted\nping: => missing cap_net_raw+p capability or setuid?\n", NO_KEY },
		{ "bwrap: No permissions to create new namespace, likely because the kernel does not allow it\n", NO_KEY },
		{ "chmod: changing permissions of 'a': Operation not permitted\n", NO_KEY },
		{ "tar: bin/su: Cannot change mode to rwsr-xr-x: Operation not permitted\ntar: Exiting with failure status due to previous errors\n", NO_KEY },
		{ "chown: changing ownership of 'a.txt': Invalid argument\n", NO_KEY },
		{ "sh: 1: kill: Operation not permitted\n", NO_KEY },
		{ "sh: 1: ulimit: error setting limit (Operation not permitted)\n", NO_KEY },
		{ "script: failed to create pseudo-terminal: No such file or directory\n", NO_KEY },
		{ "dd: failed to open '/dev/sda': Read-only file system\n", NO_KEY },
		{ "sh: 1: cannot create /proc/sys/vm/drop_caches: Read-only file system\n", NO_KEY },
		{ "err=\"couldn't get: Get \\\"http://localhost:8080/api\\\": dial tcp [::1]:8080: socket: permission denied\"\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "socket: Permission denied\nssh: connect to host 10.0.0.1 port 22: failure\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "    _socket.socket.__init__(self, family, type, proto, fileno)\nPermissionError: [Errno 13] Permission denied\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: x\n", NO_KEY },
		{ "    sl = self._semlock = _multiprocessing.SemLock(\n    ^^^^\nPermissionError: [Errno 13] Permission denied\n", "sandbox.profile" },
		{ "sh: 1: cannot create /proc/sys/vm/drop_caches: Permission denied\n", NO_KEY },
		{ "==8==LeakSanitizer has encountered a fatal error.\n==8==HINT: For debugging, try setting LSAN_OPTIONS=verbosity=1\n"
		  "==8==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)\n", NO_KEY },
		{ "warning: Could not trace the inferior process.\nDuring startup program exited with code 127.\n", NO_KEY },
		{ "[2:2:1130/1.7:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian\n", NO_KEY },
		{ "[9:9:1130/1.9:FATAL:chrome/browser/process_singleton_posix.cc:297] Check failed: . socket() failed: Permission denied (13)\n"
		  "[1130/1.0:ERROR:crashpad/util/linux/scoped_ptrace_attach.cc:27] ptrace: x\nAborted\n", "sandbox.profile" },
		{ "\nfatal: unable to auto-detect email address (got 'user@cell.(none)')\n", NO_KEY },
		{ "create window failed: fork failed: No such file or directory\n", NO_KEY },
		{ "setarch: failed to set personality to (null): Operation not permitted\n", NO_KEY },
		{ "lscpu: failed to determine number of CPUs: /sys/devices/system/cpu/possible: No such file or directory\n", NO_KEY },
		{ "lscpu: failed to determine number of CPUs: /sys/devices/system/cpu/possible: Permission denied\n", NO_KEY },
		{ "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
		  "dial unix /var/run/docker.sock: socket: permission denied\n", NO_KEY },
		{ "dial unix /var/run/docker.sock: connect: no such file or directory\n", NO_KEY },
		/* git, where it names no path or no reason */
		{ "error: unable to create temporary file: Read-only file system\nfatal: unable to write note object\n", "sandbox.protect_git" },
		{ "error: unable to move logfile logs/refs/heads/a to logs/refs/.tmp-renamed-log: Read-only file system\nfatal: Branch rename failed\n",
			"sandbox.protect_git" },
		{ "error: could not lock config file .git/config\nerror: Could not remove config section 'remote.near'\n", "sandbox.protect_git" },
		{ "mv: cannot move '.git' to 'x': Device or resource busy\n", "sandbox.protect_git" },
		{ "rmdir: failed to remove '.git': Device or resource busy\n", "sandbox.protect_git" },
		{ "OSError: [Errno 16] Device or resource busy: '.git' -> 'x'\n", "sandbox.protect_git" },
		{ "rm: cannot remove 'secret': Device or resource busy\n", "sandbox.hide_paths" },
		{ "chmod: changing permissions of '.git': Read-only file system\n", "sandbox.protect_git" },
		/* what a runtime prints after its error does not push it away */
		{ "node:fs:573\nError: ENOENT: no such file or directory, open '/home/me/x'\n    at a\n    at b {\n  errno: -2,\n  code: 'ENOENT',\n"
		  "  path: '/home/me/x'\n}\n\nNode.js v20.20.2\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "Error: EBUSY: resource busy or locked, rename '.git' -> 'x'\n    at a {\n  errno: -16,\n  path: '.git',\n  dest: 'x'\n}\n\nNode.js v20\n",
			"sandbox.protect_git" },
		{ "Exception in thread \"main\" java.net.ConnectException: Connection refused\n\tat a\n\tat b\n\tat c\n\tat d\n", "sandbox.tool_network" },
		{ "panic: dial tcp 127.0.0.1:9: connect: connection refused\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/p/m.go:3 +0x3f\nexit status 2\n",
			"sandbox.tool_network" },
		{ "TypeError: fetch failed\n    at a {\n  [cause]: Error: connect ECONNREFUSED 127.0.0.1:3000\n      at b {\n    errno: -111,\n"
		  "    code: 'ECONNREFUSED',\n    address: '127.0.0.1',\n    port: 3000\n  }\n}\n", "sandbox.tool_network" },
		{ "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 9)\n", "sandbox.tool_network" },
		/* without namespaces */
		{ "urllib.error.URLError: <urlopen error [Errno 13] Permission denied>\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "Connecting to 127.0.0.1:9999... failed: Permission denied.\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "Error: listen EACCES: permission denied 127.0.0.1:8080\n    at a {\n  port: 8080\n}\n\nNode.js v20\n",
			"sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "ls: cannot open directory '/': Permission denied\n", "sandbox.profile", NO_NAMESPACES },
		{ "dd: failed to open '/dev/shm/big': Permission denied\n", "sandbox.profile", NO_NAMESPACES },
		{ "bash: line 1: /dev/tcp/127.0.0.1/9: Permission denied\n", "sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "Exception in thread \"main\" java.net.SocketException: Permission denied\n\tat a\n\tat b\n\tat c\n",
			"sandbox.tool_network (or profile)", NO_NAMESPACES },
		{ "ls: cannot open directory '/boot': Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "cp: cannot create regular file '/home/me/docs/b': Permission denied\n", "sandbox.extra_write_paths" },
		{ "rm: cannot remove '/etc/passwd': Permission denied\n", NO_KEY },
		/* a limit of each process */
		{ "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nMemoryError\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "FATAL ERROR: invalid array length Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n"
		  " 1: 0xb78db3 node::OOM [node]\n 2: 0xee8300 v8 [node]\n10: 0x12a1d60  [node]\n11: 0x1  [node]\n12: 0x2  [node]\n13: 0x3  [node]\n",
			"sandbox.memory_limit_mb", MEMORY_EACH },
		{ "RangeError: Array buffer allocation failed\n    at a\n    at b\n    at c\n\nNode.js v20\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "malloc: Cannot allocate memory\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "bash: xrealloc: cannot allocate 314187776 bytes\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "Out of memory!\npanic: fold_constants\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "memory allocation of 10000000 bytes failed\n", "sandbox.memory_limit_mb", MEMORY_EACH },
		{ "warning: INFO: os::commit_memory(0x7, 65536, 0) failed; error='Not enough space' (errno=12)\n", "sandbox.memory_limit_mb",
			MEMORY_EACH },
		{ "==8==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 bytes at address 2008fff7000 (errno: 12)\n==8==Reserve\nAborted\n",
			"sandbox.memory_limit_mb", MEMORY_EACH },
		/* where nothing is to be changed */
		{ "touch: cannot touch 'new': Read-only file system\n", NO_KEY, LOOKS },
		{ "OSError: [Errno 30] Read-only file system: 'new'\n", NO_KEY, LOOKS },
		/* room, processes, another architecture, root */
		{ "dd: error writing '/tmp/big': No space left on device\n1296+0 records in\n1295+0 records out\n1358938112 bytes copied\n", NO_KEY },
		{ "bash: fork: retry: Resource temporarily unavailable\n", NO_KEY },
		{ "sh: 1: Cannot fork\n", NO_KEY },
		{ "Bad system call\n", NO_KEY },
		{ "error: This script must be run as root\n", NO_KEY },
		{ "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set\n", NO_KEY },
		{ "su: Critical error - immediate abort\n", NO_KEY },
		/* who speaks is not what it speaks of */
		{ "/usr/bin/ld: cannot open output file /opt/x: Permission denied\ncollect2: error: ld returned 1 exit status\n",
			"sandbox.extra_write_paths" },
		{ "/usr/bin/ld: cannot open output file /usr/local/bin/x: Read-only file system\ncollect2: error: ld returned 1 exit status\n", NO_KEY },
		{ "/opt/sdk/tool: Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "cat: /etc/fstab: Permission denied\n", "sandbox.extra_read_paths" },
		{ "cat: /etc/fstab: No such file or directory\n", "sandbox.extra_read_paths" },
		{ "sh: 1: cd: can't cd to /home/me\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "Error: unable to open database \"/opt/x.db\": unable to open database file\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		/* as it is printed where there is more than ASCII, relative, beside the workspace */
		{ "mkdir: cannot create directory \xe2\x80\x98/opt/x y\xe2\x80\x99: Read-only file system\n", "sandbox.extra_write_paths" },
		{ "cat: secret/key: No such file or directory\n", "sandbox.hide_paths" },
		{ "sh: 1: cannot create secret/new: Read-only file system\n", "sandbox.hide_paths" },
		{ "sh: 1: cannot create ../q/new: Directory nonexistent\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "cat: /w/q/file: No such file or directory\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		/* ordinary failures */
		{ "/usr/bin/ld: cannot open output file /w/p/locked/x: Permission denied\ncollect2: error: ld returned 1 exit status\n", NOTHING },
		{ "/usr/bin/ld: cannot open output file /tmp/x: Permission denied\ncollect2: error: ld returned 1 exit status\n", NOTHING },
		{ "FAILED test_detector: LeakSanitizer found 1 leak\n", NOTHING },
		{ "sh: 1: cannot create /tmp/mine: Permission denied\n", NOTHING },
		{ "test: saw EACCES for /home/me/x as it should\nFAILED other\n", NOTHING },
		{ "cat: secrets/key: No such file or directory\n", NOTHING },
		{ "", NOTHING },
		{ "test_denied: expected \"Permission denied\"\n1 failed, 3 passed\n", NOTHING },
		{ "open /w/p/fixtures/locked: Permission denied (expected)\nFAIL other_test\n", NOTHING },
		{ "open fixtures/locked: Permission denied\nassertion failed\n", NOTHING },
		{ "cat: /w/p/missing: No such file or directory\n", NOTHING },
		{ "cat: /nonexistent: No such file or directory\n", NOTHING },
		{ "cat: missing: No such file or directory\n", NOTHING },
		{ "/usr/bin/ld: cannot find -lfoo: No such file or directory\n", NOTHING },
		{ "a.c:1:10: fatal error: foo.h: No such file or directory\n    1 | #include \"foo.h\"\n", NOTHING },
		{ "gcc: error: /usr/lib/x.o: No such file or directory\n", NOTHING },
		{ "cat: /tmp/x: No such file or directory\n", NOTHING },
		{ "sh: 1: ./script.sh: Permission denied\n", NOTHING },
		{ "cp: cannot open '/home/me/docs/locked': Permission denied\n", NOTHING },
		{ "cp: cannot open '/home/me/out/locked': Permission denied\n", NOTHING },
		{ "ok: connection refused as expected\nTest A failed\nTest B failed\nTest C failed\n", NOTHING },
		{ "saw: cat: /home/me/x: No such file or directory\na\nb\nc\n", NOTHING },
		{ "Traceback:\n  File \"/usr/lib/python3/x.py\", line 1\nAssertionError: 1 != 2\n", NOTHING },
		{ "git@x: Permission denied (publickey).\n", NOTHING },
		{ "cat: /dev/shm/mine: No such file or directory\n", NOTHING },
		{ "cat: /proc/99999/status: No such file or directory\n", NOTHING },
		{ "Pseudo-terminal will not be allocated because stdin is not a terminal.\nexit 3\n", NOTHING },
		{ "Error: unable to open database \"build/x.db\": unable to open database file\n", NOTHING },
		{ "kill: (4711) - No such process\n", NOTHING },
		{ "cat: fixtures/socket: Permission denied\n", NOTHING },
		{ "GET http://srv/data: 403 Permission denied\n", NOTHING },
		{ "cat: /proc/1/environ: Permission denied\n", NOTHING },
		{ "dial unix /w/p/x.sock: connect: connection refused\n", NOTHING },
		{ "Error: connect ECONNREFUSED /tmp/x.sock\n    at a {\n  address: '/tmp/x.sock'\n}\n\nNode.js v20\n", NOTHING },
		{ "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n", NOTHING },
		{ "FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory\n", NOTHING },
		{ "OSError: [Errno 30] Read-only file system: '/w/p/description'\n", NOTHING },
		{ "umount: /w/p/mnt: target is busy.\nrm: cannot remove 'mnt': Device or resource busy\n", NOTHING },
		{ "cat: write error: No space left on device\n", NOTHING },
		{ "cp: error writing '/w/p/big': No space left on device\n", NOTHING },
		{ "ln: failed to create hard link 'p' => '/etc/passwd': Operation not permitted\n", NOTHING },
		{ "cat: /var/lib/thing: Permission denied (expected)\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n", NOTHING },
		{ "pthread_create: Resource temporarily unavailable\n", NOTHING },
		{ "error: could not lock config file .git/config\na\nb\nc\n", NOTHING },
		{ "please do not run as root\n", NOTHING },
		{ "wget: Cannot read /etc/wgetrc (Permission denied).\n", NOTHING },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(table); i++) {
		struct denial_jail jail = jail_of(table[i].in);
		struct denial d = explain(&jail, table[i].errs, JOB_EXITED, 1, mem);
		const char *got = d.note.n == 0 ? NOTHING : d.key ? d.key : NO_KEY;

		if (strcmp(got, table[i].key) != 0)
			print_error("%s said of: %s\n", got, table[i].errs);
		CHECK(strcmp(got, table[i].key) == 0);
		CHECK(d.note.n < 320 && utf8_valid(d.note));
		/* The same words from a command that succeeded, was stopped or had no jail say nothing. */
		CHECK_INT(explain(&jail, table[i].errs, JOB_EXITED, 0, mem).note.n, 0);
		CHECK_INT(explain(&jail, table[i].errs, JOB_STOPPED, 137, mem).note.n, 0);
		CHECK_INT(explain(&jail, table[i].errs, JOB_TIMEOUT, 124, mem).note.n, 0);
		jail.unconfined = true;
		CHECK_INT(explain(&jail, table[i].errs, JOB_EXITED, 1, mem).note.n, 0);
		jail = jail_of(ANY);
		CHECK(table[i].in == ANY || explain(&jail, table[i].errs, JOB_EXITED, 1, mem).note.n == 0);
		jail = (struct denial_jail){ .online = true };
		if (strcmp(table[i].key, "sandbox.tool_network") == 0)
			CHECK_INT(explain(&jail, table[i].errs, JOB_EXITED, 1, mem).note.n, 0);
	}
}

TEST(denial_tells_what_is_not_there_from_what_has_not_begun_to_listen)
{
	static const struct {
		const char *errs;
		enum denial_rule rule, plain; /* plain: without namespaces */
	} cases[] = {
		{ "curl: (7) Failed to connect to localhost port 8000 after 2 ms: Couldn't connect to server\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "curl: (7) Failed to connect to ::1 port 80 after 0 ms: Couldn't connect to server\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "curl: (7) Failed to connect to 10.0.0.5 port 80 after 0 ms: Couldn't connect to server\n", DENIAL_NET, DENIAL_NO_SOCKET },
		{ "curl: (7) Failed to connect to db port 80 after 0 ms: Couldn't connect to server\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "OSError: [Errno 101] Connect call failed ('10.0.0.5', 9)\n", DENIAL_NET, DENIAL_NO_SOCKET },
		{ "dial tcp [::1]:8080: connect: connection refused\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "Error: connect ECONNREFUSED 127.0.0.1:3000\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "ConnectionRefusedError: [Errno 111] Connection refused\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "bash: line 1: /dev/tcp/127.0.0.1/9: Connection refused\n", DENIAL_LOOP, DENIAL_NO_SOCKET },
		{ "connection to server on socket \"/var/run/p/.s.PGSQL.5432\" failed: Connection refused\n", DENIAL_NONE, DENIAL_NONE },
		{ "dial unix /var/run/x.sock: socket: permission denied\n", DENIAL_NONE, DENIAL_NO_SOCKET },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct denial_jail jail = jail_of(ANY);

		CHECK_INT(explain(&jail, cases[i].errs, JOB_EXITED, 1, mem).rule, cases[i].rule);
		jail = jail_of(NO_NAMESPACES);
		CHECK_INT(explain(&jail, cases[i].errs, JOB_EXITED, 1, mem).rule, cases[i].plain);
		jail.online = true; /* then it has sockets, and still none with a path */
		CHECK_INT(explain(&jail, cases[i].errs, JOB_EXITED, 1, mem).rule,
			strstr(cases[i].errs, "socket: permission") ? DENIAL_SOCKET : DENIAL_NONE);
	}
}

TEST(denial_knows_what_is_run_from_the_words_of_a_command)
{
	static const struct {
		const char *words[8], *want;
	} cases[] = {
		{ { "git", "stash" }, "git stash" },
		{ { "grep", "-r", "a; git stash", "." }, "grep -r a; git stash ." },
		{ { "/bin/bash", "-lc", "cd sub && A=1 git stash|cat" }, "cd sub \n\n A=1 git stash\ncat" },
		{ { "sh", "-e", "-c", "x" }, "x" },
		{ { "sh", "script", "-c", "x" }, "sh script -c x" },
		{ { "python3", "-c", "a\nb" }, "python3 -c a b" },
		{ { "sh" }, "sh" },
		{ { NULL }, "" },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct str words[8];
		struct str_list argv = { words, 0 };

		for (; cases[i].words[argv.n]; argv.n++)
			words[argv.n] = str_from(cases[i].words[argv.n]);
		CHECK_STR(denial_commands(&argv, mem), str_from(cases[i].want));
	}
}

TEST(denial_is_told_by_the_words_of_a_command_where_nothing_was_written)
{
	static const struct {
		const char *commands, *errs;
		int code;
		enum denial_rule rule;
	} cases[] = {
		{ "git stash", "", 1, DENIAL_GIT },
		{ "git -C . stash push -m x", " \n", 1, DENIAL_GIT },
		{ "cd sub\n A=1 /usr/bin/git stash -q", "", 1, DENIAL_GIT },
		{ "git stash", "", 2, DENIAL_NONE },
		{ "git stash", "something\n", 1, DENIAL_NONE },
		{ "git stash list\n grep x", "", 1, DENIAL_NONE },
		{ "git stash show", "", 1, DENIAL_NONE },
		{ "git diff --quiet", "", 1, DENIAL_NONE },
		{ "grep -r git stash .", "", 1, DENIAL_NONE },
		{ "grep -q x a.txt", "", 1, DENIAL_NONE },
		{ "curl -s https://example.com", "", 6, DENIAL_NET },
		{ "curl -s http://localhost:8000/health", "", 7, DENIAL_LOOP },
		{ "curl -s http://10.0.0.5/health", "", 7, DENIAL_NET },
		{ "curl -sf http://localhost:8000/health", "", 22, DENIAL_NONE },
		{ "wget -q http://127.0.0.1/x", "", 4, DENIAL_LOOP },
		{ "tool curl", "", 6, DENIAL_NONE },
		/* a name without a place */
		{ "python3 -c shutil.rmtree('.git')", "OSError: [Errno 30] Read-only file system: 'description'\n", 1, DENIAL_GIT },
		{ "git gc", "error: cannot make x: Read-only file system\n", 1, DENIAL_GIT },
		{ "git gc", "error: cannot make /w/p/x: Read-only file system\n", 1, DENIAL_NONE },
		{ "cat .gitignore", "OSError: [Errno 30] Read-only file system: 'description'\n", 1, DENIAL_NONE },
		{ "git diff\n cp a ro", "cp: cannot create regular file 'ro/x': Permission denied\n", 1, DENIAL_NONE },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct denial_jail jail = { .commands = str_from(cases[i].commands) };
		struct denial d = explain(&jail, cases[i].errs, JOB_EXITED, cases[i].code, mem);

		if (d.rule != cases[i].rule)
			print_error("%s\n", cases[i].commands);
		CHECK_INT(d.rule, cases[i].rule);
		CHECK(d.rule != DENIAL_GIT || str_eqz(d.path, "/w/p/.git"));
		jail.git_open = true;
		CHECK(cases[i].rule != DENIAL_GIT || explain(&jail, cases[i].errs, JOB_EXITED, cases[i].code, mem).rule == DENIAL_NONE);
	}
}

TEST(denial_blames_no_limit_that_a_command_set_itself)
{
	auto_arena struct arena *mem = arena_new();
	struct denial_jail jail = { .memory_each = true, .commands = STR("ulimit -v 100000\n python3 x.py") };

	CHECK_INT(explain(&jail, "MemoryError\n", JOB_EXITED, 1, mem).rule, DENIAL_NONE);
	jail.commands = STR("make ulimit");
	CHECK_INT(explain(&jail, "MemoryError\n", JOB_EXITED, 1, mem).rule, DENIAL_MEMORY);
}

TEST(denial_explains_a_program_that_gave_up_by_a_signal_and_none_that_was_killed)
{
	static const char what[] = "terminate called after throwing an instance of 'std::filesystem::filesystem_error'\n"
				   "  what():  filesystem error: cannot create directory: No such file or directory [/opt/x/y]\n";
	static const struct {
		enum job_end why;
		int code;
		const char *errs;
		enum denial_rule rule;
	} cases[] = {
		{ JOB_SIGNALED, 134, what, DENIAL_SEE }, { JOB_SIGNALED, 139, what, DENIAL_NONE }, { JOB_SIGNALED, 137, what, DENIAL_NONE },
		{ JOB_SIGNALED, 143, what, DENIAL_NONE }, { JOB_SIGNALED, 159, "", DENIAL_ARCH }, { JOB_EXITED, 159, "", DENIAL_NONE },
		{ JOB_SIGNALED, 134, "", DENIAL_NONE }, { JOB_STOPPED, 134, what, DENIAL_NONE },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct denial_jail jail = { 0 };

		CHECK_INT(explain(&jail, cases[i].errs, cases[i].why, cases[i].code, mem).rule, cases[i].rule);
	}
}

TEST(denial_explains_a_program_that_lies_outside)
{
	auto_arena struct arena *mem = arena_new();
	struct denial_jail jail = { 0 };

	CHECK(explain(&jail, "/opt/x/tool: No such file or directory", JOB_UNRUNNABLE, 127, mem).key != NULL);
	CHECK_INT(explain(&jail, "no-such-tool: No such file or directory", JOB_UNRUNNABLE, 127, mem).note.n, 0);
}

TEST(denial_takes_a_relative_path_from_where_the_command_ran)
{
	static const struct {
		const char *cwd, *errs, *key;
	} table[] = {
		{ "/w/p", "cat: ../x: Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "/w/p/sub", "cat: ../x: Permission denied\n", NOTHING },
		{ "/w/p/sub", "cat: ../../x: Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)" },
		{ "/w/p/sub", "cat: ../secret/key: No such file or directory\n", "sandbox.hide_paths" },
		{ "/w/p/sub", "cat: secret/key: No such file or directory\n", NOTHING },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(table); i++) {
		struct denial_jail jail = { .cwd = str_from(table[i].cwd) };
		struct denial d = explain(&jail, table[i].errs, JOB_EXITED, 1, mem);

		CHECK(strcmp(d.note.n == 0 ? NOTHING : d.key ? d.key : NO_KEY, table[i].key) == 0);
	}
}

TEST(denial_says_something_of_every_rule_and_a_path_only_where_it_is_about_one)
{
	auto_arena struct arena *mem = arena_new();

	for (enum denial_rule rule = DENIAL_NONE; rule < DENIAL_RULES; rule++) {
		struct denial d = { .rule = rule, .path = denial_has_path(rule) ? STR("/opt/x") : STR(""), .cut = denial_has_path(rule) };

		denial_say(&d, mem);
		CHECK((d.note.n > 0) == (rule != DENIAL_NONE));
		CHECK(str_starts(d.note, STR("/opt/x... is ")) || str_starts(d.note, STR("/opt/x... may ")) || !d.cut);
		CHECK(d.note.n < 220 && (!d.key || strstr(str_dupz(mem, d.note), d.key)));
	}
}

TEST(denial_looks_at_standard_output_where_nothing_else_was_written_and_there_at_its_end_alone)
{
	static const char denied[] = "cat: /opt/x: Permission denied\n";
	static const struct {
		const char *why, *out, *errs;
		bool says;
	} cases[] = {
		{ "all that was written", denied, "", true },
		{ "the end of a build", "cc a.c\ncat: /opt/x: Permission denied\nmake: *** [x] Error 1\n", "", true },
		{ "a build tool's last words end what it said", "[ERROR] x: cat: /opt/x: Permission denied -> [Help 1]\n[ERROR] \n"
		  "[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n[ERROR] Re-run Maven using the -X switch\n"
		  "[ERROR] \n[ERROR] For more information\n[ERROR] [Help 1] http://x\n", "\x1b[0m\x1b[0m", true },
		{ "blank error output is none", denied, " \n\n", true },
		{ "error output that says something else", denied, "make: *** [x] Error 1\n", false },
		{ "before the end", "cat: /opt/x: Permission denied\na\nb\nc\n", "", false },
		{ "nothing of the jail's", "cat: missing: No such file or directory\n", "", false },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct denial_jail jail = { .roots = roots, .nroots = COUNT(roots), .cwd = roots[0].path };
		const struct job_result job = { .why = JOB_EXITED, .code = 1, .out = str_from(cases[i].out), .errs = str_from(cases[i].errs) };
		struct denial d;

		denial_explain(&jail, &job, mem, &d);
		CHECK_INT(d.rule != DENIAL_NONE, cases[i].says);
	}
}

TEST(denial_knows_where_commands_have_no_tmp_and_of_grants_in_each_other_takes_the_innermost)
{
	static const struct {
		const char *errs, *key;
		bool no_namespaces;
	} cases[] = {
		{ "sh: 1: cannot create /tmp/x: Permission denied\n", "sandbox.profile", true },
		{ "/usr/bin/ld: cannot open output file /tmp/x: Permission denied\n", "sandbox.profile", true },
		{ "sh: 1: cannot create /tmp/agent6-Ab12Cd/x: Permission denied\n", NOTHING, true },
		{ "cat: /tmp/x: No such file or directory\n", NOTHING, true },
		{ "Exception in thread \"main\" java.nio.file.AccessDeniedException: /tmp/a1b\n\tat x\n", "sandbox.profile", true },
		{ "sh: 1: cannot create /tmp/x: Permission denied\n", NOTHING, false },
		{ "sh: 1: cannot create /g/in/x: Permission denied\n", NOTHING, false },
		{ "sh: 1: cannot create /g/x: Read-only file system\n", "sandbox.extra_write_paths", false },
		{ "sh: 1: cannot create /g/twice/x: Permission denied\n", NOTHING, false },
	};
	static const struct tool_root nested[] = { { -1, { "/w/p", 4 }, true }, { -1, { "/g", 2 }, false }, { -1, { "/g/twice", 8 }, false },
		{ -1, { "/g/in", 5 }, true }, { -1, { "/g/twice", 8 }, true } };
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct denial_jail jail = { .roots = nested, .nroots = COUNT(nested), .cwd = nested[0].path, .no_namespaces = cases[i].no_namespaces };
		const struct job_result job = { .why = JOB_EXITED, .code = 2, .errs = str_from(cases[i].errs) };
		struct denial d;

		denial_explain(&jail, &job, mem, &d);
		CHECK_STR(str_from(d.note.n == 0 ? NOTHING : d.key ? d.key : NO_KEY), str_from(cases[i].key));
	}
}

TEST(denial_blames_no_rule_for_a_git_directory_that_nothing_protects)
{
	static const struct {
		const char *errs, *open, *kept; /* the key, where it is open and where it is not */
	} cases[] = {
		{ "fatal: Unable to create '/w/p/.git/index.lock': Permission denied\n", NOTHING, "sandbox.protect_git" },
		{ "error: could not lock config file .git/config: Permission denied\n", NOTHING, "sandbox.protect_git" },
		{ "fatal: Unable to create '/home/me/docs/.git/index.lock': Read-only file system\n", "sandbox.extra_write_paths",
			"sandbox.extra_write_paths" },
		{ "cat: /w/p/.git/no-such: No such file or directory\n", NOTHING, NOTHING },
		{ "fatal: could not read '/opt/r/.git/HEAD': Permission denied\n", "sandbox.extra_read_paths (or extra_write_paths)",
			"sandbox.extra_read_paths (or extra_write_paths)" },
	};
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(cases); i++)
		for (int open = 0; open < 2; open++) {
			struct denial_jail jail = { .git_open = open };
			struct denial d = explain(&jail, cases[i].errs, JOB_EXITED, 128, mem);

			CHECK_STR(str_from(d.note.n == 0 ? NOTHING : d.key ? d.key : NO_KEY), str_from(open ? cases[i].open : cases[i].kept));
		}
}
