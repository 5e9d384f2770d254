/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the examination share. Private to doctor.c and doctor_sessions.c. */
#ifndef FRBPF_CMD_DOCTOR_CORE_H
#define FRBPF_CMD_DOCTOR_CORE_H

#include "cmd/doctor.h"
#include "common/tracefs.h"

struct examination { /* all of it is borrowed */
	finding_fn fn;
	void *arg;
	const struct location_hint *hint;
	struct tracefs *tracefs; /* NULL: not readable */
};

/* Report what was found of @part; @remedy may be NULL. The strings are borrowed for the call. */
void finding__add(const struct examination *e, const char *part, enum finding_level level,
		  const char *text, const char *remedy);
__attribute__((format(printf, 5, 6))) void
finding__format(const struct examination *e, const char *part, enum finding_level level,
		const char *remedy, const char *fmt, ...);

/*
 * What sessions can record here: hardware events; all that `frbpf why` reads; and whether BPF
 * programs of other tools take events away.
 */
void doctor_sessions__cycles(const struct examination *e);
void doctor_sessions__evidence(const struct examination *e);
void doctor_sessions__neighbours(const struct examination *e);

#endif
