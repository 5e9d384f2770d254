// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/why/why_next.h"
#include "common/cleanup.h"
#include "common/printable.h"

/* What to look at next for each cause, and the events that this needs */
struct next_row {
	bool given;	       /* false: no event is needed */
	enum sched_kind kind;  /* some dump must have this event in the interval */
	const char *text;      /* words in braces are replaced, see next_words */
	const char *without;   /* if no dump has that event */
	const char *elsewhere; /* if CPU time was sampled, at other times only; NULL: as without */
};

#define SAMPLES_LINE "record -e cpu-clock -F 99 -g"
/* For a dump with samples, where the interval fell between two of them */
#define MORE_SAMPLES                                                                               \
	"for the functions that {culprit} runs: a higher -F, no sample fell into this time"

static const struct next_row next_rows[CAUSE_KINDS] = {
	[CAUSE_UNKNOWN] = { false, 0, "{record}", NULL },
	[CAUSE_COMPUTED] = { true, SCHED_SAMPLE, "perf report -i {file} --tid {tid} --time {span}",
			     SAMPLES_LINE " for the functions that {culprit} runs", MORE_SAMPLES },
	[CAUSE_INTERRUPT] = { false, 0, "{interrupt}", NULL },
	[CAUSE_CPU] = { true, SCHED_SAMPLE,
			"chrt -p {tid}; perf report -i {file} --tid {tid} --time {span}",
			"chrt -p {tid}; " SAMPLES_LINE " for the functions that {culprit} runs",
			"chrt -p {tid}; " MORE_SAMPLES },
	[CAUSE_CPU_MANY] = { true, SCHED_SWITCH, "perf script -i {file} -C {cpu} --time {span}",
			     "who runs on CPU {cpu}" },
	[CAUSE_QUOTA] = { false, 0, "{cpu.limit}", NULL },
	[CAUSE_OWN_TIMER] = { true, SCHED_SWITCH,
			      "why {culprit} sleeps: perf script -i {file} --tid {tid} --time "
			      "{span}",
			      "why {culprit} sleeps" },
	[CAUSE_TIMEOUT] = { true, SCHED_SWITCH,
			    "what should have woken {culprit}: perf script -i {file} --tid {tid} "
			    "--time {span}",
			    "what should have woken {culprit}" },
	[CAUSE_DEVICE] = { true, SCHED_RQ_ISSUE,
			   "perf script -i {file} --time {span} | grep 'block_rq_.* {device} '",
			   "record -e block:block_rq_insert -e block:block_rq_issue -e "
			   "block:block_rq_complete of all tasks (-a)" },
	[CAUSE_IO_LIMIT] = { false, 0, "{io.limit}", NULL },
	[CAUSE_RECLAIM] = { false, 0, "{memory.limit}", NULL },
	[CAUSE_COMPACT] = { false, 0, "/proc/buddyinfo; /sys/kernel/mm/transparent_hugepage/defrag",
			    NULL },
	[CAUSE_NETWORK] = { false, 0, "ss -tupin | grep 'pid={pid},'", NULL },
	[CAUSE_STOPPED] = { true, SCHED_SIGNAL,
			    "perf script -i {file} --time {span} | grep signal_generate",
			    "record -e signal:signal_generate of all tasks (-a)" },
	[CAUSE_TASK] = { true, SCHED_SWITCH,
			 "what {culprit} did: perf script -i {file} --tid {tid} --time {span}",
			 "what {culprit} did" },
};

/* What the words in braces stand for */
struct next_context {
	const struct why *w;
	const struct why_verdict *v;
	size_t file; /* number of a file */
};

static int add_next_file(struct buf *b, const struct next_context *c)
{
	const char *path = why__events(c->w)->files[c->file];
	unsigned int fd;
	int skip = 0;

	/* a dump of `frbpf run`: only the path below its output directory */
	if (sscanf(path, "/proc/self/fd/%u/%n", &fd, &skip) == 1 && skip)
		path += skip;
	return escape__shell(b, path);
}

static int add_next_span(struct buf *b, const struct next_context *c)
{
	const struct why_node *root = why__root(c->w);
	uint64_t from = root->first / 1000, to = (root->first + root->ns) / 1000 + 1; /* us */

	return buf__printf(b, "%llu.%06llu,%llu.%06llu", (unsigned long long)from / 1000000,
			   (unsigned long long)from % 1000000, (unsigned long long)to / 1000000,
			   (unsigned long long)to % 1000000);
}

static int add_next_tid(struct buf *b, const struct next_context *c)
{
	return buf__printf(b, "%u", c->v->culprit);
}

static int add_next_pid(struct buf *b, const struct next_context *c)
{
	return buf__printf(b, "%u", c->v->culprit_pid ?: c->v->culprit);
}

static int add_next_culprit(struct buf *b, const struct next_context *c)
{
	return buf__printf(b, "%s/%u", c->v->culprit_comm[0] ? c->v->culprit_comm : "?",
			   c->v->culprit);
}

static int add_next_cpu(struct buf *b, const struct next_context *c)
{
	return buf__printf(b, "%u", c->v->end->key.number);
}

/* Append the device as perf script prints it. */
static int add_next_device(struct buf *b, const struct next_context *c)
{
	const struct why_node *n = c->v->end;
	uint32_t dev = n->key.type == WHY_SERVED ? n->key.number : n->dev;

	return buf__printf(b, "%u,%u", dev >> 20, dev & 0xfffff);
}

static int add_next_interrupt(struct buf *b, const struct next_context *c)
{
	const struct why_node *n = c->v->end;

	if (n->key.type == WHY_QUEUED || n->key.soft)
		return buf__add_str(b, "watch -d cat /proc/softirqs");
	if (n->key.number == UINT32_MAX)
		return buf__add_str(b, "watch -d cat /proc/interrupts");
	return buf__printf(b, "grep '^ *%u:' /proc/interrupts; cat /proc/irq/%u/smp_affinity_list",
			   n->key.number, n->key.number);
}

/* The files of the cgroup that limited the culprit */
static int add_next_limit(struct buf *b, const struct next_context *c, enum why_limit l)
{
	static const char *const files[WHY_LIMITS][2] = {
		[WHY_LIMIT_CPU] = { "cpu.max and cpu.stat", "cpu.cfs_quota_us and cpu.stat" },
		[WHY_LIMIT_MEMORY] = { "memory.max, memory.high and memory.events",
				       "memory.limit_in_bytes and memory.failcnt" },
		[WHY_LIMIT_IO] = { "io.max and io.stat", "blkio.throttle.*" },
	};
	const struct sched_task *t = sched_events__own_task(why__events(c->w), c->v->culprit);
	const struct why_question *q = why__question(c->w);
	const struct why_cgroup *g = &q->limits[l];

	if (t && t->tid == q->tid && g->path[0])
		return buf__printf(b, "%s in /sys/fs/cgroup", files[l][g->v1])
			       ?: escape__shell(b, g->path);
	return buf__printf(b, "%s of the cgroup in /proc/", files[l][0])
		       ?: add_next_pid(b, c) ?: buf__add_str(b, "/cgroup, and of those above it");
}

static int add_cpu_limit(struct buf *b, const struct next_context *c)
{
	return add_next_limit(b, c, WHY_LIMIT_CPU);
}

static int add_io_limit(struct buf *b, const struct next_context *c)
{
	return add_next_limit(b, c, WHY_LIMIT_IO);
}

static int add_memory_limit(struct buf *b, const struct next_context *c)
{
	if (c->v->end->key.soft || c->v->end->key.kind == WAIT_OVER_HIGH)
		return add_next_limit(b, c, WHY_LIMIT_MEMORY);
	return buf__add_str(b, "/proc/meminfo; ps -eo pid,rss,comm --sort=-rss | head");
}

static int add_next_record(struct buf *b, const struct next_context *c)
{
	return why_missing__add_record(b, c->w, c->v->missing);
}

static const struct {
	const char *word;
	int (*add)(struct buf *b, const struct next_context *c);
} next_words[] = {
	{ "file", add_next_file },
	{ "span", add_next_span },
	{ "tid", add_next_tid },
	{ "pid", add_next_pid },
	{ "culprit", add_next_culprit },
	{ "cpu", add_next_cpu },
	{ "device", add_next_device },
	{ "interrupt", add_next_interrupt },
	{ "cpu.limit", add_cpu_limit },
	{ "io.limit", add_io_limit },
	{ "memory.limit", add_memory_limit },
	{ "record", add_next_record },
};

/* Append @text with its words in braces replaced. 0 or -ENOMEM. */
static int add_next_text(struct buf *b, const char *text, const struct next_context *c)
{
	const char *open, *close;
	int err = 0;

	while (!err && (open = strchr(text, '{')) && (close = strchr(open, '}'))) {
		err = buf__add(b, text, open - text);
		for (size_t i = 0; !err && i < ARRAY_SIZE(next_words); i++)
			if (strlen(next_words[i].word) == (size_t)(close - open - 1) &&
			    !strncmp(open + 1, next_words[i].word, close - open - 1))
				err = next_words[i].add(b, c);
		text = close + 1;
	}
	return err ?: buf__add_str(b, text);
}

/* Finds the first file that has an event of @kind in the interval. False: there is none. */
static bool find_next_file(const struct why *w, enum sched_kind kind, size_t *ret)
{
	const struct sched_events *e = why__events(w);
	uint64_t from = why__root(w)->first, to = from + why__root(w)->ns;

	for (size_t i = sched_events__at(e, from); i < e->n && e->v[i].time <= to; i++) {
		if (e->v[i].kind == kind && e->v[i].file < e->n_files) {
			*ret = e->v[i].file;
			return true;
		}
	}
	return false;
}

int why_next__add(struct buf *b, const struct why *w, const struct why_verdict *v)
{
	const struct next_row *row = &next_rows[v->cause];
	struct next_context c = { .w = w, .v = v };
	const char *text = row->text;
	int err;

	if (row->given && !find_next_file(w, row->kind, &c.file))
		text = row->elsewhere && why__events(w)->samples ? row->elsewhere : row->without;
	err = add_next_text(b, text, &c);
	if (!err && b->data)
		make_printable(b->data);
	return err;
}
