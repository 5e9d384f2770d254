/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a plain session into its file all the time: drains its rings, and begins another file when
 * the session is dumped. Its messages are perf's. For the thread of its dumper. Life: new, step,
 * dump, free.
 */
#ifndef FRBPF_DAEMON_PLAIN_RECORDER_H
#define FRBPF_DAEMON_PLAIN_RECORDER_H

#include "dump/plain_file.h"

struct plain_recorder;

/* Begin the file. All but @err is borrowed. 0 or negative errno with a message in @err. */
int plain_recorder__new(const struct dump_env *env, struct session *s, int dir_fd, struct err *err,
			struct plain_recorder **ret);

/*
 * Wait until a ring is full enough or the eventfd @wake is notified, a second at most. Then drain
 * the rings. False: no more is written, since --max-size is reached or the file cannot be written;
 * @ret_why has the reason the first time, later "".
 */
bool plain_recorder__step(struct plain_recorder *p, int wake, struct err *ret_why);

/* End the file as a dump of @inc, and begin another unless it is the @last. Errors go to @ret. */
void plain_recorder__dump(struct plain_recorder *p, struct incident *inc, bool last,
			  struct dump_result *ret);
/* Bytes of the file so far, for any thread. 0: there is none. */
uint64_t plain_recorder__bytes(const struct plain_recorder *p);

/*
 * End the file. Returns what perf prints then, for the output of the session; "" if there is no
 * file. The caller frees it. NULL: out of memory.
 */
char *plain_recorder__free(struct plain_recorder *p);

#endif
