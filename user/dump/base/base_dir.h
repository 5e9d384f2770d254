/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The base directory of a daemon. Its layout is known here only:
 *
 *	BASE/lock                          locked, like the directory itself, while a daemon
 *	                                   owns the base; has its pid
 *	BASE/control                       socket for commands
 *	BASE/state.json                    state that outlives the daemon, see daemon/saved_state.h
 *	BASE/clock.json                    age of the base, see base_clock.h
 *	BASE/removed.json                  incidents that retention removed, see removal_log.h
 *	BASE/output                        log of a daemon in the background
 *	BASE/incidents/TIME.json           manifests; also drafts and remains: base_scan.h
 *	BASE/session-NAME/perf.data.TIME   dumps
 *
 * Temporary files begin with ".tmp-". The next start removes those of a killed daemon.
 */
#ifndef FRBPF_DUMP_BASE_BASE_DIR_H
#define FRBPF_DUMP_BASE_BASE_DIR_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "dump/incident/incident.h"

#define BASE_DIR_TMP_PREFIX   ".tmp-"
#define BASE_DIR_DRAFT_PREFIX ".draft-"
#define BASE_DIR_GONE_PREFIX  ".gone-"
#define BASE_DIR_DEFAULT      "/var/lib/frbpf"

struct base_dir {
	char path[PATH_MAX];
	int fd, lock_fd, incidents_fd;
	uint64_t clock_offset; /* see base_clock.h */
	bool created;	       /* by us; removed again if starting fails */
	/*
	 * we also made the directories above it, the first of which is path[0..parents_made); 0:
	 * none
	 */
	size_t parents_made;
	pthread_mutex_t name_lock;
	char names[16][INCIDENT_NAME_SIZE]; /* the last ones reserved */
	size_t n_names;
};

/*
 * Create @path (0700) or check it, lock it, and remove temporary files. It must be ours and not a
 * symbolic link, and nobody else may write to it or replace it. 0 or negative errno with a message
 * in @err. -EBUSY: another daemon owns it; the message has its pid.
 */
int base_dir__open(struct base_dir *b, const char *path, struct err *err);

/* The same for a base that must not exist. -EEXIST: it exists, and was not touched. */
int base_dir__create(struct base_dir *b, const char *path, struct err *err);

/*
 * Open the directory of session @name; create it if needed. Returns a descriptor, owned by the
 * caller, or negative errno with a message in @err.
 */
int base_dir__open_session(const struct base_dir *b, const char *name, struct err *err);

/*
 * Make directory @name of the base again, if the directory that @fd has open was removed or
 * replaced. Then @fd refers to the new directory. 1: it was made; 0: it was not needed; or negative
 * errno with a message in @err.
 */
int base_dir__renew(const struct base_dir *b, const char *name, int fd, struct err *err);

/*
 * Reserve a name for an incident at @realtime_ns. It differs from all files of the base and all
 * reserved names: the time is moved by hundredths of a second if needed.
 */
void base_dir__reserve_name(struct base_dir *b, uint64_t realtime_ns,
			    char ret[static INCIDENT_NAME_SIZE]);

/*
 * Write the draft of the manifest of incident @name, with room for BASE_DIR_DRAFT_SPARE more bytes.
 * It precedes the first file of the incident. So the manifest has its disk space, and a killed
 * recorder leaves a note of what it was writing. See recovery.h. 0 or negative errno with a message
 * in @err.
 */
#define BASE_DIR_DRAFT_SPARE 16384
int base_dir__write_draft(const struct base_dir *b, const char *name, const char *text, size_t len,
			  struct err *err);
void base_dir__drop_draft(const struct base_dir *b, const char *name);

/*
 * Turn the draft into the manifest, with the content @text. Call it if the disk has no room for
 * another file. 0 or negative errno.
 */
int base_dir__promote_draft(const struct base_dir *b, const char *name, const char *text,
			    size_t len);

/*
 * Take the lock that is held while a manifest is read and rewritten, and while one is removed: a
 * removed manifest must not be written again. One lock is enough, since a process has only one
 * base.
 */
void base_dir__lock_manifests(void);
void base_dir__unlock_manifests(void);
bool base_dir__has_manifest(const struct base_dir *b, const char *name);

/*
 * Write BASE/incidents/NAME.json atomically: temporary file, fsync, rename, fsync. If the disk has
 * no room for that, the draft becomes the manifest. Only a manifest of the same incident is
 * replaced. 0 or negative errno with a message in @err.
 */
int base_dir__write_manifest(const struct base_dir *b, const char *name, const char *text,
			     size_t len, struct err *err);

/* Write or replace BASE/@name in the same way. 0 or negative errno with a message in @err. */
int base_dir__write_file(const struct base_dir *b, const char *name, const char *text, size_t len,
			 struct err *err);

/* Call @fn for every entry of the directory @fd, also "." and "..". */
void base_dir__each_entry(int fd, void (*fn)(int fd, const char *name, void *arg), void *arg);

/*
 * Unlock and close. @undo: remove what base_dir__open() has made, and our directories if they are
 * empty.
 */
void base_dir__close(struct base_dir *b, bool undo);

#endif
