// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cpus.h"
#include "common/event_fd.h"
#include "common/suspends.h"

#define CPU_LIMIT 65536 /* far above NR_CPUS of any kernel: a limit for bad input */

static int parse_cpu(const char **s)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	n = strtol(*s, &end, 10);
	if (n >= CPU_LIMIT)
		return -EINVAL;
	*s = end;
	return n;
}

int cpus__parse(const char *list, int **ret, size_t *ret_n)
{
	int *v = NULL, *grown, first, last, err = -EINVAL;
	size_t n = 0;

	for (;;) {
		first = last = parse_cpu(&list);
		if (first >= 0 && *list == '-') {
			list++;
			last = parse_cpu(&list);
		}
		if (first < 0 || last < first || (n && v[n - 1] >= first))
			goto fail;
		grown = reallocarray(v, n + (last - first) + 1, sizeof(*v));
		if (!grown) {
			err = -ENOMEM;
			goto fail;
		}
		v = grown;
		while (first <= last)
			v[n++] = first++;
		if (*list != ',')
			break;
		list++;
	}
	if (*list && *list != '\n')
		goto fail;
	*ret = v;
	*ret_n = n;
	return 0;
fail:
	free(v);
	return err;
}

static int read_cpu_list(const char *path, int **ret, size_t *ret_n)
{
	struct buf b = { 0 };
	int err = buf__read_file(&b, path, 64 * 1024);

	err = err ?: cpus__parse(b.data ? b.data : "", ret, ret_n);
	buf__free(&b);
	return err;
}

int cpus__online(int **ret, size_t *ret_n)
{
	return read_cpu_list(CPUS_ONLINE_FILE, ret, ret_n);
}

int cpus__present(int **ret, size_t *ret_n)
{
	return read_cpu_list("/sys/devices/system/cpu/present", ret, ret_n);
}

bool cpus__has(const int *v, size_t n, int cpu)
{
	for (size_t i = 0; i < n && v[i] <= cpu; i++) {
		if (v[i] == cpu)
			return true;
	}
	return false;
}

size_t cpus__n_possible(void)
{
	int *v;
	size_t n;

	if (read_cpu_list("/sys/devices/system/cpu/possible", &v, &n))
		return 0;
	free(v);
	return n;
}

static atomic_uint epoch;

unsigned int cpus__epoch(void)
{
	return atomic_load(&epoch);
}

void cpus__note_change(void)
{
	atomic_fetch_add(&epoch, 1);
}

const struct perf_event_attr cpu_pulse_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.size = PERF_ATTR_SIZE_VER7,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
};

static bool read_enabled(int fd, uint64_t *ret)
{
	uint64_t v[2]; /* value, time enabled */

	if (fd < 0 || read(fd, v, sizeof(v)) != sizeof(v))
		return false;
	*ret = v[1];
	return true;
}

bool cpu_pulse__beats(int fd, uint64_t *seen)
{
	uint64_t now, before = *seen;

	if (!read_enabled(fd, &now))
		return true;
	*seen = now;
	return now > before;
}

bool cpu_pulse__is_alive(int fd, uint64_t *ret_ns)
{
	uint64_t before, after;

	if (!read_enabled(fd, &before) || !read_enabled(fd, &after) || after > before)
		return true;
	*ret_ns = after;
	return false;
}

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

static int watch_cpus_fd(struct cpu_watch *w, int fd)
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
	err = err ?: watch_cpus_fd(w, w->changed);
	if (!err && w->uevents >= 0)
		err = watch_cpus_fd(w, w->uevents);
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

static bool uevent_has_text(const char *message, size_t len, const char *text)
{
	for (const char *end = message + len, *s = message; s < end; s += strnlen(s, end - s) + 1) {
		if (strncmp(s, text, end - s) == 0 && (size_t)(end - s) > strlen(text))
			return true;
	}
	return false;
}

bool cpu_watch__is_change(const char *message, size_t len)
{
	return uevent_has_text(message, len, "SUBSYSTEM=cpu") &&
	       (uevent_has_text(message, len, "ACTION=online") ||
		uevent_has_text(message, len, "ACTION=offline"));
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
