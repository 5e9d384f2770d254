/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of a line of `perf record`: text only, nothing of this kernel. What a session cannot
 * honour is an error that names the option; nothing is ignored.
 */
#ifndef FRBPF_RECORD_RECORD_OPTS_H
#define FRBPF_RECORD_RECORD_OPTS_H

#include "rules/diag.h"

/* One item of an -e list, as typed: "cycles", "sched:*", "cpu-clock:u", "cpu-clock/freq=99/". */
struct event_item {
	char *text; /* owned */
	struct span span;
};

struct record_opts {
	struct event_item *events; /* owned; none: perf's default, cycles */
	size_t n_events;
	struct span span; /* the line */
	uint64_t freq;	  /* Hz; 0: not given. At most one of freq and period is set */
	struct span freq_span;
	uint64_t period;     /* 0: not given */
	bool freq_max;	     /* -F max */
	bool callchain;	     /* -g, --call-graph fp */
	uint16_t max_stack;  /* --call-graph fp,N; 0: the kernel's limit */
	uint64_t mmap_bytes; /* per CPU, data area, a power of two of pages; 0: perf's default */
	bool system_wide;    /* -a; also the default without a target */
	bool overwrite;
	bool switch_output;
};

/* Parse @span of @src (the raw `run` value: words divided by blanks, quoted as in a shell; a
 * backslash and newline count as a blank). Options as perf's parser takes them: joined (-F99,
 * -agm1), abbreviated when unique, --opt=value, --no-opt. @page_size and the messages' units are in
 * bytes. 0, -EINVAL (all errors in @d) or -ENOMEM. *ret is set only on 0. */
int record_opts__parse(const struct source_text *src, struct span span, size_t page_size,
		       struct diags *d, struct record_opts **ret);
/* The same for those who go on to find further mistakes: *ret is what could be understood. -EINVAL
 * only where not even the words are known. */
int record_opts__parse_damaged(const struct source_text *src, struct span span, size_t page_size,
			       struct diags *d, struct record_opts **ret);
void record_opts__free(struct record_opts *o);

#endif
