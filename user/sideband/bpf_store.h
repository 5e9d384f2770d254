/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs that were read, by id. A BTF that several programs share is stored once. Not locked.
 */
#ifndef FRBPF_SIDEBAND_BPF_STORE_H
#define FRBPF_SIDEBAND_BPF_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sideband/bpf_info.h"

struct bpf_store;

int bpf_store__new(struct bpf_store **ret); /* -ENOMEM */
void bpf_store__free(struct bpf_store *s);
/*
 * Move body and BTF of @i into the store; the caller still frees @i. 0, also if the program is in
 * the store already; -ENOMEM.
 */
int bpf_store__add(struct bpf_store *s, struct bpf_info *i);
void bpf_store__remove(struct bpf_store *s, uint32_t id);
bool bpf_store__has(const struct bpf_store *s, uint32_t id);
size_t bpf_store__bytes(const struct bpf_store *s);
/* Get a program's body and its BTF (NULL, 0: none), borrowed. False: it is not in the store. */
bool bpf_store__get(const struct bpf_store *s, uint32_t id, const struct buf **ret_body,
		    uint32_t *ret_btf_id, const struct buf **ret_btf);

#endif
