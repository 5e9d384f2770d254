// SPDX-License-Identifier: GPL-2.0-only
/* Source psi:RESOURCE some|full > T in W [of CGROUP] */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/constants.h"
#include "rules/target.h"
#include "rules/units.h"
#include "rules/when_parse.h"

#define WINDOW_MIN (NSEC_PER_SEC / 2) /* kernel/sched/psi.c: WINDOW_MIN_US, WINDOW_MAX_US */
#define WINDOW_MAX (10 * NSEC_PER_SEC)

static const char *const resources[] = { "cpu", "memory", "io", "irq", NULL };
static const char *const kinds[] = { "some", "full", NULL };

static int take_word(struct when_parser *p, const char *const *words, const char *what,
		     char ret[static PSI_WORD_MAX], struct span *ret_at)
{
	struct span word = when_parser__word(p);
	const char *s = p->src->text + word.off, *nearest;

	*ret_at = word;
	if (!word.len)
		return diags__error(p->d, p->src, when_parser__here(p), "%s is expected here",
				    what);
	for (const char *const *w = words; *w; w++) {
		if (text__equals(p->src, word, *w)) {
			snprintf(ret, PSI_WORD_MAX, "%s", *w);
			return 0;
		}
	}
	nearest = nearest_word(s, word.len, words);
	return diags__error(p->d, p->src, word, "%s is expected here, not " QUOTED DID_YOU_MEAN,
			    what, QUOTE(s, word.len), SUGGEST(nearest));
}

/* Reject kinds that the kernel does not measure (Documentation/accounting/psi.rst). */
static int check_kind(struct when_parser *p, const struct psi_target *t, struct span kind)
{
	if (!strcmp(t->resource, "irq") && strcmp(t->kind, "full") != 0)
		return diags__error(p->d, p->src, kind,
				    "the kernel has only 'full' for interrupts");
	if (!strcmp(t->resource, "cpu") && !strcmp(t->kind, "full") && !t->cgroup[0])
		return diags__error(p->d, p->src, kind,
				    "the whole machine has no 'cpu full': some task always has the "
				    "CPU; write 'some', or name a cgroup");
	return 0;
}

static int take_duration(struct when_parser *p, const char *missing, uint64_t *ret,
			 struct span *ret_at)
{
	*ret_at = when_parser__word(p);
	if (!ret_at->len)
		return diags__error(p->d, p->src, when_parser__here(p), "%s", missing);
	return text__duration(p->src, *ret_at, p->d, ret);
}

/* Parse "> 150ms in 2s". */
static int take_amount(struct when_parser *p, struct psi_target *t, struct when *ret)
{
	struct span at, in, window_at;
	uint64_t window;

	if (!when_parser__at(p, ">") || when_parser__at(p, ">="))
		return diags__error(p->d, p->src, when_parser__here(p),
				    "'>', a stall and a window are expected here, such as > 150ms "
				    "in 2s");
	p->pos++;
	if (take_duration(p, "a duration is expected after '>', such as 150ms", &ret->threshold,
			  &at))
		return -EINVAL;
	in = when_parser__word(p);
	if (!text__equals(p->src, in, "in"))
		return diags__error(p->d, p->src, in.len ? in : when_parser__here(p),
				    "the window is missing: write > %.*s in 2s", (int)at.len,
				    p->src->text + at.off);
	if (take_duration(p, "a time is expected after 'in', such as 2s", &window, &window_at))
		return -EINVAL;
	if (window < WINDOW_MIN || window > WINDOW_MAX)
		return diags__error(p->d, p->src, window_at,
				    "the kernel accepts windows from 500ms to 10s");
	if (ret->threshold < NSEC_PER_USEC)
		return diags__error(p->d, p->src, at,
				    "the kernel counts stalls in microseconds: write 1us or more");
	if (ret->threshold > window)
		return diags__error(p->d, p->src, at,
				    "a stall in this window cannot be longer than the window");
	t->threshold_us = ret->threshold / NSEC_PER_USEC;
	t->window_us = window / NSEC_PER_USEC;
	return 0;
}

int when__parse_psi(struct when_parser *p, struct span source, struct when *ret)
{
	struct psi_target t = { .cgroup = "" };
	struct span resource, kind;
	int err;

	if (!when_parser__at(p, ":"))
		return diags__error(p->d, p->src, source,
				    "the resource is missing: write psi:memory some > 150ms in 2s");
	p->pos++;
	err = take_word(p, resources, "cpu, memory, io or irq", t.resource, &resource);
	err = err ?: take_word(p, kinds, "'some' or 'full'", t.kind, &kind);
	err = err ?: take_amount(p, &t, ret);
	if (!err && p->pos < p->end)
		err = when_parser__of_cgroup(p, t.cgroup, sizeof(t.cgroup));
	err = err ?: check_kind(p, &t, kind);
	if (err)
		return err;
	ret->hit = true; /* the kernel compares */
	ret->target = psi_target__format(&t);
	return ret->target ? 0 : -ENOMEM;
}
