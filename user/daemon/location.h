/* SPDX-License-Identifier: GPL-2.0-only */
/* How commands find the daemon's base, and how the daemon announces it. */
#ifndef FRBPF_DAEMON_LOCATION_H
#define FRBPF_DAEMON_LOCATION_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"

#define LOCATION_RUN_DIR "/run/frbpf"
#define LOCATION_APP	 LOCATION_RUN_DIR "/app"
#define LOCATION_RULES	 "/etc/frbpf/rules.conf"
#define LOCATION_APP_ENV "FRBPF_APP" /* the application socket of `frbpf run`, for its command */

/* What the user gave; NULL: nothing. */
struct location_hint {
	const char *base;   /* --base */
	const char *config; /* --config: a file whose [daemon] section names the base */
};

/*
 * Find the base. In this order: --base, --config, $FRBPF_BASE, the running daemon's note in
 * /run/frbpf, /etc/frbpf/rules.conf, perf's configuration (see below), the default. 0, or negative
 * errno with a message in @err if --config cannot be read. -EINVAL: its syntax is wrong, or it
 * names no absolute base.
 */
int location__find(const struct location_hint *hint, char ret[static PATH_MAX], struct err *err);

/*
 * Find the configuration that `perf daemon` would use: /etc/perfconfig, or ~/.perfconfig, if it is
 * ours or root's. PERF_CONFIG_NOSYSTEM and PERF_CONFIG_NOGLOBAL exclude one of them. Takes the
 * first that names a base; with @any, the first that exists. False: none; @ret is left alone.
 */
bool location__perf_config(bool any, char ret[static PATH_MAX]);

/* Make /run/frbpf if it is not there. False: it is not there, or others may write to it. */
bool location__make_run_dir(void);

/*
 * Write and remove the note in /run/frbpf. A note of another live daemon stays. Failures are
 * harmless.
 */
void location__announce(const char *base);
void location__withdraw(const char *base);

/* Pid of the daemon that owns @base; 0: none. */
int location__owner(const char *base);
/*
 * Does the note in /run/frbpf name @base? Then its daemon also has the application socket
 * /run/frbpf/app, beside BASE/app.
 */
bool location__is_noted(const char *base);

#endif
