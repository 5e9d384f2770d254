// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/look.h"
#include "detect/probe/user_probe.h"
#include "probe_span.skel.h"
#include "rules/target.h"

/* Offsets of the first arguments in struct pt_regs of user space, which is ABI (asm/ptrace.h). */
#if defined(__x86_64__)
static const uint16_t arg_regs[] = { 14 * 8, 13 * 8, 12 * 8, 11 * 8, 9 * 8, 8 * 8 };
#else
static const uint16_t arg_regs[] = { 0 * 8, 1 * 8, 2 * 8, 3 * 8, 4 * 8, 5 * 8 };
#endif

struct probe_span {
	struct user_probe *end[2];   /* the start and the end; owned */
	struct probe_span_bpf *skel; /* owned */
};

/* ---- target ---- */

static uint32_t count_target_args(const struct probe_target *t)
{
	uint32_t n = 0;

	if (!t->provider)
		return ARRAY_SIZE(arg_regs);
	for (uint32_t i = 0; i < t->n_places; i++)
		n = t->places[i].found.n_args > n ? t->places[i].found.n_args : n;
	return n;
}

static int check_probe_key(const struct probe_target *t, const char *name, struct err *err)
{
	uint32_t n = count_target_args(t);

	if (probe_span__arg(name) < (int)n)
		return 0;
	return err_set(err, -EINVAL, "the key '%s': %s has %u argument%s%s", name, t->symbol, n,
		       n == 1 ? "" : "s", n ? ", the first is arg0" : "");
}

static int check_probe_keys(const struct probe_span_target *t, const struct probe_target *start,
			    const struct probe_target *end, struct err *err)
{
	int code = 0;

	for (uint32_t i = 0; i < t->keys.n_keys && !code; i++)
		code = check_probe_key(start, t->keys.keys[i].start, err)
			       ?: check_probe_key(end, t->keys.keys[i].end, err);
	return code;
}

static int probe_span_check(enum frbpf_source source, const char *target, struct err *err)
{
	struct probe_target *found[2] = { NULL, NULL };
	struct probe_span_target t;
	int code = probe_span_target__parse(target, &t);

	if (code)
		return err_set(err, code, "%s", strerror(-code));
	for (int i = 0; i < 2 && !code; i++)
		code = probe_target__find(t.end[i].source, t.end[i].target, &found[i], err);
	code = code ?: check_probe_keys(&t, found[0], found[1], err);
	probe_target__free(found[0]);
	probe_target__free(found[1]);
	probe_span_target__free(&t);
	return code;
}

static bool probe_span_is_stale(const struct source *s)
{
	const struct probe_span *p = s->skel;
	struct probe_span_target t;
	bool stale = false;

	if (probe_span_target__parse(s->target, &t))
		return false; /* out of memory */
	for (int i = 0; i < 2 && !stale; i++)
		stale = !probe_target__is_current(p->end[i]->target, t.end[i].source,
						  t.end[i].target);
	probe_span_target__free(&t);
	return stale;
}

/* ---- load ---- */

/* Call @fn for each place of an end, with its arguments. Stops at the first error. */
static int each_span_place(struct probe_span *p, int end,
			   int (*fn)(struct probe_span *p, int end, uint32_t index, int file,
				     uint64_t offset, uint64_t semaphore,
				     const struct frbpf_usdt_place *args))
{
	struct frbpf_usdt_place regs = { .n_args = ARRAY_SIZE(arg_regs) };
	const struct probe_target *t = p->end[end]->target;
	uint32_t index = 0;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(arg_regs); i++)
		regs.arg[i] = (struct frbpf_usdt_arg){ .kind = FRBPF_SDT_REG, .reg = arg_regs[i] };
	for (int before = 0; before < end; before++) {
		const struct probe_target *b = p->end[before]->target;

		for (uint32_t i = 0; i < b->n_places; i++)
			index += b->places[i].found.n_funcs + b->places[i].found.n_probes;
	}
	for (uint32_t i = 0; i < t->n_places; i++) {
		const struct probe_found *f = &t->places[i].found;
		int file = t->places[i].fd;

		for (uint32_t k = 0; k < f->n_funcs && !err; k++)
			err = fn(p, end, index++, file, f->funcs[k].offset, 0, &regs);
		for (uint32_t k = 0; k < f->n_probes && !err; k++)
			err = fn(p, end, index++, file, f->probes[k].offset, f->probes[k].semaphore,
				 &f->probes[k].args);
	}
	return err;
}

static int write_span_place(struct probe_span *p, int end, uint32_t index, int file,
			    uint64_t offset, uint64_t semaphore,
			    const struct frbpf_usdt_place *args)
{
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.places), &index, args, BPF_ANY)
		       ? -errno
		       : 0;
}

static int attach_place(struct probe_span *p, int end, uint32_t index, int file, uint64_t offset,
			uint64_t semaphore, const struct frbpf_usdt_place *args)
{
	const struct bpf_program *prog = end ? p->skel->progs.ps_end : p->skel->progs.ps_start;

	return user_probe__keep(p->end[end],
				user_probe__attach(prog, file, offset, semaphore, index));
}

static uint32_t count_span_places(const struct probe_span *p)
{
	uint32_t n = 0;

	for (int end = 0; end < 2; end++) {
		const struct probe_target *t = p->end[end]->target;

		for (uint32_t i = 0; i < t->n_places; i++)
			n += t->places[i].found.n_funcs + t->places[i].found.n_probes;
	}
	return n;
}

static struct frbpf_probe_key make_span_key(const char *name, const char *other)
{
	struct frbpf_probe_key k = { .with_birth = !strcmp(name, other) };
	int arg = probe_span__arg(name);

	k.kind = arg >= 0	       ? FRBPF_EXTRACT_NUMBER
		 : strcmp(name, "tid") ? FRBPF_EXTRACT_PID
				       : FRBPF_EXTRACT_TID;
	k.arg = arg >= 0 ? arg : 0;
	return k;
}

static int set_up_probe_span(struct source *s, struct probe_span *p,
			     const struct probe_span_target *t, const struct source_env *env)
{
	struct probe_span_bpf *skel = p->skel;
	int err;

	skel->rodata->daemon_pidns = env->pidns;
	skel->rodata->n_places = count_span_places(p);
	skel->rodata->max_spans = user_probe__lru_entries();
	for (uint32_t i = 0; i < t->keys.n_keys; i++) {
		const char *start = t->keys.keys[i].start, *end = t->keys.keys[i].end;

		skel->rodata->start_keys[i] = make_span_key(start, end);
		skel->rodata->end_keys[i] = make_span_key(end, start);
	}
	bpf_program__set_autoload(skel->progs.due_rest, span_target__outlives_task(&t->keys));
	bpf_map__set_autocreate(skel->maps.match_room, false);
	err = bpf_map__set_max_entries(skel->maps.places, count_span_places(p));
	err = err ?: bpf_map__set_max_entries(skel->maps.spans, skel->rodata->max_spans);
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: probe_span_bpf__load(skel);
	err = err ?: each_span_place(p, 0, write_span_place);
	return err ?: each_span_place(p, 1, write_span_place);
}

static int find_ends(struct source *s, struct probe_span *p, const struct probe_span_target *t)
{
	int err = 0;

	for (int i = 0; i < 2 && !err; i++)
		err = user_probe__find(t->end[i].source, t->end[i].target, &p->end[i], s->err);
	return err ?: check_probe_keys(t, p->end[0]->target, p->end[1]->target, s->err);
}

static int probe_span_load(struct source *s, const struct source_env *env)
{
	struct probe_span *p = calloc(1, sizeof(*p));
	struct probe_span_target t;
	int err;

	if (!p)
		return -ENOMEM;
	s->skel = p;
	err = probe_span_target__parse(s->target, &t);
	if (err)
		return err;
	err = find_ends(s, p, &t);
	if (!err) {
		p->skel = probe_span_bpf__open();
		err = p->skel ? set_up_probe_span(s, p, &t, env) : -errno;
	}
	if (!err)
		source__bind(s, p->skel);
	probe_span_target__free(&t);
	return err;
}

/* Ends first: see source__attach(). */
static int probe_span_attach(struct source *s)
{
	struct probe_span *p = s->skel;
	int err = each_span_place(p, 1, attach_place);

	err = err ?: each_span_place(p, 0, attach_place);
	user_probe__close_files(p->end[0]);
	user_probe__close_files(p->end[1]);
	return err;
}

/* ---- rules ---- */

static int probe_span_write(struct source *s, uint32_t bank, const struct rule_table *table,
			    struct err *err)
{
	struct probe_span *p = s->skel;

	for (uint32_t i = 0; i < FRBPF_MAX_ARGS; i++) {
		const char *name = table->args[i] ? table->args[i]->name : NULL;
		bool start = false;
		int arg = name ? probe_span__value(name, &start) : -1;

		p->skel->bss->values[bank][i] =
			arg < 0 ? 0 : FRBPF_PROBE_VALUE | (start ? FRBPF_PROBE_START : 0) | arg;
	}
	return 0;
}

static int probe_span_look(struct source *s)
{
	struct probe_span_bpf *skel = ((struct probe_span *)s->skel)->skel;
	const struct due_look due = { skel->progs.ps_look, skel->progs.due_look,
				      skel->progs.due_rest, skel->maps.due_tasks,
				      &skel->bss->n_due };

	return due_look__make(&due);
}

static void probe_span_free(struct source *s)
{
	struct probe_span *p = s->skel;

	if (!p)
		return;
	user_probe__free(p->end[0]);
	user_probe__free(p->end[1]);
	probe_span_bpf__destroy(p->skel);
	free(p);
}

const struct source_ops source_probe_span = {
	.source = FRBPF_SOURCE_PROBE_SPAN,
	.name = "span",
	.elf = probe_span_bpf__elf_bytes,
	.check = probe_span_check,
	.is_stale = probe_span_is_stale,
	.load = probe_span_load,
	.attach = probe_span_attach,
	.look = probe_span_look,
	.write = probe_span_write,
	.free = probe_span_free,
};
