// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "detect/engine/load_error.h"
#include "detect/engine/source.h"
#include "detect/feed/feed.h"
#include "fed_records.h"
#include "interrupts.skel.h"
#include "lock_wait.skel.h"
#include "offcpu_time.skel.h"

#define ATTACH_TO  "tp_btf/"
#define WANTED_MAX 65536 /* tasks that exist when a session begins */

/* Room for sleeps that end at a freeze: about 200 a CPU */
#define ENDED_BYTES_MIN	    (1U << 20)
#define ENDED_BYTES_PER_CPU (64U << 10)

/* The programs of one kind */
struct feed_programs {
	void *skel; /* owned; NULL: not loaded */
	struct bpf_object_skeleton *skeleton;
	struct bpf_map *out; /* the event of each CPU that they write into */
};

struct feed {
	struct feed_programs of[FEED_KINDS];
	struct ring_buffer *ended; /* owned: of asleep_programs() */
	struct buf *ended_to;	   /* where feed__asleep() puts what it reads from @ended */
	uint64_t freeze_began;	   /* ns */
	uint64_t lost;		   /* `ended_lost` of the programs at the last feed__asleep() */
	char lacking[256];
};

static int lock_wait_open(struct feed_programs *p, uint16_t event_type)
{
	struct lock_wait_bpf *skel = lock_wait_bpf__open();
	struct stat ns;

	if (!skel)
		return -errno;
	skel->rodata->event_type = event_type;
	if (!stat("/proc/self/ns/pid", &ns))
		skel->rodata->daemon_pidns = ns.st_ino;
	*p = (struct feed_programs){ skel, skel->skeleton, skel->maps.out };
	return 0;
}

static void lock_wait_free(void *skel)
{
	lock_wait_bpf__destroy(skel);
}

static int interrupts_open(struct feed_programs *p, uint16_t event_type)
{
	struct interrupts_bpf *skel = interrupts_bpf__open();

	if (!skel)
		return -errno;
	skel->rodata->event_type = event_type;
	*p = (struct feed_programs){ skel, skel->skeleton, skel->maps.out };
	return 0;
}

static void interrupts_free(void *skel)
{
	interrupts_bpf__destroy(skel);
}

/* A power of two: see BPF_MAP_TYPE_RINGBUF */
static uint32_t ended_bytes(void)
{
	uint32_t bytes = ENDED_BYTES_MIN;

	while (bytes / ENDED_BYTES_PER_CPU < (uint32_t)cpus__n_possible())
		bytes *= 2;
	return bytes;
}

static int off_cpu_open(struct feed_programs *p, const struct feed_off_cpu *o)
{
	struct offcpu_time_bpf *skel = offcpu_time_bpf__open();
	struct stat ns;

	if (!skel)
		return -errno;
	skel->rodata->least_ns = o->least_ns;
	skel->rodata->sampled = o->sampled;
	skel->rodata->of_tasks = o->of_tasks;
	skel->rodata->inherits = o->inherits;
	skel->rodata->of_cgroups = o->n_cgroups;
	skel->rodata->with_kernel = !o->no_kernel;
	skel->rodata->with_user = !o->no_user;
	if (!stat("/proc/self/ns/pid", &ns))
		skel->rodata->daemon_pidns = ns.st_ino;
	*p = (struct feed_programs){ skel, skel->skeleton, skel->maps.out };
	bpf_program__set_autoattach(skel->progs.ot_tasks, false);
	bpf_program__set_autoattach(skel->progs.ot_asleep, false);
	return bpf_map__set_max_entries(skel->maps.cgroups, o->n_cgroups ?: 1)
		       ?: bpf_map__set_max_entries(skel->maps.wanted, o->of_tasks ? WANTED_MAX : 1)
		       ?: bpf_map__set_max_entries(skel->maps.ended, ended_bytes());
}

static void off_cpu_free(void *skel)
{
	offcpu_time_bpf__destroy(skel);
}

static const struct feed_ops {
	/* NULL: see feed__load_off_cpu() */
	int (*open)(struct feed_programs *p, uint16_t event_type);
	void (*free)(void *skel); /* NULL is legal */
} feed_ops[FEED_KINDS] = {
	[FEED_LOCK_WAIT] = { lock_wait_open, lock_wait_free },
	[FEED_INTERRUPT] = { interrupts_open, interrupts_free },
	[FEED_OFF_CPU] = { NULL, off_cpu_free },
	[FEED_OFF_CPU_SAMPLED] = { NULL, off_cpu_free },
};

static void programs_free(struct feed *f, enum feed_kind kind)
{
	feed_ops[kind].free(f->of[kind].skel);
	f->of[kind] = (struct feed_programs){ NULL };
}

static bool kernel_has(const struct btf *kernel, const char *tracepoint)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

static void note_lacking(struct feed *f, const char *tracepoint)
{
	size_t len = strlen(f->lacking);

	snprintf(f->lacking + len, sizeof(f->lacking) - len, "%s%s", len ? ", " : "", tracepoint);
}

/* Leave out programs whose tracepoint this kernel lacks. 0 or negative errno. */
static int leave_out_programs(struct feed *f, const struct feed_programs *p)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_program *prog;

	if (!kernel)
		return -errno;
	bpf_object__for_each_program(prog, *p->skeleton->obj)
	{
		const char *section = bpf_program__section_name(prog), *tracepoint;

		if (strncmp(section, ATTACH_TO, strlen(ATTACH_TO)) != 0)
			continue;
		tracepoint = section + strlen(ATTACH_TO);
		if (kernel_has(kernel, tracepoint))
			continue;
		bpf_program__set_autoload(prog, false);
		note_lacking(f, tracepoint);
	}
	btf__free(kernel);
	return 0;
}

static int programs_load(struct feed *f, struct feed_programs *p)
{
	int err = bpf_map__set_max_entries(p->out, cpus__n_possible());

	err = err ?: leave_out_programs(f, p);
	return err ?: bpf_object__load_skeleton(p->skeleton);
}

int feed__new(struct feed **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

int feed__load(struct feed *f, enum feed_kind kind, uint16_t event_type, struct err *err)
{
	struct load_log log;
	int code;

	load_log__begin(&log);
	code = feed_ops[kind].open(&f->of[kind], event_type);
	code = code ?: programs_load(f, &f->of[kind]);
	load_log__end();
	if (!code)
		return 0;
	programs_free(f, kind);
	return load_error__explain(err, code, &log);
}

static int set_feed_cgroups(const struct offcpu_time_bpf *skel, const struct feed_off_cpu *o)
{
	uint8_t in = 1;

	for (size_t i = 0; i < o->n_cgroups; i++)
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.cgroups), &o->cgroups[i], &in,
					BPF_ANY))
			return -errno;
	return 0;
}

int feed__load_off_cpu(struct feed *f, const struct feed_off_cpu *o, struct err *err)
{
	enum feed_kind kind = o->sampled ? FEED_OFF_CPU_SAMPLED : FEED_OFF_CPU;
	struct feed_programs *p = &f->of[kind];
	struct load_log log;
	int code;

	load_log__begin(&log);
	code = off_cpu_open(p, o);
	code = code ?: programs_load(f, p);
	load_log__end();
	code = code ?: set_feed_cgroups(p->skel, o);
	if (!code)
		return 0;
	programs_free(f, kind);
	return load_error__explain(err, code, &log);
}

static int mark_off_cpu_tasks(struct offcpu_time_bpf *skel, const pid_t *tids, size_t n,
			      size_t *new)
{
	uint64_t before = skel->bss->marked;
	uint8_t in = 1;
	int err;

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.wanted), &tids[i], &in, BPF_ANY))
			return -errno;
	err = source__iterate(skel->progs.ot_tasks);
	if (!err)
		*new += skel->bss->marked - before;
	return err;
}

int feed__mark(struct feed *f, const pid_t *tids, size_t n, size_t *ret_new)
{
	size_t new = 0;
	int err = 0;

	for (enum feed_kind kind = FEED_OFF_CPU; kind <= FEED_OFF_CPU_SAMPLED && !err; kind++)
		if (f->of[kind].skel)
			err = mark_off_cpu_tasks(f->of[kind].skel, tids, n, &new);
	if (!err)
		*ret_new = new;
	return err;
}

void feed__freeze_begins(struct feed *f, uint64_t time)
{
	f->freeze_began = time;
	for (enum feed_kind kind = FEED_OFF_CPU; kind <= FEED_OFF_CPU_SAMPLED; kind++) {
		struct offcpu_time_bpf *skel = f->of[kind].skel;

		if (skel)
			__atomic_store_n(&skel->bss->freeze_began, time, __ATOMIC_RELEASE);
	}
}

void feed__frozen(struct feed *f, uint64_t time)
{
	for (enum feed_kind kind = FEED_OFF_CPU; kind <= FEED_OFF_CPU_SAMPLED; kind++) {
		struct offcpu_time_bpf *skel = f->of[kind].skel;

		if (skel)
			__atomic_store_n(&skel->bss->frozen_at, time, __ATOMIC_RELEASE);
	}
}

/* The programs whose sleeps are listed at a freeze; NULL: none */
static struct offcpu_time_bpf *asleep_programs(const struct feed *f)
{
	return f->of[FEED_OFF_CPU_SAMPLED].skel ?: f->of[FEED_OFF_CPU].skel;
}

static int on_ended(void *ctx, void *data, size_t size)
{
	const struct frbpf_asleep *a = data;
	struct feed *f = ctx;

	if (size < FRBPF_ASLEEP_HEAD || size < a->size || a->ended < f->freeze_began ||
	    f->ended_to->len >= FEED_ASLEEP_BYTES)
		return 0;
	return buf__add(f->ended_to, a, a->size);
}

/* Add the sleeps that have ended since the last freeze began. */
static int take_ended(struct feed *f, struct buf *ret)
{
	int n;

	f->ended_to = ret;
	n = ring_buffer__consume(f->ended);
	f->ended_to = NULL;
	return n < 0 ? n : 0;
}

int feed__asleep(struct feed *f, uint64_t time, struct buf *ret, uint64_t *ret_lost)
{
	struct offcpu_time_bpf *skel = asleep_programs(f);
	uint64_t lost;
	int err;

	*ret_lost = 0;
	if (!skel)
		return 0;
	skel->bss->asleep_at = time;
	err = source__iterate_into(skel->progs.ot_asleep, ret, FEED_ASLEEP_BYTES);
	err = err ?: take_ended(f, ret);
	feed__frozen(f, 0);
	lost = skel->bss->ended_lost;
	*ret_lost = lost - f->lost;
	f->lost = lost;
	return err;
}

const char *feed__lacking(const struct feed *f)
{
	return f->lacking;
}

int feed__send(struct feed *f, enum feed_kind kind, int cpu, int fd)
{
	uint32_t key = cpu, value = fd;

	if (!f->of[kind].skel)
		return 0;
	return bpf_map_update_elem(bpf_map__fd(f->of[kind].out), &key, &value, BPF_ANY) ? -errno
											: 0;
}

static int open_ended(struct feed *f)
{
	const struct offcpu_time_bpf *skel = asleep_programs(f);

	if (skel)
		f->ended = ring_buffer__new(bpf_map__fd(skel->maps.ended), on_ended, f, NULL);
	return skel && !f->ended ? -errno : 0;
}

int feed__attach(struct feed *f, struct err *err)
{
	struct load_log log;
	int code;

	load_log__begin(&log);
	code = open_ended(f);
	for (size_t kind = 0; kind < FEED_KINDS && !code; kind++)
		if (f->of[kind].skel)
			code = bpf_object__attach_skeleton(f->of[kind].skeleton);
	load_log__end();
	return code ? load_error__explain(err, code, &log) : 0;
}

void feed__free(struct feed *f)
{
	if (f)
		ring_buffer__free(f->ended);
	for (size_t kind = 0; f && kind < FEED_KINDS; kind++)
		programs_free(f, kind);
	free(f);
}
