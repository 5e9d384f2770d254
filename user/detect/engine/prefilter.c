// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/prefilter.h"

/* The numbers of a field that a condition allows: those from lo to hi, all but lo, or any. */
enum kind { RANGE, ALL_BUT, ANY };

struct set {
	enum kind kind;
	int64_t lo, hi;
	uint64_t bits; /* of a range: bit i is set if the six lowest bits of a number in it are i */
};

static const struct set any_number = { .kind = ANY };

static struct set range_set(int64_t lo, int64_t hi)
{
	struct set s = { RANGE, lo, hi, 0 };

	if ((uint64_t)hi - (uint64_t)lo >= 63)
		s.bits = UINT64_MAX;
	for (uint64_t v = lo; s.bits != UINT64_MAX && v - (uint64_t)lo <= (uint64_t)(hi - lo); v++)
		s.bits |= 1ULL << (v & 63);
	return s;
}

/* The numbers that satisfy a predicate; of a field with two words (@wide): the first words. */
static struct set predicate_set(const struct frbpf_node *n, bool wide)
{
	int64_t v = n->val[0];

	switch (n->op) {
	case FRBPF_OP_EQ:
		return range_set(v, v);
	case FRBPF_OP_NE:
		/* values that differ only in the second word have the same first word */
		return wide ? any_number : (struct set){ .kind = ALL_BUT, .lo = v };
	case FRBPF_OP_LT:
		return v == INT64_MIN ? any_number : range_set(INT64_MIN, v - 1);
	case FRBPF_OP_LE:
		return range_set(INT64_MIN, v);
	case FRBPF_OP_GT:
		return v == INT64_MAX ? any_number : range_set(v + 1, INT64_MAX);
	case FRBPF_OP_GE:
		return range_set(v, INT64_MAX);
	}
	return any_number;
}

/* The intersection, or a larger set. */
static struct set value_set_intersection(struct set a, struct set b)
{
	if (a.kind == RANGE && b.kind == RANGE) {
		int64_t lo = a.lo > b.lo ? a.lo : b.lo, hi = a.hi < b.hi ? a.hi : b.hi;

		/* empty: no value matches, so any set is correct */
		return lo <= hi ? range_set(lo, hi) : a;
	}
	return a.kind <= b.kind ? a : b;
}

/* The union, or a larger set. */
static struct set value_set_union(struct set a, struct set b)
{
	if (a.kind == RANGE && b.kind == RANGE) {
		struct set s = { RANGE, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
				 a.bits | b.bits };

		return s;
	}
	if (a.kind == ANY || b.kind == ANY)
		return any_number;
	if (a.kind == RANGE)
		return value_set_union(b, a);
	/* @a has all numbers but one */
	if (b.kind == ALL_BUT)
		return a.lo == b.lo ? a : any_number;
	return a.lo < b.lo || a.lo > b.hi ? a : any_number;
}

/* The bits of a name that are known. */
struct name {
	union {
		__u64 word[2];
		char text[FRBPF_COMM_LEN];
	} bits, mask;
};

static struct name predicate_name(const struct frbpf_node *n, const char *const *patterns)
{
	struct name name = { 0 };
	size_t len;

	if (n->op == FRBPF_OP_EQ) {
		memcpy(name.bits.text, n->val, FRBPF_COMM_LEN);
		/* with its NUL: the bytes after it are undefined */
		len = strnlen(name.bits.text, FRBPF_COMM_LEN - 1) + 1;
	} else if (n->op == FRBPF_OP_GLOB) {
		len = strcspn(patterns[n->val[0]], "*?[\\");
		if (len >= FRBPF_COMM_LEN)
			return name;
		memcpy(name.bits.text, patterns[n->val[0]], len);
	} else {
		return name;
	}
	memset(name.mask.text, 0xff, len);
	return name;
}

/* The bits that are equal in both. */
static struct name common_predicate_name(struct name a, struct name b)
{
	for (int i = 0; i < 2; i++) {
		a.mask.word[i] &= b.mask.word[i] & ~(a.bits.word[i] ^ b.bits.word[i]);
		a.bits.word[i] &= a.mask.word[i];
	}
	return a;
}

/* What a conjunction requires, or what all conjunctions so far have in common. */
struct wants {
	struct set of[FRBPF_FIELD_MAX];
	struct name comm;
};

static void clear_wants(struct wants *w)
{
	for (int i = 0; i < FRBPF_FIELD_MAX; i++)
		w->of[i] = any_number;
	w->comm = (struct name){ 0 };
}

/* Add a predicate of a conjunction. @wide: bits of the fields with two words */
static void want_node(struct wants *w, const struct frbpf_node *n, const char *const *patterns,
		      uint32_t wide)
{
	bool is_wide = wide >> n->field & 1;
	bool is_task = n->field == FRBPF_FIELD_PID || n->field == FRBPF_FIELD_TID ||
		       n->field == FRBPF_FIELD_UID;
	struct name name;

	if (n->flags & FRBPF_NODE_CURRENT)
		return;
	if (is_task || n->field >= FRBPF_FIELD_ARG)
		w->of[n->field] =
			value_set_intersection(w->of[n->field], predicate_set(n, is_wide));
	if (n->field != FRBPF_FIELD_COMM)
		return;
	name = predicate_name(n, patterns);
	if (name.mask.word[0])
		w->comm = name;
}

static void merge_wants(struct wants *all, const struct wants *one, bool first)
{
	if (first) {
		*all = *one;
		return;
	}
	for (int i = 0; i < FRBPF_FIELD_MAX; i++)
		all->of[i] = value_set_union(all->of[i], one->of[i]);
	all->comm = common_predicate_name(all->comm, one->comm);
}

static struct frbpf_prefilter_number predicate_number(const struct set *s, uint32_t field)
{
	struct frbpf_prefilter_number n = { .field = field };

	switch (s->kind) {
	case RANGE:
		n.lo = s->lo;
		n.span = (uint64_t)s->hi - (uint64_t)s->lo;
		n.bits = s->bits;
		break;
	case ALL_BUT:
		n.lo = (uint64_t)s->lo + 1;
		n.span = UINT64_MAX - 1;
		n.bits = UINT64_MAX;
		break;
	case ANY:
		n.span = n.bits = UINT64_MAX;
		n.field = FRBPF_FIELD_MAX;
		break;
	}
	return n;
}

/* Keep the test that the fewest numbers pass. */
static void choose_number(struct frbpf_prefilter_number *best, struct frbpf_prefilter_number n)
{
	if (n.field != FRBPF_FIELD_MAX && (best->field == FRBPF_FIELD_MAX || n.span < best->span))
		*best = n;
}

/* Can the prefilter express this predicate completely? */
static bool prefilter_says(const struct frbpf_node *n, uint32_t wide)
{
	if (n->flags & FRBPF_NODE_CURRENT)
		return false;
	if (n->field == FRBPF_FIELD_COMM)
		return n->op == FRBPF_OP_EQ;
	return n->field >= FRBPF_FIELD_ARG && !(wide >> n->field & 1) &&
	       predicate_set(n, false).kind != ANY;
}

/*
 * Does every event that passes the prefilter match @rule? Only if it has at most one predicate on
 * an argument, and one on the name.
 */
static bool prefilter_decides(const struct frbpf_rule *rule, uint32_t wide)
{
	bool has_comm = false, has_arg = false;

	for (uint32_t i = 0; i < rule->n_nodes; i++) {
		const struct frbpf_node *n = &rule->nodes[i];
		bool *has = n->field == FRBPF_FIELD_COMM ? &has_comm : &has_arg;

		if (*has || !prefilter_says(n, wide) ||
		    (n->flags & FRBPF_NODE_END && i + 1 < rule->n_nodes))
			return false;
		*has = true;
	}
	return true;
}

void prefilter__make(const struct frbpf_rule *rules, size_t n, const char *const *patterns,
		     uint32_t wide, struct frbpf_prefilter *ret)
{
	static const __u8 tasks[] = { FRBPF_FIELD_PID, FRBPF_FIELD_TID, FRBPF_FIELD_UID };
	struct wants all, one;
	bool first = true;

	clear_wants(&all);
	clear_wants(&one);
	for (size_t i = 0; i < n; i++) {
		if (rules[i].flags & FRBPF_RULE_AFTER) /* another rule must match the event first */
			continue;
		if (!rules[i].n_nodes)
			merge_wants(&all, &one, first);
		for (uint32_t k = 0; k < rules[i].n_nodes; k++) {
			want_node(&one, &rules[i].nodes[k], patterns, wide);
			if (!(rules[i].nodes[k].flags & FRBPF_NODE_END))
				continue;
			merge_wants(&all, &one, first);
			clear_wants(&one);
			first = false;
		}
		first = false;
	}
	ret->arg = ret->task = predicate_number(&any_number, FRBPF_FIELD_MAX);
	for (uint32_t f = FRBPF_FIELD_ARG; f < FRBPF_FIELD_MAX; f++)
		choose_number(&ret->arg, predicate_number(&all.of[f], f));
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
		choose_number(&ret->task, predicate_number(&all.of[tasks[i]], tasks[i]));
	memcpy(ret->comm, all.comm.bits.word, sizeof(ret->comm));
	memcpy(ret->comm_mask, all.comm.mask.word, sizeof(ret->comm_mask));
	ret->decides = n == 1 && rules[0].flags & FRBPF_RULE_HIT &&
		       !(rules[0].flags & (FRBPF_RULE_ABSENT | FRBPF_RULE_PART)) &&
		       prefilter_decides(&rules[0], wide);
	ret->slot = n == 1 ? rules[0].slot : 0;
}

static bool number_passes(const struct frbpf_prefilter_number *g, const __u64 (*val)[2])
{
	__u64 v = g->field < FRBPF_FIELD_MAX ? val[g->field][0] : 0;

	return v - g->lo <= g->span && g->bits >> (v & 63) & 1;
}

bool prefilter__passes(const struct frbpf_prefilter *g, const __u64 (*val)[2])
{
	const __u64 *comm = val[FRBPF_FIELD_COMM];

	return number_passes(&g->arg, val) && number_passes(&g->task, val) &&
	       !((comm[0] ^ g->comm[0]) & g->comm_mask[0]) &&
	       !((comm[1] ^ g->comm[1]) & g->comm_mask[1]);
}
