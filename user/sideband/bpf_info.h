/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel tells of loaded BPF programs: addresses and names of their code, and the bodies
 * of the BPF_PROG_INFO and BPF_BTF sections (perf-data section 3, bits 25 and 26). Asked for while
 * a program is loaded, because nobody knows it later. Reading takes no lock; the store is not
 * locked.
 */
#ifndef FRBPF_SIDEBAND_BPF_INFO_H
#define FRBPF_SIDEBAND_BPF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* One loaded program, as it was when asked. */
struct bpf_info {
	uint32_t id;
	uint32_t btf_id; /* 0: none */
	uint8_t tag[8];
	struct buf
		body; /* for BPF_PROG_INFO: {u32 info_len, u32 data_len, u64 arrays, info, data} */
	struct buf btf; /* raw BTF; empty without */
	struct bpf_info_symbol {
		uint64_t addr;
		uint32_t len;
		char name[160]; /* bpf_prog_TAG_NAME, as the kernel and perf call it */
	} * symbols;		/* owned */
	size_t n_symbols;
};

/* The id of the next loaded program after *id. -ENOENT: there is none; -EPERM: neither we
 * nor frbpf-admin may ask. */
int bpf_info__next(uint32_t *id);
/* Keep a program from going until the fd is closed. -1: it is gone, or not for us. */
int bpf_info__hold(uint32_t id);
/* Ask the kernel. -ENOENT: gone; -EPERM, -ENOMEM. */
int bpf_info__read(uint32_t id, struct bpf_info **ret);
void bpf_info__free(struct bpf_info *i);

/* Programs by id; a BTF that several programs share is kept once. */
struct bpf_store;

int bpf_store__new(struct bpf_store **ret); /* -ENOMEM */
void bpf_store__free(struct bpf_store *s);
/* Keep body and BTF of @i, which stays the caller's and is emptied. 0, also when it is there;
 * -ENOMEM. */
int bpf_store__add(struct bpf_store *s, struct bpf_info *i);
void bpf_store__remove(struct bpf_store *s, uint32_t id);
bool bpf_store__has(const struct bpf_store *s, uint32_t id);
size_t bpf_store__bytes(const struct bpf_store *s);
/* The body of a program and its BTF (NULL, 0: none). Borrowed. False: the program is not here. */
bool bpf_store__get(const struct bpf_store *s, uint32_t id, const struct buf **ret_body,
		    uint32_t *ret_btf_id, const struct buf **ret_btf);

#endif
