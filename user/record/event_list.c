// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "record/event_attr.h"
#include "record/event_list.h"
#include "record/event_parse.h"
#include "record/filter_check.h"
#include "record/offcpu_event.h"
#include "record/privilege.h"

#define DEFAULT_EVENT "cycles:P" /* as perf */
#define DEFAULT_FREQ  4000

struct resolver {
	const struct record_opts *opts;
	const struct source_text *src;
	struct tracefs *tracefs;
	bool partly; /* tracepoints are left out and counted */
	struct diags *d;
	struct sampling sampling;
	uint64_t freq_limit; /* Hz; 0: unknown */
	long stack_limit;
	struct event_list *list;
	size_t n_of_cgroups; /* number of events before -G */
	/* the item at hand */
	const char *modifiers; /* of the item's group, or "" */
	const struct event_item *item;
	const struct event_spec *spec;
	const struct event_item *bad_filter; /* its error was reported */
	struct err err;
};

/* A filter that drops events of the recorder's threads, whose names begin like this. */
#define NOT_OURS "!(COMM ~ \"frbpf*\" || COMM ~ \"dump-*\")"

static int set_filter(struct resolver *r, struct event *ev)
{
	const struct event_item *item = r->item;
	struct err why;
	int n = 0;

	if (!item->filter && !item->exclude_perf)
		return 0;
	if (!ev->tp)
		return diags__error(r->d, r->src, item->filter ? item->filter_span : item->span,
				    "%s is for tracepoints, and '%s' is not one%s",
				    item->filter ? "a filter" : "--exclude-perf", ev->name,
				    item->filter ? ": filter its samples when you read the file"
						 : "");
	if (item->filter && filter_check__run(ev->tp, item->filter, &why)) {
		r->bad_filter = item;
		return diags__error(r->d, r->src, item->filter_span, "%s", why.msg);
	}
	if (item->filter && item->exclude_perf)
		n = asprintf(&ev->filter, "(%s) && " NOT_OURS, item->filter);
	else
		n = asprintf(&ev->filter, "%s", item->filter ?: NOT_OURS);
	if (n < 0)
		ev->filter = NULL;
	return n < 0 ? -ENOMEM : 0;
}

/* Owns @name and @tp, also on failure. */
static int add_resolved_event(struct resolver *r, char *name, struct tracepoint *tp)
{
	struct event_list *l = r->list;
	struct event *v = NULL, *ev;

	if (name)
		v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v) {
		free(name);
		tracepoint__free(tp);
		return -ENOMEM;
	}
	l->v = v;
	ev = &v[l->n++];
	*ev = (struct event){
		.name = name, .tp = tp, .span = r->item->span, .leader = l->n - 1, .cgroup_fd = -1
	};
	event_attr__make(r->spec, &r->sampling, &ev->attr);
	ev->precise_max = r->spec->precise_max;
	ev->cycles_fallback =
		ev->attr.type == PERF_TYPE_HARDWARE && ev->attr.config == PERF_COUNT_HW_CPU_CYCLES;
	ev->weak = r->spec->weak;
	ev->own_rate = r->spec->freq || r->spec->period;
	if (tp)
		ev->attr.config = tp->id;
	return set_filter(r, ev);
}

static int add_matching_tracepoint(const char *system, const char *name, void *arg)
{
	struct resolver *r = arg;
	struct tracepoint *tp;
	char *shown;
	int err = tracefs__tracepoint(r->tracefs, system, name, &r->err, &tp);

	if (err)
		return err;
	if (asprintf(&shown, "%s:%s", system, name) < 0)
		shown = NULL;
	return add_resolved_event(r, shown, tp);
}

static void free_event_names(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

/*
 * perf probe -x PROGRAM adds events to system probe_PROGRAM, and those of static probes to
 * sdt_PROVIDER.
 */
static bool is_of_probes(const char *system)
{
	return !strcmp(system, "probe") || !strncmp(system, "probe_", 6) ||
	       !strncmp(system, "sdt_", 4);
}

static int unknown_event_tracepoint(struct resolver *r)
{
	const char *near = NULL, *text = r->item->text;
	size_t system_len = strlen(r->spec->system), len = system_len + 1 + strlen(r->spec->event);
	bool system_known = false;
	char **names = NULL;

	if (!tracefs__list(r->tracefs, &names))
		near = nearest_word(text, len, (const char *const *)names);
	for (char **n = names; n && *n && !system_known; n++)
		system_known = !strncmp(*n, text, system_len + 1);
	if (near)
		diags__error(r->d, r->src, r->item->span,
			     "unknown tracepoint '%.*s' (did you mean '%s'?)", (int)len, text,
			     near);
	else if (system_known)
		diags__error(r->d, r->src, r->spec->event_span,
			     "unknown tracepoint '%.*s': `frbpf events '%s:*'` lists those of this "
			     "system",
			     (int)len, text, r->spec->system);
	else
		diags__error(r->d, r->src, r->spec->system_span,
			     "unknown tracepoint '%.*s': this kernel has no system '%s'%s",
			     (int)len, text, r->spec->system,
			     is_of_probes(r->spec->system)
				     ? ": make the probe first, with `perf probe`"
				     : "");
	free_event_names(names);
	return -EINVAL;
}

static int resolve_tracepoints(struct resolver *r)
{
	const struct event_spec *spec = r->spec;
	bool glob = strpbrk(spec->system, "*?[") || strpbrk(spec->event, "*?[");
	int err;

	if (r->partly) {
		r->list->left_out++;
		return 0;
	}
	if (!r->tracefs)
		return diags__error(r->d, r->src, r->item->span,
				    "tracepoints need tracefs: run as root, or mount it: "
				    "mount -t tracefs nodev /sys/kernel/tracing");
	r->err.msg[0] = '\0';
	if (glob)
		err = tracefs__glob(r->tracefs, spec->system, spec->event, add_matching_tracepoint,
				    r);
	else
		err = add_matching_tracepoint(spec->system, spec->event, r);
	if (!err || err == -ENOMEM || r->bad_filter == r->item)
		return err;
	if (err == -ENOENT && !glob)
		return unknown_event_tracepoint(r);
	if (err == -ENOENT && !r->err.msg[0])
		return diags__error(r->d, r->src, r->item->span,
				    "no tracepoint of this kernel matches '%s:%s'", spec->system,
				    spec->event);
	return diags__error(r->d, r->src, r->item->span, "%s",
			    r->err.msg[0] ? r->err.msg : strerror(-err));
}

/* The kernel rejects values above its limits only when the event is opened. */
static int check_event_limits(struct resolver *r, struct event_spec *spec)
{
	if (spec->max_stack > r->stack_limit)
		return diags__error(r->d, r->src, spec->max_stack_span,
				    "a stack depth of %u is above this kernel's limit: lower it to "
				    "%ld, or raise "
				    "kernel.perf_event_max_stack",
				    spec->max_stack, r->stack_limit);
	if (r->freq_limit && spec->freq > r->freq_limit) {
		diags__warn(r->d, r->src, spec->freq_span,
			    "%llu Hz is above this kernel's limit: using %llu Hz "
			    "(kernel.perf_event_max_sample_rate)",
			    (unsigned long long)spec->freq, (unsigned long long)r->freq_limit);
		spec->freq = r->freq_limit;
	}
	return 0;
}

static int resolve_event(struct resolver *r, const struct event_item *item, bool *ret_read)
{
	struct event_spec spec;
	int err = event_spec__parse(item, r->modifiers, r->src, r->d, &spec);

	err = err ?: check_event_limits(r, &spec);
	if (!err) {
		r->item = item;
		r->spec = &spec;
		err = spec.system ? resolve_tracepoints(r)
				  : add_resolved_event(r, TAKE_PTR(spec.name), NULL);
		*ret_read = spec.read_group;
	}
	event_spec__free(&spec);
	return err;
}

/*
 * Make one group of the events from @first on. @read: samples contain counts, even if there is only
 * one event.
 */
static void make_group(struct resolver *r, size_t first, bool read)
{
	struct event *v = r->list->v + first;
	size_t n = r->list->n - first;

	for (size_t i = 1; i < n; i++) {
		v[i].leader = first;
		v[i].attr.disabled = 0;
	}
	if (n && read)
		event_attr__read_count(&v->attr, n > 1);
	for (size_t i = 1; read && i < n; i++)
		event_attr__follow(&v[i].attr, &v->attr, v[i].own_rate);
}

static int resolve_group(struct resolver *r, const struct event_item *item)
{
	size_t first = r->list->n;
	bool read = false, of_first = false;
	struct event_group g;
	int err = event_group__parse(item, r->src, r->d, &g);

	r->modifiers = g.modifiers;
	for (size_t i = 0; i < g.n && !err; i++) {
		err = resolve_event(r, &g.items[i], &read);
		of_first = i ? of_first : read;
	}
	r->modifiers = "";
	if (!err && r->list->n > first) {
		make_group(r, first, of_first);
		r->list->v[first].group_name = TAKE_PTR(g.name);
	}
	event_group__free(&g);
	return err;
}

static int resolve_item(struct resolver *r, const struct event_item *item)
{
	size_t first = r->list->n;
	bool read = false;
	int err;

	if (event_group__is(item))
		return resolve_group(r, item);
	err = resolve_event(r, item, &read);
	for (size_t i = first; !err && read && i < r->list->n; i++)
		event_attr__read_count(&r->list->v[i].attr, false);
	return err;
}

/*
 * Set the cgroups of -G. As in perf, a single cgroup is for all events before -G; of several, the
 * n-th is for the n-th event.
 */
static int set_event_cgroups(struct resolver *r)
{
	const struct option_items *cgroups = &r->opts->cgroups;
	struct event_list *l = r->list;

	if (cgroups->n > r->n_of_cgroups && !l->left_out)
		return diags__error(r->d, r->src, cgroups->v[r->n_of_cgroups].span,
				    "-G names more cgroups than the %zu events before it",
				    r->n_of_cgroups);
	for (size_t i = 0; cgroups->n && i < r->n_of_cgroups; i++) {
		const char *name = cgroups->v[cgroups->n == 1 ? 0 : i].text;

		if (!*name)
			continue;
		l->v[i].cgroup = strdup(name);
		if (!l->v[i].cgroup)
			return -ENOMEM;
		if (cgroups->n > 1 && i + 1 == cgroups->n)
			break;
	}
	return 0;
}

/* Apply the options of the line within the limits of this kernel, as perf does. */
static int set_list_sampling(struct resolver *r)
{
	const struct record_opts *o = r->opts;
	struct sampling *s = &r->sampling;

	s->given = o->freq || o->freq_max || o->period;
	s->period = o->period;
	s->opts = o;
	s->max_stack = o->max_stack < r->stack_limit ? o->max_stack : 0;
	if (o->period)
		return 0;
	s->freq = o->freq_max ? r->freq_limit : o->freq ? o->freq : DEFAULT_FREQ;
	if (!s->freq)
		return diags__error(
			r->d, r->src, o->freq_span,
			"-F max: cannot read /proc/sys/kernel/perf_event_max_sample_rate: "
			"write a number");
	if (!r->freq_limit || s->freq <= r->freq_limit)
		return 0;
	if (o->strict_freq)
		return diags__error(r->d, r->src, o->freq ? o->freq_span : o->span,
				    "%llu Hz is above this kernel's limit of %llu Hz, and "
				    "--strict-freq is given: write a lower -F",
				    (unsigned long long)s->freq, (unsigned long long)r->freq_limit);
	diags__warn(r->d, r->src, o->freq ? o->freq_span : o->span,
		    "%s%llu Hz is above this kernel's limit: using %llu Hz "
		    "(kernel.perf_event_max_sample_rate)",
		    o->freq ? "" : "the default of ", (unsigned long long)s->freq,
		    (unsigned long long)r->freq_limit);
	s->freq = r->freq_limit;
	return 0;
}

/* Add the event of --off-cpu: last, in no group, in no cgroup. A BPF program chooses its tasks. */
static int add_off_cpu(struct resolver *r)
{
	const struct record_opts *o = r->opts;
	const struct event_item item = { .text = (char *)OFF_CPU_EVENT, .span = o->span };
	const struct event_spec spec = { .attr = { .type = PERF_TYPE_SOFTWARE,
						   .config = PERF_COUNT_SW_BPF_OUTPUT } };
	struct off_cpu_opts made;
	struct event *ev;
	int err;

	if (!o->off_cpu)
		return 0;
	r->item = &item;
	r->spec = &spec;
	err = add_resolved_event(r, strdup(OFF_CPU_EVENT), NULL);
	if (err)
		return err;
	ev = &r->list->v[r->list->n - 1];
	ev->off_cpu = true;
	offcpu_event__init_attr(o, &ev->attr, &made);
	made.sampled = r->list->off_cpu.sampled;
	made.sampled_event = r->list->off_cpu.sampled_event;
	r->list->off_cpu = made;
	return 0;
}

/* Find the event offcpu-time of `run = evidence`, which records samples of waits. */
static void take_off_cpu_samples(struct resolver *r)
{
	struct event_list *l = r->list;

	for (size_t i = 0; i < l->n; i++) {
		struct event *ev = &l->v[i];

		if (ev->attr.type != PERF_TYPE_SOFTWARE ||
		    ev->attr.config != PERF_COUNT_SW_BPF_OUTPUT ||
		    strcmp(ev->name, OFF_CPU_EVENT) || ev->leader != i)
			continue;
		ev->off_cpu = true;
		offcpu_event__init_attr(r->opts, &ev->attr, &l->off_cpu);
		l->off_cpu = (struct off_cpu_opts){ .sampled = true, .sampled_event = i };
	}
}

static int resolve_items(struct resolver *r)
{
	const struct record_opts *o = r->opts;
	struct event_item cycles = { .text = (char *)DEFAULT_EVENT, .span = o->span };
	const struct event_item *items = o->n_events ? o->events : &cycles;
	size_t n = o->n_events ? o->n_events : 1;
	int err = set_list_sampling(r);

	for (size_t i = 0; i < n && err != -ENOMEM; i++) {
		err = resolve_item(r, &items[i]);
		if (i + 1 == o->n_before_cgroups)
			r->n_of_cgroups = r->list->n;
	}
	if (err != -ENOMEM)
		err = set_event_cgroups(r);
	r->list->data_maps = o->sample_addr;
	if (o->group && r->list->n)
		make_group(r, 0, false);
	if (o->switch_events && r->list->n)
		r->list->v[0].attr.context_switch = 1;
	if (err == -ENOMEM)
		return err;
	take_off_cpu_samples(r);
	return add_off_cpu(r);
}

static int resolve_events(const struct record_opts *opts, const struct source_text *src,
			  struct tracefs *tracefs, bool partly, struct diags *d,
			  struct event_list **ret)
{
	size_t errors = d->n_errors;
	struct resolver r = { .opts = opts,
			      .src = src,
			      .tracefs = tracefs,
			      .partly = partly,
			      .d = d,
			      .modifiers = "" };
	long freq_limit = sysctl__kernel("perf_event_max_sample_rate", 0);
	int err;

	r.freq_limit = freq_limit > 0 ? freq_limit : 0;
	r.stack_limit = sysctl__kernel("perf_event_max_stack", UINT16_MAX);
	r.list = calloc(1, sizeof(*r.list));
	if (!r.list)
		return -ENOMEM;
	err = resolve_items(&r);
	if (err != -ENOMEM)
		err = d->out_of_memory ? -ENOMEM : d->n_errors > errors ? -EINVAL : 0;
	if (err) {
		event_list__free(r.list);
		return err;
	}
	*ret = r.list;
	return 0;
}

int event_list__resolve(const struct record_opts *opts, const struct source_text *src,
			struct tracefs *tracefs, struct diags *d, struct event_list **ret)
{
	return resolve_events(opts, src, tracefs, false, d, ret);
}

int event_list__resolve_partly(const struct record_opts *opts, const struct source_text *src,
			       struct diags *d, struct event_list **ret)
{
	return resolve_events(opts, src, NULL, true, d, ret);
}

void event_list__dissolve(struct event_list *l, size_t leader)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].leader != leader)
			continue;
		l->v[i].leader = i;
		l->v[i].attr.disabled = 1;
	}
}

/* fields of a sample that are not single words of 8 bytes */
#define NOT_WORDS                                                                                  \
	(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |   \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_STACK_USER)

/* fields of unknown size */
#define NOT_KNOWN (PERF_SAMPLE_RAW | PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK)

static uint64_t register_bytes(uint64_t sample_type, uint64_t bit, uint64_t mask)
{
	return sample_type & bit ? 8 * (1 + __builtin_popcountll(mask)) : 0;
}

static uint64_t sample_bytes(const struct perf_event_attr *a, bool longest)
{
	uint64_t bytes = sizeof(struct perf_event_header), type = a->sample_type;
	long frames;

	bytes += 8 * __builtin_popcountll(type & ~(__u64)NOT_WORDS);
	bytes += register_bytes(type, PERF_SAMPLE_REGS_INTR, a->sample_regs_intr);
	bytes += type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER) ? 8 : 0;
	if (longest) {
		bytes += register_bytes(type, PERF_SAMPLE_REGS_USER, a->sample_regs_user);
		bytes += type & PERF_SAMPLE_STACK_USER ? a->sample_stack_user + 8 : 0;
	}
	if (!(type & PERF_SAMPLE_CALLCHAIN))
		return bytes;
	bytes += 8; /* number of frames */
	if (!longest)
		return bytes;
	frames = a->sample_max_stack ?: sysctl__kernel("perf_event_max_stack", UINT16_MAX);
	return bytes + 8 * (frames + sysctl__kernel("perf_event_max_contexts_per_stack", 8));
}

bool event_list__rate(const struct event_list *l, uint64_t *ret_most, uint64_t *ret_least)
{
	uint64_t most = 0, least = 0;

	if (l->left_out || !l->n)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		const struct perf_event_attr *a = &l->v[i].attr;

		if (!a->freq || !a->sample_freq || a->sample_type & NOT_KNOWN)
			return false;
		most += a->sample_freq * sample_bytes(a, true);
		least += a->sample_freq * sample_bytes(a, false);
	}
	*ret_most = most;
	*ret_least = least;
	return true;
}

void event_list__set_plain(struct event_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->v[i].attr.write_backward = 0;
	l->plain = true;
}

void event_list__free(struct event_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].group_name);
		free(l->v[i].filter);
		free(l->v[i].cgroup);
		if (l->v[i].cgroup_fd >= 0)
			close(l->v[i].cgroup_fd);
		tracepoint__free(l->v[i].tp);
	}
	free(l->v);
	free(l);
}
