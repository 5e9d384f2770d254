// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/app/app_limits.h"
#include "detect/app/app_socket.h"
#include "detect/inject/listener.h"
#include "rules/units.h"

#define BATCH	    64			/* messages per call, for fairness */
#define AGE_MAX	    (10 * NSEC_PER_SEC) /* of a message; if it seems older, the clock was set */
#define FDS_MAX	    253			/* SCM_MAX_FD */
#define SOCKET_MODE 0666

#define PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

/* A socket that receives messages. */
struct endpoint {
	struct app_socket *socket;
	char shown[PATH_SIZE]; /* path for senders; "": none */
	char at[PATH_SIZE];    /* path for us, through the open directory if there is one */
	int fd;		       /* -1: not open */
};

struct app_socket {
	struct listener *listener;
	struct endpoint own, common;
	bool has_path; /* otherwise there is no socket */
	pthread_mutex_t lock;
	struct app_client *clients; /* under the lock */
	struct app_limits limits;   /* this and the next: for the thread of the listener */
	struct app_message message;
	uint64_t received, limited, malformed, unknown;
};

/* One datagram, and what the kernel tells about it. */
struct datagram {
	char data[APP_MESSAGE_MAX + 2]; /* a newline, and one byte to detect longer messages */
	ssize_t len;
	struct app_sender sender;
	bool has_sender;
};

struct app_socket *app_socket__new(struct listener *listener)
{
	struct app_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->listener = listener;
	s->own = s->common = (struct endpoint){ .socket = s, .fd = -1 };
	app_limits__init(&s->limits);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

/* If a path is too long, `shown` is empty, and opening the socket reports it. */
static void set_paths(struct endpoint *e, const char *path, int dir_fd)
{
	const char *slash = strrchr(path, '/');

	snprintf(e->shown, sizeof(e->shown), "%s", strlen(path) < sizeof(e->shown) ? path : "");
	if (dir_fd >= 0 && slash)
		snprintf(e->at, sizeof(e->at), "/proc/self/fd/%d%s", dir_fd, slash);
	else
		memcpy(e->at, e->shown, sizeof(e->at));
}

void app_socket__set_path(struct app_socket *s, const char *path, int dir_fd)
{
	s->has_path = true;
	set_paths(&s->own, path, dir_fd);
}

static void count_datagram(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* ---- messages ---- */

/* Close descriptors that a sender has passed: we do not use any. */
static void close_fds(const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fds[FDS_MAX];

	n = n < FDS_MAX ? n : FDS_MAX;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Convert the time of a message, CLOCK_REALTIME from the kernel, to CLOCK_MONOTONIC. */
static uint64_t monotonic_time(const struct timespec *ts)
{
	uint64_t sent = (uint64_t)ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
	uint64_t real = clock_ns(CLOCK_REALTIME), now = now_ns();
	uint64_t age = real > sent ? real - sent : 0;

	return age < AGE_MAX && age < now ? now - age : now;
}

static void read_control_message(struct msghdr *msg, struct datagram *d)
{
	struct timespec ts;
	struct ucred cred;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			close_fds(c);
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			d->sender.pid = cred.pid;
			d->sender.uid = cred.uid;
			d->has_sender = true;
		} else if (c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			d->sender.time = monotonic_time(&ts);
		}
	}
}

static bool receive_datagram(const struct endpoint *e, struct datagram *d)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(struct timespec)) +
			  CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { d->data, sizeof(d->data) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	d->has_sender = false;
	d->sender = (struct app_sender){ .time = now_ns() };
	d->len = recvmsg(e->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (d->len < 0)
		return false;
	read_control_message(&msg, d);
	return true;
}

static void hand_over_message(struct app_socket *s, const struct app_message *m,
			      const struct app_sender *sender)
{
	bool known = false;

	pthread_mutex_lock(&s->lock);
	for (struct app_client *c = s->clients; c; c = c->next) {
		if (strcmp(c->name, m->name) != 0)
			continue;
		known = true;
		c->fn(c, m, sender);
	}
	pthread_mutex_unlock(&s->lock);
	if (!known)
		count_datagram(&s->unknown);
}

static void take_datagram(struct app_socket *s, struct datagram *d)
{
	const char *why;
	size_t at;

	count_datagram(&s->received);
	if (!d->has_sender || !app_limits__take(&s->limits, d->sender.uid, now_ns()))
		count_datagram(&s->limited);
	else if (app_message__parse(d->data, d->len, &s->message, &why, &at) ||
		 s->message.duration > d->sender.time) /* the event would precede the boot */
		count_datagram(&s->malformed);
	else
		hand_over_message(s, &s->message, &d->sender);
}

static void on_datagrams(void *arg, uint32_t events)
{
	const struct endpoint *e = arg;
	struct datagram d;

	for (int i = 0; i < BATCH && receive_datagram(e, &d); i++)
		take_datagram(e->socket, &d);
}

/* ---- life ---- */

static struct sockaddr_un endpoint_address(const struct endpoint *e)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	memcpy(addr.sun_path, e->at, sizeof(addr.sun_path));
	return addr;
}

/* Has the owner of the socket died? Then it is still in the directory, but refuses to connect. */
static bool is_abandoned(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	return connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 &&
	       errno == ECONNREFUSED;
}

/* The umask gives the socket its mode at once, so that no mode is changed by path. */
static int bind_to(int fd, const struct sockaddr_un *addr)
{
	mode_t mask = umask(0);
	int err = 0;

	if (fchmod(fd, SOCKET_MODE) || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		err = -errno;
	umask(mask);
	return err;
}

static int open_endpoint(struct endpoint *e)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr = endpoint_address(e);
	int one = 1, err;

	if (fd < 0)
		return -errno;
	/* before bind(), so that the first message comes with its sender and time, too */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)))
		return -errno;
	err = bind_to(fd, &addr);
	if (err == -EADDRINUSE && is_abandoned(&addr)) {
		unlink(addr.sun_path);
		err = bind_to(fd, &addr);
	}
	if (err)
		return err;
	e->fd = TAKE_FD(fd);
	err = listener__add(e->socket->listener, e->fd, EPOLLIN, on_datagrams, e);
	if (err) {
		unlink(e->at);
		close(TAKE_FD(e->fd));
	}
	return err;
}

static void close_endpoint(struct endpoint *e)
{
	if (e->fd < 0)
		return;
	/* not under the lock: this waits for the thread, which may wait for the lock */
	listener__remove(e->socket->listener, e->fd);
	unlink(e->at);
	close(TAKE_FD(e->fd));
}

static int open_own_socket(struct app_socket *s, struct err *err)
{
	int code;

	if (!s->own.shown[0])
		return err_set(err, -ENAMETOOLONG,
			       "the path of the application socket is longer than %zu bytes: "
			       "choose a shorter base",
			       PATH_SIZE - 1);
	code = open_endpoint(&s->own);
	if (code == -EADDRINUSE)
		return err_set(err, code, "%s: another process listens there", s->own.shown);
	return code ? err_set(err, code, "%s: cannot listen: %s", s->own.shown, strerror(-code))
		    : 0;
}

/* If another recorder listens at the common path, leave it alone: our own path still works. */
static void open_common_socket(struct app_socket *s)
{
	if (s->common.shown[0] && s->own.fd >= 0 && s->common.fd < 0)
		open_endpoint(&s->common);
}

void app_socket__set_common(struct app_socket *s, const char *path)
{
	set_paths(&s->common, path, -1);
	open_common_socket(s);
}

int app_socket__join(struct app_socket *s, struct app_client *c, struct err *err)
{
	int code = 0;

	pthread_mutex_lock(&s->lock);
	c->next = s->clients;
	s->clients = c;
	pthread_mutex_unlock(&s->lock);
	if (!s->has_path)
		return 0;
	if (s->own.fd < 0)
		code = open_own_socket(s, err);
	if (code)
		app_socket__leave(s, c);
	else
		open_common_socket(s);
	return code;
}

void app_socket__leave(struct app_socket *s, struct app_client *c)
{
	struct app_client **at;
	bool empty;

	pthread_mutex_lock(&s->lock);
	for (at = &s->clients; *at && *at != c;)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	empty = !s->clients;
	pthread_mutex_unlock(&s->lock);
	if (!empty)
		return;
	close_endpoint(&s->common);
	close_endpoint(&s->own);
}

void app_socket__stats(const struct app_socket *s, struct app_stats *ret)
{
	*ret = (struct app_stats){
		.path = s->common.fd >= 0 ? s->common.shown
			: s->own.fd >= 0  ? s->own.shown
					  : NULL,
		.common = s->common.fd >= 0,
		.received = __atomic_load_n(&s->received, __ATOMIC_RELAXED),
		.limited = __atomic_load_n(&s->limited, __ATOMIC_RELAXED),
		.malformed = __atomic_load_n(&s->malformed, __ATOMIC_RELAXED),
		.unknown = __atomic_load_n(&s->unknown, __ATOMIC_RELAXED),
	};
}

void app_socket__free(struct app_socket *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}
