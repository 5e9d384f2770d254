// SPDX-License-Identifier: GPL-2.0-only
/*
 * An untrusted perf.data file is read to its end or refused with a message. All returned bytes are
 * readable, and times never decrease.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/offcpu_profile.h"
#include "perfdata/sample.h"
#include "symbols/task_model.h"
#include "symbols/kernel_space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum; /* so that reading is not optimised away */

static void touch(const void *p, size_t len)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < len; i++)
		sum += c[i];
}

static void touch_info(const struct file_info *info)
{
	for (size_t i = 0; i < info->n_events; i++)
		touch(info->events[i].name, strlen(info->events[i].name));
	for (size_t i = 0; i < info->n_build_ids; i++)
		touch(info->build_ids[i].name, strlen(info->build_ids[i].name));
	for (size_t i = 0; i < info->n_formats; i++) {
		const struct file_format *f = &info->formats[i];
		struct switch_fields fields;

		touch(f->system, strlen(f->system));
		touch(f->text, f->len);
		switch_fields__find(f->text, f->len, &fields);
	}
	for (size_t i = 0; info->cmdline && info->cmdline[i]; i++)
		touch(info->cmdline[i], strlen(info->cmdline[i]));
	if (info->hostname)
		touch(info->hostname, strlen(info->hostname));
}

struct models {
	struct task_model *tasks;
	struct kernel_space kernel;
	struct offcpu offcpu;
};

static void use_sample(struct models *m, const struct perf_file *f, const struct sample *s)
{
	const struct file_format *format = perf_file__format(f, s->event->attr.config);
	uint32_t *stack, state;
	struct switch_fields fields;
	struct task_switch t;

	touch(s->ips, s->n_ips * sizeof(*s->ips));
	touch(s->raw, s->raw_size);
	task_model__find_map(m->tasks, s->pid, s->ip);
	task_model__comm(m->tasks, s->pid, s->tid);
	kernel_space__find(&m->kernel, s->ip);
	if (format && switch_fields__find(format->text, format->len, &fields) &&
	    switch_fields__read(&fields, s, &t)) {
		if (offcpu__switch(&m->offcpu, &t, t.state % 64))
			abort();
		touch(offcpu__state_name(t.state), 1);
	} else if (offcpu__samples_waits(s->event)) {
		stack = offcpu__stack_of_wait(&m->offcpu, s->tid, s->time, s->period, &state);
		if (stack)
			*stack = state % 64;
	} else {
		offcpu__ran(&m->offcpu, s->tid, s->time);
	}
}

static int read_records(struct perf_file *f, struct models *m, struct err *err)
{
	struct file_record rec;
	struct sample s;
	uint64_t last = 0;
	int r;

	while ((r = perf_file__next(f, err, &rec)) > 0) {
		if (rec.h->type == PERF_RECORD_SAMPLE) {
			r = sample__decode(f, &rec, err, &s);
			if (r)
				break;
			if (s.event->attr.sample_type & PERF_SAMPLE_TIME && s.time < last)
				abort();
			if (s.event->attr.sample_type & PERF_SAMPLE_TIME && s.time != UINT64_MAX)
				last = s.time;
			use_sample(m, f, &s);
			continue;
		}
		if (!record__valid(rec.h, rec.h->size))
			abort();
		kernel_space__apply(&m->kernel, rec.h);
		task_model__apply(m->tasks, rec.h);
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), r;
	struct models m = { 0 };
	struct err err = { 0 };
	struct perf_file *f;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || task_model__new(&m.tasks))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = perf_file__open(path, &err, &f);
	if (!r) {
		touch_info(perf_file__info(f));
		r = read_records(f, &m, &err);
		perf_file__free(f);
	}
	if (r && !err.msg[0])
		abort();
	offcpu__end(&m.offcpu, UINT64_MAX);
	offcpu__free(&m.offcpu);
	kernel_space__free(&m.kernel);
	task_model__free(m.tasks);
	close(fd);
	return 0;
}
