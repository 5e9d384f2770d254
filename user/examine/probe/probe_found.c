// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "examine/probe/probe_found.h"
#include "examine/probe/usdt_note.h"
#include "perfdata/cursor.h"

int probe_found__add_name(struct probe_found *f, const char *name, const char *meaning)
{
	struct probe_name *v = f->names;

	if (!(f->n_names & (f->n_names - 1)))
		v = realloc(v, (f->n_names ? 2ULL * f->n_names : 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	f->names = v;
	v[f->n_names] = (struct probe_name){ strdup(name), strdup(meaning) };
	f->n_names++; /* counted even if incomplete, so that it is freed */
	return v[f->n_names - 1].name && v[f->n_names - 1].meaning ? 0 : -ENOMEM;
}

void probe_found__free(struct probe_found *f)
{
	for (uint32_t i = 0; i < f->n_funcs; i++)
		free(f->funcs[i].name);
	for (uint32_t i = 0; i < f->n_names; i++) {
		free(f->names[i].name);
		free(f->names[i].meaning);
	}
	free(f->funcs);
	free(f->probes);
	free(f->names);
	*f = (struct probe_found){ 0 };
}

/* ---- encode, in the parser ---- */

static int encode_text(struct buf *to, const char *s)
{
	return buf__add(to, s, strlen(s) + 1);
}

static int encode_func(const struct probe_func *f, struct buf *to)
{
	const uint32_t n[] = { f->jumps, f->indirect, f->n_exits };

	return buf__add(to, &f->offset, sizeof(f->offset))
		       ?: buf__add(to, n, sizeof(n))
		       ?: buf__add(to, f->exits, f->n_exits * sizeof(*f->exits))
		       ?: encode_text(to, f->name);
}

int probe_found__encode(const struct probe_found *f, struct buf *to)
{
	const uint32_t n[] = { f->n_funcs, f->n_probes, f->n_args, f->n_names };
	int err = buf__add(to, n, sizeof(n));

	for (uint32_t i = 0; i < f->n_funcs && !err; i++)
		err = encode_func(&f->funcs[i], to);
	if (f->n_probes && !err)
		err = buf__add(to, f->probes, f->n_probes * sizeof(*f->probes));
	for (uint32_t i = 0; i < f->n_names && !err; i++)
		err = encode_text(to, f->names[i].name) ?: encode_text(to, f->names[i].meaning);
	return err;
}

/* ---- decode and check, in frbpf ---- */

struct decoder {
	struct cursor in;
	const struct examine_probe *q;
	uint64_t file_size;
};

static const char *decode_text(struct decoder *d)
{
	const char *s = cursor__name(&d->in);

	return s && strlen(s) <= EXAMINE_NAME_MAX ? s : NULL;
}

static int decode_func(struct decoder *d, struct probe_found *to)
{
	struct probe_func *f = &to->funcs[to->n_funcs];
	const char *name;

	f->offset = cursor__u64(&d->in);
	f->jumps = cursor__u32(&d->in);
	f->indirect = cursor__u32(&d->in);
	f->n_exits = cursor__u32(&d->in);
	if (f->offset >= d->file_size || f->n_exits > FUNC_EXITS_MAX ||
	    !f->n_exits != !d->q->latency)
		return -EBADMSG;
	for (uint32_t i = 0; i < f->n_exits; i++) {
		f->exits[i] = cursor__u64(&d->in);
		if (f->exits[i] >= d->file_size)
			return -EBADMSG;
	}
	name = decode_text(d);
	if (!name || !*name)
		return -EBADMSG;
	f->name = strdup(name);
	to->n_funcs += f->name != NULL;
	return f->name ? 0 : -ENOMEM;
}

static int decode_funcs(struct decoder *d, uint32_t n, struct probe_found *to)
{
	int err = 0;

	if (!n || n > FUNCS_MAX)
		return -EBADMSG;
	to->funcs = calloc(n, sizeof(*to->funcs));
	if (!to->funcs)
		return -ENOMEM;
	while (to->n_funcs < n && !err)
		err = decode_func(d, to);
	return err;
}

static int decode_probes(struct decoder *d, uint32_t n, uint32_t n_args, struct probe_found *to)
{
	const void *p =
		n && n <= PROBE_USDT_MAX ? cursor__bytes(&d->in, n * sizeof(*to->probes)) : NULL;

	if (!p)
		return -EBADMSG;
	to->probes = calloc(n, sizeof(*to->probes));
	if (!to->probes)
		return -ENOMEM;
	memcpy(to->probes, p, n * sizeof(*to->probes));
	to->n_probes = n;
	to->n_args = n_args;
	for (uint32_t i = 0; i < n; i++)
		if (to->probes[i].offset >= d->file_size ||
		    to->probes[i].semaphore >= d->file_size ||
		    !usdt_place__is_valid(&to->probes[i].args))
			return -EBADMSG;
	return 0;
}

static int decode_names(struct decoder *d, uint32_t n, struct probe_found *to)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		const char *name = decode_text(d), *meaning = name ? cursor__name(&d->in) : NULL;

		err = meaning ? probe_found__add_name(to, name, meaning) : -EBADMSG;
	}
	return err;
}

static int decode_found(struct decoder *d, struct probe_found *to)
{
	uint32_t n_funcs = cursor__u32(&d->in), n_probes = cursor__u32(&d->in);
	uint32_t n_args = cursor__u32(&d->in), n_names = cursor__u32(&d->in);
	int err = -EBADMSG;

	if (d->q->what == EXAMINE_FUNCTION)
		err = n_probes || n_args || n_names ? -EBADMSG : decode_funcs(d, n_funcs, to);
	else if (d->q->what == EXAMINE_USDT)
		err = n_funcs || n_names ? -EBADMSG : decode_probes(d, n_probes, n_args, to);
	else if (!n_funcs && !n_probes && !n_args)
		err = decode_names(d, n_names, to);
	return err ?: d->in.bad || cursor__left(&d->in) ? -EBADMSG : 0;
}

int probe_found__decode(const void *data, size_t len, const struct examine_probe *q,
			uint64_t file_size, struct probe_found *ret)
{
	struct decoder d = { cursor__init(data, len), q, file_size };
	struct probe_found found = { 0 };
	int err = decode_found(&d, &found);

	if (err)
		probe_found__free(&found);
	else
		*ret = found;
	return err;
}
