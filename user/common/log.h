/* SPDX-License-Identifier: GPL-2.0-only */
/* The log of the daemon and of the commands. Low modules do not log: they return a struct err. */
#ifndef FRBPF_COMMON_LOG_H
#define FRBPF_COMMON_LOG_H

#include <stdbool.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/*
 * Drop lines above level @max. @timestamps: lines begin with local time and level, for the file of
 * a daemon; else with "frbpf: ". The log goes to standard error: see log_to().
 */
void log_setup(enum log_level max, bool timestamps);

/* Write the log to @f, which the caller closes; NULL: to standard error again. */
void log_to(FILE *f);

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Write several complete lines, such as those of diags__format(). */
void log_text(const char *text);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
