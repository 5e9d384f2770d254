/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Synthetic tracepoints that explain a dump in the dump itself. No kernel has them, but their
 * format is in TRACING_DATA, so every reader shows them among the events, as frbpf:trigger,
 * frbpf:begin, frbpf:gap, frbpf:lock_wait, frbpf:interrupt.
 */
#ifndef FRBPF_PERFDATA_MARKER_H
#define FRBPF_PERFDATA_MARKER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "perfdata/writer.h"

enum marker_kind {
	MARKER_TRIGGER, /* a rule fired, or a user requested a dump; has time, CPU and task */
	MARKER_BEGIN,	/* start of the wait that fired the rule */
	MARKER_GAP,	/* a ring lost records or was paused; at the end of the gap, on its CPU */
	/* BPF programs write these into the ring of an event bpf-output with their name */
	MARKER_LOCK_WAIT, /* a task began to wait for a lock */
	MARKER_INTERRUPT, /* a long interrupt or softirq ended, or many short ones */
	MARKER_KINDS,
};

/* These return constants. */
const struct perfdata_format *marker__format(enum marker_kind kind);
const struct perf_event_attr *marker__attr(enum marker_kind kind);
uint64_t marker__id(enum marker_kind kind); /* id in its samples; above all ids of the kernel */
/* The event as perfdata__create() takes it. */
struct perfdata_attr marker__event(enum marker_kind kind);

/*
 * Add @fields to the samples of a marker, see struct record_sample. The options of these fields,
 * such as branch_sample_type, are copied from @first, the first event of the file.
 */
void marker__add_fields(struct perf_event_attr *marker, uint64_t fields,
			const struct perf_event_attr *first);

/*
 * Does a BPF program of frbpf write the samples of the event @name with @attr? If so, *ret is its
 * kind.
 */
bool marker__is_fed(const struct perf_event_attr *attr, const char *name, enum marker_kind *ret);

/* Texts may be NULL. They are cut to the size of their field; control characters become blanks. */
struct marker_trigger {
	const char *rule;
	const char *source; /* the text of `when` */
	uint64_t value_ns;  /* measured value; 0: none, as in a manual dump */
	uint64_t threshold_ns;
	const char *comm; /* of the subject, like pid and tid */
	uint32_t pid, tid;
	const char *process;
	const char *key;    /* such as the name of the system call */
	const char *reason; /* of a manual dump */
	const char *args;   /* "dev=sda op=write" */
};

struct marker_begin {
	const char *rule;
	const char *comm;
	uint32_t pid, tid;
};

struct marker_gap {
	uint64_t start, end; /* ns, CLOCK_MONOTONIC */
	uint64_t count;	     /* records */
	uint32_t cpu;
};

/* Append the raw data of a sample, for record__add_sample(). Its size + 4 is a multiple of 8. 0 or
 * -ENOMEM. */
int marker__encode_trigger(struct buf *raw, const struct marker_trigger *m);
/* Storage for the texts of a decoded trigger. */
struct marker_texts {
	char rule[65], source[65], comm[17], process[17], key[33], reason[129], args[129];
};
/*
 * Decode the output of marker__encode_trigger(), also of an earlier version. *ret points into
 * @texts. -EBADMSG: not a trigger.
 */
int marker__decode_trigger(const void *raw, size_t len, struct marker_texts *texts,
			   struct marker_trigger *ret);
int marker__encode_begin(struct buf *raw, const struct marker_begin *m);
int marker__encode_gap(struct buf *raw, const struct marker_gap *m);

/*
 * ---- triggers in a dump whose manifest was lost ----
 * This does not parse perf.data files in general, but looks for the one event whose layout is ours.
 */

/* A marker in the file. Texts may be cut; missing texts are "". */
struct marker_found {
	struct marker_trigger text; /* valid only during the call */
	uint64_t time;		    /* ns, CLOCK_MONOTONIC of the boot that recorded it */
	uint64_t realtime_offset;   /* CLOCK_REALTIME - CLOCK_MONOTONIC then, ns; 0: unknown */
	uint32_t cpu;
};

/* Non-zero ends the search. */
typedef int (*marker_found_fn)(const struct marker_found *m, void *arg);

/*
 * Call @fn for each frbpf:trigger in the file @fd, in file order. The position of @fd is unchanged.
 * 0; the result of @fn; -EBADMSG: not one of our files, or incomplete; or the errno of the read.
 */
int marker_file__triggers(int fd, marker_found_fn fn, void *arg);

#endif
