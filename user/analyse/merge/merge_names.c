// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "analyse/merge/merge_names.h"
#include "perfdata/record.h"

/* Content of a record, without its trailer */
struct said {
	UT_hash_handle hh;
	size_t file; /* the last file that said it */
	/* ns: until then, files that say it follow each other without a gap */
	uint64_t covered_until;
	size_t len;
	char content[];
};

bool merge_names__is_one(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
		return true;
	default:
		return false;
	}
}

static struct said *add_said(struct merge_names *n, const void *content, size_t len)
{
	struct said *s = calloc(1, sizeof(*s) + len);

	if (!s)
		return NULL;
	memcpy(s->content, content, len);
	s->len = len;
	HASH_ADD_KEYPTR(hh, n->said, s->content, s->len, s);
	return s;
}

int merge_names__note(struct merge_names *n, const struct perf_event_header *h, size_t number,
		      uint64_t time, uint64_t last, bool at_start, bool *ret_known)
{
	size_t len = h->size - RECORD_TRAILER_SIZE;
	struct said *s;

	*ret_known = false;
	HASH_FIND(hh, n->said, h, len, s);
	if (!s) {
		s = add_said(n, h, len);
		if (!s)
			return -ENOMEM;
	} else if (at_start && s->file != number && time <= s->covered_until) {
		*ret_known = true;
	}
	if (!*ret_known || last > s->covered_until)
		s->covered_until = last;
	s->file = number;
	return 0;
}

void merge_names__free(struct merge_names *n)
{
	struct said *s, *next;

	HASH_ITER (hh, n->said, s, next) {
		HASH_DEL(n->said, s);
		free(s);
	}
}
