/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* zygotes: starts agent6-jail --zygote, tells it what its cell is, and waits until the cell stands.
 *
 * Shape    zygote_launch; others may be started meanwhile; zygote_await. Ended by peer_kill.
 * Memory   The peer owns its channel; notes live in the arena. The descriptors passed in stay the caller's.
 * Errors   What the cell said, with its hint.
 */
#ifndef APP_ZYGOTES_H
#define APP_ZYGOTES_H

#include "base/arena.h"
#include "fmt/field.h"
#include "fmt/wire.h"
#include "role/launch.h"
#include "sandbox/zygote.h"

/* The first message of a process that is starting, of one of two types: `want`, or WIRE_CELL_FAIL. */
struct chan_msg;
int peer_await(int chan, enum wire_link link, uint16_t want, struct chan_msg *m, const char *who, struct err *err)
	CHECKED;

/* jail: agent6-jail. asker: the zygote's end of the channel to whoever asks for jobs. own: the programs agent6 and
 * agent6-index, or NULL where neither is started. */
int zygote_launch(int jail, int asker, const int own[2], const struct zygote_spec *spec, struct peer *out, struct err *err)
	CHECKED;
/* The end of err is what WIRE_CELL_FAIL says, its beginning `what`; its hint, or where to look for one. */
int zygote_failed(struct str body, const char *what, struct err *err);
/* notes: what this host could not give, as sentences. */
int zygote_await(const struct peer *z, struct arena *mem, struct str_list *notes, struct err *err) CHECKED;

#endif
