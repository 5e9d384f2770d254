// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "common/log.h"

static enum log_level max_level = LOG_LEVEL_INFO;
static bool with_time;
static FILE *out; /* NULL: standard error */

void log_setup(enum log_level max, bool timestamps)
{
	max_level = max;
	with_time = timestamps;
}

void log_to(FILE *f)
{
	out = f;
}

static void format_prefix(enum log_level level, char *buf, size_t size)
{
	static const char *const names[] = { "error: ", "warning: ", "", "debug: " };
	char date[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (!with_time) {
		snprintf(buf, size, "frbpf: %s", names[level]);
		return;
	}
	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S ", &tm);
	snprintf(buf, size, "%s%s", date, names[level]);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char prefix[64], text[2048];
	va_list ap;

	if (level > max_level)
		return;
	format_prefix(level, prefix, sizeof(prefix));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(out ?: stderr, "%s%s\n", prefix,
		text); /* one call, so that lines of threads do not mix */
}

void log_text(const char *text)
{
	fputs(text, out ?: stderr);
}
