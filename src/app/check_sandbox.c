/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/check.h"
#include "app/profile.h"
#include "fmt/json.h"
#include "role/launch.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PROBE_MS 10000

struct box {
	const struct check *k;
	const struct place *place;
	const struct config *config;
	struct programs programs;
	enum policy_profile profile;
	char dir[64]; /* scratch workspace */
};

static void box_fini(struct box *b)
{
	if (b->dir[0] && dir_remove_tree(AT_FDCWD, b->dir, ERR_DISCARD) < 0)
		b->k->row(b->k->self, CHECK_FAIL, "scratch", "the scratch directory could not be removed");
	programs_close(&b->programs);
}
#define auto_box CLEANUP(box_fini)

static void row(const struct box *b, enum check_verdict v, const char *name, const char *detail)
{
	b->k->row(b->k->self, v, name, detail);
}

/* ------------------------------------------------------------------ one command in a jail */

struct result {
	int64_t code;
	struct str out, errs;
};

static int decode_result(struct str text, struct arena *mem, struct result *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct str line = str_trim(text);

	line = str_skip(line, str_rfind(line, '\n') < line.n ? str_rfind(line, '\n') + 1 : 0);
	if (json_decode(line, JSON_REPAIR, &j, err) < 0)
		return err_wrap(err, "agent6-jail gave no result");
	out->code = json_get_int(j, "returncode", -1);
	out->out = str_dup(mem, json_get_str(j, "stdout"));
	out->errs = str_dup(mem, json_get_str(j, "stderr"));
	return 0;
}

static int run_jailed(struct box *b, const char *const *argv, struct result *out, struct err *err)
{
	auto_buf struct buf policy = BUF_MAX(POLICY_BYTES_MAX), text = BUF_MAX(4 * 1024 * 1024),
			    errs = BUF_MAX(4096);
	static const char *const jail_argv[] = { "agent6-jail", NULL };
	struct proc_spec spec = { .argv = jail_argv, .exe_fd = b->programs.jail };
	struct sandbox_policy p = { .profile = b->profile,
		.cwd = b->dir,
		.network = NETWORK_NONE,
		.timeout_ms = PROBE_MS,
		.root_as_uid = b->config->sandbox.root_as_uid };
	struct proc_status st;

	for (size_t i = 0; argv[i]; i++)
		policy_list_add(&p.argv, b->k->mem, argv[i]);
	policy_list_add(&p.env, b->k->mem, "PATH=/usr/bin:/bin");
	TRY(policy_encode(&p, &policy, err));
	TRY(proc_run(&spec, buf_str(&policy), 2 * PROBE_MS, &text, &errs, &st, err));
	if (st.code == 2)
		return err_set(
			err, ERR_UNSUPPORTED, STR_FMT, STR_ARG(str_head(str_trim(buf_str(&errs)), 600)));
	return decode_result(buf_str(&text), b->k->mem, out, err);
}

/* ------------------------------------------------------------------ the probes */

static void probe_true(struct box *b)
{
	static const char *const argv[] = { "true", NULL };
	struct result r = { 0 };
	struct err err = { 0 };

	if (run_jailed(b, argv, &r, &err) < 0)
		row(b, CHECK_FAIL, "jail_true", err.msg);
	else if (r.code != 0)
		row(b, CHECK_FAIL, "jail_true",
			str_printf(b->k->mem, "exit status %lld: " STR_FMT, (long long)r.code,
				STR_ARG(str_head(r.errs, 300)))
				.p);
	else
		row(b, CHECK_PASS, "jail_true", "a command runs");
}

/* A jail without a network has a loopback and nothing else; that is read, not asked of a name server. */
static bool only_loopback(struct str dev)
{
	while (dev.n > 0) {
		struct str line = str_line(&dev), name = str_trim(str_cut(&line, ':'));

		if (line.n > 0 && !str_eqz(name, "lo"))
			return false;
	}
	return true;
}

static void probe_network(struct box *b)
{
	static const char *const argv[] = { "cat", "/proc/net/dev", NULL };
	struct result r = { 0 };
	struct err err = { 0 };

	if (b->profile != PROFILE_STRICT) {
		row(b, CHECK_INFO, "jail_blocks_network",
			"hardened has the host's interfaces; making a socket is refused");
		return;
	}
	if (run_jailed(b, argv, &r, &err) < 0)
		row(b, CHECK_FAIL, "jail_blocks_network", err.msg);
	else if (r.code != 0 || !only_loopback(r.out))
		row(b, CHECK_FAIL, "jail_blocks_network", "an interface other than the loopback is there");
	else
		row(b, CHECK_PASS, "jail_blocks_network", "the loopback is the only interface");
}

static void probe_etc(struct box *b)
{
	const char *path = str_printf(b->k->mem, "/etc/agent6-check-%ld", (long)getpid()).p;
	const char *const argv[] = { "touch", path, NULL };
	struct result r = { 0 };
	struct err err = { 0 };
	int done = run_jailed(b, argv, &r, &err);
	bool appeared = access(path, F_OK) == 0;

	if (appeared)
		row(b, CHECK_FAIL, "jail_blocks_etc_write",
			str_printf(b->k->mem, "%s appeared on the host", path).p);
	else if (done < 0)
		row(b, CHECK_FAIL, "jail_blocks_etc_write", err.msg);
	else if (r.code == 0)
		row(b, CHECK_FAIL, "jail_blocks_etc_write", "writing in /etc was not refused");
	else
		row(b, CHECK_PASS, "jail_blocks_etc_write", "/etc cannot be changed");
}

static void probe_keys(struct box *b)
{
	const char *const argv[] = { "ls", b->place->paths.config, NULL };
	struct result r = { 0 };
	struct err err = { 0 };

	if (access(b->place->paths.config, F_OK) != 0)
		return;
	if (run_jailed(b, argv, &r, &err) < 0)
		row(b, CHECK_FAIL, "jail_hides_keys", err.msg);
	else if (r.code == 0 && str_trim(r.out).n > 0)
		row(b, CHECK_FAIL, "jail_hides_keys", "the directory of the configuration can be listed");
	else
		row(b, CHECK_PASS, "jail_hides_keys", "the directory of the configuration is not there");
}

/* ------------------------------------------------------------------ the host */

static int host_rows(struct box *b, struct err *err)
{
	const char *asked = config_word("sandbox.profile", b->config->sandbox.profile);
	auto_buf struct buf notice = BUF_MAX(4096);
	struct probe host;
	struct err refused = { 0 };

	TRY(probe_host(&host, err));
	row(b, CHECK_INFO, "kernel", host.kernel);
	row(b, host.userns ? CHECK_PASS : CHECK_INFO, "userns",
		host.userns ? "user namespaces can be made" : probe_reason(&host));
	row(b, host.landlock > 0 ? CHECK_PASS : CHECK_FAIL, "landlock_abi",
		str_printf(b->k->mem, "%d", host.landlock).p);
	row(b, host.seccomp ? CHECK_PASS : CHECK_FAIL, "seccomp",
		host.seccomp ? "filters can be installed" : "not there");
	if (probe_resolve(&host, profile_wish(b->config), &b->profile, &notice, &refused) < 0) {
		row(b, CHECK_FAIL, "profile",
			str_printf(b->k->mem, "%s asked for: %s%s%s", asked, refused.msg,
				refused.hint[0] ? "; " : "", refused.hint)
				.p);
		return 1;
	}
	row(b, b->profile == PROFILE_NONE ? CHECK_FAIL : CHECK_PASS, "profile",
		str_printf(b->k->mem, "%s asked for, %s it is%s" STR_FMT, asked,
			policy_profile_name(b->profile), notice.n > 0 ? ": " : "",
			STR_ARG(str_trim(buf_str(&notice))))
			.p);
	return 0;
}

int check_sandbox(const struct check *k, const struct place *place, struct err *err)
{
	struct config *c = arena_alloc(k->mem, sizeof(*c));
	struct config_files none = { .home = place->files.home };
	auto_box struct box b = { .k = k, .place = place, .config = c, .programs = { -1, -1, -1, "" } };

	if (config_load(&place->files, k->mem, c, ERR_DISCARD) < 0) {
		TRY(config_load(&none, k->mem, c, err));
		row(&b, CHECK_INFO, "profile",
			"the configuration is wrong; the default profile is looked at");
	}
	int r = host_rows(&b, err);
	TRY(r);
	if (r > 0)
		return 0;
	if (b.profile == PROFILE_NONE) {
		row(&b, CHECK_FAIL, "jail", "skipped: sandbox.profile = \"none\" confines nothing");
		return 0;
	}
	if (programs_open(&b.programs, err) < 0) {
		row(&b, CHECK_FAIL, "programs", err->msg);
		return 0;
	}
	snprintf(b.dir, sizeof(b.dir), "/tmp/agent6-check-XXXXXX");
	if (!mkdtemp(b.dir)) {
		int sys = errno;

		b.dir[0] = '\0';
		return err_sys(err, sys, "make a scratch directory in /tmp");
	}
	probe_true(&b);
	probe_network(&b);
	probe_etc(&b);
	probe_keys(&b);
	return 0;
}
