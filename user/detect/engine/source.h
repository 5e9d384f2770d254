/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source: one BPF object and its programs. Private to detect/: detectors.c and update.c drive
 * sources through these functions. Only the file of a source includes its skeleton.
 * Life: open (loads and attaches, without a rule), any number of write and flip, free.
 */
#ifndef FRBPF_DETECT_SOURCE_H
#define FRBPF_DETECT_SOURCE_H

#include "common/buf.h"
#include "common/err.h"
#include "detect/engine/rule_table.h"
#include "detect/write_times.h"

struct app_socket;
struct bpf_link;
struct bpf_object;
struct bpf_program;
struct listener;
struct look;

/* The environment that all sources get. */
struct source_env {
	int states_fd;		       /* map of struct frbpf_rule_state, borrowed */
	int triggers_fd;	       /* the trigger queue, borrowed */
	int cgroups_fd;		       /* map of the ids of cgroups, borrowed */
	int path_globs_fd;	       /* map of struct frbpf_path_glob, borrowed */
	int cooling_fd;		       /* maps of struct frbpf_cooling by slot, borrowed */
	int counting_fd;	       /* maps of struct frbpf_count by slot, borrowed */
	int sharing_fd;		       /* maps of struct frbpf_share by slot, borrowed */
	int keyed_fd;		       /* ring of slots whose maps fill up, borrowed */
	int followed_fd;	       /* map of struct frbpf_followed, borrowed */
	int suppress_fd;	       /* map of FRBPF_SUPPRESS_*, borrowed */
	int learned_fd;		       /* maps of struct frbpf_learned by slot, borrowed */
	uint32_t pidns;		       /* inode of the daemon's pid namespace */
	struct listener *listener;     /* for sources whose events user space sees; borrowed */
	struct app_socket *app_socket; /* borrowed */
	struct write_times *writes;    /* borrowed */
	enum frbpf_scope scope;
	int scope_fd;	       /* map of the tasks in the scope, borrowed; -1: no such scope */
	int scope_keys_fd;     /* the same by address and number */
	uint64_t scope_cgroup; /* id of the cgroup of FRBPF_SCOPE_CGROUP */
};

struct source {
	const struct source_ops *ops;
	char *target;	    /* of struct when; NULL: the source has one kind of events. Owned */
	uint32_t max_rules; /* room in a bank */
	uint32_t max_globs;
	void *skel;		   /* destroyed by ops->free */
	struct err *err;	   /* during open: explains an errno */
	struct listener *listener; /* borrowed */
	struct look *look;	   /* owned; NULL: no rule about pending events yet */
	/* Set by ops->load; owned by the skeleton. */
	struct frbpf_control *control;
	const __u64 *unmeasured;
	const __u64 *not_seen;
	const __u64 *texts_unread;
	int rules_fd;
	int globs_fd;
	int learn_self_fd;
	struct frbpf_look *looking;
	int look_end_fd;
};

struct source_ops {
	enum frbpf_source source;
	const char *name;
	const void *(*elf)(size_t *ret_size); /* the BPF object in ELF format */
	/* Optional: does @target exist on this machine? Needs no privilege. 0, or negative errno
	 * with a message in @err. */
	int (*check)(enum frbpf_source source, const char *target, struct err *err);
	/* Optional: does the target now mean something else? Then a new source is opened. */
	bool (*is_stale)(const struct source *s);
	/* Open the skeleton, source__prepare() it, load it. 0 or negative errno; `free` is called
	 * after a failure, too. */
	int (*load)(struct source *s, const struct source_env *env);
	int (*attach)(struct source *s);
	/* Optional: run the programs that find pending events. 0 or negative errno. */
	int (*look)(struct source *s);
	/* Optional; called before a flip with the keys watched before and after it. */
	void (*change_keys)(struct source *s, const __u64 *from, const __u64 *to);
	/* Optional: write what the source needs besides the rules of the inactive bank @bank. 0, or
	 * negative errno with a message in @err. */
	int (*write)(struct source *s, uint32_t bank, const struct rule_table *table,
		     struct err *err);
	void (*free)(struct source *s);
};

/* All sources. */
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
extern const struct source_ops source_probe_span;
/* Find a source by number. NULL: it has no BPF object. */
const struct source_ops *source_ops__find(enum frbpf_source source);

/*
 * Load and attach a source with room for the rules of @table. @target: of struct when. 0, or
 * negative errno with a message in @err.
 */
int source__open(const struct source_ops *ops, const char *target, const struct source_env *env,
		 const struct rule_table *table, struct source **ret, struct err *err);
/* Does the source have room for the rules of @table? */
bool source__fits(const struct source *s, const struct rule_table *table);

/* Write @table to the inactive bank. An RCU grace period must have passed since the last flip. */
int source__write(struct source *s, const struct rule_table *table, struct err *err);
/* Put the inactive bank in force. */
void source__flip(struct source *s);

void source__free(struct source *s);

/*
 * For sources, before they load @obj: reuse the maps of @env, and set the sizes of the others. 0 or
 * negative errno.
 */
int source__prepare(struct source *s, struct bpf_object *obj, const struct source_env *env);
/* For sources, once @skel_ is loaded: set the pointers and descriptors that all skeletons have. */
#define source__bind(s_, skel_)                                                                    \
	do {                                                                                       \
		(s_)->control = &(skel_)->bss->control;                                            \
		(s_)->unmeasured = &(skel_)->bss->unmeasured;                                      \
		(s_)->not_seen = &(skel_)->bss->not_seen;                                          \
		(s_)->texts_unread = &(skel_)->bss->texts_unread;                                  \
		(s_)->rules_fd = bpf_map__fd((skel_)->maps.rules);                                 \
		(s_)->globs_fd = bpf_map__fd((skel_)->maps.globs);                                 \
		(s_)->learn_self_fd = bpf_program__fd((skel_)->progs.learn_self);                  \
		(s_)->looking = &(skel_)->bss->look;                                               \
		(s_)->look_end_fd = bpf_program__fd((skel_)->progs.look_end);                      \
	} while (0)
/* For sources: does this kernel have @tracepoint? 0 or negative errno. */
int source__kernel_has(const char *tracepoint, bool *ret);

struct source_link {
	struct bpf_program *prog;
	struct bpf_link **link;
};
/*
 * For sources: attach those programs of @order that were loaded, in order. Ends come first:
 * otherwise an event could begin whose end is missed, and its entry would stay in the table. 0 or
 * negative errno.
 */
int source__attach(const struct source_link *order, size_t n);
/*
 * For sources that use waits.bpf.h: give task storage to all tasks, to new ones first, then to
 * those that exist. Then attach @order, ends first. 0 or negative errno.
 */
int source__attach_waits(struct bpf_program *newtask, struct bpf_link **newtask_link,
			 struct bpf_program *tasks, const struct source_link *order, size_t n);
/* For sources: run an iterator program to its end. 0 or negative errno. */
int source__iterate(struct bpf_program *prog);
/* The same for a program that writes output: append it to @ret; stop once @ret has @max bytes. */
int source__iterate_into(struct bpf_program *prog, struct buf *ret, size_t max);

#endif
