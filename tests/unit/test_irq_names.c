// SPDX-License-Identifier: GPL-2.0-only
/* Names of interrupt handlers, as `frbpf why` reads them from recordings. */
#include "writer_fixture.h"

#include "analyse/why/sched_events.h"
#include "fed_records.h"

#define IRQ_ENTRY_TYPE 77
#define OLD_TYPE       78 /* the type that dumps gave the event before it had a name */

#define COMMON_LINES                                                                               \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* As the kernel has it in tracefs */
static const char entry_text[] = "name: irq_handler_entry\nID: 77\n" COMMON_LINES
				 "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
				 "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"
				 "\nprint fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";
static const char old_text[] =
	"name: interrupt\nID: 78\n" COMMON_LINES "\tfield:u64 ns;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u32 number;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 soft;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 times;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"irq=%d\", REC->number\n";

static const struct perfdata_format formats[] = {
	{ "irq", "irq_handler_entry", entry_text, sizeof(entry_text) - 1 },
	{ "frbpf", "interrupt", old_text, sizeof(old_text) - 1 },
};

struct irq_entry {
	struct frbpf_raw_common common;
	uint32_t irq;
	uint16_t offset, size; /* of the name */
	char name[28];
} __attribute__((packed));

static void add_raw_sample(struct buf *b, uint64_t id, int at, const void *raw, size_t size)
{
	const struct record_sample s = { .id = id, .time = T0 + at, .raw = raw, .raw_size = size };

	assert_int_equal((size + 4) % 8, 0);
	assert_int_equal(record__add_sample(b, &s), 0);
}

/* @size: of the name, as the record says. If the name does not fit, the record lies. */
static void add_entry(struct buf *b, int at, const char *name, uint16_t size)
{
	struct irq_entry e = {
		.common.type = IRQ_ENTRY_TYPE, .irq = 24, .offset = 16, .size = size
	};

	snprintf(e.name, sizeof(e.name), "%s", name);
	add_raw_sample(b, 601, at, &e, sizeof(e));
}

/* Write a dump with these samples, and read it. @interrupt: the event frbpf:interrupt */
static void read_events_back(struct fixture *x, const struct buf *b, struct perfdata_attr interrupt,
			     struct sched_events *ret)
{
	static const uint64_t ids[] = { 601 };
	struct perf_event_attr entry = *marker__attr(MARKER_INTERRUPT);
	const struct perfdata_attr attrs[] = {
		x->attrs[0],
		interrupt,
		{ &entry, "irq:irq_handler_entry", ids, 1, &formats[0] },
	};
	struct perfdata_writer *w;
	char path[128];
	uint64_t size;

	entry.config = IRQ_ENTRY_TYPE;
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 3, &x->err, &w), 0);
	write_records(x, w, b);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &x->err), 0);
	perfdata__free(w);
	snprintf(path, sizeof(path), "%s/perf.data", x->dir);
	assert_int_equal(sched_events__add_file(ret, path, 0, &x->err), 0);
	sched_events__sort(ret);
}

/* Event @i is an interrupt of line 24 with this handler. */
static void handler_is(const struct sched_events *e, size_t i, enum sched_kind kind,
		       const char *want)
{
	const char *name;

	assert_true(i < e->n);
	name = sched_events__handler(e, &e->v[i]);
	assert_int_equal(e->v[i].kind, kind);
	assert_int_equal(e->v[i].arg, 24);
	assert_true(!name == !want);
	if (want)
		assert_string_equal(name, want);
}

static void test_names_of_handlers(void **state)
{
	static const struct frbpf_interrupt interrupts[] = {
		{ { .type = 65530 }, 20000, 24, 0, 1, "eth0" },
		{ { .type = 65530 }, 20000, 24, 0, 7, "" },
		{ { .type = 65530 }, 20000, 24, 0, 1, "twentyfour bytes, no NUL" },
	};
	struct sched_events e = { 0 };
	struct buf b = { 0 };

	add_entry(&b, 1, "virtio0", 8);
	add_entry(&b, 2, "mlx5_comp12@pci:0000:3b:00", 27);
	for (int i = 0; i < 3; i++)
		add_raw_sample(&b, marker__id(MARKER_INTERRUPT), 3 + i, &interrupts[i],
			       sizeof(interrupts[i]));
	add_entry(&b, 6, "eth0", 5);
	add_entry(&b, 7, "eth1", UINT16_MAX);
	read_events_back(*state, &b, marker__event(MARKER_INTERRUPT), &e);
	assert_int_equal(e.n, 7);
	handler_is(&e, 0, SCHED_IRQ, "virtio0");
	handler_is(&e, 1, SCHED_IRQ, "mlx5_comp12@pci:0000:3b");
	handler_is(&e, 2, SCHED_INTERRUPT, "eth0");
	handler_is(&e, 3, SCHED_INTERRUPT, NULL);
	handler_is(&e, 4, SCHED_INTERRUPT, "twentyfour bytes, no NU");
	handler_is(&e, 5, SCHED_IRQ, "eth0");
	handler_is(&e, 6, SCHED_IRQ, NULL);
	assert_ptr_equal(sched_events__handler(&e, &e.v[2]), sched_events__handler(&e, &e.v[5]));
	sched_events__free(&e);
	buf__free(&b);
}

/* A dump of a version whose events had no name */
static void test_without_names(void **state)
{
	struct {
		struct frbpf_raw_common common;
		uint64_t ns;
		uint32_t number, soft, times;
	} __attribute__((packed)) old = { { .type = OLD_TYPE }, 20000, 24, 0, 1 };
	struct perf_event_attr attr = *marker__attr(MARKER_INTERRUPT);
	struct perfdata_attr event = marker__event(MARKER_INTERRUPT);
	struct sched_events e = { 0 };
	struct buf b = { 0 };

	attr.config = OLD_TYPE;
	event.attr = &attr;
	event.format = &formats[1];
	add_raw_sample(&b, marker__id(MARKER_INTERRUPT), 1, &old, sizeof(old));
	read_events_back(*state, &b, event, &e);
	assert_int_equal(e.n, 1);
	handler_is(&e, 0, SCHED_INTERRUPT, NULL);
	assert_int_equal(e.v[0].value, 20000);
	sched_events__free(&e);
	buf__free(&b);
}

/* A hostile recording has more names than any machine. */
static void test_too_many_names(void **state)
{
	struct sched_events e = { 0 };
	struct buf b = { 0 };
	char name[16];

	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		add_entry(&b, i + 1, name, sizeof(name));
	}
	read_events_back(*state, &b, marker__event(MARKER_INTERRUPT), &e);
	assert_int_equal(e.n, 1100);
	handler_is(&e, 1023, SCHED_IRQ, "1023");
	handler_is(&e, 1024, SCHED_IRQ, NULL);
	sched_events__free(&e);
	buf__free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names_of_handlers),
		TEST(test_without_names),
		TEST(test_too_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
