// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "rules/glob.h"

/* A part of a pattern that matches one byte. */
struct element {
	const char *text; /* at '?', '[' or the byte itself */
	size_t len;	  /* 0: a set that is not closed */
};

/* A ']' directly after "[" or "[!" belongs to the set. */
static size_t set_length(const char *p)
{
	size_t i = p[1] == '!' || p[1] == '^' ? 2 : 1;

	if (p[i] == ']')
		i++;
	while (p[i] && p[i] != ']')
		i++;
	return p[i] ? i + 1 : 0;
}

static struct element element_at(const char *p)
{
	return (struct element){ p, *p == '[' ? set_length(p) : 1 };
}

static bool char_set_fits(const struct element *e, unsigned char c)
{
	const unsigned char *p = (const unsigned char *)e->text + 1;
	const unsigned char *end = (const unsigned char *)e->text + e->len - 1;
	bool negated = *p == '!' || *p == '^', in = false;

	for (p += negated; p < end; p++) {
		if (p + 2 < end && p[1] == '-') {
			in |= c >= p[0] && c <= p[2];
			p += 2;
		} else {
			in |= c == *p;
		}
	}
	return in != negated;
}

static bool element_fits(const struct element *e, unsigned char c)
{
	if (*e->text == '?')
		return true;
	return *e->text == '[' ? char_set_fits(e, c) : (unsigned char)*e->text == c;
}

int glob__compile(const char *pattern, struct frbpf_glob *ret, size_t *ret_least,
		  const char **ret_why)
{
	struct frbpf_glob glob = { .loop = 0 };
	size_t n = 0;

	while (*pattern) {
		struct element e = element_at(pattern);

		if (*pattern == '*') {
			glob.loop |= 1U << n;
			pattern++;
			continue;
		}
		if (!e.len) {
			*ret_why = "the ']' of a '[' is missing";
			return -EINVAL;
		}
		if (n == FRBPF_GLOB_ELEMENTS) {
			*ret_why = "this pattern is too long";
			return -EINVAL;
		}
		for (int c = 1; c < 256; c++)
			glob.next[c] |= (__u32)element_fits(&e, c) << n;
		pattern += e.len;
		n++;
	}
	glob.accept = 1U << n;
	if (ret)
		*ret = glob;
	*ret_least = n;
	return 0;
}

static void set_bit(__u64 *words, size_t i)
{
	words[i / 64] |= 1ULL << i % 64;
}

static int add_path_element(struct frbpf_path_glob *glob, const struct element *e, bool exact,
			    size_t n, const char **ret_why)
{
	if (!e->len) {
		*ret_why = "the ']' of a '[' is missing";
		return -EINVAL;
	}
	if (n == GLOB_PATH_MAX) {
		*ret_why = "it is too long: at most 126 bytes, sets and '?'";
		return -EINVAL;
	}
	for (int c = 1; c < 256; c++) {
		if (exact ? (unsigned char)*e->text == c : element_fits(e, c))
			set_bit(glob->next[c], n);
	}
	return 0;
}

int glob__compile_path(const char *pattern, enum path_glob kind, struct frbpf_path_glob *ret,
		       const char **ret_why)
{
	struct frbpf_path_glob glob = { .loop = { 0 } };
	bool exact = kind == PATH_GLOB_EXACT;
	size_t n = 0;

	/* a pattern that matches the root matches every path, as all are below the root */
	if (kind == PATH_GLOB_BELOW && glob__match(pattern, "/", 1))
		pattern = "*";
	while (*pattern) {
		struct element e = exact ? (struct element){ pattern, 1 } : element_at(pattern);

		if (*pattern == '*' && !exact) {
			set_bit(glob.loop, n);
			pattern++;
			continue;
		}
		if (add_path_element(&glob, &e, exact, n, ret_why))
			return -EINVAL;
		pattern += e.len;
		n++;
	}
	set_bit(glob.accept, n);
	if (kind == PATH_GLOB_BELOW) { /* also match paths below a match */
		set_bit(glob.next['/'], n);
		set_bit(glob.loop, n + 1);
		set_bit(glob.accept, n + 1);
	}
	if (ret)
		*ret = glob;
	return 0;
}

bool glob__match(const char *pattern, const char *name, size_t len)
{
	struct element e;

	if (!*pattern)
		return !len;
	if (*pattern == '*')
		return glob__match(pattern + 1, name, len) ||
		       (len && glob__match(pattern, name + 1, len - 1));
	e = element_at(pattern);
	return len && e.len && element_fits(&e, *name) &&
	       glob__match(pattern + e.len, name + 1, len - 1);
}
