// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>

#include "cmd/json_fields.h"
#include "cmd/show_state.h"
#include "common/cleanup.h"
#include "rules/units.h"

static json_int_t json_state_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void print_report_command(const json_t *s)
{
	const json_t *p;
	size_t i;

	if (str(s, "command")[0])
		printf("  command    %s\n", str(s, "command"));
	json_array_foreach (json_object_get(s, "parents"), i, p)
		printf("%s%s/%" JSON_INTEGER_FORMAT, i ? " < " : "  parents    ", str(p, "comm"),
		       json_state_number(p, "pid"));
	if (i)
		putchar('\n');
}

static void print_owner(const json_t *s)
{
	const json_t *o = json_object_get(s, "waits_for");
	json_int_t tid = json_state_number(o, "tid");

	if (o)
		printf("  waits for  a %s that %s/%" JSON_INTEGER_FORMAT " holds\n", str(o, "what"),
		       str(o, "comm"), tid ? tid : json_state_number(o, "pid"));
}

static void print_wait_place(const json_t *s)
{
	const json_t *o = json_object_get(s, "waits_in");

	if (!o)
		return;
	printf("  waits in   %s", str(o, "syscall")[0] ? str(o, "syscall") : "the kernel");
	if (str(o, "file")[0])
		printf(" of %s", str(o, "file"));
	if (str(o, "path")[0])
		printf(" of \"%s\"", str(o, "path"));
	if (str(o, "wchan")[0])
		printf(", at %s", str(o, "wchan"));
	putchar('\n');
}

static void print_scheduling(const json_t *s)
{
	const char *policy = str(s, "policy");
	json_int_t priority = json_state_number(s, "rt_priority");
	char size[16];

	printf("  scheduled  %s", policy);
	if (priority)
		printf(", priority %" JSON_INTEGER_FORMAT, priority);
	else
		printf(", nice %" JSON_INTEGER_FORMAT, json_state_number(s, "nice"));
	if (str(s, "cpus")[0])
		printf(", on CPUs %s", str(s, "cpus"));
	if (json_state_number(s, "resident_bytes"))
		printf("; %s resident", units__format_size(json_state_number(s, "resident_bytes"),
							   size, sizeof(size)));
	if (str(s, "cgroup")[0])
		printf("; cgroup %s", str(s, "cgroup"));
	putchar('\n');
}

static void print_cpu(const json_t *c)
{
	char quota[32], period[32], throttled[32];

	if (!json_state_number(c, "quota_ns"))
		return;
	printf("  CPU limit  %s in %s of %s, throttled in %" JSON_INTEGER_FORMAT
	       " of %" JSON_INTEGER_FORMAT " periods, for %s\n",
	       units__format_duration(json_state_number(c, "quota_ns"), quota, sizeof(quota)),
	       units__format_duration(json_state_number(c, "period_ns"), period, sizeof(period)),
	       str(c, "cgroup"), json_state_number(c, "throttled"), json_state_number(c, "periods"),
	       units__format_duration(json_state_number(c, "throttled_ns"), throttled,
				      sizeof(throttled)));
}

static void print_cgroup_memory(const json_t *m)
{
	const char *key = json_object_get(m, "high") ? "high" : "max";
	char current[16], limit[16];

	if (!json_object_get(m, key))
		return;
	printf("  memory     %s of %s (%s) in %s\n",
	       units__format_size(json_state_number(m, "current"), current, sizeof(current)),
	       units__format_size(json_state_number(m, key), limit, sizeof(limit)), key,
	       str(m, "cgroup"));
}

static void print_io(const json_t *o)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(o, "max"), i, line)
		printf("  I/O limit  %s of %s\n", json_string_value(line) ?: "", str(o, "cgroup"));
}

void show_state__print(const json_t *state)
{
	static const struct {
		const char *key;
		void (*print)(const json_t *o);
	} limits[] = { { "cpu", print_cpu },
		       { "memory", print_cgroup_memory },
		       { "io", print_io } };
	const json_t *level;
	size_t k;

	if (!json_is_object(state))
		return;
	print_report_command(state);
	print_scheduling(state);
	print_owner(state);
	print_wait_place(state);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		json_array_foreach (json_object_get(state, limits[i].key), k, level)
			limits[i].print(level);
}

/* Element @i of the list @key; 0 if missing. */
static double vital_of(const json_t *vitals, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(vitals, key), i));
}

/* Index of the second that contains @time, ns; the last one if none does. */
static size_t second_index(const json_t *vitals, json_int_t time)
{
	const json_t *ends = json_object_get(vitals, "end_monotonic_ns");
	size_t i = 0;

	while (i + 1 < json_array_size(ends) && json_integer_value(json_array_get(ends, i)) < time)
		i++;
	return i;
}

void show_state__print_vitals(const json_t *vitals, json_int_t time)
{
	static const struct {
		const char *key, *text;
	} times[] = { { "cpu_some_ns", "for CPUs" },
		      { "io_some_ns", "for I/O" },
		      { "memory_some_ns", "for memory" } },
	  counts[] = { { "major_faults", "major faults" },
		       { "reclaims", "direct reclaims" },
		       { "swapped_pages", "pages swapped" },
		       { "net_errors", "network errors" },
		       { "disk_errors", "disk errors" } };
	size_t s = second_index(vitals, time);
	double length = vital_of(vitals, "length_ns", s), steal = vital_of(vitals, "steal_ns", s);
	double idle = vital_of(vitals, "idle_ns", s) + vital_of(vitals, "iowait_ns", s);
	double all = idle + steal + vital_of(vitals, "user_ns", s) +
		     vital_of(vitals, "system_ns", s) + vital_of(vitals, "irq_ns", s);

	if (length <= 0 || all <= 0)
		return;
	printf("machine: CPUs %.0f %% busy, %.0f %% stolen, %.0f tasks runnable",
	       100 * (all - idle - steal) / all, 100 * steal / all, vital_of(vitals, "running", s));
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (vital_of(vitals, times[i].key, s) >= length / 100)
			printf(", waits %s %.0f %%", times[i].text,
			       100 * vital_of(vitals, times[i].key, s) / length);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (vital_of(vitals, counts[i].key, s) > 0)
			printf(", %.0f %s", vital_of(vitals, counts[i].key, s), counts[i].text);
	printf(", in %.1fs\n", length / 1e9);
}
