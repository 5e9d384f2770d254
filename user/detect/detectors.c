// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/detectors.h"
#include "detect/grace.h"
#include "detect/load_error.h"
#include "detect/slots.h"
#include "detect/source.h"

static const struct source_ops *const all_sources[] = { &source_runqlat, &source_syscall };

#define N_SOURCES ARRAY_SIZE(all_sources)

struct detectors {
	struct source_env env; /* its fds are owned */
	struct ring_buffer *ring;
	struct source *sources[N_SOURCES]; /* NULL: no rule needs it */
	struct slots slots;
	bool flipped;	       /* programs may still read the half that is not in force */
	uint64_t missing_gone; /* missing_storage of sources that were detached */
	uint64_t malformed;    /* written by the thread that consumes, read by any */
	/* Of detectors__consume(), valid while it runs. */
	void (*fn)(const struct frbpf_trigger *t, void *arg);
	void *arg;
	int handed_over;
};

static int on_record(void *ctx, void *data, size_t size)
{
	const struct frbpf_trigger *t = data;
	struct detectors *d = ctx;

	if (size != sizeof(*t) || t->tag != FRBPF_TAG_TRIGGER) {
		__atomic_add_fetch(&d->malformed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	d->handed_over++;
	d->fn(t, d->arg);
	return 0;
}

static uint32_t own_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

static int open_maps(struct detectors *d)
{
	d->env.states_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "frbpf_states", sizeof(uint32_t),
					  sizeof(struct frbpf_rule_state), FRBPF_MAX_SLOTS, NULL);
	if (d->env.states_fd < 0)
		return -errno;
	d->env.triggers_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frbpf_triggers", 0, 0,
					    FRBPF_TRIGGERS_SIZE, NULL);
	if (d->env.triggers_fd < 0)
		return -errno;
	d->ring = ring_buffer__new(d->env.triggers_fd, on_record, d, NULL);
	return d->ring ? 0 : -errno;
}

int detectors__open(struct err *err, struct detectors **ret)
{
	struct detectors *d;
	struct load_log log;
	int r;

	r = load_error__check_kernel(err);
	if (r)
		return r;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->env = (struct source_env){ .states_fd = -1, .triggers_fd = -1, .pidns = own_pidns() };
	load_log__begin(&log);
	r = open_maps(d);
	load_log__end();
	if (r) {
		detectors__free(d);
		return load_error__explain(err, r, &log);
	}
	*ret = d;
	return 0;
}

/* An update under way: everything that may fail is prepared in here, and committed as a whole. */
struct update {
	const struct rule_conf *rules;
	size_t n_rules;
	struct slots slots;
	uint64_t *ids;			  /* per rule */
	uint32_t *slot_of;		  /* per rule */
	bool *fresh;			  /* per rule: its slot is not the one it had */
	struct rule_table *tables;	  /* per source */
	struct source *opened[N_SOURCES]; /* sources that are new */
};

static void update__free(struct update *u)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		source__free(u->opened[i]);
	free(u->ids);
	free(u->slot_of);
	free(u->fresh);
	free(u->tables);
	free(u);
}

static struct update *update__new(const struct rule_conf *rules, size_t n_rules)
{
	struct update *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->rules = rules;
	u->n_rules = n_rules;
	u->ids = calloc(n_rules + 1, sizeof(*u->ids));
	u->slot_of = calloc(n_rules + 1, sizeof(*u->slot_of));
	u->fresh = calloc(n_rules + 1, sizeof(*u->fresh));
	u->tables = calloc(N_SOURCES, sizeof(*u->tables));
	if (u->ids && u->slot_of && u->fresh && u->tables)
		return u;
	update__free(u);
	return NULL;
}

static int update__build_tables(struct update *u, const struct slots *cur, struct err *err)
{
	size_t taken = 0;
	int r;

	for (size_t i = 0; i < u->n_rules; i++)
		u->ids[i] = u->rules[i].id;
	r = slots__assign(cur, u->ids, u->n_rules, &u->slots, u->slot_of, u->fresh);
	if (r)
		return err_set(err, r, "too many rules: %zu", u->n_rules);
	for (size_t i = 0; i < N_SOURCES; i++) {
		r = rule_table__build(all_sources[i]->source, u->rules, u->n_rules, u->slot_of,
				      &u->tables[i]);
		if (r == -E2BIG)
			return err_set(err, r, "%s: more than %d rules", all_sources[i]->name,
				       FRBPF_MAX_RULES);
		if (r)
			return err_set(err, r, "%s: a rule is malformed", all_sources[i]->name);
		taken += u->tables[i].half.n_rules;
	}
	if (taken != u->n_rules)
		return err_set(err, -EINVAL, "a rule is of a source that nothing detects");
	return 0;
}

static int update__open_sources(struct update *u, const struct detectors *d, struct err *err)
{
	for (size_t i = 0; i < N_SOURCES; i++) {
		int r;

		if (d->sources[i] || !u->tables[i].half.n_rules)
			continue;
		r = source__open(all_sources[i], &d->env, &u->opened[i], err);
		if (r)
			return r;
	}
	return 0;
}

/* Write what nothing reads yet: the states of new slots, the halves that are not in force. */
static int update__write(struct update *u, struct detectors *d, struct err *err)
{
	static const struct frbpf_rule_state clean;
	int r;

	for (size_t i = 0; i < u->n_rules; i++) {
		if (!u->fresh[i] ||
		    !bpf_map_update_elem(d->env.states_fd, &u->slot_of[i], &clean, BPF_ANY))
			continue;
		r = -errno;
		return err_set(err, r, "cannot clear the state of a rule: %s", strerror(-r));
	}
	for (size_t i = 0; i < N_SOURCES; i++) {
		struct source *s = d->sources[i] ? d->sources[i] : u->opened[i];

		r = s ? source__write(s, &u->tables[i], err) : 0;
		if (r)
			return r;
	}
	return 0;
}

static int update__prepare(struct update *u, struct detectors *d, struct err *err)
{
	int r = update__build_tables(u, &d->slots, err);

	if (!r)
		r = update__open_sources(u, d, err);
	if (r)
		return r;
	if (d->flipped) {
		r = grace_period();
		if (r)
			return err_set(err, r, "cannot wait for the programs at work: %s",
				       strerror(-r));
		d->flipped = false;
	}
	return update__write(u, d, err);
}

/* Nothing in here can fail. */
static void update__commit(struct update *u, struct detectors *d)
{
	for (size_t i = 0; i < N_SOURCES; i++) {
		if (u->opened[i])
			d->sources[i] = TAKE_PTR(u->opened[i]);
		if (d->sources[i])
			source__flip(d->sources[i]);
	}
	d->flipped = true;
	d->slots = u->slots;
	for (size_t i = 0; i < N_SOURCES; i++) {
		if (!d->sources[i] || u->tables[i].half.n_rules)
			continue;
		d->missing_gone +=
			__atomic_load_n(d->sources[i]->missing_storage, __ATOMIC_RELAXED);
		source__free(TAKE_PTR(d->sources[i]));
	}
}

int detectors__update(struct detectors *d, const struct rule_conf *rules, size_t n_rules,
		      uint32_t *ret_slots, struct err *err)
{
	struct update *u = update__new(rules, n_rules);
	int r;

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	r = update__prepare(u, d, err);
	if (!r) {
		update__commit(u, d);
		if (n_rules)
			memcpy(ret_slots, u->slot_of, n_rules * sizeof(*ret_slots));
	}
	update__free(u);
	return r;
}

int detectors__fd(const struct detectors *d)
{
	return d->env.triggers_fd;
}

int detectors__consume(struct detectors *d, void (*fn)(const struct frbpf_trigger *t, void *arg),
		       void *arg)
{
	int r;

	d->fn = fn;
	d->arg = arg;
	d->handed_over = 0;
	r = ring_buffer__consume(d->ring);
	return r < 0 ? r : d->handed_over;
}

int detectors__rule_state(const struct detectors *d, uint32_t slot, struct frbpf_rule_state *ret)
{
	struct frbpf_rule_state st;

	if (bpf_map_lookup_elem(d->env.states_fd, &slot, &st))
		return -errno;
	*ret = st;
	return 0;
}

void detectors__stats(const struct detectors *d, struct detectors_stats *ret)
{
	ret->malformed = __atomic_load_n(&d->malformed, __ATOMIC_RELAXED);
	ret->missing_storage = d->missing_gone;
	for (size_t i = 0; i < N_SOURCES; i++) {
		if (d->sources[i])
			ret->missing_storage +=
				__atomic_load_n(d->sources[i]->missing_storage, __ATOMIC_RELAXED);
	}
}

void detectors__free(struct detectors *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < N_SOURCES; i++)
		source__free(d->sources[i]);
	ring_buffer__free(d->ring);
	if (d->env.triggers_fd >= 0)
		close(d->env.triggers_fd);
	if (d->env.states_fd >= 0)
		close(d->env.states_fd);
	free(d);
}

static const struct source_ops *find_ops(enum frbpf_source source)
{
	for (size_t i = 0; i < N_SOURCES; i++) {
		if (all_sources[i]->source == source)
			return all_sources[i];
	}
	return NULL;
}

int detectors__programs(enum frbpf_source source,
			void (*fn)(const char *kind, const char *target, void *arg), void *arg)
{
	const struct source_ops *ops = find_ops(source);
	struct bpf_object *obj = NULL;
	struct bpf_program *prog;
	struct load_log log;
	const void *elf;
	size_t size;

	if (!ops || !ops->elf)
		return -ENOENT;
	load_log__begin(&log);
	elf = ops->elf(&size);
	obj = bpf_object__open_mem(elf, size, NULL);
	load_log__end();
	if (!obj)
		return -errno;
	bpf_object__for_each_program(prog, obj)
	{
		const char *section = bpf_program__section_name(prog);
		size_t kind = strcspn(section, "/");
		char text[32];

		if (!section[kind] || kind >= sizeof(text))
			continue; /* of no event: run by hand */
		snprintf(text, sizeof(text), "%.*s", (int)kind, section);
		fn(text, section + kind + 1, arg);
	}
	bpf_object__close(obj);
	return 0;
}
