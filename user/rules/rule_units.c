// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "rules/rule_units.h"

/* The index of the rule that @part names; @n: there is none. */
static size_t find_rule_part(const struct rule_conf *rules, size_t n, const struct when_part *part)
{
	size_t i = 0;

	while (i < n && (rules[i].id != part->id || rules[i].when.parts.n))
		i++;
	return i;
}

/* Number the rules that other rules are about. */
static int number_rule_parts(struct rule_units *t, const struct rule_conf *rules, size_t n,
			     struct err *err)
{
	uint32_t numbers = 0;

	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < rules[i].when.parts.n; k++) {
			size_t at = find_rule_part(t->v, t->n, &rules[i].when.parts.v[k]);

			if (at == t->n)
				return err_set(err, -EINVAL,
					       "rule %s refers to rule %s, which does not exist",
					       rules[i].name, rules[i].when.parts.v[k].name);
			if (t->v[at].part)
				continue;
			if (numbers == FRBPF_MAX_PARTS)
				return err_set(err, -E2BIG, "rules refer to more than %d others",
					       FRBPF_MAX_PARTS);
			t->v[at].part = ++numbers;
		}
	}
	return 0;
}

/* Add the unit of @rule that matches when its part @last is the last to match. */
static void add_unit(struct rule_units *t, size_t n_own, const struct rule_conf *rule,
		     uint32_t slot, uint32_t last)
{
	const struct when_parts *parts = &rule->when.parts;
	const struct rule_conf *of = &t->v[find_rule_part(t->v, n_own, &parts->v[last])];
	struct rule_conf *unit = &t->v[t->n];

	*unit = *rule;
	unit->when = of->when;
	if (when__takes_all(&of->when))
		when__drop_threshold(&unit->when);
	unit->when.parts = *parts;
	unit->part = of->part;
	unit->escalate = 0; /* values of different sources do not compare */
	for (uint32_t k = 0; k < parts->n; k++) {
		if (k != last)
			unit->others[unit->n_others++] =
				t->slots[find_rule_part(t->v, n_own, &parts->v[k])];
	}
	t->slots[t->n++] = slot;
}

int rule_units__make(const struct rule_conf *rules, size_t n, const uint32_t *slots,
		     struct rule_units *ret, struct err *err)
{
	struct rule_units t = { .v = calloc(n * WHEN_MAX_PARTS + 1, sizeof(*t.v)),
				.slots = calloc(n * WHEN_MAX_PARTS + 1, sizeof(*t.slots)) };
	size_t n_own;
	int code = t.v && t.slots ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !code; i++) {
		if (rules[i].when.parts.n)
			continue;
		t.v[t.n] = rules[i];
		t.slots[t.n++] = slots[i];
	}
	code = code ?: number_rule_parts(&t, rules, n, err);
	/* append rules on other rules: with equal thresholds, their parts are evaluated first */
	n_own = t.n;
	for (size_t i = 0; i < n && !code; i++) {
		const struct when_parts *parts = &rules[i].when.parts;

		for (uint32_t k = parts->ordered ? parts->n - 1 : 0; k < parts->n; k++)
			add_unit(&t, n_own, &rules[i], slots[i], k);
	}
	if (code)
		rule_units__free(&t);
	else
		*ret = t;
	return code;
}

void rule_units__order(const struct rule_units *t, size_t *ret)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t at = i;

		for (; at && when__comes_after(&t->v[ret[at - 1]].when, &t->v[i].when); at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
	}
}

void rule_units__free(struct rule_units *t)
{
	free(t->v);
	free(t->slots);
	*t = (struct rule_units){ 0 };
}
