// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "run/report/report.h"

/* A workflow command of GitHub Actions: "::error title=frbpf%3A runq-spike::80ms > 20ms ..." */
static int add_annotation(const struct outcome *o, size_t i, struct buf *b)
{
	const struct run_rule *rule = &o->rules[i];
	const struct run_incident *inc;
	const struct run_trigger *t = outcome__worst(o, i, &inc);
	struct buf text = { 0 };
	int err = buf__add_str(b, "::error title=");

	err = err ?: escape__github_property(b, "frbpf: rule ");
	err = err ?: escape__github_property(b, rule->name);
	err = err ?: buf__add_str(b, "::");
	err = err ?: buf__printf(&text, "%s: ", rule->when);
	if (!err && t)
		err = report__fact(rule, t, &text);
	if (!err && t)
		err = buf__add_str(&text, "; ");
	if (!err && t)
		err = report__open_command(o, inc, &text);
	err = err ?: escape__github(b, text.data);
	buf__free(&text);
	return err ?: buf__add_str(b, "\n");
}

int report_github(const struct outcome *o, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < o->n_rules && !err; i++) {
		if (run_rule__fired(&o->rules[i]))
			err = add_annotation(o, i, b);
	}
	if (!err && !o->recorded) {
		err = buf__add_str(b, "::warning title=frbpf::not recorded: ");
		err = err ?: escape__github(b, o->reason);
		err = err ?: buf__add_str(b, "\n");
	}
	return err;
}

/* Append a path, escaped for a URL. */
static int add_ci_path(struct buf *b, const char *path)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-._~/";
	int err = 0;

	for (; *path && !err; path++) {
		if (strchr(safe, *path))
			err = buf__add(b, path, 1);
		else
			err = buf__printf(b, "%%%02X", (unsigned char)*path);
	}
	return err;
}

static json_t *make_link(const char *label, const char *url, const char *directory,
			 const char *file)
{
	struct buf text = { 0 }, to = { 0 };
	json_t *j = NULL;
	int err = escape__plain(&text, label);

	err = err ?: escape__plain(&to, url);
	err = err ?: buf__add_str(&to, "/artifacts/file/");
	err = err ?: add_ci_path(&to, directory);
	err = err ?: buf__printf(&to, "/%s", file);
	if (!err)
		j = json_pack("{s:{s:s, s:s}}", "external_link", "label", text.data, "url",
			      to.data);
	buf__free(&text);
	buf__free(&to);
	return j;
}

static json_t *make_rule_link(const struct outcome *o, size_t i, const char *url,
			      const char *directory)
{
	const struct run_incident *inc;
	const struct run_trigger *t = outcome__worst(o, i, &inc);
	struct buf label = { 0 };
	json_t *j = NULL;
	int err = buf__printf(&label, "rule %s: ", o->rules[i].name);

	if (!err && t)
		err = report__fact(&o->rules[i], t, &label);
	if (!err)
		j = make_link(label.data, url, directory, "summary.md");
	buf__free(&label);
	return j;
}

int report_gitlab(const struct outcome *o, const char *url, const char *directory, struct buf *b)
{
	_cleanup_free_ char *text = NULL;
	json_t *links = json_array(), *j;

	json_array_append_new(links, make_link("summary", url, directory, "summary.md"));
	for (size_t i = 0; i < o->n_rules; i++) {
		if (run_rule__fired(&o->rules[i]))
			json_array_append_new(links, make_rule_link(o, i, url, directory));
	}
	j = json_pack("{s:o}", "frbpf", links);
	if (j)
		text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	return text ? buf__printf(b, "%s\n", text) : -ENOMEM;
}
