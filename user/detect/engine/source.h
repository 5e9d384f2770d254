/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One BPF object and its programs. Private to detect/: detectors.c drives sources through these
 * functions, and each source's file is the only one to include its skeleton.
 * Life: open (loaded, attached, without a rule), any number of write and flip, free.
 */
#ifndef FRBPF_DETECT_SOURCE_H
#define FRBPF_DETECT_SOURCE_H

#include "common/err.h"
#include "detect/engine/rule_table.h"

struct app_socket;
struct bpf_link;
struct bpf_object;
struct bpf_program;
struct listener;
struct look;

/* What all sources are given. */
struct source_env {
	int states_fd;		       /* map of struct frbpf_rule_state, borrowed */
	int triggers_fd;	       /* the trigger ring, borrowed */
	int cgroups_fd;		       /* map of the ids of cgroups, borrowed */
	int path_globs_fd;	       /* map of struct frbpf_path_glob, borrowed */
	int cooling_fd;		       /* maps of struct frbpf_cooling by slot, borrowed */
	int counting_fd;	       /* maps of struct frbpf_count by slot, borrowed */
	int sharing_fd;		       /* maps of struct frbpf_share by slot, borrowed */
	int keyed_fd;		       /* ring of slots whose maps fill up, borrowed */
	int suppress_fd;	       /* map of times, borrowed */
	int learned_fd;		       /* maps of struct frbpf_learned by slot, borrowed */
	uint32_t pidns;		       /* inode of the daemon's pid namespace */
	struct listener *listener;     /* for sources whose events user space sees; borrowed */
	struct app_socket *app_socket; /* borrowed */
	enum frbpf_scope scope;
	int scope_fd;	       /* map of the tasks in the scope, borrowed; -1: each has its own */
	int scope_keys_fd;     /* the same by address and number */
	uint64_t scope_cgroup; /* id of a cgroup */
};

struct source {
	const struct source_ops *ops;
	char *target;	    /* of struct when; NULL: the source has one kind of events. Owned */
	uint32_t max_rules; /* room in a bank */
	uint32_t max_globs;
	void *skel;	 /* owned through ops->free */
	struct err *err; /* while it is opened: for words, where an errno says too little */
	struct listener *listener; /* borrowed */
	struct look *look;	   /* owned; NULL: no rule was about what is pending yet */
	/* Set by ops->load; all of it belongs to the skeleton. */
	struct frbpf_control *control;
	const __u64 *missing_storage;
	const __u64 *not_seen;
	int rules_fd;
	int globs_fd;
	int learn_self_fd;
	struct frbpf_look *looking;
	int look_end_fd;
};

struct source_ops {
	enum frbpf_source source;
	const char *name;
	const void *(*elf)(size_t *ret_size); /* the BPF object, as it was built */
	/* Optional: can @target be found here? Without privilege. 0, or negative errno with words in
	 * @err. */
	int (*check)(enum frbpf_source source, const char *target, struct err *err);
	/* Optional: does the target mean something else by now? Then it is opened anew. */
	bool (*is_stale)(const struct source *s);
	/* Open the skeleton, source__prepare() it, load it. 0 or negative errno; free is called
	 * anyway. */
	int (*load)(struct source *s, const struct source_env *env);
	int (*attach)(struct source *s);
	/* Optional: run the programs that find what is pending. 0 or negative errno. */
	int (*look)(struct source *s);
	/* Optional; before a flip: the keys watched until then and from then on. */
	void (*change_keys)(struct source *s, const __u64 *from, const __u64 *to);
	/* Optional; with the rules of a bank that is not in force: what else it needs. 0, or negative
	 * errno with words in @err. */
	int (*write)(struct source *s, uint32_t bank, const struct rule_table *table,
		     struct err *err);
	void (*free)(struct source *s);
};

/* All there are; sources.c finds one. */
extern const struct source_ops source_runqlat;
extern const struct source_ops source_syscall;
extern const struct source_ops source_blocked;
extern const struct source_ops source_offcpu;
extern const struct source_ops source_oncpu;
extern const struct source_ops source_blkio;
extern const struct source_ops source_blkio_device;
extern const struct source_ops source_hardirq;
extern const struct source_ops source_softirq;
extern const struct source_ops source_reclaim;
extern const struct source_ops source_connect;
extern const struct source_ops source_tracepoint;
extern const struct source_ops source_tracepoint_fields;
extern const struct source_ops source_span;
extern const struct source_ops source_psi;
extern const struct source_ops source_app;
extern const struct source_ops source_uprobe;
extern const struct source_ops source_usdt;

/* Load and attach, with room for the rules of @table; @target is of struct when. Negative errno with
 * words in @err. */
int source__open(const struct source_ops *ops, const char *target, const struct source_env *env,
		 const struct rule_table *table, struct source **ret, struct err *err);
/* Does it have room for these? */
bool source__fits(const struct source *s, const struct rule_table *table);

/* Fill the bank that is not in force. A grace period must have passed since the last flip. */
int source__write(struct source *s, const struct rule_table *table, struct err *err);
/* Put it in force. */
void source__flip(struct source *s);

void source__free(struct source *s);

/* For the sources: share the maps of @env with @obj and give its own their size; before it is loaded.
 * 0 or negative errno. */
int source__prepare(struct source *s, struct bpf_object *obj, const struct source_env *env);
/* For the sources: what they have in common, once @skel_ is loaded. */
#define source__bind(s_, skel_)                                                                    \
	do {                                                                                       \
		(s_)->control = &(skel_)->bss->control;                                            \
		(s_)->missing_storage = &(skel_)->bss->missing_storage;                            \
		(s_)->not_seen = &(skel_)->bss->not_seen;                                          \
		(s_)->rules_fd = bpf_map__fd((skel_)->maps.rules);                                 \
		(s_)->globs_fd = bpf_map__fd((skel_)->maps.globs);                                 \
		(s_)->learn_self_fd = bpf_program__fd((skel_)->progs.learn_self);                  \
		(s_)->looking = &(skel_)->bss->look;                                               \
		(s_)->look_end_fd = bpf_program__fd((skel_)->progs.look_end);                      \
	} while (0)
/* For the sources: does this kernel have the tracepoint? 0 or negative errno. */
int source__kernel_has(const char *tracepoint, bool *ret);

struct source_link {
	struct bpf_program *prog;
	struct bpf_link **link;
};
/* For the sources: attach those programs of @order that were loaded. 0 or negative errno. */
int source__attach(const struct source_link *order, size_t n);
/* For the sources that have waits.bpf.h: all tasks get their storage, first those of the future,
 * then those that exist; then @order is attached. 0 or negative errno. */
int source__attach_waits(struct bpf_program *newtask, struct bpf_link **newtask_link,
			 struct bpf_program *tasks, const struct source_link *order, size_t n);
/* For the sources: run an iterator program to its end. 0 or negative errno. */
int source__iterate(struct bpf_program *prog);

#endif
