/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The kernel's structs, our own copies: headers of the oldest supported system know fewer fields. */
struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};
struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));
struct net_port {
	uint64_t allowed, port;
};

#define NR_CREATE_RULESET 444
#define NR_ADD_RULE       445
#define NR_RESTRICT_SELF  446

#define CREATE_VERSION (1U << 0)
#define RULE_PATH      1
#define RULE_NET       2
#define NET_BIND       (1ULL << 0)
#define NET_CONNECT    (1ULL << 1)
#define SCOPE_ABSTRACT (1ULL << 0)
#define SCOPE_SIGNAL   (1ULL << 1)

/* What each ABI added; a kernel handles the sum of all rows up to its own. */
static const struct {
	int abi;
	struct ruleset_attr adds;
	size_t size; /* of the struct this ABI knows */
	const char *what;
} abis[] = {
	{ 1, { .handled_fs = (1ULL << 13) - 1 }, 8, "files" },
	{ 2, { .handled_fs = LL_REFER }, 8, "moves between directories" },
	{ 3, { .handled_fs = LL_TRUNCATE }, 8, "truncation" },
	{ 4, { .handled_net = NET_BIND | NET_CONNECT }, 16, "TCP ports" },
	{ 5, { .handled_fs = LL_IOCTL_DEV }, 16, "controls of devices" },
	{ LL_SCOPES_ABI, { .scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL }, 24, "signals and abstract sockets" },
	{ LL_UNIX_ABI, { .handled_fs = LL_RESOLVE_UNIX }, 24, "sockets on paths" },
};

int landlock_lacks(int abi, struct buf *out, struct err *err)
{
	const char *before = "";

	for (size_t i = 0; i < COUNT(abis); i++) {
		if (abis[i].abi <= abi)
			continue;
		TRY(buf_addf(out, err, "%s%s", before, abis[i].what));
		before = ", ";
	}
	return 0;
}

int landlock_abi(void)
{
	long abi = syscall(NR_CREATE_RULESET, NULL, 0, CREATE_VERSION);

	return abi > 0 ? (int)abi : 0;
}

/* Where it is absent or switched off the kernel says ENOSYS or EOPNOTSUPP. */
bool landlock_forbidden(void)
{
	return syscall(NR_CREATE_RULESET, NULL, 0, CREATE_VERSION) < 0 && (errno == EPERM || errno == EACCES);
}

const char *landlock_remedy(bool forbidden)
{
	return forbidden ? "start agent6 where landlock_create_ruleset is allowed (a container's seccomp profile decides that)"
			 : "use Linux 6.2 or newer with Landlock enabled (lsm=landlock,...)";
}

int landlock_needed(struct err *err)
{
	bool forbidden;
	int r;

	if (landlock_abi() > 0)
		return 0;
	forbidden = landlock_forbidden();
	r = err_set(err, ERR_UNSUPPORTED, "%s, by which agent6's own processes are confined",
		forbidden ? "a filter around agent6 forbids Landlock" : "this kernel has no Landlock (it came with Linux 5.13)");
	err_hint(err, "%s", landlock_remedy(forbidden));
	return r;
}

static size_t handled(int abi, struct ruleset_attr *out)
{
	size_t size = 0;

	*out = (struct ruleset_attr){ 0 };
	for (size_t i = 0; i < COUNT(abis) && abis[i].abi <= abi; i++) {
		out->handled_fs |= abis[i].adds.handled_fs;
		out->handled_net |= abis[i].adds.handled_net;
		out->scoped |= abis[i].adds.scoped;
		size = abis[i].size;
	}
	return size;
}

static int add_path(int ruleset, const struct ruleset_attr *all, const struct ll_rule *rule, struct err *err)
{
	autoclose int opened = -1;
	struct path_beneath attr = { .allowed = rule->access & all->handled_fs, .parent_fd = rule->fd };
	struct stat st;

	if (rule->kind == LL_PATH) {
		opened = openat(AT_FDCWD, rule->path, O_PATH | O_CLOEXEC | (rule->follow ? 0 : O_NOFOLLOW)); /* musl's open takes two calls */
		if (opened < 0 && errno == ENOENT && rule->optional)
			return 0;
		if (opened < 0)
			return err_sys(err, errno, "landlock: open %s", rule->path);
		attr.parent_fd = opened;
	}
	if (fstat(attr.parent_fd, &st) < 0)
		return err_sys(err, errno, "landlock: stat %s", rule->path ? rule->path : "a descriptor");
	if (S_ISLNK(st.st_mode)) /* what it points to is granted by a rule of its own */
		return 0;
	if (!S_ISDIR(st.st_mode))
		attr.allowed &= LL_FILE_RIGHTS;
	if (attr.allowed == 0)
		return 0;
	if (syscall(NR_ADD_RULE, ruleset, RULE_PATH, &attr, 0) < 0)
		return err_sys(err, errno, "landlock: allow %s", rule->path ? rule->path : "a descriptor");
	return 0;
}

static int add_port(int ruleset, const struct ruleset_attr *all, const struct ll_rule *rule, struct err *err)
{
	struct net_port attr = { .allowed = rule->kind == LL_BIND ? NET_BIND : NET_CONNECT, .port = rule->port };

	if (!(all->handled_net & attr.allowed))
		return 0;
	if (syscall(NR_ADD_RULE, ruleset, RULE_NET, &attr, 0) < 0)
		return err_sys(err, errno, "landlock: allow TCP port %u", rule->port);
	return 0;
}

static int add_rule(int ruleset, const struct ruleset_attr *all, const struct ll_rule *rule, struct err *err)
{
	static const struct ll_rule moves = { .kind = LL_PATH, .path = "/", .access = LL_REFER };

	switch (rule->kind) {
	case LL_PATH:
	case LL_FD:
		return add_path(ruleset, all, rule, err);
	case LL_FS_FREE:
		return add_path(ruleset, all, &moves, err);
	case LL_CONNECT:
	case LL_BIND:
		return add_port(ruleset, all, rule, err);
	case LL_NET_FREE:
	case LL_SIGNAL_FREE:
		return 0;
	}
	BUG_IF(true);
}

int landlock_ruleset(const struct ll_rule *rules, size_t n, int *out, struct err *err)
{
	autoclose int fd = -1;
	struct ruleset_attr all;
	size_t size = handled(landlock_abi(), &all);

	for (size_t i = 0; i < n; i++)
		if (rules[i].kind == LL_NET_FREE)
			all.handled_net = 0;
		else if (rules[i].kind == LL_FS_FREE)
			all.handled_fs &= LL_REFER;
		else if (rules[i].kind == LL_SIGNAL_FREE)
			all.scoped &= ~SCOPE_SIGNAL;
	TRY(landlock_needed(err));
	fd = (int)syscall(NR_CREATE_RULESET, &all, size, 0);
	if (fd < 0 && all.scoped) { /* seen with vendor kernels: the ABI without its scopes */
		all.scoped &= SCOPE_ABSTRACT;
		fd = (int)syscall(NR_CREATE_RULESET, &all, size, 0);
	}
	if (fd < 0)
		return err_sys(err, errno, "landlock: create a ruleset");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < n; i++)
		TRY(add_rule(fd, &all, &rules[i], err));
	*out = take_fd(&fd);
	return 0;
}

int landlock_enter(int ruleset, struct err *err)
{
	if (syscall(NR_RESTRICT_SELF, ruleset, 0) < 0)
		return err_sys(err, errno, "landlock: enter");
	return 0;
}

int landlock_confine(const struct ll_rule *rules, size_t n, struct err *err)
{
	autoclose int fd = -1;

	TRY(landlock_ruleset(rules, n, &fd, err));
	return landlock_enter(fd, err);
}
