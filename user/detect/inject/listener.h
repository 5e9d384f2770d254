/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One thread for all sources whose events user space sees. It waits for their descriptors and calls
 * the sources, one at a time. It starts with the first descriptor, ends with the last, and sleeps
 * while none is ready.
 */
#ifndef FRBPF_DETECT_LISTENER_H
#define FRBPF_DETECT_LISTENER_H

#include <stdint.h>

/* The name of the thread. */
#define LISTENER_NAME "frbpf-listen"

struct listener;

typedef void (*listener_fn)(void *arg, uint32_t events);

/* NULL: out of memory. The thread is not started yet. */
struct listener *listener__new(void);

/*
 * Call @fn in the thread whenever @fd, which is borrowed, has one of @events (of epoll, level
 * triggered), EPOLLERR or EPOLLHUP. The first descriptor starts the thread. 0 or negative errno.
 */
int listener__add(struct listener *l, int fd, uint32_t events, listener_fn fn, void *arg);

/*
 * Once this returns, @fn does not run for @fd and is not called again. Removing the last descriptor
 * ends the thread. A source may remove its own descriptors in its @fn, but not the last of all.
 */
void listener__remove(struct listener *l, int fd);

/*
 * Between these two no @fn runs, so another thread may change what they use. The last descriptor
 * must not be removed in between.
 */
void listener__pause(struct listener *l);
void listener__resume(struct listener *l);

/* All descriptors must have been removed. */
void listener__free(struct listener *l);

#endif
