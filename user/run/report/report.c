// SPDX-License-Identifier: GPL-2.0-only
#include "common/escape.h"
#include "rules/units.h"
#include "run/report/report.h"

int report__fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b)
{
	char value[32], threshold[32];

	units__format_duration(t->value, value, sizeof(value));
	units__format_duration(t->threshold, threshold, sizeof(threshold));
	if (rule->is_event)
		return buf__printf(b, "it happened to %s (process %s, pid %u, tid %u)", t->comm,
				   t->process, t->pid, t->tid);
	return buf__printf(b, "%s > %s, by %s (process %s, pid %u, tid %u)", value, threshold,
			   t->comm, t->process, t->pid, t->tid);
}

int report__open_command(const struct outcome *o, const struct run_incident *inc, struct buf *b)
{
	const struct run_file *dump = run_incident__dump(inc);
	int err;

	if (!dump) {
		err = buf__add_str(b, "frbpf show --base ");
		err = err ?: escape__shell(b, o->folder);
		return err ?: buf__printf(b, " %s", inc->name);
	}
	err = buf__add_str(b, "perf script -i ");
	return err ?: escape__shell(b, dump->path);
}

int report__command(const struct outcome *o, struct buf *b)
{
	int err = buf__add_str(b, "");

	for (size_t i = 0; o->opts->command && o->opts->command[i] && !err; i++) {
		err = buf__add_str(b, i ? " " : "");
		err = err ?: escape__shell(b, o->opts->command[i]);
	}
	return err;
}
