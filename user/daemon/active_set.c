// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/active_set.h"
#include "daemon/ring_fit.h"
#include "daemon/session_feed.h"
#include "rules/units.h"

/* Count open file descriptors and get their limit. 0 or negative errno. */
static int count_fds(size_t *ret_open, size_t *ret_limit)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	struct rlimit rl;
	size_t n = 0;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return -errno;
	*ret_open = n - 1; /* without the descriptor of the directory */
	*ret_limit = rl.rlim_cur;
	return 0;
}

/*
 * Descriptors to keep free. DAEMON: for commands, name look-ups and written files. SESSION: for the
 * dump of each session. FEED: for the programs that write into a session. RULE: for the maps and
 * programs of each rule.
 */
#define FDS_DAEMON  64
#define FDS_SESSION 4
#define FDS_FEED    24
#define FDS_RULE    16

static struct dumper *find_unchanged(const struct active_set *old, const struct session_conf *conf,
				     const struct session_plan *plan)
{
	for (size_t i = 0; old && i < old->n_dumpers; i++) {
		const struct session *s = old->dumpers[i]->session;

		if (strcmp(s->name, conf->name) == 0 && strcmp(s->run, conf->run) == 0 &&
		    s->plain == plan->plain)
			return old->dumpers[i];
	}
	return NULL;
}

static int start_proxy(const struct session_conf *conf, const struct session_plan *plan,
		       const struct active_set_env *env, struct err *err, struct proxy **ret)
{
	int dir, code;

	if (!env->proxies && plan->command)
		return err_set(
			err, -EINVAL,
			"session '%s' runs a command, which only works in a daemon: remove '%s'",
			conf->name, plan->command[0]);
	if (!env->proxies)
		return 0;
	dir = base_dir__open_session(env->dump->base, conf->name, err);
	if (dir < 0)
		return dir;
	code = proxies__start(env->proxies, conf->name, conf->run, plan->command, dir, err, ret);
	close(dir);
	return code;
}

/* Take the tasks from @of, but keep the CPUs and delays of @target, which the run line set. */
static void take_tasks(struct record_target *target, const struct record_target *of)
{
	struct record_target of_line = *target;

	*target = *of;
	target->cpus = of_line.cpus;
	target->n_cpus = of_line.n_cpus;
	target->delay = of_line.delay;
	target->n_delay = of_line.n_delay;
}

static void take_proxy_command(struct record_target *target, struct proxy *proxy,
			       struct event_list *events)
{
	const struct record_target of = {
		.kind = RECORD_TASKS,
		.processes = &proxy->command,
		.n_processes = 1,
		.cgroup_fd = -1,
	};

	take_tasks(target, &of);
	for (size_t i = 0; i < events->n && !proxy->go_sent && !target->n_delay; i++)
		events->v[i].attr.enable_on_exec =
			events->v[i].leader == i && !events->v[i].off_cpu; /* like perf record */
}

int active_set__start_session(const struct session_conf *conf, struct session_plan *plan,
			      const struct active_set_env *env, struct err *err,
			      struct dumper **ret)
{
	struct event_list *events = plan->events;
	struct record_target target = plan->target;
	struct proxy *proxy = NULL;
	struct feed *feed = NULL;
	struct session *s;
	int code = start_proxy(conf, plan, env, err, &proxy);

	if (code)
		return code;
	if (env->target && env->target->kind != RECORD_ALL)
		take_tasks(&target, env->target);
	else if (proxy && proxy->command && target.kind == RECORD_ALL && !plan->system_wide)
		take_proxy_command(&target, proxy, events);
	if (events->data_maps && !plan->plain)
		code = sideband__record_data(env->dump->sideband, err);
	if (code) {
		proxy__unref(proxy);
		return code;
	}
	plan->events = NULL;
	if (plan->plain)
		event_list__set_plain(events);
	code = session__open(conf->name, conf->run, events, plan->ring_bytes, &target, err, &s);
	if (code) {
		proxy__unref(proxy);
		return code;
	}
	s->output = plan->output;
	code = session_feed__open(s, &target, err, &feed);
	code = code ?: session__start(s, err);
	if (code) {
		feed__free(feed);
		session__unref(s);
		proxy__unref(proxy);
		return code;
	}
	return dumper__start(s, feed, proxy, env->dump, env->done, env->done_arg, err, ret);
}

static bool has_dumper(const struct active_set *g, const struct dumper *d)
{
	for (size_t i = 0; i < g->n_dumpers; i++) {
		if (g->dumpers[i] == d)
			return true;
	}
	return false;
}

/*
 * Memory of the sessions of @old that end as soon as @g is in force. It does not count towards
 * max-memory: they overlap with the new sessions for a moment only. 0 if an incident keeps @old.
 */
static uint64_t replaced_memory(const struct active_set *g, struct active_set *old)
{
	uint64_t sum = 0;

	if (!old || atomic_load(&old->refs) > 1)
		return 0;
	for (size_t i = 0; i < old->n_dumpers; i++) {
		if (!has_dumper(g, old->dumpers[i]))
			sum += dumper__memory(old->dumpers[i]);
	}
	return sum;
}

/*
 * Check the memory that the sessions really use, since rings may have been resized after the plan.
 * Old sessions that stay in use count, too.
 */
static int sum_memory(struct active_set *g, struct active_set *old,
		      const struct active_set_env *env, struct err *err)
{
	char need[16], held[16], max[16];
	uint64_t others;

	g->memory = 0;
	for (size_t i = 0; i < g->n_dumpers; i++)
		g->memory += dumper__memory(g->dumpers[i]);
	others = dumper__memory_of_all() - g->memory - replaced_memory(g, old);
	if (g->memory + others > g->max_memory && env->reap) {
		env->reap(env->reap_arg);
		others = dumper__memory_of_all() - g->memory - replaced_memory(g, old);
	}
	units__format_size(g->memory, need, sizeof(need));
	units__format_size(others, held, sizeof(held));
	units__format_size(g->max_memory, max, sizeof(max));
	if (g->memory > g->max_memory)
		return err_set(err, -EINVAL,
			       "the sessions need %s with the rings as sized by 'ring', more "
			       "than max-memory, which is %s",
			       need, max);
	if (g->memory + others > g->max_memory)
		return err_set(err, -EBUSY,
			       "the new sessions need %s and the old ones still use %s, together "
			       "more than max-memory, which is %s: try again when the incidents "
			       "under way are written and rings are resized",
			       need, held, max);
	return 0;
}

/*
 * Count the descriptors of the sessions to open now. A session with `ring` counts once more: a
 * resize opens a second one.
 */
static size_t count_descriptors(const struct ruleset *rs, const struct plan *plan,
				const struct active_set *old, const struct active_set_env *env)
{
	size_t sum = 0;

	for (size_t i = 0; i < rs->n_sessions; i++) {
		const struct session_plan *s = &plan->sessions[i];
		const struct session_conf *conf = &rs->sessions[i];
		struct record_target target = s->target;
		size_t times = find_unchanged(old, conf, s) ? 0 : 1;

		if (env->fit && conf->ring && !ring_fit__has_successor(env->fit, conf->name))
			times++;
		if (!times)
			continue;
		if (env->target && env->target->kind != RECORD_ALL)
			take_tasks(&target, env->target);
		sum += times * session__descriptors(s->events, &target, plan->n_cpus);
	}
	return sum;
}

static size_t count_feeds(const struct ruleset *rs, const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->n_sessions; i++)
		n += session_feed__count(plan->sessions[i].events);
	return n;
}

/*
 * Check before anything is opened: the old sessions stay open until the new ones are in force.
 * Rules and dumps need descriptors too, as a recorder that cannot write a dump is useless.
 */
static int check_descriptors(const struct ruleset *rs, const struct plan *plan,
			     const struct active_set *old, const struct active_set_env *env,
			     struct err *err)
{
	size_t reserve = FDS_DAEMON + FDS_SESSION * rs->n_sessions + FDS_RULE * rs->n_rules +
			 FDS_FEED * count_feeds(rs, plan);
	size_t need = count_descriptors(rs, plan, old, env), open = 0, limit = 0;
	int code = count_fds(&open, &limit);

	if (code == -EMFILE || code == -ENFILE)
		return err_set(err, code, "no file descriptor is left: %s", strerror(-code));
	if (code || open + need + reserve <= limit)
		return 0;
	return err_set(
		err, -EMFILE,
		"the sessions need %zu file descriptors (one per event and CPU, with 'ring' two), "
		"rules "
		"and dumps %zu, and %zu are open; the limit is %zu: raise it with ulimit -n, or "
		"LimitNOFILE= of the systemd unit, or record fewer events",
		need, reserve, open, limit);
}

/* For each rule of @g, find the rule of @old that it continues. */
static void find_kept_rules(struct active_set *g, const struct active_set *old)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		g->kept[i] = SIZE_MAX;
		for (size_t k = 0; old && k < old->rules->n_rules; k++) {
			if (g->rules->rules[i].id == old->rules->rules[k].id)
				g->kept[i] = k;
		}
	}
}

void active_set__take_counters(struct active_set *g, const struct active_set *old)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		const struct rule_counters *from;
		struct rule_counters *to = &g->counters[i];

		if (g->kept[i] == SIZE_MAX)
			continue;
		from = &old->counters[g->kept[i]];
		to->incidents += from->incidents;
		to->joined += from->joined;
		to->merged += from->merged;
		to->muted += from->muted;
		to->busy += from->busy;
		to->capped += from->capped;
		to->dumps = from->dumps;
		to->cap_logged = from->cap_logged;
		if (from->last > to->last)
			to->last = from->last;
	}
}

/*
 * Remove from each rule the plain sessions that make no dumps. Only armed rules can have such
 * sessions.
 */
static void rules_drop_plain(struct active_set *g)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		struct rule_conf *rule = &g->rules->rules[i];
		size_t n = 0;

		for (size_t k = 0; k < rule->n_sessions; k++) {
			if (dumper__makes_dumps(g->dumpers[rule->sessions[k]]))
				rule->sessions[n++] = rule->sessions[k];
		}
		rule->n_sessions = n;
	}
}

static int open_session(const struct session_conf *conf, struct session_plan *plan,
			const struct active_set *old, const struct active_set_env *env,
			struct err *err, struct dumper **ret)
{
	struct dumper *same = find_unchanged(old, conf, plan), *next = NULL;

	if (env->fit && conf->ring)
		next = ring_fit__take(env->fit, conf->name, conf->run);
	if (!next && !same)
		return active_set__start_session(conf, plan, env, err, ret);
	*ret = next ?: dumper__ref(same);
	return 0;
}

static bool is_resource_shortage(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}

#define NAMES_ROOM 512 /* bytes of a message for names of sessions */

/* Sessions that could not be opened. */
struct failures {
	struct err *all; /* a line for each; without room, the names only */
	size_t n_named;
	int first; /* the code of the first one; 0: none */
};

static void failures_add(struct failures *f, const char *name, int code, const struct err *err)
{
	size_t len = strlen(f->all->msg), room = sizeof(f->all->msg) - len;

	if (!f->n_named && strlen(err->msg) + NAMES_ROOM < room)
		snprintf(f->all->msg + len, room, "%s%s", len ? "\n" : "", err->msg);
	else
		snprintf(f->all->msg + len, room, "%s'%s'",
			 f->n_named++ ? ", " : "\nalso not opened: session ", name);
	f->first = f->first ?: code;
}

/* Open all sessions. If one fails, the others are still tried, to report all failures. */
static int open_sessions(struct active_set *g, struct plan *plan, const struct active_set *old,
			 const struct active_set_env *env, struct err *err)
{
	struct failures failed = { .all = err };

	*err = (struct err){ 0 };
	for (size_t i = 0; i < g->rules->n_sessions && !is_resource_shortage(failed.first); i++) {
		const struct session_conf *conf = &g->rules->sessions[i];
		struct err one = { 0 };
		int code = open_session(conf, &plan->sessions[i], old, env, &one, &g->dumpers[i]);

		g->n_dumpers++;
		if (code)
			failures_add(&failed, conf->name, code, &one);
	}
	return failed.first;
}

int active_set__make(struct ruleset *rs, struct plan *plan, struct active_set *old,
		     const struct active_set_env *env, struct err *err, struct active_set **ret)
{
	struct active_set *g = calloc(1, sizeof(*g));
	int code = 0;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	atomic_init(&g->refs, 1);
	g->rules = rs;
	g->max_memory = plan->max_memory - plan->sideband_memory;
	g->sideband_memory = plan->sideband_memory;
	g->dumpers = calloc(rs->n_sessions ?: 1, sizeof(*g->dumpers));
	g->slots = calloc(rs->n_rules ?: 1, sizeof(*g->slots));
	g->counters = calloc(rs->n_rules ?: 1, sizeof(*g->counters));
	g->kept = calloc(rs->n_rules ?: 1, sizeof(*g->kept));
	g->muted_until = calloc(rs->n_rules ?: 1, sizeof(*g->muted_until));
	if (!g->dumpers || !g->slots || !g->counters || !g->kept || !g->muted_until)
		code = err_set(err, -ENOMEM, "out of memory");
	code = code ?: check_descriptors(rs, plan, old, env, err);
	code = code ?: open_sessions(g, plan, old, env, err);
	code = code ?: sum_memory(g, old, env, err);
	if (code) {
		g->rules = NULL;
		active_set__unref(g);
		return code;
	}
	rules_drop_plain(g);
	find_kept_rules(g, old);
	*ret = g;
	return 0;
}

void active_set__set_sideband_memory(struct active_set *g, uint64_t bytes)
{
	uint64_t all = g->max_memory + g->sideband_memory;

	g->sideband_memory = bytes < all ? bytes : all;
	g->max_memory = all - g->sideband_memory;
}

static void warn_renewed(struct diags *d, int renewed, const struct base_dir *base,
			 const char *prefix, const char *name, const struct err *err)
{
	if (renewed < 0) {
		diags__warn(d, NULL, (struct span){ 0 }, "%s", err->msg);
	} else if (renewed) {
		diags__warn(d, NULL, (struct span){ 0 }, "%s/%s%s was removed: created again",
			    base->path, prefix, name);
		log_warn("%s/%s%s was removed: created again", base->path, prefix, name);
	}
}

void active_set__renew_dirs(const struct active_set *g, const struct base_dir *base,
			    struct diags *d)
{
	struct err err = { 0 };
	int code = base_dir__renew(base, "incidents", base->incidents_fd, &err);

	warn_renewed(d, code, base, "", "incidents", &err);
	for (size_t i = 0; i < g->n_dumpers; i++) {
		code = dumper__renew_dir(g->dumpers[i], &err);
		warn_renewed(d, code, base, "session-", g->dumpers[i]->session->name, &err);
	}
}

int active_set__find_session(const struct active_set *g, const char *name)
{
	for (size_t i = 0; i < g->rules->n_sessions; i++) {
		if (strcmp(g->rules->sessions[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

uint64_t active_set__all_sessions(const struct active_set *g)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < g->n_dumpers; i++) {
		if (dumper__makes_dumps(g->dumpers[i]))
			mask |= 1ULL << i;
	}
	return mask;
}

uint64_t active_set__rule_sessions(const struct rule_conf *rule)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < rule->n_sessions; i++)
		mask |= 1ULL << rule->sessions[i];
	return mask;
}

struct active_set *active_set__ref(struct active_set *g)
{
	atomic_fetch_add(&g->refs, 1);
	return g;
}

bool active_set__unref_unless_last(struct active_set *g)
{
	int refs = atomic_load(&g->refs);

	while (refs > 1) {
		if (atomic_compare_exchange_weak(&g->refs, &refs, refs - 1))
			return true;
	}
	return false;
}

void active_set__unref(struct active_set *g)
{
	if (!g || atomic_fetch_sub(&g->refs, 1) > 1)
		return;
	for (size_t i = 0; g->dumpers && i < g->n_dumpers; i++)
		dumper__unref(g->dumpers[i]);
	ruleset__free(g->rules);
	free(g->dumpers);
	free(g->slots);
	free(g->counters);
	free(g->kept);
	free(g->muted_until);
	free(g);
}
