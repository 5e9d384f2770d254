/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sources of events in user space share: their target and their links. Private to them. */
#ifndef FRBPF_DETECT_USER_PROBE_H
#define FRBPF_DETECT_USER_PROBE_H

#include "detect/engine/source.h"
#include "detect/probe/probe_target.h"

/* In struct source as `skel`. */
struct user_probe {
	struct probe_target *target; /* owned */
	void *skel;		     /* owned by the source's free */
	struct bpf_link **links;     /* owned */
	size_t n_links;
};

/* Of struct source_ops. */
int user_probe__check(enum frbpf_source source, const char *target, struct err *err);
bool user_probe__is_stale(const struct source *s);

/* Begins its load: find what its target means. 0, or negative errno with words in s->err. */
int user_probe__resolve(struct source *s);
/* Keep @link; NULL: negative errno is returned, that of making it. */
int user_probe__keep(struct user_probe *p, struct bpf_link *link);
/* A new link: @prog runs at @offset of the open @file; @ref_ctr: of its semaphore, 0: none. NULL, with errno. */
struct bpf_link *user_probe__attach(const struct bpf_program *prog, int file, uint64_t offset,
				    uint64_t ref_ctr, uint64_t cookie);
/* The files are not needed any more. */
void user_probe__close_files(struct user_probe *p);
/* Detaches; all but the skeleton. NULL is legal. */
void user_probe__free(struct user_probe *p);

#endif
