// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "common/cleanup.h"
#include "dump/incident/own_frames.h"

/* Between the program and the helper's own frame. */
#define HELPER_FRAMES_MAX 8

/* What calls programs, as their names begin: of raw tracepoints (kernel/trace/bpf_trace.c,
 * include/trace/bpf_probe.h, kernel/tracepoint.c), and of uprobes (kernel/trace/trace_uprobe.c,
 * kernel/events/uprobes.c). */
static const char *const callers[] = {
	"bpf_trace_run",	"__bpf_trace_",		  "__traceiter_",
	"__bpf_prog_",		"trace_call_bpf",	  "uprobe_prog_run",
	"uprobe_perf_func",	"__uprobe_perf_func",	  "uprobe_dispatcher",
	"uretprobe_dispatcher", "uretprobe_perf_func",	  "handler_chain",
	"handle_swbp",		"handle_uretprobe_chain", "uprobe_handle_trampoline",
	"uprobe_notify_resume",
};

static bool calls_programs(const struct own_frame *f)
{
	for (size_t i = 0; f->symbol && i < ARRAY_SIZE(callers); i++)
		if (!strncmp(f->symbol, callers[i], strlen(callers[i])))
			return true;
	return false;
}

size_t own_frames__count(const struct own_frame *v, size_t n)
{
	size_t i = 0;

	while (i < n && i < HELPER_FRAMES_MAX && !v[i].is_bpf) {
		if (v[i].symbol && !strcmp(v[i].symbol, "__schedule"))
			return 0;
		i++;
	}
	if (i == n || !v[i].is_bpf)
		return 0;
	while (i < n && (v[i].is_bpf || calls_programs(&v[i])))
		i++;
	return i;
}
