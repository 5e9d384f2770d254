/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket, BASE/control: one JSON object per line and direction, one request per
 * connection. The peer must be root or the daemon's own user (SO_PEERCRED); requests are bounded in
 * size and number. Who says nothing for 10 s is dropped, or at once where there is no place for
 * another.
 *
 * A request is {"cmd": NAME, ...}; a reply has "ok" true, or false and "error" with words for the
 * user.
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

/* Called for each request; the client must be answered once, now or later. @request is borrowed. */
typedef void (*control_fn)(struct control_client *c, const json_t *request, void *arg);

/* Listen on @path, mode 0600; what a dead daemon left there is replaced. */
int control__listen(const char *path, control_fn fn, void *arg, struct err *err,
		    struct control **ret);
/* Readable when control__process() has something to do. */
int control__fd(const struct control *c);
void control__process(struct control *c);
/* Sends what is still to be sent (a second at most), closes and unlinks. */
void control__free(struct control *c);

/* Answer; takes @reply over. Legal also when the client has hung up meanwhile. */
void control_client__reply(struct control_client *c, json_t *reply);
/* The same with {"ok": false, "error": text}. */
void control_client__refuse(struct control_client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Who asks. */
struct ucred;
bool control_client__peer(const struct control_client *c, struct ucred *ret);

/* The other side: connect to @path, send @request (taken over), wait for the reply. -ECONNREFUSED
 * or -ENOENT: nobody listens; -ETIMEDOUT: it is stopped, or does not answer; -EPERM: it is
 * neither root's nor ours. The reply is the caller's; its texts are printable, with their newlines. */
int control__request(const char *path, json_t *request, struct err *err, json_t **ret);

/* The address of @path; -ENAMETOOLONG. */
int control__address(const char *path, struct sockaddr_un *ret, struct err *err);

#endif
