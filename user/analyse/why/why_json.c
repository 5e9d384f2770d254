// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/why/why_text.h"
#include "common/json_text.h"

#define NAME_MAX_JSON 4096 /* bytes of a function name */

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s, NAME_MAX_JSON) : json_null();
}

static json_t *task_json(const struct why *w, uint32_t tid)
{
	const struct sched_task *t = sched_events__task(why__events(w), tid);

	if (!tid)
		return json_null();
	return json_pack("{s:I, s:I, s:o}", "tid", (json_int_t)(t ? t->own_tid : tid), "pid",
			 (json_int_t)(t ? t->pid : 0), "comm",
			 json_text(t ? t->comm : "", SCHED_COMM - 1));
}

static int set_member(json_t *o, const char *key, json_t *v)
{
	return json_object_set_new(o, key, v);
}

static const char *type_word(enum why_type t)
{
	static const char *const words[] = {
		[WHY_ALL] = "all",
		[WHY_RAN] = "ran",
		[WHY_INTERRUPTED] = "interrupted",
		[WHY_QUEUED] = "queued",
		[WHY_RECLAIM] = "reclaim",
		[WHY_SPUN] = "spun",
		[WHY_THROTTLED] = "throttled",
		[WHY_WAITED] = "waited",
		[WHY_SERVED] = "served",
		[WHY_HELD] = "held",
		[WHY_UNKNOWN] = "unknown",
	};

	return words[t];
}

static json_t *functions_json(const struct why_node *n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < WHY_FUNCTIONS && n->functions[i].name; i++)
		json_array_append_new(a, json_pack("{s:o, s:o, s:I}", "name",
						   text_or_null(n->functions[i].name), "call",
						   text_or_null(n->functions[i].call), "samples",
						   (json_int_t)n->functions[i].samples));
	return a;
}

/* For whom a thread of the kernel works */
static int set_behalf(json_t *o, const struct why *w, const struct why_key *k)
{
	return k->sender ? set_member(o, "on_behalf_of", task_json(w, k->sender)) : 0;
}

/* Set the members that only nodes of this type have. */
static int set_details(json_t *o, const struct why *w, const struct why_node *n)
{
	const struct why_key *k = &n->key;

	switch (k->type) {
	case WHY_RAN:
		return set_member(o, "samples", json_integer(n->samples))
			       ?: set_member(o, "functions", functions_json(n)) ?:
		       set_behalf(o, w, k);
	case WHY_INTERRUPTED:
		return set_member(o, k->soft ? "softirq" : "irq", json_integer(k->number));
	case WHY_QUEUED:
		return set_member(o, "behind", task_json(w, k->who)) ?: set_member(o, "prio", json_integer(k->prio)) ?:
		       set_member(o, "cpu", json_integer(k->number)) ?:
		       set_member(o, "idle_elsewhere_ns", json_integer(n->idle_ns)) ?:
		       (k->soft ? set_member(o, "left_cpu", json_integer(k->soft - 1)) : 0) ?:
		       (n->softirq ? set_member(o, "softirq", json_integer(n->softirq - 1)) : 0) ?:
		       set_behalf(o, w, k);
	case WHY_WAITED:
		return set_member(o, "for", json_string(wait_kind__word(k->kind))) ?:
		       set_member(o, "function", text_or_null(k->function)) ?:
		       set_member(o, "call", text_or_null(k->call)) ?:
		       set_member(o, "woken_by", json_string(wake_context__word(k->context))) ?:
		       set_member(o, "waker", task_json(w, k->who)) ?:
		       set_member(o, "stopped_by",
				  task_json(w, k->kind == WAIT_STOPPED ? k->sender : 0)) ?:
		       (k->number ? set_member(o, "lock", text_or_null(lock_kind__word(k->number))) ?:
					    set_member(o, "owner", task_json(w, k->sender))
				  : 0) ?:
		       (n->dev ? set_member(o, "request",
				     json_pack("{s:I, s:I, s:I, s:I}", "dev", (json_int_t)n->dev,
					       "sector", (json_int_t)n->sector, "queued_ns",
					       (json_int_t)n->queued_ns, "device_ns",
					       (json_int_t)n->device_ns))
			       : 0);
	case WHY_RECLAIM:
		return set_member(o, "of_cgroup", json_boolean(k->soft));
	case WHY_SPUN:
		return set_member(o, "for", json_string(wait_kind__word(k->kind))) ?:
		       set_member(o, "function", text_or_null(k->function)) ?:
		       set_member(o, "call", text_or_null(k->call)) ?:
		       set_member(o, "lock", text_or_null(lock_kind__word(k->number))) ?:
		       set_member(o, "owner", task_json(w, k->who));
	case WHY_SERVED:
		return set_member(o, "dev", json_integer(k->number))
			       ?: set_member(o, "sender", task_json(w, k->who));
	case WHY_HELD:
		return set_member(o, "dev", json_integer(k->number));
	case WHY_UNKNOWN:
		return set_member(o, "missing", json_string(why_missing__word(k->missing)));
	default:
		return 0;
	}
}

/* NULL: out of memory. */
static json_t *node_json(const struct why *w, const struct why_node *n)
{
	json_t *o = json_pack("{s:s, s:o, s:I, s:I, s:I}", "type", type_word(n->key.type), "task",
			      task_json(w, n->key.tid), "ns", (json_int_t)n->ns, "times",
			      (json_int_t)n->times, "first_ns", (json_int_t)n->first);
	json_t *children = json_array(), *child;

	for (const struct why_node *c = n->child; c && o; c = c->next) {
		child = node_json(w, c);
		if (!child || json_array_append_new(children, child)) {
			json_decref(o);
			o = NULL;
		}
	}
	if (o && !set_details(o, w, n) && !json_object_set(o, "causes", children)) {
		json_decref(children);
		return o;
	}
	json_decref(children);
	json_decref(o);
	return NULL;
}

json_t *why_json__verdict(const struct why_verdict *v)
{
	json_t *culprit =
		v->culprit ? json_pack("{s:I, s:I, s:s}", "tid", (json_int_t)v->culprit, "pid",
				       (json_int_t)v->culprit_pid, "comm", v->culprit_comm)
			   : json_null();

	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:I}", "verdict", v->text.data,
			 "cause", why_cause__word(v->cause), "culprit", culprit, "chain",
			 v->chain.data, "missing", why_missing__word(v->missing), "ns",
			 (json_int_t)v->ns, "of_ns", (json_int_t)v->of_ns, "unknown_ns",
			 (json_int_t)v->unknown_ns);
}

json_t *why_json__new(const struct why *w, const struct why_verdict *v)
{
	json_t *o = why_json__verdict(v);

	if (o && why__call(w)[0] && set_member(o, "call", json_text(why__call(w), SIZE_MAX))) {
		json_decref(o);
		return NULL;
	}
	if (o && !set_member(o, "schema", json_integer(1)) &&
	    !set_member(o, "tree", node_json(w, why__root(w))))
		return o;
	json_decref(o);
	return NULL;
}
