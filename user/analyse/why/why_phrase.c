// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_phrase.h"
#include "common/cleanup.h"
#include "common/printable.h"
#include "symbols/demangle.h"

/* ns; a shorter wait is called short */
#define SHORT_NS 1000000

const char *why_phrase__name(const struct why *w, uint32_t tid, char buf[static VERDICT_NAME])
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
			      ?: add_verdict_function(b, k->call)
			      ?: buf__add_str(b, k->function ? ")" : "");
	return err;
}

/* Say that a cgroup of @tid has a weight below the default, if that is known. */
static int add_low_weight(struct buf *b, const struct why *w, uint32_t tid)
{
	const struct why_question *q = why__question(w);
	uint32_t normal = q->weight_is_shares ? 1024 : 100;

	if (tid != q->tid || !q->weight || q->weight >= normal)
		return 0;
	return buf__printf(b, "; a cgroup of the waiting task has %s %u",
			   q->weight_is_shares ? "cpu.shares" : "cpu.weight", q->weight);
}

/*
 * Say what the priorities tell about who ran before @tid. Nice values decide only between tasks of
 * one cgroup; between cgroups, their weights do.
 */
static int add_rank(struct buf *b, const struct why *w, uint32_t tid, int32_t of_who,
		    int32_t of_task)
{
	int err;

	if (of_who == WHY_PRIO_UNKNOWN)
		return 0;
	if (of_who < 0)
		return buf__add_str(b, " (deadline class)");
	if (of_who < 100)
		return buf__printf(b, " (real-time, priority %d)", 99 - of_who);
	if (of_task == WHY_PRIO_UNKNOWN)
		return 0;
	if (of_task == WHY_PRIO_IDLE)
		return buf__add_str(b, " (before SCHED_IDLE)");
	if (of_who < of_task)
		err = buf__printf(b, " (nice %d; it has nice %d", of_who - 120, of_task - 120);
	else
		err = buf__add_str(b, of_who > of_task ? " (lower priority: the scheduler's choice"
						       : " (same priority");
	return err ?: add_low_weight(b, w, tid) ?: buf__add_str(b, ")");
}

int why_phrase__add_left(struct buf *b, const struct why_node *n)
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

static int add_idle_cpu(struct buf *b, uint32_t cpu)
{
	if (cpu == WHY_SEVERAL_CPUS)
		return buf__add_str(b, ", while some other CPU was idle: ");
	return buf__printf(b, ", while CPU %u was idle: ", cpu);
}

/* Say that another CPU idled for most of the time, if one did. */
static int add_idle(struct buf *b, const struct why *w, const struct why_node *n)
{
	uint32_t tid = n->key.tid;
	size_t cpus = why__n_cpus_of(w, tid);

	if (n->idle_ns > n->ns / 2)
		return add_idle_cpu(b, n->idle_cpu)
			       ?: (cpus ? buf__add_str(b, "it may run on others, but was not moved")
					: buf__printf(b,
						      "it may run only on CPU %u, or was not moved",
						      n->key.number));
	if (n->barred_ns <= n->ns / 2)
		return 0;
	return add_idle_cpu(b, n->barred_cpu)
		       ?: (cpus == 1 && why__may_run_on(w, tid, n->key.number)
				   ? buf__printf(b, "it may run only on CPU %u", n->key.number)
				   : buf__add_str(b, "it may not run there"));
}

/* Say for whom kernel thread @tid works, or who woke it: it may also work for others. */
static int add_behalf(struct buf *b, const struct why *w, const struct why_key *k, uint32_t tid)
{
	char name[VERDICT_NAME];

	if (!k->sender)
		return 0;
	why_phrase__name(w, k->sender, name);
	if (why__is_ring_worker(w, tid))
		return buf__printf(b, ", on behalf of %s", name);
	return tid == k->tid ? buf__printf(b, ", woken by %s", name)
			     : buf__printf(b, ", which %s woke", name);
}

static int add_queued(struct buf *b, const struct why *w, const struct why_node *n)
{
	char name[VERDICT_NAME];
	int err;

	err = buf__printf(b, "waited for CPU %u behind %s", n->key.number,
			  why_phrase__name(w, n->key.who, name))
		      ?: add_rank(b, w, n->key.tid, n->key.prio, n->own_prio)
		      ?: add_behalf(b, w, &n->key, n->key.who);
	if (!err && n->softirq)
		err = buf__printf(b, ", for softirq %s", softirq_name(n->softirq - 1));
	return err ?: add_idle(b, w, n) ?: why_phrase__add_left(b, n);
}

int why_phrase__add_function(struct buf *b, const struct why_function *f)
{
	int err = add_verdict_function(b, f->name);

	if (!err && f->call && strcmp(f->call, f->name))
		err = buf__add_str(b, " (")
			      ?: add_verdict_function(b, f->call)
			      ?: buf__add_str(b, ")");
	return err;
}

static int add_ran(struct buf *b, const struct why *w, const struct why_node *n)
{
	const struct why_function *best = n->functions;
	int err = buf__add_str(b, "computed");

	if (err || !best->samples)
		return err ?: add_behalf(b, w, &n->key, n->key.tid);
	return buf__add_str(b, ", mostly in ")
		       ?: why_phrase__add_function(b, best)
		       ?: add_behalf(b, w, &n->key, n->key.tid);
}

/* Say that the task was stopped: by a signal, or by its tracer. */
static int add_stopped(struct buf *b, const struct why *w, const struct why_key *k)
{
	char name[VERDICT_NAME];
	int err;

	if (k->kind == WAIT_TRACED)
		err = buf__add_str(b, "was stopped, as it is traced");
	else if (k->sender)
		err = buf__printf(b, "was stopped by a signal from %s",
				  why_phrase__name(w, k->sender, name));
	else
		err = buf__add_str(b, "was stopped by a signal");
	if (err || !k->who)
		return err;
	why_phrase__name(w, k->who, name);
	return k->kind == WAIT_TRACED && k->context == WAKE_SIGNAL
		       ? buf__printf(b, ", until a signal from %s ended that", name)
		       : buf__printf(b, ", until %s continued it", name);
}

/* "loop0 (7:0)", or only the number */
static int add_device(struct buf *b, const struct why *w, uint32_t dev)
{
	const struct why_disk *disk = why__disk(w, dev);
	char name[WHY_DISK_NAME];

	if (!disk)
		return buf__printf(b, "%u:%u", dev >> 20, dev & 0xfffff);
	memcpy(name, disk->name, sizeof(name));
	return buf__printf(b, "%s (%u:%u)", make_printable(name), dev >> 20, dev & 0xfffff);
}

static int add_request(struct buf *b, const struct why *w, const struct why_node *n,
		       why_duration_fn duration)
{
	char queue[32], device[32];
	int err;

	if (!n->dev)
		return buf__add_str(b, ", until a request to a device completed");
	if (n->several_devices)
		return buf__add_str(b, ", until requests to several devices completed");
	err = buf__add_str(b, ", until a request to device ")
		      ?: add_device(b, w, n->dev)
		      ?: buf__printf(b, " completed (sector %llu", (unsigned long long)n->sector);
	if (!err && n->device_ns)
		err = buf__printf(b, ", %s in the queue, %s in the device",
				  duration(n->queued_ns, queue, sizeof(queue)),
				  duration(n->device_ns, device, sizeof(device)));
	return err ?: buf__add_str(b, ")");
}

/* The thing waited for: the lock, if its kind says more than the kind of the wait. "": unknown. */
static const char *waited_for(const struct why_key *k)
{
	const char *lock = lock_kind__text(k->number);

	return *lock && (k->kind == WAIT_KERNEL_LOCK || k->kind == WAIT_UNKNOWN)
		       ? lock
		       : wait_kind__text(k->kind);
}

bool why_phrase__owner_is_doubtful(const struct why_key *k)
{
	return k->soft && lock_kind__spins(k->number);
}

static int add_spun(struct buf *b, const struct why *w, const struct why_key *k)
{
	const char *kind = waited_for(k);
	char name[VERDICT_NAME];
	int err = buf__printf(b, "tried to take %s", *kind ? kind : "a lock of the kernel")
			  ?: add_place(b, k);

	if (err || !k->who)
		return err ?: buf__add_str(b, ": ") ?: why_missing__add(b, w, MISSING_OWNER);
	why_phrase__name(w, k->who, name);
	if (!k->soft) /* an event names the owner */
		return buf__printf(b, " while %s held it", name);
	return why_phrase__owner_is_doubtful(k)
		       ? buf__printf(b, ": perhaps %s held it, no other task ran all that time",
				     name)
		       : buf__printf(b, " while %s held it: no other task ran all that time", name);
}

static int add_served(struct buf *b, const struct why *w, const struct why_node *n)
{
	const struct why_key *k = &n->key;
	char name[VERDICT_NAME];

	return buf__add_str(b, "device ")
		       ?: add_device(b, w, k->number)
		       ?: buf__printf(b, " worked for %s",
			   !k->who	      ? "a task that was not recorded"
			   : k->who == k->tid ? "its own requests"
					      : why_phrase__name(w, k->who, name))
		       ?: add_behalf(b, w, k, k->who);
}

/* Append " /system.slice/x", the cgroup that has reached limit @l, if it is known. */
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
	return buf__add_str(b, "its request waited before device ")
		       ?: add_device(b, w, k->number)
		       ?: buf__add_str(b, ": the limit of a cgroup")
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
		return buf__add_str(b, "reclaimed memory, because the kernel had too little free "
				       "memory of the kind that it asked for");
	return buf__add_str(b, "reclaimed memory, because its cgroup")
		       ?: add_limited(b, w, k->tid, WHY_LIMIT_MEMORY)
		       ?: buf__add_str(b, " was at its limit (memory.max, memory.high)");
}

/*
 * How to say that a task held the lock. The kernel knows who took a file lock; a child may hold it
 * now.
 */
static const char *held_before(const struct why_key *k)
{
	return k->number == LOCK_FLOCK ? "took" : "held when the wait began";
}

/*
 * Name the owner of the lock when the wait began. Of several readers, the kernel keeps only the
 * last.
 */
static int add_owner(struct buf *b, const struct why *w, const struct why_key *k)
{
	char name[VERDICT_NAME];

	if (!k->sender)
		return 0;
	why_phrase__name(w, k->sender, name);
	if (k->number == LOCK_RWSEM_READERS)
		return buf__printf(b, ", which %s was the last to take for reading", name);
	if (k->context == WAKE_OWNER || k->sender == k->who) /* named below */
		return 0;
	return buf__printf(b, ", which %s %s", name, held_before(k));
}

/* Say that data came from the network, from @peer; NULL: unknown. */
static int add_peer(struct buf *b, const char *peer)
{
	char name[WHY_PEER];

	if (!peer)
		return buf__add_str(b, ", until data came from the network, or from a task of this "
				       "machine (peer not recorded: a rule on "
				       "syscall:recvfrom,read has it)");
	snprintf(name, sizeof(name), "%s", peer);
	return buf__printf(b, ", until data came from %s%s", make_printable(name),
			   why__peer_is_local(peer) ? ""
						    : ": the cause lies outside this machine, "
						      "unless that address belongs to it");
}

/*
 * The kernel makes a task sleep if one of its cgroups has too much memory; it is unknown which one.
 */
static int add_over_high(struct buf *b, const struct why_key *k)
{
	return buf__add_str(b, "was slowed down by the kernel")
		       ?: add_place(b, k)
		       ?: buf__add_str(b, ", because a cgroup of it was above memory.high or "
					  "memory.swap.high");
}

static int add_waited(struct buf *b, const struct why *w, const struct why_node *n,
		      why_duration_fn duration)
{
	const struct why_key *k = &n->key;
	const char *kind = waited_for(k);
	char name[VERDICT_NAME];
	int err;

	if (k->kind == WAIT_STOPPED || k->kind == WAIT_TRACED)
		return add_stopped(b, w, k);
	if (k->kind == WAIT_OVER_HIGH && k->context == WAKE_TIMER)
		return add_over_high(b, k);
	err = buf__add_str(b, "waited") ?: *kind ? buf__printf(b, " for %s", kind) : 0;
	if (!err && k->soft && !*kind)
		err = buf__add_str(b, n->ns / (n->times ?: 1) < SHORT_NS
					      ? " (short, stack not recorded)"
					      : " (stack not recorded)");
	err = err ?: add_place(b, k) ?: add_owner(b, w, k);
	if (err || (n->child && n->child->key.type == WHY_UNKNOWN && !k->who &&
		    k->context != WAKE_BLOCK && k->context != WAKE_NET))
		return err;
	switch (k->context) {
	case WAKE_TIMER:
		return buf__add_str(b, k->kind == WAIT_SLEEP ? ": it chose to sleep"
				       : k->kind == WAIT_RECLAIM
					       ? ": the kernel paused its reclaim"
					       : ", until its timeout expired: nothing woke "
						 "it earlier");
	case WAKE_BLOCK:
		return add_request(b, w, n, duration);
	case WAKE_NET:
		return add_peer(b, why__peer_of(w, n));
	case WAKE_OWNER:
		return buf__printf(b, ", which %s %s", why_phrase__name(w, k->who, name),
				   k->kind == WAIT_FILE_LOCK && k->number != LOCK_POSIX ? "took"
											: "holds");
	case WAKE_OWNER_BEFORE:
		return buf__printf(b, ", which %s %s", why_phrase__name(w, k->who, name),
				   held_before(k));
	case WAKE_SIGNAL:
		return buf__printf(b, ", until a signal from %s ended the wait",
				   why_phrase__name(w, k->who, name));
	default:
		return k->who ? buf__printf(b, ", until woken by %s%s",
					    k->who == k->sender && k->number != LOCK_RWSEM_READERS
						    ? "its owner "
						    : "",
					    why_phrase__name(w, k->who, name))
			      : 0;
	}
}

static int add_irq(struct buf *b, const struct why_key *k)
{
	char handler[SCHED_HANDLER];

	if (k->number == UINT32_MAX)
		return buf__add_str(b, "several IRQs");
	if (!k->handler)
		return buf__printf(b, "IRQ %u", k->number);
	snprintf(handler, sizeof(handler), "%s", k->handler);
	return buf__printf(b, "IRQ %u (%s)", k->number, make_printable(handler));
}

/* An IRQ or a softirq */
static int add_interrupt_name(struct buf *b, const struct why_key *k)
{
	return k->soft ? buf__printf(b, "softirq %s", softirq_name(k->number)) : add_irq(b, k);
}

static int add_interrupt(struct buf *b, const struct why_key *k)
{
	int err = k->cpu ? buf__printf(b, "waited for CPU %u, which ", k->cpu - 1) : 0;

	return err ?: buf__add_str(b, "was interrupted by ") ?: add_interrupt_name(b, k);
}

int why_phrase__add(struct buf *b, const struct why *w, const struct why_node *n,
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
		return buf__add_str(b, "unknown: ") ?: why_missing__add(b, w, n->key.missing);
	}
}

int why_phrase__add_resource(struct buf *b, const struct why *w, const struct why_node *n)
{
	switch (n->key.type) {
	case WHY_INTERRUPTED:
		return add_interrupt_name(b, &n->key);
	case WHY_QUEUED:
		return n->softirq ? buf__printf(b, "softirq %s", softirq_name(n->softirq - 1)) : 0;
	case WHY_SERVED:
	case WHY_HELD:
		return add_device(b, w, n->key.number);
	default:
		return n->dev && !n->several_devices ? add_device(b, w, n->dev) : 0;
	}
}
