// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/expr_tree.h"
#include "rules/glob.h"
#include "rules/when.h"

#define PID_MAX_LIMIT 4194304	   /* include/linux/threads.h, 64 bit */
#define CPU_MAX	      8191	   /* CONFIG_NR_CPUS is at most 8192 (arch/x86/Kconfig) */
#define UID_MAX	      0xfffffffeLL /* (uid_t)-1 means no user */
#define OF(source)    (1U << (source))
#define OF_PEER	      (OF(FRBPF_SOURCE_CONNECT) | OF(FRBPF_SOURCE_SYSCALL))
#define OF_BLKIO      (OF(FRBPF_SOURCE_BLKIO) | OF(FRBPF_SOURCE_BLKIO_DEVICE))

const struct expr_field_desc expr_fields[] = {
	{ "comm", FRBPF_FIELD_COMM, EXPR_STRING,
	  .meaning = "name of the thread, at most 15 bytes" },
	{ "process", FRBPF_FIELD_PROCESS, EXPR_STRING,
	  .meaning = "name of the process: of its first thread, at most 15 bytes" },
	{ "exe", FRBPF_FIELD_EXE, EXPR_EXE, .sources = EXPR_PATH_SOURCES,
	  .meaning =
		  "path of the executable, as /proc/PID/exe shows it; kernel threads have none" },
	{ "pid", FRBPF_FIELD_PID, EXPR_NUMBER, 0, PID_MAX_LIMIT,
	  .meaning = "process id (thread group id)" },
	{ "tid", FRBPF_FIELD_TID, EXPR_NUMBER, 0, PID_MAX_LIMIT, .meaning = "thread id" },
	{ "ppid", FRBPF_FIELD_PPID, EXPR_NUMBER, 0, PID_MAX_LIMIT,
	  .meaning = "process id of the parent" },
	{ "uid", FRBPF_FIELD_UID, EXPR_NUMBER, 0, UID_MAX, .meaning = "effective user id" },
	{ "cgroup", FRBPF_FIELD_CGROUP, EXPR_PATH,
	  .meaning = "the cgroup (v2) of this path, or one below it" },
	{ "prio", FRBPF_FIELD_PRIO, EXPR_NUMBER, -1, 140,
	  .meaning = "priority as sched tracepoints show it: below 100 real time, 120 nice 0" },
	{ "cpu", FRBPF_FIELD_CPU, EXPR_NUMBER, 0, CPU_MAX, .meaning = "processor" },
	{ "value", FRBPF_FIELD_VALUE, EXPR_DURATION, 0, INT64_MAX, .of_event = true,
	  .meaning = "what was measured" },
	{ "ret", FRBPF_FIELD_RET, EXPR_NUMBER, INT64_MIN, INT64_MAX, OF(FRBPF_SOURCE_SYSCALL), true,
	  symbols_errno,
	  "return value of the system call; EAGAIN and other names of errors mean the negative "
	  "number" },
	{ "syscall", FRBPF_FIELD_SYSCALL, EXPR_NUMBER, 0, FRBPF_KEY_MAX - 1,
	  OF(FRBPF_SOURCE_SYSCALL), true, NULL, "the system call, by name or number" },
	{ "path", FRBPF_FIELD_PATH, EXPR_NAME, .sources = OF(FRBPF_SOURCE_SYSCALL),
	  .of_event = true,
	  .meaning = "the path that the call was given, as the program wrote it" },
	{ "ret", FRBPF_FIELD_RET, EXPR_NUMBER, INT64_MIN, INT64_MAX, OF(FRBPF_SOURCE_UPROBE), true,
	  NULL, "return value of the function, the whole register: an int of -1 is 0xffffffff" },
#define PROBE_ARG(n, sources)                                                                      \
	{                                                                                          \
		"arg" #n, FRBPF_FIELD_ARG + (n), EXPR_NUMBER, INT64_MIN, INT64_MAX, sources, true, \
			NULL,                                                                      \
			"argument " #n                                                             \
			": the whole register for a function, the value for a static probe"        \
	}
	PROBE_ARG(0, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(1, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(2, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(3, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(4, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(5, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(6, OF(FRBPF_SOURCE_USDT)),
	PROBE_ARG(7, OF(FRBPF_SOURCE_USDT)),
#define PROBE_TEXT(n, sources_)                                                                    \
	{                                                                                          \
		"str(arg" #n ")", FRBPF_FIELD_PATH, EXPR_TEXT,                                     \
			.min = (n), .max = (n), .sources = (sources_), .of_event = true,           \
			.meaning = "the string that argument " #n " points to"                     \
	}
	PROBE_TEXT(0, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(1, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(2, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(3, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(4, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(5, OF(FRBPF_SOURCE_UPROBE) | OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(6, OF(FRBPF_SOURCE_USDT)),
	PROBE_TEXT(7, OF(FRBPF_SOURCE_USDT)),
	{ "state", FRBPF_FIELD_STATE, EXPR_NUMBER, 0, 0xffff, OF(FRBPF_SOURCE_OFFCPU), true,
	  symbols_state, "why the task left its CPU: R S D T t P I, as ps shows it" },
	{ "dev", (enum frbpf_field)FRBPF_BLKIO_DEV, EXPR_DEVICE, .sources = OF_BLKIO,
	  .of_event = true, .meaning = "the disk, by name (\"sda\") or number (\"8:0\")" },
	{ "sector", (enum frbpf_field)FRBPF_BLKIO_SECTOR, EXPR_NUMBER, 0, INT64_MAX, OF_BLKIO, true,
	  NULL, "the request's first sector, of 512 bytes" },
	{ "bytes", (enum frbpf_field)FRBPF_BLKIO_BYTES, EXPR_NUMBER, 0, UINT32_MAX, OF_BLKIO, true,
	  NULL, "the request's length" },
	{ "op", (enum frbpf_field)FRBPF_BLKIO_OP, EXPR_NUMBER, 0, FRBPF_BLKIO_OTHER, OF_BLKIO, true,
	  symbols_blkio_op, "the operation: read write flush discard ..." },
	{ "flags", (enum frbpf_field)FRBPF_BLKIO_FLAGS, EXPR_NUMBER, 0, UINT32_MAX, OF_BLKIO, true,
	  symbols_blkio_flags,
	  "its flags, as bits: sync meta prio fua preflush ahead background nowait swap", true },
	{ "irq", (enum frbpf_field)FRBPF_HARDIRQ_IRQ, EXPR_NUMBER, 0, INT32_MAX,
	  OF(FRBPF_SOURCE_HARDIRQ), true, NULL, "number of the interrupt, as in /proc/interrupts" },
	{ "name", (enum frbpf_field)FRBPF_HARDIRQ_NAME, EXPR_STRING,
	  .sources = OF(FRBPF_SOURCE_HARDIRQ), .of_event = true,
	  .meaning = "name of its handler, as in /proc/interrupts, at most 15 bytes" },
	{ "vec", (enum frbpf_field)FRBPF_SOFTIRQ_VEC, EXPR_NUMBER, 0, FRBPF_SOFTIRQ_VECS - 1,
	  OF(FRBPF_SOURCE_SOFTIRQ), true, symbols_softirq, "the vector: net_rx, timer ..." },
	{ "order", (enum frbpf_field)FRBPF_RECLAIM_ORDER, EXPR_NUMBER, 0, 64,
	  OF(FRBPF_SOURCE_RECLAIM), true, NULL, "2^order pages were requested" },
	{ "gfp", (enum frbpf_field)FRBPF_RECLAIM_GFP, EXPR_NUMBER, 0, UINT32_MAX,
	  OF(FRBPF_SOURCE_RECLAIM), true, NULL, "flags of the allocation, a number" },
	{ "scope", (enum frbpf_field)FRBPF_RECLAIM_SCOPE, EXPR_NUMBER, 0, FRBPF_RECLAIM_CGROUP,
	  OF(FRBPF_SOURCE_RECLAIM), true, symbols_reclaim_scope,
	  "what was short of memory: machine, or cgroup (at its limit)" },
	{ "pages", (enum frbpf_field)FRBPF_RECLAIM_PAGES, EXPR_NUMBER, 0, INT64_MAX,
	  OF(FRBPF_SOURCE_RECLAIM), true, NULL, "number of pages reclaimed" },
	{ "peer", (enum frbpf_field)FRBPF_CONNECT_PEER, EXPR_ADDRESS, .sources = OF_PEER,
	  .of_event = true, .meaning = "address of the peer, IPv4 or IPv6, or a prefix of it" },
	{ "port", (enum frbpf_field)FRBPF_CONNECT_PORT, EXPR_NUMBER, 0, UINT16_MAX, OF_PEER, true,
	  NULL, "port of the peer" },
	{ "family", (enum frbpf_field)FRBPF_CONNECT_FAMILY, EXPR_NUMBER, 0, UINT16_MAX, OF_PEER,
	  true, symbols_family, "address family of the socket: inet or inet6" },
	{ "result", (enum frbpf_field)FRBPF_CONNECT_RESULT, EXPR_NUMBER, 0, FRBPF_CONNECT_CLOSED,
	  OF(FRBPF_SOURCE_CONNECT), true, symbols_connect_result,
	  "how it ended: established, failed, or closed (by the program)" },
	{ "error", (enum frbpf_field)FRBPF_CONNECT_ERROR, EXPR_NUMBER, 0, FRBPF_ERRNO_MAX - 1,
	  OF(FRBPF_SOURCE_CONNECT), true, symbols_errno,
	  "why it failed: ETIMEDOUT, ECONNREFUSED ...; 0 if it did not" },
	{ NULL },
};

const struct expr_field_desc *expr_field__of(enum frbpf_source source, enum frbpf_field field)
{
	for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
		if (f->field == field && expr_field__is_of(f, source))
			return f;
	}
	return NULL;
}

bool expr_field__is_of(const struct expr_field_desc *f, enum frbpf_source source)
{
	return !source || !f->sources || (source < 32 && f->sources & OF(source));
}

const struct expr_field_desc *expr_field__find(const struct field_scope *scope, const char *s,
					       size_t len)
{
	const struct expr_field_desc *of_others = NULL;

	for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
		if (strlen(f->name) != len || memcmp(f->name, s, len))
			continue;
		if (expr_field__is_of(f, scope->source))
			return f;
		of_others = f;
	}
	return of_others;
}

int expr__parse(const struct source_text *src, struct span span, const struct field_scope *scope,
		struct diags *d, struct expr *ret)
{
	struct tree tree;
	int err = tree__parse(src, span, scope, d, &tree);

	err = err ?: tree__normalise(&tree, src, d, ret);
	if (err)
		tree__free(&tree);
	return err;
}

static enum frbpf_op positive_op(enum frbpf_op op)
{
	return op == FRBPF_OP_NO_GLOB ? FRBPF_OP_GLOB : op == FRBPF_OP_NO_BITS ? FRBPF_OP_BITS : op;
}

/* Parse the text of a node. If it is a pattern, the pattern replaces the text in e->strings. */
static int bind_node(struct expr *e, struct frbpf_node *n, const struct expr_field_desc *field,
		     const struct source_text *src, struct diags *d)
{
	struct leaf_field leaf = { .desc = field };
	uint32_t index = n->val[0];
	struct token op = { TOKEN_COMPARE, positive_op(n->op) }, value = { 0 };
	struct tree tree = { 0 };
	struct frbpf_node read;
	int err;

	value.span = (struct span){ n->val[1] >> 32, (uint32_t)n->val[1] };
	value.type = e->strings[index][0] == '"' ? TOKEN_STRING : TOKEN_WORD;
	op.span = value.span;
	err = leaf__parse(src, &leaf, op, value, d, &tree, &read);
	if (err)
		return err;
	memcpy(n->val, read.val, sizeof(n->val));
	if (read.op == FRBPF_OP_PREFIX || read.op == FRBPF_OP_NO_PREFIX) {
		n->op = read.op;
		n->prefix = read.prefix;
	}
	if (tree.n_strings) {
		free(e->strings[index]);
		e->strings[index] = tree.strings[0];
		n->val[0] = index;
	}
	return 0;
}

int expr__bind(struct expr *e, uint32_t slot, const struct expr_field_desc *field,
	       const struct source_text *src, struct diags *d)
{
	const struct frbpf_node *first[FRBPF_MAX_NODES] = { NULL };
	int err = 0;

	for (uint32_t i = 0; i < e->n_nodes; i++) {
		struct frbpf_node *n = &e->nodes[i];
		uint32_t index = n->val[0];
		int one = 0;

		if (n->field != FRBPF_FIELD_ARG + slot)
			continue;
		/* a comparison may be in several conjunctions: parse it once */
		if (first[index]) {
			memcpy(n->val, first[index]->val, sizeof(n->val));
			/* it is the same place in the text, so it is negated in the same way */
			n->op = first[index]->op;
			n->prefix = first[index]->prefix;
		} else {
			one = bind_node(e, n, field, src, d);
		}
		first[index] = n;
		if (one == -ENOMEM)
			return one;
		err = err ?: one;
	}
	return err;
}

void expr__free(struct expr *e)
{
	for (uint32_t i = 0; i < e->n_strings; i++)
		free(e->strings[i]);
	e->n_strings = 0;
}

static bool op_holds(enum frbpf_op op, __s64 a, __s64 b)
{
	switch (op) {
	case FRBPF_OP_LT:
		return a < b;
	case FRBPF_OP_LE:
		return a <= b;
	case FRBPF_OP_GT:
		return a > b;
	case FRBPF_OP_GE:
		return a >= b;
	case FRBPF_OP_BITS:
		return a & b;
	case FRBPF_OP_NO_BITS:
		return !(a & b);
	case FRBPF_OP_EQ:
	case FRBPF_OP_NE:
	case FRBPF_OP_GLOB:
	case FRBPF_OP_NO_GLOB:
	case FRBPF_OP_PREFIX:
	case FRBPF_OP_NO_PREFIX:
	case FRBPF_OP_MAX:
		break;
	}
	return false;
}

static bool path_is_at_or_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (!path)
		return false;
	return !strcmp(top, "/") || (!strncmp(path, top, len) && (!path[len] || path[len] == '/'));
}

/* A cgroup pattern also matches the cgroups below. */
static bool cgroup_fits(const char *pattern, const char *path)
{
	size_t len = path ? strlen(path) : 0;

	if (!len)
		return false;
	if (glob__match(pattern, path, len) || glob__match(pattern, "/", 1))
		return true;
	for (size_t i = 1; i < len; i++) {
		if (path[i] == '/' && glob__match(pattern, path, i))
			return true;
	}
	return false;
}

static bool exe_fits(const struct frbpf_node *n, const char *text, const char *path)
{
	if (!path || !*path)
		return false;
	if (n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_NE)
		return !strcmp(text, path);
	return glob__match(text, path, strlen(path));
}

/* Are the first @bits the same? See bpf/conditions.bpf.h. */
static bool prefix_holds(const __u64 *a, const __u64 *b, unsigned int bits)
{
	__u64 high = a[0] ^ b[0], low = a[1] ^ b[1];

	if (bits <= 64)
		return !bits || !(high >> (64 - bits));
	return !high && !(low >> (128 - bits));
}

static bool node_holds(const struct expr *e, const struct frbpf_node *n,
		       const struct expr_subject *s)
{
	int who = n->flags & FRBPF_NODE_CURRENT ? 1 : 0;
	const __u64 *val = s->val[who][n->field];
	const char *name = (const char *)val;

	if (n->field == FRBPF_FIELD_CGROUP)
		return path_is_at_or_below(s->cgroup[who], e->strings[n->val[0]]) ==
		       (n->op == FRBPF_OP_EQ);
	if (n->field == FRBPF_FIELD_CGROUP_PATH)
		return cgroup_fits(e->strings[n->val[0]], s->cgroup[who]) ==
		       (n->op == FRBPF_OP_GLOB);
	if (n->flags & FRBPF_NODE_TEXT && !s->text[n->prefix % FRBPF_MAX_ARGS])
		return false;
	if (n->flags & FRBPF_NODE_TEXT)
		return exe_fits(n, e->strings[n->val[0]], s->text[n->prefix % FRBPF_MAX_ARGS]) ==
		       (n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_GLOB);
	if (n->field == FRBPF_FIELD_EXE || n->field == FRBPF_FIELD_PATH)
		return exe_fits(n, e->strings[n->val[0]],
				n->field == FRBPF_FIELD_PATH ? s->path : s->exe[who]) ==
		       (n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_GLOB);
	if (n->op == FRBPF_OP_GLOB || n->op == FRBPF_OP_NO_GLOB)
		return glob__match(e->strings[n->val[0]], name, strnlen(name, FRBPF_COMM_LEN)) ==
		       (n->op == FRBPF_OP_GLOB);
	if (n->op == FRBPF_OP_PREFIX || n->op == FRBPF_OP_NO_PREFIX)
		return prefix_holds(val, n->val, n->prefix) == (n->op == FRBPF_OP_PREFIX);
	if (n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_NE) {
		bool same = val[0] == n->val[0] && val[1] == n->val[1];

		return same == (n->op == FRBPF_OP_EQ);
	}
	return op_holds(n->op, val[0], n->val[0]);
}

static enum expr_holds node_judge(const struct expr *e, const struct frbpf_node *n,
				  const struct expr_subject *s)
{
	int who = n->flags & FRBPF_NODE_CURRENT ? 1 : 0;

	if (s->unknown[who] >> n->field & 1)
		return EXPR_MAY_HOLD;
	return node_holds(e, n, s) ? EXPR_HOLDS : EXPR_HOLDS_NOT;
}

/* The weakest part decides the result of a conjunction, and the strongest that of a disjunction. */
enum expr_holds expr__holds(const struct expr *e, const struct expr_subject *s)
{
	enum expr_holds all = EXPR_HOLDS, any = EXPR_HOLDS_NOT, one;

	if (!e->n_nodes)
		return EXPR_HOLDS;
	for (uint32_t i = 0; i < e->n_nodes && any != EXPR_HOLDS; i++) {
		one = all == EXPR_HOLDS_NOT ? all : node_judge(e, &e->nodes[i], s);
		all = one < all ? one : all;
		if (!(e->nodes[i].flags & FRBPF_NODE_END))
			continue;
		any = all > any ? all : any;
		all = EXPR_HOLDS;
	}
	return any;
}

bool expr__eval(const struct expr *e, const struct expr_subject *s)
{
	return expr__holds(e, s) == EXPR_HOLDS;
}

int rule_args__add(struct rule_args *args, const char *name, size_t len, struct span at)
{
	struct rule_arg *arg;

	for (uint32_t i = 0; i < args->n; i++) {
		if (strlen(args->v[i].name) == len && !memcmp(args->v[i].name, name, len))
			return i;
	}
	if (args->n == FRBPF_MAX_ARGS)
		return -ENOSPC;
	arg = &args->v[args->n];
	*arg = (struct rule_arg){ .name = strndup(name, len), .at = at, .slot = args->n };
	return arg->name ? (int)args->n++ : -ENOMEM;
}

int rule_args__by_slot(const struct rule_args *args, uint32_t slot)
{
	for (uint32_t i = 0; i < args->n; i++) {
		if (args->v[i].slot == slot)
			return i;
	}
	return -ENOENT;
}

void rule_args__free(struct rule_args *args)
{
	for (uint32_t i = 0; i < args->n; i++)
		free(args->v[i].name);
	args->n = 0;
}
