/* SPDX-License-Identifier: GPL-2.0-only */
/* CPU lists as sysfs writes them. */
#ifndef FRBPF_COMMON_CPUS_H
#define FRBPF_COMMON_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Parse "0,2-5\n" into an ascending array, owned by the caller. 0, -EINVAL or -ENOMEM. */
int cpus__parse(const char *list, int **ret, size_t *ret_n);
/* Get the CPUs that are online now. Errors as above, or of reading sysfs. */
int cpus__online(int **ret, size_t *ret_n);
#define CPUS_ONLINE_FILE "/sys/devices/system/cpu/online"
/* Get the CPUs that are present, also off line. A CPU may come or go at any time. */
int cpus__present(int **ret, size_t *ret_n);
/* Number of CPUs that the kernel can ever have; 0: unknown. */
size_t cpus__n_possible(void);
/* Is @cpu in the ascending list @v? */
bool cpus__has(const int *v, size_t n, int cpu);

/*
 * Number of calls of cpus__note_change(), one for each time that CPUs came or went. Events opened
 * in an earlier epoch may not record on all CPUs: those of a CPU that goes off line stay dead.
 */
unsigned int cpus__epoch(void);
void cpus__note_change(void);

#endif
