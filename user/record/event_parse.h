/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses one item of an -e list: the name, the /terms/, the modifiers. Of this machine, it looks up
 * only the PMUs in sysfs; tracepoints stay text.
 */
#ifndef FRBPF_RECORD_EVENT_PARSE_H
#define FRBPF_RECORD_EVENT_PARSE_H

#include <linux/perf_event.h>

#include "record/record_opts.h"

enum callchain_term { CALLCHAIN_AS_SESSION, CALLCHAIN_NO, CALLCHAIN_OWN };
enum inherit_term { INHERIT_AS_SESSION, INHERIT_NO, INHERIT_YES };

struct event_spec {
	/* type, config..config2, bp_*, exclude_*, precise_ip, pinned, exclusive; the rest is 0 */
	struct perf_event_attr attr;
	bool precise_max; /* :P - precise_ip may be lowered until the PMU takes it */
	bool read_group;  /* :S */
	bool weak;	  /* :W */
	bool machines;	  /* G or H was given */
	/* both parts of a tracepoint, which may be globs; NULL: none. Owned */
	char *system, *event;
	struct span system_span, event_span;
	char *name; /* shown name: name= or the text of the item; owned */
	/* 0: as the session. At most one of freq and period is set, by the last such term */
	uint64_t freq;
	uint64_t period; /* 0: as the session */
	struct span freq_span;
	enum callchain_term callchain;
	enum call_graph call_graph; /* for CALLCHAIN_OWN */
	uint32_t stack_bytes;	    /* for dwarf; 0: the default */
	uint16_t max_stack;	    /* 0: as the session */
	struct span max_stack_span;
	enum inherit_term inherit;
	uint64_t branch_types; /* 0: as the session */
	bool branch_off;       /* branch_type=no */
};

/*
 * Parse @item, whose span points into @src. @of_group: the modifiers of its group, or "". Errors go
 * to @d, each at its token. 0, -EINVAL or -ENOMEM. Call event_spec__free() in every case.
 */
int event_spec__parse(const struct event_item *item, const char *of_group,
		      const struct source_text *src, struct diags *d, struct event_spec *ret);
void event_spec__free(struct event_spec *spec);

/* The parts of a group such as "name{a,b}:S". */
struct event_group {
	char *name;		  /* NULL: none; owned */
	struct event_item *items; /* owned, but the filters belong to the item of the group */
	size_t n;
	char *modifiers; /* those after the brace, checked; owned */
};

bool event_group__is(const struct event_item *item);
/* Parse the group @item. 0, -EINVAL (see @d) or -ENOMEM. Call event_group__free() in every case. */
int event_group__parse(const struct event_item *item, const struct source_text *src,
		       struct diags *d, struct event_group *ret);
void event_group__free(struct event_group *g);

#endif
