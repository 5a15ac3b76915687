/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What the kernel is asked for. Each line of the report says what was tried and with which errno it failed, or
 * HOLE when it did not fail. */
#include "evil.h"
#include "netprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static void judge(const struct evil *e, const char *what, const char *on, long r)
{
	int sys = errno;

	if (r < 0)
		evil_say(e, "denied %s %s: %s", what, on, strerrorname_np(sys));
	else
		evil_say(e, "HOLE %s %s = %ld", what, on, r);
}

/* ---- files ---- */

static const char *const outside[] = { "../canary", "../../home/secret", "../../home/.config/agent6/config.toml",
	"/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/proc/1/environ", "/proc/1/root/etc/shadow", "/proc/1/mem",
	"/proc/kcore", "/proc/sys/kernel/core_pattern", "/sys/kernel/vmcoreinfo", "/dev/tty", "/dev/mem", "/dev/kmsg",
	"/root/.ssh/id_ed25519", "/var/lib/dpkg/status", "/run/utmp" };
static const char *const places[] = { "../new", "/new", "/tmp/new", "/usr/new", "/etc/new", "/dev/shm/new", "/var/tmp/new",
	"/run/new", "/proc/new", "../../home/new" };
static const char *const git_files[] = { ".git/config", ".git/HEAD", ".git/hooks/post-checkout", ".git/index",
	".git/info/attributes", ".git/refs/heads/main" };

static void read_outside(struct evil *e)
{
	char bytes[4096];

	for (size_t i = 0; i < COUNT(outside); i++) {
		int fd = open(outside[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

		judge(e, "read", outside[i], fd);
		if (fd < 0)
			continue;
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n > 0)
			evil_say_bytes(e, "bytes", str_of(bytes, (size_t)n));
		close(fd);
	}
}

static void write_outside(struct evil *e)
{
	for (size_t i = 0; i < COUNT(outside); i++) {
		judge(e, "write", outside[i], open(outside[i], O_WRONLY | O_NONBLOCK | O_NOCTTY));
		if (outside[i][0] == '/') /* if there were a hole, the machine should survive it */
			continue;
		judge(e, "truncate", outside[i], truncate(outside[i], 0));
		judge(e, "unlink", outside[i], unlink(outside[i]));
		judge(e, "link", outside[i], link(outside[i], "stolen"));
		judge(e, "rename", outside[i], rename(outside[i], "stolen"));
	}
	for (size_t i = 0; i < COUNT(places); i++) {
		judge(e, "create", places[i], open(places[i], O_WRONLY | O_CREAT | O_EXCL, 0644));
		judge(e, "mkdir", places[i], mkdir(places[i], 0755));
		judge(e, "move-out", places[i], rename("victim", places[i]));
		judge(e, "link-out", places[i], link("victim", places[i]));
		judge(e, "symlink-out", places[i], symlink("victim", places[i]));
	}
}

static void through_links(struct evil *e)
{
	static const char *const ways[] = { "../canary", "../../home/secret", "/etc/shadow", "/proc/self/root/etc/shadow",
		"/proc/self/cwd/../canary", "/proc/self/environ" };

	for (size_t i = 0; i < COUNT(ways); i++) {
		unlink("way");
		if (symlink(ways[i], "way") < 0)
			evil_say(e, "FAIL symlink in the workspace");
		judge(e, "through-link-read", ways[i], open("way", O_RDONLY | O_NONBLOCK));
		judge(e, "through-link-write", ways[i], open("way", O_WRONLY | O_NONBLOCK));
	}
	unlink("way");
	for (size_t i = 0; i < COUNT(git_files); i++) {
		if (symlink(git_files[i], "way") < 0)
			evil_say(e, "FAIL symlink in the workspace");
		judge(e, "through-link-git", git_files[i], open("way", O_WRONLY | O_CREAT, 0644));
		unlink("way");
	}
}

static void write_git(struct evil *e)
{
	for (size_t i = 0; i < COUNT(git_files); i++) {
		judge(e, "git-write", git_files[i], open(git_files[i], O_WRONLY | O_CREAT, 0755));
		judge(e, "git-unlink", git_files[i], unlink(git_files[i]));
		judge(e, "git-truncate", git_files[i], truncate(git_files[i], 0));
		judge(e, "git-replace", git_files[i], rename("victim", git_files[i]));
		judge(e, "git-link", git_files[i], link("victim", git_files[i]));
		judge(e, "git-exchange", git_files[i],
			syscall(SYS_renameat2, AT_FDCWD, "victim", AT_FDCWD, git_files[i], 2 /* RENAME_EXCHANGE */));
	}
	judge(e, "git-move", ".git", rename(".git", "moved"));
	judge(e, "git-swap", ".git", syscall(SYS_renameat2, AT_FDCWD, ".git", AT_FDCWD, "dir", 2));
	judge(e, "git-chmod", ".git/config", chmod(".git/config", 0777));
	judge(e, "git-mkdir", ".git/hooks2", mkdir(".git/hooks2", 0755));
}

/* What stands in an inode beside its bytes: Landlock knows none of it. */
static void metadata(struct evil *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	static const char *const own[] = { "../canary", "../../home/secret" };

	for (size_t i = 0; i < COUNT(own); i++) {
		judge(e, "chmod", own[i], chmod(own[i], 0700));
		judge(e, "fchmodat", own[i], syscall(SYS_fchmodat, AT_FDCWD, own[i], 0700));
		judge(e, "fchmodat2", own[i], syscall(452 /* fchmodat2 */, AT_FDCWD, own[i], 0700, 0));
		judge(e, "fchmod", own[i], fchmod(open(own[i], O_PATH | O_CLOEXEC), 0700));
		judge(e, "chown", own[i], chown(own[i], getuid(), getgid()));
		judge(e, "utimensat", own[i], utimensat(AT_FDCWD, own[i], times, 0));
		judge(e, "setxattr", own[i], setxattr(own[i], "user.evil", "x", 1, 0));
		judge(e, "lsetxattr", own[i], lsetxattr(own[i], "user.evil", "x", 1, 0));
		judge(e, "removexattr", own[i], removexattr(own[i], "user.evil"));
	}
}

/* A file that gives its owner's rights to who runs it. */
static void set_id_bits(struct evil *e)
{
	struct open_how how = { .flags = O_CREAT | O_WRONLY, .mode = 04755 };

	judge(e, "setuid-open", "s1", open("s1", O_CREAT | O_WRONLY, 04755));
	judge(e, "setuid-chmod", "victim", chmod("victim", 04755));
	judge(e, "setuid-fchmod", "victim", fchmod(open("victim", O_WRONLY), 02755));
	judge(e, "setuid-mknod", "s2", mknod("s2", S_IFREG | 04755, 0));
	judge(e, "device", "s3", mknod("s3", S_IFCHR | 0666, 0x103));
	judge(e, "setuid-openat2", "s4", syscall(SYS_openat2, AT_FDCWD, "s4", &how, sizeof(how)));
}

/* ---- processes ---- */

static void execute(struct evil *e)
{
	static char *const argv[] = { "sh", "-c", "exit 0", NULL };
	static char *const env[] = { NULL };
	int fd = memfd_create("prog", 0);

	judge(e, "execve", "/bin/sh", execve("/bin/sh", argv, env));
	judge(e, "execve", "/proc/self/exe", execve("/proc/self/exe", argv, env));
	judge(e, "execveat", "memfd", syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH));
	judge(e, "execve", "/usr/bin/git", execve("/usr/bin/git", argv, env));
	judge(e, "fork", "", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	judge(e, "clone-newuser", "", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	judge(e, "thread", "", syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0));
	judge(e, "clone3", "", syscall(SYS_clone3, NULL, 0));
	judge(e, "mmap-exec", "memory", (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	judge(e, "mmap-exec", "memfd", (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0));
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	judge(e, "mprotect-exec", "", mprotect(p, 4096, PROT_READ | PROT_EXEC));
	judge(e, "kill", "init", kill(1, 0));
	judge(e, "kill", "all", kill(-1, 0));
	judge(e, "ptrace", "init", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	judge(e, "dumpable", "", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static void sockets(struct evil *e)
{
	static const struct { int family, type; const char *name; } all[] = { { AF_UNIX, SOCK_STREAM, "unix" },
		{ AF_INET, SOCK_STREAM, "tcp" }, { AF_INET, SOCK_DGRAM, "udp" }, { AF_INET6, SOCK_STREAM, "tcp6" },
		{ AF_NETLINK, SOCK_RAW, "netlink" }, { AF_PACKET, SOCK_RAW, "packet" }, { AF_VSOCK, SOCK_STREAM, "vsock" },
		{ AF_ALG, SOCK_SEQPACKET, "alg" }, { 44, SOCK_RAW, "xdp" }, { AF_INET, SOCK_RAW, "raw" } };
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "../../home/socket" };

	for (size_t i = 0; i < COUNT(all); i++)
		judge(e, "socket", all[i].name, socket(all[i].family, all[i].type, 0));
	for (int fd = 3; fd < 8; fd++)
		judge(e, "connect", "channel", connect(fd, (struct sockaddr *)&sa, sizeof(sa)));
	judge(e, "bind", "channel", bind(4, (struct sockaddr *)&sa, sizeof(sa)));
	judge(e, "io_uring", "", syscall(SYS_io_uring_setup, 8, NULL));
}

static void kernel(struct evil *e)
{
	const struct { const char *name; long nr; } calls[] = { { "mount", SYS_mount }, { "umount2", SYS_umount2 },
		{ "pivot_root", SYS_pivot_root }, { "chroot", SYS_chroot }, { "unshare", SYS_unshare },
		{ "setns", SYS_setns }, { "open_tree", SYS_open_tree }, { "fsopen", SYS_fsopen },
		{ "move_mount", SYS_move_mount }, { "mount_setattr", SYS_mount_setattr }, { "bpf", SYS_bpf },
		{ "userfaultfd", SYS_userfaultfd }, { "perf_event_open", SYS_perf_event_open }, { "keyctl", SYS_keyctl },
		{ "add_key", SYS_add_key }, { "init_module", SYS_init_module }, { "kexec_load", SYS_kexec_load },
		{ "process_vm_readv", SYS_process_vm_readv }, { "pidfd_getfd", SYS_pidfd_getfd },
		{ "open_by_handle_at", SYS_open_by_handle_at }, { "name_to_handle_at", SYS_name_to_handle_at },
		{ "fanotify_init", SYS_fanotify_init }, { "quotactl", SYS_quotactl }, { "acct", SYS_acct },
		{ "syslog", SYS_syslog }, { "sethostname", SYS_sethostname }, { "settimeofday", SYS_settimeofday },
		{ "swapon", SYS_swapon }, { "reboot", SYS_reboot }, { "capset", SYS_capset },
		{ "x32", 0x40000000L }, { "unknown", 4000 } };

	for (size_t i = 0; i < COUNT(calls); i++)
		judge(e, "call", calls[i].name, syscall(calls[i].nr, CLONE_NEWUSER, "", 0L, 0L, 0L));
}

static void own_environment(struct evil *e)
{
	size_t n = 0;

	while (environ && environ[n])
		evil_say_bytes(e, "environment", str_from(environ[n++]));
	evil_say(e, "environment has %zu", n);
}

void evil_probe(struct evil *e)
{
	int fd = open("victim", O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || mkdir("dir", 0755) < 0)
		evil_say(e, "FAIL the workspace itself must be writable");
	read_outside(e);
	write_outside(e);
	through_links(e);
	write_git(e);
	metadata(e);
	set_id_bits(e);
	sockets(e);
	kernel(e);
	own_environment(e);
	if (e->confined)
		execute(e);
}

/* What git would believe in, and run. */
static bool make_repository(void)
{
	static const char *const dirs[] = { ".git", ".git/objects", ".git/refs", ".git/hooks" };
	static const struct {
		const char *name, *text;
	} files[] = { { ".git/HEAD", "ref: refs/heads/main\n" },
		{ ".git/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch owned; false\n" } };
	bool made = true;

	for (size_t i = 0; i < COUNT(dirs); i++)
		made = (mkdir(dirs[i], 0755) == 0 || errno == EEXIST) && made;
	for (size_t i = 0; i < COUNT(files); i++) {
		int fd = open(files[i].name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		size_t n = strlen(files[i].text);

		made = fd >= 0 && write(fd, files[i].text, n) == (ssize_t)n && made;
		close(fd);
	}
	return made;
}

/* The run is said to be over while it is made anew, until somebody ends us. */
void evil_repository(struct evil *e)
{
	evil_say(e, "repository %s", make_repository() ? "made" : "NOT MADE");
	evil_done(e);
	for (;;)
		(void)make_repository();
}

static void say_net(void *self, const char *line)
{
	evil_say(self, "net %s", line);
}

void evil_net(struct evil *e)
{
	char targets[2048] = "";
	int fd = open("net.targets", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, targets, sizeof(targets) - 1) <= 0)
		evil_say(e, "FAIL there are no net.targets");
	close(fd);
	netprobe_run(targets, say_net, e);
}
