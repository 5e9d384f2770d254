// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "common/cleanup.h"
#include "common/log.h"

#define EXIT_TIMEOUT_MS 30000 /* closing tracepoint events takes the kernel some 10 ms each */

/* The daemon has answered that it is done; wait until its process is gone. */
static int wait_for_exit(pid_t pid)
{
	_cleanup_close_ int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return 0; /* gone already */
	if (poll(&pfd, 1, EXIT_TIMEOUT_MS) == 1)
		return 0;
	log_error("the daemon (pid %d) has stopped recording but does not exit", pid);
	return EXIT_FAILED;
}

static int stop(const char *base)
{
	json_t *reply = cmd_ask(base, json_pack("{s:s}", "cmd", "stop"));
	pid_t pid;

	if (!reply)
		return EXIT_FAILED;
	pid = json_integer_value(json_object_get(reply, "pid"));
	json_decref(reply);
	return wait_for_exit(pid);
}

static int run_stop(int argc, char **argv)
{
	static const struct option long_opts[] = { CMD_COMMON_OPTIONS, { 0 } };
	struct location_hint hint = { 0 };
	char base[PATH_MAX];
	int opt;

	if (cmd_next_option(&cmd_stop, argc, argv, ":h", long_opts, &hint, &opt) == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_stop, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	return stop(base);
}

const struct command cmd_stop = {
	.name = "stop",
	.run = run_stop,
	.usage = "",
	.summary = "write what is under way, then end the daemon",
	.help = "",
};
