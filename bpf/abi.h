/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole ABI between bpf/ and user/: rules go in, triggers come out. Fixed widths, no pointers,
 * no holes. Times and thresholds are nanoseconds of CLOCK_MONOTONIC, the clock of
 * bpf_ktime_get_ns() and of every perf event that frbpf opens.
 */
#ifndef FRBPF_ABI_H
#define FRBPF_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define FRBPF_COMM_LEN	     16	  /* TASK_COMM_LEN */
#define FRBPF_MAX_RULES	     256  /* rules of one source: one bank of its rule map */
#define FRBPF_MAX_SLOTS	     1024 /* rule states, of all sources together */
#define FRBPF_MAX_NODES	     16	  /* predicates of one rule, in disjunctive normal form */
#define FRBPF_KEY_WORDS	     8	  /* bitmap of what a rule watches: 512 system calls */
#define FRBPF_KEY_MAX	     (FRBPF_KEY_WORDS * 64)
#define FRBPF_MAX_OTHERS     2	   /* parts of a rule on rules, not counting the last to match */
#define FRBPF_MAX_PARTS	     64	   /* rules that are parts of other rules */
#define FRBPF_MAX_GLOBS	     256   /* globs of one source: one bank of its glob map */
#define FRBPF_MAX_ARGS	     8	   /* values of an event that only its source has */
#define FRBPF_MAX_CGROUPS    1024  /* cgroups that rules name, of all sources together */
#define FRBPF_PATH_NAMES     32	   /* names in a path that patterns see, from the root */
#define FRBPF_CGROUP_DEPTH   16	   /* levels of the cgroup hierarchy that a rule can tell apart */
#define FRBPF_COUNT_MAX	     64	   /* N of `count = N in T` */
#define FRBPF_MAX_COOLING    16384 /* cooldowns of one rule, per process, thread, ... */
#define FRBPF_MAX_COUNTING   4096  /* counts of one rule, likewise */
#define FRBPF_MAX_SHARING    1024  /* shares of time of one rule, likewise */
#define FRBPF_KEYED_SIZE     4096  /* bytes of the ring that reports rules with many keys */
#define FRBPF_MAX_VALUES     64	   /* buckets of a rule's histogram */
#define FRBPF_PATH_LEN	     256   /* bytes of the path of a cgroup, with its NUL */
#define FRBPF_MATCH_PATH     512   /* bytes of a path that patterns see */
#define FRBPF_TEXT_FILE	     (2 + FRBPF_MAX_ARGS) /* frbpf_trigger.text_is: path of an open file */
#define FRBPF_TEXT_LEN	     124		  /* bytes of the text in a trigger, with the NUL */
#define FRBPF_MAX_PATH_GLOBS 64			  /* patterns on paths, of all sources together */
#define FRBPF_TRIGGERS_SIZE  (256 * 1024) /* bytes of the trigger queue, room for 404 triggers */
#define FRBPF_MAX_FOLLOWED   1024	  /* pending events that fired a rule, until they end */

/* The value that a predicate compares. Strings have 16 bytes, padded with zeros, in two words. */
enum frbpf_field {
	FRBPF_FIELD_COMM,    /* string: the thread's name */
	FRBPF_FIELD_PROCESS, /* string: the thread group leader's name */
	FRBPF_FIELD_PID,     /* thread group id, in the pid namespace of the daemon */
	FRBPF_FIELD_TID,     /* thread id, likewise */
	FRBPF_FIELD_UID,     /* effective uid, in the initial user namespace */
	FRBPF_FIELD_CPU,
	FRBPF_FIELD_PPID,   /* the parent's thread group id, likewise; 0: outside that namespace */
	FRBPF_FIELD_PRIO,   /* as in sched tracepoints: 120 is nice 0, -1 is SCHED_DEADLINE */
	FRBPF_FIELD_CGROUP, /* no value: compared with the ids of the cgroup and its ancestors */
	FRBPF_FIELD_CGROUP_PATH, /* no value: conditions match the path of the cgroup */
	FRBPF_FIELD_EXE,     /* conditions match its path; the value is inode number and device */
	FRBPF_FIELD_VALUE,   /* ns. From here on the fields are those of the event, not of a task */
	FRBPF_FIELD_RET,     /* the return value of the system call */
	FRBPF_FIELD_SYSCALL, /* the number of the system call */
	FRBPF_FIELD_STATE,   /* FRBPF_STATE_* in which the subject left its CPU */
	FRBPF_FIELD_PATH,    /* no value: conditions match the path that the call was given, or
				a string that an argument points to */
	FRBPF_FIELD_ARG,     /* the first of FRBPF_MAX_ARGS; the source defines their meaning */
	FRBPF_FIELD_MAX = FRBPF_FIELD_ARG + FRBPF_MAX_ARGS,
};

enum frbpf_op {
	FRBPF_OP_EQ,
	FRBPF_OP_NE,
	FRBPF_OP_LT,
	FRBPF_OP_LE,
	FRBPF_OP_GT,
	FRBPF_OP_GE,
	FRBPF_OP_BITS,	  /* one of these bits is set */
	FRBPF_OP_NO_BITS, /* none of them is */
	FRBPF_OP_GLOB,	  /* automaton val[0] accepts the string; also for == on paths */
	FRBPF_OP_NO_GLOB,
	FRBPF_OP_PREFIX, /* addresses: the first bits are equal */
	FRBPF_OP_NO_PREFIX,
	FRBPF_OP_MAX,
};

/* Why a task is off its CPU: numbers of the kernel (include/linux/sched.h), without modifiers. */
enum frbpf_state {
	FRBPF_STATE_RUNNABLE = 0,
	FRBPF_STATE_INTERRUPTIBLE = 1,
	FRBPF_STATE_UNINTERRUPTIBLE = 2,
	FRBPF_STATE_STOPPED = 4,
	FRBPF_STATE_TRACED = 8,
	FRBPF_STATE_PARKED = 0x40,
	FRBPF_STATE_IDLE = 0x402, /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
};

/* Fields of FRBPF_SOURCE_BLKIO and FRBPF_SOURCE_BLKIO_DEVICE. */
enum frbpf_blkio_field {
	FRBPF_BLKIO_DEV = FRBPF_FIELD_ARG, /* FRBPF_DEV() of the disk */
	FRBPF_BLKIO_SECTOR,		   /* the first one; a sector has 512 bytes */
	FRBPF_BLKIO_BYTES,
	FRBPF_BLKIO_OP,	   /* enum frbpf_blkio_op */
	FRBPF_BLKIO_FLAGS, /* FRBPF_BLKIO_* */
};

/* Fields of FRBPF_SOURCE_HARDIRQ. */
enum frbpf_hardirq_field {
	FRBPF_HARDIRQ_IRQ = FRBPF_FIELD_ARG,
	FRBPF_HARDIRQ_NAME, /* string: the name of its handler */
};

/* Fields of FRBPF_SOURCE_SOFTIRQ. Its rules have a key for each vector that they watch. */
enum frbpf_softirq_field {
	FRBPF_SOFTIRQ_VEC = FRBPF_FIELD_ARG, /* enum of include/linux/interrupt.h */
};
#define FRBPF_SOFTIRQ_VECS 10

/* Fields of FRBPF_SOURCE_RECLAIM. */
enum frbpf_reclaim_field {
	FRBPF_RECLAIM_ORDER = FRBPF_FIELD_ARG, /* 2^order pages were requested */
	FRBPF_RECLAIM_GFP,		       /* GFP flags of the allocation, as in the kernel */
	FRBPF_RECLAIM_SCOPE,		       /* enum frbpf_reclaim_scope */
	FRBPF_RECLAIM_PAGES,		       /* number of pages that were reclaimed */
};

enum frbpf_reclaim_scope {
	FRBPF_RECLAIM_MACHINE,
	FRBPF_RECLAIM_CGROUP, /* reclaim because of the limit of a memory cgroup */
};

/* Fields of FRBPF_SOURCE_CONNECT. */
enum frbpf_connect_field {
	FRBPF_CONNECT_PEER = FRBPF_FIELD_ARG, /* address; IPv4 as ::ffff:a.b.c.d */
	FRBPF_CONNECT_PORT,
	FRBPF_CONNECT_FAMILY, /* of the socket: AF_INET or AF_INET6 */
	FRBPF_CONNECT_RESULT, /* enum frbpf_connect_result */
	FRBPF_CONNECT_ERROR,  /* errno; 0 unless it failed */
};

/* Fields of FRBPF_SOURCE_SYSCALL, of calls on sockets; all are 0 where they are not known. */
enum frbpf_syscall_field {
	FRBPF_SYSCALL_PEER = FRBPF_FIELD_ARG, /* address; IPv4 as ::ffff:a.b.c.d */
	FRBPF_SYSCALL_PORT,
	FRBPF_SYSCALL_FAMILY, /* AF_INET or AF_INET6 */
};

/* Where a system call has the address of its peer. */
enum frbpf_call_peer {
	FRBPF_CALL_NO_PEER,
	FRBPF_CALL_ADDRESS, /* struct sockaddr at the second argument, of the length of the third */
	FRBPF_CALL_SENDTO,  /* likewise at the fifth argument; NULL: as FRBPF_CALL_SOCKET */
	FRBPF_CALL_SOCKET,  /* the peer of the socket that is the first argument */
	FRBPF_CALL_ACCEPTED, /* the peer of the socket that is the return value */
};

/* The argument of a system call that identifies its file. */
enum frbpf_call_file {
	FRBPF_CALL_NO_FILE,
	FRBPF_CALL_PATH_FIRST,	/* a path at the first argument */
	FRBPF_CALL_PATH_SECOND, /* at the second */
	FRBPF_CALL_DESCRIPTOR,	/* the first argument is a descriptor */
};

enum frbpf_connect_result {
	FRBPF_CONNECT_ESTABLISHED,
	FRBPF_CONNECT_FAILED,
	FRBPF_CONNECT_CLOSED, /* by the program: the socket has no error */
};

#define FRBPF_DEV(major, minor) ((__u64)(major) << 20 | (minor)) /* as in the kernel */
#define FRBPF_DEV_MAJOR(dev)	((dev) >> 20)
#define FRBPF_DEV_MINOR(dev)	((dev)&0xfffff)

/* Kinds of requests. The numbers of the kernel are not used: they differ between versions. */
enum frbpf_blkio_op {
	FRBPF_BLKIO_READ,
	FRBPF_BLKIO_WRITE,
	FRBPF_BLKIO_FLUSH,
	FRBPF_BLKIO_DISCARD,
	FRBPF_BLKIO_SECURE_ERASE,
	FRBPF_BLKIO_WRITE_ZEROES,
	FRBPF_BLKIO_ZONE_APPEND,
	FRBPF_BLKIO_DRIVER, /* a command of the driver, or passed through from a program */
	FRBPF_BLKIO_OTHER,
};

#define FRBPF_BLKIO_SYNC       0x1
#define FRBPF_BLKIO_META       0x2
#define FRBPF_BLKIO_PRIO       0x4
#define FRBPF_BLKIO_FUA	       0x8
#define FRBPF_BLKIO_PREFLUSH   0x10
#define FRBPF_BLKIO_AHEAD      0x20
#define FRBPF_BLKIO_BACKGROUND 0x40
#define FRBPF_BLKIO_NOWAIT     0x80
#define FRBPF_BLKIO_SWAP       0x100

#define FRBPF_NODE_CURRENT 0x1 /* compares the task that runs, not the subject */
#define FRBPF_NODE_END	   0x2 /* the last predicate of its conjunction */
#define FRBPF_NODE_TEXT	   0x4 /* FRBPF_FIELD_PATH: the string that argument `prefix` points to */

/*
 * One predicate. The nodes of a rule are a disjunction of conjunctions. A conjunction ends with a
 * node with FRBPF_NODE_END; the condition holds if all nodes of one conjunction hold. Without nodes
 * it always holds.
 */
struct frbpf_node {
	__u8 field;  /* enum frbpf_field */
	__u8 op;     /* enum frbpf_op */
	__u8 flags;  /* FRBPF_NODE_* */
	__u8 prefix; /* FRBPF_OP_PREFIX: number of bits, 1 to 128; FRBPF_NODE_TEXT: an argument */
	__u8 pad[4];
	/*
	 * A number: in val[0], compared as signed. A string: its 16 bytes. A glob: in val[0] the
	 * index of its automaton in the bank. FRBPF_FIELD_CGROUP: the index of its id in the cgroup
	 * map. A path: the index of its automaton in the map of path automata.
	 */
	__u64 val[2];
};

/*
 * A glob as an automaton. It reads a string byte by byte and keeps all of its states in one word:
 * bit i is set if the bytes so far match the first i elements (a character, '?', a set). It starts
 * with bit 0, and for each byte
 *	set = (set & next[byte]) << 1 | (set & loop)
 * `next` has a bit for each element that matches the byte, `loop` one for each position of a '*'.
 */
struct frbpf_glob {
	__u32 next[256];
	__u32 loop;
	__u32 accept; /* the bit of the last state */
};
#define FRBPF_GLOB_ELEMENTS 31

/*
 * The same for paths, with room for longer patterns. Bit i is in word i / 64. There may be several
 * accepting states.
 */
struct frbpf_path_glob {
	__u64 next[256][2];
	__u64 loop[2];
	__u64 accept[2];
};
#define FRBPF_PATH_GLOB_ELEMENTS 127

/* The path of a cgroup that a rule names, from the root of the hierarchy, padded with zeros. */
struct frbpf_cgroup_path {
	char text[FRBPF_PATH_LEN];
};

/* The `per` of a rule: each process, thread, ... has a cooldown and a count of its own. */
enum frbpf_per {
	FRBPF_PER_RULE,
	FRBPF_PER_PROCESS,
	FRBPF_PER_THREAD,
	FRBPF_PER_CGROUP, /* the cgroup of the subject itself, not its ancestors */
	FRBPF_PER_FIELD,  /* each value of a field of the subject */
};

struct frbpf_rate {
	__u64 time; /* ns; 0: none */
	__u32 n;
	__u8 per;   /* enum frbpf_per */
	__u8 field; /* for FRBPF_PER_FIELD: enum frbpf_field */
	__u8 pad[2];
};

/*
 * The owner of a cooldown or count. A process or thread is identified by its number in the initial
 * pid namespace and its start time, since numbers are reused.
 */
struct frbpf_key {
	__u64 rule_id;
	__u64 val[2];
	__u32 per;
	__u32 field;
};

/* The value that a cooldown began with. A value `escalate` times as large breaks the cooldown. */
struct frbpf_cooldown_start {
	__u64 of; /* last_fired of its cooldown; if that differs, `value` is not valid */
	__u64 value;
};

struct frbpf_cooling {
	__u64 last_fired;
	__u64 until; /* the entry is unused from then on, and may be deleted */
	struct frbpf_cooldown_start cooldown_start;
};

/*
 * Counts matches. The time of match i is in times[i % size], with the lap i / size in its lowest
 * bits. The lap shows whether another CPU has yet to write an entry. A trigger uses up the matches
 * below `base`.
 */
struct frbpf_count {
	__u64 seen;
	__u64 base;
	__u64 until; /* as in struct frbpf_cooling */
	__u64 times[FRBPF_COUNT_MAX];
};
#define FRBPF_COUNT_LAP_BITS 6

/*
 * Sums of values in slices of an eighth of a window. The lowest bits of the slice number are the
 * index. Its other bits are stored above the sum, so that outdated slices are recognised.
 */
#define FRBPF_SHARE_SLICES   8
#define FRBPF_SHARE_BUCKETS  16
#define FRBPF_SHARE_SUM_BITS 48

struct frbpf_share {
	__u64 until; /* as in struct frbpf_cooling */
	__u64 slices[FRBPF_SHARE_BUCKETS];
};

#define FRBPF_RULE_QUIET     0x1   /* only counts, makes no triggers */
#define FRBPF_RULE_FAILS     0x2   /* is about calls that failed, however long they took */
#define FRBPF_RULE_ANY_ERRNO 0x4   /* FAILS: with any error; otherwise with those in `errnos` */
#define FRBPF_RULE_ALL_CALLS 0x8   /* is on all calls, but not on those that wait by nature */
#define FRBPF_RULE_HIT	     0x10  /* has no threshold: takes each event of its source */
#define FRBPF_RULE_PENDING   0x20  /* is about events that have not ended: struct frbpf_look */
#define FRBPF_RULE_ABSENT    0x40  /* fires when no event matched for `silence` */
#define FRBPF_RULE_LEARNS    0x80  /* compares with the limit in its state, learnt from values */
#define FRBPF_RULE_SHARE     0x100 /* compares the sum of its values in `share`, not each value */
#define FRBPF_RULE_PART	     0x200 /* is a part of other rules: its state has its last match */
#define FRBPF_RULE_AFTER     0x400 /* matches an event of a part, if the other parts have matched */

#define FRBPF_ERRNO_WORDS 3 /* bitmap of errors: EHWPOISON, the largest of uapi, is 133 */
#define FRBPF_ERRNO_MAX	  (FRBPF_ERRNO_WORDS * 64)

/*
 * One rule of one source. The rules of a source are sorted by threshold, the lowest first. Rules on
 * failures or on each event have threshold 0. A word in capitals, such as ABSENT, marks members for
 * rules with that flag (FRBPF_RULE_ABSENT); likewise below.
 */
struct frbpf_rule {
	__u64 id;		    /* hash of the name and text of the rule: survives a reload */
	__u64 threshold;	    /* fires when value > threshold */
	__u64 silence;		    /* ns; ABSENT: fires after this time without a match */
	struct frbpf_rate cooldown; /* time 0: every match fires */
	struct frbpf_rate count;    /* fires at the n-th match within `time`; n 0 or 1: at each */
	struct frbpf_rate share;    /* SHARE: window over which values are summed; `n` is unused */
	__u64 sum;		    /* ns; SHARE: fires when the sum is above this */
	__u64 within;		    /* ns; AFTER: maximum age of the matches of the other parts */
	__u32 others[FRBPF_MAX_OTHERS]; /* AFTER: slots of the other parts */
	__u8 n_others;
	__u8 ordered; /* AFTER: the other parts must have matched before this event, not by it */
	__u8 part;    /* PART: the number of this rule; AFTER: that of the last part */
	__u8 pad[5];
	__u32 slot; /* index of its struct frbpf_rule_state */
	__u32 n_nodes;
	__u32 flags; /* FRBPF_RULE_* */
	/* factor, in hundredths: see struct frbpf_cooldown_start; 0: nothing breaks the cooldown */
	__u32 escalate;
	/* bitmap of the system calls that the rule watches; for sources without keys: bit 0 */
	__u64 watched_keys[FRBPF_KEY_WORDS];
	__u64 errnos[FRBPF_ERRNO_WORDS];
	struct frbpf_node nodes[FRBPF_MAX_NODES];
};

/*
 * Histogram of all values that a rule learns from, on one CPU. Values above the limit count, too.
 * Each power of two has eight buckets; values below eight have one each: see frbpf_learn_bucket().
 */
#define FRBPF_LEARN_BITS    3
#define FRBPF_LEARN_BUCKETS 512	    /* 496 of them are used */
#define FRBPF_LEARN_NOT_YET (~0ULL) /* limit until the rule has seen enough values */

struct frbpf_learned {
	__u64 n[FRBPF_LEARN_BUCKETS];
};

/* @log2: floor of the binary logarithm of @v; 0 for @v = 0. */
static inline __u32 frbpf_learn_bucket(__u64 v, __u32 log2)
{
	__u32 shift = log2 > FRBPF_LEARN_BITS ? log2 - FRBPF_LEARN_BITS : 0;

	return (shift << FRBPF_LEARN_BITS) + (__u32)(v >> shift);
}

/* Why a match did not become a trigger. */
enum frbpf_cause {
	FRBPF_CAUSE_COOLDOWN, /* the cooldown has not expired */
	FRBPF_CAUSE_FULL,     /* no room in the trigger queue */
	FRBPF_CAUSE_SELF,     /* the subject is one of our own processes, or we write a dump */
	FRBPF_CAUSE_COUNT,    /* fewer than n matches in the window of `count` */
	FRBPF_CAUSE_RULE_CAP, /* the rule has reached its max-dumps */
	FRBPF_CAUSE_CAP,      /* all rules together have reached their max-dumps */
	FRBPF_CAUSE_KEYS,     /* no room for one more process, thread, ... of `per` */
	FRBPF_CAUSE_MAX,
	FRBPF_CAUSE_NONE = FRBPF_CAUSE_MAX, /* the match is not suppressed */
};

struct frbpf_task {
	__u32 pid; /* as in records of perf: in the pid namespace of the daemon, 0 outside of it */
	__u32 tid;
	__u32 uid;
	__u32 pad;
	char comm[FRBPF_COMM_LEN];
	char process[FRBPF_COMM_LEN];
};

/* The last match of a rule, reported with the trigger of a rule that it is a part of. */
struct frbpf_part {
	__u64 time; /* ns; 0: there was none */
	__u64 value;
	__u32 slot; /* of the rule */
	__u32 cpu;
	struct frbpf_task subject;
};

/* What a cooldown or max-dumps has suppressed since a rule last fired. */
struct frbpf_suppressed {
	__u64 count;
	__u64 value; /* ns, the largest; 0: none. `time` and `subject` belong to it */
	__u64 time;
	struct frbpf_task subject;
};

/* State of one rule: BPF counts with atomic operations; the daemon reads it at any time. */
struct frbpf_rule_state {
	__u64 last_fired; /* 0: never */
	struct frbpf_suppressed
		since_last; /* since the last trigger; but `count` is the total at that trigger */
	__u64 since_last_busy; /* lock: a CPU writes since_last */
	struct frbpf_cooldown_start cooldown_start;
	__u64 cooling; /* the last jiffy in which a program found that the cooldown lasts */
	__u64 heard;   /* ABSENT: time of the last match, or when the rule came into force */
	__u64 silent;  /* ABSENT: `heard` of the last silence that fired or was suppressed */
	__u64 looked;  /* PENDING: time of the first look; 0: none yet */
	__u64 limit;   /* ns; LEARNS: fires when value > limit. Written by the daemon */
	__u64 fired;   /* number of triggers */
	__u64 suppressed[FRBPF_CAUSE_MAX]; /* number of suppressed matches, by cause */
	/* Matches: the sum of `fired` and `suppressed`. No program counts it:
	 * detectors__rule_state() calculates it. */
	__u64 matched;
	__u64 last_value; /* the last one that was not 0 */
	__u64 max_value;
	__u64 sum;	 /* of all values */
	__u64 keys_made; /* number of entries of `per` that were created */
	__u64 wake_keys; /* after so many new keys the daemon is woken to delete some; 0: no keys */
	/* Histogram: bucket i counts matches with values of at least 2^i ns. Bucket 0, which
	 * includes matches without a value, is calculated as the rest of `matched`. */
	__u64 values[FRBPF_MAX_VALUES];
	struct frbpf_count count; /* for FRBPF_PER_RULE */
	struct frbpf_part part;	  /* PART: the last match */
	__u64 part_busy;	  /* lock: a CPU writes `part` */
};

/*
 * Layout of the suppress map, written by the daemon. One entry per slot: the time, ns, until which
 * its triggers are suppressed. Then one entry for all rules, and one for the time until which a
 * dump of ours may disturb what sources measure.
 */
#define FRBPF_MAX_SUPPRESS  (FRBPF_SUPPRESS_BASE_INODE + 1)
#define FRBPF_SUPPRESS_ALL  FRBPF_MAX_SLOTS
#define FRBPF_SUPPRESS_SELF (FRBPF_MAX_SLOTS + 1)
/*
 * Then the number of our helper processes, and their pids as in struct frbpf_task. Like the daemon,
 * they are never subjects.
 */
#define FRBPF_SUPPRESS_N_HELPERS (FRBPF_MAX_SLOTS + 2)
#define FRBPF_SUPPRESS_HELPERS	 (FRBPF_MAX_SLOTS + 3)
#define FRBPF_MAX_HELPERS	 21
/* Then FRBPF_DEV() of the disk that dumps are written to; 0: it may be any disk. */
#define FRBPF_SUPPRESS_DISK (FRBPF_SUPPRESS_HELPERS + FRBPF_MAX_HELPERS)
/*
 * Last, the directory that dumps are written below: FRBPF_DEV() of its file system (0: unknown),
 * and the number of its inode.
 */
#define FRBPF_SUPPRESS_BASE_DEV	  (FRBPF_SUPPRESS_DISK + 1)
#define FRBPF_SUPPRESS_BASE_INODE (FRBPF_SUPPRESS_DISK + 2)

enum frbpf_source {
	FRBPF_SOURCE_RUNQLAT = 1,
	FRBPF_SOURCE_SYSCALL = 2,
	FRBPF_SOURCE_BLOCKED = 3,
	FRBPF_SOURCE_OFFCPU = 4,
	FRBPF_SOURCE_BLKIO = 5,
	FRBPF_SOURCE_BLKIO_DEVICE = 6,
	FRBPF_SOURCE_HARDIRQ = 7,
	FRBPF_SOURCE_SOFTIRQ = 8,
	FRBPF_SOURCE_RECLAIM = 9,
	FRBPF_SOURCE_TRACEPOINT = 10,
	FRBPF_SOURCE_SPAN = 11,
	FRBPF_SOURCE_UPROBE = 12,
	FRBPF_SOURCE_USDT = 13,
	FRBPF_SOURCE_PSI = 14,
	FRBPF_SOURCE_APP = 15,
	FRBPF_SOURCE_TRACEPOINT_FIELDS = 16,
	FRBPF_SOURCE_CONNECT = 17,
	FRBPF_SOURCE_ONCPU = 18,
	FRBPF_SOURCE_RULES = 19, /* rules about other rules: has no BPF object */
	FRBPF_SOURCE_PROBE_SPAN = 20,
};

#include "extract.h"

#define FRBPF_MAX_IN_FLIGHT 16384 /* spans of a target, or requests, under way */
#define FRBPF_MAX_KEPT	    4096  /* further entries that stay for reuse by the same key */

#define FRBPF_TAG_TRIGGER 0x46524201u /* "FRB", layout 1 */

#define FRBPF_TRIGGER_ESCALATED 0x1  /* it broke the rule's cooldown */
#define FRBPF_TRIGGER_PENDING	0x2  /* the event has not ended: the value is its length so far */
#define FRBPF_TRIGGER_ABSENT	0x4  /* no event matched: the value is the silence; no subject */
#define FRBPF_TRIGGER_SHARE	0x8  /* the value is the sum in the window of the rule */
#define FRBPF_TRIGGER_FOLLOWED	0x10 /* PENDING: a struct frbpf_ended comes later */

/* One trigger, as it comes out of the ring buffer. */
struct frbpf_trigger {
	__u32 tag;    /* FRBPF_TAG_TRIGGER */
	__u32 source; /* enum frbpf_source */
	__u64 time;   /* when the condition was seen to hold */
	__u64 value;  /* ns, measured; the wait began at time - value */
	__u64 threshold;
	__u64 rule_id;
	__u32 slot;
	__u32 cpu;
	__u32 key;		       /* number of the system call; 0 for sources without keys */
	__u16 n_args;		       /* static probes: number of args; otherwise 0 */
	__u16 flags;		       /* FRBPF_TRIGGER_* */
	__s64 ret;		       /* return value of the system call; otherwise 0 */
	struct frbpf_task subject;     /* the task that the rule is about */
	struct frbpf_task current;     /* the task that ran on that CPU */
	__u64 args[FRBPF_MAX_ARGS][2]; /* a number in the first word, or a string of 16 bytes */
	struct frbpf_suppressed since_last;	   /* since the previous trigger of the rule */
	struct frbpf_part parts[FRBPF_MAX_OTHERS]; /* earlier matches of its parts; time 0: none */
	__u64 id; /* PENDING: of the event, as in struct frbpf_followed_key */
	/* the path or file of a system call, or the string that rules looked at; cut */
	char text[FRBPF_TEXT_LEN];
	/* 0: there is none; 1: a path; 2 + n: the string of argument n; or FRBPF_TEXT_FILE */
	__u32 text_is;
};

/* A pending event that fired a rule. Its source identifies it by `begin` and `id`. */
struct frbpf_followed_key {
	__u64 rule_id;
	__u64 begin; /* ns */
	__u64 id;
};

struct frbpf_followed {
	__u64 seen;  /* ns: time of the last look that found it */
	__u64 ended; /* ns: it ended during a look that may yet fire for it; 0: it has not ended */
	__u64 value; /* ns; valid if it has ended, like `ret` */
	__s64 ret;
	__u64 looker; /* as in struct frbpf_look: the source that looks at this event */
};

#define FRBPF_TAG_ENDED 0x46524254u

/* The end of a pending event that fired a rule. */
struct frbpf_ended {
	__u32 tag; /* FRBPF_TAG_ENDED */
	__u32 pad;
	struct frbpf_followed_key of;
	__u64 time;  /* ns; of its end, or when it was found to have ended unseen */
	__u64 value; /* ns, final; 0: its end was not seen, as when its task died */
	__s64 ret;   /* as in struct frbpf_trigger */
};

#define FRBPF_TAG_STACKS 0x46524253u
#define FRBPF_STACK_MAX	 127 /* frames, as perf's default */

/*
 * The stack of the subject. The record follows the triggers of an event, with the same time, CPU
 * and task. For a subject that does not run it has only the kernel part.
 */
struct frbpf_stacks {
	__u32 tag; /* FRBPF_TAG_STACKS */
	__u32 cpu;
	__u64 time;
	__u32 tid; /* of the subject, as in struct frbpf_task: one look may find several */
	__u32 pad;
	__u32 n_kernel; /* frames, the innermost first */
	__u32 n_user;
	__u64 kernel[FRBPF_STACK_MAX];
	__u64 user[FRBPF_STACK_MAX];
};

/*
 * An event that user space saw, for evaluation by bpf/inject.bpf.c. The source fills in what it
 * knows about the tasks; 0 and "" mean unknown.
 */
struct frbpf_event {
	__u64 time; /* ns; time of the trigger, at most now */
	__u64 value;
	__s64 ret;
	__u32 key;
	__u32 source; /* enum frbpf_source */
	__u32 cpu;    /* where it happened */
	__u32 error;
	__u32 self;	/* the subject is one of our own processes */
	__u32 bank;	/* 1 + the bank that its arguments are for; 0: it has no arguments */
	__u32 theirs;	/* psi: without the stall that we caused, it still exceeds the threshold */
	__u32 in_scope; /* 1: in scope, although the maps may lack the subject, which has ended */
	__u64 val[2][FRBPF_FIELD_MAX][2];    /* [0 subject and event, 1 current][field]; value and
						 * cpu are copied from above */
	__u64 cgroup[2][FRBPF_CGROUP_DEPTH]; /* ids by level, from the root; 0 after the last */
	__u64 process[2];		     /* of the subject, as in struct frbpf_key */
	__u64 thread[2];
	__u64 own_cgroup;
};

/*
 * A number that an event must have to match any rule of the bank. It is in the range from `lo` to
 * `lo + span`, modulo 2^64, so that "all but one" is a range, too. Its six lowest bits are the
 * index of a bit that is set in `bits`.
 */
struct frbpf_prefilter_number {
	__u64 lo;
	__u64 span;
	__u64 bits;
	__u32 field; /* enum frbpf_field; FRBPF_FIELD_MAX: every event passes */
	__u32 pad;
};

/*
 * The prefilter of the rules without a threshold in a bank: an event that does not pass matches
 * none of them. Programs test it before anything else.
 */
struct frbpf_prefilter {
	struct frbpf_prefilter_number arg;  /* an argument of the event */
	struct frbpf_prefilter_number task; /* pid, tid or uid of the subject */
	__u64 comm[2];			    /* name of the subject, in bits of comm_mask */
	__u64 comm_mask[2];
	__u32 decides; /* the only rule is on hits, and matches every event that passes */
	__u32 slot;    /* the slot of that rule */
};

/*
 * Summary of one bank of rules. It is in struct frbpf_control, in the .bss of the source. Programs
 * read `bank_flips` once per event and use bank `bank_flips & 1` of the rule map. A reload writes
 * the other bank, and then flips.
 */
struct frbpf_bank {
	__u64 min_threshold; /* lowest threshold, also of PENDING rules; HIT: 0; ~0: none */
	__u32 n_rules;
	__u32 fields;	   /* a bit per enum frbpf_field that a rule compares */
	__u64 min_silence; /* of ABSENT rules; ~0: there are none */
	__u64 min_pending; /* thresholds of PENDING rules; ~0 and 0: there are none */
	__u64 max_pending;
	__u64 watched_keys[FRBPF_KEY_WORDS]; /* union of the keys of its rules */
	__u64 fail_keys[FRBPF_KEY_WORDS];    /* of FAILS rules */
	__u64 path_keys[FRBPF_KEY_WORDS];    /* of PENDING rules that look at the path of a call */
	struct frbpf_prefilter prefilter;
};

/* The tasks that rules are confined to. Others are never subjects, and are not counted. */
enum frbpf_scope {
	FRBPF_SCOPE_ALL,
	FRBPF_SCOPE_TASKS,  /* those in the scope map: see bpf/scope.bpf.c */
	FRBPF_SCOPE_CGROUP, /* those in a cgroup (v2) or below it */
};

/*
 * A look: the daemon runs programs that scan pending events, those that have begun and not ended. A
 * look describes one moment, `now`, which is read before the scan. An event that began earlier and
 * has not ended was pending at that moment. It matches a rule if it is above the threshold now. It
 * must not have been above it when a look last saw it with this rule in force. So it matches
 * exactly once, even if a look misses it, and no list of earlier matches is needed.
 */
struct frbpf_look {
	__u64 now;    /* ns; written by the daemon before the look */
	__u64 last;   /* ns: `now` of the look before; 0: this is the first */
	__u64 next;   /* ns: when an event may next pass a threshold; ~0: never */
	__u64 looker; /* hash of the source that looks and of its target */
	__u32 bank;   /* the bank in force when the look began */
	__u32 source; /* enum frbpf_source */
};

struct frbpf_control {
	__u32 bank_flips;
	__u32 self_tgid;    /* our process, in the initial pid namespace; never a subject */
	__u32 scope;	    /* enum frbpf_scope; set before anything is attached */
	__u32 self_tid;	    /* the thread that ran learn_self(), in the same namespace */
	__u64 scope_cgroup; /* id of the cgroup; set together with `scope` */
	struct frbpf_bank bank[2];
};

_Static_assert(sizeof(struct frbpf_node) == 24, "node layout");
_Static_assert(sizeof(struct frbpf_extract) == 32, "extract layout");
_Static_assert(sizeof(struct frbpf_usdt_arg) == 16, "argument layout");
_Static_assert(sizeof(struct frbpf_prefilter_number) == 32, "prefilter layout");
_Static_assert(sizeof(struct frbpf_glob) == 1032, "glob layout");
_Static_assert(sizeof(struct frbpf_rule) == 592, "rule layout");
_Static_assert(sizeof(struct frbpf_task) == 48, "task layout");
_Static_assert(sizeof(struct frbpf_trigger) == 640, "trigger layout");
_Static_assert(sizeof(struct frbpf_ended) == 56, "end layout");
_Static_assert(sizeof(struct frbpf_stacks) == 2064, "stacks layout");
_Static_assert(sizeof(struct frbpf_key) == 32, "key layout");
_Static_assert(1 << FRBPF_COUNT_LAP_BITS == FRBPF_COUNT_MAX, "laps in what a time leaves");
_Static_assert(sizeof(struct frbpf_rule_state) == 1384, "state layout");

#endif
