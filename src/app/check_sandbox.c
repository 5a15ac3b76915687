/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/check_priv.h"

#include "app/profile.h"
#include "fmt/lsp_table.h"
#include "sandbox/group.h"
#include "sandbox/landlock.h"
#include "sandbox/toolpath.h"
#include "sys/file.h"

#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define INDEX_MS 5000

static void box_fini(struct box *b)
{
	const char *const dirs[] = { b->dir, b->outside };

	for (size_t i = 0; i < COUNT(dirs); i++)
		if (dirs[i][0] && dir_remove_tree(AT_FDCWD, dirs[i], ERR_DISCARD) < 0)
			b->k->row(b->k->self, CHECK_FAIL, "scratch", "", "a scratch directory could not be removed");
	programs_close(&b->programs);
}
#define auto_box CLEANUP(box_fini)

static void row(const struct box *b, enum check_verdict v, const char *name, const char *promise, const char *detail)
{
	b->k->row(b->k->self, v, name, promise, detail);
}

/* ---- the host ---- */

static const char *const meanings[] = {
	[PROFILE_STRICT] = "a command sees a root of its own, its own processes, and a network with nothing on it",
	[PROFILE_HARDENED] = "a command sees the host's names and processes, opens what is granted, and makes no socket",
	[PROFILE_NONE] = "a command is an ordinary process of this user: nothing is confined",
};

static void container_row(const struct box *b)
{
	if (b->host.container)
		row(b, CHECK_INFO, "container", "", "this is a container");
}

static void landlock_row(const struct box *b)
{
	int abi = b->host.landlock;
	auto_buf struct buf lacks = BUF_MAX(512);

	if (landlock_lacks(abi, &lacks, ERR_DISCARD) < 0)
		return;
	row(b, abi > 0 ? CHECK_PASS : CHECK_FAIL, "landlock_abi", "P9",
		abi == 0 ? "none: agent6's own processes cannot be confined, and no run begins"
			 : str_printf(b->k->mem, "%d%s" STR_FMT, abi, lacks.n > 0 ? ", which does not know: " : "", STR_ARG(buf_str(&lacks))).p);
}

static void host_rows(const struct box *b)
{
	const struct probe *h = &b->host;

	row(b, CHECK_INFO, "kernel", "", h->kernel);
	row(b, h->userns ? CHECK_PASS : CHECK_INFO, "userns", "P9",
		h->userns ? "user namespaces can be made" : probe_reason(h));
	landlock_row(b);
	row(b, h->seccomp ? CHECK_PASS : CHECK_FAIL, "seccomp", "P9",
		h->seccomp ? "filters can be installed" : "filters cannot be installed");
	container_row(b);
}

static const char *with_hint(const struct box *b, const char *asked, const struct err *err)
{
	return str_printf(b->k->mem, "%s asked for: %s%s%s", asked, err->msg, err->hint[0] ? "; " : "", err->hint).p;
}

/* One is made and removed: that a directory looks delegated is not that it is. */
static void group_row(const struct box *b)
{
	int64_t limit = b->config->sandbox.memory_limit_mb;
	const struct group_host host = GROUP_HOST;
	struct group g = GROUP_NONE;
	struct group_place place;
	struct err err = { 0 };

	if (limit == 0)
		row(b, CHECK_INFO, "memory_group", "", "sandbox.memory_limit_mb = 0: memory is not limited");
	else if (group_find(&host, b->k->mem, &place, &err) < 0 || group_make(&place, limit, &g, &err) < 0 ||
		group_end(&g, &err) < 0)
		row(b, CHECK_INFO, "memory_group", "",
			str_printf(b->k->mem, "%s; %s%s%s", err.msg,
				config_is_set(b->config, "sandbox.memory_limit_mb") ? "each process is limited by itself"
										    : "the default of sandbox.memory_limit_mb limits nothing here",
				err.hint[0] ? "; " : "", err.hint).p);
	else
		row(b, CHECK_PASS, "memory_group", "",
			str_printf(b->k->mem, "%lld MiB for all of a run's jail together, in a group beneath %s", (long long)limit,
				place.dir).p);
}

/* What a run and its commands would get. 1: nothing, they would be refused. */
static int profile_rows(struct box *b)
{
	const char *asked = config_word("sandbox.profile", b->config->sandbox.profile);
	enum probe_wish wish = profile_wish(b->config);
	auto_buf struct buf notice = BUF_MAX(4096);
	struct err refused = { 0 };

	if (probe_resolve(&b->host, wish, &b->profile, &notice, &refused) < 0) {
		row(b, CHECK_FAIL, "profile", "P9", with_hint(b, asked, &refused));
		return 1;
	}
	row(b, b->profile == PROFILE_NONE ? CHECK_FAIL : CHECK_PASS, "profile", "P9",
		str_printf(b->k->mem, "%s asked for, %s it is%s" STR_FMT, asked, policy_profile_name(b->profile),
			notice.n > 0 ? ": " : "", STR_ARG(str_trim(buf_str(&notice)))).p);
	row(b, CHECK_INFO, "profile_means", "", meanings[b->profile]);
	if (b->profile != PROFILE_STRICT && !b->host.userns)
		row(b, CHECK_INFO, "not_strict", "P9",
			str_printf(b->k->mem, "%s; %s", probe_reason(&b->host), probe_remedy(&b->host)).p);
	return 0;
}

static bool is_found(struct str path, const char *name)
{
	while (path.n > 0) {
		struct str dir = str_cut(&path, ':');
		char file[PATH_MAX];
		int n = snprintf(file, sizeof(file), STR_FMT "/%s", STR_ARG(dir), name);

		if (n > 0 && (size_t)n < sizeof(file) && access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* Those that a run would find; what it refuses because of where the model may write it says itself. */
static void language_row(const struct box *b, const struct toolpath *tools)
{
	auto_buf struct buf list = BUF_MAX(1024);

	for (size_t i = 0; i < nlsp_servers; i++)
		if (is_found(str_from(tools->path), lsp_servers[i].argv[0]))
			BUG_IF(buf_addf(&list, ERR_DISCARD, "%s%s", list.n > 0 ? ", " : "", lsp_servers[i].name) < 0);
	row(b, CHECK_INFO, "language_servers", "", str_printf(b->k->mem, "%s; on the PATH of commands: " STR_FMT,
		b->config->lsp.enabled ? "asked where they know the language" : "off (lsp.enabled)",
		STR_ARG(list.n > 0 ? buf_str(&list) : STR("none"))).p);
}

/* Tools that a jail can only show with a directory of the person's home around them. */
static int home_rows(const struct box *b, struct err *err)
{
	const char *home = b->place->paths.home;
	struct toolpath_ask ask = { .home = home, .env = (const char *const *)environ };
	auto_buf struct buf list = BUF_MAX(64 * 1024);
	struct toolpath tools;
	size_t n = 0;

	policy_list_add(&ask.deny, b->k->mem, b->place->paths.config);
	policy_list_add(&ask.deny, b->k->mem, b->place->paths.state);
	TRY(toolpath_derive(&ask, b->k->mem, &tools, err));
	for (size_t i = 0; home && i < tools.mounts.n; i++)
		if (path_is_within(tools.mounts.p[i], home)) {
			TRY(buf_addf(&list, err, "%s%s", n > 0 ? ", " : "", tools.mounts.p[i]));
			n++;
		}
	row(b, CHECK_INFO, "tools_in_home", "P2", n == 0 ? "no tool shows a directory of your home"
		: str_printf(b->k->mem, "%zu directories of your home are readable because tools live there: " STR_FMT, n,
			STR_ARG(buf_str(&list))).p);
	language_row(b, &tools);
	return 0;
}

/* ---- the scratch directories ---- */

/* A directory from which programs can be executed: a jail cannot give what the file system refuses. */
static const char *scratch_base(void)
{
	static const char *const bases[] = { "/tmp", "/var/tmp" };
	struct statvfs st;

	for (size_t i = 0; i < COUNT(bases); i++)
		if (statvfs(bases[i], &st) == 0 && !(st.f_flag & (ST_NOEXEC | ST_RDONLY)))
			return bases[i];
	return bases[0];
}

static int make_scratch(char *out, size_t size, mode_t mode, struct err *err)
{
	snprintf(out, size, "%s/agent6-check-XXXXXX", scratch_base());
	if (!mkdtemp(out)) {
		int sys = errno;

		out[0] = '\0';
		return err_sys(err, sys, "make a scratch directory in %s", scratch_base());
	}
	return chmod(out, mode) < 0 ? err_sys(err, errno, "chmod %s", out) : 0;
}

/* Who reads source files for the symbol tools: what agent6-index was built with, and what is installed. */
static void index_row(const struct box *b)
{
	static const char *const argv[] = { "agent6-index", "--version", NULL };
	auto_buf struct buf out = BUF_MAX(512), errs = BUF_MAX(512);
	struct proc_status st = { .code = 1 };

	if (proc_run(&(struct proc_spec){ .argv = argv, .exe_fd = b->programs.index }, STR(""), INDEX_MS, &out, &errs, &st, ERR_DISCARD) < 0 ||
		st.code != 0)
		return row(b, CHECK_FAIL, "code_index", "", "agent6-index cannot be started");
	struct str text = str_trim(buf_str(&out));
	row(b, CHECK_INFO, "code_index", "", str_dup(b->k->mem, str_trim_prefix(text, STR("agent6-index " AGENT6_VERSION ", "))).p);
}

/* ---- all of it ---- */

static int load(struct box *b, struct config *c, struct err *err)
{
	struct config_files none = { .home = b->place->files.home };

	b->config = c;
	if (config_load(&b->place->files, b->k->mem, c, ERR_DISCARD) == 0)
		return 0;
	row(b, CHECK_INFO, "profile", "", "the configuration is wrong; the default profile is looked at");
	return config_load(&none, b->k->mem, c, err);
}

int check_sandbox(const struct check *k, const struct place *place, struct err *err)
{
	struct config *c = arena_alloc(k->mem, sizeof(*c));
	auto_box struct box b = { .k = k, .place = place, .programs = PROGRAMS_NONE };

	TRY(load(&b, c, err));
	TRY(profile_probe(&b.host, err));
	host_rows(&b);
	if (profile_rows(&b) > 0)
		return 0;
	TRY(home_rows(&b, err));
	if (b.profile == PROFILE_NONE) {
		row(&b, CHECK_FAIL, "jail", "P9", "skipped: sandbox.profile = \"none\" confines nothing");
		return 0;
	}
	group_row(&b);
	if (programs_open(&b.programs, err) < 0) {
		row(&b, CHECK_FAIL, "programs", "", err->msg);
		*err = (struct err){ 0 };
		return 0;
	}
	index_row(&b);
	TRY(make_scratch(b.dir, sizeof(b.dir), 0700, err));
	TRY(make_scratch(b.outside, sizeof(b.outside), 0777, err));
	return check_probes(&b, err);
}
