// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/nearest_word.h"
#include "daemon/lint.h"
#include "daemon/plan.h"
#include "daemon/ring_fit.h"
#include "daemon/rule_binding.h"
#include "detect/engine/block_device.h"
#include "dump/incident/incident.h"
#include "examine/probe/probe_reader.h"
#include "record/session.h"
#include "rules/diag.h"
#include "rules/units.h"
#include "sideband/sideband.h"

#define DEFAULT_MEMORY_PERCENT 5
#define FALLBACK_MLOCK_KB      516

/* Shared by all steps of making a plan. */
struct planner {
	const struct ruleset *rs;
	struct tracefs *tracefs; /* NULL: there is none */
	bool partly;		 /* leave tracepoints out */
	bool like_perf;
	bool starts; /* what sessions name must exist */
	struct diags *d;
};

/*
 * perf's default for -m: the memory that an unprivileged user may lock, less the control page,
 * rounded down to a power of two.
 */
static size_t default_ring_bytes(size_t page)
{
	struct buf b = { 0 };
	size_t kb = FALLBACK_MLOCK_KB, bytes = page;

	if (buf__read_file(&b, "/proc/sys/kernel/perf_event_mlock_kb", 64) == 0 && b.len)
		kb = strtoul(b.data, NULL, 10);
	buf__free(&b);
	while (bytes * 2 + page <= kb * 1024)
		bytes *= 2;
	return bytes;
}

uint64_t plan__max_memory(const struct ruleset *rs)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	return rs->daemon.max_memory ?: ram / 100 * DEFAULT_MEMORY_PERCENT;
}

/*
 * If the rate is known in advance, set the windows and, with `ring`, the ring size. @ring: ns; 0:
 * not given. @begins: minimum ring size, bytes.
 */
static void expect_window(struct session_plan *s, uint64_t ring, size_t begins)
{
	uint64_t most, least;

	if (!event_list__rate(s->events, &most, &least))
		return;
	if (ring && most != least)
		return; /* the rate has to be measured */
	if (ring)
		s->ring_bytes = ring_fit__size(most, ring, begins);
	s->window_least = (unsigned __int128)s->ring_bytes * NSEC_PER_SEC / most;
	s->window_most = (unsigned __int128)s->ring_bytes * NSEC_PER_SEC / least;
}

/* Warn about a line without --overwrite, and about --max-size where it has no effect. */
static void check_overwrite(const struct planner *pl, const struct session_conf *conf,
			    const struct record_opts *opts)
{
	if (!opts->overwrite && !opts->switch_output && !conf->plain)
		diags__warn(pl->d, conf->src, opts->span,
			    "without --overwrite: records into an overwritable ring all the same%s",
			    pl->rs->n_rules ? ", which rules dump"
					    : "; `frbpf start` writes its perf.data all the time");
	if (opts->output.max_bytes && (opts->overwrite || !conf->plain))
		diags__warn(pl->d, conf->src, opts->span,
			    "option '--max-size' changes nothing here: a dump is never larger than "
			    "its rings: -m limits it, and max-size in [daemon] all dumps together");
}

/* ---- the command in the line of a session, after its options ---- */

/*
 * Is the program found by the session's process, which has an empty environment? A relative path is
 * not checked: it counts from the session's directory.
 */
static bool has_program(const char *name)
{
	char dirs[256], path[PATH_MAX], *save = NULL;

	if (strchr(name, '/'))
		return name[0] != '/' || access(name, X_OK) == 0;
	if (!confstr(_CS_PATH, dirs, sizeof(dirs)))
		return true;
	for (char *dir = strtok_r(dirs, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (name[0] && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* "|", ">FILE", "2>&1", "&" ...: only a shell understands them, and no shell reads this line */
static bool is_shell_word(const char *word)
{
	return (*word && strchr("|<>", *word)) || !strcmp(word, "&") || !strcmp(word, "&&") ||
	       !strncmp(word, "2>", 2);
}

/* Does the command begin with "perf record"? Users copy that along with its options. */
static bool is_perf_record(char *const *command)
{
	if (!strcmp(command[0], "sudo"))
		command++;
	if (command[0] && !strcmp(command[0], "perf"))
		command++;
	return command[0] && !strcmp(command[0], "record");
}

static int no_program(struct diags *d, const struct source_text *src, struct span span,
		      const char *name)
{
	static const char *const words[] = { "evidence", NULL };

	if (is_shell_word(name))
		return diags__error(d, src, span,
				    "no shell reads this line: remove '%s' and what follows", name);
	if (nearest_word(name, strlen(name), words))
		return diags__error(d, src, span,
				    "there is no program '%s' for the session to run (did you mean "
				    "'evidence'?)",
				    name);
	return diags__error(d, src, span,
			    "there is no program '%s' for the session to run (options begin with "
			    "'-')",
			    name);
}

/*
 * Can the session run the command? @command: NULL-terminated words, at least one; @span: the first
 * one in @src. 0, or -EINVAL with an error in @d. Words that only a shell would understand get a
 * warning.
 */
static int check_command(struct diags *d, const struct source_text *src, struct span span,
			 char *const *command)
{
	if (is_perf_record(command))
		return diags__error(
			d, src, span,
			"a line has only what follows `perf record`: remove `perf record`");
	if (!has_program(command[0]))
		return no_program(d, src, span, command[0]);
	for (size_t i = 1; command[i]; i++)
		if (is_shell_word(command[i]))
			return diags__warn(d, src, span,
					   "no shell reads this line: '%s' becomes an argument of "
					   "%s; to use a shell, write sh -c '...'",
					   command[i], command[0]),
			       0;
	return 0;
}

/* ---- the plan ---- */

static int plan_command(const struct planner *pl, const struct source_text *src,
			struct record_opts *opts, struct session_plan *ret)
{
	ret->system_wide = opts->system_wide;
	ret->output = opts->output;
	ret->output.switches = opts->switch_output;
	ret->output.min_free = pl->rs->daemon.min_free;
	ret->command = TAKE_PTR(opts->command);
	return ret->command ? check_command(pl->d, src, opts->command_span, ret->command) : 0;
}

/*
 * Check `respawn`. Sessions of given tasks cannot start again: pids are reused by other processes.
 */
static int check_respawn(const struct planner *pl, const struct session_conf *conf,
			 const struct record_opts *opts)
{
	if (!conf->respawn || opts->command || opts->users.n)
		return 0;
	return diags__error(pl->d, conf->src, conf->respawn_span,
			    "'respawn' is for a session with a command, or with -u");
}

/* Apply the default for -g from [call-graph] of perf's configuration. */
static int apply_perf_config(const struct planner *pl, struct record_opts *opts)
{
	const struct config *c = pl->rs->config;
	int err = 0;

	for (size_t s = 0; s < c->n_sections; s++) {
		const struct config_section *sec = &c->sections[s];

		for (size_t e = 0; e < sec->n_entries; e++) {
			_cleanup_free_ char *mode = NULL;

			if (strcmp(sec->name, "call-graph") ||
			    strcmp(sec->entries[e].key, "record-mode"))
				continue;
			mode = config__perf_value(c, &sec->entries[e]);
			if (!mode)
				return -ENOMEM;
			if (record_opts__set_default_call_graph(opts, mode))
				err = diags__error(pl->d, c->src, sec->entries[e].value,
						   "unknown kind of call graph: fp, dwarf or lbr");
		}
	}
	return err;
}

static int plan_target(const struct planner *pl, const struct source_text *src,
		       const struct record_opts *opts, struct session_plan *ret)
{
	int err = record_target__make(opts, src, pl->d, &ret->target), missing;

	if (err)
		return err;
	missing = record_target__check_exists(opts, &ret->target, src,
					      pl->starts ? pl->d : &ret->missing);
	return missing == -ENOMEM || pl->starts ? missing : 0;
}

static int plan_session(const struct planner *pl, const struct session_conf *conf,
			struct session_plan *ret)
{
	const struct source_text *src = conf->src;
	size_t page = sysconf(_SC_PAGESIZE);
	size_t errors = pl->d->n_errors, least;
	struct record_opts *opts;
	int err;

	if (!conf->run)
		return -EINVAL; /* reported when it was parsed */
	err = record_opts__parse_damaged(src, conf->run_span, page, pl->d, &opts);
	if (err)
		return err;
	err = apply_perf_config(pl, opts);
	if (err == -ENOMEM) {
		record_opts__free(opts);
		return err;
	}
	err = pl->partly ? event_list__resolve_partly(opts, src, pl->d, &ret->events)
			 : event_list__resolve(opts, src, pl->tracefs, pl->d, &ret->events);
	if (err != -ENOMEM) {
		int target = plan_target(pl, src, opts, ret);

		err = err ?: target;
	}
	ret->ring_bytes = opts->mmap_bytes ?: default_ring_bytes(page);
	least = opts->mmap_bytes ?: page;
	ret->plain = conf->plain && !opts->overwrite;
	check_overwrite(pl, conf, opts);
	err = check_respawn(pl, conf, opts) ?: err;
	err = plan_command(pl, src, opts, ret) ?: err;
	record_opts__free(opts);
	if (!err && pl->d->n_errors > errors)
		err = -EINVAL;
	if (!err)
		expect_window(ret, conf->ring, least);
	return err;
}

/* Report the memory of each session, so that the user sees which one to make smaller. */
static void memory_error(const struct plan *p, const struct ruleset *rs, struct diags *d)
{
	struct buf sum = { 0 };
	char a[16], b[16], c[16];
	int err = 0;

	for (size_t i = 0; !err && i < p->n_sessions; i++)
		err = buf__printf(
			&sum, "%s%s %s", i ? " + " : "", rs->sessions[i].name,
			units__format_size(session__memory(p->sessions[i].ring_bytes, p->n_cpus,
							   p->sessions[i].plain),
					   a, sizeof(a)));
	diags__error(d, rs->daemon.max_memory ? rs->config->src : NULL, rs->daemon.max_memory_span,
		     "the sessions need %s of memory on %zu CPUs (ring and copy: %s), with %s for "
		     "the rings of the side band more than max-memory, which is "
		     "%s; use a smaller -m or raise max-memory in [daemon]",
		     units__format_size(p->memory - p->sideband_memory, a, sizeof(a)), p->n_cpus,
		     sum.data ? sum.data : "", units__format_size(p->sideband_memory, c, sizeof(c)),
		     units__format_size(p->max_memory, b, sizeof(b)));
	buf__free(&sum);
}

/* Check that devices in conditions exist. */
static int check_devices(const struct planner *pl, const struct rule_conf *rule)
{
	const struct expr *e = &rule->expr;
	struct err why;
	uint64_t dev;
	int err = 0;

	for (uint32_t i = 0; i < e->n_nodes; i++) {
		const struct frbpf_node *n = &e->nodes[i];
		const struct expr_field_desc *f = expr_field__of(rule->when.source, n->field);
		struct span at = { n->val[1] >> 32, (uint32_t)n->val[1] };

		if (f && f->type == EXPR_DEVICE &&
		    block_device__find(e->strings[n->val[0]], &dev, &why))
			err = diags__error(pl->d, rule->src, at, "%s", why.msg);
	}
	return err;
}

static int new_plan(const struct planner *pl, struct plan **ret)
{
	const struct ruleset *rs = pl->rs;
	struct diags *d = pl->d;
	struct plan *p = calloc(1, sizeof(*p));
	int *cpus = NULL, err = -ENOMEM;

	if (p)
		p->sessions = calloc(rs->n_sessions ?: 1, sizeof(*p->sessions));
	if (p && p->sessions)
		err = cpus__online(&cpus, &p->n_cpus);
	free(cpus);
	if (err) {
		diags__error(d, NULL, (struct span){ 0 }, "cannot read the list of online CPUs: %s",
			     strerror(-err));
		plan__free(p);
		return err;
	}
	if (rs->n_sessions > INCIDENT_SESSIONS_MAX) {
		err = diags__error(d, rs->config->src,
				   rs->sessions[INCIDENT_SESSIONS_MAX].name_span,
				   "more than %d sessions: put several events into one",
				   INCIDENT_SESSIONS_MAX);
		plan__free(p);
		return err;
	}
	p->n_sessions = rs->n_sessions;
	p->max_memory = plan__max_memory(rs);
	p->memory = p->sideband_memory = sideband__rings_memory(p->n_cpus);
	for (size_t i = 0; i < p->n_sessions; i++) {
		int one = plan_session(pl, &rs->sessions[i], &p->sessions[i]);

		err = one ?: err;
		p->memory +=
			session__memory(p->sessions[i].ring_bytes, p->n_cpus, p->sessions[i].plain);
	}
	for (size_t i = 0; i < rs->n_rules; i++) {
		int one = check_devices(pl, &rs->rules[i]);

		err = one ?: err;
	}
	if (!err && p->memory > p->max_memory) {
		memory_error(p, rs, d);
		err = -EINVAL;
	}
	if (err) {
		plan__free(p);
		return err;
	}
	*ret = p;
	return 0;
}

int plan__make(const struct ruleset *rs, struct tracefs *tracefs, struct diags *d,
	       struct plan **ret)
{
	return new_plan(&(struct planner){ .rs = rs, .tracefs = tracefs, .d = d }, ret);
}

int plan__make_partly(const struct ruleset *rs, struct diags *d, struct plan **ret)
{
	return new_plan(&(struct planner){ .rs = rs, .partly = true, .d = d }, ret);
}

static int load_plan(const char *list, struct planner *pl, struct ruleset **ret_rs,
		     struct plan **ret)
{
	size_t errors = pl->d->n_errors;
	struct ruleset *rs;
	struct plan *p = NULL;
	int err = ruleset__load_damaged(list, pl->d, &rs);

	if (err)
		return err;
	pl->rs = rs;
	if (pl->like_perf)
		plan__follow_perf(rs);
	err = rule_binding__bind(rs, pl->tracefs, pl->partly, pl->d);
	probe_reader__rest();
	if (err != -ENOMEM)
		err = new_plan(pl, &p);
	if (!err && pl->d->n_errors > errors)
		err = -EINVAL;
	if (err) {
		plan__free(p);
		ruleset__discard(rs, pl->d);
		return err;
	}
	lint__ruleset(rs, p, pl->d);
	*ret_rs = rs;
	*ret = p;
	return 0;
}

void plan__follow_perf(struct ruleset *rs)
{
	for (size_t i = 0; i < rs->n_sessions; i++) {
		struct session_conf *s = &rs->sessions[i];

		s->plain = !rs->n_rules && !s->ring && !s->evidence;
	}
}

int plan__load(const char *list, bool like_perf, struct tracefs *tracefs, struct diags *d,
	       struct ruleset **ret_rs, struct plan **ret)
{
	struct planner pl = { .tracefs = tracefs, .like_perf = like_perf, .d = d };

	return load_plan(list, &pl, ret_rs, ret);
}

int plan__check(const char *list, struct tracefs *tracefs, struct diags *d, struct ruleset **ret_rs,
		struct plan **ret)
{
	struct planner pl = { .tracefs = tracefs, .starts = true, .d = d };

	return load_plan(list, &pl, ret_rs, ret);
}

static bool ruleset_has_session(const struct ruleset *rs, const struct session_conf *conf)
{
	for (size_t i = 0; rs && i < rs->n_sessions; i++) {
		if (!strcmp(rs->sessions[i].name, conf->name) &&
		    !strcmp(rs->sessions[i].run, conf->run))
			return true;
	}
	return false;
}

int plan__check_targets(const struct plan *p, const struct ruleset *rs,
			const struct ruleset *running, struct diags *d)
{
	int err = 0;

	for (size_t i = 0; i < p->n_sessions; i++) {
		const struct diags *missing = &p->sessions[i].missing;

		if (ruleset_has_session(running, &rs->sessions[i]))
			continue;
		for (size_t k = 0; k < missing->n; k++)
			err = diags__error(d, missing->v[k].src, missing->v[k].span, "%s",
					   missing->v[k].msg);
	}
	return err;
}

int plan__check_partly(const char *list, struct diags *d, struct ruleset **ret_rs,
		       struct plan **ret)
{
	return load_plan(list, &(struct planner){ .partly = true, .starts = true, .d = d }, ret_rs,
			 ret);
}

void plan__free(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->sessions && i < p->n_sessions; i++) {
		struct session_plan *s = &p->sessions[i];

		event_list__free(s->events);
		record_target__release(&s->target);
		diags__free(&s->missing);
		for (size_t w = 0; s->command && s->command[w]; w++)
			free(s->command[w]);
		free(s->command);
	}
	free(p->sessions);
	free(p);
}
