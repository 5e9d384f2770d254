// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/nearest_word.h"
#include "daemon/ring_fit.h"
#include "daemon/rule_binding.h"
#include "daemon/rulebook.h"
#include "daemon/rules_watch.h"
#include "rules/rules_files.h"
#include "rules/ruleset.h"

#define RESPAWN_NS NSEC_PER_SEC

/*
 * Sessions that have ended, although they are in the rules: by a signal, with their command, or
 * with their tasks.
 */
struct ended_session {
	char *name;	   /* owned */
	uint64_t again_at; /* ns: time of the next start; UINT64_MAX: it does not start again */
	bool tried;	   /* a start failed */
};

struct ended_sessions {		 /* { 0 } is none */
	struct ended_session *v; /* owned */
	size_t n, cap;
};

struct rulebook {
	struct recorder *recorder;
	struct tracefs *tracefs;
	struct active_set_env env; /* env.fit is owned */
	struct overlay *overlay;
	struct rules_watch *watch;
	struct ended_sessions ended;
	int targets; /* epoll of the sessions' target_end */
	bool perf_habits;
	char path[RULES_FILES_LIST_MAX];  /* the list of files of the rules in force */
	char words[RULES_FILES_LIST_MAX]; /* the same, in words for the user */
};

/* ---- ended sessions ---- */

/* 0 or -ENOMEM. */
static int ended_sessions__add(struct ended_sessions *e, const char *name, uint64_t again_at)
{
	char *copy = ARRAY_HAS_ROOM(e->v, e->n, e->cap, 8) ? strdup(name) : NULL;

	if (!copy)
		return -ENOMEM;
	e->v[e->n++] = (struct ended_session){ .name = copy, .again_at = again_at };
	return 0;
}

static bool ended_sessions__has(const struct ended_sessions *e, const char *name)
{
	for (size_t i = 0; i < e->n; i++) {
		if (!strcmp(e->v[i].name, name))
			return true;
	}
	return false;
}

/* Remove ended sessions from @rs, which was made from the same text. */
static void ended_sessions__drop(const struct ended_sessions *e, struct ruleset *rs)
{
	for (size_t i = rs->n_sessions; i--;) {
		if (ended_sessions__has(e, rs->sessions[i].name))
			ruleset__drop_session(rs, i);
	}
}

/* Forget all of them: the rules were read again, with all sessions. */
static void ended_sessions__clear(struct ended_sessions *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->v[i].name);
	free(e->v);
	*e = (struct ended_sessions){ 0 };
}

/* ---- the rulebook ---- */

static void reap_sessions(void *arg)
{
	recorder__reap(arg);
}

static void set_path(struct rulebook *b, const char *path)
{
	snprintf(b->path, sizeof(b->path), "%s", path);
	rules_files__describe(path, b->words, sizeof(b->words));
}

int rulebook__new(const struct rulebook_opts *opts, struct err *err, struct rulebook **ret)
{
	struct rulebook *b = calloc(1, sizeof(*b));
	int code;

	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->recorder = opts->recorder;
	b->tracefs = opts->tracefs;
	b->env.dump = opts->dump;
	b->env.proxies = opts->proxies;
	b->perf_habits = opts->perf_habits;
	b->targets = epoll_create1(EPOLL_CLOEXEC);
	recorder__dumper_callback(b->recorder, &b->env.done, &b->env.done_arg);
	b->env.reap = reap_sessions;
	b->env.reap_arg = b->recorder;
	set_path(b, opts->path);
	b->env.fit = ring_fit__new();
	b->overlay = overlay__new();
	if (b->targets < 0)
		code = err_set(err, -errno, "epoll: %s", strerror(errno));
	else if (b->env.fit && b->overlay)
		code = rules_watch__new(err, &b->watch);
	else
		code = err_set(err, -ENOMEM, "out of memory");
	if (code) {
		rulebook__free(b);
		return code;
	}
	*ret = b;
	return 0;
}

const char *rulebook__path(const struct rulebook *b)
{
	return b->words;
}

const struct overlay *rulebook__overlay(const struct rulebook *b)
{
	return b->overlay;
}

static const struct ruleset *rules_in_force(const struct rulebook *b)
{
	return recorder__active_set(b->recorder)->rules;
}

/* ---- making rules ---- */

/* Count dumps of earlier daemons. @g is not in force yet. */
static void restore_dump_counts(struct rulebook *b, struct active_set *g,
				const struct saved_state *past)
{
	struct dump_limiter all = { .begun = 0 };
	uint64_t now = now_ns();

	for (size_t i = 0; i < g->rules->n_rules; i++) {
		const struct rule_conf *rule = &g->rules->rules[i];
		const struct saved_rule *kept = saved_state__find(past, rule->id);

		if (kept)
			saved_state__take_dumps(&g->counters[i].dumps, &kept->dumps,
						rule->max_dumps.time, now);
	}
	saved_state__take_dumps(&all, &past->dumps, g->rules->daemon.max_dumps.time, now);
	recorder__remember_dumps(b->recorder, &all);
}

/* Is the session also in @g? */
static bool active_set_has(const struct active_set *g, const struct session *s)
{
	for (size_t i = 0; i < g->n_dumpers; i++) {
		const struct session *o = g->dumpers[i]->session;

		if (!strcmp(o->name, s->name) && !strcmp(o->run, s->run) && o->plain == s->plain)
			return true;
	}
	return false;
}

/* Dump sessions that @g replaces or ends, for their last window. */
static void dump_leaving(struct rulebook *b, const struct active_set *g)
{
	const struct active_set *old = recorder__active_set(b->recorder);
	uint64_t mask = 0;

	for (size_t i = 0; b->perf_habits && old && i < old->n_dumpers; i++) {
		struct dumper *d = old->dumpers[i];

		if (!d->proxy || d->proxy->over || active_set_has(g, d->session))
			continue;
		proxy__set_over(d->proxy);
		dumper__set_ends(d);
		if (dumper__makes_dumps(d))
			mask |= 1ULL << i;
	}
	if (mask && recorder__dump(b->recorder, mask, "the session ends") < 0)
		log_warn("too many dumps are in progress: sessions that end are not dumped");
}

/* Let the sessions' processes open their fifos and run their commands. */
static void release_sessions(const struct active_set *g)
{
	for (size_t i = 0; i < g->n_dumpers; i++) {
		if (g->dumpers[i]->proxy)
			proxy__go(g->dumpers[i]->proxy);
	}
}

/* Watch for the end of sessions' tasks. Sessions of a command end with the command. */
static void watch_targets(struct rulebook *b, const struct active_set *g)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	for (size_t i = 0; i < g->n_dumpers; i++) {
		struct dumper *d = g->dumpers[i];

		if (d->target_end || d->session->target.kind != RECORD_TASKS ||
		    (d->proxy && d->proxy->command))
			continue;
		err = target_end__new(d->session, &d->target_end);
		if (!err &&
		    epoll_ctl(b->targets, EPOLL_CTL_ADD, target_end__fd(d->target_end), &ev) < 0)
			err = -errno;
		if (err)
			log_warn("session '%s': cannot watch for the end of its tasks: %s",
				 d->session->name, strerror(-err));
	}
}

/* Put a ruleset in force. @past: for the first rules, else NULL. */
static int put_rules_in_force(struct rulebook *b, struct ruleset *rs, struct plan *plan,
			      const struct saved_state *past, struct err *err)
{
	struct active_set *g;
	int code;

	code = active_set__make(rs, plan, recorder__active_set(b->recorder), &b->env, err, &g);
	if (code) {
		ruleset__free(rs);
		return code;
	}
	overlay__apply_mutes(b->overlay, g);
	if (past)
		restore_dump_counts(b, g, past);
	dump_leaving(b, g);
	code = recorder__put_in_force(b->recorder, g, err);
	if (code)
		return code;
	release_sessions(recorder__active_set(b->recorder));
	watch_targets(b, recorder__active_set(b->recorder));
	return 0;
}

int rulebook__begin(struct rulebook *b, struct ruleset *rs, struct plan *plan,
		    const struct saved_state *past, struct err *err)
{
	return put_rules_in_force(b, rs, plan, past, err);
}

/*
 * Make the ruleset in force and its plan again, since an active set takes over parts of both.
 */
static int plan_rules_again(struct rulebook *b, struct ruleset **ret_rs, struct plan **ret,
			    struct err *err)
{
	const struct source_text *text_in_force = rules_in_force(b)->config->src;
	struct diags diags = { 0 };
	struct source_text *src;
	struct buf text = { 0 };
	struct ruleset *rs;
	int code = source_text__copy(text_in_force, &src);

	code = code ?: ruleset__parse(src, &diags, &rs);
	if (!code) {
		if (b->perf_habits)
			plan__follow_perf(rs);
		ended_sessions__drop(&b->ended, rs);
		code = overlay__extend(b->overlay, rs, &diags);
		code = code ?: rule_binding__bind(rs, b->tracefs, false, &diags);
		code = code ?: plan__make(rs, b->tracefs, &diags, ret);
		if (code)
			ruleset__discard(rs, &diags);
		else
			*ret_rs = rs;
	}
	if (code) {
		diags__format(&diags, &text);
		err_set(err, code, "%s", text.len ? text.data : strerror(-code));
		buf__free(&text);
	}
	diags__free(&diags);
	return code;
}

/* Warn about changes that come into force only with a restart. */
static void warn_unchangeable(const struct rulebook *b, const struct ruleset *rs,
			      struct diags *diags)
{
	const char *base = b->env.dump->base->path;

	if (rs->daemon.base && strcmp(rs->daemon.base, base) != 0)
		diags__warn(diags, rs->config->src, rs->daemon.base_span,
			    "the recorder runs with base %s: this takes effect at its next start",
			    base);
	if (rs->daemon.sideband_memory != rules_in_force(b)->daemon.sideband_memory)
		diags__warn(
			diags, NULL, (struct span){ 0 },
			"a changed sideband-memory takes effect when the recorder is started anew");
	if (rs->daemon.no_seccomp != rules_in_force(b)->daemon.no_seccomp)
		diags__warn(diags, NULL, (struct span){ 0 },
			    "a changed 'seccomp' takes effect when the recorder is started anew");
}

/*
 * Load the rules files @path. On failure the old rules stay in force, and @ret_text has the reason.
 * It may have warnings on success.
 */
static int reload_rules(struct rulebook *b, const char *path, struct buf *ret_text)
{
	struct diags diags = { 0 };
	struct ruleset *rs = NULL;
	struct plan *plan = NULL;
	struct err err = { 0 };
	int code = plan__load(path, b->perf_habits, b->tracefs, &diags, &rs, &plan);

	if (!code) {
		code = plan__check_targets(plan, rs, rules_in_force(b), &diags);
		code = code ?: overlay__extend(b->overlay, rs, &diags);
		code = code ?: rule_binding__bind(rs, b->tracefs, false, &diags);
		if (code)
			ruleset__discard(rs, &diags);
	}
	if (!code)
		warn_unchangeable(b, rs, &diags);
	active_set__renew_dirs(recorder__active_set(b->recorder), b->env.dump->base, &diags);
	diags__format(&diags, ret_text);
	code = code ?: put_rules_in_force(b, rs, plan, NULL, &err);
	if (!code)
		ended_sessions__clear(&b->ended);
	if (err.msg[0])
		buf__printf(ret_text, "%s\n", err.msg);
	plan__free(plan);
	diags__free(&diags);
	return code;
}

/*
 * Make the active set anew. The rules files have not changed, but something else has, such as the
 * armed rules.
 */
static int remake_active_set(struct rulebook *b, struct err *err)
{
	struct ruleset *rs;
	struct plan *plan;
	int code = plan_rules_again(b, &rs, &plan, err);

	if (code)
		return code;
	code = put_rules_in_force(b, rs, plan, NULL, err);
	plan__free(plan);
	return code;
}

void rulebook__end_session(struct rulebook *b, size_t i, enum session_end end)
{
	struct dumper *d = recorder__active_set(b->recorder)->dumpers[i];
	bool respawn = end == SESSION_OVER && rules_in_force(b)->sessions[i].respawn;
	struct err err = { 0 };

	proxy__set_over(d->proxy);
	dumper__set_ends(d);
	if (end != SESSION_KILLED && dumper__makes_dumps(d) &&
	    recorder__dump(b->recorder, 1ULL << i, "the session ends") < 0)
		log_warn("session '%s': too many dumps are in progress: it ends without one",
			 d->session->name);
	if (ended_sessions__add(&b->ended, d->session->name,
				respawn ? now_ns() + RESPAWN_NS : UINT64_MAX))
		log_error("out of memory: session '%s' continues", d->session->name);
	else if (remake_active_set(b, &err))
		log_error("session '%s' continues: %s", d->session->name, err.msg);
}

/* Start an ended session again, or wait for another RESPAWN_NS. */
static void respawn_session(struct rulebook *b, size_t i)
{
	struct ended_sessions *e = &b->ended;
	struct ended_session again = e->v[i];
	struct err err = { 0 };

	e->v[i] = e->v[--e->n];
	if (!remake_active_set(b, &err)) {
		log_info("session '%s' starts again", again.name);
		free(again.name);
		return;
	}
	if (!again.tried)
		log_info("session '%s' waits to start again: %s", again.name, err.msg);
	again.tried = true;
	again.again_at = now_ns() + RESPAWN_NS;
	e->v[e->n++] = again; /* there is room: one was just removed */
}

/* Returns ns until the next session may start again. */
static uint64_t respawn_sessions(struct rulebook *b)
{
	uint64_t now = now_ns(), first = UINT64_MAX;

	for (size_t i = b->ended.n; i--;) {
		if (b->ended.v[i].again_at <= now)
			respawn_session(b, i);
	}
	for (size_t i = 0; i < b->ended.n; i++)
		first = b->ended.v[i].again_at < first ? b->ended.v[i].again_at : first;
	now = now_ns();
	return first == UINT64_MAX ? first : first > now ? first - now : 0;
}

int rulebook__targets_fd(const struct rulebook *b)
{
	return b->targets;
}

void rulebook__on_target_end(struct rulebook *b)
{
	const struct active_set *g = recorder__active_set(b->recorder);

	for (size_t i = 0; i < g->n_dumpers; i++) {
		const struct dumper *d = g->dumpers[i];

		if (!d->target_end || d->proxy->over || !target_end__reached(d->target_end))
			continue;
		log_info("session '%s' ends: all its targets have ended", d->session->name);
		rulebook__end_session(b, i, SESSION_OVER);
		return; /* the sessions have changed; for the next one the fd is still readable */
	}
}

/* Returns ns until the next armed rule or mute ends. */
static uint64_t expire_overlay(struct rulebook *b)
{
	struct err err = { 0 };
	uint64_t wait;

	if (overlay__expire(b->overlay, now_ns(), &wait) && remake_active_set(b, &err))
		log_error("the old rules stay in force: %s", err.msg);
	return wait;
}

/* ---- rings that follow the rate ---- */

static int start_resized(void *arg, size_t i, size_t bytes, struct err *err, struct dumper **ret)
{
	struct rulebook *b = arg;
	struct ruleset *rs;
	struct plan *plan;
	int code = plan_rules_again(b, &rs, &plan, err);

	if (code)
		return code;
	plan->sessions[i].ring_bytes = bytes;
	code = active_set__start_session(&rs->sessions[i], &plan->sessions[i], &b->env, err, ret);
	plan__free(plan);
	ruleset__free(rs);
	return code;
}

/* Returns ns until the next look. */
static uint64_t fit_rings(struct rulebook *b)
{
	struct err err = { 0 };
	uint64_t wait;

	if (!ring_fit__step(b->env.fit, recorder__active_set(b->recorder), start_resized, b, &wait))
		return wait;
	if (remake_active_set(b, &err))
		log_error("rings stay as they are: %s", err.msg);
	return 0;
}

/* ---- the files ---- */

static bool rules_file_changed(const struct source_text *was, const char *path)
{
	struct diags ignored = { 0 };
	struct source_text *now;
	bool changed = false;

	if (rules_files__read(path, &ignored, &now) == 0) {
		changed = now->len != was->len || memcmp(now->text, was->text, now->len) != 0;
		source_text__free(now);
	}
	diags__free(&ignored);
	return changed;
}

void rulebook__follow(struct rulebook *b)
{
	const struct ruleset *rs = rules_in_force(b);
	bool watch = rs->daemon.watch || (b->perf_habits && !rs->daemon.watch_given);
	struct err err = { 0 };
	struct buf files = { 0 };
	int code = watch ? rules_files__list(rs->config->src, &files) : 0;

	code = code ?: rules_watch__follow(b->watch, watch ? files.data : NULL, &err);
	buf__free(&files);
	if (code < 0)
		log_error("watch = yes: cannot watch %s for changes: %s", b->words, err.msg);
	else if (code &&
		 rules_file_changed(rs->config->src, b->path)) /* between reading and watching */
		rulebook__load_again(b);
}

int rulebook__load(struct rulebook *b, const char *path, struct buf *ret_text)
{
	char words[RULES_FILES_LIST_MAX];
	int err = reload_rules(b, path, ret_text);

	rules_files__describe(path, words, sizeof(words));
	if (err) {
		log_error("%s: not loaded: the old rules stay in force", words);
		return err;
	}
	log_info("%s: loaded", words);
	if (strcmp(path, b->path) != 0)
		set_path(b, path);
	rulebook__follow(b);
	return 0;
}

void rulebook__load_again(struct rulebook *b)
{
	struct buf text = { 0 };
	int err = rulebook__load(b, b->path, &text);

	if (text.len)
		log_line(err ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN, "%s:\n%s", b->words, text.data);
	buf__free(&text);
}

int rulebook__fd(const struct rulebook *b)
{
	return rules_watch__fd(b->watch);
}

void rulebook__on_change(struct rulebook *b)
{
	int changed = rules_watch__changed(b->watch);

	if (changed > 0)
		rulebook__load_again(b);
	else if (changed < 0)
		log_warn("%s: its directory is gone: changes are no longer noticed", b->words);
}

/* ---- changes on top of the files ---- */

static int refuse_rule(const struct ruleset *rs, const char *name, struct err *err)
{
	const char **names = calloc(rs->n_rules + 1, sizeof(*names)), *near = NULL;
	int code;

	for (size_t i = 0; names && i < rs->n_rules; i++)
		names[i] = rs->rules[i].name;
	if (names)
		near = nearest_word(name, strlen(name), names);
	code = err_set(err, -ENOENT, "no rule '%.64s' here%s%s%s", name,
		       near ? " (did you mean '" : "", near ?: "",
		       near ? "'?)" : ": `frbpf status` lists them");
	free(names);
	return code;
}

int rulebook__mute(struct rulebook *b, const char *name, uint64_t until, struct err *err)
{
	const struct ruleset *rs = rules_in_force(b);
	size_t i = 0;

	while (i < rs->n_rules && strcmp(rs->rules[i].name, name) != 0)
		i++;
	if (until && i == rs->n_rules)
		return refuse_rule(rs, name, err);
	if (!until && overlay__unmute(b->overlay, name))
		return err_set(err, -ENOENT, "rule '%.64s' is not muted", name);
	if (until && overlay__mute(b->overlay, name, until))
		return err_set(err, -ENOSPC, "%d rules are muted already", OVERLAY_MAX);
	if (i < rs->n_rules)
		recorder__mute(b->recorder, i, until);
	log_info("rule '%s' is %s", name, until ? "muted" : "no longer muted");
	return 0;
}

int rulebook__arm(struct rulebook *b, const char *when, const char *condition, uint64_t until,
		  char ret_name[static RULESET_NAME_MAX + 1], struct err *err)
{
	int code =
		overlay__arm(b->overlay, rules_in_force(b), when, condition, until, ret_name, err);

	if (code)
		return code;
	code = remake_active_set(b, err);
	if (code) {
		overlay__disarm(b->overlay, ret_name);
		return code;
	}
	log_info("rule '%s' is armed: %s%s%s", ret_name, when, condition ? " if " : "",
		 condition ?: "");
	return 0;
}

int rulebook__disarm(struct rulebook *b, const char *name, struct err *err)
{
	int code;

	if (overlay__disarm(b->overlay, name))
		return err_set(err, -ENOENT, "no rule '%.64s' was armed: `frbpf status` lists them",
			       name);
	code = remake_active_set(b, err);
	if (!code)
		log_info("rule '%s' is no longer armed", name);
	return code;
}

uint64_t rulebook__step(struct rulebook *b)
{
	uint64_t rings = fit_rings(b), ends = expire_overlay(b), again = respawn_sessions(b);
	uint64_t next = rings < ends ? rings : ends;

	return again < next ? again : next;
}

void rulebook__free(struct rulebook *b)
{
	if (!b)
		return;
	ring_fit__free(b->env.fit);
	overlay__free(b->overlay);
	ended_sessions__clear(&b->ended);
	rules_watch__free(b->watch);
	if (b->targets >= 0)
		close(b->targets);
	free(b);
}
