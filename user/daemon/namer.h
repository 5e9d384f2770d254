/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that looks up the names of functions in an incident's stacks, once its dumps and
 * manifest are complete. Nobody waits for it: a function that is not found in time has no name.
 * Life: start, submit as often as needed, free.
 */
#ifndef FRBPF_DAEMON_NAMER_H
#define FRBPF_DAEMON_NAMER_H

#include "common/err.h"
#include "dump/incident/user_names.h"

struct namer;

/* Called in the thread when the lookup of @inc's names has ended, successful or not. */
typedef void (*namer_done_fn)(struct incident *inc, void *arg);

/* Start the thread. @examiner is borrowed. 0 or negative errno with a message in @err. */
int namer__start(struct examiner *examiner, namer_done_fn done, void *arg, struct err *err,
		 struct namer **ret);

/* Look up inc->names, which must not change until `done`. */
void namer__submit(struct namer *n, struct incident *inc);

/* Set a deadline, ns, for all lookups: those submitted so far and later ones. */
void namer__hurry(struct namer *n, uint64_t deadline);

/* Ends the thread; lookups that have not begun are dropped. NULL is legal. */
void namer__free(struct namer *n);

#endif
