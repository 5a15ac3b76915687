/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jobs_priv: what the two files of jobs share. */
#ifndef AGENT_JOBS_PRIV_H
#define AGENT_JOBS_PRIV_H

#include "agent/jobs.h"

#define JOBS_CHUNK (64 * 1024)

int jobs_kill(struct jobs *j, uint32_t id, struct err *err) CHECKED;

/* jobs_server.c */
struct job_server *jobs_server_of(struct jobs *j, uint32_t id); /* NULL: no server has this number */
int jobs_server_started(struct jobs *j, struct job_server *s, struct chan_msg *m, struct err *err) CHECKED;
/* 1: it was the end of a server, or of something said to one. */
int jobs_server_exit(struct jobs *j, uint32_t id, const struct job_result *r, struct str note, struct err *err) CHECKED;

#endif
