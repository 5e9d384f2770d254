/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads from the kernel the addresses and names of the code of loaded BPF programs. Also makes the
 * bodies of the feature sections BPF_PROG_INFO and BPF_BTF (bits 25 and 26). A program must be
 * read while it is loaded: the kernel forgets it afterwards. Reading takes no lock.
 *
 * A store keeps what was read.
 */
#ifndef FRBPF_SIDEBAND_BPF_INFO_H
#define FRBPF_SIDEBAND_BPF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* A loaded program at the time of reading. */
struct bpf_info {
	uint32_t id;
	uint32_t btf_id; /* 0: none */
	uint8_t tag[8];
	struct buf
		body; /* for BPF_PROG_INFO: {u32 info_len, u32 data_len, u64 arrays, info, data} */
	struct buf btf; /* raw BTF; empty: none */
	struct bpf_info_symbol {
		uint64_t addr;
		uint32_t len;
		char name[160]; /* bpf_prog_TAG_NAME, as in the kernel and perf */
	} * symbols;		/* owned */
	size_t n_symbols;
};

/*
 * Set *id to that of the next loaded program. -ENOENT: there is none; -EPERM: neither we nor
 * frbpf-admin may ask.
 */
int bpf_info__next(uint32_t *id);
/*
 * Open a program. Returns a descriptor, which the caller closes; until then the program stays
 * loaded. -1: it is gone, or we may not open it.
 */
int bpf_info__pin(uint32_t id);
/* Read a program; the caller frees *ret. -ENOENT: it is gone; -EPERM, -ENOMEM. */
int bpf_info__read(uint32_t id, struct bpf_info **ret);
void bpf_info__free(struct bpf_info *i);

/*
 * BPF programs that were read, by id. A BTF that several programs share is stored once. Not locked.
 */
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
