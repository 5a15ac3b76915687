/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sysnr: numbers of system calls the headers of our oldest supported system do not know, and a mark for
 * those that this machine does not have.
 *
 * Shape    Whoever names __NR_x includes it. A number from here is the same on every machine we know; an older call that this
 *          machine never had is NR_ABSENT, whose row a table passes over.
 * Source   include/uapi/asm-generic/unistd.h of Linux 6.17.
 */
#ifndef SANDBOX_SYSNR_H
#define SANDBOX_SYSNR_H

#include <asm/unistd.h>

#define NR_ABSENT (-1)
/* Higher numbers answer ENOSYS: a new kernel's calls stay closed until somebody looked at them. */
#define NR_LAST 469

#ifndef __NR_open
#define __NR_open NR_ABSENT
#endif
#ifndef __NR_creat
#define __NR_creat NR_ABSENT
#endif
#ifndef __NR_stat
#define __NR_stat NR_ABSENT
#endif
#ifndef __NR_lstat
#define __NR_lstat NR_ABSENT
#endif
#ifndef __NR_access
#define __NR_access NR_ABSENT
#endif
#ifndef __NR_chmod
#define __NR_chmod NR_ABSENT
#endif
#ifndef __NR_chown
#define __NR_chown NR_ABSENT
#endif
#ifndef __NR_lchown
#define __NR_lchown NR_ABSENT
#endif
#ifndef __NR_mknod
#define __NR_mknod NR_ABSENT
#endif
#ifndef __NR_mkdir
#define __NR_mkdir NR_ABSENT
#endif
#ifndef __NR_rmdir
#define __NR_rmdir NR_ABSENT
#endif
#ifndef __NR_unlink
#define __NR_unlink NR_ABSENT
#endif
#ifndef __NR_rename
#define __NR_rename NR_ABSENT
#endif
#ifndef __NR_link
#define __NR_link NR_ABSENT
#endif
#ifndef __NR_symlink
#define __NR_symlink NR_ABSENT
#endif
#ifndef __NR_readlink
#define __NR_readlink NR_ABSENT
#endif
#ifndef __NR_utime
#define __NR_utime NR_ABSENT
#endif
#ifndef __NR_utimes
#define __NR_utimes NR_ABSENT
#endif
#ifndef __NR_futimesat
#define __NR_futimesat NR_ABSENT
#endif
#ifndef __NR_pipe
#define __NR_pipe NR_ABSENT
#endif
#ifndef __NR_dup2
#define __NR_dup2 NR_ABSENT
#endif
#ifndef __NR_poll
#define __NR_poll NR_ABSENT
#endif
#ifndef __NR_select
#define __NR_select NR_ABSENT
#endif
#ifndef __NR_epoll_create
#define __NR_epoll_create NR_ABSENT
#endif
#ifndef __NR_epoll_wait
#define __NR_epoll_wait NR_ABSENT
#endif
#ifndef __NR_inotify_init
#define __NR_inotify_init NR_ABSENT
#endif
#ifndef __NR_eventfd
#define __NR_eventfd NR_ABSENT
#endif
#ifndef __NR_signalfd
#define __NR_signalfd NR_ABSENT
#endif
#ifndef __NR_alarm
#define __NR_alarm NR_ABSENT
#endif
#ifndef __NR_pause
#define __NR_pause NR_ABSENT
#endif
#ifndef __NR_fork
#define __NR_fork NR_ABSENT
#endif
#ifndef __NR_vfork
#define __NR_vfork NR_ABSENT
#endif
#ifndef __NR_getdents
#define __NR_getdents NR_ABSENT
#endif
#ifndef __NR_time
#define __NR_time NR_ABSENT
#endif
#ifndef __NR_getpgrp
#define __NR_getpgrp NR_ABSENT
#endif
#ifndef __NR_arch_prctl
#define __NR_arch_prctl NR_ABSENT
#endif
#ifndef __NR_uselib
#define __NR_uselib NR_ABSENT
#endif
#ifndef __NR_ustat
#define __NR_ustat NR_ABSENT
#endif
#ifndef __NR_sysfs
#define __NR_sysfs NR_ABSENT
#endif
#ifndef __NR__sysctl
#define __NR__sysctl NR_ABSENT
#endif
#ifndef __NR_modify_ldt
#define __NR_modify_ldt NR_ABSENT
#endif
#ifndef __NR_iopl
#define __NR_iopl NR_ABSENT
#endif
#ifndef __NR_ioperm
#define __NR_ioperm NR_ABSENT
#endif
#ifndef __NR_nfsservctl
#define __NR_nfsservctl NR_ABSENT
#endif
#ifndef __NR_lookup_dcookie
#define __NR_lookup_dcookie NR_ABSENT
#endif
#ifndef __NR_create_module
#define __NR_create_module NR_ABSENT
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_lsm_list_modules
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_getxattrat
#define __NR_getxattrat 464
#endif
#ifndef __NR_listxattrat
#define __NR_listxattrat 465
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif

#endif
