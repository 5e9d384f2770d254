/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole ABI between bpf/ and user/: rules go in, triggers come out. Fixed widths, no pointers,
 * no holes. Times and thresholds are nanoseconds of CLOCK_MONOTONIC, the clock of
 * bpf_ktime_get_ns() and of every perf event that frbpf opens.
 */
#ifndef FRBPF_H
#define FRBPF_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define FRBPF_COMM_LEN	     16	  /* TASK_COMM_LEN */
#define FRBPF_MAX_RULES	     256  /* of one source: one bank of its rule map */
#define FRBPF_MAX_SLOTS	     1024 /* rule states, of all sources together */
#define FRBPF_MAX_NODES	     16	  /* predicates of one rule, in disjunctive normal form */
#define FRBPF_KEY_WORDS	     8 /* bitmap of the small integers a rule watches: 512 system calls */
#define FRBPF_KEY_MAX	     (FRBPF_KEY_WORDS * 64)
#define FRBPF_MAX_OTHERS     2	  /* rules that one is about, beside the last to match */
#define FRBPF_MAX_PARTS	     64	  /* rules that others are about */
#define FRBPF_MAX_GLOBS	     256  /* of one source: one bank of its glob map */
#define FRBPF_MAX_ARGS	     8	  /* values of its own that an event has for rules to look at */
#define FRBPF_MAX_CGROUPS    1024 /* cgroups that rules name, of all sources together */
#define FRBPF_PATH_NAMES     32 /* names of a path that a pattern is held against, from the root on */
#define FRBPF_CGROUP_DEPTH   16	   /* levels of the cgroup hierarchy that a rule can tell apart */
#define FRBPF_COUNT_MAX	     64	   /* N of `count = N in T` */
#define FRBPF_MAX_COOLING    16384 /* of one rule: cooldowns of processes, threads, ... under way */
#define FRBPF_MAX_COUNTING   4096  /* counts of the same */
#define FRBPF_MAX_SHARING    1024  /* shares of time of the same */
#define FRBPF_KEYED_SIZE     4096  /* bytes of the ring of rules that have many keys */
#define FRBPF_MAX_VALUES     64	   /* buckets of a rule's histogram */
#define FRBPF_PATH_LEN	     256   /* of a cgroup, with its NUL */
#define FRBPF_MATCH_PATH     512   /* bytes of a path that a pattern looks at */
#define FRBPF_MAX_PATH_GLOBS 64	   /* patterns on paths, of all sources together */
#define FRBPF_TRIGGERS_SIZE  (256 * 1024) /* bytes of the trigger ring, room for 510 */

/* What a predicate looks at. Strings are 16 bytes, zero padded, compared as two words. */
enum frbpf_field {
	FRBPF_FIELD_COMM,    /* string: the thread's name */
	FRBPF_FIELD_PROCESS, /* string: the thread group leader's name */
	FRBPF_FIELD_PID,     /* thread group id, in the pid namespace of the daemon */
	FRBPF_FIELD_TID,     /* thread id, likewise */
	FRBPF_FIELD_UID,     /* effective uid, in the initial user namespace */
	FRBPF_FIELD_CPU,
	FRBPF_FIELD_PPID,   /* the parent's thread group id, likewise; 0: it has none there */
	FRBPF_FIELD_PRIO,   /* as sched tracepoints show it: 120 is nice 0; -1 SCHED_DEADLINE */
	FRBPF_FIELD_CGROUP, /* not a value: the ids of its ancestors are compared */
	FRBPF_FIELD_CGROUP_PATH, /* not a value: conditions look at its path */
	FRBPF_FIELD_EXE,     /* conditions look at its path; the value: inode number and device */
	FRBPF_FIELD_VALUE,   /* of the event, ns. From here on: of the event, not of a task */
	FRBPF_FIELD_RET,     /* the system call's return value */
	FRBPF_FIELD_SYSCALL, /* its number */
	FRBPF_FIELD_STATE,   /* FRBPF_STATE_* in which the subject left its CPU */
	FRBPF_FIELD_PATH,    /* not a value: conditions look at the path that a call was given */
	FRBPF_FIELD_ARG,     /* the first of FRBPF_MAX_ARGS; what each is, its source says */
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
	FRBPF_OP_GLOB, /* strings only: the automaton of val[0] accepts it. On paths == is one, too */
	FRBPF_OP_NO_GLOB,
	FRBPF_OP_PREFIX, /* addresses only: the first bits are the same */
	FRBPF_OP_NO_PREFIX,
	FRBPF_OP_MAX,
};

/* Why a task is off its CPU: the kernel's own numbers (include/linux/sched.h), without modifiers.
 */
enum frbpf_state {
	FRBPF_STATE_RUNNABLE = 0,
	FRBPF_STATE_INTERRUPTIBLE = 1,
	FRBPF_STATE_UNINTERRUPTIBLE = 2,
	FRBPF_STATE_STOPPED = 4,
	FRBPF_STATE_TRACED = 8,
	FRBPF_STATE_PARKED = 0x40,
	FRBPF_STATE_IDLE = 0x402, /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
};

/* Of FRBPF_SOURCE_BLKIO and FRBPF_SOURCE_BLKIO_DEVICE. */
enum frbpf_blkio_field {
	FRBPF_BLKIO_DEV = FRBPF_FIELD_ARG, /* FRBPF_DEV() of the disk */
	FRBPF_BLKIO_SECTOR,		   /* the first, of 512 bytes */
	FRBPF_BLKIO_BYTES,
	FRBPF_BLKIO_OP,	   /* enum frbpf_blkio_op */
	FRBPF_BLKIO_FLAGS, /* FRBPF_BLKIO_* */
};

/* Of FRBPF_SOURCE_HARDIRQ. */
enum frbpf_hardirq_field {
	FRBPF_HARDIRQ_IRQ = FRBPF_FIELD_ARG,
	FRBPF_HARDIRQ_NAME, /* string: its handler's */
};

/* Of FRBPF_SOURCE_SOFTIRQ, whose rules have a key for each vector that they watch. */
enum frbpf_softirq_field {
	FRBPF_SOFTIRQ_VEC = FRBPF_FIELD_ARG, /* enum of include/linux/interrupt.h */
};
#define FRBPF_SOFTIRQ_VECS 10

/* Of FRBPF_SOURCE_RECLAIM. */
enum frbpf_reclaim_field {
	FRBPF_RECLAIM_ORDER = FRBPF_FIELD_ARG, /* 2^order pages were asked for */
	FRBPF_RECLAIM_GFP,		       /* flags of the allocation, as the kernel has them */
	FRBPF_RECLAIM_SCOPE,		       /* enum frbpf_reclaim_scope */
	FRBPF_RECLAIM_PAGES,		       /* that it brought */
};

enum frbpf_reclaim_scope {
	FRBPF_RECLAIM_MACHINE,
	FRBPF_RECLAIM_CGROUP, /* a limit of a memory cgroup */
};

/* Of FRBPF_SOURCE_CONNECT. */
enum frbpf_connect_field {
	FRBPF_CONNECT_PEER = FRBPF_FIELD_ARG, /* address; of IPv4 as ::ffff:a.b.c.d */
	FRBPF_CONNECT_PORT,
	FRBPF_CONNECT_FAMILY, /* of the socket: AF_INET or AF_INET6 */
	FRBPF_CONNECT_RESULT, /* enum frbpf_connect_result */
	FRBPF_CONNECT_ERROR,  /* errno; 0 unless it failed */
};

enum frbpf_connect_result {
	FRBPF_CONNECT_ESTABLISHED,
	FRBPF_CONNECT_FAILED,
	FRBPF_CONNECT_CLOSED, /* without an error of the socket: by the program */
};

#define FRBPF_DEV(major, minor) ((__u64)(major) << 20 | (minor)) /* as in the kernel */
#define FRBPF_DEV_MAJOR(dev)	((dev) >> 20)
#define FRBPF_DEV_MINOR(dev)	((dev)&0xfffff)

/* The kernel's numbers differ between versions. */
enum frbpf_blkio_op {
	FRBPF_BLKIO_READ,
	FRBPF_BLKIO_WRITE,
	FRBPF_BLKIO_FLUSH,
	FRBPF_BLKIO_DISCARD,
	FRBPF_BLKIO_SECURE_ERASE,
	FRBPF_BLKIO_WRITE_ZEROES,
	FRBPF_BLKIO_ZONE_APPEND,
	FRBPF_BLKIO_DRIVER, /* a command of the driver, or of a program that talks to the device */
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

#define FRBPF_NODE_CURRENT 0x1 /* of the task that runs, not of the subject */
#define FRBPF_NODE_END	   0x2 /* the last predicate of its conjunction */

/*
 * One predicate. A rule's nodes are a disjunction of conjunctions: the nodes up to and including
 * one with FRBPF_NODE_END must all hold, or those of the next such group. No node: always true.
 */
struct frbpf_node {
	__u8 field;  /* enum frbpf_field */
	__u8 op;     /* enum frbpf_op */
	__u8 flags;  /* FRBPF_NODE_* */
	__u8 prefix; /* bits, of FRBPF_OP_PREFIX: 1 to 128 */
	__u8 pad[4];
	/* A number in val[0], compared as signed; a string's 16 bytes in both; for a glob the index
	 * of its automaton in the bank; for FRBPF_FIELD_CGROUP that of its id in the cgroup map; for
	 * a path that of its automaton in the map of those. */
	__u64 val[2];
};

/*
 * A glob as an automaton that takes a string byte by byte, all of its states at once: bit i says
 * that the first i elements (a character, '?', a set) may have been read. It starts with bit 0, and
 *	set = (set & next[byte]) << 1 | (set & loop)
 * `next` has a bit for each element that the byte fits, `loop` one for each place of a '*'.
 */
struct frbpf_glob {
	__u32 next[256];
	__u32 loop;
	__u32 accept; /* the bit of the last state */
};
#define FRBPF_GLOB_ELEMENTS 31

/* The same for paths, with room for longer patterns: bit i is in word i / 64; there may be several
 * bits to accept. */
struct frbpf_path_glob {
	__u64 next[256][2];
	__u64 loop[2];
	__u64 accept[2];
};
#define FRBPF_PATH_GLOB_ELEMENTS 127

/* Of a cgroup that a rule names: from the root of the hierarchy, zero padded. */
struct frbpf_cgroup_path {
	char text[FRBPF_PATH_LEN];
};

/* What a cooldown or a count is kept for. */
enum frbpf_per {
	FRBPF_PER_RULE,
	FRBPF_PER_PROCESS,
	FRBPF_PER_THREAD,
	FRBPF_PER_CGROUP, /* the subject's own */
	FRBPF_PER_FIELD,  /* the subject's value of a field */
};

struct frbpf_rate {
	__u64 window; /* ns; 0: none */
	__u32 n;
	__u8 per;   /* enum frbpf_per */
	__u8 field; /* enum frbpf_field, of FRBPF_PER_FIELD */
	__u8 pad[2];
};

/*
 * Whose cooldown or count it is. A process and a thread are their number in the initial namespace
 * and their time of birth: numbers are used again.
 */
struct frbpf_key {
	__u64 rule_id;
	__u64 val[2];
	__u32 per;
	__u32 field;
};

/* What a cooldown began with: a value so many times as large breaks it. */
struct frbpf_bar {
	__u64 of; /* the last_fired that it belongs to; another: it is being written, or not known */
	__u64 value;
};

struct frbpf_cooling {
	__u64 last_fired;
	__u64 until; /* means nothing any more from then on: may be deleted */
	struct frbpf_bar bar;
};

/*
 * Counts matches: number i is at times[i % size], with the lap i / size in the lowest bits, so that
 * one which another CPU has not written yet is known. A trigger uses up those below `base`.
 */
struct frbpf_count {
	__u64 seen;
	__u64 base;
	__u64 until; /* as in struct frbpf_cooling */
	__u64 times[FRBPF_COUNT_MAX];
};
#define FRBPF_COUNT_LAP_BITS 6

/*
 * Sums of values in slices of an eighth of a window, by the number of the slice: the lowest bits of that
 * say where it is, more of it stands above the sum, so that one of long ago is known.
 */
#define FRBPF_SHARE_SLICES   8
#define FRBPF_SHARE_PLACES   16
#define FRBPF_SHARE_SUM_BITS 48

struct frbpf_share {
	__u64 until; /* as in struct frbpf_cooling */
	__u64 slices[FRBPF_SHARE_PLACES];
};

#define FRBPF_RULE_QUIET     0x1  /* counts, and makes no trigger */
#define FRBPF_RULE_FAILS     0x2  /* looks at calls that failed, however long they took */
#define FRBPF_RULE_ANY_ERRNO 0x4  /* with any error; else those of `errnos` */
#define FRBPF_RULE_HIT	     0x10 /* has no threshold: each event of its source */
#define FRBPF_RULE_ABSENT    0x40 /* is about that none comes for `silence` */
#define FRBPF_RULE_PENDING                                                                         \
	0x20 /* is about what has begun so long ago and not ended: struct frbpf_look */
#define FRBPF_RULE_PART	  0x200 /* others are about it: what matched last is kept in its state */
#define FRBPF_RULE_AFTER  0x400 /* matches with one that is a part, if the others have */
#define FRBPF_RULE_SHARE  0x100 /* compares the sum of its values in `share`, not each */
#define FRBPF_RULE_LEARNS 0x80	/* compares with the limit in its state, which values set */
#define FRBPF_RULE_ALL_CALLS                                                                       \
	0x8 /* not at calls that wait by their nature for a tty, a pipe ...                        \
	     */

#define FRBPF_ERRNO_WORDS 3 /* bitmap of errors: EHWPOISON, the largest of uapi, is 133 */
#define FRBPF_ERRNO_MAX	  (FRBPF_ERRNO_WORDS * 64)

/* One rule of one source. A source's rules lie sorted by threshold, the lowest first; those that
 * look at failures or at each event have none, 0. */
struct frbpf_rule {
	__u64 id;	 /* hash of the rule's name and text: survives a reload */
	__u64 threshold; /* fires when value > threshold */
	__u64 silence;	 /* ns, of FRBPF_RULE_ABSENT: fires when no match came for so long */
	struct frbpf_rate cooldown; /* no window: every match fires */
	struct frbpf_rate count; /* fires with the n-th match in its window; n 0 or 1: with each */
	struct frbpf_rate share; /* of FRBPF_RULE_SHARE: values of so long are summed up; no n */
	__u64 sum;		 /* ns; and fire above this */
	__u64 within;		 /* ns, of FRBPF_RULE_AFTER: the others have matched since then */
	__u32 others[FRBPF_MAX_OTHERS]; /* their slots */
	__u8 n_others;
	__u8 ordered; /* and before this event */
	__u8 part; /* of FRBPF_RULE_PART: its number; of FRBPF_RULE_AFTER, that of the last one */
	__u8 pad[5];
	__u32 slot; /* index of its struct frbpf_rule_state */
	__u32 n_nodes;
	__u32 flags;	/* FRBPF_RULE_* */
	__u32 escalate; /* hundredths: what times the bar breaks the cooldown; 0: nothing does */
	__u64 keys[FRBPF_KEY_WORDS]; /* bitmap of the calls it watches; bit 0 without keys */
	__u64 errnos[FRBPF_ERRNO_WORDS];
	struct frbpf_node nodes[FRBPF_MAX_NODES];
};

/*
 * All values of a rule that learns, below its limit or above, on one CPU. Each power of two has
 * eight buckets, and below eight there is one for each value: see frbpf_learn_bucket().
 */
#define FRBPF_LEARN_BITS    3
#define FRBPF_LEARN_BUCKETS 512	    /* 496 of them are used */
#define FRBPF_LEARN_NOT_YET (~0ULL) /* limit of a rule that has not seen enough values */

struct frbpf_learned {
	__u64 n[FRBPF_LEARN_BUCKETS];
};

/* @log2: of @v, or 0. */
static inline __u32 frbpf_learn_bucket(__u64 v, __u32 log2)
{
	__u32 shift = log2 > FRBPF_LEARN_BITS ? log2 - FRBPF_LEARN_BITS : 0;

	return (shift << FRBPF_LEARN_BITS) + (__u32)(v >> shift);
}

/* Why a match did not become a trigger. */
enum frbpf_cause {
	FRBPF_CAUSE_COOLDOWN, /* the rule fired less than its cooldown ago */
	FRBPF_CAUSE_FULL,     /* no room in the trigger ring */
	FRBPF_CAUSE_SELF,     /* the subject is one of our own processes, or we write a dump */
	FRBPF_CAUSE_COUNT,    /* not the n-th one in its time */
	FRBPF_CAUSE_RULE_CAP, /* the rule's max-dumps is reached */
	FRBPF_CAUSE_CAP,      /* that of all rules together is */
	FRBPF_CAUSE_KEYS,     /* no room for one more process, thread, ... of `per` */
	FRBPF_CAUSE_MAX,
};

struct frbpf_task {
	__u32 pid; /* as perf's records carry it: in the daemon's pid namespace, 0 outside of it */
	__u32 tid;
	__u32 uid;
	__u32 pad;
	char comm[FRBPF_COMM_LEN];
	char process[FRBPF_COMM_LEN];
};

/* A match, of which a trigger of another rule tells. */
struct frbpf_part {
	__u64 time; /* ns; 0: there was none */
	__u64 value;
	__u32 slot; /* of the rule */
	__u32 cpu;
	struct frbpf_task subject;
};

/* What a cooldown, or max-dumps, suppressed since a rule fired last. */
struct frbpf_suppressed {
	__u64 count;
	__u64 value; /* ns, the largest; 0: there was none. The next two are of it */
	__u64 time;
	struct frbpf_task subject;
};

/* Counters of one rule; written by BPF with atomics, read by the daemon at any time. */
struct frbpf_rule_state {
	__u64 last_fired; /* 0: never */
	struct frbpf_suppressed
		since_last;    /* since the last trigger; its count: what `suppressed` was then */
	__u64 since_last_busy; /* a CPU writes that */
	struct frbpf_bar bar;
	__u64 cooling; /* the jiffy in which it was seen that the cooldown lasts */
	__u64 heard; /* the last match, or since when the rule is there; of a rule on what is absent */
	__u64 silent; /* `heard` of the silence that it has fired for, or was suppressed for */
	__u64 looked; /* of a rule on what is pending: the time of the last look, 0: none yet */
	__u64 limit; /* ns, of FRBPF_RULE_LEARNS: fires when value > limit. Written by the daemon */
	__u64 fired; /* a trigger was submitted */
	__u64 suppressed[FRBPF_CAUSE_MAX]; /* it was suppressed, by cause */
	/* Threshold, keys and predicates held: the sum of these, which detectors__rule_state() makes
	 * and no program counts. */
	__u64 matched;
	__u64 last_value; /* the last one that was not 0 */
	__u64 max_value;
	__u64 sum;	 /* of all values */
	__u64 keys;	 /* of `per` that were made: entries of its cooldown and of its count */
	__u64 wake_keys; /* after so many the daemon is woken to tidy; 0: it has none */
	/* Matches by value: bucket i has those from 2^i ns on. The first, which has those without a
	 * value, too, is what is left of `matched`: made likewise. */
	__u64 values[FRBPF_MAX_VALUES];
	struct frbpf_count count; /* of FRBPF_PER_RULE */
	struct frbpf_part part;	  /* the last match, of FRBPF_RULE_PART */
	__u64 part_busy;	  /* a CPU writes that */
};

/* Set by the daemon: until when triggers of a slot are suppressed, behind the last slot those of all,
 * and behind that those of sources that a dump being written disturbs. */
#define FRBPF_MAX_SUPPRESS  (FRBPF_SUPPRESS_DISK + 1)
#define FRBPF_SUPPRESS_ALL  FRBPF_MAX_SLOTS
#define FRBPF_SUPPRESS_SELF (FRBPF_MAX_SLOTS + 1)
/* Behind these, how many processes we have beside the daemon, and their pids as in struct frbpf_task: they are
 * no more a subject than it is. */
#define FRBPF_SUPPRESS_N_HELPERS (FRBPF_MAX_SLOTS + 2)
#define FRBPF_SUPPRESS_HELPERS	 (FRBPF_MAX_SLOTS + 3)
/* Behind those, FRBPF_DEV() of the disk that dumps are written to; 0: it may be any. */
#define FRBPF_SUPPRESS_DISK (FRBPF_SUPPRESS_HELPERS + FRBPF_MAX_HELPERS)
#define FRBPF_MAX_HELPERS   16

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
	FRBPF_SOURCE_RULES = 19, /* several rules together: nothing is detected for it */
};

/*
 * Where a value of an event lies: an argument of the tracepoint, or what is found from it over
 * pointers. Step i adds offset[i] to the address; behind each but the last, an address is read
 * there, behind the last the value.
 */
#define FRBPF_MAX_DEREFS 4
#define FRBPF_MAX_STEPS	 6  /* as frbpf itself needs for the name of a memory cgroup */
#define FRBPF_TP_ARGS	 12 /* a tracepoint has no more: MAX_BPF_FUNC_ARGS */

enum frbpf_extract_kind {
	FRBPF_EXTRACT_NONE,
	FRBPF_EXTRACT_NUMBER,
	FRBPF_EXTRACT_BE,     /* a number whose first byte is the highest */
	FRBPF_EXTRACT_STRING, /* its first 15 bytes */
	FRBPF_EXTRACT_IPV4,   /* addresses: the highest bits of the first word come first */
	FRBPF_EXTRACT_IPV6,
	FRBPF_EXTRACT_TID, /* of the task that runs; keys of spans only, as the next two */
	FRBPF_EXTRACT_PID,
	FRBPF_EXTRACT_CPU,
};

struct frbpf_extract {
	__u8 kind; /* enum frbpf_extract_kind */
	__u8 arg;
	__u8 n_steps;	  /* 0: the argument itself */
	__u8 size;	  /* of a number: 1, 2, 4 or 8 bytes are read */
	__u8 shift_left;  /* then these bits are cut off: what is above the value, */
	__u8 shift_right; /* and what is below it */
	__u8 is_signed;
	__u8 pad;
	__u32 offset[FRBPF_MAX_STEPS];
};

/* What the programs of a tracepoint extract for the rules of one bank. */
struct frbpf_extracts {
	__u32 n; /* slots from the first on */
	struct frbpf_extract slot[FRBPF_MAX_ARGS];
};

/* How an argument of a static probe is found. */
enum frbpf_sdt_kind {
	FRBPF_SDT_NONE, /* there is no such argument */
	FRBPF_SDT_CONST,
	FRBPF_SDT_REG,
	FRBPF_SDT_MEM,
};

/* Where a static probe has one of its arguments. */
struct frbpf_usdt_arg {
	__s64 value; /* a constant; or what is added to the register for an address; else 0 */
	__u16 reg;   /* where in struct pt_regs it is, as user space has that */
	__u8 kind;   /* enum frbpf_sdt_kind */
	__u8 cut;    /* the highest bits, which are not of the value: 0, 32, 48 or 56 */
	__u8 is_signed;
	__u8 pad[3];
};

/* Those of one place that it is in: the cookie of what is attached there is its index. */
struct frbpf_usdt_place {
	struct frbpf_usdt_arg arg[FRBPF_MAX_ARGS];
	__u32 n_args;
	__u32 pad;
};

#define FRBPF_SPAN_KEYS	 4
#define FRBPF_SPAN_DEPTH 8 /* starts within each other of one key */

#define FRBPF_MAX_IN_FLIGHT 16384 /* begun and not ended: spans of one target, block requests */
#define FRBPF_MAX_KEPT	    4096  /* entries beside these that stay, for the next of that key */

#define FRBPF_TAG_TRIGGER 0x46524201u /* "FRB", layout 1 */

#define FRBPF_TRIGGER_ESCALATED 0x1 /* it broke the rule's cooldown */
#define FRBPF_TRIGGER_ABSENT                                                                       \
	0x4 /* nothing came: the value is for how long, and there is no subject */
#define FRBPF_TRIGGER_SHARE   0x8 /* the value is a sum over the rule's window, not of one event */
#define FRBPF_TRIGGER_PENDING 0x2 /* it has not ended: the value is how long it lasts so far */

/* One trigger, as it comes out of the ring buffer. */
struct frbpf_trigger {
	__u32 tag;    /* FRBPF_TAG_TRIGGER */
	__u32 source; /* enum frbpf_source */
	__u64 time;   /* when the condition was seen to hold */
	__u64 value;  /* what was measured, ns; the wait began at time - value */
	__u64 threshold;
	__u64 rule_id;
	__u32 slot;
	__u32 cpu;
	__u32 key;		       /* the system call's number; 0 for sources without keys */
	__u16 n_args;		       /* of a static probe: how many of args it has; 0 otherwise */
	__u16 flags;		       /* FRBPF_TRIGGER_* */
	__s64 ret;		       /* the system call's return value; 0 otherwise */
	struct frbpf_task subject;     /* who suffered */
	struct frbpf_task current;     /* who happened to run on that CPU */
	__u64 args[FRBPF_MAX_ARGS][2]; /* a number in the first word, or a string of 16 bytes */
	struct frbpf_suppressed since_last; /* after the trigger of the rule before this one */
	struct frbpf_part parts[FRBPF_MAX_OTHERS]; /* time 0: none; what matched before */
};

#define FRBPF_TAG_STACKS 0x46524253u
#define FRBPF_STACK_MAX	 127 /* frames, as perf's default */

/*
 * Where the subject was: behind a trigger, or several of one event, of the same time and CPU. Only
 * the kernel's part for a subject that did not run.
 */
struct frbpf_stacks {
	__u32 tag; /* FRBPF_TAG_STACKS */
	__u32 cpu;
	__u64 time;
	__u32 n_kernel; /* frames, the innermost first */
	__u32 n_user;
	__u64 kernel[FRBPF_STACK_MAX];
	__u64 user[FRBPF_STACK_MAX];
};

/*
 * An event that user space saw and has the rules look at: bpf/inject.bpf.c. Whoever fills it in
 * gives a task what it knows of it; what is 0 or "" is not known.
 */
struct frbpf_event {
	__u64 time; /* ns; of the trigger, which is never later than now */
	__u64 value;
	__s64 ret;
	__u32 key;
	__u32 source; /* enum frbpf_source */
	__u32 cpu;    /* where it happened */
	__u32 error;
	__u32 self;   /* the subject is one of our own */
	__u32 bank;   /* 1 + the bank whose rules its arguments are for; 0: it has none */
	__u32 theirs; /* of psi: without what is ours it is as much as the rule wants */
	__u32 pad;
	__u64 val[2][FRBPF_FIELD_MAX][2];    /* [0 subject and event, 1 current][field]; value and
						 * cpu are put there from above */
	__u64 cgroup[2][FRBPF_CGROUP_DEPTH]; /* ids by level, the root's first, 0 behind */
	__u64 process[2];		     /* of the subject, as in struct frbpf_key */
	__u64 thread[2];
	__u64 own_cgroup;
};

/*
 * A number that an event must have for any rule of the bank to hold: of `lo` to `lo + span` (modulo
 * 2^64, so all but one is such a range, too), and a bit of `bits` at its six lowest bits.
 */
struct frbpf_prefilter_number {
	__u64 lo;
	__u64 span;
	__u64 bits;
	__u32 field; /* enum frbpf_field; FRBPF_FIELD_MAX: any event will do */
	__u32 pad;
};

/*
 * What all rules of a bank without a threshold have in common: an event that does not pass is of no
 * interest to any of them. For the programs to look at before they do anything else.
 */
struct frbpf_prefilter {
	struct frbpf_prefilter_number arg;  /* a value of the event's own */
	struct frbpf_prefilter_number task; /* pid, tid or uid of the subject */
	__u64 comm[2];			    /* these bits of its name */
	__u64 comm_mask[2];
	__u32 decides; /* there is one rule, on hits, and its condition holds for all that passes */
	__u32 slot;    /* of that one */
};

/*
 * The switch of one source, in its .bss: the programs read `generation` once per event and use
 * bank `generation & 1` of the rule map, so a reload writes the other bank and then flips it.
 */
struct frbpf_bank {
	__u64 min_threshold; /* of its rules that have one; ~0 when there is none */
	__u32 n_rules;
	__u32 fields;	   /* bit per enum frbpf_field that a rule looks at */
	__u64 min_silence; /* of those on what is absent; ~0: there are none */
	__u64 min_pending; /* the lowest and highest threshold of those on what is pending; ~0 and 0: */
	__u64 max_pending;		  /* there are none */
	__u64 keys[FRBPF_KEY_WORDS];	  /* union of its rules' keys */
	__u64 fail_keys[FRBPF_KEY_WORDS]; /* of those that look at failures */
	struct frbpf_prefilter prefilter;
};

/* Whom the rules are about. Others are no subjects, and are not counted either. */
enum frbpf_scope {
	FRBPF_SCOPE_ALL,
	FRBPF_SCOPE_TASKS,  /* those in the scope map: see bpf/scope.bpf.c */
	FRBPF_SCOPE_CGROUP, /* those in a cgroup (v2), or in one below it */
};

/*
 * What has begun and not ended is looked at by programs that the daemon runs. All of a look is as of one time, read
 * before: what is found to have begun earlier, and not to have ended, was pending then. It is a match of a rule
 * when its threshold was passed since the look before: so it is one exactly once, and nobody keeps what has matched.
 */
struct frbpf_look {
	__u64 now; /* ns; written by the daemon, as the next */
	__u64 next; /* ns: what is pending comes to its next threshold then, or before; ~0: nothing is */
	__u32 bank;   /* of the rules in force when it began */
	__u32 source; /* enum frbpf_source */
};

struct frbpf_control {
	__u32 generation;
	__u32 self_tgid; /* our own process, in the initial pid namespace; never a subject */
	__u32 scope; /* enum frbpf_scope; this and the next are set before anything is attached */
	__u32 self_tid;	    /* of the thread that asked for it, likewise */
	__u64 scope_cgroup; /* its id */
	struct frbpf_bank bank[2];
};

_Static_assert(sizeof(struct frbpf_node) == 24, "node layout");
_Static_assert(sizeof(struct frbpf_extract) == 32, "extract layout");
_Static_assert(sizeof(struct frbpf_usdt_arg) == 16, "argument layout");
_Static_assert(sizeof(struct frbpf_prefilter_number) == 32, "prefilter layout");
_Static_assert(sizeof(struct frbpf_glob) == 1032, "glob layout");
_Static_assert(sizeof(struct frbpf_rule) == 592, "rule layout");
_Static_assert(sizeof(struct frbpf_task) == 48, "task layout");
_Static_assert(sizeof(struct frbpf_trigger) == 504, "trigger layout");
_Static_assert(sizeof(struct frbpf_stacks) == 2056, "stacks layout");
_Static_assert(sizeof(struct frbpf_key) == 32, "key layout");
_Static_assert(1 << FRBPF_COUNT_LAP_BITS == FRBPF_COUNT_MAX, "laps in what a time leaves");
_Static_assert(sizeof(struct frbpf_rule_state) == 1384, "state layout");

#endif
