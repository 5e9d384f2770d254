// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/event_fd.h"
#include "common/helper.h"
#include "examine/examiner.h"
#include "examine/keeper.h"

#define TITLE	 "frbpf-keeper"
#define HUNG_FOR 30000000000ULL /* ns: who hung is asked again after that ... */
#define SLOW_FOR 5000000000ULL	/* ... and who was not given as long as this is */
#define LONG_NS	 2000000000ULL
#define HUNG_MAX 16
#define REACH_NS 5000000000ULL /* within that a file is opened, however busy the machine is */
#define MSEC	 1000000ULL

struct lane {
	pthread_mutex_t lock; /* guards the rest */
	bool open;
	int requests, answers;
	pid_t pair[2];
	uint32_t number; /* of the last request */
};

struct examiner {
	bool owned;    /* the keeper is to end with us */
	int cancelled; /* eventfd, readable then */
	struct lane lanes[EXAMINER_LANES];

	pthread_mutex_t lock; /* guards all below; a lane's is taken before it */
	int keeper_sock;
	void (*follow)(const pid_t *pids, size_t n, void *arg);
	void *follow_arg;
	struct {
		uint64_t what, until; /* what: see hash_of(); until: ns */
	} hung[HUNG_MAX];
	size_t next_hung;
};

/* ---- the keeper ---- */

/* Ask the keeper, which always answers. Under e->lock. */
static int ask_keeper(struct examiner *e, const struct keeper_request *r, struct keeper_reply *ret,
		      int fds[2], size_t *ret_n_fds)
{
	ssize_t n = channel__send(e->keeper_sock, r, sizeof(*r), NULL, 0, 0);

	if (!n)
		n = channel__receive(e->keeper_sock, ret, sizeof(*ret), fds, 2, ret_n_fds, 0);
	if (n != sizeof(*ret) || ret->n_pids > KEEPER_PROCESSES_MAX)
		return n < 0 ? (int)n : -EPIPE;
	if (e->follow)
		e->follow(ret->pids, ret->n_pids, e->follow_arg);
	return 0;
}

/* ---- lanes ---- */

static void lane__close(struct examiner *e, struct lane *l)
{
	struct keeper_request r = { .op = KEEPER_END };
	struct keeper_reply reply;
	size_t n_fds;
	int fds[2];

	if (!l->open)
		return;
	memcpy(r.pair, l->pair, sizeof(r.pair));
	close(l->requests);
	close(l->answers);
	l->open = false;
	pthread_mutex_lock(&e->lock);
	ask_keeper(e, &r, &reply, fds, &n_fds);
	pthread_mutex_unlock(&e->lock);
}

static int lane__open(struct examiner *e, struct lane *l)
{
	const struct keeper_request r = { .op = KEEPER_START };
	struct keeper_reply reply;
	size_t n_fds = 0;
	int fds[2], err;

	if (l->open)
		return 0;
	pthread_mutex_lock(&e->lock);
	err = ask_keeper(e, &r, &reply, fds, &n_fds);
	pthread_mutex_unlock(&e->lock);
	err = err ?: reply.error;
	if (!err && n_fds == 2) {
		l->requests = fds[0];
		l->answers = fds[1];
		memcpy(l->pair, reply.pair, sizeof(l->pair));
		l->open = true;
		return 0;
	}
	while (n_fds)
		close(fds[--n_fds]);
	return err ?: -EIO;
}

/* For poll(): rounded up, at most a day. */
static int ms_until(uint64_t deadline)
{
	const uint64_t day = 24 * 3600 * 1000;
	uint64_t now = now_ns(), ms = deadline > now ? (deadline - now + MSEC - 1) / MSEC : 0;

	return ms < day ? ms : day;
}

static int lane__await(const struct examiner *e, const struct lane *l, uint64_t deadline)
{
	struct pollfd pfds[] = { { .fd = l->answers, .events = POLLIN },
				 { .fd = e->cancelled, .events = POLLIN } };
	int n;

	do
		n = poll(pfds, ARRAY_SIZE(pfds), ms_until(deadline));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (pfds[1].revents)
		return -ECANCELED;
	return n ? 0 : -ETIMEDOUT;
}

static int lane__ask(struct examiner *e, struct lane *l, struct examine_request *r,
		     uint64_t deadline, struct examine_answer *ret)
{
	size_t n_fds;
	ssize_t n;
	int err;

	r->number = ++l->number;
	err = lane__open(e, l);
	if (err)
		return err;
	err = channel__send(l->requests, r, sizeof(*r), NULL, 0, MSG_DONTWAIT);
	err = err ? -EIO : lane__await(e, l, deadline);
	if (err)
		return err;
	n = channel__receive(l->answers, ret->msg, sizeof(ret->msg), NULL, 0, &n_fds, MSG_DONTWAIT);
	if (n <= 0)
		return -EIO;
	ret->len = n;
	return examine_answer__check(ret->msg, n, r, &ret->head) ? -EIO : 0;
}

/* ---- who hung ---- */

static uint64_t hash_of(const struct examine_request *r)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	if (r->ino)
		return (uint64_t)r->maj << 32 | r->min; /* all of its file system */
	for (const char *p = r->path; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
	return hash | 1ULL << 63;
}

static void note_hung(struct examiner *e, const struct examine_request *r, uint64_t waited)
{
	uint64_t now = now_ns();

	pthread_mutex_lock(&e->lock);
	e->hung[e->next_hung].what = hash_of(r);
	e->hung[e->next_hung].until = now + (waited < LONG_NS ? SLOW_FOR : HUNG_FOR);
	e->next_hung = (e->next_hung + 1) % HUNG_MAX;
	pthread_mutex_unlock(&e->lock);
}

static bool has_hung(struct examiner *e, const struct examine_request *r)
{
	uint64_t what = hash_of(r), now = now_ns();
	bool hung = false;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < HUNG_MAX; i++)
		hung |= e->hung[i].what == what && e->hung[i].until > now;
	pthread_mutex_unlock(&e->lock);
	return hung;
}

/* ---- life ---- */

int examiner__new(struct examiner **ret)
{
	struct examiner *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->keeper_sock = e->cancelled = -1;
	pthread_mutex_init(&e->lock, NULL);
	for (size_t i = 0; i < EXAMINER_LANES; i++)
		pthread_mutex_init(&e->lanes[i].lock, NULL);
	e->cancelled = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = e->cancelled < 0 ? -errno : helper__fork(TITLE, keeper__run, &e->keeper_sock);
	e->owned = !err;
	if (err) {
		examiner__free(e);
		return err;
	}
	*ret = e;
	return 0;
}

void examiner__free(struct examiner *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < EXAMINER_LANES; i++) {
		struct lane *l = &e->lanes[i];

		if (l->open) {
			close(l->requests);
			close(l->answers);
		}
		pthread_mutex_destroy(&l->lock);
	}
	if (e->owned) /* it ends, and with it the others, whoever else has our end */
		shutdown(e->keeper_sock, SHUT_RDWR);
	cleanup_close(&e->keeper_sock);
	cleanup_close(&e->cancelled);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void examiner__leave(struct examiner *e)
{
	if (e)
		e->owned = false;
	examiner__free(e);
}

int examiner__ask(struct examiner *e, enum examiner_lane lane, struct examine_request *request,
		  uint64_t deadline, struct examine_answer *ret)
{
	const struct timespec ts = { deadline / 1000000000, deadline % 1000000000 };
	struct lane *l = &e->lanes[lane];
	uint64_t begin = now_ns();
	int err;

	if (has_hung(e, request))
		return -EBUSY;
	if (pthread_mutex_clocklock(&l->lock, CLOCK_MONOTONIC, &ts))
		return -ETIMEDOUT;
	err = lane__ask(e, l, request, deadline, ret);
	if (err)
		lane__close(e, l);
	pthread_mutex_unlock(&l->lock);
	if (err == -ETIMEDOUT)
		note_hung(e, request, now_ns() - begin);
	return err;
}

int examiner__reach(void *examiner, const char *path)
{
	struct examine_request r = { .kind = EXAMINE_REACH };
	struct examiner *e = examiner;
	struct examine_answer *answer;
	int err;

	if (!path)
		examiner__rest(e, EXAMINER_REACH);
	if (!path || strlen(path) >= sizeof(r.path))
		return 0;
	strcpy(r.path, path);
	answer = malloc(sizeof(*answer));
	if (!answer)
		return 0;
	err = examiner__ask(e, EXAMINER_REACH, &r, now_ns() + REACH_NS, answer);
	free(answer);
	return err == -ETIMEDOUT || err == -EBUSY ? -ETIMEDOUT : 0;
}

void examiner__rest(struct examiner *e, enum examiner_lane lane)
{
	struct lane *l = &e->lanes[lane];

	if (pthread_mutex_trylock(&l->lock)) /* somebody asks */
		return;
	lane__close(e, l);
	pthread_mutex_unlock(&l->lock);
}

void examiner__cancel(struct examiner *e)
{
	event_fd__notify(e->cancelled);
}

void examiner__resume(struct examiner *e)
{
	event_fd__drain(e->cancelled);
}

size_t examiner__n_stuck(struct examiner *e)
{
	const struct keeper_request r = { .op = KEEPER_LIST };
	struct keeper_reply reply;
	size_t n_fds;
	int fds[2], err;

	pthread_mutex_lock(&e->lock);
	err = ask_keeper(e, &r, &reply, fds, &n_fds);
	pthread_mutex_unlock(&e->lock);
	return err ? 0 : reply.n_stuck;
}

void examiner__follow(struct examiner *e, void (*fn)(const pid_t *pids, size_t n, void *arg),
		      void *arg)
{
	pthread_mutex_lock(&e->lock);
	e->follow = fn;
	e->follow_arg = arg;
	pthread_mutex_unlock(&e->lock);
}
