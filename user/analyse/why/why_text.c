// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "analyse/why/why_phrase.h"
#include "analyse/why/why_text.h"
#include "common/json_text.h"
#include "common/printable.h"

struct tree_text {
	struct buf *b;
	const struct why *w;
	why_duration_fn duration;
	uint64_t ns;	/* of the root */
	uint64_t least; /* of a node that is shown */
	size_t columns; /* 0: lines are not wrapped */
	size_t lines, most, left_out;
	bool verbose; /* also points in time, and all functions */
};

static size_t nodes_below(const struct why_node *n)
{
	size_t sum = 0;

	for (const struct why_node *c = n->child; c; c = c->next)
		sum += 1 + nodes_below(c);
	return sum;
}

/* Lines of a screen that @len bytes take */
static size_t wrapped_lines(size_t len, size_t columns)
{
	return columns && len > columns ? (len + columns - 1) / columns : 1;
}

/* Add when @n began, as perf script prints a time. */
static int add_first_time(struct tree_text *t, const struct why_node *n)
{
	return buf__printf(t->b, "%6llu.%06llu  ", (unsigned long long)(n->first / 1000000000),
			   (unsigned long long)(n->first / 1000 % 1000000));
}

/* Add all functions that are kept, with their shares. */
static int add_tree_functions(struct tree_text *t, const struct why_node *n)
{
	int err = buf__printf(t->b, "; of %u samples", n->samples);

	for (size_t i = 0; i < WHY_FUNCTIONS && n->functions[i].name && !err; i++) {
		err = buf__printf(t->b, "%s%.0f %% in ", i ? ", " : " ",
				  100.0 * n->functions[i].samples / n->samples)
			      ?: why_phrase__add_function(t->b, &n->functions[i]);
	}
	return err;
}

static int add_tree_node(struct tree_text *t, const struct why_node *n, int depth)
{
	const struct why_node *parent = n->key.parent;
	size_t begin = t->b->len;
	char took[32], name[VERDICT_NAME];
	int err;

	err = buf__printf(t->b, " %5.1f %%  %-8s ", 100.0 * n->ns / t->ns,
			  t->duration(n->ns, took, sizeof(took)));
	if (!err && t->verbose)
		err = add_first_time(t, n);
	err = err ?: buf__printf(t->b, "%*s", 2 * depth, "");
	if (!err && parent && parent->key.tid != n->key.tid)
		err = buf__printf(t->b, "%s ", why_phrase__name(t->w, n->key.tid, name));
	err = err ?: why_phrase__add(t->b, t->w, n, t->duration);
	if (!err && n->times > 1)
		err = buf__printf(t->b, ", %u times", n->times);
	if (!err && t->verbose && n->key.type == WHY_RAN && n->samples)
		err = add_tree_functions(t, n);
	t->lines += wrapped_lines(t->b->len - begin, t->columns);
	return err ?: buf__add_str(t->b, "\n");
}

static int add_children(struct tree_text *t, const struct why_node *n, int depth)
{
	for (const struct why_node *c = n->child; c; c = c->next) {
		if (c->ns < t->least || t->lines >= t->most) {
			t->left_out += 1 + nodes_below(c);
			continue;
		}
		if (add_tree_node(t, c, depth) || add_children(t, c, depth + 1))
			return -ENOMEM;
	}
	return 0;
}

/* Add the nodes with at least @percent of the time. 0 or -ENOMEM. */
static int add_tree(struct tree_text *t, unsigned percent)
{
	const struct why_node *root = why__root(t->w);

	t->least = t->ns / 100 * percent;
	t->lines = t->left_out = 0;
	return add_children(t, root, 0);
}

/*
 * Add as many nodes as fit. If even the nodes with 100 % of the time do not fit, add only the first
 * ones.
 */
static int add_fitting(struct tree_text *t, size_t room)
{
	size_t begin = t->b->len;
	int err = 0;

	for (unsigned percent = 1; percent <= 100 && !err; percent++) {
		t->b->len = begin;
		t->most = percent < 100 ? SIZE_MAX : room;
		err = add_tree(t, percent);
		if (t->lines <= room)
			break;
	}
	return err;
}

/* Add a line with the system call that the question is about. *ret_len: 0 without one */
static int add_wait_call(struct buf *b, const struct why *w, size_t *ret_len)
{
	size_t begin = b->len;
	char call[sizeof(((struct why_question *)0)->call)];

	if (!why__call(w)[0])
		return 0;
	snprintf(call, sizeof(call), "%s", why__call(w));
	if (buf__printf(b, "          of %s\n", make_printable(call)))
		return -ENOMEM;
	*ret_len = b->len - begin - 1;
	return 0;
}

/* Add a line with the process of the culprit, if that is more than its name. *ret_len: 0 without */
static int add_who_line(struct buf *b, const struct why_verdict *v, size_t *ret_len)
{
	size_t begin = b->len;
	bool thread = v->process[0] && v->culprit != v->culprit_pid;
	int err;

	if (!v->culprit || (!thread && !v->command[0]))
		return 0;
	err = buf__printf(b, "     who: %s/%u", v->culprit_comm, v->culprit);
	if (!err && thread)
		err = buf__printf(b, " of process %s/%u", v->process, v->culprit_pid);
	if (!err && v->command[0])
		err = buf__printf(b, ": %s", v->command);
	if (!err && v->cgroup[0])
		err = buf__printf(b, ", in cgroup %s", v->cgroup);
	*ret_len = b->len - begin;
	return err ?: buf__add_str(b, "\n");
}

/* Add the line with what to look at next. *ret_len: its length */
static int add_next_line(struct buf *b, const struct why_verdict *v, size_t *ret_len)
{
	size_t begin = b->len;

	if (buf__printf(b, "    next: %s\n", v->next.data))
		return -ENOMEM;
	*ret_len = b->len - begin - 1;
	return 0;
}

#define INTERRUPTS_NOTE                                                                            \
	"interrupts were not recorded, so some computing time may be theirs: run = evidence "      \
	"records them"

static int add_interrupts_note(struct buf *b, const struct why *w)
{
	return why__lacks_interrupts(w) ? buf__add_str(b, "          " INTERRUPTS_NOTE "\n") : 0;
}

int why_text__answer(struct buf *b, const struct why *w, const struct why_verdict *v,
		     why_duration_fn duration, const struct why_screen *screen)
{
	struct tree_text t = {
		.b = b, .w = w, .duration = duration, .ns = why__root(w)->ns, .most = SIZE_MAX
	};
	size_t taken = 0, call_len = 0, who_len = 0, next_len = 0;

	if (buf__printf(b, "%s\n", v->text.data) || add_wait_call(b, w, &call_len) ||
	    add_who_line(b, v, &who_len) || add_next_line(b, v, &next_len))
		return -ENOMEM;
	t.verbose = !screen;
	if (!screen)
		return add_tree(&t, 0) ?: add_interrupts_note(b, w);
	t.columns = screen->columns;
	/* the verdict, the line on smaller nodes, and a prompt */
	taken = wrapped_lines(v->text.len, t.columns) + 2;
	taken += call_len ? wrapped_lines(call_len, t.columns) : 0;
	taken += who_len ? wrapped_lines(who_len, t.columns) : 0;
	taken += wrapped_lines(next_len, t.columns);
	if (add_fitting(&t, screen->lines > taken ? screen->lines - taken : 1))
		return -ENOMEM;
	if (t.left_out)
		return buf__printf(b, "          and %zu smaller: -v shows them\n", t.left_out);
	return 0;
}

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

/* The name of a device, or null */
static json_t *disk_json(const struct why *w, uint32_t dev)
{
	const struct why_disk *disk = why__disk(w, dev);

	return text_or_null(disk ? disk->name : NULL);
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
		[WHY_COMPACTED] = "compaction",
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

/* Set for whom a thread of the kernel works. */
static int set_behalf(json_t *o, const struct why *w, const struct why_key *k)
{
	return k->sender ? set_member(o, "on_behalf_of", task_json(w, k->sender)) : 0;
}

static json_t *request_json(const struct why *w, const struct why_node *n)
{
	return json_pack("{s:I, s:o, s:I, s:o, s:o}", "dev", (json_int_t)n->dev, "disk",
			 disk_json(w, n->dev), "sector", (json_int_t)n->sector, "queued_ns",
			 n->device_ns ? json_integer(n->queued_ns) : json_null(), "device_ns",
			 n->device_ns ? json_integer(n->device_ns) : json_null());
}

/* Set the lock that an event names, and its owner. */
static int set_lock(json_t *o, const struct why *w, const struct why_key *k)
{
	return set_member(o, "lock", text_or_null(lock_kind__word(k->number)))
		       ?: set_member(o, "owner", task_json(w, k->sender));
}

static int set_wait(json_t *o, const struct why *w, const struct why_node *n)
{
	const char *peer = why__peer_of(w, n);
	const struct why_key *k = &n->key;
	int err = set_member(o, "for", json_string(wait_kind__word(k->kind)))
			  ?: set_member(o, "function", text_or_null(k->function))
			  ?: set_member(o, "call", text_or_null(k->call))
			  ?: set_member(o, "woken_by", json_string(wake_context__word(k->context)))
			  ?: set_member(o, "waker", task_json(w, k->who))
			  ?: set_member(o, "stopped_by",
					task_json(w, k->kind == WAIT_STOPPED ? k->sender : 0));

	if (!err && peer)
		err = set_member(o, "peer", json_text(peer, WHY_PEER));
	if (!err && k->number)
		err = set_lock(o, w, k);
	if (!err && n->dev && !n->several_devices)
		err = set_member(o, "request", request_json(w, n));
	return err;
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
		return set_member(o, k->soft ? "softirq" : "irq", json_integer(k->number))
			       ?: (k->soft ? 0
					   : set_member(o, "handler", text_or_null(k->handler))) ?:
			       (k->cpu ? set_member(o, "queued_on", json_integer(k->cpu - 1))
					  : 0);
	case WHY_QUEUED:
		return set_member(o, "behind", task_json(w, k->who)) ?:
		       set_member(o, "prio",
				  k->prio == WHY_PRIO_UNKNOWN ? json_null()
							      : json_integer(k->prio)) ?:
		       set_member(o, "cpu", json_integer(k->number)) ?:
		       set_member(o, "idle_elsewhere_ns",
				  json_integer(n->idle_ns > n->barred_ns ? n->idle_ns
									 : n->barred_ns)) ?:
		       (k->soft ? set_member(o, "left_cpu", json_integer(k->soft - 1)) : 0) ?:
		       (n->softirq ? set_member(o, "softirq", json_integer(n->softirq - 1)) : 0) ?:
		       set_behalf(o, w, k);
	case WHY_WAITED:
		return set_wait(o, w, n);
	case WHY_RECLAIM:
		return set_member(o, "of_cgroup", json_boolean(k->soft));
	case WHY_SPUN:
		return set_member(o, "for", json_string(wait_kind__word(k->kind))) ?:
		       set_member(o, "function", text_or_null(k->function)) ?:
		       set_member(o, "call", text_or_null(k->call)) ?:
		       set_member(o, "lock", text_or_null(lock_kind__word(k->number))) ?:
		       set_member(o, "owner", task_json(w, k->who)) ?:
		       set_member(o, "inferred", json_boolean(k->who && k->soft));
	case WHY_SERVED:
		return set_member(o, "dev", json_integer(k->number))
			       ?: set_member(o, "disk", disk_json(w, k->number))
			       ?: set_member(o, "sender", task_json(w, k->who)) ?:
		       set_behalf(o, w, k);
	case WHY_HELD:
		return set_member(o, "dev", json_integer(k->number))
			       ?: set_member(o, "disk", disk_json(w, k->number));
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

static json_t *known_text(const char *s)
{
	return s[0] ? json_string(s) : json_null();
}

static json_t *culprit_json(const struct why_verdict *v)
{
	if (!v->culprit)
		return json_null();
	return json_pack("{s:I, s:I, s:s, s:o, s:o, s:o}", "tid", (json_int_t)v->culprit, "pid",
			 (json_int_t)v->culprit_pid, "comm", v->culprit_comm, "process",
			 known_text(v->process), "command", known_text(v->command), "cgroup",
			 known_text(v->cgroup));
}

json_t *why_json__verdict(const struct why_verdict *v)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "verdict",
			 v->text.data, "cause", why_cause__word(v->cause), "culprit",
			 culprit_json(v), "resource",
			 v->resource.len ? json_string(v->resource.data) : json_null(), "chain",
			 v->chain.data, "next", v->next.data, "missing",
			 why_missing__word(v->missing), "ns", (json_int_t)v->ns, "of_ns",
			 (json_int_t)v->of_ns, "unknown_ns", (json_int_t)v->unknown_ns, "stolen_ns",
			 (json_int_t)v->stolen_ns, "cpu_ns", (json_int_t)v->cpu_ns);
}

json_t *why_json__new(const struct why *w, const struct why_verdict *v)
{
	json_t *o = why_json__verdict(v);

	if (o && why__call(w)[0] && set_member(o, "call", json_text(why__call(w), SIZE_MAX))) {
		json_decref(o);
		return NULL;
	}
	if (o && why__lacks_interrupts(w) && set_member(o, "note", json_string(INTERRUPTS_NOTE))) {
		json_decref(o);
		return NULL;
	}
	if (o && !set_member(o, "schema", json_integer(1)) &&
	    !set_member(o, "tree", node_json(w, why__root(w))))
		return o;
	json_decref(o);
	return NULL;
}
