/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/probe.h"
#include "test/lib/test.h"

#include <errno.h>
#include <string.h>

TEST(probe_resolution_never_weakens_in_silence)
{
	static const struct probe full = { .linux_arch = true, .userns = true, .landlock = 7, .seccomp = true };
	static const struct probe no_ns = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_zero = true };
	static const struct probe old = { .linux_arch = true, .landlock = 2, .seccomp = true };
	static const struct probe nested = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_empty = true };
	static const struct probe apparmor = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_empty = true,
		.apparmor_restricts = true };
	static const struct probe privileged = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_errno = EPERM,
		.userns_privileged = true };
	static const struct probe no_ll = { .linux_arch = true, .userns = true, .seccomp = true };
	static const struct probe forbidden = { .linux_arch = true, .userns = true, .seccomp = true, .landlock_forbidden = true };
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
		{ "Debian's switch", &privileged, WISH_STRICT, -ERR_UNSUPPORTED, 0, "unprivileged_userns_clone = 0" },
		{ "auto says why not the better one either", &old, WISH_AUTO, -ERR_UNSUPPORTED, 0, "\"strict\" is not possible" },
		{ "auto never becomes none", &old, WISH_AUTO, -ERR_UNSUPPORTED, 0, "truncated" },
		{ "nor does hardened", &old, WISH_HARDENED, -ERR_UNSUPPORTED, 0, "truncated" },
		{ "a layer is missing", &no_ll, WISH_STRICT, 0, PROFILE_STRICT, "no Landlock" },
		{ "somebody took a layer away", &forbidden, WISH_AUTO, 0, PROFILE_STRICT, "forbids Landlock" },
		{ "and hardened with it", &forbidden, WISH_HARDENED, -ERR_UNSUPPORTED, 0, "forbids Landlock, which leaves ABI 0" },
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

TEST(probe_names_the_domain_of_selinux_that_refuses)
{
	static const struct {
		const char *why, *label;
		int sys;
		const char *says;
	} cases[] = {
		{ "it refuses", "user_u:user_r:user_t:s0", EACCES, "the domain \"user_t\"" },
		{ "without levels", "user_u:user_r:user_t\n", EACCES, "the domain \"user_t\"" },
		{ "somebody else refuses", "user_u:user_r:user_t:s0", EPERM, "this host does not let" },
		{ "a label of another module", "unconfined", EACCES, "this host does not let" },
		{ "a name that is none", "a:b:c\033[2J:s0", EACCES, "\"c?[2J\"" },
		{ "no label", "", EACCES, "this host does not let" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct probe p = { .linux_arch = true, .landlock = 7, .seccomp = true, .userns_errno = cases[i].sys };

		probe_set_selinux(&p, str_from(cases[i].label));
		if (!strstr(probe_reason(&p), cases[i].says))
			CHECK_STR(str_from(probe_reason(&p)), str_from(cases[i].why));
		CHECK(probe_remedy(&p)[0] != '\0');
	}
}

TEST(probe_names_the_profile_of_apparmor_that_refuses)
{
	static const struct {
		const char *why, *label;
		int sys;
		bool empty;
		const char *says, *helps; /* of the reason, of the remedy */
	} cases[] = {
		{ "it refuses", "web (enforce)\n", EACCES, false, "profile \"web\"", "apparmor install" },
		{ "it takes the power away", "web (enforce)", 0, true, "profile \"web\"", "apparmor install" },
		{ "a stack", "a//&b (mixed)\n", EACCES, false, "profile \"a//&b\"", "apparmor install" },
		{ "a name that is none", "a\033[2J\tb", EACCES, false, "profile \"a?[2J?b\"", "apparmor install" },
		{ "something else refuses", "web (enforce)", EPERM, false, "this host", "hardened" },
		{ "no profile", "unconfined\n", EACCES, false, "this host", "hardened" },
		{ "nor one that takes the power away", "unconfined", 0, true, "another sandbox", "outside" },
		{ "no AppArmor", "", EACCES, false, "this host", "hardened" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct probe p = { .linux_arch = true, .userns_errno = cases[i].sys, .userns_empty = cases[i].empty };

		probe_set_apparmor(&p, str_from(cases[i].label));
		if (!strstr(probe_reason(&p), cases[i].says))
			CHECK_STR(str_from(probe_reason(&p)), str_from(cases[i].says));
		if (!strstr(probe_remedy(&p), cases[i].helps))
			CHECK_STR(str_from(probe_remedy(&p)), str_from(cases[i].helps));
	}
}

TEST(probe_believes_of_a_launcher_one_line_in_its_shape)
{
	static const struct probe could = { .linux_arch = true, .userns = true, .apparmor = "unconfined" };
	static const char *const bad[] = { "", "\n", "13", "13 2 web\n", "-1 0 web\n", "128 0 web\n", "x 0 web\n", "0 0 web\n",
		"13 0 web more\n", "13 0 web\nmore\n" };
	auto_buf struct buf line = BUF_MAX(256);
	struct probe p, told = { .userns_errno = EACCES };
	char longest[PROBE_LABEL_MAX + 8] = "13 0 ";
	struct err err = { 0 };

	memset(longest + 5, 'a', PROBE_LABEL_MAX);
	probe_set_apparmor(&told, str_from("jailer (enforce)"));
	CHECK_OK(probe_tell(&told, &line, &err));
	CHECK_STR(buf_str(&line), STR("13 0 jailer\n"));
	p = could;
	CHECK_OK(probe_hear(&p, buf_str(&line), &err));
	CHECK(!p.userns && p.apparmor_own && strstr(probe_reason(&p), "\"jailer\"") && strstr(probe_remedy(&p), "agent6-jail's"));
	p = could;
	probe_set_apparmor(&p, STR("jailer (enforce)"));
	CHECK_OK(probe_hear(&p, buf_str(&line), &err));
	CHECK(!p.apparmor_own && strstr(probe_remedy(&p), "apparmor install"));
	for (size_t i = 0; i < COUNT(bad) + 1; i++) {
		p = could;
		CHECK_INT(probe_hear(&p, str_from(i < COUNT(bad) ? bad[i] : longest), &err), -ERR_INVALID);
		CHECK(p.userns && strcmp(p.apparmor, "unconfined") == 0);
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
