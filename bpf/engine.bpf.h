/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the rule engine: its maps, and an event as it sees one. */
#ifndef FRBPF_ENGINE_BPF_H
#define FRBPF_ENGINE_BPF_H

#include "paths.bpf.h"
#include "task.bpf.h"

#define EEXIST 17

/* Two banks, of which control.generation says which one is in force: entry i of bank h is at
 * 2 * i + h. A source that is loaded often, for few rules each time, has less room in both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_RULES);
	__type(key, __u32);
	__type(value, struct frbpf_rule);
} rules SEC(".maps");

/* The automata of its globs: two banks, too, in the same order. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_GLOBS);
	__type(key, __u32);
	__type(value, struct frbpf_glob);
} globs SEC(".maps");

/* The ids of the cgroups that rules name, 0 for one that does not exist. One map for all sources.
 */
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

/*
 * Cooldowns and counts that are not per rule: by slot, so that each rule has room of its own. When
 * that is full, what is new is suppressed and counted. The daemon deletes those that mean nothing
 * any more: `keyed` wakes it. One map of each for all sources.
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

/* What rules that learn have seen: by slot, as above, and by CPU. One map for all sources. */
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

/* The slot of a rule that has made many keys. One map for all sources. */
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

/* Who is in the scope: a task that has an entry. One map for all sources, written by
 * bpf/scope.bpf.c and used with FRBPF_SCOPE_TASKS only. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} scope SEC(".maps");

/* As above, by the address and by the number of a task. Its size is that of bpf/scope.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} scope_keys SEC(".maps");

const struct frbpf_count no_count = {};
const struct frbpf_share no_share = {};

struct frbpf_control control;
/* Waits not measured because the task has no storage. On a cache line of its own: control is read
 * by every event. */
__u64 missing_storage __attribute__((aligned(64)));
/* Values not believed: the tracepoint that ended an earlier wait, or that began this one, was hit
 * without any program being run. */
__u64 not_seen;

/* What a source has measured, of which a match is made. */
struct measured {
	__u64 now;   /* ns; 0: not asked for yet */
	__u64 value; /* ns; 0 of hits */
	__u32 bank;
	__u32 key; /* these as in struct match */
	__u32 error;
	__u32 self;
};

enum { MATCH_SUBJECT, MATCH_CURRENT, MATCH_TASKS };

/* The last is of the event, and stands with the subject. */
enum { MATCH_CGROUP_PATH, MATCH_EXE_PATH, MATCH_CALL_PATH, MATCH_PATHS };

struct match {
	struct path_text path[MATCH_TASKS][MATCH_PATHS]; /* when a rule asks for them */
	__u64 val[MATCH_TASKS][FRBPF_FIELD_MAX][FRBPF_FIELD_WORDS];
	struct cgroup_ids cgroup[MATCH_TASKS]; /* when a rule asks for them */
	__u64 process[2];		       /* of the subject, as in struct frbpf_key */
	__u64 thread[2];
	__u64 own_cgroup; /* as cgroup */
	__u64 now;	  /* 0: not asked for yet */
	__u64 value;
	__u64 limit; /* that the value of a rule that learns was compared with */
	__u64 parts; /* bits: the rules that others are about which this event has matched */
	__u64 sum;   /* of the values that this one is the last of, of a rule on a share of time */
	__s64 ret;
	__u32 key; /* below FRBPF_KEY_MAX; 0 for sources without keys, whose rules have bit 0 set */
	__u32 source;
	__u32 cpu;
	__u32 self;	   /* the subject is one of our own */
	__u32 bank;	   /* of the maps of rules and globs */
	__u32 error;	   /* of a call that failed: errno; else 0 */
	__u32 waits;	   /* a call that waits by its nature */
	__u32 alone;	   /* the subject is the current task: its paths stand there once */
	__u32 fired;	   /* set by the engine: a trigger was sent */
	__u32 counted;	   /* 1 + index of the rule that has counted it, and asked for the tasks */
	__u32 learnt;	   /* 1 + index of the rule that has learnt from it, and asked likewise */
	__u32 first;	   /* the rule to begin with */
	__u32 lacks_tasks; /* what is about tasks is not there yet: see rules.bpf.h */
	__u32 busy;	   /* of user_probe.bpf.h */
	__u32 n_args;	   /* as in struct frbpf_trigger */
	__u32 is_pending;  /* found by a look, and has not ended */
};

/* Too large for the stack. Programs that use it neither sleep nor interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct match);
} scratch SEC(".maps");

#endif
