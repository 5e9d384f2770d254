// SPDX-License-Identifier: GPL-2.0-only
/* The client's side of the control socket. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/printable.h"
#include "common/proc_file.h"
#include "daemon/control.h"

#define REPLY_MAX  (64 << 20)
#define SLICE_S	   1  /* s between checks whether the daemon still runs */
#define CONNECT_S  10 /* s until the daemon accepts; no step of its loop takes that long */
#define ANSWER_S   600
#define CHUNK_SIZE 65536

/* Is the process stopped, by SIGSTOP or a debugger? */
static bool is_stopped(pid_t pid)
{
	_cleanup_close_ int dir = pid > 0 ? proc_file__open_task(pid) : -1;
	struct proc_stat s;

	return dir >= 0 && !proc_file__stat(dir, &s) && (s.state == 'T' || s.state == 't');
}

/* What a client waits for, and for how long. */
struct patience {
	const char *path;
	pid_t pid; /* of the daemon; 0: unknown */
	uint64_t until;
};

/*
 * Called after a slice of time without any data. 0: wait on; or negative errno with a message in
 * @err.
 */
static int keep_waiting(const struct patience *p, struct err *err)
{
	if (is_stopped(p->pid))
		return err_set(err, -ETIMEDOUT,
			       "the daemon at %s (pid %d) is stopped: `kill -CONT %d` resumes it",
			       p->path, p->pid, p->pid);
	if (now_ns() < p->until)
		return 0;
	return err_set(err, -ETIMEDOUT, "the daemon at %s does not answer", p->path);
}

static int set_slice(int fd)
{
	struct timeval tv = { .tv_sec = SLICE_S };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0 ||
			       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0
		       ? -errno
		       : 0;
}

static int connect_to(int fd, const char *path, struct err *err)
{
	struct patience p = { .path = path, .until = now_ns() + CONNECT_S * 1000000000ULL };
	struct sockaddr_un addr;
	int code = control__address(path, &addr, err);

	while (!code && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		if (errno == EINTR)
			continue;
		/* EAGAIN: the daemon has not accepted earlier clients yet */
		code = errno == EAGAIN ? keep_waiting(&p, err)
				       : err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	return code;
}

static int send_request_bytes(int fd, const char *text, size_t len, const struct patience *p,
			      struct err *err)
{
	int code = 0;
	ssize_t n;

	for (; len && !code; text += n, len -= n) {
		n = send(fd, text, len, MSG_NOSIGNAL);
		if (n >= 0)
			continue;
		if (errno == EAGAIN)
			code = keep_waiting(p, err);
		else if (errno == EPIPE) /* the daemon may have answered before it closed */
			return 0;
		else if (errno != EINTR)
			code = -errno;
		n = 0;
	}
	return code;
}

static int receive_all(int fd, struct buf *reply, const struct patience *p, struct err *err)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_SIZE);
	int code = chunk ? 0 : -ENOMEM;
	ssize_t n;

	while (!code) {
		n = recv(fd, chunk, CHUNK_SIZE, 0);
		if (n > 0 && reply->len + n > REPLY_MAX)
			code = -EFBIG;
		else if (n > 0)
			code = buf__add(reply, chunk, n);
		else if (n == 0)
			return reply->len ? 0 : -ECONNRESET;
		else if (errno == EAGAIN)
			code = keep_waiting(p, err);
		else if (errno != EINTR)
			code = -errno;
	}
	return code == -ECONNRESET && reply->len ? 0 : code;
}

/*
 * Check that the listener runs as root or as our user. No other user may get our request, or write
 * to our terminal through a reply.
 */
static int check_peer(int fd, const char *path, pid_t *ret_pid, struct err *err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return err_set(err, -errno, "%s: cannot tell who listens there: %s", path,
			       strerror(errno));
	if (cred.uid != 0 && cred.uid != geteuid())
		return err_set(err, -EPERM,
			       "%s: the daemon there runs as uid %u, neither root nor you: run the "
			       "command as that user",
			       path, cred.uid);
	*ret_pid = cred.pid;
	return 0;
}

/* Make all texts in the reply printable, line by line: errors of rules have several lines. */
static void make_text_printable(json_t *j)
{
	char *text = strdup(json_string_value(j)), *line = text, *end;

	while (line) {
		end = line + strcspn(line, "\n\t");
		char was = *end;

		*end = '\0';
		make_printable(line);
		*end = was;
		line = was ? end + 1 : NULL;
	}
	json_string_set(j, text ?: "");
	free(text);
}

/* Send the request over the connection @fd and receive the reply. */
static int ask_on_connection(int fd, const char *path, const char *text, struct buf *reply,
			     struct err *err)
{
	struct patience p = { .path = path, .until = now_ns() + ANSWER_S * 1000000000ULL };
	int code = check_peer(fd, path, &p.pid, err);

	code = code ?: send_request_bytes(fd, text, strlen(text), &p, err);
	code = code ?: send_request_bytes(fd, "\n", 1, &p, err);
	code = code ?: receive_all(fd, reply, &p, err);
	if (code && !err->msg[0])
		err_set(err, code, "the daemon at %s closed the connection: %s", path,
			strerror(-code));
	return code;
}

int control__request(const char *path, json_t *request, struct err *err, json_t **ret)
{
	_cleanup_free_ char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct buf reply = { 0 };
	int code;

	json_decref(request);
	*err = (struct err){ 0 };
	if (!text)
		return err_set(err, -EINVAL, "cannot encode the request: is its text UTF-8?");
	code = fd < 0 ? -errno : set_slice(fd);
	if (code)
		return err_set(err, code, "%s: %s", path, strerror(-code));
	code = connect_to(fd, path, err);
	code = code ?: ask_on_connection(fd, path, text, &reply, err);
	if (!code)
		*ret = json_loadb(reply.data, reply.len, 0, NULL);
	buf__free(&reply);
	if (!code && *ret)
		json_each_string(*ret, make_text_printable);
	else if (!code)
		return err_set(err, -EPROTO, "the daemon at %s sent an invalid answer", path);
	return code;
}
