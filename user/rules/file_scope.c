// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "rules/file_scope.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

bool file_scope__differs(const struct source_text *src, struct span a, struct span b)
{
	return source_text__piece(src, a.off) != source_text__piece(src, b.off);
}

/* Make NAME-FILE. FILE: the name of the file that has @at, without directory and extension. */
static int name_of_file(const struct source_text *src, struct span at, const char *name, char **ret)
{
	const char *path = source_text__name_at(src, at.off), *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path, *dot = strrchr(file, '.');
	int len = dot && dot > file ? (int)(dot - file) : (int)strlen(file);
	char *s;

	if (asprintf(&s, "%s-%.*s", name, len, file) < 0)
		return -ENOMEM;
	for (char *c = s; *c; c++)
		*c = isalnum((unsigned char)*c) || *c == '-' ? tolower((unsigned char)*c) : '_';
	*ret = s;
	return 0;
}

/* Rename the section at @at to NAME-FILE, since another file uses its name. */
static int give_own_name(struct ruleset *rs, struct diags *d, const char *kind, struct span at,
			 bool (*is_taken)(const struct ruleset *rs, const char *name), char **name)
{
	const struct source_text *src = rs->config->src;
	char *own;

	if (name_of_file(src, at, *name, &own))
		return -ENOMEM;
	if (strlen(own) > RULESET_NAME_MAX || is_taken(rs, own)) {
		free(own);
		return diags__error(d, src, at, "another file has a different %s of this name",
				    kind);
	}
	diags__warn(d, src, at, "another file has a different %s of this name: this one is '%s'",
		    kind, own);
	free(*name);
	*name = own;
	return 0;
}

/* ---- sessions ---- */

void session_conf__free(struct session_conf *s)
{
	free(s->name);
	free(s->run);
	free(s->lacking);
}

static bool session_is_taken(const struct ruleset *rs, const char *name)
{
	for (size_t i = 0; i < rs->n_sessions; i++) {
		if (!strcmp(rs->sessions[i].name, name))
			return true;
	}
	return false;
}

static const struct own_session *find_own_session(const struct ruleset *rs, size_t piece,
						  const char *name, size_t len)
{
	for (size_t i = 0; i < rs->n_own; i++) {
		const struct own_session *o = &rs->own[i];

		if (o->piece == piece && strlen(o->name) == len && !strncasecmp(o->name, name, len))
			return o;
	}
	return NULL;
}

static bool same_session(const struct session_conf *a, const struct session_conf *b)
{
	return a->run && b->run && !strcmp(a->run, b->run) && a->ring == b->ring;
}

/* Find a session of another file that equals the last one; n_sessions - 1: none. */
static size_t find_twin_session(const struct ruleset *rs)
{
	const struct session_conf *last = &rs->sessions[rs->n_sessions - 1];
	size_t i = 0;

	while (i + 1 < rs->n_sessions &&
	       !(same_session(&rs->sessions[i], last) &&
		 file_scope__differs(rs->config->src, rs->sessions[i].name_span, last->name_span)))
		i++;
	return i;
}

/* Append the line without its -m SIZE to @rest. *ret_bytes: the size; 0: it has none. */
static int split_ring_size(const char *line, struct buf *rest, uint64_t *ret_bytes)
{
	const char *p = line, *size, *why;
	int err = 0;

	*ret_bytes = 0;
	while (!err && *(p += strspn(p, " \t"))) {
		size_t len = strcspn(p, " \t"), size_len;

		if (!strncmp(p, "-m", 2)) {
			size = len > 2 ? p + 2 : p + len + strspn(p + len, " \t");
			size_len = strcspn(size, " \t");
			/* a size without a unit is a number of pages */
			if (size_len && isalpha((unsigned char)size[size_len - 1]) &&
			    !units__size(size, size_len, ret_bytes, &why)) {
				p = size + size_len;
				continue;
			}
		}
		err = buf__printf(rest, "%.*s ", (int)len, p);
		p += len;
	}
	return err;
}

/*
 * Do the sessions record the same, but for the size of their rings? @ret: the sizes. 1: yes; 0: no;
 * or -ENOMEM.
 */
static int same_but_rings(const struct session_conf *a, const struct session_conf *b,
			  uint64_t ret[2])
{
	struct buf lines[2] = { 0 };
	int err;

	if (!a->run || !b->run || strcmp(a->name, b->name) != 0 || a->respawn != b->respawn)
		return 0;
	err = split_ring_size(a->run, &lines[0], &ret[0]);
	err = err ?: split_ring_size(b->run, &lines[1], &ret[1]);
	err = err ?: lines[0].len && lines[1].len && !strcmp(lines[0].data, lines[1].data);
	buf__free(&lines[0]);
	buf__free(&lines[1]);
	return err;
}

/*
 * Find a session of another file that has the name of the last one and records the same. It gets
 * the larger of both rings. *ret: its index; n_sessions - 1: none. 0 or -ENOMEM.
 */
static int join_rings(struct ruleset *rs, size_t *ret)
{
	struct session_conf *last = &rs->sessions[rs->n_sessions - 1], swap;
	uint64_t sizes[2], ring;
	size_t i;
	int same = 0;

	for (i = 0; i + 1 < rs->n_sessions; i++) {
		same = file_scope__differs(rs->config->src, rs->sessions[i].name_span,
					   last->name_span)
			       ? same_but_rings(&rs->sessions[i], last, sizes)
			       : 0;
		if (same)
			break;
	}
	*ret = i;
	if (same <= 0)
		return same;
	ring = rs->sessions[i].ring > last->ring ? rs->sessions[i].ring : last->ring;
	if (sizes[1] > sizes[0]) {
		swap = rs->sessions[i];
		rs->sessions[i] = *last;
		*last = swap;
	}
	rs->sessions[i].ring = ring;
	return 0;
}

static int add_own_session(struct ruleset *rs, size_t piece)
{
	const struct session_conf *last = &rs->sessions[rs->n_sessions - 1];
	struct own_session *v = reallocarray(rs->own, rs->n_own + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	rs->own = v;
	v += rs->n_own;
	*v = (struct own_session){ piece, strdup(last->name), rs->n_sessions - 1, last->name_span };
	if (!v->name)
		return -ENOMEM;
	rs->n_own++;
	return 0;
}

/* Does another session have the name of the last one? */
static bool shares_name(const struct ruleset *rs)
{
	const struct session_conf *last = &rs->sessions[rs->n_sessions - 1];

	for (size_t i = 0; i + 1 < rs->n_sessions; i++) {
		if (!strcmp(rs->sessions[i].name, last->name))
			return true;
	}
	return false;
}

int file_scope__add_session(struct ruleset *rs, struct diags *d)
{
	const struct source_text *src = rs->config->src;
	struct session_conf *last = &rs->sessions[rs->n_sessions - 1];
	size_t twin;
	int err = add_own_session(rs, source_text__piece(src, last->name_span.off));

	if (err)
		return err;
	twin = find_twin_session(rs);
	if (twin + 1 == rs->n_sessions)
		err = join_rings(rs, &twin);
	if (err)
		return err;
	if (twin + 1 < rs->n_sessions) {
		rs->own[rs->n_own - 1].session = twin;
		session_conf__free(last);
		rs->n_sessions--;
		return 0;
	}
	if (!shares_name(rs))
		return 0;
	return give_own_name(rs, d, "session", last->name_span, session_is_taken, &last->name);
}

bool file_scope__find_session(const struct ruleset *rs, struct span at, const char *name,
			      size_t len, size_t *ret)
{
	const struct own_session *own =
		find_own_session(rs, source_text__piece(rs->config->src, at.off), name, len);

	for (size_t i = 0; !own && i < rs->n_sessions; i++) {
		if (strlen(rs->sessions[i].name) == len &&
		    !strncasecmp(rs->sessions[i].name, name, len)) {
			*ret = i;
			return true;
		}
	}
	if (own)
		*ret = own->session;
	return own;
}

bool file_scope__is_default(const struct ruleset *rs, const struct source_text *src, struct span at,
			    size_t i)
{
	size_t piece = source_text__piece(src, at.off);
	bool has_own = false, is_own = false;

	if (!src->n_pieces)
		return true;
	for (size_t k = 0; k < rs->n_own; k++) {
		bool mine = rs->own[k].piece == piece;

		has_own |= mine;
		is_own |=
			rs->own[k].session == i && (mine || src->pieces[rs->own[k].piece].for_all);
	}
	return is_own || !has_own;
}

/* ---- rules ---- */

static bool rule_is_taken(const struct ruleset *rs, const char *name)
{
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (!strcmp(rs->rules[i].name, name))
			return true;
	}
	return false;
}

static bool same_rule(const struct rule_conf *a, const struct rule_conf *b)
{
	return a->id == b->id && a->quiet == b->quiet && a->pre == b->pre && a->post == b->post &&
	       a->max_dumps.n == b->max_dumps.n && a->max_dumps.time == b->max_dumps.time;
}

/* Let @to also dump the sessions of @from. */
static int join_sessions(struct rule_conf *to, const struct rule_conf *from)
{
	size_t *v = reallocarray(to->sessions, to->n_sessions + from->n_sessions + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	to->sessions = v;
	for (size_t i = 0; i < from->n_sessions; i++) {
		size_t k = 0;

		while (k < to->n_sessions && v[k] != from->sessions[i])
			k++;
		if (k == to->n_sessions)
			v[to->n_sessions++] = from->sessions[i];
	}
	return 0;
}

int file_scope__add_rule(struct ruleset *rs, struct diags *d)
{
	struct rule_conf *last = &rs->rules[rs->n_rules - 1], *twin = NULL;
	int err;

	for (struct rule_conf *r = rs->rules; r < last && !twin; r++) {
		if (!strcmp(r->name, last->name))
			twin = r;
	}
	if (!twin)
		return 0;
	if (same_rule(twin, last)) {
		err = join_sessions(twin, last);
		rule_conf__free(last);
		rs->n_rules--;
		return err ?: 1;
	}
	err = give_own_name(rs, d, "rule", last->name_span, rule_is_taken, &last->name);
	if (!err)
		rule_conf__identify(last);
	return err;
}

static void drop_from_rule(struct rule_conf *rule, size_t at)
{
	size_t n = 0;

	for (size_t i = 0; i < rule->n_sessions; i++) {
		size_t k = rule->sessions[i];

		if (k != at)
			rule->sessions[n++] = k - (k > at);
	}
	rule->n_sessions = n;
	rule->quiet |= !n; /* if no session is left to dump */
}

void ruleset__drop_session(struct ruleset *rs, size_t at)
{
	size_t n = 0;

	session_conf__free(&rs->sessions[at]);
	rs->n_sessions--;
	memmove(&rs->sessions[at], &rs->sessions[at + 1],
		(rs->n_sessions - at) * sizeof(*rs->sessions));
	for (size_t i = 0; i < rs->n_own; i++) {
		struct own_session own = rs->own[i];

		if (own.session == at) {
			free(own.name);
			continue;
		}
		own.session -= own.session > at;
		rs->own[n++] = own;
	}
	rs->n_own = n;
	for (size_t i = 0; i < rs->n_rules; i++)
		drop_from_rule(&rs->rules[i], at);
}
