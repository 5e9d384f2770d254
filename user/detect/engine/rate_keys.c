// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/rate_keys.h"
#include "rules/units.h"

/* Expired entries stay for a second: a running program may still use them. */
#define TIDY_AFTER_NS NSEC_PER_SEC
/* With more rules than this, each gets less room: together they get the room of this many. */
#define RULES_WITH_ALL 8
#define ROOM_MIN       64

enum { COOLING, COUNTING, SHARING, KINDS };

static const struct kind {
	const char *name;
	uint32_t value_size;
	size_t until_at; /* offset in a value of the time at which it expires */
	uint32_t max;
} kinds[KINDS] = {
	[COOLING] = { "frbpf_cooling", sizeof(struct frbpf_cooling),
		      offsetof(struct frbpf_cooling, until), FRBPF_MAX_COOLING },
	[COUNTING] = { "frbpf_counting", sizeof(struct frbpf_count),
		       offsetof(struct frbpf_count, until), FRBPF_MAX_COUNTING },
	[SHARING] = { "frbpf_sharing", sizeof(struct frbpf_share),
		      offsetof(struct frbpf_share, until), FRBPF_MAX_SHARING },
};

struct key_map {
	int fd;	       /* owned */
	uint32_t room; /* 0: there is none */
};

struct rate_keys {
	int outer[KINDS]; /* borrowed */
	int keyed;
	struct ring_buffer *ring;
	struct key_map maps[FRBPF_MAX_SLOTS][KINDS];
	uint64_t tidied; /* ns: the last time */
	uint64_t due;	 /* ns: the next time; UINT64_MAX: when woken */
};

static int inner_map(const struct kind *kind, uint32_t room)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, kind->name, sizeof(struct frbpf_key),
				kind->value_size, room, NULL);

	return fd < 0 ? -errno : fd;
}

static int outer_map(const struct kind *kind)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	_cleanup_close_ int inner = inner_map(kind, 1);
	int fd;

	if (inner < 0)
		return inner;
	opts.inner_map_fd = inner;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, kind->name, sizeof(uint32_t),
			    sizeof(uint32_t), FRBPF_MAX_SLOTS, &opts);
	return fd < 0 ? -errno : fd;
}

static int on_keyed(void *ctx, void *data, size_t size)
{
	return 0; /* a record only wakes us */
}

int rate_keys__new(int *ret_cooling_fd, int *ret_counting_fd, int *ret_sharing_fd,
		   int *ret_keyed_fd, struct rate_keys **ret)
{
	int *const fds[] = { ret_cooling_fd, ret_counting_fd, ret_sharing_fd };
	struct rate_keys *k = calloc(1, sizeof(*k));
	int fd = 0, err = 0;

	if (!k)
		return -ENOMEM;
	k->due = UINT64_MAX;
	for (int i = 0; i < KINDS && fd >= 0; i++) {
		fd = outer_map(&kinds[i]);
		if (fd >= 0)
			k->outer[i] = *fds[i] = fd;
		else
			err = fd;
	}
	if (!err) {
		fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frbpf_keyed", 0, 0, FRBPF_KEYED_SIZE,
				    NULL);
		if (fd >= 0)
			k->keyed = *ret_keyed_fd = fd;
		else
			err = -errno;
	}
	if (!err) {
		k->ring = ring_buffer__new(k->keyed, on_keyed, NULL, NULL);
		err = k->ring ? 0 : -errno;
	}
	if (err) {
		rate_keys__free(k);
		return err;
	}
	*ret = k;
	return 0;
}

static bool key_map_wanted(const struct rule_conf *r, int kind)
{
	if (kind == COOLING)
		return r->cooldown.time && r->cooldown.per != FRBPF_PER_RULE;
	if (kind == SHARING)
		return r->when.share.time;
	return r->count.n > 1 && r->count.per != FRBPF_PER_RULE;
}

bool rate_keys__wanted(const struct rule_conf *r)
{
	return key_map_wanted(r, COOLING) || key_map_wanted(r, COUNTING) ||
	       key_map_wanted(r, SHARING);
}

uint32_t rate_keys__room(uint32_t max, size_t n_rules)
{
	uint64_t room = n_rules > RULES_WITH_ALL ? (uint64_t)max * RULES_WITH_ALL / n_rules : max;

	return room > ROOM_MIN ? room : ROOM_MIN;
}

/*
 * `keys_made` counts the entries of all maps of a rule: wake up for a quarter of the smallest map.
 */
uint32_t rate_keys__wake(const struct rule_conf *r, size_t n_rules)
{
	if (!rate_keys__wanted(r))
		return 0;
	if (key_map_wanted(r, SHARING))
		return rate_keys__room(kinds[SHARING].max, n_rules) / 4;
	return rate_keys__room(kinds[key_map_wanted(r, COUNTING) ? COUNTING : COOLING].max,
			       n_rules) /
	       4;
}

static int recall_rule(int fd, uint64_t rule_id, const struct past *past)
{
	for (size_t i = 0; past && i < past->n_cooling; i++) {
		const struct past_cooling *c = &past->cooling[i];

		if (c->key.rule_id == rule_id &&
		    bpf_map_update_elem(fd, &c->key, &c->value, BPF_ANY) && errno != E2BIG)
			return -errno;
	}
	return 0;
}

static int give_map(struct rate_keys *k, uint32_t slot, int kind, const struct rule_conf *r,
		    size_t n_rules, const struct past *past)
{
	uint32_t room = rate_keys__room(kinds[kind].max, n_rules);
	int fd = inner_map(&kinds[kind], room), err;

	if (fd < 0)
		return fd;
	err = kind == COOLING ? recall_rule(fd, r->id, past) : 0;
	if (!err && bpf_map_update_elem(k->outer[kind], &slot, &fd, BPF_ANY))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	k->maps[slot][kind] = (struct key_map){ fd, room };
	return 0;
}

int rate_keys__give(struct rate_keys *k, uint32_t slot, const struct rule_conf *r, size_t n_rules,
		    const struct past *past)
{
	int err = 0;

	rate_keys__take_back(k, slot);
	for (int i = 0; i < KINDS && !err; i++) {
		if (key_map_wanted(r, i))
			err = give_map(k, slot, i, r, n_rules, past);
	}
	if (past && past->n_cooling)
		k->due = now_ns(); /* the saved cooldowns may fill the map already */
	return err;
}

void rate_keys__take_back(struct rate_keys *k, uint32_t slot)
{
	for (int i = 0; i < KINDS; i++) {
		if (!k->maps[slot][i].room)
			continue;
		bpf_map_delete_elem(k->outer[i], &slot);
		close(k->maps[slot][i].fd);
		k->maps[slot][i].room = 0;
	}
}

int rate_keys__fd(const struct rate_keys *k)
{
	return k->keyed;
}

/* Delete expired entries. Returns when to do it again; UINT64_MAX: not before we are woken. */
static uint64_t tidy_map(const struct key_map *map, const struct kind *kind, uint64_t now)
{
	char value[sizeof(struct frbpf_count)]; /* the largest */
	struct frbpf_key key, next;
	bool more = !bpf_map_get_next_key(map->fd, NULL, &next);
	uint64_t until, first = UINT64_MAX;
	uint32_t left = 0;

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(map->fd, &key, &next);
		if (bpf_map_lookup_elem(map->fd, &key, value))
			continue;
		memcpy(&until, value + kind->until_at, sizeof(until));
		if ((int64_t)(now - until) > (int64_t)TIDY_AFTER_NS) {
			bpf_map_delete_elem(map->fd, &key);
			continue;
		}
		left++;
		first = until < first ? until : first;
	}
	return left > map->room / 2 ? first + TIDY_AFTER_NS : UINT64_MAX;
}

static void tidy_all(struct rate_keys *k, uint64_t now)
{
	uint64_t due;

	k->tidied = now;
	k->due = UINT64_MAX;
	for (size_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		for (int i = 0; i < KINDS; i++) {
			if (!k->maps[slot][i].room)
				continue;
			due = tidy_map(&k->maps[slot][i], &kinds[i], now);
			k->due = due < k->due ? due : k->due;
		}
	}
	if (k->due < now + TIDY_AFTER_NS)
		k->due = now + TIDY_AFTER_NS;
}

void rate_keys__tidy(struct rate_keys *k, uint64_t now)
{
	if (now - k->tidied >= TIDY_AFTER_NS)
		tidy_all(k, now);
}

uint64_t rate_keys__step(struct rate_keys *k, uint64_t now)
{
	uint64_t soon = k->tidied + TIDY_AFTER_NS;

	if (ring_buffer__consume(k->ring) > 0 && soon < k->due)
		k->due = soon;
	if (now >= k->due)
		tidy_all(k, now);
	return k->due == UINT64_MAX ? UINT64_MAX : k->due - now;
}

void rate_keys__each_cooling(const struct rate_keys *k,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg)
{
	uint64_t now = now_ns();

	for (size_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		const struct key_map *map = &k->maps[slot][COOLING];
		struct past_cooling c;
		struct frbpf_key next;
		bool more = map->room && !bpf_map_get_next_key(map->fd, NULL, &next);

		while (more) {
			c.key = next;
			more = !bpf_map_get_next_key(map->fd, &c.key, &next);
			if (!bpf_map_lookup_elem(map->fd, &c.key, &c.value) &&
			    (int64_t)(now - c.value.until) < 0)
				fn(&c, arg);
		}
	}
}

void rate_keys__free(struct rate_keys *k)
{
	if (!k)
		return;
	for (size_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		for (int i = 0; i < KINDS; i++) {
			if (k->maps[slot][i].room)
				close(k->maps[slot][i].fd);
		}
	}
	ring_buffer__free(k->ring);
	free(k);
}
