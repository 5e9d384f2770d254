// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_next.h"
#include "analyse/why/why_phrase.h"
#include "common/printable.h"

#define RING_LEAST_S 20 /* twice the default */
#define LARGER_RING  "a larger ring would hold it, such as ring = {ring} in the session"

/*
 * @record: what would have recorded the missing events; if events of @kind were recorded, @beyond
 * counts instead. {ring} is replaced, see why_missing__add_record().
 */
static const struct {
	const char *word, *reason, *record;
	const char *beyond; /* NULL: there is no such event */
	enum sched_kind kind;
} missing_texts[MISSING_KINDS] = {
	[MISSING_NOTHING] = { "", "", "" },
	[MISSING_BEFORE] = { "before", "the recording begins later", LARGER_RING },
	[MISSING_AFTER] = { "after", "the recording ends earlier",
			    "a later end would hold it, such as post = 1s in the rule" },
	[MISSING_TASK] = { "task", "no event of that task was recorded",
			   "record all tasks (-a), or run = evidence" },
	[MISSING_LOST] = { "lost", "records were lost",
			   "a larger ring, such as -m 16M, loses less" },
	[MISSING_HIDDEN] = { "hidden", "its switch or wakeup was not recorded",
			     "record -e sched:sched_switch -e sched:sched_waking of all tasks "
			     "(-a), "
			     "or run = evidence" },
	[MISSING_WAKING] = { "waking", "its waker was not recorded",
			     "record -e sched:sched_waking -g of all tasks (-a)",
			     "the event of its wake-up is missing: a larger ring, such as -m 16M, "
			     "loses less",
			     SCHED_WAKING },
	[MISSING_STACK] = { "interrupt", "an unknown interrupt woke it",
			    "record -e sched:sched_waking -g, with the names of kernel functions" },
	[MISSING_NOT_OVER] = { "not-over", "it had not ended when the recording ended",
			       "a later end shows more, such as post = 1s in the rule" },
	[MISSING_IDLE] = { "idle", "it was runnable, and its CPU was idle",
			   "with run = evidence, a CPU or a hypervisor was slow to leave idle; "
			   "without it, it may be a CPU quota" },
	[MISSING_QUOTA] = { "quota",
			    "it was runnable, but its cgroup had used up its CPU quota, or it "
			    "waited for another reason",
			    "see cpu.stat of the cgroup, and record -e timer:hrtimer_expire_entry "
			    "of all tasks (-a)",
			    "see cpu.stat of the cgroup: events do not tell whose quota was "
			    "refilled",
			    SCHED_TIMER },
	[MISSING_CPU] = { "cpu", "the task that ran on its CPU was not recorded",
			  "record -e sched:sched_switch of all tasks (-a)" },
	[MISSING_REQUEST] = { "request",
			      "the sender of the request that it waited for was not recorded",
			      LARGER_RING },
	[MISSING_REQUESTS] = { "requests", "for whom the device worked was not recorded",
			       "record -e block:block_rq_insert -e block:block_rq_issue -e "
			       "block:block_rq_complete of all tasks (-a)" },
	[MISSING_OWNER] = { "owner", "the lock's owner was not recorded",
			    "run = evidence has the owners of mutexes and semaphores",
			    "events tell the owners of mutexes and semaphores only", SCHED_LOCK },
	[MISSING_HELD] = { "held", "what delayed its request before the device was not recorded",
			   "record -e sched:sched_waking -g of all tasks (-a)",
			   "see io.max and blkio of its cgroups, and what queues before the device",
			   SCHED_WAKING },
	[MISSING_SENDER] = { "sender", "which task of this machine sent it was not recorded",
			     "ss -tnp shows whose the other end is" },
	[MISSING_DIRTY] = { "dirty",
			    "the kernel slowed the writer down: too many dirty pages, and who "
			    "made them dirty was not recorded",
			    "see Dirty and Writeback of /proc/meminfo, and io.pressure" },
	[MISSING_SIGNAL] = { "signal", "the sender of the signal that stopped it was not recorded",
			     "record -e signal:signal_generate of all tasks (-a)",
			     "the event of its signal is missing: a larger ring, such as -m 16M, "
			     "loses less",
			     SCHED_SIGNAL },
	[MISSING_DEPTH] = { "depth", "the chain of wakeups is too long to follow",
			    "ask about its last task with -i FILE --tid TID" },
	[MISSING_FLUSH] = { "flush", "events do not tell one flush from another of that time",
			    "see f/s and f_await of iostat -x" },
	[MISSING_ENDED] = { "ended", "the task had ended",
			    "ask about the time before with -i FILE --tid TID --to" },
	[MISSING_LIMIT] = { "limit", "too many events for one question",
			    "ask about a shorter time with -i FILE --tid TID --from --to" },
};

int why_missing__add(struct buf *b, const struct why *w, enum why_missing m)
{
	return buf__printf(b, "%s: ", missing_texts[m].reason) ?: why_missing__add_record(b, w, m);
}

/*
 * Seconds that a ring must hold: twice what was recorded since the interval began, or twice all
 * that was recorded, if that is more.
 */
static uint64_t ring_seconds(const struct why *w)
{
	const struct sched_events *e = why__events(w);
	uint64_t from = why__root(w)->first < e->begin ? why__root(w)->first : e->begin;
	uint64_t seconds = e->end > from ? ((e->end - from - 1) / 1000000000 + 1) * 2 : 0;

	return seconds < RING_LEAST_S ? RING_LEAST_S : seconds;
}

int why_missing__add_record(struct buf *b, const struct why *w, enum why_missing m)
{
	bool beyond = missing_texts[m].beyond && why__events(w)->recorded[missing_texts[m].kind];
	const char *text = beyond ? missing_texts[m].beyond : missing_texts[m].record;
	const char *ring = strstr(text, "{ring}");

	if (!ring)
		return buf__add_str(b, text);
	return buf__add(b, text, ring - text)
		       ?: buf__printf(b, "%llus", (unsigned long long)ring_seconds(w))
		       ?: buf__add_str(b, ring + strlen("{ring}"));
}

const char *why_missing__word(enum why_missing m)
{
	return missing_texts[m].word;
}

const char *why_cause__word(enum why_cause c)
{
	static const char *const words[CAUSE_KINDS] = {
		[CAUSE_UNKNOWN] = "unknown",	 [CAUSE_COMPUTED] = "computed",
		[CAUSE_INTERRUPT] = "interrupt", [CAUSE_CPU] = "cpu",
		[CAUSE_CPU_MANY] = "cpu-many",	 [CAUSE_QUOTA] = "quota",
		[CAUSE_OWN_TIMER] = "own-timer", [CAUSE_TIMEOUT] = "timeout",
		[CAUSE_DEVICE] = "device",	 [CAUSE_NETWORK] = "network",
		[CAUSE_STOPPED] = "stopped",	 [CAUSE_TASK] = "task",
		[CAUSE_IO_LIMIT] = "io-limit",	 [CAUSE_RECLAIM] = "reclaim",
		[CAUSE_COMPACT] = "compaction",
	};

	return words[c];
}

/* Sums over the tasks on the CPU that another task waited for */
struct queue_sum {
	uint64_t ns; /* total */
	size_t tasks;
	bool several_cpus;
	/* the tasks of one name that together took most of the time */
	const struct why_node *most; /* the largest of them */
	uint64_t alike_ns;
	bool several_alike;
};

static bool same_name(const struct why *w, uint32_t a, uint32_t b)
{
	const struct sched_task *x = sched_events__task(why__events(w), a);
	const struct sched_task *y = sched_events__task(why__events(w), b);

	return a == b || (x && y && x->comm[0] && !strcmp(x->comm, y->comm));
}

/* Sum up @most and the tasks below it in the list that have its name. */
static struct queue_sum name_sum(const struct why *w, const struct why_node *most)
{
	struct queue_sum q = { .most = most };

	for (const struct why_node *c = most; c; c = c->next) {
		if (c->key.type != WHY_QUEUED || !same_name(w, c->key.who, most->key.who))
			continue;
		q.alike_ns += c->ns;
		q.several_alike |= c->key.who != most->key.who;
	}
	return q;
}

#define QUEUE_NAMES 32 /* of the largest tasks, only these are compared */

static int compare_queued(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The number of tasks: one task may have several nodes, one per CPU. 0: out of memory */
static size_t n_queued_before(const struct why_node *n, size_t nodes)
{
	uint32_t *tids = calloc(nodes, sizeof(*tids));
	size_t i = 0, tasks = 1;

	if (!tids)
		return 0;
	for (const struct why_node *c = n->child; c; c = c->next)
		if (c->key.type == WHY_QUEUED)
			tids[i++] = c->key.who;
	qsort(tids, nodes, sizeof(*tids), compare_queued);
	for (i = 1; i < nodes; i++)
		tasks += tids[i] != tids[i - 1];
	free(tids);
	return tasks;
}

/* 0 or -ENOMEM */
static int queue_sum(const struct why *w, const struct why_node *n, struct queue_sum *ret)
{
	const struct why_node *first = NULL;
	struct queue_sum q = { 0 };
	bool several_cpus = false;
	size_t nodes = 0;
	uint64_t ns = 0;

	for (const struct why_node *c = n->child; c; c = c->next) {
		struct queue_sum of_name;

		if (c->key.type != WHY_QUEUED)
			continue;
		first = first ?: c;
		several_cpus |= c->key.number != first->key.number;
		ns += c->ns;
		if (nodes++ >= QUEUE_NAMES)
			continue;
		of_name = name_sum(w, c);
		q = of_name.alike_ns > q.alike_ns ? of_name : q;
	}
	q.ns = ns;
	q.several_cpus = several_cpus;
	q.tasks = nodes ? n_queued_before(n, nodes) : 0;
	*ret = q;
	return nodes && !q.tasks ? -ENOMEM : 0;
}

/* Set what is known about the process of @t. */
static void set_process(struct why_verdict *v, const struct why *w, const struct sched_task *t)
{
	const struct why_question *q = why__question(w);
	const struct sched_task *leader = sched_events__own_task(why__events(w), t->pid);
	const struct sched_task *subject = sched_events__task(why__events(w), q->tid);

	if (t->pid && leader)
		snprintf(v->process, sizeof(v->process), "%.15s", leader->comm);
	if (t == subject || (subject && t->pid && t->pid == subject->pid)) {
		memcpy(v->command, q->command, sizeof(v->command));
		memcpy(v->cgroup, q->cgroup, sizeof(v->cgroup));
	} else if (t->pid && t->pid == q->culprit) {
		memcpy(v->command, q->culprit_command, sizeof(v->command));
		memcpy(v->cgroup, q->culprit_cgroup, sizeof(v->cgroup));
	}
	make_printable(v->process);
	make_printable(v->command);
	make_printable(v->cgroup);
}

static void set_culprit(struct why_verdict *v, const struct why *w, enum why_cause cause,
			uint32_t tid, uint64_t ns)
{
	const struct sched_task *t = sched_events__task(why__events(w), tid);

	v->cause = cause;
	v->ns = ns;
	v->culprit = t ? t->own_tid : tid;
	v->culprit_pid = t ? t->pid : 0;
	if (!t)
		return;
	memcpy(v->culprit_comm, t->comm, sizeof(v->culprit_comm));
	v->culprit_comm[SCHED_COMM - 1] = '\0';
	make_printable(v->culprit_comm);
	set_process(v, w, t);
}

static int add_verdict_link(struct why_verdict *v, const char *word)
{
	return buf__printf(&v->chain, "%s%s", v->chain.len ? "<" : "", word);
}

/* "waited for CPU 1" */
static int add_cpus(struct buf *b, const struct queue_sum *q)
{
	return q->several_cpus ? buf__add_str(b, "waited for several CPUs")
			       : buf__printf(b, "waited for CPU %u", q->most->key.number);
}

static int add_queue_idle(struct buf *b, const struct why_node *n)
{
	if (n->idle_ns > n->ns / 2)
		return buf__add_str(b, ", while another CPU was idle");
	return n->barred_ns > n->ns / 2
		       ? buf__add_str(b, ", while a CPU was idle where it may not run")
		       : 0;
}

/* End the verdict behind the task that took most of the time. 0 or -ENOMEM. */
static int end_behind_task(struct why_verdict *v, const struct why *w, const struct queue_sum *q,
			   uint64_t ns, why_duration_fn duration)
{
	uint32_t who = q->most->key.who;
	bool softirqs = why__is_softirqd(w, who);
	char name[VERDICT_NAME];

	set_culprit(v, w, softirqs ? CAUSE_INTERRUPT : CAUSE_CPU, who, ns);
	if (add_verdict_link(v, softirqs ? "interrupt" : "cpu"))
		return -ENOMEM;
	if (!q->several_cpus || q->most->ns >= q->ns / 2)
		return why_phrase__add(&v->text, w, q->most, duration);
	return add_cpus(&v->text, q)
		       ?: buf__printf(&v->text, " behind %s", why_phrase__name(w, who, name));
}

/* End the verdict at a wait for a CPU. 0 or -ENOMEM. */
static int end_in_queue(struct why_verdict *v, const struct why *w, const struct queue_sum *q,
			why_duration_fn duration)
{
	const struct why_node *most = q->most;
	char name[VERDICT_NAME], *slash;

	v->end = most;
	if (!q->several_alike && q->alike_ns >= q->ns / 2)
		return end_behind_task(v, w, q, q->alike_ns, duration);
	if (most->ns >= q->ns / 2)
		return end_behind_task(v, w, q, most->ns, duration);
	set_culprit(v, w, CAUSE_CPU_MANY, most->key.who, q->ns);
	why_phrase__name(w, most->key.who, name);
	slash = strrchr(name, '/');
	if (q->several_alike)
		*slash = '\0';
	return add_verdict_link(v, "cpu-many")
		       ?: add_cpus(&v->text, q)
		       ?: buf__printf(&v->text, " behind %zu tasks, %s %s with %d %% of that",
				      q->tasks,
				      q->several_alike ? "those named" : "the first of them", name,
				      (int)(100 * q->alike_ns / q->ns))
		       ?: add_queue_idle(&v->text, most)
		       ?: why_phrase__add_left(&v->text, most);
}

/* End the verdict at a wait that nothing else explains. */
static void end_at_wait(struct why_verdict *v, const struct why *w, const struct why_node *n)
{
	const struct why_key *k = &n->key;

	if (k->kind == WAIT_STOPPED)
		set_culprit(v, w, CAUSE_STOPPED, k->sender, n->ns);
	else if ((k->kind == WAIT_OVER_HIGH || k->kind == WAIT_RECLAIM) && k->context == WAKE_TIMER)
		set_culprit(v, w, CAUSE_RECLAIM, k->tid, n->ns);
	else if (k->context == WAKE_TIMER)
		set_culprit(v, w, k->kind == WAIT_SLEEP ? CAUSE_OWN_TIMER : CAUSE_TIMEOUT, k->tid,
			    n->ns);
	else if (k->context == WAKE_BLOCK)
		set_culprit(v, w, CAUSE_DEVICE, k->tid, n->ns);
	else if (k->context == WAKE_NET)
		set_culprit(v, w, CAUSE_NETWORK, k->tid, n->ns);
	else
		set_culprit(v, w, CAUSE_TASK, k->who, n->ns);
}

/* End the verdict at a node without children. */
static void end_at(struct why_verdict *v, const struct why *w, const struct why_node *n)
{
	const struct why_key *k = &n->key;

	v->end = n;
	switch (k->type) {
	case WHY_RAN:
		set_culprit(v, w, CAUSE_COMPUTED, k->tid, n->ns);
		return;
	case WHY_INTERRUPTED:
		set_culprit(v, w, CAUSE_INTERRUPT, k->tid, n->ns);
		return;
	case WHY_THROTTLED:
		set_culprit(v, w, CAUSE_QUOTA, k->tid, n->ns);
		return;
	case WHY_RECLAIM:
		set_culprit(v, w, CAUSE_RECLAIM, k->tid, n->ns);
		return;
	case WHY_COMPACTED:
		set_culprit(v, w, CAUSE_COMPACT, k->tid, n->ns);
		return;
	case WHY_SPUN: /* the owner ran meanwhile */
		if (k->who && !why_phrase__owner_is_doubtful(k)) {
			set_culprit(v, w, CAUSE_COMPUTED, k->who, n->ns);
			return;
		}
		set_culprit(v, w, CAUSE_UNKNOWN, 0, n->ns);
		v->missing = MISSING_OWNER;
		return;
	case WHY_SERVED:
		set_culprit(v, w, CAUSE_DEVICE, k->who, n->ns);
		return;
	case WHY_HELD:
		set_culprit(v, w, CAUSE_IO_LIMIT, k->tid, n->ns);
		return;
	case WHY_WAITED:
		end_at_wait(v, w, n);
		return;
	default:
		set_culprit(v, w, CAUSE_UNKNOWN, 0, n->ns);
		v->missing = k->missing;
	}
}

static const char *link_word(const struct why_node *n)
{
	switch (n->key.type) {
	case WHY_RAN:
		return "ran";
	case WHY_INTERRUPTED:
		return "interrupt";
	case WHY_RECLAIM:
		return "reclaim";
	case WHY_COMPACTED:
		return "compaction";
	case WHY_SPUN:
		return "spun";
	case WHY_SERVED:
		return n->key.who == n->key.tid || n->key.sender == n->key.tid ? "device"
									       : "others-requests";
	case WHY_HELD:
		return "io-limit";
	case WHY_THROTTLED:
		return "quota";
	case WHY_WAITED:
		return wait_kind__word(n->key.kind);
	default:
		return "unknown";
	}
}

/* Follow what took most of the time, from @n down. 0 or -ENOMEM. */
static int follow_longest(struct why_verdict *v, const struct why *w, const struct why_node *n,
			  why_duration_fn duration)
{
	for (;;) {
		const struct why_node *most = n->child;
		struct queue_sum q;

		if (queue_sum(w, n, &q))
			return -ENOMEM;
		if (q.ns && (!most || q.ns > (most->key.type == WHY_QUEUED ? 0 : most->ns)))
			return end_in_queue(v, w, &q, duration);
		if (add_verdict_link(v, link_word(most)) ||
		    why_phrase__add(&v->text, w, most, duration))
			return -ENOMEM;
		if (!most->child) {
			end_at(v, w, most);
			return 0;
		}
		n = most;
		/* unknown time belongs to the wait, not to a waker */
		if (buf__add_str(&v->text, n->key.who && n->child->key.tid == n->key.who
						   ? ", which meanwhile "
						   : "; "))
			return -ENOMEM;
	}
}

#define STOLEN_SHARE 20

/*
 * Tell what a hypervisor took, if it is at least 1/STOLEN_SHARE of the CPU time or of the interval.
 * All of it may have been taken from the CPU of a single task.
 */
static int add_stolen(struct buf *b, const struct why_question *q, uint64_t of_ns,
		      why_duration_fn duration)
{
	char text[32];

	if (!q->stolen_ns ||
	    (q->stolen_ns < q->cpu_ns / STOLEN_SHARE && q->stolen_ns < of_ns / STOLEN_SHARE))
		return 0;
	return buf__printf(b, "; in these seconds a hypervisor took %s, %.3g %% of the CPU time",
			   duration(q->stolen_ns, text, sizeof(text)),
			   100.0 * q->stolen_ns / q->cpu_ns);
}

int why_verdict__make(struct why_verdict *v, const struct why *w, why_duration_fn duration)
{
	const struct why_node *root = why__root(w);
	char name[VERDICT_NAME], all[32];
	struct buf text = { 0 };
	int err;

	v->of_ns = root->ns;
	v->unknown_ns = why__unknown_ns(w);
	v->stolen_ns = why__question(w)->stolen_ns;
	v->cpu_ns = why__question(w)->cpu_ns;
	if (!root->child)
		return -ENOMEM;
	err = follow_longest(v, w, root, duration);
	err = err
		      ?: buf__printf(&text, "%d %% of %s: %s %s",
				     (int)((100.0 * v->ns) / root->ns + 0.5),
				     duration(root->ns, all, sizeof(all)),
				     why_phrase__name(w, root->key.tid, name), v->text.data)
		      ?: add_stolen(&text, why__question(w), root->ns, duration);
	if (err) {
		buf__free(&text);
		return err;
	}
	buf__free(&v->text);
	v->text = text;
	return why_next__add(&v->next, w, v) ?: why_phrase__add_resource(&v->resource, w, v->end);
}

void why_verdict__free(struct why_verdict *v)
{
	buf__free(&v->text);
	buf__free(&v->chain);
	buf__free(&v->next);
	buf__free(&v->resource);
	*v = (struct why_verdict){ 0 };
}
