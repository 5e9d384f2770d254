/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the daemon is: how commands find its base, and how it lets itself be found. */
#ifndef FRBPF_DAEMON_LOCATION_H
#define FRBPF_DAEMON_LOCATION_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"

#define LOCATION_RUN_DIR "/run/frbpf"
#define LOCATION_APP	 LOCATION_RUN_DIR "/app"
#define LOCATION_RULES	 "/etc/frbpf/rules.conf"
#define LOCATION_APP_ENV "FRBPF_APP" /* the application socket of `frbpf run`, for its command */

/* What the user said; NULL: nothing. */
struct location_hint {
	const char *base;   /* --base */
	const char *config; /* --config: its [daemon] base */
};

/* Find the base: --base, --config, $FRBPF_BASE, the running daemon's note in /run/frbpf,
 * /etc/frbpf/rules.conf, perf's own configuration (see below), the default.
 * Negative errno with words when --config cannot be read or (-EINVAL) its syntax is wrong, or it
 * says no base. */
int location__find(const struct location_hint *hint, char ret[static PATH_MAX], struct err *err);

/* The configuration that `perf daemon` would find: /etc/perfconfig, or ~/.perfconfig if it is ours
 * or root's, unless PERF_CONFIG_NOSYSTEM or PERF_CONFIG_NOGLOBAL is set; the first that says a base,
 * or with @any the first that is there. False: none, and @ret is left alone. */
bool location__perf_config(bool any, char ret[static PATH_MAX]);

/* Leave and take back the note in /run/frbpf. The note of another daemon that is alive stays.
 * Failures are harmless. */
void location__announce(const char *base);
void location__withdraw(const char *base);

/* The pid of the daemon that owns @base; 0: nobody does. */
int location__owner(const char *base);
/* Is the note in /run/frbpf that of @base? Then /run/frbpf/app is its application socket, beside BASE/app. */
bool location__is_noted(const char *base);

#endif
