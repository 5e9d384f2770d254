// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "rules/units.h"

#define MAX_DECIMALS 18 /* 10^18 still fits into 64 bits */

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = {
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "d", 86400 * NSEC_PER_SEC },
	{ NULL, 0 },
};
const char *const units_of_duration[] = { "ns", "us", "ms", "s", "m", "h", "d", NULL };

/* perf's options take capital letters only, its config file takes both cases */
static const struct unit sizes[] = {
	{ "B", 1 },	     { "b", 1 },	  { "K", 1ULL << 10 },
	{ "k", 1ULL << 10 }, { "M", 1ULL << 20 }, { "m", 1ULL << 20 },
	{ "G", 1ULL << 30 }, { "g", 1ULL << 30 }, { NULL, 0 },
};
const char *const units_of_size[] = { "B", "K", "M", "G", NULL };

const char units_unknown[] = "unknown unit";
static const char too_large[] = "too large";
static const char too_fine[] = "finer than the smallest unit";

/* Reasons to reject a text of each kind. */
struct reasons {
	const char *no_number;
	const char *no_unit; /* NULL: a unit is not required */
};

static const struct reasons duration_reasons = {
	.no_number = "a number with a unit is expected, such as 20ms",
	.no_unit = "a unit is missing, one of ns us ms s m h d",
};
static const struct reasons size_reasons = {
	.no_number = "a number is expected, with or without a unit, such as 10M",
};
static const struct reasons percent_reasons = {
	.no_number = "a number is expected before '%', such as 5%",
};

/* A decimal number: value = (whole * 10^decimals + fraction) / 10^decimals */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale; /* 10^decimals */
	size_t len;	/* bytes read */
};

static int parse_decimal(const char *s, size_t len, struct decimal *ret, const char *no_number,
			 const char **ret_why)
{
	struct decimal n = { .scale = 1 };

	for (; n.len < len && isdigit((unsigned char)s[n.len]); n.len++) {
		if (__builtin_mul_overflow(n.whole, 10, &n.whole) ||
		    __builtin_add_overflow(n.whole, s[n.len] - '0', &n.whole)) {
			*ret_why = too_large;
			return -ERANGE;
		}
	}
	*ret_why = no_number;
	if (!n.len)
		return -EINVAL;
	if (n.len < len && s[n.len] == '.') {
		size_t start = ++n.len;

		for (; n.len < len && isdigit((unsigned char)s[n.len]); n.len++) {
			if (n.len - start == MAX_DECIMALS) {
				*ret_why = "too many decimals";
				return -EINVAL;
			}
			n.fraction = n.fraction * 10 + (s[n.len] - '0');
			n.scale *= 10;
		}
		if (n.len == start)
			return -EINVAL;
	}
	*ret = n;
	return 0;
}

static int scale_decimal(const struct decimal *n, uint64_t factor, bool exact, uint64_t *ret,
			 const char **ret_why)
{
	unsigned __int128 part = (unsigned __int128)n->fraction * factor;
	unsigned __int128 all = (unsigned __int128)n->whole * factor + part / n->scale;

	if (exact && part % n->scale) {
		*ret_why = too_fine;
		return -EINVAL;
	}
	if (all > UINT64_MAX) {
		*ret_why = too_large;
		return -ERANGE;
	}
	*ret = all;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, const char *s, size_t len)
{
	for (; units->name; units++) {
		if (strlen(units->name) == len && !memcmp(units->name, s, len))
			return units;
	}
	return NULL;
}

static const char *why_no_unit(const char *s, size_t len, const struct reasons *reasons)
{
	if (isspace((unsigned char)*s))
		return "remove the blank between the number and its unit";
	for (size_t i = 0; i < len; i++) {
		if (!isalpha((unsigned char)s[i]))
			return reasons->no_number;
	}
	return units_unknown;
}

static int parse_with_unit(const char *s, size_t len, const struct unit *units,
			   const struct reasons *reasons, uint64_t *ret, const char **ret_why)
{
	const struct unit *unit = &units[0];
	struct decimal n;
	int err = parse_decimal(s, len, &n, reasons->no_number, ret_why);

	if (err)
		return err;
	if (n.len < len) {
		unit = find_unit(units, s + n.len, len - n.len);
		if (!unit) {
			*ret_why = why_no_unit(s + n.len, len - n.len, reasons);
			return -EINVAL;
		}
	} else if (reasons->no_unit && (n.whole || n.fraction)) {
		*ret_why = reasons->no_unit;
		return -EINVAL;
	}
	return scale_decimal(&n, unit->factor, true, ret, ret_why);
}

int units__duration(const char *s, size_t len, uint64_t *ret_ns, const char **ret_why)
{
	return parse_with_unit(s, len, durations, &duration_reasons, ret_ns, ret_why);
}

int units__size(const char *s, size_t len, uint64_t *ret_bytes, const char **ret_why)
{
	return parse_with_unit(s, len, sizes, &size_reasons, ret_bytes, ret_why);
}

int units__size_or_percent(const char *s, size_t len, uint64_t whole, uint64_t *ret_bytes,
			   const char **ret_why)
{
	struct decimal n;
	int err;

	if (!len || s[len - 1] != '%')
		return units__size(s, len, ret_bytes, ret_why);
	err = parse_decimal(s, len - 1, &n, percent_reasons.no_number, ret_why);
	if (err)
		return err;
	if (n.len != len - 1) {
		*ret_why = percent_reasons.no_number;
		return -EINVAL;
	}
	if (n.whole > 100 || (n.whole == 100 && n.fraction)) {
		*ret_why = "more than 100%";
		return -ERANGE;
	}
	*ret_bytes = (unsigned __int128)whole * n.whole / 100 +
		     (unsigned __int128)whole * n.fraction / n.scale / 100;
	return 0;
}

int units__number(const char *s, size_t len, uint64_t *ret, const char **ret_why)
{
	bool hex = len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t value = 0;

	for (size_t i = hex ? 2 : 0; i < len; i++) {
		int c = tolower((unsigned char)s[i]);

		if (!isdigit(c) && !(hex && isxdigit(c))) {
			*ret_why = "a number is expected, decimal or 0x hexadecimal";
			return -EINVAL;
		}
		if (__builtin_mul_overflow(value, hex ? 16 : 10, &value) ||
		    __builtin_add_overflow(value, isdigit(c) ? c - '0' : c - 'a' + 10, &value)) {
			*ret_why = too_large;
			return -ERANGE;
		}
	}
	if (!len) {
		*ret_why = "a number is expected";
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

int units__hundredths(const char *s, size_t len, uint32_t *ret)
{
	uint32_t v = 0, unit = 100;
	size_t i = 0;

	for (; i < len && s[i] >= '0' && s[i] <= '9' && v < UINT32_MAX / 20; i++)
		v = v * 10 + (s[i] - '0') * 100;
	if (!i)
		return -EINVAL;
	if (i + 1 < len && s[i] == '.') {
		for (i++; i < len && s[i] >= '0' && s[i] <= '9' && unit > 1; i++)
			v += (s[i] - '0') * (unit /= 10);
	}
	if (i < len)
		return -EINVAL;
	*ret = v;
	return 0;
}

/*
 * Format @value / @factor with at most four significant digits, without trailing zeros, and the
 * unit.
 */
static void format_scaled(uint64_t value, const struct unit *unit, char *buf, size_t size)
{
	unsigned int decimals = 3;
	uint64_t power = 1000, scaled;

	while (decimals && value / unit->factor >= 10000 / power) {
		power /= 10;
		decimals--;
	}
	scaled = ((unsigned __int128)value * power + unit->factor / 2) / unit->factor;
	while (decimals && scaled % 10 == 0) {
		scaled /= 10;
		power /= 10;
		decimals--;
	}
	if (decimals)
		snprintf(buf, size, "%llu.%0*llu%s", (unsigned long long)(scaled / power),
			 (int)decimals, (unsigned long long)(scaled % power), unit->name);
	else
		snprintf(buf, size, "%llu%s", (unsigned long long)scaled, unit->name);
}

char *units__format_duration(uint64_t ns, char *buf, size_t size)
{
	const struct unit *unit = durations, *longer;

	/* 999.95 of a unit would become 1000: use 1 of the next unit */
	while (unit->factor < NSEC_PER_SEC && ns >= unit->factor * 1000 - unit->factor / 20)
		unit++;
	if (unit->factor == NSEC_PER_SEC) {
		/* minutes, hours or days if the number is whole, or if it would be many seconds */
		for (longer = unit + 1; longer->name; longer++) {
			if ((ns && ns % longer->factor == 0) ||
			    (ns > 1000 * NSEC_PER_SEC && ns >= longer->factor))
				unit = longer;
		}
	}
	format_scaled(ns, unit, buf, size);
	return buf;
}

char *units__format_size(uint64_t bytes, char *buf, size_t size)
{
	const struct unit *unit = find_unit(sizes, "B", 1);
	static const char *const names[] = { "K", "M", "G" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* 1023.5 of a unit would become 1024: use 1 of the next unit */
		if (bytes < unit->factor * 1024 - unit->factor / 2)
			break;
		unit = find_unit(sizes, names[i], 1);
	}
	format_scaled(bytes, unit, buf, size);
	return buf;
}
