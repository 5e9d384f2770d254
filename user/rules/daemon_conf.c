// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

/* BASE/control must fit into the address of a socket, with its NUL */
#define BASE_MAX  (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/control"))
#define MERGE_MAX (60 * NSEC_PER_SEC)
#define AGE_MAX	  (100ULL * 365 * 86400 * NSEC_PER_SEC)

static int parse_base(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;
	_cleanup_free_ char *base = NULL;

	if (entry__string(ctx, &base))
		return -ENOMEM;
	if (base[0] != '/')
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'base' must be an absolute path: one that begins with '/'");
	if (strlen(base) > BASE_MAX)
		return diags__error(
			ctx->d, ctx->src, ctx->value,
			"'base' is too long: %zu bytes, and the path of a socket has room for %zu",
			strlen(base), BASE_MAX);
	daemon->base = TAKE_PTR(base);
	daemon->base_span = ctx->value;
	return 0;
}

static int parse_memory(const struct entry_ctx *ctx, uint64_t *ret)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), bytes;

	if (text__size(ctx->src, ctx->value, ctx->d, ram, &bytes))
		return -EINVAL;
	if (!bytes)
		return diags__error(ctx->d, ctx->src, ctx->value, "'%s' must be larger than 0",
				    ctx->entry->key);
	*ret = bytes;
	return 0;
}

static int parse_max_memory(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	daemon->max_memory_span = ctx->value;
	return parse_memory(ctx, &daemon->max_memory);
}

static int parse_sideband_memory(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	return parse_memory(ctx, &daemon->sideband_memory);
}

static int parse_merge(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	return entry__duration(ctx, MERGE_MAX, &daemon->merge);
}

/* Parse one of @words (NULL-terminated) into its index. @list names them in the error. */
static int parse_word(const struct entry_ctx *ctx, const char *const *words, const char *list,
		      int *ret)
{
	const char *nearest;

	for (int i = 0; words[i]; i++) {
		if (text__equals(ctx->src, ctx->value, words[i])) {
			*ret = i;
			return 0;
		}
	}
	nearest = nearest_word(ctx->src->text + ctx->value.off, ctx->value.len, words);
	return diags__error(ctx->d, ctx->src, ctx->value,
			    "'%s' must be %s, not " QUOTED DID_YOU_MEAN, ctx->entry->key, list,
			    QUOTE_SPAN(ctx->src, ctx->value), SUGGEST(nearest));
}

static int parse_snapshot(const struct entry_ctx *ctx, void *obj)
{
	static const char *const words[] = {
		[SNAPSHOT_AUTO] = "auto",
		[SNAPSHOT_PAUSE] = "pause",
		[SNAPSHOT_LIVE] = "live",
		NULL,
	};
	struct daemon_conf *daemon = obj;
	int i;

	if (parse_word(ctx, words, "auto, pause or live", &i))
		return -EINVAL;
	daemon->snapshot = i;
	return 0;
}

static int parse_sideband(const struct entry_ctx *ctx, void *obj)
{
	static const char *const words[] = { "sampled", "all", NULL };
	struct daemon_conf *daemon = obj;
	int i;

	if (parse_word(ctx, words, "sampled or all", &i))
		return -EINVAL;
	daemon->sideband_all = i;
	return 0;
}

static int parse_max_dumps(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	return rate__parse(ctx->src, ctx->value, ctx->entry->key, RULESET_DUMPS_MAX, NULL, ctx->d,
			   &daemon->max_dumps);
}

static int parse_watch(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	daemon->watch_given = true;
	return entry__yes(ctx, &daemon->watch);
}

static int parse_seccomp(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;
	bool yes = true;
	int err = entry__yes(ctx, &yes);

	daemon->no_seccomp = !yes;
	return err;
}

/*
 * Parse a size on disk. A percentage is an error: the whole, which elsewhere is the memory, is 0
 * here.
 */
static int parse_disk_size(const struct entry_ctx *ctx, uint64_t *ret)
{
	uint64_t bytes;

	if (text__size(ctx->src, ctx->value, ctx->d, 0, &bytes))
		return -EINVAL;
	if (!bytes)
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'%s' must be a size larger than 0, such as 2G",
				    ctx->entry->key);
	*ret = bytes;
	return 0;
}

static int parse_max_size(const struct entry_ctx *ctx, void *obj)
{
	return parse_disk_size(ctx, &((struct daemon_conf *)obj)->max_size);
}

static int parse_min_free(const struct entry_ctx *ctx, void *obj)
{
	return parse_disk_size(ctx, &((struct daemon_conf *)obj)->min_free);
}

static int parse_max_incidents(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;
	const char *why;
	uint64_t n;

	if (units__number(ctx->src->text + ctx->value.off, ctx->value.len, &n, &why) || !n)
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'max-incidents' must be a number of at least 1, not " QUOTED,
				    QUOTE_SPAN(ctx->src, ctx->value));
	daemon->max_incidents = n;
	return 0;
}

static int parse_max_age(const struct entry_ctx *ctx, void *obj)
{
	struct daemon_conf *daemon = obj;

	if (entry__duration(ctx, AGE_MAX, &daemon->max_age))
		return -EINVAL;
	if (!daemon->max_age)
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'max-age' must be larger than 0");
	return 0;
}

/* rules_files.c has read the includes already. */
static int parse_include(const struct entry_ctx *ctx, void *obj)
{
	return 0;
}

static const struct section_key keys[] = {
	{ "include", parse_include },
	{ "base", parse_base },
	{ "max-memory", parse_max_memory },
	{ "sideband", parse_sideband },
	{ "sideband-memory", parse_sideband_memory },
	{ "merge", parse_merge },
	{ "snapshot", parse_snapshot },
	{ "watch", parse_watch },
	{ "seccomp", parse_seccomp },
	{ "max-size", parse_max_size },
	{ "max-incidents", parse_max_incidents },
	{ "max-age", parse_max_age },
	{ "min-free", parse_min_free },
	{ "max-dumps", parse_max_dumps },
	{ "on-dump" },
	{ NULL },
};
const struct section_kind daemon_section = { "[daemon]", keys };
