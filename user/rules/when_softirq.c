// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "rules/constants.h"
#include "rules/when_parse.h"

/* Add a vector. An unknown name does not stop the parser. */
static void add_vector(struct when_parser *p, struct span name, uint64_t *keys)
{
	const char *s = p->src->text + name.off, *nearest;
	long vec;

	if (constant__find(symbols_softirq, s, name.len, &vec)) {
		nearest = constant__nearest(symbols_softirq, s, name.len);
		diags__error(p->d, p->src, name, "unknown softirq " QUOTED DID_YOU_MEAN "%s",
			     QUOTE(s, name.len), SUGGEST(nearest),
			     nearest ? ""
				     : ": use one of hi timer net_tx net_rx block irq_poll tasklet "
				       "sched hrtimer rcu, or *");
		p->failed = true;
	} else if (keys[0] >> vec & 1) {
		diags__error(p->d, p->src, name, QUOTED " is named twice", QUOTE(s, name.len));
		p->failed = true;
	} else {
		keys[0] |= 1ULL << vec;
	}
}

/* Parse ":net_rx,net_tx > 2ms" or ":* > 2ms". */
int when__parse_softirq(struct when_parser *p, struct span source, struct when *ret)
{
	struct span name;
	int n = 0, err;

	if (!when_parser__at(p, ":"))
		return diags__error(
			p->d, p->src, source,
			"the softirq is missing: write softirq:net_rx, or softirq:* for all");
	do {
		err = when_parser__listed_name(p, "softirq", !n, &name);
		if (err < 0)
			return err;
		if (err) {
			ret->keys[0] = (1ULL << FRBPF_SOFTIRQ_VECS) - 1;
			break;
		}
		add_vector(p, name, ret->keys);
		n++;
	} while (when_parser__at(p, ","));
	return when_parser__threshold(p, ret);
}
