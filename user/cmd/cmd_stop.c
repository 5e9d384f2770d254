// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/control.h"

#define EXIT_TIMEOUT_MS 30000 /* the kernel needs about 10 ms to close a tracepoint event */

/* The daemon has answered that it is done: wait until its process has ended. */
static int wait_for_exit(const char *base, pid_t pid, bool quiet)
{
	_cleanup_close_ int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (fd >= 0 && poll(&pfd, 1, EXIT_TIMEOUT_MS) != 1) { /* otherwise it has ended already */
		log_error("the daemon (pid %d) has stopped recording but does not exit", pid);
		return EXIT_FAILED;
	}
	if (!quiet)
		log_info("the daemon at %s (pid %d) has ended", base, pid);
	return EXIT_DONE;
}

/*
 * The daemon cannot be asked, perhaps because somebody else has stopped it: wait until it has
 * ended.
 */
static int wait_for_end(const char *base, bool quiet)
{
	pid_t pid = location__owner(base);

	if (pid)
		return wait_for_exit(base, pid, quiet);
	log_info("no daemon runs at %s", base);
	return EXIT_DONE;
}

static int stop_daemon(const char *base, bool quiet)
{
	char path[PATH_MAX + 16];
	json_t *reply = NULL;
	struct err err;
	pid_t pid;
	int code;

	snprintf(path, sizeof(path), "%s/control", base);
	code = control__request(path, json_pack("{s:s}", "cmd", "stop"), &err, &reply);
	if (code == -ENOENT || code == -ECONNREFUSED || code == -ENOTDIR || code == -ECONNRESET)
		return wait_for_end(base, quiet);
	reply = cmd_take_reply(base, code, &err, reply);
	if (!reply)
		return EXIT_FAILED;
	pid = json_integer_value(json_object_get(reply, "pid"));
	json_decref(reply);
	return wait_for_exit(base, pid, quiet);
}

static int stop_command(int argc, char **argv, bool quiet)
{
	static const struct option long_opts[] = { CMD_PERF_OPTIONS, CMD_COMMON_OPTIONS, { 0 } };
	struct location_hint hint = { 0 };
	char base[PATH_MAX];
	enum cmd_parse p;
	int opt;

	do
		p = cmd_next_option(&cmd_stop, argc, argv, ":h" CMD_PERF_SHORT, long_opts, &hint,
				    &opt);
	while (p == CMD_OPTION);
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_stop, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	return stop_daemon(base, quiet);
}

static int run_stop(int argc, char **argv)
{
	return stop_command(argc, argv, false);
}

int cmd_stop_as_perf(int argc, char **argv)
{
	return stop_command(argc, argv, true);
}

const struct command cmd_stop = {
	.name = "stop",
	.run = run_stop,
	.usage = "",
	.summary = "write what is under way, then end the daemon",
	.help = "Returns when the daemon has ended. If none runs, it says so and succeeds.\n",
};
