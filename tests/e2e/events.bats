#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf events: names for `when` and -e.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	common_setup
}

teardown() {
	common_teardown
}

list() { # ARGUMENTS...
	timeout -k 5 30 "$FRBPF" events "$@" </dev/null 3>&-
}

@test "events lists the tracepoints that perf lists" {
	need_root
	need_perf
	need_tracepoints
	list 'sched:*' | awk '{print $1}' | sort >"$BATS_TEST_TMPDIR/ours"
	perf list 'sched:*' 2>/dev/null | awk '/Tracepoint event/ {print $1}' | sort -u >"$BATS_TEST_TMPDIR/perfs"
	diff "$BATS_TEST_TMPDIR/perfs" "$BATS_TEST_TMPDIR/ours"
}

@test "events -v lists the fields of a tracepoint with their types, and the fields that if knows for a source" {
	need_root
	need_tracepoints
	run -0 list -v sched:sched_switch
	[[ $output =~ prev_comm\[16\]\ +char && $output =~ next_pid\ +pid_t && $output != *common_type* ]]
	run -0 list -v runqlat
	[[ ${lines[0]} == runqlat*when*"waited that long for a CPU"* ]]
	[[ $output =~ comm\ +string && $output =~ pid\ +number ]]
	run -0 list -v "signal:*"
	[[ ${lines[0]} == signal:signal_deliver*both* ]] # rules and sessions can use it
}

@test "every event that events lists as available can be recorded" {
	need_root
	need_tracepoints
	list --json | jq -r '.events[] | select(.in == "-e" and .available != false) | .name' \
		>"$BATS_TEST_TMPDIR/names"
	grep -qx cpu-clock "$BATS_TEST_TMPDIR/names"
	printf '[session-a]\nrun = -a --overwrite -m 4K -e %s\n' "$(paste -sd, "$BATS_TEST_TMPDIR/names")" >"$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
}

@test "without root events lists what it can, and what is missing" {
	need_root
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$FRBPF" ||
		skip "the program is not reachable for another user"
	run -0 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$FRBPF" events
	[[ $output == *runqlat* && $output == *cpu-clock* ]]
	[[ $output == *sched:sched_switch* || $stderr == *"not listed: tracepoints"* ]]
}

@test "a glob that matches nothing fails with one line" {
	run -1 --separate-stderr list no_such_thing
	[[ ! $output ]]
	same "lines on standard error" "$(grep -vc 'not listed' <<<"$stderr")" 1
}
