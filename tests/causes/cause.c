// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a thread wait for a known reason. Prints one line of JSON: who suffered, who did it, and when, by
 * CLOCK_MONOTONIC: what `frbpf why` should find is known to nobody else.
 *
 *	cause [--ms N] NAME
 *	cause --list
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EQUALS 6

/* What the threads of a case share. */
struct stage {
	long ns; /* how long the culprit takes */
	pthread_mutex_t lock, second;
	pthread_rwlock_t rwlock;
	pthread_barrier_t ready;
	int pair[2], other[2];
	char path[64];
	int cpu;	  /* the last that may be used */
	atomic_int phase; /* futex word, too */
	atomic_int next;  /* of culprits */
	atomic_bool stop;
	volatile pid_t subject, culprit, culprits[EQUALS];
	uint64_t from, to;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "cause: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t my_tid(void)
{
	return syscall(SYS_gettid);
}

static __attribute__((noinline)) void take_time(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (syscall(SYS_nanosleep, &ts, &ts) < 0 && errno == EINTR)
		;
	__asm__ volatile("" ::: "memory");
}

/* Its own CPU time, so that a busy machine changes nothing. */
static __attribute__((noinline)) void compute(long ns)
{
	struct timespec ts;
	uint64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = ts.tv_sec * 1000000000ULL + ts.tv_nsec + ns;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000ULL + ts.tv_nsec < end);
}

static void begin(struct stage *s)
{
	s->subject = my_tid();
	s->from = now_ns();
}

static void end(struct stage *s)
{
	s->to = now_ns();
}

static pthread_t start(void *(*fn)(void *), struct stage *s)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, s))
		die("pthread_create");
	return t;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void real_time(int priority)
{
	const struct sched_param p = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		die("SCHED_FIFO");
}

static void wait_phase(struct stage *s, int phase)
{
	while (atomic_load(&s->phase) < phase)
		usleep(500);
}

/* ---- a lock whose owner ... */

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

static void lock_of(struct stage *s, void *(*owner)(void *))
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
	lock_of(s, owner_sleeps);
}

static void lock_compute(struct stage *s)
{
	lock_of(s, owner_computes);
}

/* A second lock behind the first: the owner of that one sleeps. */
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

/* ---- CPUs */

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
	while (!s->culprit) /* the hog is not there yet */
		usleep(500);
	usleep(1000);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->phase, 1); /* the hog begins within half a millisecond */
	compute(3000000);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void inversion(struct stage *s)
{
	pthread_t h = start(hog, s), o = start(preempted_owner, s);

	real_time(20); /* so that it waits for the lock and for nothing else */
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

/* Until @n threads have kept the subject from its CPU for long enough. */
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

/* With half of the time each, its own computing would be as good an answer. */
static void weight(struct stage *s)
{
	behind_equals(s, 1, 15);
}

/* ---- others */

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
	char c;

	if (read(s->other[1], &c, 1) != 1 || write(s->pair[0], &c, 1) != 1 ||
	    read(s->pair[0], &c, 1) != 1 || write(s->other[1], &c, 1) != 1)
		die("middle");
	return NULL;
}

static void ask(struct stage *s, int fd)
{
	char c = 'x';

	usleep(2000); /* the server waits by then */
	begin(s);
	if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
		die("ask");
	end(s);
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

static void stopped(struct stage *s)
{
	int pipe_fds[2];
	pid_t pid;

	if (pipe(pipe_fds))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) { /* it computes, and is stopped in between */
		s->culprit = getppid();
		begin(s);
		compute(s->ns / 5);
		end(s);
		_exit(write(pipe_fds[1], s, sizeof(*s)) != sizeof(*s));
	}
	usleep(5000);
	kill(pid, SIGSTOP);
	take_time(s->ns);
	kill(pid, SIGCONT);
	if (read(pipe_fds[0], s, sizeof(*s)) != sizeof(*s))
		die("read");
	waitpid(pid, NULL, 0);
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

static void timeout(struct stage *s)
{
	const struct timeval tv = { .tv_usec = s->ns / 1000 };
	char c;

	if (setsockopt(s->pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		die("SO_RCVTIMEO");
	begin(s);
	s->culprit = s->subject;
	if (recv(s->pair[0], &c, 1, 0) >= 0)
		die("nobody should answer");
	end(s);
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

/* Its cgroup, made by the caller, has a quota: so much less that two periods do not suffice. */
static void quota(struct stage *s)
{
	begin(s);
	s->culprit = s->subject;
	compute(s->ns / 2);
	end(s);
}

static const struct {
	const char *name, *cause; /* as frbpf why --json names it */
	void (*run)(struct stage *s);
} cases[] = {
	{ "lock-sleep", "own-timer", lock_sleep },
	{ "lock-compute", "computed", lock_compute },
	{ "convoy", "own-timer", convoy },
	{ "inversion", "cpu", inversion },
	{ "rt-hog", "cpu", rt_hog },
	{ "many-equals", "cpu-many", many_equals },
	{ "weight", "cpu", weight },
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
	{ "signal", "own-timer", signal_wait },
	{ "quota", "quota", quota },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static int last_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	return last;
}

static int run(size_t i, long ms)
{
	static struct stage s;

	s.ns = ms * 1000000;
	s.cpu = last_cpu();
	pthread_mutex_init(&s.lock, NULL);
	pthread_mutex_init(&s.second, NULL);
	pthread_rwlock_init(&s.rwlock, NULL);
	pthread_barrier_init(&s.ready, NULL, 2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s.pair) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, s.other))
		die("socketpair");
	snprintf(s.path, sizeof(s.path), "/tmp/cause-%d", getpid());
	cases[i].run(&s);
	printf("{\"name\": \"%s\", \"cause\": \"%s\", \"subject\": %d, \"culprits\": [%d",
	       cases[i].name, cases[i].cause, s.subject, s.culprit);
	for (int k = 1; k < EQUALS && s.culprits[k]; k++)
		printf(", %d", s.culprits[k]);
	printf("], \"from\": %llu.%09llu, "
	       "\"to\": %llu.%09llu}\n",
	       (unsigned long long)s.from / 1000000000, (unsigned long long)s.from % 1000000000,
	       (unsigned long long)s.to / 1000000000, (unsigned long long)s.to % 1000000000);
	return 0;
}

int main(int argc, char **argv)
{
	long ms = 60;
	int arg = 1;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < CASES; i++)
			puts(cases[i].name);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "--ms")) {
		ms = atol(argv[2]);
		arg = 3;
	}
	for (size_t i = 0; arg == argc - 1 && i < CASES; i++)
		if (!strcmp(cases[i].name, argv[arg]))
			return run(i, ms);
	fprintf(stderr, "usage: cause [--ms N] NAME | cause --list\n");
	return 2;
}
