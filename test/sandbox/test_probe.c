/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/probe.h"
#include "test/lib/test.h"

#include <string.h>

TEST(probe_resolution_never_weakens_in_silence)
{
	static const struct probe full = { .linux_arch = true, .userns = true, .landlock = 7, .seccomp = true };
	static const struct probe no_ns = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_zero = true };
	static const struct probe old = { .linux_arch = true, .landlock = 2, .seccomp = true };
	static const struct probe nested = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_empty = true };
	static const struct probe apparmor = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_empty = true,
		.apparmor_restricts = true };
	static const struct probe no_ll = { .linux_arch = true, .userns = true, .seccomp = true };
	static const struct probe arch = { .userns = true, .landlock = 7, .seccomp = true };
	static const struct {
		const char *why;
		const struct probe *p;
		enum probe_wish wish;
		int r;
		enum policy_profile want;
		const char *says; /* the notice, or the error */
	} cases[] = {
		{ "everything", &full, WISH_AUTO, 0, PROFILE_STRICT, "" },
		{ "asked for less", &full, WISH_HARDENED, 0, PROFILE_HARDENED, "" },
		{ "asked for nothing", &full, WISH_NONE, 0, PROFILE_NONE, "UNSANDBOXED" },
		{ "auto weakens loudly", &no_ns, WISH_AUTO, 0, PROFILE_HARDENED, "max_user_namespaces = 0" },
		{ "strict does not", &no_ns, WISH_STRICT, -ERR_UNSUPPORTED, 0, "max_user_namespaces = 0" },
		{ "a sandbox around us", &nested, WISH_STRICT, -ERR_UNSUPPORTED, 0, "inside another sandbox" },
		{ "which one is known", &apparmor, WISH_AUTO, 0, PROFILE_HARDENED, "agent6 system apparmor install" },
		{ "auto says why not the better one either", &old, WISH_AUTO, -ERR_UNSUPPORTED, 0, "\"strict\" is not possible" },
		{ "auto never becomes none", &old, WISH_AUTO, -ERR_UNSUPPORTED, 0, "truncated" },
		{ "nor does hardened", &old, WISH_HARDENED, -ERR_UNSUPPORTED, 0, "truncated" },
		{ "a layer is missing", &no_ll, WISH_STRICT, 0, PROFILE_STRICT, "no Landlock" },
		{ "hardened is Landlock", &no_ll, WISH_HARDENED, -ERR_UNSUPPORTED, 0, "ABI 0" },
		{ "no filter for the machine", &arch, WISH_AUTO, -ERR_UNSUPPORTED, 0, "x86_64 and aarch64" },
		{ "no filter, asked", &arch, WISH_STRICT, -ERR_UNSUPPORTED, 0, "x86_64 and aarch64" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf notice = BUF_MAX(1024);
		enum policy_profile got = PROFILE_STRICT;
		struct err err = { 0 };
		const char *said = NULL;

		CHECK_INT(probe_resolve(cases[i].p, cases[i].wish, &got, &notice, &err), cases[i].r);
		said = cases[i].r < 0 ? err.msg : notice.n > 0 ? notice.p : "";
		if (cases[i].r == 0)
			CHECK_INT(got, cases[i].want);
		CHECK(cases[i].r == 0 || err.hint[0] != '\0');
		if (cases[i].says[0] ? !strstr(said, cases[i].says) : said[0] != '\0')
			CHECK_STR(str_from(said), str_from(cases[i].says));
	}
}

TEST(probe_of_this_host_is_consistent)
{
	struct probe p;
	struct err err = { 0 };

	CHECK_OK(probe_host(&p, &err));
	CHECK(p.kernel[0] != '\0');
	CHECK_INT(p.userns, p.userns_errno == 0);
	CHECK_INT(probe_reason(&p)[0] == '\0', p.userns && p.linux_arch);
	CHECK_INT(probe_remedy(&p)[0] == '\0', probe_reason(&p)[0] == '\0');
}
