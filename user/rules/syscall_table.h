/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every system call that this machine's headers know, sorted by name. Included where a list is made
 * of them, with SYSCALL(name) defined.
 */
#ifdef __NR_accept
SYSCALL(accept)
#endif
#ifdef __NR_accept4
SYSCALL(accept4)
#endif
#ifdef __NR_access
SYSCALL(access)
#endif
#ifdef __NR_acct
SYSCALL(acct)
#endif
#ifdef __NR_add_key
SYSCALL(add_key)
#endif
#ifdef __NR_adjtimex
SYSCALL(adjtimex)
#endif
#ifdef __NR_afs_syscall
SYSCALL(afs_syscall)
#endif
#ifdef __NR_alarm
SYSCALL(alarm)
#endif
#ifdef __NR_arch_prctl
SYSCALL(arch_prctl)
#endif
#ifdef __NR_bind
SYSCALL(bind)
#endif
#ifdef __NR_bpf
SYSCALL(bpf)
#endif
#ifdef __NR_brk
SYSCALL(brk)
#endif
#ifdef __NR_cachestat
SYSCALL(cachestat)
#endif
#ifdef __NR_capget
SYSCALL(capget)
#endif
#ifdef __NR_capset
SYSCALL(capset)
#endif
#ifdef __NR_chdir
SYSCALL(chdir)
#endif
#ifdef __NR_chmod
SYSCALL(chmod)
#endif
#ifdef __NR_chown
SYSCALL(chown)
#endif
#ifdef __NR_chroot
SYSCALL(chroot)
#endif
#ifdef __NR_clock_adjtime
SYSCALL(clock_adjtime)
#endif
#ifdef __NR_clock_getres
SYSCALL(clock_getres)
#endif
#ifdef __NR_clock_gettime
SYSCALL(clock_gettime)
#endif
#ifdef __NR_clock_nanosleep
SYSCALL(clock_nanosleep)
#endif
#ifdef __NR_clock_settime
SYSCALL(clock_settime)
#endif
#ifdef __NR_clone
SYSCALL(clone)
#endif
#ifdef __NR_clone3
SYSCALL(clone3)
#endif
#ifdef __NR_close
SYSCALL(close)
#endif
#ifdef __NR_close_range
SYSCALL(close_range)
#endif
#ifdef __NR_connect
SYSCALL(connect)
#endif
#ifdef __NR_copy_file_range
SYSCALL(copy_file_range)
#endif
#ifdef __NR_creat
SYSCALL(creat)
#endif
#ifdef __NR_create_module
SYSCALL(create_module)
#endif
#ifdef __NR_delete_module
SYSCALL(delete_module)
#endif
#ifdef __NR_dup
SYSCALL(dup)
#endif
#ifdef __NR_dup2
SYSCALL(dup2)
#endif
#ifdef __NR_dup3
SYSCALL(dup3)
#endif
#ifdef __NR_epoll_create
SYSCALL(epoll_create)
#endif
#ifdef __NR_epoll_create1
SYSCALL(epoll_create1)
#endif
#ifdef __NR_epoll_ctl
SYSCALL(epoll_ctl)
#endif
#ifdef __NR_epoll_ctl_old
SYSCALL(epoll_ctl_old)
#endif
#ifdef __NR_epoll_pwait
SYSCALL(epoll_pwait)
#endif
#ifdef __NR_epoll_pwait2
SYSCALL(epoll_pwait2)
#endif
#ifdef __NR_epoll_wait
SYSCALL(epoll_wait)
#endif
#ifdef __NR_epoll_wait_old
SYSCALL(epoll_wait_old)
#endif
#ifdef __NR_eventfd
SYSCALL(eventfd)
#endif
#ifdef __NR_eventfd2
SYSCALL(eventfd2)
#endif
#ifdef __NR_execve
SYSCALL(execve)
#endif
#ifdef __NR_execveat
SYSCALL(execveat)
#endif
#ifdef __NR_exit
SYSCALL(exit)
#endif
#ifdef __NR_exit_group
SYSCALL(exit_group)
#endif
#ifdef __NR_faccessat
SYSCALL(faccessat)
#endif
#ifdef __NR_faccessat2
SYSCALL(faccessat2)
#endif
#ifdef __NR_fadvise64
SYSCALL(fadvise64)
#endif
#ifdef __NR_fallocate
SYSCALL(fallocate)
#endif
#ifdef __NR_fanotify_init
SYSCALL(fanotify_init)
#endif
#ifdef __NR_fanotify_mark
SYSCALL(fanotify_mark)
#endif
#ifdef __NR_fchdir
SYSCALL(fchdir)
#endif
#ifdef __NR_fchmod
SYSCALL(fchmod)
#endif
#ifdef __NR_fchmodat
SYSCALL(fchmodat)
#endif
#ifdef __NR_fchmodat2
SYSCALL(fchmodat2)
#endif
#ifdef __NR_fchown
SYSCALL(fchown)
#endif
#ifdef __NR_fchownat
SYSCALL(fchownat)
#endif
#ifdef __NR_fcntl
SYSCALL(fcntl)
#endif
#ifdef __NR_fdatasync
SYSCALL(fdatasync)
#endif
#ifdef __NR_fgetxattr
SYSCALL(fgetxattr)
#endif
#ifdef __NR_file_getattr
SYSCALL(file_getattr)
#endif
#ifdef __NR_file_setattr
SYSCALL(file_setattr)
#endif
#ifdef __NR_finit_module
SYSCALL(finit_module)
#endif
#ifdef __NR_flistxattr
SYSCALL(flistxattr)
#endif
#ifdef __NR_flock
SYSCALL(flock)
#endif
#ifdef __NR_fork
SYSCALL(fork)
#endif
#ifdef __NR_fremovexattr
SYSCALL(fremovexattr)
#endif
#ifdef __NR_fsconfig
SYSCALL(fsconfig)
#endif
#ifdef __NR_fsetxattr
SYSCALL(fsetxattr)
#endif
#ifdef __NR_fsmount
SYSCALL(fsmount)
#endif
#ifdef __NR_fsopen
SYSCALL(fsopen)
#endif
#ifdef __NR_fspick
SYSCALL(fspick)
#endif
#ifdef __NR_fstat
SYSCALL(fstat)
#endif
#ifdef __NR_fstatfs
SYSCALL(fstatfs)
#endif
#ifdef __NR_fsync
SYSCALL(fsync)
#endif
#ifdef __NR_ftruncate
SYSCALL(ftruncate)
#endif
#ifdef __NR_futex
SYSCALL(futex)
#endif
#ifdef __NR_futex_requeue
SYSCALL(futex_requeue)
#endif
#ifdef __NR_futex_wait
SYSCALL(futex_wait)
#endif
#ifdef __NR_futex_waitv
SYSCALL(futex_waitv)
#endif
#ifdef __NR_futex_wake
SYSCALL(futex_wake)
#endif
#ifdef __NR_futimesat
SYSCALL(futimesat)
#endif
#ifdef __NR_get_kernel_syms
SYSCALL(get_kernel_syms)
#endif
#ifdef __NR_get_mempolicy
SYSCALL(get_mempolicy)
#endif
#ifdef __NR_get_robust_list
SYSCALL(get_robust_list)
#endif
#ifdef __NR_get_thread_area
SYSCALL(get_thread_area)
#endif
#ifdef __NR_getcpu
SYSCALL(getcpu)
#endif
#ifdef __NR_getcwd
SYSCALL(getcwd)
#endif
#ifdef __NR_getdents
SYSCALL(getdents)
#endif
#ifdef __NR_getdents64
SYSCALL(getdents64)
#endif
#ifdef __NR_getegid
SYSCALL(getegid)
#endif
#ifdef __NR_geteuid
SYSCALL(geteuid)
#endif
#ifdef __NR_getgid
SYSCALL(getgid)
#endif
#ifdef __NR_getgroups
SYSCALL(getgroups)
#endif
#ifdef __NR_getitimer
SYSCALL(getitimer)
#endif
#ifdef __NR_getpeername
SYSCALL(getpeername)
#endif
#ifdef __NR_getpgid
SYSCALL(getpgid)
#endif
#ifdef __NR_getpgrp
SYSCALL(getpgrp)
#endif
#ifdef __NR_getpid
SYSCALL(getpid)
#endif
#ifdef __NR_getpmsg
SYSCALL(getpmsg)
#endif
#ifdef __NR_getppid
SYSCALL(getppid)
#endif
#ifdef __NR_getpriority
SYSCALL(getpriority)
#endif
#ifdef __NR_getrandom
SYSCALL(getrandom)
#endif
#ifdef __NR_getresgid
SYSCALL(getresgid)
#endif
#ifdef __NR_getresuid
SYSCALL(getresuid)
#endif
#ifdef __NR_getrlimit
SYSCALL(getrlimit)
#endif
#ifdef __NR_getrusage
SYSCALL(getrusage)
#endif
#ifdef __NR_getsid
SYSCALL(getsid)
#endif
#ifdef __NR_getsockname
SYSCALL(getsockname)
#endif
#ifdef __NR_getsockopt
SYSCALL(getsockopt)
#endif
#ifdef __NR_gettid
SYSCALL(gettid)
#endif
#ifdef __NR_gettimeofday
SYSCALL(gettimeofday)
#endif
#ifdef __NR_getuid
SYSCALL(getuid)
#endif
#ifdef __NR_getxattr
SYSCALL(getxattr)
#endif
#ifdef __NR_getxattrat
SYSCALL(getxattrat)
#endif
#ifdef __NR_init_module
SYSCALL(init_module)
#endif
#ifdef __NR_inotify_add_watch
SYSCALL(inotify_add_watch)
#endif
#ifdef __NR_inotify_init
SYSCALL(inotify_init)
#endif
#ifdef __NR_inotify_init1
SYSCALL(inotify_init1)
#endif
#ifdef __NR_inotify_rm_watch
SYSCALL(inotify_rm_watch)
#endif
#ifdef __NR_io_cancel
SYSCALL(io_cancel)
#endif
#ifdef __NR_io_destroy
SYSCALL(io_destroy)
#endif
#ifdef __NR_io_getevents
SYSCALL(io_getevents)
#endif
#ifdef __NR_io_pgetevents
SYSCALL(io_pgetevents)
#endif
#ifdef __NR_io_setup
SYSCALL(io_setup)
#endif
#ifdef __NR_io_submit
SYSCALL(io_submit)
#endif
#ifdef __NR_io_uring_enter
SYSCALL(io_uring_enter)
#endif
#ifdef __NR_io_uring_register
SYSCALL(io_uring_register)
#endif
#ifdef __NR_io_uring_setup
SYSCALL(io_uring_setup)
#endif
#ifdef __NR_ioctl
SYSCALL(ioctl)
#endif
#ifdef __NR_ioperm
SYSCALL(ioperm)
#endif
#ifdef __NR_iopl
SYSCALL(iopl)
#endif
#ifdef __NR_ioprio_get
SYSCALL(ioprio_get)
#endif
#ifdef __NR_ioprio_set
SYSCALL(ioprio_set)
#endif
#ifdef __NR_kcmp
SYSCALL(kcmp)
#endif
#ifdef __NR_kexec_file_load
SYSCALL(kexec_file_load)
#endif
#ifdef __NR_kexec_load
SYSCALL(kexec_load)
#endif
#ifdef __NR_keyctl
SYSCALL(keyctl)
#endif
#ifdef __NR_kill
SYSCALL(kill)
#endif
#ifdef __NR_landlock_add_rule
SYSCALL(landlock_add_rule)
#endif
#ifdef __NR_landlock_create_ruleset
SYSCALL(landlock_create_ruleset)
#endif
#ifdef __NR_landlock_restrict_self
SYSCALL(landlock_restrict_self)
#endif
#ifdef __NR_lchown
SYSCALL(lchown)
#endif
#ifdef __NR_lgetxattr
SYSCALL(lgetxattr)
#endif
#ifdef __NR_link
SYSCALL(link)
#endif
#ifdef __NR_linkat
SYSCALL(linkat)
#endif
#ifdef __NR_listen
SYSCALL(listen)
#endif
#ifdef __NR_listmount
SYSCALL(listmount)
#endif
#ifdef __NR_listxattr
SYSCALL(listxattr)
#endif
#ifdef __NR_listxattrat
SYSCALL(listxattrat)
#endif
#ifdef __NR_llistxattr
SYSCALL(llistxattr)
#endif
#ifdef __NR_lookup_dcookie
SYSCALL(lookup_dcookie)
#endif
#ifdef __NR_lremovexattr
SYSCALL(lremovexattr)
#endif
#ifdef __NR_lseek
SYSCALL(lseek)
#endif
#ifdef __NR_lsetxattr
SYSCALL(lsetxattr)
#endif
#ifdef __NR_lsm_get_self_attr
SYSCALL(lsm_get_self_attr)
#endif
#ifdef __NR_lsm_list_modules
SYSCALL(lsm_list_modules)
#endif
#ifdef __NR_lsm_set_self_attr
SYSCALL(lsm_set_self_attr)
#endif
#ifdef __NR_lstat
SYSCALL(lstat)
#endif
#ifdef __NR_madvise
SYSCALL(madvise)
#endif
#ifdef __NR_map_shadow_stack
SYSCALL(map_shadow_stack)
#endif
#ifdef __NR_mbind
SYSCALL(mbind)
#endif
#ifdef __NR_membarrier
SYSCALL(membarrier)
#endif
#ifdef __NR_memfd_create
SYSCALL(memfd_create)
#endif
#ifdef __NR_memfd_secret
SYSCALL(memfd_secret)
#endif
#ifdef __NR_migrate_pages
SYSCALL(migrate_pages)
#endif
#ifdef __NR_mincore
SYSCALL(mincore)
#endif
#ifdef __NR_mkdir
SYSCALL(mkdir)
#endif
#ifdef __NR_mkdirat
SYSCALL(mkdirat)
#endif
#ifdef __NR_mknod
SYSCALL(mknod)
#endif
#ifdef __NR_mknodat
SYSCALL(mknodat)
#endif
#ifdef __NR_mlock
SYSCALL(mlock)
#endif
#ifdef __NR_mlock2
SYSCALL(mlock2)
#endif
#ifdef __NR_mlockall
SYSCALL(mlockall)
#endif
#ifdef __NR_mmap
SYSCALL(mmap)
#endif
#ifdef __NR_modify_ldt
SYSCALL(modify_ldt)
#endif
#ifdef __NR_mount
SYSCALL(mount)
#endif
#ifdef __NR_mount_setattr
SYSCALL(mount_setattr)
#endif
#ifdef __NR_move_mount
SYSCALL(move_mount)
#endif
#ifdef __NR_move_pages
SYSCALL(move_pages)
#endif
#ifdef __NR_mprotect
SYSCALL(mprotect)
#endif
#ifdef __NR_mq_getsetattr
SYSCALL(mq_getsetattr)
#endif
#ifdef __NR_mq_notify
SYSCALL(mq_notify)
#endif
#ifdef __NR_mq_open
SYSCALL(mq_open)
#endif
#ifdef __NR_mq_timedreceive
SYSCALL(mq_timedreceive)
#endif
#ifdef __NR_mq_timedsend
SYSCALL(mq_timedsend)
#endif
#ifdef __NR_mq_unlink
SYSCALL(mq_unlink)
#endif
#ifdef __NR_mremap
SYSCALL(mremap)
#endif
#ifdef __NR_mseal
SYSCALL(mseal)
#endif
#ifdef __NR_msgctl
SYSCALL(msgctl)
#endif
#ifdef __NR_msgget
SYSCALL(msgget)
#endif
#ifdef __NR_msgrcv
SYSCALL(msgrcv)
#endif
#ifdef __NR_msgsnd
SYSCALL(msgsnd)
#endif
#ifdef __NR_msync
SYSCALL(msync)
#endif
#ifdef __NR_munlock
SYSCALL(munlock)
#endif
#ifdef __NR_munlockall
SYSCALL(munlockall)
#endif
#ifdef __NR_munmap
SYSCALL(munmap)
#endif
#ifdef __NR_name_to_handle_at
SYSCALL(name_to_handle_at)
#endif
#ifdef __NR_nanosleep
SYSCALL(nanosleep)
#endif
#ifdef __NR_newfstatat
SYSCALL(newfstatat)
#endif
#ifdef __NR_nfsservctl
SYSCALL(nfsservctl)
#endif
#ifdef __NR_open
SYSCALL(open)
#endif
#ifdef __NR_open_by_handle_at
SYSCALL(open_by_handle_at)
#endif
#ifdef __NR_open_tree
SYSCALL(open_tree)
#endif
#ifdef __NR_open_tree_attr
SYSCALL(open_tree_attr)
#endif
#ifdef __NR_openat
SYSCALL(openat)
#endif
#ifdef __NR_openat2
SYSCALL(openat2)
#endif
#ifdef __NR_pause
SYSCALL(pause)
#endif
#ifdef __NR_perf_event_open
SYSCALL(perf_event_open)
#endif
#ifdef __NR_personality
SYSCALL(personality)
#endif
#ifdef __NR_pidfd_getfd
SYSCALL(pidfd_getfd)
#endif
#ifdef __NR_pidfd_open
SYSCALL(pidfd_open)
#endif
#ifdef __NR_pidfd_send_signal
SYSCALL(pidfd_send_signal)
#endif
#ifdef __NR_pipe
SYSCALL(pipe)
#endif
#ifdef __NR_pipe2
SYSCALL(pipe2)
#endif
#ifdef __NR_pivot_root
SYSCALL(pivot_root)
#endif
#ifdef __NR_pkey_alloc
SYSCALL(pkey_alloc)
#endif
#ifdef __NR_pkey_free
SYSCALL(pkey_free)
#endif
#ifdef __NR_pkey_mprotect
SYSCALL(pkey_mprotect)
#endif
#ifdef __NR_poll
SYSCALL(poll)
#endif
#ifdef __NR_ppoll
SYSCALL(ppoll)
#endif
#ifdef __NR_prctl
SYSCALL(prctl)
#endif
#ifdef __NR_pread64
SYSCALL(pread64)
#endif
#ifdef __NR_preadv
SYSCALL(preadv)
#endif
#ifdef __NR_preadv2
SYSCALL(preadv2)
#endif
#ifdef __NR_prlimit64
SYSCALL(prlimit64)
#endif
#ifdef __NR_process_madvise
SYSCALL(process_madvise)
#endif
#ifdef __NR_process_mrelease
SYSCALL(process_mrelease)
#endif
#ifdef __NR_process_vm_readv
SYSCALL(process_vm_readv)
#endif
#ifdef __NR_process_vm_writev
SYSCALL(process_vm_writev)
#endif
#ifdef __NR_pselect6
SYSCALL(pselect6)
#endif
#ifdef __NR_ptrace
SYSCALL(ptrace)
#endif
#ifdef __NR_putpmsg
SYSCALL(putpmsg)
#endif
#ifdef __NR_pwrite64
SYSCALL(pwrite64)
#endif
#ifdef __NR_pwritev
SYSCALL(pwritev)
#endif
#ifdef __NR_pwritev2
SYSCALL(pwritev2)
#endif
#ifdef __NR_query_module
SYSCALL(query_module)
#endif
#ifdef __NR_quotactl
SYSCALL(quotactl)
#endif
#ifdef __NR_quotactl_fd
SYSCALL(quotactl_fd)
#endif
#ifdef __NR_read
SYSCALL(read)
#endif
#ifdef __NR_readahead
SYSCALL(readahead)
#endif
#ifdef __NR_readlink
SYSCALL(readlink)
#endif
#ifdef __NR_readlinkat
SYSCALL(readlinkat)
#endif
#ifdef __NR_readv
SYSCALL(readv)
#endif
#ifdef __NR_reboot
SYSCALL(reboot)
#endif
#ifdef __NR_recvfrom
SYSCALL(recvfrom)
#endif
#ifdef __NR_recvmmsg
SYSCALL(recvmmsg)
#endif
#ifdef __NR_recvmsg
SYSCALL(recvmsg)
#endif
#ifdef __NR_remap_file_pages
SYSCALL(remap_file_pages)
#endif
#ifdef __NR_removexattr
SYSCALL(removexattr)
#endif
#ifdef __NR_removexattrat
SYSCALL(removexattrat)
#endif
#ifdef __NR_rename
SYSCALL(rename)
#endif
#ifdef __NR_renameat
SYSCALL(renameat)
#endif
#ifdef __NR_renameat2
SYSCALL(renameat2)
#endif
#ifdef __NR_request_key
SYSCALL(request_key)
#endif
#ifdef __NR_restart_syscall
SYSCALL(restart_syscall)
#endif
#ifdef __NR_rmdir
SYSCALL(rmdir)
#endif
#ifdef __NR_rseq
SYSCALL(rseq)
#endif
#ifdef __NR_rt_sigaction
SYSCALL(rt_sigaction)
#endif
#ifdef __NR_rt_sigpending
SYSCALL(rt_sigpending)
#endif
#ifdef __NR_rt_sigprocmask
SYSCALL(rt_sigprocmask)
#endif
#ifdef __NR_rt_sigqueueinfo
SYSCALL(rt_sigqueueinfo)
#endif
#ifdef __NR_rt_sigreturn
SYSCALL(rt_sigreturn)
#endif
#ifdef __NR_rt_sigsuspend
SYSCALL(rt_sigsuspend)
#endif
#ifdef __NR_rt_sigtimedwait
SYSCALL(rt_sigtimedwait)
#endif
#ifdef __NR_rt_tgsigqueueinfo
SYSCALL(rt_tgsigqueueinfo)
#endif
#ifdef __NR_sched_get_priority_max
SYSCALL(sched_get_priority_max)
#endif
#ifdef __NR_sched_get_priority_min
SYSCALL(sched_get_priority_min)
#endif
#ifdef __NR_sched_getaffinity
SYSCALL(sched_getaffinity)
#endif
#ifdef __NR_sched_getattr
SYSCALL(sched_getattr)
#endif
#ifdef __NR_sched_getparam
SYSCALL(sched_getparam)
#endif
#ifdef __NR_sched_getscheduler
SYSCALL(sched_getscheduler)
#endif
#ifdef __NR_sched_rr_get_interval
SYSCALL(sched_rr_get_interval)
#endif
#ifdef __NR_sched_setaffinity
SYSCALL(sched_setaffinity)
#endif
#ifdef __NR_sched_setattr
SYSCALL(sched_setattr)
#endif
#ifdef __NR_sched_setparam
SYSCALL(sched_setparam)
#endif
#ifdef __NR_sched_setscheduler
SYSCALL(sched_setscheduler)
#endif
#ifdef __NR_sched_yield
SYSCALL(sched_yield)
#endif
#ifdef __NR_seccomp
SYSCALL(seccomp)
#endif
#ifdef __NR_security
SYSCALL(security)
#endif
#ifdef __NR_select
SYSCALL(select)
#endif
#ifdef __NR_semctl
SYSCALL(semctl)
#endif
#ifdef __NR_semget
SYSCALL(semget)
#endif
#ifdef __NR_semop
SYSCALL(semop)
#endif
#ifdef __NR_semtimedop
SYSCALL(semtimedop)
#endif
#ifdef __NR_sendfile
SYSCALL(sendfile)
#endif
#ifdef __NR_sendmmsg
SYSCALL(sendmmsg)
#endif
#ifdef __NR_sendmsg
SYSCALL(sendmsg)
#endif
#ifdef __NR_sendto
SYSCALL(sendto)
#endif
#ifdef __NR_set_mempolicy
SYSCALL(set_mempolicy)
#endif
#ifdef __NR_set_mempolicy_home_node
SYSCALL(set_mempolicy_home_node)
#endif
#ifdef __NR_set_robust_list
SYSCALL(set_robust_list)
#endif
#ifdef __NR_set_thread_area
SYSCALL(set_thread_area)
#endif
#ifdef __NR_set_tid_address
SYSCALL(set_tid_address)
#endif
#ifdef __NR_setdomainname
SYSCALL(setdomainname)
#endif
#ifdef __NR_setfsgid
SYSCALL(setfsgid)
#endif
#ifdef __NR_setfsuid
SYSCALL(setfsuid)
#endif
#ifdef __NR_setgid
SYSCALL(setgid)
#endif
#ifdef __NR_setgroups
SYSCALL(setgroups)
#endif
#ifdef __NR_sethostname
SYSCALL(sethostname)
#endif
#ifdef __NR_setitimer
SYSCALL(setitimer)
#endif
#ifdef __NR_setns
SYSCALL(setns)
#endif
#ifdef __NR_setpgid
SYSCALL(setpgid)
#endif
#ifdef __NR_setpriority
SYSCALL(setpriority)
#endif
#ifdef __NR_setregid
SYSCALL(setregid)
#endif
#ifdef __NR_setresgid
SYSCALL(setresgid)
#endif
#ifdef __NR_setresuid
SYSCALL(setresuid)
#endif
#ifdef __NR_setreuid
SYSCALL(setreuid)
#endif
#ifdef __NR_setrlimit
SYSCALL(setrlimit)
#endif
#ifdef __NR_setsid
SYSCALL(setsid)
#endif
#ifdef __NR_setsockopt
SYSCALL(setsockopt)
#endif
#ifdef __NR_settimeofday
SYSCALL(settimeofday)
#endif
#ifdef __NR_setuid
SYSCALL(setuid)
#endif
#ifdef __NR_setxattr
SYSCALL(setxattr)
#endif
#ifdef __NR_setxattrat
SYSCALL(setxattrat)
#endif
#ifdef __NR_shmat
SYSCALL(shmat)
#endif
#ifdef __NR_shmctl
SYSCALL(shmctl)
#endif
#ifdef __NR_shmdt
SYSCALL(shmdt)
#endif
#ifdef __NR_shmget
SYSCALL(shmget)
#endif
#ifdef __NR_shutdown
SYSCALL(shutdown)
#endif
#ifdef __NR_sigaltstack
SYSCALL(sigaltstack)
#endif
#ifdef __NR_signalfd
SYSCALL(signalfd)
#endif
#ifdef __NR_signalfd4
SYSCALL(signalfd4)
#endif
#ifdef __NR_socket
SYSCALL(socket)
#endif
#ifdef __NR_socketpair
SYSCALL(socketpair)
#endif
#ifdef __NR_splice
SYSCALL(splice)
#endif
#ifdef __NR_stat
SYSCALL(stat)
#endif
#ifdef __NR_statfs
SYSCALL(statfs)
#endif
#ifdef __NR_statmount
SYSCALL(statmount)
#endif
#ifdef __NR_statx
SYSCALL(statx)
#endif
#ifdef __NR_swapoff
SYSCALL(swapoff)
#endif
#ifdef __NR_swapon
SYSCALL(swapon)
#endif
#ifdef __NR_symlink
SYSCALL(symlink)
#endif
#ifdef __NR_symlinkat
SYSCALL(symlinkat)
#endif
#ifdef __NR_sync
SYSCALL(sync)
#endif
#ifdef __NR_sync_file_range
SYSCALL(sync_file_range)
#endif
#ifdef __NR_syncfs
SYSCALL(syncfs)
#endif
#ifdef __NR_sysfs
SYSCALL(sysfs)
#endif
#ifdef __NR_sysinfo
SYSCALL(sysinfo)
#endif
#ifdef __NR_syslog
SYSCALL(syslog)
#endif
#ifdef __NR_tee
SYSCALL(tee)
#endif
#ifdef __NR_tgkill
SYSCALL(tgkill)
#endif
#ifdef __NR_time
SYSCALL(time)
#endif
#ifdef __NR_timer_create
SYSCALL(timer_create)
#endif
#ifdef __NR_timer_delete
SYSCALL(timer_delete)
#endif
#ifdef __NR_timer_getoverrun
SYSCALL(timer_getoverrun)
#endif
#ifdef __NR_timer_gettime
SYSCALL(timer_gettime)
#endif
#ifdef __NR_timer_settime
SYSCALL(timer_settime)
#endif
#ifdef __NR_timerfd_create
SYSCALL(timerfd_create)
#endif
#ifdef __NR_timerfd_gettime
SYSCALL(timerfd_gettime)
#endif
#ifdef __NR_timerfd_settime
SYSCALL(timerfd_settime)
#endif
#ifdef __NR_times
SYSCALL(times)
#endif
#ifdef __NR_tkill
SYSCALL(tkill)
#endif
#ifdef __NR_truncate
SYSCALL(truncate)
#endif
#ifdef __NR_tuxcall
SYSCALL(tuxcall)
#endif
#ifdef __NR_umask
SYSCALL(umask)
#endif
#ifdef __NR_umount2
SYSCALL(umount2)
#endif
#ifdef __NR_uname
SYSCALL(uname)
#endif
#ifdef __NR_unlink
SYSCALL(unlink)
#endif
#ifdef __NR_unlinkat
SYSCALL(unlinkat)
#endif
#ifdef __NR_unshare
SYSCALL(unshare)
#endif
#ifdef __NR_uprobe
SYSCALL(uprobe)
#endif
#ifdef __NR_uretprobe
SYSCALL(uretprobe)
#endif
#ifdef __NR_uselib
SYSCALL(uselib)
#endif
#ifdef __NR_userfaultfd
SYSCALL(userfaultfd)
#endif
#ifdef __NR_ustat
SYSCALL(ustat)
#endif
#ifdef __NR_utime
SYSCALL(utime)
#endif
#ifdef __NR_utimensat
SYSCALL(utimensat)
#endif
#ifdef __NR_utimes
SYSCALL(utimes)
#endif
#ifdef __NR_vfork
SYSCALL(vfork)
#endif
#ifdef __NR_vhangup
SYSCALL(vhangup)
#endif
#ifdef __NR_vmsplice
SYSCALL(vmsplice)
#endif
#ifdef __NR_vserver
SYSCALL(vserver)
#endif
#ifdef __NR_wait4
SYSCALL(wait4)
#endif
#ifdef __NR_waitid
SYSCALL(waitid)
#endif
#ifdef __NR_write
SYSCALL(write)
#endif
#ifdef __NR_writev
SYSCALL(writev)
#endif
