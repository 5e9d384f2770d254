/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this process may do (capabilities).
 *
 * - Where a program file gives capabilities to whoever executes it (setcap): those that open more files than the user may
 *   are effective around the kernel's own files only, and never while a file is opened that the user names.
 * - A daemon gives up for good what it does not need. docs/SECURITY.md says what each of the others is for.
 */
#ifndef FRBPF_COMMON_RIGHTS_H
#define FRBPF_COMMON_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

enum rights {
	RIGHTS_FILES = 1,     /* CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE: tracefs, psi */
	RIGHTS_PROCESSES = 2, /* CAP_SYS_PTRACE, CAP_SYSLOG: /proc/PID, /proc/kallsyms */
	RIGHTS_ALL = 3,
};

/* At the start of the program: files are opened with the user's own rights from now on. */
void rights__lower(void);

/* Around what opens files of the kernel, in this thread. Returns what has to be lowered again: 0 within another such
 * part, or where nothing is lowered. */
unsigned int rights__raise(unsigned int kinds);
void rights__restore(unsigned int *raised);

#define RAISED_RIGHTS(kinds)                                                                       \
	__attribute__((cleanup(rights__restore), unused)) unsigned int _raised_rights =            \
		rights__raise(kinds)

/* Is @cap lowered, and may it be raised? */
bool rights__can_raise(int cap);

/*
 * For good, before there are threads: of the @n capabilities @keep those that we are permitted, effective;
 * all others leave the permitted, effective, inheritable, ambient and bounding sets, and what is
 * executed gains none (no_new_privs). Without CAP_SETPCAP the bounding set stays as it is. Negative
 * errno: not all of that holds.
 */
int rights__keep(const int *keep, size_t n);

/* The same with what a daemon needs to record, and to replace its rules. Writing files of others must be raised. */
int rights__keep_recorder(void);

#endif
