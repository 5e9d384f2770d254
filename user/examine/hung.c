// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/proc_file.h"
#include "examine/hung.h"

#define HUNG_FOR     30000000000ULL /* ns until a file system that hung is asked again */
#define SLOW_FOR     5000000000ULL  /* the same if it had less than LONG_NS to answer */
#define LONG_NS	     2000000000ULL
#define ENDING_NS    2000000000ULL /* a killed process may take that long on a busy machine */
#define UNKNOWN	     UINT32_MAX
#define NAMESPACE_OF (1U << 16) /* number of users that a namespace commonly has */

static uint64_t request_hash(const struct examine_request *r)
{
	if (r->ino)
		return (uint64_t)r->maj << 32 | r->min; /* the whole file system */
	return hash_fnv1a(HASH_FNV1A_BEGIN, r->path, strlen(r->path)) | 1ULL << 63;
}

uint32_t hung__owner(pid_t pid)
{
	_cleanup_close_ int dir = pid ? proc_file__open_task(pid) : -1;
	char status[4096];
	const char *uid;
	uint32_t n;

	if (!pid)
		return 0;
	if (dir < 0 || proc_file__read(dir, "status", status, sizeof(status)) <= 0)
		return UNKNOWN;
	uid = proc_file__status_field(status, "Uid");
	n = uid ? strtoul(uid, NULL, 10) : UNKNOWN;
	return n < NAMESPACE_OF ? n : NAMESPACE_OF + n / NAMESPACE_OF;
}

void hung__note(struct hung *h, const struct examine_request *r, const pid_t pair[2],
		uint64_t waited, bool waits)
{
	const uint64_t now = now_ns();
	struct hung_one *o;
	size_t i = 0;

	/* skip entries that still wait: there are always fewer than HUNG_MAX */
	while (h->v[h->next].waits && i++ < HUNG_MAX)
		h->next = (h->next + 1) % HUNG_MAX;
	o = &h->v[h->next];
	*o = (struct hung_one){
		.what = request_hash(r),
		.since = now,
		.until = now + (waited < LONG_NS ? SLOW_FOR : HUNG_FOR),
		.owner = hung__owner(r->pid),
		.pair = { pair[0], pair[1] },
		.waits = waits,
	};
	h->next = (h->next + 1) % HUNG_MAX;
}

bool hung__any(const struct hung *h)
{
	for (size_t i = 0; i < HUNG_MAX; i++)
		if (h->v[i].waits)
			return true;
	return false;
}

static bool has_pid_of_pair(const pid_t *pids, size_t n, const pid_t pair[2])
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pair[0] || pids[i] == pair[1])
			return true;
	return false;
}

void hung__update(struct hung *h, const pid_t *pids, size_t n)
{
	const uint64_t now = now_ns();

	for (size_t i = 0; i < HUNG_MAX; i++) {
		struct hung_one *o = &h->v[i];

		if (!o->waits || has_pid_of_pair(pids, n, o->pair))
			continue;
		o->waits = false;
		if (now - o->since > ENDING_NS) /* the file system answers again */
			o->until = now;
	}
}

bool hung__refuses(const struct hung *h, const struct examine_request *r)
{
	const uint64_t what = request_hash(r), now = now_ns();
	const uint32_t owner = hung__any(h) ? hung__owner(r->pid) : UNKNOWN;
	size_t n = 0, n_users = 0;

	for (size_t i = 0; i < HUNG_MAX; i++) {
		const struct hung_one *o = &h->v[i];

		if (o->what == what && (o->waits || o->until > now))
			return true;
		n += o->waits && o->owner == owner;
		n_users += o->waits && o->owner;
	}
	if (!owner)
		return n >= HUNG_OF_ROOT_MAX;
	return n >= (owner == UNKNOWN ? HUNG_OF_ENDED_MAX : HUNG_OF_USER_MAX) ||
	       n_users >= HUNG_OF_USERS_MAX;
}
