/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the sources `uprobe` and `usdt`, and private to them: their target and links. */
#ifndef FRBPF_DETECT_USER_PROBE_H
#define FRBPF_DETECT_USER_PROBE_H

#include "detect/engine/source.h"
#include "detect/probe/probe_target.h"

/* These sources have it as `skel` in struct source. */
struct user_probe {
	struct probe_target *target; /* owned */
	void *skel;		     /* destroyed by ops->free of the source */
	struct bpf_link **links;     /* owned */
	size_t n_links;
};

/* Members of struct source_ops. */
int user_probe__check(enum frbpf_source source, const char *target, struct err *err);
bool user_probe__is_stale(const struct source *s);

/*
 * First step of a load: resolve the target. user_probe__find() is the same for one of several
 * targets: the caller frees *ret with user_probe__free(). 0, or negative errno with a message in
 * @err.
 */
int user_probe__resolve(struct source *s);
int user_probe__find(enum frbpf_source source, const char *target, struct user_probe **ret,
		     struct err *err);
/* Take over @link. If it is NULL, returns the negative errno of making it. */
int user_probe__keep(struct user_probe *p, struct bpf_link *link);
/*
 * The size for an LRU map that must hold FRBPF_MAX_IN_FLIGHT entries without evicting one. Each CPU
 * may hold free entries that others cannot take: LOCAL_FREE_TARGET of the kernel's bpf_lru_list.c.
 */
uint32_t user_probe__lru_entries(void);
/*
 * Attach @prog at @offset of the open @file. @ref_ctr: offset of its semaphore, 0: none. Returns a
 * new link, or NULL with errno.
 */
struct bpf_link *user_probe__attach(const struct bpf_program *prog, int file, uint64_t offset,
				    uint64_t ref_ctr, uint64_t cookie);
/* Close the files: they are not needed once all is attached. */
void user_probe__close_files(struct user_probe *p);
/* Detach and free all but the skeleton. NULL is legal. */
void user_probe__free(struct user_probe *p);

#endif
