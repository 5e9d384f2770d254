/* SPDX-License-Identifier: GPL-2.0-only */
/* The `when` of a rule: source, keys of the source, threshold. */
#ifndef FRBPF_RULES_WHEN_H
#define FRBPF_RULES_WHEN_H

#include "abi.h"
#include "rules/diag.h"

struct when_parser;
struct ruleset;
struct rule_conf;

/* A threshold learned from the values of the same source and condition. */
struct when_learn {
	uint32_t percentile; /* hundredths of a percent; 0: the threshold is fixed */
	uint32_t factor;     /* hundredths */
	uint64_t time;	     /* ns: only values of this last period count */
};

/*
 * A share of time. The sum of all values within `time` is compared with the threshold; `per` tells
 * what is summed up separately.
 */
struct when_share {
	uint64_t time; /* ns; 0: each value is compared */
	enum frbpf_per per;
	enum frbpf_field field; /* of FRBPF_PER_FIELD */
	char *cgroup;		/* only its tasks and those below it; NULL: all. Owned */
};

/* The rules of the same file that must match together. */
#define WHEN_MAX_PARTS (FRBPF_MAX_OTHERS + 1)

struct when_part {
	char name[65]; /* as written */
	struct span at;
	uint64_t id; /* of the rule; set when all rules are parsed */
};

struct when_parts {
	struct when_part v[WHEN_MAX_PARTS];
	uint32_t n;	 /* 0: the rule has a source */
	bool ordered;	 /* they must match in this order */
	uint64_t within; /* ns */
};

/* The least number of values for a percentile: ten of them are then above it. */
static inline uint64_t when_learn__least(const struct when_learn *l)
{
	return 10 * 10000 / (10000 - l->percentile);
}

struct when {
	enum frbpf_source source;
	/*
	 * which events of the source, normalised; NULL: it has one kind only. Rules with equal
	 * targets share programs. Owned
	 */
	char *target;
	bool hit;	    /* each event matches: no threshold */
	uint64_t threshold; /* ns; if learned, the lowest threshold */
	struct when_learn learn;
	struct when_share share;
	struct when_parts parts;
	bool pending;			/* is about events that have not ended */
	uint64_t silence;		/* ns without an event; 0: not a rule on absence */
	uint64_t keys[FRBPF_KEY_WORDS]; /* a bit for each key, such as a system call */
	bool all_calls;			/* syscall:*, without calls that wait */
	bool fails;			/* failed calls: no threshold */
	bool any_errno;			/* any error; else those of errnos */
	uint64_t errnos[FRBPF_ERRNO_WORDS];
};

/*
 * Parse @span of @src: "runqlat > 20ms", "syscall:fsync,fdatasync > 50ms", "syscall:* > 1s",
 * "syscall:openat fails (EMFILE, ENFILE)", "pending(blocked) > 5s". Errors are at their token, with
 * the nearest known source, system call or unit. A planned source that this version lacks gets "not
 * supported yet", not "unknown". 0, -EINVAL or -ENOMEM.
 */
int when__parse(const struct source_text *src, struct span span, struct diags *d, struct when *ret);
/* The limit that the value of a trigger was compared with, ns; 0: none. */
static inline uint64_t when__limit(const struct when *when)
{
	return when->silence ? when->silence : when->threshold;
}
/* Do all events of the rule have a value, also those that do not match? */
static inline bool when__has_values(const struct when *when)
{
	return !when->fails && !when->hit && !when->pending && !when->silence;
}
/* Is each value compared with a threshold? For a share of time, only the sum of values is. */
static inline bool when__compares(const struct when *when)
{
	return (when->threshold || when->learn.percentile) && when__has_values(when) &&
	       !when->share.time;
}

/* Does the rule need all values of its source, however small? */
static inline bool when__takes_all(const struct when *when)
{
	return when->learn.percentile || when->share.time;
}
/* Are rules on @a evaluated after those on @b, if both are about the same events? */
bool when__comes_after(const struct when *a, const struct when *b);
/* Make @when about every value of its events. */
void when__drop_threshold(struct when *when);
/* The least time, ns, from the start of what fires the rule to the trigger; 0: unknown. */
uint64_t when__lasts(const struct when *when);

/*
 * Find the rules that @rule is about, and set the ids that depend on them. Errors go to @d, at the
 * names. 0, -EINVAL or -ENOMEM.
 */
int when_parts__bind(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);

/* Free the members, not @when itself. A zeroed one is legal. */
void when__free(struct when *when);

/* Are @a and @b about the same events, from the same programs? */
bool when__same_events(const struct when *a, const struct when *b);

/* A source of `when`; the last has name NULL. */
struct when_source_desc {
	const char *name;
	enum frbpf_source source;
	bool has_keys;
	/* its events have fields that only the kernel or an application knows */
	bool has_args;
	bool needs_if;	     /* what it measures happens all the time */
	bool no_subject;     /* has no subject task: only cpu and current.FIELD are known */
	bool is_wait;	     /* its value is the time for which the subject did not run */
	bool only_share;     /* only sums of its values are useful: needs a share of time */
	bool no_begin;	     /* its value is not a duration that ended with the event */
	bool has_pending;    /* can tell what has begun and not ended */
	const char *meaning; /* one line: what is measured, and which task is the subject */
	/* Parses the text after the name. NULL: only "> DURATION". */
	int (*parse)(struct when_parser *p, struct span name, struct when *ret);
	/*
	 * Optional, for sources whose arguments get their types from the rules. Binds the arguments
	 * of @rule, the last one of @rs, after they got their slots. 0, -EINVAL or -ENOMEM.
	 */
	int (*bind)(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);
};
extern const struct when_source_desc when_sources[];

/* Get the name of a source: "runqlat", "syscall". NULL: unknown. */
const char *when__source_name(enum frbpf_source source);
const struct when_source_desc *when__source(enum frbpf_source source);

/* Do events of @source have keys, such as system calls? Do they have a subject? */
bool when__has_keys(enum frbpf_source source);
bool when__has_subject(enum frbpf_source source);
/* Did the subject not run for the whole value? */
bool when__is_wait(enum frbpf_source source);
/* Get the name for the key of an event: "fsync", "net_rx". NULL: none. */
const char *when__key_name(enum frbpf_source source, uint32_t key);

/* System calls of the machine that frbpf was built for. */
int syscall__number(const char *name, size_t len); /* or -ENOENT */
const char *syscall__name(int nr);		   /* or NULL */
extern const char *const syscall_names[];	   /* sorted; ends with NULL */

enum syscall_kind {
	SYSCALL_WORKS,
	SYSCALL_WAITS,	 /* its job is to wait */
	SYSCALL_READS,	 /* waits on a tty, a pipe, a socket */
	SYSCALL_ENDLESS, /* never returns */
};
enum syscall_kind syscall__kind(const char *name);
/* Get which argument of the call @nr says what file it is about. */
enum frbpf_call_file syscall__file_arg(int nr);
/* Get where the call @nr has the address of its other side, if it is on a socket. */
enum frbpf_call_peer syscall__peer(int nr);
/* Set the bits of all calls of @kinds (a bit for each enum syscall_kind). */
void syscall__keys(unsigned int kinds, uint64_t *keys);

#endif
