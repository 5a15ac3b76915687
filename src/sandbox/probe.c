/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/probe.h"
#include "sandbox/landlock.h"
#include "sandbox/namespace.h"
#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static bool file_says(const char *path, char first)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[2] = { 0 };

	return fd >= 0 && read(fd, text, 2) >= 1 && text[0] == first && (text[1] == '\n' || text[1] == '\0');
}

static void set_name(char out[PROBE_LABEL_MAX], struct str name)
{
	name = str_head(name, PROBE_LABEL_MAX - 1);
	for (size_t i = 0; i < name.n; i++)
		out[i] = name.p[i] > ' ' && name.p[i] < 0x7f ? name.p[i] : '?';
	out[name.n] = '\0';
}

void probe_set_apparmor(struct probe *p, struct str label)
{
	struct str name = str_trim(label);

	set_name(p->apparmor, str_head(name, str_find(name, STR(" ("))));
	snprintf(p->apparmor_reason, sizeof(p->apparmor_reason), "the AppArmor profile \"%s\" does not let user namespaces be made and used",
		p->apparmor);
}

void probe_set_selinux(struct probe *p, struct str label)
{
	struct str rest = label, name;

	str_cut(&rest, ':');
	str_cut(&rest, ':');
	name = str_trim(str_cut(&rest, ':'));
	set_name(p->selinux, name);
	snprintf(p->selinux_reason, sizeof(p->selinux_reason), "SELinux does not let the domain \"%s\" make user namespaces", p->selinux);
}

/* Of a module that is not used the kernel refuses to say. The file without a module's name is of whichever labels more than files. */
static void ask_labels(struct probe *p)
{
	static const struct {
		const char *path;
		void (*set)(struct probe *p, struct str label);
	} files[] = { { "/proc/self/attr/apparmor/current", probe_set_apparmor }, { "/proc/self/attr/current", probe_set_selinux } };

	for (size_t i = 0; i < COUNT(files) && !p->apparmor[0]; i++) { /* where AppArmor labels, SELinux does not */
		autoclose int fd = open(files[i].path, O_RDONLY | O_CLOEXEC);
		char text[256];
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		while (n > 0 && text[n - 1] == '\0') /* SELinux's ends with one */
			n--;
		files[i].set(p, n > 0 ? str_of(text, (size_t)n) : STR(""));
	}
}

static bool in_container(void)
{
	static const char *const marks[] = { "/.dockerenv", "/run/.containerenv" };

	for (size_t i = 0; i < COUNT(marks); i++)
		if (access(marks[i], F_OK) == 0)
			return true;
	return false;
}

/* An exit status has eight bits: errnos that can come here are below 128, the highest says where. */
#define WAS_MADE 128

/* Some hosts let the namespace be made and take its power away: so the first mount and lo are part of the question. */
static int try_namespaces(bool map, uid_t uid, gid_t gid)
{
	struct err err = { 0 };

	if (map && ns_map_self(uid, gid, &err) < 0)
		return WAS_MADE | err.sys;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return WAS_MADE | errno;
	if (ns_lo_up(&err) < 0)
		return WAS_MADE | err.sys;
	if (!map && unshare(CLONE_NEWUSER) < 0) /* root needs one for its id map and to lock the cell */
		return errno;
	return 0;
}

/* One that gives no right to make the others: who may make it and nothing in it is refused by something around us. */
static bool can_be_made_alone(void)
{
	int pidfd = -1, st = 0;
	pid_t pid = -1;
	int r = ns_clone(CLONE_NEWUSER, &pid, &pidfd, ERR_DISCARD);

	if (r == 0)
		_exit(0);
	if (r < 0)
		return false;
	waitpid(pid, &st, 0);
	close(pidfd);
	return true;
}

static int probe_userns(bool real_root)
{
	uid_t uid = geteuid(); /* before the namespace, in which it is nobody until mapped */
	gid_t gid = getegid();
	unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
	struct err err = { 0 };
	int pidfd = -1, st = 0;
	pid_t pid = -1;
	int r = ns_clone(flags | (real_root ? 0 : CLONE_NEWUSER), &pid, &pidfd, &err);

	if (r < 0)
		return real_root || !can_be_made_alone() ? err.sys : WAS_MADE | err.sys;
	if (r == 0)
		_exit(try_namespaces(!real_root, uid, gid));
	waitpid(pid, &st, 0);
	close(pidfd);
	return WIFEXITED(st) ? WEXITSTATUS(st) : EINTR;
}

int probe_look(struct probe *out, struct err *err)
{
	struct probe p = { .real_root = ns_is_real_root(), .landlock = landlock_abi(), .landlock_forbidden = landlock_forbidden(), .container = in_container() };
	struct seccomp_filter *filter = mem_alloc(sizeof(*filter));
	struct utsname u;

	if (uname(&u) < 0) {
		free(filter);
		return err_sys(err, errno, "ask for the kernel's name");
	}
	snprintf(p.kernel, sizeof(p.kernel), "%.60s", u.release);
	p.linux_arch = seccomp_build(SECCOMP_COMMAND, filter, ERR_DISCARD) == 0;
	free(filter);
	/* Strict mode 1 with a bad argument: EINVAL where filters exist, ENOSYS where not. */
	p.seccomp = syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, NULL) < 0 && errno != ENOSYS;
	p.apparmor_restricts = file_says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1');
	p.userns_zero = file_says("/proc/sys/user/max_user_namespaces", '0');
	p.userns_privileged = !p.real_root && file_says("/proc/sys/kernel/unprivileged_userns_clone", '0');
	ask_labels(&p);
	*out = p;
	return 0;
}

void probe_try(struct probe *p)
{
	int r = probe_userns(p->real_root);

	p->userns = r == 0;
	p->userns_empty = r & WAS_MADE;
	p->userns_errno = r & (WAS_MADE - 1);
}

int probe_host(struct probe *out, struct err *err)
{
	TRY(probe_look(out, err));
	probe_try(out);
	return 0;
}

/* ---- said by the one that tried ---- */

int probe_tell(const struct probe *p, struct buf *out, struct err *err)
{
	return buf_addf(out, err, "%d %d %s\n", p->userns_errno, p->userns_empty, p->apparmor);
}

int probe_hear(struct probe *p, struct str line, struct err *err)
{
	struct str rest = str_trim_suffix(line, STR("\n")), number = str_cut(&rest, ' '), empty = str_cut(&rest, ' ');
	int64_t n;

	if (str_to_i64(number, &n, ERR_DISCARD) < 0 || n < 0 || n >= WAS_MADE || (!str_eqz(empty, "0") && !str_eqz(empty, "1")) ||
		(n == 0 && str_eqz(empty, "0")) || rest.n >= PROBE_LABEL_MAX || str_find_any(rest, STR(" \n")) < rest.n)
		return err_set(err, ERR_INVALID, "not what agent6-jail says of user namespaces");
	p->userns = false;
	p->userns_errno = (int)n;
	p->userns_empty = str_eqz(empty, "1");
	p->apparmor_own = !str_eqz(rest, p->apparmor);
	probe_set_apparmor(p, rest);
	return 0;
}

enum cause { CAUSE_NONE, CAUSE_ARCH, CAUSE_APPARMOR, CAUSE_ZERO, CAUSE_PRIVILEGED, CAUSE_PROFILE, CAUSE_OWN_PROFILE, CAUSE_SELINUX, CAUSE_NESTED,
	CAUSE_CONTAINER, CAUSE_OTHER, CAUSE_COUNT };

static const struct {
	const char *reason, *remedy;
} causes[CAUSE_COUNT] = {
	[CAUSE_NONE] = { "", "" },
	[CAUSE_ARCH] = { "there is no system-call filter for this machine (x86_64 and aarch64 have one)",
		"run agent6 on such a machine" },
	[CAUSE_APPARMOR] = { "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)",
		"run \"sudo agent6 system apparmor install\"" },
	[CAUSE_ZERO] = { "user namespaces are switched off (user.max_user_namespaces = 0)",
		"ask the administrator to raise user.max_user_namespaces, or use profile = \"hardened\"" },
	[CAUSE_PRIVILEGED] = { "user namespaces are switched off for all but root (kernel.unprivileged_userns_clone = 0)",
		"ask the administrator to set kernel.unprivileged_userns_clone = 1, or use profile = \"hardened\"" },
	[CAUSE_PROFILE] = { NULL, /* it has a name */
		"run \"sudo agent6 system apparmor install\"; where that profile lets no other begin, have it allow \"userns,\", or use "
		"profile = \"hardened\"" },
	[CAUSE_OWN_PROFILE] = { NULL, "have that profile, which is agent6-jail's, allow \"userns,\", or use profile = \"hardened\"" },
	[CAUSE_SELINUX] = { NULL, "start agent6 in a domain that may (unconfined_t), have the policy allow this one user_namespace { create }, or "
		"use profile = \"hardened\"" },
	[CAUSE_NESTED] = { "namespaces can be made here, but nothing can be mounted in them: agent6 runs inside another sandbox "
			   "(Landlock, AppArmor or SELinux)",
		"start agent6 outside of it, or use profile = \"hardened\"" },
	[CAUSE_CONTAINER] = { "this container does not let user namespaces be made",
		"start the container with a seccomp profile that allows them, or use profile = \"hardened\"" },
	[CAUSE_OTHER] = { "this host does not let user namespaces be made", "use profile = \"hardened\"" },
};

/* AppArmor says EACCES, where other reasons say EPERM or ENOSPC; a profile that lets a namespace be made and nothing in it be
 * done looks like any other sandbox but for its name. */
static bool profile_refuses(const struct probe *p)
{
	return p->apparmor[0] && strcmp(p->apparmor, "unconfined") != 0 && (p->userns_errno == EACCES || p->userns_empty);
}

static enum cause find_cause(const struct probe *p)
{
	if (!p->linux_arch)
		return CAUSE_ARCH;
	if (p->userns)
		return CAUSE_NONE;
	return p->apparmor_restricts ? CAUSE_APPARMOR
		: p->userns_zero     ? CAUSE_ZERO
		: p->userns_privileged ? CAUSE_PRIVILEGED
		: profile_refuses(p) ? (p->apparmor_own ? CAUSE_OWN_PROFILE : CAUSE_PROFILE)
		: p->selinux[0] && p->userns_errno == EACCES ? CAUSE_SELINUX
		: p->userns_empty    ? CAUSE_NESTED
		: p->container	     ? CAUSE_CONTAINER
				     : CAUSE_OTHER;
}

const char *probe_reason(const struct probe *p)
{
	enum cause cause = find_cause(p);
	const char *reason = causes[cause].reason;

	return reason ? reason : cause == CAUSE_SELINUX ? p->selinux_reason : p->apparmor_reason;
}

const char *probe_remedy(const struct probe *p)
{
	return causes[find_cause(p)].remedy;
}

static int refuse(const struct probe *p, const char *wanted, struct err *err)
{
	err_set(err, ERR_UNSUPPORTED, "profile \"%s\" is not possible here: %s", wanted, probe_reason(p));
	err_hint(err, "%s", probe_remedy(p));
	return -ERR_UNSUPPORTED;
}

static int resolve_strict(const struct probe *p, struct buf *notice, struct err *err)
{
	if (!p->linux_arch || !p->userns)
		return refuse(p, "strict", err);
	if (p->landlock == 0)
		return buf_addf(notice, err, "%s Landlock: one layer of the jail is missing",
			p->landlock_forbidden ? "a filter around agent6 forbids" : "this kernel has no");
	return 0;
}

static int resolve_hardened(const struct probe *p, struct buf *notice, struct err *err)
{
	if (!p->linux_arch)
		return refuse(p, "hardened", err);
	if (p->landlock < PROBE_LANDLOCK_MIN || !p->seccomp) {
		err_set(err, ERR_UNSUPPORTED,
			"profile \"hardened\" is not possible here: it needs Landlock ABI %d and seccomp, %s "
			"ABI %d%s",
			PROBE_LANDLOCK_MIN, p->landlock_forbidden ? "a filter around agent6 forbids Landlock, which leaves" : "this kernel has",
			p->landlock, p->landlock > 0 ? ", under which any file can be truncated" : "");
		err_hint(err, "%s", landlock_remedy(p->landlock_forbidden));
		return -ERR_UNSUPPORTED;
	}
	if (p->landlock < PROBE_LANDLOCK_SCOPES)
		return buf_addf(notice, err, "this kernel's Landlock (ABI %d) does not confine signals: commands can send them to "
					     "every process of this user", p->landlock);
	return 0;
}

int probe_resolve(const struct probe *p, enum probe_wish wish, enum policy_profile *out, struct buf *notice,
	struct err *err)
{
	switch (wish) {
	case WISH_STRICT:
		TRY(resolve_strict(p, notice, err));
		*out = PROFILE_STRICT;
		return 0;
	case WISH_HARDENED:
		TRY(resolve_hardened(p, notice, err));
		*out = PROFILE_HARDENED;
		return 0;
	case WISH_NONE:
		TRY(buf_addz(notice, "UNSANDBOXED: commands run with all of this user's rights", err));
		*out = PROFILE_NONE;
		return 0;
	case WISH_AUTO:
		break;
	}
	if (p->linux_arch && p->userns) {
		TRY(resolve_strict(p, notice, err));
		*out = PROFILE_STRICT;
		return 0;
	}
	/* Weaker, and said so; never from there to nothing. */
	if (resolve_hardened(p, notice, err) < 0) {
		if (p->linux_arch)
			err_wrap(err, "profile \"strict\" is not possible here, because %s", probe_reason(p));
		return -ERR_UNSUPPORTED;
	}
	if (p->landlock < PROBE_LANDLOCK_SCOPES) {
		err_set(err, ERR_UNSUPPORTED, "strict is not possible here: %s; and under \"hardened\" on this kernel (Landlock "
					      "ABI %d) a command could send signals to every process of this user", probe_reason(p),
			p->landlock);
		err_hint(err, "%s; or set sandbox.profile = \"hardened\" if that is acceptable", probe_remedy(p));
		return -ERR_UNSUPPORTED;
	}
	buf_clear(notice);
	TRY(buf_addf(notice, err, "commands run under \"hardened\" instead of \"strict\": %s; %s", probe_reason(p),
		probe_remedy(p)));
	*out = PROFILE_HARDENED;
	return 0;
}
