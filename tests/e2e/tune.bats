#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf tune: the values of a source, and the threshold of a rule.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	common_setup
}

teardown() {
	[[ ! ${tuner-} ]] || kill -KILL "$tuner" 2>/dev/null || true
	common_teardown
}

is_watching() {
	grep -q 'watching for' "$BATS_TEST_TMPDIR/messages"
}

@test "tune counts every value of the source, and prints lines of a rule" {
	need_root
	need_btf
	local answer=$BATS_TEST_TMPDIR/answer
	timeout -k 5 120 "$FRBPF" tune 'syscall:clock_nanosleep > 3s' --if 'comm == "tuned"' --for 100s --json \
		>"$answer" 2>"$BATS_TEST_TMPDIR/messages" </dev/null 3>&- &
	tuner=$!
	wait_until 60 is_watching || fail "$(cat "$BATS_TEST_TMPDIR/messages")"
	"$WORKLOADS/slow_syscall" --comm tuned --call clock_nanosleep --ms 30 --times 12 >"$BATS_TEST_TMPDIR/truth"
	kill -INT "$tuner"
	wait "$tuner"
	tuner=
	jq -e '.values == 12 and ([.histogram[].values] | add) == 12' "$answer" || fail "$(cat "$answer")"
	# each call took at least 30 ms, and none longer than the workload measured
	jq -e '.steps[] | select(.threshold_ns == 20000000) | .matched == 12 and .fired >= 1' "$answer"
	jq -e --slurpfile truth "$BATS_TEST_TMPDIR/truth" \
		'.largest_ns >= 30e6 and .largest_ns <= ([$truth[] | .end_ns - .begin_ns] | max)' "$answer"
	same "rates" "$(jq -c '[.thresholds[].per_day]' "$answer")" '[20,5,1]'
}

@test "tune reports what it cannot measure, at its place" {
	run -1 "$FRBPF" tune 'syscall:fsink'
	[[ $output == *"unknown system call 'fsink' (did you mean"* ]]
	run -1 "$FRBPF" tune 'psi:cpu some > 10ms in 2s'
	[[ $output == *"not a duration"* ]] || fail "$output"
	run -1 "$FRBPF" tune 'sched:sched_switch'
	[[ $output == *"not a duration"* ]] || fail "$output"
	run -1 "$FRBPF" tune runqlat --if 'foo == 1'
	[[ $output == *"unknown field 'foo'"* ]]
	run -1 "$FRBPF" tune
	[[ $output == *"give one source"* ]]
	run -1 "$FRBPF" tune runqlat --for never
	[[ $output == *"--for"* ]]
}
