/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of a line of `perf record`: text only, nothing of this kernel. What a session cannot
 * honour is an error that names the option, what changes nothing a warning; nothing is ignored
 * silently.
 */
#ifndef FRBPF_RECORD_RECORD_OPTS_H
#define FRBPF_RECORD_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/dump_name.h"
#include "rules/diag.h"

/* One item of an -e list, as typed: "cycles", "sched:*", "cpu-clock:u", "{a,b}:S". */
struct event_item {
	char *text; /* owned */
	struct span span;
	char *filter; /* of --filter, ANDed; NULL: none. Owned */
	struct span filter_span;
	bool exclude_perf;
};

enum call_graph { CALL_GRAPH_NONE, CALL_GRAPH_FP, CALL_GRAPH_DWARF, CALL_GRAPH_LBR };

/* A part of a line: a name of a cgroup, a PID, a CPU. */
struct option_item {
	char *text; /* owned; "" for a cgroup that is left out */
	struct span span;
};

struct option_items {
	struct option_item *v; /* owned */
	size_t n;
};

struct delay_range {
	uint64_t from, to; /* ns since the session's start; to: UINT64_MAX for ever */
};

#define RECORD_COMPRESSION_MAX 22 /* -z; as zstd */

/* What is written, and when a session writes by itself. */
struct record_output {
	char name[DUMP_OUTPUT_MAX + 1]; /* of -o, without a directory; "": perf.data */
	unsigned int compression;	/* 0: none */
	uint64_t every_ns, every_bytes; /* of --switch-output; 0: not given */
	uint32_t max_files;		/* of these; 0: no limit of their own */
};

struct record_opts {
	struct event_item *events; /* owned; none: perf's default, cycles */
	size_t n_events;
	struct span span; /* the line */
	uint64_t freq;	  /* Hz; 0: not given. At most one of freq and period is set */
	struct span freq_span;
	uint64_t period; /* 0: not given */
	bool freq_max;	 /* -F max */
	bool strict_freq;
	enum call_graph call_graph;
	bool call_graph_default; /* by -g: what perf's configuration says, else fp */
	uint16_t max_stack;	 /* --call-graph fp,N; 0: the kernel's limit */
	uint32_t stack_bytes;	 /* --call-graph dwarf,N */
	uint64_t mmap_bytes;   /* per CPU, data area, a power of two of pages; 0: perf's default */
	uint64_t branch_types; /* PERF_SAMPLE_BRANCH_*; 0: none */
	uint64_t intr_regs, user_regs; /* masks; 0: none */
	bool overwrite;
	bool switch_output;

	char **command;		  /* what it runs: words, NULL at the end; NULL: nothing. Owned */
	struct span command_span; /* of the first word */
	struct record_output output;
	/* of -D: enabled in these, n 0: from the start on. -D -1: one that never comes */
	struct delay_range *delay; /* owned */
	size_t n_delay;

	bool sample_addr, phys_data, data_page_size, code_page_size;
	bool weight, transaction, raw_samples, no_samples;
	bool all_user, all_kernel, kernel_callchains, user_callchains;
	bool all_cgroups, switch_events, group;
	bool stat, running_time;
	bool period_given, sample_period; /* -P, --no-period */
	bool no_inherit, inherit_given;	  /* -i, --inherit */

	/* Whom it records: all when none is given. */
	bool system_wide; /* -a; also the default without a target */
	bool per_thread;
	struct option_items pids, tids, cpus, cgroups, users;
	size_t n_before_cgroups; /* events that @cgroups are for */
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

/* What -g is by [call-graph] record-mode of perf's configuration, "dwarf,4096" for example. -EINVAL:
 * perf has no such mode. */
int record_opts__set_default_call_graph(struct record_opts *o, const char *mode);

/* Does the line say itself whom to record, other than everybody? */
bool record_opts__has_target(const struct record_opts *o);

#endif
