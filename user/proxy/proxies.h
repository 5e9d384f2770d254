/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that stand for the daemon's sessions: the daemon's side. One is shared by all that
 * record the same session, also by a successor with other rings, and ends with the last of them.
 * Life: new (before there are threads), start and go, process, free.
 */
#ifndef FRBPF_PROXY_PROXIES_H
#define FRBPF_PROXY_PROXIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "proxy/proxy_message.h"

struct proxies;

struct proxy {
	char *name, *run; /* of the session; owned */
	pid_t pid;
	pid_t command;	  /* 0: it has none */
	uint64_t started; /* ns */

	/* the rest is of proxies.c */
	struct proxies *owner;
	struct proxy *next;
	int sock; /* -1: the process has ended */
	unsigned int refs;
	bool wanted, went; /* may go once no other one of its name is left; has gone */
	bool over;	   /* its session ends: nobody else shares it */
};

int proxies__new(struct err *err, struct proxies **ret);

/*
 * The process of session @name with line @run, in the directory @dir (borrowed). @command: its
 * words, NULL at the end; NULL: it has none. The command waits for proxy__go(). A process of the
 * same name and line is shared.
 */
int proxies__start(struct proxies *p, const char *name, const char *run, char *const *command,
		   int dir, struct err *err, struct proxy **ret);

/* The session is in force: open its fifos and let its command run, once an earlier process of that
 * name has ended. */
void proxy__go(struct proxy *x);
/* Add @text to the session's output; what does not fit is lost. */
void proxy__say(struct proxy *x, const char *text);
void proxy__ack(struct proxy *x);
/* Its session ends: a new one of that name and line gets a process of its own. */
void proxy__set_over(struct proxy *x);

struct proxy *proxy__ref(struct proxy *x);
/* The last one ends the process and its command. From any thread; NULL is legal. */
void proxy__unref(struct proxy *x);

/* Readable when proxies__process() has something to do. */
int proxies__fd(const struct proxies *p);

/* What a process says: DUMP, STOP, EXITED, CONTROL or TROUBLE with its text; STOP with NULL: the process
 * was killed. @x is borrowed. */
typedef void (*proxies_fn)(struct proxy *x, enum proxy_op op, const char *text, void *arg);
void proxies__process(struct proxies *p, proxies_fn fn, void *arg);

/* Ends all processes and waits for them. NULL is legal. */
void proxies__free(struct proxies *p);

#endif
