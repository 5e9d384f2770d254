// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/landlock.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/opening.h"
#include "common/rights.h"
#include "confine/allowed_calls.h"
#include "confine/reading.h"
#include "symbols/demangle.h"
#include "symbols/file_search.h"

#define DATA_MAX   (1UL << 30)	/* bytes of memory */
#define RESULT_MAX (32UL << 20) /* bytes of JSON */
#define PART_SIZE  4096

#define ELF_MAGIC	"\177ELF"
#define RECORDING_MAGIC "PERFILE2"

#define HANGS_AFTER(seconds) ((seconds)*5U)

#define COMMAND_SECONDS 3600
#define COMMAND_DATA	(4UL << 30)

/* ---- the opener ---- */

/* Limit the rights of the opener. 0 or negative errno. */
static int enter_opener(void)
{
	return rights__keep_reader() ?: opening_calls__limit();
}

/* Check that the file begins with @magic. Takes @fd over; returns it, or negative errno. */
static int check_fd_magic(int fd, const char *magic)
{
	char begin[8];
	size_t len = strlen(magic);

	if (fd < 0)
		return fd;
	if (pread(fd, begin, len, 0) == (ssize_t)len && !memcmp(begin, magic, len))
		return fd;
	close(fd);
	return -ENOEXEC;
}

static int open_recording(const char *path)
{
	_cleanup_close_ int fd = opening__recording(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? check_fd_magic(TAKE_FD(fd), RECORDING_MAGIC) : -ENXIO;
}

/* Does @path consist of @begin, one or more names, and @end? */
static bool is_between(const char *path, const char *begin, const char *end)
{
	size_t len = strlen(path), b = strlen(begin), e = strlen(end);

	return len > b + e && !strncmp(path, begin, b) && !strcmp(path + len - e, end) &&
	       !strstr(path, "/../");
}

static bool is_kernel_file(const char *path)
{
	static const char *const names[] = { "/proc/kallsyms", "/proc/modules",
					     "/sys/kernel/notes" };
	const char *home = getenv("HOME");
	char kept[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	if (is_between(path, "/sys/module/", "/notes/.note.gnu.build-id"))
		return true;
	if (!home || home[0] != '/' ||
	    snprintf(kept, sizeof(kept), "%s/.debug/[kernel.kallsyms]/", home) >= PATH_MAX)
		return false;
	return is_between(path, kept, "/kallsyms");
}

static int open_kernel(const char *path)
{
	RAISED_RIGHTS(!strncmp(path, "/proc/", 6) ? RIGHTS_PROCESSES : 0);

	return is_kernel_file(path) ? opening__kernel(path) : -EACCES;
}

/*
 * Open a file for the process that reads: recordings, ELF files, perf-PID.map files, and a few
 * files of the kernel. That process may have been taken over. So recordings and ELF files are
 * recognised by their first bytes, not by their names, and only listed files of the kernel are
 * opened. Returns a descriptor or negative errno; -ENOEXEC: the file has other first bytes.
 */
static int open_for_reader(const struct opening_request *r)
{
	struct build_id id = { .size = r->id_size };
	const struct mapped_file m = { r->path, &id, r->pid, r->start, r->end };

	_Static_assert(sizeof(id.data) == OPENING_ID_MAX, "the same size");
	memcpy(id.data, r->id, sizeof(id.data));
	switch (r->kind) {
	case OPENING_RECORDING:
		return open_recording(r->path);
	case OPENING_KERNEL:
		return open_kernel(r->path);
	case OPENING_TEMPORARY:
		return opening__temporary();
	case OPENING_MAPPED:
		return check_fd_magic(file_search__mapped(&m, r->candidate), ELF_MAGIC);
	case OPENING_DEBUG:
		return check_fd_magic(file_search__debug(r->path, &id, r->link, r->candidate),
				      ELF_MAGIC);
	case OPENING_VDSO:
		return check_fd_magic(file_search__vdso(&id), ELF_MAGIC);
	case OPENING_PERF_MAP:
		return file_search__perf_map(r->pid);
	}
	return -EINVAL;
}

/* ---- what the process may do ---- */

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all descriptors but the standard ones, the opener's and those of @keep. */
static int close_other_fds(const int *keep, size_t n, int opener)
{
	int v[READING_FDS_MAX + 1], from = STDERR_FILENO + 1;

	if (n > READING_FDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		v[i] = keep[i];
	v[n++] = opener;
	qsort(v, n, sizeof(*v), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (v[i] > from && close_range(from, v[i] - 1, 0))
			return -errno;
		from = v[i] >= from ? v[i] + 1 : from;
	}
	return close_range(from, ~0U, 0) ? -errno : 0;
}

static int filter_reader(const int *keep, size_t n, int opener)
{
	struct call_filter f;
	int err;

	allowed_calls__begin(&f);
	call_filter__allow_if(&f, SYS_sendmsg, 0, ~0U, opener);
	call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, opener);
	for (size_t i = 0; i < n; i++)
		call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, keep[i]);
	call_filter__allow_if(&f, SYS_shutdown, 0, ~0U, opener);
	allowed_calls__add_reader(&f);
	err = call_filter__install(&f, SECCOMP_RET_TRAP);
	return err == -ENOSYS ? 0 : err;
}

/*
 * Confine this process: what it reads, also programs and libraries, is not trusted. It starts an
 * opener, which finds and opens the files: see opening.h. Afterwards the process can only read and
 * write open files, and ask the opener. It has no capability, and cannot open, create or change
 * files, execute programs or connect to anything. Refused system calls fail with ENOSYS, as on a
 * kernel that lacks them, and are logged by name, once. Only the standard descriptors and the @n in
 * @keep stay open. 0, also if the kernel has no seccomp filters; or negative errno.
 */
static int confine_reader(const int *keep, size_t n)
{
	int opener, err = allowed_calls__watch_refused();

	/* initialise these now: later, the libraries cannot open the files that this takes */
	tzset();
	json_object_seed(0);
	demangle__prepare();
	err = err ?: opening__start(enter_opener, open_for_reader, keep, n, &opener);
	err = err ?: close_other_fds(keep, n, opener);
	err = err ?: rights__keep(NULL, 0);
	if (!IS_SANITIZED)
		err = err ?: landlock__no_files();
	return err ?: filter_reader(keep, n, opener);
}

int reading__begin(unsigned int seconds, const int *keep, size_t n)
{
	int err = limit__set(RLIMIT_CORE, 0) ?: limit__set(RLIMIT_CPU, seconds);

	if (!err && !IS_SANITIZED)
		err = limit__set(RLIMIT_DATA, DATA_MAX);
	return err ?: confine_reader(keep, n);
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
	return err ?: confine_reader(NULL, 0);
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

/* Read the whole output of the process. 0, -ETIMEDOUT, -EMSGSIZE or the errno of reading. */
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
