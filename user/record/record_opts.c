// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "record/record_opts.h"
#include "record/words.h"
#include "rules/units.h"

#define MAX_MMAP_PAGES UINT32_MAX /* as perf */

struct parser {
	const struct source_text *src;
	struct diags *d;
	size_t page_size;
	struct words words;
	size_t next; /* the word to be read */
	struct record_opts *opts;
	struct span count_span;
};

/* The value of an option: [off, off + len) of a word. */
struct value {
	const struct word *word; /* NULL: none given */
	size_t off;
	const char *text;
	size_t len;
	bool unset;	   /* --no-OPTION */
	struct span place; /* of the value or, when there is none, of the option */
};

typedef int (*set_fn)(struct parser *p, const struct value *v);

enum value_kind { VALUE_NONE, VALUE_REQUIRED, VALUE_OPTIONAL };

struct option {
	const char *name; /* NULL: only a letter */
	char letter;	  /* 0: only a name */
	enum value_kind kind;
	set_fn set;	 /* NULL: not supported in a session */
	bool can_negate; /* of those with set */
};

static int set_event(struct parser *p, const struct value *v);
static int set_freq(struct parser *p, const struct value *v);
static int set_count(struct parser *p, const struct value *v);
static int set_callchain(struct parser *p, const struct value *v);
static int set_call_graph(struct parser *p, const struct value *v);
static int set_mmap_pages(struct parser *p, const struct value *v);
static int set_all_cpus(struct parser *p, const struct value *v);
static int set_overwrite(struct parser *p, const struct value *v);
static int set_switch_output(struct parser *p, const struct value *v);

/* All of perf 6.1's, so that abbreviations and joined letters mean here what they mean there. */
static const struct option options[] = {
	{ "affinity", 0, VALUE_REQUIRED },
	{ "aio", 0, VALUE_OPTIONAL },
	{ "all-cgroups", 0, VALUE_NONE },
	{ "all-cpus", 'a', VALUE_NONE, set_all_cpus, true },
	{ "all-kernel", 0, VALUE_NONE },
	{ "all-user", 0, VALUE_NONE },
	{ "aux-sample", 0, VALUE_OPTIONAL },
	{ "branch-any", 'b', VALUE_NONE },
	{ "branch-filter", 'j', VALUE_REQUIRED },
	{ "buildid-all", 0, VALUE_NONE },
	{ "buildid-mmap", 0, VALUE_NONE },
	{ "call-graph", 0, VALUE_REQUIRED, set_call_graph, true },
	{ "cgroup", 'G', VALUE_REQUIRED },
	{ "clang-opt", 0, VALUE_REQUIRED },
	{ "clang-path", 0, VALUE_REQUIRED },
	{ "clockid", 'k', VALUE_REQUIRED },
	{ "code-page-size", 0, VALUE_NONE },
	{ "compression-level", 'z', VALUE_OPTIONAL },
	{ "control", 0, VALUE_REQUIRED },
	{ "count", 'c', VALUE_REQUIRED, set_count },
	{ "cpu", 'C', VALUE_REQUIRED },
	{ "data", 'd', VALUE_NONE },
	{ "data-page-size", 0, VALUE_NONE },
	{ "debuginfod", 0, VALUE_OPTIONAL },
	{ "delay", 'D', VALUE_REQUIRED },
	{ "dry-run", 0, VALUE_NONE },
	{ "event", 'e', VALUE_REQUIRED, set_event },
	{ "exclude-perf", 0, VALUE_NONE },
	{ "filter", 0, VALUE_REQUIRED },
	{ "freq", 'F', VALUE_REQUIRED, set_freq },
	{ NULL, 'g', VALUE_NONE, set_callchain },
	{ "group", 0, VALUE_NONE },
	{ "intr-regs", 'I', VALUE_OPTIONAL },
	{ "kcore", 0, VALUE_NONE },
	{ "kernel-callchains", 0, VALUE_NONE },
	{ "max-size", 0, VALUE_REQUIRED },
	{ "mmap-flush", 0, VALUE_REQUIRED },
	{ "mmap-pages", 'm', VALUE_REQUIRED, set_mmap_pages },
	{ "namespaces", 0, VALUE_NONE },
	{ "no-bpf-event", 0, VALUE_NONE },
	{ "no-buffering", 0, VALUE_NONE },
	{ "no-buildid", 'B', VALUE_NONE },
	{ "no-buildid-cache", 'N', VALUE_NONE },
	{ "no-inherit", 'i', VALUE_NONE },
	{ "no-samples", 'n', VALUE_NONE },
	{ "num-thread-synthesize", 0, VALUE_REQUIRED },
	{ "off-cpu", 0, VALUE_NONE },
	{ "output", 'o', VALUE_REQUIRED },
	{ "overwrite", 0, VALUE_NONE, set_overwrite, true },
	{ "per-thread", 0, VALUE_NONE },
	{ "period", 'P', VALUE_NONE },
	{ "phys-data", 0, VALUE_NONE },
	{ "pid", 'p', VALUE_REQUIRED },
	{ "proc-map-timeout", 0, VALUE_REQUIRED },
	{ "quiet", 'q', VALUE_NONE },
	{ "raw-samples", 'R', VALUE_NONE },
	{ "realtime", 'r', VALUE_REQUIRED },
	{ "running-time", 0, VALUE_NONE },
	{ "sample-cpu", 0, VALUE_NONE },
	{ "sample-identifier", 0, VALUE_NONE },
	{ "snapshot", 'S', VALUE_OPTIONAL },
	{ "stat", 's', VALUE_NONE },
	{ "strict-freq", 0, VALUE_NONE },
	{ "switch-events", 0, VALUE_NONE },
	{ "switch-max-files", 0, VALUE_REQUIRED },
	{ "switch-output", 0, VALUE_OPTIONAL, set_switch_output, true },
	{ "switch-output-event", 0, VALUE_REQUIRED },
	{ "synth", 0, VALUE_REQUIRED },
	{ "tail-synthesize", 0, VALUE_NONE },
	{ "threads", 0, VALUE_OPTIONAL },
	{ "tid", 't', VALUE_REQUIRED },
	{ "timestamp", 'T', VALUE_NONE },
	{ "timestamp-boundary", 0, VALUE_NONE },
	{ "timestamp-filename", 0, VALUE_NONE },
	{ "transaction", 0, VALUE_NONE },
	{ "uid", 'u', VALUE_REQUIRED },
	{ "user-callchains", 0, VALUE_NONE },
	{ "user-regs", 0, VALUE_OPTIONAL },
	{ "verbose", 'v', VALUE_NONE },
	{ "vmlinux", 0, VALUE_REQUIRED },
	{ "weight", 'W', VALUE_NONE },
};

static int add_event(struct parser *p, const struct value *v, size_t from, size_t len)
{
	struct record_opts *o = p->opts;
	struct event_item *items;
	char *text;

	if (!len)
		return diags__error(p->d, p->src, word__span(v->word, v->off + from, 0),
				    "an event is missing here: remove the comma or name one");
	items = realloc(o->events, (o->n_events + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	o->events = items;
	text = strndup(v->text + from, len);
	if (!text)
		return -ENOMEM;
	items[o->n_events++] = (struct event_item){ text, word__span(v->word, v->off + from, len) };
	return 0;
}

/* Commas part the items, but for those inside /terms/ and {groups}. */
static int set_event(struct parser *p, const struct value *v)
{
	bool in_terms = false, in_group = false;
	size_t from = 0;
	int err;

	for (size_t i = 0; i <= v->len; i++) {
		char c = i < v->len ? v->text[i] : ',';

		if (c == '/')
			in_terms = !in_terms;
		else if (c == '{' || c == '}')
			in_group = c == '{';
		if (i < v->len && (c != ',' || in_terms || in_group))
			continue;
		err = add_event(p, v, from, i - from);
		if (err)
			return err;
		from = i + 1;
	}
	return 0;
}

static int positive_number(struct parser *p, const struct value *v, const char *what,
			   const char *example, uint64_t *ret)
{
	const char *why = "";
	uint64_t n;

	if (units__number(v->text, v->len, &n, &why) < 0)
		return diags__error(p->d, p->src, v->place, "%s '%s': %s (for example %s)", what,
				    v->text, why, example);
	if (!n)
		return diags__error(p->d, p->src, v->place,
				    "%s of 0 records nothing: write %s, for example", what,
				    example);
	*ret = n;
	return 0;
}

static int set_freq(struct parser *p, const struct value *v)
{
	int err;

	p->opts->freq_span = v->place;
	p->opts->freq_max = !strcmp(v->text, "max");
	p->opts->freq = 0;
	if (p->opts->freq_max)
		return 0;
	err = positive_number(p, v, "a frequency", "-F 99, or -F max", &p->opts->freq);
	if (!err && p->opts->freq > UINT32_MAX)
		return diags__error(
			p->d, p->src, v->place,
			"a frequency of %s Hz is out of range: write -F max for the highest",
			v->text);
	return err;
}

static int set_count(struct parser *p, const struct value *v)
{
	int err = positive_number(p, v, "a period", "-c 1000", &p->opts->period);

	p->count_span = v->place;
	if (!err && p->opts->period > INT64_MAX) /* perf_event_open: EINVAL */
		return diags__error(p->d, p->src, v->place,
				    "a period of %s is out of range: at most 2^63 - 1", v->text);
	return err;
}

static int set_callchain(struct parser *p, const struct value *v)
{
	p->opts->callchain = true;
	return 0;
}

static int set_call_graph(struct parser *p, const struct value *v)
{
	struct value depth = *v;
	const char *comma;
	size_t mode_len;
	uint64_t n = 0;
	int err;

	if (v->unset) {
		p->opts->callchain = false;
		p->opts->max_stack = 0;
		return 0;
	}
	comma = strchr(v->text, ',');
	mode_len = comma ? (size_t)(comma - v->text) : v->len;
	if (mode_len != 2 || memcmp(v->text, "fp", 2)) {
		bool known = (mode_len == 5 && !memcmp(v->text, "dwarf", 5)) ||
			     (mode_len == 3 && !memcmp(v->text, "lbr", 3));

		return diags__error(p->d, p->src, word__span(v->word, v->off, mode_len),
				    "%s: use --call-graph fp, or -g",
				    known ? "this kind of call graph is not supported yet"
					  : "unknown kind of call graph");
	}
	p->opts->callchain = true;
	if (!comma)
		return 0;
	depth.text = comma + 1;
	depth.len = v->len - mode_len - 1;
	depth.place = word__span(v->word, v->off + mode_len + 1, depth.len);
	err = positive_number(p, &depth, "a stack depth", "--call-graph fp,64", &n);
	if (err)
		return err;
	if (n > UINT16_MAX)
		return diags__error(p->d, p->src, depth.place,
				    "a stack depth of %s is out of range: at most %u", depth.text,
				    UINT16_MAX);
	p->opts->max_stack = n;
	return 0;
}

static int mmap_pages_error(struct parser *p, const struct value *v, const char *why)
{
	return diags__error(p->d, p->src, v->place,
			    "ring size '%s': %s (pages, a power of two, or a size as in -m 16M)",
			    v->text, why);
}

static int set_mmap_pages(struct parser *p, const struct value *v)
{
	const char *comma = strchr(v->text, ','), *why = "a number is missing";
	uint64_t n, pages = 1;
	bool is_pages;

	if (comma)
		return diags__error(
			p->d, p->src,
			word__span(v->word, v->off + (comma - v->text), v->len - (comma - v->text)),
			"AUX area tracing is not supported in a session: remove this part");
	is_pages = v->len && v->text[v->len - 1] >= '0' && v->text[v->len - 1] <= '9';
	if (!v->len || (is_pages ? units__number(v->text, v->len, &n, &why)
				 : units__size(v->text, v->len, &n, &why)) < 0)
		return mmap_pages_error(p, v, why);
	if (!is_pages)
		n = n / p->page_size + (n % p->page_size != 0);
	if (!n)
		return mmap_pages_error(p, v, "a ring needs at least one page");
	while (pages < n && pages <= MAX_MMAP_PAGES)
		pages *= 2;
	if (pages > MAX_MMAP_PAGES)
		return mmap_pages_error(p, v, "too large");
	p->opts->mmap_bytes = pages * p->page_size;
	return 0;
}

static int set_all_cpus(struct parser *p, const struct value *v)
{
	p->opts->system_wide = !v->unset;
	return 0;
}

static int set_overwrite(struct parser *p, const struct value *v)
{
	p->opts->overwrite = !v->unset;
	return 0;
}

static int set_switch_output(struct parser *p, const struct value *v)
{
	if (v->word && strcmp(v->text, "signal"))
		return diags__error(p->d, p->src, v->place,
				    "a session writes on a rule, on `frbpf dump` or on a signal, "
				    "not by '%s': write --switch-output",
				    v->text);
	p->opts->switch_output = !v->unset;
	return 0;
}

/* An option as it was met. */
struct hit {
	const struct option *option;
	bool unset;
	char shown[40];	   /* for messages: -F, --freq, --no-overwrite */
	struct span place; /* without the value */
	const struct word *word;
	size_t value_at; /* of a value joined to it, in @word; 0: none */
};

static int take_value(struct parser *p, const struct hit *h, struct value *v)
{
	*v = (struct value){ .unset = h->unset, .place = h->place };
	if (h->value_at) {
		v->word = h->word;
		v->off = h->value_at;
	} else if (h->option->kind == VALUE_REQUIRED && !h->unset) {
		if (p->next == p->words.n)
			return diags__error(p->d, p->src, h->place, "option '%s' needs a value",
					    h->shown);
		v->word = &p->words.v[p->next++];
	}
	if (v->word) {
		v->text = v->word->text + v->off;
		v->len = v->word->len - v->off;
		v->place = word__span(v->word, v->off, v->len);
	}
	return 0;
}

static int apply(struct parser *p, const struct hit *h)
{
	struct value v;
	int err = take_value(p, h, &v);

	if (err)
		return err;
	if (!h->option->set)
		return diags__error(p->d, p->src, h->place,
				    "option '%s' of perf record is not supported in a session",
				    h->shown);
	if (h->unset && !h->option->can_negate)
		return diags__error(p->d, p->src, h->place, "there is no option '%s'", h->shown);
	if (v.word && (h->unset || h->option->kind == VALUE_NONE))
		return diags__error(p->d, p->src, h->place, "option '%s' takes no value", h->shown);
	return h->option->set(p, &v);
}

static const struct option *find_letter(char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (c && options[i].letter == c)
			return &options[i];
	return NULL;
}

/* -agF99: letters until one takes the rest, or the next word, as its value. */
static int letters(struct parser *p, const struct word *w)
{
	for (size_t i = 1; i < w->len; i++) {
		struct hit h = { .option = find_letter(w->text[i]), .word = w };
		int err;

		h.place = i == 1 ? word__span(w, 0, 2) : word__span(w, i, 1);
		snprintf(h.shown, sizeof(h.shown), "-%c", w->text[i]);
		if (!h.option)
			return diags__error(p->d, p->src, h.place,
					    "unknown option '%s' of perf record", h.shown);
		if (h.option->kind != VALUE_NONE && i + 1 < w->len)
			h.value_at = i + 1;
		err = apply(p, &h);
		if (err || h.value_at)
			return err;
	}
	return 0;
}

static bool starts_with(const char *s, const char *prefix, size_t len)
{
	return !strncmp(s, prefix, len);
}

enum match { MATCH_NOT, MATCH_PREFIX, MATCH_EXACT };

/* Is the first @len of @arg the option @name, or short for it, or for its --no- form? In perf's
 * order: tools/lib/subcmd/parse-options.c, parse_long_opt(). */
static enum match match_name(const char *name, const char *arg, size_t len, bool *ret_unset)
{
	bool own_no = starts_with(name, "no-", 3); /* --no-buildid is negated by --buildid */

	*ret_unset = false;
	if (starts_with(name, arg, len))
		return name[len] ? MATCH_PREFIX : MATCH_EXACT;
	*ret_unset = true;
	if (own_no && starts_with(name + 3, arg, len))
		return name[3 + len] ? MATCH_PREFIX : MATCH_EXACT;
	if (len <= 3 && starts_with("no-", arg, len))
		return MATCH_PREFIX;
	if (len > 3 && starts_with(arg, "no-", 3) && starts_with(name, arg + 3, len - 3))
		return name[len - 3] ? MATCH_PREFIX : MATCH_EXACT;
	return MATCH_NOT;
}

static int unknown_name(struct parser *p, const char *arg, size_t len, struct span place)
{
	const char *names[ARRAY_SIZE(options) + 1], *near;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].name)
			names[n++] = options[i].name;
	names[n] = NULL;
	near = nearest_word(arg, len, names);
	if (near)
		return diags__error(p->d, p->src, place,
				    "unknown option '--%.*s' of perf record (did you mean '--%s'?)",
				    (int)len, arg, near);
	return diags__error(p->d, p->src, place, "unknown option '--%.*s' of perf record", (int)len,
			    arg);
}

/* In full, whatever was typed. */
static void show_long(struct hit *h)
{
	const char *name = h->option->name;
	bool own_no = starts_with(name, "no-", 3);

	if (h->unset && own_no)
		name += 3;
	snprintf(h->shown, sizeof(h->shown), "--%s%s", h->unset && !own_no ? "no-" : "", name);
}

/* --name, --name=value, --no-name, each abbreviated as long as it is unique. */
static int long_option(struct parser *p, const struct word *w)
{
	const char *arg = w->text + 2;
	size_t len = strcspn(arg, "=");
	struct hit h = { .word = w, .place = word__span(w, 0, len + 2) };
	const struct option *second = NULL;
	enum match match = MATCH_NOT;

	for (size_t i = 0; i < ARRAY_SIZE(options) && match != MATCH_EXACT; i++) {
		bool unset = false;

		match = options[i].name ? match_name(options[i].name, arg, len, &unset) : MATCH_NOT;
		if (match == MATCH_NOT)
			continue;
		second = match == MATCH_EXACT ? NULL : h.option;
		h.option = &options[i];
		h.unset = unset;
	}
	if (!h.option)
		return unknown_name(p, arg, len, h.place);
	if (second)
		return diags__error(p->d, p->src, h.place,
				    "option '--%.*s' is ambiguous: it could be '--%s' or '--%s'",
				    (int)len, arg, second->name, h.option->name);
	h.value_at = arg[len] ? len + 3 : 0;
	show_long(&h);
	return apply(p, &h);
}

/* Every word to its option; errors are collected, only want of memory ends the walk. */
static int parse_words(struct parser *p)
{
	int err = 0;

	while (p->next < p->words.n && err != -ENOMEM) {
		const struct word *w = &p->words.v[p->next++];

		if (!strcmp(w->text, "--") && p->next == p->words.n)
			break;
		if (w->text[0] != '-' || w->len < 2 || !strcmp(w->text, "--")) {
			diags__error(p->d, p->src, word__span(w, 0, w->len),
				     "'%s': a session runs no command; options begin with '-'",
				     w->text);
			break;
		}
		err = w->text[1] == '-' ? long_option(p, w) : letters(p, w);
	}
	return err == -ENOMEM ? err : 0;
}

static void check_together(struct parser *p)
{
	const struct record_opts *o = p->opts;

	if ((o->freq || o->freq_max) && o->period)
		diags__error(p->d, p->src, p->count_span,
			     "a frequency (-F) and a period (-c) exclude each other: remove one");
	if (!o->overwrite && !o->switch_output)
		diags__warn(p->d, p->src, o->span,
			    "without --overwrite: records into an overwritable ring all the same");
}

int record_opts__parse_damaged(const struct source_text *src, struct span span, size_t page_size,
			       struct diags *d, struct record_opts **ret)
{
	struct parser p = { .src = src, .d = d, .page_size = page_size };
	int err;

	p.opts = calloc(1, sizeof(*p.opts));
	if (!p.opts)
		return -ENOMEM;
	p.opts->span = span;
	err = words__split(src, span, d, &p.words);
	if (!err)
		err = parse_words(&p);
	if (!err)
		check_together(&p);
	if (!err && d->out_of_memory)
		err = -ENOMEM;
	words__free(&p.words);
	if (err) {
		record_opts__free(p.opts);
		return err;
	}
	*ret = p.opts;
	return 0;
}

int record_opts__parse(const struct source_text *src, struct span span, size_t page_size,
		       struct diags *d, struct record_opts **ret)
{
	size_t errors = d->n_errors;
	struct record_opts *opts;
	int err = record_opts__parse_damaged(src, span, page_size, d, &opts);

	if (!err && d->n_errors > errors) {
		record_opts__free(opts);
		err = -EINVAL;
	}
	if (!err)
		*ret = opts;
	return err;
}

void record_opts__free(struct record_opts *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_events; i++)
		free(o->events[i].text);
	free(o->events);
	free(o);
}
