/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the daemon, for the time of one run and in this process: side band, detectors,
 * recorder, one active set of rules and sessions, with the output folder as its base. There is no
 * socket, nothing is announced, and what it attaches ends with it. Life: open (records from then
 * on), step whenever its fd is readable or its time has come, finish, free.
 */
#ifndef FRBPF_RUN_RECORDING_H
#define FRBPF_RUN_RECORDING_H

#include "dump/base/base_dir.h"
#include "run/app_place.h"
#include "run/outcome.h"
#include "run/run_rules.h"
#include "run/run_target.h"

struct recording;

struct recording_opts { /* all of it is borrowed until recording__free() */
	struct base_dir *base;
	struct tracefs *tracefs;     /* NULL: there is none */
	struct examiner *examiner;   /* NULL: build ids and names are those that the kernel tells */
	const struct app_place *app; /* where the command sends messages of `app:` rules to */
	struct run_target *target;
	struct outcome *outcome; /* told of every incident, and of the rest at the end */
};

/* The ruleset of @rules is taken over, and the events of its plan, also on failure. */
int recording__open(const struct recording_opts *opts, struct run_rules *rules, struct err *err,
		    struct recording **ret);

/* Each is readable when recording__step() has something to do. */
int recording__fd(const struct recording *r);
int recording__keys_fd(const struct recording *r);
int recording__cpus_fd(const struct recording *r);
/* Take what was written. Returns ns until it is to be called again at the latest, or UINT64_MAX. */
uint64_t recording__step(struct recording *r);

/* Nothing fires any more; save the last window, too, if @last, or as outcome.rest if there were
 * incidents; write what is under way; fill the outcome. */
void recording__finish(struct recording *r, bool last);

void recording__free(struct recording *r);

#endif
