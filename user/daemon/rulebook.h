/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules in force and all that may replace them: a load, a change of the file that is followed,
 * a rule armed or at its end, a session whose rings were resized. Each makes a ruleset (the file's
 * text and what was armed), a plan of it, and puts both in force as one active set; on failure the
 * old one stays. For the daemon's main thread. Life: new, begin, then anything, free.
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
	/* as perf daemon does: follow the files unless they say no, dump a session that leaves */
	bool perf_habits;
};

int rulebook__new(const struct rulebook_opts *opts, struct err *err, struct rulebook **ret);

/* Put the first rules in force; @rs is taken over, also on failure. Dumps of @past are counted in. */
int rulebook__begin(struct rulebook *b, struct ruleset *rs, struct plan *plan,
		    const struct saved_state *past, struct err *err);
/* Follow the files from now on, where it says so. */
void rulebook__follow(struct rulebook *b);

/* The files of the rules in force, in words. */
const char *rulebook__path(const struct rulebook *b);
const struct overlay *rulebook__overlay(const struct rulebook *b);

/* Load the files of the list @path, and on success stay with it. Errors and warnings go to @ret_text, and what happened
 * to the log. */
int rulebook__load(struct rulebook *b, const char *path, struct buf *ret_text);
/* Load the file again; errors and warnings go to the log. */
void rulebook__load_again(struct rulebook *b);

/* Readable when rulebook__on_change() has something to do. */
int rulebook__fd(const struct rulebook *b);
void rulebook__on_change(struct rulebook *b);

/* See overlay.h; these take effect at once. @until 0 ends a mute. Negative errno with words in
 * @err.
 */
int rulebook__mute(struct rulebook *b, const char *name, uint64_t until, struct err *err);
int rulebook__arm(struct rulebook *b, const char *when, const char *condition, uint64_t until,
		  char ret_name[static RULESET_NAME_MAX + 1], struct err *err);
int rulebook__disarm(struct rulebook *b, const char *name, struct err *err);

enum session_end {
	SESSION_OVER,	 /* nothing is left that it could record */
	SESSION_STOPPED, /* somebody said so */
	SESSION_KILLED,	 /* and a last dump is not what was wanted */
};

/* Session @i of those in force ends before the rules. One that is over and has respawn = yes begins again, as
 * soon as it can, but not more than once a second; others with the files' next load. What fails is logged. */
void rulebook__end_session(struct rulebook *b, size_t i, enum session_end end);

/* Readable when the tasks of a session may have ended, for rulebook__on_target_end(). */
int rulebook__targets_fd(const struct rulebook *b);
/* End the sessions of which nobody is left. */
void rulebook__on_target_end(struct rulebook *b);

/* Do what is due: rings, ends of arms and mutes. Returns ns until it should be called again, or
 * UINT64_MAX. */
uint64_t rulebook__step(struct rulebook *b);

/* Before the recorder. */
void rulebook__free(struct rulebook *b);

#endif
