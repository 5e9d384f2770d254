// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "analyse/why/wait_kind.h"
#include "common/cleanup.h"

#define ANY 8

static const char *const lock_functions[] = { "rwsem_down_", "rwsem_optimistic", "__mutex_lock",
					      "rt_mutex_slowlock", NULL };

/* Functions of locks: the frame above the outermost of them takes the lock. */
static const char *const taking_functions[] = { "rwsem_",      "down_read",	"down_write",
						"__down_read", "__down_write",	"mutex_lock",
						"__mutex_",    "ww_mutex_lock", "rt_mutex_",
						"__rt_mutex_", "rwbase_",	"xfs_ilock",
						NULL };
static const char *const mutex_functions[] = { "mutex_lock", "__mutex_lock", "ww_mutex_lock",
					       NULL };
static const char *const killable_functions[] = { "down_read_killable", "down_write_killable",
						  NULL };

/* What takes mmap_lock, and no other semaphore */
static const char *const mmap_takers[] = { "do_user_addr_fault",
					   "do_page_fault",
					   "lock_mm_and_find_vma",
					   "mmap_read_lock",
					   "mmap_write_lock",
					   "vm_mmap_pgoff",
					   "__vm_munmap",
					   "__x64_sys_munmap",
					   "__arm64_sys_munmap",
					   "do_mprotect_pkey",
					   "do_madvise",
					   "madvise_lock",
					   "exit_mm",
					   "__do_sys_brk",
					   "__x64_sys_brk",
					   "__arm64_sys_brk",
					   "__do_sys_mincore",
					   "__x64_sys_mincore",
					   "__arm64_sys_mincore",
					   "__do_sys_mremap",
					   "__x64_sys_mremap",
					   "__arm64_sys_mremap",
					   "do_mremap",
					   "do_mlock",
					   "__x64_sys_munlock",
					   "__arm64_sys_munlock",
					   "vm_brk_flags",
					   "__mm_populate",
					   "get_user_pages_unlocked",
					   "__gup_longterm_locked",
					   "__access_remote_vm",
					   "show_smaps_rollup",
					   "pagemap_read",
					   NULL };

/*
 * These take mmap_lock with a wait that a kill ends; their waits for other semaphores are not
 * killable.
 */
static const char *const killable_mmap_takers[] = { "dup_mmap", "m_start", NULL };

/* What takes the lock of an inode, and no other semaphore */
static const char *const inode_takers[] = { "inode_lock",
					    "path_openat",
					    "open_last_lookups",
					    "do_unlinkat",
					    "do_rmdir",
					    "do_renameat",
					    "do_mkdirat",
					    "filename_create",
					    "lock_rename",
					    "lock_two_",
					    "lookup_slow",
					    "walk_component",
					    "iterate_dir",
					    "do_truncate",
					    "chmod_common",
					    "chown_common",
					    "vfs_utimes",
					    "vfs_link",
					    "vfs_unlink",
					    "vfs_rmdir",
					    "vfs_rename",
					    "vfs_setxattr",
					    "vfs_removexattr",
					    "generic_file_write_iter",
					    "__generic_file_fsync",
					    "shmem_file_",
					    "shmem_fallocate",
					    "ext4_file_write_iter",
					    "ext4_buffered_write_iter",
					    "ext4_dio_",
					    "ext4_file_read_iter",
					    "ext4_llseek",
					    "xfs_file_buffered_",
					    "xfs_file_dio_",
					    "btrfs_inode_lock",
					    "fuse_file_write_iter",
					    "fuse_cache_write_iter",
					    "fuse_dio_lock",
					    "nfs_start_io_",
					    "netfs_start_io_",
					    "ceph_start_io_",
					    "ovl_write_iter",
					    "wrap_directory_iterator",
					    "vfs_set_acl",
					    NULL };

/*
 * The first matching row counts. A name in the stack must begin with a text of @any. If @with is
 * not empty, a name must also begin with a text of @with.
 */
struct wait_row {
	enum wait_kind kind;
	const char *any[ANY + 1];
	const char *with[ANY + 1];
	bool in_lock; /* instead of @any: the task waits for a lock of the kernel */
	/* not NULL: the lock is not a mutex, and the function that takes it is one of these */
	const char *const *takers;
	bool killable; /* a kill ends the wait */
	bool is_leaf;  /* the name that matches @any must be the innermost */
};

static const struct wait_row wait_rows[] = {
	{ WAIT_THROTTLED, { "throttle_cfs_rq_work" } },
	{ WAIT_STOPPED, { "do_signal_stop", "do_jobctl_trap" } }, /* the latter of a traced task */
	{ WAIT_TRACED, { "ptrace_stop" } },
	{ WAIT_FROZEN, { "do_freezer_trap", "__refrigerator", "cgroup_enter_frozen" } },
	{ WAIT_RECLAIM,
	  { "try_to_free_pages", "try_to_free_mem_cgroup_pages", "__alloc_pages_direct_reclaim",
	    "__alloc_pages_direct_compact" } },
	{ WAIT_OVER_HIGH, { "mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high" } },
	{ WAIT_DIRTY, { "balance_dirty_pages" } },
	{ WAIT_MMAP_LOCK, .in_lock = true, .takers = mmap_takers },
	{ WAIT_MMAP_LOCK, .in_lock = true, .takers = killable_mmap_takers, .killable = true },
	{ WAIT_INODE_LOCK, .in_lock = true, .takers = inode_takers },
	{ WAIT_FILE_LOCK,
	  { "locks_lock_inode_wait", "flock_lock_inode_wait", "__do_sys_flock", "__x64_sys_flock",
	    "__arm64_sys_flock", "do_lock_file_wait", "fcntl_setlk", "posix_lock_inode_wait" } },
	{ WAIT_KERNEL_LOCK, .in_lock = true },
	{ WAIT_KERNEL_LOCK, { "__down_", "down_read", "percpu_down_write", "__percpu_down_read" } },
	{ WAIT_FUTEX, { "futex_wait", "futex_lock_pi", "do_futex", "__futex_wait" } },
	{ WAIT_FUSE, { "request_wait_answer", "__fuse_" } },
	{ WAIT_NFS, { "rpc_wait_bit_killable", "nfs_wait" } },
	{ WAIT_FSYNC,
	  { "vfs_fsync_range", "do_fsync", "__x64_sys_fsync", "__x64_sys_fdatasync", "ksys_sync",
	    "ext4_sync_file", "__x64_sys_msync", "ksys_sync_file_range" } },
	{ WAIT_JOURNAL,
	  { "jbd2_log_wait_commit", "wait_transaction_locked", "start_this_handle", "xlog_wait",
	    "xfs_log_force" } },
	{ WAIT_PAGE_FAULT, { "handle_mm_fault", "do_user_addr_fault", "do_page_fault" } },
	{ WAIT_QUEUE,
	  { "blk_mq_get_tag", "wbt_wait", "rq_qos_wait", "rq_qos_throttle", "__rq_qos_throttle",
	    "blk_throtl", "iocg_", "ioc_rqos_throttle" } },
	{ WAIT_PAGE,
	  { "folio_wait_", "__folio_lock", "wait_on_page_", "__lock_page", "filemap_update_page",
	    "put_and_wait_on_page_locked" } },
	{ WAIT_DISK,
	  { "io_schedule", "submit_bio_wait", "__wait_on_buffer", "bio_await_chain",
	    "__iomap_dio_rw", "blkdev_direct_IO", "__blkdev_direct_IO" } },
	{ WAIT_PIPE,
	  { "pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write", "fifo_pipe_",
	    "wait_for_partner", "fifo_open", "pipe_wait" } },
	{ WAIT_SOCKET,
	  { "unix_", "sk_wait_data", "inet_", "__skb_wait_for_more_packets", "sk_stream_wait_",
	    "sock_recvmsg", "sock_sendmsg", "__inet_" } },
	{ WAIT_SOCKET,
	  { "tcp_", "__sys_recv", "__sys_send", "netlink_", "__sys_accept", "do_accept", "udp_",
	    "__sys_connect" } },
	{ WAIT_TTY, { "n_tty_", "tty_", "file_tty_" } },
	{ WAIT_EVENTFD, { "eventfd_", "signalfd_", "timerfd_", "inotify_read", "fanotify_" } },
	{ WAIT_EPOLL, { "ep_poll", "do_epoll_" } },
	{ WAIT_POLL,
	  { "do_sys_poll", "do_poll", "poll_schedule_timeout", "do_select", "do_pselect",
	    "core_sys_select" } },
	{ WAIT_SLEEP,
	  { "do_nanosleep", "hrtimer_nanosleep", "common_nsleep", "msleep", "usleep_range",
	    "schedule_timeout_uninterruptible", "schedule_timeout_interruptible" } },
	{ WAIT_CHILD, { "do_wait", "__do_wait", "kernel_wait", "kernel_waitid" } },
	{ WAIT_VFORK, { "wait_for_vfork_done", "kernel_clone" } },
	{ WAIT_SIGNAL,
	  { "do_sigtimedwait", "sigsuspend", "__do_sys_pause", "__x64_sys_pause",
	    "__x64_sys_rt_sigsuspend", "__x64_sys_rt_sigtimedwait" } },
	{ WAIT_IPC, { "do_semtimedop", "__do_semtimedop", "do_msgrcv", "do_msgsnd", "wq_sleep" } },
	{ WAIT_IO_URING, { "io_cqring_wait", "io_uring_", "io_wq_worker" } },
	{ WAIT_WORK,
	  { "worker_thread", "rescuer_thread", "smpboot_thread_fn", "kjournald2", "kswapd",
	    "rcu_gp_", "kthread_worker_fn", "kthreadd" } },
	{ WAIT_COMPLETION,
	  { "wait_for_completion", "__wait_for_common", "__wait_for_completion" } },
	{ WAIT_WORK, { "kthread" } },
	{ WAIT_TASK_WORK, { "task_work_run" }, { "__cond_resched" } },
	/* the same in a stack without functions of the scheduler */
	{ WAIT_TASK_WORK, { "task_work_run" }, .is_leaf = true },
};

static bool begins_with(const char *name, const char *const *any)
{
	for (; *any; any++)
		if (!strncmp(name, *any, strlen(*any)))
			return true;
	return false;
}

static bool has_any(const char *const *names, size_t n, const char *const *any)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && begins_with(names[i], any))
			return true;
	return false;
}

/* Is the function that takes the lock one of @takers, and the lock not a mutex? */
static bool takes_semaphore(const char *const *names, size_t n, const char *const *takers)
{
	size_t i = n;

	if (has_any(names, n, mutex_functions))
		return false;
	while (i && !(names[i - 1] && begins_with(names[i - 1], taking_functions)))
		i--;
	return i < n && names[i] && begins_with(names[i], takers);
}

static bool row_matches(const struct wait_row *r, const char *const *names, size_t n, bool in_lock)
{
	if (r->in_lock ? !in_lock : !has_any(names, r->is_leaf && n > 1 ? 1 : n, r->any))
		return false;
	if (r->takers && !takes_semaphore(names, n, r->takers))
		return false;
	if (r->killable && !has_any(names, n, killable_functions))
		return false;
	return !r->with[0] || has_any(names, n, r->with);
}

enum wait_kind wait_kind__of(const char *const *names, size_t n, bool in_lock)
{
	static const char *const scheduler[] = { "__schedule", "schedule", NULL };

	if (!in_lock || has_any(names, n, scheduler))
		in_lock = has_any(names, n, lock_functions);
	for (size_t i = 0; i < ARRAY_SIZE(wait_rows); i++)
		if (row_matches(&wait_rows[i], names, n, in_lock))
			return wait_rows[i].kind;
	return WAIT_UNKNOWN;
}

enum wait_kind wait_kind__with_lock(enum wait_kind k, enum lock_kind lock)
{
	/* with PREEMPT_RT, rwsems are made of rt_mutexes */
	bool is_rwsem = lock == LOCK_RWSEM_READ || lock == LOCK_RWSEM_WRITE ||
			lock == LOCK_RWSEM_READERS || lock == LOCK_RT_MUTEX;

	if ((k != WAIT_INODE_LOCK && k != WAIT_MMAP_LOCK) || is_rwsem)
		return k;
	return lock_kind__is_of_kernel(lock) ? WAIT_KERNEL_LOCK : k;
}

bool wait_kind__limits_io(const char *const *names, size_t n)
{
	static const char *const limits[] = { "throtl_pending_timer_fn", "blk_throtl_",
					      "iocg_waitq_timer_fn", NULL };

	return has_any(names, n, limits);
}

bool wait_kind__spins(const char *const *names, size_t n)
{
	static const char *const spins[] = { "rwsem_spin_on_owner", "rwsem_optimistic_spin",
					     "mutex_spin_on_owner", "osq_lock", NULL };

	return has_any(names, n, spins);
}

/* Number of frames of the innermost interrupt, which may have interrupted another one. */
static size_t innermost_frames(const char *const *names, size_t n, const char *const *entries)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && begins_with(names[i], entries))
			return i + 1;
	return n;
}

/*
 * Does the task itself send to this machine? process_backlog() delivers such data in a softirq at
 * the end of the send.
 */
static bool is_own_send(const char *const *names, size_t n)
{
	static const char *const backlog[] = { "process_backlog", NULL };
	static const char *const sends[] = { "__dev_queue_xmit",   "ip_finish_output2",
					     "ip6_finish_output2", "__tcp_transmit_skb",
					     "udp_send_skb",	   NULL };

	for (size_t i = 0; i < n; i++)
		if (has_any(names + i, 1, backlog))
			return has_any(names + i, n - i, sends);
	return false;
}

enum wake_context wake_context__of(const char *const *names, size_t n, bool in_irq, bool softirqd)
{
	static const char *const signals[] = { "signal_wake_up_state", "complete_signal",
					       "__send_signal_locked", "do_send_sig_info", NULL };
	static const char *const timers[] = {
		"hrtimer_wakeup",     "process_timeout",      "it_real_fn",
		"posix_timer_fn",     "timerfd_tmrproc",      "call_timer_fn",
		"hrtimer_run_queues", "__hrtimer_run_queues", NULL
	};
	static const char *const blocks[] = { "blk_",	  "bio_",     "__bio_",	    "nvme_",
					      "scsi_",	  "virtblk_", "folio_end_", "end_page_",
					      "end_bio_", NULL };
	static const char *const net[] = { "net_rx_action",
					   "__netif_receive_skb",
					   "napi_",
					   "process_backlog",
					   "tcp_v",
					   "udp_",
					   NULL };
	static const char *const entries[] = {
		"asm_",	       "sysvec_",	"common_interrupt", "irq_exit",	      "el1h_",
		"el0t_64_irq", "el1_interrupt", "el0_interrupt",    "gic_handle_irq", NULL
	};

	static const char *const softirqs[] = { "handle_softirqs", "__do_softirq",
						"__softirqentry_text_start", NULL };
	size_t inner;

	if (!in_irq && !softirqd)
		return has_any(names, n, signals) ? WAKE_SIGNAL : WAKE_TASK;
	n = innermost_frames(names, n, entries);
	inner = innermost_frames(names, n, softirqs); /* without frames of the interrupted task */
	if (has_any(names, inner, blocks))
		return WAKE_BLOCK;
	if (has_any(names, inner, net)) {
		/*
		 * Other softirqs may run in any task, also those with packets that another CPU
		 * received (RPS).
		 */
		return softirqd || has_any(names, n, entries) || !is_own_send(names, n) ? WAKE_NET
											: WAKE_TASK;
	}
	if (has_any(names, inner, timers))
		return WAKE_TIMER;
	return in_irq ? WAKE_IRQ : WAKE_TASK;
}

static const struct {
	const char *text, *word;
} kind_texts[WAIT_KINDS] = {
	[WAIT_UNKNOWN] = { "", "unknown" },
	[WAIT_THROTTLED] = { "its cgroup's CPU quota", "quota" },
	[WAIT_STOPPED] = { "a signal to go on", "stopped" },
	[WAIT_TRACED] = { "its tracer", "traced" },
	[WAIT_FROZEN] = { "its cgroup to be thawed", "frozen" },
	[WAIT_RECLAIM] = { "memory to be reclaimed", "reclaim" },
	[WAIT_OVER_HIGH] = { "its cgroup's memory to be reclaimed", "memory-high" },
	[WAIT_DIRTY] = { "dirty pages to be written", "dirty-pages" },
	[WAIT_MMAP_LOCK] = { "the lock of an address space (mmap_lock)", "mmap-lock" },
	[WAIT_INODE_LOCK] = { "the lock of an inode", "inode-lock" },
	[WAIT_KERNEL_LOCK] = { "a lock in the kernel", "kernel-lock" },
	[WAIT_FILE_LOCK] = { "a file lock", "file-lock" },
	[WAIT_FUTEX] = { "a futex", "futex" },
	[WAIT_FUSE] = { "the server of a FUSE file system", "fuse" },
	[WAIT_NFS] = { "an NFS server", "nfs" },
	[WAIT_FSYNC] = { "fsync", "fsync" },
	[WAIT_JOURNAL] = { "a journal commit", "journal" },
	[WAIT_PAGE_FAULT] = { "a page fault", "page-fault" },
	[WAIT_QUEUE] = { "room in a device's queue", "device-queue" },
	[WAIT_PAGE] = { "a page of a file", "page" },
	[WAIT_DISK] = { "a disk", "disk" },
	[WAIT_PIPE] = { "a pipe", "pipe" },
	[WAIT_SOCKET] = { "a socket", "socket" },
	[WAIT_TTY] = { "a terminal", "tty" },
	[WAIT_EVENTFD] = { "an event descriptor", "eventfd" },
	[WAIT_EPOLL] = { "epoll", "epoll" },
	[WAIT_POLL] = { "poll", "poll" },
	[WAIT_SLEEP] = { "its own timer", "sleep" },
	[WAIT_CHILD] = { "a child", "child" },
	[WAIT_VFORK] = { "a new child to exec", "vfork" },
	[WAIT_SIGNAL] = { "a signal", "signal" },
	[WAIT_IPC] = { "a System V or POSIX queue", "ipc" },
	[WAIT_IO_URING] = { "io_uring", "io-uring" },
	[WAIT_WORK] = { "work to do", "work" },
	[WAIT_TASK_WORK] = { "the CPU", "task-work" },
	[WAIT_COMPLETION] = { "another part of the kernel", "completion" },
};

const char *wait_kind__text(enum wait_kind k)
{
	return kind_texts[k].text;
}

const char *wait_kind__word(enum wait_kind k)
{
	return kind_texts[k].word;
}

static const struct {
	const char *text, *word;
} lock_texts[LOCK_KINDS] = {
	[LOCK_UNKNOWN] = { "", NULL },
	[LOCK_MUTEX] = { "a mutex of the kernel", "mutex" },
	[LOCK_RWSEM_READ] = { "a semaphore of the kernel that a writer held", "rwsem-read" },
	[LOCK_RWSEM_WRITE] = { "a semaphore of the kernel, for writing", "rwsem-write" },
	[LOCK_RWSEM_READERS] = { "a semaphore of the kernel that readers held", "rwsem-readers" },
	[LOCK_SPINLOCK] = { "a spinlock of the kernel", "spinlock" },
	[LOCK_RWLOCK_READ] = { "a spinlock of the kernel that a writer held", "rwlock-read" },
	[LOCK_RWLOCK_WRITE] = { "a spinlock of the kernel, for writing", "rwlock-write" },
	[LOCK_PERCPU_READ] = { "a per-CPU semaphore that a writer held", "percpu-read" },
	[LOCK_PERCPU_WRITE] = { "the readers of a per-CPU semaphore", "percpu-write" },
	[LOCK_RT_MUTEX] = { "a mutex of the kernel", "rt-mutex" },
	[LOCK_SEMAPHORE] = { "a semaphore of the kernel", "semaphore" },
	[LOCK_FUTEX] = { "", "futex" },
	[LOCK_FUTEX_PI] = { "", "futex-pi" },
	[LOCK_FLOCK] = { "", "flock" },
	[LOCK_POSIX] = { "", "posix" },
	[LOCK_MUTEX_SPUN] = { "a mutex of the kernel", "mutex" },
};

const char *lock_kind__text(enum lock_kind k)
{
	return k < LOCK_KINDS ? lock_texts[k].text : "";
}

const char *lock_kind__word(enum lock_kind k)
{
	return k < LOCK_KINDS ? lock_texts[k].word : NULL;
}

bool lock_kind__is_of_kernel(enum lock_kind k)
{
	return (k > LOCK_UNKNOWN && k < LOCK_FUTEX) || k == LOCK_MUTEX_SPUN;
}

bool lock_kind__spins(enum lock_kind k)
{
	return k == LOCK_SPINLOCK || k == LOCK_RWLOCK_READ || k == LOCK_RWLOCK_WRITE;
}

bool lock_kind__is_taken(enum lock_kind k)
{
	return lock_kind__spins(k) || k == LOCK_MUTEX_SPUN;
}

bool wait_kind__is_for(enum wait_kind k, enum lock_kind lock)
{
	switch (lock) {
	case LOCK_UNKNOWN:
		return false;
	case LOCK_FUTEX:
	case LOCK_FUTEX_PI:
		return k == WAIT_FUTEX || k == WAIT_UNKNOWN;
	case LOCK_FLOCK:
	case LOCK_POSIX:
		return k == WAIT_FILE_LOCK || k == WAIT_UNKNOWN;
	default:
		return k == WAIT_MMAP_LOCK || k == WAIT_INODE_LOCK || k == WAIT_KERNEL_LOCK ||
		       k == WAIT_UNKNOWN;
	}
}

const char *wake_context__word(enum wake_context c)
{
	static const char *const words[] = {
		[WAKE_TASK] = "task",	[WAKE_SIGNAL] = "signal",     [WAKE_TIMER] = "timer",
		[WAKE_BLOCK] = "block", [WAKE_NET] = "network",	      [WAKE_IRQ] = "interrupt",
		[WAKE_OWNER] = "owner", [WAKE_OWNER_BEFORE] = "owner"
	};

	return words[c];
}
