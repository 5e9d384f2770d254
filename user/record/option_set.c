// SPDX-License-Identifier: GPL-2.0-only
/* Options for events, rates and rings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/nearest_word.h"
#include "record/option_set.h"
#include "rules/units.h"

#define MAX_MMAP_PAGES UINT32_MAX /* as perf */

int option__positive(struct option_parser *p, const struct option_value *v, const char *what,
		     const char *example, uint64_t *ret)
{
	const char *why = "";
	uint64_t n;

	if (units__number(v->text, v->len, &n, &why) < 0)
		return OPTION_ERROR(p, v, "%s '%s': %s (for example %s)", what, v->text, why,
				    example);
	if (!n)
		return OPTION_ERROR(p, v, "%s of 0 records nothing: write %s, for example", what,
				    example);
	*ret = n;
	return 0;
}

int option__text(const struct option_value *v, char **ret)
{
	char *text = strndup(v->text, v->len);

	if (!text)
		return -ENOMEM;
	free(*ret);
	*ret = text;
	return 0;
}

static int option__add_event(struct option_parser *p, const struct option_value *v, size_t from,
			     size_t len)
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
	items[o->n_events++] = (struct event_item){
		.text = text,
		.span = word__span(v->word, v->off + from, len),
	};
	return 0;
}

/*
 * Split at commas, except inside /terms/ and {groups}. The slash of mem:ADDR/LEN does not begin
 * terms.
 */
int option__set_event(struct option_parser *p, const struct option_value *v)
{
	bool in_terms = false, in_group = false;
	size_t from = 0;
	int err;

	p->last_events = p->opts->n_events;
	for (size_t i = 0; i <= v->len; i++) {
		char c = i < v->len ? v->text[i] : ',';

		if (c == '/' && strncmp(v->text + from, "mem:", 4) != 0)
			in_terms = !in_terms;
		else if (c == '{' || c == '}')
			in_group = c == '{';
		if (i < v->len && (c != ',' || in_terms || in_group))
			continue;
		err = option__add_event(p, v, from, i - from);
		if (err)
			return err;
		from = i + 1;
	}
	return 0;
}

int option__set_freq(struct option_parser *p, const struct option_value *v)
{
	int err;

	p->opts->freq_span = v->place;
	p->opts->freq_max = !strcmp(v->text, "max");
	p->opts->freq = 0;
	if (p->opts->freq_max)
		return 0;
	err = option__positive(p, v, "a frequency", "-F 99, or -F max", &p->opts->freq);
	if (!err && p->opts->freq > UINT32_MAX)
		return diags__error(
			p->d, p->src, v->place,
			"a frequency of %s Hz is out of range: write -F max for the highest",
			v->text);
	return err;
}

int option__set_count(struct option_parser *p, const struct option_value *v)
{
	int err = option__positive(p, v, "a period", "-c 1000", &p->opts->period);

	p->count_span = v->place;
	if (!err && p->opts->period > INT64_MAX) /* perf_event_open: EINVAL */
		return diags__error(p->d, p->src, v->place,
				    "a period of %s is out of range: at most 2^63 - 1", v->text);
	return err;
}

static int mmap_pages_error(struct option_parser *p, const struct option_value *v, const char *why)
{
	return diags__error(p->d, p->src, v->place,
			    "ring size '%s': %s (pages, a power of two, or a size as in -m 16M)",
			    v->text, why);
}

int option__set_mmap_pages(struct option_parser *p, const struct option_value *v)
{
	const char *comma = strchr(v->text, ','), *why = "a number is missing";
	uint64_t n, pages = 1;
	bool is_pages;

	if (comma)
		return diags__error(
			p->d, p->src,
			word__span(v->word, v->off + (comma - v->text), v->len - (comma - v->text)),
			"AUX area tracing has no overwritable ring of records: remove this part");
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

/*
 * Only tracepoints have a filter. Other events of the last -e are rejected later, when they are
 * resolved.
 */
int option__set_filter(struct option_parser *p, const struct option_value *v)
{
	struct record_opts *o = p->opts;

	if (!o->n_events)
		return OPTION_ERROR(p, v, "--filter must come after the -e that it applies to");
	if (!v->len)
		return OPTION_ERROR(p, v, "a filter is missing: for example 'prev_pid != 0'");
	for (size_t i = p->last_events; i < o->n_events; i++) {
		struct event_item *item = &o->events[i];
		char *both;

		if (item->filter) {
			if (asprintf(&both, "(%s) && (%s)", item->filter, v->text) < 0)
				return -ENOMEM;
			free(item->filter);
			item->filter = both;
		} else if (option__text(v, &item->filter)) {
			return -ENOMEM;
		}
		item->filter_span = v->place;
	}
	return 0;
}

int option__set_exclude_perf(struct option_parser *p, const struct option_value *v)
{
	struct record_opts *o = p->opts;

	if (!o->n_events)
		return OPTION_ERROR(p, v,
				    "--exclude-perf must come after the -e that it applies to");
	for (size_t i = p->last_events; i < o->n_events; i++)
		o->events[i].exclude_perf = true;
	return 0;
}

static int option__add_range(struct option_parser *p, uint64_t from, uint64_t to)
{
	struct record_opts *o = p->opts;
	struct delay_range *more = reallocarray(o->delay, o->n_delay + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	o->delay = more;
	more[o->n_delay++] = (struct delay_range){ from, to };
	return 0;
}

/* Parse "10", "-1" or "10-20,30-40", in milliseconds. */
static int option__add_delay(struct option_parser *p, const struct option_value *v,
			     const char *text, size_t len)
{
	const char *dash = memchr(text, '-', len), *why;
	struct record_opts *o = p->opts;
	uint64_t from, to = UINT64_MAX;

	if (units__number(text, dash ? (size_t)(dash - text) : len, &from, &why) < 0 ||
	    (dash && units__number(dash + 1, text + len - dash - 1, &to, &why) < 0) ||
	    from > UINT32_MAX || (dash && (to > UINT32_MAX || to <= from)))
		return OPTION_ERROR(
			p, v,
			"'%s' is not a delay: write milliseconds such as 100, ranges such as "
			"10-20,30-40, or -1 for a session that waits to be enabled",
			v->text);
	if (o->n_delay && from * NSEC_PER_MSEC < o->delay[o->n_delay - 1].to)
		return OPTION_ERROR(p, v,
				    "the ranges of -D must be in order: '%.*s' begins before the "
				    "one before it ends",
				    (int)len, text);
	return option__add_range(p, from * NSEC_PER_MSEC, dash ? to * NSEC_PER_MSEC : UINT64_MAX);
}

int option__set_delay(struct option_parser *p, const struct option_value *v)
{
	bool ranges = v->len && strchr(v->text + 1, '-');
	const char *at = v->text;
	int err = 0;

	p->opts->n_delay = 0;
	if (!strcmp(v->text, "-1"))
		return option__add_range(p, UINT64_MAX, UINT64_MAX);
	if (!ranges)
		return option__add_delay(p, v, v->text, v->len);
	while (!err) {
		size_t len = strcspn(at, ",");

		if (!memchr(at, '-', len))
			return OPTION_ERROR(p, v, "'%.*s' is not a range: write FROM-TO", (int)len,
					    at);
		err = option__add_delay(p, v, at, len);
		if (!at[len])
			break;
		at += len + 1;
	}
	return err;
}

int option__check_number(struct option_parser *p, const struct option_value *v)
{
	const char *why = "";
	uint64_t n;

	if (!v->word || v->unset || !units__number(v->text, v->len, &n, &why))
		return 0;
	return OPTION_ERROR(p, v, "'%s' is not a number: %s", v->text, why);
}

int option__check_size(struct option_parser *p, const struct option_value *v)
{
	const char *why = "";
	uint64_t n;

	if (!v->word || v->unset || !units__number(v->text, v->len, &n, &why) ||
	    !units__size(v->text, v->len, &n, &why))
		return 0;
	return OPTION_ERROR(p, v, "'%s' is not a size: %s", v->text, why);
}

/* Check that the value is one of @words, case-insensitive. */
static int option__check_word(struct option_parser *p, const struct option_value *v,
			      const char *what, const char *const *words)
{
	const char *near;

	if (v->unset)
		return 0;
	for (const char *const *w = words; *w; w++) {
		if (!strcasecmp(v->text, *w))
			return 0;
	}
	near = nearest_word(v->text, v->len, words);
	if (near)
		return OPTION_ERROR(p, v, "unknown %s '%s' (did you mean '%s'?)", what, v->text,
				    near);
	return OPTION_ERROR(p, v, "unknown %s '%s'", what, v->text);
}

int option__check_clock(struct option_parser *p, const struct option_value *v)
{
	static const char *const clocks[] = { "monotonic", "monotonic_raw", "realtime",
					      "boottime",  "tai",	    "mono",
					      "raw",	   "real",	    "boot",
					      NULL };
	struct option_value name = *v;
	const char *why;
	uint64_t n;

	if (v->unset || !units__number(v->text, v->len, &n, &why))
		return 0;
	if (!strncasecmp(v->text, "CLOCK_", 6)) {
		name.text += 6;
		name.len -= 6;
	}
	return option__check_word(p, &name, "clock", clocks);
}

int option__check_synth(struct option_parser *p, const struct option_value *v)
{
	static const char *const kinds[] = { "no", "all", "task", "mmap", "cgroup", NULL };
	struct option_value one = *v;
	char word[16];
	int err = 0;

	for (size_t off = 0; !v->unset && !err; off += one.len + 1) {
		one.len = strcspn(v->text + off, ",");
		if (one.len >= sizeof(word))
			return OPTION_ERROR(p, v, "unknown kind '%s'", v->text);
		memcpy(word, v->text + off, one.len);
		word[one.len] = '\0';
		one.text = word;
		err = option__check_word(p, &one, "kind", kinds);
		if (!v->text[off + one.len])
			break;
	}
	return err;
}

/*
 * Is this an item of a list of masks, CPUS/CPUS: CPUs whose rings a thread reads, and its affinity?
 */
static bool is_thread_masks(const char *s, size_t len)
{
	static const char list[] = "0123456789,-";
	size_t maps = strspn(s, list), affinity;

	if (!maps || maps >= len || s[maps] != '/')
		return false;
	affinity = strspn(s + maps + 1, list);
	return affinity && maps + 1 + affinity == len;
}

/* Only check the value of --threads, with which perf reads the rings in several threads. */
int option__check_threads(struct option_parser *p, const struct option_value *v)
{
	static const char *const kinds[] = { "cpu", "core", "package", "numa", NULL };
	const char *s = v->text;

	if (v->unset || !s)
		return 0;
	if (!strpbrk(s, "/:"))
		return option__check_word(p, v, "kind of threads", kinds);
	for (;; s++) {
		size_t len = strcspn(s, ":");

		if (!is_thread_masks(s, len))
			return OPTION_ERROR(p, v, "'%s' is not CPUS/CPUS[:CPUS/CPUS...]", v->text);
		s += len;
		if (!*s)
			return 0;
	}
}

int option__check_affinity(struct option_parser *p, const struct option_value *v)
{
	static const char *const kinds[] = { "node", "cpu", NULL };

	return option__check_word(p, v, "affinity", kinds);
}
