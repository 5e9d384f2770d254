// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "detect/engine/together.h"

/* The index of the rule that @part names; @n: there is none. */
static size_t find_rule_part(const struct rule_conf *rules, size_t n, const struct when_part *part)
{
	size_t i = 0;

	while (i < n && (rules[i].id != part->id || rules[i].when.parts.n))
		i++;
	return i;
}

/* Number the rules that other rules are about. */
static int number_rule_parts(struct together *t, const struct rule_conf *rules, size_t n,
			     struct err *err)
{
	uint32_t numbers = 0;

	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < rules[i].when.parts.n; k++) {
			size_t at = find_rule_part(t->units, t->n, &rules[i].when.parts.v[k]);

			if (at == t->n)
				return err_set(err, -EINVAL,
					       "rule %s refers to rule %s, which does not exist",
					       rules[i].name, rules[i].when.parts.v[k].name);
			if (t->units[at].part)
				continue;
			if (numbers == FRBPF_MAX_PARTS)
				return err_set(err, -E2BIG, "rules refer to more than %d others",
					       FRBPF_MAX_PARTS);
			t->units[at].part = ++numbers;
		}
	}
	return 0;
}

/* Add the unit of @rule that matches when its part @last is the last to match. */
static void add_unit(struct together *t, size_t n_own, const struct rule_conf *rule, uint32_t slot,
		     uint32_t last)
{
	const struct when_parts *parts = &rule->when.parts;
	const struct rule_conf *of = &t->units[find_rule_part(t->units, n_own, &parts->v[last])];
	struct rule_conf *unit = &t->units[t->n];

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
				t->slots[find_rule_part(t->units, n_own, &parts->v[k])];
	}
	t->slots[t->n++] = slot;
}

int together__make(const struct rule_conf *rules, size_t n, const uint32_t *slots,
		   struct together *ret, struct err *err)
{
	struct together t = { .units = calloc(n * WHEN_MAX_PARTS + 1, sizeof(*t.units)),
			      .slots = calloc(n * WHEN_MAX_PARTS + 1, sizeof(*t.slots)) };
	size_t n_own;
	int code = t.units && t.slots ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !code; i++) {
		if (rules[i].when.parts.n)
			continue;
		t.units[t.n] = rules[i];
		t.slots[t.n++] = slots[i];
	}
	code = code ?: number_rule_parts(&t, rules, n, err);
	/* after the rules that they are about, so that these come first if thresholds are equal */
	n_own = t.n;
	for (size_t i = 0; i < n && !code; i++) {
		const struct when_parts *parts = &rules[i].when.parts;

		for (uint32_t k = parts->ordered ? parts->n - 1 : 0; k < parts->n; k++)
			add_unit(&t, n_own, &rules[i], slots[i], k);
	}
	if (code)
		together__free(&t);
	else
		*ret = t;
	return code;
}

void together__order(const struct together *t, size_t *ret)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t at = i;

		for (; at && when__comes_after(&t->units[ret[at - 1]].when, &t->units[i].when);
		     at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
	}
}

void together__free(struct together *t)
{
	free(t->units);
	free(t->slots);
	*t = (struct together){ 0 };
}
