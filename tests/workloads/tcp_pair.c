// SPDX-License-Identifier: GPL-2.0-only
/*
 * One end of a TCP connection:
 *
 *	tcp_pair listen ADDR PORT [N]	say "listening", take N connections, read from the last
 *					until it ends
 *	tcp_pair send ADDR PORT [N]	connect N times, say "connected", wait for a line on
 *					standard input, send ten bytes over each, say "sent", wait
 *					for another line
 *
 *	N	default 1
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workload.h"

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void wait_for_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static int new_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket", errno);
	return fd;
}

static int listen_to(const struct sockaddr_in *addr, int n)
{
	int one = 1, peer = -1, fd = new_socket();
	char buf[64];

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) || listen(fd, n))
		die("listen", errno);
	say("listening");
	while (n--) {
		peer = accept(fd, NULL, NULL);
		if (peer < 0)
			die("accept", errno);
	}
	while (read(peer, buf, sizeof(buf)) > 0)
		;
	return 0;
}

static int send_bytes(const struct sockaddr_in *addr, int n)
{
	int *fds = calloc(n, sizeof(*fds));

	if (!fds)
		die("calloc", errno);
	for (int i = 0; i < n; i++) {
		fds[i] = new_socket();
		if (connect(fds[i], (const struct sockaddr *)addr, sizeof(*addr)))
			die("connect", errno);
	}
	say("connected");
	wait_for_line();
	for (int i = 0; i < n; i++) {
		if (write(fds[i], "0123456789", 10) != 10)
			die("write", errno);
	}
	say("sent");
	wait_for_line();
	free(fds);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int n = argc > 4 ? atoi(argv[4]) : 1;

	if (argc < 4 || n < 1 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		return 2;
	addr.sin_port = htons(atoi(argv[3]));
	return !strcmp(argv[1], "listen") ? listen_to(&addr, n) : send_bytes(&addr, n);
}
