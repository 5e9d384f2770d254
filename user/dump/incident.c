// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>

#include "dump/incident.h"
#include "rules/units.h"

uint64_t incident__start(const struct incident *inc)
{
	uint64_t start = UINT64_MAX;

	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		uint64_t pre = it->rule ? it->rule->pre : RULESET_WINDOW_AUTO;
		uint64_t from;

		if (pre == RULESET_WINDOW_AUTO)
			return RULESET_WINDOW_AUTO;
		from = it->t.time > pre ? it->t.time - pre : 1;
		start = from < start ? from : start;
	}
	return start;
}

uint64_t incident__end(const struct incident *inc)
{
	uint64_t end = 0;

	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		uint64_t to = it->t.time + (it->rule ? it->rule->post : 0);

		end = to > end ? to : end;
	}
	return end;
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
