// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/base/base_clock.h"

#define CLOCK_FILE "clock.json"

static void read_boot_id(char ret[static 64])
{
	struct buf boot = { 0 };

	if (buf__read_file(&boot, "/proc/sys/kernel/random/boot_id", 63) == 0 && boot.len)
		snprintf(ret, 64, "%.*s", (int)strcspn(boot.data, "\n"), boot.data);
	else
		ret[0] = '\0';
	buf__free(&boot);
}

void base_clock__load(struct base_dir *b)
{
	char path[PATH_MAX + 16], boot[64];
	struct buf text = { 0 };
	json_t *j = NULL;
	uint64_t then;

	snprintf(path, sizeof(path), "%s/" CLOCK_FILE, b->path);
	if (buf__read_file(&text, path, 4096) == 0 && text.len)
		j = json_loadb(text.data, text.len, 0, NULL);
	buf__free(&text);
	read_boot_id(boot);
	then = json_integer_value(json_object_get(j, "base_ns"));
	b->clock_offset = then;
	if (boot[0] && strcmp(json_string_value(json_object_get(j, "boot_id")) ?: "", boot) == 0)
		b->clock_offset = then - json_integer_value(json_object_get(j, "boottime_ns"));
	json_decref(j);
}

int base_clock__save(const struct base_dir *b, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	uint64_t boottime = clock_ns(CLOCK_BOOTTIME);
	char boot[64];
	json_t *j;

	read_boot_id(boot);
	j = json_pack("{s:s, s:I, s:I}", "boot_id", boot, "boottime_ns", (json_int_t)boottime,
		      "base_ns", (json_int_t)(boottime + b->clock_offset));
	text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
	json_decref(j);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	return base_dir__write_file(b, CLOCK_FILE, text, strlen(text), err);
}

uint64_t base_clock__now(const struct base_dir *b)
{
	return clock_ns(CLOCK_BOOTTIME) + b->clock_offset;
}

uint64_t base_clock__at(const struct base_dir *b, uint64_t monotonic)
{
	return base_clock__now(b) - (now_ns() - monotonic);
}
