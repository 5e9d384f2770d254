// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/kernel_names.h"
#include "analyse/why/why_incident.h"
#include "analyse/why/why_text.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/opening.h"
#include "perfdata/marker.h"

#define SECONDS_MAX 128 /* of vitals */

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static uint64_t manifest_number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? v : 0;
}

static uint64_t time_of(const json_t *trigger)
{
	return manifest_number(json_object_get(trigger, "time"), "monotonic_ns");
}

static uint64_t time_of_window(const json_t *window, const char *which)
{
	return manifest_number(json_object_get(window, which), "monotonic_ns");
}

static bool recording_is_there(const char *path)
{
	_cleanup_close_ int fd = opening__recording(path);

	return fd >= 0;
}

/* Find the dump of the session; false: it does not exist. */
static bool find_dump(const json_t *session, const char *base, char path[static PATH_MAX])
{
	const char *file = text_of(session, "file"), *name = text_of(session, "name"), *last;

	if (!file)
		return false;
	snprintf(path, PATH_MAX, "%s", file);
	if (recording_is_there(path))
		return true;
	last = strrchr(file, '/');
	if (!last || !name || strchr(name, '/'))
		return false;
	snprintf(path, PATH_MAX, "%s/session-%s%s", base, name, last);
	return recording_is_there(path);
}

/* The time, ns, from which the rings of all CPUs were complete, within the window; 0: unknown. */
static uint64_t complete_since(const json_t *session)
{
	const json_t *window = json_object_get(session, "window");
	uint64_t start = time_of_window(window, "start"), end = time_of_window(window, "end");
	uint64_t covered = manifest_number(window, "covered_ns");

	if (!start || covered >= end)
		return start;
	return end - covered > start ? end - covered : start;
}

static int add_dumps(struct why *w, const json_t *manifest, const char *base, struct err *err)
{
	char path[PATH_MAX];
	const json_t *s;
	size_t i, n = 0;
	int code = 0;

	json_array_foreach (json_object_get(manifest, "sessions"), i, s) {
		if (code || !find_dump(s, base, path))
			continue;
		code = why__add_file(w, path, complete_since(s), err);
		n++;
	}
	if (!code && !n)
		return err_set(err, -ENODATA, "unknown: the incident's dumps are gone");
	return code;
}

/*
 * The quota of the subject's cgroups, as the recorder read it. @kernel: the release of the kernel.
 */
static enum why_quota quota_of(const json_t *trigger, const char *kernel)
{
	const json_t *levels = json_object_get(json_object_get(trigger, "state"), "cpu"), *v;
	unsigned int major = 0, minor = 0;
	bool set = false;
	size_t i;

	json_array_foreach (levels, i, v)
		set |= manifest_number(v, "quota_ns") && manifest_number(v, "throttled");
	if (!set)
		return i ? WHY_QUOTA_NONE : WHY_QUOTA_UNKNOWN;
	if (!kernel || sscanf(kernel, "%u.%u", &major, &minor) != 2)
		return WHY_QUOTA_HIDDEN;
	return major > 6 || (major == 6 && minor >= 18) ? WHY_QUOTA_SHOWN : WHY_QUOTA_HIDDEN;
}

/* The owner of what the subject still waited for. If the owner is a process: its first thread. */
static uint32_t owner_of(const json_t *trigger)
{
	const json_t *o = json_object_get(json_object_get(trigger, "state"), "waits_for");
	uint64_t tid = manifest_number(o, "tid") ?: manifest_number(o, "pid");

	return json_is_true(json_object_get(trigger, "pending")) && tid <= INT32_MAX ? tid : 0;
}

#define LIST_MOST 256 /* bytes; a list of this length may have been cut off */

/*
 * Set q->cpus. @list: CPUs, such as "0-3,7"; NULL: unknown. A list with a CPU of WHY_CPUS or above
 * counts as unknown.
 */
static void cpus_of_state(const char *list, struct why_question *q)
{
	int *v = NULL;
	size_t n = 0;

	memset(q->cpus, 0, sizeof(q->cpus));
	if (!list || strlen(list) >= LIST_MOST || cpus__parse(list, &v, &n))
		return;
	for (size_t i = 0; i < n && v[n - 1] < WHY_CPUS; i++)
		q->cpus[v[i] / 64] |= 1ULL << v[i] % 64;
	free(v);
}

/* How to find the limits in the manifest's state */
static const struct {
	const char *list;
	const char *limits[2]; /* a cgroup with one of these members is limited */
	const char *hits[2]; /* and has reached its limit if one of these is not 0; NULL: unknown */
	const char *v1;	     /* where version 1 mounts them */
} limit_rows[WHY_LIMITS] = {
	[WHY_LIMIT_CPU] = { "cpu", { "quota_ns" }, { "throttled" }, "/cpu" },
	[WHY_LIMIT_MEMORY] = { "memory",
			       { "max", "high" },
			       { "max_events", "high_events" },
			       "/memory" },
	[WHY_LIMIT_IO] = { "io", { "max" }, { NULL }, "/blkio" },
};

static bool limit_is_hit(const json_t *level, enum why_limit l)
{
	const char *const *limits = limit_rows[l].limits, *const *hits = limit_rows[l].hits;
	bool hit = !hits[0], limited = false;

	for (size_t i = 0; i < 2; i++) {
		limited |= limits[i] && json_object_get(level, limits[i]);
		hit |= hits[i] && manifest_number(level, hits[i]);
	}
	return limited && hit;
}

/* Is the level of cgroup version 1? Only version 2 has memory.events, and "rbps=" in io.max. */
static bool level_is_v1(const json_t *level, enum why_limit l)
{
	const char *io = json_string_value(json_array_get(json_object_get(level, "max"), 0));

	if (l == WHY_LIMIT_CPU)
		return json_object_get(level, "shares");
	return l == WHY_LIMIT_MEMORY ? !json_object_get(level, "oom_kills")
				     : !io || !strchr(io, '=');
}

/* Find the cgroup of the subject that has reached limit @l. If several have, none is named. */
static void limit_of_trigger(const json_t *state, enum why_limit l, struct why_cgroup *ret)
{
	const json_t *level, *hit = NULL;
	size_t i, n = 0;
	const char *path;

	json_array_foreach (json_object_get(state, limit_rows[l].list), i, level) {
		if (!limit_is_hit(level, l))
			continue;
		hit = level;
		n++;
	}
	path = text_of(hit, "cgroup");
	if (n != 1 || !path || strlen(path) >= sizeof(ret->path) - 16)
		return;
	ret->v1 = level_is_v1(hit, l);
	snprintf(ret->path, sizeof(ret->path), "%s%s", ret->v1 ? limit_rows[l].v1 : "", path);
}

/* Find the peer of the call that fired. A share of time has no peer: it sums up many calls. */
static void peer_of_trigger(const json_t *trigger, struct why_question *q)
{
	const json_t *args = json_object_get(trigger, "args");
	const char *peer = text_of(args, "peer");
	uint64_t port = manifest_number(args, "port"), end = time_of(trigger),
		 ns = manifest_number(trigger, "value_ns");
	bool is_v6 = peer && strchr(peer, ':');

	if (!text_of(trigger, "call") || !peer || !port || !ns || ns > end ||
	    manifest_number(trigger, "window_ns"))
		return;
	q->call_from = end - ns;
	snprintf(q->peer, sizeof(q->peer), "%s%s%s:%u", is_v6 ? "[" : "", peer, is_v6 ? "]" : "",
		 (unsigned int)port);
}

static uint64_t second_vital(const json_t *vitals, const char *key, size_t second)
{
	json_int_t v = json_integer_value(json_array_get(json_object_get(vitals, key), second));

	return v > 0 && v <= INT64_MAX / 1024 ? v : 0;
}

/* Sum up CPU time over the seconds that have a part of [@from, @to]. */
static void stolen_of_vitals(const json_t *vitals, uint64_t from, uint64_t to,
			     struct why_question *q)
{
	static const char *const others[] = { "user_ns", "system_ns", "irq_ns", "idle_ns",
					      "iowait_ns" };
	const json_t *ends = json_object_get(vitals, "end_monotonic_ns");
	uint64_t end, stolen;

	for (size_t i = 0; i < json_array_size(ends) && i < SECONDS_MAX; i++) {
		end = second_vital(vitals, "end_monotonic_ns", i);
		if (end < from || end - second_vital(vitals, "length_ns", i) > to)
			continue;
		stolen = second_vital(vitals, "steal_ns", i);
		q->stolen_ns += stolen;
		q->cpu_ns += stolen;
		for (size_t k = 0; k < ARRAY_SIZE(others); k++)
			q->cpu_ns += second_vital(vitals, others[k], i);
	}
}

/* @disks: {"7:0": "loop0"} */
static void disks_of_vitals(json_t *disks, struct why_question *q)
{
	unsigned int major, minor;
	const char *number, *name;
	json_t *v;

	q->n_disks = 0;
	json_object_foreach (disks, number, v) {
		name = json_string_value(v);
		if (!name || q->n_disks >= WHY_DISKS ||
		    sscanf(number, "%4u:%7u", &major, &minor) != 2)
			continue;
		q->disks[q->n_disks].dev = major << 20 | (minor & 0xfffff);
		snprintf(q->disks[q->n_disks].name, WHY_DISK_NAME, "%s", name);
		q->n_disks++;
	}
}

#define WEIGHT_MOST 262144 /* cpu.shares; cpu.weight has 10000 */

/* Find the least weight of the subject's cgroup and those above it. Version 1 calls it shares. */
static void weight_of_state(const json_t *state, struct why_question *q)
{
	const json_t *level;
	size_t i;

	q->weight = 0;
	json_array_foreach (json_object_get(state, "cpu"), i, level) {
		uint64_t shares = manifest_number(level, "shares");
		uint64_t weight = shares ?: manifest_number(level, "weight");

		if (!weight || weight > WEIGHT_MOST || (q->weight && q->weight <= weight))
			continue;
		q->weight = weight;
		q->weight_is_shares = shares;
	}
}

/* Take what the recorder read about the culprit of its own verdict. */
static void culprit_of_manifest(const json_t *manifest, struct why_question *q)
{
	const json_t *o = json_object_get(json_object_get(manifest, "why"), "culprit");
	uint64_t pid = manifest_number(o, "pid");

	q->culprit = pid <= INT32_MAX ? pid : 0;
	snprintf(q->culprit_command, sizeof(q->culprit_command), "%s", text_of(o, "command") ?: "");
	snprintf(q->culprit_cgroup, sizeof(q->culprit_cgroup), "%s", text_of(o, "cgroup") ?: "");
}

static void question_of_trigger(const json_t *manifest, const json_t *trigger,
				struct why_question *q)
{
	const char *policy = text_of(json_object_get(trigger, "state"), "policy");
	const char *comm = text_of(json_object_get(trigger, "subject"), "comm");
	const char *call = text_of(trigger, "call");
	const json_t *state = json_object_get(trigger, "state");
	uint64_t value =
		manifest_number(trigger, "window_ns") ?: manifest_number(trigger, "value_ns");
	uint64_t time = time_of(trigger);

	q->quota = quota_of(trigger, text_of(json_object_get(manifest, "host"), "kernel"));
	cpus_of_state(text_of(state, "cpus"), q);
	q->owner = owner_of(trigger);
	peer_of_trigger(trigger, q);
	q->idle_policy = policy && !strcmp(policy, "idle");
	snprintf(q->command, sizeof(q->command), "%s", text_of(state, "command") ?: "");
	snprintf(q->cgroup, sizeof(q->cgroup), "%s", text_of(state, "cgroup") ?: "");
	culprit_of_manifest(manifest, q);
	weight_of_state(state, q);
	q->cpu_ns = q->stolen_ns = 0;
	stolen_of_vitals(json_object_get(manifest, "vitals"), time > value ? time - value : 0, time,
			 q);
	disks_of_vitals(json_object_get(json_object_get(manifest, "vitals"), "disks"), q);
	for (size_t i = 0; i < WHY_LIMITS; i++)
		limit_of_trigger(state, i, &q->limits[i]);
	snprintf(q->comm, sizeof(q->comm), "%s", comm ?: "");
	snprintf(q->call, sizeof(q->call), "%s", call ?: "");
}

void why_incident__fill_question(const json_t *manifest, struct why_question *q)
{
	static const char *const lists[] = { "triggers", "merged" };
	const json_t *t;
	size_t i;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		json_array_foreach (json_object_get(manifest, lists[k]), i, t)
			if (time_of(t) == q->to)
				question_of_trigger(manifest, t, q);
}

/* Ask, with the facts in @q that come from sources other than events. */
static int why_ask(struct why *w, uint64_t tid, uint64_t time, uint64_t value,
		   struct why_question q, struct err *err)
{
	q.tid = tid;
	q.to = time;
	q.from = time - value;
	if (!tid || tid > UINT32_MAX)
		return err_set(err, -ENODATA, "unknown: the rule that fired has no subject");
	if (value > time)
		return err_set(err, -EINVAL, "the wait began before the clock did");
	if (!value) /* an event without a duration */
		q.from = UINT64_MAX;
	return why__ask(w, &q, err);
}

int why_incident__ask(const json_t *manifest, const char *base, struct err *err, struct why **ret)
{
	const json_t *t = json_array_get(json_object_get(manifest, "triggers"), 0);
	const json_t *subject = json_object_get(t, "subject");
	struct why_question q = { 0 };
	struct why *w;
	int code;

	if (!subject)
		return err_set(err, -ENODATA,
			       "unknown: no rule fired, the dump was requested by hand: ask about "
			       "a task with -i DUMP --tid TID");
	if (why__new(&w))
		return err_set(err, -ENOMEM, "out of memory");
	question_of_trigger(manifest, t, &q);
	if (why__use_kernel_names(w, json_object_get(manifest, "kernel_symbols")))
		code = err_set(err, -ENOMEM, "out of memory");
	else
		code = add_dumps(w, manifest, base, err);
	code = code
		       ?: why_ask(w, manifest_number(subject, "tid"), time_of(t),
				  manifest_number(t, "window_ns") ?: manifest_number(t, "value_ns"),
				  q, err);
	if (code) {
		why__free(w);
		return code;
	}
	*ret = w;
	return 0;
}

struct found_trigger {
	uint64_t time, value;
	uint32_t tid;
};

static int take_marked_trigger(const struct marker_found *m, void *arg)
{
	struct found_trigger *f = arg;

	f->time = m->time;
	f->value = m->text.value_ns;
	f->tid = m->text.tid;
	return 1; /* stop at the first */
}

int why_incident__ask_dump(const char *path, struct err *err, struct why **ret)
{
	_cleanup_close_ int fd = opening__recording(path);
	struct found_trigger f = { 0 };
	struct why *w;
	int code;

	if (fd < 0)
		return err_set(err, fd, "%s: cannot open it: %s", path, strerror(-fd));
	code = marker_file__triggers(fd, take_marked_trigger, &f);
	if (code < 0 || !f.time)
		return err_set(err, -ENODATA, "%s has no trigger: name a task with --tid", path);
	if (why__new(&w))
		return err_set(err, -ENOMEM, "out of memory");
	code = why__add_file(w, path, 0, err)
		       ?: why_ask(w, f.tid, f.time, f.value, (struct why_question){ 0 }, err);
	if (code) {
		why__free(w);
		return code;
	}
	*ret = w;
	return 0;
}

json_t *why_incident__verdict(const json_t *manifest, const char *base, why_duration_fn duration)
{
	struct why_verdict v = { 0 };
	struct err err = { 0 };
	struct why *w;
	json_t *ret = NULL;

	if (why_incident__ask(manifest, base, &err, &w))
		return json_pack("{s:s, s:s, s:n, s:s, s:s}", "verdict", err.msg, "cause",
				 "unknown", "culprit", "chain", "unknown", "missing", "evidence");
	if (!why_verdict__make(&v, w, duration))
		ret = why_json__verdict(&v);
	why_verdict__free(&v);
	why__free(w);
	return ret;
}

json_t *why_incident__kernel_symbols(const json_t *manifest, const char *base)
{
	struct kernel_names *n = NULL;
	struct err err = { 0 };
	char path[PATH_MAX];
	json_t *ret = NULL;
	const json_t *s;
	size_t i;
	int code = kernel_names__new(&n);

	json_array_foreach (json_object_get(manifest, "sessions"), i, s)
		if (!code && find_dump(s, base, path))
			code = kernel_names__add_file(n, path, &err);
	if (!code)
		ret = kernel_names__lines(n);
	kernel_names__free(n);
	return ret;
}
