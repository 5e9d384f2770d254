/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The application socket: anybody may send datagrams to it, which are handed to those who joined
 * for their name. It is there while somebody has. Nothing that a sender does can make the daemon
 * wait, grow or answer; what is too much is dropped and counted.
 */
#ifndef FRBPF_DETECT_APP_SOCKET_H
#define FRBPF_DETECT_APP_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "rules/app_message.h"

struct app_socket;
struct listener;

/* Who sent a message, as the kernel says. */
struct app_sender {
	pid_t pid; /* in our pid namespace; 0: it is outside of it */
	uid_t uid;
	uint64_t time; /* ns, of CLOCK_MONOTONIC: when it was sent */
};

/* Somebody who wants messages; embedded by its owner. */
struct app_client {
	const char *name;
	void (*fn)(struct app_client *c, const struct app_message *m, const struct app_sender *s);
	struct app_client *next;
};

/* @listener is borrowed. NULL: out of memory. */
struct app_socket *app_socket__new(struct listener *listener);
/* Where it is to be, before anybody joins. @dir_fd, borrowed for its life: the directory of @path, where others
 * could put another in its place; -1: nobody can. Without a path those who join get nothing. */
void app_socket__set_path(struct app_socket *s, const char *path, int dir_fd);
/* Listen at @path as well, while somebody has joined, unless another recorder does. */
void app_socket__set_common(struct app_socket *s, const char *path);

/* Have @c->fn called, in the listener's thread, with each message of its name. Opens the socket if
 * it is the first. Negative errno with words in @err. */
int app_socket__join(struct app_socket *s, struct app_client *c, struct err *err);
/* Once it returns, c->fn is not at work and is not called any more. One that has not joined is
 * legal. */
void app_socket__leave(struct app_socket *s, struct app_client *c);

struct app_stats {
	const char *path;   /* that all may know, if it is ours; NULL: it is not open */
	bool common;	    /* it is that of app_socket__set_common() */
	uint64_t received;  /* all messages; of these: */
	uint64_t limited;   /* their user sent too many */
	uint64_t malformed; /* no message */
	uint64_t unknown;   /* no rule names them */
};
/* For any thread; the path only for the one that joins and leaves. */
void app_socket__stats(const struct app_socket *s, struct app_stats *ret);

/* Everybody must have left. */
void app_socket__free(struct app_socket *s);

#endif
