/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_COMMON_NO_FILES_H
#define FRBPF_COMMON_NO_FILES_H

/*
 * From now on this process opens, makes and removes no file, for good (Landlock); what it has open stays so. Wants
 * no_new_privs. Does nothing where the kernel has no Landlock. Negative errno.
 */
int no_files__begin(void);

#endif
