// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/constants.h"
#include "rules/units.h"
#include "rules/when_parse.h"

const struct when_source_desc when_sources[] = {
	{ "runqlat", FRBPF_SOURCE_RUNQLAT, .is_wait = true, .has_pending = true,
	  .meaning = "a runnable task waited that long for a CPU; its subject is the task that "
		     "waited" },
	{ "blocked", FRBPF_SOURCE_BLOCKED, .is_wait = true, .has_pending = true,
	  .meaning = "a task was in uninterruptible sleep that long; its subject is that task" },
	{ "offcpu", FRBPF_SOURCE_OFFCPU, .needs_if = true, .is_wait = true, .has_pending = true,
	  .meaning = "a task was off its CPU that long for any reason; its subject is that task" },
	{ "oncpu", FRBPF_SOURCE_ONCPU, .only_share = true,
	  .meaning = "tasks had their CPU for a share of the time; its subject is the task that "
		     "runs" },
	{ "syscall", FRBPF_SOURCE_SYSCALL, .has_keys = true, .parse = when__parse_syscall,
	  .has_pending = true,
	  .meaning = "one of the system calls named took that long, or failed; its subject is the "
		     "caller" },
	{ "blkio", FRBPF_SOURCE_BLKIO, .has_pending = true,
	  .meaning = "a block request took that long from being queued to its completion; its "
		     "subject is the task that queued it" },
	{ "blkio.device", FRBPF_SOURCE_BLKIO_DEVICE, .has_pending = true,
	  .meaning = "a block request took that long from being issued to its completion; its "
		     "subject is the task that queued it, or the kernel's worker for a flush" },
	{ "hardirq", FRBPF_SOURCE_HARDIRQ, .no_subject = true,
	  .meaning = "the handler of an interrupt ran that long; it has no subject" },
	{ "softirq", FRBPF_SOURCE_SOFTIRQ, .has_keys = true, .no_subject = true,
	  .parse = when__parse_softirq,
	  .meaning = "one of the softirq vectors named ran that long; it has no subject" },
	{ "reclaim", FRBPF_SOURCE_RECLAIM, .has_pending = true,
	  .meaning = "a task had to reclaim memory itself for that long; its subject is that "
		     "task" },
	{ "connect", FRBPF_SOURCE_CONNECT, .parse = when__parse_connect,
	  .meaning = "a TCP connection took that long to be established or given up, or it failed; "
		     "its subject is the task that called connect()" },
	{ "tracepoint", FRBPF_SOURCE_TRACEPOINT, .has_args = true, .parse = when__parse_tracepoint,
	  .meaning = "a tracepoint of the kernel, SYSTEM:NAME, is hit; its subject is the task "
		     "that it is about, or else the one that runs" },
	{ "span", FRBPF_SOURCE_SPAN, .has_args = true, .parse = when__parse_tracepoint,
	  .has_pending = true,
	  .meaning = "it took that long from one tracepoint to another, A:start -> B:end by KEY; "
		     "its subject is the task that runs at the end" },
	{ "span", FRBPF_SOURCE_PROBE_SPAN, .has_args = true, .parse = when__parse_usdt,
	  .bind = when__bind_probe_span, .has_pending = true,
	  .meaning = "it took that long from one place in a program to another, usdt:A -> uprobe:B "
		     "by KEY; its subject is the task that reaches the end" },
	{ "tracepoint", FRBPF_SOURCE_TRACEPOINT_FIELDS, .has_args = true,
	  .parse = when__parse_tracepoint,
	  .meaning = "a tracepoint, SYSTEM:NAME, is hit, and `if` uses fields of its format; its "
		     "subject is the task that runs" },
	{ "psi", FRBPF_SOURCE_PSI, .parse = when__parse_psi, .no_begin = true, .no_subject = true,
	  .meaning = "tasks were stalled that long within a window, for want of cpu, memory or io; "
		     "it has no subject" },
	{ "app", FRBPF_SOURCE_APP, .has_args = true, .parse = when__parse_app,
	  .bind = when__bind_app,
	  .meaning = "a program sent a message of this name, with a duration longer than that; "
		     "its subject is the sender" },
	{ "uprobe", FRBPF_SOURCE_UPROBE, .parse = when__parse_uprobe, .has_pending = true,
	  .meaning =
		  "a function of a program or library was called, or a call of it took that long; "
		  "its subject is the caller" },
	{ "usdt", FRBPF_SOURCE_USDT, .parse = when__parse_usdt,
	  .meaning = "a static probe of a program or library was hit; its subject is the task that "
		     "hit it" },
	{ "rule", FRBPF_SOURCE_RULES, .no_begin = true,
	  .meaning = "rules of the file match together, all of rule:A, rule:B within 2s, or one "
		     "after the other, rule:A then rule:B within 2s; its subject is that of the "
		     "last one" },
	{ NULL },
};

#define SOURCES_MAX 32

/* Find the source with the nearest name; NULL: none is near. */
static const char *nearest_source(const char *s, size_t len)
{
	const char *names[SOURCES_MAX + 1] = { NULL };

	for (size_t i = 0; when_sources[i].name && i < SOURCES_MAX; i++)
		names[i] = when_sources[i].name;
	return nearest_word(s, len, names);
}

struct span when_parser__rest(const struct when_parser *p)
{
	return text__trim(p->src, (struct span){ p->pos, p->end - p->pos });
}

bool when_parser__at(const struct when_parser *p, const char *s)
{
	return p->end - p->pos >= strlen(s) && !memcmp(p->src->text + p->pos, s, strlen(s));
}

void when_parser__skip_blanks(struct when_parser *p)
{
	p->pos = text__skip_blanks(p->src, p->pos, p->end);
}

struct span when_parser__word(struct when_parser *p)
{
	struct span span;

	when_parser__skip_blanks(p);
	span.off = p->pos;
	while (p->pos < p->end && !strchr(":,<>=!()*\\\"", p->src->text[p->pos]) &&
	       !text__blank(p->src, p->pos, p->end) && !when_parser__at(p, "->"))
		p->pos++;
	span.len = p->pos - span.off;
	when_parser__skip_blanks(p);
	return span;
}

struct span when_parser__here(const struct when_parser *p)
{
	struct span here = { p->pos, 1 };
	bool printable;

	if (p->pos == p->end)
		return (struct span){ p->end, 0 };
	here.len = printable__char(p->src->text + p->pos, p->end - p->pos, &printable);
	return here;
}

static int unknown_source(struct when_parser *p, struct span name)
{
	const char *s = p->src->text + name.off;
	const char *nearest = nearest_source(s, name.len);
	struct span here = when_parser__here(p);

	if (when_parser__at(p, "->"))
		return diags__error(p->d, p->src, (struct span){ p->pos, 2 },
				    "a span is from one tracepoint to another: write A:start -> "
				    "B:end by KEY > 50ms");
	if (!name.len)
		return diags__error(p->d, p->src, here,
				    "a source is expected here, such as runqlat");
	if (!nearest && syscall__number(s, name.len) >= 0)
		return diags__error(p->d, p->src, name,
				    QUOTED " is a system call, not a source: write syscall:%.*s",
				    QUOTE(s, name.len), (int)name.len, s);
	return diags__error(p->d, p->src, name, "unknown source " QUOTED DID_YOU_MEAN "%s",
			    QUOTE(s, name.len), SUGGEST(nearest),
			    nearest ? "" : ": `frbpf events` lists them");
}

static const struct when_source_desc *find_when_source(const struct when_parser *p,
						       struct span name)
{
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if (text__equals(p->src, name, s->name))
			return s;
	}
	return NULL;
}

/* systems of tracepoints with names similar to those of sources */
static const char *const alike[] = {
	"syscalls", "vsyscall", "spi", "pci", "uprobes", "kprobes", NULL,
};

/* Is @name, before a ':', a misspelt source, rather than the system of a tracepoint? */
static bool is_misspelt(const struct when_parser *p, struct span name)
{
	const char *names[ARRAY_SIZE(when_sources)] = { NULL };
	size_t n = 0;

	for (const char *const *system = alike; *system; system++) {
		if (text__equals(p->src, name, *system))
			return false;
	}
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if (s->parse && s->parse != when__parse_tracepoint)
			names[n++] = s->name;
	}
	return nearest_word(p->src->text + name.off, name.len, names);
}

int when_parser__listed_name(struct when_parser *p, const char *what, bool may_be_all,
			     struct span *ret)
{
	p->pos++; /* the colon or comma */
	*ret = when_parser__word(p);
	if (ret->len)
		return 0;
	if (!may_be_all || !when_parser__at(p, "*"))
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the name of a %s is expected here", what);
	p->pos++;
	when_parser__skip_blanks(p);
	return 1;
}

int when_parser__no_target(struct when_parser *p, struct span name)
{
	if (!when_parser__at(p, ":"))
		return 0;
	return diags__error(p->d, p->src, when_parser__here(p),
			    "'%.*s' takes nothing after ':': put conditions in 'if'", (int)name.len,
			    p->src->text + name.off);
}

int when_parser__of_cgroup(struct when_parser *p, char *to, size_t size)
{
	struct span of = when_parser__word(p), path;
	const char *s;

	if (!text__equals(p->src, of, "of"))
		return diags__error(p->d, p->src, of.len ? of : when_parser__here(p),
				    "only 'of' and a cgroup may follow the window");
	path = when_parser__rest(p);
	s = p->src->text + path.off;
	if (path.len >= 2 && s[0] == '"' && s[path.len - 1] == '"') {
		path.off++;
		path.len -= 2;
		s++;
	}
	if (path.len >= size)
		return diags__error(p->d, p->src, path, "this path is too long: at most %zu bytes",
				    size - 1);
	snprintf(to, size, "%.*s", (int)path.len, s);
	if (to[0] != '/' || strlen(to) != path.len || strpbrk(to, "\"\n\\") || strstr(to, "//") ||
	    strstr(to, "/../") || strstr(to, "/./"))
		return diags__error(p->d, p->src, path.len ? path : when_parser__here(p),
				    "a cgroup is a path such as /system.slice, as in "
				    "/proc/PID/cgroup after \"0::\"");
	while (path.len && to[path.len - 1] == '/')
		to[--path.len] = '\0'; /* "/": the whole machine */
	return 0;
}

/* Parse a source that takes only a threshold. */
static int parse_plain(struct when_parser *p, struct span name, struct when *ret)
{
	int err = when_parser__no_target(p, name);

	return err ?: when_parser__threshold(p, ret);
}

int when_parser__source(struct when_parser *p, struct when *ret)
{
	bool at_rules = when_parser__at_rules(p);
	struct span name = at_rules ? (struct span){ 0 } : when_parser__word(p);
	const struct when_source_desc *source = find_when_source(p, name);

	enum when_open open = text__equals(p->src, name, "pending")  ? OPEN_PENDING
			      : text__equals(p->src, name, "absent") ? OPEN_ABSENT
								     : OPEN_NOT;
	int err;

	if (at_rules)
		return when_parser__rules(p, ret);
	if (open && !when_parser__at(p, ":"))
		return p->open ? diags__error(
					 p->d, p->src, name,
					 "a source belongs in the parentheses, such as runqlat")
			       : when_parser__in_parentheses(p, name, open, ret);
	if (!source && name.len && when_parser__at(p, ":") && !is_misspelt(p, name))
		source = when__source(FRBPF_SOURCE_TRACEPOINT);
	if (!source)
		return unknown_source(p, name);
	ret->source = source->source;
	err = (source->parse ? source->parse : parse_plain)(p, name, ret);
	if (!err && source->only_share && !ret->share.time)
		err = diags__error(
			p->d, p->src, name,
			"'%s' is measured as a share of time: write, for example, %s > 90%% in 1s",
			source->name, source->name);
	return err;
}

int when__parse(const struct source_text *src, struct span span, struct diags *d, struct when *ret)
{
	struct when_parser p = { .src = src, .d = d, .pos = span.off, .end = span.off + span.len };
	struct when when = { 0 };
	int err;

	span = text__trim(src, span);
	p.end = span.off + span.len;
	err = when_parser__source(&p, &when);
	if (err || p.failed) {
		when__free(&when);
		return err ?: -EINVAL;
	}
	*ret = when;
	return 0;
}

bool when__same_events(const struct when *a, const struct when *b)
{
	return a->source == b->source &&
	       !strcmp(a->target ? a->target : "", b->target ? b->target : "");
}

void when__free(struct when *when)
{
	free(when->target);
	free(when->share.cgroup);
	when->target = when->share.cgroup = NULL;
}

/* The lowest value that a rule looks at. One that learns or adds up values looks at each. */
static uint64_t least_value(const struct when *when)
{
	return when__takes_all(when) ? 0 : when->threshold;
}

/*
 * Rules are evaluated until a threshold is not reached. So a rule that takes any value comes before
 * one with threshold 0, which a value of 0 does not reach.
 */
bool when__comes_after(const struct when *a, const struct when *b)
{
	if (least_value(a) != least_value(b))
		return least_value(a) > least_value(b);
	return !(a->hit || a->fails) && (b->hit || b->fails);
}

void when__drop_threshold(struct when *when)
{
	when->threshold = 0;
	when->learn.percentile = 0;
	when->share.time = 0;
}

uint64_t when__lasts(const struct when *when)
{
	if (when->hit || when->fails || when__source(when->source)->no_begin)
		return 0;
	return when->share.time ?: when->threshold;
}

const struct when_source_desc *when__source(enum frbpf_source source)
{
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if (s->source == source)
			return s;
	}
	return NULL;
}

bool when__has_keys(enum frbpf_source source)
{
	const struct when_source_desc *s = when__source(source);

	return s && s->has_keys;
}

bool when__has_subject(enum frbpf_source source)
{
	const struct when_source_desc *s = when__source(source);

	return !s || !s->no_subject;
}

bool when__is_wait(enum frbpf_source source)
{
	const struct when_source_desc *s = when__source(source);

	return s && s->is_wait;
}

const char *when__key_name(enum frbpf_source source, uint32_t key)
{
	if (source == FRBPF_SOURCE_SYSCALL)
		return syscall__name(key);
	return source == FRBPF_SOURCE_SOFTIRQ ? constant__name(symbols_softirq, key) : NULL;
}

const char *when__source_name(enum frbpf_source source)
{
	const struct when_source_desc *s = when__source(source);

	return s ? s->name : NULL;
}
