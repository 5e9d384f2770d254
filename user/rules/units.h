/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers with units, as in rules.conf and options. The parsers take exactly [s, s + len). */
#ifndef FRBPF_RULES_UNITS_H
#define FRBPF_RULES_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

/* Names of units, for messages; the last is NULL. */
extern const char *const units_of_duration[];
extern const char *const units_of_size[];
/* The reason for an unknown unit. Callers that have a better message compare its address. */
extern const char units_unknown[];

/*
 * Parse "20ms", "1.5s", "0" into ns. Units: ns us ms s m h d, required except for 0. 0; -EINVAL:
 * malformed, *ret_why is the reason, a static string; -ERANGE: too large.
 */
int units__duration(const char *s, size_t len, uint64_t *ret_ns, const char **ret_why);

/*
 * Parse "10M" into bytes. Units: B K M G, powers of 1024 as in perf; none: bytes. Errors as above.
 */
int units__size(const char *s, size_t len, uint64_t *ret_bytes, const char **ret_why);

/* Parse "5%" of @whole, or a size. Errors as above. */
int units__size_or_percent(const char *s, size_t len, uint64_t whole, uint64_t *ret_bytes,
			   const char **ret_why);

/* Parse a decimal or 0x hexadecimal number. Errors as above. */
int units__number(const char *s, size_t len, uint64_t *ret, const char **ret_why);

/* Parse "4" or "99.9", at most two decimals, into hundredths. 0 or -EINVAL. */
int units__hundredths(const char *s, size_t len, uint32_t *ret);

/*
 * Format @ns for people: "812ms", "25.3ms", "1.5s", "7us"; at most 4 significant digits. Returns
 * @buf.
 */
char *units__format_duration(uint64_t ns, char *buf, size_t size);
/* The same for bytes: "512K", "16M", "3.1G". Returns @buf. */
char *units__format_size(uint64_t bytes, char *buf, size_t size);

#endif
