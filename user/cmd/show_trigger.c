// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/json_fields.h"
#include "cmd/show_stacks.h"
#include "cmd/show_state.h"
#include "cmd/show_trigger.h"
#include "rules/constants.h"
#include "rules/units.h"

const char *show_duration(const json_t *o, const char *key, char *buf, size_t size)
{
	return units__format_duration(json_integer_value(json_object_get(o, key)), buf, size);
}

static void print_task(const char *label, const json_t *t)
{
	/* the event has no task */
	if (!json_integer_value(json_object_get(t, "tid")) &&
	    !json_integer_value(json_object_get(t, "uid")) && !str(t, "comm")[0])
		return;
	if (!str(t, "comm")[0]) { /* the sender of a message, which ended before it was looked up */
		printf("  %-10s pid %lld, uid %lld, which had ended; its name is unknown\n", label,
		       (long long)json_integer_value(json_object_get(t, "pid")),
		       (long long)json_integer_value(json_object_get(t, "uid")));
		return;
	}
	printf("  %-10s %s (pid %lld, tid %lld, process %s, uid %lld)\n", label, str(t, "comm"),
	       (long long)json_integer_value(json_object_get(t, "pid")),
	       (long long)json_integer_value(json_object_get(t, "tid")), str(t, "process"),
	       (long long)json_integer_value(json_object_get(t, "uid")));
}

/* Print the event's own arguments. */
static void print_args(json_t *args)
{
	const char *name, *lead = "  event      ";
	json_t *v;

	json_object_foreach (args, name, v) {
		if (json_is_integer(v))
			printf("%s%s=%" JSON_INTEGER_FORMAT, lead, name, json_integer_value(v));
		else if (json_string_value(v) && *json_string_value(v))
			printf("%s%s=%s", lead, name, json_string_value(v));
		else
			continue;
		lead = " ";
	}
	if (*lead == ' ' && !lead[1])
		putchar('\n');
}

/* Name of the error that a system call returned; NULL: it did not fail. */
static const char *error_name(json_int_t ret)
{
	return ret < 0 ? constant__name(symbols_errno, -ret) : NULL;
}

/* For a rule about other rules: print the matches that preceded the trigger. */
static void print_parts(const json_t *t)
{
	const json_t *part;
	char value[32], ago[32];
	size_t i;

	json_array_foreach (json_object_get(t, "after"), i, part) {
		const json_t *subject = json_object_get(part, "subject");
		json_int_t time = num(json_object_get(t, "time"), "monotonic_ns") -
				  num(json_object_get(part, "time"), "monotonic_ns");

		printf("  after      rule %s: %s", str(part, "rule"), str(part, "when"));
		if (num(part, "value_ns"))
			printf(", %s", show_duration(part, "value_ns", value, sizeof(value)));
		printf(", %s before, by %s (pid %" PRIu64 ", tid %" PRIu64 ")\n",
		       units__format_duration(time, ago, sizeof(ago)), str(subject, "comm"),
		       num(subject, "pid"), num(subject, "tid"));
	}
}

/* Print the outcome of a pending event. @ended NULL: as far as is known, it has not ended. */
static void print_pending_end(const json_t *ended)
{
	char value[64];

	printf(", and it had not ended");
	if (ended && json_is_true(json_object_get(ended, "seen")))
		printf(": it ended after %s",
		       show_duration(ended, "value_ns", value, sizeof(value)));
	else if (ended)
		printf(": its end was not seen");
}

void show_trigger__print(const json_t *t, const char *what)
{
	const json_t *ret = json_object_get(t, "ret");
	bool is_call = strcmp(str(t, "source"), "syscall") == 0;
	const char *error = is_call ? error_name(json_integer_value(ret)) : NULL;
	char value[32], threshold[32];

	if (!str(t, "rule")[0]) {
		printf("%s by hand: %s\n  at         %s\n", what, str(t, "reason"),
		       str(json_object_get(t, "time"), "utc"));
		return;
	}
	printf("%s by rule %s: %s%s%s\n", what, str(t, "rule"), str(t, "when"),
	       str(t, "if")[0] ? " if " : "", str(t, "if"));
	/* 0: an event without a duration */
	if (json_integer_value(json_object_get(t, "value_ns"))) {
		printf("  value      %s", show_duration(t, "value_ns", value, sizeof(value)));
		if (json_integer_value(json_object_get(t, "threshold_ns")))
			printf(", threshold %s",
			       show_duration(t, "threshold_ns", threshold, sizeof(threshold)));
		if (str(t, "key")[0])
			printf(", %s", str(t, "key"));
		if (error)
			printf(" failed with %s", error);
		if (json_is_true(json_object_get(t, "escalated")))
			printf(", which broke the cooldown");
		if (json_is_true(json_object_get(t, "pending")))
			print_pending_end(json_object_get(t, "ended"));
		if (json_is_true(json_object_get(t, "absent")))
			printf(", without an event");
		if (json_object_get(t, "window_ns"))
			printf(", together in %s",
			       show_duration(t, "window_ns", value, sizeof(value)));
		if (ret && !is_call)
			printf(", returned %" JSON_INTEGER_FORMAT, json_integer_value(ret));
		putchar('\n');
	}
	printf("  at         %s, CPU %lld\n", str(json_object_get(t, "time"), "utc"),
	       (long long)json_integer_value(json_object_get(t, "cpu")));
	print_parts(t);
	if (json_is_true(json_object_get(t, "contradicted")))
		printf("  false      the recording contradicts it, first at %s\n",
		       str(json_object_get(t, "contradicted_time"), "utc"));
	if (str(t, "cannot_tell")[0])
		printf("  unproven   cannot tell whether the recording contradicts it: %s\n",
		       str(t, "cannot_tell"));
	if (str(t, "call")[0])
		printf("  call       %s\n", str(t, "call"));
	else
		print_args(json_object_get(t, "args"));
	/* interrupts have no subject */
	if (json_integer_value(json_object_get(json_object_get(t, "subject"), "tid")) ||
	    str(json_object_get(t, "subject"), "comm")[0])
		print_task("subject", json_object_get(t, "subject"));
	show_state__print(json_object_get(t, "state"));
	print_task("running", json_object_get(t, "current"));
	show_stacks__print(json_object_get(t, "stacks"));
}
