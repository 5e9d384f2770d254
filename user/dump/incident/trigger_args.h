/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event has of its own: the arguments of a trigger by name, for manifests and markers. Their names and
 * types are those of expr_fields of its source, and for fields that only its rule knows, of rule->args.
 */
#ifndef FRBPF_DUMP_INCIDENT_TRIGGER_ARGS_H
#define FRBPF_DUMP_INCIDENT_TRIGGER_ARGS_H

#include "dump/incident/incident.h"

struct trigger_arg {
	const char *name; /* a constant, or the rule's */
	bool is_text;
	int64_t number; /* otherwise */
	char text[64];	/* as bytes, not always UTF-8; of a number: as people read it */
};

/* Fill @ret in the order of the fields; returns how many. */
size_t trigger_args__get(const struct incident_trigger *it,
			 struct trigger_arg ret[static FRBPF_MAX_ARGS]);

/* "dev=sda op=write", "" for none, cut to @size at the end of one. Returns @buf. */
char *trigger_args__format(const struct incident_trigger *it, char *buf, size_t size);

#endif
