/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The synthetic tracepoints that explain a dump from within: no kernel has them, but with their
 * format in TRACING_DATA every reader shows them among the events, as frbpf:trigger, frbpf:begin,
 * frbpf:gap.
 */
#ifndef FRBPF_PERFDATA_MARKER_H
#define FRBPF_PERFDATA_MARKER_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "common/buf.h"
#include "perfdata/writer.h"

enum marker_kind {
	MARKER_TRIGGER, /* a rule fired, or somebody asked for a dump: at that moment, on that CPU
			   and task */
	MARKER_BEGIN,	/* where the wait that fired began */
	MARKER_GAP,	/* a ring lost records or was paused: at its end, on its CPU */
	MARKER_KINDS,
};

/* All of these are constants of the program. */
const struct perfdata_format *marker__format(enum marker_kind kind);
const struct perf_event_attr *marker__attr(enum marker_kind kind);
uint64_t marker__id(enum marker_kind kind); /* of its samples: higher than the kernel's ids */
/* The event as perfdata__create() takes it. */
struct perfdata_attr marker__event(enum marker_kind kind);

/* Texts may be NULL; they are cut to what their field holds, and control characters become blanks.
 */
struct marker_trigger {
	const char *rule;
	const char *source; /* the text of `when` */
	uint64_t value_ns;  /* what was measured; 0: nothing was, as in a manual dump */
	uint64_t threshold_ns;
	const char *comm; /* of the subject, as pid and tid are */
	uint32_t pid, tid;
	const char *process;
	const char *key;    /* e.g. the system call's name */
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

/* Append the raw data of a sample (for record__add_sample); its size + 4 is a multiple of 8. 0
 * or -ENOMEM. */
int marker__encode_trigger(struct buf *raw, const struct marker_trigger *m);
/* Room for the texts of one that is read back. */
struct marker_texts {
	char rule[65], source[65], comm[17], process[17], key[33], reason[129], args[129];
};
/* Read back what marker__encode_trigger() made, or an earlier version of it; *ret points into @texts.
 * -EBADMSG: it is none. */
int marker__decode_trigger(const void *raw, size_t len, struct marker_texts *texts,
			   struct marker_trigger *ret);
int marker__encode_begin(struct buf *raw, const struct marker_begin *m);
int marker__encode_gap(struct buf *raw, const struct marker_gap *m);

#endif
