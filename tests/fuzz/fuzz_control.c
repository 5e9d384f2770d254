// SPDX-License-Identifier: GPL-2.0-only
/* Data sent to the daemon's control socket. */
#include <string.h>
#include <sys/socket.h>

#include "daemon/control.h"
#include "fuzz_dir.h"

static unsigned int n_requests;

static void answer(struct control_client *c, const json_t *request, void *arg)
{
	assert(json_is_object(request));
	n_requests++;
	control_client__refuse(c, "%s", json_string_value(json_object_get(request, "cmd")) ?: "");
}

static int connect_client(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr;

	assert(fd >= 0 && !control__address(path, &addr, NULL));
	assert(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct control *control;
	char path[64], reply[8192];
	int fd;

	if (!control) {
		fuzz_dir__open();
		snprintf(path, sizeof(path), "%s/control", fuzz_dir);
		assert(!control__listen(path, answer, NULL, NULL, &control));
	}
	snprintf(path, sizeof(path), "%s/control", fuzz_dir);
	fd = connect_client(path);
	control__process(control);
	n_requests = 0;
	if (send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		size = 0;
	for (int i = 0; i < 4; i++) /* the server reads in pieces */
		control__process(control);
	assert(n_requests <= 1);
	if (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) > 0)
		assert(reply[0] == '{');
	close(fd);
	control__process(control);
	control__process(control);
	return 0;
}
