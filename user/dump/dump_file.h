/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes one perf.data file from a gathered window: attributes, records, features, name. */
#ifndef FRBPF_DUMP_DUMP_FILE_H
#define FRBPF_DUMP_DUMP_FILE_H

#include "dump/window/window.h"

/*
 * Write the file of @job under the incident's name, which its first session reserves. Fills file,
 * bytes and record counts of @res. 0 or negative errno with words in @err; on failure no file is
 * left.
 */
int dump_file__write(const struct dump_job *job, const struct window *win, struct dump_result *res,
		     struct err *err);

#endif
