/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The outcome of a run: plain data, filled during the run and at its end. Reports and comparisons
 * of runs read it. Life: { 0 }, filled, outcome__free().
 */
#ifndef FRBPF_RUN_OUTCOME_H
#define FRBPF_RUN_OUTCOME_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "run/histogram.h"
#include "run/measure.h"
#include "run/run.h"

/* Exit status of frbpf run, unless it is that of the command */
#define RUN_EXIT_FIRED	      2
#define RUN_EXIT_NOT_RECORDED 125
#define RUN_EXIT_NOT_EXECUTED 126
#define RUN_EXIT_NOT_FOUND    127

enum run_end {
	RUN_END_COMMAND, /* the command and all forked processes have ended */
	RUN_END_TIME,	 /* --for */
	RUN_END_DUMPS,	 /* --dumps */
	RUN_END_SIGNAL,	 /* a signal ended the recording */
	RUN_END_TARGET,	 /* the process of -p has ended */
};

struct run_file {
	char *session;	     /* owned */
	char *path;	     /* absolute; owned. NULL: it could not be written */
	char *error;	     /* why it was not written; owned. NULL: it was */
	uint64_t start, end; /* ns, its window */
	uint64_t since;	     /* ns: every CPU is complete from here on, within the window */
};

struct run_frame {
	char *symbol; /* demangled; owned. NULL: unknown */
	char *module; /* owned */
	bool kernel;
};

/* A stack in an incident's window, the innermost frame first */
struct run_stack {
	double here, rest;	   /* percent of the total of its table */
	bool noise;		   /* chance explains the difference, given the number of samples */
	char state[8];		   /* state in which tasks left their CPU; "": they ran */
	char comm[FRBPF_COMM_LEN]; /* the task that waited longest; "" for tasks that ran */
	struct run_frame *frames;  /* owned */
	size_t n_frames;
};

/* What ran, or waited, in the window of one session, the hottest first */
struct run_stack_table {
	char *session;	     /* owned */
	char *event;	     /* event sampled for running tasks; owned. NULL: time off CPU */
	uint64_t here, rest; /* samples, or ns off CPU, in the window and in the rest of the run */
	struct run_stack *v; /* owned */
	size_t n;
};

/* A trigger. It is a copy, as the rules may be gone. */
struct run_trigger {
	size_t rule;			 /* index into outcome.rules */
	uint64_t time, value, threshold; /* ns */
	char comm[FRBPF_COMM_LEN + 1], process[FRBPF_COMM_LEN + 1];
	uint32_t pid, tid;
	bool contradicted; /* the recording contradicts it, so it is not a finding */
	bool merged;	   /* came after the freeze: listed, but not in the dump */
};

struct run_incident {
	uint64_t number;
	bool last; /* the last window of the run, which no rule caused */
	char name[32];
	struct run_trigger *triggers; /* owned; the first one fired the incident */
	size_t n_triggers;
	uint64_t more_triggers; /* further triggers, only counted */
	struct run_file *files; /* owned; one per saved session */
	size_t n_files;
	char *why;	 /* what took the subject's time, in one sentence; owned. NULL: unknown */
	json_t *verdict; /* the same for the manifest; owned. NULL: unknown */
	json_t *kernel_symbols; /* for the manifest: analyse/kernel_names.h; owned. NULL: none */
	struct run_stack_table *tables; /* owned; none before hot_stacks__find() */
	size_t n_tables;
};

struct run_rule {
	char *name, *when, *condition; /* owned; condition may be NULL */
	bool quiet;		       /* `dump = none`: only counts, and never fails the run */
	bool is_event;		       /* an event without a duration, so there is no threshold */
	uint64_t threshold;	       /* ns; 0 for events */
	struct frbpf_rule_state state; /* at the end of the run */
	struct histogram matches;
	/* triggers that the recording contradicts, included in state.fired */
	uint64_t contradicted;
	bool has_values;
	struct histogram values; /* of all measured values, also below the threshold */
};

struct run_session {
	char *name, *run; /* owned */
	char notice[160]; /* "": none */
};

struct outcome {
	bool recorded;
	char reason[ERR_MSG_MAX]; /* why it was not recorded */
	enum run_end end;
	const struct run_opts *opts;
	char directory[PATH_MAX]; /* absolute */
	/* descriptor of directory, valid even if that name was taken over; borrowed; 0: none */
	int directory_fd;
	char cgroup[PATH_MAX]; /* for a run of a cgroup */
	uint64_t realtime;     /* ns since 1970: start of the recording */
	uint64_t wall_ns;      /* length of the recording */
	bool command_ended;
	int command_status;	/* as from waitpid(2) */
	int exec_error;		/* errno of execve(2); 0: the command was executed */
	struct run_rule *rules; /* owned */
	size_t n_rules;
	struct run_session *sessions; /* owned */
	size_t n_sessions;
	struct run_incident *incidents; /* owned; ordered by freeze */
	size_t n_incidents;
	struct run_incident rest; /* the last window, if it was saved only for comparison */
	char unread[256];	  /* why the dumps could not be read for findings; "": they were */
	uint64_t lost_triggers;	  /* triggers that found no free incident */
	uint64_t unseen;	  /* tasks that could not be followed or measured */
	uint64_t failed_files;
	bool has_cost;
	struct run_cost cost; /* of the command, if it has ended */
};

/*
 * Has a rule fired that fails the run? Sometimes the recording contradicts a trigger; such a
 * trigger alone is not a finding.
 */
bool run_rule__fired(const struct run_rule *rule);
bool outcome__fired(const struct outcome *o);

/*
 * The exit status: that of the command, as a shell shows it, if not 0; otherwise @exit_code of the
 * options if a rule fired; otherwise 0.
 */
int outcome__exit_status(const struct outcome *o);

/* Count the contradicted triggers of all incidents, per rule. */
void outcome__count_contradicted(struct outcome *o);

/*
 * The trigger with the largest value of @rule that is not contradicted, and its incident; NULL:
 * there is none.
 */
const struct run_trigger *outcome__worst(const struct outcome *o, size_t rule,
					 const struct run_incident **ret_incident);
/* The dump of @inc to open first; NULL: none could be written. */
const struct run_file *run_incident__dump(const struct run_incident *inc);

/*
 * The path of a file in @o's directory, through the open descriptor: the directory's name may have
 * been taken over. Returns @path or @ret.
 */
const char *outcome__fd_path(const struct outcome *o, const char *path, char ret[static PATH_MAX]);

/* Frees the contents, not the struct itself. */
void run_incident__free(struct run_incident *inc);

const char *run_end__name(enum run_end end);

void outcome__free(struct outcome *o);

#endif
