// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "examine/probe/find_func.h"
#include "rules/diag.h"
#include "symbols/demangle.h"

#define PARTS_MAX   8
#define NAMES_MAX   (1 << 18) /* names compared to suggest the nearest one */
#define LENGTH_NEAR 2

/* ---- by name ---- */

struct search {
	const char *name;
	const struct demangler *demangler; /* NULL: mangled names only */
	struct funcs *found;
	bool chosen, elsewhere; /* a symbol of that name exists, but cannot be probed */
	bool too_many;
	uint64_t n_seen;
};

/* "ns::f" also matches ns::f(int). */
static bool is_same_cxx(const char *wanted, const char *full)
{
	size_t len = strlen(wanted);

	return !strncmp(wanted, full, len) &&
	       (!full[len] || (full[len] == '(' && !strchr(wanted, '(')));
}

static bool symbol_is_called(const struct search *s, const char *symbol)
{
	_cleanup_free_ char *full = NULL;

	if (!s->demangler)
		return !strcmp(s->name, symbol);
	full = demangler__run(s->demangler, symbol);
	return full && !strstr(symbol, ".cold") && is_same_cxx(s->name, full);
}

static int compare_elf_function(const struct elf_function *sym, void *arg)
{
	struct search *s = arg;
	struct funcs *found = s->found;
	struct func *func;

	s->n_seen++;
	if (!symbol_is_called(s, sym->name))
		return 0;
	if (sym->elsewhere || sym->chosen) {
		*(sym->elsewhere ? &s->elsewhere : &s->chosen) = true;
		return 0;
	}
	/* the same function, from another symbol table or under an alias */
	for (uint32_t i = 0; i < found->n; i++) {
		if (found->v[i].addr == sym->addr) {
			found->v[i].size = found->v[i].size ?: sym->size;
			return 0;
		}
	}
	if (found->n == FUNCS_MAX) {
		s->too_many = true;
		return 0;
	}
	func = &found->v[found->n];
	*func = (struct func){ strdup(sym->name), sym->addr, sym->size };
	if (!func->name)
		return -ENOMEM;
	found->n++;
	return 0;
}

/* ---- suggestions for an error ---- */

struct names {
	const char *wanted;
	size_t len;
	char **v; /* ends with NULL */
	size_t n;
};

static int keep_near(const struct elf_function *sym, void *arg)
{
	struct names *names = arg;
	size_t len = strlen(sym->name);

	if (sym->elsewhere || sym->chosen || len + LENGTH_NEAR < names->len ||
	    len > names->len + LENGTH_NEAR || names->n == NAMES_MAX)
		return 0;
	if (!(names->n & (names->n + 1))) {
		char **v = realloc(names->v, (2 * names->n + 2) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		names->v = v;
	}
	names->v[names->n] = strdup(sym->name);
	if (!names->v[names->n])
		return -ENOMEM;
	names->v[++names->n] = NULL;
	return 0;
}

static int name_not_found(struct elf_file *f, const char *name, const struct search *s,
			  struct err *err)
{
	struct names names = { .wanted = name, .len = strlen(name) };
	const char *file = elf_file__name(f), *nearest = NULL;

	if (s->chosen)
		return err_set(err, -EINVAL,
			       "%s: '%s' is chosen when a program starts (IFUNC): name the "
			       "function that this CPU gets",
			       file, name);
	if (s->elsewhere)
		return err_set(
			err, -ENOENT,
			"%s calls '%s', which is in another file: name the library that has it",
			file, name);
	if (!elf_file__each_function(f, keep_near, &names) && names.n)
		nearest = nearest_word(name, names.len, (const char *const *)names.v);
	err_set(err, -ENOENT, "%s has no function '%s'%s%s%s%s", file, name,
		nearest ? " (did you mean '" : "", nearest ?: "", nearest ? "'?)" : "",
		nearest			   ? ""
		: !s->n_seen		   ? ": it has no symbols at all, it is stripped"
		: elf_file__is_stripped(f) ? ": it is stripped, so only exported functions have "
					     "names; install its debug symbols"
					   : "");
	for (size_t i = 0; i < names.n; i++)
		free(names.v[i]);
	free(names.v);
	return -ENOENT;
}

/* In C++ several functions share a name; the error lists them. */
static int several_functions(const struct elf_file *f, const struct search *s, struct err *err)
{
	struct buf list = { 0 };
	int code = 0;

	for (uint32_t i = 0; i < s->found->n && !code && list.len < 400; i++) {
		_cleanup_free_ char *full = demangler__run(s->demangler, s->found->v[i].name);

		code = buf__printf(&list, "%s%s", i ? ", " : "", full ?: s->found->v[i].name);
	}
	err_set(err, -EINVAL, "%s has several functions '%s', write one in full: %s",
		elf_file__name(f), s->name, list.data ?: "");
	buf__free(&list);
	return -EINVAL;
}

static bool is_cxx(const char *name)
{
	return strstr(name, "::") || strchr(name, '(');
}

/* Compilers emit up to three variants of a constructor or destructor, under one C++ name. */
static bool are_variants_of_one(const struct search *s)
{
	_cleanup_free_ char *first = demangler__run(s->demangler, s->found->v[0].name);

	for (uint32_t i = 1; i < s->found->n; i++) {
		_cleanup_free_ char *other = demangler__run(s->demangler, s->found->v[i].name);

		if (!first || !other || strcmp(first, other) != 0)
			return false;
	}
	return true;
}

static int search_function(struct elf_file *f, struct search *s, struct err *err)
{
	int code = elf_file__each_function(f, compare_elf_function, s);

	if (code)
		return err_set(err, code, "%s: cannot read its symbols: %s", elf_file__name(f),
			       strerror(-code));
	if (!s->found->n)
		return name_not_found(f, s->name, s, err);
	if (s->too_many)
		return err_set(err, -E2BIG, "%s has more than %d functions '%s'", elf_file__name(f),
			       FUNCS_MAX, s->name);
	return s->demangler && !are_variants_of_one(s) ? several_functions(f, s, err) : 0;
}

int funcs__find(struct elf_file *f, const char *name, const struct demangler *demangler,
		struct funcs *ret, struct err *err)
{
	struct funcs found = { .n = 0 };
	struct search s = { .name = name,
			    .demangler = is_cxx(name) ? demangler : NULL,
			    .found = &found };
	int code;

	if (is_cxx(name) && !demangler)
		return err_set(
			err, -ENOENT,
			"'%s' cannot be looked up without libstdc++.so.6: write the symbol as "
			"`nm` shows it (_Z...)",
			name);
	code = search_function(f, &s, err);
	if (code)
		funcs__free(&found);
	else
		*ret = found;
	return code;
}

void funcs__free(struct funcs *funcs)
{
	for (uint32_t i = 0; i < funcs->n; i++)
		free(funcs->v[i].name);
	funcs->n = 0;
}

/* ---- exits ---- */

struct parts {
	struct elf_file *file;
	const struct func *func;
	size_t len; /* length of its name */
	struct func_part v[PARTS_MAX];
	size_t n;
};

/* "f.cold", "f.cold.1": parts that the compiler expects to run rarely are placed elsewhere. */
static int add_part(const struct elf_function *sym, void *arg)
{
	struct parts *p = arg;

	if (sym->elsewhere || !sym->size || strncmp(sym->name, p->func->name, p->len) ||
	    strncmp(sym->name + p->len, ".cold", 5) || p->n == PARTS_MAX)
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].addr == sym->addr)
			return 0;
	}
	p->v[p->n] = (struct func_part){ sym->addr, sym->size,
					 elf_file__code(p->file, sym->addr, sym->size) };
	p->n += p->v[p->n].code != NULL;
	return 0;
}

/* Name the function whose address `func` has. */
static int find_name(const struct elf_function *sym, void *arg)
{
	struct func *func = arg;

	if (sym->elsewhere || sym->addr != func->addr)
		return 0;
	func->name = strdup(sym->name);
	return 1;
}

/* Explain that the function has no return instruction. */
static int never_returns(struct elf_file *f, const struct func_exits *exits, struct err *err)
{
	struct func next = { .addr = exits->jump_to };

	if (!exits->jumps)
		return err_set(
			err, -EINVAL,
			exits->indirect
				? "it never returns itself: it ends in a jump through a pointer"
				: "it never returns");
	elf_file__each_function(f, find_name, &next);
	if (next.name)
		err_set(err, -EINVAL,
			"it never returns itself: it ends in a jump to another function; name that "
			"one, '%s'",
			next.name);
	else
		err_set(err, -EINVAL,
			"it never returns itself: it ends in a jump to a function at 0x%llx, which "
			"has no name here (debug symbols may have one)",
			(unsigned long long)exits->jump_to);
	free(next.name);
	return -EINVAL;
}

int func__exits(struct elf_file *f, const struct func *func, struct func_exits *ret,
		struct err *err)
{
	struct parts parts = { .file = f, .func = func, .len = strlen(func->name), .n = 1 };
	struct func_exits exits;
	int code;

	parts.v[0] = (struct func_part){ func->addr, func->size,
					 elf_file__code(f, func->addr, func->size) };
	if (!parts.v[0].code)
		return err_set(err, -EINVAL, "its symbol has no size, so its end is unknown");
	code = elf_file__each_function(f, add_part, &parts);
	code = code
		       ?: func_exits__find(elf_file__machine(f), parts.v, parts.n,
					   elf_file__catches(f), &exits);
	if (code == -E2BIG)
		return err_set(err, code, "it returns in more than %d places", FUNC_EXITS_MAX);
	if (code == -EBADMSG)
		return err_set(err, code,
			       "it may return in places that no instruction leads to directly (a "
			       "switch, or catch), and they may be data, which a probe would "
			       "change");
	if (code)
		return err_set(err, code, "its instructions cannot be read");
	if (!exits.n)
		return never_returns(f, &exits, err);
	*ret = exits;
	return 0;
}
