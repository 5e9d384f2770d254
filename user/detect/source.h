/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One BPF object and its programs. Private to detect/: detectors.c drives sources through these
 * functions, and each detect/SOURCE.c is the only file to include its skeleton.
 * Life: open (loaded, attached, without a rule), any number of write and flip, free.
 */
#ifndef FRBPF_DETECT_SOURCE_H
#define FRBPF_DETECT_SOURCE_H

#include "common/err.h"
#include "detect/rule_table.h"

struct bpf_object;
struct bpf_program;

/* What all sources are given. */
struct source_env {
	int states_fd;	 /* map of struct frbpf_rule_state, borrowed */
	int triggers_fd; /* the trigger ring, borrowed */
	uint32_t pidns;	 /* inode of the daemon's pid namespace */
};

struct source {
	const struct source_ops *ops;
	void *skel; /* owned through ops->free */
	/* Set by ops->load; all of it belongs to the skeleton. */
	struct frbpf_control *control;
	const __u64 *missing_storage;
	int rules_fd;
	int learn_self_fd;
};

struct source_ops {
	enum frbpf_source source;
	const char *name;
	const void *(*elf)(size_t *ret_size); /* the BPF object, as it was built */
	/* Open the skeleton, source__prepare() it, load it. 0 or negative errno; free is called
	 * anyway. */
	int (*load)(struct source *s, const struct source_env *env);
	int (*attach)(struct source *s);
	/* Optional; before a flip: the keys watched until then and from then on. */
	void (*change_keys)(struct source *s, const __u64 *from, const __u64 *to);
	void (*free)(struct source *s);
};

extern const struct source_ops source_runqlat;
extern const struct source_ops source_syscall;

/* Load and attach. Negative errno with words in @err. */
int source__open(const struct source_ops *ops, const struct source_env *env, struct source **ret,
		 struct err *err);

/* Fill the half that is not in force. A grace period must have passed since the last flip. */
int source__write(struct source *s, const struct rule_table *table, struct err *err);
/* Put it in force. */
void source__flip(struct source *s);

void source__free(struct source *s);

/* For the sources: share the maps of @env with @obj; before it is loaded. 0 or negative errno. */
int source__prepare(struct bpf_object *obj, const struct source_env *env);
/* For the sources: run an iterator program to its end. 0 or negative errno. */
int source__iterate(struct bpf_program *prog);

#endif
