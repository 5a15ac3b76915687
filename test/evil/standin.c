/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* standin: the index worker, a language server, or an MCP server, as somebody would have it who took it over. It tries what the
 * agent's stand-in tries (evil_probe.c, netprobe.c) and what such a process could reach beside, and tells what did not fail. It
 * ends without an end to what it started.
 *
 *   standin                        tells it as rows of a search, so that the model is told
 *   standin --stdio                tells it on standard error
 *   with STANDIN_REPORT=FILE       tells it in that file; STANDIN_TARGETS instead of the file net.targets, and each of STANDIN_PATHS,
 *                                  between colons, is tried too
 */
#include "evil.h"
#include "netprobe.h"

#include "fmt/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t denied, holes, fails;
static bool as_rows;
static int out_fd = STDOUT_FILENO;

static void tell(const char *line)
{
	auto_buf struct buf out = BUF_MAX(64 * 1024);

	if (as_rows)
		BUG_IF(buf_addz(&out, "{\"path\":\"a\",\"line\":1", ERR_DISCARD) < 0 ||
			json_add_member(&out, "text", str_from(line), ERR_DISCARD) < 0 || buf_addz(&out, "}\n", ERR_DISCARD) < 0);
	else
		BUG_IF(buf_addf(&out, ERR_DISCARD, "%s\n", line) < 0);
	BUG_IF(write(out_fd, out.p, out.n) != (ssize_t)out.n);
}

void evil_say(const struct evil *e, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	(void)e;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (strncmp(line, "HOLE ", 5) == 0)
		holes++;
	if (strncmp(line, "denied ", 7) == 0 || strstr(line, " refused "))
		denied++;
	else if (out_fd == STDERR_FILENO && (strncmp(line, "environment ", 12) == 0 || (strncmp(line, "FAIL ", 5) == 0 && fails++ > 0)))
		return; /* of what is told there only the end is kept */
	else
		tell(line);
}

void evil_say_bytes(const struct evil *e, const char *what, struct str bytes)
{
	evil_say(e, "%s " STR_FMT, what, STR_ARG(str_head(bytes, 1000)));
}

void evil_done(struct evil *e)
{
	(void)e;
	BUG_IF(true); /* of a case that is not tried here */
}

/* What it was given: standard descriptors, and nothing beside them. */
static void descriptors(const struct evil *e)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fd != out_fd && fcntl(fd, F_GETFD) >= 0)
			evil_say(e, "HOLE descriptor %d", fd);
}

/* No process but its own. */
static void neighbours(const struct evil *e)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	char path[300];
	int64_t pid;

	while (d && (entry = readdir(d)))
		for (size_t i = 0; i < 3; i++) {
			static const char *const names[] = { "environ", "mem", "root/etc/shadow" };

			if (str_to_i64(str_from(entry->d_name), &pid, ERR_DISCARD) < 0 || pid == getpid())
				continue;
			snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, names[i]);
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			if (fd >= 0)
				evil_say(e, "HOLE %s", path);
			else
				denied++;
		}
	if (d)
		closedir(d);
}

/* Programs of the system run here, as ctags does; one that lies where the model writes does not, nor does one outlive the answer. */
static void programs(const struct evil *e)
{
	static char *const ours[] = { "./x.program", NULL }, *const theirs[] = { "/bin/sh", "-c", "exit 7", NULL };
	char *const *const tries[] = { ours, theirs };

	for (size_t i = 0; i < COUNT(tries); i++) {
		pid_t pid = fork();
		int st = 0;

		if (pid == 0) {
			execv(tries[i][0], tries[i]);
			_exit(100 + (errno == EACCES));
		}
		waitpid(pid, &st, 0);
		evil_say(e, "program %zu: %d", i, WEXITSTATUS(st));
	}
	if (fork() == 0) {
		setsid();
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		execl("/bin/sleep", "sleep", "987654", (char *)NULL);
		_exit(1);
	}
}

static void say_net(void *self, const char *line)
{
	evil_say(self, "net %s", line);
}

static void try_path(const struct evil *e, const char *path)
{
	static const int flags[] = { O_RDONLY, O_WRONLY };

	for (size_t i = 0; i < COUNT(flags); i++)
		if (open(path, flags[i] | O_CLOEXEC) >= 0)
			evil_say(e, "HOLE open %s %d", path, flags[i]);
		else
			denied++;
}

int main(int argc, char **argv)
{
	struct evil e = { 0 };
	const char *report = getenv("STANDIN_REPORT"), *given = getenv("STANDIN_TARGETS"), *paths = getenv("STANDIN_PATHS");
	char targets[2048] = "", end[128], path[512];

	as_rows = !report && argc == 1;
	if (!as_rows)
		out_fd = report ? open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : STDERR_FILENO;
	BUG_IF(out_fd < 0);
	if (!given) {
		int fd = open("net.targets", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, targets, sizeof(targets) - 1) <= 0)
			evil_say(&e, "FAIL there are no net.targets");
		close(fd);
	}
	descriptors(&e);
	evil_probe(&e);
	neighbours(&e);
	netprobe_run(given ? given : targets, say_net, &e);
	for (struct str rest = str_from(paths ? paths : ""); rest.n > 0;) {
		snprintf(path, sizeof(path), STR_FMT, STR_ARG(str_cut(&rest, ':')));
		try_path(&e, path);
	}
	programs(&e);
	snprintf(end, sizeof(end), "denied %zu holes %zu", denied, holes);
	tell(end);
	if (as_rows)
		puts("{\"done\":true,\"count\":1,\"truncated\":false}");
	(void)argv;
	return fflush(stdout) < 0 ? 1 : 3 * !as_rows;
}
