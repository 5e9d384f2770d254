// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_next.h"
#include "common/cleanup.h"
#include "common/printable.h"
#include "symbols/demangle.h"

/* A wait for less is called short. */
#define SHORT_NS 1000000

/* @record: what would have recorded it */
static const struct {
	const char *word, *reason, *record;
} missing_texts[MISSING_KINDS] = {
	[MISSING_NOTHING] = { "", "", "" },
	[MISSING_BEFORE] = { "before", "the recording begins later",
			     "a larger ring would hold it, such as ring = 20s in the session" },
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
			     "record -e sched:sched_waking -g of all tasks (-a)" },
	[MISSING_STACK] = { "interrupt", "an unknown interrupt woke it",
			    "record -e sched:sched_waking -g, with the names of kernel functions" },
	[MISSING_NOT_OVER] = { "not-over", "it had not ended when the recording ended",
			       "a later end shows more, such as post = 1s in the rule" },
	[MISSING_IDLE] = { "idle", "it was runnable, and its CPU was idle",
			   "a rule with run = evidence tells whether a CPU quota was used up" },
	[MISSING_QUOTA] = { "quota",
			    "it was runnable, but its cgroup had used up its CPU quota, or it "
			    "waited for another reason",
			    "see cpu.stat of the cgroup, and record -e timer:hrtimer_expire_entry "
			    "of all tasks (-a)" },
	[MISSING_CPU] = { "cpu", "the task that ran on its CPU was not recorded",
			  "record -e sched:sched_switch of all tasks (-a)" },
	[MISSING_REQUEST] = { "request",
			      "the sender of the request that it waited for was not recorded",
			      "a larger ring would hold it, such as ring = 20s in the session" },
	[MISSING_REQUESTS] = { "requests", "for whom the device worked was not recorded",
			       "record -e block:block_rq_insert -e block:block_rq_issue -e "
			       "block:block_rq_complete of all tasks (-a)" },
	[MISSING_OWNER] = { "owner", "the lock's owner was not recorded",
			    "run = evidence has the owners of mutexes and semaphores" },
	[MISSING_HELD] = { "held", "what delayed its request before the device was not recorded",
			   "record -e sched:sched_waking -g of all tasks (-a)" },
	[MISSING_DEPTH] = { "depth", "the chain of wakeups is too long to follow",
			    "ask about its last task with -i FILE --tid TID" },
};

static int add_missing(struct buf *b, enum why_missing m)
{
	return buf__printf(b, "%s: %s", missing_texts[m].reason, missing_texts[m].record);
}

const char *why_missing__record(enum why_missing m)
{
	return missing_texts[m].record;
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
	uint64_t ns;		     /* total */
	const struct why_node *most; /* the largest of them */
	uint64_t alike_ns;	     /* of those with the same name as most */
	size_t alike, tasks;
};

static bool same_name(const struct why *w, uint32_t a, uint32_t b)
{
	const struct sched_task *x = sched_events__task(why__events(w), a);
	const struct sched_task *y = sched_events__task(why__events(w), b);

	return a == b || (x && y && x->comm[0] && !strcmp(x->comm, y->comm));
}

static struct queue_sum queue_sum(const struct why *w, const struct why_node *n)
{
	struct queue_sum q = { 0 };

	for (const struct why_node *c = n->child; c; c = c->next) {
		if (c->key.type != WHY_QUEUED)
			continue;
		q.most = q.most ?: c;
		q.ns += c->ns;
		q.tasks++;
		if (!same_name(w, c->key.who, q.most->key.who))
			continue;
		q.alike_ns += c->ns;
		q.alike++;
	}
	return q;
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

/* Is it ksoftirqd, the kernel thread for softirqs that became too many? */
static bool is_softirqd(const struct why *w, uint32_t tid)
{
	const struct sched_task *t = sched_events__task(why__events(w), tid);

	return t && !strncmp(t->comm, "ksoftirqd/", 10);
}

/* End the verdict at a wait for a CPU. 0 or -ENOMEM. */
static int end_in_queue(struct why_verdict *v, const struct why *w, const struct queue_sum *q,
			why_duration_fn duration)
{
	const struct why_node *most = q->most;
	char name[VERDICT_NAME], *slash;

	v->end = most;
	if (most->ns >= q->ns / 2) {
		bool softirqs = is_softirqd(w, most->key.who);

		set_culprit(v, w, softirqs ? CAUSE_INTERRUPT : CAUSE_CPU, most->key.who, most->ns);
		return add_verdict_link(v, softirqs ? "interrupt" : "cpu")
			       ?: why_verdict__phrase(&v->text, w, most, duration);
	}
	set_culprit(v, w, CAUSE_CPU_MANY, most->key.who, q->ns);
	why_verdict__name(w, most->key.who, name);
	slash = strrchr(name, '/');
	if (q->alike > 1)
		*slash = '\0';
	return add_verdict_link(v, "cpu-many")
		       ?: buf__printf(
				  &v->text,
				  "waited for CPU %u behind %zu tasks, %s %s with %d %% of that%s",
				  most->key.number, q->tasks,
				  q->alike > 1 ? "those named" : "the first of them", name,
				  (int)(100 * (q->alike > 1 ? q->alike_ns : most->ns) / q->ns),
				  most->idle_ns > most->ns / 2 ? ", while another CPU was idle" : "")
		       ?: why_verdict__add_left(&v->text, most);
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
		set_culprit(v, w, k->who ? CAUSE_COMPUTED : CAUSE_UNKNOWN, k->who, n->ns);
		v->missing = k->who ? MISSING_NOTHING : MISSING_OWNER;
		return;
	case WHY_SERVED:
		set_culprit(v, w, CAUSE_DEVICE, k->who, n->ns);
		return;
	case WHY_HELD:
		set_culprit(v, w, CAUSE_IO_LIMIT, k->tid, n->ns);
		return;
	case WHY_WAITED:
		break;
	default:
		set_culprit(v, w, CAUSE_UNKNOWN, 0, n->ns);
		v->missing = k->missing;
		return;
	}
	if (k->kind == WAIT_STOPPED)
		set_culprit(v, w, CAUSE_STOPPED, k->sender ?: k->who, n->ns);
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
		struct queue_sum q = queue_sum(w, n);
		const struct why_node *most = n->child;

		if (q.ns && (!most || q.ns > (most->key.type == WHY_QUEUED ? 0 : most->ns)))
			return end_in_queue(v, w, &q, duration);
		if (add_verdict_link(v, link_word(most)) ||
		    why_verdict__phrase(&v->text, w, most, duration))
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

#define STOLEN_SHARE 20 /* it is told if a hypervisor took 1 / STOLEN_SHARE of the CPU time */

static int add_stolen(struct buf *b, const struct why_question *q)
{
	if (!q->stolen_ns || q->stolen_ns < q->cpu_ns / STOLEN_SHARE)
		return 0;
	return buf__printf(b, "; in these seconds a hypervisor took %d %% of the CPU time",
			   (int)(100.0 * q->stolen_ns / q->cpu_ns + 0.5));
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
				     why_verdict__name(w, root->key.tid, name), v->text.data)
		      ?: add_stolen(&text, why__question(w));
	if (err) {
		buf__free(&text);
		return err;
	}
	buf__free(&v->text);
	v->text = text;
	return why_next__add(&v->next, w, v);
}

void why_verdict__free(struct why_verdict *v)
{
	buf__free(&v->text);
	buf__free(&v->chain);
	buf__free(&v->next);
	*v = (struct why_verdict){ 0 };
}

const char *why_verdict__name(const struct why *w, uint32_t tid, char buf[static VERDICT_NAME])
{
	const struct sched_task *t = sched_events__task(why__events(w), tid);
	char comm[SCHED_COMM] = "";

	if (t)
		memcpy(comm, t->comm, sizeof(comm));
	comm[SCHED_COMM - 1] = '\0';
	snprintf(buf, VERDICT_NAME, "%s/%u", comm[0] ? make_printable(comm) : "?",
		 t ? t->own_tid : tid);
	return buf;
}

/* Append a function name, demangled and printable. */
static int add_verdict_function(struct buf *b, const char *symbol)
{
	char *plain = demangle(symbol) ?: strdup(symbol);
	int err = plain ? buf__add_str(b, make_printable(plain)) : -ENOMEM;

	free(plain);
	return err;
}

static int add_place(struct buf *b, const struct why_key *k)
{
	int err = 0;

	if (k->function)
		err = buf__add_str(b, " in ") ?: add_verdict_function(b, k->function);
	if (!err && k->call && (!k->function || strcmp(k->call, k->function)))
		err = buf__add_str(b, k->function ? " (" : " in ")
			      ?: add_verdict_function(b, k->call) ?: buf__add_str(b, k->function ? ")" : "");
	return err;
}

/* cpu.weight of the cgroup of @tid, where it is not the default; 0: it is, or it is unknown */
static uint32_t own_weight(const struct why *w, uint32_t tid)
{
	const struct why_question *q = why__question(w);

	return tid == q->tid && q->weight != 100 ? q->weight : 0;
}

/* Say why the other task ran first, as far as its priority shows. */
static int add_rank(struct buf *b, int32_t of_who, int32_t of_task, uint32_t weight)
{
	if (of_who < 0)
		return buf__add_str(b, " (deadline class)");
	if (of_who < 100)
		return buf__printf(b, " (real-time, priority %d)", 99 - of_who);
	if (of_task == WHY_PRIO_UNKNOWN)
		return 0;
	if (of_task == WHY_PRIO_IDLE)
		return buf__add_str(b, " (before SCHED_IDLE)");
	if (of_who < of_task)
		return buf__printf(b, " (nice %d, before nice %d)", of_who - 120, of_task - 120);
	if (of_who > of_task)
		return buf__add_str(b, " (lower priority: the scheduler's choice)");
	if (weight)
		return buf__printf(b, " (same priority; its cgroup has cpu.weight %u)", weight);
	return buf__add_str(b, " (same priority)");
}

int why_verdict__add_left(struct buf *b, const struct why_node *n)
{
	if (!n->key.soft)
		return 0;
	return buf__printf(b, "; it had to leave CPU %u, which went offline", n->key.soft - 1);
}

static const char *softirq_name(uint32_t vector)
{
	static const char *const vectors[] = { "hi",	   "timer",   "net_tx", "net_rx",  "block",
					       "irq_poll", "tasklet", "sched",	"hrtimer", "rcu" };

	return vector < ARRAY_SIZE(vectors) ? vectors[vector] : "?";
}

/* Another CPU idled meanwhile. */
static int add_idle(struct buf *b, const struct why *w, const struct why_node *n)
{
	int err = buf__printf(b, ", while CPU %u was idle: ", n->idle_cpu);

	switch (why__affinity_of(w, n->key.tid)) {
	case WHY_AFFINITY_ONE:
		return err ?: buf__printf(b, "it may run only on CPU %u", n->key.number);
	case WHY_AFFINITY_SEVERAL:
		return err ?: buf__add_str(b, "it may run on others, but was not moved");
	default:
		return err
			       ?: buf__printf(b, "it may run only on CPU %u, or was not moved",
					      n->key.number);
	}
}

/* The task on whose behalf a kernel thread works */
static int add_behalf(struct buf *b, const struct why *w, const struct why_key *k)
{
	char name[VERDICT_NAME];

	return k->sender
		       ? buf__printf(b, ", on behalf of %s", why_verdict__name(w, k->sender, name))
		       : 0;
}

static int add_queued(struct buf *b, const struct why *w, const struct why_node *n)
{
	char name[VERDICT_NAME];
	int err;

	err = buf__printf(b, "waited for CPU %u behind %s", n->key.number,
			  why_verdict__name(w, n->key.who, name))
		      ?: add_rank(b, n->key.prio, n->own_prio, own_weight(w, n->key.tid)) ?: add_behalf(b, w, &n->key);
	if (!err && n->softirq)
		err = buf__printf(b, ", for softirq %s", softirq_name(n->softirq - 1));
	if (!err && n->idle_ns > n->ns / 2)
		err = add_idle(b, w, n);
	return err ?: why_verdict__add_left(b, n);
}

int why_verdict__add_function(struct buf *b, const struct why_function *f)
{
	int err = add_verdict_function(b, f->name);

	if (!err && f->call && strcmp(f->call, f->name))
		err = buf__add_str(b, " (") ?: add_verdict_function(b, f->call) ?: buf__add_str(b, ")");
	return err;
}

static int add_ran(struct buf *b, const struct why *w, const struct why_node *n)
{
	const struct why_function *best = n->functions;
	int err = buf__add_str(b, "computed");

	if (err || !best->samples)
		return err ?: add_behalf(b, w, &n->key);
	return buf__add_str(b, ", mostly in ") ?: why_verdict__add_function(b, best) ?: add_behalf(b, w, &n->key);
}

static int add_stopped(struct buf *b, const struct why *w, const struct why_key *k)
{
	char a[VERDICT_NAME], c[VERDICT_NAME];

	if (k->sender)
		return buf__printf(b, "was stopped by a signal from %s, until %s continued it",
				   why_verdict__name(w, k->sender, a),
				   why_verdict__name(w, k->who, c));
	if (!k->who)
		return buf__add_str(b, "was stopped by a signal");
	return buf__printf(b,
			   "was stopped by a signal (record signal:signal_generate for its "
			   "sender), until %s continued it",
			   why_verdict__name(w, k->who, a));
}

static int add_request(struct buf *b, const struct why_node *n, why_duration_fn duration)
{
	char queue[32], device[32];

	if (!n->dev)
		return buf__add_str(b, ", until a request to a device completed");
	return buf__printf(b,
			   ", until a request to device %u:%u completed (sector %llu, %s in the "
			   "queue, %s in the device)",
			   n->dev >> 20, n->dev & 0xfffff, (unsigned long long)n->sector,
			   duration(n->queued_ns, queue, sizeof(queue)),
			   duration(n->device_ns, device, sizeof(device)));
}

/* The thing waited for: the lock, if its kind says more than the kind of the wait. "": unknown. */
static const char *waited_for(const struct why_key *k)
{
	const char *lock = lock_kind__text(k->number);

	return *lock && (k->kind == WAIT_KERNEL_LOCK || k->kind == WAIT_UNKNOWN)
		       ? lock
		       : wait_kind__text(k->kind);
}

static int add_spun(struct buf *b, const struct why *w, const struct why_key *k)
{
	const char *kind = waited_for(k);
	char name[VERDICT_NAME];
	int err = buf__printf(b, "tried to take %s", *kind ? kind : "a lock of the kernel")
			  ?: add_place(b, k);

	if (err || !k->who)
		return err ?: buf__add_str(b, ": ") ?: add_missing(b, MISSING_OWNER);
	why_verdict__name(w, k->who, name);
	if (k->number) /* as recorded */
		return buf__printf(b, " while %s held it", name);
	return buf__printf(b, " while %s held it: no other task ran all that time", name);
}

static int add_served(struct buf *b, const struct why *w, const struct why_node *n)
{
	const struct why_key *k = &n->key;
	char name[VERDICT_NAME];

	return buf__printf(b, "device %u:%u worked for %s", k->number >> 20, k->number & 0xfffff,
			   !k->who	      ? "a task that was not recorded"
			   : k->who == k->tid ? "its own requests"
					      : why_verdict__name(w, k->who, name))
		       ?: add_behalf(b, w, k);
}

/* " /system.slice/x": the cgroup that has reached limit @l. Nothing where that is unknown. */
static int add_limited(struct buf *b, const struct why *w, uint32_t tid, enum why_limit l)
{
	const struct why_question *q = why__question(w);
	char path[WHY_PATH];

	if (tid != q->tid || !q->limits[l].path[0])
		return 0;
	memcpy(path, q->limits[l].path, sizeof(path));
	return buf__printf(b, " %s", make_printable(path));
}

static int add_held(struct buf *b, const struct why *w, const struct why_key *k)
{
	return buf__printf(b, "its request waited before device %u:%u: the limit of a cgroup",
			   k->number >> 20, k->number & 0xfffff)
		       ?: add_limited(b, w, k->tid, WHY_LIMIT_IO)
		       ?: buf__add_str(b, " (io.max, blkio) delayed it");
}

static int add_throttled(struct buf *b, const struct why *w, const struct why_key *k)
{
	return buf__add_str(b, "was throttled: its cgroup")
		       ?: add_limited(b, w, k->tid, WHY_LIMIT_CPU)
		       ?: buf__add_str(b, " had used up its CPU quota (cpu.max)");
}

static int add_reclaim(struct buf *b, const struct why *w, const struct why_key *k)
{
	if (!k->soft)
		return buf__add_str(b, "reclaimed memory, because the machine had too little free "
				       "memory");
	return buf__add_str(b, "reclaimed memory, because its cgroup")
		       ?: add_limited(b, w, k->tid, WHY_LIMIT_MEMORY)
		       ?: buf__add_str(b, " was at its limit (memory.max, memory.high)");
}

/* The owner of the lock when the wait began */
static int add_owner(struct buf *b, const struct why *w, const struct why_key *k)
{
	char name[VERDICT_NAME];

	if (!k->sender || k->context == WAKE_OWNER || k->sender == k->who) /* named below */
		return 0;
	return buf__printf(b, ", which %s held when the wait began",
			   why_verdict__name(w, k->sender, name));
}

static bool is_loopback(const char *peer)
{
	return !strncmp(peer, "127.", 4) || !strncmp(peer, "[::1]", 5);
}

/* Data came from the network; @peer: NULL: from where is unknown */
static int add_peer(struct buf *b, const char *peer)
{
	char name[WHY_PEER];

	if (!peer)
		return buf__add_str(b, ", until data came from the network (peer not recorded: a "
				       "rule on syscall:recvfrom,read has it): the cause lies "
				       "outside this machine");
	snprintf(name, sizeof(name), "%s", peer);
	return buf__printf(b, ", until data came from %s: %s", make_printable(name),
			   is_loopback(peer) ? "a task of this machine sent it, which one was not "
					       "recorded"
					     : "the cause lies outside this machine");
}

static int add_waited(struct buf *b, const struct why *w, const struct why_node *n,
		      why_duration_fn duration)
{
	const struct why_key *k = &n->key;
	const char *kind = waited_for(k);
	char name[VERDICT_NAME];
	int err;

	if (k->kind == WAIT_STOPPED)
		return add_stopped(b, w, k);
	err = buf__add_str(b, "waited") ?: *kind ? buf__printf(b, " for %s", kind) : 0;
	if (!err && k->soft && !*kind)
		err = buf__add_str(b, n->ns / (n->times ?: 1) < SHORT_NS
					      ? " (short, stack not recorded)"
					      : " (stack not recorded)");
	err = err ?: add_place(b, k) ?: add_owner(b, w, k);
	if (err ||
	    (n->child && n->child->key.type == WHY_UNKNOWN && !k->who && k->context != WAKE_BLOCK))
		return err;
	switch (k->context) {
	case WAKE_TIMER:
		return buf__add_str(
			b, k->kind == WAIT_SLEEP
				   ? ": it chose to sleep"
				   : ", until its timeout expired: nothing woke it earlier");
	case WAKE_BLOCK:
		return add_request(b, n, duration);
	case WAKE_NET:
		return add_peer(b, why__peer_of(w, n));
	case WAKE_OWNER:
		return buf__printf(b, ", which %s holds", why_verdict__name(w, k->who, name));
	case WAKE_SIGNAL:
		return buf__printf(b, ", until a signal from %s ended the wait",
				   why_verdict__name(w, k->who, name));
	default:
		return k->who ? buf__printf(b, ", until woken by %s%s",
					    k->who == k->sender ? "its owner " : "",
					    why_verdict__name(w, k->who, name))
			      : 0;
	}
}

static int add_interrupt(struct buf *b, const struct why_key *k)
{
	int err = k->cpu ? buf__printf(b, "waited for CPU %u, which ", k->cpu - 1) : 0;

	if (!err && !k->soft && k->number == UINT32_MAX)
		return buf__add_str(b, "was interrupted by several IRQs");
	if (!err && !k->soft)
		return buf__printf(b, "was interrupted by IRQ %u", k->number);
	return err ?: buf__printf(b, "was interrupted by softirq %s", softirq_name(k->number));
}

int why_verdict__phrase(struct buf *b, const struct why *w, const struct why_node *n,
			why_duration_fn duration)
{
	switch (n->key.type) {
	case WHY_RAN:
		return add_ran(b, w, n);
	case WHY_INTERRUPTED:
		return add_interrupt(b, &n->key);
	case WHY_QUEUED:
		return add_queued(b, w, n);
	case WHY_RECLAIM:
		return add_reclaim(b, w, &n->key);
	case WHY_COMPACTED:
		return buf__add_str(b, "compacted memory, because no free piece was large enough");
	case WHY_SPUN:
		return add_spun(b, w, &n->key);
	case WHY_SERVED:
		return add_served(b, w, n);
	case WHY_HELD:
		return add_held(b, w, &n->key);
	case WHY_THROTTLED:
		return add_throttled(b, w, &n->key);
	case WHY_WAITED:
		return add_waited(b, w, n, duration);
	default:
		return buf__add_str(b, "unknown: ") ?: add_missing(b, n->key.missing);
	}
}
