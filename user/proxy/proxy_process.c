// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/helper.h"
#include "common/rights.h"
#include "proxy/proxy_process.h"

#define COMMAND_END_S 3	   /* from SIGTERM to SIGKILL */
#define ACK_MS	      1000 /* that an acknowledgement waits for its reader at the end */
#define LINE_MAX_LEN  256  /* of the control fifo */
#define WORDS_MAX     (PROXY_WORDS_MAX / 2)

struct proxy_process {
	int sock, dir, signals;
	int output, control, ack; /* -1: not yet */
	int go;	       /* one byte lets the command run; -1: it runs, or there is none */
	pid_t command; /* 0: none, or it has ended */
};

/* ---- the command ---- */

/* In the process of the command. Its environment is empty, as under perf daemon. */
static void exec_command(const struct proxy_request *r, int dir, int go)
{
	char *argv[WORDS_MAX + 1], *word = (char *)r->words, c;
	int null = open("/dev/null", O_RDONLY), out;
	uint32_t n = 0;
	sigset_t none;

	for (; n < r->n_words; n++, word += strlen(word) + 1)
		argv[n] = word;
	argv[n] = NULL;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &c, 1) != 1) /* the session never became active */
		_exit(127);
	out = openat(dir, "output", O_WRONLY | O_APPEND | O_NOFOLLOW);
	if (out < 0 || null < 0 || fchdir(dir) < 0)
		_exit(127);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close_range(3, ~0U, 0);
	environ = (char *[]){ NULL };
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "Workload failed: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int fork_session_command(struct proxy_process *p, const struct proxy_request *r)
{
	int fds[2];

	if (!r->n_words)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	p->command = fork();
	if (p->command < 0)
		return -errno;
	if (!p->command) {
		close(fds[1]);
		exec_command(r, p->dir, fds[0]);
	}
	close(fds[0]);
	p->go = fds[1];
	return 0;
}

/* End the command, even if it ignores SIGTERM. */
static void end_command(struct proxy_process *p)
{
	const struct timespec limit = { .tv_sec = COMMAND_END_S };
	sigset_t set;

	cleanup_close(&p->go); /* a command that still waits to run then ends by itself */
	p->go = -1;
	if (!p->command)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	kill(p->command, SIGTERM);
	if (waitpid(p->command, NULL, WNOHANG) == 0) {
		sigtimedwait(&set, NULL, &limit);
		if (waitpid(p->command, NULL, WNOHANG) == 0) {
			kill(p->command, SIGKILL);
			waitpid(p->command, NULL, 0);
		}
	}
	p->command = 0;
}

/*
 * An acknowledgement that nobody has read is lost when the last descriptor of its fifo is closed. A
 * script opens this fifo only after it has written "stop" to the other one. Only polling tells that
 * the acknowledgement was read.
 */
static void await_reader(const struct proxy_process *p)
{
	struct pollfd ack = { .fd = p->ack, .events = POLLIN };

	for (int i = 0; i < ACK_MS / 10 && p->ack >= 0 && poll(&ack, 1, 0) > 0; i++)
		poll(NULL, 0, 10);
}

static _Noreturn void end_process(struct proxy_process *p)
{
	end_command(p);
	await_reader(p);
	_exit(0);
}

/* Send to the daemon. If the daemon is gone, end this process, too. */
static void send_to_daemon(struct proxy_process *p, enum proxy_op op, const char *text)
{
	int err = proxy_message__send(p->sock, op, text);

	if (err && err != -EAGAIN)
		end_process(p);
}

/* ---- the session's files ---- */

static int open_fifo(struct proxy_process *p, const char *name)
{
	char why[128];
	struct stat st;
	int fd = -1, err = 0;

	if (mkfifoat(p->dir, name, 0600) < 0 && errno != EEXIST)
		err = errno;
	/* O_RDWR: no end of file when writers leave, and no waiting for a reader */
	if (!err)
		fd = openat(p->dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (!err && fd < 0)
		err = errno;
	if (!err && (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) || st.st_uid != geteuid() ||
		     (st.st_mode & 0077)))
		err = EPERM;
	if (!err)
		return fd;
	snprintf(why, sizeof(why), "cannot use fifo '%s': %s", name, strerror(err));
	send_to_daemon(p, PROXY_TROUBLE, why);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void start_session_command(struct proxy_process *p)
{
	if (p->output >= 0)
		return;
	p->output = openat(p->dir, "output",
			   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
				   O_NONBLOCK,
			   0600);
	if (p->output < 0)
		send_to_daemon(p, PROXY_TROUBLE, "no file 'output'");
	p->ack = open_fifo(p, "ack");
	p->control = open_fifo(p, "control");
	if (p->go >= 0 && write(p->go, "", 1) != 1)
		send_to_daemon(p, PROXY_TROUBLE, "the command does not start");
	cleanup_close(&p->go);
	p->go = -1;
}

static void write_output(const struct proxy_process *p, const char *text)
{
	if (p->output >= 0 && write(p->output, text, strlen(text)) < 0)
		return; /* on a full disk the daemon has already said so */
}

/* ---- the control fifo ---- */

static bool is_command(const char *line, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(line, word, len) && (!line[len] || line[len] == ' ');
}

static void obey_line(struct proxy_process *p, const char *line)
{
	static const char *const others[] = { "enable", "disable", "evlist", "ping" };
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(others) && !known; i++)
		known = is_command(line, others[i]);
	if (known)
		send_to_daemon(p, PROXY_CONTROL, line);
	else if (is_command(line, "snapshot"))
		send_to_daemon(p, PROXY_DUMP, "snapshot");
	else if (is_command(line, "stop"))
		send_to_daemon(p, PROXY_STOP, "stop");
	if (!known && (is_command(line, "snapshot") || is_command(line, "stop")))
		send_to_daemon(p, PROXY_CONTROL,
			       "ping"); /* acknowledged after the daemon has received it */
}

/*
 * A command ends at a newline, at a NUL, or at the end of one write: commands of perf daemon have
 * no newline.
 */
static void read_control_fifo(struct proxy_process *p)
{
	char line[LINE_MAX_LEN], c;
	size_t len = 0;
	bool more = true;

	while (more) {
		ssize_t n = read(p->control, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		more = n == 1;
		if (more && c != '\n' && c) {
			if (len < sizeof(line) - 1)
				line[len++] = c;
			continue;
		}
		line[len] = '\0';
		if (len)
			obey_line(p, line);
		len = 0;
	}
}

static void send_ack(const struct proxy_process *p)
{
	static const char word[] = "ack\n";

	/* with its NUL, as perf does */
	if (p->ack >= 0 && write(p->ack, word, sizeof(word)) < 0)
		return; /* the fifo is full: nobody reads it */
}

/* ---- the loop ---- */

static void on_child(struct proxy_process *p)
{
	char why[64];
	int status;

	if (!p->command || waitpid(p->command, &status, WNOHANG) != p->command)
		return;
	p->command = 0;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "its command was killed (signal %d)", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "its command exited, status=%d", WEXITSTATUS(status));
	send_to_daemon(p, PROXY_EXITED, why);
}

static void on_proxy_signal(struct proxy_process *p)
{
	struct signalfd_siginfo si;

	if (read(p->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD)
		on_child(p);
	else if (si.ssi_signo == SIGUSR2)
		send_to_daemon(p, PROXY_DUMP, "SIGUSR2");
	else
		send_to_daemon(p, PROXY_STOP, si.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
}

static void on_daemon_message(struct proxy_process *p)
{
	struct proxy_message m;
	size_t n_fds;
	ssize_t n = channel__receive(p->sock, &m, sizeof(m), NULL, 0, &n_fds, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return;
	if (n <= (ssize_t)offsetof(struct proxy_message, text))
		end_process(p); /* the daemon is gone */
	((char *)&m)[n - 1] = '\0';
	if (m.op == PROXY_GO)
		start_session_command(p);
	else if (m.op == PROXY_SAY)
		write_output(p, m.text);
	else if (m.op == PROXY_ACK)
		send_ack(p);
	else
		end_process(p);
}

static int open_proxy_signals(void)
{
	static const int taken[] = { SIGUSR2, SIGTERM, SIGINT, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		signal(taken[i], SIG_DFL); /* signals that the spawner ignored */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Run in the new process, which has no other descriptors. @sock: to the daemon; @dir: of the
 * session.
 */
static _Noreturn void proxy_process__run(const struct proxy_request *r, int sock, int dir)
{
	struct proxy_process p = {
		.sock = sock, .dir = dir, .output = -1, .control = -1, .ack = -1, .go = -1
	};
	struct proxy_message ready = { .op = PROXY_READY, .pid = getpid() };

	p.signals = open_proxy_signals();
	if (p.signals < 0 || fork_session_command(&p, r))
		_exit(1);
	ready.command_pid = p.command;
	if (channel__send(sock, &ready, offsetof(struct proxy_message, text) + 1, NULL, 0, 0))
		end_process(&p);
	for (;;) {
		struct pollfd v[] = { { sock, POLLIN },
				      { p.signals, POLLIN },
				      { p.control, POLLIN } };

		if (poll(v, ARRAY_SIZE(v), -1) < 0)
			continue;
		if (v[1].revents)
			on_proxy_signal(&p);
		if (v[2].revents)
			read_control_fifo(&p);
		if (v[0].revents)
			on_daemon_message(&p);
	}
}

static _Noreturn void become_proxy(const struct proxy_request *r, const int fds[2], int spawner)
{
	char title[PROXY_NAME_MAX + 16];

	close(spawner);
	snprintf(title, sizeof(title), "session-%s", r->name);
	helper__set_title(title);
	proxy_process__run(r, fds[0], fds[1]);
}

/* Check that each word ends within the request. */
static bool request_is_whole(const struct proxy_request *r, ssize_t n)
{
	uint32_t words = 0;

	if (n != sizeof(*r) || r->name[PROXY_NAME_MAX] || r->words_len > PROXY_WORDS_MAX ||
	    (r->words_len && r->words[r->words_len - 1]))
		return false;
	for (uint32_t i = 0; i < r->words_len; i++)
		words += !r->words[i];
	return words == r->n_words;
}

/*
 * Start a child of our parent (CLONE_PARENT). Like fork(), it is safe because we have one thread.
 */
static pid_t fork_sibling(void)
{
	return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static _Noreturn void serve_socket(int sock)
{
	static struct proxy_request r;

	for (;;) {
		int fds[2];
		size_t n_fds = 0;
		ssize_t n = channel__receive(sock, &r, sizeof(r), fds, 2, &n_fds, 0);

		if (n <= 0 && n != -EMSGSIZE)
			_exit(0);
		if (n_fds == 2 && request_is_whole(&r, n) && fork_sibling() == 0)
			become_proxy(&r, fds, sock);
		while (n_fds) /* the daemon sees the failure, because its socket is closed */
			close(fds[--n_fds]);
	}
}

static _Noreturn void become_spawner(int sock)
{
	helper__detach(sock);
	helper__ignore_signals();
	if (rights__keep(NULL, 0))
		_exit(1);
	helper__set_title("frbpf-sessions");
	serve_socket(3);
}

int spawner__fork(pid_t *ret_pid, int *ret_sock)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	pid = fork();
	if (!pid)
		become_spawner(socks[1]);
	close(socks[1]);
	if (pid < 0) {
		int err = -errno;

		close(socks[0]);
		return err;
	}
	*ret_pid = pid;
	*ret_sock = socks[0];
	return 0;
}
