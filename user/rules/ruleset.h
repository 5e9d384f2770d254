/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meaning of a rules file: daemon settings, sessions, rules. Nothing is opened and the kernel
 * is not asked: the plan does that. Every element keeps its place in the text, so that later stages
 * can point at it.
 */
#ifndef FRBPF_RULES_RULESET_H
#define FRBPF_RULES_RULESET_H

#include "rules/config.h"
#include "rules/expr.h"
#include "rules/rate.h"
#include "rules/when.h"

#define RULESET_NAME_MAX    64 /* of a session or a rule: [a-zA-Z0-9_-], also a path component */
#define RULESET_WINDOW_AUTO UINT64_MAX /* pre: as far back as all CPUs have complete records */

enum snapshot_mode { SNAPSHOT_AUTO, SNAPSHOT_PAUSE, SNAPSHOT_LIVE };

struct daemon_conf {
	char *base; /* absolute path, or NULL: not given. Owned */
	struct span base_span;
	uint64_t max_memory; /* bytes: rings and copies; 0: not given (5 % of RAM) */
	struct span max_memory_span;
	uint64_t sideband_memory; /* bytes; 0: not given */
	bool sideband_all;	  /* dumps describe all tasks, not only the sampled ones */
	uint64_t merge;		  /* ns; default 1 s */
	enum snapshot_mode snapshot;
	struct rate max_dumps; /* of all rules together; default 50 in 24 h */
	bool watch;	       /* reload the file when it changes */
	bool watch_given;
	bool no_seccomp; /* the daemon does not limit its system calls */
	/* limits for dumps on disk; 0: none */
	uint64_t max_size; /* bytes, all dumps together */
	uint64_t max_incidents;
	uint64_t max_age;  /* ns */
	uint64_t min_free; /* bytes to leave free on their file system */
};

/* The level of `run = evidence`: see user/daemon/evidence.h. */
enum evidence_level {
	EVIDENCE_NONE,
	EVIDENCE_BRIEF, /* short interrupts as sums, and stacks of some tasks that wake others */
	EVIDENCE_FULL,	/* each interrupt, and the stacks of all tasks that wake others */
};

struct session_conf {
	char *name; /* owned */
	struct span name_span;
	/* as `perf daemon` shows it (config__perf_value); owned. NULL: the ruleset is damaged */
	char *run;
	struct span run_span;	       /* the raw value: what record_opts__parse() takes */
	const struct source_text *src; /* the text of run_span; borrowed from the ruleset */
	/* of `run`, until evidence__expand() replaces `run` with a command line */
	enum evidence_level evidence;
	struct span evidence_options; /* what follows `evidence [full]` in run_span */
	char *lacking;	       /* events of evidence that this kernel lacks; NULL: none. Owned */
	uint64_t ring;	       /* ns that its rings should hold; 0: not given */
	struct span ring_span; /* len 0: not in the file */
	/* set by the daemon: without --overwrite, its file is written all the time, as by perf */
	bool plain;
	bool respawn; /* restart the session when it ends by itself */
	struct span respawn_span;
};

/* A session under its name in one of the files. */
struct own_session {
	size_t piece; /* index of the file */
	char *name;   /* owned */
	size_t session;
	struct span span; /* of the name */
};

struct rule_conf {
	char *name; /* owned */
	struct span name_span;
	char *when_text; /* blanks folded; owned */
	char *if_text;	 /* or NULL; owned */
	struct span when_span;
	struct when when;
	struct rule_args args; /* fields in `if` and `per` that frbpf does not know */
	struct expr expr;
	const struct source_text *src; /* the text of its spans; borrowed from the ruleset */
	/*
	 * Set only in the units of rule_units__make(). `part` numbers the rules that others are
	 * about, from 1; 0: no rule is about this one. In a unit of a rule about others, `part` is
	 * the number of the part that matches last. others[]: the slots of the other parts.
	 */
	uint32_t part;
	uint32_t others[FRBPF_MAX_OTHERS], n_others;
	uint64_t id;	   /* FNV-1a of name, when, if, cooldown and count: identifies its state */
	uint64_t learn_id; /* equal for rules that learn from the same values */
	bool quiet;	   /* dump = none: only count */
	size_t *sessions;  /* indices into ruleset.sessions; owned */
	size_t n_sessions; /* all if `dump` is not given */
	uint64_t pre;	   /* ns or RULESET_WINDOW_AUTO */
	uint64_t post;	   /* ns; default 1 ms, at most 60 s */
	struct rate cooldown; /* window in ns, per; default 10 s per rule */
	/*
	 * hundredths: a value this many times the one that began the cooldown ends it; 0: never.
	 * Default 4x
	 */
	uint32_t escalate;
	bool escalate_given;
	struct rate count;     /* default: every match */
	struct rate max_dumps; /* default 10 in 1 h */
};

struct ruleset {
	struct config *config; /* owned: places point into its text */
	struct daemon_conf daemon;
	struct session_conf *sessions; /* owned */
	size_t n_sessions;
	bool of_tasks;	       /* the sessions record a command or some tasks; set by the caller */
	bool default_sessions; /* the text has no sessions: these are defaults */
	struct own_session *own; /* owned */
	size_t n_own;
	struct rule_conf *rules; /* owned */
	size_t n_rules;
	struct source_text *more; /* further texts that spans point into, a list; owned */
};

/*
 * Read and check the files of @list (see rules_files.h; usually one path). The rules of each file
 * use the sessions of that file. Of several values for a key of [daemon], the first counts. All
 * errors and warnings go to @d. Without any session, rules get those of
 * session_conf__add_defaults(). A file with neither rules nor sessions is an error, unless it has a
 * [daemon]. 0, -EINVAL (see @d), -ENOMEM, or the errno of the read (also in @d). *ret is set only
 * on 0.
 */
int ruleset__load(const char *list, struct diags *d, struct ruleset **ret);
/* The same for a text in memory. The ruleset owns @src; on failure, @d owns it. */
int ruleset__parse(struct source_text *src, struct diags *d, struct ruleset **ret);
/*
 * The same for callers that look for further mistakes: errors of the text go to @d, and *ret has
 * the rest. Its rules may be incomplete; a session without a usable `run` has none. 0, -ENOMEM, or
 * the errno of the read.
 */
int ruleset__load_damaged(const char *list, struct diags *d, struct ruleset **ret);
int ruleset__parse_damaged(struct source_text *src, struct diags *d, struct ruleset **ret);
/*
 * Add the rules of @src to a ruleset that has no errors. Owns @src. Other sections, and names in
 * use, are errors. 0, -EINVAL (see @d; @rs is damaged then) or -ENOMEM. The spans of these rules
 * are in a text of their own.
 */
int ruleset__extend(struct ruleset *rs, struct source_text *src, struct diags *d);
/* Own @src as long as the ruleset, or the diags that its messages go to, exists. */
void ruleset__keep(struct ruleset *rs, struct source_text *src);
/*
 * Remove session @at, also from rules. A rule that has no other session only counts from then on.
 */
void ruleset__drop_session(struct ruleset *rs, size_t at);
/* Free @rs, but give its text to @d, whose messages point into it. */
void ruleset__discard(struct ruleset *rs, struct diags *d);
/* @rs may be NULL: then it has no rules. */
bool ruleset__has_rule(const struct ruleset *rs, const char *name);
void ruleset__free(struct ruleset *rs);

#endif
