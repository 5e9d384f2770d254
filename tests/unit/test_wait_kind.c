// SPDX-License-Identifier: GPL-2.0-only
/* Classifies stacks as they occur in kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/wait_kind.h"

#define STACK(...) ((const char *const[]){ __VA_ARGS__ })
#define KIND_IF(in_lock, ...)                                                                      \
	wait_kind__of(STACK(__VA_ARGS__), sizeof(STACK(__VA_ARGS__)) / sizeof(char *), in_lock)
#define KIND(...) KIND_IF(false, __VA_ARGS__)
#define CONTEXT(irq, softirqd, ...)                                                                \
	wake_context__of(STACK(__VA_ARGS__), sizeof(STACK(__VA_ARGS__)) / sizeof(char *), irq,     \
			 softirqd)

static void kinds(void **state)
{
	assert_int_equal(KIND("__schedule", "schedule", "futex_do_wait", "__futex_wait",
			      "futex_wait", "do_futex", "__x64_sys_futex"),
			 WAIT_FUTEX);
	assert_int_equal(KIND("__schedule", "do_nanosleep", "hrtimer_nanosleep"), WAIT_SLEEP);
	assert_int_equal(KIND("__schedule", "io_schedule", "folio_wait_bit_common", "filemap_fault",
			      "handle_mm_fault", "do_user_addr_fault"),
			 WAIT_PAGE_FAULT);
	assert_int_equal(KIND("__schedule", "throttle_cfs_rq_work", "task_work_run"),
			 WAIT_THROTTLED);
	assert_int_equal(KIND("__schedule", "schedule", "__cond_resched", "task_work_run",
			      "exit_to_user_mode_loop"),
			 WAIT_TASK_WORK);
	assert_int_equal(KIND("__schedule", "schedule_timeout_killable",
			      "__mem_cgroup_handle_over_high", "exit_to_user_mode_loop"),
			 WAIT_OVER_HIGH);
	assert_int_equal(KIND("__schedule", "io_schedule", "shrink_node",
			      "try_to_free_mem_cgroup_pages", "reclaim_high",
			      "__mem_cgroup_handle_over_high"),
			 WAIT_RECLAIM);
	assert_int_equal(KIND("__schedule", "schedule", "do_signal_stop", "get_signal"),
			 WAIT_STOPPED);
	assert_int_equal(KIND("__schedule", "schedule", "ptrace_stop", "ptrace_notify"),
			 WAIT_TRACED);
	assert_int_equal(KIND("__schedule", "worker_thread", "kthread"), WAIT_WORK);
	assert_int_equal(KIND("__schedule", NULL), WAIT_UNKNOWN);
}

static void lock_kind_wins_over_purpose(void **state)
{
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write_killable",
			      "vm_mmap_pgoff"),
			 WAIT_MMAP_LOCK);
	assert_int_equal(
		KIND("__schedule", "rwsem_down_read_slowpath", "down_read", "do_user_addr_fault"),
		WAIT_MMAP_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write",
			      "ext4_buffered_write_iter", "vfs_write"),
			 WAIT_INODE_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write",
			      "do_unlinkat", "__x64_sys_unlink"),
			 WAIT_INODE_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write", "xfs_ilock",
			      "xfs_ilock_iocb", "xfs_file_buffered_write", "vfs_write"),
			 WAIT_INODE_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write_killable",
			      "dup_mmap", "copy_process"),
			 WAIT_MMAP_LOCK);
}

/*
 * Functions that take locks of inodes or of address spaces also call functions that take other
 * locks.
 */
static void a_lock_is_named_by_what_takes_it(void **state)
{
	assert_int_equal(KIND("__schedule", "__mutex_lock.constprop.0", "pipe_write", "vfs_write",
			      "ksys_write"),
			 WAIT_KERNEL_LOCK);
	assert_int_equal(KIND("__schedule", "__mutex_lock.constprop.0", "mutex_lock",
			      "cgroup_kn_lock_live", "cgroup_procs_write", "kernfs_fop_write_iter",
			      "vfs_write"),
			 WAIT_KERNEL_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_read_slowpath", "down_read",
			      "ext4_map_blocks", "ext4_iomap_begin", "ext4_file_write_iter",
			      "vfs_write"),
			 WAIT_KERNEL_LOCK);
	assert_int_equal(
		KIND("__schedule", "__mutex_lock", "mutex_lock", "lock_rename", "do_renameat2"),
		WAIT_KERNEL_LOCK);
	assert_int_equal(KIND("__schedule", "__mutex_lock", "mutex_lock", "tty_open", "chrdev_open",
			      "do_dentry_open", "vfs_open", "path_openat"),
			 WAIT_KERNEL_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write",
			      "unlink_anon_vmas", "free_pgtables", "exit_mmap"),
			 WAIT_KERNEL_LOCK);
	/* i_mmap_rwsem */
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write", "dup_mmap",
			      "copy_process"),
			 WAIT_KERNEL_LOCK);
	/* what takes it has no name */
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write", NULL,
			      "ext4_file_write_iter"),
			 WAIT_KERNEL_LOCK);
	assert_int_equal(KIND("__schedule", "rwsem_down_write_slowpath", "down_write"),
			 WAIT_KERNEL_LOCK);
}

/* The locks of inodes and of address spaces are rwsems. */
static void an_event_tells_the_lock(void **state)
{
	assert_int_equal(wait_kind__with_lock(WAIT_INODE_LOCK, LOCK_RWSEM_READERS),
			 WAIT_INODE_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_MMAP_LOCK, LOCK_RWSEM_READ), WAIT_MMAP_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_INODE_LOCK, LOCK_MUTEX), WAIT_KERNEL_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_MMAP_LOCK, LOCK_PERCPU_WRITE), WAIT_KERNEL_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_INODE_LOCK, LOCK_UNKNOWN), WAIT_INODE_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_INODE_LOCK, LOCK_FUTEX), WAIT_INODE_LOCK);
	assert_int_equal(wait_kind__with_lock(WAIT_PIPE, LOCK_MUTEX), WAIT_PIPE);
}

/* Stacks of offcpu-time lack the functions of the scheduler and of locks. */
static void stacks_without_the_scheduler(void **state)
{
	assert_int_equal(KIND("pipe_write", "vfs_write", "ksys_write"), WAIT_PIPE);
	assert_int_equal(KIND_IF(true, "pipe_write", "vfs_write", "ksys_write"), WAIT_KERNEL_LOCK);
	assert_int_equal(KIND_IF(true, "vm_mmap_pgoff", "do_syscall_64"), WAIT_MMAP_LOCK);
	assert_int_equal(KIND_IF(true, "ext4_buffered_write_iter", "vfs_write"), WAIT_INODE_LOCK);
	/* the stack of a switch has the lock, if the task waits for one */
	assert_int_equal(KIND_IF(true, "__schedule", "pipe_write", "vfs_write", "ksys_write"),
			 WAIT_PIPE);
	assert_int_equal(KIND("task_work_run", "exit_to_user_mode_loop"), WAIT_TASK_WORK);
	assert_int_equal(KIND("__fput", "task_work_run", "exit_to_user_mode_loop"), WAIT_UNKNOWN);
}

static void limits_of_devices(void **state)
{
	static const char *const throttled[] = { "try_to_wake_up", "__queue_work",
						 "throtl_pending_timer_fn", "call_timer_fn" };
	static const char *const other[] = { "try_to_wake_up", "__queue_work",
					     "delayed_work_timer_fn", "call_timer_fn" };

	assert_true(wait_kind__limits_io(throttled, 4));
	assert_false(wait_kind__limits_io(other, 4));
	assert_false(wait_kind__limits_io(NULL, 0));
}

static void locks_whose_owner_runs(void **state)
{
	static const char *const spins[] = { "rwsem_spin_on_owner",	  "rwsem_optimistic_spin",
					     "rwsem_down_write_slowpath", "down_write",
					     "shmem_file_write_iter",	  "vfs_write" };
	static const char *const sleeps[] = { "__schedule", "schedule", "rwsem_down_write_slowpath",
					      "down_write", "vfs_write" };

	assert_true(wait_kind__spins(spins, 6));
	assert_int_equal(wait_kind__of(spins, 6, false), WAIT_INODE_LOCK);
	assert_false(wait_kind__spins(sleeps, 5));
}

static void contexts(void **state)
{
	assert_int_equal(CONTEXT(false, false, "try_to_wake_up", "futex_wake"), WAKE_TASK);
	assert_int_equal(CONTEXT(false, false, "try_to_wake_up", "signal_wake_up_state",
				 "complete_signal", "kill_pid_info"),
			 WAKE_SIGNAL);
	assert_int_equal(CONTEXT(true, false, "try_to_wake_up", "hrtimer_wakeup",
				 "__hrtimer_run_queues", "asm_sysvec_apic_timer_interrupt"),
			 WAKE_TIMER);
	assert_int_equal(CONTEXT(true, false, "folio_wake_bit", "blk_update_request",
				 "handle_softirqs", "asm_common_interrupt"),
			 WAKE_BLOCK);
	/* a softirq in a task that sends over a network block device */
	assert_int_equal(CONTEXT(true, false, "sock_def_readable", "tcp_v4_rcv", "net_rx_action",
				 "handle_softirqs", "do_softirq", "tcp_sendmsg", "nbd_queue_rq",
				 "blk_mq_dispatch_rq_list"),
			 WAKE_NET);
	/* a timeout that expires while its CPU sends */
	assert_int_equal(CONTEXT(true, false, "process_timeout", "call_timer_fn", "handle_softirqs",
				 "do_softirq", "udp_sendmsg"),
			 WAKE_TIMER);
	assert_int_equal(CONTEXT(true, false, "rcu_core", "handle_softirqs"), WAKE_IRQ);
}

/* A timer interrupt within a softirq of disks. */
static void innermost_interrupt_decides(void **state)
{
	assert_int_equal(CONTEXT(true, false, "try_to_wake_up", "hrtimer_wakeup",
				 "__hrtimer_run_queues", "asm_sysvec_apic_timer_interrupt",
				 "blk_update_request", "blk_done_softirq", "handle_softirqs",
				 "asm_common_interrupt"),
			 WAKE_TIMER);
}

/* A packet to this machine is delivered in a softirq at the end of the sender's call. */
static void local_packet_is_delivered_by_its_sender(void **state)
{
	assert_int_equal(CONTEXT(true, false, "sock_def_readable", "tcp_v4_rcv", "process_backlog",
				 "net_rx_action", "handle_softirqs", "do_softirq",
				 "__local_bh_enable_ip", "__dev_queue_xmit", "ip_finish_output2",
				 "__tcp_transmit_skb", "tcp_sendmsg", "__x64_sys_sendto"),
			 WAKE_TASK);
	/* with RPS, packets that another CPU received may run in any task, also in a receiver */
	assert_int_equal(CONTEXT(true, false, "sock_def_readable", "tcp_v4_rcv", "process_backlog",
				 "net_rx_action", "handle_softirqs", "do_softirq",
				 "__local_bh_enable_ip", "tcp_recvmsg", "__x64_sys_recvfrom"),
			 WAKE_NET);
	/* what the kernel sends in answer to such a packet is not sent by the task */
	assert_int_equal(CONTEXT(true, false, "sock_def_write_space", "sock_wfree",
				 "__dev_queue_xmit", "__tcp_transmit_skb", "tcp_v4_rcv",
				 "process_backlog", "net_rx_action", "handle_softirqs",
				 "do_softirq", "__local_bh_enable_ip", "release_sock"),
			 WAKE_NET);
	assert_int_equal(CONTEXT(true, false, "sock_def_readable", "tcp_v4_rcv", "net_rx_action",
				 "handle_softirqs", "irq_exit_rcu", "asm_common_interrupt"),
			 WAKE_NET);
	/* a network card is polled at the end of whatever task enables softirqs */
	assert_int_equal(CONTEXT(true, false, "sock_def_readable", "tcp_v4_rcv", "virtnet_poll",
				 "net_rx_action", "handle_softirqs", "do_softirq",
				 "__local_bh_enable_ip", "ext4_file_write_iter"),
			 WAKE_NET);
	assert_int_equal(CONTEXT(true, true, "sock_def_readable", "tcp_v4_rcv", "net_rx_action",
				 "handle_softirqs", "run_ksoftirqd"),
			 WAKE_NET);
}

static void every_kind_has_words(void **state)
{
	for (int k = 0; k < WAIT_KINDS; k++) {
		assert_non_null(wait_kind__text(k));
		assert_non_null(wait_kind__word(k));
	}
}

/* The event of a lock explains only the wait for it, not a different wait right after it. */
static void locks_of_waits(void **state)
{
	for (int l = LOCK_UNKNOWN + 1; l < LOCK_KINDS; l++) {
		bool futex = l == LOCK_FUTEX || l == LOCK_FUTEX_PI;
		bool file = l == LOCK_FLOCK || l == LOCK_POSIX;

		assert_non_null(lock_kind__word(l));
		assert_int_equal(wait_kind__is_for(WAIT_FUTEX, l), futex);
		assert_int_equal(wait_kind__is_for(WAIT_FILE_LOCK, l), file);
		assert_int_equal(wait_kind__is_for(WAIT_INODE_LOCK, l), !futex && !file);
		assert_true(wait_kind__is_for(WAIT_UNKNOWN, l));
		assert_false(wait_kind__is_for(WAIT_SLEEP, l));
	}
	assert_false(wait_kind__is_for(WAIT_UNKNOWN, LOCK_UNKNOWN));
	assert_null(lock_kind__word(LOCK_KINDS));
	assert_string_equal(lock_kind__text(LOCK_KINDS), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(lock_kind_wins_over_purpose),
		cmocka_unit_test(a_lock_is_named_by_what_takes_it),
		cmocka_unit_test(an_event_tells_the_lock),
		cmocka_unit_test(stacks_without_the_scheduler),
		cmocka_unit_test(limits_of_devices),
		cmocka_unit_test(locks_whose_owner_runs),
		cmocka_unit_test(contexts),
		cmocka_unit_test(innermost_interrupt_decides),
		cmocka_unit_test(local_packet_is_delivered_by_its_sender),
		cmocka_unit_test(every_kind_has_words),
		cmocka_unit_test(locks_of_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
