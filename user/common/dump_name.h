/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of dumps: FILE.TIME, where FILE is perf.data or what the session's -o says. */
#ifndef FRBPF_COMMON_DUMP_NAME_H
#define FRBPF_COMMON_DUMP_NAME_H

#define DUMP_TIME_DIGITS 16 /* YYYYMMDDhhmmssCC */
#define DUMP_OUTPUT_MAX	 32 /* bytes of FILE */
#define DUMP_NAME_SIZE	 (DUMP_OUTPUT_MAX + 1 + DUMP_TIME_DIGITS + 1)

/* Make a name. @output: FILE, "" for perf.data; @time: of the incident. */
void dump_name__format(const char *output, const char *time, char ret[static DUMP_NAME_SIZE]);

/* The TIME at the end of @file; NULL: it is not the name of a dump. */
const char *dump_name__time(const char *file);

/* Find the dump of @time in the session's directory @fd. 0 or -ENOENT. */
int dump_name__find(int fd, const char *time, char ret[static DUMP_NAME_SIZE]);

#endif
