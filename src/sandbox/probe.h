/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* probe: what this host can confine, found by trying, never by version.
 *
 * Shape    probe_host once; probe_resolve turns what was asked for into what will be done.
 * Errors   -ERR_UNSUPPORTED when an explicit wish cannot be honoured; message and hint say why and what to do.
 * Source   docs/sandbox.md, "Profiles".
 */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "sandbox/policy.h"

#define PROBE_LANDLOCK_MIN 3 /* below it a file outside every grant can still be truncated */
#define PROBE_LANDLOCK_SCOPES 6 /* below it signals reach every process of the user */

struct probe {
	bool linux_arch;   /* this machine has a system-call table */
	bool userns;       /* user, mount and pid namespaces can be made and used */
	int userns_errno;  /* why not */
	bool userns_empty; /* they can be made, but nothing can be done in them: another sandbox is around us */
	int landlock;      /* ABI, 0 none */
	bool seccomp;
	bool apparmor_restricts; /* kernel.apparmor_restrict_unprivileged_userns = 1 */
	bool userns_zero;  /* user.max_user_namespaces = 0 */
	bool container;
	bool real_root;
	char kernel[64];   /* release, for people only */
};

enum probe_wish { WISH_AUTO, WISH_STRICT, WISH_HARDENED, WISH_NONE };

int probe_host(struct probe *out, struct err *err) CHECKED;
/* Why strict is not possible, as a sentence; "" when it is. */
const char *probe_reason(const struct probe *p);
const char *probe_remedy(const struct probe *p);
/* notice: what was weakened or is missing, "" when nothing. */
int probe_resolve(const struct probe *p, enum probe_wish wish, enum policy_profile *out, struct buf *notice,
	struct err *err) CHECKED;

#endif
