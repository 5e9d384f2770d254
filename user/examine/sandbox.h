/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the processes that open and read files of other users. None can be undone. */
#ifndef FRBPF_EXAMINE_SANDBOX_H
#define FRBPF_EXAMINE_SANDBOX_H

/* Keep only the capabilities for finding and opening files. 0 or negative errno. */
int sandbox__keeper(void);
/* The same; also allow only the system calls for that: see opening.h. 0 or negative errno. */
int sandbox__opener(void);

/*
 * Drop all capabilities; limit memory and CPU time. Allow only the system calls for reading open
 * files, for memory and for answers; any other ends the process. Where the kernel has Landlock, no
 * file can be opened. 0 or negative errno.
 */
int sandbox__parser(void);

#endif
