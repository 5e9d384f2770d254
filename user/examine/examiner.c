// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
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
#include "examine/hung.h"
#include "examine/keeper.h"

#define TITLE	 "frbpf-keeper"
#define REACH_NS 5000000000ULL /* time to open a file, on a busy machine too */
#define TASK_NS	 2000000000ULL /* time to read memory of a task */
#define MSEC	 1000000ULL

struct lane {
	pthread_mutex_t lock; /* guards the fields below */
	bool open;
	int requests, answers;
	pid_t pair[2];
	uint32_t number; /* number of the last request */
};

struct examiner {
	bool owned;    /* the keeper ends with us */
	int cancelled; /* eventfd, readable once questions are cancelled */
	struct lane lanes[EXAMINER_LANES];

	pthread_mutex_t lock; /* guards the fields below; taken after the lock of a lane */
	int keeper_sock;
	void (*follow)(const pid_t *pids, size_t n, void *arg);
	void *follow_arg;
	struct hung hung;
};

/* ---- the keeper ---- */

/* Ask the keeper, which never hangs. Under e->lock. */
static int ask_keeper(struct examiner *e, const struct keeper_request *r, struct keeper_reply *ret,
		      int fds[2], size_t *ret_n_fds)
{
	ssize_t n = channel__send(e->keeper_sock, r, sizeof(*r), NULL, 0, 0);

	if (!n)
		n = channel__receive(e->keeper_sock, ret, sizeof(*ret), fds, 2, ret_n_fds, 0);
	if (n != sizeof(*ret) || ret->n_pids > KEEPER_PROCESSES_MAX)
		return n < 0 ? (int)n : -EPIPE;
	hung__update(&e->hung, ret->pids, ret->n_pids);
	if (e->follow)
		e->follow(ret->pids, ret->n_pids, e->follow_arg);
	return 0;
}

/* ---- lanes ---- */

/* Close a lane. True: a process of it is stuck, waiting for a file system. */
static bool lane__close(struct examiner *e, struct lane *l)
{
	struct keeper_request r = { .op = KEEPER_END };
	struct keeper_reply reply = { 0 };
	bool waits = false;
	size_t n_fds;
	int fds[2];

	if (!l->open)
		return false;
	memcpy(r.pair, l->pair, sizeof(r.pair));
	close(l->requests);
	close(l->answers);
	l->open = false;
	pthread_mutex_lock(&e->lock);
	if (ask_keeper(e, &r, &reply, fds, &n_fds))
		reply.n_pids = 0;
	pthread_mutex_unlock(&e->lock);
	for (size_t i = 0; i < reply.n_pids; i++)
		waits |= reply.pids[i] == r.pair[0] || reply.pids[i] == r.pair[1];
	return waits;
}

static int lane__open(struct examiner *e, struct lane *l)
{
	const struct keeper_request r = {
		.op = KEEPER_START,
		.of_probes = l == &e->lanes[EXAMINER_PROBES],
	};
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

/* The time until @deadline for poll(), ms: rounded up, at most a day. */
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

/* One question and where its answer goes. */
struct lane_call {
	struct examine_request *request;
	int file; /* sent with the request; -1: none */
	uint64_t deadline;
	struct examine_head *head;     /* of the answer */
	struct examine_answer *answer; /* receives the answer, or each part of it */
	struct buf *body;	       /* joins the parts; NULL: the answer has one */
};

static int lane__send(struct examiner *e, struct lane *l, const struct lane_call *c)
{
	int err;

	c->request->number = ++l->number;
	err = lane__open(e, l);
	if (err)
		return err;
	return channel__send(l->requests, c->request, sizeof(*c->request), &c->file, c->file >= 0,
			     MSG_DONTWAIT)
		       ? -EIO
		       : 0;
}

static int lane__receive(const struct examiner *e, const struct lane *l, const struct lane_call *c)
{
	int err = lane__await(e, l, c->deadline);
	size_t n_fds;
	ssize_t n;

	if (err)
		return err;
	n = channel__receive(l->answers, c->answer->msg, sizeof(c->answer->msg), NULL, 0, &n_fds,
			     MSG_DONTWAIT);
	if (n <= 0)
		return -EIO;
	c->answer->len = n;
	return 0;
}

static int lane__ask(struct examiner *e, struct lane *l, const struct lane_call *c)
{
	struct examine_answer *a = c->answer;
	int err = lane__send(e, l, c) ?: lane__receive(e, l, c);

	if (!err && !c->body)
		return examine_answer__check(a->msg, a->len, c->request, c->head) ? -EIO : 0;
	while (!err) {
		const size_t head = sizeof(*c->head);

		err = examine_part__check(a->msg, a->len, c->request, c->head);
		if (!err && c->body->len + a->len > EXAMINE_BODY_MAX)
			err = -EBADMSG;
		err = err ?: buf__add(c->body, a->msg + head, a->len - head);
		if (err || !c->head->more)
			break;
		err = lane__receive(e, l, c);
	}
	return err;
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
	/* ends the keeper and its children, even if another process has a copy of our end */
	if (e->owned)
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

static bool is_refused(struct examiner *e, const struct examine_request *r)
{
	bool is;

	pthread_mutex_lock(&e->lock);
	if (hung__any(&e->hung)) {
		const struct keeper_request list = { .op = KEEPER_LIST };
		struct keeper_reply reply;
		size_t n_fds;
		int fds[2];

		ask_keeper(e, &list, &reply, fds, &n_fds); /* which processes have ended? */
	}
	is = hung__refuses(&e->hung, r);
	pthread_mutex_unlock(&e->lock);
	return is;
}

/* Close a lane whose question failed with @err, after @waited ns. */
static void end_lane(struct examiner *e, struct lane *l, const struct examine_request *r, int err,
		     uint64_t waited)
{
	bool waits = lane__close(e, l);

	if (!waits && err != -ETIMEDOUT)
		return;
	pthread_mutex_lock(&e->lock);
	hung__note(&e->hung, r, l->pair, waited, waits);
	pthread_mutex_unlock(&e->lock);
}

static int ask_lane(struct examiner *e, enum examiner_lane lane, const struct lane_call *c)
{
	const struct timespec ts = { c->deadline / 1000000000, c->deadline % 1000000000 };
	struct lane *l = &e->lanes[lane];
	uint64_t begin = now_ns();
	int err;

	if (is_refused(e, c->request))
		return -EBUSY;
	if (pthread_mutex_clocklock(&l->lock, CLOCK_MONOTONIC, &ts))
		return -ETIMEDOUT;
	err = lane__ask(e, l, c);
	if (err)
		end_lane(e, l, c->request, err, now_ns() - begin);
	pthread_mutex_unlock(&l->lock);
	return err;
}

int examiner__ask(struct examiner *e, enum examiner_lane lane, struct examine_request *request,
		  uint64_t deadline, struct examine_answer *ret)
{
	const struct lane_call c = {
		.request = request,
		.file = -1,
		.deadline = deadline,
		.head = &ret->head,
		.answer = ret,
	};

	return ask_lane(e, lane, &c);
}

int examiner__ask_file(struct examiner *e, struct examine_request *request, int file,
		       uint64_t deadline, struct examine_head *ret, struct buf *body)
{
	_cleanup_free_ struct examine_answer *part = malloc(sizeof(*part));
	const struct lane_call c = {
		.request = request,
		.file = file,
		.deadline = deadline,
		.head = ret,
		.answer = part,
		.body = body,
	};

	body->len = 0;
	return part ? ask_lane(e, EXAMINER_PROBES, &c) : -ENOMEM;
}

static ssize_t take_bytes(const struct examine_head *head, const struct buf *body, void *to,
			  size_t size)
{
	size_t n = body->len < size ? body->len : size;

	if (head->error)
		return head->error;
	memcpy(to, body->data, n);
	return n;
}

ssize_t examiner__read_task(struct examiner *e, pid_t tid, enum examine_task_file file, uint64_t at,
			    void *to, size_t size)
{
	struct task_question {
		struct examine_request request;
		struct examine_answer answer;
		struct examine_head head;
		struct buf body;
	} *q = calloc(1, sizeof(*q));
	ssize_t n;

	if (!q)
		return -ENOMEM;
	q->request.kind = EXAMINE_TASK;
	q->request.task_file = file;
	q->request.pid = tid;
	q->request.start = at;
	q->request.end = at + size;
	/* a path for each task: if one hangs, others are still asked about */
	snprintf(q->request.path, sizeof(q->request.path), "/proc/%d", (int)tid);
	n = ask_lane(e, EXAMINER_TASKS,
		     &(struct lane_call){
			     .request = &q->request,
			     .file = -1,
			     .deadline = now_ns() + TASK_NS,
			     .head = &q->head,
			     .answer = &q->answer,
			     .body = &q->body,
		     });
	n = n ?: take_bytes(&q->head, &q->body, to, size);
	buf__free(&q->body);
	free(q);
	return n;
}

int examiner__reach(struct examiner *e, const char *path)
{
	struct examine_request r = { .kind = EXAMINE_REACH };
	struct examine_answer *answer;
	int err;

	if (strlen(path) >= sizeof(r.path))
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

	if (pthread_mutex_trylock(&l->lock)) /* a question is under way */
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
