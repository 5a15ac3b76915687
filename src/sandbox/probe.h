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
#define PROBE_LABEL_MAX 128
#define PROBE_LANDLOCK_SCOPES 6 /* below it signals reach every process of the user */

struct probe {
	bool linux_arch;   /* this machine has a system-call table */
	bool userns;       /* user, mount and pid namespaces can be made and used */
	int userns_errno;  /* why not */
	bool userns_empty; /* they can be made, but nothing can be done in them: another sandbox is around us */
	int landlock;      /* ABI, 0 none */
	bool landlock_forbidden; /* none, though this kernel may have it: a filter around us refuses the question */
	bool seccomp;
	bool apparmor_restricts; /* kernel.apparmor_restrict_unprivileged_userns = 1 */
	bool userns_zero;  /* user.max_user_namespaces = 0 */
	bool userns_privileged; /* kernel.unprivileged_userns_clone = 0, a switch of Debian's kernels, and this is not root */
	char apparmor[PROBE_LABEL_MAX];         /* the profile that AppArmor has around us; "unconfined", or "" without AppArmor */
	char apparmor_reason[PROBE_LABEL_MAX + 80]; /* probe_set_apparmor's */
	char selinux[PROBE_LABEL_MAX];          /* the domain SELinux has us in, or "" without SELinux */
	char selinux_reason[PROBE_LABEL_MAX + 80]; /* probe_set_selinux's */
	bool apparmor_own; /* it is around agent6-jail and not around who starts that */
	bool container;
	bool real_root;
	char kernel[64];   /* release, for people only */
};

enum probe_wish { WISH_AUTO, WISH_STRICT, WISH_HARDENED, WISH_NONE };

int probe_host(struct probe *out, struct err *err) CHECKED;
/* Its two halves: what can be seen, and whether user namespaces can be made, which is tried. */
int probe_look(struct probe *out, struct err *err) CHECKED;
void probe_try(struct probe *p);
/* The label as the kernel writes it, "NAME (enforce)" say; what is not printable becomes '?', a long one is cut. */
void probe_set_apparmor(struct probe *p, struct str label);
/* The same of SELinux, "USER:ROLE:DOMAIN:LEVEL"; "" for what is no such label. */
void probe_set_selinux(struct probe *p, struct str label);
/* Why no user namespace could be made, on one line from the process that tried to the one that asked it. Heard, it replaces
 * what p says of them; -ERR_INVALID for anything else, and p is as it was. */
int probe_tell(const struct probe *p, struct buf *out, struct err *err) CHECKED;
int probe_hear(struct probe *p, struct str line, struct err *err) CHECKED;
/* Why strict is not possible, as a sentence; "" when it is. */
const char *probe_reason(const struct probe *p);
const char *probe_remedy(const struct probe *p);
/* notice: what was weakened or is missing, "" when nothing. */
int probe_resolve(const struct probe *p, enum probe_wish wish, enum policy_profile *out, struct buf *notice,
	struct err *err) CHECKED;

#endif
