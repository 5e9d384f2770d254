// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/app/app_socket.h"
#include "detect/detectors_core.h"
#include "detect/engine/block_device.h"
#include "detect/engine/load_error.h"
#include "detect/engine/look.h"
#include "detect/engine/scope.h"
#include "detect/inject/listener.h"
#include "detect/write_times.h"
#include "rules/units.h"

#define SUPPRESS_SIZE (FRBPF_MAX_SUPPRESS * sizeof(uint64_t))
#define STATES_SIZE   (FRBPF_MAX_SLOTS * sizeof(struct frbpf_rule_state))

static bool is_stacks_record(const void *data, size_t size)
{
	const struct frbpf_stacks *s = data;

	return size == sizeof(*s) && s->tag == FRBPF_TAG_STACKS && s->n_kernel <= FRBPF_STACK_MAX &&
	       s->n_user <= FRBPF_STACK_MAX;
}

static bool is_ended_record(const void *data, size_t size)
{
	const struct frbpf_ended *e = data;

	return size == sizeof(*e) && e->tag == FRBPF_TAG_ENDED;
}

static int on_record(void *ctx, void *data, size_t size)
{
	const struct frbpf_trigger *t = data;
	struct detectors *d = ctx;

	if (is_stacks_record(data, size)) {
		if (d->stacks_fn)
			d->stacks_fn(data, d->stacks_arg);
		return 0;
	}

	if (is_ended_record(data, size)) {
		if (d->ended_fn)
			d->ended_fn(data, d->ended_arg);
		return 0;
	}
	if (size != sizeof(*t) || t->tag != FRBPF_TAG_TRIGGER) {
		__atomic_add_fetch(&d->malformed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	d->handed_over++;
	d->fn(t, d->arg);
	return d->handed_over < d->max ? 0 : -ECANCELED; /* libbpf stops after this record */
}

static uint32_t own_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

static int share_map(int fd, size_t size, void **ret)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

/* Create the maps that all sources share. */
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
		  sizeof(struct frbpf_rule_state), FRBPF_MAX_SLOTS, &mmapable },
		{ &e->cgroups_fd, BPF_MAP_TYPE_ARRAY, "frbpf_cgroups", sizeof(uint32_t),
		  sizeof(uint64_t), FRBPF_MAX_CGROUPS },
		{ &e->path_globs_fd, BPF_MAP_TYPE_ARRAY, "frbpf_paths", sizeof(uint32_t),
		  sizeof(struct frbpf_path_glob), 2 * FRBPF_MAX_PATH_GLOBS },
		{ &e->followed_fd, BPF_MAP_TYPE_HASH, "frbpf_followed",
		  sizeof(struct frbpf_followed_key), sizeof(struct frbpf_followed),
		  FRBPF_MAX_FOLLOWED },
		{ &e->suppress_fd, BPF_MAP_TYPE_ARRAY, "frbpf_suppress", sizeof(uint32_t),
		  sizeof(uint64_t), FRBPF_MAX_SUPPRESS, &mmapable },
		{ &e->triggers_fd, BPF_MAP_TYPE_RINGBUF, "frbpf_triggers", 0, 0,
		  FRBPF_TRIGGERS_SIZE },
	};
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		*maps[i].fd = bpf_map_create(maps[i].type, maps[i].name, maps[i].key, maps[i].value,
					     maps[i].max, maps[i].opts);
		if (*maps[i].fd < 0)
			return -errno;
	}
	err = rate_keys__new(&e->cooling_fd, &e->counting_fd, &e->sharing_fd, &e->keyed_fd,
			     &d->keys);
	if (err)
		return err;
	err = share_map(e->suppress_fd, SUPPRESS_SIZE, (void **)&d->suppress_until)
		      ?: share_map(e->states_fd, STATES_SIZE, (void **)&d->states);
	if (err)
		return err;
	d->cgroups = cgroups__new(e->cgroups_fd);
	e->listener = listener__new();
	e->app_socket = app_socket__new(e->listener);
	if (!d->cgroups || !e->listener || !e->app_socket)
		return -ENOMEM;
	err = learners__new(e->listener, d->states, &e->learned_fd, &d->learners);
	if (err)
		return err;
	d->ring = ring_buffer__new(e->triggers_fd, on_record, d, NULL);
	return d->ring ? 0 : -errno;
}

int detectors__open(struct err *err, struct detectors **ret)
{
	struct detectors *d;
	struct load_log log;
	int code;

	code = load_error__check_kernel(err);
	if (code)
		return code;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->writes.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	d->env = (struct source_env){
		.writes = &d->writes,
		.states_fd = -1,
		.triggers_fd = -1,
		.cgroups_fd = -1,
		.path_globs_fd = -1,
		.cooling_fd = -1,
		.counting_fd = -1,
		.sharing_fd = -1,
		.keyed_fd = -1,
		.learned_fd = -1,
		.followed_fd = -1,
		.suppress_fd = -1,
		.scope_fd = -1,
		.scope_keys_fd = -1,
		.pidns = own_pidns(),
	};
	load_log__begin(&log);
	code = open_maps(d);
	load_log__end();
	if (code) {
		detectors__free(d);
		return load_error__explain(err, code, &log);
	}
	*ret = d;
	return 0;
}

int detectors__confine_to_tasks(struct detectors *d, struct err *err)
{
	int code = scope__open(err, &d->scope);

	if (code)
		return code;
	d->env.scope = FRBPF_SCOPE_TASKS;
	d->env.scope_fd = scope__map_fd(d->scope);
	d->env.scope_keys_fd = scope__keys_fd(d->scope);
	return 0;
}

int detectors__include(struct detectors *d, pid_t pid, struct err *err)
{
	return scope__add(d->scope, pid, err);
}

void detectors__confine_to_cgroup(struct detectors *d, uint64_t id)
{
	d->env.scope = FRBPF_SCOPE_CGROUP;
	d->env.scope_cgroup = id;
}

void detectors__set_app_path(struct detectors *d, const char *path, int dir_fd)
{
	app_socket__set_path(d->env.app_socket, path, dir_fd);
}

void detectors__set_app_common(struct detectors *d, const char *path)
{
	app_socket__set_common(d->env.app_socket, path);
}

void detectors__app_stats(const struct detectors *d, struct app_stats *ret)
{
	app_socket__stats(d->env.app_socket, ret);
}

int detectors__fd(const struct detectors *d)
{
	return d->env.triggers_fd;
}

int detectors__consume(struct detectors *d, int max,
		       void (*fn)(const struct frbpf_trigger *t, void *arg), void *arg)
{
	int err;

	d->fn = fn;
	d->arg = arg;
	d->handed_over = 0;
	d->max = max;
	err = ring_buffer__consume(d->ring);
	return err < 0 && err != -ECANCELED ? err : d->handed_over;
}

void detectors__on_stacks(struct detectors *d, void (*fn)(const struct frbpf_stacks *s, void *arg),
			  void *arg)
{
	d->stacks_fn = fn;
	d->stacks_arg = arg;
}

void detectors__on_ended(struct detectors *d, void (*fn)(const struct frbpf_ended *e, void *arg),
			 void *arg)
{
	d->ended_fn = fn;
	d->ended_arg = arg;
}

/* Calculate counts that programs leave out to save time: each match fired or was suppressed. */
static void count_matches(struct frbpf_rule_state *st)
{
	uint64_t larger = 0;

	st->matched = st->fired;
	for (int i = 0; i < FRBPF_CAUSE_MAX; i++)
		st->matched += st->suppressed[i];
	for (int i = 1; i < FRBPF_MAX_VALUES; i++)
		larger += st->values[i];
	/* programs count a value before the outcome: for a moment, `larger` may exceed `matched` */
	st->values[0] = larger < st->matched ? st->matched - larger : 0;
}

int detectors__rule_state(const struct detectors *d, uint32_t slot, struct frbpf_rule_state *ret)
{
	struct frbpf_rule_state st;

	if (bpf_map_lookup_elem(d->env.states_fd, &slot, &st))
		return -errno;
	count_matches(&st);
	*ret = st;
	return 0;
}

int detectors__rule_suppressed(const struct detectors *d, uint32_t slot,
			       struct frbpf_suppressed *ret)
{
	struct frbpf_rule_state st;

	if (bpf_map_lookup_elem(d->env.states_fd, &slot, &st))
		return -errno;
	*ret = st.since_last;
	ret->count = st.suppressed[FRBPF_CAUSE_COOLDOWN] + st.suppressed[FRBPF_CAUSE_RULE_CAP] +
		     st.suppressed[FRBPF_CAUSE_CAP] - st.since_last.count;
	return 0;
}

void detectors__suppress(struct detectors *d, uint32_t slot, uint64_t until)
{
	__atomic_store_n(&d->suppress_until[slot], until, __ATOMIC_RELAXED);
}

void detectors__note_writing(struct detectors *d, bool on)
{
	write_times__note(&d->writes, on, now_ns());
}

void detectors__own_helpers(struct detectors *d, const pid_t *pids, size_t n)
{
	if (n > FRBPF_MAX_HELPERS)
		n = FRBPF_MAX_HELPERS;
	for (size_t i = 0; i < n; i++)
		detectors__suppress(d, FRBPF_SUPPRESS_HELPERS + i, pids[i]);
	detectors__suppress(d, FRBPF_SUPPRESS_N_HELPERS, n);
}

void detectors__own_base(struct detectors *d, int fd)
{
	struct stat st = { 0 };

	detectors__suppress(d, FRBPF_SUPPRESS_DISK, block_device__below(fd));
	if (fstat(fd, &st))
		return;
	detectors__suppress(d, FRBPF_SUPPRESS_BASE_INODE, st.st_ino);
	detectors__suppress(d, FRBPF_SUPPRESS_BASE_DEV,
			    FRBPF_DEV(major(st.st_dev), minor(st.st_dev)));
}

void detectors__remember(struct detectors *d, const struct past *past)
{
	d->past = past;
}

void detectors__each_cooling(const struct detectors *d,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg)
{
	rate_keys__each_cooling(d->keys, fn, arg);
}

bool detectors__learnt(const struct detectors *d, uint32_t slot, struct learnt *ret)
{
	return learners__get(d->learners, slot, ret);
}

int detectors__each_learnt(const struct detectors *d,
			   void (*fn)(const struct past_learnt *p, void *arg), void *arg)
{
	return learners__each(d->learners, fn, arg);
}

uint64_t detectors__limits_learnt(const struct detectors *d)
{
	return learners__changes(d->learners);
}

void detectors__tidy(struct detectors *d)
{
	rate_keys__tidy(d->keys, now_ns());
}

int detectors__keys_fd(const struct detectors *d)
{
	return rate_keys__fd(d->keys);
}

uint64_t detectors__step_keys(struct detectors *d)
{
	return rate_keys__step(d->keys, now_ns());
}

void detectors__stats(const struct detectors *d, struct detectors_stats *ret)
{
	ret->malformed = __atomic_load_n(&d->malformed, __ATOMIC_RELAXED);
	ret->unmeasured = d->unmeasured_gone + (d->scope ? scope__missing(d->scope) : 0);
	ret->not_seen = d->not_seen_gone;
	ret->texts_unread = d->texts_unread_gone;
	ret->looks_failed = d->looks_failed_gone;
	for (size_t i = 0; i < d->n_sources; i++) {
		ret->unmeasured += __atomic_load_n(d->sources[i]->unmeasured, __ATOMIC_RELAXED);
		ret->not_seen += __atomic_load_n(d->sources[i]->not_seen, __ATOMIC_RELAXED);
		ret->texts_unread += __atomic_load_n(d->sources[i]->texts_unread, __ATOMIC_RELAXED);
		ret->looks_failed += look__failed(d->sources[i]->look);
	}
}

uint64_t detectors__not_seen(const struct detectors *d, const struct when *when)
{
	for (size_t i = 0; i < d->n_sources; i++) {
		const struct source *s = d->sources[i];

		if (s->ops->source == when->source && !strcmp(s->target ?: "", when->target ?: ""))
			return __atomic_load_n(s->not_seen, __ATOMIC_RELAXED);
	}
	return 0;
}

static void close_maps(struct source_env *e)
{
	const int fds[] = { e->states_fd,   e->triggers_fd, e->cgroups_fd,    e->cooling_fd,
			    e->counting_fd, e->suppress_fd, e->path_globs_fd, e->keyed_fd,
			    e->learned_fd,  e->sharing_fd,  e->followed_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

void detectors__free(struct detectors *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_sources; i++)
		source__free(d->sources[i]);
	free(d->sources);
	app_socket__free(d->env.app_socket);
	learners__free(d->learners);
	listener__free(d->env.listener);
	scope__free(d->scope);
	cgroups__free(d->cgroups);
	rate_keys__free(d->keys);
	ring_buffer__free(d->ring);
	if (d->suppress_until)
		munmap(d->suppress_until, SUPPRESS_SIZE);
	if (d->states)
		munmap(d->states, STATES_SIZE);
	close_maps(&d->env);
	free(d);
}

int detectors__programs(enum frbpf_source source,
			void (*fn)(const char *kind, const char *target, void *arg), void *arg)
{
	const struct source_ops *ops = source_ops__find(source);
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
			continue; /* attached to no event: the daemon runs it */
		snprintf(text, sizeof(text), "%.*s", (int)kind, section);
		fn(text, section + kind + 1, arg);
	}
	bpf_object__close(obj);
	return 0;
}

int detectors__check(const struct when *when, struct err *err)
{
	const struct source_ops *ops = source_ops__find(when->source);

	return ops && ops->check ? ops->check(when->source, when->target, err) : 0;
}
