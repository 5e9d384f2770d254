/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of detectors, shared by detectors.c and update.c. */
#ifndef FRBPF_DETECT_DETECTORS_CORE_H
#define FRBPF_DETECT_DETECTORS_CORE_H

#include "detect/detectors.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/rate_keys.h"
#include "detect/engine/rule_table.h"
#include "detect/engine/source.h"
#include "detect/psi_meter.h"
#include "detect/write_times.h"

struct ring_buffer;

struct detectors {
	struct source_env env; /* its fds are owned */
	struct ring_buffer *ring;
	struct source **sources; /* those in force */
	size_t n_sources;
	struct slots slots;
	struct cgroups *cgroups;
	struct scope *scope;		 /* NULL: not confined to tasks */
	struct slots patterns;		 /* indexes of the map of automata */
	const struct past *past;	 /* borrowed; NULL: none */
	uint64_t *suppress_until;	 /* shared memory that the programs read */
	struct frbpf_rule_state *states; /* shared memory, too */
	struct learners *learners;
	struct rate_keys *keys;
	bool flipped;		  /* since the last flip, programs may still read the old bank */
	uint64_t unmeasured_gone; /* this and the next three: sums over detached sources */
	uint64_t not_seen_gone;
	uint64_t texts_unread_gone;
	uint64_t looks_failed_gone;
	struct write_times writes;
	uint64_t malformed; /* written by the thread that consumes, read by any */
	/* Arguments and progress of detectors__consume(), valid while it runs. */
	void (*fn)(const struct frbpf_trigger *t, void *arg);
	void *arg;
	int handed_over, max;
	void (*stacks_fn)(const struct frbpf_stacks *s, void *arg); /* or NULL */
	void *stacks_arg;
	void (*ended_fn)(const struct frbpf_ended *e, void *arg); /* or NULL */
	void *ended_arg;
};

#endif
