// SPDX-License-Identifier: GPL-2.0-only
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "daemon/memory_report.h"
#include "record/session.h"

/* Bytes; 0: the kernel does not tell. */
static json_int_t status_value(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? (json_int_t)strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

json_t *memory_report__json(struct sideband *sb, uint64_t max_memory)
{
	/* rings and the copies of them are of one size */
	json_int_t sessions = (json_int_t)session__memory_of_all();
	const struct mallinfo2 heap = mallinfo2();
	struct sideband_stats st;
	struct buf b = { 0 };
	const char *status;
	json_t *j;

	sideband__stats(sb, &st);
	status = buf__read_file(&b, "/proc/self/status", 64 * 1024) == 0 && b.len ? b.data : "";
	j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "rss_bytes",
		      status_value(status, "\nVmRSS:"), "anon_bytes",
		      status_value(status, "\nRssAnon:"), "file_bytes",
		      status_value(status, "\nRssFile:"), "rings_bytes", sessions / 2,
		      "copies_bytes", sessions - sessions / 2, "sideband_rings_bytes",
		      (json_int_t)st.ring_bytes, "sideband_bytes",
		      (json_int_t)(st.log_bytes + st.model_bytes), "heap_bytes",
		      (json_int_t)(heap.arena + heap.hblkhd), "used_bytes",
		      sessions + (json_int_t)st.ring_bytes, "max_bytes", (json_int_t)max_memory);
	buf__free(&b);
	return j;
}
