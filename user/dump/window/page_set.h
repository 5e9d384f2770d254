/* SPDX-License-Identifier: GPL-2.0-only */
/* The set of code pages that a window's samples hit, by address and by callchain. */
#ifndef FRBPF_DUMP_WINDOW_PAGE_SET_H
#define FRBPF_DUMP_WINDOW_PAGE_SET_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "record/session.h"
#include "sideband/sideband.h"

struct page_set {		 /* { 0 } is an empty one */
	struct sideband_page *v; /* owned; sorted and unique after page_set__sort() */
	size_t n, cap;
	struct page_event *events; /* events of the session, by id; owned */
	size_t n_events, last_event;
	struct sideband_page *seen; /* pages added lately, by hash; owned */
	bool incomplete; /* samples have copied user stacks, whose unwinding may hit more pages */
};

/* Prepare for samples of @s. 0 or -ENOMEM. */
int page_set__init(struct page_set *p, const struct session *s);
/* Add the pages of a PERF_RECORD_SAMPLE that record__valid() accepted. 0 or -ENOMEM. */
int page_set__add_sample(struct page_set *p, const struct perf_event_header *h);
/* Add addresses of the kernel, with SIDEBAND_KERNEL as pid, or of a process. 0 or -ENOMEM. */
int page_set__add(struct page_set *p, uint32_t pid, const __u64 *addrs, size_t n);
/* Get the callchain of a valid sample, as a pointer into the record; NULL: it has none. */
const uint64_t *page_set__callchain(struct page_set *p, const struct perf_event_header *h,
				    uint64_t *ret_n);
/* Get the raw data of a valid sample, as a pointer into the record; NULL: it has none. */
const void *page_set__raw(struct page_set *p, const struct perf_event_header *h,
			  uint32_t *ret_size);
/* Get the CPU of a valid sample. */
uint32_t page_set__cpu(struct page_set *p, const struct perf_event_header *h);
void page_set__sort(struct page_set *p);
void page_set__free(struct page_set *p);

#endif
