/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What `check sandbox` tries: each row of the table is one attempt (sandbox/attempt.h) in a jail of its own, under one
 * promise, judged by what the attempt says and, where that can be seen from outside, by what it left. */
#include "app/check_priv.h"

#include "fmt/json.h"
#include "sandbox/cell.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_MS    10000
#define HANG_MS     300
#define MEMORY_MB   64
#define PROGRAM     "attempt" /* agent6-jail, copied to where a jail may execute it */
#define PROGRAM_MAX (64 * 1024 * 1024)

enum { IN_STRICT = 1 << PROFILE_STRICT, IN_HARDENED = 1 << PROFILE_HARDENED, IN_BOTH = IN_STRICT | IN_HARDENED };

/* What the attempt is given. */
enum given { NOTHING, NEW_FILE, ETC_FILE, GIVEN_FILE, CONFIG_DIR, GIT_CONFIG, OUR_PID, MEMORY, LOCK, LOCK_HANG };

static const struct probe_row {
	const char *name, *promise;
	int in;              /* profiles; a mechanism the profile does not claim is not tried */
	const char *attempt;
	enum given given;
	int from_abi;        /* of Landlock, where the profile has nothing else for it */
	const char *held;    /* what it means that it was refused */
} probes[] = {
	{ "jail_blocks_outside_write", "P1", IN_BOTH, "write", NEW_FILE, 0, "nothing is written beside the workspace" },
	{ "jail_blocks_etc_write", "P1", IN_BOTH, "write", ETC_FILE, 0, "/etc cannot be changed" },
	{ "jail_protects_git", "P1", IN_STRICT, "write", GIT_CONFIG, 0, ".git cannot be changed" },
	{ "jail_blocks_setid", "P1", IN_BOTH, "setid", NOTHING, 0, "no set-id file and no device can be made" },
	{ "jail_has_no_privileges", "P1", IN_BOTH, "privileges", NOTHING, 0, "no capability, and none by executing" },
	{ "jail_blocks_namespaces", "P1", IN_BOTH, "userns", NOTHING, 0, "no namespace can be made" },
	{ "jail_blocks_mounts", "P1", IN_BOTH, "mount", NOTHING, 0, "nothing can be mounted" },
	{ "jail_blocks_kernel_surface", "P1", IN_BOTH, "kernel", NOTHING, 0, "io_uring, bpf, keys, userfaultfd, perf are closed" },
	{ "jail_hides_outside", "P2", IN_BOTH, "read", GIVEN_FILE, 0, "a file beside the workspace cannot be opened" },
	{ "jail_hides_processes", "P2", IN_BOTH, "process", OUR_PID, 0, "other processes' memory and environment are closed" },
	{ "jail_blocks_tracing", "P2", IN_BOTH, "trace", NOTHING, 0, "no process can be traced" },
	{ "jail_blocks_network", "P3", IN_STRICT, "dial", NOTHING, 0, "TCP and UDP have no way out" },
	{ "jail_blocks_network", "P3", IN_HARDENED, "sockets", NOTHING, 0, "no socket can be made" },
	{ "jail_has_loopback_only", "P3", IN_STRICT, "interfaces", NOTHING, 0, "the loopback is the only interface" },
	{ "jail_blocks_families", "P3", IN_BOTH, "families", NOTHING, 0, "no raw, packet, vsock, audit or cipher socket" },
	{ "jail_blocks_signals", "P5", IN_BOTH, "signal", OUR_PID, 6, "no process outside can be signalled" },
	{ "jail_ends_leftovers", "P5", IN_BOTH, "linger", LOCK, 0, "a process left behind is gone when the command ends" },
	{ "jail_ends_on_time", "P5", IN_BOTH, "hang", LOCK_HANG, 0, "time is up for all of it, sessions and orphans too" },
	{ "jail_hides_keys", "P6", IN_BOTH, "read", CONFIG_DIR, 0, "the directory of the configuration cannot be opened" },
	{ "jail_limits_memory", "", IN_BOTH, "memory", MEMORY, 0, "a limit that is set (sandbox.memory_limit_mb) holds" },
};

static void row(const struct box *b, enum check_verdict v, const struct probe_row *p, const char *detail)
{
	b->k->row(b->k->self, v, p->name, p->promise, detail);
}

/* ---- one command in a jail ---- */

struct result {
	int64_t code;
	bool timed_out;
	struct str out, errs;
};

static int decode_result(struct str text, struct arena *mem, struct result *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct str line = str_trim(text);
	size_t last = str_rfind(line, '\n');

	line = str_skip(line, last < line.n ? last + 1 : 0);
	if (json_decode(line, JSON_REPAIR, &j, err) < 0)
		return err_wrap(err, "agent6-jail gave no result");
	out->code = json_get_int(j, "returncode", -1);
	out->timed_out = json_is_true(json_object_get(j, "timed_out"));
	out->out = str_dup(mem, str_trim(json_get_str(j, "stdout")));
	out->errs = str_dup(mem, str_trim(json_get_str(j, "stderr")));
	return 0;
}

static int run_jailed(const struct box *b, const char *const *argv, const struct sandbox_policy *more, struct result *out,
	struct err *err)
{
	auto_buf struct buf policy = BUF_MAX(POLICY_BYTES_MAX), text = BUF_MAX(4 * 1024 * 1024), errs = BUF_MAX(4096);
	static const char *const jail_argv[] = { "agent6-jail", NULL };
	struct proc_spec spec = { .argv = jail_argv, .exe_fd = b->programs.jail };
	struct sandbox_policy p = *more;
	struct proc_status st;

	p.profile = b->profile;
	p.cwd = b->dir;
	p.root_as_uid = b->config->sandbox.root_as_uid;
	for (size_t i = 0; argv[i]; i++)
		policy_list_add(&p.argv, b->k->mem, argv[i]);
	policy_list_add(&p.env, b->k->mem, "PATH=/usr/bin:/bin");
	TRY(policy_encode(&p, &policy, err));
	TRY(proc_run(&spec, buf_str(&policy), 2 * PROBE_MS, &text, &errs, &st, err));
	if (st.code == 2)
		return err_set(err, ERR_UNSUPPORTED, STR_FMT, STR_ARG(str_head(str_trim(buf_str(&errs)), 600)));
	return decode_result(buf_str(&text), b->k->mem, out, err);
}

/* ---- one probe ---- */

/* The word for the attempt; NULL when there is nothing to try it on. What the jail needs for it goes into p. */
static const char *word_of(const struct box *b, enum given given, struct sandbox_policy *p)
{
	const char *git = str_printf(b->k->mem, "%s/.git", b->dir).p;
	const char *config = b->place->paths.config;

	switch (given) {
	case NOTHING:
		return NULL;
	case NEW_FILE:
		return str_printf(b->k->mem, "%s/new", b->outside).p;
	case ETC_FILE:
		return str_printf(b->k->mem, "/etc/agent6-check-%ld", (long)getpid()).p;
	case GIVEN_FILE:
		return str_printf(b->k->mem, "%s/given", b->outside).p;
	case CONFIG_DIR:
		return config;
	case GIT_CONFIG:
		policy_list_add(&p->extra_protect_paths, b->k->mem, git);
		return str_printf(b->k->mem, "%s/config", git).p;
	case OUR_PID:
		return str_printf(b->k->mem, "%ld", (long)getpid()).p;
	case MEMORY:
		p->memory_limit_mb = MEMORY_MB;
		return str_printf(b->k->mem, "%d", 4 * MEMORY_MB).p;
	case LOCK_HANG:
		p->timeout_ms = HANG_MS;
		return "lock-hang";
	case LOCK:
		return "lock";
	}
	return NULL;
}

/* What is to be seen from outside: a file that appeared, a process that lives. NULL: nothing. */
static const char *left_behind(const struct box *b, enum given given, const char *word)
{
	if ((given == NEW_FILE || given == ETC_FILE) && access(word, F_OK) == 0)
		return unlink(word) == 0 ? "a file appeared outside" : "a file appeared outside, and could not be removed";
	if (given != LOCK && given != LOCK_HANG)
		return NULL;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	autoclose int fd = open(str_printf(b->k->mem, "%s/%s", b->dir, word).p, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return "the attempt did not come to its lock";
	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? "a process is still there" : NULL;
}

static void try_one(const struct box *b, const struct probe_row *p)
{
	struct sandbox_policy policy = { .network = NETWORK_NONE, .timeout_ms = PROBE_MS };
	const char *word = word_of(b, p->given, &policy);
	const char *const argv[] = { "./" PROGRAM, "--attempt", p->attempt, word, NULL };
	struct result r = { 0 };
	struct err err = { 0 };
	bool hang = p->given == LOCK_HANG;

	if (p->given == CONFIG_DIR && access(word, F_OK) != 0)
		return; /* there are no keys yet */
	if (b->profile == PROFILE_HARDENED && b->host.landlock < p->from_abi) {
		row(b, CHECK_INFO, p, str_printf(b->k->mem, "not confined: it needs Landlock ABI %d, or \"strict\"", p->from_abi).p);
		return;
	}
	int done = run_jailed(b, argv, &policy, &r, &err);
	const char *left = left_behind(b, p->given, word);
	if (done < 0)
		row(b, CHECK_FAIL, p, err.msg);
	else if (left || (r.code == 1 && !hang))
		row(b, CHECK_FAIL, p, left ? left : str_dupz(b->k->mem, r.out));
	else if (hang ? r.timed_out : r.code == 0)
		row(b, CHECK_PASS, p, p->held);
	else
		row(b, CHECK_FAIL, p, str_printf(b->k->mem, "it could not be tried: exit status %lld: " STR_FMT, (long long)r.code,
			STR_ARG(str_head(r.errs, 300))).p);
}

/* ---- before all ---- */

static int probe_true(const struct box *b)
{
	static const struct probe_row p = { .name = "jail_true", .promise = "P9" };
	static const char *const argv[] = { "true", NULL };
	const struct sandbox_policy policy = { .network = NETWORK_NONE, .timeout_ms = PROBE_MS };
	struct result r = { 0 };
	struct err err = { 0 };

	if (run_jailed(b, argv, &policy, &r, &err) < 0)
		row(b, CHECK_FAIL, &p, err.msg);
	else if (r.code != 0)
		row(b, CHECK_FAIL, &p, str_printf(b->k->mem, "exit status %lld: " STR_FMT, (long long)r.code,
			STR_ARG(str_head(r.errs, 300))).p);
	else
		row(b, CHECK_PASS, &p, "a command runs");
	return err.code != ERR_NONE || r.code != 0 ? -1 : 0;
}

/* Which a container may forbid, and then much works and much does not. */
static void look_for_proc(const struct box *b)
{
	static const struct probe_row p = { .name = "proc", .promise = "" };
	static const char *const argv[] = { "test", "-e", "/proc/version", NULL };
	const struct sandbox_policy policy = { .network = NETWORK_NONE, .timeout_ms = PROBE_MS };
	struct result r = { 0 };

	if (run_jailed(b, argv, &policy, &r, ERR_DISCARD) == 0 && r.code == 1)
		row(b, CHECK_INFO, &p, CELL_NO_PROC);
}

/* The program that tries, a repository to protect, a file to hide. Everybody may read what is outside: only the jail does not. */
static int furnish(const struct box *b, struct err *err)
{
	auto_buf struct buf program = BUF_MAX(PROGRAM_MAX);
	autoclose int ws = -1, outside = -1;

	TRY(file_read(AT_FDCWD, b->programs.jail_path, &program, err));
	TRY(dir_open(AT_FDCWD, b->dir, &ws, err));
	TRY(dir_open(AT_FDCWD, b->outside, &outside, err));
	TRY(file_replace(ws, PROGRAM, buf_str(&program), 0755, err));
	TRY(file_replace(outside, "given", STR("not for a jail\n"), 0644, err));
	if (mkdirat(ws, ".git", 0755) < 0)
		return err_sys(err, errno, "make a .git to protect");
	autoclose int git = -1;

	TRY(dir_open(ws, ".git", &git, err));
	return file_replace(git, "config", STR("[core]\n"), 0644, err);
}

int check_probes(struct box *b, struct err *err)
{
	if (probe_true(b) < 0) /* nothing else could be told from a jail that does not stand */
		return 0;
	look_for_proc(b);
	TRY(furnish(b, err));
	for (size_t i = 0; i < COUNT(probes); i++)
		if (probes[i].in & 1 << b->profile)
			try_one(b, &probes[i]);
	return 0;
}
