// SPDX-License-Identifier: GPL-2.0-only
/* Order of the fields: include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE. */
#include "perfdata/cursor.h"
#include "perfdata/record.h"
#include "perfdata/sample.h"

/* Older kernel headers lack these. */
#define FORMAT_LOST (1ULL << 4)

static void skip_read_values(struct cursor *c, uint64_t format)
{
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST), n = 1;

	if (format & PERF_FORMAT_GROUP)
		n = cursor__u64(c);
	if (n > cursor__left(c) / 8)
		c->bad = true;
	else
		cursor__bytes(c, 8 * (times + n * each));
}

static void read_callchain(struct cursor *c, struct sample *s)
{
	uint64_t n = cursor__u64(c);

	if (n > cursor__left(c) / 8)
		c->bad = true;
	s->ips = n ? cursor__bytes(c, 8 * n) : NULL;
	s->n_ips = s->ips ? n : 0;
}

static void read_raw(struct cursor *c, struct sample *s)
{
	s->raw_size = cursor__u32(c);
	s->raw = cursor__bytes(c, s->raw_size);
	if (!s->raw)
		s->raw_size = 0;
}

static void skip_branch_stack(struct cursor *c, uint64_t branch_sample_type)
{
	uint64_t n = cursor__u64(c);

	if (branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		cursor__u64(c);
	if (n > cursor__left(c) / 24)
		c->bad = true;
	else
		cursor__bytes(c, 24 * n);
}

static void skip_registers(struct cursor *c, uint64_t mask)
{
	if (cursor__u64(c)) /* the ABI; 0: no registers */
		cursor__bytes(c, 8 * __builtin_popcountll(mask));
}

static void read_user_registers(struct cursor *c, uint64_t mask, struct sample *s)
{
	uint64_t abi = cursor__u64(c);
	const void *regs = abi ? cursor__bytes(c, 8 * __builtin_popcountll(mask)) : NULL;

	if (abi != PERF_SAMPLE_REGS_ABI_64)
		return;
	s->regs = regs;
	s->regs_mask = mask;
}

static void read_user_stack(struct cursor *c, struct sample *s)
{
	uint64_t size = cursor__u64(c), used;

	s->stack = cursor__bytes(c, size);
	used = size ? cursor__u64(c) : 0;
	s->stack_size = used < size ? used : size;
}

struct sample_front sample__front(struct cursor *c, uint64_t type)
{
	struct sample_front s = { 0 };

	if (type & PERF_SAMPLE_IDENTIFIER)
		s.id = cursor__u64(c);
	if (type & PERF_SAMPLE_IP)
		s.ip = cursor__u64(c);
	if (type & PERF_SAMPLE_TID) {
		s.pid = cursor__u32(c);
		s.tid = cursor__u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		s.time = cursor__u64(c);
	if (type & PERF_SAMPLE_ADDR)
		s.addr = cursor__u64(c);
	if (type & PERF_SAMPLE_ID)
		s.id = cursor__u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor__u64(c);
	if (type & PERF_SAMPLE_CPU) {
		s.cpu = cursor__u32(c);
		cursor__u32(c);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s.period = cursor__u64(c);
	return s;
}

/* The fields after RAW. */
static void read_back(struct cursor *c, const struct perf_event_attr *a, struct sample *s)
{
	const uint64_t one_word = PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
				  PERF_SAMPLE_DATA_PAGE_SIZE | SAMPLE_CODE_PAGE_SIZE;
	uint64_t type = a->sample_type;

	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branch_stack(c, a->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		read_user_registers(c, a->sample_regs_user, s);
	if (type & PERF_SAMPLE_STACK_USER)
		read_user_stack(c, s);
	if (type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
		cursor__u64(c);
	if (type & PERF_SAMPLE_DATA_SRC)
		cursor__u64(c);
	if (type & PERF_SAMPLE_TRANSACTION)
		cursor__u64(c);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_registers(c, a->sample_regs_intr);
	cursor__bytes(c, 8 * __builtin_popcountll(type & one_word));
	if (type & PERF_SAMPLE_AUX)
		cursor__bytes(c, cursor__u64(c));
}

int sample__decode(const struct perf_file *f, const struct file_record *rec, struct err *err,
		   struct sample *ret)
{
	const struct perf_event_attr *a = &rec->event->attr;
	struct cursor c = cursor__init(rec->h + 1, rec->h->size - sizeof(*rec->h));
	struct sample_front front = sample__front(&c, a->sample_type);
	struct sample s = {
		.event = rec->event,
		.cpumode = rec->h->misc & PERF_RECORD_MISC_CPUMODE_MASK,
		.ip = front.ip,
		.time = front.time,
		.addr = front.addr,
		.pid = front.pid,
		.tid = front.tid,
		.cpu = front.cpu,
		.period = a->freq ? 0 : a->sample_period,
	};

	if (a->sample_type & PERF_SAMPLE_PERIOD)
		s.period = front.period;
	if (a->sample_type & PERF_SAMPLE_READ)
		skip_read_values(&c, a->read_format);
	if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
		read_callchain(&c, &s);
	if (a->sample_type & PERF_SAMPLE_RAW)
		read_raw(&c, &s);
	read_back(&c, a, &s);
	if (c.bad)
		return perf_file__bad_record(f, rec, "its fields do not fit into it", err);
	*ret = s;
	return 0;
}
