// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_file.h"
#include "dump/state/cgroup_state.h"
#include "dump/state/disk_errors.h"
#include "dump/state/vitals.h"

#define SECOND	 1000000000ULL
#define SAMPLES	 128 /* more than a minute, as an incident may be written later */
#define SPAN	 (60 * SECOND)
#define TEXT_MAX (64 << 10) /* bytes of a file that are read */

enum {
	FILE_STAT,
	FILE_LOADAVG,
	FILE_VMSTAT,
	FILE_DISKSTATS,
	FILE_NET,
	FILE_CPU,
	FILE_MEMORY,
	FILE_IO,
	FILES
};

static const char *const paths[FILES] = {
	[FILE_STAT] = "/proc/stat",
	[FILE_LOADAVG] = "/proc/loadavg",
	[FILE_VMSTAT] = "/proc/vmstat",
	[FILE_DISKSTATS] = "/proc/diskstats",
	[FILE_NET] = "/proc/net/dev",
	[FILE_CPU] = "/proc/pressure/cpu",
	[FILE_MEMORY] = "/proc/pressure/memory",
	[FILE_IO] = "/proc/pressure/io",
};

static const char *const names[VITALS] = {
	[VITAL_USER] = "user_ns",
	[VITAL_SYSTEM] = "system_ns",
	[VITAL_IRQ] = "irq_ns",
	[VITAL_IDLE] = "idle_ns",
	[VITAL_IOWAIT] = "iowait_ns",
	[VITAL_STEAL] = "steal_ns",
	[VITAL_CPU_SOME] = "cpu_some_ns",
	[VITAL_MEMORY_SOME] = "memory_some_ns",
	[VITAL_MEMORY_FULL] = "memory_full_ns",
	[VITAL_IO_SOME] = "io_some_ns",
	[VITAL_IO_FULL] = "io_full_ns",
	[VITAL_MAJOR_FAULTS] = "major_faults",
	[VITAL_RECLAIMS] = "reclaims",
	[VITAL_SWAPPED] = "swapped_pages",
	[VITAL_NET_ERRORS] = "net_errors",
	[VITAL_DISK_ERRORS] = "disk_errors",
	[VITAL_DISK_BUSY] = "disk_busy_ns",
	[VITAL_RUNNING] = "running",
};

struct vitals {
	int fd[FILES]; /* -1: this kernel does not have it */
	uint64_t ticks;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool stop;
	char *text; /* owned */
	struct disk_errors *errors;
	struct vitals_sample ring[SAMPLES];
	uint64_t n; /* samples so far; the last SAMPLES of them are in the ring */
};

/* ---- text of the kernel ---- */

void vitals__parse_stat(const char *text, uint64_t ticks, struct vitals_sample *ret)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal, ns = SECOND / ticks;

	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
		return;
	ret->v[VITAL_USER] = (user + nice) * ns;
	ret->v[VITAL_SYSTEM] = system * ns;
	ret->v[VITAL_IRQ] = (irq + softirq) * ns;
	ret->v[VITAL_IDLE] = idle * ns;
	ret->v[VITAL_IOWAIT] = iowait * ns;
	ret->v[VITAL_STEAL] = steal * ns;
}

void vitals__parse_vmstat(const char *text, struct vitals_sample *ret)
{
	static const struct {
		const char *key;
		enum vital to;
	} rows[] = {
		{ "pgmajfault", VITAL_MAJOR_FAULTS },
		{ "allocstall_dma", VITAL_RECLAIMS },
		{ "allocstall_dma32", VITAL_RECLAIMS },
		{ "allocstall_normal", VITAL_RECLAIMS },
		{ "allocstall_movable", VITAL_RECLAIMS },
		{ "pswpin", VITAL_SWAPPED },
		{ "pswpout", VITAL_SWAPPED },
	};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (proc_file__number(text, rows[i].key, &v))
			ret->v[rows[i].to] += v;
}

/* "8 0 sda" and 17 numbers: the tenth is ms with a request in flight. */
void vitals__parse_diskstats(const char *text, struct vitals_sample *ret)
{
	uint64_t ms;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (sscanf(line, "%*u %*u %*s %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ms) ==
			    1 &&
		    ms * 1000000 > ret->v[VITAL_DISK_BUSY])
			ret->v[VITAL_DISK_BUSY] = ms * 1000000;
}

/* Devices without any I/O, such as unused loop devices, are left out. */
json_t *vitals__parse_disk_names(const char *text)
{
	unsigned int major, minor, reads, writes;
	char number[24], name[VITALS_DISK_NAME];
	json_t *o = json_object();

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (json_object_size(o) >= VITALS_DISKS ||
		    sscanf(line, "%u %u %31s %u %*u %*u %*u %u", &major, &minor, name, &reads,
			   &writes) != 5 ||
		    !(reads || writes))
			continue;
		snprintf(number, sizeof(number), "%u:%u", major, minor);
		json_object_set_new(o, number, json_string(name));
	}
	return o;
}

/*
 * "eth0: bytes packets errs drop fifo frame compressed multicast bytes packets errs drop ...",
 * after two header lines.
 */
void vitals__parse_net_dev(const char *text, struct vitals_sample *ret)
{
	uint64_t in, in_drop, out, out_drop;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n:");

		if (line[len] == ':' && sscanf(line + len + 1,
					       "%*u %*u %" SCNu64 " %" SCNu64
					       " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
					       &in, &in_drop, &out, &out_drop) == 4)
			ret->v[VITAL_NET_ERRORS] += in + in_drop + out + out_drop;
	}
}

/* "0.50 0.40 0.30 3/512 4242" */
void vitals__parse_loadavg(const char *text, struct vitals_sample *ret)
{
	uint64_t n;

	if (sscanf(text, "%*s %*s %*s %" SCNu64 "/", &n) == 1)
		ret->v[VITAL_RUNNING] = n;
}

static void parse_pressure(const char *text, struct vitals_sample *ret, enum vital some,
			   enum vital full)
{
	uint64_t us;

	if (!proc_file__pressure(text, "some", &us))
		ret->v[some] = us * 1000;
	if (full && !proc_file__pressure(text, "full", &us))
		ret->v[full] = us * 1000;
}

/* ---- reading ---- */

/* Read a file from its beginning; "": it cannot be read. */
static const char *read_proc_again(struct vitals *v, int file)
{
	size_t len = 0;
	ssize_t n;

	v->text[0] = '\0';
	if (v->fd[file] < 0)
		return v->text;
	while (len + 1 < TEXT_MAX &&
	       (n = pread(v->fd[file], v->text + len, TEXT_MAX - 1 - len, len)) > 0)
		len += n;
	v->text[len] = '\0';
	return v->text;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

/* Call with the lock held. */
static void take_vitals_sample(struct vitals *v)
{
	struct vitals_sample s = { .time = now_ns() };
	const char *disks;

	vitals__parse_stat(read_proc_again(v, FILE_STAT), v->ticks, &s);
	vitals__parse_loadavg(read_proc_again(v, FILE_LOADAVG), &s);
	vitals__parse_vmstat(read_proc_again(v, FILE_VMSTAT), &s);
	disks = read_proc_again(v, FILE_DISKSTATS);
	vitals__parse_diskstats(disks, &s);
	s.v[VITAL_DISK_ERRORS] = disk_errors__count(v->errors, count_lines(disks), s.time);
	vitals__parse_net_dev(read_proc_again(v, FILE_NET), &s);
	parse_pressure(read_proc_again(v, FILE_CPU), &s, VITAL_CPU_SOME, 0);
	parse_pressure(read_proc_again(v, FILE_MEMORY), &s, VITAL_MEMORY_SOME, VITAL_MEMORY_FULL);
	parse_pressure(read_proc_again(v, FILE_IO), &s, VITAL_IO_SOME, VITAL_IO_FULL);
	v->ring[v->n++ % SAMPLES] = s;
}

static void *vitals_thread(void *arg)
{
	struct vitals *v = arg;
	uint64_t next = now_ns();

	/* normal priority, as vitals__get() waits for its reads */
	pthread_setname_np(pthread_self(), "frbpf-vitals");
	pthread_mutex_lock(&v->lock);
	while (!v->stop) {
		uint64_t now = now_ns();
		struct timespec until;

		if (now < next) {
			until = (struct timespec){ next / SECOND, next % SECOND };
			pthread_cond_timedwait(&v->wake, &v->lock, &until);
			continue;
		}
		take_vitals_sample(v);
		next = now + SECOND;
	}
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

int vitals__start(struct err *err, struct vitals **ret)
{
	struct vitals *v = calloc(1, sizeof(*v));
	long ticks = sysconf(_SC_CLK_TCK);
	pthread_condattr_t attr;
	int code;

	if (!v || !(v->text = malloc(TEXT_MAX)) || !(v->errors = disk_errors__new("/sys/block"))) {
		free(v ? v->text : NULL);
		free(v);
		return err_set(err, -ENOMEM, "out of memory");
	}
	v->ticks = ticks > 0 ? ticks : 100;
	for (size_t i = 0; i < FILES; i++)
		v->fd[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&v->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&v->wake, &attr);
	pthread_condattr_destroy(&attr);
	code = -pthread_create(&v->thread, NULL, vitals_thread, v);
	v->running = !code;
	if (code) {
		vitals__free(v);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = v;
	return 0;
}

void vitals__free(struct vitals *v)
{
	if (!v)
		return;
	if (v->running) {
		pthread_mutex_lock(&v->lock);
		v->stop = true;
		pthread_cond_signal(&v->wake);
		pthread_mutex_unlock(&v->lock);
		pthread_join(v->thread, NULL);
	}
	for (size_t i = 0; i < FILES; i++)
		if (v->fd[i] >= 0)
			close(v->fd[i]);
	pthread_mutex_destroy(&v->lock);
	pthread_cond_destroy(&v->wake);
	disk_errors__free(v->errors);
	free(v->text);
	free(v);
}

/* ---- the manifest ---- */

/* The value, or for a counter its growth. The sum of counters falls when a device is removed. */
static json_int_t vital_value(const struct vitals_sample *v, size_t i, enum vital k)
{
	if (k >= VITAL_COUNTERS)
		return v[i].v[k];
	return v[i].v[k] > v[i - 1].v[k] ? v[i].v[k] - v[i - 1].v[k] : 0;
}

/* The values of @k as a list; NULL: it was always zero. */
static json_t *column_of(const struct vitals_sample *v, size_t n, enum vital k)
{
	json_t *list = json_array();
	bool any = false;

	for (size_t i = 1; i < n; i++) {
		json_int_t value = vital_value(v, i, k);

		any |= value != 0;
		json_array_append_new(list, json_integer(value));
	}
	if (any)
		return list;
	json_decref(list);
	return NULL;
}

json_t *vitals__json(const struct vitals_sample *v, size_t n, uint64_t time)
{
	json_t *o, *end, *length, *list;

	while (n && time > SPAN && v->time < time - SPAN) { /* too old */
		v++;
		n--;
	}
	if (n < 2)
		return NULL;
	o = json_object();
	end = json_array();
	length = json_array();
	for (size_t i = 1; i < n; i++) {
		json_array_append_new(end, json_integer((json_int_t)v[i].time));
		json_array_append_new(length,
				      json_integer((json_int_t)(v[i].time - v[i - 1].time)));
	}
	json_object_set_new(o, "end_monotonic_ns", end);
	json_object_set_new(o, "length_ns", length);
	for (int k = 0; k < VITALS; k++) {
		list = column_of(v, n, k);
		if (list)
			json_object_set_new(o, names[k], list);
	}
	return o;
}

json_t *vitals__get(struct vitals *v, uint64_t time)
{
	struct vitals_sample *samples = malloc(SAMPLES * sizeof(*samples));
	json_t *o = NULL, *disks;
	size_t n;

	if (!samples)
		return NULL;
	pthread_mutex_lock(&v->lock);
	take_vitals_sample(v);
	n = v->n < SAMPLES ? v->n : SAMPLES;
	for (size_t i = 0; i < n; i++)
		samples[i] = v->ring[(v->n - n + i) % SAMPLES];
	disks = vitals__parse_disk_names(read_proc_again(v, FILE_DISKSTATS));
	pthread_mutex_unlock(&v->lock);
	o = vitals__json(samples, n, time);
	if (o)
		json_object_set(o, "disks", disks);
	json_decref(disks);
	free(samples);
	return o;
}
