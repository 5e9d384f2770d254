/* SPDX-License-Identifier: GPL-2.0-only */
/* CPU lists as sysfs writes them. */
#ifndef FRBPF_COMMON_CPUS_H
#define FRBPF_COMMON_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Parse "0,2-5\n" into an ascending array, owned by the caller. 0, -EINVAL or -ENOMEM. */
int cpus__parse(const char *list, int **ret, size_t *ret_n);
/* The CPUs that are online now. Also negative errno of reading sysfs. */
int cpus__online(int **ret, size_t *ret_n);
#define CPUS_ONLINE_FILE "/sys/devices/system/cpu/online"
/* Those that are there and may be off line; may be more or less than the former by the time of return. */
int cpus__present(int **ret, size_t *ret_n);
/* How many there can ever be; 0: the kernel does not tell. */
size_t cpus__n_possible(void);
/* Is @cpu in the ascending list @v? */
bool cpus__has(const int *v, size_t n, int cpu);

/* Counts what cpus__note_change() was told: CPUs came or went, so events that were opened in an
 * earlier epoch may not record on all of them. Events of a CPU that goes off line never come back. */
unsigned int cpus__epoch(void);
void cpus__note_change(void);

#endif
