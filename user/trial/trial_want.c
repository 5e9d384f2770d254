// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rules/constants.h"
#include "trial/trial_want.h"

#define ARG(slot) (1U << (FRBPF_FIELD_ARG + (slot)))
#define START	  "start."

void trial_rule__note(struct trial_rule *r, const char *fmt, ...)
{
	size_t len = strlen(r->notes);
	va_list ap;

	if (len + 2 >= sizeof(r->notes))
		return;
	if (len)
		r->notes[len++] = '\n';
	va_start(ap, fmt);
	vsnprintf(r->notes + len, sizeof(r->notes) - len, fmt, ap);
	va_end(ap);
}

/* Resolve disks such as "8:0". Names of disks differ between machines, so they are never known. */
static void rule_bind_devices(struct trial_rule *r)
{
	struct expr *e = &r->conf->expr;

	for (uint32_t i = 0; i < e->n_nodes; i++) {
		struct frbpf_node *n = &e->nodes[i];
		const struct expr_field_desc *f = expr_field__of(r->conf->when.source, n->field);
		unsigned int major, minor;
		int len = 0;

		if (!f || f->type != EXPR_DEVICE)
			continue;
		if (sscanf(e->strings[n->val[0]], "%u:%u%n", &major, &minor, &len) == 2 &&
		    !e->strings[n->val[0]][len]) {
			n->val[0] = FRBPF_DEV((uint64_t)major, minor);
			n->val[1] = 0;
		} else if (!(r->never_known >> n->field & 1)) {
			r->never_known |= 1U << n->field;
			trial_rule__note(r,
					 "dev: a recording has numbers of disks, not names: write "
					 "\"MAJOR:MINOR\"");
		}
	}
}

/* Bind an argument named @arg in `if` to a field of the tracepoint's format. 0 or -ENOMEM. */
static int rule_bind_arg(struct trial_rule *r, const struct rule_arg *arg, const char *event,
			 const char *name)
{
	struct expr_field_desc desc = { name,	     FRBPF_FIELD_ARG + arg->slot,
					EXPR_NUMBER, INT64_MIN,
					INT64_MAX,   .of_event = true };
	struct retrace_field field;
	struct diags ignored = { 0 };
	int err = retrace__find_field(r->trial->retrace, event, name, &field);

	if (err) {
		r->never_known |= ARG(arg->slot);
		if (err == -EINVAL)
			trial_rule__note(r, "%s: recordings of %s have no such field", arg->name,
					 event);
		return 0;
	}
	if (field.is_text)
		desc.type = EXPR_STRING;
	desc.symbols = constant__of_tracepoint(event, name);
	err = expr__bind(&r->conf->expr, arg->slot, &desc, r->conf->src, &ignored);
	diags__free(&ignored);
	if (err == -ENOMEM)
		return err;
	if (err) {
		r->never_known |= ARG(arg->slot);
		trial_rule__note(r,
				 "%s: only the running kernel can resolve what it is compared with",
				 arg->name);
	} else {
		snprintf(r->fields[arg->slot], sizeof(r->fields[0]), "%s", field.name);
		if (strcmp(field.name, name))
			trial_rule__note(r, "%s: taken for the field %s of %s", arg->name,
					 field.name, event);
	}
	return 0;
}

/* Bind the arguments; those of a span may come from its start. */
static int rule_bind_args(struct trial_rule *r, struct retrace_want *w)
{
	int err = 0;

	for (uint32_t i = 0; i < r->conf->args.n && !err; i++) {
		const struct rule_arg *arg = &r->conf->args.v[i];
		bool at_start = w->end && !strncmp(arg->name, START, strlen(START));

		err = rule_bind_arg(r, arg, w->end && !at_start ? w->end : w->start,
				    arg->name + (at_start ? strlen(START) : 0));
		w->arg_at_start[arg->slot] = at_start;
		w->args[arg->slot] = r->fields[arg->slot][0] ? r->fields[arg->slot] : NULL;
	}
	return err;
}

static bool is_of_every_event(const char *key)
{
	return !strcmp(key, "tid") || !strcmp(key, "pid") || !strcmp(key, "cpu");
}

/* Find the field of a key, and set @text to its name. False: there is none; r->cannot says so. */
static bool rule_bind_key(struct trial_rule *r, const char *event, char text[static SPAN_WORD_MAX])
{
	struct retrace_field field;
	int err = retrace__find_field(r->trial->retrace, event, text, &field);

	if (!err)
		snprintf(text, SPAN_WORD_MAX, "%s", field.name);
	else if (err == -EINVAL && !is_of_every_event(text))
		snprintf(r->cannot, sizeof(r->cannot), "recordings of %.64s have no field '%.48s'",
			 event, text);
	return !r->cannot[0];
}

static int rule_want_span(struct trial_rule *r, struct span_target *t, struct retrace_want *w)
{
	if (span_target__parse(r->conf->when.target, t))
		return -EINVAL;
	w->start = t->start;
	w->end = t->end;
	w->nested = t->nested;
	w->n_keys = t->n_keys;
	for (uint32_t i = 0; i < t->n_keys; i++) {
		if (!rule_bind_key(r, t->start, t->keys[i].start) ||
		    !rule_bind_key(r, t->end, t->keys[i].end))
			return 0;
		w->start_keys[i] = t->keys[i].start;
		w->end_keys[i] = t->keys[i].end;
	}
	return rule_bind_args(r, w);
}

/* Why no recording can tell when the rule fires; NULL: it may. */
static const char *rule_cannot(const struct when *when)
{
	if (when->learn.percentile)
		return "its threshold depends on values from before the recording";
	if (when->source == FRBPF_SOURCE_PROBE_SPAN)
		return "recordings do not contain hits of probes in programs";
	if (when->share.time && when->share.per == FRBPF_PER_CGROUP)
		return "its share is per cgroup, and recordings do not contain cgroups: try it per "
		       "process";
	return NULL;
}

int trial_rule__want(struct trial_rule *r)
{
	const struct when *when = &r->conf->when;
	struct retrace_want *w = &r->want;
	const char *cannot = rule_cannot(when);
	int err = 0;

	*w = (struct retrace_want){ .source = when->source,
				    .least = when->share.time ? 0 : when->threshold,
				    .pending = when->pending ? when->threshold : 0,
				    .fails = when->fails };
	if (when->fails)
		w->least = UINT64_MAX;
	if (cannot) {
		snprintf(r->cannot, sizeof(r->cannot), "%s", cannot);
	} else if (when->source == FRBPF_SOURCE_TRACEPOINT) {
		w->start = when->target;
		err = rule_bind_args(r, w);
	} else if (when->source == FRBPF_SOURCE_SPAN) {
		err = rule_want_span(r, &r->span, w);
	} else {
		rule_bind_devices(r);
	}
	r->is_measured = !err && !r->cannot[0];
	return err;
}
