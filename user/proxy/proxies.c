// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "proxy/proxies.h"

#define NSEC_PER_MSEC 1000000ULL

#define START_MS   5000	 /* time until a new process must answer */
#define END_MS	   10000 /* time until it must have ended, with its command */
#define EVENTS_MAX 64	 /* messages handled in one call */

struct proxies {
	pid_t spawner;
	int sock, epoll;
	pthread_mutex_t lock; /* guards refs, the list, and which sockets are open */
	struct proxy *first;  /* the oldest first; owned */
};

static int close_and_fail(struct proxies *p, int code, struct err *err)
{
	proxies__free(p);
	return err_set(err, code, "cannot start the processes of sessions: %s", strerror(-code));
}

int proxies__new(struct err *err, struct proxies **ret)
{
	struct proxies *p = calloc(1, sizeof(*p));
	int code;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->sock = -1;
	pthread_mutex_init(&p->lock, NULL);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0)
		return close_and_fail(p, -errno, err);
	code = spawner__fork(&p->spawner, &p->sock);
	if (code)
		return close_and_fail(p, code, err);
	*ret = p;
	return 0;
}

int proxies__fd(const struct proxies *p)
{
	return p->epoll;
}

/* ---- the list; under the lock ---- */

static struct proxy *find_shared(struct proxies *p, const char *name, const char *run)
{
	for (struct proxy *x = p->first; x; x = x->next) {
		if (x->refs && x->sock >= 0 && !x->over && !strcmp(x->name, name) &&
		    !strcmp(x->run, run))
			return x;
	}
	return NULL;
}

/* Is there an earlier process with the name of @x? Both would use the same fifos. */
static bool has_elder(const struct proxies *p, const struct proxy *x)
{
	for (const struct proxy *o = p->first; o && o != x; o = o->next) {
		if (o->sock >= 0 && !strcmp(o->name, x->name))
			return true;
	}
	return false;
}

static void start_waiting_proxies(struct proxies *p)
{
	for (struct proxy *x = p->first; x; x = x->next) {
		if (!x->go_requested || x->go_sent || x->sock < 0 || has_elder(p, x))
			continue;
		x->go_sent = true;
		proxy_message__send(x->sock, PROXY_GO, "");
	}
}

static void proxy_free(struct proxy *x)
{
	if (!x)
		return;
	cleanup_close(&x->sock);
	free(x->name);
	free(x->run);
	free(x);
}

static void remove_proxy(struct proxies *p, struct proxy *x)
{
	struct proxy **at = &p->first;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	proxy_free(x);
}

/* The socket was closed, so the process has ended or is about to. */
static void reap_proxy(struct proxies *p, struct proxy *x)
{
	close(TAKE_FD(x->sock));
	while (waitpid(x->pid, NULL, 0) < 0 && errno == EINTR)
		;
	start_waiting_proxies(p);
	if (!x->refs)
		remove_proxy(p, x);
}

/* ---- starting a process ---- */

static int fill_request(struct proxy_request *r, const char *name, char *const *command)
{
	*r = (struct proxy_request){ .n_words = 0 };
	if (strlen(name) > PROXY_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(r->name, name);
	for (; command && command[r->n_words]; r->n_words++) {
		size_t len = strlen(command[r->n_words]) + 1;

		if (r->words_len + len > sizeof(r->words))
			return -E2BIG;
		memcpy(r->words + r->words_len, command[r->n_words], len);
		r->words_len += len;
	}
	return 0;
}

/* Wait for the first message of the process. */
static int wait_for_proxy(struct proxy *x)
{
	struct pollfd pfd = { .fd = x->sock, .events = POLLIN };
	uint64_t until = now_ns() + START_MS * NSEC_PER_MSEC;
	struct proxy_message m;
	size_t n_fds;
	ssize_t n;

	while (poll(&pfd, 1, START_MS) < 0 && errno == EINTR && now_ns() < until)
		;
	n = channel__receive(x->sock, &m, sizeof(m), NULL, 0, &n_fds, MSG_DONTWAIT);
	if (n <= 0 || m.op != PROXY_READY)
		return n < 0 ? (int)n : -EAGAIN;
	x->pid = m.pid;
	x->command = m.command_pid;
	return 0;
}

static int spawn_proxy(struct proxies *p, struct proxy *x, char *const *command, int dir)
{
	_cleanup_free_ struct proxy_request *r = malloc(sizeof(*r));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = x };
	int socks[2], code = r ? fill_request(r, x->name, command) : -ENOMEM;

	if (code)
		return code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	x->sock = socks[0];
	code = channel__send(p->sock, r, sizeof(*r), (int[]){ socks[1], dir }, 2, 0);
	close(socks[1]);
	code = code ?: wait_for_proxy(x);
	if (!code && epoll_ctl(p->epoll, EPOLL_CTL_ADD, x->sock, &ev) < 0)
		code = -errno;
	return code;
}

static struct proxy *proxy_new(struct proxies *p, const char *name, const char *run)
{
	struct proxy *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	*x = (struct proxy){ .name = strdup(name),
			     .run = strdup(run),
			     .owner = p,
			     .sock = -1,
			     .refs = 1,
			     .started = now_ns() };
	if (x->name && x->run)
		return x;
	proxy_free(x);
	return NULL;
}

static void append_proxy(struct proxies *p, struct proxy *x)
{
	struct proxy **at = &p->first;

	while (*at)
		at = &(*at)->next;
	*at = x;
}

int proxies__start(struct proxies *p, const char *name, const char *run, char *const *command,
		   int dir, struct err *err, struct proxy **ret)
{
	struct proxy *x;
	pid_t pid;
	int code;

	pthread_mutex_lock(&p->lock);
	x = find_shared(p, name, run);
	if (x)
		x->refs++;
	pthread_mutex_unlock(&p->lock);
	if (x) {
		*ret = x;
		return 0;
	}
	x = proxy_new(p, name, run);
	code = x ? spawn_proxy(p, x, command, dir) : -ENOMEM;
	if (code) {
		pid = x ? x->pid : 0;
		proxy_free(x); /* closing its socket ends the process */
		if (pid)
			waitpid(pid, NULL, 0);
		return err_set(err, code, "cannot start a process for session '%s': %s", name,
			       strerror(-code));
	}
	pthread_mutex_lock(&p->lock);
	append_proxy(p, x);
	pthread_mutex_unlock(&p->lock);
	*ret = x;
	return 0;
}

/* ---- one process ---- */

static void send_to_proxy(struct proxy *x, enum proxy_op op, const char *text)
{
	pthread_mutex_lock(&x->owner->lock);
	if (x->sock >= 0)
		proxy_message__send(x->sock, op, text);
	pthread_mutex_unlock(&x->owner->lock);
}

void proxy__go(struct proxy *x)
{
	pthread_mutex_lock(&x->owner->lock);
	x->go_requested = true;
	start_waiting_proxies(x->owner);
	pthread_mutex_unlock(&x->owner->lock);
}

void proxy__print(struct proxy *x, const char *text)
{
	send_to_proxy(x, PROXY_SAY, text);
}

void proxy__ack(struct proxy *x)
{
	send_to_proxy(x, PROXY_ACK, "");
}

void proxy__set_over(struct proxy *x)
{
	pthread_mutex_lock(&x->owner->lock);
	x->over = true;
	pthread_mutex_unlock(&x->owner->lock);
}

struct proxy *proxy__ref(struct proxy *x)
{
	pthread_mutex_lock(&x->owner->lock);
	x->refs++;
	pthread_mutex_unlock(&x->owner->lock);
	return x;
}

/* If the process still runs, the main thread frees the object after the process has ended. */
void proxy__unref(struct proxy *x)
{
	struct proxies *p = x ? x->owner : NULL;

	if (!x)
		return;
	pthread_mutex_lock(&p->lock);
	if (!--x->refs && x->sock < 0)
		remove_proxy(p, x);
	else if (!x->refs)
		proxy_message__send(x->sock, PROXY_END, "");
	pthread_mutex_unlock(&p->lock);
}

/* ---- all processes ---- */

/* False: the process has ended. */
static bool process_proxy(struct proxies *p, struct proxy *x, proxies_fn fn, void *arg)
{
	struct proxy_message m;
	size_t n_fds;
	ssize_t n;
	bool known;

	n = channel__receive(x->sock, &m, sizeof(m), NULL, 0, &n_fds, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return true;
	if (n > (ssize_t)offsetof(struct proxy_message, text)) {
		((char *)&m)[n - 1] = '\0';
		pthread_mutex_lock(&p->lock);
		known = x->refs;
		pthread_mutex_unlock(&p->lock);
		if (known)
			fn(x, m.op, m.text, arg);
		return true;
	}
	pthread_mutex_lock(&p->lock);
	known = x->refs && !x->over;
	x->over = true;
	x->refs++; /* keeps the object during the callback */
	reap_proxy(p, x);
	pthread_mutex_unlock(&p->lock);
	if (known)
		fn(x, PROXY_STOP, NULL, arg);
	proxy__unref(x);
	return false;
}

void proxies__process(struct proxies *p, proxies_fn fn, void *arg)
{
	struct epoll_event ev;

	/* one at a time: a message may end another process */
	for (int i = 0; i < EVENTS_MAX && epoll_wait(p->epoll, &ev, 1, 0) == 1; i++)
		process_proxy(p, ev.data.ptr, fn, arg);
}

/* Wait until the process has ended. SIGKILL also ends a process that hangs or was stopped. */
static void await_proxy_end(struct proxy *x, uint64_t until)
{
	struct proxy_message m;
	size_t n_fds;
	ssize_t n;

	for (;;) {
		struct pollfd pfd = { .fd = x->sock, .events = POLLIN };
		uint64_t now = now_ns();

		if (now >= until)
			break;
		poll(&pfd, 1, (int)((until - now) / NSEC_PER_MSEC) + 1);
		n = channel__receive(x->sock, &m, sizeof(m), NULL, 0, &n_fds, MSG_DONTWAIT);
		if (n <= 0 && n != -EAGAIN)
			break;
	}
	if (now_ns() >= until)
		kill(x->pid, SIGKILL); /* it stays our child, with its pid, until waitpid() */
}

void proxies__free(struct proxies *p)
{
	uint64_t until = now_ns() + END_MS * NSEC_PER_MSEC;

	if (!p)
		return;
	for (struct proxy *x = p->first; x; x = x->next) {
		if (x->sock >= 0)
			proxy_message__send(x->sock, PROXY_END, "");
	}
	while (p->first) {
		struct proxy *x = p->first;

		x->refs = 0;
		if (x->sock >= 0) {
			await_proxy_end(x, until);
			reap_proxy(p, x);
		} else {
			remove_proxy(p, x);
		}
	}
	cleanup_close(&p->sock);
	while (p->spawner && waitpid(p->spawner, NULL, 0) < 0 && errno == EINTR)
		;
	cleanup_close(&p->epoll);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
