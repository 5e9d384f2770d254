/* SPDX-License-Identifier: GPL-2.0-only */
/* One perf.data file out of a gathered window: attributes, records, features, name. */
#ifndef FRBPF_DUMP_DUMP_FILE_H
#define FRBPF_DUMP_DUMP_FILE_H

#include "dump/window/window.h"

/* Write the file of @job under the incident's name, which the first of its sessions reserves. Fills
 * file, bytes and record counts of @res. On failure no file is left. */
int dump_file__write(const struct dump_job *job, const struct window *win, struct dump_result *res,
		     struct err *err);

#endif
