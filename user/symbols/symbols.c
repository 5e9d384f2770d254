// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "symbols/kernel_symbols.h"
#include "symbols/module.h"
#include "symbols/symbols.h"
#include "symbols/text_symbols.h"

static const char unknown[] = "[unknown]";

/* Maps with the same key belong to the same module. */
struct module_key {
	uint32_t kind;
	uint32_t pid; /* for JIT code, which is private to its process; else 0 */
	struct build_id id;
	uint8_t zero[3];
	char name[PATH_MAX];
};

struct entry {
	UT_hash_handle hh; /* by key */
	struct module module;
	struct module_key key; /* allocated only up to the end of the name */
};

struct symbols {
	struct entry *modules;
	/* announced kernel addresses, until the first is resolved; owned */
	uint64_t *expected;
	size_t n_expected;
	bool only_expected;
	/*
	 * symbols of the running kernel at the expected addresses, or all those of
	 * symbols__use_kernel()
	 */
	struct symbol_table running;
};

int symbols__new(struct symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void symbols__free(struct symbols *s)
{
	struct entry *e, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->modules, e, next) {
		HASH_DEL(s->modules, e);
		module__free(&e->module);
		free(e);
	}
	symbol_table__free(&s->running);
	free(s->expected);
	free(s);
}

/* Find or create the module. NULL: out of memory. */
static struct entry *get_module(struct symbols *s, enum module_kind kind, const struct map *map,
				uint32_t pid, const struct kernel_space *kernel)
{
	const struct map_file *f = map->file;
	size_t len = offsetof(struct module_key, name) + f->name_len;
	struct module_key key;
	struct entry *e;

	memset(&key, 0, offsetof(struct module_key, name));
	key.kind = kind;
	key.pid = kind == MODULE_ANON ? pid : 0;
	key.id = *map_file__build_id(f);
	if (kind == MODULE_VDSO && !key.id.size && kernel->text.file) /* it is part of the kernel */
		key.id = *map_file__build_id(kernel->text.file);
	memcpy(key.name, f->name, f->name_len); /* shorter than PATH_MAX: map_file__get() */
	HASH_FIND(hh, s->modules, &key, len, e);
	if (e)
		return e;
	e = calloc(1, offsetof(struct entry, key) + len);
	if (!e)
		return NULL;
	memcpy(&e->key, &key, len);
	if (module__init(&e->module, kind, f->name, &key.id, pid)) {
		free(e);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, s->modules, &e->key, len, e);
	if (!e->hh.tbl) {
		module__free(&e->module);
		free(e);
		return NULL;
	}
	return e;
}

static enum module_kind kernel_kind(const struct map *map)
{
	if (map->flags & KERNEL_SPACE_KSYMBOL)
		return MODULE_KSYMBOL;
	return kernel_space__is_text(map->file->name) ? MODULE_KERNEL : MODULE_KERNEL_MODULE;
}

static const struct map *find_map(const struct task_model *tasks,
				  const struct kernel_space *kernel_maps, uint32_t pid,
				  uint64_t addr, bool kernel)
{
	return kernel ? kernel_space__find(kernel_maps, addr)
		      : task_model__find_map(tasks, pid, addr);
}

static enum module_kind address_kind(const struct map *map, bool kernel)
{
	return kernel ? kernel_kind(map) : module__user_kind(map->file->name);
}

/* Find a symbol of the running kernel or its modules. NULL: none. */
static const struct symbol *find_running(struct symbols *s, uint64_t addr, uint64_t *ret_offset)
{
	const struct symbol *symbol;

	if (s->expected) { /* if kallsyms cannot be read, there are no names */
		kernel_symbols__read_running(s->expected, s->n_expected, &s->running);
		free(s->expected);
		s->expected = NULL;
	}
	symbol = symbol_table__find(&s->running, addr);
	if (symbol)
		*ret_offset = addr - symbol->start;
	return symbol;
}

int symbols__expect(struct symbols *s, const struct task_model *tasks,
		    const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		    bool kernel)
{
	const struct map *map = find_map(tasks, kernel_maps, pid, addr, kernel);
	struct entry *e;
	uint64_t *v;

	if (kernel) {
		s->only_expected = true;
		if (map && kernel_kind(map) == MODULE_KSYMBOL) /* the map has the name */
			return 0;
		v = reallocarray(s->expected, s->n_expected + 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->expected = v;
		v[s->n_expected++] = addr;
		return 0;
	}
	if (!map)
		return 0;
	e = get_module(s, address_kind(map, kernel), map, pid, kernel_maps);
	return e ? module__want(&e->module, map, addr) : -ENOMEM;
}

int symbols__use_kernel(struct symbols *s, const struct buf *kallsyms)
{
	struct kernel_text text = { 0 };
	int err = text_symbols__kallsyms(kallsyms, TEXT_SYMBOLS_ANY, &s->running, &text);

	s->only_expected = true;
	return err ?: symbol_table__finish(&s->running);
}

int symbols__resolve(struct symbols *s, const struct task_model *tasks,
		     const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		     bool kernel, struct location *ret)
{
	const struct map *map = find_map(tasks, kernel_maps, pid, addr, kernel);
	struct location l = { .module = unknown, .offset = addr, .kernel = kernel };
	const struct symbol *symbol;
	struct entry *e;

	if (!map) {
		*ret = l;
		return 0;
	}
	e = get_module(s, address_kind(map, kernel), map, pid, kernel_maps);
	if (!e)
		return -ENOMEM;
	l.module = e->module.name;
	l.path = e->module.path;
	if (!kernel && e->module.kind != MODULE_ANON)
		l.offset = addr - map->start + map->pgoff;
	if (e->module.kind == MODULE_KSYMBOL) {
		l.symbol = e->module.path;
		l.symbol_offset = addr - map->start;
	} else {
		symbol = kernel && s->only_expected
				 ? find_running(s, addr, &l.symbol_offset)
				 : module__find(&e->module, map, addr, &l.symbol_offset);
		if (symbol)
			l.symbol = symbol->name;
	}
	*ret = l;
	return 0;
}

const struct cfi *symbols__cfi(struct symbols *s, const struct task_model *tasks,
			       const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
			       uint64_t *ret_offset)
{
	const struct map *map = task_model__find_map(tasks, pid, addr);
	struct entry *e = NULL;

	if (map)
		e = get_module(s, address_kind(map, false), map, pid, kernel_maps);
	if (!e)
		return NULL;
	*ret_offset = addr - map->start + map->pgoff;
	return module__cfi(&e->module, map);
}

enum symbols_source symbols__source(const char *map_name)
{
	switch (module__user_kind(map_name)) {
	case MODULE_FILE:
		return SYMBOLS_FILE;
	case MODULE_VDSO:
		return SYMBOLS_VDSO;
	case MODULE_ANON:
		return SYMBOLS_PERF_MAP;
	default:
		return SYMBOLS_NOWHERE;
	}
}

int symbols__each_missing(const struct symbols *s,
			  int (*fn)(const char *path, const char *why, void *arg), void *arg)
{
	int err = 0;

	for (const struct entry *e = s->modules; e && !err; e = e->hh.next)
		if (e->module.why_not)
			err = fn(e->module.path, e->module.why_not, arg);
	return err;
}

/* ---- tracing ---- */

/*
 * Prefixes of the names of tracing functions: for tracepoints (kernel/trace/bpf_trace.c,
 * include/trace/bpf_probe.h and perf.h, kernel/tracepoint.c, kernel/trace/trace_syscalls.c), and
 * for uprobes (kernel/trace/trace_uprobe.c, kernel/events/uprobes.c).
 */
static const char *const tracing_prefixes[] = {
	"bpf_trace_run",
	"__bpf_trace_",
	"__traceiter_",
	"__bpf_prog_",
	"bpf_prog_",
	"bpf_trampoline_",
	"trace_call_bpf",
	"perf_trace_",
	"trace_event_raw_event_",
	"trace_event_buffer_",
	"perf_tp_event",
	"perf_swevent_",
	"perf_syscall_enter",
	"perf_syscall_exit",
	"perf_call_bpf_",
	"uprobe_prog_run",
	"uprobe_perf_func",
	"__uprobe_perf_func",
	"uprobe_dispatcher",
	"uretprobe_dispatcher",
	"uretprobe_perf_func",
	"handler_chain",
	"handle_swbp",
	"handle_uretprobe_chain",
	"uprobe_handle_trampoline",
	"uprobe_notify_resume",
};

bool symbols__is_tracing(const char *symbol)
{
	for (size_t i = 0; symbol && i < ARRAY_SIZE(tracing_prefixes); i++) {
		if (!strncmp(symbol, tracing_prefixes[i], strlen(tracing_prefixes[i])))
			return true;
	}
	return false;
}
