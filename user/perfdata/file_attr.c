// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/format_field.h"
#include "perfdata/features.h"
#include "perfdata/file_attr.h"
#include "perfdata/host_sections.h"
#include "perfdata/record.h"

_Static_assert(sizeof(struct perf_event_attr) >= FILE_ATTR_SIZE, "linux headers before 5.13");

/* sample_type bits that move the fields for which record.h has fixed places. */
#define MOVES_FIELDS (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID)

/* PMUs whose config1 points to a path in the memory of the process that opened the event. */
static const char *const pointer_pmus[] = { "uprobe", "kprobe" };

#define N_POINTER_PMUS ARRAY_SIZE(pointer_pmus)

static bool is_pointer_pmu(uint32_t type)
{
	uint64_t v;
	size_t i;

	if (type < PERF_TYPE_MAX)
		return false;
	for (i = 0; i < N_POINTER_PMUS; i++)
		if (!host_files__u64("", 10, &v, "/sys/bus/event_source/devices/%s/type",
				     pointer_pmus[i]) &&
		    v == type)
			return true;
	return false;
}

static int check_attr_format(const struct perfdata_attr *a, struct err *err)
{
	uint64_t id;

	if (a->attr->type != PERF_TYPE_TRACEPOINT)
		return 0;
	/* readers refuse the whole file if one format is missing */
	if (!a->format)
		return err_set(err, -EINVAL, "%s: a tracepoint without its format", a->name);
	if (!format_text__id(a->format->text, a->format->len, &id) || id != a->attr->config)
		return err_set(err, -EINVAL, "%s: the format is not that of tracepoint %" PRIu64,
			       a->name, (uint64_t)a->attr->config);
	return 0;
}

static int check_attr(const struct perfdata_attr *a, struct err *err)
{
	uint64_t type = a->attr->sample_type;

	if ((type & RECORD_SAMPLE_TYPE) != RECORD_SAMPLE_TYPE || type & MOVES_FIELDS ||
	    !a->attr->sample_id_all)
		return err_set(err, -EINVAL, "%s: its records have another layout than the others'",
			       a->name);
	return check_attr_format(a, err);
}

/* Only the first 128 bytes are written. Later fields (config3) do not change the layout of records.
 */
static void copy_attr(struct perf_event_attr *to, const struct perf_event_attr *from)
{
	memcpy(to, from, FILE_ATTR_SIZE);
	to->size = FILE_ATTR_SIZE;
	if (is_pointer_pmu(to->type)) {
		to->config1 = 0;
		to->config2 = 0;
	}
}

int file_attrs__init(struct file_attrs *fa, const struct perfdata_attr *attrs, size_t n,
		     struct err *err)
{
	struct file_attrs new = { .n = n };
	size_t i;
	int code;

	if (!n)
		return err_set(err, -EINVAL, "no event to write a file for");
	for (i = 0; i < n; i++) {
		code = check_attr(&attrs[i], err);
		if (code)
			return code;
	}
	new.v = calloc(n, sizeof(*new.v));
	new.copies = calloc(n, sizeof(*new.copies));
	if (!new.v || !new.copies) {
		file_attrs__free(&new);
		return err_set(err, -ENOMEM, "out of memory for %zu events", n);
	}
	for (i = 0; i < n; i++) {
		copy_attr(&new.copies[i], attrs[i].attr);
		new.v[i] = attrs[i];
		new.v[i].attr = &new.copies[i];
	}
	*fa = new;
	return 0;
}

void file_attrs__free(struct file_attrs *fa)
{
	free(fa->v);
	free(fa->copies);
	*fa = (struct file_attrs){ 0 };
}

/* In the order of a sample, without the fields of RECORD_SAMPLE_TYPE, which all attrs have. */
static const uint64_t field_order[] = {
	PERF_SAMPLE_ADDR,	    PERF_SAMPLE_PERIOD,	    PERF_SAMPLE_READ,
	PERF_SAMPLE_CALLCHAIN,	    PERF_SAMPLE_RAW,	    PERF_SAMPLE_BRANCH_STACK,
	PERF_SAMPLE_REGS_USER,	    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_WEIGHT,
	SAMPLE_WEIGHT_STRUCT,	    PERF_SAMPLE_DATA_SRC,   PERF_SAMPLE_TRANSACTION,
	PERF_SAMPLE_REGS_INTR,	    PERF_SAMPLE_PHYS_ADDR,  PERF_SAMPLE_CGROUP,
	PERF_SAMPLE_DATA_PAGE_SIZE, SAMPLE_CODE_PAGE_SIZE,
};

static bool same_layout(const struct perf_event_attr *a, const struct perf_event_attr *b,
			uint64_t field)
{
	if ((a->sample_type & field) != (b->sample_type & field))
		return false;
	switch (a->sample_type & field) {
	case PERF_SAMPLE_READ:
		return a->read_format == b->read_format;
	case PERF_SAMPLE_BRANCH_STACK:
		return a->branch_sample_type == b->branch_sample_type;
	case PERF_SAMPLE_REGS_USER:
		return a->sample_regs_user == b->sample_regs_user;
	case PERF_SAMPLE_STACK_USER:
		return a->sample_stack_user == b->sample_stack_user;
	case PERF_SAMPLE_REGS_INTR:
		return a->sample_regs_intr == b->sample_regs_intr;
	default:
		return true;
	}
}

void file_attr__list_common(struct perf_event_attr *to, const struct perfdata_attr *v, size_t n)
{
	const struct perf_event_attr *first = v[0].attr;

	to->branch_sample_type = first->branch_sample_type;
	to->sample_regs_user = first->sample_regs_user;
	to->sample_regs_intr = first->sample_regs_intr;
	to->sample_stack_user = first->sample_stack_user;
	for (size_t f = 0; f < ARRAY_SIZE(field_order); f++) {
		for (size_t i = 1; i < n; i++)
			if (!same_layout(first, v[i].attr, field_order[f]))
				return;
		to->sample_type |= first->sample_type & field_order[f];
	}
}
