// SPDX-License-Identifier: GPL-2.0-only
/* Options for the target: -p -t -u -C -G. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "record/option_set.h"
#include "rules/units.h"

static int option_items__add(struct option_items *items, const struct option_value *v, size_t off,
			     size_t len)
{
	struct option_item *more = reallocarray(items->v, items->n + 1, sizeof(*more));
	char *text;

	if (!more)
		return -ENOMEM;
	items->v = more;
	text = strndup(v->text + off, len);
	if (!text)
		return -ENOMEM;
	more[items->n++] = (struct option_item){ text, word__span(v->word, v->off + off, len) };
	return 0;
}

typedef int (*item_check_fn)(struct option_parser *p, const struct option_value *item);

/* Add each part of @v between commas that @check accepts. */
static int option__add_items(struct option_parser *p, const struct option_value *v,
			     item_check_fn check, struct option_items *items)
{
	size_t off = 0, len;
	int err;

	for (;; off += len + 1) {
		char *text;

		len = strcspn(v->text + off, ",");
		err = option_items__add(items, v, off, len);
		if (err)
			return err;
		text = items->v[items->n - 1].text;
		err = check(p, &(struct option_value){
				       .text = text,
				       .len = len,
				       .place = items->v[items->n - 1].span,
			       });
		/* do not report it twice: later checks would look at it again */
		if (err == -EINVAL)
			free(items->v[--items->n].text);
		if (err || !v->text[off + len])
			return err;
	}
}

static int check_id(struct option_parser *p, const struct option_value *v)
{
	const char *why = "";
	uint64_t n;

	if (v->text[0] == '$')
		return OPTION_ERROR(
			p, v,
			"no shell reads this line: write the number instead of '%s', or "
			"-u USER or -G CGROUP",
			v->text);
	if (!v->len || units__number(v->text, v->len, &n, &why) < 0 || !n || n > INT_MAX)
		return OPTION_ERROR(p, v, "'%s' is not the number of a process or thread", v->text);
	return 0;
}

/* Check "3" or "2-4". */
static int check_cpus(struct option_parser *p, const struct option_value *v)
{
	const char *dash = strchr(v->text, '-'), *why = "";
	uint64_t from, to;

	if (units__number(v->text, dash ? (size_t)(dash - v->text) : v->len, &from, &why) < 0 ||
	    (dash && units__number(dash + 1, strlen(dash + 1), &to, &why) < 0) || from > INT_MAX ||
	    (dash && (to < from || to > INT_MAX)))
		return OPTION_ERROR(p, v, "'%s' is not a CPU: write 0,2-4, for example", v->text);
	return 0;
}

static int check_nothing(struct option_parser *p, const struct option_value *v)
{
	return 0;
}

int option__set_pid(struct option_parser *p, const struct option_value *v)
{
	return option__add_items(p, v, check_id, &p->opts->pids);
}

int option__set_tid(struct option_parser *p, const struct option_value *v)
{
	return option__add_items(p, v, check_id, &p->opts->tids);
}

int option__set_cpu(struct option_parser *p, const struct option_value *v)
{
	return option__add_items(p, v, check_cpus, &p->opts->cpus);
}

int option__set_uid(struct option_parser *p, const struct option_value *v)
{
	struct option_items *users = &p->opts->users;

	if (!v->len)
		return OPTION_ERROR(p, v, "a user is missing");
	if (users->n) /* the last -u counts */
		return option__text(v, &users->v[0].text);
	return option_items__add(users, v, 0, v->len);
}

int option__set_cgroup(struct option_parser *p, const struct option_value *v)
{
	if (!p->opts->n_events)
		return OPTION_ERROR(p, v, "must define events before cgroups: write -G after -e");
	p->opts->n_before_cgroups = p->opts->n_events;
	return option__add_items(p, v, check_nothing, &p->opts->cgroups);
}
