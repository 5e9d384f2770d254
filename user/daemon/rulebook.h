/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules in force, and everything that replaces them: a load, a change of a watched file, a rule
 * that is armed or ends, resized rings. Each makes a ruleset (the file's text and the armed rules)
 * and its plan, and puts both in force as one active set. On failure the old one stays. For the
 * daemon's main thread. Life: new, begin, then anything, free.
 */
#ifndef FRBPF_DAEMON_RULEBOOK_H
#define FRBPF_DAEMON_RULEBOOK_H

#include "common/buf.h"
#include "daemon/saved_state.h"
#include "daemon/overlay.h"
#include "daemon/recorder.h"

struct rulebook;

struct rulebook_opts {
	struct recorder *recorder; /* all borrowed */
	struct tracefs *tracefs;   /* NULL: there is none */
	const struct dump_env *dump;
	const char *path; /* a list of rules files, each absolute: rules_files.h */
	struct proxies *proxies;
	/* like perf daemon: watch the files unless they say no, dump a session that ends */
	bool perf_habits;
};

/* Make a rulebook without rules. 0 or negative errno with a message in @err. */
int rulebook__new(const struct rulebook_opts *opts, struct err *err, struct rulebook **ret);

/*
 * Put the first rules in force. Takes over @rs, also on failure. Dumps in @past count towards
 * max-dumps.
 */
int rulebook__begin(struct rulebook *b, struct ruleset *rs, struct plan *plan,
		    const struct saved_state *past, struct err *err);
/* Watch the files from now on, if the rules say so. */
void rulebook__follow(struct rulebook *b);

/* The files of the rules in force, as words for the user. */
const char *rulebook__path(const struct rulebook *b);
const struct overlay *rulebook__overlay(const struct rulebook *b);

/*
 * Load the files of the list @path; on success they become the daemon's files. @ret_text gets
 * errors and warnings; the log gets the outcome. 0 or negative errno.
 */
int rulebook__load(struct rulebook *b, const char *path, struct buf *ret_text);
/* Load the files again; errors and warnings go to the log. */
void rulebook__load_again(struct rulebook *b);

/* Readable when rulebook__on_change() has something to do. */
int rulebook__fd(const struct rulebook *b);
void rulebook__on_change(struct rulebook *b);

/*
 * See overlay.h. These take effect at once. @until 0 ends a mute. 0 or negative errno with a
 * message in @err.
 */
int rulebook__mute(struct rulebook *b, const char *name, uint64_t until, struct err *err);
int rulebook__arm(struct rulebook *b, const char *when, const char *condition, uint64_t until,
		  char ret_name[static RULESET_NAME_MAX + 1], struct err *err);
int rulebook__disarm(struct rulebook *b, const char *name, struct err *err);

enum session_end {
	SESSION_OVER,	 /* all that it recorded has ended */
	SESSION_STOPPED, /* it was asked to stop */
	SESSION_KILLED,	 /* its process was killed: no last dump is made */
};

/*
 * End session @i of those in force. A session that is over and has `respawn = yes` starts again as
 * soon as it can, at most once a second. Others start again when the files are next loaded.
 * Failures are logged.
 */
void rulebook__end_session(struct rulebook *b, size_t i, enum session_end end);

/* Readable when the tasks of a session may have ended; then call rulebook__on_target_end(). */
int rulebook__targets_fd(const struct rulebook *b);
/* End a session whose tasks have all ended. */
void rulebook__on_target_end(struct rulebook *b);

/*
 * Do what is due: resize rings, end armed rules and mutes, restart sessions. Returns ns until the
 * next call, or UINT64_MAX.
 */
uint64_t rulebook__step(struct rulebook *b);

/* Call it before recorder__free(). NULL is legal. */
void rulebook__free(struct rulebook *b);

#endif
