/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/profile.h"

#include "role/launch.h"
#include "sys/proc.h"

#define ASK_MS 10000

enum probe_wish profile_wish(const struct config *c)
{
	static const enum probe_wish wishes[] = {
		[CONFIG_PROFILE_AUTO] = WISH_AUTO,
		[CONFIG_PROFILE_STRICT] = WISH_STRICT,
		[CONFIG_PROFILE_HARDENED] = WISH_HARDENED,
		[CONFIG_PROFILE_NONE] = WISH_NONE,
	};

	return wishes[c->sandbox.profile];
}

/* It says nothing, it only ends: 0 when it could. */
static bool launcher_can(void)
{
	static const char *const argv[] = { "agent6-jail", "--probe", NULL };
	auto_programs struct programs p = PROGRAMS_NONE;
	auto_buf struct buf out = BUF_MAX(256), errs = BUF_MAX(256);
	struct proc_status st = { .code = 1 };

	if (programs_open(&p, ERR_DISCARD) < 0)
		return false;
	return proc_run(&(struct proc_spec){ .argv = argv, .exe_fd = p.jail }, STR(""), ASK_MS, &out, &errs, &st, ERR_DISCARD) == 0 &&
		st.code == 0;
}

int profile_probe(struct probe *out, struct err *err)
{
	TRY(probe_host(out, err));
	if (!out->userns && launcher_can()) {
		out->userns = true;
		out->userns_errno = 0;
		out->userns_empty = false;
	}
	return 0;
}
