/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The application socket: anybody may send datagrams to it. Each goes to the clients that joined
 * for its name. The socket exists while there are clients. No sender can make the daemon wait, grow
 * or answer; excess messages are dropped and counted.
 */
#ifndef FRBPF_DETECT_APP_SOCKET_H
#define FRBPF_DETECT_APP_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "rules/app_message.h"

struct app_socket;
struct listener;

/* The sender of a message, as the kernel reports it. */
struct app_sender {
	pid_t pid; /* in our pid namespace; 0: outside of it */
	uid_t uid;
	uint64_t time; /* when it was sent: ns of CLOCK_MONOTONIC */
};

/* A receiver of messages; embedded in a struct of its owner. */
struct app_client {
	const char *name;
	void (*fn)(struct app_client *c, const struct app_message *m, const struct app_sender *s);
	struct app_client *next;
};

/* @listener is borrowed. NULL: out of memory. */
struct app_socket *app_socket__new(struct listener *listener);
/*
 * Set the path of the socket, before any client joins; without it clients receive nothing. @dir_fd:
 * the open directory of @path, if others can replace that directory; else -1. It is borrowed for
 * the life of the socket.
 */
void app_socket__set_path(struct app_socket *s, const char *path, int dir_fd);
/* Also listen at @path while there are clients, unless another recorder does. */
void app_socket__set_common(struct app_socket *s, const char *path);

/*
 * Have the thread of the listener call @c->fn with each message of @c->name. The first client opens
 * the socket. 0, or negative errno with a message in @err.
 */
int app_socket__join(struct app_socket *s, struct app_client *c, struct err *err);
/*
 * Remove @c, which need not have joined. Once this returns, c->fn does not run any more.
 */
void app_socket__leave(struct app_socket *s, struct app_client *c);

struct app_stats {
	const char *path;   /* the common path if we listen there, else our own; NULL: not open */
	bool common;	    /* `path` is that of app_socket__set_common() */
	uint64_t received;  /* all messages; of these: */
	uint64_t limited;   /* dropped: their user sent too many, or is unknown */
	uint64_t malformed; /* not in the format of a message */
	uint64_t unknown;   /* no rule names them */
};
/* For any thread; but `path` is for the thread that joins and leaves. */
void app_socket__stats(const struct app_socket *s, struct app_stats *ret);

/* All clients must have left. */
void app_socket__free(struct app_socket *s);

#endif
