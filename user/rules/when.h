/* SPDX-License-Identifier: GPL-2.0-only */
/* The `when` of a rule: which source, which of its keys, above which threshold. */
#ifndef FRBPF_RULES_WHEN_H
#define FRBPF_RULES_WHEN_H

#include "frbpf.h"
#include "rules/diag.h"

struct when_parser;
struct ruleset;
struct rule_conf;

/* A threshold that follows the values of the same source and condition. */
struct when_learn {
	uint32_t percentile; /* hundredths of a percent; 0: the threshold is fixed */
	uint32_t factor;     /* hundredths */
	uint64_t window;     /* ns: values of that time count */
};

/* A share of time: the threshold is that of the sum of all values within the window, each of these apart. */
struct when_share {
	uint64_t window; /* ns; 0: values are compared one by one */
	enum frbpf_per per;
	enum frbpf_field field; /* of FRBPF_PER_FIELD */
	char *cgroup;		/* of those in it and below it; NULL: of all. Owned */
};

/* Rules of the file that must match together. */
#define WHEN_MAX_PARTS (FRBPF_MAX_OTHERS + 1)

struct when_part {
	char name[65]; /* as the text has it */
	struct span at;
	uint64_t id; /* of the rule, once all rules are there */
};

struct when_parts {
	struct when_part v[WHEN_MAX_PARTS];
	uint32_t n;	 /* 0: it is about a source */
	bool ordered;	 /* the first one first */
	uint64_t within; /* ns */
};

/* So many values it takes: ten are above the percentile. */
static inline uint64_t when_learn__least(const struct when_learn *l)
{
	return 10 * 10000 / (10000 - l->percentile);
}

struct when {
	enum frbpf_source source;
	char *target;	    /* which events of it, in one way to write it; NULL: the source has
					   but one kind. Rules of equal targets share programs. Owned */
	bool hit;	    /* no threshold: each event */
	uint64_t threshold; /* ns; of one that learns, the least that it fires above */
	struct when_learn learn;
	struct when_share share;
	struct when_parts parts;
	bool pending;	    /* of what has not ended */
	uint64_t silence;   /* ns for which none of these must come; 0: it is about those that come */
	uint64_t keys[FRBPF_KEY_WORDS]; /* system calls by number, for sources with keys */
	bool all_calls;			/* syscall:*: less those that wait */
	bool fails;			/* no threshold: a call that failed */
	bool any_errno;			/* with any error, else with those of errnos */
	uint64_t errnos[FRBPF_ERRNO_WORDS];
};

/* Parse @span of @src: "runqlat > 20ms", "syscall:fsync,fdatasync > 50ms", "syscall:* > 1s",
 * "syscall:openat fails (EMFILE, ENFILE)", "pending(blocked) > 5s". Errors at their token,
 * with the nearest known source, system call or unit. A source of the design that this version
 * lacks gets "not supported yet", not "unknown". 0, -EINVAL or -ENOMEM. */
int when__parse(const struct source_text *src, struct span span, struct diags *d, struct when *ret);
/* What a trigger's value was compared with, ns; 0: nothing. */
static inline uint64_t when__limit(const struct when *when)
{
	return when->silence ? when->silence : when->threshold;
}
/* Is it about what comes and ends? Then values of others are like those that match. */
static inline bool when__has_values(const struct when *when)
{
	return !when->fails && !when->hit && !when->pending && !when->silence;
}
/* Is a value, which may be larger or smaller, compared with a threshold? A sum has just passed it. */
static inline bool when__compares(const struct when *when)
{
	return (when->threshold || when->learn.percentile) && when__has_values(when) &&
	       !when->share.window;
}

/* Has every value of its source to be looked at, however small? */
static inline bool when__takes_all(const struct when *when)
{
	return when->learn.percentile || when->share.window;
}
/* As of a rule that is about every value of these events. */
void when__drop_threshold(struct when *when);
/* How long ago what fires it began, at least, ns; 0: nobody knows. */
uint64_t when__lasts(const struct when *when);

/* Find the rules that @rule is about, and give it its id. Errors at their names go to @d. 0, -EINVAL or -ENOMEM. */
int when_parts__bind(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);

/* Frees what it owns, not @when. A zeroed one is legal. */
void when__free(struct when *when);

/* Do they speak of the same events, seen by the same programs? */
bool when__same_events(const struct when *a, const struct when *b);

/* The sources that `when` knows; ends with name NULL. */
struct when_source_desc {
	const char *name;
	enum frbpf_source source;
	bool has_keys;
	bool has_args;	     /* its events have fields that only the kernel or others know */
	bool needs_if;	     /* what it measures is nothing unusual */
	bool no_subject;     /* no task suffers: only cpu and current.FIELD are known of tasks */
	bool is_wait;	     /* its value is how long the subject did not run */
	bool only_share;     /* it comes in pieces: only a share of time says something */
	bool no_begin;	     /* its value is no time that ended with the event */
	bool has_pending;    /* it knows what has begun and not ended */
	const char *meaning; /* one line: what is measured and who its subject is */
	/* What stands behind the name; NULL: "> DURATION" and nothing else. */
	int (*parse)(struct when_parser *p, struct span name, struct when *ret);
	/* Optional; for those whose arguments are what rules compare them with: bind those of
	 * @rule, the last of @rs, once they have their slots. 0, -EINVAL or -ENOMEM. */
	int (*bind)(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);
};
extern const struct when_source_desc when_sources[];

/* "runqlat", "syscall" ... NULL for an unknown source. */
const char *when__source_name(enum frbpf_source source);
const struct when_source_desc *when__source(enum frbpf_source source);

bool when__has_keys(enum frbpf_source source);
bool when__has_subject(enum frbpf_source source);
/* Did its subject not run for all of the value? */
bool when__is_wait(enum frbpf_source source);
/* "fsync", "net_rx": what the key of an event means; NULL: nothing. */
const char *when__key_name(enum frbpf_source source, uint32_t key);

/* System call names of the machine frbpf was built for. */
int syscall__number(const char *name, size_t len); /* or -ENOENT */
const char *syscall__name(int nr);		   /* or NULL */
extern const char *const syscall_names[];	   /* sorted; ends with NULL */

enum syscall_kind {
	SYSCALL_WORKS,
	SYSCALL_WAITS,	 /* that is its job */
	SYSCALL_READS,	 /* waits at a tty, a pipe, a socket */
	SYSCALL_ENDLESS, /* never returns */
};
enum syscall_kind syscall__kind(const char *name);
/* Which argument of the call @nr is a path: 1 or 2; 0: neither. */
unsigned int syscall__path_arg(int nr);
/* Set the bits of all calls of these kinds (a bit for each enum syscall_kind). */
void syscall__keys(unsigned int kinds, uint64_t *keys);

#endif
