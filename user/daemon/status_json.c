// SPDX-License-Identifier: GPL-2.0-only
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/proc_file.h"
#include "common/version.h"
#include "daemon/suppressed_log.h"
#include "daemon/overlay.h"
#include "daemon/recorder.h"
#include "daemon/retainer.h"
#include "daemon/status_json.h"
#include "dump/rings/ring_history.h"
#include "examine/examiner.h"
#include "record/session.h"
#include "sideband/sideband.h"

/* The value of @key, bytes; 0: the kernel does not report it. */
static json_int_t status_value(const char *status, const char *key)
{
	const char *kb = proc_file__status_field(status, key);

	return kb ? (json_int_t)strtoull(kb, NULL, 10) * 1024 : 0;
}

/*
 * {"rss_bytes", "anon_bytes", "file_bytes": from /proc/self/status; "rings_bytes": mapped from the
 * kernel, in no process's RSS; "copies_bytes"; "sideband_rings_bytes"; "sideband_bytes": log and
 * state of names; "heap_bytes": taken by malloc() from the kernel, of which "heap_in_use_bytes"
 * are in use; "used_bytes", "max_bytes": what counts towards max-memory, and its value}.
 */
static json_t *memory_json(struct sideband *sb, uint64_t max_memory)
{
	/* rings and their copies have the same size */
	json_int_t sessions = (json_int_t)session__memory_of_all();
	const struct mallinfo2 heap = mallinfo2();
	struct sideband_stats st;
	struct buf b = { 0 };
	const char *status;
	json_t *j;

	sideband__stats(sb, &st);
	status = buf__read_file(&b, "/proc/self/status", 64 * 1024) == 0 && b.len ? b.data : "";
	j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "rss_bytes",
		      status_value(status, "VmRSS"), "anon_bytes", status_value(status, "RssAnon"),
		      "file_bytes", status_value(status, "RssFile"), "rings_bytes", sessions / 2,
		      "copies_bytes", sessions - sessions / 2, "sideband_rings_bytes",
		      (json_int_t)st.ring_bytes, "sideband_bytes",
		      (json_int_t)(st.log_bytes + st.model_bytes), "heap_bytes",
		      (json_int_t)(heap.arena + heap.hblkhd), "heap_in_use_bytes",
		      (json_int_t)(heap.uordblks + heap.hblkhd), "used_bytes",
		      sessions + (json_int_t)st.ring_bytes, "max_bytes", (json_int_t)max_memory);
	buf__free(&b);
	return j;
}

/* How far back each CPU's ring reaches. */
static json_t *json_coverage(struct session *s)
{
	_cleanup_free_ struct coverage *v = calloc(s->n_cpus ?: 1, sizeof(*v));
	json_t *list = json_array();
	uint64_t now = now_ns();

	if (!v || coverage__measure(s, v))
		return list;
	for (size_t c = 0; c < s->n_cpus; c++) {
		uint64_t held = v[c].since < now ? now - v[c].since : 0;
		uint64_t away = session__away(s, c, v[c].since, now);

		held = away < held ? held - away : 0;
		json_array_append_new(list,
				      json_pack("{s:i, s:I, s:I}", "cpu", v[c].cpu, "held_ns",
						(json_int_t)held, "bytes", (json_int_t)v[c].bytes));
	}
	return list;
}

/* The file that a plain session writes. */
static json_t *json_plain(const struct dumper *d, const char *base)
{
	const char *name = d->session->output.name;

	return json_pack("{s:o, s:I}", "file",
			 json_sprintf("%s/session-%s/%s", base, d->session->name,
				      name[0] ? name : "perf.data"),
			 "bytes", (json_int_t)plain_recorder__bytes(d->plain));
}

static json_t *json_status_session(const struct dumper *d, const char *base, uint64_t ring,
				   bool reach)
{
	struct session *s = d->session;
	json_t *events = json_array(), *j;

	for (size_t i = 0; i < s->events->n; i++)
		json_array_append_new(events, json_text_or_null(s->events->v[i].name));
	j = json_pack("{s:s, s:o, s:i, s:o, s:I, s:i, s:I, s:s}", "name", s->name, "run",
		      json_text_or_null(s->run), "tid", (int)d->tid, "events", events, "ring_bytes",
		      (json_int_t)(s->n_cpus ? s->cpus[0].ring.size : 0), "cpus", (int)s->n_cpus,
		      "started_monotonic_ns", (json_int_t)s->started, "notice", s->notice);
	if (j && d->proxy) {
		json_object_set_new(j, "pid", json_integer(d->proxy->pid));
		json_object_set_new(j, "uptime_ns", json_integer(now_ns() - d->proxy->started));
	}
	if (j && ring)
		json_object_set_new(j, "ring_ns", json_integer(ring));
	if (j && s->plain)
		json_object_set_new(j, "writes", json_plain(d, base));
	else if (j && reach)
		json_object_set_new(j, "rings", json_coverage(s));
	return j;
}

static json_t *json_status_suppressed(const struct frbpf_rule_state *st,
				      const struct rule_counters *t)
{
	json_t *j = suppressed__json(st);

	json_object_set_new(j, "busy", json_integer((json_int_t)t->busy));
	json_object_set_new(j, "muted", json_integer((json_int_t)t->muted));
	json_object_set_new(j, "capped", json_integer((json_int_t)t->capped));
	return j;
}

/* Matches by value, without empty buckets: [{"from_ns": 2^i, "matches": n}, ...] */
static json_t *json_values(const struct frbpf_rule_state *st)
{
	json_t *list = json_array();

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		if (st->values[i])
			json_array_append_new(list, json_pack("{s:I, s:I}", "from_ns",
							      (json_int_t)(1ULL << i), "matches",
							      (json_int_t)st->values[i]));
	}
	return list;
}

/* {"ends_in_ns"?}; null: it is not in effect. */
static json_t *json_end(uint64_t until)
{
	uint64_t now = now_ns();

	if (!until)
		return json_null();
	if (until == OVERLAY_FOREVER)
		return json_object();
	return json_pack("{s:I}", "ends_in_ns", (json_int_t)(until > now ? until - now : 0));
}

/*
 * {"percentile", "factor", "window_ns", "values", "values_needed", "percentile_ns"?,
 * "threshold_ns"?, "ago_ns"?}; null: the threshold is fixed.
 */
static json_t *json_rule_learnt(const struct detectors *d, const struct rule_conf *rule,
				uint32_t slot)
{
	const struct when_learn *conf = &rule->when.learn;
	struct learnt v;
	json_t *j;

	if (!detectors__learnt(d, slot, &v))
		return json_null();
	j = json_pack("{s:f, s:f, s:I, s:I, s:I}", "percentile", conf->percentile / 100.0, "factor",
		      conf->factor / 100.0, "window_ns", (json_int_t)conf->time, "values",
		      (json_int_t)v.values, "values_needed", (json_int_t)when_learn__least(conf));
	if (!j || !v.limit)
		return j;
	json_object_set_new(j, "percentile_ns", json_integer((json_int_t)v.percentile));
	json_object_set_new(j, "threshold_ns", json_integer((json_int_t)v.limit));
	if (v.time)
		json_object_set_new(j, "ago_ns", json_integer((json_int_t)(now_ns() - v.time)));
	return j;
}

static json_t *json_status_rule(const struct status_sources *s, size_t i)
{
	const struct active_set *g = recorder__active_set(s->recorder);
	const struct rule_conf *rule = &g->rules->rules[i];
	struct frbpf_rule_state st = { 0 };
	struct rule_counters counters;

	detectors__rule_state(s->detectors, g->slots[i], &st);
	recorder__counters(s->recorder, i, &counters);
	return json_pack(
		"{s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
		"s:o}",
		"name", json_text_or_null(rule->name), "when", json_text_or_null(rule->when_text),
		"if", json_text_or_null(rule->if_text), "quiet", rule->quiet, "armed",
		json_end(overlay__armed_until(s->overlay, rule->name)), "muted",
		json_end(overlay__muted_until(s->overlay, rule->name)), "matched",
		(json_int_t)st.matched, "fired", (json_int_t)st.fired, "suppressed",
		json_status_suppressed(&st, &counters), "incidents", (json_int_t)counters.incidents,
		"joined", (json_int_t)counters.joined, "merged", (json_int_t)counters.merged,
		"not_seen", (json_int_t)detectors__not_seen(s->detectors, &rule->when),
		"last_value_ns", (json_int_t)st.last_value, "max_value_ns",
		(json_int_t)st.max_value, "values", json_values(&st), "learnt",
		json_rule_learnt(s->detectors, rule, g->slots[i]));
}

static json_t *json_sideband(struct sideband *sb)
{
	struct sideband_stats st;
	json_t *j;

	sideband__stats(sb, &st);
	j = json_pack("{s:i, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tid", (int)st.tid,
		      "realtime", st.realtime, "records", (json_int_t)st.records, "bytes",
		      (json_int_t)st.bytes, "lost", (json_int_t)st.lost, "rescans",
		      (json_int_t)st.rescans, "folded", (json_int_t)st.folded, "log_bytes",
		      (json_int_t)st.log_bytes, "model_bytes", (json_int_t)st.model_bytes);
	if (j && st.needed_from)
		json_object_set_new(j, "needed_ns", json_integer(now_ns() - st.needed_from));
	return j;
}

static json_t *json_status_triggers(const struct status_sources *s)
{
	struct detectors_stats ds;
	struct recorder_stats rs;

	detectors__stats(s->detectors, &ds);
	recorder__stats(s->recorder, &rs);
	return json_pack("{s:i, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tid",
			 (int)rs.tid, "realtime", rs.realtime, "incidents",
			 (json_int_t)rs.incidents, "failed_files", (json_int_t)rs.failed, "busy",
			 (json_int_t)rs.busy, "stale", (json_int_t)rs.stale, "malformed",
			 (json_int_t)ds.malformed, "unmeasured", (json_int_t)ds.unmeasured,
			 "not_seen", (json_int_t)ds.not_seen, "texts_unread",
			 (json_int_t)ds.texts_unread, "looks_failed", (json_int_t)ds.looks_failed,
			 "freeze_late_last_ns", (json_int_t)rs.latency_last, "freeze_late_max_ns",
			 (json_int_t)rs.latency_max);
}

static json_t *json_disk(const struct status_sources *s)
{
	const struct daemon_conf *conf = &recorder__active_set(s->recorder)->rules->daemon;
	struct retainer_stats st;

	retainer__stats(s->retainer, &st);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "incidents",
			 (json_int_t)st.incidents, "bytes", (json_int_t)st.bytes,
			 "removed_incidents", (json_int_t)st.removed, "removed_bytes",
			 (json_int_t)st.removed_bytes, "failed_files", (json_int_t)st.failed,
			 "max_bytes", (json_int_t)conf->max_size, "max_incidents",
			 (json_int_t)conf->max_incidents, "max_age_ns", (json_int_t)conf->max_age,
			 "min_free_bytes", (json_int_t)conf->min_free);
}

/* Counters of the application socket; JSON null: no rule wants messages. */
static json_t *json_app(const struct detectors *d)
{
	struct app_stats st;

	detectors__app_stats(d, &st);
	if (!st.path)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "socket", st.path, "received",
			 (json_int_t)st.received, "limited", (json_int_t)st.limited, "malformed",
			 (json_int_t)st.malformed, "unknown", (json_int_t)st.unknown);
}

/* The processes that read files of other users; JSON null: there are none. */
static json_t *json_examiner(struct examiner *e)
{
	return e ? json_pack("{s:I}", "stuck", (json_int_t)examiner__n_stuck(e)) : json_null();
}

json_t *status_json__make(const struct status_sources *s, bool reach)
{
	const struct active_set *g = recorder__active_set(s->recorder);
	json_t *sessions = json_array(), *rules = json_array();

	detectors__tidy(s->detectors);
	for (size_t i = 0; i < g->n_dumpers; i++)
		json_array_append_new(sessions,
				      json_status_session(g->dumpers[i], s->base,
							  g->rules->sessions[i].ring, reach));
	for (size_t i = 0; i < g->rules->n_rules; i++)
		json_array_append_new(rules, json_status_rule(s, i));
	return json_pack(
		"{s:b, s:i, s:o, s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ok",
		1, "pid", (int)getpid(), "base", json_text_or_null(s->base), "config",
		json_text_or_null(s->rules_path), "version", frbpf_version, "uptime_ns",
		(json_int_t)(now_ns() - s->started), "memory",
		memory_json(s->sideband, g->max_memory + g->sideband_memory), "sessions", sessions,
		"rules", rules, "mutes", overlay__mutes(s->overlay, g->rules), "triggers",
		json_status_triggers(s), "sideband", json_sideband(s->sideband), "app",
		json_app(s->detectors), "disk", json_disk(s), "files_of_others",
		json_examiner(s->examiner));
}
