// SPDX-License-Identifier: GPL-2.0-only
/*
 * One end of a TCP connection:
 *	tcp_pair listen ADDR PORT	takes one connection and reads until it ends; "listening" when ready
 *	tcp_pair send ADDR PORT		connects, says "connected", waits for a line on standard input,
 *					sends ten bytes, says "sent", and waits for another line
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

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

static int listen_once(int fd, const struct sockaddr_in *addr)
{
	int one = 1, peer;
	char buf[64];

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 1))
		die("listen");
	say("listening");
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		die("accept");
	while (read(peer, buf, sizeof(buf)) > 0)
		;
	return 0;
}

static int send_bytes(int fd, const struct sockaddr_in *addr)
{
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		die("connect");
	say("connected");
	wait_for_line();
	if (write(fd, "0123456789", 10) != 10)
		die("write");
	say("sent");
	wait_for_line();
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 4 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		return 2;
	addr.sin_port = htons(atoi(argv[3]));
	if (fd < 0)
		die("socket");
	return !strcmp(argv[1], "listen") ? listen_once(fd, &addr) : send_bytes(fd, &addr);
}
