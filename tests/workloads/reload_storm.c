// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has a daemon load rules files, one after the other, N times: as `frbpf load` does, without
 * starting a process each time.
 *
 *	reload_storm SOCKET N FILE...
 *
 * Prints {"reloads":N,"ns":T}. If the daemon refuses a load, prints its message and exits with 1.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "workload.h"

static int connect_to_daemon(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket", errno);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		die(path, errno);
	return fd;
}

static void reload(const char *socket_path, const char *file)
{
	int fd = connect_to_daemon(socket_path);
	char reply[4096] = "";
	size_t len = 0;
	ssize_t n;

	dprintf(fd, "{\"cmd\": \"load\", \"path\": \"%s\"}\n", file);
	while (len < sizeof(reply) - 1 && (n = read(fd, reply + len, sizeof(reply) - 1 - len)) > 0)
		len += n;
	close(fd);
	if (strstr(reply, "\"ok\": true") || strstr(reply, "\"ok\":true"))
		return;
	fprintf(stderr, "reload_storm: %s: %s\n", file, reply);
	exit(1);
}

int main(int argc, char **argv)
{
	uint64_t begin = now_ns();
	int n;

	if (argc < 4) {
		fprintf(stderr, "usage: reload_storm SOCKET N FILE...\n");
		return 2;
	}
	n = atoi(argv[2]);
	for (int i = 0; i < n; i++)
		reload(argv[1], argv[3 + i % (argc - 3)]);
	printf("{\"reloads\":%d,\"ns\":%llu}\n", n, (unsigned long long)(now_ns() - begin));
	return 0;
}
