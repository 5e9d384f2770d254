/* SPDX-License-Identifier: GPL-2.0-only */
/* Of which machine programs must be for us to probe them. */
#ifndef FRBPF_DETECT_OWN_MACHINE_H
#define FRBPF_DETECT_OWN_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "no uprobes for this architecture"
#endif

#endif
