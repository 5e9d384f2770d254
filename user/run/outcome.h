/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What came of a run: plain data, filled while it goes on and at its end, read by the reports and
 * by those who compare runs. Life: { 0 }, filled, outcome__free().
 */
#ifndef FRBPF_RUN_OUTCOME_H
#define FRBPF_RUN_OUTCOME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "run/histogram.h"
#include "run/measure.h"
#include "run/run_opts.h"

/* Exit status of frbpf run, where it is not that of the command. */
#define RUN_EXIT_FIRED	      2
#define RUN_EXIT_NOT_RECORDED 125
#define RUN_EXIT_NOT_EXECUTED 126
#define RUN_EXIT_NOT_FOUND    127

enum run_end {
	RUN_END_COMMAND, /* it ended, and all that it forked */
	RUN_END_TIME,	 /* --for */
	RUN_END_DUMPS,	 /* --dumps */
	RUN_END_SIGNAL,	 /* somebody ended the recording */
	RUN_END_TARGET,	 /* the process of -p ended */
};

struct run_file {
	char *session;	     /* owned */
	char *path;	     /* absolute; owned. NULL: it could not be written */
	char *error;	     /* why; owned. NULL: it was */
	uint64_t start, end; /* ns: its window */
};

struct run_frame {
	char *symbol; /* as people know it; owned. NULL: not known */
	char *module; /* owned */
	bool kernel;
};

/* A stack of an incident's window, the innermost frame first. */
struct run_stack {
	double here, rest;	   /* percent of what its table is about */
	bool noise;		   /* so many samples differ by that much by chance */
	const char *state;	   /* in which tasks left their CPU; NULL: they ran */
	char comm[FRBPF_COMM_LEN]; /* who waited most; "" of those that ran */
	struct run_frame *frames;  /* owned */
	size_t n_frames;
};

/* What ran, or waited, in the window of one session: the hottest first. */
struct run_stack_table {
	char *session;	     /* owned */
	char *event;	     /* sampled where tasks ran; owned. NULL: time off CPU */
	uint64_t here, rest; /* samples, or ns off CPU, in the window and in the rest of the run */
	struct run_stack *v; /* owned */
	size_t n;
};

/* What fired: copies, the rules may be gone. */
struct run_trigger {
	size_t rule;			 /* index into outcome.rules */
	uint64_t time, value, threshold; /* ns */
	char comm[FRBPF_COMM_LEN + 1], process[FRBPF_COMM_LEN + 1];
	uint32_t pid, tid;
	bool contradicted; /* by what was recorded: no finding */
	bool merged;	   /* came after the freeze: listed, not in the dump */
};

struct run_incident {
	uint64_t number;
	bool last; /* no rule asked for it: the window before the run's end */
	char name[32];
	struct run_trigger *triggers; /* owned; the first is what fired it */
	size_t n_triggers;
	uint64_t more_triggers; /* further ones, only counted */
	struct run_file *files; /* owned, one per session that was saved */
	size_t n_files;
	char *why; /* what took the subject's time, one sentence; owned. NULL: not known */
	struct run_stack_table *tables; /* owned; none where nobody looked, see hot_stacks.h */
	size_t n_tables;
};

struct run_rule {
	char *name, *when, *condition; /* owned; condition may be NULL */
	bool quiet;		       /* `dump = none`: counts, and fails no run */
	bool is_event;		       /* it happens: there is no threshold */
	uint64_t threshold;	       /* ns; 0 for those */
	struct frbpf_rule_state state; /* at the end */
	struct histogram matches;
	uint64_t
		contradicted; /* triggers that what was recorded contradicts: part of state.fired */
	bool has_values;
	struct histogram values; /* of everything that it measured, also below the threshold */
};

struct run_session {
	char *name, *run; /* owned */
	char notice[160]; /* "": none */
};

struct outcome {
	bool recorded;
	char reason[1024]; /* why not */
	enum run_end end;
	const struct run_opts *opts;
	char folder[PATH_MAX]; /* absolute */
	int folder_fd;	       /* it is, whatever has taken its name; borrowed; 0: none */
	char cgroup[PATH_MAX]; /* of a run of one */
	uint64_t realtime;     /* ns since 1970: when the recording began */
	uint64_t wall_ns;      /* recorded */
	bool command_ended;
	int command_status;	/* as of waitpid(2) */
	int exec_error;		/* errno of a command that could not be executed; 0: it could */
	struct run_rule *rules; /* owned */
	size_t n_rules;
	struct run_session *sessions; /* owned */
	size_t n_sessions;
	struct run_incident *incidents; /* owned, in the order of their freeze */
	size_t n_incidents;
	struct run_incident rest; /* the last window, where it was saved for comparison only */
	uint64_t lost_triggers;	  /* found no free incident */
	uint64_t unseen;	  /* tasks that could not be followed or measured */
	uint64_t failed_files;
	bool has_cost;
	struct run_cost cost; /* of the command, when it has ended */
};

/* Did a rule fire that is meant to? What was recorded contradicts a trigger now and then: that alone
 * is no finding. */
bool run_rule__fired(const struct run_rule *rule);
bool outcome__fired(const struct outcome *o);

/* The status to exit with: the command's own if it is not 0, as a shell shows it; else that of
 * @exit_code when a rule fired; else 0. */
int outcome__exit_status(const struct outcome *o);

/* Count the triggers of its incidents that are contradicted, per rule. */
void outcome__count_contradicted(struct outcome *o);

/* The largest value that fired @rule and is not contradicted, and its incident; NULL: none did. */
const struct run_trigger *outcome__worst(const struct outcome *o, size_t rule,
					 const struct run_incident **ret_incident);
/* The dump of @inc that is to be looked at first: NULL when none could be written. */
const struct run_file *run_incident__dump(const struct run_incident *inc);

/* A file of @o's folder, by the folder as we hold it: another may have taken its name. Returns @path or @ret. */
const char *outcome__held_path(const struct outcome *o, const char *path,
			       char ret[static PATH_MAX]);

/* What it holds, not the struct itself. */
void run_incident__free(struct run_incident *inc);

const char *run_end__name(enum run_end end);

void outcome__free(struct outcome *o);

#endif
