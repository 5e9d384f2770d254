// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "perfdata/record.h"
#include "symbols/kernel_state.h"

struct ksymbol {
	UT_hash_handle hh; /* by addr */
	uint64_t addr;
	uint32_t len;
	uint16_t type;
	char name[];
};

struct bpf_prog {
	UT_hash_handle hh; /* by id */
	uint32_t id;
	uint8_t tag[8];
};

struct cgroup {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	char path[];
};

static void symbol__free(struct kernel_state *k, struct ksymbol *s)
{
	HASH_DEL(k->symbols, s);
	k->bytes -= sizeof(*s) + strlen(s->name) + 1;
	free(s);
}

static void symbol__remove(struct kernel_state *k, uint64_t addr)
{
	struct ksymbol *s;

	HASH_FIND(hh, k->symbols, &addr, sizeof(addr), s);
	if (s)
		symbol__free(k, s);
}

int kernel_state__add_symbol(struct kernel_state *k, uint64_t addr, uint32_t len, uint16_t type,
			     const char *name)
{
	size_t name_len = strlen(name);
	struct ksymbol *s = calloc(1, sizeof(*s) + name_len + 1);

	if (!s)
		return -ENOMEM;
	symbol__remove(k, addr);
	s->addr = addr;
	s->len = len;
	s->type = type;
	memcpy(s->name, name, name_len);
	HASH_ADD(hh, k->symbols, addr, sizeof(s->addr), s);
	if (!s->hh.tbl) {
		free(s);
		return -ENOMEM;
	}
	k->bytes += sizeof(*s) + name_len + 1;
	return 0;
}

static void bpf_prog__free(struct kernel_state *k, struct bpf_prog *p)
{
	HASH_DEL(k->progs, p);
	k->bytes -= sizeof(*p);
	free(p);
}

static void bpf_prog__remove(struct kernel_state *k, uint32_t id)
{
	struct bpf_prog *p;

	HASH_FIND(hh, k->progs, &id, sizeof(id), p);
	if (p)
		bpf_prog__free(k, p);
}

int kernel_state__add_bpf_prog(struct kernel_state *k, uint32_t id, const uint8_t tag[8])
{
	struct bpf_prog *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	bpf_prog__remove(k, id);
	p->id = id;
	memcpy(p->tag, tag, sizeof(p->tag));
	HASH_ADD(hh, k->progs, id, sizeof(p->id), p);
	if (!p->hh.tbl) {
		free(p);
		return -ENOMEM;
	}
	k->bytes += sizeof(*p);
	return 0;
}

static struct cgroup *cgroup__find(const struct kernel_state *k, uint64_t id)
{
	struct cgroup *c;

	HASH_FIND(hh, k->cgroups, &id, sizeof(id), c);
	return c;
}

static void cgroup__free(struct kernel_state *k, struct cgroup *c)
{
	HASH_DEL(k->cgroups, c);
	k->bytes -= sizeof(*c) + strlen(c->path) + 1;
	free(c);
}

int kernel_state__add_cgroup(struct kernel_state *k, uint64_t id, const char *path)
{
	struct cgroup *c = cgroup__find(k, id);
	size_t len = strlen(path);

	if (c && !strcmp(c->path, path))
		return 0;
	if (c)
		cgroup__free(k, c);
	c = calloc(1, sizeof(*c) + len + 1);
	if (!c)
		return -ENOMEM;
	c->id = id;
	memcpy(c->path, path, len);
	HASH_ADD(hh, k->cgroups, id, sizeof(c->id), c);
	if (!c->hh.tbl) {
		free(c);
		return -ENOMEM;
	}
	k->bytes += sizeof(*c) + len + 1;
	return 0;
}

size_t kernel_state__n_cgroups(const struct kernel_state *k)
{
	return HASH_COUNT(k->cgroups);
}

void kernel_state__forget_cgroups(struct kernel_state *k, const struct kernel_state *living)
{
	struct cgroup *c, *next;

	HASH_ITER (hh, k->cgroups, c, next)
		if (!cgroup__find(living, c->id))
			cgroup__free(k, c);
}

void kernel_state__free(struct kernel_state *k)
{
	struct bpf_prog *prog, *next_prog;
	struct ksymbol *sym, *next_sym;
	struct cgroup *c, *next_cgroup;

	HASH_ITER (hh, k->symbols, sym, next_sym)
		symbol__free(k, sym);
	HASH_ITER (hh, k->progs, prog, next_prog)
		bpf_prog__free(k, prog);
	HASH_ITER (hh, k->cgroups, c, next_cgroup)
		cgroup__free(k, c);
}

static int apply_ksymbol(struct kernel_state *k, const struct record_ksymbol *r)
{
	if (!(r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		return kernel_state__add_symbol(k, r->addr, r->len, r->ksym_type, r->name);
	symbol__remove(k, r->addr);
	return 0;
}

static int apply_bpf_event(struct kernel_state *k, const struct record_bpf_event *r)
{
	if (r->type == PERF_BPF_EVENT_PROG_LOAD)
		return kernel_state__add_bpf_prog(k, r->id, r->tag);
	if (r->type == PERF_BPF_EVENT_PROG_UNLOAD)
		bpf_prog__remove(k, r->id);
	return 0;
}

int kernel_state__apply(struct kernel_state *k, const struct perf_event_header *rec)
{
	const struct record_cgroup *cgroup = (const void *)rec;

	switch (rec->type) {
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(k, (const void *)rec);
	case PERF_RECORD_BPF_EVENT:
		return apply_bpf_event(k, (const void *)rec);
	case PERF_RECORD_CGROUP:
		return kernel_state__add_cgroup(k, cgroup->id, cgroup->path);
	default:
		return 0;
	}
}

int kernel_state__copy(struct kernel_state *to, const struct kernel_state *from)
{
	const struct bpf_prog *p;
	const struct ksymbol *s;
	const struct cgroup *c;
	int err = 0;

	for (s = from->symbols; s && !err; s = s->hh.next)
		err = kernel_state__add_symbol(to, s->addr, s->len, s->type, s->name);
	for (p = from->progs; p && !err; p = p->hh.next)
		err = kernel_state__add_bpf_prog(to, p->id, p->tag);
	for (c = from->cgroups; c && !err; c = c->hh.next)
		err = kernel_state__add_cgroup(to, c->id, c->path);
	return err;
}

int kernel_state__each_bpf_prog(const struct kernel_state *k, int (*fn)(uint32_t id, void *arg),
				void *arg)
{
	const struct bpf_prog *p;
	int err = 0;

	for (p = k->progs; p && !err; p = p->hh.next)
		err = fn(p->id, arg);
	return err;
}

int kernel_state__emit(const struct kernel_state *k, uint64_t time, struct buf *out)
{
	const struct record_trailer t = { .time = time };
	const struct bpf_prog *p;
	const struct ksymbol *s;
	const struct cgroup *c;
	int err = 0;

	for (s = k->symbols; s && !err; s = s->hh.next)
		err = record__add_ksymbol(out, s->addr, s->len, s->type, 0, s->name, &t);
	for (p = k->progs; p && !err; p = p->hh.next)
		err = record__add_bpf_event(out, PERF_BPF_EVENT_PROG_LOAD, p->id, p->tag, &t);
	for (c = k->cgroups; c && !err; c = c->hh.next)
		err = record__add_cgroup(out, c->id, c->path, &t);
	return err;
}
