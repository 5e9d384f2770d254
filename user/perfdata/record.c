// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/cleanup.h"
#include "perfdata/record.h"

#define RECORD_SIZE_MAX (UINT16_MAX & ~7U)

/* The front of every sample. It ends before cpu, because ADDR may come in between. */
struct sample_head {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
};

/* In our own samples, before the callchain and the raw data. */
struct sample_middle {
	uint32_t cpu, res;
	uint64_t period;
};

_Static_assert(sizeof(struct record_trailer) == RECORD_TRAILER_SIZE, "trailer layout");
_Static_assert(sizeof(struct sample_head) == 40, "sample layout");
_Static_assert(sizeof(struct sample_middle) == 16, "sample layout");

#define NO_NAME UINT16_MAX

/* Smallest size of a record, and offset of its NUL-terminated name. */
static const struct record_shape {
	uint16_t body; /* header and fixed part, without the trailer; 0: no such type */
	uint16_t name;
} shapes[] = {
	[PERF_RECORD_MMAP] = { sizeof(struct record_mmap), offsetof(struct record_mmap, filename) },
	[PERF_RECORD_LOST] = { sizeof(struct record_lost), NO_NAME },
	[PERF_RECORD_COMM] = { sizeof(struct record_comm), offsetof(struct record_comm, comm) },
	[PERF_RECORD_EXIT] = { sizeof(struct record_task), NO_NAME },
	[PERF_RECORD_THROTTLE] = { 32, NO_NAME },
	[PERF_RECORD_UNTHROTTLE] = { 32, NO_NAME },
	[PERF_RECORD_FORK] = { sizeof(struct record_task), NO_NAME },
	[PERF_RECORD_READ] = { 24, NO_NAME },
	[PERF_RECORD_SAMPLE] = { sizeof(struct sample_head) + 8, NO_NAME },
	[PERF_RECORD_MMAP2] = { sizeof(struct record_mmap2),
				offsetof(struct record_mmap2, filename) },
	[PERF_RECORD_AUX] = { 32, NO_NAME },
	[PERF_RECORD_ITRACE_START] = { 16, NO_NAME },
	[PERF_RECORD_LOST_SAMPLES] = { 16, NO_NAME },
	[PERF_RECORD_SWITCH] = { 8, NO_NAME },
	[PERF_RECORD_SWITCH_CPU_WIDE] = { 16, NO_NAME },
	[PERF_RECORD_NAMESPACES] = { sizeof(struct record_namespaces), NO_NAME },
	[PERF_RECORD_KSYMBOL] = { sizeof(struct record_ksymbol),
				  offsetof(struct record_ksymbol, name) },
	[PERF_RECORD_BPF_EVENT] = { sizeof(struct record_bpf_event), NO_NAME },
	[PERF_RECORD_CGROUP] = { sizeof(struct record_cgroup),
				 offsetof(struct record_cgroup, path) },
	[PERF_RECORD_TEXT_POKE] = { 24, NO_NAME },
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = { 16, NO_NAME },
};

/* Do the contents, by the counts in the record, end before the trailer at @end? */
static bool record__counts_fit(const struct perf_event_header *h, size_t end)
{
	uint16_t text_poke_len[2];
	uint64_t nr;

	switch (h->type) {
	case PERF_RECORD_NAMESPACES:
		nr = ((const struct record_namespaces *)h)->nr;
		return nr <= (end - sizeof(struct record_namespaces)) / 16;
	case PERF_RECORD_TEXT_POKE:
		memcpy(text_poke_len, (const char *)h + 16, sizeof(text_poke_len));
		return 20u + text_poke_len[0] + text_poke_len[1] <= end;
	case PERF_RECORD_MMAP2:
		return !(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
		       ((const struct record_mmap2 *)h)->build_id_size <= 20;
	default:
		return true;
	}
}

bool record__valid(const struct perf_event_header *h, size_t avail)
{
	const struct record_shape *shape;
	size_t end;

	if (avail < sizeof(*h) || h->size > avail || h->size % 8)
		return false;
	if (h->type >= ARRAY_SIZE(shapes) || !shapes[h->type].body)
		return false;
	shape = &shapes[h->type];
	if (h->type == PERF_RECORD_SAMPLE)
		return h->size >= shape->body;
	if (h->size < shape->body + sizeof(struct record_trailer))
		return false;
	end = h->size - sizeof(struct record_trailer);
	if (shape->name != NO_NAME && !memchr((const char *)h + shape->name, 0, end - shape->name))
		return false;
	return record__counts_fit(h, end);
}

static const struct record_trailer *record__trailer(const struct perf_event_header *h)
{
	return (const void *)((const char *)h + h->size - sizeof(struct record_trailer));
}

static const struct sample_head *record__sample(const struct perf_event_header *h)
{
	return (const void *)h;
}

uint64_t record__time(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_SAMPLE ? record__sample(h)->time : record__trailer(h)->time;
}

uint64_t record__id(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_SAMPLE ? record__sample(h)->id : record__trailer(h)->id;
}

void record__set_id(struct perf_event_header *h, uint64_t id)
{
	if (h->type == PERF_RECORD_SAMPLE)
		((struct sample_head *)record__sample(h))->id = id;
	else
		((struct record_trailer *)record__trailer(h))->id = id;
}

uint32_t record__pid(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_SAMPLE ? record__sample(h)->pid : record__trailer(h)->pid;
}

uint32_t record__tid(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_SAMPLE ? record__sample(h)->tid : record__trailer(h)->tid;
}

/* @body: the fixed part, @body_size bytes; its header has type and misc. @extra may be NULL. */
static int record__add(struct buf *b, struct perf_event_header *body, size_t body_size,
		       const void *extra, size_t extra_len, const struct record_trailer *t)
{
	size_t start = b->len, padded = (extra_len + 7) & ~(size_t)7;
	int err;

	if (body_size + padded + sizeof(*t) > RECORD_SIZE_MAX)
		return -EMSGSIZE;
	body->size = body_size + padded + sizeof(*t);
	err = buf__add(b, body, body_size);
	err = err ?: buf__add(b, extra, extra_len);
	err = err ?: buf__add_zero(b, padded - extra_len);
	err = err ?: buf__add(b, t, sizeof(*t));
	if (err)
		b->len = start;
	return err;
}

static int record__add_named(struct buf *b, struct perf_event_header *body, size_t body_size,
			     const char *name, const struct record_trailer *t)
{
	size_t len = strnlen(name, PATH_MAX - 1);
	char text[PATH_MAX];

	memcpy(text, name, len);
	text[len] = '\0';
	return record__add(b, body, body_size, text, len + 1, t);
}

int record__add_comm(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, const char *comm,
		     const struct record_trailer *t)
{
	struct record_comm r = {
		.header = { .type = PERF_RECORD_COMM, .misc = misc },
		.pid = pid,
		.tid = tid,
	};

	return record__add_named(b, &r.header, sizeof(r), comm, t);
}

int record__add_mmap(struct buf *b, uint16_t misc, uint32_t pid, uint32_t tid, uint64_t start,
		     uint64_t len, uint64_t pgoff, const char *name, const struct record_trailer *t)
{
	struct record_mmap r = {
		.header = { .type = PERF_RECORD_MMAP, .misc = misc },
		.pid = pid,
		.tid = tid,
		.start = start,
		.len = len,
		.pgoff = pgoff,
	};

	return record__add_named(b, &r.header, sizeof(r), name, t);
}

int record__add_mmap2(struct buf *b, const struct record_mmap2 *head, const char *name,
		      const struct record_trailer *t)
{
	struct record_mmap2 r;

	memcpy(&r, head, sizeof(r));
	r.header.type = PERF_RECORD_MMAP2;
	return record__add_named(b, &r.header, sizeof(r), name, t);
}

int record__add_ksymbol(struct buf *b, uint64_t addr, uint32_t len, uint16_t type, uint16_t flags,
			const char *name, const struct record_trailer *t)
{
	struct record_ksymbol r = {
		.header = { .type = PERF_RECORD_KSYMBOL },
		.addr = addr,
		.len = len,
		.ksym_type = type,
		.flags = flags,
	};

	return record__add_named(b, &r.header, sizeof(r), name, t);
}

int record__add_bpf_event(struct buf *b, uint16_t type, uint32_t prog_id, const uint8_t tag[8],
			  const struct record_trailer *t)
{
	struct record_bpf_event r = {
		.header = { .type = PERF_RECORD_BPF_EVENT },
		.type = type,
		.id = prog_id,
	};

	memcpy(r.tag, tag, sizeof(r.tag));
	return record__add(b, &r.header, sizeof(r), NULL, 0, t);
}

int record__add_cgroup(struct buf *b, uint64_t id, const char *path, const struct record_trailer *t)
{
	struct record_cgroup r = {
		.header = { .type = PERF_RECORD_CGROUP },
		.id = id,
	};

	return record__add_named(b, &r.header, sizeof(r), path, t);
}

int record__add_namespaces(struct buf *b, uint32_t pid, uint32_t tid, const uint64_t (*dev_ino)[2],
			   size_t n, const struct record_trailer *t)
{
	struct record_namespaces r = {
		.header = { .type = PERF_RECORD_NAMESPACES },
		.pid = pid,
		.tid = tid,
		.nr = n,
	};

	return record__add(b, &r.header, sizeof(r), dev_ino, n * sizeof(*dev_ino), t);
}

/* The first address after the PERF_CONTEXT_* marks. */
static uint64_t first_ip(const struct record_sample *s)
{
	for (size_t i = 0; i < s->n_ips; i++) {
		if (s->ips[i] < PERF_CONTEXT_MAX)
			return s->ips[i];
	}
	return 0;
}

int record__add_sample(struct buf *b, const struct record_sample *s)
{
	struct sample_head head = {
		.header = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL },
		.id = s->id,
		.ip = first_ip(s),
		.pid = s->pid,
		.tid = s->tid,
		.time = s->time,
	};
	const struct sample_middle middle = { .cpu = s->cpu, .period = 1 };
	uint64_t n_ips = s->n_ips;
	size_t addr = s->fields & PERF_SAMPLE_ADDR ? 8 : 0;
	size_t tail = 8 * __builtin_popcountll(s->fields & RECORD_EMPTY_TAIL);
	size_t chain =
		s->fields & PERF_SAMPLE_CALLCHAIN ? sizeof(n_ips) + n_ips * sizeof(*s->ips) : 0;
	/* the padding is part of the raw data, as in the kernel (perf_sample_save_raw_data) */
	size_t unpadded =
		sizeof(head) + addr + sizeof(middle) + chain + sizeof(s->raw_size) + s->raw_size;
	size_t size = (unpadded + 7) & ~(size_t)7, start = b->len;
	uint32_t raw_size = s->raw_size + (size - unpadded);
	int err;

	if (size + tail > RECORD_SIZE_MAX)
		return -EMSGSIZE;
	head.header.size = size + tail;
	err = buf__add(b, &head, sizeof(head)) ?: buf__add_zero(b, addr);
	err = err ?: buf__add(b, &middle, sizeof(middle));
	if (chain) {
		err = err ?: buf__add(b, &n_ips, sizeof(n_ips));
		err = err ?: buf__add(b, s->ips, n_ips * sizeof(*s->ips));
	}
	err = err ?: buf__add(b, &raw_size, sizeof(raw_size));
	err = err ?: buf__add(b, s->raw, s->raw_size);
	err = err ?: buf__add_zero(b, size - unpadded + tail);
	if (err)
		b->len = start;
	return err;
}

const void *record__sample_raw(const struct perf_event_header *h, uint64_t fields,
			       uint32_t *ret_len, uint32_t *ret_cpu)
{
	const char *rec = (const char *)h;
	size_t front = sizeof(struct sample_head) + (fields & PERF_SAMPLE_ADDR ? 8 : 0);
	size_t at = front + sizeof(struct sample_middle);
	struct sample_middle middle;
	uint64_t n_ips = 0;
	uint32_t len;

	if (fields & PERF_SAMPLE_CALLCHAIN) {
		if (h->size < at + sizeof(n_ips))
			return NULL;
		memcpy(&n_ips, rec + at, sizeof(n_ips));
		at += sizeof(n_ips);
		if (n_ips > (h->size - at) / sizeof(uint64_t))
			return NULL;
		at += n_ips * sizeof(uint64_t);
	}
	if (h->size < at + sizeof(len))
		return NULL;
	memcpy(&len, rec + at, sizeof(len));
	at += sizeof(len);
	if (len > h->size - at)
		return NULL;
	memcpy(&middle, rec + front, sizeof(middle));
	*ret_len = len;
	*ret_cpu = middle.cpu;
	return rec + at;
}

const struct perf_event_header *record__next(const struct buf *b, size_t *off)
{
	const struct perf_event_header *h;

	if (*off >= b->len)
		return NULL;
	h = (const void *)(b->data + *off);
	*off += h->size;
	return h;
}
