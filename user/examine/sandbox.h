/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processes that look into files of others may do. Nothing of it can be undone. */
#ifndef FRBPF_EXAMINE_SANDBOX_H
#define FRBPF_EXAMINE_SANDBOX_H

/* Keep what is needed to find and open files, and no other capability. Negative errno. */
int sandbox__opener(void);

/*
 * Without any capability, with limits of memory and CPU time, and with the system calls alone that reading open files,
 * memory and answers take: any other one ends the process. Where there is Landlock, no file can be opened. Negative errno.
 */
int sandbox__parser(void);

#endif
