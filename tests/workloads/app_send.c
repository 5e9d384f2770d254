// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends its standard input as one datagram to a socket, and never blocks:
 *	app_send PATH [--times N] [--fds N] [--comm NAME] [--thread] [--until FILE]
 * --fds: passes that many descriptors. --thread: sends from a second thread and appends its "tid=".
 * --until: stays until FILE exists. Prints how many datagrams were sent and refused, the longest
 * call, when the first call began and when the last one ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "workload.h"

#define FDS_MAX 253

static char data[1 << 16];
static size_t len;
static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static long times = 1, n_fds, sent, refused;
static uint64_t longest, first, end;
static int other_error;
static const char *until;

static void put_fds(struct msghdr *msg, void *room, size_t size)
{
	struct cmsghdr *c;
	int fds[FDS_MAX];

	for (long i = 0; i < n_fds; i++)
		fds[i] = STDERR_FILENO;
	msg->msg_control = room;
	msg->msg_controllen = size;
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	msg->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
}

static void *send_all(void *arg)
{
	static char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct iovec iov = { data, len };
	struct msghdr msg = { &addr, sizeof(addr), &iov, 1, NULL, 0, 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (arg)
		iov.iov_len += sprintf(data + len, " tid=%d", (int)gettid());
	if (n_fds)
		put_fds(&msg, control, sizeof(control));
	first = now_ns();
	for (long i = 0; i < times; i++) {
		uint64_t begin = now_ns();

		if (sendmsg(fd, &msg, MSG_DONTWAIT) >= 0)
			sent++;
		else if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS)
			refused++;
		else
			other_error = errno;
		end = now_ns();
		longest = end - begin > longest ? end - begin : longest;
	}
	printf("{\"pid\": %d, \"tid\": %d, \"sent\": %ld, \"refused\": %ld, \"errno\": %d, "
	       "\"longest_ns\": %llu, \"begin_ns\": %llu, \"end_ns\": %llu}\n",
	       (int)getpid(), (int)gettid(), sent, refused, other_error,
	       (unsigned long long)longest, (unsigned long long)first, (unsigned long long)end);
	fflush(stdout);
	for (int i = 0; until && i < 3000 && access(until, F_OK); i++)
		usleep(10000);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int in_thread = 0;
	ssize_t n;

	if (argc < 2 || strlen(argv[1]) >= sizeof(addr.sun_path))
		return 2;
	strcpy(addr.sun_path, argv[1]);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--thread"))
			in_thread = 1;
		else if (i + 1 == argc)
			return 2;
		else if (!strcmp(argv[i], "--times"))
			times = atol(argv[++i]);
		else if (!strcmp(argv[i], "--fds"))
			n_fds = atol(argv[++i]) % (FDS_MAX + 1);
		else if (!strcmp(argv[i], "--until"))
			until = argv[++i];
		else if (!strcmp(argv[i], "--comm"))
			prctl(PR_SET_NAME, argv[++i]);
		else
			return 2;
	}
	while (len < sizeof(data) - 32 && (n = read(0, data + len, sizeof(data) - 32 - len)) > 0)
		len += n;
	if (!in_thread)
		send_all(NULL);
	else if (pthread_create(&thread, NULL, send_all, data) || pthread_join(thread, NULL))
		return 1;
	return other_error != 0;
}
