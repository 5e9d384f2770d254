#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules on events that have begun and have not ended.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$
}

teardown() {
	[[ ! ${hung-} ]] || kill "$hung" 2>/dev/null || true
	common_teardown
}

# Sleeps until it is killed, with the subject's name.
hang() {
	# shellcheck disable=SC2016 # of perl
	perl -e '$0 = $ARGV[0]; sleep 100000' "$victim" 3>&- &
	hung=$!
}

# Hangs in openat() of a fifo that nobody opens for writing.
hang_in_open() { # FIFO
	# shellcheck disable=SC2016 # of perl
	perl -e '$0 = $ARGV[0]; open(F, "<", $ARGV[1])' "$victim" "$1" 3>&- &
	hung=$!
}

end_hung() {
	kill "$hung"
}

has_matched() { # RULE N
	(($(status_of "$1" .matched) >= $2))
}

shows() { # PATTERN
	frbpf show | grep -Eq "$1"
}

@test "a hang fires its rule while it lasts, once, with its stack" {
	local name json wchan
	write_rules <<-EOF
		[rule-hang]
		when = pending(offcpu) > 200ms
		if = comm == "$victim"
		cooldown = 0
	EOF
	frbpf_load
	hang
	wait_for_incident "$BASE" 1
	kill -0 "$hung" || fail "it does not hang"
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	jq -e --argjson pid "$hung" '.triggers | length == 1 and (.[0] | .pending and .subject.pid == $pid and
		.source == "offcpu" and .value_ns > .threshold_ns and .current == .subject)' "$json" ||
		fail "$(cat "$json")"
	# the stack has the kernel function in which the task sleeps
	wchan=$(cat "/proc/$hung/wchan")
	[[ $wchan == 0 ]] || jq -e --arg f "$wchan" '.triggers[0].stacks.kernel | any(.symbol == $f)' "$json" ||
		fail "it sleeps in $wchan: $(jq .triggers[0].stacks "$json")"
	same "subject of the marker" \
		"$(events "$(dumps sched)" frbpf:trigger | cut -f 3,5)" \
		"$hung"$'\t'"$(jq ".triggers[0].time.monotonic_ns" "$json")"
	frbpf show | grep -q 'threshold 200ms, and it had not ended$' || fail "$(frbpf show)"
	# the manifest names the system call in which the task waits
	wait_until 20 jq -e '.triggers[0].state.waits_in.syscall | test("nanosleep")' "$json" >/dev/null
	jq -e '.triggers[0] | has("ended") | not' "$json" >/dev/null || fail "$(cat "$json")"
	frbpf_load
	kill "$hung"
	wait "$hung" || true
	# when the wait ends, its end is added to the incident
	wait_until 20 jq -e '.triggers[0] | .ended.seen and .ended.value_ns > .value_ns' "$json" >/dev/null
	same "end" "$(jq '.triggers[0] | .ended.time.monotonic_ns - .ended.value_ns' "$json")" \
		"$(jq '.triggers[0] | .time.monotonic_ns - .value_ns' "$json")"
	frbpf show | grep -Eq 'and it had not ended: it ended after [0-9]' || fail "$(frbpf show)"
	same "fired" "$(status_of hang .fired)" 1
}

@test "a silence fires its rule, and the incident has no event" {
	local name json
	write_rules <<-EOF
		[rule-silent]
		when = absent(syscall:acct) > 100ms
		[rule-hung-read]
		when = pending(syscall:read) > 200ms
		if = comm == "$victim"
	EOF
	frbpf_load
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	jq -e '.triggers[0] | .absent and .key == null and .subject.tid == 0 and
		(has("ret") or has("call") or has("args") | not)' \
		"$json" || fail "$(cat "$json")"
	frbpf show | grep -Eq 'value  .*, threshold 100ms, without an event$' || fail "$(frbpf show)"
	events "$(dumps sched)" frbpf:trigger >"$BATS_TEST_TMPDIR/marker"
	! grep -q 'key=read' "$BATS_TEST_TMPDIR/marker" || fail "$(cat "$BATS_TEST_TMPDIR/marker")"
	# frbpf prints the call before its result
	# shellcheck disable=SC2016 # of perl
	perl -e '$0 = $ARGV[0]; pipe(R, W); sysread(R, $x, 1)' "$victim" 3>&- &
	hung=$!
	wait_until 20 shows 'threshold 200ms, read, and it had not ended$' || fail "$(frbpf show)"
}

@test "an open that hangs: its path decides, and is in the manifest and the marker" {
	local name json
	write_rules <<-EOF
		[rule-path]
		when = pending(syscall:openat) > 200ms
		if = path ~ "$BATS_TEST_TMPDIR/on/*"
		[rule-any]
		when = pending(syscall:openat) > 200ms
		if = comm == "$victim"
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	mkdir "$BATS_TEST_TMPDIR/on" "$BATS_TEST_TMPDIR/off"
	mkfifo "$BATS_TEST_TMPDIR/on/fifo" "$BATS_TEST_TMPDIR/off/fifo"
	hang_in_open "$BATS_TEST_TMPDIR/off/fifo"
	wait_until 20 has_matched any 1
	same "fired" "$(status_of path .matched)" 0
	end_hung
	hang_in_open "$BATS_TEST_TMPDIR/on/fifo"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	jq -e --arg path "$BATS_TEST_TMPDIR/on/fifo" '.triggers[0] |
		.rule == "path" and .pending and .args.path == $path[:123]' "$json" || fail "$(cat "$json")"
	events "$(dumps sched)" frbpf:trigger >"$BATS_TEST_TMPDIR/marker"
	grep -qF "path=$(printf %.60s "$BATS_TEST_TMPDIR/on/fifo")" "$BATS_TEST_TMPDIR/marker" ||
		fail "$(cat "$BATS_TEST_TMPDIR/marker")"
}
