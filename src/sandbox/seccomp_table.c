/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The system calls of every role, as data. A set lists calls with one idea in common; a profile is a default
 * and the sets that change it, the later one winning. Reasons per call: docs/sandbox.md, "System calls". */
#include "sandbox/seccomp_priv.h"

#define NR(name) __NR_##name

/* Kernel surface that no command needs: other processes' memory, tracing, modules, clocks, keys. */
static const struct seccomp_row deny_kernel_rows[] = {
	{ NR(ptrace), V_EPERM }, { NR(process_vm_readv), V_EPERM }, { NR(process_vm_writev), V_EPERM },
	{ NR(kcmp), V_EPERM }, { NR(pidfd_getfd), V_EPERM }, { NR(process_madvise), V_EPERM },
	{ NR(process_mrelease), V_EPERM }, { NR(userfaultfd), V_EPERM }, { NR(bpf), V_EPERM },
	{ NR(perf_event_open), V_EPERM }, { NR(keyctl), V_EPERM }, { NR(add_key), V_EPERM },
	{ NR(request_key), V_EPERM }, { NR(swapon), V_EPERM }, { NR(swapoff), V_EPERM }, { NR(reboot), V_EPERM },
	{ NR(setdomainname), V_EPERM }, { NR(init_module), V_EPERM }, { NR(finit_module), V_EPERM },
	{ NR(delete_module), V_EPERM }, { NR(create_module), V_EPERM }, { NR(kexec_load), V_EPERM },
	{ NR(kexec_file_load), V_EPERM }, { NR(acct), V_EPERM }, { NR(quotactl), V_EPERM },
	{ NR(quotactl_fd), V_EPERM }, { NR(settimeofday), V_EPERM }, { NR(clock_settime), V_EPERM },
	{ NR(clock_adjtime), V_EPERM }, { NR(adjtimex), V_EPERM }, { NR(iopl), V_EPERM }, { NR(ioperm), V_EPERM },
	{ NR(modify_ldt), V_EPERM }, { NR(name_to_handle_at), V_EPERM }, { NR(open_by_handle_at), V_EPERM },
	{ NR(fanotify_init), V_EPERM }, { NR(fanotify_mark), V_EPERM }, { NR(syslog), V_EPERM },
	{ NR(vhangup), V_EPERM }, { NR(uselib), V_EPERM }, { NR(sysfs), V_EPERM }, { NR(_sysctl), V_EPERM },
	{ NR(ustat), V_EPERM }, { NR(nfsservctl), V_EPERM }, { NR(lookup_dcookie), V_EPERM },
	{ NR(move_pages), V_EPERM }, { NR(migrate_pages), V_EPERM }, { NR(mbind), V_EPERM },
	{ NR(set_mempolicy), V_EPERM }, { NR(set_mempolicy_home_node), V_EPERM },
	{ NR(remap_file_pages), V_EPERM }, { NR(vmsplice), V_EPERM }, { NR(memfd_secret), V_EPERM },
	{ NR(lsm_get_self_attr), V_EPERM }, { NR(lsm_set_self_attr), V_EPERM }, { NR(lsm_list_modules), V_EPERM },
	{ NR(get_robust_list), V_EPERM }, { NR(file_setattr), V_EPERM }, { NR(io_uring_setup), V_ENOSYS },
	{ NR(io_uring_enter), V_ENOSYS }, { NR(io_uring_register), V_ENOSYS },
};
static const struct seccomp_set deny_kernel = { deny_kernel_rows, COUNT(deny_kernel_rows) };

/* Making or changing namespaces and mounts. */
static const struct seccomp_row deny_world_rows[] = {
	{ NR(mount), V_EPERM }, { NR(umount2), V_EPERM }, { NR(pivot_root), V_EPERM }, { NR(chroot), V_EPERM },
	{ NR(open_tree), V_EPERM }, { NR(open_tree_attr), V_EPERM }, { NR(move_mount), V_EPERM },
	{ NR(fsopen), V_EPERM }, { NR(fsconfig), V_EPERM }, { NR(fsmount), V_EPERM }, { NR(fspick), V_EPERM },
	{ NR(mount_setattr), V_EPERM }, { NR(statmount), V_EPERM }, { NR(listmount), V_EPERM },
	{ NR(unshare), V_EPERM }, { NR(setns), V_EPERM }, { NR(sethostname), V_EPERM }, { NR(clone3), V_ENOSYS },
	{ NR(clone), V_CLONE },
};
static const struct seccomp_set deny_world = { deny_world_rows, COUNT(deny_world_rows) };

/* Its mode is behind a pointer; callers fall back to openat. */
static const struct seccomp_row deny_hidden_rows[] = {
	{ NR(openat2), V_ENOSYS },
};
static const struct seccomp_set deny_hidden = { deny_hidden_rows, COUNT(deny_hidden_rows) };

/* Allowed, but not with every argument. */
static const struct seccomp_row deny_args_rows[] = {
	{ NR(open), V_OPEN }, { NR(openat), V_OPENAT }, { NR(ioctl), V_IOCTL }, { NR(fcntl), V_FCNTL },
	{ NR(chmod), V_MODE1 }, { NR(fchmod), V_MODE1 }, { NR(creat), V_MODE1 }, { NR(mkdir), V_MODE1 },
	{ NR(fchmodat), V_MODE2 }, { NR(fchmodat2), V_MODE2 }, { NR(mkdirat), V_MODE2 }, { NR(mknod), V_MKNOD1 },
	{ NR(mknodat), V_MKNOD2 }, { NR(socket), V_SOCKET }, { NR(socketpair), V_SOCKET_UNIX },
	{ NR(personality), V_PERSONALITY }, { NR(sendmsg), V_SEND2 }, { NR(sendmmsg), V_SEND3 }, { NR(sendto), V_SEND3 },
};
static const struct seccomp_set deny_args = { deny_args_rows, COUNT(deny_args_rows) };

/* No socket of any family; socketpair stays. */
static const struct seccomp_row no_sockets_rows[] = {
	{ NR(socket), V_EACCES },
};
static const struct seccomp_set no_sockets = { no_sockets_rows, COUNT(no_sockets_rows) };

/* The unix sockets outside are within reach: nothing that could be connected to one of them. */
static const struct seccomp_row no_unix_rows[] = {
	{ NR(socket), V_SOCKET_INET }, { NR(socketpair), V_PAIR },
};
static const struct seccomp_set no_unix = { no_unix_rows, COUNT(no_unix_rows) };

/* What it refuses itself its jails can never have: so the kinds that commands may have. */
static const struct seccomp_row jails_sockets_rows[] = {
	{ NR(socket), V_SOCKET }, { NR(socketpair), V_SOCKET_UNIX },
};
static const struct seccomp_set jails_sockets = { jails_sockets_rows, COUNT(jails_sockets_rows) };

/* Without namespaces around it: nothing that reaches other processes of the same user; metadata, which Landlock does
 * not know, through the guardian. */
static const struct seccomp_row deny_shared_rows[] = {
	{ NR(chown), V_EPERM }, { NR(lchown), V_EPERM }, { NR(fchown), V_EPERM }, { NR(fchownat), V_EPERM },
	{ NR(shmget), V_EPERM }, { NR(shmat), V_EPERM }, { NR(shmctl), V_EPERM }, { NR(semget), V_EPERM },
	{ NR(semop), V_EPERM }, { NR(semctl), V_EPERM }, { NR(semtimedop), V_EPERM }, { NR(msgget), V_EPERM },
	{ NR(msgsnd), V_EPERM }, { NR(msgrcv), V_EPERM }, { NR(msgctl), V_EPERM }, { NR(mq_open), V_EPERM },
	{ NR(mq_unlink), V_EPERM }, { NR(setxattrat), V_ENOSYS }, { NR(removexattrat), V_ENOSYS },
	{ NR(chmod), V_NOTIFY }, { NR(fchmod), V_NOTIFY }, { NR(fchmodat), V_NOTIFY },
	{ NR(fchmodat2), V_NOTIFY }, { NR(utime), V_NOTIFY }, { NR(utimes), V_NOTIFY },
	{ NR(futimesat), V_NOTIFY }, { NR(utimensat), V_NOTIFY }, { NR(setxattr), V_NOTIFY },
	{ NR(lsetxattr), V_NOTIFY }, { NR(fsetxattr), V_NOTIFY }, { NR(removexattr), V_NOTIFY },
	{ NR(lremovexattr), V_NOTIFY }, { NR(fremovexattr), V_NOTIFY }, { NR(prlimit64), V_SELF0 },
	{ NR(sched_setparam), V_SELF0 }, { NR(sched_setscheduler), V_SELF0 }, { NR(sched_setaffinity), V_SELF0 },
	{ NR(sched_setattr), V_SELF0 }, { NR(setpriority), V_SELF1 }, { NR(ioprio_set), V_SELF1 },
};
static const struct seccomp_set deny_shared = { deny_shared_rows, COUNT(deny_shared_rows) };

/* git runs whatever it runs by itself: what a repository's configuration may name is a process, and there is none. */
static const struct seccomp_row one_process_rows[] = {
	{ NR(fork), V_EPERM }, { NR(vfork), V_EPERM }, { NR(clone), V_THREAD },
};
static const struct seccomp_set one_process = { one_process_rows, COUNT(one_process_rows) };

/* A guardian reads what a command's call points to. */
static const struct seccomp_row reads_memory_rows[] = {
	{ NR(process_vm_readv), V_ALLOW },
};
static const struct seccomp_set reads_memory = { reads_memory_rows, COUNT(reads_memory_rows) };

/* What any program of ours needs: memory that is never executable, time, its own signals, its end. */
static const struct seccomp_row own_base_rows[] = {
	{ NR(mmap), V_NOEXEC }, { NR(mprotect), V_NOEXEC }, { NR(munmap), V_ALLOW }, { NR(mremap), V_ALLOW },
	{ NR(madvise), V_ALLOW }, { NR(brk), V_ALLOW }, { NR(futex), V_ALLOW }, { NR(sched_yield), V_ALLOW },
	{ NR(getrandom), V_ALLOW }, { NR(clock_gettime), V_ALLOW }, { NR(clock_getres), V_ALLOW },
	{ NR(clock_nanosleep), V_ALLOW }, { NR(nanosleep), V_ALLOW }, { NR(gettimeofday), V_ALLOW },
	{ NR(time), V_ALLOW }, { NR(times), V_ALLOW }, { NR(getrusage), V_ALLOW }, { NR(uname), V_ALLOW },
	{ NR(sysinfo), V_ALLOW }, { NR(rt_sigaction), V_ALLOW }, { NR(rt_sigprocmask), V_ALLOW },
	{ NR(rt_sigreturn), V_ALLOW }, { NR(rt_sigpending), V_ALLOW }, { NR(rt_sigtimedwait), V_ALLOW },
	{ NR(rt_sigsuspend), V_ALLOW }, { NR(sigaltstack), V_ALLOW }, { NR(restart_syscall), V_ALLOW },
	{ NR(exit), V_ALLOW }, { NR(exit_group), V_ALLOW }, { NR(getpid), V_ALLOW }, { NR(gettid), V_ALLOW },
	{ NR(getppid), V_ALLOW }, { NR(getuid), V_ALLOW }, { NR(geteuid), V_ALLOW }, { NR(getgid), V_ALLOW },
	{ NR(getegid), V_ALLOW }, { NR(tgkill), V_SELF_PID }, { NR(rseq), V_ALLOW },
	{ NR(set_robust_list), V_ALLOW }, { NR(set_tid_address), V_ALLOW }, { NR(getrlimit), V_ALLOW },
	{ NR(sched_getaffinity), V_ALLOW }, { NR(membarrier), V_ALLOW }, { NR(prlimit64), V_SELF0 },
	{ NR(prctl), V_PRCTL_OWN }, { NR(ioctl), V_IOCTL_OWN },
};
static const struct seccomp_set own_base = { own_base_rows, COUNT(own_base_rows) };

/* Descriptors it has, and waiting for them. */
static const struct seccomp_row own_io_rows[] = {
	{ NR(read), V_ALLOW }, { NR(write), V_ALLOW }, { NR(readv), V_ALLOW }, { NR(writev), V_ALLOW },
	{ NR(pread64), V_ALLOW }, { NR(pwrite64), V_ALLOW }, { NR(preadv), V_ALLOW }, { NR(pwritev), V_ALLOW },
	{ NR(lseek), V_ALLOW }, { NR(close), V_ALLOW }, { NR(close_range), V_ALLOW }, { NR(dup), V_ALLOW },
	{ NR(dup2), V_ALLOW }, { NR(dup3), V_ALLOW }, { NR(fstat), V_ALLOW }, { NR(poll), V_ALLOW },
	{ NR(ppoll), V_ALLOW }, { NR(select), V_ALLOW }, { NR(pselect6), V_ALLOW }, { NR(epoll_create), V_ALLOW },
	{ NR(epoll_create1), V_ALLOW }, { NR(epoll_ctl), V_ALLOW }, { NR(epoll_wait), V_ALLOW },
	{ NR(epoll_pwait), V_ALLOW }, { NR(epoll_pwait2), V_ALLOW }, { NR(timerfd_create), V_ALLOW },
	{ NR(timerfd_settime), V_ALLOW }, { NR(timerfd_gettime), V_ALLOW }, { NR(eventfd), V_ALLOW },
	{ NR(eventfd2), V_ALLOW }, { NR(signalfd), V_ALLOW }, { NR(signalfd4), V_ALLOW }, { NR(pipe), V_ALLOW },
	{ NR(pipe2), V_ALLOW }, { NR(memfd_create), V_ALLOW }, { NR(sendmsg), V_SEND2 }, { NR(recvmsg), V_ALLOW },
	{ NR(sendto), V_SEND3 }, { NR(recvfrom), V_ALLOW }, { NR(shutdown), V_ALLOW },
	{ NR(getsockopt), V_SOCKOPT }, { NR(splice), V_ALLOW }, { NR(tee), V_ALLOW }, { NR(fcntl), V_FCNTL },
};
static const struct seccomp_set own_io = { own_io_rows, COUNT(own_io_rows) };

/* Reading files, where Landlock lets it. */
static const struct seccomp_row own_read_rows[] = {
	{ NR(open), V_OPEN }, { NR(openat), V_OPENAT }, { NR(openat2), V_ALLOW }, { NR(stat), V_ALLOW },
	{ NR(lstat), V_ALLOW }, { NR(newfstatat), V_ALLOW }, { NR(statx), V_ALLOW }, { NR(access), V_ALLOW },
	{ NR(faccessat), V_ALLOW }, { NR(faccessat2), V_ALLOW }, { NR(readlink), V_ALLOW },
	{ NR(readlinkat), V_ALLOW }, { NR(getdents), V_ALLOW }, { NR(getdents64), V_ALLOW },
	{ NR(getcwd), V_ALLOW }, { NR(chdir), V_ALLOW }, { NR(fchdir), V_ALLOW }, { NR(statfs), V_ALLOW },
	{ NR(fstatfs), V_ALLOW }, { NR(inotify_init), V_ALLOW }, { NR(inotify_init1), V_ALLOW },
	{ NR(inotify_add_watch), V_ALLOW }, { NR(inotify_rm_watch), V_ALLOW }, { NR(fadvise64), V_ALLOW },
	{ NR(readahead), V_ALLOW }, { NR(getxattr), V_ALLOW }, { NR(lgetxattr), V_ALLOW },
	{ NR(fgetxattr), V_ALLOW }, { NR(listxattr), V_ALLOW }, { NR(llistxattr), V_ALLOW },
	{ NR(flistxattr), V_ALLOW }, { NR(flock), V_ALLOW },
};
static const struct seccomp_set own_read = { own_read_rows, COUNT(own_read_rows) };

/* Changing files, where Landlock lets it. Mode, times and attributes it does not know: of what was opened, never by a path, which
 * could be any file of the operator's; nor is one cut by its path, which Landlock knows of from ABI 3 on. */
static const struct seccomp_row own_write_rows[] = {
	{ NR(mkdir), V_MODE1 }, { NR(fchmod), V_MODE1 }, { NR(creat), V_MODE1 }, { NR(mkdirat), V_MODE2 },
	{ NR(rmdir), V_ALLOW }, { NR(unlink), V_ALLOW }, { NR(unlinkat), V_ALLOW }, { NR(rename), V_ALLOW },
	{ NR(renameat), V_ALLOW }, { NR(renameat2), V_ALLOW }, { NR(link), V_ALLOW }, { NR(linkat), V_ALLOW },
	{ NR(symlink), V_ALLOW }, { NR(symlinkat), V_ALLOW }, { NR(ftruncate), V_ALLOW },
	{ NR(fsync), V_ALLOW }, { NR(fdatasync), V_ALLOW }, { NR(sync_file_range), V_ALLOW }, { NR(fallocate), V_ALLOW },
	{ NR(copy_file_range), V_ALLOW }, { NR(sendfile), V_ALLOW }, { NR(umask), V_ALLOW },
	{ NR(fsetxattr), V_ALLOW }, { NR(fremovexattr), V_ALLOW },
};
static const struct seccomp_set own_write = { own_write_rows, COUNT(own_write_rows) };

/* Talking over pairs: what the client dials, it dials by handing an end to the broker. It connects nothing: a libcurl before 8.0
 * connects once more what it was told is connected, and hears that it is. */
static const struct seccomp_row own_pair_rows[] = {
	{ NR(socketpair), V_PAIR_STREAM }, { NR(connect), V_NOTHING }, { NR(getsockname), V_ALLOW },
	{ NR(getpeername), V_ALLOW }, { NR(setsockopt), V_ALLOW }, { NR(sendmmsg), V_SEND3 }, { NR(recvmmsg), V_ALLOW },
};
static const struct seccomp_set own_pair = { own_pair_rows, COUNT(own_pair_rows) };

/* Asking name servers. No name of its own: who asks is answered where it asked from. No netlink: libc, which would know by it which
 * families have an address, asks for both. No unix socket: Landlock keeps none of the host's away before ABI 9, among them those of
 * daemons that execute what they are told, and libc asks a name server where nscd or systemd-resolved cannot be reached by one. */
static const struct seccomp_row own_lookup_rows[] = {
	{ NR(socket), V_SOCKET_IP }, { NR(connect), V_ALLOW }, { NR(getsockname), V_ALLOW }, { NR(getpeername), V_ALLOW },
	{ NR(setsockopt), V_ALLOW }, { NR(recvmmsg), V_ALLOW }, { NR(sendmmsg), V_SEND3 },
#ifndef __GLIBC__
	{ NR(bind), V_ALLOW }, /* musl names the socket it asks with */
#endif
};
static const struct seccomp_set own_lookup = { own_lookup_rows, COUNT(own_lookup_rows) };

/* Dialling by TCP. */
static const struct seccomp_row own_dial_rows[] = {
	{ NR(socket), V_SOCKET_TCP }, { NR(connect), V_ALLOW }, { NR(setsockopt), V_ALLOW },
};
static const struct seccomp_set own_dial = { own_dial_rows, COUNT(own_dial_rows) };

/* Leaving the terminal it was started from. */
static const struct seccomp_row own_leave_rows[] = {
	{ NR(setsid), V_ALLOW },
};
static const struct seccomp_set own_leave = { own_leave_rows, COUNT(own_leave_rows) };

/* Threads, for a library that looks names up in them and has them wake each other. */
static const struct seccomp_row own_threads_rows[] = {
	{ NR(clone), V_THREAD }, { NR(clone3), V_ENOSYS }, { NR(socketpair), V_PAIR_STREAM },
};
static const struct seccomp_set own_threads = { own_threads_rows, COUNT(own_threads_rows) };

/* Waiting for children it has, and ending them by the pidfds it has: it opens none, nor is one made for it of a socket's peer, so
 * that nobody else can be meant. */
static const struct seccomp_row own_parent_rows[] = {
	{ NR(wait4), V_ALLOW }, { NR(waitid), V_ALLOW }, { NR(pidfd_send_signal), V_ONE_PROCESS }, { NR(socketpair), V_PAIR },
};
static const struct seccomp_set own_parent = { own_parent_rows, COUNT(own_parent_rows) };

/* Who holds the person's terminal does not open it to other users. */
static const struct seccomp_row no_modes_rows[] = {
	{ NR(fchmod), V_EPERM }, { NR(fsetxattr), V_EPERM }, { NR(fremovexattr), V_EPERM }, /* a list of access rights is a mode too */
};
static const struct seccomp_set no_modes = { no_modes_rows, COUNT(no_modes_rows) };

#ifdef AGENT6_SANITIZED
/* What the sanitizers' run time needs beyond what every program of ours may: its own path. No memory becomes
 * executable for it either. This row set exists in that build only. */
static const struct seccomp_row sanitizer_rows[] = {
	{ NR(readlink), V_ALLOW }, { NR(readlinkat), V_ALLOW },
};
static const struct seccomp_set sanitizer = { sanitizer_rows, COUNT(sanitizer_rows) };
#define SANITIZER &sanitizer
#else
#define SANITIZER NULL
#endif

const struct seccomp_table seccomp_tables[SECCOMP_COUNT] = {
	[SECCOMP_COMMAND] = { "command", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args } },
	[SECCOMP_COMMAND_INET] = { "command_inet", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args, &no_unix } },
	[SECCOMP_COMMAND_HARDENED] = { "command_hardened", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args, &deny_shared, &no_unix, &no_sockets } },
	[SECCOMP_COMMAND_HOSTNET] = { "command_hostnet", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args, &deny_shared, &no_unix } },
	[SECCOMP_GIT] = { "git", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args, &no_sockets } },
	[SECCOMP_INDEX] = { "index", V_ALLOW, { &deny_kernel, &deny_world, &deny_args, &no_sockets } },
	[SECCOMP_GIT_HARDENED] = { "git_hardened", V_ALLOW, { &deny_kernel, &deny_world, &deny_hidden, &deny_args, &deny_shared, &no_unix, &no_sockets, &one_process } },
	[SECCOMP_INDEX_HARDENED] = { "index_hardened", V_ALLOW, { &deny_kernel, &deny_world, &deny_args, &deny_shared, &no_unix, &no_sockets } },
	[SECCOMP_ZYGOTE] = { "zygote", V_ALLOW, { &deny_kernel, &jails_sockets } },
	[SECCOMP_ZYGOTE_HARDENED] = { "zygote_hardened", V_ALLOW, { &deny_kernel, &deny_world, &no_unix, &no_sockets, &reads_memory } },
	[SECCOMP_ZYGOTE_HOSTNET] = { "zygote_hostnet", V_ALLOW, { &deny_kernel, &deny_world, &no_unix, &reads_memory } },
	[SECCOMP_AGENT] = { "agent", V_EPERM, { &own_base, &own_io, &own_read, &own_write, &deny_hidden, SANITIZER } },
	[SECCOMP_MONITOR] = { "monitor", V_EPERM, { &own_base, &own_io, &own_read, &own_write, &own_parent, &own_leave, SANITIZER } },
	[SECCOMP_RECORDER] = { "recorder", V_EPERM, { &own_base, &own_io, &own_read, &own_write, SANITIZER } },
	[SECCOMP_CLIENT] = { "client", V_EPERM, { &own_base, &own_io, &own_pair, SANITIZER } },
	[SECCOMP_CLIENT_OPEN] = { "client_open", V_EPERM, { &own_base, &own_io, &own_read, &own_lookup, &own_threads, SANITIZER } },
	[SECCOMP_BROKER] = { "broker", V_EPERM, { &own_base, &own_io, &own_dial, SANITIZER } },
	[SECCOMP_RESOLVER] = { "resolver", V_EPERM, { &own_base, &own_io, &own_read, &own_lookup, SANITIZER } },
	[SECCOMP_VIEW] = { "view", V_EPERM, { &own_base, &own_io, &own_read, &own_write, &no_modes, SANITIZER } },
};
