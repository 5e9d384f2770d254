/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of code that a window's samples hit, each once: by address and by callchain. */
#ifndef FRBPF_DUMP_WINDOW_PAGE_SET_H
#define FRBPF_DUMP_WINDOW_PAGE_SET_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "record/session.h"
#include "sideband/sideband.h"

struct page_set {		 /* { 0 } is an empty one */
	struct sideband_page *v; /* owned; sorted and unique after page_set__sort() */
	size_t n, cap;
	struct page_event *events; /* owned: of the session, by id */
	size_t n_events, last_event;
	struct sideband_page *seen; /* owned: what was added lately, by hash */
	bool incomplete;	    /* user stacks were copied: who unwinds them may hit more */
};

/* For samples of @s. 0 or -ENOMEM. */
int page_set__init(struct page_set *p, const struct session *s);
/* A PERF_RECORD_SAMPLE that record__valid() accepted. 0 or -ENOMEM. */
int page_set__add_sample(struct page_set *p, const struct perf_event_header *h);
/* Addresses of the kernel, as pid SIDEBAND_KERNEL, or of a process. 0 or -ENOMEM. */
int page_set__add(struct page_set *p, uint32_t pid, const __u64 *addrs, size_t n);
/* The words of the callchain of such a sample, within the record; NULL: it has none. */
const uint64_t *page_set__callchain(struct page_set *p, const struct perf_event_header *h,
				    uint64_t *ret_n);
/* The raw data of such a sample, within the record; NULL: it has none. */
const void *page_set__raw(struct page_set *p, const struct perf_event_header *h,
			  uint32_t *ret_size);
/* The CPU of such a sample. */
uint32_t page_set__cpu(struct page_set *p, const struct perf_event_header *h);
void page_set__sort(struct page_set *p);
void page_set__free(struct page_set *p);

#endif
