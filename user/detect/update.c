// SPDX-License-Identifier: GPL-2.0-only
/* detectors__update(): puts new rules in force. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/detectors_core.h"
#include "detect/engine/look.h"
#include "detect/engine/text_set.h"
#include "examine/probe/probe_reader.h"
#include "rules/rule_units.h"

/* The rules of an update that the same programs evaluate. */
struct group {
	const struct source_ops *ops;
	const struct when *when; /* of one of these rules */
	struct rule_table *table;
	struct source *source; /* in force already, or opened */
	bool opened;	       /* owned */
};

/* An update. Everything that may fail is prepared here first; then all of it is committed. */
struct update {
	const struct rule_conf *rules;
	size_t n_rules;
	struct slots slots;
	uint64_t *ids;		 /* per rule */
	uint32_t *slot_of;	 /* per rule */
	bool *fresh;		 /* per rule: its slot is new */
	size_t n_keyed;		 /* rules that count or cool down per process, thread, ... */
	struct rule_units units; /* the rules in the form for the programs */
	struct group *groups;	 /* at most one per rule */
	size_t n_groups;
	struct source **sources;      /* of the groups: they will be in force */
	struct cgroup_set *cgroups;   /* that the rules name */
	struct pattern_set *patterns; /* that the rules match paths with */
};

static void update__free(struct update *u)
{
	for (size_t i = 0; i < u->n_groups; i++) {
		free(u->groups[i].table);
		if (u->groups[i].opened)
			source__free(u->groups[i].source);
	}
	rule_units__free(&u->units);
	cgroup_set__free(u->cgroups);
	pattern_set__free(u->patterns);
	free(u->ids);
	free(u->slot_of);
	free(u->fresh);
	free(u->groups);
	free(u->sources);
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
	u->groups = calloc(n_rules + 1, sizeof(*u->groups));
	u->sources = calloc(n_rules + 1, sizeof(*u->sources));
	if (u->ids && u->slot_of && u->fresh && u->groups && u->sources)
		return u;
	update__free(u);
	return NULL;
}

/* The name in the syntax of rules: "syscall", "tracepoint:sched:sched_switch". */
static const char *group_name(const struct group *g, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", g->ops->name, g->when->target ? ":" : "",
		 g->when->target ?: "");
	return buf;
}

static int update__group(struct update *u, struct err *err)
{
	for (size_t i = 0; i < u->units.n; i++) {
		const struct when *when = &u->units.v[i].when;
		size_t k = 0;

		while (k < u->n_groups && !when__same_events(u->groups[k].when, when))
			k++;
		if (k < u->n_groups)
			continue;
		u->groups[k].when = when;
		u->groups[k].ops = source_ops__find(when->source);
		u->groups[k].table = malloc(sizeof(*u->groups[k].table));
		u->n_groups++;
		if (!u->groups[k].ops)
			return err_set(err, -EINVAL, "a rule has a source without a detector");
		if (!u->groups[k].table)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int build_table(const struct update *u, struct group *g, struct err *err)
{
	const struct rule_units *t = &u->units;
	int code =
		rule_table__build(g->when, t->v, t->n, t->slots, u->cgroups, u->patterns, g->table);
	char name[128];

	if (code == -E2BIG)
		return err_set(err, code, "%s: more than %d rules",
			       group_name(g, name, sizeof(name)), FRBPF_MAX_RULES);
	if (code == -ENOSPC)
		return err_set(err, code, "%s: more than %d different patterns",
			       group_name(g, name, sizeof(name)), FRBPF_MAX_GLOBS);
	if (code == -ENODEV)
		return err_set(err, code, "%s: a rule names a block device that is not there",
			       group_name(g, name, sizeof(name)));
	if (code)
		return err_set(err, code, "%s: a rule is malformed",
			       group_name(g, name, sizeof(name)));
	return 0;
}

static int update__build_tables(struct update *u, const struct detectors *d, struct err *err)
{
	int code;

	for (size_t i = 0; i < u->n_rules; i++) {
		u->ids[i] = u->rules[i].id;
		u->n_keyed += rate_keys__wanted(&u->rules[i]);
	}
	code = slots__assign(&d->slots, u->ids, u->n_rules, &u->slots, u->slot_of, u->fresh);
	if (code)
		return err_set(err, code, "too many rules: %zu", u->n_rules);
	code = cgroup_set__make(d->cgroups, u->rules, u->n_rules, &u->cgroups);
	if (code)
		return err_set(err, code,
			       code == -ENOSPC ? "too many cgroups in rules" : "out of memory");
	code = pattern_set__make(&d->patterns, u->rules, u->n_rules, &u->patterns);
	if (code == -ENOSPC)
		return err_set(err, code, "more than %d different patterns on 'exe' and 'cgroup'",
			       FRBPF_MAX_PATH_GLOBS);
	if (code)
		return err_set(err, code, "out of memory");
	code = rule_units__make(u->rules, u->n_rules, u->slot_of, &u->units, err);
	code = code ?: update__group(u, err);
	for (size_t i = 0; i < u->n_groups && !code; i++)
		code = build_table(u, &u->groups[i], err);
	return code;
}

/* Find the source in force that has the events of these rules, and room for them. */
static struct source *find_group_source(const struct detectors *d, const struct group *g)
{
	for (size_t i = 0; i < d->n_sources; i++) {
		struct source *s = d->sources[i];

		if (s->ops != g->ops || strcmp(s->target ?: "", g->when->target ?: "") != 0)
			continue;
		return source__fits(s, g->table) && !(s->ops->is_stale && s->ops->is_stale(s))
			       ? s
			       : NULL;
	}
	return NULL;
}

static int update__open_sources(struct update *u, const struct detectors *d, struct err *err)
{
	for (size_t i = 0; i < u->n_groups; i++) {
		struct group *g = &u->groups[i];
		int code;

		g->source = find_group_source(d, g);
		if (!g->source) {
			code = source__open(g->ops, g->when->target, &d->env, g->table, &g->source,
					    err);
			if (code)
				return code;
			g->opened = true;
		}
		u->sources[i] = g->source;
	}
	return 0;
}

static bool update__keeps(const struct update *u, const struct source *s)
{
	for (size_t i = 0; i < u->n_groups; i++) {
		if (u->sources[i] == s)
			return true;
	}
	return false;
}

/* Write an empty bank for a source that no rule needs any more. */
static int write_empty(struct source *s, struct err *err)
{
	_cleanup_free_ struct rule_table *none = calloc(1, sizeof(*none));

	if (!none)
		return err_set(err, -ENOMEM, "out of memory");
	none->bank.min_threshold = none->bank.min_pending = none->bank.min_silence = UINT64_MAX;
	return source__write(s, none, err);
}

/* Get the cooldown that rule @id had before this process began. */
static void recall_cooldown(const struct detectors *d, uint64_t id, struct frbpf_rule_state *ret)
{
	ret->last_fired = 0;
	ret->cooldown_start = (struct frbpf_cooldown_start){ 0 };
	for (size_t i = 0; d->past && i < d->past->n_rules; i++) {
		const struct past_rule *p = &d->past->rules[i];

		if (p->id != id)
			continue;
		ret->last_fired = p->last_fired;
		if (p->start_value)
			ret->cooldown_start =
				(struct frbpf_cooldown_start){ p->last_fired, p->start_value };
		return;
	}
}

/* Write what no program reads yet: the states of new slots, and the inactive banks. */
static int update__write(struct update *u, struct detectors *d, struct err *err)
{
	struct frbpf_rule_state clean = { .last_fired = 0 };
	int code;

	for (size_t i = 0; i < u->n_rules; i++) {
		if (!u->fresh[i])
			continue;
		recall_cooldown(d, u->ids[i], &clean);
		clean.heard = now_ns();
		clean.wake_keys = rate_keys__wake(&u->rules[i], u->n_keyed);
		code = bpf_map_update_elem(d->env.states_fd, &u->slot_of[i], &clean, BPF_ANY)
			       ? -errno
			       : 0;
		code = code
			       ?: rate_keys__give(d->keys, u->slot_of[i], &u->rules[i], u->n_keyed,
						  d->past);
		code = code ?: learners__give(d->learners, u->slot_of[i], &u->rules[i], d->past);
		if (code)
			return err_set(err, code, "cannot make room for the state of a rule: %s",
				       strerror(-code));
	}
	for (size_t i = 0; i < u->n_groups; i++) {
		code = source__write(u->groups[i].source, u->groups[i].table, err);
		if (code)
			return code;
	}
	for (size_t i = 0; i < d->n_sources; i++) {
		code = update__keeps(u, d->sources[i]) ? 0 : write_empty(d->sources[i], err);
		if (code)
			return code;
	}
	return 0;
}

/* Updating a map of maps ends with synchronize_rcu() (maybe_wait_bpf_programs(), since 5.0). */
static int update_map_of_maps(void)
{
	_cleanup_close_ int inner = -1;
	_cleanup_close_ int outer = -1;
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	uint32_t key = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "frbpf_inner", sizeof(uint32_t),
			       sizeof(uint32_t), 1, NULL);
	if (inner < 0)
		return -errno;
	opts.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "frbpf_outer", sizeof(uint32_t),
			       sizeof(uint32_t), 1, &opts);
	if (outer < 0)
		return -errno;
	return bpf_map_update_elem(outer, &key, &inner, BPF_ANY) ? -errno : 0;
}

/*
 * Wait until every BPF program that runs now has returned; takes up to some tens of ms.
 * MEMBARRIER_CMD_GLOBAL is synchronize_rcu(), too; it is refused where CPUs run without a tick.
 */
static int await_programs(void)
{
	if (!syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	return update_map_of_maps();
}

static int update__prepare(struct update *u, struct detectors *d, struct err *err)
{
	int code = update__build_tables(u, d, err);

	/* slots freed by earlier updates; kept until now, so that their cooldowns could be saved */
	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		if (d->slots.v[slot].used)
			continue;
		rate_keys__take_back(d->keys, slot);
		learners__take_back(d->learners, slot);
	}
	code = code ?: update__open_sources(u, d, err);
	if (code)
		return code;
	if (d->flipped) {
		code = await_programs();
		if (code)
			return err_set(err, code, "cannot wait for the running programs: %s",
				       strerror(-code));
		d->flipped = false;
	}
	code = pattern_set__write(u->patterns, d->env.path_globs_fd);
	if (code)
		return err_set(err, code, "cannot write a pattern: %s", strerror(-code));
	code = cgroup_set__resolve(u->cgroups, d->cgroups, err);
	return code ?: update__write(u, d, err);
}

static bool source_is_in_force(const struct detectors *d, const struct source *s)
{
	for (size_t i = 0; i < d->n_sources; i++) {
		if (d->sources[i] == s)
			return true;
	}
	return false;
}

/* Stop following pending events whose rule is gone. */
static void forget_followed(const struct detectors *d, const struct update *u)
{
	struct frbpf_followed_key prev, key;
	int err = bpf_map_get_next_key(d->env.followed_fd, NULL, &key);

	while (!err) {
		bool kept = false;

		for (size_t i = 0; i < u->n_rules && !kept; i++)
			kept = u->ids[i] == key.rule_id;
		prev = key;
		err = bpf_map_get_next_key(d->env.followed_fd, &prev, &key);
		if (!kept)
			bpf_map_delete_elem(d->env.followed_fd, &prev);
	}
}

/* Put what was prepared in force. Cannot fail. */
static void update__commit(struct update *u, struct detectors *d)
{
	struct source **gone = d->sources;
	size_t n_gone = d->n_sources;

	for (size_t i = 0; i < u->n_groups; i++) {
		u->groups[i].opened = false;
		source__flip(u->groups[i].source);
	}
	for (size_t i = 0; i < n_gone; i++) {
		if (!update__keeps(u, gone[i]))
			source__flip(gone[i]);
	}
	d->flipped = true;
	d->slots = u->slots;
	for (size_t i = 0; i < u->n_rules; i++) {
		if (u->fresh[i])
			detectors__suppress(d, u->slot_of[i], 0);
	}
	forget_followed(d, u);
	cgroup_set__commit(u->cgroups, d->cgroups);
	d->patterns = *pattern_set__slots(u->patterns);
	d->n_sources = u->n_groups;
	d->sources = TAKE_PTR(u->sources);
	for (size_t i = 0; i < n_gone; i++) {
		if (source_is_in_force(d, gone[i]))
			continue;
		d->unmeasured_gone += __atomic_load_n(gone[i]->unmeasured, __ATOMIC_RELAXED);
		d->not_seen_gone += __atomic_load_n(gone[i]->not_seen, __ATOMIC_RELAXED);
		d->texts_unread_gone += __atomic_load_n(gone[i]->texts_unread, __ATOMIC_RELAXED);
		d->looks_failed_gone += look__failed(gone[i]->look);
		source__free(gone[i]);
	}
	free(gone);
}

int detectors__update(struct detectors *d, const struct rule_conf *rules, size_t n_rules,
		      uint32_t *ret_slots, struct err *err)
{
	struct update *u = update__new(rules, n_rules);
	int code;

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	code = update__prepare(u, d, err);
	if (!code) {
		update__commit(u, d);
		if (n_rules)
			memcpy(ret_slots, u->slot_of, n_rules * sizeof(*ret_slots));
	}
	update__free(u);
	probe_reader__rest();
	return code;
}
