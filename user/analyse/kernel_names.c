// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/kernel_names.h"
#include "analyse/replay.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/format_field.h"
#include "common/json_text.h"

#define ADDRESSES_MAX 256 /* of one stack: as many as why resolves */
#define KNOWN_MAX     100000

/* An address that was looked up, or the start of a function that has a line already */
struct known_kernel_address {
	UT_hash_handle hh;
	uint64_t addr;
};

struct kernel_names {
	struct symbols *symbols;
	struct known_kernel_address *seen, *listed; /* owned */
	json_t *lines;
	size_t bytes;
};

/* State while one file is read */
struct names_reading {
	struct kernel_names *n;
	struct replay *r;
	struct format_field
		*functions; /* by number of the event: the address of a timer's function */
	uint64_t v[ADDRESSES_MAX];
};

int kernel_names__new(struct kernel_names **ret)
{
	struct kernel_names *n = calloc(1, sizeof(*n));

	if (n)
		n->lines = json_array();
	if (!n || !n->lines || symbols__new(&n->symbols)) {
		kernel_names__free(n);
		return -ENOMEM;
	}
	*ret = n;
	return 0;
}

static void known_addresses_free(struct known_kernel_address *head)
{
	struct known_kernel_address *k, *next;

	HASH_ITER (hh, head, k, next) {
		HASH_DEL(head, k);
		free(k);
	}
}

void kernel_names__free(struct kernel_names *n)
{
	if (!n)
		return;
	known_addresses_free(n->seen);
	known_addresses_free(n->listed);
	json_decref(n->lines);
	symbols__free(n->symbols);
	free(n);
}

/* 1: it is new; 0: it was there; -ENOMEM, also if there are too many. */
static int known_address_add(struct known_kernel_address **head, uint64_t addr)
{
	struct known_kernel_address *k;

	HASH_FIND(hh, *head, &addr, sizeof(addr), k);
	if (k)
		return 0;
	k = HASH_COUNT(*head) < KNOWN_MAX ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return -ENOMEM;
	k->addr = addr;
	HASH_ADD(hh, *head, addr, sizeof(addr), k);
	if (k->hh.tbl)
		return 1;
	free(k);
	return -ENOMEM;
}

/* @module: "[NAME]"; NULL: the kernel itself. 0 or -ENOMEM. */
static int kernel_line_add(struct kernel_names *n, uint64_t start, const char *name,
			   const char *module)
{
	struct buf b = { 0 };
	int err = known_address_add(&n->listed, start);

	if (err <= 0)
		return err;
	err = buf__printf(&b, "%016" PRIx64 " t %s%s%s", start, name, module ? "\t" : "",
			  module ?: "");
	if (!err && json_array_append_new(n->lines, json_text(b.data, b.len)))
		err = -ENOMEM;
	n->bytes += b.len + 1;
	buf__free(&b);
	return err;
}

static int kernel_address_add(struct names_reading *k, const struct sample *smp, uint64_t addr)
{
	struct sample at = *smp;
	struct location l;
	int err = known_address_add(&k->n->seen, addr);

	if (err <= 0)
		return err;
	at.ip = addr;
	at.cpumode = PERF_RECORD_MISC_KERNEL;
	err = replay__self(k->r, &at, &l);
	/* BPF programs need no line: the recording itself names their maps */
	if (err || !l.symbol || l.symbol == l.path)
		return err;
	return kernel_line_add(k->n, addr - l.symbol_offset, l.symbol,
			       !strcmp(l.module, "[kernel]") ? NULL : l.module);
}

static int kernel_sample_add(struct names_reading *k, const struct sample *s)
{
	size_t n = replay__kernel_addresses(s, k->v, ADDRESSES_MAX);
	const struct format_field *f =
		&k->functions[s->event - perf_file__info(replay__file(k->r))->events];
	uint64_t function;
	int err = 0;

	/* we look up a return address minus 1 (the call before it), perf the address itself */
	for (size_t i = 0; i < n && !err; i++)
		err = kernel_address_add(k, s, k->v[i]) ?: kernel_address_add(k, s, k->v[i] + 1);
	if (!err && f->size && s->raw && format_field__number(f, s->raw, s->raw_size, &function) &&
	    function)
		err = kernel_address_add(k, s, function);
	return err;
}

/* Find the fields of tracepoints, such as those of timers, that hold the address of a function. */
static int function_fields_find(struct names_reading *k)
{
	const struct file_info *info = perf_file__info(replay__file(k->r));

	k->functions = calloc(info->n_events ?: 1, sizeof(*k->functions));
	if (!k->functions)
		return -ENOMEM;
	for (size_t i = 0; i < info->n_events; i++) {
		const struct perf_event_attr *a = &info->events[i].attr;
		const struct file_format *f =
			a->type == PERF_TYPE_TRACEPOINT
				? perf_file__format(replay__file(k->r), a->config)
				: NULL;

		if (f)
			format_field__find(f->text, f->len, "function", &k->functions[i]);
	}
	return 0;
}

/* perf computes the KASLR offset of this boot from the address of _text. */
static int kernel_text_add(struct kernel_names *n, const struct replay *r)
{
	uint64_t addr;
	const char *name = replay__kernel_text(r, &addr);

	return name ? kernel_line_add(n, addr, name, NULL) : 0;
}

int kernel_names__add_file(struct kernel_names *n, const char *path, struct err *err)
{
	struct names_reading k = { .n = n };
	struct sample s;
	int code = replay__open(path, n->symbols, err, &k.r);

	if (!code && function_fields_find(&k))
		code = err_set(err, -ENOMEM, "out of memory");
	while (!code && (code = replay__next(k.r, err, &s)) > 0) {
		code = s.event ? kernel_sample_add(&k, &s) : 0;
		if (code)
			err_set(err, code, "out of memory, or too many kernel addresses");
	}
	if (!code && kernel_text_add(n, k.r))
		code = err_set(err, -ENOMEM, "out of memory");
	free(k.functions);
	replay__free(k.r);
	return code;
}

json_t *kernel_names__lines(const struct kernel_names *n)
{
	if (!json_array_size(n->lines) || n->bytes > KERNEL_NAMES_MAX)
		return NULL;
	return json_incref(n->lines);
}

int kernel_names__use(const json_t *lines, struct symbols *s)
{
	struct buf b = { 0 };
	const json_t *v;
	int err = 0;
	size_t i;

	json_array_foreach (lines, i, v)
		if (!err && json_is_string(v))
			err = buf__printf(&b, "%s\n", json_string_value(v));
	if (!err && b.len)
		err = symbols__use_kernel(s, &b);
	buf__free(&b);
	return err;
}
