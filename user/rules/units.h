/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers with units, as rules.conf and the options write them. All parse exactly [s, s + len). */
#ifndef FRBPF_RULES_UNITS_H
#define FRBPF_RULES_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

/* Their names, for messages; each ends with NULL. */
extern const char *const units_of_duration[];
extern const char *const units_of_size[];
/* The reason given for an unknown unit: to be compared by address by those who can say more. */
extern const char units_unknown[];

/* "20ms", "1.5s", "0": ns us ms s m h d; a unit is required but for 0. Result in ns.
 * -EINVAL: not of that form (*ret_why says so in words, a static string), -ERANGE: too large. */
int units__duration(const char *s, size_t len, uint64_t *ret_ns, const char **ret_why);

/* "10M": B K M G (powers of 1024, as perf); without a unit bytes. Result in bytes. Same errors. */
int units__size(const char *s, size_t len, uint64_t *ret_bytes, const char **ret_why);

/* "5%" of @whole, or a size. */
int units__size_or_percent(const char *s, size_t len, uint64_t whole, uint64_t *ret_bytes,
			   const char **ret_why);

/* Decimal or 0x hex. Same errors. */
int units__number(const char *s, size_t len, uint64_t *ret, const char **ret_why);

/* "4", "99.9": at most two digits behind the point. In hundredths. 0 or -EINVAL. */
int units__hundredths(const char *s, size_t len, uint32_t *ret);

/* Write @ns for people: "812ms", "25.3ms", "1.5s", "7us"; at most 4 significant digits. Returns
 * @buf. */
char *units__format_duration(uint64_t ns, char *buf, size_t size);
/* The same for bytes: "512K", "16M", "3.1G". Returns @buf. */
char *units__format_size(uint64_t bytes, char *buf, size_t size);

#endif
