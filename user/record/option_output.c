// SPDX-License-Identifier: GPL-2.0-only
/* Options for the contents of files, and for the time at which they are written. */
#include <string.h>

#include "record/option_set.h"
#include "rules/units.h"

/* With a shorter period, a session would record little but the work of its own dumps. */
#define SWITCH_NS_MIN	 NSEC_PER_SEC
#define SWITCH_BYTES_MIN 4096

static const char *after_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Use only the name of the file: retention looks for dumps in the directory of the session. */
int option__set_output(struct option_parser *p, const struct option_value *v)
{
	struct record_output *o = &p->opts->output;
	const char *name = after_directory(v->text ?: "");
	size_t len = strlen(name);

	if (v->unset) {
		o->name[0] = '\0';
		return 0;
	}
	if (!strcmp(v->text, "-"))
		return OPTION_ERROR(p, v,
				    "a session writes files, not a pipe: remove -o, "
				    "`frbpf dump` prints the path");
	if (!len || name[0] == '.')
		return OPTION_ERROR(p, v, "'%s' names no file: write -o NAME, dumps are NAME.TIME",
				    v->text);
	if (len > DUMP_OUTPUT_MAX)
		return OPTION_ERROR(p, v, "'%s' is too long: at most %d bytes, dumps are NAME.TIME",
				    name, DUMP_OUTPUT_MAX);
	memcpy(o->name, name, len + 1);
	if (name != v->text)
		diags__warn(p->d, p->src, v->place,
			    "its directory is ignored: dumps are BASE/session-NAME/%s.TIME", name);
	return 0;
}

static int set_switch_time(struct option_parser *p, const struct option_value *v, uint64_t ns)
{
	if (ns < SWITCH_NS_MIN)
		return OPTION_ERROR(p, v, "a dump every %s is too often: 1s at least", v->text);
	p->opts->output.every_ns = ns;
	return 0;
}

static int set_switch_size(struct option_parser *p, const struct option_value *v, uint64_t bytes)
{
	if (bytes < SWITCH_BYTES_MIN)
		return OPTION_ERROR(p, v, "a dump every %s is too often: 4K at least", v->text);
	p->opts->output.every_bytes = bytes;
	return 0;
}

/*
 * Parse "signal", a size with a unit, or a time with a unit. As in perf, m is minutes and M
 * megabytes.
 */
int option__set_switch_output(struct option_parser *p, const struct option_value *v)
{
	struct record_output *o = &p->opts->output;
	const char *why = "", *unit;
	uint64_t n;

	o->every_ns = o->every_bytes = 0;
	p->opts->switch_output = !v->unset;
	if (!v->word || !strcmp(v->text, "signal"))
		return 0;
	unit = v->text + strspn(v->text, "0123456789");
	if (strlen(unit) == 1 && strchr("smhd", *unit) &&
	    !units__duration(v->text, v->len, &n, &why))
		return set_switch_time(p, v, n);
	if (strlen(unit) == 1 && strchr("BKMG", *unit) && !units__size(v->text, v->len, &n, &why))
		return set_switch_size(p, v, n);
	return OPTION_ERROR(p, v,
			    "'%s' is not when to dump: 'signal', a size such as 10M (B, K, M, G) "
			    "or a time such as 30s (s, m, h, d)",
			    v->text);
}

/* As in perf: a number without a unit is not a size. */
int option__set_max_size(struct option_parser *p, const struct option_value *v)
{
	const char *why = "write 10M, or with B, K or G";
	uint64_t n = 0;

	if (!v->unset && (!units__number(v->text, v->len, &n, &why) ||
			  units__size(v->text, v->len, &n, &why) || !n))
		return OPTION_ERROR(p, v, "'%s' is not a size: %s", v->text, why);
	p->opts->output.max_bytes = n;
	return 0;
}

int option__set_switch_files(struct option_parser *p, const struct option_value *v)
{
	uint64_t n;
	int err = option__positive(p, v, "a number of dumps", "--switch-max-files 10", &n);

	if (!err && n > UINT32_MAX)
		return OPTION_ERROR(p, v, "a number of dumps of %s is out of range", v->text);
	if (!err)
		p->opts->output.max_files = n;
	return err;
}

/* As in perf: 0 is the default level, and too high a level is lowered to the highest. */
int option__set_compression(struct option_parser *p, const struct option_value *v)
{
	const char *why = "";
	uint64_t level = 1;

	if (v->unset)
		level = 0;
	else if (v->word && units__number(v->text, v->len, &level, &why))
		return OPTION_ERROR(p, v, "'%s' is not a number: %s", v->text, why);
	else if (!level)
		level = 1;
	p->opts->output.compression =
		level < RECORD_COMPRESSION_MAX ? level : RECORD_COMPRESSION_MAX;
	return 0;
}
