// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>

#include "common/cleanup.h"
#include "symbols/tracing_frames.h"

/*
 * Prefixes of their names: for tracepoints (kernel/trace/bpf_trace.c, include/trace/bpf_probe.h and
 * perf.h, kernel/tracepoint.c, kernel/trace/trace_syscalls.c), and for uprobes
 * (kernel/trace/trace_uprobe.c, kernel/events/uprobes.c).
 */
static const char *const beginnings[] = {
	"bpf_trace_run",
	"__bpf_trace_",
	"__traceiter_",
	"__bpf_prog_",
	"bpf_prog_",
	"bpf_trampoline_",
	"trace_call_bpf",
	"perf_trace_",
	"trace_event_raw_event_",
	"trace_event_buffer_",
	"perf_tp_event",
	"perf_swevent_",
	"perf_syscall_enter",
	"perf_syscall_exit",
	"perf_call_bpf_",
	"uprobe_prog_run",
	"uprobe_perf_func",
	"__uprobe_perf_func",
	"uprobe_dispatcher",
	"uretprobe_dispatcher",
	"uretprobe_perf_func",
	"handler_chain",
	"handle_swbp",
	"handle_uretprobe_chain",
	"uprobe_handle_trampoline",
	"uprobe_notify_resume",
};

bool is_tracing_frame(const char *symbol)
{
	for (size_t i = 0; symbol && i < ARRAY_SIZE(beginnings); i++) {
		if (!strncmp(symbol, beginnings[i], strlen(beginnings[i])))
			return true;
	}
	return false;
}
