// SPDX-License-Identifier: GPL-2.0-only
/* Causes between threads and processes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

/* ---- locks, by what their owner does meanwhile ---- */

static void *owner_sleeps(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	pthread_mutex_lock(&s->lock);
	pthread_barrier_wait(&s->ready);
	take_time(s->ns);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void *owner_computes(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	pthread_mutex_lock(&s->lock);
	pthread_barrier_wait(&s->ready);
	compute(s->ns);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void wait_for_lock_of(struct stage *s, void *(*owner)(void *))
{
	pthread_t t = start(owner, s);

	pthread_barrier_wait(&s->ready);
	begin(s);
	pthread_mutex_lock(&s->lock);
	end(s);
	pthread_mutex_unlock(&s->lock);
	pthread_join(t, NULL);
}

static void lock_sleep(struct stage *s)
{
	wait_for_lock_of(s, owner_sleeps);
}

static void lock_compute(struct stage *s)
{
	wait_for_lock_of(s, owner_computes);
}

/* The owner of the first lock waits for a second one, whose owner sleeps. */
static void *owner_waits(void *arg)
{
	struct stage *s = arg;

	pthread_mutex_lock(&s->second);
	atomic_store(&s->phase, 1);
	pthread_mutex_lock(&s->lock);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->second);
	return NULL;
}

static void convoy(struct stage *s)
{
	pthread_t a = start(owner_sleeps, s), b;

	pthread_barrier_wait(&s->ready);
	b = start(owner_waits, s);
	wait_phase(s, 1);
	begin(s);
	pthread_mutex_lock(&s->second);
	end(s);
	pthread_mutex_unlock(&s->second);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/* ---- CPUs ---- */

static void *hog(void *arg)
{
	struct stage *s = arg;

	pin(s->cpu);
	real_time(10);
	s->culprit = my_tid();
	wait_phase(s, 1);
	compute(s->ns);
	return NULL;
}

static void *preempted_owner(void *arg)
{
	struct stage *s = arg;

	pin(s->cpu);
	while (!s->culprit) /* the hog has not started yet */
		usleep(500);
	usleep(1000);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->phase, 1); /* the hog starts within half a millisecond */
	compute(3000000);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void inversion(struct stage *s)
{
	pthread_t h = start(hog, s), o = start(preempted_owner, s);

	real_time(20); /* so that the subject waits only for the lock */
	wait_phase(s, 1);
	begin(s);
	pthread_mutex_lock(&s->lock);
	end(s);
	pthread_mutex_unlock(&s->lock);
	pthread_join(o, NULL);
	pthread_join(h, NULL);
}

static void rt_hog(struct stage *s)
{
	pthread_t h = start(hog, s);

	pin(s->cpu);
	while (!s->culprit)
		usleep(500);
	begin(s);
	atomic_store(&s->phase, 1);
	compute(s->ns / 20);
	end(s);
	pthread_join(h, NULL);
}

/* Idle time of all CPUs other than @but, in ticks of /proc/stat. */
static unsigned long long idle_ticks(int but)
{
	unsigned long long sum = 0, idle;
	FILE *f = fopen("/proc/stat", "re");
	char line[512];
	int cpu;

	if (!f)
		die("/proc/stat");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%d %*u %*u %*u %llu", &cpu, &idle) == 2 && cpu != but)
			sum += idle;
	fclose(f);
	return sum;
}

/* The subject may run on one CPU only, where another task runs, while other CPUs are idle. */
static void pinned(struct stage *s)
{
	unsigned long long before = idle_ticks(s->cpu), ticks;

	rt_hog(s);
	ticks = idle_ticks(s->cpu) - before;
	errno = EBUSY;
	if (ticks * 1000000000 / sysconf(_SC_CLK_TCK) < (s->to - s->from) * 3 / 4)
		not_here("no other CPU idles");
	s->others_idle = true;
}

static void *equal(void *arg)
{
	struct stage *s = arg;
	s->culprits[atomic_fetch_add(&s->next, 1)] = my_tid();
	pin(s->cpu);
	atomic_fetch_add(&s->phase, 1);
	while (!atomic_load(&s->stop))
		;
	return NULL;
}

/* The subject computes on a CPU that @n busy threads share with it. */
static void behind_equals(struct stage *s, int n, int nice_of_subject)
{
	pthread_t t[EQUALS];

	for (int i = 0; i < n; i++)
		t[i] = start(equal, s);
	wait_phase(s, n);
	s->culprit = s->culprits[0];
	pin(s->cpu);
	if (nice_of_subject && setpriority(PRIO_PROCESS, my_tid(), nice_of_subject))
		die("setpriority");
	usleep(1000);
	begin(s);
	compute(s->ns / (nice_of_subject ? 20 : n == 1 ? 1 : n));
	end(s);
	atomic_store(&s->stop, true);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void many_equals(struct stage *s)
{
	behind_equals(s, EQUALS, 0);
}

/* Nice 15: with equal shares of the CPU, the subject's own computing would be as good an answer. */
static void weight(struct stage *s)
{
	behind_equals(s, 1, 15);
}

/* Join a child of the cgroup that the environment names. */
static void join_cgroup(const char *child)
{
	const char *group = getenv("CAUSE_GROUP");
	char path[256];
	FILE *f;

	if (!group || !*group)
		not_here("no cgroup with a CPU controller");
	snprintf(path, sizeof(path), "%s/%s/cgroup.procs", group, child);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d", getpid()) < 0 || fclose(f))
		die(path);
}

static void *heavy(void *arg)
{
	join_cgroup("heavy");
	return equal(arg);
}

/* Two processes with one priority, whose cgroups have different weights. */
static void cgroup_weight(struct stage *s)
{
	pid_t pid;

	join_cgroup("light");
	pid = start_process(heavy, s);
	wait_phase(s, 1);
	s->culprit = s->culprits[0];
	pin(s->cpu);
	usleep(1000);
	begin(s);
	compute(s->ns / 8); /* more than a slice, which the subject may get at once */
	end(s);
	atomic_store(&s->stop, true);
	join_process(pid);
}

/* ---- servers, processes, signals ---- */

static void *server(void *arg)
{
	struct stage *s = arg;
	char c;

	s->culprit = my_tid();
	if (read(s->pair[1], &c, 1) != 1)
		die("read");
	take_time(s->ns);
	if (write(s->pair[1], &c, 1) != 1)
		die("write");
	return NULL;
}

static void *middle(void *arg)
{
	struct stage *s = arg;

	relay(s->other[1], s->pair[0]);
	return NULL;
}

static void one_server(struct stage *s)
{
	pthread_t t = start(server, s);

	ask(s, s->pair[0]);
	pthread_join(t, NULL);
}

static void two_servers(struct stage *s)
{
	pthread_t t = start(server, s), m = start(middle, s);

	ask(s, s->other[0]);
	pthread_join(t, NULL);
	pthread_join(m, NULL);
}

static void child(struct stage *s)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		compute(s->ns);
		_exit(0);
	}
	s->culprit = pid;
	begin(s);
	if (waitpid(pid, NULL, 0) != pid)
		die("waitpid");
	end(s);
}

static void *stopped_process(void *arg)
{
	struct stage *s = arg;

	begin(s);
	compute(s->ns / 5);
	end(s);
	return NULL;
}

static void stopped(struct stage *s)
{
	pid_t pid;

	s->culprit = my_tid();
	pid = start_process(stopped_process, s);
	usleep(5000);
	kill(pid, SIGSTOP);
	take_time(s->ns);
	kill(pid, SIGCONT);
	join_process(pid);
}

static void own_sleep(struct stage *s)
{
	begin(s);
	s->culprit = s->subject;
	take_time(s->ns);
	end(s);
}

static void own_compute(struct stage *s)
{
	begin(s);
	s->culprit = s->subject;
	compute(s->ns);
	end(s);
}

/* A server that reads requests and never answers; s->fd listens. It ends with its client. */
static void *never_answers(void *arg)
{
	struct stage *s = arg;
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	char c;

	if (fd < 0 || read(fd, &c, 1) != 1)
		die("no request");
	atomic_store(&s->phase, 1);
	if (read(fd, &c, 1))
		die("more than one request");
	return NULL;
}

static int listen_on_loopback(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (const void *)ret, sizeof(*ret)) || listen(fd, 1) ||
	    getsockname(fd, (void *)ret, &size))
		die("listen");
	return fd;
}

/* The subject asks another process over TCP, and gives up: its own timeout ends the wait. */
static void timeout(struct stage *s)
{
	const struct timeval tv = { .tv_usec = s->ns / 1000 };
	struct sockaddr_in to;
	char c = 'x';
	pid_t server;
	int fd;

	s->fd = listen_on_loopback(&to);
	server = start_process(never_answers, s);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const void *)&to, sizeof(to)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		die("connect");
	begin(s);
	s->culprit = s->subject;
	if (write(fd, &c, 1) != 1)
		die("write");
	if (recv(fd, &c, 1, 0) >= 0 || errno != EAGAIN || !atomic_load(&s->phase))
		die("nobody should answer");
	end(s);
	close(fd);
	join_process(server);
}

static void *flock_owner(void *arg)
{
	struct stage *s = arg;
	int fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	s->culprit = my_tid();
	if (fd < 0 || flock(fd, LOCK_EX))
		die(s->path);
	pthread_barrier_wait(&s->ready);
	take_time(s->ns);
	close(fd);
	return NULL;
}

static void file_lock(struct stage *s)
{
	pthread_t t = start(flock_owner, s);
	int fd;

	pthread_barrier_wait(&s->ready);
	fd = open(s->path, O_RDWR | O_CLOEXEC);
	begin(s);
	if (fd < 0 || flock(fd, LOCK_EX))
		die(s->path);
	end(s);
	pthread_join(t, NULL);
	unlink(s->path);
}

static void *writer(void *arg)
{
	struct stage *s = arg;
	char c = 'x';

	s->culprit = my_tid();
	compute(s->ns);
	if (write(s->other[1], &c, 1) != 1)
		die("write");
	return NULL;
}

static void pipe_writer(struct stage *s)
{
	pthread_t t;
	char c;

	if (pipe(s->other))
		die("pipe");
	t = start(writer, s);
	begin(s);
	if (read(s->other[0], &c, 1) != 1)
		die("read");
	end(s);
	pthread_join(t, NULL);
}

static void *reader(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	pthread_rwlock_rdlock(&s->rwlock);
	pthread_barrier_wait(&s->ready);
	take_time(s->ns);
	pthread_rwlock_unlock(&s->rwlock);
	return NULL;
}

static void rwlock_writer(struct stage *s)
{
	pthread_t t = start(reader, s);

	pthread_barrier_wait(&s->ready);
	begin(s);
	pthread_rwlock_wrlock(&s->rwlock);
	end(s);
	pthread_rwlock_unlock(&s->rwlock);
	pthread_join(t, NULL);
}

/* Readers follow each other without a break: glibc lets them pass the writer. */
static void *next_reader(void *arg)
{
	struct stage *s = arg;
	int i = atomic_fetch_add(&s->next, 1);

	s->culprits[i] = my_tid();
	wait_phase(s, i);
	pthread_rwlock_rdlock(&s->rwlock);
	take_time(s->ns / 4);
	atomic_store(&s->phase, i + 1);
	take_time(s->ns / 4);
	pthread_rwlock_unlock(&s->rwlock);
	return NULL;
}

static void starved_writer(struct stage *s)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		t[i] = start(next_reader, s);
	wait_phase(s, 1);
	s->culprit = s->culprits[0];
	begin(s);
	pthread_rwlock_wrlock(&s->rwlock);
	end(s);
	pthread_rwlock_unlock(&s->rwlock);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void *signaller(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	take_time(s->ns);
	kill(getpid(), SIGUSR1);
	return NULL;
}

static void signal_wait(struct stage *s)
{
	sigset_t set;
	pthread_t t;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	t = start(signaller, s);
	begin(s);
	sigwait(&set, &sig);
	end(s);
	pthread_join(t, NULL);
}

/* The caller has made the cgroup. Its CPU quota is so small that two periods do not suffice. */
static void quota(struct stage *s)
{
	begin(s);
	s->culprit = s->subject;
	compute(s->ns / 2);
	end(s);
}

const struct cause_case thread_cases[] = {
	{ "lock-sleep", "own-timer", lock_sleep },
	{ "lock-compute", "computed", lock_compute },
	{ "convoy", "own-timer", convoy },
	{ "inversion", "cpu", inversion },
	{ "rt-hog", "cpu", rt_hog },
	{ "pinned", "cpu", pinned },
	{ "many-equals", "cpu-many", many_equals },
	{ "weight", "cpu", weight },
	{ "cgroup-weight", "cpu", cgroup_weight },
	{ "server", "own-timer", one_server },
	{ "two-servers", "own-timer", two_servers },
	{ "child", "computed", child },
	{ "stopped", "stopped", stopped },
	{ "own-sleep", "own-timer", own_sleep },
	{ "own-compute", "computed", own_compute },
	{ "timeout", "timeout", timeout },
	{ "file-lock", "own-timer", file_lock },
	{ "pipe", "computed", pipe_writer },
	{ "rwlock", "own-timer", rwlock_writer },
	{ "starved-writer", "own-timer", starved_writer },
	{ "signal", "own-timer", signal_wait },
	{ "quota", "quota", quota },
	{ 0 },
};
