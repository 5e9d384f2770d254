// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/cgroups.h"
#include "detect/detectors.h"
#include "detect/grace.h"
#include "detect/load_error.h"
#include "detect/patterns.h"
#include "detect/slots.h"
#include "detect/source.h"
#include "rules/units.h"

static const struct source_ops *const all_sources[] = { &source_runqlat, &source_syscall,
							&source_blocked, &source_offcpu };

#define N_SOURCES ARRAY_SIZE(all_sources)
/* A second: what ended just now may be of use to a program at work. */
#define TIDY_AFTER_NS NSEC_PER_SEC
#define HOLDS_SIZE    (FRBPF_MAX_HOLDS * sizeof(uint64_t))

struct detectors {
	struct source_env env; /* its fds are owned */
	struct ring_buffer *ring;
	struct source *sources[N_SOURCES]; /* NULL: no rule needs it */
	struct slots slots;
	struct cgroups *cgroups;
	struct slots patterns;	 /* of the map of automata */
	const struct past *past; /* borrowed; NULL: none */
	uint64_t *holds;	 /* mapped: read by the programs */
	uint64_t tidied;	 /* ns: when detectors__tidy() last worked */
	bool flipped;		 /* programs may still read the half that is not in force */
	uint64_t missing_gone;	 /* missing_storage of sources that were detached */
	uint64_t malformed;	 /* written by the thread that consumes, read by any */
	/* Of detectors__consume(), valid while it runs. */
	void (*fn)(const struct frbpf_trigger *t, void *arg);
	void *arg;
	int handed_over, max;
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
	return d->handed_over < d->max ? 0 : -ECANCELED; /* libbpf stops behind this one */
}

static uint32_t own_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

/* Maps that all sources share. */
static int open_maps(struct detectors *d)
{
	LIBBPF_OPTS(bpf_map_create_opts, mmapable, .map_flags = BPF_F_MMAPABLE);
	struct source_env *e = &d->env;
	const struct {
		int *fd;
		enum bpf_map_type type;
		const char *name;
		uint32_t key, value, max;
		const struct bpf_map_create_opts *opts;
	} maps[] = {
		{ &e->states_fd, BPF_MAP_TYPE_ARRAY, "frbpf_states", sizeof(uint32_t),
		  sizeof(struct frbpf_rule_state), FRBPF_MAX_SLOTS },
		{ &e->cgroups_fd, BPF_MAP_TYPE_ARRAY, "frbpf_cgroups", sizeof(uint32_t),
		  sizeof(uint64_t), FRBPF_MAX_CGROUPS },
		{ &e->path_globs_fd, BPF_MAP_TYPE_ARRAY, "frbpf_paths", sizeof(uint32_t),
		  sizeof(struct frbpf_path_glob), 2 * FRBPF_MAX_PATH_GLOBS },
		{ &e->cooling_fd, BPF_MAP_TYPE_HASH, "frbpf_cooling", sizeof(struct frbpf_key),
		  sizeof(struct frbpf_cooling), FRBPF_MAX_COOLING },
		{ &e->counting_fd, BPF_MAP_TYPE_HASH, "frbpf_counting", sizeof(struct frbpf_key),
		  sizeof(struct frbpf_count), FRBPF_MAX_COUNTING },
		{ &e->holds_fd, BPF_MAP_TYPE_ARRAY, "frbpf_holds", sizeof(uint32_t),
		  sizeof(uint64_t), FRBPF_MAX_HOLDS, &mmapable },
		{ &e->triggers_fd, BPF_MAP_TYPE_RINGBUF, "frbpf_triggers", 0, 0,
		  FRBPF_TRIGGERS_SIZE },
	};
	void *holds;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		*maps[i].fd = bpf_map_create(maps[i].type, maps[i].name, maps[i].key, maps[i].value,
					     maps[i].max, maps[i].opts);
		if (*maps[i].fd < 0)
			return -errno;
	}
	holds = mmap(NULL, HOLDS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, e->holds_fd, 0);
	if (holds == MAP_FAILED)
		return -errno;
	d->holds = holds;
	d->cgroups = cgroups__new(e->cgroups_fd);
	if (!d->cgroups)
		return -ENOMEM;
	d->ring = ring_buffer__new(e->triggers_fd, on_record, d, NULL);
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
	d->env = (struct source_env){
		.states_fd = -1,
		.triggers_fd = -1,
		.cgroups_fd = -1,
		.path_globs_fd = -1,
		.cooling_fd = -1,
		.counting_fd = -1,
		.holds_fd = -1,
		.pidns = own_pidns(),
	};
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
	struct cgroup_set *cgroups;	  /* that they name */
	struct pattern_set *patterns;	  /* that they hold paths against */
	struct source *opened[N_SOURCES]; /* sources that are new */
};

static void update__free(struct update *u)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		source__free(u->opened[i]);
	cgroup_set__free(u->cgroups);
	pattern_set__free(u->patterns);
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

static int update__build_tables(struct update *u, const struct detectors *d, struct err *err)
{
	size_t taken = 0;
	int r;

	for (size_t i = 0; i < u->n_rules; i++)
		u->ids[i] = u->rules[i].id;
	r = slots__assign(&d->slots, u->ids, u->n_rules, &u->slots, u->slot_of, u->fresh);
	if (r)
		return err_set(err, r, "too many rules: %zu", u->n_rules);
	r = cgroup_set__make(d->cgroups, u->rules, u->n_rules, &u->cgroups);
	if (r)
		return err_set(err, r,
			       r == -ENOSPC ? "too many cgroups in rules" : "out of memory");
	r = pattern_set__make(&d->patterns, u->rules, u->n_rules, &u->patterns);
	if (r == -ENOSPC)
		return err_set(err, r, "more than %d different patterns on 'exe' and 'cgroup'",
			       FRBPF_MAX_PATH_GLOBS);
	if (r)
		return err_set(err, r, "out of memory");
	for (size_t i = 0; i < N_SOURCES; i++) {
		r = rule_table__build(all_sources[i]->source, u->rules, u->n_rules, u->slot_of,
				      u->cgroups, u->patterns, &u->tables[i]);
		if (r == -E2BIG)
			return err_set(err, r, "%s: more than %d rules", all_sources[i]->name,
				       FRBPF_MAX_RULES);
		if (r == -ENOSPC)
			return err_set(err, r, "%s: more than %d different patterns",
				       all_sources[i]->name, FRBPF_MAX_GLOBS);
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

static uint64_t last_fired_before(const struct detectors *d, uint64_t id)
{
	for (size_t i = 0; d->past && i < d->past->n_rules; i++) {
		if (d->past->rules[i].id == id)
			return d->past->rules[i].last_fired;
	}
	return 0;
}

/* Write what nothing reads yet: the states of new slots, the halves that are not in force. */
static int update__write(struct update *u, struct detectors *d, struct err *err)
{
	struct frbpf_rule_state clean = { .last_fired = 0 };
	int r;

	for (size_t i = 0; i < u->n_rules; i++) {
		clean.last_fired = last_fired_before(d, u->ids[i]);
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
	int r = update__build_tables(u, d, err);

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
	r = pattern_set__write(u->patterns, d->env.path_globs_fd);
	if (r)
		return err_set(err, r, "cannot write a pattern: %s", strerror(-r));
	r = cgroup_set__resolve(u->cgroups, d->cgroups, err);
	return r ? r : update__write(u, d, err);
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
	for (size_t i = 0; i < u->n_rules; i++) {
		if (u->fresh[i])
			detectors__hold(d, u->slot_of[i], 0);
	}
	cgroup_set__commit(u->cgroups, d->cgroups);
	d->patterns = *pattern_set__slots(u->patterns);
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

int detectors__consume(struct detectors *d, int max,
		       void (*fn)(const struct frbpf_trigger *t, void *arg), void *arg)
{
	int r;

	d->fn = fn;
	d->arg = arg;
	d->handed_over = 0;
	d->max = max;
	r = ring_buffer__consume(d->ring);
	return r < 0 && r != -ECANCELED ? r : d->handed_over;
}

int detectors__rule_state(const struct detectors *d, uint32_t slot, struct frbpf_rule_state *ret)
{
	struct frbpf_rule_state st;

	if (bpf_map_lookup_elem(d->env.states_fd, &slot, &st))
		return -errno;
	*ret = st;
	return 0;
}

void detectors__hold(struct detectors *d, uint32_t slot, uint64_t until)
{
	__atomic_store_n(&d->holds[slot], until, __ATOMIC_RELAXED);
}

/* Delete what means nothing any more: @until lies at that offset of the value. */
static void tidy(int fd, size_t value_size, size_t until_at, uint64_t now)
{
	_cleanup_free_ char *value = malloc(value_size);
	struct frbpf_key key, next;
	bool more = value && !bpf_map_get_next_key(fd, NULL, &next);
	uint64_t until;

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (bpf_map_lookup_elem(fd, &key, value))
			continue;
		memcpy(&until, value + until_at, sizeof(until));
		if ((int64_t)(now - until) > (int64_t)TIDY_AFTER_NS)
			bpf_map_delete_elem(fd, &key);
	}
}

int detectors__remember(struct detectors *d, const struct past *past)
{
	d->past = past;
	for (size_t i = 0; i < past->n_cooling; i++) {
		const struct past_cooling *c = &past->cooling[i];

		if (bpf_map_update_elem(d->env.cooling_fd, &c->key, &c->value, BPF_ANY) &&
		    errno != E2BIG)
			return -errno;
	}
	return 0;
}

void detectors__each_cooling(const struct detectors *d,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg)
{
	struct past_cooling c;
	struct frbpf_key next;
	bool more = !bpf_map_get_next_key(d->env.cooling_fd, NULL, &next);
	uint64_t now = now_ns();

	while (more) {
		c.key = next;
		more = !bpf_map_get_next_key(d->env.cooling_fd, &c.key, &next);
		if (!bpf_map_lookup_elem(d->env.cooling_fd, &c.key, &c.value) &&
		    (int64_t)(now - c.value.until) < 0)
			fn(&c, arg);
	}
}

void detectors__tidy(struct detectors *d)
{
	uint64_t now = now_ns();

	if (now - d->tidied < TIDY_AFTER_NS)
		return;
	d->tidied = now;
	tidy(d->env.cooling_fd, sizeof(struct frbpf_cooling), offsetof(struct frbpf_cooling, until),
	     now);
	tidy(d->env.counting_fd, sizeof(struct frbpf_count), offsetof(struct frbpf_count, until),
	     now);
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

static void close_maps(struct source_env *e)
{
	const int fds[] = { e->states_fd,   e->triggers_fd, e->cgroups_fd,   e->cooling_fd,
			    e->counting_fd, e->holds_fd,    e->path_globs_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

void detectors__free(struct detectors *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < N_SOURCES; i++)
		source__free(d->sources[i]);
	cgroups__free(d->cgroups);
	ring_buffer__free(d->ring);
	if (d->holds)
		munmap(d->holds, HOLDS_SIZE);
	close_maps(&d->env);
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
