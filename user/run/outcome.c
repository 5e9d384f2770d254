// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "run/outcome.h"

bool run_rule__fired(const struct run_rule *rule)
{
	return !rule->quiet && rule->state.fired > rule->contradicted;
}

bool outcome__fired(const struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++) {
		if (run_rule__fired(&o->rules[i]))
			return true;
	}
	return false;
}

static int command_status(const struct outcome *o)
{
	if (o->exec_error)
		return o->exec_error == ENOENT ? RUN_EXIT_NOT_FOUND : RUN_EXIT_NOT_EXECUTED;
	if (!o->command_ended)
		return 0;
	if (WIFSIGNALED(o->command_status))
		return 128 + WTERMSIG(o->command_status);
	return WEXITSTATUS(o->command_status);
}

int outcome__exit_status(const struct outcome *o)
{
	int status = command_status(o);

	if (status)
		return status;
	return outcome__fired(o) ? o->opts->exit_code : 0;
}

const struct run_trigger *outcome__worst(const struct outcome *o, size_t rule,
					 const struct run_incident **ret_incident)
{
	const struct run_trigger *worst = NULL;

	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];

		for (size_t k = 0; k < inc->n_triggers; k++) {
			const struct run_trigger *t = &inc->triggers[k];

			if (t->contradicted || t->rule != rule ||
			    (worst && t->value <= worst->value))
				continue;
			worst = t;
			*ret_incident = inc;
		}
	}
	return worst;
}

void outcome__count_contradicted(struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++)
		o->rules[i].contradicted = 0;
	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];

		for (size_t k = 0; k < inc->n_triggers; k++)
			o->rules[inc->triggers[k].rule].contradicted +=
				inc->triggers[k].contradicted;
	}
}

/* The first dump that was written: sessions are ordered as in the rules file. */
const struct run_file *run_incident__dump(const struct run_incident *inc)
{
	const struct run_file *first = NULL;

	for (size_t i = 0; i < inc->n_files; i++) {
		if (!inc->files[i].path)
			continue;
		first = first ?: &inc->files[i];
	}
	return first;
}

const char *run_end__name(enum run_end end)
{
	static const char *const names[] = {
		[RUN_END_COMMAND] = "command", [RUN_END_TIME] = "time",
		[RUN_END_DUMPS] = "dumps",     [RUN_END_SIGNAL] = "signal",
		[RUN_END_TARGET] = "target",
	};

	return names[end];
}

static void free_table(struct run_stack_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n_frames; k++) {
			free(t->v[i].frames[k].symbol);
			free(t->v[i].frames[k].module);
		}
		free(t->v[i].frames);
	}
	free(t->v);
	free(t->session);
	free(t->event);
}

const char *outcome__fd_path(const struct outcome *o, const char *path, char ret[static PATH_MAX])
{
	size_t len = strlen(o->directory);

	if (!o->directory_fd || strncmp(path, o->directory, len) != 0)
		return path;
	snprintf(ret, PATH_MAX, "/proc/self/fd/%d%s", o->directory_fd, path + len);
	return ret;
}

void run_incident__free(struct run_incident *inc)
{
	for (size_t i = 0; i < inc->n_tables; i++)
		free_table(&inc->tables[i]);
	free(inc->tables);
	for (size_t i = 0; i < inc->n_files; i++) {
		free(inc->files[i].session);
		free(inc->files[i].path);
		free(inc->files[i].error);
	}
	free(inc->files);
	free(inc->triggers);
	free(inc->why);
	json_decref(inc->verdict);
	json_decref(inc->kernel_symbols);
	*inc = (struct run_incident){ 0 };
}

void outcome__free(struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++) {
		free(o->rules[i].name);
		free(o->rules[i].when);
		free(o->rules[i].condition);
	}
	for (size_t i = 0; i < o->n_sessions; i++) {
		free(o->sessions[i].name);
		free(o->sessions[i].run);
	}
	for (size_t i = 0; i < o->n_incidents; i++)
		run_incident__free(&o->incidents[i]);
	run_incident__free(&o->rest);
	free(o->rules);
	free(o->sessions);
	free(o->incidents);
	*o = (struct outcome){ 0 };
}
