/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes one perf.data file from a gathered window: attributes, records, features, name. */
#ifndef FRBPF_DUMP_DUMP_FILE_H
#define FRBPF_DUMP_DUMP_FILE_H

#include "dump/window/window.h"

/*
 * Set the name of the file of @s. The incident's first session that gets here reserves the name, and
 * writes the draft of the manifest. 0 or negative errno with words in @err.
 */
int dump_file__name(const struct dump_env *env, struct incident *inc, const struct session *s,
		    struct dump_result *res, struct err *err);

/*
 * Write the file of @job under the incident's name, which its first session reserves. Fills file,
 * bytes and record counts of @res. 0 or negative errno with words in @err; on failure no file is
 * left.
 */
int dump_file__write(const struct dump_job *job, const struct window *win, struct dump_result *res,
		     struct err *err);

#endif
