// SPDX-License-Identifier: GPL-2.0-only
/* Rules on events that user space sees, and nothing else: see inject.bpf.h. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "inject.bpf.h"

char LICENSE[] SEC("license") = "GPL";
