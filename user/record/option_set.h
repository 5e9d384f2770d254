/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internals of the parser of a line: the parser of each option. Private to record_opts.c,
 * perf_options.c and option_*.c.
 */
#ifndef FRBPF_RECORD_OPTION_SET_H
#define FRBPF_RECORD_OPTION_SET_H

#include "record/perf_options.h"
#include "record/record_opts.h"
#include "record/words.h"

struct option_parser {
	const struct source_text *src;
	struct diags *d;
	size_t page_size;
	struct words words;
	size_t next; /* index of the next word */
	struct record_opts *opts;
	struct span count_span, branch_span;
	size_t last_events; /* the events of the last -e begin here */
	bool branch_any, branch_filter;
};

/* The value of an option: [off, off + len) of a word. */
struct option_value {
	const struct word *word; /* NULL: none given */
	size_t off;
	const char *text;
	size_t len;
	bool unset;	   /* --no-OPTION */
	struct span place; /* of the value, or of the option if it has no value */
};

#define OPTION_ERROR(p, v, ...) diags__error((p)->d, (p)->src, (v)->place, __VA_ARGS__)

/* Parse a number of at least 1. @what and @example are for the message. */
int option__positive(struct option_parser *p, const struct option_value *v, const char *what,
		     const char *example, uint64_t *ret);
/* Replace *ret with a copy of the text. 0 or -ENOMEM. */
int option__text(const struct option_value *v, char **ret);

/* option_set.c */
int option__set_event(struct option_parser *p, const struct option_value *v);
int option__set_filter(struct option_parser *p, const struct option_value *v);
int option__set_exclude_perf(struct option_parser *p, const struct option_value *v);
int option__set_freq(struct option_parser *p, const struct option_value *v);
int option__set_count(struct option_parser *p, const struct option_value *v);
int option__set_mmap_pages(struct option_parser *p, const struct option_value *v);
int option__set_switch_output(struct option_parser *p, const struct option_value *v);
int option__set_switch_files(struct option_parser *p, const struct option_value *v);
int option__set_compression(struct option_parser *p, const struct option_value *v);
int option__set_delay(struct option_parser *p, const struct option_value *v);
int option__set_max_size(struct option_parser *p, const struct option_value *v);
int option__set_output(struct option_parser *p, const struct option_value *v);
int option__check_number(struct option_parser *p, const struct option_value *v);
int option__check_size(struct option_parser *p, const struct option_value *v);
int option__check_clock(struct option_parser *p, const struct option_value *v);
int option__check_synth(struct option_parser *p, const struct option_value *v);
int option__check_threads(struct option_parser *p, const struct option_value *v);
int option__check_affinity(struct option_parser *p, const struct option_value *v);

/* option_sample.c */
int option__set_callchain(struct option_parser *p, const struct option_value *v);
int option__set_call_graph(struct option_parser *p, const struct option_value *v);
int option__set_branch_any(struct option_parser *p, const struct option_value *v);
int option__set_branch_filter(struct option_parser *p, const struct option_value *v);
int option__set_intr_regs(struct option_parser *p, const struct option_value *v);
int option__set_user_regs(struct option_parser *p, const struct option_value *v);
int option__set_latency(struct option_parser *p, const struct option_value *v);
int option__set_off_cpu_thresh(struct option_parser *p, const struct option_value *v);
int option__set_period(struct option_parser *p, const struct option_value *v);
int option__set_no_inherit(struct option_parser *p, const struct option_value *v);

/* option_target.c */
int option__set_pid(struct option_parser *p, const struct option_value *v);
int option__set_tid(struct option_parser *p, const struct option_value *v);
int option__set_uid(struct option_parser *p, const struct option_value *v);
int option__set_cpu(struct option_parser *p, const struct option_value *v);
int option__set_cgroup(struct option_parser *p, const struct option_value *v);

#endif
