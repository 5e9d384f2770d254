/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events for bpf/engine_test.bpf.c. Only BPF programs know struct match, so its members are found
 * by BTF.
 */
#ifndef TESTS_UNIT_ENGINE_EVENT_H
#define TESTS_UNIT_ENGINE_EVENT_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "engine_test.skel.h"

/* A struct match of bpf/engine.bpf.h, filled by the names of its members. */
struct event {
	const struct btf *btf;
	uint32_t size;
	char bytes[16384];
};

static inline void event_begin(struct event *e, const struct engine_test_bpf *skel)
{
	memset(e, 0, sizeof(*e));
	e->btf = bpf_object__btf(skel->obj);
	e->size = bpf_map__value_size(skel->maps.events);
	assert_in_range(e->size, 1, sizeof(e->bytes));
}

static inline void event_set(struct event *e, const char *member, const void *value, size_t size)
{
	int id = btf__find_by_name_kind(e->btf, "match", BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(e->btf, id);

	assert_non_null(t);
	for (int i = 0; i < btf_vlen(t); i++) {
		if (strcmp(btf__name_by_offset(e->btf, btf_members(t)[i].name_off), member) != 0)
			continue;
		assert_int_equal(btf__resolve_size(e->btf, btf_members(t)[i].type), size);
		memcpy(e->bytes + btf_member_bit_offset(t, i) / 8, value, size);
		return;
	}
	fail_msg("struct match has no member '%s'", member);
}

#endif
