// SPDX-License-Identifier: GPL-2.0-only
/*
 * A strict checker of perf.data files that frbpf wrote: what perf forgives is an error here.
 *
 *	perfdata_check FILE
 *
 * Standard output: one line "name value" per fact. Exit status 0; 1 when the file breaks a rule
 *(standard error says which and at what offset); 2 when it cannot be read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/cleanup.h"
#include "perfdata/record.h"

#define ATTR_SIZE    128
#define FEATURE_BITS 256
#define FILE_MAX     (8ULL << 30)

/* Feature sections by number. Every file of ours has the sections in required[]. */
enum { TRACING_DATA = 1, NRCPUS = 7, EVENT_DESC = 12 };
static const unsigned int required[] = { 3, 4, 5, 6, NRCPUS, 8, 11, EVENT_DESC, 21 };

struct section {
	uint64_t offset, size;
};

struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct event {
	uint64_t id; /* key */
	const struct perf_event_attr *attr;
	uint64_t samples;
	UT_hash_handle hh;
};

struct map {
	uint64_t start, end;
};

struct process {
	uint32_t pid; /* key */
	bool named;   /* by a COMM or a FORK */
	struct map *maps;
	size_t n_maps, cap;
	UT_hash_handle hh;
};

struct check {
	const char *data;
	size_t size;
	struct header h;
	struct event *events;
	struct process *processes;
	struct section features[FEATURE_BITS];
	uint32_t max_cpu;
	uint64_t last_time;
	uint64_t types[22];
	uint64_t user_samples, unmapped, lost;
	bool kernel_map, tracepoints;
};

__attribute__((format(printf, 2, 3), noreturn)) static void violation(uint64_t offset,
								      const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "offset %" PRIu64 ": ", offset);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

static void *xzalloc(size_t size)
{
	return memset(xrealloc(NULL, size), 0, size);
}

static bool in_file(const struct check *c, struct section s)
{
	return s.offset <= c->size && s.size <= c->size - s.offset;
}

static void check_header(struct check *c)
{
	if (c->size < sizeof(c->h))
		violation(0, "shorter than a header");
	memcpy(&c->h, c->data, sizeof(c->h));
	if (memcmp(c->h.magic, "PERFILE2", 8))
		violation(0, "no magic");
	if (c->h.size != sizeof(c->h))
		violation(8, "header size %" PRIu64, c->h.size);
	if (c->h.attr_size != ATTR_SIZE + sizeof(struct section))
		violation(16, "attr size %" PRIu64, c->h.attr_size);
	if (!in_file(c, c->h.attrs) || !c->h.attrs.size || c->h.attrs.size % c->h.attr_size)
		violation(24, "attrs are not in the file, none, or not whole");
	if (!in_file(c, c->h.data) || !c->h.data.size || c->h.data.size % 8)
		violation(40, "data is not in the file, empty, or not of whole words");
	if (c->h.attrs.offset < sizeof(c->h) || c->h.attrs.offset % 8 ||
	    c->h.attrs.offset + c->h.attrs.size != c->h.data.offset)
		violation(24, "header, attrs and data do not follow each other");
	if (c->h.event_types.offset || c->h.event_types.size)
		violation(56, "event types");
}

static void add_ids(struct check *c, const struct perf_event_attr *attr, struct section ids,
		    uint64_t offset)
{
	uint64_t i;

	if (!in_file(c, ids) || ids.size % 8 || !ids.size)
		violation(offset, "ids are not in the file, none, or not whole");
	for (i = 0; i < ids.size; i += 8) {
		struct event *e = xzalloc(sizeof(*e)), *old;

		memcpy(&e->id, c->data + ids.offset + i, sizeof(e->id));
		e->attr = attr;
		HASH_FIND(hh, c->events, &e->id, sizeof(e->id), old);
		if (!e->id || old)
			violation(ids.offset + i, "id %" PRIu64 " is 0 or listed twice", e->id);
		HASH_ADD(hh, c->events, id, sizeof(e->id), e);
	}
}

static void check_attr_section(struct check *c)
{
	uint64_t i, at = sizeof(c->h);

	for (i = c->h.attrs.offset; i < c->h.data.offset; i += c->h.attr_size) {
		const struct perf_event_attr *a = (const void *)(c->data + i);
		struct section ids;

		memcpy(&ids, c->data + i + ATTR_SIZE, sizeof(ids));
		if (a->size != ATTR_SIZE)
			violation(i, "attr.size %u", a->size);
		if ((a->sample_type & RECORD_SAMPLE_TYPE) != RECORD_SAMPLE_TYPE ||
		    a->sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID))
			violation(i, "sample_type 0x%" PRIx64, (uint64_t)a->sample_type);
		if (!a->sample_id_all)
			violation(i, "sample_id_all is not set");
		if (!a->use_clockid || a->clockid != 1)
			violation(i, "not CLOCK_MONOTONIC");
		if (ids.offset != at)
			violation(i, "ids are not in the order of the attrs");
		at += ids.size;
		c->tracepoints |= a->type == PERF_TYPE_TRACEPOINT;
		add_ids(c, a, ids, i);
	}
	if (at != c->h.attrs.offset)
		violation(c->h.attrs.offset, "ids do not end where the attrs begin");
}

static struct process *process(struct check *c, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, c->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	p = xzalloc(sizeof(*p));
	p->pid = pid;
	HASH_ADD(hh, c->processes, pid, sizeof(pid), p);
	return p;
}

static void add_process_map(struct process *p, uint64_t start, uint64_t len)
{
	if (p->n_maps == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->maps = xrealloc(p->maps, p->cap * sizeof(*p->maps));
	}
	p->maps[p->n_maps++] = (struct map){ start, start + len };
}

static bool mapped(const struct process *p, uint64_t ip)
{
	size_t i;

	for (i = p->n_maps; i-- > 0;)
		if (ip >= p->maps[i].start && ip < p->maps[i].end)
			return true;
	return false;
}

static void on_mmap(struct check *c, const struct perf_event_header *h)
{
	const struct record_mmap *m = (const void *)h; /* MMAP2 begins alike */

	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		c->kernel_map |= m->pid == UINT32_MAX && m->tid == 0;
	else
		add_process_map(process(c, m->pid), m->start, m->len);
}

static void on_comm(struct check *c, const struct perf_event_header *h)
{
	struct process *p = process(c, ((const struct record_comm *)h)->pid);

	p->named = true;
	if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
		p->n_maps = 0;
}

static void on_fork(struct check *c, const struct perf_event_header *h)
{
	const struct record_task *t = (const void *)h;
	struct process *child = process(c, t->pid), *parent = process(c, t->ppid);
	size_t i;

	child->named = true;
	if (child == parent || h->misc & PERF_RECORD_MISC_FORK_EXEC)
		return;
	child->n_maps = 0;
	for (i = 0; i < parent->n_maps; i++)
		add_process_map(child, parent->maps[i].start,
				parent->maps[i].end - parent->maps[i].start);
}

/* The place of CPU depends on the fields before it. */
static uint32_t sample_cpu(const struct perf_event_header *h, const struct event *e,
			   uint64_t offset)
{
	size_t at = 40 + (e->attr->sample_type & PERF_SAMPLE_ADDR ? 8 : 0);
	uint32_t cpu;

	if (at + 8 > h->size)
		violation(offset, "sample of %u bytes", h->size);
	memcpy(&cpu, (const char *)h + at, sizeof(cpu));
	return cpu;
}

static void check_sample(struct check *c, const struct perf_event_header *h, struct event *e,
			 uint64_t offset)
{
	uint32_t pid = record__pid(h), cpu = sample_cpu(h, e, offset);
	struct process *p;
	uint64_t ip;

	e->samples++;
	if (cpu > c->max_cpu)
		c->max_cpu = cpu;
	if (!pid || pid == UINT32_MAX) /* idle, of another pid namespace, or dead already */
		return;
	p = process(c, pid);
	if (!p->named)
		violation(offset, "sample of process %u, which no COMM or FORK has named", pid);
	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	memcpy(&ip, (const char *)h + 16, sizeof(ip));
	c->user_samples++;
	c->unmapped += !mapped(p, ip);
}

static void check_record(struct check *c, const struct perf_event_header *h, uint64_t offset,
			 size_t avail)
{
	uint64_t id, time;
	struct event *e;

	/* always true, because any record that is out of order is a violation */
	if (avail >= sizeof(*h) && h->type == RECORD_FINISHED_ROUND && h->size == sizeof(*h))
		return;
	if (!record__valid(h, avail))
		violation(offset, "malformed record: type %u, size %u, %zu bytes left", h->type,
			  h->size, avail);
	id = record__id(h);
	time = record__time(h);
	HASH_FIND(hh, c->events, &id, sizeof(id), e);
	if (!e && (id || h->type == PERF_RECORD_SAMPLE))
		violation(offset, "record of type %u has id %" PRIu64 ", which no attr lists",
			  h->type, id);
	if (!time || time == UINT64_MAX)
		violation(offset, "record of type %u without a time", h->type);
	if (time < c->last_time)
		violation(offset, "record of type %u at %" PRIu64 " is %" PRIu64 " ns too late",
			  h->type, time, c->last_time - time);
	c->last_time = time;
	c->types[h->type]++;
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		check_sample(c, h, e, offset);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		on_mmap(c, h);
		break;
	case PERF_RECORD_COMM:
		on_comm(c, h);
		break;
	case PERF_RECORD_FORK:
		on_fork(c, h);
		break;
	case PERF_RECORD_LOST:
		c->lost += ((const struct record_lost *)h)->lost;
		break;
	}
}

static void check_data(struct check *c)
{
	uint64_t at = c->h.data.offset, end = at + c->h.data.size;

	while (at < end) {
		const struct perf_event_header *h = (const void *)(c->data + at);

		check_record(c, h, at, end - at);
		at += h->size;
	}
	if (!c->kernel_map)
		violation(c->h.data.offset, "no map of the kernel: its addresses have no names");
}

/* The table after the data, then bodies without gap or overlap to the end of the file. */
static void check_feature_table(struct check *c)
{
	uint64_t table = c->h.data.offset + c->h.data.size, at = table;
	unsigned int bit, n = 0;

	for (bit = 0; bit < FEATURE_BITS; bit++)
		n += c->h.features[bit / 64] >> (bit % 64) & 1;
	if (n * sizeof(struct section) > c->size - table)
		violation(table, "the table of %u features is not in the file", n);
	at = table + n * sizeof(struct section);
	for (bit = 0, n = 0; bit < FEATURE_BITS; bit++) {
		uint64_t entry = table + n * sizeof(struct section);
		struct section *s = &c->features[bit];

		if (!(c->h.features[bit / 64] >> (bit % 64) & 1))
			continue;
		memcpy(s, c->data + entry, sizeof(*s));
		if (!bit || s->offset != at || !in_file(c, *s))
			violation(entry, "feature %u at %" PRIu64 ", %" PRIu64 " bytes: %s", bit,
				  s->offset, s->size,
				  in_file(c, *s) ? "out of order" : "not in the file");
		at += s->size;
		n++;
	}
	if (at != c->size)
		violation(at, "%" PRIu64 " bytes after the last feature", c->size - at);
}

static void check_features(struct check *c)
{
	uint32_t cpus[2], n;
	size_t i;

	check_feature_table(c);
	for (i = 0; i < ARRAY_SIZE(required); i++)
		if (!c->features[required[i]].offset)
			violation(72, "feature %u is missing", required[i]);
	if (c->tracepoints && !c->features[TRACING_DATA].offset)
		violation(72, "tracepoints without their formats");
	if (c->features[NRCPUS].size != sizeof(cpus))
		violation(c->features[NRCPUS].offset, "NRCPUS is not of 8 bytes");
	memcpy(cpus, c->data + c->features[NRCPUS].offset, sizeof(cpus));
	if (cpus[1] > cpus[0] || c->max_cpu >= cpus[0])
		violation(c->features[NRCPUS].offset, "%u CPUs, %u online, but a sample of CPU %u",
			  cpus[0], cpus[1], c->max_cpu);
	if (c->features[EVENT_DESC].size < sizeof(n))
		violation(c->features[EVENT_DESC].offset, "EVENT_DESC is empty");
	memcpy(&n, c->data + c->features[EVENT_DESC].offset, sizeof(n));
	if (n != c->h.attrs.size / c->h.attr_size)
		violation(c->features[EVENT_DESC].offset, "EVENT_DESC speaks of %u events", n);
}

static void print_summary(const struct check *c)
{
	static const char *const names[] = {
		NULL,		"mmap",
		"lost",		"comm",
		"exit",		"throttle",
		"unthrottle",	"fork",
		"read",		"sample",
		"mmap2",	"aux",
		"itrace_start", "lost_samples",
		"switch",	"switch_cpu_wide",
		"namespaces",	"ksymbol",
		"bpf_event",	"cgroup",
		"text_poke",	"aux_output_hw_id",
	};
	const struct event *e;
	size_t i;

	printf("attrs %" PRIu64 "\n", c->h.attrs.size / c->h.attr_size);
	for (i = 1; i < ARRAY_SIZE(names); i++)
		if (c->types[i])
			printf("%s %" PRIu64 "\n", names[i], c->types[i]);
	for (e = c->events; e; e = e->hh.next)
		if (e->samples)
			printf("samples_of_id_%" PRIu64 " %" PRIu64 "\n", e->id, e->samples);
	printf("lost_records %" PRIu64 "\n", c->lost);
	printf("user_samples %" PRIu64 "\n", c->user_samples);
	printf("unmapped %" PRIu64 "\n", c->unmapped);
}

static void check__free(struct check *c)
{
	struct process *p, *next_p;
	struct event *e, *next_e;

	HASH_ITER (hh, c->processes, p, next_p) {
		HASH_DEL(c->processes, p);
		free(p->maps);
		free(p);
	}
	HASH_ITER (hh, c->events, e, next_e) {
		HASH_DEL(c->events, e);
		free(e);
	}
}

int main(int argc, char **argv)
{
	struct check c = { 0 };
	struct buf file = { 0 };
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: perfdata_check FILE\n");
		return 2;
	}
	err = buf__read_file(&file, argv[1], FILE_MAX);
	if (err || !file.data) {
		fprintf(stderr, "%s: %s\n", argv[1], err ? strerror(-err) : "empty");
		return 2;
	}
	c.data = file.data;
	c.size = file.len;
	check_header(&c);
	check_attr_section(&c);
	check_data(&c);
	check_features(&c);
	print_summary(&c);
	check__free(&c);
	buf__free(&file);
	return 0;
}
