/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* githost: a git_host over an asker's channel to a git zygote, one operation at a time.
 *
 * Shape    git_zygote_init with the channel; &z.host for git/repo.h; git_zygote_fini.
 * Memory   The channel is borrowed. Output lives in the arena given to each call.
 * Errors   -ERR_CLOSED when the zygote is gone; -ERR_DENIED when it refused; -ERR_TIMEOUT; -ERR_LIMIT when
 *          git printed more than 64 MB.
 */
#ifndef GIT_GITHOST_H
#define GIT_GITHOST_H

#include "git/repo.h"
#include "sandbox/zygote_client.h"

struct git_zygote {
	struct git_host host;
	struct zygote_client client;
	/* Called after each operation when set: what else must be served meanwhile. */
	int (*after)(void *self, struct err *err);
	void *after_self;
};

void git_zygote_init(struct git_zygote *z, int fd);
void git_zygote_fini(struct git_zygote *z);

#endif
