// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/suspends.h"
#include "common/version.h"
#include "dump/base/base_clock.h"
#include "dump/base/manifest.h"
#include "dump/incident/stack_frames.h"
#include "dump/incident/trigger_args.h"
#include "dump/window/recorded_ends.h"
#include "rules/units.h"

static json_t *json_u64(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/*
 * Format @monotonic as a time of the wall clock. The offset is that at the freeze, less the
 * suspends between @monotonic and the freeze.
 */
static json_t *json_time(const struct incident *inc, uint64_t monotonic)
{
	uint64_t slept = suspends__between(monotonic, inc->freeze.frozen);

	return manifest__moment(inc->realtime_offset - slept, monotonic);
}

static json_t *json_task(const struct frbpf_task *t)
{
	return json_pack("{s:i, s:i, s:I, s:o, s:o}", "pid", (int)t->pid, "tid", (int)t->tid, "uid",
			 (json_int_t)t->uid, "comm", json_text(t->comm, FRBPF_COMM_LEN), "process",
			 json_text(t->process, FRBPF_COMM_LEN));
}

static json_t *json_key(const struct frbpf_trigger *t)
{
	const char *name = trigger_args__key(t);

	return name ? json_string(name) : json_null();
}

/* The arguments of the event; NULL: none. */
static json_t *json_args(const struct incident_trigger *it)
{
	struct trigger_arg args[TRIGGER_ARGS_MAX];
	size_t n = trigger_args__get(it, args);
	json_t *j = n ? json_object() : NULL;

	for (size_t i = 0; i < n && j; i++)
		json_object_set_new(j, args[i].name,
				    args[i].is_text ? json_text(args[i].text, sizeof(args[i].text))
						    : json_integer(args[i].number));
	return j;
}

/* The system call as people write it; NULL: the event is no system call. */
static json_t *json_call(const struct incident_trigger *it)
{
	struct buf text = { 0 };
	json_t *j = NULL;

	if (!call_text__add(&text, it) && text.len)
		j = json_text(text.data, text.len);
	buf__free(&text);
	return j;
}

/* The innermost frame comes first. */
static json_t *json_manifest_stack(const __u64 *ips, const struct stack_frame *frames, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct stack_frame *f = frames ? &frames[i] : NULL;
		json_t *j = json_pack("{s:o}", "address", json_sprintf("0x%llx", ips[i]));

		if (j && f && f->module) {
			json_object_set_new(j, "module", json_text(f->module, SIZE_MAX));
			json_object_set_new(j, "offset", json_u64(f->offset));
		}
		if (j && f && f->symbol) {
			json_object_set_new(j, "symbol", json_text(f->symbol, SIZE_MAX));
			json_object_set_new(j, "symbol_offset", json_u64(f->symbol_offset));
		}
		json_array_append_new(list, j);
	}
	return list;
}

/* JSON null: the trigger has no stacks. */
static json_t *json_manifest_stacks(const struct incident_stacks *s)
{
	if (!s)
		return json_null();
	return json_pack("{s:o, s:o, s:s?}", "kernel",
			 json_manifest_stack(s->raw.kernel, s->kernel, s->raw.n_kernel), "user",
			 json_manifest_stack(s->raw.user, s->user, s->raw.n_user), "user_from",
			 !s->raw.n_user	     ? NULL
			 : s->user_of_switch ? "sched_switch"
					     : "trigger");
}

/*
 * Why @it could not be compared with what was recorded. NULL: it was compared, or no record could
 * contradict it.
 */
static const char *cannot_tell(const struct incident_trigger *it)
{
	static const char *const reasons[] = {
		[COMPARED_NOT_RECORDED] = "no session recorded its events",
		[COMPARED_MERGED] = "it came after the recorded window was collected",
		[COMPARED_TOO_LATE] = "it ended after the recorded window",
		[COMPARED_SHORT] = "it began before the recorded window",
		[COMPARED_LOSSES] = "records of the window were lost",
		[COMPARED_NOT_FOUND] = "its own events are not in the recorded window",
	};
	bool is_wait = when__is_wait(it->t.source) && it->t.subject.tid &&
		       !(it->t.flags & FRBPF_TRIGGER_SHARE);

	if (it->compared == COMPARED_AGREES || (!is_wait && !recorded_ends__has(it->t.source)))
		return NULL;
	if (is_wait && it->compared == COMPARED_NOT_RECORDED)
		return "no session recorded every switch";
	return reasons[it->compared];
}

/* The state of the subject; NULL: unknown, or not read yet. */
static json_t *json_state(const struct incident *inc, const struct incident_trigger *it)
{
	size_t i = it - inc->triggers;
	json_t *state, *more, *copy;

	if (it < inc->triggers || i >= INCIDENT_STATES_MAX)
		return NULL;
	state = __atomic_load_n(&inc->states[i], __ATOMIC_ACQUIRE);
	more = __atomic_load_n(&inc->more_states[i], __ATOMIC_ACQUIRE);
	copy = state ? json_deep_copy(state) : NULL;
	if (copy && more)
		json_object_update(copy, more);
	return copy;
}

/* Parts that matched before @it; NULL: the rule has no parts. */
static json_t *json_parts(const struct incident *inc, const struct incident_trigger *it)
{
	struct incident_trigger part;
	json_t *list = NULL;

	for (size_t i = 0; i < FRBPF_MAX_OTHERS; i++) {
		if (!incident_trigger__part(it, i, &part))
			continue;
		list = list ?: json_array();
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:o, s:I, s:i, s:o}", "rule",
						json_text(part.rule->name, SIZE_MAX), "when",
						json_text(part.rule->when_text, SIZE_MAX), "time",
						json_time(inc, part.t.time), "value_ns",
						(json_int_t)part.t.value, "cpu", (int)part.t.cpu,
						"subject", json_task(&part.t.subject)));
	}
	return list;
}

static json_t *json_trigger(const struct incident *inc, const struct incident_trigger *it)
{
	const struct frbpf_trigger *t = &it->t;
	const char *source = when__source_name(t->source);
	json_t *j, *args, *call, *state, *parts;

	if (!it->rule)
		return json_pack("{s:n, s:s, s:o, s:o}", "rule", "source", "manual", "reason",
				 json_text(inc->reason, sizeof(inc->reason)), "time",
				 json_time(inc, t->time));
	j = json_pack("{s:o, s:o, s:o, s:s, s:o, s:I, s:I, s:o, s:i, s:o, s:o}", "rule",
		      json_text(it->rule->name, SIZE_MAX), "when",
		      json_text(it->rule->when_text, SIZE_MAX), "if",
		      it->rule->if_text ? json_text(it->rule->if_text, SIZE_MAX) : json_null(),
		      "source", source ? source : "?", "time", json_time(inc, t->time), "value_ns",
		      (json_int_t)t->value, "threshold_ns", (json_int_t)t->threshold, "key",
		      json_key(t), "cpu", (int)t->cpu, "subject", json_task(&t->subject), "current",
		      json_task(&t->current));
	if (j && it->contradicted) {
		json_object_set_new(j, "contradicted", json_true());
		json_object_set_new(j, "contradicted_time", json_time(inc, it->contradicted));
	} else if (j && cannot_tell(it)) {
		json_object_set_new(j, "cannot_tell", json_string(cannot_tell(it)));
	}
	if (j)
		json_object_set_new(j, "stacks", json_manifest_stacks(incident__stacks(inc, t)));
	state = j ? json_state(inc, it) : NULL;
	if (state)
		json_object_set_new(j, "state", state);
	/* a function at its call, a pending trigger and a silence have no result */
	if (j && !(t->flags & (FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_ABSENT)) &&
	    (t->source == FRBPF_SOURCE_SYSCALL || (t->source == FRBPF_SOURCE_UPROBE && t->value)))
		json_object_set_new(j, "ret", json_integer(t->ret));
	if (j && t->flags & FRBPF_TRIGGER_ESCALATED)
		json_object_set_new(j, "escalated", json_true());
	if (j && t->flags & FRBPF_TRIGGER_PENDING)
		json_object_set_new(j, "pending", json_true());
	if (j && t->flags & FRBPF_TRIGGER_ABSENT)
		json_object_set_new(j, "absent", json_true());
	if (j && t->flags & FRBPF_TRIGGER_SHARE && it->rule)
		json_object_set_new(j, "window_ns", json_integer(it->rule->when.share.time));
	parts = json_parts(inc, it);
	if (j && parts)
		json_object_set_new(j, "after", parts);
	args = json_args(it);
	if (args)
		json_object_set_new(j, "args", args);
	call = json_call(it);
	if (call)
		json_object_set_new(j, "call", call);
	return j;
}

static uint64_t covered_ns(const struct dump_cpu *cpu, uint64_t end)
{
	uint64_t back = cpu->from < end ? end - cpu->from : 0;

	return cpu->away < back ? back - cpu->away : 0;
}

static json_t *json_cpus(const struct dump_result *res)
{
	json_t *list = json_array();

	for (size_t c = 0; res->cpus && c < res->n_cpus; c++) {
		const struct dump_cpu *cpu = &res->cpus[c];
		json_array_append_new(
			list,
			json_pack("{s:i, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I}", "cpu", cpu->cpu,
				  "records", (json_int_t)cpu->records, "covered_ns",
				  (json_int_t)covered_ns(cpu, res->end), "absent_ns",
				  (json_int_t)cpu->away, "incomplete", cpu->away > 0, "lost",
				  (json_int_t)cpu->lost, "throttled", (json_int_t)cpu->throttled,
				  "torn_bytes", (json_int_t)cpu->torn, "paused_ns",
				  (json_int_t)cpu->paused));
	}
	return list;
}

static json_t *json_window(const struct incident *inc, const struct dump_result *res)
{
	uint64_t covered = res->complete < res->end ? res->end - res->complete : 0;
	uint64_t asked = res->asked < res->end ? res->end - res->asked : 0;
	json_t *j =
		json_pack("{s:o, s:o, s:I, s:I, s:I, s:b}", "start", json_time(inc, res->start),
			  "end", json_time(inc, res->end), "length_ns",
			  (json_int_t)(res->end - res->start), "covered_ns", (json_int_t)covered,
			  "asked_ns", (json_int_t)asked, "short", res->short_window);

	if (j && res->ring_needed)
		json_object_set_new(j, "ring_needed_bytes", json_u64(res->ring_needed));
	return j;
}

static json_t *json_manifest_session(const struct base_dir *base, const struct incident *inc,
				     size_t i)
{
	const struct dump_result *res = &inc->results[i];
	const struct session *s = res->session;
	char path[PATH_MAX + 256];

	if (res->error)
		return json_pack("{s:s, s:o, s:n, s:o}", "name", s->name, "run",
				 json_text(s->run, SIZE_MAX), "file", "error",
				 json_text(res->error_text, sizeof(res->error_text)));
	snprintf(path, sizeof(path), "%s/session-%s/%s", base->path, s->name, res->file);
	return json_pack("{s:s, s:o, s:o, s:n, s:I, s:I, s:o, s:o, s:I, s:I, "
			 "s:{s:I, s:I, s:b}}",
			 "name", s->name, "run", json_text(s->run, SIZE_MAX), "file",
			 json_text(path, SIZE_MAX), "error", "bytes", (json_int_t)res->bytes,
			 "records", (json_int_t)res->records, "window", json_window(inc, res),
			 "cpus", json_cpus(res), "write_ns", (json_int_t)res->write_ns,
			 "skipped_records", (json_int_t)res->skipped, "sideband", "lost",
			 (json_int_t)res->sideband_lost, "rescans",
			 (json_int_t)res->sideband_rescans, "incomplete", res->sideband_incomplete);
}

static json_t *json_manifest_sessions(const struct base_dir *base, const struct incident *inc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		if (inc->results[i].session)
			json_array_append_new(list, json_manifest_session(base, inc, i));
	}
	return list;
}

static json_t *json_host(const char *hostname)
{
	struct buf machine = { 0 }, boot = { 0 };
	struct utsname u;
	json_t *j;

	if (buf__read_file(&machine, "/etc/machine-id", 256) == 0 && machine.len)
		machine.data[strcspn(machine.data, "\n")] = '\0';
	if (buf__read_file(&boot, "/proc/sys/kernel/random/boot_id", 256) == 0 && boot.len)
		boot.data[strcspn(boot.data, "\n")] = '\0';
	uname(&u);
	j = json_pack("{s:o, s:o, s:s, s:s, s:s}", "name", json_text(hostname, SIZE_MAX),
		      "machine_id", json_text(machine.len ? machine.data : "", SIZE_MAX), "boot_id",
		      boot.len ? boot.data : "", "kernel", u.release, "arch", u.machine);
	buf__free(&machine);
	buf__free(&boot);
	return j;
}

static json_t *json_freeze(const struct incident *inc)
{
	const struct freeze_report *f = &inc->freeze;
	uint64_t late = f->frozen > inc->due ? f->frozen - inc->due : 0;

	return json_pack(
		"{s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:I}", "mode", f->live ? "live" : "pause",
		"deadline_monotonic_ns", (json_int_t)inc->deadline, "waited_ns",
		(json_int_t)(inc->due - inc->deadline), "late_ns", (json_int_t)late, "frozen",
		json_time(inc, f->frozen), "resumed", json_time(inc, f->finished), "paused_ns",
		(json_int_t)(f->live ? 0 : f->finished - f->begun), "copied_bytes",
		(json_int_t)f->bytes);
}

static json_t *json_manifest_triggers(const struct incident *inc, const struct incident_trigger *v,
				      size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_trigger(inc, &v[i]));
	return list;
}

json_t *manifest__load(const struct base_dir *base, const char *name)
{
	char path[PATH_MAX + 64];
	struct buf text = { 0 };
	json_t *j = NULL;

	snprintf(path, sizeof(path), "%s/incidents/%s.json", base->path, name);
	if (buf__read_file(&text, path, MANIFEST_MAX) == 0 && text.len)
		j = json_loadb(text.data, text.len, 0, NULL);
	buf__free(&text);
	return j;
}

static int manifest_no_memory(const char *name, struct err *err)
{
	return err_set(err, -ENOMEM, "cannot make the manifest of incident %s: out of memory",
		       name);
}

/* Takes over @j. The caller holds the lock of manifests. */
static int write_manifest_file(const struct base_dir *base, const char *name, json_t *j,
			       struct err *err)
{
	_cleanup_free_ char *text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;

	json_decref(j);
	if (!text)
		return manifest_no_memory(name, err);
	return base_dir__write_manifest(base, name, text, strlen(text), err);
}

int manifest__edit(const struct base_dir *base, const char *name, manifest_edit_fn edit, void *arg,
		   struct err *err)
{
	json_t *j;
	int code;

	base_dir__lock_manifests();
	j = manifest__load(base, name);
	code = json_is_object(j) ? edit(j, arg) : -ENOENT;
	if (code == -ENOMEM)
		manifest_no_memory(name, err);
	if (code > 0)
		code = write_manifest_file(base, name, json_incref(j), err);
	base_dir__unlock_manifests();
	json_decref(j);
	return code;
}

static int edit_why(json_t *manifest, void *why)
{
	return json_object_set(manifest, "why", why) ? -ENOMEM : 1;
}

int manifest__set_why(const struct base_dir *base, const char *name, json_t *why, struct err *err)
{
	int code = manifest__edit(base, name, edit_why, why, err);

	return code > 0 ? 0 : code;
}

static int edit_kernel_symbols(json_t *manifest, void *lines)
{
	return json_object_set(manifest, "kernel_symbols", lines) ? -ENOMEM : 1;
}

int manifest__set_kernel_symbols(const struct base_dir *base, const char *name, json_t *lines,
				 struct err *err)
{
	int code = manifest__edit(base, name, edit_kernel_symbols, lines, err);

	return code > 0 ? 0 : code;
}

/*
 * Copy the ends of pending events from @old to the triggers of @manifest, which are in the same
 * order.
 */
static int keep_ends(json_t *manifest, const json_t *old, const char *list)
{
	json_t *from = json_object_get(old, list), *to = json_object_get(manifest, list), *v;
	size_t i;
	int err = 0;

	json_array_foreach (from, i, v) {
		json_t *ended = json_object_get(v, "ended"), *t = json_array_get(to, i);

		if (ended && t)
			err = json_object_set(t, "ended", ended) ?: err;
	}
	return err;
}

/* Keep what was added to a manifest after it was first written. 0 or -ENOMEM. */
static int keep_added(json_t *manifest, const struct base_dir *base, const struct incident *inc)
{
	static const char *const members[] = { "why", "kernel_symbols" };
	json_t *old = inc->listed ? manifest__load(base, inc->name) : NULL;
	json_t *list = json_object_get(old, "suppressed"), *v;
	int err = json_object_set_new(manifest, "suppressed",
				      json_is_array(list) ? json_incref(list) : json_array());

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!err && (v = json_object_get(old, members[i])))
			err = json_object_set(manifest, members[i], v);
	err = err ?: keep_ends(manifest, old, "triggers") ?: keep_ends(manifest, old, "merged");
	json_decref(old);
	return err ? -ENOMEM : 0;
}

static json_t *json_manifest_suppressed(const char *rule, const struct frbpf_suppressed *suppressed,
					uint64_t realtime_offset)
{
	json_t *largest = json_null();

	if (suppressed->value)
		largest = json_pack(
			"{s:I, s:o, s:o}", "value_ns", (json_int_t)suppressed->value, "subject",
			json_task(&suppressed->subject), "time",
			manifest__moment(realtime_offset -
						 suspends__between(suppressed->time, now_ns()),
					 suppressed->time));
	return json_pack("{s:s, s:I, s:o}", "rule", rule, "count", (json_int_t)suppressed->count,
			 "largest", largest);
}

struct suppressed_edit {
	const char *rule;
	const struct frbpf_suppressed *suppressed;
	uint64_t realtime_offset;
};

static int edit_suppressed(json_t *manifest, void *arg)
{
	const struct suppressed_edit *e = arg;
	json_t *list = json_object_get(manifest, "suppressed"), *v;
	size_t i;

	if (!json_is_array(list)) {
		list = json_array();
		if (json_object_set_new(manifest, "suppressed", list))
			return -ENOMEM;
	}
	json_array_foreach (list, i, v) {
		if (strcmp(json_string_value(json_object_get(v, "rule")) ?: "", e->rule) == 0) {
			json_array_remove(list, i);
			break;
		}
	}
	if (json_array_append_new(
		    list, json_manifest_suppressed(e->rule, e->suppressed, e->realtime_offset)))
		return -ENOMEM;
	return 1;
}

int manifest__suppressed(const struct base_dir *base, const char *name, const char *rule,
			 const struct frbpf_suppressed *suppressed, uint64_t realtime_offset,
			 struct err *err)
{
	struct suppressed_edit edit = { rule, suppressed, realtime_offset };

	return manifest__edit(base, name, edit_suppressed, &edit, err);
}

struct ended_edit {
	const char *rule;
	pid_t tid;
	const struct frbpf_ended *ended;
	uint64_t realtime_offset;
};

/* Is @t the trigger that the ended event fired? */
static bool is_trigger_of(const json_t *t, const struct ended_edit *e)
{
	const json_t *time = json_object_get(t, "time"), *subject = json_object_get(t, "subject");
	uint64_t begin = json_integer_value(json_object_get(time, "monotonic_ns")) -
			 json_integer_value(json_object_get(t, "value_ns"));

	return json_is_true(json_object_get(t, "pending")) && begin == e->ended->of.begin &&
	       !strcmp(json_string_value(json_object_get(t, "rule")) ?: "", e->rule) &&
	       json_integer_value(json_object_get(subject, "tid")) == e->tid;
}

static json_t *json_ended(const struct ended_edit *e, bool has_ret)
{
	const struct frbpf_ended *x = e->ended;
	uint64_t offset = e->realtime_offset - suspends__between(x->time, now_ns());
	json_t *j = json_pack("{s:b, s:o}", "seen", x->value != 0, "time",
			      manifest__moment(offset, x->time));

	if (j && x->value)
		json_object_set_new(j, "value_ns", json_u64(x->value));
	if (j && x->value && has_ret)
		json_object_set_new(j, "ret", json_integer(x->ret));
	return j;
}

static int edit_ended(json_t *manifest, void *arg)
{
	static const char *const lists[] = { "triggers", "merged" };
	const struct ended_edit *e = arg;
	int changed = 0;
	json_t *t;
	size_t i;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		json_array_foreach (json_object_get(manifest, lists[k]), i, t) {
			const char *source = json_string_value(json_object_get(t, "source")) ?: "";
			bool has_ret = !strcmp(source, "syscall") || !strcmp(source, "uprobe");

			if (!is_trigger_of(t, e))
				continue;
			if (json_object_set_new(t, "ended", json_ended(e, has_ret)))
				return -ENOMEM;
			changed = 1;
		}
	}
	return changed;
}

int manifest__ended(const struct base_dir *base, const char *name, const char *rule, pid_t tid,
		    const struct frbpf_ended *e, uint64_t realtime_offset, struct err *err)
{
	struct ended_edit edit = { rule, tid, e, realtime_offset };

	return manifest__edit(base, name, edit_ended, &edit, err);
}

static bool is_contradicted(const struct incident *inc)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].contradicted)
			return true;
	}
	for (size_t i = 0; i < n_merged; i++) {
		if (inc->merged[i].contradicted)
			return true;
	}
	return false;
}

/* Takes over @sessions. NULL: out of memory. */
static json_t *make_manifest(const struct base_dir *base, const struct incident *inc,
			     const char *hostname, json_t *sessions)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);
	json_t *j, *suspended = manifest__suspends(inc);

	j = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:I, s:n, s:o, s:o, s:[]}",
		      "schema", MANIFEST_SCHEMA, "incident", inc->name, "frbpf", frbpf_version,
		      "host", json_host(hostname), "time", json_time(inc, inc->triggers[0].t.time),
		      "triggers", json_manifest_triggers(inc, inc->triggers, inc->n_triggers),
		      "names",
		      inc->names	   ? "pending"
		      : inc->names_missing ? "partial"
					   : "complete",
		      "merged", json_manifest_triggers(inc, inc->merged, n_merged), "more_merged",
		      (json_int_t)inc->more_merged, "suppressed", "freeze", json_freeze(inc),
		      "sessions", sessions, "actions");
	if (j && suspended)
		json_object_set(j, "suspended", suspended);
	json_decref(suspended);
	if (j)
		json_object_set_new(j, "contradicted", json_boolean(is_contradicted(inc)));
	if (j && keep_added(j, base, inc)) {
		json_decref(j);
		j = NULL;
	}
	if (j && inc->vitals)
		json_object_set_new(j, "vitals", json_deep_copy(inc->vitals));
	if (j)
		json_object_set_new(j, "base_ns",
				    json_u64(base_clock__at(base, inc->freeze.frozen)));
	return j;
}

int manifest__draft(const struct base_dir *base, const struct incident *inc, const char *hostname,
		    struct err *err)
{
	json_t *j = make_manifest(base, inc, hostname, json_array());
	_cleanup_free_ char *text = NULL;

	if (j && json_object_set_new(j, "names", json_string("partial")) == 0)
		text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	if (!text)
		return manifest_no_memory(inc->name, err);
	return base_dir__write_draft(base, inc->name, text, strlen(text), err);
}

int manifest__write(const struct base_dir *base, struct incident *inc, const char *hostname,
		    struct err *err)
{
	int code = 0;

	base_dir__lock_manifests();
	if (!inc->listed || base_dir__has_manifest(base, inc->name)) {
		json_t *sessions = json_manifest_sessions(base, inc);

		code = write_manifest_file(base, inc->name,
					   make_manifest(base, inc, hostname, sessions), err);
		inc->listed = inc->listed || !code;
	}
	base_dir__unlock_manifests();
	return code;
}
