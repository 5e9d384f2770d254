/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the daemon, for one run and in this process: side band, detectors, recorder, and one
 * active set of rules and sessions. The output directory is their base. There is no control socket
 * and no note in /run/frbpf, and everything that is attached ends with the run. Life: open (records
 * from then on), step whenever its fd is readable or its time has come, finish, free.
 */
#ifndef FRBPF_RUN_RUN_RECORDING_H
#define FRBPF_RUN_RUN_RECORDING_H

#include "dump/base/base_dir.h"
#include "run/app_place.h"
#include "run/outcome.h"
#include "run/run_rules.h"
#include "run/run_target.h"

struct recording;

struct recording_opts { /* borrowed until run_recording__free() */
	struct base_dir *base;
	struct tracefs *tracefs;     /* NULL: there is none */
	struct examiner *examiner;   /* NULL: build ids and names only as the kernel reports them */
	const struct app_place *app; /* where the command sends messages for `app:` rules */
	struct run_target *target;
	struct outcome *outcome; /* filled with every incident, and with the rest at the end */
};

/*
 * Takes over the ruleset of @rules and the events of its plan, also on failure. Negative errno,
 * message in @err.
 */
int run_recording__open(const struct recording_opts *opts, struct run_rules *rules, struct err *err,
			struct recording **ret);

/* Each is readable when run_recording__step() has work to do. */
int run_recording__fd(const struct recording *r);
int run_recording__keys_fd(const struct recording *r);
int run_recording__cpus_fd(const struct recording *r);
/* Process what was written. Returns the ns until the next call at the latest, or UINT64_MAX. */
uint64_t run_recording__step(struct recording *r);

/*
 * Stop all rules, complete dumps under way, and fill the outcome. The last window is saved as a
 * dump if @last; otherwise as outcome.rest, if there were incidents.
 */
void run_recording__finish(struct recording *r, bool last);

void run_recording__free(struct recording *r);

#endif
