/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raw records of the side band: appended as they are drained, read in time order. The log has the
 * records from its base time on. Older ones are folded: passed to a callback once, in time order,
 * and dropped.
 *
 * Not locked. Records never move, so a view taken under the caller's lock can be read without it,
 * as long as nobody folds.
 */
#ifndef FRBPF_SIDEBAND_SIDEBAND_LOG_H
#define FRBPF_SIDEBAND_SIDEBAND_LOG_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct sideband_log;

/*
 * @chunk_bytes: memory is allocated in chunks of this size, at least 64 KiB, the largest size of a
 * record. -ENOMEM.
 */
int sideband_log__new(size_t chunk_bytes, struct sideband_log **ret);
void sideband_log__free(struct sideband_log *l);

/* Append a copy of a valid record. 0; -ENOMEM; -ESTALE: it is older than the base time. */
int sideband_log__append(struct sideband_log *l, const struct perf_event_header *rec);

uint64_t sideband_log__base_time(const struct sideband_log *l); /* ns; 0 at first */
size_t sideband_log__bytes(const struct sideband_log *l);	/* allocated */
size_t sideband_log__n_chunks(const struct sideband_log *l);
/*
 * Time (ns) of the newest record in the oldest chunk; folding up to it frees the chunk. 0: the log
 * is empty.
 */
uint64_t sideband_log__oldest_chunk_end(const struct sideband_log *l);

/*
 * Call @fn with every record older than @before (ns), in time order; if there is no memory to sort,
 * in order of arrival. @before becomes the base time. Returns the number of records.
 */
size_t sideband_log__fold(struct sideband_log *l, uint64_t before,
			  void (*fn)(const struct perf_event_header *rec, void *arg), void *arg);

/* The contents of the log at one moment. */
struct sideband_log_view {
	struct sideband_log_span {
		const char *data;
		size_t len;
		uint64_t min_time, max_time;
	} * spans; /* owned */
	size_t n_spans;
	uint64_t base_time;
};
int sideband_log__view(const struct sideband_log *l, struct sideband_log_view *ret); /* -ENOMEM */
void sideband_log_view__free(struct sideband_log_view *v);

/* A record and its time. */
struct sideband_ref {
	uint64_t time;
	const struct perf_event_header *rec; /* borrowed from the log */
};
/*
 * Get the records in [@from, @to] (ns), from the base time on, stably sorted by time. The caller
 * frees the array. -ENOMEM.
 */
int sideband_log_view__sorted(const struct sideband_log_view *v, uint64_t from, uint64_t to,
			      struct sideband_ref **ret, size_t *ret_n);

#endif
