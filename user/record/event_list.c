// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "record/event_attr.h"
#include "record/event_list.h"
#include "record/event_parse.h"
#include "record/sysctl.h"

#define DEFAULT_EVENT "cycles:P" /* as perf */
#define DEFAULT_FREQ  4000

struct resolver {
	const struct record_opts *opts;
	const struct source_text *src;
	struct tracefs *tracefs;
	bool partly; /* tracepoints are counted and left out */
	struct diags *d;
	struct sampling sampling;
	uint64_t freq_limit; /* Hz; 0: unknown */
	long stack_limit;
	struct event_list *list;
	/* the item at hand */
	const struct event_item *item;
	const struct event_spec *spec;
	struct err err;
};

/* @name and @tp are taken over, also on failure. */
static int add_event(struct resolver *r, char *name, struct tracepoint *tp)
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
	*ev = (struct event){ .name = name, .tp = tp, .span = r->item->span };
	event_attr__make(r->spec, &r->sampling, &ev->attr);
	ev->precise_max = r->spec->precise_max;
	ev->cycles_fallback =
		ev->attr.type == PERF_TYPE_HARDWARE && ev->attr.config == PERF_COUNT_HW_CPU_CYCLES;
	if (tp)
		ev->attr.config = tp->id;
	return 0;
}

static int add_tracepoint(const char *system, const char *name, void *arg)
{
	struct resolver *r = arg;
	struct tracepoint *tp;
	char *shown;
	int err = tracefs__tracepoint(r->tracefs, system, name, &r->err, &tp);

	if (err)
		return err;
	if (asprintf(&shown, "%s:%s", system, name) < 0)
		shown = NULL;
	return add_event(r, shown, tp);
}

static void free_names(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

static int unknown_tracepoint(struct resolver *r)
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
			     "unknown tracepoint '%.*s': this kernel has no system '%s'", (int)len,
			     text, r->spec->system);
	free_names(names);
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
		err = tracefs__glob(r->tracefs, spec->system, spec->event, add_tracepoint, r);
	else
		err = add_tracepoint(spec->system, spec->event, r);
	if (!err || err == -ENOMEM)
		return err;
	if (err == -ENOENT && !glob)
		return unknown_tracepoint(r);
	if (err == -ENOENT && !r->err.msg[0])
		return diags__error(r->d, r->src, r->item->span,
				    "no tracepoint of this kernel matches '%s:%s'", spec->system,
				    spec->event);
	return diags__error(r->d, r->src, r->item->span, "%s",
			    r->err.msg[0] ? r->err.msg : strerror(-err));
}

/* The kernel refuses what is above its limits, when the event is opened. */
static int check_limits(struct resolver *r, struct event_spec *spec)
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

static int resolve_item(struct resolver *r, const struct event_item *item)
{
	struct event_spec spec;
	int err = event_spec__parse(item, r->src, r->d, &spec);

	if (!err)
		err = check_limits(r, &spec);
	if (!err) {
		r->item = item;
		r->spec = &spec;
		err = spec.system ? resolve_tracepoints(r)
				  : add_event(r, TAKE_PTR(spec.name), NULL);
	}
	event_spec__free(&spec);
	return err;
}

/* The options of the line within the limits of this kernel, as perf does it. */
static int set_sampling(struct resolver *r)
{
	const struct record_opts *o = r->opts;
	struct sampling *s = &r->sampling;

	s->given = o->freq || o->freq_max || o->period;
	s->period = o->period;
	s->callchain = o->callchain;
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
	diags__warn(r->d, r->src, o->freq ? o->freq_span : o->span,
		    "%s%llu Hz is above this kernel's limit: using %llu Hz "
		    "(kernel.perf_event_max_sample_rate)",
		    o->freq ? "" : "the default of ", (unsigned long long)s->freq,
		    (unsigned long long)r->freq_limit);
	s->freq = r->freq_limit;
	return 0;
}

static int resolve(const struct record_opts *opts, const struct source_text *src,
		   struct tracefs *tracefs, bool partly, struct diags *d, struct event_list **ret)
{
	struct event_item cycles = { (char *)DEFAULT_EVENT, opts->span };
	const struct event_item *items = opts->n_events ? opts->events : &cycles;
	size_t n = opts->n_events ? opts->n_events : 1, errors = d->n_errors;
	struct resolver r = {
		.opts = opts, .src = src, .tracefs = tracefs, .partly = partly, .d = d
	};
	long freq_limit = sysctl__kernel("perf_event_max_sample_rate", 0);
	int err;

	r.freq_limit = freq_limit > 0 ? freq_limit : 0;
	r.stack_limit = sysctl__kernel("perf_event_max_stack", UINT16_MAX);
	r.list = calloc(1, sizeof(*r.list));
	if (!r.list)
		return -ENOMEM;
	err = set_sampling(&r);
	for (size_t i = 0; i < n && err != -ENOMEM; i++)
		err = resolve_item(&r, &items[i]);
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
	return resolve(opts, src, tracefs, false, d, ret);
}

int event_list__resolve_partly(const struct record_opts *opts, const struct source_text *src,
			       struct diags *d, struct event_list **ret)
{
	return resolve(opts, src, NULL, true, d, ret);
}

/* Of a sample whose every member but the callchain has 8 bytes. */
static uint64_t sample_bytes(const struct perf_event_attr *a, bool longest)
{
	uint64_t bytes = sizeof(struct perf_event_header);
	long frames;

	bytes += 8 * __builtin_popcountll(a->sample_type & ~(__u64)PERF_SAMPLE_CALLCHAIN);
	if (!(a->sample_type & PERF_SAMPLE_CALLCHAIN))
		return bytes;
	bytes += 8; /* their number */
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

		if (!a->freq || a->sample_type & PERF_SAMPLE_RAW)
			return false;
		most += a->sample_freq * sample_bytes(a, true);
		least += a->sample_freq * sample_bytes(a, false);
	}
	*ret_most = most;
	*ret_least = least;
	return true;
}

void event_list__free(struct event_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		tracepoint__free(l->v[i].tp);
	}
	free(l->v);
	free(l);
}
