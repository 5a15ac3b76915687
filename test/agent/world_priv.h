/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* world_priv: one file for each of those the agent talks to, and what they share. world.c is the monitor and keeps the round. */
#ifndef TEST_AGENT_WORLD_PRIV_H
#define TEST_AGENT_WORLD_PRIV_H

#include "test/agent/world.h"

#include "agent/links.h"
#include "fmt/pack.h"
#include "graph/disk.h"
#include "session/record.h"
#include "session/store.h"

void world_say(int fd, uint16_t type, const struct buf *body, const int *fds, size_t nfds);
void world_say_number(struct world *w, enum peer p, uint16_t type, uint32_t v);
void world_act(struct world *w, struct str what); /* what a script has the operator do */
void world_say_synced(struct world *w);

/* What the agent said to each of them. */
void world_on_request(struct world *w, struct chan_msg *m);
void world_on_job(struct world *w, struct chan_msg *m);
void world_on_git(struct world *w, struct chan_msg *m);
void world_on_record(struct world *w, struct chan_msg *m);

#endif
