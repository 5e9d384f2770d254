// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "daemon/saved_state.h"

#define VERSION	   1
#define FILE_MAX   (64 << 20)
#define VALUES_MAX (1LL << 50) /* limit of a bucket, so that the sum of all fits in 64 bits */

void saved_clock__read(struct saved_clock *ret)
{
	struct buf boot = { 0 };

	*ret = (struct saved_clock){ .boot = "" };
	if (buf__read_file(&boot, "/proc/sys/kernel/random/boot_id", sizeof(ret->boot)) == 0)
		snprintf(ret->boot, sizeof(ret->boot), "%.*s",
			 (int)strcspn(boot.len ? boot.data : "", "\n"), boot.len ? boot.data : "");
	buf__free(&boot);
	ret->now = now_ns();
	ret->utc_offset = (int64_t)(clock_ns(CLOCK_REALTIME) - ret->now);
}

/* ---- to text ---- */

static json_t *json_hex(uint64_t v)
{
	return json_sprintf("%016" PRIx64, v);
}

static json_t *json_dumps_begun(const struct dump_limiter *log)
{
	uint64_t n = log->begun < RULESET_DUMPS_MAX ? log->begun : RULESET_DUMPS_MAX;
	json_t *list = json_array();

	for (uint64_t i = log->begun - n; i < log->begun; i++)
		json_array_append_new(list,
				      json_integer((json_int_t)log->times[i % RULESET_DUMPS_MAX]));
	return list;
}

/* The value that a cooldown began with, "bar" in the file. */
static json_t *json_start_value(uint64_t start_value)
{
	return json_integer(start_value < INT64_MAX ? (json_int_t)start_value : INT64_MAX);
}

static json_t *json_saved_rules(const struct saved_state *k)
{
	json_t *list = json_array();

	for (size_t i = 0; i < k->n_rules; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:I, s:o, s:o}", "id", json_hex(k->rules[i].id),
					"last_fired", (json_int_t)k->rules[i].last_fired, "bar",
					json_start_value(k->rules[i].start_value), "dumps",
					json_dumps_begun(&k->rules[i].dumps)));
	return list;
}

static json_t *json_cooling(const struct saved_state *k)
{
	json_t *list = json_array();

	for (size_t i = 0; i < k->n_cooling; i++) {
		const struct past_cooling *c = &k->cooling[i];
		uint64_t start_value =
			past__start_value(&c->value.cooldown_start, c->value.last_fired);

		json_array_append_new(list,
				      json_pack("{s:o, s:i, s:i, s:[o, o], s:I, s:I, s:o}", "rule",
						json_hex(c->key.rule_id), "per", (int)c->key.per,
						"field", (int)c->key.field, "key",
						json_hex(c->key.val[0]), json_hex(c->key.val[1]),
						"last_fired", (json_int_t)c->value.last_fired,
						"until", (json_int_t)c->value.until, "bar",
						json_start_value(start_value)));
	}
	return list;
}

/* Three numbers per bucket: its slice, its index, its count of values. */
static json_t *json_buckets(const struct past_learnt *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_buckets; i++) {
		json_array_append_new(list, json_integer(p->buckets[i].slice));
		json_array_append_new(list, json_integer(p->buckets[i].bucket));
		json_array_append_new(list, json_integer((json_int_t)p->buckets[i].n));
	}
	return list;
}

static json_t *json_learnt(const struct saved_state *k)
{
	json_t *list = json_array();

	for (size_t i = 0; i < k->n_learnt; i++) {
		const struct past_learnt *p = &k->learnt[i];

		json_array_append_new(list, json_pack("{s:o, s:i, s:I, s:o}", "id", json_hex(p->id),
						      "percentile_of", (int)p->percentile_of,
						      "percentile_ns", (json_int_t)p->percentile,
						      "buckets", json_buckets(p)));
	}
	return list;
}

char *saved_state__format(const struct saved_state *k, const struct saved_clock *clock)
{
	json_t *j = json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:o}", "version", VERSION, "boot_id",
			      clock->boot, "utc_offset_ns", (json_int_t)clock->utc_offset, "dumps",
			      json_dumps_begun(&k->dumps), "rules", json_saved_rules(k),
			      "cooldowns", json_cooling(k), "learnt", json_learnt(k));
	char *text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;

	json_decref(j);
	return text;
}

/* ---- from text ---- */

struct reader {
	const struct saved_clock *clock;
	int64_t shift; /* added to times of the file */
	bool other_boot;
};

static bool read_hex(const json_t *j, __u64 *ret)
{
	const char *s = json_string_value(j);

	if (!s || strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
		return false;
	*ret = strtoull(s, NULL, 16);
	return true;
}

/* Read a time: never 0, which means "never", and not later than now. */
static bool read_json_time(const struct reader *r, const json_t *j, __u64 *ret)
{
	__u64 t;

	if (!json_is_integer(j))
		return false;
	t = (uint64_t)json_integer_value(j) + r->shift;
	if ((int64_t)(t - r->clock->now) > 0)
		t = r->clock->now;
	*ret = t ?: 1;
	return true;
}

/* Read the value that a cooldown began with. State files from before `escalate` lack it. */
static bool read_start_value(const json_t *j, __u64 *ret)
{
	if (j && (!json_is_integer(j) || json_integer_value(j) < 0))
		return false;
	*ret = j ? json_integer_value(j) : 0;
	return true;
}

static bool read_dumps(const struct reader *r, const json_t *list, struct dump_limiter *ret)
{
	__u64 time;
	size_t i;
	json_t *j;

	if (!json_is_array(list) || json_array_size(list) > RULESET_DUMPS_MAX)
		return false;
	json_array_foreach (list, i, j) {
		if (!read_json_time(r, j, &time))
			return false;
		dump_limiter__note(ret, time);
	}
	return true;
}

static bool read_rule(const struct reader *r, const json_t *j, struct saved_rule *ret)
{
	const json_t *fired = json_object_get(j, "last_fired");

	return read_hex(json_object_get(j, "id"), &ret->id) && json_is_integer(fired) &&
	       (!json_integer_value(fired) || read_json_time(r, fired, &ret->last_fired)) &&
	       read_start_value(json_object_get(j, "bar"), &ret->start_value) &&
	       read_dumps(r, json_object_get(j, "dumps"), &ret->dumps);
}

static bool read_saved_rules(const struct reader *r, const json_t *list, struct saved_state *k)
{
	size_t i, n = json_array_size(list);
	json_t *j;

	if (!json_is_array(list) || n > FRBPF_MAX_SLOTS)
		return false;
	k->rules = calloc(n + 1, sizeof(*k->rules));
	json_array_foreach (list, i, j) {
		if (!k->rules || !read_rule(r, j, &k->rules[i]))
			return false;
		k->n_rules++;
	}
	return true;
}

/* Does the key mean the same after a reboot? */
static bool outlives_boot(const struct frbpf_key *key)
{
	return key->per == FRBPF_PER_FIELD &&
	       (key->field == FRBPF_FIELD_COMM || key->field == FRBPF_FIELD_PROCESS ||
		key->field == FRBPF_FIELD_UID || key->field == FRBPF_FIELD_CPU ||
		key->field == FRBPF_FIELD_PRIO);
}

static bool read_json_number(const json_t *j, uint32_t max, uint32_t *ret)
{
	if (!json_is_integer(j) || json_integer_value(j) < 0 || json_integer_value(j) > max)
		return false;
	*ret = json_integer_value(j);
	return true;
}

static bool read_one_cooling(const struct reader *r, const json_t *j, struct past_cooling *ret)
{
	const json_t *key = json_object_get(j, "key"), *until = json_object_get(j, "until");
	const json_t *fired = json_object_get(j, "last_fired");
	uint64_t length;

	if (!read_hex(json_object_get(j, "rule"), &ret->key.rule_id) ||
	    !read_hex(json_array_get(key, 0), &ret->key.val[0]) ||
	    !read_hex(json_array_get(key, 1), &ret->key.val[1]) ||
	    !read_json_number(json_object_get(j, "per"), FRBPF_PER_FIELD, &ret->key.per) ||
	    !read_json_number(json_object_get(j, "field"), FRBPF_FIELD_MAX - 1, &ret->key.field) ||
	    !json_is_integer(until) || !read_json_time(r, fired, &ret->value.last_fired) ||
	    !read_start_value(json_object_get(j, "bar"), &ret->value.cooldown_start.value))
		return false;
	if (ret->value.cooldown_start.value)
		ret->value.cooldown_start.of = ret->value.last_fired;
	length = (uint64_t)json_integer_value(until) - (uint64_t)json_integer_value(fired);
	ret->value.until = ret->value.last_fired + length;
	return (int64_t)length >= 0;
}

static bool read_cooling(const struct reader *r, const json_t *list, struct saved_state *k)
{
	size_t i, n = json_array_size(list);
	json_t *j;

	if (!json_is_array(list) || n > FRBPF_MAX_COOLING)
		return false;
	k->cooling = calloc(n + 1, sizeof(*k->cooling));
	json_array_foreach (list, i, j) {
		struct past_cooling *c = k->cooling ? &k->cooling[k->n_cooling] : NULL;

		if (!c || !read_one_cooling(r, j, c))
			return false;
		if (r->other_boot && !outlives_boot(&c->key))
			*c = (struct past_cooling){ .key = { 0 } };
		else
			k->n_cooling++;
	}
	return true;
}

static bool read_buckets(const json_t *list, struct past_learnt *ret)
{
	size_t n = json_array_size(list) / 3;

	if (!json_is_array(list) || json_array_size(list) % 3 ||
	    n > PAST_SLICES * FRBPF_LEARN_BUCKETS)
		return false;
	ret->buckets = calloc(n + 1, sizeof(*ret->buckets));
	for (size_t i = 0; i < n; i++) {
		struct past_bucket *b = ret->buckets ? &ret->buckets[i] : NULL;
		const json_t *values = json_array_get(list, 3 * i + 2);

		if (!b ||
		    !read_json_number(json_array_get(list, 3 * i), PAST_SLICES - 1, &b->slice) ||
		    !read_json_number(json_array_get(list, 3 * i + 1), FRBPF_LEARN_BUCKETS - 1,
				      &b->bucket) ||
		    !json_is_integer(values) || json_integer_value(values) < 0 ||
		    json_integer_value(values) > VALUES_MAX)
			return false;
		b->n = json_integer_value(values);
		ret->n_buckets++;
	}
	return ret->buckets;
}

static bool read_one_learnt(const json_t *j, struct past_learnt *ret)
{
	const json_t *ns = json_object_get(j, "percentile_ns");

	if (!read_hex(json_object_get(j, "id"), &ret->id) ||
	    !read_json_number(json_object_get(j, "percentile_of"), 9999, &ret->percentile_of) ||
	    !json_is_integer(ns) || json_integer_value(ns) < 0)
		return false;
	ret->percentile = json_integer_value(ns);
	return read_buckets(json_object_get(j, "buckets"), ret);
}

/* Read what rules have learnt. State files from before learnt thresholds lack it. */
static bool read_learnt(const json_t *list, struct saved_state *k)
{
	size_t i, n = json_array_size(list);
	json_t *j;

	if (!list)
		return true;
	if (!json_is_array(list) || n > FRBPF_MAX_SLOTS)
		return false;
	k->learnt = calloc(n + 1, sizeof(*k->learnt));
	json_array_foreach (list, i, j) {
		if (!k->learnt || !read_one_learnt(j, &k->learnt[k->n_learnt++]))
			return false;
	}
	return true;
}

static bool read_saved_state(const json_t *j, const struct saved_clock *clock,
			     struct saved_state *k)
{
	const json_t *offset = json_object_get(j, "utc_offset_ns");
	const char *boot = json_string_value(json_object_get(j, "boot_id"));
	struct reader r = { .clock = clock };

	if (!boot || !json_is_integer(offset))
		return false;
	r.other_boot = !*boot || strcmp(boot, clock->boot) != 0;
	if (r.other_boot)
		r.shift = (int64_t)((uint64_t)json_integer_value(offset) -
				    (uint64_t)clock->utc_offset);
	return read_dumps(&r, json_object_get(j, "dumps"), &k->dumps) &&
	       read_saved_rules(&r, json_object_get(j, "rules"), k) &&
	       read_cooling(&r, json_object_get(j, "cooldowns"), k) &&
	       read_learnt(json_object_get(j, "learnt"), k);
}

int saved_state__parse(const char *text, size_t len, const struct saved_clock *clock,
		       struct saved_state *ret, struct err *err)
{
	struct saved_state k = { 0 };
	json_error_t why;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	const json_t *version = json_object_get(j, "version");
	int code = 0;

	if (!j)
		code = err_set(err, -EINVAL, "damaged at line %d: %s", why.line, why.text);
	else if (json_is_integer(version) && json_integer_value(version) != VERSION)
		code = err_set(err, -EINVAL, "written by another version of frbpf");
	else if (!version || !read_saved_state(j, clock, &k))
		code = err_set(err, -EINVAL, "damaged, or not written by frbpf");
	json_decref(j);
	if (code)
		saved_state__free(&k);
	else
		*ret = k;
	return code;
}

void saved_state__take_dumps(struct dump_limiter *log, const struct dump_limiter *past,
			     uint64_t window, uint64_t now)
{
	uint64_t n = past->begun < RULESET_DUMPS_MAX ? past->begun : RULESET_DUMPS_MAX;

	for (uint64_t i = past->begun - n; i < past->begun; i++) {
		uint64_t time = past->times[i % RULESET_DUMPS_MAX];

		if ((int64_t)(now - time) < (int64_t)window)
			dump_limiter__note(log, time);
	}
}

int saved_state__add_learnt(struct saved_state *k, const struct past_learnt *p)
{
	struct past_learnt *more = realloc(k->learnt, (k->n_learnt + 1) * sizeof(*more)), *to;

	if (!more)
		return -ENOMEM;
	k->learnt = more;
	to = &more[k->n_learnt];
	*to = *p;
	to->buckets = calloc(p->n_buckets + 1, sizeof(*to->buckets));
	if (!to->buckets)
		return -ENOMEM;
	if (p->n_buckets)
		memcpy(to->buckets, p->buckets, p->n_buckets * sizeof(*to->buckets));
	k->n_learnt++;
	return 0;
}

const struct saved_rule *saved_state__find(const struct saved_state *k, uint64_t id)
{
	for (size_t i = 0; i < k->n_rules; i++) {
		if (k->rules[i].id == id)
			return &k->rules[i];
	}
	return NULL;
}

/* ---- the file ---- */

int saved_state__load(const struct base_dir *b, struct saved_state *ret, struct err *err)
{
	_cleanup_close_ int fd =
		openat(b->fd, STATE_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct buf text = { 0 };
	struct saved_clock clock;
	struct stat st;
	int code;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(err, -EPERM, "others can write to it");
	code = buf__read_fd(&text, fd, FILE_MAX);
	if (code) {
		buf__free(&text);
		return err_set(err, code, "%s", strerror(-code));
	}
	saved_clock__read(&clock);
	code = saved_state__parse(text.data ? text.data : "", text.len, &clock, ret, err);
	buf__free(&text);
	return code;
}

int saved_state__save(const struct base_dir *b, const struct saved_state *k, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	struct saved_clock clock;

	saved_clock__read(&clock);
	text = saved_state__format(k, &clock);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	return base_dir__write_file(b, STATE_FILE, text, strlen(text), err);
}

void saved_state__free(struct saved_state *k)
{
	free(k->rules);
	free(k->cooling);
	for (size_t i = 0; i < k->n_learnt; i++)
		free(k->learnt[i].buckets);
	free(k->learnt);
	*k = (struct saved_state){ 0 };
}
