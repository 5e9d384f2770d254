// SPDX-License-Identifier: GPL-2.0-only
#include <linux/types.h>
#include <string.h>

#include "fed_records.h"
#include "perfdata/record.h"
#include "record/offcpu_event.h"

#define RING_FIELDS (RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)
#define FILE_FIELDS (RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define MARKS	    2 /* PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER */
#define FRAMES_MAX  (FRBPF_OFF_CPU_KERNEL + FRBPF_OFF_CPU_USER + MARKS)

/* The start of a sample: with RING_FIELDS in rings, with FILE_FIELDS in files */
struct off_cpu_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t period;
	union {
		struct {
			uint32_t raw_size;
			uint8_t raw[]; /* struct frbpf_off_cpu */
		};
		struct {
			uint64_t n_ips;
			uint64_t ips[];
		};
	};
};

void offcpu_event__init_attr(const struct record_opts *o, struct perf_event_attr *line,
			     struct off_cpu_opts *ret_opts)
{
	*ret_opts = (struct off_cpu_opts){
		.wanted = true,
		.least_ns = o->off_cpu_least,
		.inherits = line->inherit,
	};
	*line = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.size = line->size,
		.sample_period = 1,
		.sample_type = RING_FIELDS,
		.read_format = line->read_format,
		.disabled = 1,
		/* not inherit: a program cannot write into inherited events */
		.exclude_callchain_kernel = o->user_callchains,
		.exclude_callchain_user = o->kernel_callchains,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = line->clockid,
		.write_backward = line->write_backward,
		.watermark = 1,
		.wakeup_watermark = line->wakeup_watermark,
	};
}

uint64_t event__file_fields(const struct event *ev)
{
	return ev->off_cpu ? FILE_FIELDS : ev->attr.sample_type;
}

/* Copy the frames with perf's marks before each part. Returns their number. */
static uint64_t take_off_cpu_frames(const struct frbpf_off_cpu *r, uint64_t *ips)
{
	uint64_t n = 0;

	if (r->n_kernel) {
		ips[n++] = PERF_CONTEXT_KERNEL;
		memcpy(ips + n, r->ips, r->n_kernel * sizeof(*ips));
		n += r->n_kernel;
	}
	if (r->n_user) {
		ips[n++] = PERF_CONTEXT_USER;
		memcpy(ips + n, (const char *)r + FRBPF_OFF_CPU_HEAD + r->n_kernel * sizeof(*ips),
		       r->n_user * sizeof(*ips));
		n += r->n_user;
	}
	return n;
}

/* Fill in what the record @r has. @s has room for its frames. */
static void fill_sample(struct off_cpu_sample *s, const struct frbpf_off_cpu *r)
{
	uint64_t ips[FRAMES_MAX];

	s->pid = r->pid;
	s->tid = r->tid;
	s->period = r->ns;
	s->header.misc = r->n_user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	s->n_ips = take_off_cpu_frames(r, ips);
	s->ip = 0;
	if (s->n_ips) /* the innermost function of the program, as in perf */
		s->ip = r->n_user ? ips[s->n_ips - r->n_user] : ips[1];
	memcpy(s->ips, ips, s->n_ips * sizeof(*ips));
	s->header.size = offsetof(struct off_cpu_sample, ips) + s->n_ips * sizeof(*ips);
}

/* Has the record as many frames as it says? @bytes: the size of the record */
static bool has_frames(const struct frbpf_off_cpu *r, size_t bytes)
{
	return r->n_kernel <= FRBPF_OFF_CPU_KERNEL && r->n_user <= FRBPF_OFF_CPU_USER &&
	       ((size_t)r->n_kernel + r->n_user) * sizeof(uint64_t) <= bytes - FRBPF_OFF_CPU_HEAD;
}

/* Convert a sample to the layout of files. False: it is torn. */
static bool unpack_sample(struct off_cpu_sample *s)
{
	size_t room = s->header.size - offsetof(struct off_cpu_sample, raw);
	struct frbpf_off_cpu r;

	if (s->header.size < offsetof(struct off_cpu_sample, raw) + FRBPF_OFF_CPU_HEAD ||
	    s->raw_size < FRBPF_OFF_CPU_HEAD || s->raw_size > room)
		return false;
	memcpy(&r, s->raw, s->raw_size < sizeof(r) ? s->raw_size : sizeof(r));
	if (!has_frames(&r, s->raw_size))
		return false;
	fill_sample(s, &r);
	return true;
}

/* The id of event @e on CPU number @c */
static uint64_t off_cpu_id(const struct session *s, size_t e, size_t c)
{
	size_t n;

	return session__event_ids(s, e, &n)[c < s->n_id_cpus ? c : 0];
}

static bool has_off_cpu(const struct session *s)
{
	for (size_t e = 0; e < s->events->n; e++)
		if (s->events->v[e].off_cpu)
			return true;
	return false;
}

/* Is it a sample of offcpu-time on CPU number @c? */
static bool is_off_cpu(const struct session *s, size_t c, const struct perf_event_header *h)
{
	if (h->type != PERF_RECORD_SAMPLE)
		return false;
	for (size_t e = 0; e < s->events->n; e++)
		if (s->events->v[e].off_cpu && record__id(h) == off_cpu_id(s, e, c))
			return true;
	return false;
}

size_t offcpu_event__unpack(const struct session *s, size_t c, const struct perf_event_header **v,
			    size_t n)
{
	size_t kept = 0;

	if (!has_off_cpu(s))
		return n;
	for (size_t i = 0; i < n; i++) {
		if (!is_off_cpu(s, c, v[i]) || unpack_sample((struct off_cpu_sample *)v[i]))
			v[kept++] = v[i];
	}
	return kept;
}

void offcpu_event__cut(const struct session *s, size_t c, const struct perf_event_header **v,
		       size_t n, uint64_t end)
{
	bool has = has_off_cpu(s);

	for (size_t i = 0; has && i < n; i++) {
		struct off_cpu_sample *sample = (struct off_cpu_sample *)v[i];
		uint64_t after;

		if (!is_off_cpu(s, c, v[i]))
			continue;
		after = sample->time > end ? sample->time - end : 0;
		if (!after || sample->period <= after ||
		    (!s->events->off_cpu.sampled &&
		     sample->period - after < s->events->off_cpu.least_ns))
			continue;
		sample->period -= after;
		sample->time = end;
	}
}

/* False: there is no such CPU. */
static bool find_cpu(const struct session *s, uint32_t cpu, size_t *ret)
{
	for (size_t c = 0; c < s->n_cpus; c++) {
		if (s->cpus[c].cpu != (int)cpu)
			continue;
		*ret = c;
		return true;
	}
	return false;
}

/* The index of the event to which samples of feed__asleep() are added */
static size_t asleep_event(const struct session *s)
{
	return s->events->off_cpu.sampled ? s->events->off_cpu.sampled_event : s->events->n - 1;
}

/*
 * Convert @a, of @size bytes, to a sample at the end of its sleep, or at @end if that is earlier.
 * Add the sample to @ret, and its CPU number to @cpus.
 */
static int add_sleeper(const struct session *s, const struct frbpf_asleep *a, size_t size,
		       uint64_t end, struct buf *ret, struct buf *cpus)
{
	union {
		uint8_t room[sizeof(struct off_cpu_sample) + FRAMES_MAX * sizeof(uint64_t)];
		struct off_cpu_sample sample;
	} full = { { 0 } };
	struct off_cpu_sample *to = &full.sample;
	struct frbpf_off_cpu off_cpu = a->off_cpu;
	uint64_t least = s->events->off_cpu.sampled ? 0 : s->events->off_cpu.least_ns;
	size_t c;

	if (a->ended && a->ended < end)
		end = a->ended;
	if (!has_frames(&off_cpu, size - offsetof(struct frbpf_asleep, off_cpu)) ||
	    off_cpu.ns >= end || end - off_cpu.ns < least || !find_cpu(s, a->cpu, &c))
		return 0;
	off_cpu.ns = end - off_cpu.ns;
	to->header.type = PERF_RECORD_SAMPLE;
	to->id = off_cpu_id(s, asleep_event(s), c);
	to->time = end;
	to->cpu = a->cpu;
	fill_sample(to, &off_cpu);
	return buf__add(ret, to, to->header.size) ?: buf__add(cpus, &c, sizeof(c));
}

int offcpu_event__add_asleep(const struct session *s, const struct buf *asleep, uint64_t end,
			     struct buf *ret, struct buf *cpus)
{
	struct frbpf_asleep a = { 0 };
	size_t at = 0;
	int err = 0;

	while (!err && asleep->len - at >= FRBPF_ASLEEP_HEAD) {
		memcpy(&a, asleep->data + at, FRBPF_ASLEEP_HEAD);
		if (a.size < FRBPF_ASLEEP_HEAD || a.size > sizeof(a) || a.size > asleep->len - at)
			break; /* the buffer ends within this record */
		memcpy(&a, asleep->data + at, a.size);
		err = add_sleeper(s, &a, a.size, end, ret, cpus);
		at += a.size;
	}
	return err;
}

uint64_t offcpu_event__began(const struct perf_event_header *h)
{
	const struct off_cpu_sample *s = (const void *)h;

	return s->time > s->period ? s->time - s->period : 0;
}
