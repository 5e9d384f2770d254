/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of retrace */
#ifndef FRBPF_ANALYSE_RETRACE_IMPL_H
#define FRBPF_ANALYSE_RETRACE_IMPL_H

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/replay.h"
#include "analyse/retrace/retrace.h"
#include "analyse/why/sched_events.h"
#include "common/format_field.h"

#define TAP_FIELDS 8
#define TASK_NAME  16 /* bytes */

/* The role of an event for a source */
enum tap_role {
	TAP_SWITCH,
	TAP_WAKE,
	TAP_BEGIN,
	TAP_ISSUE, /* begins a request, if TAP_BEGIN has not */
	TAP_MERGE, /* the request became part of another */
	TAP_END,
	TAP_HIT,
	TAP_ROLES,
};

/* Indexes of fields, per kind of event */
enum { PREV_PID, PREV_STATE, NEXT_PID, PREV_COMM, PREV_PRIO, NEXT_COMM, NEXT_PRIO };
enum { WAKE_PID, WAKE_COMM, WAKE_PRIO };
enum { CALL_NR, CALL_RET };
enum { RQ_DEV, RQ_SECTOR, RQ_SECTORS, RQ_FLAGS, RQ_BYTES };
enum { IRQ_NUMBER, IRQ_NAME };
enum { STALL_ORDER, STALL_GFP };
enum { STALL_PAGES };

/* The fields that a source needs of an event */
struct tap_layout {
	enum frbpf_source source;
	enum tap_role role;
	const char *event; /* a glob */
	const char *fields[TAP_FIELDS];
	const char *unless; /* not needed from a file that has this event */
	uint64_t number;    /* a constant that tells such sources apart, as FRBPF_RECLAIM_CGROUP */
};

/* An event of one file, as one want uses it */
struct tap {
	struct want *want;
	enum tap_role role;
	const struct tap_layout *layout; /* NULL: a tracepoint given by name */
	struct format_field fields[TAP_FIELDS];
	struct format_field keys[FRBPF_SPAN_KEYS];
	struct format_field args[FRBPF_MAX_ARGS];
	struct format_field subject_pid, subject_comm; /* of a hit; size 0: the current task */
};

struct tap_event {
	bool is_gap;
	struct format_field current; /* common_pid */
	struct tap *taps;	     /* owned */
	size_t n_taps;
};

struct retrace_file {
	struct replay *replay;
	struct tap_event *events; /* by number of the event in the file; owned */
	struct sample next;
	bool begun, ended, foreign;
	uint64_t losses;
};

/* A task that an event is about, as far as the event tells */
struct retrace_task {
	uint32_t pid, tid;
	int32_t prio;
	char comm[TASK_NAME], process[TASK_NAME];
	uint32_t known; /* bit per enum frbpf_field */
};

/* Something that has begun and not ended */
struct flight {
	UT_hash_handle hh; /* by key; in the order of begin */
	uint64_t key[FRBPF_SPAN_KEYS];
	uint64_t begin;
	uint64_t left; /* a call: when it left the kernel, perhaps to be restarted; 0: it did not */
	uint64_t state;	 /* FRBPF_STATE_* */
	uint64_t number; /* number of the call */
	uint64_t done;	 /* a request: completed sectors */
	uint32_t cpu, depth;
	uint64_t nested[FRBPF_SPAN_DEPTH]; /* times of the starts before the last */
	uint64_t args[FRBPF_MAX_ARGS][2];
	struct retrace_task task;
};

struct want {
	struct retrace_want w;
	struct retrace_result result;
	struct flight *flights;	    /* owned */
	struct flight *hanging;	    /* flights that were reported and have not ended */
	struct flight *running;	    /* runqlat: the task that runs now */
	uint32_t needs, has;	    /* bits of roles: needed; in some recording */
	uint32_t active[TAP_ROLES]; /* recordings that have begun and not ended, by role */
	uint64_t since;		    /* ns: since then, all needed events are recorded; 0: not now */
	char lacks[256];
};

/* A sample, as passed to a source */
struct tapped {
	struct retrace *m;
	struct retrace_file *file;
	const struct tap *tap;
	const struct sample *s;
	uint32_t current; /* tid as the kernel counts; UINT32_MAX: unknown */
};

struct retrace {
	struct retrace_file *files; /* owned */
	size_t n_files;
	struct want **wants; /* owned */
	size_t n_wants;
	struct sched_tasks *tasks; /* tids as the kernel and as recorders count them */
	bool numbers_differ;	   /* the two differ */
	uint64_t first, last;
	/* samples at the current time, to find duplicates in other recordings */
	struct recorded {
		const struct retrace_file *file;
		const struct file_event *event;
		uint32_t cpu, tid;
	} * now;
	size_t n_now, now_cap;
	struct err *err;
};

/* ---- retrace_taps.c ---- */

/* Find the role of each event of the file for each want. 0 or -ENOMEM. */
int taps__make(struct retrace *m, struct retrace_file *f);
void taps__free(struct retrace_file *f);
/* Set the roles that the source needs; false: recordings never contain its events. */
bool taps__needs(struct want *w);
void taps__describe(struct want *w);
bool taps__is_whole(const struct file_event *e);

/* ---- retrace_task.c ---- */

/* Get the task that ran. */
void retrace_task__running(const struct tapped *t, struct retrace_task *ret);
/* Get the thread that the fields name; @comm and @prio may have size 0. */
void retrace_task__named(const struct tapped *t, uint32_t number, const struct format_field *comm,
			 const struct format_field *prio, struct retrace_task *ret);
/* Set current from common_pid, and note both tids of that task. 0 or -ENOMEM. */
int retrace_task__note(struct tapped *t);

/* ---- retrace_source.c ---- */

/* Process a sample. 0 or negative errno. */
int want__sample(const struct tapped *t);

/* ---- retrace_flight.c ---- */

struct flight *flight__find(struct want *w, const uint64_t *key);
/* Begin a flight at @time, in place of any with the same key. NULL: out of memory. */
struct flight *flight__begin(struct want *w, const uint64_t *key, uint64_t time);
void flight__end(struct want *w, struct flight *f);
void flight__move(struct want *w, struct flight *f, const uint64_t *key);
void flights__drop(struct want *w);
/* Report the flights that had lasted longer than w.pending before @time. */
int flights__pass(struct want *w, uint64_t time);

/* Prepare event @e and set its values. Fields of the event that are not set are unknown. */
void retraced__init(struct retraced *e, const struct retrace_task *subject,
		    const struct retrace_task *current);
void retraced__set(struct retraced *e, uint32_t field, uint64_t value);
void retraced__set_text(struct retraced *e, uint32_t field, const char *text);
/*
 * Report something that lasted from @begin to @time; for a hit the two are equal. The values of the
 * event must be in *e. 0 or negative errno, that of take().
 */
int want__report(struct want *w, uint64_t begin, uint64_t time, struct retraced *e);

static inline bool tapped__number(const struct tapped *t, const struct format_field *f,
				  uint64_t *ret)
{
	return f->size && t->s->raw && format_field__number(f, t->s->raw, t->s->raw_size, ret);
}

static inline bool tapped__text(const struct tapped *t, const struct format_field *f, char *to,
				size_t size)
{
	return f->size && t->s->raw && format_field__text(f, t->s->raw, t->s->raw_size, to, size);
}

#endif
