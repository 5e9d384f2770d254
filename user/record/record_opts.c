// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "record/option_set.h"

/* An option as found in the line. */
struct hit {
	const struct perf_option *option;
	bool unset;
	char shown[40];	   /* for messages: -F, --freq, --no-overwrite */
	struct span place; /* without the value */
	const struct word *word;
	size_t value_at; /* offset in @word of a value joined to it; 0: none */
};

/* Reject a value such as $(pidof x) with one error, not one for each of its words. */
static int reject_substitution(struct option_parser *p, const struct option_value *v)
{
	bool dollar = !strncmp(v->text, "$(", 2);
	const struct word *last = v->word;
	struct span all = v->place;

	if (!dollar && v->text[0] != '`')
		return 0;
	while (!strchr(last == v->word ? v->text + 1 : last->text, dollar ? ')' : '`') &&
	       p->next < p->words.n)
		last = &p->words.v[p->next++];
	all.len = last->at[last->len] - all.off;
	return diags__error(p->d, p->src, all,
			    "no shell reads this line: write what the command prints instead of "
			    "'%.*s'",
			    (int)all.len, p->src->text + all.off);
}

static int take_value(struct option_parser *p, const struct hit *h, struct option_value *v)
{
	*v = (struct option_value){ .unset = h->unset, .place = h->place };
	if (h->value_at) {
		v->word = h->word;
		v->off = h->value_at;
	} else if (h->option->kind == ARGUMENT_REQUIRED && !h->unset) {
		if (p->next == p->words.n)
			return diags__error(p->d, p->src, h->place, "option '%s' needs a value",
					    h->shown);
		v->word = &p->words.v[p->next++];
	}
	if (v->word) {
		v->text = v->word->text + v->off;
		v->len = v->word->len - v->off;
		v->place = word__span(v->word, v->off, v->len);
		return reject_substitution(p, v);
	}
	return 0;
}

static int check_option_use(struct option_parser *p, const struct hit *h,
			    const struct option_value *v)
{
	const struct perf_option *o = h->option;

	if (h->unset && o->no_negate)
		return diags__error(p->d, p->src, h->place, "there is no option '%s'", h->shown);
	if (v->word && (h->unset || o->kind == ARGUMENT_NONE))
		return diags__error(p->d, p->src, h->place, "option '%s' takes no value", h->shown);
	if (o->verdict == OPTION_REFUSED && !h->unset)
		return diags__error(p->d, p->src, h->place, "option '%s' is not for a session: %s",
				    h->shown, o->why);
	return 0;
}

static int apply_option(struct option_parser *p, const struct hit *h)
{
	const struct perf_option *o = h->option;
	struct option_value v;
	int err = take_value(p, h, &v);

	err = err ?: check_option_use(p, h, &v);
	if (!err && o->set)
		err = o->set(p, &v);
	if (err)
		return err;
	if (o->flag)
		*(bool *)((char *)p->opts + o->flag - 1) = !h->unset;
	if (o->verdict == OPTION_NO_OP)
		diags__warn(p->d, p->src, h->place, "option '%s' changes nothing here: %s",
			    h->shown, o->why);
	return 0;
}

static const struct perf_option *find_letter(char c)
{
	for (size_t i = 0; i < N_PERF_OPTIONS; i++)
		if (c && perf_options[i].letter == c)
			return &perf_options[i];
	return NULL;
}

/* Parse letters such as -agF99. One that needs a value takes the rest, or the next word. */
static int read_letters(struct option_parser *p, const struct word *w)
{
	for (size_t i = 1; i < w->len; i++) {
		struct hit h = { .option = find_letter(w->text[i]), .word = w };
		int err;

		h.place = i == 1 ? word__span(w, 0, 2) : word__span(w, i, 1);
		snprintf(h.shown, sizeof(h.shown), "-%c", w->text[i]);
		if (!h.option)
			return diags__error(p->d, p->src, h.place,
					    "unknown option '%s' of perf record", h.shown);
		if (h.option->kind != ARGUMENT_NONE && i + 1 < w->len)
			h.value_at = i + 1;
		err = apply_option(p, &h);
		if (err || h.value_at)
			return err;
	}
	return 0;
}

static bool option_starts_with(const char *s, const char *prefix, size_t len)
{
	return !strncmp(s, prefix, len);
}

enum match { MATCH_NOT, MATCH_PREFIX, MATCH_EXACT };

/*
 * Are the first @len bytes of @arg the option @name, its --no- form, or an abbreviation? The order
 * is that of perf: tools/lib/subcmd/parse-options.c, parse_long_opt().
 */
static enum match match_name(const char *name, const char *arg, size_t len, bool *ret_unset)
{
	bool own_no = option_starts_with(name, "no-", 3); /* --no-buildid is negated by --buildid */

	*ret_unset = false;
	if (option_starts_with(name, arg, len))
		return name[len] ? MATCH_PREFIX : MATCH_EXACT;
	*ret_unset = true;
	if (own_no && option_starts_with(name + 3, arg, len))
		return name[3 + len] ? MATCH_PREFIX : MATCH_EXACT;
	if (len <= 3 && option_starts_with("no-", arg, len))
		return MATCH_PREFIX;
	if (len > 3 && option_starts_with(arg, "no-", 3) &&
	    option_starts_with(name, arg + 3, len - 3))
		return name[len - 3] ? MATCH_PREFIX : MATCH_EXACT;
	return MATCH_NOT;
}

static int unknown_name(struct option_parser *p, const char *arg, size_t len, struct span place)
{
	const char *names[N_PERF_OPTIONS + 1], *near;
	size_t n = 0;

	for (size_t i = 0; i < N_PERF_OPTIONS; i++)
		if (perf_options[i].name)
			names[n++] = perf_options[i].name;
	names[n] = NULL;
	near = nearest_word(arg, len, names);
	if (near)
		return diags__error(p->d, p->src, place,
				    "unknown option '--%.*s' of perf record (did you mean '--%s'?)",
				    (int)len, arg, near);
	return diags__error(p->d, p->src, place, "unknown option '--%.*s' of perf record", (int)len,
			    arg);
}

/* Messages show the full name, however it was abbreviated. */
static void show_long(struct hit *h)
{
	const char *name = h->option->name;
	bool own_no = option_starts_with(name, "no-", 3);

	if (h->unset && own_no)
		name += 3;
	snprintf(h->shown, sizeof(h->shown), "--%s%s", h->unset && !own_no ? "no-" : "", name);
}

/* Parse --name, --name=value or --no-name, each with unique abbreviations. */
static int long_option(struct option_parser *p, const struct word *w)
{
	const char *arg = w->text + 2;
	size_t len = strcspn(arg, "=");
	struct hit h = { .word = w, .place = word__span(w, 0, len + 2) };
	const struct perf_option *second = NULL;
	enum match match = MATCH_NOT;

	for (size_t i = 0; i < N_PERF_OPTIONS && match != MATCH_EXACT; i++) {
		bool unset = false;

		match = perf_options[i].name ? match_name(perf_options[i].name, arg, len, &unset)
					     : MATCH_NOT;
		if (match == MATCH_NOT)
			continue;
		second = match == MATCH_EXACT ? NULL : h.option;
		h.option = &perf_options[i];
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
	return apply_option(p, &h);
}

/* Take the rest of the line as the command. */
static int take_option_command(struct option_parser *p)
{
	size_t n = p->words.n - p->next;
	char **v = calloc(n + 1, sizeof(*v));
	const struct word *w = &p->words.v[p->next];

	p->opts->command = v;
	p->opts->command_span = word__span(w, 0, w->len);
	for (size_t i = 0; v && i < n; i++) {
		v[i] = strdup(w[i].text);
		if (!v[i])
			return -ENOMEM;
	}
	p->next = p->words.n;
	return v ? 0 : -ENOMEM;
}

/* Parse all words up to the command. Errors are collected; only -ENOMEM ends the loop. */
static int parse_words(struct option_parser *p)
{
	int err = 0;

	while (p->next < p->words.n && err != -ENOMEM) {
		const struct word *w = &p->words.v[p->next++];

		bool is_end = !strcmp(w->text, "--");

		if (is_end && p->next == p->words.n)
			break;
		if (is_end || w->text[0] != '-' || w->len < 2) {
			p->next -= !is_end;
			err = take_option_command(p);
			break;
		}
		err = w->text[1] == '-' ? long_option(p, w) : read_letters(p, w);
	}
	return err == -ENOMEM ? err : 0;
}

/* Reject combinations that perf rejects. */
static void check_together(struct option_parser *p)
{
	const struct record_opts *o = p->opts;

	if ((o->freq || o->freq_max) && o->period)
		diags__error(p->d, p->src, p->count_span,
			     "a frequency (-F) and a period (-c) exclude each other: remove one");
	if (o->all_user && o->all_kernel)
		diags__error(p->d, p->src, o->span,
			     "--all-user and --all-kernel exclude each other: remove one");
	if (p->branch_any && p->branch_filter)
		diags__error(p->d, p->src, p->branch_span,
			     "-b and -j exclude each other: write -j any,...");
	if (o->off_cpu_thresh.len && !o->off_cpu)
		diags__warn(p->d, p->src, o->off_cpu_thresh,
			    "--off-cpu-thresh changes nothing without --off-cpu");
	if (o->cgroups.n && (o->pids.n || o->tids.n || o->users.n))
		diags__error(p->d, p->src, o->cgroups.v[0].span,
			     "-G records all tasks of a cgroup: remove -p, -t or -u");
}

/* As in perf: latency is about some tasks, not about a machine. */
static void check_latency(struct option_parser *p)
{
	struct record_opts *o = p->opts;
	bool tasks = o->pids.n || o->tids.n || o->users.n || o->command;

	if (!o->latency_span.len)
		return;
	o->switch_events = true;
	if (o->system_wide || !(tasks || o->cpus.n))
		diags__error(p->d, p->src, o->latency_span,
			     "--latency is not for all tasks of all CPUs: name a target with -p, "
			     "-t, -u, -C or a command");
}

/* As target__validate() in tools/perf/util/target.c. */
static void check_option_target(struct option_parser *p)
{
	struct record_opts *o = p->opts;
	const char *by = o->pids.n ? "-p" : o->tids.n ? "-t" : o->users.n ? "-u" : NULL;

	if (o->pids.n && o->tids.n)
		diags__warn(p->d, p->src, o->tids.v[0].span, "-t is overridden by -p");
	if (o->users.n && (o->pids.n || o->tids.n))
		diags__warn(p->d, p->src, o->users.v[0].span, "-u is overridden by %s", by);
	if (by && o->cpus.n)
		diags__warn(p->d, p->src, o->cpus.v[0].span, "-C is overridden by %s", by);
	if (by && o->system_wide)
		diags__warn(p->d, p->src, o->span, "-a is overridden by %s", by);
	if (o->per_thread && !by)
		diags__warn(p->d, p->src, o->span,
			    "--per-thread is for -p, -t and -u: it is overridden by %s",
			    o->cpus.n ? "-C" : "-a");
}

bool record_opts__has_target(const struct record_opts *o)
{
	return o->pids.n || o->tids.n || o->users.n || o->cgroups.n;
}

int record_opts__parse_damaged(const struct source_text *src, struct span span, size_t page_size,
			       struct diags *d, struct record_opts **ret)
{
	struct option_parser p = { .src = src, .d = d, .page_size = page_size };
	int err;

	p.opts = calloc(1, sizeof(*p.opts));
	if (!p.opts)
		return -ENOMEM;
	p.opts->span = span;
	p.opts->off_cpu_least = OFF_CPU_LEAST_NS;
	err = words__split(src, span, d, &p.words);
	err = err ?: parse_words(&p);
	if (!err) {
		check_together(&p);
		check_latency(&p);
		check_option_target(&p);
	}
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

static void option_items__free(struct option_items *items)
{
	for (size_t i = 0; i < items->n; i++)
		free(items->v[i].text);
	free(items->v);
}

void record_opts__free(struct record_opts *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_events; i++) {
		free(o->events[i].text);
		free(o->events[i].filter);
	}
	free(o->events);
	for (size_t i = 0; o->command && o->command[i]; i++)
		free(o->command[i]);
	free(o->command);
	free(o->delay);
	option_items__free(&o->pids);
	option_items__free(&o->tids);
	option_items__free(&o->cpus);
	option_items__free(&o->cgroups);
	option_items__free(&o->users);
	free(o);
}
