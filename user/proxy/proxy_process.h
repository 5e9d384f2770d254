/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that stands for a session, as `perf record` does under `perf daemon`. It has a pid to
 * signal, serves the control and ack fifos of the session, writes its output, and is the parent of
 * its command. It reports to the daemon, which records and decides.
 *
 * Another process, the spawner, starts these processes. The daemon forks the spawner before it has
 * threads, real-time priorities or much memory, and before it gives up the right to start programs.
 * The processes are children of the daemon itself, as under `perf daemon`. None has capabilities.
 */
#ifndef FRBPF_PROXY_PROXY_PROCESS_H
#define FRBPF_PROXY_PROXY_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "common/channel.h"

/*
 * Fork the process that starts the others. @ret_sock takes struct proxy_request, each with two
 * descriptors. Closing it ends the process. Negative errno.
 */
int spawner__fork(pid_t *ret_pid, int *ret_sock);

/* ---- messages between the daemon and the process of a session ---- */

#define PROXY_TEXT_MAX	4096
#define PROXY_NAME_MAX	64
#define PROXY_WORDS_MAX 16384 /* bytes of a command with its arguments, each with its NUL */

enum proxy_op {
	/* to the process */
	PROXY_GO = 1, /* the session records: open the fifos, let the command run */
	PROXY_SAY,    /* text for the session's output */
	PROXY_ACK,    /* the command of the control fifo is done */
	PROXY_END,    /* end the command, then the process */
	/* from it */
	PROXY_READY,   /* the first message: pid, and that of the command or 0 */
	PROXY_DUMP,    /* a dump is wanted; text: by what */
	PROXY_STOP,    /* end the session; text: why */
	PROXY_EXITED,  /* the same: its command has ended */
	PROXY_CONTROL, /* text: enable, disable or evlist with arguments, or ping */
	PROXY_TROUBLE, /* text: what does not work */
};

struct proxy_message {
	uint32_t op;
	int32_t pid, command_pid;
	char text[PROXY_TEXT_MAX];
};

/*
 * A request to the spawner. It comes with two descriptors: socket of the process, directory of the
 * session.
 */
struct proxy_request {
	char name[PROXY_NAME_MAX + 1];
	uint32_t n_words, words_len; /* 0 words: the session has no command */
	char words[PROXY_WORDS_MAX];
};

/* 0 or negative errno; does not block. Longer texts are cut. */
static inline int proxy_message__send(int sock, enum proxy_op op, const char *text)
{
	struct proxy_message m = { .op = op };
	size_t len = strlen(text);

	len = len < sizeof(m.text) ? len : sizeof(m.text) - 1;
	memcpy(m.text, text, len);
	return channel__send(sock, &m, offsetof(struct proxy_message, text) + len + 1, NULL, 0,
			     MSG_DONTWAIT);
}

#endif
