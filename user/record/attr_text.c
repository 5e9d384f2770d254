// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "record/attr_text.h"

/* By bit number, which is also the order of perf's evlist. */
static const char *const sample_types[] = {
	"IP",
	"TID",
	"TIME",
	"ADDR",
	"READ",
	"CALLCHAIN",
	"ID",
	"CPU",
	"PERIOD",
	"STREAM_ID",
	"RAW",
	"BRANCH_STACK",
	"REGS_USER",
	"STACK_USER",
	"WEIGHT",
	"DATA_SRC",
	"IDENTIFIER",
	"TRANSACTION",
	"REGS_INTR",
	"PHYS_ADDR",
	"AUX",
	"CGROUP",
	"DATA_PAGE_SIZE",
	"CODE_PAGE_SIZE",
	"WEIGHT_STRUCT",
};
static const char *const read_formats[] = { "TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID",
					    "GROUP", "LOST" };
static const char *const branch_types[] = {
	"USER",	    "KERNEL",	"HV",	    "ANY",	 "ANY_CALL",  "ANY_RETURN",
	"IND_CALL", "ABORT_TX", "IN_TX",    "NO_TX",	 "COND",      "CALL_STACK",
	"IND_JUMP", "CALL",	"NO_FLAGS", "NO_CYCLES", "TYPE_SAVE",
};
/* Flags, in the order of the bit field that begins with disabled; precise_ip has two bits. */
#define PRECISE_IP 15
static const char *const flags[] = {
	"disabled",
	"inherit",
	"pinned",
	"exclusive",
	"exclude_user",
	"exclude_kernel",
	"exclude_hv",
	"exclude_idle",
	"mmap",
	"comm",
	"freq",
	"inherit_stat",
	"enable_on_exec",
	"task",
	"watermark",
	"precise_ip",
	NULL,
	"mmap_data",
	"sample_id_all",
	"exclude_host",
	"exclude_guest",
	"exclude_callchain_kernel",
	"exclude_callchain_user",
	"mmap2",
	"comm_exec",
	"use_clockid",
	"context_switch",
	"write_backward",
	"namespaces",
	"ksymbol",
	"bpf_event",
	"aux_output",
	"cgroup",
	"text_poke",
	"build_id",
	"inherit_thread",
	"remove_on_exec",
	"sigtrap",
};

static int add_number(struct buf *b, const char *name, uint64_t value, bool hex)
{
	if (!value)
		return 0;
	return buf__printf(b, hex ? "%s%s: %#llx" : "%s%s: %llu", b->len ? ", " : "", name,
			   (unsigned long long)value);
}

static int add_bits(struct buf *b, const char *title, uint64_t value, const char *const *names,
		    size_t n)
{
	const char *before = "";
	int err = value ? buf__printf(b, "%s%s: ", b->len ? ", " : "", title) : 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (!(value & 1ULL << i))
			continue;
		err = buf__printf(b, "%s%s", before, names[i]);
		before = "|";
	}
	return err;
}

static int add_flags(struct buf *b, const struct perf_event_attr *attr)
{
	uint64_t bits;
	int err = 0;

	memcpy(&bits, (const char *)attr + offsetof(struct perf_event_attr, read_format) + 8,
	       sizeof(bits));
	for (size_t i = 0; i < ARRAY_SIZE(flags) && !err; i++) {
		if (flags[i])
			err = add_number(b, flags[i], bits >> i & (i == PRECISE_IP ? 3 : 1), false);
	}
	return err;
}

int attr_text__format(const struct perf_event_attr *attr, struct buf *ret)
{
	struct buf b = { 0 };
	int err = add_number(&b, "type", attr->type, false);

	err = err ?: add_number(&b, "size", attr->size, false);
	err = err ?: add_number(&b, "config", attr->config, true);
	err = err ?: add_number(&b, "{ sample_period, sample_freq }", attr->sample_period, false);
	err = err
		      ?: add_bits(&b, "sample_type", attr->sample_type, sample_types,
				  ARRAY_SIZE(sample_types));
	err = err
		      ?: add_bits(&b, "read_format", attr->read_format, read_formats,
				  ARRAY_SIZE(read_formats));
	err = err ?: add_flags(&b, attr);
	err = err
		      ?: add_number(&b, "{ wakeup_events, wakeup_watermark }", attr->wakeup_events,
				    false);
	err = err ?: add_number(&b, "bp_type", attr->bp_type, false);
	err = err ?: add_number(&b, "{ bp_addr, config1 }", attr->config1, true);
	err = err ?: add_number(&b, "{ bp_len, config2 }", attr->config2, true);
	err = err
		      ?: add_bits(&b, "branch_sample_type", attr->branch_sample_type, branch_types,
				  ARRAY_SIZE(branch_types));
	err = err ?: add_number(&b, "sample_regs_user", attr->sample_regs_user, true);
	err = err ?: add_number(&b, "sample_stack_user", attr->sample_stack_user, false);
	err = err ?: add_number(&b, "clockid", attr->clockid, false);
	err = err ?: add_number(&b, "sample_regs_intr", attr->sample_regs_intr, true);
	err = err ?: add_number(&b, "sample_max_stack", attr->sample_max_stack, false);
	err = err ?: buf__add(ret, b.data ?: "", b.len);
	buf__free(&b);
	return err;
}
