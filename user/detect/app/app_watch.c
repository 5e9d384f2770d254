// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/foreign.h"
#include "common/map_file.h"
#include "detect/app/app_files.h"
#include "detect/app/app_watch.h"
#include "detect/inject/event_ring.h"
#include "detect/probe/probe_file.h"
#include "rules/units.h"

#define THREAD_NAME "frbpf-probes"
#define UPROBE_PMU  "/sys/bus/event_source/devices/uprobe/type"

/* When programs start all the time, they are looked at together. */
#define GATHER_MS 10
/* Between two looks at all processes: after a loss, for room, for files that are gone. */
#define AFTER_LOSS_NS NSEC_PER_SEC
#define FOR_ROOM_NS   (10 * NSEC_PER_SEC)
#define TIDY_NS	      (60 * NSEC_PER_SEC)
/* The file systems that files are on belong to others. */
#define PATIENCE_S 3
#define RECENT_MAX 64

struct app_watch_link {
	struct app_watch_link *next;
	const struct app_file *file;
	struct bpf_link *link; /* owned */
};

struct app_watch {
	pthread_mutex_t lock;
	pthread_cond_t scanned; /* clock: CLOCK_MONOTONIC */
	/* With the lock: */
	struct app_watcher *watchers;
	struct app_files *files; /* only the thread changes it while it runs */
	bool running, scan, stop;
	bool crowded; /* there was no room for one */
	uint64_t left_out, failed;
	/* The thread's: */
	pthread_t thread;
	struct event_ring *rings;
	struct pollfd *fds; /* of the rings; the last is kick */
	int kick;
	uint64_t looked, look_at; /* at all processes: when, and when again; 0: not */
	struct {
		uint64_t device, inode;
	} recent[RECENT_MAX]; /* looked at in this round */
	uint32_t n_recent;
};

struct app_watch *app_watch__new(void)
{
	struct app_watch *a = calloc(1, sizeof(*a));
	pthread_condattr_t attr;

	if (!a)
		return NULL;
	a->kick = -1;
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->scanned, &attr);
	pthread_condattr_destroy(&attr);
	return a;
}

/* ---- attaching, with the lock ---- */

static void attach(struct app_watch *a, struct app_watcher *w, const struct app_file *f,
		   const struct app_place *p)
{
	struct app_watch_link *l = calloc(1, sizeof(*l));
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	if (l)
		l->link = w->attach(w, path, p->offset, p->arg);
	if (!l || !l->link) {
		free(l);
		a->failed++;
		return;
	}
	l->file = f;
	l->next = w->links;
	w->links = l;
}

static void attach_file(struct app_watch *a, struct app_watcher *w, const struct app_file *f)
{
	for (size_t i = 0; i < f->n_places; i++) {
		if (!strcmp(f->places[i].name, w->name))
			attach(a, w, f, &f->places[i]);
	}
}

/* @f NULL: from all. */
static void detach_file(struct app_watcher *w, const struct app_file *f)
{
	struct app_watch_link **at = &w->links, *l;

	while ((l = *at)) {
		if (f && l->file != f) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		bpf_link__destroy(l->link);
		free(l);
	}
}

static void drop_file(struct app_watch *a, struct app_file *f)
{
	for (struct app_watcher *w = a->watchers; w; w = w->next)
		detach_file(w, f);
	app_files__take(a->files, f);
	app_file__free(f);
}

/* @f is taken over. */
static void add_file(struct app_watch *a, struct app_file *f)
{
	struct app_file *old = app_files__find(a->files, &f->st);

	if (!a->watchers) { /* the last one left meanwhile */
		app_file__free(f);
		return;
	}
	if (old) /* it was written to since */
		drop_file(a, old);
	if (app_files__add(a->files, f)) {
		a->left_out++;
		a->crowded = true;
		app_file__free(f);
		return;
	}
	f->mapped = true;
	for (struct app_watcher *w = a->watchers; w; w = w->next)
		attach_file(a, w, f);
}

/* ---- looking at files, in the thread ---- */

static bool is_known(struct app_watch *a, const struct stat *st)
{
	struct app_file *f;
	bool known;

	pthread_mutex_lock(&a->lock);
	f = app_files__find(a->files, st);
	known = f ? app_file__is_same(f, st) : app_files__is_ignored(a->files, st);
	if (f)
		f->mapped = true;
	pthread_mutex_unlock(&a->lock);
	return known;
}

/* Whoever owns the file may have it wait for a reader, or change it: nothing is locked meanwhile.
 * @found: of foreign.h. */
static void look_at_file(struct app_watch *a, int found, const char *name, const struct stat *st)
{
	struct app_file *f;
	int fd;

	if (is_known(a, st))
		return;
	fd = foreign__open(found);
	if (fd < 0 || app_file__read(fd, st, name, &f))
		return;
	pthread_mutex_lock(&a->lock);
	if (f)
		add_file(a, f);
	else
		app_files__ignore(a->files, st);
	pthread_mutex_unlock(&a->lock);
}

static bool is_recent(const struct app_watch *a, const struct event_map *m)
{
	uint32_t n = a->n_recent < RECENT_MAX ? a->n_recent : RECENT_MAX;

	for (uint32_t i = 0; i < n; i++) {
		if (a->recent[i].device == m->device && a->recent[i].inode == m->inode)
			return true;
	}
	return false;
}

/* The process may have ended, or have mapped something else there since. */
static void look_at_map(const struct event_map *m, void *arg)
{
	struct app_watch *a = arg;
	char path[MAP_FILE_PATH_MAX];
	struct stat st;

	if (!m->inode || !m->pid || (int32_t)m->pid < 0 || m->name[0] != '/' || m->name[1] == '/' ||
	    strlen(m->name) >= PATH_MAX || is_recent(a, m))
		return;
	map_file__path(m->pid, m->start, m->end, path);
	_cleanup_close_ int found = foreign__find(path, FOREIGN_MAGIC, &st);
	if (found < 0)
		found = foreign__find_of(m->pid, m->name, &st);
	if (found < 0) {
		found = foreign__find(m->name, 0, &st);
		if (found < 0 || st.st_ino != m->inode)
			return;
	}
	a->recent[a->n_recent % RECENT_MAX].device = m->device;
	a->recent[a->n_recent++ % RECENT_MAX].inode = m->inode;
	look_at_file(a, found, m->name, &st);
}

/* What no process has mapped and its name does not lead to any more; for room, all that no process has
 * mapped. */
static void drop_unused(struct app_watch *a)
{
	struct app_file *f, *next;

	for (f = app_files__all(a->files); f; f = next) {
		next = f->next;
		if (!f->mapped && (a->crowded || !app_file__is_there(f)))
			drop_file(a, f);
	}
	a->crowded = false;
}

static void look_at_probe_file(struct app_watch *a, const struct probe_file *file)
{
	struct stat st;
	_cleanup_close_ int found = foreign__find(file->open, FOREIGN_TRUSTED, &st);

	if (found >= 0 && st.st_dev == file->st.st_dev && st.st_ino == file->st.st_ino)
		look_at_file(a, found, file->name, &st);
}

static void look_at_all(struct app_watch *a)
{
	struct probe_files files = { 0 };
	int r;

	pthread_mutex_lock(&a->lock);
	for (struct app_file *f = app_files__all(a->files); f; f = f->next)
		f->mapped = false;
	pthread_mutex_unlock(&a->lock);
	r = probe_files__find_mapped(&files);
	for (size_t i = 0; i < files.n; i++)
		look_at_probe_file(a, &files.v[i]);
	pthread_mutex_lock(&a->lock);
	if (!r)
		drop_unused(a);
	a->scan = false;
	a->looked = now_ns();
	a->look_at = 0;
	pthread_cond_broadcast(&a->scanned);
	pthread_mutex_unlock(&a->lock);
	probe_files__free(&files);
}

/* ---- the thread ---- */

static void plan_look(struct app_watch *a, uint64_t after)
{
	uint64_t at = a->looked + after;

	if (!a->look_at || at < a->look_at)
		a->look_at = at;
}

static bool has_lost_files(struct app_watch *a)
{
	bool lost = false;

	pthread_mutex_lock(&a->lock);
	for (const struct app_file *f = app_files__all(a->files); f && !lost; f = f->next)
		lost = !app_file__is_there(f);
	pthread_mutex_unlock(&a->lock);
	return lost;
}

/* Are all processes to be looked at, now that there is something to do anyway? */
static void consider_look(struct app_watch *a, bool lost)
{
	if (lost)
		plan_look(a, AFTER_LOSS_NS);
	if (a->crowded)
		plan_look(a, FOR_ROOM_NS);
	else if (now_ns() - a->looked > TIDY_NS && has_lost_files(a))
		plan_look(a, TIDY_NS);
}

static int poll_timeout(const struct app_watch *a)
{
	uint64_t now = now_ns();

	if (!a->look_at)
		return -1;
	return a->look_at <= now ? 0 : (int)((a->look_at - now) / NSEC_PER_MSEC + 1);
}

static void read_rings(struct app_watch *a)
{
	size_t n = event_ring__n(a->rings);
	uint64_t lost = 0;
	bool any = false;

	a->n_recent = 0;
	for (size_t i = 0; i < n; i++) {
		if (!a->fds[i].revents)
			continue;
		any = true;
		lost += event_ring__read_maps(a->rings, i, look_at_map, a);
		if (a->fds[i].revents & POLLHUP) /* its CPU went offline */
			a->fds[i].fd = -1;
	}
	if (any)
		consider_look(a, lost);
	if (any)
		poll(&a->fds[n], 1, GATHER_MS);
}

/* Rings on the CPUs that there are, and what is polled of them. */
static int open_rings(struct app_watch *a, struct event_ring **ret_rings, struct pollfd **ret_fds)
{
	struct pollfd *fds = NULL;
	struct event_ring *rings;
	int r = event_ring__open_maps(&rings);
	size_t n = r ? 0 : event_ring__n(rings);

	if (r)
		return r;
	fds = calloc(n + 1, sizeof(*fds));
	if (!fds) {
		event_ring__close(rings);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){ event_ring__fd(rings, i), POLLIN, 0 };
	fds[n] = (struct pollfd){ a->kick, POLLIN, 0 };
	*ret_rings = rings;
	*ret_fds = fds;
	return 0;
}

/* CPUs have come or gone. What was mapped meanwhile is looked for. */
static void renew_rings(struct app_watch *a)
{
	struct event_ring *rings;
	struct pollfd *fds;

	if (open_rings(a, &rings, &fds))
		return; /* with the next change once more */
	pthread_mutex_lock(&a->lock);
	event_ring__enable(rings, a->watchers != NULL);
	event_ring__close(a->rings);
	free(a->fds);
	a->rings = rings;
	a->fds = fds;
	a->scan = true;
	pthread_mutex_unlock(&a->lock);
}

static void *watch_thread(void *arg)
{
	struct app_watch *a = arg;
	bool scan = true, stop = false;
	uint64_t kicks;

	while (!stop) {
		if (scan || (a->look_at && a->look_at <= now_ns()))
			look_at_all(a);
		if (poll(a->fds, event_ring__n(a->rings) + 1, poll_timeout(a)) > 0)
			read_rings(a);
		if (read(a->kick, &kicks, sizeof(kicks)) < 0 && errno != EAGAIN)
			break;
		if (event_ring__is_stale(a->rings))
			renew_rings(a);
		pthread_mutex_lock(&a->lock);
		scan = a->scan;
		stop = a->stop;
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static void kick(struct app_watch *a)
{
	uint64_t one = 1;

	while (write(a->kick, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void free_thread(struct app_watch *a)
{
	event_ring__close(a->rings);
	free(a->fds);
	if (a->kick >= 0)
		close(a->kick);
	a->rings = NULL;
	a->fds = NULL;
	a->kick = -1;
}

static int prepare_thread(struct app_watch *a)
{
	if (access(UPROBE_PMU, F_OK))
		return -EOPNOTSUPP;
	a->files = a->files ?: app_files__new();
	a->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!a->files || a->kick < 0)
		return a->files ? -errno : -ENOMEM;
	return open_rings(a, &a->rings, &a->fds);
}

static int start_thread(struct app_watch *a)
{
	sigset_t all, old;
	int r = prepare_thread(a);

	if (!r) {
		/* signals are for the thread that reads them */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		r = -pthread_create(&a->thread, NULL, watch_thread, a);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (r) {
		free_thread(a);
		return r;
	}
	pthread_setname_np(a->thread, THREAD_NAME);
	a->running = true;
	return 0;
}

static struct timespec deadline(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += PATIENCE_S;
	return ts;
}

/* ---- for the others ---- */

/* The rings record first, then the processes are looked at: nothing falls between. */
static int begin(struct app_watch *a)
{
	struct timespec until = deadline(CLOCK_MONOTONIC);
	int r = 0;

	a->scan = true;
	if (!a->running)
		r = start_thread(a);
	if (r)
		return r;
	event_ring__enable(a->rings, true);
	kick(a);
	while (a->scan && !r)
		r = pthread_cond_timedwait(&a->scanned, &a->lock, &until);
	return 0; /* it goes on, if it has not come to its end */
}

/* It does not wake up any more, and holds no files. */
static void end(struct app_watch *a)
{
	struct app_file *f;

	event_ring__enable(a->rings, false);
	while ((f = app_files__all(a->files)))
		drop_file(a, f);
}

int app_watch__join(struct app_watch *a, struct app_watcher *w)
{
	bool first;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	first = !a->watchers;
	w->next = a->watchers;
	a->watchers = w;
	if (first)
		r = begin(a);
	for (struct app_file *f = first ? NULL : app_files__all(a->files); f; f = f->next)
		attach_file(a, w, f);
	if (r)
		a->watchers = w->next;
	pthread_mutex_unlock(&a->lock);
	return r;
}

void app_watch__leave(struct app_watch *a, struct app_watcher *w)
{
	struct app_watcher **at = &a->watchers;

	pthread_mutex_lock(&a->lock);
	while (*at && *at != w)
		at = &(*at)->next;
	if (*at) {
		*at = w->next;
		detach_file(w, NULL);
		if (!a->watchers)
			end(a);
	}
	pthread_mutex_unlock(&a->lock);
}

void app_watch__follow_cpus(struct app_watch *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->running)
		kick(a);
	pthread_mutex_unlock(&a->lock);
}

void app_watch__stats(struct app_watch *a, struct app_watch_stats *ret)
{
	pthread_mutex_lock(&a->lock);
	*ret = (struct app_watch_stats){ .left_out = a->left_out, .failed = a->failed };
	if (a->files)
		ret->files = app_files__n(a->files, &ret->places);
	pthread_mutex_unlock(&a->lock);
}

/* False: it hangs in a file system. */
static bool stop_thread(struct app_watch *a)
{
	struct timespec until = deadline(CLOCK_REALTIME);

	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_mutex_unlock(&a->lock);
	kick(a);
	if (!pthread_timedjoin_np(a->thread, NULL, &until))
		return true;
	pthread_detach(a->thread);
	return false;
}

void app_watch__free(struct app_watch *a)
{
	if (!a || (a->running && !stop_thread(a)))
		return;
	free_thread(a);
	app_files__free(a->files);
	pthread_cond_destroy(&a->scanned);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
