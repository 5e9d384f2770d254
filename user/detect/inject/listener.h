/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread of all sources whose events user space sees: it waits for their descriptors and has
 * the sources serve them, one at a time. It lives from the first descriptor to the last, and does
 * not wake up while none of them has something.
 */
#ifndef FRBPF_DETECT_LISTENER_H
#define FRBPF_DETECT_LISTENER_H

#include <stdint.h>

/* Of the thread, as the kernel keeps it. */
#define LISTENER_NAME "frbpf-listen"

struct listener;

typedef void (*listener_fn)(void *arg, uint32_t events);

/* NULL: out of memory. Starts nothing yet. */
struct listener *listener__new(void);

/*
 * Call @fn in the thread whenever @fd, borrowed, has one of @events (of epoll, level triggered) or
 * EPOLLERR or EPOLLHUP. Starts the thread if it is the first. 0 or negative errno.
 */
int listener__add(struct listener *l, int fd, uint32_t events, listener_fn fn, void *arg);

/* Once this returns, @fn is not at work for @fd and is not called any more. Ends the thread if it
 * was the last. A source may remove, in its @fn, its own descriptors but for the last of all. */
void listener__remove(struct listener *l, int fd);

/* Nothing is served between these two, so what is served may be changed by another thread. The last
 * descriptor must not be removed meanwhile. */
void listener__hold(struct listener *l);
void listener__go_on(struct listener *l);

/* Everything must have been removed. */
void listener__free(struct listener *l);

#endif
