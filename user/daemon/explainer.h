/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that explains incidents after their files are written. It is forked early, while the
 * recorder uses little memory. It forks a worker for each incident, before the question comes. The
 * worker has the lowest priority and can only read. If it fails, hangs or dies, the incident is not
 * explained. Nobody waits for an explanation. Life: new, ask and process answers, free. For one
 * thread.
 */
#ifndef FRBPF_DAEMON_EXPLAINER_H
#define FRBPF_DAEMON_EXPLAINER_H

#include <jansson.h>
#include <sys/types.h>

struct explainer;

/* What an explanation adds to the manifest, in the order in which it is found */
enum explainer_part {
	EXPLAINER_WHY,		  /* an object */
	EXPLAINER_KERNEL_SYMBOLS, /* an array */
	EXPLAINER_PARTS,
};

/* All run in the worker. */
struct explainer_fns {
	/* Read and close the manifest @fd of incident @name below @base. NULL: it is damaged. */
	json_t *(*read)(int fd, const char *base, const char *name);
	/* Each returns its part for @manifest. NULL: none. */
	json_t *(*explain[EXPLAINER_PARTS])(const json_t *manifest, const char *base);
	int seconds_max; /* for one incident; a worker that takes longer is killed */
};

/* Start the process, once, before there are threads. @fns is borrowed. 0 or negative errno. */
int explainer__new(const struct explainer_fns *fns, struct explainer **ret);
/* Questions still open get no answer. NULL is legal. */
void explainer__free(struct explainer *e);

/* Readable when explainer__process() has something to do. */
int explainer__fd(const struct explainer *e);
/*
 * Pids of the worker that explains the present or next incident, and of its opener; 0: none.
 */
#define EXPLAINER_PIDS 2
const pid_t *explainer__pids(const struct explainer *e);

/*
 * Ask for an explanation of incident @name below @base, whose manifest is written. Does not block.
 * 0 or negative errno; -EAGAIN: too many questions wait; -EPIPE: the process is gone;
 * -ENAMETOOLONG; or the errno of opening the manifest.
 */
int explainer__ask(struct explainer *e, const char *base, const char *name);

/* Called with a part. @value is borrowed. Its texts come from recordings: do not trust them. */
typedef void (*explainer_answer_fn)(const char *name, enum explainer_part part, json_t *value,
				    void *arg);

/* Call @fn for each part that has come. Does not block. */
void explainer__process(struct explainer *e, explainer_answer_fn fn, void *arg);

#endif
