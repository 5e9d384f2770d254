// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpu_watch.h"
#include "common/cpus.h"
#include "common/log.h"
#include "daemon/cpu_follow.h"

struct cpu_follow {
	struct cpu_watch *watch;
	char said[320];
};

struct round {
	int *online; /* owned */
	size_t n;
	int opened;
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

static void on_tick(void *arg)
{
	cpu_watch__compare(arg);
}

void cpu_follow__begin(struct cpu_follow *f, struct sideband *sb)
{
	sideband__on_tick(sb, on_tick, f->watch);
}

int cpu_follow__fd(const struct cpu_follow *f)
{
	return cpu_watch__fd(f->watch);
}

static void follow_session(struct session *s, void *arg)
{
	struct round *r = arg;
	struct err err = { 0 };
	int n = session__follow_cpus(s, r->online, r->n, &err);

	if (n < 0)
		log_error("%s", err.msg);
	else
		r->opened += n;
}

static void describe(const struct round *r, char *ret, size_t size)
{
	char text[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < r->n && len + 24 < sizeof(text); i++) {
		size_t first = i;

		while (i + 1 < r->n && r->online[i + 1] == r->online[i] + 1)
			i++;
		len += snprintf(text + len, sizeof(text) - len, "%s%d", len ? "," : "",
				r->online[first]);
		if (i > first)
			len += snprintf(text + len, sizeof(text) - len, "-%d", r->online[i]);
	}
	snprintf(ret, size, "CPUs on line: %s%s", text,
		 r->opened ? "; those that came (back) are recorded from now on" : "");
}

bool cpu_follow__process(struct cpu_follow *f, struct sideband *sb, struct horizon *sessions)
{
	struct round r = { 0 };
	struct err err = { 0 };
	int code;

	if (!cpu_watch__read(f->watch))
		return false;
	code = cpus__online(&r.online, &r.n);
	if (code) {
		log_error("the CPUs that are on line cannot be read: %s", strerror(-code));
		return false;
	}
	cpus__note_change();
	code = sideband__follow_cpus(sb, r.online, r.n, &err);
	if (code < 0)
		log_error("%s", err.msg);
	else
		r.opened = code;
	horizon__each_session(sessions, follow_session, &r);
	describe(&r, f->said, sizeof(f->said));
	free(r.online);
	return true;
}

void cpu_follow__log(const struct cpu_follow *f)
{
	log_info("%s", f->said);
}

void cpu_follow__free(struct cpu_follow *f)
{
	if (!f)
		return;
	cpu_watch__free(f->watch);
	free(f);
}
