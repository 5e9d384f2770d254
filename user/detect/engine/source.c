// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/load_error.h"
#include "detect/engine/look.h"
#include "detect/engine/source.h"

/* A source with targets is loaded once for each, usually for few rules. */
#define FEW_RULES      16
#define ITERATOR_BYTES (16 << 10) /* read at a time */

static int set_map_entries(struct bpf_object *obj, const char *name, uint32_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	return map ? bpf_map__set_max_entries(map, entries) : -ENOENT;
}

int source__prepare(struct source *s, struct bpf_object *obj, const struct source_env *env)
{
	const struct {
		const char *name;
		int fd;
	} shared[] = {
		{ "states", env->states_fd },	      { "triggers", env->triggers_fd },
		{ "cgroups", env->cgroups_fd },	      { "cooling", env->cooling_fd },
		{ "counting", env->counting_fd },     { "suppress_times", env->suppress_fd },
		{ "keyed", env->keyed_fd },	      { "path_globs", env->path_globs_fd },
		{ "learned", env->learned_fd },	      { "sharing", env->sharing_fd },
		{ "followed", env->followed_fd },     { "scope", env->scope_fd },
		{ "scope_keys", env->scope_keys_fd },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, shared[i].name);
		int err;

		if (shared[i].fd < 0) /* no program uses the map */
			continue;
		err = map ? bpf_map__reuse_fd(map, shared[i].fd) : -ENOENT;
		if (err)
			return err;
	}
	return set_map_entries(obj, "rules", 2 * s->max_rules)
		       ?: set_map_entries(obj, "globs", 2 * s->max_globs);
}

/* Read the iterator to its end, or until @ret, which may be NULL, has @max bytes. */
static int read_iterator(int fd, struct buf *ret, size_t max)
{
	char part[ITERATOR_BYTES];
	ssize_t n;
	int err = 0;

	while (!err && (!ret || ret->len < max)) {
		n = read(fd, part, sizeof(part));
		if (!n)
			break;
		if (n < 0)
			err = errno == EAGAIN || errno == EINTR ? 0 : -errno;
		else if (ret)
			err = buf__add(ret, part, n);
	}
	return err;
}

int source__iterate_into(struct bpf_program *prog, struct buf *ret, size_t max)
{
	struct bpf_link *link;
	_cleanup_close_ int fd = -1;
	int err;

	link = bpf_program__attach_iter(prog, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : read_iterator(fd, ret, max);
	bpf_link__destroy(link);
	return err;
}

int source__iterate(struct bpf_program *prog)
{
	return source__iterate_into(prog, NULL, 0);
}

int source__kernel_has(const char *tracepoint, bool *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	char type[128];

	if (!btf)
		return -errno;
	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	*ret = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
	btf__free(btf);
	return 0;
}

int source__attach(const struct source_link *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!bpf_program__autoload(order[i].prog))
			continue;
		*order[i].link = bpf_program__attach_trace(order[i].prog);
		if (!*order[i].link)
			return -errno;
	}
	return 0;
}

int source__attach_waits(struct bpf_program *newtask, struct bpf_link **newtask_link,
			 struct bpf_program *tasks, const struct source_link *order, size_t n)
{
	int err;

	*newtask_link = bpf_program__attach_trace(newtask);
	if (!*newtask_link)
		return -errno;
	err = source__iterate(tasks);
	return err ?: source__attach(order, n);
}

/* Tell the programs our own ids: we are never a subject. */
static int learn_self(struct source *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(s->learn_self_fd, &opts);
}

static int load_source(struct source *s, const struct source_env *env)
{
	int err = s->ops->load(s, env);

	err = err ?: learn_self(s);
	if (err)
		return err;
	/* Attached without a rule: nothing fires before the first flip. */
	for (int i = 0; i < 2; i++)
		s->control->bank[i].min_threshold = s->control->bank[i].min_pending =
			s->control->bank[i].min_silence = UINT64_MAX;
	s->control->scope = env->scope;
	s->control->scope_cgroup = env->scope_cgroup;
	return s->ops->attach(s);
}

/* Room for some more rules than there are now. */
static uint32_t rule_bank_room(uint32_t n, uint32_t max)
{
	uint32_t room = FEW_RULES;

	while (room < n)
		room *= 2;
	return room < max ? room : max;
}

bool source__fits(const struct source *s, const struct rule_table *table)
{
	return table->bank.n_rules <= s->max_rules && table->n_globs <= s->max_globs;
}

int source__open(const struct source_ops *ops, const char *target, const struct source_env *env,
		 const struct rule_table *table, struct source **ret, struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct err words = { "" };
	struct load_log log;
	int code;

	if (!s)
		return err_set(err, -ENOMEM, "%s: out of memory", ops->name);
	s->ops = ops;
	s->err = &words;
	s->listener = env->listener;
	s->max_rules = FRBPF_MAX_RULES;
	s->max_globs = FRBPF_MAX_GLOBS;
	if (target) {
		s->target = strdup(target);
		s->max_rules = rule_bank_room(table->bank.n_rules, FRBPF_MAX_RULES);
		s->max_globs = rule_bank_room(table->n_globs, FRBPF_MAX_GLOBS);
	}
	load_log__begin(&log);
	code = target && !s->target ? -ENOMEM : load_source(s, env);
	load_log__end();
	if (code) {
		source__free(s);
		if (words.msg[0])
			err_set(err, code, "%s", words.msg);
		else
			load_error__explain(err, code, &log);
		return err_prefix(err, code, "%s%s%s: ", ops->name, target ? ":" : "",
				  target ?: "");
	}
	s->err = NULL;
	*ret = s;
	return 0;
}

static uint32_t bank_in_force(const struct source *s)
{
	return s->control->bank_flips & 1;
}

static int write_bank(struct source *s, const struct rule_table *table, struct err *err)
{
	uint32_t idle = !bank_in_force(s);

	for (uint32_t i = 0; i < table->bank.n_rules; i++) {
		uint32_t key = 2 * i + idle;

		if (bpf_map_update_elem(s->rules_fd, &key, &table->rules[i], BPF_ANY)) {
			int code = -errno;

			return err_set(err, code, "%s: cannot write rule %u: %s", s->ops->name, i,
				       strerror(-code));
		}
	}
	for (uint32_t i = 0; i < table->n_globs; i++) {
		uint32_t key = 2 * i + idle;

		if (bpf_map_update_elem(s->globs_fd, &key, &table->globs[i], BPF_ANY)) {
			int code = -errno;

			return err_set(err, code, "%s: cannot write the pattern %s: %s",
				       s->ops->name, table->patterns[i], strerror(-code));
		}
	}
	s->control->bank[idle] = table->bank;
	return s->ops->write ? s->ops->write(s, idle, table, err) : 0;
}

int source__write(struct source *s, const struct rule_table *table, struct err *err)
{
	int code = 0;

	if (table->bank.min_pending != UINT64_MAX && !s->ops->look)
		code = -EOPNOTSUPP;
	else if (table->bank.min_pending != UINT64_MAX || table->bank.min_silence != UINT64_MAX)
		code = look__prepare(s);
	if (code)
		return err_set(err, code, "%s: cannot check what is pending or absent: %s",
			       s->ops->name, strerror(-code));
	look__pause(s->look);
	code = write_bank(s, table, err);
	look__resume(s->look);
	return code;
}

void source__flip(struct source *s)
{
	uint32_t now = bank_in_force(s);

	look__pause(s->look);

	if (s->ops->change_keys)
		s->ops->change_keys(s, s->control->bank[now].watched_keys,
				    s->control->bank[!now].watched_keys);
	/* Release: a program that reads the new count also sees the rules in that bank. */
	__atomic_add_fetch(&s->control->bank_flips, 1, __ATOMIC_SEQ_CST);
	look__resume(s->look);
}

void source__free(struct source *s)
{
	if (!s)
		return;
	look__free(s->look);
	s->ops->free(s);
	free(s->target);
	free(s);
}
