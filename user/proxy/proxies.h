/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that stand for sessions, as seen by the daemon. One process is shared by all users
 * of a session of the same name and line, also across a reload. It ends with the last of them.
 * Life: new (before there are threads), start and go, process, free.
 */
#ifndef FRBPF_PROXY_PROXIES_H
#define FRBPF_PROXY_PROXIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "proxy/proxy_process.h"

struct proxies;

struct proxy {
	char *name, *run; /* name of the session; owned */
	pid_t pid;
	pid_t command;	  /* 0: it has none */
	uint64_t started; /* ns */

	/* private to proxies.c */
	struct proxies *owner;
	struct proxy *next;
	int sock; /* -1: the process has ended */
	unsigned int refs;
	bool go_requested; /* the session is active: send PROXY_GO when its name is free */
	bool go_sent;	   /* PROXY_GO was sent: no earlier process of that name was left */
	bool over;	   /* its session ends: it is not shared with a new one */
};

int proxies__new(struct err *err, struct proxies **ret);

/*
 * Get the process of session @name with line @run, in directory @dir (borrowed). A process of the
 * same name and line is shared. @command: words of its command, then NULL; or NULL: it has none.
 * The command waits for proxy__go().
 */
int proxies__start(struct proxies *p, const char *name, const char *run, char *const *command,
		   int dir, struct err *err, struct proxy **ret);

/*
 * The session is active: open its fifos and run its command, after an earlier process of that name
 * has ended.
 */
void proxy__go(struct proxy *x);
/* Add @text to the output of the session. Text that does not fit into the socket is lost. */
void proxy__print(struct proxy *x, const char *text);
void proxy__ack(struct proxy *x);
/* Note that the session ends: a new one of the same name and line gets a new process. */
void proxy__set_over(struct proxy *x);

struct proxy *proxy__ref(struct proxy *x);
/* Drop a reference; the last ends the process and its command. From any thread; NULL is legal. */
void proxy__unref(struct proxy *x);

/* Readable when proxies__process() has something to do. */
int proxies__fd(const struct proxies *p);

/*
 * Handle what processes said: DUMP, STOP, EXITED, CONTROL or TROUBLE, with its text. STOP with
 * NULL: the process was killed. @x is borrowed.
 */
typedef void (*proxies_fn)(struct proxy *x, enum proxy_op op, const char *text, void *arg);
void proxies__process(struct proxies *p, proxies_fn fn, void *arg);

/* End all processes and wait for them. NULL is legal. */
void proxies__free(struct proxies *p);

#endif
