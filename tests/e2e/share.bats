#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules on a share of time.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	hog=frbpf-$$
}

teardown() {
	[[ ! ${burns-} ]] || kill "$burns" 2>/dev/null || true
	common_teardown
}

# Takes all of a CPU that it gets, under the name of our own.
burn() {
	# shellcheck disable=SC2016 # of perl
	perl -e '$0 = $ARGV[0]; 1 while 1' "$hog" 3>&- &
	burns=$!
}

@test "a task that has its CPU too long fires its rule while it runs" {
	local name json
	write_rules <<-EOF
		[rule-hog]
		when = oncpu > 2% in 500ms per thread
		if = comm == "$hog"
		cooldown = 1h
	EOF
	frbpf check "$RULES" | grep -qx '  adds up:    fires above 10ms of 500ms per thread' || fail "$(frbpf check "$RULES")"
	frbpf_load
	burn
	wait_for_incident "$BASE" 1
	kill -0 "$burns" || fail "it does not run any more"
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	jq -e --argjson pid "$burns" '.triggers | length == 1 and (.[0] | .source == "oncpu" and .subject.pid == $pid and
		.window_ns == 500000000 and .threshold_ns == 10000000 and .value_ns > .threshold_ns and
		.value_ns <= .window_ns)' "$json" || fail "$(cat "$json")"
	# perf shows the marker, and the beginning of the window before it
	same "subject of the marker" \
		"$(events "$(dumps sched)" frbpf:trigger | cut -f 3,5)" "$burns"$'\t'"$(jq ".triggers[0].time.monotonic_ns" "$json")"
	frbpf show | grep -q 'threshold 10ms, together in 500ms$' || fail "$(frbpf show)"
}
