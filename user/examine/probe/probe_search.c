// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "examine/probe/probe_search.h"
#include "examine/probe/usdt_note.h"

/* ---- functions ---- */

static int find_exits(const struct examine_probe *q, struct elf_file *f, const struct func *func,
		      struct probe_func *ret, struct err *err)
{
	struct func_exits exits;
	struct err why;

	if (!q->latency)
		return 0;
	if (func__exits(f, func, &exits, &why))
		return err_set(err, -EINVAL,
			       "%s: cannot measure how long '%s' takes: %s. Without a threshold, "
			       "its calls can be watched",
			       elf_file__name(f), func->name, why.msg);
	ret->jumps = exits.jumps;
	ret->indirect = exits.indirect;
	ret->n_exits = exits.n;
	for (uint32_t i = 0; i < exits.n; i++) {
		if (elf_file__offset(f, exits.at[i], &ret->exits[i]))
			return err_set(err, -EINVAL, "%s: a return of '%s' is outside of the code",
				       elf_file__name(f), func->name);
	}
	return 0;
}

/* A probe in the middle of an instruction would corrupt it. */
static int check_offset(const struct examine_probe *q, struct elf_file *f, const struct func *func,
			struct err *err)
{
	const struct func_part part = { func->addr, func->size,
					elf_file__code(f, func->addr, func->size) };
	int code;

	if (!q->offset)
		return 0;
	if (!part.code || q->offset >= func->size)
		return err_set(err, -EINVAL, "%s: '%s' has no +0x%llx: it is %llu bytes long",
			       elf_file__name(f), func->name, (unsigned long long)q->offset,
			       (unsigned long long)func->size);
	code = func_exits__check_boundary(elf_file__machine(f), &part, q->offset);
	if (code == -EBADMSG)
		return err_set(
			err, code,
			"%s: nothing in '%s' leads to +0x%llx directly: it may be data, which "
			"a probe would change",
			elf_file__name(f), func->name, (unsigned long long)q->offset);
	return code ? err_set(err, -EINVAL, "%s: no instruction of '%s' begins at +0x%llx",
			      elf_file__name(f), func->name, (unsigned long long)q->offset)
		    : 0;
}

static int add_func(const struct examine_probe *q, struct elf_file *f, const struct func *func,
		    struct probe_found *found, struct err *err)
{
	struct probe_func *ret = &found->funcs[found->n_funcs];
	int code;

	ret->name = strdup(func->name);
	if (!ret->name)
		return err_set(err, -ENOMEM, "out of memory");
	found->n_funcs++;
	code = check_offset(q, f, func, err);
	if (!code && elf_file__offset(f, func->addr + q->offset, &ret->offset))
		code = err_set(err, -EINVAL, "%s: '%s' is not code", elf_file__name(f), func->name);
	return code ?: find_exits(q, f, func, ret, err);
}

static int look_for_symbol(const struct examine_probe *q, struct elf_file *f,
			   const struct demangler *demangler, struct probe_found *found,
			   struct err *err)
{
	struct funcs funcs = { .n = 0 };
	int code;

	if (q->latency && elf_file__is_go(f))
		return err_set(err, -EINVAL,
			       "%s is a Go program: its stacks move and its calls change threads, "
			       "so the end of a call cannot be recognised. Without a threshold, "
			       "calls can be watched",
			       elf_file__name(f));
	code = funcs__find(f, q->symbol, demangler, &funcs, err);
	if (code)
		return code;
	found->funcs = calloc(funcs.n, sizeof(*found->funcs));
	if (!found->funcs)
		code = err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < funcs.n && !code; i++)
		code = add_func(q, f, &funcs.v[i], found, err);
	funcs__free(&funcs);
	return code;
}

/* ---- static probes ---- */

struct usdt_search {
	const struct examine_probe *q;
	const struct elf_file *file;
	struct probe_found *found;
	struct err *err;
	struct buf others; /* names of probes, for an error */
	uint32_t n_others;
};

static uint32_t count_note_args(const char *args)
{
	uint32_t n = 0;

	for (const char *p = args; *p; p++)
		n += *p != ' ' && (p == args || p[-1] == ' ');
	return n;
}

static int add_usdt(struct usdt_search *s, const struct elf_usdt *p)
{
	struct probe_found *to = s->found;
	struct probe_usdt found, *v;
	const char *name = elf_file__name(s->file), *bad;
	uint32_t n = count_note_args(p->args);

	if (to->n_probes == PROBE_USDT_MAX)
		return err_set(s->err, -E2BIG, "%s has %s:%s in more than %d places", name,
			       p->provider, p->name, PROBE_USDT_MAX);
	if (elf_file__usdt_offset(s->file, p, &found.offset, &found.semaphore))
		return err_set(s->err, -EINVAL, "%s: the note of %s:%s points outside of its code",
			       name, p->provider, p->name);
	if (usdt_args__parse(p->args, &found.args, &bad))
		return err_set(s->err, -EINVAL,
			       "%s: frbpf does not understand where an argument of %s:%s is: "
			       "'%.40s'; `frbpf events -v 'usdt:PATH:*'` shows them",
			       name, p->provider, p->name, bad);
	v = realloc(to->probes, (to->n_probes + 1) * sizeof(*v));
	if (!v)
		return err_set(s->err, -ENOMEM, "out of memory");
	to->probes = v;
	v[to->n_probes++] = found;
	if (n > to->n_args)
		to->n_args = n;
	return 0;
}

static int compare_usdt(const struct elf_usdt *p, void *arg)
{
	struct usdt_search *s = arg;
	int err;

	if (!strcmp(p->provider, s->q->provider) && !strcmp(p->name, s->q->symbol))
		return add_usdt(s, p);
	if (s->n_others++ >= 8)
		return 0;
	err = buf__printf(&s->others, "%s%s:%s", s->others.len ? ", " : "", p->provider, p->name);
	return err ? err_set(s->err, err, "out of memory") : 0;
}

static int look_for_usdt(const struct examine_probe *q, struct elf_file *f,
			 struct probe_found *found, struct err *err)
{
	struct usdt_search s = { .q = q, .file = f, .found = found, .err = err };
	int code = elf_file__each_usdt(f, compare_usdt, &s);

	if (!code && !found->n_probes && !s.n_others)
		code = err_set(err, -ENOENT, "%s has no static probes", elf_file__name(f));
	else if (!code && !found->n_probes)
		code = err_set(err, -ENOENT, "%s has no static probe '%s:%s'; it has %s%s",
			       elf_file__name(f), q->provider, q->symbol, s.others.data ?: "",
			       s.n_others > 8 ? " ..." : "");
	buf__free(&s.others);
	return code;
}

/* ---- lists ---- */

struct list_search {
	const struct examine_probe *q;
	struct probe_found *found;
};

static int list_name(struct list_search *l, const char *name, const char *meaning)
{
	if (strlen(name) > EXAMINE_NAME_MAX || fnmatch(l->q->symbol, name, FNM_NOESCAPE))
		return 0;
	return probe_found__add_name(l->found, name, meaning);
}

static int list_function(const struct elf_function *s, void *arg)
{
	char size[32];

	if (s->elsewhere || s->chosen || !*s->name || !s->size)
		return 0;
	snprintf(size, sizeof(size), "%" PRIu64 " bytes", s->size);
	return list_name(arg, s->name, size);
}

static int list_usdt(const struct elf_usdt *p, void *arg)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s:%s", p->provider, p->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return list_name(arg, name, p->args);
}

static int list_probes(const struct examine_probe *q, struct elf_file *f, struct probe_found *found,
		       struct err *err)
{
	struct list_search l = { q, found };
	int code = q->what == EXAMINE_LIST_USDT ? elf_file__each_usdt(f, list_usdt, &l)
						: elf_file__each_function(f, list_function, &l);

	return code ? err_set(err, code, "%s: %s", elf_file__name(f), strerror(-code)) : 0;
}

/* ---- the question ---- */

static int answer_probe_question(const struct examine_probe *q, struct elf_file *f,
				 const struct demangler *demangler, struct probe_found *found,
				 struct err *err)
{
	switch (q->what) {
	case EXAMINE_FUNCTION:
		return look_for_symbol(q, f, demangler, found, err);
	case EXAMINE_USDT:
		return look_for_usdt(q, f, found, err);
	}
	return list_probes(q, f, found, err);
}

int probe_search__run(const struct examine_probe *q, const struct probe_files_open *files,
		      const struct demangler *demangler, bool may_ask, struct probe_found *ret,
		      struct build_id *ret_id, char ret_link[EXAMINE_LINK_MAX], struct err *err)
{
	bool of_function = q->what == EXAMINE_FUNCTION || q->what == EXAMINE_LIST_FUNCTIONS;
	struct probe_found found = { 0 };
	struct elf_file *f;
	int code = elf_file__open(files->fd, files->name, files->ours, &f, err);

	if (code)
		return code;
	elf_file__use_debug(f, files->debug, files->n_debug);
	if (may_ask && of_function && elf_file__wants_debug(f, ret_id, ret_link))
		code = -EAGAIN;
	code = code ?: answer_probe_question(q, f, demangler, &found, err);
	elf_file__free(f);
	if (code)
		probe_found__free(&found);
	else
		*ret = found;
	return code;
}
