/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this process may do (capabilities).
 *
 * - The right to read any file (CAP_DAC_READ_SEARCH), where a program file gives it to whoever executes it (setcap): it is for
 *   the kernel's own files, such as tracefs, and not for files that the user names.
 * - A daemon gives up for good what it does not need. docs/SECURITY.md says what each of the others is for.
 */
#ifndef FRBPF_COMMON_RIGHTS_H
#define FRBPF_COMMON_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* At the start of the program: files are opened with the user's own rights from now on. */
void rights__lower(void);

/* Around what opens files of the kernel, in this thread. Does it have to be lowered again? */
bool rights__raise(void);
void rights__restore(bool *raised);

#define RAISED_RIGHTS                                                                              \
	__attribute__((cleanup(rights__restore), unused)) bool _raised_rights = rights__raise()

/* May they be raised? */
bool rights__can_raise(void);

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
