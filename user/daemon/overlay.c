// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "daemon/overlay.h"
#include "rules/text.h"

struct mute {
	char name[RULESET_NAME_MAX + 1];
	uint64_t until;
};

struct arm {
	char name[RULESET_NAME_MAX + 1];
	char *text; /* a section as in a rules file; owned */
	uint64_t until;
};

struct overlay {
	struct mute mutes[OVERLAY_MAX];
	size_t n_mutes;
	struct arm arms[OVERLAY_MAX];
	size_t n_arms;
	unsigned int number; /* of the last rule armed */
};

struct overlay *overlay__new(void)
{
	return calloc(1, sizeof(struct overlay));
}

/* ---- mutes ---- */

static struct mute *find_mute(const struct overlay *o, const char *name)
{
	for (size_t i = 0; i < o->n_mutes; i++) {
		if (strcmp(o->mutes[i].name, name) == 0)
			return (struct mute *)&o->mutes[i];
	}
	return NULL;
}

int overlay__mute(struct overlay *o, const char *name, uint64_t until)
{
	struct mute *m = find_mute(o, name);

	if (!m) {
		if (o->n_mutes == OVERLAY_MAX)
			return -ENOSPC;
		m = &o->mutes[o->n_mutes++];
		snprintf(m->name, sizeof(m->name), "%s", name);
	}
	m->until = until;
	return 0;
}

int overlay__unmute(struct overlay *o, const char *name)
{
	struct mute *m = find_mute(o, name);

	if (!m)
		return -ENOENT;
	*m = o->mutes[--o->n_mutes];
	return 0;
}

uint64_t overlay__muted_until(const struct overlay *o, const char *name)
{
	const struct mute *m = find_mute(o, name);

	return m ? m->until : 0;
}

void overlay__apply_mutes(const struct overlay *o, struct active_set *g)
{
	for (size_t i = 0; i < g->rules->n_rules; i++)
		g->muted_until[i] = overlay__muted_until(o, g->rules->rules[i].name);
}

json_t *overlay__mutes(const struct overlay *o, const struct ruleset *rs)
{
	json_t *list = json_array();
	uint64_t now = now_ns();

	for (size_t i = 0; i < o->n_mutes; i++) {
		const struct mute *m = &o->mutes[i];
		json_t *j = json_pack("{s:s, s:b}", "rule", m->name, "present",
				      ruleset__has_rule(rs, m->name));

		if (j && m->until != OVERLAY_FOREVER)
			json_object_set_new(j, "ends_in_ns",
					    json_integer(m->until > now ? m->until - now : 0));
		json_array_append_new(list, j);
	}
	return list;
}

/* ---- armed rules ---- */

static struct arm *find_arm(const struct overlay *o, const char *name)
{
	for (size_t i = 0; i < o->n_arms; i++) {
		if (strcmp(o->arms[i].name, name) == 0)
			return (struct arm *)&o->arms[i];
	}
	return NULL;
}

static char *make_section(const char *name, const char *when, const char *condition)
{
	struct buf text = { 0 };
	int err = buf__printf(&text, "[rule-%s]\nwhen = %s\n", name, when);

	if (!err && condition)
		err = buf__printf(&text, "if = %s\n", condition);
	if (err)
		buf__free(&text);
	return text.data;
}

int overlay__arm(struct overlay *o, const struct ruleset *rs, const char *when,
		 const char *condition, uint64_t until, char ret_name[static RULESET_NAME_MAX + 1],
		 struct err *err)
{
	struct arm arm = { .until = until };

	if (!text__is_one_line(when) || (condition && !text__is_one_line(condition)))
		return err_set(err, -EINVAL, "a condition must be one line");
	if (o->n_arms == OVERLAY_MAX)
		return err_set(err, -ENOSPC, "%d rules are armed already", OVERLAY_MAX);
	do
		snprintf(arm.name, sizeof(arm.name), "arm-%u", ++o->number);
	while (ruleset__has_rule(rs, arm.name));
	arm.text = make_section(arm.name, when, condition);
	if (!arm.text)
		return err_set(err, -ENOMEM, "out of memory");
	o->arms[o->n_arms++] = arm;
	strcpy(ret_name, arm.name);
	return 0;
}

int overlay__disarm(struct overlay *o, const char *name)
{
	struct arm *a = find_arm(o, name);

	if (!a)
		return -ENOENT;
	free(a->text);
	*a = o->arms[--o->n_arms];
	return 0;
}

uint64_t overlay__armed_until(const struct overlay *o, const char *name)
{
	const struct arm *a = find_arm(o, name);

	return a ? a->until : 0;
}

int overlay__extend(const struct overlay *o, struct ruleset *rs, struct diags *d)
{
	int err = 0;

	for (size_t i = 0; i < o->n_arms && !err; i++) {
		struct source_text *src;

		if (ruleset__has_rule(rs, o->arms[i].name))
			return diags__error(d, NULL, (struct span){ 0 },
					    "the file has a rule '%s', and one of this name was "
					    "armed: end it with `frbpf arm --off %s`",
					    o->arms[i].name, o->arms[i].name);
		err = source_text__make("frbpf arm", o->arms[i].text, &src);
		err = err ?: ruleset__extend(rs, src, d);
	}
	return err;
}

/* ---- both ---- */

bool overlay__expire(struct overlay *o, uint64_t now, uint64_t *ret_wait)
{
	uint64_t next = UINT64_MAX;
	bool disarmed = false;

	for (size_t i = o->n_mutes; i--;) {
		const struct mute *m = &o->mutes[i];

		if (m->until > now) {
			next = m->until < next ? m->until : next;
			continue;
		}
		log_info("rule '%s' is no longer muted", m->name);
		overlay__unmute(o, m->name);
	}
	for (size_t i = o->n_arms; i--;) {
		const struct arm *a = &o->arms[i];

		if (a->until > now) {
			next = a->until < next ? a->until : next;
			continue;
		}
		log_info("rule '%s' is no longer armed", a->name);
		overlay__disarm(o, a->name);
		disarmed = true;
	}
	*ret_wait = next == UINT64_MAX ? next : next - now;
	return disarmed;
}

void overlay__free(struct overlay *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_arms; i++)
		free(o->arms[i].text);
	free(o);
}
