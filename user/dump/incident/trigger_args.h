/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments of a trigger by name, for manifests and markers. Names and types come from
 * expr_fields of its source, or from rule->args for fields that only the rule knows.
 */
#ifndef FRBPF_DUMP_INCIDENT_TRIGGER_ARGS_H
#define FRBPF_DUMP_INCIDENT_TRIGGER_ARGS_H

#include "common/buf.h"
#include "dump/incident/incident.h"

#define TRIGGER_ARGS_MAX (FRBPF_MAX_ARGS + 1) /* with the path of a call, or a string */

struct trigger_arg {
	const char *name; /* a constant, or the rule's */
	bool is_text;
	int64_t number; /* if is_text is false */
	/* bytes, not always UTF-8; for a number: as people read it */
	char text[FRBPF_TEXT_LEN + 4];
};

/*
 * The name of what was measured, such as a system call or a softirq; a constant. NULL: the source
 * has no such names, or the trigger is a silence, which has no event.
 */
const char *trigger_args__key(const struct frbpf_trigger *t);

/* Fill @ret in the order of the fields. Returns their number. */
size_t trigger_args__get(const struct incident_trigger *it,
			 struct trigger_arg ret[static TRIGGER_ARGS_MAX]);

/*
 * Format like "dev=sda op=write"; "" for none. Text that exceeds @size is cut after an argument.
 * Returns @buf.
 */
char *trigger_args__format(const struct incident_trigger *it, char *buf, size_t size);

/*
 * Append the system call of @it as people write it: openat("/srv/x") = -1 ENOENT, fsync(</srv/x>) =
 * 0. It has its path, file or peer address, and what it returned. Unknown arguments are "...". A
 * path may have any bytes; it is cut as in struct frbpf_trigger. Nothing is appended for other
 * sources. 0 or -ENOMEM.
 */
int call_text__add(struct buf *b, const struct incident_trigger *it);

#endif
