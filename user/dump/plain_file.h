/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a plain session writes all the time, as `perf record` does:
 * BASE/session-NAME/perf.data. Readers have it from the start, even if we are killed. Life: open,
 * add records in passes over all rings, close, free.
 */
#ifndef FRBPF_DUMP_PLAIN_FILE_H
#define FRBPF_DUMP_PLAIN_FILE_H

#include "dump/dump.h"

struct plain_file;

/*
 * Begin the file of @s in its directory. An existing file becomes NAME.old, as with perf. The new
 * file begins with the tasks and maps at the time @since, ns. Records that are added later must not
 * be older than @since. 0 or negative errno with a message in @err.
 */
int plain_file__open(const struct dump_env *env, struct session *s, int dir_fd, uint64_t since,
		     struct err *err, struct plain_file **ret);

/*
 * Add a record of the ring of CPU number @c of the session. 0; -EFBIG: not added, since --max-size
 * is reached; or negative errno with a message in @err.
 */
int plain_file__add(struct plain_file *f, size_t c, const struct perf_event_header *rec,
		    struct err *err);
/*
 * All rings were read: make the records visible to readers. 0 or negative errno, a message in @err.
 */
int plain_file__end_pass(struct plain_file *f, struct err *err);

uint64_t plain_file__bytes(const struct plain_file *f);
uint64_t plain_file__samples(const struct plain_file *f);

/*
 * Finish the file. With @inc, it becomes a dump of this incident, with its name and markers, and
 * @ret is filled. Without @inc, it keeps its name. 0 or negative errno with a message in @err.
 */
int plain_file__close(struct plain_file *f, struct incident *inc, struct err *err,
		      struct dump_result *ret);
/* A file that was not closed stays as it is. NULL is legal. */
void plain_file__free(struct plain_file *f);

#endif
