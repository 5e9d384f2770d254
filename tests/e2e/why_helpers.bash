# shellcheck shell=bash disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# SPDX-License-Identifier: GPL-2.0-only
# Shared by the suites of frbpf why.
load ../causes/causes

setup() {
	common_setup
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	end_suspect
	remove_cpu_groups
	common_teardown
}

# Ends the process that a test has started to be examined: $suspect.
end_suspect() {
	[[ ${suspect-} ]] || return 0
	kill -KILL "$suspect" 2>/dev/null || true
	wait "$suspect" || true
	suspect=
}

need_recording() {
	need_root
	need_perf
	need_tracepoints
	need_fifo
	keep_cpus_awake
	export spinners="${awake_pids[*]}"
}
