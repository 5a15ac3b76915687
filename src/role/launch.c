/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/launch.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define END_GRACE_MS 2000

static int open_program(const char *path, int *out)
{
	struct stat st;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	*out = fd;
	return 0;
}

static int find_beside(const char *dir, const char *name, int *out, char *found, size_t found_size, struct err *err)
{
	static const char *const places[] = { "", "../libexec/agent6/" };

	for (size_t i = 0; i < COUNT(places); i++) {
		char path[512];
		int n = snprintf(path, sizeof(path), "%s/%s%s", dir, places[i], name);

		if (n < (int)sizeof(path) && open_program(path, out) == 0) {
			snprintf(found, found_size, "%s", path);
			return 0;
		}
	}
	int r = err_set(err, ERR_NOENT, "%s is not beside agent6 in %s", name, dir);
	err_hint(err, "install the five programs together: PREFIX=DIR ./dev install");
	return r;
}

static int own_dir(char *out, size_t size, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);

	if (n < 0)
		return err_sys(err, errno, "find our own program");
	if ((size_t)n == size - 1)
		return err_set(err, ERR_LIMIT, "our own program's path is longer than %zu bytes", size - 2);
	out[n] = '\0';
	char *slash = strrchr(out, '/');
	if (!slash)
		return err_set(err, ERR_SYS, "our own program has no directory: %s", out);
	*slash = '\0';
	return 0;
}

int programs_open(struct programs *out, struct err *err)
{
	const char *jail = getenv("AGENT6_JAIL_BIN");
	auto_programs struct programs p = PROGRAMS_NONE;
	char dir[448], unused[512];

	TRY(proc_self_exe(&p.agent6, err));
	TRY(own_dir(dir, sizeof(dir), err));
	if (jail && *jail) {
		/* A named program that is not there means no jail at all, never another one. */
		int sys = -open_program(jail, &p.jail);

		if (sys != 0)
			return err_sys(err, sys, "AGENT6_JAIL_BIN names %s", jail);
		if (snprintf(p.jail_path, sizeof(p.jail_path), "%s", jail) >= (int)sizeof(p.jail_path))
			return err_set(err, ERR_LIMIT, "AGENT6_JAIL_BIN is longer than %zu bytes", sizeof(p.jail_path) - 1);
	} else {
		TRY(find_beside(dir, "agent6-jail", &p.jail, p.jail_path, sizeof(p.jail_path), err));
	}
	TRY(find_beside(dir, "agent6-net", &p.net, unused, sizeof(unused), err));
	TRY(find_beside(dir, "agent6-index", &p.index, unused, sizeof(unused), err));
	TRY(find_beside(dir, "agent6-resolver", &p.resolver, unused, sizeof(unused), err));
	*out = p;
	p = (struct programs)PROGRAMS_NONE;
	return 0;
}

void programs_close(struct programs *p)
{
	base_close_fd(&p->agent6);
	base_close_fd(&p->jail);
	base_close_fd(&p->net);
	base_close_fd(&p->index);
	base_close_fd(&p->resolver);
}

int launch(const struct launch_spec *spec, struct peer *out, struct err *err)
{
	int pair[2], fds[PROC_FDS_MAX];

	BUG_IF(spec->nfds + 1 > PROC_FDS_MAX);
	TRY(chan_pair(pair, err));
	autoclose int ours = pair[0], theirs = pair[1];
	fds[0] = theirs;
	for (size_t i = 0; i < spec->nfds; i++)
		fds[i + 1] = spec->fds[i];
	struct proc_spec ps = {
		.argv = spec->argv, .env = spec->env, .exe_fd = spec->exe, .fds = fds, .nfds = spec->nfds + 1,
		.own_session = !spec->terminal, .die_with_parent = true, .keep_stdio = spec->terminal,
		.err_fd = spec->errors ? STDERR_FILENO : 0,
	};
	struct proc proc;

	TRY(proc_spawn(&ps, &proc, err));
	*out = (struct peer){ proc, take_fd(&ours) };
	return 0;
}

int launch_role(const struct programs *progs, const char *role, const int *fds, size_t nfds, bool terminal,
	struct peer *out, struct err *err)
{
	const char *const argv[] = { "agent6", "--role", role, NULL };

	if (launch(&(struct launch_spec){ .exe = progs->agent6, .argv = argv, .fds = fds, .nfds = nfds,
			.terminal = terminal, .errors = true }, out, err) < 0)
		return err_wrap(err, "start the %s", role);
	return 0;
}

void peer_close(struct peer *p)
{
	base_close_fd(&p->chan);
}

void peer_kill(struct peer *p)
{
	struct proc_status st;

	peer_close(p);
	if (p->proc.pid <= 0)
		return;
	proc_kill(&p->proc, SIGKILL);
	if (proc_wait(&p->proc, &st, ERR_DISCARD) < 0)
		base_close_fd(&p->proc.pidfd);
	p->proc = (struct proc){ 0, -1 };
}

/* Its end of file, a word, a blow: it has something to clean up only where no namespace does so. */
void peer_end(struct peer *p)
{
	peer_close(p);
	for (int tries = 0; p->proc.pid > 0 && tries < 2; tries++) {
		struct pollfd gone = { p->proc.pidfd, POLLIN, 0 };
		int r;

		if (tries > 0)
			proc_kill(&p->proc, SIGTERM);
		do
			r = poll(&gone, 1, END_GRACE_MS);
		while (r < 0 && errno == EINTR);
		if (r > 0)
			break;
	}
	peer_kill(p);
}
