// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "record/event_list.h"
#include "record/record_target.h"
#include "rules/units.h"

struct tid_list {
	pid_t *v; /* owned */
	size_t n, cap;
};

static int tid_list__add(struct tid_list *l, pid_t tid)
{
	if (!ARRAY_HAS_ROOM(l->v, l->n, l->cap, 16))
		return -ENOMEM;
	l->v[l->n++] = tid;
	return 0;
}

/* Add all threads of a process. -ESRCH: it has ended. */
static int add_threads(struct tid_list *l, pid_t pid)
{
	const struct dirent *e;
	size_t before = l->n;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !err && (e = readdir(dir))) {
		if (e->d_name[0] != '.')
			err = tid_list__add(l, atoi(e->d_name));
	}
	if (dir)
		closedir(dir);
	return err ?: l->n == before ? -ESRCH : 0;
}

/* Skips frbpf itself: a recorder that records itself is never idle. */
static int add_threads_of_user(struct tid_list *l, uid_t uid)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	int err = dir ? 0 : -errno;

	while (!err && (e = readdir(dir))) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		struct stat st;

		if (!pid || pid == getpid() || fstatat(dirfd(dir), e->d_name, &st, 0) ||
		    st.st_uid != uid)
			continue;
		err = add_threads(l, pid);
		if (err == -ESRCH)
			err = 0;
	}
	if (dir)
		closedir(dir);
	return err;
}

int record_target__threads(const struct record_target *t, pid_t **ret, size_t *ret_n)
{
	struct tid_list l = { 0 };
	int err = t->of_user ? add_threads_of_user(&l, t->uid) : 0;

	for (size_t i = 0; !err && i < t->n_processes; i++)
		err = add_threads(&l, t->processes[i]);
	if (!err && !l.n)
		err = -ESRCH;
	if (err) {
		free(l.v);
		return err;
	}
	*ret = l.v;
	*ret_n = l.n;
	return 0;
}

bool record_target__is_open(const struct record_target *t)
{
	return t->n_processes || t->of_user;
}

static int take_ids(const struct option_items *items, pid_t **ret, size_t *ret_n)
{
	pid_t *v = calloc(items->n ?: 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < items->n; i++)
		v[i] = atoi(items->v[i].text);
	*ret = v;
	*ret_n = items->n;
	return 0;
}

/* Parse the name or number of a user. */
static int take_user(const struct option_item *user, const struct source_text *src, struct diags *d,
		     struct record_target *t)
{
	struct passwd pw, *found = NULL;
	char room[4096];
	const char *why;
	uint64_t n;

	t->of_user = true;
	if (!getpwnam_r(user->text, &pw, room, sizeof(room), &found) && found) {
		t->uid = pw.pw_uid;
		return 0;
	}
	if (units__number(user->text, strlen(user->text), &n, &why) || n >= (uid_t)-1)
		return diags__error(d, src, user->span, "this machine has no user '%s'",
				    user->text);
	t->uid = n;
	return 0;
}

static bool has_cpu(const int *cpus, size_t n, int cpu)
{
	for (size_t i = 0; i < n; i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}

/* Parse "2-4"; all of them must be online. */
static int add_cpu_range(const struct option_item *item, const int *online, size_t n,
			 const struct source_text *src, struct diags *d, bool *wanted)
{
	char *end;
	int from = strtol(item->text, &end, 10), to = *end ? atoi(end + 1) : from;

	for (int cpu = from; cpu <= to; cpu++) {
		if (!has_cpu(online, n, cpu))
			return diags__error(d, src, item->span, "CPU %d is not online", cpu);
	}
	for (size_t i = 0; i < n; i++)
		wanted[i] |= online[i] >= from && online[i] <= to;
	return 0;
}

static int take_cpus(const struct option_items *items, const struct source_text *src,
		     struct diags *d, struct record_target *t)
{
	_cleanup_free_ int *online = NULL;
	_cleanup_free_ bool *wanted = NULL;
	size_t n;
	int err = cpus__online(&online, &n);

	if (err == -ENOMEM)
		return err;
	if (err)
		return diags__error(d, src, items->v[0].span,
				    "cannot read the list of online CPUs: %s", strerror(-err));
	wanted = calloc(n, sizeof(*wanted));
	t->cpus = calloc(n, sizeof(*t->cpus));
	if (!wanted || !t->cpus)
		return -ENOMEM;
	for (size_t i = 0; !err && i < items->n; i++)
		err = add_cpu_range(&items->v[i], online, n, src, d, wanted);
	for (size_t i = 0; i < n; i++) {
		if (wanted[i])
			t->cpus[t->n_cpus++] = online[i];
	}
	return err;
}

static int take_delay(const struct record_opts *o, struct record_target *t)
{
	struct delay_range *v = calloc(o->n_delay, sizeof(*v));

	if (!v)
		return -ENOMEM;
	memcpy(v, o->delay, o->n_delay * sizeof(*v));
	t->delay = v;
	t->n_delay = o->n_delay;
	return 0;
}

int record_target__make(const struct record_opts *o, const struct source_text *src, struct diags *d,
			struct record_target *ret)
{
	struct record_target t = { .cgroup_fd = -1 };
	int err = 0;

	/* in perf's order: earlier kinds override later ones */
	if (o->pids.n)
		err = take_ids(&o->pids, &t.processes, &t.n_processes);
	else if (o->tids.n)
		err = take_ids(&o->tids, &t.tids, &t.n_tids);
	else if (o->users.n)
		err = take_user(&o->users.v[0], src, d, &t);
	else if (o->cpus.n)
		err = take_cpus(&o->cpus, src, d, &t);
	if (o->pids.n || o->tids.n || o->users.n)
		t.kind = RECORD_TASKS;
	if (!err && o->n_delay)
		err = take_delay(o, &t);
	if (err) {
		record_target__release(&t);
		return err;
	}
	*ret = t;
	return 0;
}

/* Check that the tasks exist. getpgid() finds threads, too, and needs neither rights nor /proc. */
static int check_ids(const struct option_items *items, const char *kind,
		     const struct source_text *src, struct diags *d)
{
	int err = 0;

	for (size_t i = 0; i < items->n; i++) {
		if (getpgid(atoi(items->v[i].text)) < 0 && errno == ESRCH)
			err = diags__error(d, src, items->v[i].span, "%s %s: it has ended", kind,
					   items->v[i].text);
	}
	return err;
}

static int check_cgroups(const struct option_items *items, const struct source_text *src,
			 struct diags *d)
{
	struct err why;
	int err = 0;

	for (size_t i = 0; i < items->n; i++) {
		const struct option_item *item = &items->v[i];
		int fd = item->text[0] ? event_cgroup__open(item->text, &why) : -1;

		if (fd >= 0)
			close(fd);
		else if (item->text[0])
			err = diags__error(d, src, item->span, "%s", why.msg);
	}
	return err;
}

int record_target__check_exists(const struct record_opts *o, const struct record_target *t,
				const struct source_text *src, struct diags *d)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;
	int err;

	if (t->processes)
		return check_ids(&o->pids, "process", src, d);
	if (t->tids)
		return check_ids(&o->tids, "thread", src, d);
	if (!t->of_user)
		return check_cgroups(&o->cgroups, src, d);
	err = record_target__threads(t, &tids, &n);
	return err == -ESRCH ? diags__error(d, src, o->users.v[0].span, "user '%s' has no task",
					    o->users.v[0].text)
			     : err;
}

void record_target__release(struct record_target *t)
{
	free(t->tids);
	free(t->processes);
	free(t->cpus);
	free((void *)t->delay);
	*t = (struct record_target){ .cgroup_fd = -1 };
}
