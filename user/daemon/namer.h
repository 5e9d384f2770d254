/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that has functions named which incidents' stacks are in, once their dumps and manifests are whole. Nobody waits for
 * it: what is not answered in time has no name. Life: start, submit as often as wanted, finish, free.
 */
#ifndef FRBPF_DAEMON_NAMER_H
#define FRBPF_DAEMON_NAMER_H

#include "common/err.h"
#include "dump/incident/user_names.h"

struct namer;

/* Called in the thread when @inc's names were asked for. */
typedef void (*namer_done_fn)(struct incident *inc, void *arg);

/* @examiner is borrowed. */
int namer__start(struct examiner *examiner, namer_done_fn done, void *arg, struct err *err,
		 struct namer **ret);

/* Ask for inc->names, which stays as it is until `done`. */
void namer__submit(struct namer *n, struct incident *inc);

/* For all that was submitted and for what still is there is time until @deadline, ns. */
void namer__hurry(struct namer *n, uint64_t deadline);

/* Ends the thread; what was not asked for is not. NULL is legal. */
void namer__free(struct namer *n);

#endif
