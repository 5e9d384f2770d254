// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/log.h"
#include "daemon/cpu_follow.h"

struct cpu_follow {
	struct cpu_watch *watch;
	struct sideband *sb;
	atomic_bool again; /* something failed: try again */
	struct buf failed; /* the failures as last logged, one a line */
	char list[256];	   /* CPUs online at the last change */
	int opened;	   /* events opened at the last change */
};

struct round {
	int *online; /* owned */
	size_t n;
	uint64_t max; /* bytes: limit of the sessions */
	int opened;
	struct buf failed; /* lines; owned */
};

int cpu_follow__open(struct err *err, struct cpu_follow **ret)
{
	struct cpu_follow *f = calloc(1, sizeof(*f));
	int code = f ? cpu_watch__open(&f->watch) : -ENOMEM;

	if (code) {
		free(f);
		return err_set(err, code, "cannot watch CPUs: %s", strerror(-code));
	}
	*ret = f;
	return 0;
}

/*
 * Look for changes that the kernel did not report. An aborted suspend takes CPUs offline and back.
 * Neither the list of CPUs nor the clocks show that afterwards, so ask the side band.
 */
static void on_tick(void *arg)
{
	struct cpu_follow *f = arg;

	cpu_watch__compare(f->watch);
	if (sideband__has_lost_cpu(f->sb) || atomic_load(&f->again))
		cpu_watch__notify(f->watch);
}

void cpu_follow__begin(struct cpu_follow *f, struct sideband *sb)
{
	f->sb = sb;
	sideband__on_tick(sb, on_tick, f);
}

int cpu_follow__fd(const struct cpu_follow *f)
{
	return cpu_watch__fd(f->watch);
}

static void round__count(struct round *r, int opened, const struct err *err)
{
	if (opened < 0)
		buf__printf(&r->failed, "%s\n", err->msg);
	else
		r->opened += opened;
}

static void follow_session(struct session *s, void *arg)
{
	struct round *r = arg;
	struct err err = { 0 };

	round__count(r, session__follow_cpus(s, r->online, r->n, r->max, &err), &err);
}

/* Have the side band follow first: without it, nothing that starts on a new CPU has a name. */
static void follow_sideband(struct cpu_follow *f, struct round *r, struct active_set *g)
{
	uint64_t all = g->max_memory + g->sideband_memory, used;
	struct sideband_stats st;
	struct err err = { 0 };

	sideband__stats(f->sb, &st);
	used = session__memory_of_all() + st.ring_bytes;
	round__count(
		r, sideband__follow_cpus(f->sb, r->online, r->n, used < all ? all - used : 0, &err),
		&err);
	sideband__stats(f->sb, &st);
	if (st.ring_bytes > g->sideband_memory)
		active_set__set_sideband_memory(g, st.ring_bytes);
	r->max = g->max_memory;
}

/* Log failures once, even if the same ones are repeated. */
static void log_failed(struct cpu_follow *f, struct round *r)
{
	char *save = NULL;
	bool same = r->failed.len == f->failed.len &&
		    (!r->failed.len || !memcmp(r->failed.data, f->failed.data, r->failed.len));

	atomic_store(&f->again, r->failed.len > 0);
	if (same) {
		buf__free(&r->failed);
		return;
	}
	buf__free(&f->failed);
	f->failed = r->failed;
	if (!f->failed.len)
		return;
	_cleanup_free_ char *text = strdup(f->failed.data);

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		log_error("%s", line);
}

static void list_cpus(const struct round *r, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < r->n && len + 24 < size; i++) {
		size_t first = i;

		while (i + 1 < r->n && r->online[i + 1] == r->online[i] + 1)
			i++;
		len += snprintf(ret + len, size - len, "%s%d", len ? "," : "", r->online[first]);
		if (i > first)
			len += snprintf(ret + len, size - len, "-%d", r->online[i]);
	}
}

bool cpu_follow__process(struct cpu_follow *f, struct horizon *sessions, struct active_set *g)
{
	struct round r = { 0 };
	char list[sizeof(f->list)];
	int err;

	if (!cpu_watch__read(f->watch))
		return false;
	err = cpus__online(&r.online, &r.n);
	if (err) {
		log_error("cannot read which CPUs are online: %s", strerror(-err));
		return false;
	}
	follow_sideband(f, &r, g);
	horizon__each_session(sessions, follow_session, &r);
	log_failed(f, &r);
	list_cpus(&r, list, sizeof(list));
	free(r.online);
	if (!r.opened && strcmp(list, f->list) == 0)
		return false;
	memcpy(f->list, list, sizeof(list));
	f->opened = r.opened;
	cpus__note_change();
	return true;
}

void cpu_follow__log(const struct cpu_follow *f)
{
	log_info("CPUs online: %s%s", f->list,
		 f->opened ? "; new and returning CPUs are recorded from now on" : "");
}

void cpu_follow__free(struct cpu_follow *f)
{
	if (!f)
		return;
	cpu_watch__free(f->watch);
	buf__free(&f->failed);
	free(f);
}
