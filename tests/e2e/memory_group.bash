# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A cgroup for one test or benchmark, with a limit of memory, of version 1 or 2.

# Sets $memory_group.
memory_group_make() { # BYTES
	local v2 v1
	v2=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	v1=$(findmnt -nt cgroup -O memory -o TARGET | head -n 1)
	if [[ $v2 ]] && grep -qw memory "$v2/cgroup.subtree_control" 2>/dev/null; then
		memory_group=$v2/frbpf-test-$$
		mkdir "$memory_group" && echo "$1" >"$memory_group/memory.max" || return
		echo 0 >"$memory_group/memory.swap.max" 2>/dev/null || true
	elif [[ $v1 ]]; then
		memory_group=$v1/frbpf-test-$$
		mkdir "$memory_group" && echo "$1" >"$memory_group/memory.limit_in_bytes"
	else
		skip "no memory controller of cgroups"
	fi
}

in_memory_group() { # COMMAND...: call it in a subshell, as it does not return
	exec bash -c 'echo $$ >"$1/cgroup.procs" && exec "${@:2}"' _ "$memory_group" "$@" 3>&-
}

memory_group_remove() {
	[[ ! ${memory_group-} ]] || wait_until 10 rmdir "$memory_group" 2>/dev/null || true
}
