/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket, BASE/control. Each connection carries one request and one reply, each a JSON
 * object on a line. The peer must be root or the daemon's user (SO_PEERCRED). Size and number of
 * requests are limited. A client that is silent for 10 s is dropped, or earlier if another client
 * needs its slot.
 *
 * A request is {"cmd": NAME, ...}. A reply has "ok": true, or "ok": false and "error", a message
 * for the user.
 */
#ifndef FRBPF_DAEMON_CONTROL_H
#define FRBPF_DAEMON_CONTROL_H

#include <jansson.h>
#include <sys/un.h>
#include <stdbool.h>

#include "common/err.h"

#define CONTROL_CLIENTS_MAX 32 /* at a time */

struct control;
struct control_client;

/*
 * Called for each request. The client must be answered exactly once, now or later. @request is
 * borrowed.
 */
typedef void (*control_fn)(struct control_client *c, const json_t *request, void *arg);

/*
 * Listen on @path, mode 0600. Replaces the socket of a daemon that died. 0 or negative errno with a
 * message in @err.
 */
int control__listen(const char *path, control_fn fn, void *arg, struct err *err,
		    struct control **ret);
/* Readable when control__process() has something to do. */
int control__fd(const struct control *c);
void control__process(struct control *c);
/* Sends pending replies for at most 5 s, then closes and unlinks the socket. */
void control__free(struct control *c);

/*
 * Send @reply, which is taken over, and end the connection. Legal also if the client has hung up.
 */
void control_client__reply(struct control_client *c, json_t *reply);
/* The same with {"ok": false, "error": text}. */
void control_client__refuse(struct control_client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Get the client's process and user. False: unknown. */
struct ucred;
bool control_client__peer(const struct control_client *c, struct ucred *ret);

/*
 * The client's side: connect to @path, send @request (taken over) and wait for the reply, which the
 * caller owns. Its texts are made printable, but keep newlines and tabs. -ECONNREFUSED or -ENOENT:
 * nobody listens; -ETIMEDOUT: the daemon is stopped or does not answer; -EPERM: it runs neither as
 * root nor as our user.
 */
int control__request(const char *path, json_t *request, struct err *err, json_t **ret);

/* Make the socket address of @path. 0, or -ENAMETOOLONG with a message in @err. */
int control__address(const char *path, struct sockaddr_un *ret, struct err *err);

#endif
