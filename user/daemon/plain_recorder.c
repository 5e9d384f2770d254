// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/event_fd.h"
#include "common/forward_ring.h"
#include "common/log.h"
#include "daemon/plain_recorder.h"
#include "record/offcpu_event.h"

#define STEP_MS 1000

struct plain_recorder {
	const struct dump_env *env;
	struct session *session;
	int dir_fd;
	struct plain_file *file; /* NULL: nothing is written any more */
	uint64_t since;		 /* ns: the rings have no older record */
	struct pollfd *polled;	 /* the wake-up, then the rings; owned */
	uint64_t woken;
	_Atomic uint64_t bytes;
	bool full; /* it has stopped, and step has reported that */
	struct forward_record wrapped, renamed;
};

/* When the first ring was opened, ns. Its side-band events record before the session is started. */
static uint64_t first_opened(const struct session *s)
{
	uint64_t first = now_ns();

	for (size_t c = 0; c < s->n_cpus; c++)
		first = s->cpus[c].opened < first ? s->cpus[c].opened : first;
	return first;
}

int plain_recorder__new(const struct dump_env *env, struct session *s, int dir_fd, struct err *err,
			struct plain_recorder **ret)
{
	struct plain_recorder *p = calloc(1, sizeof(*p));
	int code;

	if (p)
		p->polled = calloc(s->max_cpus + 1, sizeof(*p->polled));
	if (!p || !p->polled) {
		free(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->env = env;
	p->session = s;
	p->dir_fd = dir_fd;
	p->since = first_opened(s);
	code = plain_file__open(env, s, dir_fd, p->since, err, &p->file);
	if (code) {
		free(p->polled);
		free(p);
		return code;
	}
	*ret = p;
	return 0;
}

/* ---- draining ---- */

struct pass {
	struct plain_recorder *p;
	size_t cpu;
	int code;
	struct err *err;
};

/*
 * Convert a record for the file. Replaces the ids of events that were opened when a CPU came back
 * or was new. Changes samples of offcpu-time to the layout of files. The result may be a copy.
 * NULL: the sample is torn.
 */
static const struct perf_event_header *record_of_file(struct plain_recorder *p, size_t cpu,
						      const struct perf_event_header *rec)
{
	const struct perf_event_header *copy = (void *)p->renamed.bytes;

	if (!p->session->n_aliases && !p->session->events->off_cpu.wanted &&
	    !p->session->events->off_cpu.sampled)
		return rec;
	memcpy(p->renamed.bytes, rec, rec->size);
	session__rename(p->session, &copy, 1);
	return offcpu_event__unpack(p->session, cpu, &copy, 1) ? copy : NULL;
}

static void drain_plain_record(const struct perf_event_header *rec, void *arg)
{
	struct pass *pass = arg;

	if (pass->code || !record__valid(rec, rec->size))
		return;
	rec = record_of_file(pass->p, pass->cpu, rec);
	if (rec)
		pass->code = plain_file__add(pass->p->file, pass->cpu, rec, pass->err);
}

/* Without a file, records are dropped. 0, -EFBIG, or negative errno with a message in @err. */
static int drain_rings(struct plain_recorder *p, struct err *err)
{
	struct pass pass = { .p = p, .code = p->file ? 0 : -ENOENT, .err = err };
	bool was_writing = p->file;

	p->since = now_ns();
	for (size_t c = 0; c < p->session->n_cpus; c++) {
		const struct ring *r = &p->session->cpus[c].ring;
		const struct forward_ring ring = { r->base, r->size };

		pass.cpu = c;
		forward_ring__drain(&ring, &p->wrapped, drain_plain_record, &pass);
	}
	if (!was_writing)
		return 0;
	pass.code = pass.code ?: plain_file__end_pass(p->file, err);
	atomic_store(&p->bytes, plain_file__bytes(p->file));
	return pass.code;
}

uint64_t plain_recorder__bytes(const struct plain_recorder *p)
{
	return atomic_load(&p->bytes);
}

static void wait_for_rings(struct plain_recorder *p, int wake)
{
	size_t n = p->session->n_cpus;
	bool some = false;

	p->polled[0] = (struct pollfd){ .fd = wake, .events = POLLIN };
	for (size_t c = 0; c < n; c++)
		p->polled[1 + c] =
			(struct pollfd){ .fd = p->session->cpus[c].anchor, .events = POLLIN };
	if (poll(p->polled, n + 1, STEP_MS) <= 0)
		return;
	if (p->polled[0].revents)
		event_fd__drain(wake);
	for (size_t c = 0; c < n; c++)
		some |= p->polled[1 + c].revents & POLLIN;
	p->woken += some;
}

bool plain_recorder__step(struct plain_recorder *p, int wake, struct err *ret_why)
{
	uint64_t max = p->session->output.max_bytes;
	struct err err = { 0 };
	int code;

	*ret_why = (struct err){ 0 };
	wait_for_rings(p, wake);
	code = drain_rings(p, &err);
	if (!code || p->full)
		return !p->full;
	p->full = true;
	if (code == -EFBIG)
		err_set(ret_why, code,
			"[ perf record: perf size limit reached (%llu KB), "
			"stopping session ]",
			(unsigned long long)(max >> 10));
	else
		err_set(ret_why, code, "failed to write perf data, error: %s", err.msg);
	return false;
}

/* ---- files ---- */

void plain_recorder__dump(struct plain_recorder *p, struct incident *inc, bool last,
			  struct dump_result *ret)
{
	struct err err = { 0 }, next = { 0 };
	uint64_t begun = now_ns();
	int code = p->file ? 0 : err_set(&err, -ENOENT, "its file has ended");

	ret->session = p->session;
	code = code ?: drain_rings(p, &err);
	if (!code || code == -EFBIG)
		code = plain_file__close(p->file, inc, &err, ret);
	plain_file__free(p->file);
	p->file = NULL;
	if (code)
		snprintf(ret->error_text, sizeof(ret->error_text), "%.*s",
			 (int)sizeof(ret->error_text) - 1, err.msg);
	ret->error = code;
	if (!last && plain_file__open(p->env, p->session, p->dir_fd, p->since, &next, &p->file))
		log_error("%s", next.msg);
	ret->write_ns = now_ns() - begun;
}

/* Describe the end as finish() of cmd_record() in tools/perf/builtin-record.c does. */
static char *describe_plain_end(struct plain_recorder *p, int code, const struct err *err)
{
	const char *name = p->session->output.name;
	char *text = NULL;
	int n;

	if (code)
		n = asprintf(&text, "failed to write perf data, error: %s\n", err->msg);
	else if (plain_file__samples(p->file))
		n = asprintf(&text,
			     "[ perf record: Woken up %llu times to write data ]\n"
			     "[ perf record: Captured and wrote %.3f MB %s (%llu samples) ]\n",
			     (unsigned long long)p->woken,
			     plain_file__bytes(p->file) / 1024.0 / 1024.0,
			     name[0] ? name : "perf.data",
			     (unsigned long long)plain_file__samples(p->file));
	else
		n = asprintf(&text,
			     "[ perf record: Woken up %llu times to write data ]\n"
			     "[ perf record: Captured and wrote %.3f MB %s ]\n",
			     (unsigned long long)p->woken,
			     plain_file__bytes(p->file) / 1024.0 / 1024.0,
			     name[0] ? name : "perf.data");
	return n < 0 ? NULL : text;
}

char *plain_recorder__free(struct plain_recorder *p)
{
	struct err err = { 0 };
	char *text;
	int code;

	if (!p)
		return strdup("");
	if (p->file) {
		code = drain_rings(p, &err);
		code = code && code != -EFBIG ? code : plain_file__close(p->file, NULL, &err, NULL);
		text = describe_plain_end(p, code, &err);
	} else {
		text = strdup("");
	}
	plain_file__free(p->file);
	free(p->polled);
	free(p);
	return text;
}
