// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "record/pmu.h"
#include "rules/units.h"

#define DEVICES	 "/sys/bus/event_source/devices"
#define FILE_MAX 4096

/*
 * Read DEVICES/@pmu/@dir/@name without its newline. The names come from users: reject those that
 * would lead to another directory.
 */
static int read_attribute(const char *pmu, const char *dir, const char *name, struct buf *b)
{
	char path[PATH_MAX];
	int err;

	if (strchr(name, '/') || *name == '.' || !*name)
		return -ENOENT;
	if (snprintf(path, sizeof(path), DEVICES "/%s/%s/%s", pmu, dir, name) >= (int)sizeof(path))
		return -ENOENT;
	err = buf__read_file(b, path, FILE_MAX);
	if (err)
		return err;
	if (b->len)
		b->data[strcspn(b->data, "\n")] = '\0';
	return b->len ? 0 : -ENOENT;
}

int pmu__find(const char *name, size_t len, struct pmu *ret)
{
	struct buf b = { 0 };
	struct pmu pmu;
	char *end;
	int err;

	if (!len || len >= sizeof(pmu.name) || *name == '.' || memchr(name, '/', len))
		return -ENOENT;
	memcpy(pmu.name, name, len);
	pmu.name[len] = '\0';
	err = read_attribute(pmu.name, "", "type", &b);
	if (!err) {
		pmu.type = strtoul(b.data, &end, 10);
		err = *end || end == b.data ? -ENOENT : 0;
	}
	buf__free(&b);
	if (err)
		return -ENOENT;
	*ret = pmu;
	return 0;
}

int pmu__find_alias(const char *name, size_t len, struct pmu *ret)
{
	_cleanup_free_ char *alias = strndup(name, len);
	struct dirent **entries;
	int n = alias ? scandir(DEVICES, &entries, NULL, alphasort) : -1;
	int err = -ENOENT;

	for (int i = 0; i < n; i++) {
		struct buf b = { 0 };

		if (err && entries[i]->d_name[0] != '.' &&
		    !read_attribute(entries[i]->d_name, "events", alias, &b))
			err = pmu__find(entries[i]->d_name, strlen(entries[i]->d_name), ret);
		buf__free(&b);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return err;
}

/* Is the file an event? The files NAME.scale, NAME.unit and NAME.snapshot describe one. */
static int is_event(const struct dirent *e)
{
	return !strchr(e->d_name, '.');
}

static void each_event_of(const char *pmu,
			  void (*fn)(const char *pmu, const char *event, const char *terms,
				     void *arg),
			  void *arg)
{
	struct dirent **events;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	n = scandir(path, &events, is_event, alphasort);
	for (int i = 0; i < n; i++) {
		struct buf b = { 0 };

		if (!read_attribute(pmu, "events", events[i]->d_name, &b))
			fn(pmu, events[i]->d_name, b.data, arg);
		buf__free(&b);
		free(events[i]);
	}
	if (n >= 0)
		free(events);
}

int pmu__each_event(void (*fn)(const char *pmu, const char *event, const char *terms, void *arg),
		    void *arg)
{
	struct dirent **entries;
	int n = scandir(DEVICES, &entries, NULL, alphasort);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			each_event_of(entries[i]->d_name, fn, arg);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static __u64 *config_field(struct perf_event_attr *attr, const char *name, size_t len)
{
	if (len == 6 && !memcmp(name, "config", 6))
		return &attr->config;
	if (len == 7 && !memcmp(name, "config1", 7))
		return (__u64 *)&attr->config1;
	if (len == 7 && !memcmp(name, "config2", 7))
		return (__u64 *)&attr->config2;
	return NULL;
}

static uint64_t low_bits(unsigned int n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

/* Copy the low bits of @value to the bits that @format lists, e.g. "config:0-7,32-35". */
static int deposit_bits(const char *format, uint64_t value, struct perf_event_attr *attr)
{
	size_t len = strcspn(format, ":");
	__u64 *field = config_field(attr, format, len);
	const char *p = format + len;

	if (!field || !*p)
		return -ENOTSUP;
	while (*p) {
		char *end;
		unsigned long lo = strtoul(p + 1, &end, 10), hi = lo;

		if (end == p + 1)
			return -ENOTSUP;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (lo > hi || hi > 63 || (*end && *end != ','))
			return -ENOTSUP;
		*field = (*field & ~(low_bits(hi - lo + 1) << lo)) | (value & low_bits(hi - lo + 1))
									     << lo;
		value = hi - lo == 63 ? 0 : value >> (hi - lo + 1);
		p = end;
	}
	return value ? -ERANGE : 0;
}

/* Set a term of format/, or config, config1, config2. */
static int set_field(const struct pmu *pmu, const char *term, const char *value,
		     struct perf_event_attr *attr, struct err *err)
{
	struct buf format = { 0 };
	const char *why = "";
	uint64_t n = 1;
	__u64 *field;
	int code = 0;

	if (value && units__number(value, strlen(value), &n, &why) < 0)
		return err_set(err, -EINVAL, "term '%s=%s': %s", term, value, why);
	field = config_field(attr, term, strlen(term));
	if (field) {
		*field = n;
		return 0;
	}
	code = read_attribute(pmu->name, "format", term, &format);
	code = code ?: deposit_bits(format.data, n, attr);
	if (code == -ERANGE)
		err_set(err, code, "term '%s=%s': too large for %s", term, value ? value : "1",
			format.data);
	else if (code == -ENOTSUP)
		err_set(err, code, "term '%s': its place '%s' is not supported yet", term,
			format.data);
	else if (code)
		code = err_set(err, -ENOENT,
			       "PMU '%s' has no term or event '%s' (see " DEVICES "/%s)", pmu->name,
			       term, pmu->name);
	buf__free(&format);
	return code;
}

/*
 * Set all terms in the text of an alias, e.g. "event=0xcd,umask=0x1,ldlat=3"; never another alias.
 */
static int set_alias(const struct pmu *pmu, char *text, struct perf_event_attr *attr,
		     struct err *err)
{
	char *save, *term;
	int code = 0;

	for (term = strtok_r(text, ",", &save); term && !code; term = strtok_r(NULL, ",", &save)) {
		char *value = strchr(term, '=');

		if (value)
			*value++ = '\0';
		if (value && !strcmp(value, "?"))
			return err_set(err, -EINVAL,
				       "an event with a parameter ('%s=?') is not supported yet",
				       term);
		code = set_field(pmu, term, value, attr, err);
	}
	return code;
}

int pmu__term(const struct pmu *pmu, const char *term, const char *value,
	      struct perf_event_attr *attr, struct err *err)
{
	struct perf_event_attr changed = *attr;
	struct buf alias = { 0 };
	int code;

	if (!value && !read_attribute(pmu->name, "events", term, &alias))
		code = set_alias(pmu, alias.data, &changed, err);
	else
		code = set_field(pmu, term, value, &changed, err);
	buf__free(&alias);
	if (!code)
		*attr = changed;
	return code;
}
