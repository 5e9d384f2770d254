// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cpu_watch.h"
#include "common/cpus.h"
#include "common/event_fd.h"
#include "common/suspends.h"

#define GROUP_KERNEL 1	  /* the group of the kernel, not that of udev */
#define MESSAGE_MAX  8192 /* lib/kobject_uevent.c: UEVENT_BUFFER_SIZE is 2048 */

struct cpu_watch {
	int epoll;
	int uevents; /* -1: no uevents here */
	int changed; /* eventfd of cpu_watch__compare() */

	/* used by the thread that compares */
	struct buf online; /* the previous list; empty: not read yet */
};

/* Only the kernel can send to the group; a message to our own address may come from others. */
static int open_uevents(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = GROUP_KERNEL };
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int watch_fd(struct cpu_watch *w, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int cpu_watch__open(struct cpu_watch **ret)
{
	struct cpu_watch *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->uevents = open_uevents();
	if (w->epoll < 0 || w->changed < 0)
		err = -errno;
	err = err ?: watch_fd(w, w->changed);
	if (!err && w->uevents >= 0)
		err = watch_fd(w, w->uevents);
	if (err) {
		cpu_watch__free(w);
		return err;
	}
	cpu_watch__compare(w);
	*ret = w;
	return 0;
}

int cpu_watch__fd(const struct cpu_watch *w)
{
	return w->epoll;
}

static bool has_text(const char *message, size_t len, const char *text)
{
	for (const char *end = message + len, *s = message; s < end; s += strnlen(s, end - s) + 1) {
		if (strncmp(s, text, end - s) == 0 && (size_t)(end - s) > strlen(text))
			return true;
	}
	return false;
}

bool cpu_watch__is_change(const char *message, size_t len)
{
	return has_text(message, len, "SUBSYSTEM=cpu") &&
	       (has_text(message, len, "ACTION=online") ||
		has_text(message, len, "ACTION=offline"));
}

static bool read_uevents(struct cpu_watch *w)
{
	struct sockaddr_nl from = { 0 };
	char message[MESSAGE_MAX];
	bool change = false;
	ssize_t n;

	for (;;) {
		struct iovec iov = { message, sizeof(message) };
		struct msghdr msg = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &iov,
				      .msg_iovlen = 1 };

		n = recvmsg(w->uevents, &msg, 0);
		/* messages were lost, perhaps one about a CPU */
		if (n < 0 && errno == ENOBUFS)
			change = true;
		else if (n < 0 && errno != EINTR)
			return change;
		else if (n > 0 && from.nl_pid == 0 && cpu_watch__is_change(message, n))
			change = true;
	}
}

bool cpu_watch__read(struct cpu_watch *w)
{
	bool change = w->uevents >= 0 && read_uevents(w);
	uint64_t n;

	return read(w->changed, &n, sizeof(n)) == sizeof(n) || change;
}

void cpu_watch__compare(struct cpu_watch *w)
{
	bool first = !w->online.len, change = suspends__look();
	struct buf now = { 0 };

	if (buf__read_file(&now, CPUS_ONLINE_FILE, 64 * 1024)) {
		buf__free(&now);
		return;
	}
	change |= now.len != w->online.len || memcmp(now.data, w->online.data, now.len) != 0;
	buf__free(&w->online);
	w->online = now;
	if (change && !first)
		cpu_watch__notify(w);
}

void cpu_watch__notify(struct cpu_watch *w)
{
	event_fd__notify(w->changed);
}

void cpu_watch__free(struct cpu_watch *w)
{
	if (!w)
		return;
	if (w->uevents >= 0)
		close(w->uevents);
	if (w->changed >= 0)
		close(w->changed);
	if (w->epoll >= 0)
		close(w->epoll);
	buf__free(&w->online);
	free(w);
}
