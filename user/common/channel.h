/* SPDX-License-Identifier: GPL-2.0-only */
/* Datagrams with descriptors between processes of ours. */
#ifndef FRBPF_COMMON_CHANNEL_H
#define FRBPF_COMMON_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#define CHANNEL_FDS_MAX 16

/* 0 or negative errno; -EAGAIN: with MSG_DONTWAIT in @flags, there is no room. */
int channel__send(int sock, const void *msg, size_t len, const int *fds, size_t n_fds, int flags);

/*
 * Bytes of the message, 0 at the end, or negative errno; -EMSGSIZE: it is longer than @size. Up to @max descriptors,
 * close-on-exec, are the caller's then; more are closed.
 */
ssize_t channel__receive(int sock, void *msg, size_t size, int *fds, size_t max, size_t *ret_n_fds,
			 int flags);

#endif
