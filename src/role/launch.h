/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* launch: starts our own processes, each by executing our own programs anew with an empty environment
 * and exactly the descriptors it needs.
 *
 * Shape    programs_open once; launch_role or launch_program per process; launch_end at the end.
 * Memory   A struct peer owns its channel and its pidfd.
 * Errors   -ERR_NOENT with a hint when another program of ours cannot be found.
 * Source   docs/architecture.md, "Start".
 */
#ifndef ROLE_LAUNCH_H
#define ROLE_LAUNCH_H

#include "fmt/field.h"
#include "sys/proc.h"

struct programs {
	int agent6, jail, net, index, resolver; /* O_PATH descriptors */
	char jail_path[512];   /* where agent6-jail was found */
	/* Absolute directories that a model may write: the spawner takes no program from them. Set by the caller who
	 * knows a workspace; borrowed. */
	struct str_list apart;
};

/* agent6 is ourselves. The others: AGENT6_JAIL_BIN (jail only), else beside us, else ../libexec/agent6. */
int programs_open(struct programs *out, struct err *err) CHECKED;
void programs_close(struct programs *p);
#define auto_programs CLEANUP(programs_close)
#define PROGRAMS_NONE { -1, -1, -1, -1, -1, "" }

struct peer {
	struct proc proc; /* pid 0: not running */
	int chan;         /* our end, or -1 */
};
#define PEER_NONE ((struct peer){ .proc = { 0, -1 }, .chan = -1 })

struct launch_spec {
	int exe;             /* which program */
	const char *const *argv;
	const char *const *env; /* NULL: empty */
	const int *fds;      /* descriptors 4, 5, ... of the child; 3 is its channel to us */
	size_t nfds;
	bool terminal;       /* keeps our stdin, stdout, stderr (the view); others get /dev/null */
	bool errors;         /* stderr only is kept, for a process that must be able to cry */
};

int launch(const struct launch_spec *spec, struct peer *out, struct err *err) CHECKED;
int launch_role(const struct programs *progs, const char *role, const int *fds, size_t nfds, bool terminal,
	struct peer *out, struct err *err) CHECKED;
void peer_close(struct peer *p); /* closes the channel; the process ends by itself or by peer_kill */
void peer_kill(struct peer *p);  /* SIGKILL and reap */
void peer_end(struct peer *p);   /* a zygote: closes the channel, waits for it to clean up, helps it along, reaps */

#endif
