// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/nearest_word.h"
#include "rules/constants.h"
#include "rules/when_parse.h"

/* Add a system call. An unknown name does not stop the parser. */
static void add_syscall(struct when_parser *p, struct span name, uint64_t *keys)
{
	const char *s = p->src->text + name.off, *nearest;
	int nr = syscall__number(s, name.len);

	if (nr < 0) {
		nearest = nearest_word(s, name.len, syscall_names);
		diags__error(p->d, p->src, name, "unknown system call " QUOTED DID_YOU_MEAN,
			     QUOTE(s, name.len), SUGGEST(nearest));
		p->failed = true;
	} else if (syscall__kind(syscall__name(nr)) == SYSCALL_ENDLESS) {
		diags__error(p->d, p->src, name, QUOTED " never returns", QUOTE(s, name.len));
		p->failed = true;
	} else if (nr >= FRBPF_KEY_MAX) {
		diags__error(p->d, p->src, name,
			     QUOTED " has number %d: only those below %d can be "
				    "watched",
			     QUOTE(s, name.len), nr, FRBPF_KEY_MAX);
		p->failed = true;
	} else if (keys[nr / 64] >> (nr % 64) & 1) {
		diags__error(p->d, p->src, name, QUOTED " is named twice", QUOTE(s, name.len));
		p->failed = true;
	} else {
		keys[nr / 64] |= 1ULL << (nr % 64);
	}
}

static int parse_syscalls(struct when_parser *p, struct span source, struct when *ret)
{
	struct span name;
	int n = 0, err;

	if (!when_parser__at(p, ":"))
		return diags__error(
			p->d, p->src, source,
			"the system calls are missing: write syscall:NAME or syscall:NAME,NAME");
	do {
		err = when_parser__listed_name(p, "system call", !n, &name);
		if (err < 0)
			return err;
		if (err) {
			ret->all_calls = true;
			return 0;
		}
		if (++n > FRBPF_KEY_MAX)
			return diags__error(p->d, p->src, name,
					    "more names than there are system calls");
		add_syscall(p, name, ret->keys);
	} while (when_parser__at(p, ","));
	return 0;
}

/* Add an errno. An unknown name does not stop the parser. */
static void add_errno(struct when_parser *p, struct span name, struct when *ret)
{
	const char *s = p->src->text + name.off, *nearest;
	long value;

	if (constant__find(symbols_errno, s, name.len, &value)) {
		nearest = constant__nearest(symbols_errno, s, name.len);
		diags__error(p->d, p->src, name, "unknown error " QUOTED DID_YOU_MEAN "%s",
			     QUOTE(s, name.len), SUGGEST(nearest),
			     nearest ? "" : ": write names such as EMFILE");
		p->failed = true;
	} else if (ret->errnos[value / 64] >> (value % 64) & 1) {
		diags__error(p->d, p->src, name, QUOTED " is named twice", QUOTE(s, name.len));
		p->failed = true;
	} else {
		ret->errnos[value / 64] |= 1ULL << (value % 64);
	}
}

/* Parse what follows "fails": nothing, or "(EMFILE, ENFILE)". */
static int parse_errors(struct when_parser *p, struct when *ret)
{
	struct span name;

	ret->fails = true;
	ret->any_errno = !when_parser__at(p, "(");
	if (!ret->any_errno) {
		do {
			p->pos++; /* the parenthesis or comma */
			name = when_parser__word(p);
			if (!name.len)
				return diags__error(p->d, p->src, when_parser__here(p),
						    "the name of an error is expected here, such "
						    "as EMFILE");
			add_errno(p, name, ret);
		} while (when_parser__at(p, ","));
		if (!when_parser__at(p, ")"))
			return diags__error(p->d, p->src, when_parser__here(p),
					    "',' or ')' is expected here");
		p->pos++;
		when_parser__skip_blanks(p);
	}
	if (p->pos == p->end)
		return 0;
	return diags__error(p->d, p->src, when_parser__rest(p),
			    "nothing may follow 'fails': put conditions in 'if'");
}

/* Skip "fails", if it is here. */
static bool take_fails(struct when_parser *p)
{
	struct when_parser q = *p;

	if (!text__equals(p->src, when_parser__word(&q), "fails"))
		return false;
	*p = q;
	return true;
}

int when_parser__threshold_or_fails(struct when_parser *p, struct when *ret)
{
	return p->open != OPEN_PENDING && take_fails(p) ? parse_errors(p, ret)
							: when_parser__threshold(p, ret);
}

/* Set the keys of "*": all calls that return; for durations, without those whose job is to wait. */
static void fill_all_calls(struct when *when)
{
	unsigned int kinds = 1U << SYSCALL_WORKS | 1U << SYSCALL_READS;

	if (when->fails)
		kinds |= 1U << SYSCALL_WAITS;
	syscall__keys(kinds, when->keys);
}

int when__parse_syscall(struct when_parser *p, struct span name, struct when *ret)
{
	int err = parse_syscalls(p, name, ret);

	if (err)
		return err;
	err = when_parser__threshold_or_fails(p, ret);
	if (!err && ret->all_calls)
		fill_all_calls(ret);
	return err;
}

int when__parse_connect(struct when_parser *p, struct span name, struct when *ret)
{
	int err = when_parser__no_target(p, name);

	return err ?: when_parser__threshold_or_fails(p, ret);
}
