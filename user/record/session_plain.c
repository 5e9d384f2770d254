// SPDX-License-Identifier: GPL-2.0-only
/* The anchors of plain sessions: they record what names addresses, like perf's tracking event. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "record/session_core.h"

#define RINGS_SHARE 4 /* a ring wakes its reader when this fraction is used: 1 / RINGS_SHARE */

void session_plain__init_attr(struct session *s, size_t ring_bytes)
{
	s->tracking = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = PERF_ATTR_SIZE_VER7,
		.sample_type = RECORD_SAMPLE_TYPE,
		.sample_period = 1,
		/* without ids: cpu_pulse__is_alive() reads its time */
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.mmap = 1,
		.mmap2 = 1,
		.mmap_data = s->events->data_maps,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.bpf_event = 1,
		.namespaces = 1,
		.cgroup = 1,
	};
	s->tracking.wakeup_watermark = ring_bytes / RINGS_SHARE;
}

/* Drop the newest feature: of Linux 5.7, 5.1, 4.12. False: there is none left. */
static bool drop_tracking_feature(struct perf_event_attr *a)
{
	if (a->cgroup)
		a->cgroup = 0;
	else if (a->ksymbol)
		a->ksymbol = a->bpf_event = 0;
	else if (a->namespaces)
		a->namespaces = 0;
	else
		return false;
	return true;
}

int session_plain__open_anchor(struct session *s, int cpu)
{
	int fd;

	do
		fd = admin__open_event(&s->tracking, -1, cpu, 0);
	while (fd == -EINVAL && drop_tracking_feature(&s->tracking));
	return fd;
}
