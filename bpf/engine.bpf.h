/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the rule engine: its maps, and struct match, the event that it evaluates. */
#ifndef FRBPF_ENGINE_BPF_H
#define FRBPF_ENGINE_BPF_H

#include "paths.bpf.h"
#include "task.bpf.h"

#define EEXIST 17

/*
 * Two banks of rules; control.bank_flips tells which is in force. Entry i of bank b is at 2 * i +
 * b. A source that is loaded many times, for few rules each, gets a smaller map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_RULES);
	__type(key, __u32);
	__type(value, struct frbpf_rule);
} rules SEC(".maps");

/* The automata of globs: also two banks, in the layout of the rules. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_GLOBS);
	__type(key, __u32);
	__type(value, struct frbpf_glob);
} globs SEC(".maps");

/* The ids of the cgroups that rules name; 0: the cgroup does not exist. One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_CGROUPS);
	__type(key, __u32);
	__type(value, __u64);
} cgroups SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__type(value, struct frbpf_rule_state);
} states SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FRBPF_TRIGGERS_SIZE);
} triggers SEC(".maps");

/* Pending events that fired a rule, until they end. One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRBPF_MAX_FOLLOWED);
	__type(key, struct frbpf_followed_key);
	__type(value, struct frbpf_followed);
} followed SEC(".maps");

/*
 * Cooldowns, counts and shares that are not per rule. There is an inner map per slot, so that each
 * rule has its own room. If it is full, matches with new keys are suppressed and counted. The
 * daemon deletes expired entries; `keyed` wakes it. One map of each for all sources.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(struct frbpf_key));
			__uint(value_size, sizeof(struct frbpf_cooling));
		});
} cooling SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(struct frbpf_key));
			__uint(value_size, sizeof(struct frbpf_count));
		});
} counting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(struct frbpf_key));
			__uint(value_size, sizeof(struct frbpf_share));
		});
} sharing SEC(".maps");

/* The values of rules that learn: an inner map per slot, per CPU. One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct frbpf_learned));
		});
} learned SEC(".maps");

/* Reports the slots of rules that have made many keys. One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FRBPF_KEYED_SIZE);
} keyed SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FRBPF_MAX_SUPPRESS);
	__type(key, __u32);
	__type(value, __u64);
} suppress_times SEC(".maps");

/*
 * The scope: tasks with an entry are in it. One map for all sources, written by bpf/scope.bpf.c and
 * used with FRBPF_SCOPE_TASKS only.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} scope SEC(".maps");

/* The scope again, by address and by number of the task. The size is that in bpf/scope.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} scope_keys SEC(".maps");

const struct frbpf_count no_count = {};
const struct frbpf_share no_share = {};

struct frbpf_control control;
/*
 * Number of events not measured: a task has no storage, a table is full, working memory is in use,
 * or a call was abandoned. On a cache line of its own: every event reads `control`, few write here.
 */
__u64 unmeasured __attribute__((aligned(64)));
/* Strings that could not be read: their pages were not there, or the pointer was wrong. */
__u64 texts_unread;
/*
 * Values dropped because the kernel did not run our program where an earlier wait ended, or where
 * the measured one began.
 */
__u64 not_seen;

/* The measurement of a source, from which a match is made. */
struct measured {
	__u64 now;   /* ns; 0: clock not read yet */
	__u64 value; /* ns; 0 for hits */
	__u32 bank;
	__u32 key; /* this and the next two: as in struct match */
	__u32 error;
	__u32 self;
};

enum { MATCH_SUBJECT, MATCH_CURRENT, MATCH_TASKS };

/* MATCH_CALL_PATH belongs to the event, but is stored with the paths of the subject. */
enum { MATCH_CGROUP_PATH, MATCH_EXE_PATH, MATCH_CALL_PATH, MATCH_PATHS };

struct match {
	struct path_text path[MATCH_TASKS][MATCH_PATHS]; /* when a rule asks for them */
	__u64 val[MATCH_TASKS][FRBPF_FIELD_MAX][FRBPF_FIELD_WORDS];
	struct cgroup_ids cgroup[MATCH_TASKS]; /* when a rule asks for them */
	__u64 process[2];		       /* of the subject, as in struct frbpf_key */
	__u64 thread[2];
	__u64 own_cgroup; /* id of the subject's cgroup itself; when a rule asks for it */
	__u64 now;	  /* ns; 0: clock not read yet */
	__u64 value;
	__u64 limit; /* LEARNS: the limit that the value was compared with */
	__u64 parts; /* bitmap of the PART rules that this event has matched */
	__u64 sum;   /* SHARE: the sum in the window, including this value */
	__u64 seen;  /* pending: see look_seen() */
	__u64 id;    /* identifies a pending event, together with its start; often a tid */
	__s64 ret;
	__u32 key; /* below FRBPF_KEY_MAX; 0 for sources without keys, whose rules have bit 0 set */
	__u32 source;
	__u32 cpu;
	__u32 self;	   /* the subject is one of our own processes */
	__u32 bank;	   /* of the maps of rules and globs */
	__u32 error;	   /* errno of a call that failed; otherwise 0 */
	__u32 waits;	   /* a call that waits by nature: for a tty, a pipe ... */
	__u32 alone;	   /* the subject is the current task: paths are stored only once */
	__u32 fired;	   /* set by the engine: a trigger was sent */
	__u32 counted;	   /* 1 + index of a rule that counted the event, to rerun with tasks */
	__u32 learnt;	   /* likewise, of a rule that learnt from the event or added it to a sum */
	__u32 first;	   /* index of the rule to begin with */
	__u32 lacks_tasks; /* values of tasks are not filled in yet: see rules.bpf.h */
	__u32 busy;	   /* in use: see user_probe.bpf.h */
	__u32 n_args;	   /* as in struct frbpf_trigger */
	__u32 is_pending;  /* the event was found by a look, and has not ended */
	__u32 text; /* MATCH_CALL_PATH holds: 0 nothing; 1 a path; 2 + n the string of argument n */
	__u32 no_text; /* that string, or the path of a pending call, is unknown */
	__u64 path_at; /* address of the path in the program, if no rule looks at it; 0: none */
	__u64 file_at; /* address of the open file that the call is about; 0: none */
};

/* Too large for the stack. Programs that use it neither sleep nor interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct match);
} match_room SEC(".maps");

#endif
