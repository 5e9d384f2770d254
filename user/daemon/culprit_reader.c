// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "common/proc_file.h"
#include "daemon/culprit_reader.h"
#include "dump/base/manifest.h"
#include "dump/incident/incident.h"
#include "dump/state/task_state.h"

#define WAITING_MAX 8

struct waiting_why {
	char name[INCIDENT_NAME_SIZE];
	json_t *why; /* owned */
};

struct culprit_reader {
	struct examiner *examiner;
	const struct base_dir *base;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t given;
	struct waiting_why waiting[WAITING_MAX]; /* in order of arrival */
	size_t n;
	bool stop;
};

/* ---- the process ---- */

static bool member_is_unknown(const json_t *o, const char *key)
{
	return !json_is_string(json_object_get(o, key));
}

/* The name of a process is that of its first thread. */
static bool process_is_named(pid_t pid, const char *want)
{
	_cleanup_close_ int dir = proc_file__open_task(pid);
	char comm[PROC_COMM];

	return dir >= 0 && !proc_file__comm(dir, comm) && !strcmp(make_printable(comm), want);
}

bool culprit_reader__complete(struct examiner *e, uint64_t end, json_t *why)
{
	static const struct cgroup_roots no_roots = { .fd = { -1, -1, -1, -1 } };
	json_t *o = json_object_get(why, "culprit"), *state, *command, *cgroup;
	json_int_t pid = json_integer_value(json_object_get(o, "pid"));
	const char *process = json_string_value(json_object_get(o, "process"));
	bool set;

	if (pid <= 0 || pid > INT_MAX || !process || !member_is_unknown(o, "command") ||
	    !member_is_unknown(o, "cgroup") || !process_is_named((pid_t)pid, process) ||
	    task_state__command(e, (pid_t)pid, end, &command))
		return false;
	set = !json_object_set_new(o, "command", command);
	if (task_state__read(&no_roots, (pid_t)pid, end, &state))
		return set;
	cgroup = json_object_get(state, "cgroup");
	if (cgroup)
		json_object_set(o, "cgroup", cgroup);
	json_decref(state);
	return set;
}

/* ---- the manifest ---- */

/* The end, ns, of the interval that the verdict is about: the first trigger; 0: unknown. */
static uint64_t end_of_interval(const json_t *manifest)
{
	const json_t *t = json_array_get(json_object_get(manifest, "triggers"), 0);
	json_int_t v =
		json_integer_value(json_object_get(json_object_get(t, "time"), "monotonic_ns"));

	return v > 0 ? v : 0;
}

static void complete_manifest(struct culprit_reader *r, const struct waiting_why *w)
{
	json_t *manifest = manifest__load(r->base, w->name);
	uint64_t end = end_of_interval(manifest);
	struct err err = { 0 };

	json_decref(manifest);
	/*
	 * errors are not logged: the verdict was stored before, and any trouble with the disk was
	 * reported then
	 */
	if (end && culprit_reader__complete(r->examiner, end, w->why))
		manifest__set_why(r->base, w->name, w->why, &err);
}

/* ---- the thread ---- */

/* Take the next verdict. False: the thread should end. */
static bool culprit_reader__take(struct culprit_reader *r, struct waiting_why *ret)
{
	bool found;

	pthread_mutex_lock(&r->lock);
	while (!r->n && !r->stop)
		pthread_cond_wait(&r->given, &r->lock);
	found = !r->stop;
	if (found) {
		*ret = r->waiting[0];
		memmove(r->waiting, r->waiting + 1, --r->n * sizeof(r->waiting[0]));
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

static void *culprit_reader_thread(void *arg)
{
	struct culprit_reader *r = arg;
	struct waiting_why w;

	pthread_setname_np(pthread_self(), "frbpf-culprit");
	while (culprit_reader__take(r, &w)) {
		complete_manifest(r, &w);
		json_decref(w.why);
		examiner__rest(r->examiner, EXAMINER_TASKS);
	}
	return NULL;
}

int culprit_reader__start(struct examiner *examiner, const struct base_dir *base, struct err *err,
			  struct culprit_reader **ret)
{
	struct culprit_reader *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->examiner = examiner;
	r->base = base;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->given, NULL);
	code = -pthread_create(&r->thread, NULL, culprit_reader_thread, r);
	if (code) {
		free(r);
		return err_set(err, code, "cannot start a thread: %s", strerror(-code));
	}
	*ret = r;
	return 0;
}

void culprit_reader__submit(struct culprit_reader *r, const char *name, const json_t *why)
{
	json_t *copy = json_deep_copy(why);

	pthread_mutex_lock(&r->lock);
	if (copy && r->n < WAITING_MAX) {
		struct waiting_why *w = &r->waiting[r->n++];

		snprintf(w->name, sizeof(w->name), "%s", name);
		w->why = copy;
		copy = NULL;
		pthread_cond_signal(&r->given);
	}
	pthread_mutex_unlock(&r->lock);
	json_decref(copy);
}

void culprit_reader__free(struct culprit_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->given);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	for (size_t i = 0; i < r->n; i++)
		json_decref(r->waiting[i].why);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->given);
	free(r);
}
