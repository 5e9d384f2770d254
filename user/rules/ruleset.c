// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/file_scope.h"
#include "rules/rules_files.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

#define SESSION		     "session-"
#define RULE		     "rule-"
#define SESSIONS_MAX	     256
#define MERGE_DEFAULT	     NSEC_PER_SEC
#define DUMPS_DEFAULT	     50
#define DUMPS_WINDOW_DEFAULT (86400 * NSEC_PER_SEC)

/*
 * Sections of perf's own config file (perf-config(1)). They are not parsed, so nothing in them is
 * an error.
 */
static const char *const perf_sections[] = {
	"annotate", "auxtrace", "buildid", "buildid-cache", "call-graph", "colors", "convert",
	"core",	    "diff",	"ftrace",  "gtk",	    "help",	  "hist",   "intel-pt",
	"itrace",   "kmem",	"llvm",	   "man",	    "pager",	  "record", "report",
	"samples",  "scripts",	"stat",	   "top",	    "trace",	  "tui",    "ui",
	NULL,
};

struct parser {
	struct ruleset *rs;
	struct diags *d;
	const struct config_section *daemon; /* the first [daemon] */
};

static bool name_starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_perf_section(const char *name)
{
	size_t len = strcspn(name, ".");

	for (size_t i = 0; perf_sections[i]; i++) {
		if (strlen(perf_sections[i]) == len && !memcmp(perf_sections[i], name, len))
			return true;
	}
	return false;
}

static int bad_name(struct parser *p, const struct config_section *s, struct span span,
		    const char *name)
{
	if (!*name)
		return diags__error(p->d, p->rs->config->src, s->span,
				    "a name is missing: write [%sNAME]", s->name);
	if (strlen(name) > RULESET_NAME_MAX)
		return diags__error(p->d, p->rs->config->src, span,
				    "this name has %zu characters: at most %d are allowed",
				    strlen(name), RULESET_NAME_MAX);
	return diags__error(p->d, p->rs->config->src, span,
			    "bad name " QUOTED ": use only letters, digits, '-' and '_'",
			    QUOTE_SPAN(p->rs->config->src, span));
}

/* Get the NAME of [session-NAME] or [rule-NAME]. 0, -EINVAL or -ENOMEM. */
static int take_name(struct parser *p, const struct config_section *s, const char *prefix,
		     char **ret_name, struct span *ret_span)
{
	const char *name = s->name + strlen(prefix);
	struct span span = s->span;
	size_t len = 0;

	span.off += strlen(prefix);
	span.len -= strlen(prefix);
	while (isalnum((unsigned char)name[len]) || name[len] == '-' || name[len] == '_')
		len++;
	if (!len || name[len] || len > RULESET_NAME_MAX)
		return bad_name(p, s, span, name);
	*ret_name = strdup(name);
	if (!*ret_name)
		return -ENOMEM;
	*ret_span = span;
	return 0;
}

static int duplicate_section(struct parser *p, const struct config_section *s, struct span first)
{
	const struct source_text *src = p->rs->config->src;

	return diags__error(p->d, src, s->span, "the section [%s] appears twice: first in line %zu",
			    s->name, text__line(src, first.off));
}

static bool has_key(const struct config_section *s, const char *key)
{
	for (size_t i = 0; i < s->n_entries; i++) {
		if (!strcmp(s->entries[i].key, key))
			return true;
	}
	return false;
}

/* Does a [daemon] before @s have @key? */
static bool key_is_set_before(const struct parser *p, const struct config_section *s,
			      const char *key)
{
	for (const struct config_section *o = p->rs->config->sections; o < s; o++) {
		if (!strcmp(o->name, "daemon") && has_key(o, key))
			return true;
	}
	return false;
}

/* If several files have a [daemon], the first value of each key counts. */
static int parse_daemon(struct parser *p, const struct config_section *s)
{
	_cleanup_free_ struct config_entry *v = calloc(s->n_entries + 1, sizeof(*v));
	struct config_section part = *s;

	if (!v)
		return -ENOMEM;
	if (p->daemon && !file_scope__differs(p->rs->config->src, p->daemon->span, s->span))
		return duplicate_section(p, s, p->daemon->span);
	p->daemon = s;
	part.entries = v;
	part.n_entries = 0;
	for (size_t i = 0; i < s->n_entries; i++) {
		if (!key_is_set_before(p, s, s->entries[i].key))
			v[part.n_entries++] = s->entries[i];
	}
	return section__apply(&daemon_section, &part, p->rs, p->d, &p->rs->daemon);
}

static int parse_session(struct parser *p, const struct config_section *s)
{
	struct ruleset *rs = p->rs;
	struct session_conf session = { 0 }, *v;
	int err, bad;

	if (rs->n_sessions == SESSIONS_MAX)
		return diags__error(p->d, rs->config->src, s->span, "more than %d sessions",
				    SESSIONS_MAX);
	err = take_name(p, s, SESSION, &session.name, &session.name_span);
	if (err)
		return err;
	for (size_t i = 0; i < rs->n_own; i++) {
		if (strcmp(rs->own[i].name, session.name) ||
		    file_scope__differs(rs->config->src, rs->own[i].span, s->span))
			continue;
		free(session.name);
		return duplicate_section(p, s, rs->own[i].span);
	}
	v = reallocarray(rs->sessions, rs->n_sessions + 1, sizeof(*v));
	if (!v) {
		free(session.name);
		return -ENOMEM;
	}
	rs->sessions = v;
	rs->sessions[rs->n_sessions] = session;
	err = section__apply(&session_section, s, rs, p->d, &rs->sessions[rs->n_sessions++]);
	session_conf__finish(&rs->sessions[rs->n_sessions - 1]);
	bad = err == -ENOMEM ? err : file_scope__add_session(rs, p->d);
	return bad ?: err;
}

static int check_rule_limits(struct parser *p, const struct rule_conf *rule)
{
	const struct ruleset *rs = p->rs;
	size_t same = 0;

	for (size_t i = 0; i < rs->n_rules; i++)
		same += when__same_events(&rs->rules[i].when, &rule->when);
	if (same <= FRBPF_MAX_RULES)
		return 0;
	return diags__error(p->d, rs->config->src, rule->name_span, "more than %d rules on '%s'",
			    FRBPF_MAX_RULES, when__source_name(rule->when.source));
}

/* For each slot, find the argument that earlier rules on the same events have in it. */
static void find_slots(const struct ruleset *rs, const struct rule_conf *rule,
		       const struct rule_arg **slots)
{
	for (const struct rule_conf *r = rs->rules; r < rule; r++) {
		for (uint32_t i = 0; when__same_events(&r->when, &rule->when) && i < r->args.n; i++)
			slots[r->args.v[i].slot] = &r->args.v[i];
	}
}

static int slot_for(const struct rule_arg **slots, const struct rule_arg *arg)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!slots[i] || !strcmp(slots[i]->name, arg->name))
			return i;
	}
	return -ENOSPC;
}

/*
 * Renumber the arguments of a rule: rules on the same events must have an argument in the same
 * slot. So far, each condition numbers its arguments from 0, in the order in which it names them.
 */
static int place_args(struct parser *p, struct rule_conf *rule)
{
	const struct rule_arg *slots[FRBPF_MAX_ARGS] = { NULL };
	uint8_t to[FRBPF_FIELD_MAX];

	for (int i = 0; i < FRBPF_FIELD_MAX; i++)
		to[i] = i;
	find_slots(p->rs, rule, slots);
	for (uint32_t i = 0; i < rule->args.n; i++) {
		struct rule_arg *arg = &rule->args.v[i];
		int slot = slot_for(slots, arg);

		if (slot < 0)
			return diags__error(
				p->d, rule->src, arg->at,
				"the rules on '%s' together use more than %d of its fields",
				rule->when_text, FRBPF_MAX_ARGS);
		slots[slot] = arg;
		to[FRBPF_FIELD_ARG + arg->slot] = FRBPF_FIELD_ARG + slot;
		arg->slot = slot;
	}
	for (uint32_t i = 0; i < rule->expr.n_nodes; i++)
		rule->expr.nodes[i].field = to[rule->expr.nodes[i].field];
	rule->cooldown.field = to[rule->cooldown.field];
	rule->count.field = to[rule->count.field];
	return 0;
}

static int parse_rule_section(struct parser *p, const struct config_section *s)
{
	struct ruleset *rs = p->rs;
	struct rule_conf rule = { 0 }, *v;
	int err;

	if (rs->n_rules == FRBPF_MAX_SLOTS)
		return diags__error(p->d, rs->config->src, s->span, "more than %d rules",
				    FRBPF_MAX_SLOTS);
	err = take_name(p, s, RULE, &rule.name, &rule.name_span);
	if (err)
		return err;
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (strcmp(rs->rules[i].name, rule.name) ||
		    (rs->rules[i].src == rs->config->src &&
		     file_scope__differs(rs->config->src, rs->rules[i].name_span, s->span)))
			continue;
		free(rule.name);
		return duplicate_section(p, s, rs->rules[i].name_span);
	}
	v = reallocarray(rs->rules, rs->n_rules + 1, sizeof(*v));
	if (!v) {
		free(rule.name);
		return -ENOMEM;
	}
	rs->rules = v;
	v += rs->n_rules++;
	*v = rule;
	rule_conf__init(v);
	v->src = rs->config->src;
	err = section__apply(&rule_section, s, rs, p->d, v);
	if (err || s->damaged)
		return err;
	err = check_rule_limits(p, v);
	err = err ?: rule_conf__finish(rs, v, p->d);
	err = err ?: file_scope__add_rule(rs, p->d);
	if (err > 0)
		return 0;
	err = err || !v->args.n ? err : place_args(p, v);
	if (!err && when__source(v->when.source)->bind)
		err = when__source(v->when.source)->bind(rs, v, p->d);
	return err;
}

/* Guess the prefix of [rules-x], [sesion-x], [rule_x], and get the name after it. */
static const char *nearest_prefix(const char *name, const char **ret_rest)
{
	static const char *const words[] = { "session", "rule", NULL };
	size_t len = strcspn(name, "-_.");

	*ret_rest = name[len] ? name + len + 1 : "";
	return nearest_word(name, len, words);
}

/* Is an unknown section perf's? It is in perf's own file: new versions of perf add sections. */
static bool is_of_perfconfig(const struct source_text *src, const struct config_section *s)
{
	static const char name[] = "perfconfig";
	const char *file = source_text__name_at(src, s->span.off);
	size_t len = strlen(file);

	return len >= strlen(name) && !strcmp(file + len - strlen(name), name);
}

static int unknown_section(struct parser *p, const struct config_section *s)
{
	const struct source_text *src = p->rs->config->src;
	const char *words[ARRAY_SIZE(perf_sections) + 1] = { "daemon" };
	const char *rest, *nearest = nearest_prefix(s->name, &rest);

	if (nearest && *rest)
		return diags__error(p->d, src, s->span,
				    "unknown section " QUOTED " (did you mean [%s-%.*s]?)",
				    QUOTE_SPAN(src, s->span), nearest, RULESET_NAME_MAX, rest);
	if (nearest)
		return diags__error(p->d, src, s->span,
				    "unknown section " QUOTED ": write [%s-NAME]",
				    QUOTE_SPAN(src, s->span), nearest);
	if (is_of_perfconfig(src, s) && strcmp(s->name, "deamon") != 0)
		return 0;
	memcpy(words + 1, perf_sections, sizeof(perf_sections));
	nearest = nearest_word(s->name, strlen(s->name), words);
	return diags__error(p->d, src, s->span, "unknown section " QUOTED DID_YOU_MEAN "%s",
			    QUOTE_SPAN(src, s->span), SUGGEST(nearest),
			    nearest ? "" : ": use one of [daemon], [session-NAME] or [rule-NAME]");
}

static bool has_rules(const struct config *c)
{
	for (size_t i = 0; i < c->n_sections; i++) {
		if (name_starts_with(c->sections[i].name, RULE))
			return true;
	}
	return false;
}

/* Bind the rules that are about others, from rule @first on. The others can be at any place. */
static int bind_parts(struct parser *p, size_t first)
{
	struct ruleset *rs = p->rs;
	int err = 0;

	for (size_t i = first; i < rs->n_rules && err != -ENOMEM && !rs->config->damaged; i++) {
		if (rs->rules[i].when.parts.n)
			err = when_parts__bind(rs, &rs->rules[i], p->d);
	}
	return err;
}

/* Sessions are parsed first: rules can name sessions at any place. */
static int parse_sections(struct parser *p)
{
	const struct config *c = p->rs->config;
	int err = 0;

	for (size_t i = 0; i < c->n_sections && err != -ENOMEM; i++) {
		const struct config_section *s = &c->sections[i];

		if (!strcmp(s->name, "daemon"))
			err = parse_daemon(p, s);
		else if (name_starts_with(s->name, SESSION))
			err = parse_session(p, s);
		else if (!name_starts_with(s->name, RULE) && !is_perf_section(s->name))
			err = unknown_section(p, s);
	}
	if (err != -ENOMEM && !p->d->n_errors && !p->rs->n_sessions && has_rules(c))
		err = session_conf__add_defaults(p->rs);
	for (size_t i = 0; i < c->n_sections && err != -ENOMEM; i++) {
		if (name_starts_with(c->sections[i].name, RULE))
			err = parse_rule_section(p, &c->sections[i]);
	}
	err = err == -ENOMEM ? err : bind_parts(p, 0);
	return err == -ENOMEM ? err : 0;
}

int ruleset__parse_damaged(struct source_text *src, struct diags *d, struct ruleset **ret)
{
	struct ruleset *rs = calloc(1, sizeof(*rs));
	struct parser p = { .rs = rs, .d = d };
	int err;

	if (!rs) {
		diags__keep(d, src);
		return -ENOMEM;
	}
	rs->daemon.merge = MERGE_DEFAULT;
	rs->daemon.max_dumps = (struct rate){ .n = DUMPS_DEFAULT, .time = DUMPS_WINDOW_DEFAULT };
	err = config__parse_damaged(src, d, &rs->config);
	if (err) {
		ruleset__free(rs);
		return err;
	}
	err = parse_sections(&p);
	if (!err && !d->n_errors && !rs->n_sessions && !rs->n_rules && p.daemon)
		diags__warn(d, rs->config->src, p.daemon->span,
			    "there is no [session-NAME]: nothing is recorded");
	else if (!err && !d->n_errors && !rs->n_sessions)
		diags__error(d, NULL, (struct span){ 0 },
			     "%s: neither a rule nor a session: nothing is recorded", src->name);
	if (!err && d->out_of_memory)
		err = -ENOMEM;
	if (err) {
		diags__keep(d, TAKE_PTR(rs->config->src));
		ruleset__free(rs);
		return err;
	}
	*ret = rs;
	return 0;
}

/* Return @rs, or discard it if there are more errors than @errors. */
static int take_if_valid(struct ruleset *rs, size_t errors, struct diags *d, struct ruleset **ret)
{
	if (d->n_errors > errors) {
		ruleset__discard(rs, d);
		return -EINVAL;
	}
	*ret = rs;
	return 0;
}

int ruleset__parse(struct source_text *src, struct diags *d, struct ruleset **ret)
{
	size_t errors = d->n_errors;
	struct ruleset *rs;
	int err = ruleset__parse_damaged(src, d, &rs);

	return err ?: take_if_valid(rs, errors, d, ret);
}

int ruleset__extend(struct ruleset *rs, struct source_text *src, struct diags *d)
{
	struct parser p = { .rs = rs, .d = d };
	struct config *own = rs->config;
	size_t errors = d->n_errors, first = rs->n_rules;
	int err = config__parse_damaged(src, d, &rs->config);

	if (err) {
		rs->config = own;
		return err;
	}
	for (size_t i = 0; i < rs->config->n_sections && err != -ENOMEM; i++) {
		const struct config_section *s = &rs->config->sections[i];

		err = name_starts_with(s->name, RULE)
			      ? parse_rule_section(&p, s)
			      : diags__error(d, src, s->span,
					     "only [rule-NAME] sections are allowed here");
	}
	err = err == -ENOMEM ? err : bind_parts(&p, first);
	ruleset__keep(rs, TAKE_PTR(rs->config->src));
	config__free(rs->config);
	rs->config = own;
	return err == -ENOMEM ? err : d->n_errors > errors ? -EINVAL : 0;
}

void ruleset__keep(struct ruleset *rs, struct source_text *src)
{
	src->next = rs->more;
	rs->more = src;
}

int ruleset__load_damaged(const char *list, struct diags *d, struct ruleset **ret)
{
	struct source_text *src;
	int err = rules_files__read(list, d, &src);

	return err ?: ruleset__parse_damaged(src, d, ret);
}

int ruleset__load(const char *list, struct diags *d, struct ruleset **ret)
{
	size_t errors = d->n_errors;
	struct ruleset *rs;
	int err = ruleset__load_damaged(list, d, &rs);

	return err ?: take_if_valid(rs, errors, d, ret);
}

void ruleset__discard(struct ruleset *rs, struct diags *d)
{
	diags__keep(d, TAKE_PTR(rs->config->src));
	while (rs->more) {
		struct source_text *src = rs->more;

		rs->more = src->next;
		diags__keep(d, src);
	}
	ruleset__free(rs);
}

bool ruleset__has_rule(const struct ruleset *rs, const char *name)
{
	for (size_t i = 0; rs && i < rs->n_rules; i++) {
		if (strcmp(rs->rules[i].name, name) == 0)
			return true;
	}
	return false;
}

void ruleset__free(struct ruleset *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < rs->n_sessions; i++)
		session_conf__free(&rs->sessions[i]);
	for (size_t i = 0; i < rs->n_own; i++)
		free(rs->own[i].name);
	free(rs->own);
	for (size_t i = 0; i < rs->n_rules; i++)
		rule_conf__free(&rs->rules[i]);
	free(rs->sessions);
	free(rs->rules);
	free(rs->daemon.base);
	while (rs->more) {
		struct source_text *src = rs->more;

		rs->more = src->next;
		source_text__free(src);
	}
	config__free(rs->config);
	free(rs);
}
