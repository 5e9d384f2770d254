/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The base directory of a daemon, and the only place where its layout is known:
 *
 *	BASE/lock                          held, as is the directory itself, while a daemon owns
 *	                                   the base; its pid
 *	BASE/control                       socket of the commands
 *	BASE/state.json                    what outlives the daemon, see daemon/saved_state.h
 *	BASE/clock.json                    how old the base is, see base_clock.h
 *	BASE/removed.json                  what retention has removed, see removal_log.h
 *	BASE/output                        what the daemon logs in the background
 *	BASE/incidents/TIME.json           manifests; beginnings and remains of them: base_scan.h
 *	BASE/session-NAME/perf.data.TIME   dumps
 *
 * Temporary files begin with ".tmp-"; what a killed daemon left of them goes at the next start.
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
	bool created;	       /* by us: removed again when starting fails */
	size_t parents_made; /* so are the directories above it, from path[0..parents_made) on; 0: none */
	pthread_mutex_t name_lock;
	char names[16][INCIDENT_NAME_SIZE]; /* given away last */
	size_t n_names;
};

/* Create (0700) or check @path (ours, nobody else may write to it or put another in its place, see
 * base_path.h; no symbolic link), lock it and clear temporary files.
 * -EBUSY: another daemon owns it, whose pid the message has. */
int base_dir__open(struct base_dir *b, const char *path, struct err *err);

/* The same for one that must not be there yet. -EEXIST: it is, and was not touched. */
int base_dir__create(struct base_dir *b, const char *path, struct err *err);

/* Open, create if need be, the directory of session @name. Returns the fd or negative errno. */
int base_dir__open_session(const struct base_dir *b, const char *name, struct err *err);

/* Where the directory @name of the base has been removed, or is another than @fd has open, make it again;
 * @fd has it open then. Returns 1 if it was, 0, or negative errno with words. */
int base_dir__renew(const struct base_dir *b, const char *name, int fd, struct err *err);

/* A name for an incident at @realtime_ns that no file of the base has and that was not given away
 * before: later by hundredths of a second where needed. */
void base_dir__reserve_name(struct base_dir *b, uint64_t realtime_ns,
			    char ret[static INCIDENT_NAME_SIZE]);

/*
 * Write the draft of NAME's manifest, with room for DRAFT_SPARE bytes more. It comes before the first
 * file of the incident: what it needs of the disk is then there for the manifest, and a recorder that
 * is killed leaves word of what it was writing. See recovery.h.
 */
#define BASE_DIR_DRAFT_SPARE 16384
int base_dir__write_draft(const struct base_dir *b, const char *name, const char *text, size_t len,
			  struct err *err);
void base_dir__drop_draft(const struct base_dir *b, const char *name);

/* Make the draft the manifest, with @text in the place of what it has. For a disk that has no room for
 * a further file. */
int base_dir__promote_draft(const struct base_dir *b, const char *name, const char *text,
			    size_t len);

/* Held around reading a manifest and writing it again, and by what removes one: nobody brings a manifest
 * back that is gone. Of all bases: a process has one. */
void base_dir__lock_manifests(void);
void base_dir__unlock_manifests(void);
bool base_dir__has_manifest(const struct base_dir *b, const char *name);

/* Write BASE/incidents/NAME.json whole: temporary name, fsync, rename, fsync; in the place of its
 * draft where the disk has none for another file. Replaces only a manifest of that very incident. */
int base_dir__write_manifest(const struct base_dir *b, const char *name, const char *text,
			     size_t len, struct err *err);

/* Write BASE/@name in the same way, in place of what was there. */
int base_dir__write_file(const struct base_dir *b, const char *name, const char *text, size_t len,
			 struct err *err);

/* Unlock. @undo: remove again what opening has made, and directories of ours that are empty. */
void base_dir__close(struct base_dir *b, bool undo);

#endif
