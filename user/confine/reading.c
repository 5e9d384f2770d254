// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "confine/confine_reader.h"
#include "confine/reading.h"

#define DATA_MAX   (1UL << 30)	/* bytes of memory */
#define RESULT_MAX (32UL << 20) /* bytes of JSON */
#define PART_SIZE  4096

#define HANGS_AFTER(seconds) ((seconds)*5U)

#define COMMAND_SECONDS 3600
#define COMMAND_DATA	(4UL << 30)

int reading__begin(unsigned int seconds, const int *keep, size_t n)
{
	int err = limit__set(RLIMIT_CORE, 0) ?: limit__set(RLIMIT_CPU, seconds);

	if (!err && !IS_SANITIZED)
		err = limit__set(RLIMIT_DATA, DATA_MAX);
	return err ?: confine__reader(keep, n);
}

/* ---- in a command that reads recordings itself ---- */

/* A signal handler. */
static void on_cpu_limit(int sig)
{
	static const char why[] = "frbpf: error: reading the recordings takes more CPU time than "
				  "the limit (an hour, or that of this process if it is lower)\n";

	if (write(STDERR_FILENO, why, sizeof(why) - 1) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

/* Mention the limit of memory, if the command failed near it. */
static void print_memory_limit(int status, void *arg)
{
	struct rlimit limit;
	struct rusage used;

	if (!status || getrlimit(RLIMIT_DATA, &limit) || getrusage(RUSAGE_SELF, &used) ||
	    (uint64_t)used.ru_maxrss * 1024 < limit.rlim_cur / 2)
		return;
	log_error("reading the recordings took %ldM of memory; the limit is %lluM",
		  used.ru_maxrss / 1024, (unsigned long long)limit.rlim_cur >> 20);
}

int reading__begin_command(void)
{
	int err = limit__set(RLIMIT_CORE, 0) ?: limit__set(RLIMIT_CPU, COMMAND_SECONDS);

	if (!err && !IS_SANITIZED)
		err = limit__set(RLIMIT_DATA, COMMAND_DATA);
	if (!err && (signal(SIGXCPU, on_cpu_limit) == SIG_ERR || on_exit(print_memory_limit, NULL)))
		err = -EINVAL;
	return err ?: confine__reader(NULL, 0);
}

/* ---- in the process ---- */

static int dump_to_fd(const char *text, size_t len, void *fd)
{
	return write_all(*(const int *)fd, text, len);
}

_Noreturn static void run_reading(reading_fn fn, void *arg, unsigned int seconds, int fd, int out,
				  pid_t parent)
{
	const int keep[] = { fd, out };
	json_t *result;
	int failed;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    reading__begin(seconds, keep, out >= 0 ? 2 : 1))
		_exit(1);
	result = fn(arg);
	failed = result && json_dump_callback(result, dump_to_fd, &fd, JSON_COMPACT);
	fflush(NULL);
	_exit(failed);
}

/* ---- in the parent ---- */

/* Read its whole output. 0, -ETIMEDOUT, -EMSGSIZE or the errno of reading. */
static int read_result(int fd, uint64_t deadline, struct buf *text)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (text->len <= RESULT_MAX) {
		char part[PART_SIZE];
		uint64_t now = now_ns();
		int ready = now < deadline ? poll(&p, 1, (deadline - now) / 1000000 + 1) : 0;
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ready ? -errno : -ETIMEDOUT;
		n = read(fd, part, sizeof(part));
		if (n <= 0)
			return n ? -errno : 0;
		if (buf__add(text, part, n))
			return -ENOMEM;
	}
	return -EMSGSIZE;
}

/* Describe how the process ended, from its exit status. */
static int describe_end(int status, unsigned int seconds, struct err *err)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return err_set(err, -EIO, "reading the recording took more than %u s of CPU time",
			       seconds);
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "the process that read the recording died: %s",
			       strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return err_set(err, -EIO,
			       "the process that read the recording failed with status %d",
			       WEXITSTATUS(status));
	return 0;
}

/* Take the result, or kill the process. If it waits for a file system, it ends later. */
static int finish_reading(pid_t pid, int fd, unsigned int seconds, struct err *err,
			  struct buf *text)
{
	int status = 0,
	    code = read_result(fd, now_ns() + HANGS_AFTER(seconds) * 1000000000ULL, text);

	if (code)
		kill(pid, SIGKILL);
	if (code == -ETIMEDOUT)
		return err_set(
			err, code,
			"reading the recording took longer than %u s: is its file system hung?",
			HANGS_AFTER(seconds));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (code)
		return err_set(err, code,
			       "cannot get the result from the process that read the recording: %s",
			       strerror(-code));
	return describe_end(status, seconds, err);
}

static int parse_result(const struct buf *text, struct err *err, json_t **ret)
{
	json_t *j;

	if (!text->len)
		return -ENODATA;
	j = json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL);
	if (!j)
		return err_set(err, -EIO,
			       "the process that read the recording sent a malformed result");
	*ret = j;
	return 0;
}

int reading__run(reading_fn fn, void *arg, unsigned int seconds, int out, struct err *err,
		 json_t **ret)
{
	struct buf text = { 0 };
	pid_t parent = getpid(), pid;
	int fds[2], code;

	if (pipe2(fds, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(fds[0]);
		run_reading(fn, arg, seconds, fds[1], out, parent);
	}
	code = pid < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(fds[1]);
	code = code ?: finish_reading(pid, fds[0], seconds, err, &text);
	close(fds[0]);
	code = code ?: parse_result(&text, err, ret);
	buf__free(&text);
	return code;
}
