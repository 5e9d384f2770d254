/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses the options of a line of `perf record`: text only, without looking at this kernel. An
 * option that a session cannot honour is an error that names it. An option without effect is a
 * warning. Nothing is ignored silently.
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
	char *filter; /* from --filter, ANDed; NULL: none. Owned */
	struct span filter_span;
	bool exclude_perf;
};

enum call_graph { CALL_GRAPH_NONE, CALL_GRAPH_FP, CALL_GRAPH_DWARF, CALL_GRAPH_LBR };

/* A part of a value: the name of a cgroup, a PID, a CPU. */
struct option_item {
	char *text; /* owned; "" for an empty place in a list of cgroups */
	struct span span;
};

struct option_items {
	struct option_item *v; /* owned */
	size_t n;
};

struct delay_range {
	uint64_t from, to; /* ns since the start of the session; to: UINT64_MAX for ever */
};

#define OFF_CPU_LEAST_NS       1000000 /* shorter times off CPU would fill the ring */
#define RECORD_COMPRESSION_MAX 22      /* of -z, as in zstd */

/* What is written, and when a session writes without a trigger. */
struct record_output {
	char name[DUMP_OUTPUT_MAX + 1]; /* from -o, without the directory; "": perf.data */
	unsigned int compression;	/* 0: none */
	uint64_t every_ns, every_bytes; /* from --switch-output; 0: not given */
	/* of a plain session: */
	bool switches;	    /* --switch-output: a dump ends the file, and another one begins */
	uint64_t max_bytes; /* from --max-size; 0: no limit */
	uint64_t min_free;  /* bytes that it leaves on the disk; set by the plan */
	uint32_t max_files; /* finished files to keep; 0: all */
};

struct record_opts {
	struct event_item *events; /* owned; none given: perf's default, cycles */
	size_t n_events;
	struct span span; /* the line */
	uint64_t freq;	  /* Hz; 0: not given. At most one of freq and period is set */
	struct span freq_span;
	uint64_t period; /* 0: not given */
	bool freq_max;	 /* -F max */
	bool strict_freq;
	enum call_graph call_graph;
	bool call_graph_default; /* -g: as perf's configuration says, else fp */
	uint16_t max_stack;	 /* --call-graph fp,N; 0: the kernel's limit */
	uint32_t stack_bytes;	 /* --call-graph dwarf,N */
	/* per CPU, data area only, a power of two of pages; 0: perf's default */
	uint64_t mmap_bytes;
	uint64_t branch_types;	       /* PERF_SAMPLE_BRANCH_*; 0: none */
	uint64_t intr_regs, user_regs; /* masks; 0: none */
	bool overwrite;
	bool switch_output;

	char **command;		  /* command to run: NULL-terminated words; NULL: none. Owned */
	struct span command_span; /* of the first word */
	struct record_output output;
	/*
	 * from -D: events are enabled in these ranges; n 0: from the start. -D -1 is a range that
	 * never comes
	 */
	struct delay_range *delay; /* owned */
	size_t n_delay;

	bool sample_addr, phys_data, data_page_size, code_page_size;
	bool weight, transaction, raw_samples, no_samples;
	bool all_user, all_kernel, kernel_callchains, user_callchains;
	bool all_cgroups, switch_events, group, mem_info;
	struct span latency_span; /* of --latency, which implies switch_events; len 0: not given */
	bool stat, running_time;
	bool off_cpu;			  /* --off-cpu */
	uint64_t off_cpu_least;		  /* ns; from --off-cpu-thresh, or OFF_CPU_LEAST_NS */
	struct span off_cpu_thresh;	  /* of its value; len 0: not given */
	bool period_given, sample_period; /* -P, --no-period */
	bool no_inherit, inherit_given;	  /* -i, --inherit */

	/* Tasks to record; all if none is given. */
	bool system_wide; /* -a, also the default without a target */
	bool per_thread;
	struct option_items pids, tids, cpus, cgroups, users;
	size_t n_before_cgroups; /* events before -G, which @cgroups are for */
};

/*
 * Parse @span of @src: the raw `run` value. Blanks separate words, which are quoted as in a shell;
 * a backslash and newline count as a blank. Options are as in perf's parser: joined (-F99, -agm1),
 * unique abbreviations, --opt=value, --no-opt. @page_size is in bytes. 0, -EINVAL (all errors in
 * @d) or -ENOMEM. *ret is set only on 0.
 */
int record_opts__parse(const struct source_text *src, struct span span, size_t page_size,
		       struct diags *d, struct record_opts **ret);
/*
 * The same for callers that look for further mistakes: *ret has the options that are valid. -EINVAL
 * only if the line cannot be split into words.
 */
int record_opts__parse_damaged(const struct source_text *src, struct span span, size_t page_size,
			       struct diags *d, struct record_opts **ret);
void record_opts__free(struct record_opts *o);

/*
 * Set what -g means, from [call-graph] record-mode of perf's configuration, e.g. "dwarf,4096".
 * -EINVAL: perf has no such mode.
 */
int record_opts__set_default_call_graph(struct record_opts *o, const char *mode);

/* Does the line itself name a target, other than all tasks? */
bool record_opts__has_target(const struct record_opts *o);

#endif
