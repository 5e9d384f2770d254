// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>

#include "dump/incident/incident.h"
#include "rules/units.h"

uint64_t incident_trigger__began(const struct incident_trigger *it)
{
	const struct when_source_desc *source = when__source(it->t.source);
	uint64_t length = it->t.value;

	if (!it->rule || !source || source->no_begin)
		return it->t.time;
	if (it->t.flags & FRBPF_TRIGGER_SHARE)
		length = it->rule->when.share.time;
	return length < it->t.time ? it->t.time - length : it->t.time;
}

bool incident_trigger__part(const struct incident_trigger *it, size_t i,
			    struct incident_trigger *ret)
{
	const struct frbpf_part *part = &it->t.parts[i];
	const struct rule_conf *rule = it->parts[i];

	if (!rule || !part->time)
		return false;
	*ret = (struct incident_trigger){
		.rule = rule,
		.t = { .time = part->time,
		       .value = part->value,
		       .threshold = when__limit(&rule->when),
		       .source = rule->when.source,
		       .flags = rule->when.share.time ? FRBPF_TRIGGER_SHARE : 0,
		       .rule_id = rule->id,
		       .cpu = part->cpu,
		       .subject = part->subject,
		       .current = part->subject },
	};
	return true;
}

/* Returns the earliest time, ns, at which the event of @it or of one of its parts began. */
static uint64_t incident_trigger__first(const struct incident_trigger *it)
{
	uint64_t first = incident_trigger__began(it);
	struct incident_trigger part;

	for (size_t i = 0; i < FRBPF_MAX_OTHERS; i++) {
		uint64_t began = incident_trigger__part(it, i, &part)
					 ? incident_trigger__began(&part)
					 : first;

		first = began < first ? began : first;
	}
	return first;
}

uint64_t incident__asked(const struct incident *inc, bool *ret_more)
{
	uint64_t asked = UINT64_MAX;

	*ret_more = false;
	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		uint64_t pre = it->rule ? it->rule->pre : RULESET_WINDOW_AUTO;
		uint64_t from;

		if (pre == RULESET_WINDOW_AUTO) {
			*ret_more = true;
			/* the whole duration should be in the window */
			from = incident_trigger__first(it);
		} else {
			from = it->t.time > pre ? it->t.time - pre : 1;
		}
		asked = from < asked ? from : asked;
	}
	return asked;
}

uint64_t incident__end(const struct incident *inc)
{
	uint64_t end = 0;

	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		uint64_t to = it->t.time + (it->rule ? it->rule->post : 0);

		end = to > end ? to : end;
	}
	return end < inc->freeze.frozen ? end : inc->freeze.frozen;
}

void incident__format_name(uint64_t realtime_ns, char name[static INCIDENT_NAME_SIZE])
{
	time_t sec = realtime_ns / NSEC_PER_SEC;
	unsigned int hundredths = realtime_ns % NSEC_PER_SEC / 10000000;
	char date[32] = "";
	struct tm tm;

	if (localtime_r(&sec, &tm))
		strftime(date, sizeof(date), "%Y%m%d%H%M%S", &tm);
	snprintf(name, INCIDENT_NAME_SIZE, "%.14s%02u", date, hundredths);
}

const struct incident_stacks *incident__stacks(const struct incident *inc,
					       const struct frbpf_trigger *t)
{
	for (size_t i = 0; i < inc->n_stacks; i++) {
		if (inc->stacks[i].raw.time == t->time && inc->stacks[i].raw.cpu == t->cpu &&
		    inc->stacks[i].raw.tid == t->subject.tid)
			return &inc->stacks[i];
	}
	return NULL;
}

void incident_trigger__contradict(struct incident_trigger *it, uint64_t time)
{
	if (!it->contradicted || time < it->contradicted)
		it->contradicted = time;
}

bool dump_result__has_losses(const struct dump_result *res, uint64_t from)
{
	for (size_t c = 0; c < res->n_cpus; c++) {
		if (res->cpus[c].lost_until >= from || res->cpus[c].away)
			return true;
	}
	return false;
}
