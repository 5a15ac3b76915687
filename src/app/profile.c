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

/* It ends with 0 when it could, or says on one line what came instead. False: it did neither. One that is broken says so
 * when it is started; till then what this process finds stands. */
static bool ask_launcher(struct probe *p)
{
	static const char *const argv[] = { "agent6-jail", "--probe", NULL };
	auto_programs struct programs programs = PROGRAMS_NONE;
	auto_buf struct buf out = BUF_MAX(256), errs = BUF_MAX(4096);
	struct proc_status st = { .code = 1 };

	if (programs_open(&programs, ERR_DISCARD) < 0 ||
		proc_run(&(struct proc_spec){ .argv = argv, .exe_fd = programs.jail }, STR(""), ASK_MS, &out, &errs, &st, ERR_DISCARD) < 0)
		return false;
	if (st.code != 0)
		return probe_hear(p, buf_str(&out), ERR_DISCARD) == 0;
	p->userns = true;
	p->userns_errno = 0;
	p->userns_empty = false;
	return true;
}

/* Each try makes a network namespace, the dearest thing of a start: there is one where one will do. */
int profile_probe(struct probe *out, struct err *err)
{
	TRY(probe_look(out, err));
	if (out->apparmor[0] && ask_launcher(out))
		return 0;
	probe_try(out);
	if (!out->userns)
		(void)ask_launcher(out);
	return 0;
}
