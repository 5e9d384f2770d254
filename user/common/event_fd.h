/* SPDX-License-Identifier: GPL-2.0-only */
/* Wakes up other threads by an eventfd(2), which is non-blocking. */
#ifndef FRBPF_COMMON_EVENT_FD_H
#define FRBPF_COMMON_EVENT_FD_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Make the eventfd @fd readable. */
static inline void event_fd__notify(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Make the eventfd @fd unreadable until the next notify. */
static inline void event_fd__drain(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

#endif
