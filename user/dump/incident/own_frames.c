// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "dump/incident/own_frames.h"
#include "symbols/tracing_frames.h"

/* Between the program and the helper's own frame. */
#define HELPER_FRAMES_MAX 8

size_t own_frames__count(const struct own_frame *v, size_t n)
{
	size_t i = 0;

	while (i < n && i < HELPER_FRAMES_MAX && !v[i].is_bpf) {
		if (v[i].symbol && !strcmp(v[i].symbol, "__schedule"))
			return 0;
		i++;
	}
	if (i == n || !v[i].is_bpf)
		return 0;
	while (i < n && (v[i].is_bpf || is_tracing_frame(v[i].symbol)))
		i++;
	return i;
}
