// SPDX-License-Identifier: GPL-2.0-only
/* Options for the fields of samples: callchains, branches, registers, the period. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "record/call_graph.h"
#include "record/option_set.h"
#include "rules/units.h"

int option__set_callchain(struct option_parser *p, const struct option_value *v)
{
	struct record_opts *o = p->opts;

	if (v->unset) {
		o->call_graph = CALL_GRAPH_NONE;
	} else if (o->call_graph == CALL_GRAPH_NONE) { /* --call-graph is more specific */
		o->call_graph = CALL_GRAPH_FP;
		o->call_graph_default = true;
	}
	return 0;
}

int record_opts__set_default_call_graph(struct record_opts *o, const char *mode)
{
	size_t len = strcspn(mode, ",");
	enum call_graph found = call_graph__find(mode, len);
	const char *why;
	uint64_t bytes;

	if (found == CALL_GRAPH_NONE)
		return -EINVAL;
	if (!o->call_graph_default)
		return 0;
	o->call_graph = found;
	o->stack_bytes = CALL_GRAPH_STACK_DEFAULT;
	if (found != CALL_GRAPH_DWARF || !mode[len])
		return 0;
	if (units__number(mode + len + 1, strlen(mode + len + 1), &bytes, &why) < 0 || !bytes ||
	    call_graph__round_stack(&bytes))
		return -EINVAL;
	o->stack_bytes = bytes;
	return 0;
}

static int set_fp_depth(struct option_parser *p, const struct option_value *v, uint64_t *ret)
{
	int err = option__positive(p, v, "a stack depth", "--call-graph fp,64", ret);

	if (!err && *ret > UINT16_MAX)
		return OPTION_ERROR(p, v, "a stack depth of %s is out of range: at most %u",
				    v->text, UINT16_MAX);
	return err;
}

static int set_dump_size(struct option_parser *p, const struct option_value *v, uint64_t *ret)
{
	int err = option__positive(p, v, "a stack size", "--call-graph dwarf,8192", ret);

	if (!err && call_graph__round_stack(ret))
		return OPTION_ERROR(p, v, "a stack size of %s is out of range: at most %u bytes",
				    v->text, CALL_GRAPH_STACK_MAX);
	return err;
}

/* Parse the size after the comma. */
static int set_call_graph_size(struct option_parser *p, const struct option_value *v,
			       enum call_graph mode)
{
	uint64_t n = 0;
	int err;

	if (mode == CALL_GRAPH_LBR)
		return OPTION_ERROR(p, v, "lbr takes no size: remove ',%s'", v->text);
	err = mode == CALL_GRAPH_FP ? set_fp_depth(p, v, &n) : set_dump_size(p, v, &n);
	if (err)
		return err;
	if (mode == CALL_GRAPH_FP)
		p->opts->max_stack = n;
	else
		p->opts->stack_bytes = n;
	return 0;
}

int option__set_latency(struct option_parser *p, const struct option_value *v)
{
	p->opts->latency_span = v->unset ? (struct span){ 0 } : v->place;
	return 0;
}

int option__set_call_graph(struct option_parser *p, const struct option_value *v)
{
	struct option_value size = *v;
	struct record_opts *o = p->opts;
	enum call_graph mode;
	size_t len;

	o->call_graph = CALL_GRAPH_NONE;
	o->call_graph_default = false;
	o->max_stack = 0;
	o->stack_bytes = CALL_GRAPH_STACK_DEFAULT;
	if (v->unset)
		return 0;
	len = strcspn(v->text, ",");
	mode = call_graph__find(v->text, len);
	if (mode == CALL_GRAPH_NONE)
		return diags__error(p->d, p->src, word__span(v->word, v->off, len),
				    "unknown kind of call graph: write --call-graph fp, dwarf or "
				    "lbr");
	o->call_graph = mode;
	if (!v->text[len])
		return 0;
	size.text += len + 1;
	size.len -= len + 1;
	size.place = word__span(v->word, v->off + len + 1, size.len);
	if (mode == CALL_GRAPH_FP && !strcmp(size.text, "defer"))
		return OPTION_ERROR(p, &size,
				    "deferred callchains are records that most readers do not "
				    "know: write --call-graph fp");
	return set_call_graph_size(p, &size, mode);
}

int option__set_branch_any(struct option_parser *p, const struct option_value *v)
{
	p->branch_any = !v->unset;
	p->branch_span = v->place;
	p->opts->branch_types = v->unset ? 0 : PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

int option__set_branch_filter(struct option_parser *p, const struct option_value *v)
{
	struct part_span bad;

	p->branch_filter = true;
	p->branch_span = v->place;
	if (!call_graph__branch_types(v->text, v->len, &p->opts->branch_types, &bad))
		return 0;
	return diags__error(p->d, p->src, word__span(v->word, v->off + bad.off, bad.len),
			    "unknown branch filter '%.*s': use one of " CALL_GRAPH_BRANCH_WORDS,
			    (int)bad.len, v->text + bad.off);
}

static int set_registers(struct option_parser *p, const struct option_value *v, uint64_t *mask)
{
	struct part_span bad;

	if (!v->word) {
		*mask = REGISTERS_ALL;
		return 0;
	}
	if (!registers__parse(v->text, v->len, mask, &bad))
		return 0;
	return diags__error(p->d, p->src, word__span(v->word, v->off + bad.off, bad.len),
			    "unknown register '%.*s': `perf record -I?` lists them", (int)bad.len,
			    v->text + bad.off);
}

int option__set_intr_regs(struct option_parser *p, const struct option_value *v)
{
	return set_registers(p, v, &p->opts->intr_regs);
}

int option__set_user_regs(struct option_parser *p, const struct option_value *v)
{
	return set_registers(p, v, &p->opts->user_regs);
}

int option__set_off_cpu_thresh(struct option_parser *p, const struct option_value *v)
{
	const char *why = "";
	uint64_t ms;

	if (units__number(v->text, v->len, &ms, &why) < 0)
		return OPTION_ERROR(p, v, "'%s' is not a number of milliseconds: %s", v->text, why);
	if (ms > INT64_MAX / NSEC_PER_MSEC)
		return OPTION_ERROR(p, v, "%s ms is out of range", v->text);
	p->opts->off_cpu_least = ms * NSEC_PER_MSEC;
	p->opts->off_cpu_thresh = v->place;
	return 0;
}

int option__set_period(struct option_parser *p, const struct option_value *v)
{
	p->opts->period_given = true;
	p->opts->sample_period = !v->unset;
	return 0;
}

int option__set_no_inherit(struct option_parser *p, const struct option_value *v)
{
	p->opts->inherit_given = true;
	p->opts->no_inherit = !v->unset;
	return 0;
}
