/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right to read any file (CAP_DAC_READ_SEARCH), where a program file gives it to whoever executes it (setcap): it is for
 * the kernel's own files, such as tracefs, and not for files that the user names.
 */
#ifndef FRBPF_COMMON_RIGHTS_H
#define FRBPF_COMMON_RIGHTS_H

#include <stdbool.h>

/* At the start of the program: files are opened with the user's own rights from now on. */
void rights__lower(void);

/* Around what opens files of the kernel, in this thread. Does it have to be lowered again? */
bool rights__raise(void);
void rights__restore(bool *raised);

#define RAISED_RIGHTS                                                                              \
	__attribute__((cleanup(rights__restore), unused)) bool _raised_rights = rights__raise()

/* May they be raised? */
bool rights__can_raise(void);

#endif
