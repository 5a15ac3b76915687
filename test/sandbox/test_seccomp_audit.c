/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What no role may ever be able to ask the kernel, judged by the compiled filters. */
#include "base/arena.h"
#include "sandbox/seccomp_priv.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define MINE AUDIT_ARCH_X86_64
#else
#define MINE AUDIT_ARCH_AARCH64
#endif

#define OF(profile) (1u << (profile))

/* Our own programs, after they confined themselves: allow-lists. */
#define OWN                                                                                                  \
	(OF(SECCOMP_AGENT) | OF(SECCOMP_MONITOR) | OF(SECCOMP_RECORDER) |                                        \
		OF(SECCOMP_CLIENT) | OF(SECCOMP_CLIENT_OPEN) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER) | OF(SECCOMP_VIEW))
/* Programs that the repository or the model chose. */
#define FOREIGN                                                                                              \
	(OF(SECCOMP_COMMAND) | OF(SECCOMP_COMMAND_INET) | OF(SECCOMP_COMMAND_HARDENED) | OF(SECCOMP_COMMAND_HOSTNET) | \
		OF(SECCOMP_GIT) | OF(SECCOMP_INDEX) | \
		OF(SECCOMP_GIT_HARDENED) | OF(SECCOMP_INDEX_HARDENED))
/* Made by us, and what they start has a filter of its own. */
#define ZYGOTES (OF(SECCOMP_ZYGOTE) | OF(SECCOMP_ZYGOTE_HARDENED) | OF(SECCOMP_ZYGOTE_HOSTNET))
#define WITHOUT_NAMESPACES                                                                                   \
	(OF(SECCOMP_COMMAND_HARDENED) | OF(SECCOMP_COMMAND_HOSTNET) | OF(SECCOMP_GIT_HARDENED) | OF(SECCOMP_INDEX_HARDENED))
#define ALL (OWN | FOREIGN)

static const struct {
	const char *name;
	int nr;
	uint32_t none_of; /* profiles that must refuse it */
	uint64_t args[6];
} rows[] = {
	{ "execve", __NR_execve, OWN, { 0 } },
	{ "execveat", __NR_execveat, OWN, { 0 } },
	{ "fork", __NR_clone, OWN, { SIGCHLD } },
	{ "fork, the old way", __NR_fork, OWN | OF(SECCOMP_GIT_HARDENED), { 0 } },
	{ "vfork", __NR_vfork, OWN | OF(SECCOMP_GIT_HARDENED), { 0 } },
	{ "another process of git's", __NR_clone, OF(SECCOMP_GIT_HARDENED), { SIGCHLD } },
	{ "another process of git's, as vfork makes it", __NR_clone, OF(SECCOMP_GIT_HARDENED), { CLONE_VM | CLONE_VFORK | SIGCHLD } },
	{ "the mode of a file, unseen by a guardian", __NR_fchmodat, WITHOUT_NAMESPACES, { 0, 0, 0644 } },
	{ "the owner of a file", __NR_fchownat, WITHOUT_NAMESPACES, { 0 } },
	{ "the times of a file, unseen by a guardian", __NR_utimensat, WITHOUT_NAMESPACES, { 0 } },
	{ "the mode of any file, by its path", __NR_fchmodat, OWN, { 0, 0, 0644 } },
	{ "the same, the newer way", __NR_fchmodat2, OWN, { 0, 0, 0644 } },
	{ "the mode of the terminal", __NR_fchmod, OF(SECCOMP_VIEW) | OF(SECCOMP_CLIENT) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER), { 2, 0666 } },
	{ "the times of any file", __NR_utimensat, OWN, { 0 } },
	{ "an attribute of any file", __NR_setxattr, OWN, { 0 } },
	{ "an attribute of any link", __NR_lremovexattr, OWN, { 0 } },
	{ "shared memory by key", __NR_shmget, WITHOUT_NAMESPACES, { 0 } },
	{ "clone3", __NR_clone3, ALL, { 0 } },
	{ "a user namespace", __NR_clone, ALL, { CLONE_NEWUSER | SIGCHLD } },
	{ "a network namespace", __NR_clone, ALL, { CLONE_NEWNET | SIGCHLD } },
	{ "unshare", __NR_unshare, ALL, { CLONE_NEWUSER } },
	{ "setns", __NR_setns, ALL, { 0 } },
	{ "ptrace", __NR_ptrace, ALL | ZYGOTES, { 0 } },
	{ "process_vm_readv", __NR_process_vm_readv, ALL | OF(SECCOMP_ZYGOTE), { 0 } },
	{ "pidfd_getfd", __NR_pidfd_getfd, ALL | ZYGOTES, { 0 } },
	{ "mount", __NR_mount, ALL | OF(SECCOMP_ZYGOTE_HARDENED) | OF(SECCOMP_ZYGOTE_HOSTNET), { 0 } },
	{ "umount2", __NR_umount2, ALL, { 0 } },
	{ "pivot_root", __NR_pivot_root, ALL, { 0 } },
	{ "chroot", __NR_chroot, ALL, { 0 } },
	{ "move_mount", __NR_move_mount, ALL, { 0 } },
	{ "bpf", __NR_bpf, ALL | ZYGOTES, { 0 } },
	{ "io_uring_setup", __NR_io_uring_setup, ALL | ZYGOTES, { 0 } },
	{ "userfaultfd", __NR_userfaultfd, ALL | ZYGOTES, { 0 } },
	{ "perf_event_open", __NR_perf_event_open, ALL | ZYGOTES, { 0 } },
	{ "keyctl", __NR_keyctl, ALL | ZYGOTES, { 0 } },
	{ "open_by_handle_at", __NR_open_by_handle_at, ALL | ZYGOTES, { 0 } },
	{ "kill", __NR_kill, OWN, { 1, SIGKILL } },
	{ "tcp", __NR_socket, (ALL | OF(SECCOMP_ZYGOTE_HARDENED)) & ~(OF(SECCOMP_COMMAND) | OF(SECCOMP_COMMAND_INET) | OF(SECCOMP_COMMAND_HOSTNET) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER) | OF(SECCOMP_CLIENT_OPEN)),
		{ AF_INET, SOCK_STREAM } },
	{ "unix", __NR_socket, OF(SECCOMP_AGENT) | OF(SECCOMP_INDEX) | OF(SECCOMP_GIT) | OF(SECCOMP_MONITOR) | OF(SECCOMP_GIT_HARDENED) | OF(SECCOMP_INDEX_HARDENED) |
		OF(SECCOMP_RECORDER) | OF(SECCOMP_VIEW) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER) | OF(SECCOMP_CLIENT) | OF(SECCOMP_CLIENT_OPEN) | OF(SECCOMP_COMMAND_HARDENED) | OF(SECCOMP_COMMAND_HOSTNET) |
		OF(SECCOMP_COMMAND_INET) | OF(SECCOMP_ZYGOTE_HARDENED) | OF(SECCOMP_ZYGOTE_HOSTNET), { AF_UNIX, SOCK_STREAM } },
	{ "a pair that can be connected elsewhere", __NR_socketpair, WITHOUT_NAMESPACES | OF(SECCOMP_COMMAND_INET) |
		OF(SECCOMP_ZYGOTE_HARDENED) | OF(SECCOMP_ZYGOTE_HOSTNET) | OWN, { AF_UNIX, SOCK_DGRAM } },
	{ "a pair of another family", __NR_socketpair, FOREIGN | OF(SECCOMP_AGENT), { 30 /* AF_TIPC */, SOCK_STREAM } },
	{ "vsock", __NR_socket, ALL | ZYGOTES, { AF_VSOCK, SOCK_STREAM } },
	{ "packet", __NR_socket, ALL | ZYGOTES, { AF_PACKET, SOCK_RAW } },
	{ "connect", __NR_connect, OF(SECCOMP_CLIENT) | OF(SECCOMP_AGENT) | OF(SECCOMP_MONITOR) | OF(SECCOMP_RECORDER) |
		OF(SECCOMP_VIEW), { 0 } },
	{ "executable memory", __NR_mmap, OWN, { 0, 4096, PROT_READ | PROT_EXEC } },
	{ "memory made executable", __NR_mprotect, OWN, { 0, 4096, PROT_READ | PROT_EXEC } },
	{ "a mode behind a pointer", __NR_openat2, OF(SECCOMP_AGENT) | OF(SECCOMP_COMMAND) | OF(SECCOMP_GIT), { 0 } },
	{ "a set-uid file", __NR_fchmodat, ALL & ~OF(SECCOMP_ZYGOTE), { 0, 0, 04755 } },
	{ "udp, and so name servers", __NR_socket, OWN & ~(OF(SECCOMP_RESOLVER) | OF(SECCOMP_CLIENT_OPEN)), { AF_INET, SOCK_DGRAM } },
	{ "netlink", __NR_socket, OWN, { 16 /* AF_NETLINK */, SOCK_RAW, 0 } },
	{ "raw packets", __NR_socket, OWN, { AF_INET, SOCK_RAW } },
	{ "tcp of another protocol", __NR_socket, OWN, { AF_INET, SOCK_STREAM, 132 /* IPPROTO_SCTP */ } },
	{ "a new listener", __NR_listen, OWN, { 0 } },
	{ "a connection from outside", __NR_accept4, OWN, { 0 } },
	{ "a connection in a message", __NR_sendmsg, ALL, { 0, 0, 0x20000000 /* MSG_FASTOPEN */ } },
	{ "a connection in a sendto", __NR_sendto, ALL, { 0, 0, 0, 0x20000000 } },
	{ "urgent bytes in a message", __NR_sendmsg, ALL, { 0, 0, MSG_OOB | MSG_NOSIGNAL } },
	{ "urgent bytes in messages", __NR_sendmmsg, ALL, { 0, 0, 1, MSG_OOB } },
	{ "urgent bytes", __NR_sendto, ALL, { 0, 0, 1, MSG_OOB } },
	{ "opening a file", __NR_openat, OF(SECCOMP_CLIENT) | OF(SECCOMP_BROKER), { 0 } },
	{ "looking at a file", __NR_newfstatat, OF(SECCOMP_CLIENT) | OF(SECCOMP_BROKER), { 0 } },
	{ "removing a file", __NR_unlinkat, OF(SECCOMP_CLIENT) | OF(SECCOMP_CLIENT_OPEN) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER), { 0 } },
	{ "making a file", __NR_mknodat, OF(SECCOMP_CLIENT) | OF(SECCOMP_CLIENT_OPEN) | OF(SECCOMP_BROKER) | OF(SECCOMP_RESOLVER), { 0 } },
	{ "a name for a socket", __NR_bind, OWN, { 0 } },
	{ "a set-uid file made by open", __NR_open, ALL, { 0, O_CREAT, 04755 } },
	{ "a set-gid file made by openat", __NR_openat, ALL, { 0, 0, O_CREAT, 02755 } },
	{ "a set-uid file without a name", __NR_openat, ALL, { 0, 0, O_TMPFILE, 04755 } },
	{ "a set-uid file by creat", __NR_creat, ALL, { 0, 04755 } },
	{ "a set-gid directory", __NR_mkdir, ALL, { 0, 02755 } },
	{ "a set-gid directory by mkdirat", __NR_mkdirat, ALL, { 0, 0, 02755 } },
	{ "set-uid by chmod", __NR_chmod, ALL, { 0, 04755 } },
	{ "set-gid by fchmod", __NR_fchmod, ALL, { 0, 02755 } },
	{ "set-gid by fchmodat", __NR_fchmodat, ALL, { 0, 0, 02755 } },
	{ "set-uid by fchmodat2", __NR_fchmodat2, ALL, { 0, 0, 04755 } },
	{ "a set-uid file by mknod", __NR_mknod, ALL, { 0, S_IFREG | 04755 } },
	{ "a set-uid file by mknodat", __NR_mknodat, ALL, { 0, 0, S_IFREG | 04755 } },
	{ "a character device by mknod", __NR_mknod, ALL, { 0, S_IFCHR | 0600 } },
	{ "a disk by mknod", __NR_mknod, ALL, { 0, S_IFBLK | 0600 } },
	{ "typing for the operator", __NR_ioctl, ALL, { 0, TIOCSTI } },
	{ "pasting for the operator", __NR_ioctl, ALL, { 0, 0x541C /* TIOCLINUX */ } },
	{ "taking a terminal", __NR_ioctl, ALL, { 0, TIOCSCTTY } },
	{ "a line discipline", __NR_ioctl, ALL, { 0, TIOCSETD } },
	{ "signals for somebody by ioctl", __NR_ioctl, ALL, { 0, FIOSETOWN } },
	{ "signals for somebody by a socket", __NR_ioctl, ALL, { 0, SIOCSPGRP } },
	{ "a console's kind", __NR_ioctl, ALL, { 0, 0x4B33 /* KDGKBTYPE */ } },
	{ "the flags of an inode", __NR_ioctl, ALL, { 0, FS_IOC_SETFLAGS } },
	{ "the flags of an inode, the newer way", __NR_ioctl, ALL, { 0, FS_IOC_FSSETXATTR } },
	{ "anything of a device", __NR_ioctl, OWN, { 0, 0x1234 } },
	{ "signals for somebody by fcntl", __NR_fcntl, ALL, { 0, F_SETOWN } },
	{ "signals for somebody's thread", __NR_fcntl, ALL, { 0, 15 /* F_SETOWN_EX */ } },
	{ "being dumped again", __NR_prctl, OWN, { PR_SET_DUMPABLE, 1 } },
	{ "outliving a parent", __NR_prctl, OWN, { PR_SET_PDEATHSIG, 0 } },
	{ "being traced by somebody", __NR_prctl, OWN, { PR_SET_PTRACER, 1 } },
	{ "addresses that are known", __NR_personality, ALL, { 0x40000 /* ADDR_NO_RANDOMIZE */ } },
	{ "another's limits", __NR_prlimit64, OWN | WITHOUT_NAMESPACES, { 5 } },
	{ "another's scheduler", __NR_sched_setscheduler, OWN | WITHOUT_NAMESPACES, { 5 } },
	{ "another's parameters", __NR_sched_setparam, OWN | WITHOUT_NAMESPACES, { 5 } },
	{ "another's processors", __NR_sched_setaffinity, OWN | WITHOUT_NAMESPACES, { 5 } },
	{ "another's attributes", __NR_sched_setattr, OWN | WITHOUT_NAMESPACES, { 5 } },
	{ "another's priority", __NR_setpriority, OWN | WITHOUT_NAMESPACES, { 0, 5 } },
	{ "another's priority at the disk", __NR_ioprio_set, OWN | WITHOUT_NAMESPACES, { 1, 5 } },
	{ "a thread of git's with a namespace of its own", __NR_clone, OF(SECCOMP_GIT_HARDENED), { CLONE_THREAD | CLONE_NEWNET } },
	{ "netlink but for routes", __NR_socket, ALL | ZYGOTES, { AF_NETLINK, SOCK_RAW, 9 /* NETLINK_AUDIT */ } },
	{ "raw packets of the newer family", __NR_socket, ALL | ZYGOTES, { AF_INET6, SOCK_RAW, 58 } },
};

/* Other processes' memory, tracing, modules, clocks, keys, and what is old or odd: nothing that runs a repository's programs needs
 * it, nor anything of ours. */
static const int kernels[] = { __NR_ptrace, __NR_process_vm_writev, __NR_kcmp, __NR_pidfd_getfd, __NR_process_madvise,
	__NR_process_mrelease, __NR_userfaultfd, __NR_bpf, __NR_perf_event_open, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_swapon,
	__NR_swapoff, __NR_reboot, __NR_setdomainname, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_create_module,
	__NR_kexec_load, __NR_kexec_file_load, __NR_acct, __NR_quotactl, __NR_quotactl_fd, __NR_settimeofday, __NR_clock_settime,
	__NR_clock_adjtime, __NR_adjtimex, __NR_iopl, __NR_ioperm, __NR_modify_ldt, __NR_name_to_handle_at, __NR_open_by_handle_at,
	__NR_fanotify_init, __NR_fanotify_mark, __NR_syslog, __NR_vhangup, __NR_uselib, __NR_sysfs, __NR__sysctl, __NR_ustat,
	__NR_nfsservctl, __NR_lookup_dcookie, __NR_move_pages, __NR_migrate_pages, __NR_mbind, __NR_set_mempolicy,
	__NR_set_mempolicy_home_node, __NR_remap_file_pages, __NR_vmsplice, __NR_memfd_secret, __NR_lsm_get_self_attr,
	__NR_lsm_set_self_attr, __NR_lsm_list_modules, __NR_get_robust_list, __NR_file_setattr, __NR_io_uring_setup, __NR_io_uring_enter,
	__NR_io_uring_register };
/* Mounts and namespaces: only who makes jails in a cell. */
static const int worlds[] = { __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_open_tree, __NR_open_tree_attr,
	__NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick, __NR_mount_setattr, __NR_statmount, __NR_listmount,
	__NR_unshare, __NR_setns, __NR_sethostname, __NR_clone3 };
/* What reaches others of the same user, and what Landlock does not know of files: a guardian does that, or nobody. */
static const int others[] = { __NR_chown, __NR_lchown, __NR_fchown, __NR_fchownat, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_semget,
	__NR_semop, __NR_semctl, __NR_semtimedop, __NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open, __NR_mq_unlink,
	__NR_setxattrat, __NR_removexattrat, __NR_chmod, __NR_fchmod, __NR_fchmodat, __NR_fchmodat2, __NR_utime, __NR_utimes,
	__NR_futimesat, __NR_utimensat, __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr,
	__NR_fremovexattr };

static const struct {
	const char *name;
	const int *nr;
	size_t n;
	uint32_t none_of;
} lists[] = {
	{ "kernels", kernels, COUNT(kernels), ALL | ZYGOTES },
	{ "worlds", worlds, COUNT(worlds), ALL | OF(SECCOMP_ZYGOTE_HARDENED) | OF(SECCOMP_ZYGOTE_HOSTNET) },
	{ "others", others, COUNT(others), WITHOUT_NAMESPACES },
};

TEST(no_role_and_no_command_may_ask_for_what_nobody_needs)
{
	static const uint64_t none[6] = { 0 };
	auto_arena struct arena *mem = arena_new();
	struct seccomp_filter *f = arena_alloc(mem, sizeof(*f));
	struct err err = { 0 };

	for (enum seccomp_profile p = 0; p < SECCOMP_COUNT; p++) {
		CHECK_OK(seccomp_build(p, f, &err));
		for (size_t i = 0; i < COUNT(lists); i++)
			for (size_t k = 0; k < lists[i].n && (lists[i].none_of & OF(p)); k++)
				if (seccomp_judge(f, MINE, lists[i].nr[k], none) == 0)
					CHECK_STR(str_printf(mem, "%s allows call %d of %s", seccomp_name(p), lists[i].nr[k], lists[i].name),
						STR("nothing of the kind"));
	}
}

TEST(no_role_may_ask_the_kernel_for_what_its_part_does_not_need)
{
#ifdef AGENT6_SANITIZED
	TEST_SKIP("the sanitized build's filters let its run time do more");
#endif
	auto_arena struct arena *mem = arena_new();
	struct seccomp_filter *f = arena_alloc(mem, sizeof(*f));
	struct err err = { 0 };

	for (enum seccomp_profile p = 0; p < SECCOMP_COUNT; p++) {
		CHECK_OK(seccomp_build(p, f, &err));
		for (size_t i = 0; i < COUNT(rows); i++) {
			if (!(rows[i].none_of & OF(p)) || seccomp_judge(f, MINE, rows[i].nr, rows[i].args) != 0)
				continue;
			CHECK_STR(str_printf(mem, "%s allows %s", seccomp_name(p), rows[i].name), STR("nothing of the kind"));
		}
	}
}

/* Every call that one of our own processes may make, with whatever arguments: written a second time, so that whoever gives one of
 * them another call does it here as well. */
static const int may_base[] = {
	__NR_mmap, __NR_mprotect, __NR_munmap, __NR_mremap, __NR_madvise, __NR_brk, __NR_futex, __NR_sched_yield,
	__NR_getrandom, __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep, __NR_gettimeofday,
	__NR_time, __NR_times, __NR_getrusage, __NR_uname, __NR_sysinfo, __NR_rt_sigaction, __NR_rt_sigprocmask,
	__NR_rt_sigreturn, __NR_rt_sigpending, __NR_rt_sigtimedwait, __NR_rt_sigsuspend, __NR_sigaltstack, __NR_restart_syscall,
	__NR_exit, __NR_exit_group, __NR_getpid, __NR_gettid, __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid,
	__NR_getegid, __NR_tgkill, __NR_rseq, __NR_set_robust_list, __NR_set_tid_address, __NR_getrlimit,
	__NR_sched_getaffinity, __NR_membarrier, __NR_prlimit64, __NR_prctl, __NR_ioctl };
static const int may_io[] = {
	__NR_read, __NR_write, __NR_readv, __NR_writev, __NR_pread64, __NR_pwrite64, __NR_preadv, __NR_pwritev, __NR_lseek,
	__NR_close, __NR_close_range, __NR_dup, __NR_dup2, __NR_dup3, __NR_fstat, __NR_poll, __NR_ppoll, __NR_select,
	__NR_pselect6, __NR_epoll_create, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_wait, __NR_epoll_pwait,
	__NR_epoll_pwait2, __NR_timerfd_create, __NR_timerfd_settime, __NR_timerfd_gettime, __NR_eventfd, __NR_eventfd2,
	__NR_signalfd, __NR_signalfd4, __NR_pipe, __NR_pipe2, __NR_memfd_create, __NR_sendmsg, __NR_recvmsg, __NR_sendto,
	__NR_recvfrom, __NR_shutdown, __NR_getsockopt, __NR_splice, __NR_tee, __NR_fcntl };
static const int may_read[] = {
	__NR_open, __NR_openat, __NR_openat2, __NR_stat, __NR_lstat, __NR_newfstatat, __NR_statx, __NR_access, __NR_faccessat,
	__NR_faccessat2, __NR_readlink, __NR_readlinkat, __NR_getdents, __NR_getdents64, __NR_getcwd, __NR_chdir, __NR_fchdir,
	__NR_statfs, __NR_fstatfs, __NR_inotify_init, __NR_inotify_init1, __NR_inotify_add_watch, __NR_inotify_rm_watch,
	__NR_fadvise64, __NR_readahead, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr,
	__NR_flistxattr, __NR_flock };
static const int may_write[] = {
	__NR_mkdir, __NR_fchmod, __NR_creat, __NR_mkdirat, __NR_rmdir, __NR_unlink, __NR_unlinkat, __NR_rename, __NR_renameat,
	__NR_renameat2, __NR_link, __NR_linkat, __NR_symlink, __NR_symlinkat, __NR_ftruncate, __NR_fsync, __NR_fdatasync,
	__NR_sync_file_range, __NR_fallocate, __NR_copy_file_range, __NR_sendfile, __NR_umask, __NR_fsetxattr,
	__NR_fremovexattr };
static const int may_pair[] = { __NR_socketpair, __NR_getsockname, __NR_getpeername, __NR_setsockopt, __NR_sendmmsg, __NR_recvmmsg };
static const int may_lookup[] = { __NR_socket, __NR_connect, __NR_getsockname, __NR_getpeername, __NR_setsockopt, __NR_recvmmsg, __NR_sendmmsg,
#ifndef __GLIBC__
	__NR_bind,
#endif
};
static const int may_dial[] = { __NR_socket, __NR_connect, __NR_setsockopt };
static const int may_leave[] = { __NR_setsid };
static const int may_threads[] = { __NR_clone, __NR_socketpair };
static const int may_parent[] = { __NR_wait4, __NR_waitid, __NR_pidfd_send_signal, __NR_socketpair };

#define PIN(list) { list, COUNT(list) }

static const struct {
	enum seccomp_profile profile;
	struct {
		const int *nr;
		size_t n;
	} may[6];
} pins[] = {
	{ SECCOMP_AGENT, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_write) } },
	{ SECCOMP_MONITOR, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_write), PIN(may_parent), PIN(may_leave) } },
	{ SECCOMP_RECORDER, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_write) } },
	{ SECCOMP_CLIENT, { PIN(may_base), PIN(may_io), PIN(may_pair) } },
	{ SECCOMP_CLIENT_OPEN, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_lookup), PIN(may_threads) } },
	{ SECCOMP_BROKER, { PIN(may_base), PIN(may_io), PIN(may_dial) } },
	{ SECCOMP_RESOLVER, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_lookup) } },
	{ SECCOMP_VIEW, { PIN(may_base), PIN(may_io), PIN(may_read), PIN(may_write) } },
};
/* What the lists above hold and one of these does not have: a mode behind a pointer, and who sees the terminal changes no modes. */
static const struct {
	enum seccomp_profile profile;
	int nr;
} but[] = { { SECCOMP_AGENT, __NR_openat2 }, { SECCOMP_VIEW, __NR_fchmod }, { SECCOMP_VIEW, __NR_fsetxattr },
	{ SECCOMP_VIEW, __NR_fremovexattr } };

static bool is_pinned(size_t pin, int nr)
{
	for (size_t i = 0; i < COUNT(but); i++)
		if (but[i].profile == pins[pin].profile && but[i].nr == nr)
			return false;
	for (size_t l = 0; l < COUNT(pins[pin].may); l++)
		for (size_t i = 0; i < pins[pin].may[l].n; i++)
			if (pins[pin].may[l].nr[i] == nr)
				return true;
	return false;
}

TEST(the_calls_of_each_role_are_these_and_no_others)
{
#ifdef AGENT6_SANITIZED
	TEST_SKIP("the sanitized build's filters let its run time do more");
#endif
	auto_arena struct arena *mem = arena_new();
	uint32_t seen = 0;

	for (size_t p = 0; p < COUNT(pins); p++) {
		const struct seccomp_table *t = &seccomp_tables[pins[p].profile];
		enum verdict v[NR_LAST + 1];

		seen |= OF(pins[p].profile);
		CHECK_INT(t->dflt, V_EPERM);
		for (int nr = 0; nr <= NR_LAST; nr++)
			v[nr] = t->dflt;
		for (size_t s = 0; s < SECCOMP_SETS_MAX && t->sets[s]; s++)
			for (size_t i = 0; i < t->sets[s]->n; i++)
				if (t->sets[s]->rows[i].nr >= 0)
					v[t->sets[s]->rows[i].nr] = t->sets[s]->rows[i].verdict;
		for (int nr = 0; nr <= NR_LAST; nr++) {
			bool may = v[nr] == V_ALLOW || v[nr] >= VERDICT_CHECKS || v[nr] == V_NOTIFY;

			if (may != is_pinned(p, nr))
				CHECK_STR(str_printf(mem, "%s, call %d: %s", t->name, nr, may ? "it may" : "it may not"), STR("as written here"));
		}
	}
	CHECK(seen == OWN); /* every role of ours is here */
}

/* The agent, once it is one: nothing to run, nobody to reach. */
TEST(the_agents_filter_is_a_list_of_what_it_may)
{
	static const int needs[] = { __NR_read, __NR_write, __NR_openat, __NR_sendmsg, __NR_recvmsg, __NR_renameat2, __NR_fdatasync };
	static const uint64_t none[6] = { 0 };
	struct seccomp_filter f;
	struct err err = { 0 };
	int allowed = 0;

	CHECK_OK(seccomp_build(SECCOMP_AGENT, &f, &err));
	for (size_t i = 0; i < COUNT(needs); i++)
		CHECK_INT(seccomp_judge(&f, MINE, needs[i], none), 0);
	for (int nr = 0; nr < 512; nr++)
		allowed += seccomp_judge(&f, MINE, nr, none) == 0;
	CHECK(allowed < 170);
}
