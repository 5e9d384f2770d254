/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Named objects of the kernel that belong to no process, at one moment: symbols (of BPF programs,
 * trampolines), loaded BPF programs, cgroups. Part of a task model. Not locked.
 */
#ifndef FRBPF_SYMBOLS_KERNEL_STATE_H
#define FRBPF_SYMBOLS_KERNEL_STATE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct kernel_state { /* { 0 } is an empty one */
	struct ksymbol *symbols;
	struct bpf_prog *progs;
	struct cgroup *cgroups;
	size_t bytes;
};

void kernel_state__free(struct kernel_state *k);

/* These replace an entry with the same address or id. 0 or -ENOMEM. */
int kernel_state__add_symbol(struct kernel_state *k, uint64_t addr, uint32_t len, uint16_t type,
			     const char *name);
int kernel_state__add_bpf_prog(struct kernel_state *k, uint32_t id, const uint8_t tag[8]);
int kernel_state__add_cgroup(struct kernel_state *k, uint64_t id, const char *path);

/* Apply a KSYMBOL, BPF_EVENT or CGROUP record that record__valid() accepted; others are ignored.
 * No record says that a cgroup is gone: see forget_cgroups. 0 or -ENOMEM. */
int kernel_state__apply(struct kernel_state *k, const struct perf_event_header *rec);

size_t kernel_state__n_cgroups(const struct kernel_state *k);
/* Drop every cgroup that is not in @living. */
void kernel_state__forget_cgroups(struct kernel_state *k, const struct kernel_state *living);

int kernel_state__copy(struct kernel_state *to, const struct kernel_state *from); /* or -ENOMEM */

/* Call @fn for each program, until it returns non-zero, which is returned. */
int kernel_state__each_bpf_prog(const struct kernel_state *k, int (*fn)(uint32_t id, void *arg),
				void *arg);

/* Append everything as KSYMBOL, BPF_EVENT and CGROUP records at @time (ns). 0 or -ENOMEM. */
int kernel_state__emit(const struct kernel_state *k, uint64_t time, struct buf *out);

#endif
