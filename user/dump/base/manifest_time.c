// SPDX-License-Identifier: GPL-2.0-only
/* Times in manifests. */
#include <jansson.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/suspends.h"
#include "dump/base/manifest.h"
#include "rules/units.h"

static json_t *json_manifest_utc(uint64_t realtime_ns)
{
	char date[UTC_DATE_SIZE], text[64];

	snprintf(text, sizeof(text), "%s.%09lluZ", utc__date(realtime_ns, date),
		 (unsigned long long)(realtime_ns % NSEC_PER_SEC));
	return json_string(text);
}

json_t *manifest__moment(uint64_t realtime_offset, uint64_t monotonic)
{
	return json_pack("{s:o, s:o}", "utc", json_manifest_utc(monotonic + realtime_offset),
			 "monotonic_ns", json_integer((json_int_t)monotonic));
}

json_t *manifest__suspends(const struct incident *inc)
{
	uint64_t from = inc->triggers[0].t.time;
	struct suspend v[SUSPENDS_MAX];
	json_t *list;
	size_t n;

	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		const struct dump_result *res = &inc->results[i];

		if (res->session && !res->error && res->start < from)
			from = res->start;
	}
	n = suspends__list(from, inc->freeze.frozen, v);
	list = n ? json_array() : NULL;
	for (size_t i = 0; list && i < n; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:I}", "monotonic_ns", (json_int_t)v[i].seen,
						"length_ns", (json_int_t)v[i].length));
	return list;
}
