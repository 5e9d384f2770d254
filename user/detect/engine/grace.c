// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/grace.h"

/* Updating a map of maps ends with synchronize_rcu() (maybe_wait_bpf_programs(), since 5.0). */
static int update_map_of_maps(void)
{
	_cleanup_close_ int inner = -1;
	_cleanup_close_ int outer = -1;
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	uint32_t key = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "frbpf_inner", sizeof(uint32_t),
			       sizeof(uint32_t), 1, NULL);
	if (inner < 0)
		return -errno;
	opts.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "frbpf_outer", sizeof(uint32_t),
			       sizeof(uint32_t), 1, &opts);
	if (outer < 0)
		return -errno;
	return bpf_map_update_elem(outer, &key, &inner, BPF_ANY) ? -errno : 0;
}

/* MEMBARRIER_CMD_GLOBAL is synchronize_rcu(), too; it is refused where CPUs run without a tick. */
int grace_period(void)
{
	if (!syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	return update_map_of_maps();
}
