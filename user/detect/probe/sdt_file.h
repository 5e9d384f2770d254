/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The static probes of one provider in a program or library that anybody may have made, and may write
 * to at any moment: it is read into memory, a little of it, and never mapped.
 */
#ifndef FRBPF_DETECT_SDT_FILE_H
#define FRBPF_DETECT_SDT_FILE_H

#include <stdint.h>

struct sdt_place {
	const char *name; /* of the probe; valid during the call only */
	uint64_t offset;  /* in the file */
	uint64_t arg;	  /* the cookie of sdt_arg.h */
};

/* Call @fn with each place of a probe of @provider that is in code of this machine; those whose first
 * argument is nowhere are left out. Not 0 from @fn ends it and is returned. 0 too where there is none;
 * -errno of reading, -ENOEXEC: no ELF file of this machine, -EINVAL: a damaged one. */
int sdt_file__each(int fd, const char *provider, int (*fn)(const struct sdt_place *p, void *arg),
		   void *arg);

#endif
