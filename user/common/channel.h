/* SPDX-License-Identifier: GPL-2.0-only */
/* Datagrams with descriptors, between processes of frbpf. */
#ifndef FRBPF_COMMON_CHANNEL_H
#define FRBPF_COMMON_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#define CHANNEL_FDS_MAX 16

/*
 * Send a message with @n_fds descriptors. 0 or negative errno; -EAGAIN: no room, with MSG_DONTWAIT
 * in @flags.
 */
int channel__send(int sock, const void *msg, size_t len, const int *fds, size_t n_fds, int flags);

/*
 * Receive a message. Returns its bytes, 0 at the end, or negative errno; -EMSGSIZE: it is longer
 * than @size. The caller owns up to @max descriptors, which are close-on-exec; further ones are
 * closed.
 */
ssize_t channel__receive(int sock, void *msg, size_t size, int *fds, size_t max, size_t *ret_n_fds,
			 int flags);

#endif
