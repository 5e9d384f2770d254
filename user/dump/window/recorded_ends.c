// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/format_field.h"
#include "dump/window/recorded_ends.h"
#include "perfdata/record.h"
#include "rules/target.h"

/*
 * Limits for the difference between the BPF program's time of a hit and perf's: an interrupt, or
 * the host, may run between the two.
 */
#define NEAR_LEAST (50ULL * 1000)	 /* ns */
#define NEAR_MOST  (10ULL * 1000 * 1000) /* ns */

/* Return values of a call that is restarted: ERESTARTSYS to ERESTART_RESTARTBLOCK. */
#define RESTART_FIRST 512
#define RESTART_LAST  516

#define TCP_SYN_SENT 2

enum role { ROLE_BEGIN, ROLE_END, N_ROLES };

enum key_kind { KEY_TID, KEY_PID, KEY_CPU, KEY_FIELD };

/* A field that tells the events of one call, request or span from those of others. */
struct key {
	enum key_kind kind;
	const char *name[N_ROLES]; /* of a field */
	uint64_t value;
};

struct ends_desc {
	enum frbpf_source source;
	const char
		*target[N_ROLES]; /* "system:name"; %s: the system call. NULL: that of the rule */
	bool alone;		  /* only one at a time for each key */
};

/* Of several entries for a source, the first whose events the session records is used. */
static const struct ends_desc ends_descs[] = {
	{ FRBPF_SOURCE_SYSCALL, { "raw_syscalls:sys_enter", "raw_syscalls:sys_exit" }, true },
	{ FRBPF_SOURCE_SYSCALL, { "syscalls:sys_enter_%s", "syscalls:sys_exit_%s" }, true },
	{ FRBPF_SOURCE_BLKIO, { "block:block_io_start", "block:block_rq_complete" } },
	{ FRBPF_SOURCE_BLKIO_DEVICE, { "block:block_rq_issue", "block:block_rq_complete" } },
	{ FRBPF_SOURCE_HARDIRQ, { "irq:irq_handler_entry", "irq:irq_handler_exit" }, true },
	{ FRBPF_SOURCE_SOFTIRQ, { "irq:softirq_entry", "irq:softirq_exit" }, true },
	{ FRBPF_SOURCE_RECLAIM,
	  { "vmscan:mm_vmscan_direct_reclaim_begin", "vmscan:mm_vmscan_direct_reclaim_end" },
	  true },
	{ FRBPF_SOURCE_RECLAIM,
	  { "vmscan:mm_vmscan_memcg_reclaim_begin", "vmscan:mm_vmscan_memcg_reclaim_end" },
	  true },
	{ FRBPF_SOURCE_CONNECT, { "sock:inet_sock_set_state", "sock:inet_sock_set_state" }, true },
	{ FRBPF_SOURCE_SPAN, { NULL, NULL } },
	{ FRBPF_SOURCE_TRACEPOINT, { NULL, NULL } },
	{ FRBPF_SOURCE_TRACEPOINT_FIELDS, { NULL, NULL } },
};

/* A trigger whose ends are searched in one session. */
struct claim {
	struct incident_trigger *it;
	uint64_t begin, end;
	uint64_t near;	/* ns: an event may be this far from `begin` or `end` */
	uint64_t later; /* ns: an event this long after `begin` is a different one */
	char target[N_ROLES][SPAN_WORD_MAX]; /* "" for ROLE_BEGIN: a hit */
	struct key keys[FRBPF_SPAN_KEYS];
	size_t n_keys;
	bool known; /* the keys' values are known; else the end event has them */
	bool alone;
	struct span_target span;
	/* what was seen */
	bool at_begin, at_end, begun, restarted;
	size_t inside[N_ROLES], begins_later, ends;
	uint64_t excess, late; /* ns; 0: none */
};

/* One of the session's ids. */
struct end_id {
	uint64_t id;
	const struct event *ev;
	bool is[N_ROLES];
};

struct end_ids {
	struct end_id *v; /* sorted; owned */
	size_t n;
};

/* A sample of an end. */
struct end_sample {
	const struct perf_event_header *rec;
	const struct end_id *id;
	uint64_t time;
	const void *raw;
	uint32_t raw_size;
};

bool recorded_ends__has(enum frbpf_source source)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends_descs); i++) {
		if (ends_descs[i].source == source)
			return true;
	}
	return false;
}

/* ---- what to look for ---- */

static void claim__add_field(struct claim *c, const char *name, uint64_t value)
{
	c->keys[c->n_keys++] = (struct key){ KEY_FIELD, { name, name }, value };
}

static uint64_t claim__arg(const struct claim *c, unsigned int field)
{
	return c->it->t.args[field - FRBPF_FIELD_ARG][0];
}

static bool claim__set_blkio_keys(struct claim *c)
{
	claim__add_field(c, "dev", claim__arg(c, FRBPF_BLKIO_DEV));
	claim__add_field(c, "sector", claim__arg(c, FRBPF_BLKIO_SECTOR));
	/* a flush has no sector, and the kernel may replace a separate flush by another request */
	return claim__arg(c, FRBPF_BLKIO_OP) != FRBPF_BLKIO_FLUSH;
}

static void claim__set_span_keys(struct claim *c)
{
	static const char *const names[] = { "tid", "pid", "cpu" };

	for (uint32_t i = 0; i < c->span.n_keys; i++) {
		struct key *k = &c->keys[c->n_keys++];

		k->kind = KEY_FIELD;
		k->name[ROLE_BEGIN] = c->span.keys[i].start;
		k->name[ROLE_END] = c->span.keys[i].end;
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			if (!strcmp(k->name[ROLE_END], names[n]))
				k->kind = KEY_TID + n;
		}
	}
}

/* False: the ends cannot be found by @d. */
static bool claim__set_keys(struct claim *c, const struct ends_desc *d)
{
	const struct frbpf_trigger *t = &c->it->t;
	bool of_cgroup = strstr(c->target[ROLE_BEGIN], "memcg");

	c->known = true;
	switch (t->source) {
	case FRBPF_SOURCE_RECLAIM:
		if (of_cgroup != (claim__arg(c, FRBPF_RECLAIM_SCOPE) == FRBPF_RECLAIM_CGROUP))
			return false;
		/* fall through */
	case FRBPF_SOURCE_SYSCALL:
		c->keys[c->n_keys++] = (struct key){ KEY_TID, .value = t->subject.tid };
		return t->subject.tid;
	case FRBPF_SOURCE_BLKIO:
	case FRBPF_SOURCE_BLKIO_DEVICE:
		return claim__set_blkio_keys(c);
	case FRBPF_SOURCE_HARDIRQ:
	case FRBPF_SOURCE_SOFTIRQ:
		c->keys[c->n_keys++] = (struct key){ KEY_CPU, .value = t->cpu };
		if (t->source == FRBPF_SOURCE_HARDIRQ)
			claim__add_field(c, "irq", claim__arg(c, FRBPF_HARDIRQ_IRQ));
		else
			claim__add_field(c, "vec", claim__arg(c, FRBPF_SOFTIRQ_VEC));
		return true;
	case FRBPF_SOURCE_CONNECT:
		claim__add_field(c, "skaddr", 0);
		break;
	default:
		claim__set_span_keys(c);
	}
	c->known = false;
	return d->source == t->source;
}

static bool claim__set_targets(struct claim *c, const struct ends_desc *d)
{
	const struct frbpf_trigger *t = &c->it->t;
	const char *call = when__key_name(t->source, t->key), *target = c->it->rule->when.target;

	if (t->source == FRBPF_SOURCE_SPAN) {
		if (!target || span_target__parse(target, &c->span))
			return false;
		memcpy(c->target[ROLE_BEGIN], c->span.start, SPAN_WORD_MAX);
		memcpy(c->target[ROLE_END], c->span.end, SPAN_WORD_MAX);
		return strcmp(c->span.start, c->span.end) != 0;
	}
	for (int r = 0; r < N_ROLES; r++) {
		const char *format = d->target[r] ?: r == ROLE_END ? target : "";
		const char *name = format ? strstr(format, "%s") : NULL;

		if (!format || (name && !call))
			return false;
		snprintf(c->target[r], sizeof(c->target[r]), "%.*s%s",
			 name ? (int)(name - format) : SPAN_WORD_MAX - 1, format, name ? call : "");
	}
	return true;
}

/* False: what @it measured has no ends of the kind @d. */
static bool claim__init(struct claim *c, struct incident_trigger *it, const struct ends_desc *d)
{
	const struct frbpf_trigger *t = &it->t;
	uint64_t quarter = t->value / 4;

	if (!it->rule || t->source != d->source || t->value >= t->time ||
	    t->flags & (FRBPF_TRIGGER_SHARE | FRBPF_TRIGGER_PENDING))
		return false;
	*c = (struct claim){
		.it = it,
		.begin = t->time - t->value,
		.end = t->time,
		.alone = d->alone,
	};
	c->near = quarter < NEAR_LEAST ? NEAR_LEAST : quarter > NEAR_MOST ? NEAR_MOST : quarter;
	if (!t->value)
		c->near = NEAR_MOST;
	c->later = t->value / 8 > NEAR_MOST ? t->value / 8 : NEAR_MOST;
	return claim__set_targets(c, d) && claim__set_keys(c, d);
}

/* ---- ids of events ---- */

static int compare_end_ids(const void *a, const void *b)
{
	const struct end_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Find the first event of tracepoint @target that records every hit. */
static const struct event *find_end_event(const struct session *s, const char *target, size_t *ret)
{
	for (size_t e = 0; e < s->events->n; e++) {
		const struct event *ev = &s->events->v[e];
		const struct perf_event_attr *a = &ev->attr;
		size_t len = ev->tp ? strlen(ev->tp->system) : 0;

		if (!ev->tp || strncmp(target, ev->tp->system, len) != 0 || target[len] != ':' ||
		    strcmp(target + len + 1, ev->tp->name) != 0)
			continue;
		if (a->freq || a->sample_period > 1 || ev->filter || ev->cgroup ||
		    a->exclude_kernel || a->exclude_user || a->exclude_idle ||
		    !(a->sample_type & PERF_SAMPLE_RAW))
			continue;
		*ret = e;
		return ev;
	}
	return NULL;
}

static int add_end_ids(struct end_ids *ids, const struct session *s, size_t e, enum role role)
{
	const uint64_t *of_event;
	struct end_id *v;
	size_t n;

	of_event = session__event_ids(s, e, &n);
	for (size_t i = 0; i < ids->n; i++)
		ids->v[i].is[role] |= ids->v[i].ev == &s->events->v[e];
	if (ids->n && ids->v[0].is[role]) /* both ends are the same tracepoint */
		return 0;
	v = reallocarray(ids->v, ids->n + n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	ids->v = v;
	for (size_t i = 0; i < n; i++) {
		v[ids->n] = (struct end_id){ of_event[i], &s->events->v[e], { false } };
		v[ids->n++].is[role] = true;
	}
	return 0;
}

/* List the ids. Empty: the session does not have both ends. */
static int list_end_ids(struct end_ids *ids, const struct session *s, const struct claim *c)
{
	size_t e[N_ROLES];
	int err = 0;

	if (s->target.kind != RECORD_ALL || s->off)
		return 0;
	for (int r = 0; r < N_ROLES; r++) {
		if (c->target[r][0] && !find_end_event(s, c->target[r], &e[r]))
			return 0;
	}
	for (int r = 0; !err && r < N_ROLES; r++) {
		if (c->target[r][0])
			err = add_end_ids(ids, s, e[r], r);
	}
	if (ids->n)
		qsort(ids->v, ids->n, sizeof(*ids->v), compare_end_ids);
	return err;
}

/* ---- samples ---- */

static bool end_sample__read(struct end_sample *s, const struct end_ids *ids,
			     struct page_set *pages, const struct timeline_entry *e)
{
	struct end_id wanted;

	if (e->rec->type != PERF_RECORD_SAMPLE)
		return false;
	wanted.id = record__id(e->rec);
	*s = (struct end_sample){ .rec = e->rec, .time = e->time };
	s->id = bsearch(&wanted, ids->v, ids->n, sizeof(wanted), compare_end_ids);
	s->raw = s->id ? page_set__raw(pages, e->rec, &s->raw_size) : NULL;
	return s->raw;
}

static bool end_sample__field(const struct end_sample *s, const char *name, uint64_t *ret)
{
	const struct tracepoint *tp = s->id->ev->tp;
	struct format_field f;

	return format_field__find(tp->format, tp->format_len, name, &f) &&
	       format_field__number(&f, s->raw, s->raw_size, ret);
}

static bool end_sample__key(const struct end_sample *s, struct page_set *pages, const struct key *k,
			    enum role role, uint64_t *ret)
{
	switch (k->kind) {
	case KEY_TID:
		*ret = record__tid(s->rec);
		return true;
	case KEY_PID:
		*ret = record__pid(s->rec);
		return true;
	case KEY_CPU:
		*ret = page_set__cpu(pages, s->rec);
		return true;
	case KEY_FIELD:
		return end_sample__field(s, k->name[role], ret);
	}
	return false;
}

/*
 * A change of a socket's state begins a connection only if it is to SYN_SENT, and ends one only if
 * it is from SYN_SENT.
 */
static bool end_sample__is(const struct end_sample *s, const struct claim *c, enum role role)
{
	uint64_t state;

	if (!s->id->is[role] || c->it->t.source != FRBPF_SOURCE_CONNECT)
		return s->id->is[role];
	return end_sample__field(s, role == ROLE_BEGIN ? "newstate" : "oldstate", &state) &&
	       state == TCP_SYN_SENT;
}

/*
 * Learn the keys from the end event, which is found by task and CPU. False: there is no such event,
 * or it lacks a key.
 */
static bool claim__learn_keys(struct claim *c, const struct end_ids *ids, struct page_set *pages,
			      const struct timeline *t)
{
	const struct frbpf_trigger *tr = &c->it->t;
	struct end_sample s, best = { .rec = NULL };

	for (size_t i = 0; i < t->n; i++) {
		if (ns_between(t->v[i].time, c->end) > c->near ||
		    !end_sample__read(&s, ids, pages, &t->v[i]) ||
		    !end_sample__is(&s, c, ROLE_END) || record__tid(s.rec) != tr->current.tid ||
		    page_set__cpu(pages, s.rec) != tr->cpu)
			continue;
		if (!best.rec || ns_between(s.time, c->end) < ns_between(best.time, c->end))
			best = s;
	}
	for (size_t k = 0; best.rec && k < c->n_keys; k++) {
		if (!end_sample__key(&best, pages, &c->keys[k], ROLE_END, &c->keys[k].value))
			return false;
	}
	return best.rec;
}

static bool claim__has(const struct claim *c, const struct end_sample *s, struct page_set *pages,
		       enum role role)
{
	uint64_t value;

	for (size_t k = 0; k < c->n_keys; k++) {
		if (!end_sample__key(s, pages, &c->keys[k], role, &value) ||
		    value != c->keys[k].value)
			return false;
	}
	return end_sample__is(s, c, role);
}

static bool is_restart(const struct claim *c, const struct end_sample *s)
{
	uint64_t ret;

	return c->it->t.source == FRBPF_SOURCE_SYSCALL && end_sample__field(s, "ret", &ret) &&
	       -ret >= RESTART_FIRST && -ret <= RESTART_LAST;
}

/*
 * Note a begin or an end within the duration. If only one event with these keys can last at a time,
 * at most one begin is within it, and after that one end. Any further begin or end contradicts the
 * trigger.
 */
static void claim__note_inside(struct claim *c, enum role role, uint64_t time)
{
	bool more = role == ROLE_BEGIN ? c->inside[ROLE_BEGIN] || c->inside[ROLE_END]
				       : c->inside[ROLE_END];

	if (c->alone && more && !c->excess)
		c->excess = time;
	c->inside[role]++;
}

static void claim__note(struct claim *c, const struct end_sample *s, enum role role)
{
	uint64_t time = s->time;

	if (time + c->later < c->begin || time > c->end + c->later)
		return;
	if (role == ROLE_BEGIN) {
		c->at_begin |= ns_between(time, c->begin) <= c->near;
		c->begun |= ns_between(time, c->begin) <= c->later;
		if (time > c->begin + c->later && !c->begins_later++)
			c->late = time;
	} else {
		c->at_end |= ns_between(time, c->end) <= c->near;
		c->ends++;
		c->restarted |= is_restart(c, s);
	}
	if (time > c->begin && time < c->end)
		claim__note_inside(c, role, time);
}

static void claim__look(struct claim *c, const struct end_ids *ids, struct page_set *pages,
			const struct timeline *t)
{
	struct end_sample s;

	for (size_t i = 0; i < t->n; i++) {
		if (!end_sample__read(&s, ids, pages, &t->v[i]))
			continue;
		for (int r = 0; r < N_ROLES; r++) {
			if (claim__has(c, &s, pages, r))
				claim__note(c, &s, r);
		}
	}
}

/* ---- verdict ---- */

static void claim__judge(struct claim *c)
{
	bool agrees = c->at_end && (c->at_begin || !c->target[ROLE_BEGIN][0]);
	enum incident_compared now = agrees ? COMPARED_AGREES : COMPARED_NOT_FOUND;

	if (c->excess && !c->restarted)
		incident_trigger__contradict(c->it, c->excess);
	else if (c->target[ROLE_BEGIN][0] && !c->begun && c->begins_later == 1 && c->at_end &&
		 (c->alone || c->ends == 1) && !c->restarted)
		incident_trigger__contradict(c->it, c->late);
	if (now > c->it->compared)
		c->it->compared = now;
}

/* Why @res cannot contradict the trigger; COMPARED_AGREES: @res has all records of that time. */
static enum incident_compared claim__covered(const struct claim *c, const struct dump_result *res)
{
	uint64_t before = c->begin - (c->it->t.value ? c->later : c->near);

	if (c->end > res->end)
		return COMPARED_TOO_LATE;
	if (before > c->begin || res->complete > before || res->start > before)
		return COMPARED_SHORT;
	return dump_result__has_losses(res, before) ? COMPARED_LOSSES : COMPARED_AGREES;
}

static int look_for_ends(struct claim *c, const struct session *s, struct page_set *pages,
			 const struct timeline *t, const struct dump_result *res, bool *ret_there)
{
	enum incident_compared covered = claim__covered(c, res);
	struct end_ids ids = { .n = 0 };
	int err = list_end_ids(&ids, s, c);

	*ret_there = ids.n;
	if (!err && ids.n && covered != COMPARED_AGREES) {
		if (covered > c->it->compared)
			c->it->compared = covered;
	} else if (!err && ids.n) {
		if (c->known || claim__learn_keys(c, &ids, pages, t))
			claim__look(c, &ids, pages, t);
		claim__judge(c);
	}
	free(ids.v);
	return err;
}

/* Must the subject exist for as long as the event of @t lasts? */
static bool lives_through(const struct frbpf_trigger *t)
{
	return when__is_wait(t->source) || t->source == FRBPF_SOURCE_SYSCALL ||
	       t->source == FRBPF_SOURCE_RECLAIM || t->source == FRBPF_SOURCE_UPROBE;
}

static void look_for_birth(struct incident_trigger *it, const struct timeline *t)
{
	const struct frbpf_trigger *tr = &it->t;

	if (!it->rule || !tr->subject.tid || tr->value >= tr->time || !lives_through(tr))
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct record_task *fork = (const void *)t->v[i].rec;

		if (fork->header.type == PERF_RECORD_FORK && fork->tid == tr->subject.tid &&
		    t->v[i].time > tr->time - tr->value && t->v[i].time < tr->time)
			incident_trigger__contradict(it, t->v[i].time);
	}
}

int recorded_ends__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, const struct dump_result *res)
{
	int err = 0;

	for (size_t i = 0; !err && i < inc->n_triggers; i++) {
		bool there = false;

		look_for_birth(&inc->triggers[i], t);
		for (size_t d = 0; !err && !there && d < ARRAY_SIZE(ends_descs); d++) {
			struct claim c;

			if (claim__init(&c, &inc->triggers[i], &ends_descs[d]))
				err = look_for_ends(&c, s, pages, t, res, &there);
		}
	}
	return err;
}
