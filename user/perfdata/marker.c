// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "perfdata/file_layout.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"

/* common_type is a u16. The kernel numbers its tracepoints from the bottom, so take the top. */
#define TRIGGER_TYPE 65534
#define BEGIN_TYPE   65533
#define GAP_TYPE     65532
#define LOCK_TYPE    65531
#define IRQ_TYPE     65530

/* Ids of kernel events count up, and never get that high. The top bit is clear, so that readers do
 * not see a negative number. */
#define MARKER_ID_BASE 0x6672627066000000ULL

/* The raw data of every tracepoint begins with these fields. */
struct raw_common {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
};

/* u64 fields are at multiples of 8; the pad makes size + 4 a multiple of 8. */
struct raw_trigger {
	struct raw_common common;
	char rule[64];
	char source[64];
	uint64_t value_ns, threshold_ns;
	char comm[16];
	uint32_t pid, tid;
	char process[16];
	char key[32];
	char reason[128];
	char args[128];
	char measured[64]; /* value and threshold as text; empty: not measured */
	uint32_t pad;
} __attribute__((packed));

struct raw_begin {
	struct raw_common common;
	char rule[64];
	char comm[16];
	uint32_t pid, tid;
	uint32_t pad;
} __attribute__((packed));

struct raw_gap {
	struct raw_common common;
	uint64_t start, end, count;
	uint32_t cpu;
} __attribute__((packed));

/* The formats below have the same offsets. */
_Static_assert(offsetof(struct raw_trigger, value_ns) == 136, "trigger layout");
_Static_assert(offsetof(struct raw_trigger, pid) == 168, "trigger layout");
_Static_assert(offsetof(struct raw_trigger, reason) == 224, "trigger layout");
_Static_assert(offsetof(struct raw_trigger, args) == 352, "trigger layout");
_Static_assert(offsetof(struct raw_begin, pid) == 88, "begin layout");
_Static_assert(offsetof(struct raw_trigger, measured) == 480, "trigger layout");
_Static_assert(sizeof(struct raw_trigger) == 548 && (sizeof(struct raw_trigger) + 4) % 8 == 0,
	       "trigger size");
_Static_assert((sizeof(struct raw_begin) + 4) % 8 == 0, "begin size");
_Static_assert((sizeof(struct raw_gap) + 4) % 8 == 0, "gap size");

#define STR(x)	#x
#define XSTR(x) STR(x)

#define COMMON_FIELDS                                                                              \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\n"

static const char trigger_format[] =
	"name: trigger\n"
	"ID: " XSTR(
		TRIGGER_TYPE) "\n" COMMON_FIELDS
			      "\tfield:char rule[64];\toffset:8;\tsize:64;\tsigned:0;\n"
			      "\tfield:char source[64];\toffset:72;\tsize:64;\tsigned:0;\n"
			      "\tfield:u64 value_ns;\toffset:136;\tsize:8;\tsigned:0;\n"
			      "\tfield:u64 threshold_ns;\toffset:144;\tsize:8;\tsigned:0;\n"
			      "\tfield:char comm[16];\toffset:152;\tsize:16;\tsigned:0;\n"
			      "\tfield:u32 pid;\toffset:168;\tsize:4;\tsigned:0;\n"
			      "\tfield:u32 tid;\toffset:172;\tsize:4;\tsigned:0;\n"
			      "\tfield:char process[16];\toffset:176;\tsize:16;\tsigned:0;\n"
			      "\tfield:char key[32];\toffset:192;\tsize:32;\tsigned:0;\n"
			      "\tfield:char reason[128];\toffset:224;\tsize:128;\tsigned:0;\n"
			      "\tfield:char args[128];\toffset:352;\tsize:128;\tsigned:0;\n"
			      "\tfield:char measured[64];\toffset:480;\tsize:64;\tsigned:0;\n"
			      "\n"
			      "print fmt: \"rule=%s when=\\\"%s\\\"%s%s comm=%s "
			      "pid=%u tid=%u process=%s%s%s%s%s%s%s\", "
			      "REC->rule, REC->source, REC->measured[0] ? \" \" : \"\", "
			      "REC->measured, REC->comm, REC->pid, "
			      "REC->tid, REC->process, REC->key[0] ? \" key=\" : \"\", REC->key, "
			      "REC->reason[0] ? \" reason=\" : \"\", REC->reason, "
			      "REC->args[0] ? \" \" : \"\", REC->args\n";

static const char begin_format[] =
	"name: begin\n"
	"ID: " XSTR(BEGIN_TYPE) "\n" COMMON_FIELDS
				"\tfield:char rule[64];\toffset:8;\tsize:64;\tsigned:0;\n"
				"\tfield:char comm[16];\toffset:72;\tsize:16;\tsigned:0;\n"
				"\tfield:u32 pid;\toffset:88;\tsize:4;\tsigned:0;\n"
				"\tfield:u32 tid;\toffset:92;\tsize:4;\tsigned:0;\n"
				"\n"
				"print fmt: \"rule=%s comm=%s pid=%u tid=%u\", REC->rule, "
				"REC->comm, REC->pid, REC->tid\n";

static const char gap_format[] =
	"name: gap\n"
	"ID: " XSTR(GAP_TYPE) "\n" COMMON_FIELDS
			      "\tfield:u64 start;\toffset:8;\tsize:8;\tsigned:0;\n"
			      "\tfield:u64 end;\toffset:16;\tsize:8;\tsigned:0;\n"
			      "\tfield:u64 count;\toffset:24;\tsize:8;\tsigned:0;\n"
			      "\tfield:u32 cpu;\toffset:32;\tsize:4;\tsigned:0;\n"
			      "\n"
			      "print fmt: \"cpu=%u lost=%llu start=%llu.%09llu end=%llu.%09llu\", "
			      "REC->cpu, REC->count, "
			      "REC->start / 1000000000, REC->start % 1000000000, REC->end / "
			      "1000000000, "
			      "REC->end % 1000000000\n";

/* bpf/fed_records.h: struct frbpf_lock_wait, enum frbpf_lock */
static const char lock_format[] =
	"name: lock_wait\n"
	"ID: " XSTR(
		LOCK_TYPE) "\n" COMMON_FIELDS "\tfield:u64 lock;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:u64 spun_ns;\toffset:16;\tsize:8;\tsigned:0;\n"
			   "\tfield:u32 what;\toffset:24;\tsize:4;\tsigned:0;\n"
			   "\tfield:u32 owner;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:char owner_comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"
			   "\tfield:u32 own_owner;\toffset:48;\tsize:4;\tsigned:0;\n"
			   "\n"
			   "print fmt: \"%s lock=0x%llx owner=%u owner_comm=%s spun_ns=%llu\", "
			   "__print_symbolic(REC->what, { 1, \"mutex\" }, { 2, \"rwsem_read\" }, "
			   "{ 3, \"rwsem_write\" }, { 4, \"rwsem_readers\" }, { 5, \"spinlock\" }, "
			   "{ 6, \"rwlock_read\" }, { 7, \"rwlock_write\" }, "
			   "{ 8, \"percpu_read\" }, { 9, \"percpu_write\" }, { 10, \"rt_mutex\" }, "
			   "{ 11, \"semaphore\" }, { 12, \"futex\" }, { 13, \"futex_pi\" }, "
			   "{ 14, \"flock\" }, { 15, \"posix\" }, { 16, \"mutex_spun\" }), "
			   "REC->lock, "
			   "REC->owner ? REC->owner : REC->own_owner, REC->owner_comm, "
			   "REC->spun_ns\n";

/* bpf/fed_records.h: struct frbpf_interrupt */
static const char interrupt_format[] =
	"name: interrupt\n"
	"ID: " XSTR(IRQ_TYPE) "\n" COMMON_FIELDS "\tfield:u64 ns;\toffset:8;\tsize:8;\tsigned:0;\n"
			      "\tfield:u32 number;\toffset:16;\tsize:4;\tsigned:0;\n"
			      "\tfield:u32 soft;\toffset:20;\tsize:4;\tsigned:0;\n"
			      "\tfield:u32 times;\toffset:24;\tsize:4;\tsigned:0;\n"
			      "\tfield:char name[24];\toffset:28;\tsize:24;\tsigned:0;\n"
			      "\n"
			      "print fmt: \"%s=%d%s%s ns=%llu times=%u\", "
			      "REC->soft ? \"softirq\" : \"irq\", REC->number, "
			      "REC->name[0] ? \" name=\" : \"\", REC->name, "
			      "REC->ns, REC->times\n";

#define MARKER_ATTR(type_id)                                                                       \
	{                                                                                          \
		.type = PERF_TYPE_TRACEPOINT, .size = PERF_ATTR_SIZE_VER7, .config = (type_id),    \
		.sample_period = 1,                                                                \
		.sample_type = RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,          \
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST, .sample_id_all = 1,              \
		.use_clockid = 1, .write_backward = 1, .clockid = CLOCK_MONOTONIC,                 \
	}

static const struct marker {
	struct perf_event_attr attr;
	struct perfdata_format format;
	const char *name;
	uint64_t id;
} markers[MARKER_KINDS] = {
	[MARKER_TRIGGER] = { MARKER_ATTR(TRIGGER_TYPE),
			     { "frbpf", "trigger", trigger_format, sizeof(trigger_format) - 1 },
			     "frbpf:trigger",
			     MARKER_ID_BASE + 1 },
	[MARKER_BEGIN] = { MARKER_ATTR(BEGIN_TYPE),
			   { "frbpf", "begin", begin_format, sizeof(begin_format) - 1 },
			   "frbpf:begin",
			   MARKER_ID_BASE + 2 },
	[MARKER_GAP] = { MARKER_ATTR(GAP_TYPE),
			 { "frbpf", "gap", gap_format, sizeof(gap_format) - 1 },
			 "frbpf:gap",
			 MARKER_ID_BASE + 3 },
	[MARKER_LOCK_WAIT] = { MARKER_ATTR(LOCK_TYPE),
			       { "frbpf", "lock_wait", lock_format, sizeof(lock_format) - 1 },
			       "frbpf:lock_wait",
			       MARKER_ID_BASE + 4 },
	[MARKER_INTERRUPT] = { MARKER_ATTR(IRQ_TYPE),
			       { "frbpf", "interrupt", interrupt_format,
				 sizeof(interrupt_format) - 1 },
			       "frbpf:interrupt",
			       MARKER_ID_BASE + 5 },
};

const struct perfdata_format *marker__format(enum marker_kind kind)
{
	return &markers[kind].format;
}

const struct perf_event_attr *marker__attr(enum marker_kind kind)
{
	return &markers[kind].attr;
}

uint64_t marker__id(enum marker_kind kind)
{
	return markers[kind].id;
}

struct perfdata_attr marker__event(enum marker_kind kind)
{
	return (struct perfdata_attr){
		.attr = &markers[kind].attr,
		.name = markers[kind].name,
		.ids = &markers[kind].id,
		.n_ids = 1,
		.format = &markers[kind].format,
	};
}

void marker__add_fields(struct perf_event_attr *marker, uint64_t fields,
			const struct perf_event_attr *first)
{
	/* an empty branch stack must be one word, so leave out the index */
	const uint64_t index = PERF_SAMPLE_BRANCH_HW_INDEX;

	marker->sample_type |= fields;
	if (fields & PERF_SAMPLE_BRANCH_STACK)
		marker->branch_sample_type = first->branch_sample_type & ~index;
	if (fields & PERF_SAMPLE_REGS_USER)
		marker->sample_regs_user = first->sample_regs_user;
	if (fields & PERF_SAMPLE_REGS_INTR)
		marker->sample_regs_intr = first->sample_regs_intr;
}

bool marker__is_fed(const struct perf_event_attr *attr, const char *name, enum marker_kind *ret)
{
	if (attr->type != PERF_TYPE_SOFTWARE || attr->config != PERF_COUNT_SW_BPF_OUTPUT)
		return false;
	for (int kind = MARKER_LOCK_WAIT; kind < MARKER_KINDS; kind++) {
		if (strcmp(name, markers[kind].format.name))
			continue;
		*ret = kind;
		return true;
	}
	return false;
}

/* @to must be zeroed. Never cuts within a UTF-8 character. */
static void set_text(char *to, size_t size, const char *from)
{
	size_t len = from ? strlen(from) : 0, i;

	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)from[len] & 0xc0) == 0x80)
			len--;
	}
	for (i = 0; i < len; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? ' ' : from[i];
}

static void set_measured(char *to, size_t size, const struct marker_trigger *m)
{
	int n;

	if (!m->value_ns && !m->threshold_ns)
		return;
	n = snprintf(to, size, "value=%" PRIu64 ".%03" PRIu64 " ms", m->value_ns / 1000000,
		     m->value_ns / 1000 % 1000);
	if (m->threshold_ns)
		snprintf(to + n, size - n, " threshold=%" PRIu64 ".%03" PRIu64 " ms",
			 m->threshold_ns / 1000000, m->threshold_ns / 1000 % 1000);
}

int marker__encode_trigger(struct buf *raw, const struct marker_trigger *m)
{
	struct raw_trigger r = {
		.common = { .type = TRIGGER_TYPE, .pid = m->tid },
		.value_ns = m->value_ns,
		.threshold_ns = m->threshold_ns,
		.pid = m->pid,
		.tid = m->tid,
	};

	set_text(r.rule, sizeof(r.rule), m->rule);
	set_text(r.source, sizeof(r.source), m->source);
	set_text(r.comm, sizeof(r.comm), m->comm);
	set_text(r.process, sizeof(r.process), m->process);
	set_text(r.key, sizeof(r.key), m->key);
	set_text(r.reason, sizeof(r.reason), m->reason);
	set_text(r.args, sizeof(r.args), m->args);
	set_measured(r.measured, sizeof(r.measured), m);
	return buf__add(raw, &r, sizeof(r));
}

int marker__decode_trigger(const void *raw, size_t len, struct marker_texts *texts,
			   struct marker_trigger *ret)
{
	struct raw_trigger r = { .value_ns = 0 };

	if (len < offsetof(struct raw_trigger, args))
		return -EBADMSG;
	memcpy(&r, raw, len < sizeof(r) ? len : sizeof(r));
	if (r.common.type != TRIGGER_TYPE)
		return -EBADMSG;
#define TEXT(field)                                                                                \
	snprintf(texts->field, sizeof(texts->field), "%.*s", (int)sizeof(r.field), r.field)
	TEXT(rule);
	TEXT(source);
	TEXT(comm);
	TEXT(process);
	TEXT(key);
	TEXT(reason);
	TEXT(args);
#undef TEXT
	*ret = (struct marker_trigger){
		.rule = texts->rule,
		.source = texts->source,
		.value_ns = r.value_ns,
		.threshold_ns = r.threshold_ns,
		.comm = texts->comm,
		.pid = r.pid,
		.tid = r.tid,
		.process = texts->process,
		.key = texts->key,
		.reason = texts->reason,
		.args = texts->args,
	};
	return 0;
}

int marker__encode_begin(struct buf *raw, const struct marker_begin *m)
{
	struct raw_begin r = {
		.common = { .type = BEGIN_TYPE, .pid = m->tid },
		.pid = m->pid,
		.tid = m->tid,
	};

	set_text(r.rule, sizeof(r.rule), m->rule);
	set_text(r.comm, sizeof(r.comm), m->comm);
	return buf__add(raw, &r, sizeof(r));
}

int marker__encode_gap(struct buf *raw, const struct marker_gap *m)
{
	const struct raw_gap r = {
		.common = { .type = GAP_TYPE },
		.start = m->start,
		.end = m->end,
		.count = m->count,
		.cpu = m->cpu,
	};

	return buf__add(raw, &r, sizeof(r));
}

#define ATTRS_MAX 65536

struct search {
	int fd;
	uint64_t size; /* bytes of the file */
	struct file_header head;
	uint64_t fields; /* of the marker, see struct record_sample */
	uint64_t realtime_offset;
	marker_found_fn fn;
	void *arg;
};

static int read_file_at(const struct search *s, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	if (at > s->size || len > s->size - at)
		return -EBADMSG;
	n = pread(s->fd, to, len, at);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

static bool section_fits(const struct search *s, const struct file_range *sec)
{
	return sec->offset <= s->size && sec->size <= s->size - sec->offset;
}

static int read_head(struct search *s)
{
	int err = read_file_at(s, 0, &s->head, sizeof(s->head));

	if (err)
		return err;
	if (memcmp(s->head.magic, FILE_MAGIC, sizeof(s->head.magic)) != 0 ||
	    s->head.size != sizeof(s->head) ||
	    s->head.attr_size != sizeof(struct file_attr_entry) ||
	    !section_fits(s, &s->head.attrs) || !section_fits(s, &s->head.data))
		return -EBADMSG;
	return 0;
}

/* -EBADMSG: the file has no such event. */
static int find_attr(struct search *s)
{
	const struct perf_event_attr *ours = marker__attr(MARKER_TRIGGER);
	uint64_t n = s->head.attrs.size / sizeof(struct file_attr_entry);
	struct file_attr_entry e;
	struct perf_event_attr a;
	int err = 0;

	for (uint64_t i = 0; !err && i < n && i < ATTRS_MAX; i++) {
		err = read_file_at(s, s->head.attrs.offset + i * sizeof(e), &e, sizeof(e));
		if (err)
			return err;
		memcpy(&a, e.attr, sizeof(e.attr));
		if (a.type != ours->type || a.config != ours->config)
			continue;
		s->fields = a.sample_type & (PERF_SAMPLE_CALLCHAIN | RECORD_EMPTY_FIELDS);
		if ((a.sample_type & ~s->fields) != ours->sample_type)
			return -EBADMSG;
		return 0;
	}
	return -EBADMSG;
}

/* Without CLOCK_DATA in the file, realtime_offset stays 0. */
static void find_clock(struct search *s)
{
	struct {
		uint32_t version, clockid;
		uint64_t realtime, monotonic;
	} clock;
	uint64_t at = s->head.data.offset + s->head.data.size;
	uint64_t bits = s->head.features[0], before = bits & ((1ULL << HEADER_CLOCK_DATA) - 1);
	struct file_range sec;

	if (!(bits & 1ULL << HEADER_CLOCK_DATA))
		return;
	at += __builtin_popcountll(before) * sizeof(sec);
	if (read_file_at(s, at, &sec, sizeof(sec)) || sec.size < sizeof(clock) ||
	    read_file_at(s, sec.offset, &clock, sizeof(clock)) || clock.clockid != CLOCK_MONOTONIC)
		return;
	s->realtime_offset = clock.realtime - clock.monotonic;
}

static int take_marker_sample(const struct search *s, const struct perf_event_header *h)
{
	struct marker_found found = { .realtime_offset = s->realtime_offset,
				      .time = record__time(h) };
	struct marker_texts texts;
	uint32_t len;
	const void *raw = record__sample_raw(h, s->fields, &len, &found.cpu);

	if (!raw || marker__decode_trigger(raw, len, &texts, &found.text))
		return 0;
	return s->fn(&found, s->arg);
}

static int walk_records(const struct search *s)
{
	static const size_t least = sizeof(struct perf_event_header);
	uint64_t at = s->head.data.offset, end = at + s->head.data.size;
	_Alignas(8) char rec[UINT16_MAX + 1];
	struct perf_event_header *h = (void *)rec;
	int err = 0;

	for (; !err && at < end; at += h->size) {
		if (end - at < least)
			return -EBADMSG;
		err = read_file_at(s, at, rec, least);
		if (err)
			return err;
		if (h->size < least || h->size > end - at)
			return -EBADMSG;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		err = read_file_at(s, at, rec, h->size);
		if (!err && record__valid(h, h->size) &&
		    record__id(h) == marker__id(MARKER_TRIGGER))
			err = take_marker_sample(s, h);
	}
	return err;
}

int marker_file__triggers(int fd, marker_found_fn fn, void *arg)
{
	struct search s = { .fd = fd, .fn = fn, .arg = arg };
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	s.size = st.st_size;
	err = read_head(&s);
	err = err ?: find_attr(&s);
	if (err)
		return err;
	find_clock(&s);
	return walk_records(&s);
}
