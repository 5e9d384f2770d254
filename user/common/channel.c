// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel.h"

int channel__send(int sock, const void *msg, size_t len, const int *fds, size_t n_fds, int flags)
{
	char control[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)msg, len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (n_fds > CHANNEL_FDS_MAX)
		return -EINVAL;
	if (n_fds) {
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &h, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *h, int *fds, size_t max, size_t *ret_n)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (n < max)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	*ret_n = n;
}

ssize_t channel__receive(int sock, void *msg, size_t size, int *fds, size_t max, size_t *ret_n_fds,
			 int flags)
{
	char control[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
	struct iovec iov = { msg, size };
	struct msghdr h = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	size_t n_fds = 0;
	ssize_t n;

	do
		n = recvmsg(sock, &h, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_fds(&h, fds, max, &n_fds);
	if (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		while (n_fds)
			close(fds[--n_fds]);
		return -EMSGSIZE;
	}
	*ret_n_fds = n_fds;
	return n;
}
