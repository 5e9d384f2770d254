/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that explains incidents once their files are there. It is forked before there is anything in memory; for
 * each incident it forks another one, of the lowest priority, without rights but to read, which may fail or die: then the incident
 * is not explained. Nobody waits for it. Life: new, ask and take answers, free. For one thread.
 */
#ifndef FRBPF_DAEMON_EXPLAINER_H
#define FRBPF_DAEMON_EXPLAINER_H

#include <jansson.h>
#include <sys/types.h>

struct explainer;

/* In the other process: what a manifest has as `why`, of incident @name below @base. NULL: nothing. */
typedef json_t *(*explainer_fn)(const char *base, const char *name);

/* Before there are threads, once in a process. 0 or negative errno. */
int explainer__new(explainer_fn fn, struct explainer **ret);
/* A question that is not answered yet is not answered any more. NULL is legal. */
void explainer__free(struct explainer *e);

/* Readable when explainer__process() has something to do. */
int explainer__fd(const struct explainer *e);
/* The process that explains now, or will explain the next incident; 0: there is none. */
pid_t explainer__pid(const struct explainer *e);

/* Does not block. -EAGAIN: too many are asked for; -EPIPE: nobody is there; -ENAMETOOLONG. */
int explainer__ask(struct explainer *e, const char *base, const char *name);

/* @why is the caller's. Its texts are whatever was recorded. */
typedef void (*explainer_answer_fn)(const char *name, json_t *why, void *arg);

/* Does not block. */
void explainer__process(struct explainer *e, explainer_answer_fn fn, void *arg);

#endif
