/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of retrace. */
#ifndef FRBPF_ANALYSE_RETRACE_IMPL_H
#define FRBPF_ANALYSE_RETRACE_IMPL_H

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "analyse/retrace/retrace.h"
#include "analyse/replay.h"
#include "analyse/why/sched_tasks.h"
#include "perfdata/format_field.h"

#define TAP_FIELDS 8
#define TASK_NAME  16 /* bytes */

/* What an event is for a source. */
enum tap_role {
	TAP_SWITCH,
	TAP_WAKE,
	TAP_BEGIN,
	TAP_ISSUE, /* of a request: begins it, if it has not begun */
	TAP_MERGE, /* of a request: it became part of another */
	TAP_END,
	TAP_HIT,
	TAP_ROLES,
};

/* Fields by meaning: those of a switch, and those of others. */
enum { PREV_PID, PREV_STATE, NEXT_PID, PREV_COMM, PREV_PRIO, NEXT_COMM, NEXT_PRIO };
enum { WAKE_PID, WAKE_COMM, WAKE_PRIO };
enum { CALL_NR, CALL_RET };
enum { RQ_DEV, RQ_SECTOR, RQ_SECTORS, RQ_FLAGS, RQ_BYTES };
enum { IRQ_NUMBER, IRQ_NAME };
enum { STALL_ORDER, STALL_GFP };
enum { STALL_PAGES };

/* What a source needs of an event. */
struct tap_layout {
	enum frbpf_source source;
	enum tap_role role;
	const char *event; /* a glob */
	const char *fields[TAP_FIELDS];
	const char *unless; /* a file that has this has no need of it */
	uint64_t number;    /* for the source */
};

/* An event of one file as one of the wants looks at it. */
struct tap {
	struct want *want;
	enum tap_role role;
	const struct tap_layout *layout; /* NULL: of a tracepoint by its name */
	struct format_field fields[TAP_FIELDS];
	struct format_field keys[FRBPF_SPAN_KEYS];
	struct format_field args[FRBPF_MAX_ARGS];
	struct format_field subject_pid, subject_comm; /* whom a hit is about; size 0: who runs */
};

struct tap_event {
	bool is_gap;
	struct format_field current; /* common_pid */
	struct tap *taps;	     /* owned */
	size_t n_taps;
};

struct retrace_file {
	struct replay *replay;
	struct tap_event *events; /* by the file's number of the event; owned */
	struct sample next;
	bool begun, ended, foreign;
	uint64_t losses;
};

/* Who an event is about, as far as it tells. */
struct retrace_task {
	uint32_t pid, tid;
	int32_t prio;
	char comm[TASK_NAME], process[TASK_NAME];
	uint32_t known; /* bit per enum frbpf_field */
};

/* What has begun and not ended. */
struct flight {
	UT_hash_handle hh; /* by key; in the order of begin */
	uint64_t key[FRBPF_SPAN_KEYS];
	uint64_t begin;
	uint64_t
		left; /* of a call: when it left the kernel, perhaps to be restarted; 0: it has not */
	uint64_t state;	 /* FRBPF_STATE_* */
	uint64_t number; /* of a call */
	uint64_t done;	 /* of a request: sectors that are done */
	uint32_t cpu, depth;
	uint64_t nested[FRBPF_SPAN_DEPTH]; /* when the starts before the last were */
	uint64_t args[FRBPF_MAX_ARGS][2];
	struct retrace_task task;
};

struct want {
	struct retrace_want w;
	struct retrace_told told;
	struct flight *flights;	    /* owned */
	struct flight *hanging;	    /* likewise: those that were told while they last */
	struct flight *running;	    /* likewise: who runs now, of runqlat */
	uint32_t needs, has;	    /* bits of roles: that are needed, that some recording has */
	uint32_t active[TAP_ROLES]; /* recordings that have begun and not ended */
	uint64_t since;		    /* it is whole from then on; 0: it is not */
	char lacks[256];
};

/* One sample as a source gets it. */
struct tapped {
	struct retrace *m;
	struct retrace_file *file;
	const struct tap *tap;
	const struct sample *s;
	uint32_t current; /* as the kernel counts threads; UINT32_MAX: not told */
};

struct retrace {
	struct retrace_file *files; /* owned */
	size_t n_files;
	struct want **wants; /* owned */
	size_t n_wants;
	struct sched_tasks *tasks; /* numbers of tasks, as the kernel and as recorders count them */
	bool numbers_differ;	   /* they do */
	uint64_t first, last;
	/* samples of this moment: what is in several recordings */
	struct recorded {
		const struct retrace_file *file;
		const struct file_event *event;
		uint32_t cpu, tid;
	} * now;
	size_t n_now, now_cap;
	struct err *err;
};

/* ---- retrace_taps.c ---- */

/* What the file's event is for each of the wants. 0 or -ENOMEM. */
int taps__make(struct retrace *m, struct retrace_file *f);
void taps__free(struct retrace_file *f);
/* Roles that a source needs; false: no recording tells of it. */
bool taps__needs(struct want *w);
void taps__describe(struct want *w);
bool taps__is_whole(const struct file_event *e);

/* ---- retrace_task.c ---- */

/* Who ran. */
void retrace_task__running(const struct tapped *t, struct retrace_task *ret);
/* The thread that fields name; @comm, @prio may be of size 0. */
void retrace_task__named(const struct tapped *t, uint32_t number, const struct format_field *comm,
			 const struct format_field *prio, struct retrace_task *ret);
/* 0 or -ENOMEM. */
int retrace_task__note(struct tapped *t);

/* ---- retrace_source.c ---- */

/* A sample. 0 or negative errno. */
int want__sample(const struct tapped *t);

/* ---- retrace_flight.c ---- */

struct flight *flight__find(struct want *w, const uint64_t *key);
/* One that begins now, in place of what had this key. NULL: out of memory. */
struct flight *flight__begin(struct want *w, const uint64_t *key, uint64_t time);
void flight__end(struct want *w, struct flight *f);
void flight__move(struct want *w, struct flight *f, const uint64_t *key);
void flights__drop(struct want *w);
/* What had lasted for longer than w.pending before @time. */
int flights__pass(struct want *w, uint64_t time);

/* Tell of something that began with @f (NULL: of a hit) and ended at @t; the values of the event go into *e before. */
void retraced__init(struct retraced *e, const struct retrace_task *subject,
		    const struct retrace_task *current);
void retraced__set(struct retraced *e, uint32_t field, uint64_t value);
void retraced__set_text(struct retraced *e, uint32_t field, const char *text);
int want__tell(struct want *w, uint64_t begin, uint64_t time, struct retraced *e);

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
