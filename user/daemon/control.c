// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "daemon/control.h"

#define REQUEST_MAX   (64 * 1024)
#define LAST_WORDS_MS 5000
#define EVENTS_MAX    16		   /* handled in one call */
#define IDLE_NS	      (10 * 1000000000ULL) /* limit for clients that send and receive nothing */
#define LOOK_S	      1			   /* between two checks for idle clients */

/*
 *	READING ──► WAITING ──► WRITING ──► (gone)
 *
 * WAITING: control_fn got the request, but has not answered yet. A client that hangs up meanwhile
 * is kept until control_fn has answered.
 */
enum client_state { CLIENT_READING, CLIENT_WAITING, CLIENT_WRITING };

struct control_client {
	struct control *owner;
	int fd;
	enum client_state state;
	bool dead;	/* hung up while WAITING */
	uint64_t since; /* ns: when data was last received or sent */
	struct buf in, out;
	size_t sent;
};

struct control {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd, epoll;
	int timer; /* armed while a client may have to be dropped, or while none can be accepted */
	int spare; /* closed when no descriptor is left, to accept a client and tell it so */
	bool paused; /* no client is accepted until the timer fires: no descriptors are left */
	control_fn fn;
	void *arg;
	struct control_client *clients[CONTROL_CLIENTS_MAX]; /* owned */
};

int control__address(const char *path, struct sockaddr_un *ret, struct err *err)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return err_set(err, -ENAMETOOLONG,
			       "%s: longer than the %zu bytes a socket's path may have: choose a "
			       "shorter base",
			       path, sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

static int watch_client(struct control *c, int op, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	return epoll_ctl(c->epoll, op, fd, &ev) < 0 ? -errno : 0;
}

static void drop_client(struct control_client *cl)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		if (cl->owner->clients[i] == cl)
			cl->owner->clients[i] = NULL;
	}
	if (cl->fd >= 0)
		close(cl->fd);
	buf__free(&cl->in);
	buf__free(&cl->out);
	free(cl);
}

/* The peer is gone. Keep a waiting client, since it will still be answered. */
static void lose_client(struct control_client *cl)
{
	if (cl->state != CLIENT_WAITING) {
		drop_client(cl);
		return;
	}
	close(cl->fd);
	cl->fd = -1;
	cl->dead = true;
}

static void flush_client(struct control_client *cl)
{
	ssize_t n;

	while (cl->sent < cl->out.len) {
		n = send(cl->fd, cl->out.data + cl->sent, cl->out.len - cl->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch_client(cl->owner, EPOLL_CTL_MOD, cl->fd, EPOLLOUT, cl);
			return;
		}
		if (n < 0)
			break;
		cl->sent += n;
		cl->since = now_ns();
	}
	drop_client(cl);
}

void control_client__reply(struct control_client *cl, json_t *reply)
{
	_cleanup_free_ char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	json_decref(reply);
	if (cl->dead) {
		drop_client(cl);
		return;
	}
	if (!text || buf__add_str(&cl->out, text) || buf__add_str(&cl->out, "\n")) {
		drop_client(cl);
		return;
	}
	cl->state = CLIENT_WRITING;
	flush_client(cl);
}

void control_client__refuse(struct control_client *cl, const char *fmt, ...)
{
	char text[ERR_MSG_MAX];
	json_t *words;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	words = json_string(text);
	if (!words) { /* not UTF-8: a raw name, or cut in the middle of a character */
		for (char *c = text; *c; c++)
			*c = (unsigned char)*c < 0x80 ? *c : '?';
		words = json_string(text);
	}
	control_client__reply(cl, json_pack("{s:b, s:o}", "ok", 0, "error", words));
}

static void handle_request(struct control_client *cl)
{
	json_error_t why;
	json_t *request = json_loadb(cl->in.data, cl->in.len, 0, &why);

	cl->state = CLIENT_WAITING;
	watch_client(cl->owner, EPOLL_CTL_MOD, cl->fd, 0, cl); /* EPOLLHUP is still reported */
	if (!json_is_object(request))
		control_client__refuse(cl, "the request is not a JSON object: %s", why.text);
	else
		cl->owner->fn(cl, request, cl->owner->arg);
	json_decref(request);
}

static void read_client(struct control_client *cl)
{
	char chunk[4096];
	ssize_t n = recv(cl->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	cl->since = now_ns();
	if (n <= 0 || cl->in.len + n > REQUEST_MAX || buf__add(&cl->in, chunk, n)) {
		lose_client(cl);
		return;
	}
	if (memchr(chunk, '\n', n))
		handle_request(cl);
}

static bool peer_of(int fd, struct ucred *ret)
{
	socklen_t len = sizeof(*ret);

	return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) == 0;
}

bool control_client__peer(const struct control_client *c, struct ucred *ret)
{
	return peer_of(c->fd, ret);
}

static bool peer_allowed(int fd)
{
	struct ucred cred;

	if (!peer_of(fd, &cred))
		return false;
	return cred.uid == 0 || cred.uid == geteuid();
}

static void set_control_timer(const struct control *c)
{
	timerfd_settime(c->timer, 0, &(struct itimerspec){ .it_value.tv_sec = LOOK_S }, NULL);
}

/* Find the client that has been idle for longest, among those without a complete request. */
static struct control_client *find_idle(struct control *c)
{
	struct control_client *idle = NULL;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *cl = c->clients[i];

		if (cl && cl->state == CLIENT_READING && (!idle || cl->since < idle->since))
			idle = cl;
	}
	return idle;
}

static int find_client_slot(struct control *c, size_t *ret)
{
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
			if (!c->clients[i]) {
				*ret = i;
				return 0;
			}
		}
		if (!find_idle(c))
			return -EBUSY;
		drop_client(find_idle(c));
	}
	return -EBUSY;
}

/* Refuse a connection without reading its request. */
static void refuse_connection(int fd, const char *why)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "{\"ok\": false, \"error\": \"%s\"}\n", why);

	send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * No descriptor is left: use the spare one to tell the waiting client. If another process takes
 * even that, accept nobody for a while, since the socket would stay readable.
 */
static void accept_without_room(struct control *c)
{
	int fd;

	cleanup_close(&c->spare);
	c->spare = -1;
	fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		refuse_connection(
			fd, "the daemon has no file descriptors left: try again, or raise its "
			    "limit (LimitNOFILE=)");
		close(fd);
	} else {
		c->paused = true;
		watch_client(c, EPOLL_CTL_MOD, c->fd, 0, NULL);
		set_control_timer(c);
	}
	c->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_client(struct control *c)
{
	_cleanup_close_ int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct control_client *cl;
	size_t i;

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
		accept_without_room(c);
	if (fd < 0 || !peer_allowed(fd))
		return;
	if (find_client_slot(c, &i)) {
		refuse_connection(fd, "too many commands wait for the daemon already");
		return;
	}
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return;
	*cl = (struct control_client){
		.owner = c, .fd = fd, .state = CLIENT_READING, .since = now_ns()
	};
	if (watch_client(c, EPOLL_CTL_ADD, fd, EPOLLIN, cl)) {
		free(cl);
		return;
	}
	TAKE_FD(fd);
	c->clients[i] = cl;
	set_control_timer(c);
}

static void on_control_timer(struct control *c)
{
	uint64_t n, now = now_ns();
	bool any = false;

	if (read(c->timer, &n, sizeof(n)) != sizeof(n))
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *cl = c->clients[i];

		if (!cl || cl->state == CLIENT_WAITING)
			continue;
		if (now - cl->since > IDLE_NS)
			drop_client(cl);
		else
			any = true;
	}
	if (c->paused)
		watch_client(c, EPOLL_CTL_MOD, c->fd, EPOLLIN, NULL);
	c->paused = false;
	if (any)
		set_control_timer(c);
}

int control__listen(const char *path, control_fn fn, void *arg, struct err *err,
		    struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));
	struct sockaddr_un addr;
	mode_t mask;
	int code;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	*c = (struct control){
		.fd = -1, .epoll = -1, .timer = -1, .spare = -1, .fn = fn, .arg = arg
	};
	code = control__address(path, &addr, err);
	if (code) {
		control__free(c);
		return code;
	}
	unlink(path); /* we hold the lock of the base, so the daemon of this socket is dead */
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	code = c->fd < 0 || bind(c->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	umask(mask);
	if (!code) {
		memcpy(c->path, path, strlen(path) + 1);
		code = c->epoll < 0 || c->timer < 0 || listen(c->fd, CONTROL_CLIENTS_MAX) < 0
			       ? -errno
			       : 0;
	}
	code = code ?: watch_client(c, EPOLL_CTL_ADD, c->fd, EPOLLIN, NULL);
	code = code ?: watch_client(c, EPOLL_CTL_ADD, c->timer, EPOLLIN, c);
	if (code) {
		control__free(c);
		return err_set(err, code, "cannot listen on %s: %s", path, strerror(-code));
	}
	*ret = c;
	return 0;
}

int control__fd(const struct control *c)
{
	return c->epoll;
}

void control__process(struct control *c)
{
	struct epoll_event ev;

	/* get events one at a time: handling one may free the client of the next */
	for (int i = 0; i < EVENTS_MAX && epoll_wait(c->epoll, &ev, 1, 0) == 1; i++) {
		struct control_client *cl = ev.data.ptr;

		if (!cl)
			accept_client(c);
		else if (ev.data.ptr == c)
			on_control_timer(c);
		else if (cl->state == CLIENT_READING)
			read_client(cl);
		else if (cl->state == CLIENT_WRITING)
			flush_client(cl);
		else
			lose_client(cl);
	}
}

void control__free(struct control *c)
{
	uint64_t until = now_ns() + LAST_WORDS_MS * 1000000ULL;

	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		while (c->clients[i] && c->clients[i]->state == CLIENT_WRITING &&
		       now_ns() < until) {
			struct pollfd pfd = { .fd = c->clients[i]->fd, .events = POLLOUT };

			poll(&pfd, 1, 10);
			flush_client(c->clients[i]);
		}
		if (c->clients[i])
			drop_client(c->clients[i]);
	}
	if (c->path[0])
		unlink(c->path);
	if (c->fd >= 0)
		close(c->fd);
	cleanup_close(&c->epoll);
	cleanup_close(&c->timer);
	cleanup_close(&c->spare);
	free(c);
}
