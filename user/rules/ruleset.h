/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meaning of a rules file: daemon settings, sessions, rules. Nothing of the kernel is looked at
 * and nothing is opened; that is the plan's part. Every element keeps its place in the text, so
 * that later stages can point at it too.
 */
#ifndef FRBPF_RULES_RULESET_H
#define FRBPF_RULES_RULESET_H

#include "rules/config.h"
#include "rules/expr.h"
#include "rules/rate.h"
#include "rules/when.h"

#define RULESET_NAME_MAX    64 /* of a session or a rule: [a-zA-Z0-9_-], also a path component */
#define RULESET_WINDOW_AUTO UINT64_MAX /* pre: as far back as every CPU is complete */

enum snapshot_mode { SNAPSHOT_AUTO, SNAPSHOT_PAUSE, SNAPSHOT_LIVE };

struct daemon_conf {
	char *base; /* absolute path, or NULL: not given. Owned */
	struct span base_span;
	uint64_t max_memory; /* bytes: rings and copies; 0: not given (5 % of RAM) */
	struct span max_memory_span;
	uint64_t sideband_memory; /* bytes; 0: not given */
	bool sideband_all;	  /* dumps tell of every task, not only of those sampled */
	uint64_t merge;		  /* ns; default 1 s */
	enum snapshot_mode snapshot;
	struct rate max_dumps; /* of all rules together; default 50 in 24 h */
	bool watch;	       /* load the file again whenever it changes */
	bool watch_given;
	bool no_seccomp; /* the daemon's system calls are not limited */
	/* of dumps on disk; 0: no limit */
	uint64_t max_size; /* bytes, of all together */
	uint64_t max_incidents;
	uint64_t max_age;  /* ns */
	uint64_t min_free; /* bytes that they leave on their file system */
};

struct session_conf {
	char *name; /* owned */
	struct span name_span;
	char *run;	      /* verbatim as `perf daemon` shows it (config__perf_value); owned.
			       * NULL: the ruleset is damaged */
	struct span run_span; /* the raw value: what record_opts__parse() takes */
	const struct source_text *src; /* that run_span is in; borrowed from the ruleset */
	bool evidence;	       /* run = evidence: until evidence__expand() makes a line of it */
	char *lacking;	       /* events of that which this kernel lacks; NULL: none. Owned */
	uint64_t ring;	       /* ns that its rings are to hold; 0: not given */
	struct span ring_span; /* len 0: not in the file */
	bool respawn;	       /* what ends by itself begins again */
	struct span respawn_span;
};

/* A session as one of the files calls it. */
struct own_session {
	size_t piece; /* of the text */
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
	struct rule_args args; /* what `if` and `per` name of an event that frbpf does not know */
	struct expr expr;
	const struct source_text *src; /* that its places are in; borrowed from the ruleset */
	/* Of a copy in detect/: its number, from 1 on, of a rule that others are about; of those, that of the last to
	 * match, and the slots of the others. */
	uint32_t part;
	uint32_t others[FRBPF_MAX_OTHERS], n_others;
	uint64_t id; /* FNV-1a of name, when, if, cooldown and count: the identity of its state */
	uint64_t learn_id;    /* of rules that learn from the same values */
	bool quiet;	      /* dump = none: only count */
	size_t *sessions;     /* indices into ruleset.sessions; owned */
	size_t n_sessions;    /* all of them when `dump` is not given */
	uint64_t pre;	      /* ns or RULESET_WINDOW_AUTO */
	uint64_t post;	      /* ns; default 1 ms, at most 60 s */
	struct rate cooldown; /* window in ns, per; default 10 s per rule */
	uint32_t escalate;    /* hundredths: so many times what the cooldown began with breaks it;
				* 0: never. Default 4x */
	bool escalate_given;
	struct rate count;     /* default: every match */
	struct rate max_dumps; /* default 10 in 1 h */
};

struct ruleset {
	struct config *config; /* owned: places point into its text */
	struct daemon_conf daemon;
	struct session_conf *sessions; /* owned */
	size_t n_sessions;
	bool default_sessions;	 /* the text has none: they are ours */
	struct own_session *own; /* owned */
	size_t n_own;
	struct rule_conf *rules; /* owned */
	size_t n_rules;
	struct source_text *more; /* a list of further texts that places are in; owned */
};

/* Read and check the files of @list (see rules_files.h; most often one path), each rule with the
 * sessions of its own file; a key of [daemon] counts where it stands first. Every error and warning goes to @d. Rules without any session get
 * those of session_conf__add_defaults(). A file with neither is an error unless it has a [daemon]. 0, -EINVAL (see @d), -ENOMEM, or the errno of
 * reading the file (also in @d). *ret is set only on 0. */
int ruleset__load(const char *list, struct diags *d, struct ruleset **ret);
/* The same for a text in memory; @src is taken over, by the ruleset or on failure by @d. */
int ruleset__parse(struct source_text *src, struct diags *d, struct ruleset **ret);
/* The same for those who go on to find further mistakes: errors of the text go to @d and *ret is
 * what could be understood. Rules of it may be incomplete; a session whose `run` is not known has
 * none. 0, -ENOMEM, or the errno of reading the file. */
int ruleset__load_damaged(const char *list, struct diags *d, struct ruleset **ret);
int ruleset__parse_damaged(struct source_text *src, struct diags *d, struct ruleset **ret);
/* Add the rules of @src, which is taken over, to a ruleset that has no errors; sections of another
 * kind and names that are taken are errors. 0, -EINVAL (see @d; @rs is damaged then) or -ENOMEM.
 * The places of these rules are in a text of their own. */
int ruleset__extend(struct ruleset *rs, struct source_text *src, struct diags *d);
/* Keep @src for as long as the ruleset, or what its messages go to, lives. */
void ruleset__keep(struct ruleset *rs, struct source_text *src);
/* Take session @at out of it, also of its rules. A rule without any other only counts from now on. */
void ruleset__drop_session(struct ruleset *rs, size_t at);
/* Free it, but leave its text to @d, whose messages point into it. */
void ruleset__discard(struct ruleset *rs, struct diags *d);
void ruleset__free(struct ruleset *rs);

#endif
