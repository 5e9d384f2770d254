/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capabilities of this process.
 *
 * - A program file can give capabilities to whoever executes it (setcap). Some of them open more
 *   files than the user may. They are effective only while files of the kernel are opened, never
 *   while a file that the user names is opened.
 * - A daemon gives up for good what it does not need. docs/SECURITY.md says what the rest is for.
 */
#ifndef FRBPF_COMMON_RIGHTS_H
#define FRBPF_COMMON_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/capability.h>

/* for headers of libcap and the kernel that are older */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

enum rights {
	RIGHTS_FILES = 1,     /* CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE: tracefs, psi */
	/* CAP_SYS_PTRACE, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE: /proc/PID, /proc/kallsyms */
	RIGHTS_PROCESSES = 2,
	RIGHTS_ALL = 3,
};

/* At the start of the program: open files with the user's own rights from now on. */
void rights__lower(void);

/*
 * Raise the capabilities @kinds before this thread opens files of the kernel. Returns what must be
 * lowered again; 0: nothing was raised.
 */
unsigned int rights__raise(unsigned int kinds);
void rights__restore(unsigned int *raised);

#define RAISED_RIGHTS(kinds)                                                                       \
	__attribute__((cleanup(rights__restore), unused)) unsigned int _raised_rights =            \
		rights__raise(kinds)

/* Is @cap lowered, and may it be raised? */
bool rights__can_raise(int cap);

/*
 * Keep only the @n capabilities @keep, permitted and effective, as far as we have them. All others
 * leave the permitted, effective, inheritable, ambient and bounding sets. Sets no_new_privs.
 * Cannot be undone; call it before there are threads. Without CAP_SETPCAP the bounding set stays
 * as it is. 0 or negative errno: part of it failed.
 */
int rights__keep(const int *keep, size_t n);

/*
 * The same with what a daemon needs to record and to replace its rules. CAP_DAC_OVERRIDE is
 * lowered.
 */
int rights__keep_recorder(void);
/* The same, to keep what may be needed to find and open recordings and the files of programs. */
int rights__keep_reader(void);

#endif
