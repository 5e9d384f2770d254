/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raw data of the events that BPF programs write into the rings of sessions: see user/detect/feed/.
 * As for abi.h, the includer provides the kernel's types.
 */
#ifndef FRBPF_FED_RECORDS_H
#define FRBPF_FED_RECORDS_H

/* The raw data of every tracepoint starts with this. */
struct frbpf_raw_common {
	__u16 type;
	__u8 flags, preempt_count;
	__s32 pid;
};

/* What a task waits for. The format of frbpf:lock_wait has these values. */
enum frbpf_lock {
	FRBPF_LOCK_MUTEX = 1,
	FRBPF_LOCK_RWSEM_READ,	  /* for reading; a writer holds it */
	FRBPF_LOCK_RWSEM_WRITE,	  /* for writing; a writer holds it, or its owner is unknown */
	FRBPF_LOCK_RWSEM_READERS, /* for writing; readers hold it, the owner is the last of them */
	FRBPF_LOCK_SPINLOCK,
	FRBPF_LOCK_RWLOCK_READ,
	FRBPF_LOCK_RWLOCK_WRITE,
	FRBPF_LOCK_PERCPU_READ,
	FRBPF_LOCK_PERCPU_WRITE,
	FRBPF_LOCK_RT_MUTEX,
	FRBPF_LOCK_SEMAPHORE,
	FRBPF_LOCK_FUTEX, /* of a mutex of glibc */
	FRBPF_LOCK_FUTEX_PI,
	FRBPF_LOCK_FLOCK,      /* the owner is a process */
	FRBPF_LOCK_POSIX,      /* the owner is a process */
	FRBPF_LOCK_MUTEX_SPUN, /* the task got it by spinning; the owner is the previous one */
};

/* Written when a wait for a lock begins; if the task only spun, when it ends. */
struct frbpf_lock_wait {
	struct frbpf_raw_common common;
	__u64 lock;	     /* address of the lock; of a futex: in its process */
	__u64 spun_ns;	     /* time that the task has spun so far */
	__u32 what;	     /* enum frbpf_lock */
	__u32 owner;	     /* tid in the initial namespace; 0: unknown */
	char owner_comm[16]; /* "": unknown */
	__u32 own_owner;     /* of a futex: tid in the namespace of the daemon */
} __attribute__((packed));

_Static_assert(sizeof(struct frbpf_lock_wait) == 52, "as in the format of frbpf:lock_wait");
_Static_assert((sizeof(struct frbpf_lock_wait) + 4) % 8 == 0, "the kernel does not pad it");

#define FRBPF_INTERRUPT_SEVERAL 0xffffffffU
#define FRBPF_HANDLER_LEN	24 /* bytes, with the NUL; longer names are cut */

/* Written when a long interrupt or softirq ends, or when short ones have added up. */
struct frbpf_interrupt {
	struct frbpf_raw_common common;
	__u64 ns;     /* how long it took, or all of them took */
	__u32 number; /* line of the interrupt, or vector; FRBPF_INTERRUPT_SEVERAL: several lines */
	__u32 soft;   /* 1: a softirq */
	__u32 times;  /* number of interrupts or softirqs */
	char name[FRBPF_HANDLER_LEN]; /* of the handler; "": a softirq, or several handlers */
} __attribute__((packed));

_Static_assert(sizeof(struct frbpf_interrupt) == 52, "as in the format of frbpf:interrupt");
_Static_assert((sizeof(struct frbpf_interrupt) + 4) % 8 == 0, "the kernel does not pad it");

/* Frames of a time off CPU: innermost first, kernel before user. perf record --off-cpu has 32. */
#define FRBPF_OFF_CPU_KERNEL 32
#define FRBPF_OFF_CPU_USER   64

/*
 * Written when a task comes back to a CPU after it has slept. It is no tracepoint: the writer of
 * the file makes a sample of the task from it. The record ends after the last frame.
 */
struct frbpf_off_cpu {
	__u32 pid, tid; /* of the task, in the pid namespace of the daemon */
	__u64 ns;	/* time off CPU */
	__u16 n_kernel, n_user;
	__u64 ips[FRBPF_OFF_CPU_KERNEL + FRBPF_OFF_CPU_USER];
} __attribute__((packed));

#define FRBPF_OFF_CPU_HEAD 20 /* bytes before the frames */

_Static_assert(sizeof(struct frbpf_off_cpu) ==
		       FRBPF_OFF_CPU_HEAD + 8 * (FRBPF_OFF_CPU_KERNEL + FRBPF_OFF_CPU_USER),
	       "frames follow the head");
_Static_assert((FRBPF_OFF_CPU_HEAD + 4) % 8 == 0, "the kernel does not pad it");

/*
 * A sleep that the copies of the rings lack: it had not ended at the freeze, or the rings were
 * paused when it ended. The record ends after the last frame.
 */
struct frbpf_asleep {
	__u32 size;		      /* of the record, bytes */
	__u32 cpu;		      /* where the task ran before or, if ended, after the sleep */
	__u64 ended;		      /* ns; 0: not yet */
	struct frbpf_off_cpu off_cpu; /* off_cpu.ns: when the sleep began */
} __attribute__((packed));

#define FRBPF_ASLEEP_HEAD (16 + FRBPF_OFF_CPU_HEAD) /* bytes before the frames */

#endif
